// One run: prompts and answers, every statistic, the settings and the provenance.
"use strict";
(() => {
  const { make, text, plain, count, number, spread, facts, link } = harness;

  harness.page("run", {
    title: "Run",
    async render(main, path, query) {
      const address = path[0] || "";
      const run = await harness.get(`runs/${address}/run`);
      const go = (changes, options) => harness.go(`run/${address}`, { ...query, ...changes }, options);
      const stat = run.stats.find((row) => row[0] === run.metric && row[2] === run.spec.eval_split && row[3] === null && row[4] === "original" && row[5] === null);
      const sample = run.provenance.data && run.provenance.data.sample;
      const model = harness.modelName(run.model[1], run.model[0]);
      harness.add(main, harness.crumbs(harness.to(`scenario/${run.scenario[1]}`, harness.title("scenarios", run.scenario[0]), 40), harness.to(`model/${run.model[1]}`, model, 40), "Run"),
        make("h1", { title: plain(run.title, 200) }, text(harness.runTitle(run.title), 100)),
        make("p.lead", null, "asked of ", harness.to(`model/${run.model[1]}`, model, 80), " by ", harness.named("methods", run.method, 40), " in suite ", text(run.suite, 40), sample ? [" ", make("span.mark.warn", null, "sample data, not a measurement")] : null,
          run.provenance.origin ? [" ", make("span.mark", null, "imported from ", text(run.provenance.origin.program || "elsewhere", 40))] : null));
      if (run.status !== "ok") harness.add(main, make("div.notice.error", { role: "note" }, make("strong", null, "This run failed. "), make("bdi", null, harness.pieces(run.error || "No reason was recorded."))));
      const used = run.efficiency;
      harness.add(main, facts([
        [`${plain(harness.title("metrics", run.metric), 40)}${stat && stat[12] !== null ? (stat[12] ? " ↑" : " ↓") : ""}`, stat ? [make("strong", null, number(stat[7])), " ", spread(stat[7], stat[9], stat[10]), make("small.quiet", null, `over ${count(stat[6])} instances${stat[11] ? `; ${count(stat[11])} gave no value` : ""}${stat[13] ? `; ${plain(stat[13], 120)}` : ""}`)] : null],
        ["Queries", used.queries ? `${count(used.queries)}${used.cached_queries ? `, ${count(used.cached_queries)} from the cache` : ""}` : null],
        ["Tokens", used.prompt_tokens ? `${count(used.prompt_tokens)} read, ${count(used.completion_tokens)} written or scored${used.reasoning_tokens ? `, ${count(used.reasoning_tokens)} of them reasoning` : ""}` : null],
        ["Model seconds", used.model_seconds ? number(used.model_seconds) : null],
        ["Generated with", run.provenance.generation ? text(Object.entries(run.provenance.generation).map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" / ") : value}`).join(", "), 200) : null],
        ["Declined", run.declined ? text(run.declined, 200) : null],
        ["Unread", used.unread_examples ? `nothing could be read from ${count(used.unread_examples)} of ${count(used.examples)} answers` : null],
        ["Reasoning", run.reasoning.length ? text(run.reasoning.join("; "), 400) : null],
        ["Served by", run.served.length ? [text(run.served.join("; "), 300)] : null],
        ["Perturbations", run.spec.perturbations.length ? text(run.spec.perturbations.map((one) => harness.title("perturbations", one.name)).join(", "), 100) : null],
        ["Ended", harness.moment(run.finished)]]));
      const views = [["", `Examples`], ["stats", `Statistics (${count(run.stats.length)})`], ["spec", "Settings"], ["provenance", "Provenance"]];
      const view = views.some(([name]) => name === query.view) ? query.view : "";
      harness.add(main, harness.tabs("Parts of this run", views, view, (name) => link(`run/${address}`, { view: name })));
      if (view === "stats") statistics(main, run, query, go);
      else if (view === "spec") harness.add(main, harness.passage(JSON.stringify(run.spec, null, 2), { name: "Settings", limit: 20000 }));
      else if (view === "provenance") harness.add(main, make("p.quiet", null, "Folder ", make("code", null, plain(run.folder, 200))), make("h3", null, "Costs"), harness.passage(JSON.stringify(run.efficiency, null, 2), { name: "Efficiency" }),
        make("h3", null, "Origin"), harness.passage(JSON.stringify(run.provenance, null, 2), { name: "Provenance", limit: 20000 }));
      else if (run.examples) {
        await Promise.all([harness.load("assets/words.js"), harness.load("assets/examples.js")]);
        await harness.examples(main, run, address, query, go);
      } else harness.add(main, make("p", null, run.problem ? plain(run.problem, 400) : "This run has no examples."));
      return `${plain(harness.runTitle(run.title), 60)}, ${plain(model, 40)}`;
    },
  });

  function statistics(main, run, query, go) {
    const subject = (row) => [row[2], harness.subset(row[3], row[4], row[14])].filter(Boolean).join(" · ");
    const matches = harness.matcher(query.q);
    const rows = run.stats.filter((row) => matches(`${row[0]} ${harness.title("metrics", row[0])} ${row[1]} ${row[3] || ""} ${subject(row)}`));
    harness.add(main, make("div.bar", null, harness.searchBox("stat-filter", "Search statistics", query.q, (q) => go({ q }, { replace: true }))), harness.table([
      { name: "metric", label: "Metric", kind: "text", class: "fixed", key: (row) => harness.title("metrics", row[0]), cell: (row) => [harness.named("metrics", row[0], 60), row[12] === null ? "" : row[12] ? " ↑" : " ↓"] },
      { name: "category", label: "Category", kind: "text", key: (row) => row[1], cell: (row) => text(harness.title("categories", row[1]), 20) },
      { name: "of", label: "Subset", kind: "text", key: subject, cell: (row) => make("span", { title: plain([row[3], row[5]].filter(Boolean).join(", "), 100) }, text(subject(row), 60)) },
      { name: "mean", label: "Mean", key: (row) => row[7], cell: (row) => number(row[7]) },
      { name: "stderr", label: "Standard error", key: (row) => row[8], cell: (row) => number(row[8]) },
      { name: "interval", label: "95 % interval", cell: (row) => (row[9] === null ? "—" : `[${number(row[9])}, ${number(row[10])}]`) },
      { name: "note", label: "Note", kind: "text", key: (row) => row[13], cell: (row) => text(row[13], 120) },
      { name: "count", label: "Instances", key: (row) => row[6], cell: (row) => count(row[6]) },
      { name: "missing", label: "Undefined", key: (row) => row[11], cell: (row) => (row[11] ? count(row[11]) : "") },
    ], rows, { id: "stats", label: "Statistics", sort: query.sort, onsort: (sort) => go({ sort }, { replace: true }) }));
  }
})();

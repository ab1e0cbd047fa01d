// One model: facts, all of its runs, their costs, and where the results come from.
"use strict";
(() => {
  const { make, text, plain, count, number, spread, facts, link } = harness;

  harness.page("model", {
    title: "Model",
    async render(main, path, query) {
      const [model] = await Promise.all([harness.get(`models/${path[0] || ""}`), harness.load("assets/pages/models.js")]);
      const { about } = model;
      const rate = model.rate;
      harness.add(main, harness.crumbs(harness.to("models", "Models"), text(about.name, 60)), make("h1", { title: plain(about.identifier, 300) }, text(about.name, 120)),
        facts([
          ["Mean win rate", rate ? `${harness.fixed(rate[0], 3)}${rate[1] === null ? "" : ` [${harness.fixed(rate[1], 2)}, ${harness.fixed(rate[2], 2)}]`}, rank ${harness.rankOf(model.rank, rate)}` : null],
          ...Object.entries(about.facts).map(([name, value]) => [name[0].toUpperCase() + name.slice(1), name === "parameters" ? `${harness.large(value)} (${count(value)})` : typeof value === "number" ? count(value) : text(value, 60)]),
          ["Runs", `${count(about.runs)}${about.failed ? `, ${count(about.failed)} failed` : ""}`],
          ["Queries", about.queries ? `${count(about.queries)}${about.cached_queries ? `, ${count(about.cached_queries)} from the cache` : ""}` : null],
          ["Tokens", about.prompt_tokens ? `${count(about.prompt_tokens)} read, ${count(about.completion_tokens)} written or scored` : null],
          [about.facts.device === "cuda" ? "GPU hours" : "Device hours", about.device_seconds ? harness.hours(about.device_seconds) : null],
          ["Compute", about.model_flops ? `${about.model_flops.toExponential(2)} FLOP` : null],
          ["Energy", about.energy_joules ? `${number(about.energy_joules / 3.6e6)} kWh` : null],
          ["Cost", about.money ? harness.money(about.money) : null],
        ]));
      const matches = harness.matcher(query.q);
      const rows = model.runs.filter((run) => matches(`${run.scenario} ${harness.runTitle(run.scenario)} ${run.method} ${harness.title("methods", run.method)} ${run.suite} ${run.metric} ${run.perturbations.join(" ")}`));
      const shown = rows.slice(0, query.all ? rows.length : 300);
      const tokens = (run) => (run.prompt_tokens || 0) + (run.completion_tokens || 0);
      harness.add(main, make("h2", null, "Runs"),
        make("div.bar", null, harness.searchBox("run-filter", "Search runs", query.q, (q) => harness.go(`model/${path[0]}`, { ...query, q }, { replace: true }))),
        harness.table([
          { name: "run", label: "Scenario", kind: "text", class: "fixed", key: (run) => harness.runTitle(run.scenario), cell: (run) => [make("span", { title: plain(run.scenario, 200) }, harness.to(`run/${run.address}`, harness.runTitle(run.scenario), 60)),
            run.sample ? [" ", make("span.mark.warn", null, "sample data")] : null, run.origin ? [" ", make("span.mark", null, plain(run.origin, 30))] : null] },
          { name: "method", label: "Method", kind: "text", key: (run) => harness.title("methods", run.method), cell: (run) => harness.named("methods", run.method, 40) },
          { name: "suite", label: "Suite", kind: "text", key: (run) => run.suite, cell: (run) => text(run.suite, 30) },
          { name: "perturbations", label: "Perturbations", kind: "text", key: (run) => run.perturbations.length, cell: (run) => run.perturbations.length ? text(run.perturbations.map((name) => harness.title("perturbations", name)).join(", "), 40) : make("span.quiet", null, "—") },
          { name: "metric", label: "Metric", kind: "text", key: (run) => harness.title("metrics", run.metric), cell: (run) => [harness.named("metrics", run.metric, 40), run.higher === null ? "" : run.higher ? " ↑" : " ↓"] },
          { name: "value", label: "Value", key: (run) => (run.value ? run.value[0] : null), cell: (run) => run.status !== "ok"
            ? make("td.wrap.left.bad", null, "✗ failed: ", text(run.error || "no reason given", 160)) : run.value
              ? [number(run.value[0]), " ", make("span.spread", null, spread(...run.value)), run.declined ? make("span", { title: run.declined, "aria-label": run.declined }, " ⊘") : ""] : "—" },
          { name: "n", label: "n", key: (run) => (run.value ? run.value[3] : null), cell: (run) => (run.value ? count(run.value[3]) : "—") },
          { name: "queries", label: "Queries", key: (run) => run.queries ?? null, cell: (run) => count(run.queries) },
          { name: "tokens", label: "Tokens", key: (run) => tokens(run) || null, cell: (run) => harness.large(tokens(run)) },
          { name: "seconds", label: "Seconds", key: (run) => run.model_seconds ?? null, cell: (run) => (run.model_seconds ? number(run.model_seconds) : "—") },
          { name: "finished", label: "Ended", kind: "text", first: "descending", key: (run) => run.finished, cell: (run) => harness.moment(run.finished) },
        ], shown, { id: "runs", label: "Runs", sort: query.sort || "run", onsort: (sort) => harness.go(`model/${path[0]}`, { ...query, sort }, { replace: true }) }));
      if (shown.length < rows.length) harness.add(main, make("p", null, harness.to(`model/${path[0]}`, `Show all ${count(rows.length)} runs`, 60, { ...query, all: 1 })));
      harness.add(main, make("h2", null, "Where the results come from"));
      for (const [title, values] of [["Fingerprint", model.fingerprints], ["Versions", model.versions], ["Machine", model.hosts]]) {
        if (!values.length) continue;
        harness.add(main, make("h3", null, values.length > 1 ? `${title}: ${values.length} different values` : title),
          values.slice(0, 20).map(([value, runs]) => [make("p.quiet", null, `${count(runs)} ${runs === 1 ? "run" : "runs"}`), harness.passage(JSON.stringify(value, null, 1), { name: title })]));
      }
      return about.name;
    },
  });
})();

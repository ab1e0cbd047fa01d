// One scenario: its description and source, all models on all its metrics, and some of its instances.
"use strict";
(() => {
  const { make, text, plain, count, number, spread, facts, link } = harness;
  const title = harness.capitalized;

  harness.page("scenario", {
    title: "Scenario",
    async render(main, path, query) {
      const scenario = await harness.get(`scenarios/${path[0] || ""}`);
      const { about } = scenario;
      const go = (changes, options) => harness.go(`scenario/${path[0]}`, { ...query, ...changes }, options);
      harness.add(main, harness.crumbs(harness.to("coverage", "Scenarios"), text(about.name, 60)), make("h1", null, text(about.title, 120)));
      const url = about.url ? make("a", { href: about.url, rel: "noreferrer noopener" }, plain(about.url, 90)) : null;
      harness.add(main, facts([["Name", make("code", null, plain(about.name, 80))], ["Source", about.source ? text(about.source, 300) : null], ["Licence", about.licence ? text(about.licence, 200) : null],
        ["Data", url], ["On the Hub", about.hub ? text(about.hub, 120) : null], ["Evaluated split", about.split],
        ...Object.entries(about.taxonomy || {}).map(([facet, value]) => [title(facet), make("a", { href: link("coverage", { tag: `${facet}:${value}` }) }, plain(value, 80))]),
        ["Groups compared", about.groups && about.groups.length ? about.groups.join(", ") : null]]));
      if (!about.known) harness.add(main, make("p.notice", null, "This scenario's plugin was not installed when the site was built, so its description is missing."));
      if (about.doc) harness.add(main, harness.paragraphs(about.doc.replace(/``/g, "")).map((words) => make("p.definition", null, plain(words, 3000))));
      scenario.columns.forEach((column, at) => block(main, column, at, query, go));
      await examples(main, scenario);
      return about.title;
    },
  });

  function block(main, column, at, query, go) {
    const heading = [harness.title("methods", column.method), column.split, ...column.details, `${column.suites.length > 1 ? "suites" : "suite"} ${column.suites.join(", ")}`].map((part) => plain(part, 80)).join(" · ");
    const categories = [...new Set(column.measures.map((measure) => measure.category))];
    const name = `view${at || ""}`;
    const chosen = categories.includes(query[name]) ? query[name] : "";
    const measures = column.measures.filter((measure, i) => (chosen ? measure.category === chosen : i === 0 || measure.represents));
    harness.add(main, make("h2", null, ["Results", ...column.details.map((detail) => plain(detail, 60))].join(", ")), make("p.quiet", null, heading, column.sample ? [" ", make("span.mark.warn", null, "sample data, not a measurement")] : null));
    harness.add(main, harness.tabs("Categories of metrics", ["", ...categories].map((category) => [category, category ? harness.title("categories", category) : "One of each category"]), chosen,
      (category) => link(`scenario/${harness.route().path[0]}`, { ...query, [name]: category })));
    const places = column.models.map((_, i) => i);
    harness.add(main, harness.table([
      { name: "model", label: "Model", kind: "text", class: "fixed", key: (i) => column.models[i][0], cell: (i) => harness.to(`model/${column.models[i][1]}`, column.models[i][0], 60) },
      { name: "runs", label: "Run", cell: (i) => column.runs[i].length === 1 ? harness.to(`run/${column.runs[i][0]}`, "examples") : make("span.quiet", null, `${column.parts.length} below`) },
      ...measures.map((measure) => ({
        name: `${measure.metric}.${measure.worst || ""}`,
        label: make("span.title", { title: harness.about("metrics", measure.metric) }, text(harness.title("metrics", measure.metric), 40)),
        note: [measure.worst ? `worst of ${measure.worst}` : "", measure.higher === null ? "" : measure.higher ? "↑" : "↓"].filter(Boolean).join(" "),
        title: measure.about, first: measure.higher === false ? "ascending" : "descending",
        key: (i) => (measure.cells[i] ? measure.cells[i][0] : null),
        cell: (i) => {
          if (!measure.cells[i] || measure.cells[i][0] === null) return make("td.quiet", null, "—");
          const [mean, low, high, n, , best, , , marks] = measure.cells[i];
          return make(best ? "td.best" : "td", null, number(mean), " ", make("span.spread", null, spread(mean, low, high)), marks, make("small", null, `n=${count(n)}`));
        },
      })),
    ], places, { id: `results${at}`, label: `Results of ${plain(column.title, 60)}`, sort: query[`sort${at}`] || (measures.length ? `${measures[0].higher === false ? "" : "-"}${measures[0].metric}.${measures[0].worst || ""}` : "model"),
      onsort: (sort) => go({ [`sort${at}`]: sort }, { replace: true }) }));
    if (column.parts.length) parts(main, column, at, query, go);
  }

  function parts(main, column, at, query, go) {
    harness.add(main, make("h3", null, `The ${count(column.parts.length)} runs, by ${plain(harness.title("metrics", column.metric), 40)}`), harness.table([
      { name: "part", label: "Run", kind: "text", class: "fixed", key: (part) => harness.runTitle(part[0]), cell: (part) => make("span", { title: plain(part[0], 200) }, text(harness.runTitle(part[0]), 70)) },
      ...column.models.map(([model], m) => ({ name: `m${m}`, label: make("span.title", null, text(model, 40)), first: column.higher === false ? "ascending" : "descending",
        key: (part) => part[1][m]?.[1] ?? null,
        cell: (part) => {
          if (!part[1][m]) return make("td.quiet", null, "—");
          const [address, mean, low, high] = part[1][m];
          return make("td", null, make("a", { href: link(`run/${address}`) }, mean === null ? "✗" : number(mean)), " ", mean === null ? null : make("span.spread", null, spread(mean, low, high)));
        } })),
    ], column.parts, { id: `parts${at}`, label: "Runs by model", sort: query[`part${at}`] || "part", onsort: (sort) => go({ [`part${at}`]: sort }, { replace: true }) }));
  }

  async function examples(main, scenario) {
    const from = scenario.columns.map((column) => column.examples).find(Boolean);
    if (!from) return;
    const index = await harness.get(`runs/${from}/index`);
    if (!index.count) return;
    const piece = await harness.get(`runs/${from}/0`, { keep: false });
    const originals = piece.filter((example) => !example.perturbation).slice(0, 3);
    harness.add(main, make("h2", null, "Instances"), make("p.quiet", null, "The first instances of one run; ", harness.to(`run/${from}`, "all of its prompts and answers"), "."),
      originals.map((example) => make("article.example", null, make("header", null, make("h3", null, text(example.id, 80))), harness.passage(example.input, { name: "Input", limit: 1500 }),
        example.references ? make("ul", null, example.references.slice(0, 20).map((reference) => make("li", null, text(reference.text, 300), reference.correct ? [" ", make("span.mark.good", null, "correct")] : null))) : null)));
  }
})();

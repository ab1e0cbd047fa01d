// The scenarios of a suite: for each its task, the categories of metrics and the models that have a result; what failed, and what
// is missing. The taxonomy of scenarios narrows it down.
"use strict";
(() => {
  const { make, text, plain, count } = harness;
  const NAMES = harness.FACETS, FACETS = Object.keys(NAMES);
  const NAMED = 4; // models or scenarios that are named in a line
  const several = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

  harness.page("coverage", {
    title: "Scenarios",
    async render(main, path, query) {
      const site = await harness.get("site");
      // The newest suite, unless a link is about scenarios of any suite.
      const every = !query.suite && Boolean(query.tag || query.suites === "all");
      const key = query.suite || every ? harness.suiteBoard(site, query.suite) : site.newest;
      const [board, coverage] = await Promise.all([harness.get(`boards/${key}`), harness.get(`coverage/${key}`), harness.stylesheet("assets/profile/profile.css"), harness.stylesheet("assets/coverage.css")]);
      // A link gives one facet as a tag; the choices made here have a key each.
      const linked = query.tag ? { [query.tag.split(":")[0]]: query.tag.split(":").slice(1).join(":") } : {};
      const wanted = Object.fromEntries(FACETS.map((facet) => [facet, query[facet] ?? linked[facet] ?? ""]));
      const go = (changes) => harness.go("coverage", { suite: query.suite, suites: every ? "all" : null, sort: query.sort, ...wanted, ...changes });
      const columns = coverage.columns.map(([at, there, failed, missing, without]) => ({ ...board.columns[at], at, there, failed, missing, without }));
      const rows = columns.filter((column) => FACETS.every((facet) => !wanted[facet] || column.taxonomy[facet] === wanted[facet]));
      const sum = (kind) => rows.reduce((all, column) => all + column[kind].length, 0);
      const exported = () => ({ name: "scenarios", columns: ["scenario", "task", "instances", "models", "failed", "not run", ...board.names].map((name) => ({ name: name.replace(" ", "_"), title: name })),
        rows: rows.map((column) => [column.title, column.taxonomy.task || "", column.count ?? null, column.there.length, column.failed.length, column.missing.length, ...board.names.map((_, at) => (column.measured.includes(at) ? "measured" : ""))]) });
      harness.add(main, make("div.title-line", null, make("h1", null, "Scenarios"), make("span.push"), columns.length ? harness.exportMenu("export", exported) : null));
      if (!columns.length) {
        harness.add(main, make("p", null, "No scenario has a result yet."));
        return "Scenarios";
      }
      const shown = new Set(rows.map((column) => column.at));
      const failures = coverage.failures.map(([reason, cells]) => [reason, cells.filter(([, column]) => shown.has(column))]).filter(([, cells]) => cells.length);
      harness.add(main, make("p.lead", null, `${count(sum("there"))} of ${several(rows.length * board.models.length, "result")} (${several(rows.length, "scenario")}, ${several(board.models.length, "model")}) are available`,
        sum("failed") ? `; ${count(sum("failed"))} failed, for ${several(failures.length, "reason")}` : "", sum("missing") ? `; ${count(sum("missing"))} ${sum("missing") === 1 ? "was" : "were"} not run` : "", "."));
      harness.add(main, make("div.bar.facets", null, site.boards.length < 2 ? null : harness.suiteChoice(site, key, (suite) => go({ suite, suites: suite ? null : "all" })), FACETS.map((facet) => {
        const values = [...new Set(columns.map((column) => column.taxonomy[facet]).filter(Boolean))].sort();
        if (!values.length) return null;
        return make("label", null, NAMES[facet], make("select", { id: `facet-${facet}`, onchange: (event) => go({ [facet]: event.target.value }) },
          make("option", { value: "" }, "any"), values.map((value) => make("option", { value, selected: wanted[facet] === value }, plain(value, 50)))));
      })));
      if (!rows.length) harness.add(main, make("p", null, "No scenario matches. Choose “any” to see all."));
      else harness.add(main, table(board, rows, query), make("p.coverage-key.faint", { "aria-hidden": "true" }, make("span", null, make("span.good", null, "●"), " measured"), make("span", null, make("strong", null, "·"), " not measured")), failed(board, failures), missing(board, rows));
      return "Scenarios";
    },
  });

  function table(board, rows, query) {
    const all = board.models.length;
    const named = (models) => models.slice(0, 12).map((model) => plain(board.models[model].name, 50)).join(", ") + (models.length > 12 ? ` and ${models.length - 12} more` : "");
    const tag = (models, words, kind) => (models.length ? [make(kind ? `span.mark.${kind}` : "span.mark", { tabindex: "0", "data-tip": named(models) }, `${count(models.length)} ${words}`), " "] : null);
    return harness.table([
      { name: "scenario", label: "Scenario", kind: "text", class: "fixed", key: (column) => column.title,
        cell: (column) => make("span", { "data-tip": [column.title, harness.title("methods", column.method), ...FACETS.map((facet) => column.taxonomy[facet] && `${NAMES[facet]}: ${column.taxonomy[facet]}`)].filter(Boolean).map((line) => plain(line, 200)).join("\n") },
          harness.to(`scenario/${column.address}`, column.title, 60), column.sample ? " †" : "") },
      { name: "task", label: "Task", kind: "text", class: "roomy", key: (column) => column.taxonomy.task || null, cell: (column) => (column.taxonomy.task ? text(column.taxonomy.task, 44) : make("span.faint", null, "–")) },
      { name: "instances", label: "Instances", tip: "Scored instances: the most of any model.", class: "roomy", key: (column) => column.count || null, cell: (column) => (column.count ? count(column.count) : make("span.faint", null, "–")) },
      { name: "models", label: "Models", tip: "Models with a result, of all models of this suite.", key: (column) => column.there.length, class: "of", cell: (column) => [tag(column.failed, "failed", "bad"), tag(column.without, "without a number", "warn"), tag(column.missing, "not run", ""), count(column.there.length), make("span.faint", null, ` / ${count(all)}`)] },
      ...board.names.map((name, at) => ({ name, label: harness.title("categories", name), note: `${count(rows.filter((column) => column.measured.includes(at)).length)} of ${count(rows.length)}`, first: "descending", class: "middle", key: (column) => (column.measured.includes(at) ? 1 : 0),
        cell: (column) => column.measured.includes(at) ? [make("span.good", { "aria-hidden": "true" }, "●"), make("span.unseen", null, "measured")] : [make("span.faint", { "aria-hidden": "true" }, "·"), make("span.unseen", null, "not measured")] })),
    ], rows, { id: "coverage", label: "Scenarios", sort: query.sort || "scenario", onsort: (sort) => harness.note("coverage", { ...query, sort }) });
  }

  // Each reason once, with how many results it cost, and whose.
  function failed(board, failures) {
    if (!failures.length) return null;
    const titles = (cells, place, name) => [...new Set(cells.map((cell) => cell[place]))].map(name);
    const list = (names) => `${names.slice(0, NAMED).map((name) => plain(name, 40)).join(", ")}${names.length > NAMED ? ` and ${count(names.length - NAMED)} more` : ""}`;
    return [make("h2", { id: "failed" }, "What failed"), harness.table([
      { name: "results", label: "Results", key: ([, cells]) => cells.length, cell: ([, cells]) => make("td", null, count(cells.length)) },
      { name: "reason", label: "Reason", kind: "text", key: ([reason]) => reason, cell: ([reason]) => make("td.wrap.left", null, text(reason, 300)) },
      { name: "of", label: "Models", kind: "text", cell: ([, cells]) => make("td.wrap.left", null, list(titles(cells, 0, (model) => board.models[model].name))) },
      { name: "in", label: "Scenarios", kind: "text", cell: ([, cells]) => make("td.wrap.left", null, list(titles(cells, 1, (column) => board.columns[column].title))) },
    ], failures, { id: "failures", label: "Failures by reason", sort: "-results", rowHead: false })];
  }

  // What was not run: by model, or that a model has none of them.
  function missing(board, rows) {
    const by = board.models.map((model, at) => ({ model, columns: rows.filter((column) => column.missing.includes(at)) })).filter(({ columns }) => columns.length);
    if (!by.length) return null;
    const list = (columns) => (columns.length === rows.length ? "all scenarios" : `${columns.slice(0, NAMED).map((column) => plain(column.title, 50)).join(", ")}${columns.length > NAMED ? ` and ${count(columns.length - NAMED)} more` : ""}`);
    return [make("h2", { id: "missing" }, "What was not run"), harness.table([
      { name: "model", label: "Model", kind: "text", class: "fixed", key: ({ model }) => model.name, cell: ({ model }) => harness.to(`model/${model.address}`, model.name, 50) },
      { name: "number", label: "Scenarios", key: ({ columns }) => columns.length, cell: ({ columns }) => count(columns.length) },
      { name: "which", label: "Which", kind: "text", cell: ({ columns }) => make("td.wrap.left", null, list(columns)) },
    ], by, { id: "not-run", label: "Scenarios that were not run, by model", sort: "-number" })];
  }
})();

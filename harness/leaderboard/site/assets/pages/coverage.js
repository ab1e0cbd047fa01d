// Which categories were measured on which scenarios, with the taxonomy of scenarios (Liang et al. 2022, table 4).
"use strict";
(() => {
  const { make, text, plain, count, link } = harness;
  const title = harness.capitalized;

  harness.page("coverage", {
    title: "Coverage",
    async render(main, path, query) {
      const site = await harness.get("site");
      const board = await harness.get(`boards/${site.boards[0][0]}`);
      const facets = ["task", "what", "who", "when", "language"];
      // A link gives one facet as a tag; the choices made here have a key each.
      const linked = query.tag ? { [query.tag.split(":")[0]]: query.tag.split(":").slice(1).join(":") } : {};
      const wanted = Object.fromEntries(facets.map((facet) => [facet, query[facet] ?? linked[facet] ?? ""]));
      const rows = board.columns.filter((column) => !column.test).filter((column) => facets.every((facet) => !wanted[facet] || column.taxonomy[facet] === wanted[facet]));
      harness.add(main, make("h1", null, "Coverage"), make("p.lead", null, `The categories of metrics measured on each column of the leaderboard; ${count(rows.length)} of ${count(board.columns.filter((column) => !column.test).length)} columns are shown.`));
      harness.add(main, make("div.bar", null, facets.map((facet) => {
        const values = [...new Set(board.columns.map((column) => column.taxonomy[facet]).filter(Boolean))].sort();
        if (!values.length) return null;
        return make("label", null, title(facet), make("select", { id: `facet-${facet}`, onchange: (event) => harness.go("coverage", { sort: query.sort, ...wanted, [facet]: event.target.value }) },
          make("option", { value: "" }, "any"), values.map((value) => make("option", { value, selected: wanted[facet] === value }, plain(value, 50)))));
      })));
      harness.add(main, harness.table([
        { name: "scenario", label: "Scenario", kind: "text", class: "fixed", key: (column) => column.title, cell: (column) => [harness.to(`scenario/${column.address}`, column.title, 50), column.sample ? " †" : "",
          make("small.quiet", null, plain(harness.title("methods", column.method), 40))] },
        ...board.names.map((name, at) => ({ name, label: harness.title("categories", name), first: "descending", key: (column) => (column.measured.includes(at) ? 1 : 0),
          cell: (column) => column.measured.includes(at) ? make("td.middle.covered", null, make("span", { "aria-hidden": "true" }, "●"), make("span.unseen", null, "measured")) : make("td.middle.quiet", null, make("span", { "aria-hidden": "true" }, "·"), make("span.unseen", null, "not measured")) })),
        ...facets.map((facet) => ({ name: facet, label: title(facet), kind: "text", key: (column) => column.taxonomy[facet] || "", cell: (column) => column.taxonomy[facet] ? make("td.wrap.left", null, text(column.taxonomy[facet], 60)) : "—" })),
      ], rows, { id: "coverage", label: "Coverage", sort: query.sort || "scenario", onsort: (sort) => harness.go("coverage", { ...query, sort }, { replace: true }) }));
    },
  });
})();

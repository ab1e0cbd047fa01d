// Plots of a leaderboard: all models, accuracy against the other categories, and single columns. One model is highlighted in all.
"use strict";
(() => {
  const { make, plain } = harness;
  const ABOUT = ["models", "accuracy against"]; // the groups that are about all columns

  harness.page("plots", {
    title: "Plots",
    async render(main, path, query) {
      await harness.load("assets/plot.js");
      const site = await harness.get("site");
      const every = query.suites === "all", key = query.suite || every ? harness.suiteBoard(site, query.suite) : site.newest;
      const { plots, models } = await harness.get(`plots/${key}`);
      const evidence = (await harness.get("plots/contamination")).plots.filter(([, , group]) => group === "copies");
      if (query.model && !models.includes(query.model)) throw new Error(`Unknown model ${plain(query.model, 60)}. The plots of this suite show ${harness.count(models.length)} other models.`);
      const groups = [...new Set(plots.map(([, , group]) => group))];
      const columns = groups.filter((group) => !ABOUT.includes(group));
      if (query.column && !columns.includes(query.column)) throw new Error(`Unknown column ${plain(query.column, 60)}. The plots of this suite show ${harness.count(columns.length)} other columns.`);
      const column = query.column || columns[0];
      const views = [["", "Models", groups.includes("models")], ["accuracy", "Trade-offs", groups.includes("accuracy against")], ["column", "One column", columns.length], ["contamination", "Contamination", evidence.length]].filter(([, , there]) => there);
      main.append(make("h1", null, "Plots"));
      if (!views.length) {
        main.append(make("p", null, "There are no plots yet, because no run has a result."));
        return "Plots";
      }
      const [view] = views.find(([name]) => name === (query.view || "")) || views[0];
      // What is chosen in one plot is highlighted in all, and kept in the address.
      const highlight = (model) => {
        query = { ...query, model };
        harness.note("plots", query);
        select.value = model;
        for (const figure of figures) figure.choose(model);
      };
      const select = make("select", { id: "model", onchange: (event) => highlight(event.target.value) }, models.map((name) => make("option", { value: name, selected: name === (query.model || models[0]) }, plain(name, 70))));
      const [board, listed] = view === "contamination" ? ["contamination", evidence] : [key, plots.filter(([, , group]) => group === { "": "models", accuracy: "accuracy against", column }[view])];
      const figures = listed.map(([name]) => harness.plot(`${board}/${name}`, { level: "h2", chosen: query.model || models[0], onchoose: highlight }));
      harness.add(main, make("div.bar", null, harness.suiteChoice(site, key, (suite) => harness.go("plots", { suite, suites: suite ? null : "all", view: query.view })), models.length > 1 ? make("label", null, "Highlighted model", select) : null,
        view === "column" ? make("label", null, "Column", make("select", { id: "column", onchange: (event) => harness.go("plots", { ...query, column: event.target.value }, { replace: true }) },
          columns.map((value) => make("option", { value, selected: value === column }, plain(value, 80))))) : null),
      harness.tabs("Kinds of plots", views, view, (name) => harness.link("plots", { ...query, view: name })), make("div.plots", null, figures));
      return "Plots";
    },
  });
})();

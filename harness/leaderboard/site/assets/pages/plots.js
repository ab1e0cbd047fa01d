// Plots of a leaderboard: all models, accuracy against the other categories, and single columns.
"use strict";
(() => {
  const { make, plain } = harness;
  const ABOUT = { models: "Models", "accuracy against": "Accuracy against other categories" };

  harness.page("plots", {
    title: "Plots",
    async render(main, path, query) {
      await harness.load("assets/plot.js");
      const site = await harness.get("site");
      const key = harness.suiteBoard(site, query.suite);
      const { plots } = await harness.get(`plots/${key}`);
      const evidence = (await harness.get("plots/contamination")).plots.filter(([, , group]) => group === "copies");
      main.append(make("h1", null, "Plots"));
      const groups = [...new Set(plots.map(([, , group]) => group))];
      const columns = groups.filter((group) => !(group in ABOUT));
      const column = columns.includes(query.column) ? query.column : columns[0];
      if (site.boards.length > 1) main.append(make("div.bar", null, harness.suiteChoice(site, key, (suite) => harness.go("plots", { suite }))));
      if (!plots.length) {
        main.append(make("p", null, "There are no plots yet."));
        return "Plots";
      }
      for (const group of groups.filter((name) => name in ABOUT)) section(main, ABOUT[group], key, plots.filter(([, , name]) => name === group));
      if (columns.length) {
        main.append(make("h2", null, "One column of the leaderboard"), make("div.bar", null, make("label", null, "Column",
          make("select", { id: "column", onchange: (event) => harness.go("plots", { ...query, column: event.target.value }, { replace: true }) },
            columns.map((value) => make("option", { value, selected: value === column }, plain(value, 80)))))));
        figures(main, key, plots.filter(([, , name]) => name === column));
      }
      if (evidence.length) section(main, "Contamination", "contamination", evidence);
      return "Plots";
    },
  });

  function section(main, title, key, plots) {
    if (!plots.length) return;
    main.append(make("h2", null, title));
    figures(main, key, plots);
  }

  function figures(main, key, plots) {
    main.append(make("div.plots", null, plots.map(([name]) => harness.plot(`${key}/${name}`))));
  }
})();

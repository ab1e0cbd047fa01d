// Checkpoints of one training over its steps: a curve with its intervals for each scenario; several trainings side by side.
"use strict";
(() => {
  const { make, text, plain, count, link } = harness;
  const WIDE = 30; // from this ratio of the greatest to the smallest step on, the axis is logarithmic at first

  const boardKey = (site, query) => (query.suites === "all" ? site.boards[0][0] : query.suite ? harness.suiteBoard(site, query.suite) : site.newest);
  const list = (words) => (words ? words.split(",").filter(Boolean) : null);
  const steps = (value) => Number(value).toLocaleString("en");

  harness.page("checkpoints", {
    title: "Checkpoints",
    async render(main, path, query) {
      const site = await harness.get("site");
      let series;
      try { series = await harness.get("checkpoints"); } catch { series = []; }
      if (!series.length) {
        harness.add(main, make("h1", null, "Checkpoints"), make("p.empty", null, "These results have no two checkpoints of the same training. To declare checkpoints in a sweep, write ", make("code", null, "about: {series: pythia-70m, step: 1000}"), "."));
        return "Checkpoints";
      }
      const key = boardKey(site, query);
      const [board, { measures }, signals] = await Promise.all([harness.get(`boards/${key}`), harness.get(`boards/${key}/main`), harness.get(`checkpoints/${key}`).catch(() => ({})), harness.charts()]);
      await harness.stylesheet("assets/checkpoints/checkpoints.css");
      const go = (changes) => harness.go("checkpoints", { ...query, ...changes }, { replace: true });
      const problems = [];
      const curves = series.map((one, place) => ({ name: one.name, place, points: one.steps.map(([step, address]) => ({ step, address, at: board.models.findIndex((model) => model.address === address) })).filter((point) => point.at >= 0) })).filter((one) => one.points.length);
      const wanted = list(query.series), known = new Map(curves.map((one) => [encodeName(one.name), one]));
      for (const name of wanted || []) if (!known.has(name)) problems.push(`Unknown series ${plain(name, 60)}.`);
      const chosenNames = new Set((wanted || []).filter((name) => known.has(name)));
      const shown = chosenNames.size ? curves.filter((one) => chosenNames.has(encodeName(one.name))) : curves;
      const places = measures.map((measure, at) => at).filter((at) => !board.columns[measures[at].column].test && board.columns[measures[at].column].shown && shown.some((one) => new Set(one.points.filter((point) => { const cell = measures[at].cells[point.at]; return cell && cell[0] !== null; }).map((point) => point.step)).size > 1));
      const columnNames = list(query.columns), byKey = new Map(places.map((at) => [board.columns[measures[at].column].key, at]));
      for (const name of columnNames || []) if (!byKey.has(name)) problems.push(`Unknown scenario ${plain(name, 60)}.`);
      const drawn = columnNames ? columnNames.map((name) => byKey.get(name)).filter((at) => at !== undefined) : places;
      const all = shown.flatMap((one) => one.points.map((point) => point.step)), positive = all.filter((step) => step > 0);
      const log = query.axis ? query.axis === "log" : Math.max(...positive, 1) / Math.min(...positive, Infinity) >= WIDE;
      if (query.axis && !["log", "linear"].includes(query.axis)) problems.push(`Unknown axis ${plain(query.axis, 20)}.`);
      const first = shown.find((one) => encodeName(one.name) === query.chosen) || shown[0];
      if (query.chosen && encodeName(first?.name || "") !== query.chosen) problems.push(`Unknown series ${plain(query.chosen, 60)}.`);
      const charts = [];
      const told = [];
      const choose = (name) => { for (const chart of charts) chart.choose(name); for (const tell of told) tell(name); harness.note("checkpoints", (query = { ...query, chosen: encodeName(name) })); describe(shown.find((one) => one.name === name)); };
      const about = make("p.quiet");
      const describe = (one) => {
        const [from, to] = [one.points[0], one.points.at(-1)];
        harness.clear(about, make("strong", null, text(one.name, 60)), `: ${count(one.points.length)} ${one.points.length === 1 ? "checkpoint" : "checkpoints"}, ${from === to ? `step ${steps(from.step)}` : `steps ${steps(from.step)} to ${steps(to.step)}`}. The band is the 95 % interval of each result. `,
          from === to ? null : make("a", { href: link("compare", { a: to.address, b: from.address, suite: query.suite, suites: query.suites }) }, "Compare the last with the first"), from === to ? null : " on the same questions.");
      };
      const picked = harness.popover(["Series ", make("strong", null, `${shown.length} of ${curves.length}`)], { id: "series", tip: "Choose series", fill: (panel) => harness.picker(panel, { placeholder: "Type a series", unit: "series",
        items: () => curves.map((one) => ({ id: encodeName(one.name), name: one.name, note: `${one.points.length}`, chosen: shown.includes(one) })), change: (ids) => go({ series: ids.length === curves.length ? null : ids.join(","), chosen: null }) }) });
      const scenarios = harness.popover(["Scenarios ", make("strong", null, `${drawn.length} of ${places.length}`)], { id: "scenarios", tip: "Choose scenarios", fill: (panel) => harness.picker(panel, { placeholder: "Type a scenario or metric", unit: "scenarios",
        items: () => places.map((at) => { const column = board.columns[measures[at].column]; return { id: column.key, name: column.title, group: column.group, words: [column.scenario, column.metric].join(" "), chosen: drawn.includes(at) }; }).sort((a, b) => a.group.localeCompare(b.group)),
        change: (ids) => go({ columns: ids.length === places.length ? null : ids.join(",") || "none" }) }) });
      const axis = (name, words) => make("button", { type: "button", id: `axis-${name}`, "aria-pressed": String(log === (name === "log")), onclick: () => go({ axis: name }) }, words);
      const suite = site.boards.length < 2 ? null : make("select", { id: "suite", "aria-label": "Suite", onchange: (event) => { const [kind, name] = [event.target.value.slice(0, 1), event.target.value.slice(1)]; go({ suite: kind === "*" ? null : name, suites: kind === "*" ? "all" : null, columns: null }); } },
        site.boards.map(([known_, words, name]) => make("option", { value: name ? `=${name}` : "*", selected: known_ === key }, `${plain(words, 50)}${known_ === site.newest ? " · newest" : ""}`)));
      const table = () => ({ name: "checkpoints", columns: ["series", "step", "model", "scenario", "metric", "value", "low", "high", "n"].map((name) => ({ name, title: name })),
        rows: drawn.flatMap((at) => shown.flatMap((one) => one.points.map((point) => [point, measures[at].cells[point.at]]).filter(([, cell]) => cell && cell[0] !== null).map(([point, cell]) => [one.name, point.step, board.models[point.at].name, board.columns[measures[at].column].title, measures[at].metric, cell[0], cell[1], cell[2], cell[3]]))) });
      const curve = (at) => {
        const measure = measures[at], column = board.columns[measure.column], metric = plain(harness.title("metrics", measure.metric), 60);
        const lines = shown.map((one) => ({ name: one.name, line: true, band: true, points: one.points.map((point) => ({ point, cell: measure.cells[point.at], run: measure.runs?.[point.at] })).filter(({ cell }) => cell && cell[0] !== null).map(({ point, cell, run }) => ({ x: point.step, y: cell[0], low: cell[1], high: cell[2], href: run?.[0] ? link(`run/${run[0]}`) : link(`model/${point.address}`),
          tip: [`step ${steps(point.step)}`, `${metric} ${harness.number(cell[0])} ${harness.spread(cell[0], cell[1], cell[2])}`, cell[3] ? `n = ${count(cell[3])}` : "", board.models[point.at].name].filter(Boolean) })) })).filter((one) => one.points.length);
        const said = lines.map((one) => `${plain(one.name, 40)}: ${one.points.map((point) => `${harness.number(point.y)} at step ${steps(point.x)}`).slice(0, 12).join(", ")}`).join("; ");
        const chart = harness.chart({ label: `${plain(column.title, 60)} over training steps. ${said}`, x: { title: "training step", scale: log ? "log" : "linear" },
          y: { title: `${metric}${measure.higher === null ? "" : measure.higher ? " ↑" : " ↓"}` }, series: lines, chosen: lines.some((one) => one.name === first.name) ? first.name : lines[0].name, onchoose: choose, most: 240 });
        charts.push(chart);
        const signal = make("p.signal");
        const tell = (name) => harness.clear(signal, sentence(signals[measure.column], curves.find((one) => one.name === name), measure.metric));
        told.push(tell);
        tell(lines.some((one) => one.name === first.name) ? first.name : lines[0].name);
        return make("figure", { "data-key": column.key }, make("figcaption", null, make("h2", { "data-tip": plain(column.identifier, 200) }, column.score ? text(column.title, 60) : harness.to(`scenario/${column.address}`, column.title, 60)), column.sample ? harness.tag("sample data", "warn") : null), chart, signal, numbers(lines, `${plain(column.title, 60)}, ${metric}`));
      };
      harness.add(main, make("h1", null, "Checkpoints"), make("div.tools", { role: "toolbar", "aria-label": "Curves", id: "checkpoints-tools" }, picked.button, scenarios.button, suite,
        make("span.segments", { role: "group", "aria-label": "Axis of steps" }, axis("linear", "Linear"), axis("log", "Log")), make("span.push"), harness.exportMenu("export", table), picked.panel, scenarios.panel),
      problems.length ? make("p.notice", { role: "alert" }, problems.join(" ")) : null, shown.flatMap((one) => series[one.place].notes).map((note) => make("p.notice", null, plain(note, 500))), about);
      if (first) describe(first);
      harness.add(main, drawn.length ? make("div.curves", null, drawn.map(curve)) : make("p.empty", null, shown.length ? "No scenario is selected. Select some under “Scenarios”." : "This suite has no results for these models."));
      return "Checkpoints";
    },
  });

  // What a scenario can tell apart in a training, in words.
  function sentence(column, one, metric) {
    const found = column && one && column[one.place];
    if (!found) return "One checkpoint: nothing to compare.";
    const [pairs, apart, ratio, could, needed, n, paired] = found, score = (value) => harness.number(value);
    const name = make("strong", null, text(one.name, 40));
    const said = [name, `: ${count(apart)} of ${count(pairs)} neighbouring pairs of checkpoints ${apart === 1 ? "differs" : "differ"} significantly`];
    const noise = ratio === null ? null : make("span.defined", { tabindex: "0", "data-tip": "The typical true change from one checkpoint to the next over its standard error. At 2.8 a typical change is shown with a power of 0.8." }, `signal to noise ${ratio.toFixed(1)}`);
    const shown = could === null ? "no change could be shown" : `could show ±${score(could)}`;
    const more = needed === null ? "" : needed > n ? `; a typical change needs ${count(needed)} instances, ${count(n)} were used` : "";
    return [...said, noise ? [", ", noise] : null, `, ${shown}${more}.`, paired ? "" : " Not paired: the scores of instances are unknown.", column[""] ? ` Between trainings: signal to noise ${column[""].toFixed(1)}.` : ""];
  }

  // The numbers of a chart as a table: a row for each step, a column for each training.
  function numbers(lines, title) {
    const all = [...new Set(lines.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b);
    const at = lines.map((one) => new Map(one.points.map((point) => [point.x, point])));
    const table = () => make("div.scroll", { tabindex: "0", role: "group", "aria-label": `Numbers of ${title}` }, make("table", null,
      make("thead", null, make("tr", null, make("th", { scope: "col" }, "Step"), lines.map((one) => make("th", { scope: "col" }, text(one.name, 40))))),
      make("tbody", null, all.map((step) => make("tr", null, make("th", { scope: "row" }, steps(step)), at.map((points) => {
        const point = points.get(step);
        return point ? make("td", null, harness.number(point.y), " ", make("span.spread", null, harness.spread(point.y, point.low, point.high))) : make("td.quiet", null, "–");
      }))))));
    const box = make("details.numbers", { ontoggle: () => { if (box.open && box.childElementCount === 1) box.append(table()); } }, make("summary", null, "Show as table"));
    return box;
  }

  // A series' name in an address, where a comma separates names.
  const encodeName = (name) => plain(name, 80).replaceAll(",", " ");
})();

// One model against the others: rank, win rate, profile, best and worst scenarios, every result; where they come from, last.
"use strict";
(() => {
  const { make, text, plain, count, number, link } = harness;
  const PARTS = ["assets/profile/field.js", "assets/profile/facts.js", "assets/components/ratings.js", "assets/profile/ratings.js"];
  const MOST = 5; // best and worst scenarios
  const RUNS = 300; // runs that are listed at once
  const share = (value) => harness.share(value);
  const rateInterval = (rate) => (rate[1] === null ? "" : `[${share(rate[1])}, ${share(rate[2])}]`);

  harness.page("model", {
    title: "Model",
    async render(main, path, query) {
      const [site, page] = await Promise.all([harness.get("site"), found(path[0]), harness.loadAll(PARTS), harness.stylesheet("assets/profile/profile.css")]);
      const { about } = page;
      const suite = page.suites.find(([, name]) => !query.suite || name === query.suite);
      if (!suite) throw new Error(`There are no results of ${plain(about.name, 60)} in a suite called ${plain(query.suite, 60)}. Suites with results: ${page.suites.map(([, name]) => plain(name, 60)).join(", ")}.`);
      const [key, name, costs, runOf] = suite;
      const [board, results] = await Promise.all([harness.get(`boards/${key}`), harness.get(`boards/${key}/main`)]);
      const at = board.models.findIndex((model) => model.address === about.address);
      const go = (changes, options = { replace: true }) => harness.go(`model/${path[0]}`, { ...query, ...changes }, options);
      const here = { path: path[0], query, go, page, about, board, suite: name, costs, runOf, at, own: board.models[at], rows: standings(board, results, at, runOf) };
      harness.add(main, harness.crumbs(harness.to("models", "Models"), text(about.name, 60)), head(here, site));
      harness.add(main, harness.factsOf(about), hero(here));
      const calibrated = await calibration(here);
      const profiled = profile(here);
      harness.add(main, calibrated ? make("div.pair", null, make("div", null, profiled, extremes(here, "div")), calibrated) : [profiled, extremes(here, "div.pair.equal")], everything(here), await harness.ratingsOf({ address: about.address, ratings: page.ratings }),
        make("div.three", null, contamination(here), cost(here), provenance(here)), runs(here));
      return about.name;
    },
  });

  const found = async (address) => {
    try { return await harness.get(`models/${address || ""}`); } catch { throw new Error(`No model has the address ${plain(address || "(empty)", 80)}. The page of all models lists those of this site.`); }
  };

  // Every column of the board that is a result, with the model's standing in it.
  function standings(board, results, at, runOf) {
    const errors = new Map(board.failures.filter(([m]) => m === at).map(([, c, words]) => [c, words]));
    const none = new Map(board.no_values.filter(([m]) => m === at).map(([, c, reasons]) => [c, reasons]));
    const remarks = new Map(board.remarks.filter(([m]) => m === at).map(([, c, all, words]) => [c, { all, words }]));
    const dependent = new Map(board.dependent.filter(([m]) => m === at).map(([, c, log10]) => [c, log10]));
    return results.measures.map((measure) => ({ measure, column: board.columns[measure.column] }))
      .filter(({ column }) => column.shown && !column.test)
      .map(({ measure, column }) => ({
        column, metric: measure.metric, higher: measure.higher, ...harness.field.standing(measure.cells, at, measure.higher, measure.metric), place: measure.column,
        run: runOf[measure.column], errors: errors.get(measure.column), none: none.get(measure.column), remarks: remarks.get(measure.column), dependent: dependent.get(measure.column),
      }));
  }

  const state = (row) => (row.cell ? (row.remarks?.all ? "declined" : "") : row.errors ? "failed" : row.none ? plain(row.none.join("; "), 200) : "not run");
  const nameOf = (row) => make("span", { "data-tip": row.column.identifier }, row.run ? harness.to(`run/${row.run}`, row.column.title, 60)
    : row.column.score ? text(row.column.title, 60) : harness.to(`scenario/${row.column.address}`, row.column.title, 60));
  const marks = (row) => [row.column.sample ? [" ", harness.tag("sample data", "warn")] : null,
    row.dependent !== undefined ? [" ", make("span.mark.bad", { tabindex: "0", "data-tip": `This model depends on the published order of the data set, p = ${harness.probability(row.dependent)}` }, "order dependence")] : null,
    row.remarks?.all ? [" ", harness.tag("declined", "warn")] : null,
    row.remarks ? [" ", make("span.faint", { tabindex: "0", "data-tip": row.remarks.words.join("; ") }, row.cell?.[8] || "*")] : null];

  function head({ about, page, go, suite, rows }, site) {
    const suites = page.suites.length < 2 ? null : make("label", null, make("span", null, "Suite"), make("select", { id: "suite", onchange: (event) => go({ suite: event.target.value, calibration: null }) },
      page.suites.map(([, name]) => make("option", { value: name, selected: name === suite }, plain(name, 50)))));
    const table = () => ({ name: plain(about.name, 60), columns: ["scenario", "score", "low", "high", "median", "first rank", "last rank", "metric", "n", "run"].map((title) => ({ name: title.replace(" ", "_"), title })),
      rows: rows.map((row) => [row.column.title, row.cell?.[0] ?? null, row.cell?.[1] ?? null, row.cell?.[2] ?? null, row.median, row.first, row.last, row.metric, row.cell?.[3] ?? null, row.run || ""]) });
    return make("div.title-line", null, make("h1", { "data-tip": plain(about.identifier, 300) }, text(about.name, 120)),
      about.facts.parameters ? harness.tag(harness.large(about.facts.parameters[0])) : null, about.tags.map((tag) => harness.tag(text(tag, 30))), harness.tag(text(about.backend, 30)),
      make("span.push"), suites, make("a.button", { href: link("compare", { suite: site.boards.length > 1 ? suite : null, a: about.address }) }, "Compare with…"), harness.exportMenu("export", table));
  }

  function hero({ own, board, at, rows, page, costs, suite }) {
    const { figure } = harness.field;
    const rate = own.rate, others = board.models.filter((model, i) => i !== at && model.rate).map((model) => model.rate[0]);
    const columns = rows.filter((row) => !row.column.score), present = columns.filter((row) => row.cell), failed = rows.filter((row) => state(row) === "failed"), declined = rows.filter((row) => state(row) === "declined");
    const tests = page.contamination.filter((test) => !test.reason), shown = tests.filter((test) => test.shown);
    const alone = make("p.quiet", null, board.models.length < 2 ? "The suite has no other model." : "It shares no scored scenario with another model.");
    const tokens = (costs.prompt_tokens || 0) + (costs.completion_tokens || 0);
    const below = [costs.money ? harness.money(costs.money) : null, costs.device_seconds ? `${harness.duration(costs.device_seconds)} of device time` : null,
      costs.queries && costs.cached_queries ? `${cached(costs)} from the cache` : null].filter(Boolean);
    return make("dl.hero", null,
      figure(`Rank among ${count(others.length + (rate ? 1 : 0)) || "—"}`, "By mean win rate: the range of ranks that the data allow. The ranges of all models are correct at once with 95 % probability.",
        rate ? harness.rankRange(rate[5], rate[6]) : "–", "", rate ? make("p.quiet", null, rate[5] === rate[6] ? "separated from all others" : "the range that the data allow") : alone),
      broad(figure("Mean win rate", `The share of other models that this one beats, ties counting one half, averaged over ${rate ? `${count(rate[3])} ${rate[3] === 1 ? "scenario" : "scenarios"} in which models can be compared` : "scenarios"} (Liang et al. 2022), with its 95 % interval. From 0 to 1; ↑ higher is better.`,
        rate ? share(rate[0]) : "–", rate ? rateInterval(rate) : "", rate && others.length ? harness.strip(rate[0], others, { low: rate[1], high: rate[2] }) : null)),
      figure("Results", `Columns of the leaderboard of ${plain(suite, 60)} in which the model has a result.`, count(present.length), `of ${count(columns.length)} ${columns.length === 1 ? "column" : "columns"}`,
        failed.length ? make("p", null, harness.tag(`${count(failed.length)} failed`, "bad")) : null, declined.length ? make("p", null, harness.tag(`${count(declined.length)} declined`, "warn")) : null),
      figure("Order dependence detected", "Number of tested data sets, over all suites, for which the model's likelihood depends on the published order. If no dependence is found, that shows nothing.",
        tests.length ? count(shown.length) : "–", tests.length ? `of ${count(tests.length)} tested` : "", tests.length ? null : make("p.quiet", null, "not tested")),
      figure("Tokens", "Tokens read, and tokens written or scored, in all runs of the suite. A cached answer counts with the cost of its first computation.", tokens ? harness.large(tokens) : "–", "", below.map((words) => make("p.quiet", null, words))));
  }
  const cached = (costs) => { const share = (100 * costs.cached_queries) / costs.queries; return share < 1 ? "under 1 %" : `${Math.floor(share)} %`; };
  const broad = (element) => { element.classList.add("broad"); return element; };

  // Mean win rates by category of metrics, against the other models.
  function profile({ board, at }) {
    const rows = board.categories.filter((category) => category.rates.some(Boolean));
    if (!rows.length) return null;
    const { table } = harness.field;
    const title = (name) => make("span", { tabindex: "0", "data-tip": harness.about("categories", name) }, harness.title("categories", name));
    return make("section", null, make("h2", null, "Profile against the other models"),
      make("p.quiet", null, `Mean win rate by category of metrics. Grey: the other models; tick: their median; line: 95 % interval. Further right is better.`),
      table("Mean win rates by category", [{ title: "Category", kind: "left" }, { title: make("span.scale", { "aria-hidden": "true" }, ["0", ".25", ".5", ".75", "1"].map((tick) => make("span", null, tick))), kind: "wide" }, { title: "Win rate", tip: "The share of other models that this one beats, averaged over the category's columns. ↑ Higher is better." }, { title: "95 %", kind: "wider" }, { title: "Rank", tip: "The range of ranks that the data allow, by this win rate." }],
        rows.map(({ name, rates, measures }) => {
          const own = rates[at], others = rates.filter((rate, i) => i !== at && rate);
          if (!own) return [title(name), make("td.wide", null), make("span.faint", null, "no result"), "", ""];
          return [title(name), make("td.wide", null, harness.strip(own[0], others.map((rate) => rate[0]), { low: own[1], high: own[2] })), make("td.value", { "data-tip": `over ${count(own[3])} of ${count(measures)} columns${own[1] === null ? ". No interval: too few instances, or no measure of how far they vary." : ""}` }, share(own[0])),
            make("td.wider.quiet", null, rateInterval(own)), make("td", null, harness.rankRange(own[5], own[6]))];
        })));
  }

  // One reliability diagram; those of the model's other scenarios in grey.
  async function calibration({ page, suite, query, go, board, at, runOf }) {
    const all = page.calibration.filter((entry) => entry.suite === suite);
    if (!all.length) return null;
    const most = all.reduce((best, entry) => (entry.count > best.count ? entry : best));
    const chosen = query.calibration ? all.find((entry) => entry.scenario === query.calibration) : most;
    const show = (label) => go({ calibration: label === most.scenario ? null : label });
    const choice = (selected) => (all.length < 2 ? null : make("select", { id: "calibration", "aria-label": "Scenario of the diagram", onchange: (event) => show(event.target.value) },
      selected ? null : make("option", { selected: true }, ""), all.map((entry) => make("option", { value: entry.scenario, selected: entry === selected }, plain(harness.runTitle(entry.scenario), 60)))));
    const heading = (selected) => make("div.heading-line", null, make("h2", null, "Calibration"), choice(selected));
    if (!chosen) return make("section", null, heading(null), make("p.notice", null, `This suite has no calibration of ${plain(query.calibration, 80)}.`));
    const { run, scenario: label, metric, ece: error, bins, count: total } = chosen;
    const mean = (place) => bins.reduce((sum, bin) => sum + bin[place] * bin[4], 0) / total;
    const sure = mean(0) - mean(1);
    let place = null;
    if (board.categories.some((category) => category.name === "calibration")) {
      const { measures } = await harness.get(`boards/${board.key}/calibration`);
      const measured = measures.find((measure) => runOf[measure.column] === run && measure.metric === metric);
      if (measured) place = harness.field.standing(measured.cells, at, measured.higher, metric);
    }
    await harness.charts();
    const named = (entry) => ({ ...entry, name: harness.runTitle(entry.scenario) });
    const diagram = harness.reliability([named(chosen), ...all.filter((entry) => entry !== chosen).map(named)], { notes: false });
    diagram.addEventListener("chosen", (event) => show(all.find((entry) => named(entry).name === event.detail).scenario));
    return make("section", null, heading(chosen),
      make("p.quiet", null, all.length < 2 ? [harness.to(`run/${run}`, harness.runTitle(label), 60), ": "] : null,
        error ? [make("span", { tabindex: "0", "data-tip": harness.about("metrics", metric) }, text(harness.title("metrics", metric), 60)), ` ${share(error[0])} ${harness.field.interval(error[1], error[2], metric)}`,
          place?.first ? `, rank ${harness.rankRange(place.first, place.last)}` : "", ". "] : "",
        Math.abs(sure) < 0.01 ? "On average as confident as it is accurate." : `On average ${sure > 0 ? "overconfident" : "underconfident"} by ${share(Math.abs(sure))}.`),
      diagram,
      all.length > 1 ? make("p.quiet", null, "Grey: the model's other scenarios. ", harness.to(`run/${run}`, "Open this run", 20)) : null);
  }

  // The scenarios in which the model is furthest from the median of the others, on either side.
  function extremes({ rows }, layout) {
    const placed = rows.filter((row) => row.distance !== null && Math.abs(row.distance) > 1e-9 && !row.column.score);
    if (placed.length < 2) return null;
    const ordered = [...placed].sort((a, b) => b.distance - a.distance);
    const most = Math.min(MOST, Math.floor(placed.length / 2));
    const best = ordered.filter((row) => row.better > 0).slice(0, most), worst = ordered.filter((row) => row.better < 0).reverse().slice(0, most);
    const { table, interval, score, signed, ranks } = harness.field;
    const columns = [{ title: "Scenario", kind: "left" }, { title: "Score" }, { title: "95 %", kind: "wider" }, { title: "To median", tip: "Difference from the median of the other models, in the unit of the metric; + is better." },
      { title: make("span.unseen", null, "Distance"), kind: "wider" }, { title: "Rank", tip: "The range of ranks in this scenario that the data allow." }];
    const widest = Math.max(0.05, ...[...best, ...worst].map((row) => Math.abs(row.distance)));
    const lines = (chosen) => chosen.map((row) => [[nameOf(row), marks(row)], make("td.value", null, score(row.cell[0], row.metric)), make("td.wider.quiet", null, interval(row.cell[1], row.cell[2], row.metric)),
      make("td", null, signed(row.better, row.metric)), make("td.wider", null, distance(row, widest)), make("td", null, ranks(row))]);
    const part = (title, chosen, none) => make("section", null, make("h3", null, title), chosen.length ? table(title, columns, lines(chosen)) : make("p.quiet", null, none));
    return make("section", null, make("h2", null, "Best and worst scenarios"),
      make("p.quiet", null, "Sorted by the difference from the other models' median, as a share of the metric's range (or of the larger number, if it has no range). Blue: the whole rank range lies in that half of the models."),
      make(layout, null, part("Better than most models", best, "No scenario is above the median."), part("Worse than most models", worst, "No scenario is below the median.")));
  }
  function distance(row, widest) {
    const part = (100 * Math.max(-widest, Math.min(widest, row.distance))) / (2 * widest);
    const bar = make(Math.sign(row.side) === Math.sign(row.distance) && row.side ? "span.distance.shown" : "span.distance", { "aria-hidden": "true" }, make("i"));
    bar.firstChild.style.setProperty("--low", `${50 + Math.min(0, part)}%`);
    bar.firstChild.style.setProperty("--high", `${50 + Math.max(0, part)}%`);
    return bar;
  }

  function everything({ rows, board, query, go }) {
    const { score, interval, strip, ranks, metricName } = harness.field;
    if (!rows.length) return make("section", null, make("h2", null, "Results"), make("p.quiet", null, "This suite has no results other than tests of data sets."));
    const several = board.models.length > 1;
    const order = (key, label, words) => make("button", { type: "button", id: `order-${key || "board"}`, "aria-pressed": String((query.sort || "") === key), onclick: () => go({ sort: key }) }, label, words ? make("span.unseen", null, words) : null);
    const by = { "": (a, b) => a.place - b.place, rank: (a, b) => (a.first ?? 1e9) - (b.first ?? 1e9) || (a.last ?? 1e9) - (b.last ?? 1e9), score: (a, b) => (b.cell?.[0] ?? -1e99) - (a.cell?.[0] ?? -1e99), median: (a, b) => (b.distance ?? -1e99) - (a.distance ?? -1e99) };
    const shown = [...rows].sort(Object.hasOwn(by, query.sort || "") ? by[query.sort || ""] : by[""]);
    const cell = (row) => {
      const words = state(row);
      if (row.errors && !row.cell) return [make("td.value.bad", null, harness.tag("failed", "bad")), make("td.reason.left", { colspan: several ? 4 : 3 }, text(row.errors[0], 160)), make("td", null, "")];
      if (!row.cell) return [make("td.faint", null, "–"), make("td.left.faint", { colspan: several ? 4 : 3 }, words), make("td", null, "")];
      return [make("td.value", null, score(row.cell[0], row.metric)), make("td.wider.quiet", null, interval(row.cell[1], row.cell[2], row.metric)), make("td.wide.wider", null, several || harness.field.isShare(row.metric) ? strip(row) : ""), several ? make("td", null, ranks(row)) : null,
        make("td.left.wider", null, metricName(row.metric, row.higher)), make("td", null, count(row.cell[3]))].filter(Boolean);
    };
    return make("section", null, make("h2", null, rows.length === 1 ? "The result" : `All ${count(rows.length)} scenarios`),
      rows.length > 3 && several ? make("div.bar", null, make("div.segments", { role: "group", "aria-label": "Order" }, order("", "Board", " order"), order("rank", "Rank"), order("median", "To median"), order("score", "Score"))) : null,
      harness.field.table("Every scenario", [{ title: "Scenario", kind: "left" }, { title: "Score" }, { title: "95 %", kind: "wider" }, { title: several ? "Against the other models" : "", tip: several ? "Grey: the other models; tick: their median; line: the 95 % interval. Shares run from 0 to 1." : "", kind: "wide.wider.left" },
        ...(several ? [{ title: "Rank", tip: "The range of ranks in this scenario that the data allow." }] : []), { title: "Metric", kind: "left.wider" }, { title: "n", tip: "Instances that were scored." }],
      shown.map((row) => [[nameOf(row), row.run || row.column.score || !row.cell ? null : [" ", harness.tag("several runs")], marks(row)], ...cell(row)]), { id: "results" }));
  }

  // Neutral words: a test shows contamination, or does not.
  const VERDICTS = [[/^in doubt/, "in doubt", "warn"], [/^not testable/, "not testable", "warn"]];
  function contamination({ page }) {
    const tests = [...page.contamination].sort((a, b) => b.shown - a.shown || (a.log10_p ?? 1) - (b.log10_p ?? 1));
    const verdict = (test) => {
      const [, words, kind] = test.shown ? [null, "depends on the published order", "bad"] : VERDICTS.find(([form]) => form.test(test.verdict)) || [null, "no dependence found", ""];
      return make("span", { tabindex: "0", "data-tip": harness.capitalized(test.reason ? `${test.verdict}: ${test.reason}` : test.verdict) }, harness.tag(words, kind));
    };
    return make("section", null, make("h2", null, "Contamination"), tests.length
      ? [make("p.quiet", null, "Tests of the data sets' published order. “No dependence found” does not show that the model was not trained on the data set."), harness.field.table("Tests of contamination", [{ title: "Data set", kind: "left" }, { title: "Verdict", kind: "left" }, { title: "p, Holm", tip: "Probability of such a result by chance, corrected for the number of the model's tests (Holm 1979)." }],
        tests.map((test) => [harness.to(`contamination/${test.run}`, harness.runTitle(test.scenario), 40), make("td.left", null, verdict(test)), test.reason ? "–" : `p = ${harness.probability(test.log10_p)}`]))]
      : make("p.quiet", null, "No run has tested this model for contamination. To test it, run ", make("code", null, "harness contamination test"), "."));
  }

  const lines = (pairs) => make("dl.lines", null, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== "—").map(([name, value, tip]) => make("div", null, make("dt", null, tip ? make("span.defined", { tabindex: "0", "data-tip": tip }, name) : name), make("dd", null, value))));
  function cost({ costs, own, page, suite }) {
    const instances = page.runs.filter((run) => run.suite === suite && run.value).reduce((sum, run) => sum + run.value[3], 0);
    const per = (value) => (value && instances ? value / instances : null);
    const found = [["Price", costs.money ? harness.money(costs.money) : null], ["Queries", costs.queries ? count(costs.queries) : null], ["From the cache", costs.cached_queries ? cached(costs) : null],
      ["Tokens read", costs.prompt_tokens ? harness.large(costs.prompt_tokens) : null], ["Tokens written or scored", costs.completion_tokens ? harness.large(costs.completion_tokens) : null],
      ["Seconds per instance", per(costs.model_seconds) ? number(per(costs.model_seconds)) : null, "The model's seconds divided by the number of scored instances."],
      [own.backend && page.about.facts.device?.[0] === "cuda" ? "GPU time" : "Device time", costs.device_seconds ? harness.duration(costs.device_seconds) : null, "The model's seconds times the number of devices that it uses at once."],
      ["Compute", costs.model_flops ? `${harness.power(Math.log10(costs.model_flops))} FLOP` : null], ["Energy", costs.energy_joules ? `${number(costs.energy_joules / 3.6e6)} kWh` : null]];
    return make("section", null, make("h2", null, "Cost and efficiency"), make("p.quiet", null, `All runs of ${plain(suite, 60)}.`), found.some(([, value]) => value) ? lines(found) : make("p.quiet", null, "The runs do not record their costs."));
  }

  function provenance({ page, about }) {
    const folded = (title, ...content) => make("details.folded", null, make("summary", null, title), content);
    const more = Object.entries(about.facts).filter(([name]) => !harness.MODEL_FACTS.includes(name));
    return make("section", null, make("h2", null, "Where it comes from"), make("p.quiet", { title: plain(about.identifier, 300) }, make("code", null, plain(about.identifier, 80))),
      more.length ? folded("The checkpoint", lines(more.map(([name, [value, source]]) => [harness.factTitle(name), typeof value === "number" ? count(value) : text(value, 60), harness.factSource(source)]))) : null,
      [["Fingerprint of the weights", page.fingerprints], ["Versions", page.versions], ["Machine", page.hosts]].filter(([, values]) => values.length).map(([title, values]) =>
        folded(values.length > 1 ? `${title}: ${values.length} different` : title, values.slice(0, 20).map(([value, runs]) => [make("p.quiet", null, `${count(runs)} ${runs === 1 ? "run" : "runs"}`), harness.passage(JSON.stringify(value, null, 1), { name: title })]))));
  }

  function runs({ page, query, go, path }) {
    const matches = harness.matcher(query.q);
    const rows = page.runs.filter((run) => matches(`${run.scenario} ${harness.runTitle(run.scenario)} ${run.method} ${harness.title("methods", run.method)} ${run.suite} ${run.metric} ${run.perturbations.join(" ")}`));
    const shown = rows.slice(0, query.all ? rows.length : RUNS);
    const tokens = (run) => (run.prompt_tokens || 0) + (run.completion_tokens || 0);
    const open = Boolean(query.q || query.runs || query.all);
    const list = () => [make("div.bar", null, harness.searchBox("run-filter", "Search runs", query.q, (q) => go({ q, runs: 1 }))),
      harness.table([
        { name: "run", label: "Scenario", kind: "text", class: "fixed", key: (run) => harness.runTitle(run.scenario), cell: (run) => [make("span", { title: plain(run.scenario, 200) }, harness.to(`run/${run.address}`, harness.runTitle(run.scenario), 60)),
          run.sample ? [" ", make("span.mark.warn", null, "sample data")] : null, run.origin ? [" ", make("span.mark", null, plain(run.origin, 30))] : null] },
        { name: "method", label: "Method", kind: "text", key: (run) => harness.title("methods", run.method), cell: (run) => harness.named("methods", run.method, 40) },
        { name: "suite", label: "Suite", kind: "text", key: (run) => run.suite, cell: (run) => text(run.suite, 30) },
        { name: "perturbations", label: "Perturbations", kind: "text", key: (run) => run.perturbations.length, cell: (run) => run.perturbations.length ? text(run.perturbations.map((name) => harness.title("perturbations", name)).join(", "), 40) : make("span.quiet", null, "—") },
        { name: "metric", label: "Metric", kind: "text", key: (run) => harness.title("metrics", run.metric), cell: (run) => [harness.named("metrics", run.metric, 40), run.higher === null ? "" : run.higher ? " ↑" : " ↓"] },
        { name: "value", label: "Value", key: (run) => (run.value ? run.value[0] : null), cell: (run) => run.status !== "ok"
          ? make("td.wrap.left.bad", null, "✗ failed: ", text(run.error || "no reason given", 160)) : run.value
            ? [number(run.value[0]), " ", make("span.spread", null, harness.spread(...run.value)), run.declined ? make("span", { title: run.declined, "aria-label": run.declined }, " ⊘") : ""] : run.no_value ? make("td.wrap.left", null, text(run.no_value, 200)) : "—" },
        { name: "n", label: "n", key: (run) => (run.value ? run.value[3] : null), cell: (run) => (run.value ? count(run.value[3]) : "—") },
        { name: "queries", label: "Queries", key: (run) => run.queries ?? null, cell: (run) => count(run.queries) },
        { name: "tokens", label: "Tokens", key: (run) => tokens(run) || null, cell: (run) => harness.large(tokens(run)) },
        { name: "seconds", label: "Seconds", key: (run) => run.model_seconds ?? null, cell: (run) => (run.model_seconds ? number(run.model_seconds) : "—") },
        { name: "finished", label: "Ended", kind: "text", first: "descending", key: (run) => run.finished, cell: (run) => harness.moment(run.finished) },
      ], shown, { id: "runs", label: "Runs", sort: query.sorted || "run", onsort: (sorted) => go({ sorted, runs: 1 }) }),
      shown.length < rows.length ? make("p", null, harness.to(`model/${path}`, `Show all ${count(rows.length)} runs`, 60, { ...query, all: 1 })) : null];
    const box = make("details.folded", { id: "all-runs", open, ontoggle: () => { if (box.open && box.childElementCount === 1) harness.add(box, list()); } },
      make("summary", null, `All ${count(page.runs.length)} runs, of every suite, with their costs`), open ? list() : null);
    return make("section", null, make("h2", null, "Runs"), box);
  }
})();

// Contamination tests: verdicts, p-values, and likelihoods of the published order and of shuffled ones.
"use strict";
(() => {
  const { make, text, plain, count, number, probability, facts, link } = harness;

  const MOST = 24; // data sets that are drawn above the table
  // The short form of each verdict, its kind, and what it means.
  const VERDICTS = [
    ["depends on the published order", "depends", "bad", "The model finds the published order more likely than shuffled ones, which is evidence that it was trained on the data set in that order."],
    ["no dependence found", "no dependence found", "", "No dependence on the published order was found. This does not show that the model was not trained on the data set."],
    ["not testable", "not testable", "warn", "The order cannot be tested, so there is no p-value, and the model was not asked."],
    ["in doubt", "in doubt", "warn", "A control depends on its published order too, although the model cannot have learnt its order."],
    ["re-test", "re-test", "", "Another test of the same order counts instead of this one."],
  ];
  const verdictOf = (line) => VERDICTS.find(([words]) => (line.verdict || "").startsWith(words)) || [line.verdict, line.verdict || "—", "", ""];
  const mark = (line) => {
    const [, short, kind, about] = verdictOf(line);
    return make(kind ? `span.mark.${kind}` : "span.mark", { tabindex: "0", "data-tip": [`${line.control ? "Control: " : ""}${line.verdict}${line.reason ? `: ${line.reason}` : ""}`, about].filter(Boolean).map((words) => plain(words, 300)).join("\n") }, plain(`${line.control ? "control: " : ""}${short}`, 40));
  };
  const dataset = (line) => harness.runTitle(line.scenario[0]);
  const several = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;
  const ABOUT = "These tests show if a model's likelihood of a data set depends on the order in which it was published. For a model that was not trained on the data set, it should not; dependence is therefore evidence that the model was. If no dependence is found, that shows nothing.";

  harness.page("contamination", {
    title: "Contamination",
    async render(main, path, query) {
      const [lines, benchmarks] = await Promise.all([harness.get("contamination"), harness.get("contamination/benchmarks"), harness.stylesheet("assets/contamination.css"), harness.stylesheet("assets/profile/profile.css")]);
      if (path[0]) return one(main, lines, path[0]);
      const head = make("div.title-line", null, make("h1", null, "Contamination"));
      harness.add(main, head);
      if (!lines.length) {
        harness.add(main, make("p.lead", null, ABOUT), make("p", null, "No run has tested for contamination. To test models, run ", make("code", null, "harness contamination test"), "."));
        return "Contamination";
      }
      const sets = new Map(lines.map((line) => [line.scenario[1], dataset(line)]));
      const models = new Map(lines.map((line) => [line.model[1], line.model[0]]));
      if (query.model && !models.has(query.model)) throw new Error(`No test is about the model ${plain(query.model, 60)}.`);
      if (query.data && !sets.has(query.data)) throw new Error(`No test is about the data set ${plain(query.data, 60)}.`);
      const rows = lines.filter((line) => (!query.model || line.model[1] === query.model) && (!query.data || line.scenario[1] === query.data) && (!query.only || line.seen));
      const family = lines.filter((line) => !line.control && !/^(re-test|not testable)/.test(verdictOf(line)[0]));
      const found = family.filter((line) => line.seen);
      const untestable = lines.filter((line) => line.reason && !line.control).length, also = untestable ? ` ${several(untestable, "data set")} could not be tested.` : "";
      const number = (kind) => new Set(found.map((line) => line[kind][1])).size;
      harness.add(main, make("p.answer", null, found.length ? `Dependence on the published order was found in ${count(found.length)} of ${several(family.length, "test")}: ${several(number("model"), "model")}, ${several(number("scenario"), "data set")}.${also}`
        : `${family.length ? `No dependence on the published order was found in ${several(family.length, "test")}.` : ""}${also}`.trim()), make("p.lead", null, ABOUT));
      const choice = (id, words, all, known) => make("label", null, words, make("select", { id, onchange: (event) => harness.go("contamination", { ...query, [id]: event.target.value }) },
        make("option", { value: "" }, all), [...known].map(([address, name]) => make("option", { value: address, selected: address === query[id] }, plain(name, 60)))));
      harness.add(main, make("div.bar", null, choice("model", "Model", "all models", models), choice("data", "Data set", "all data sets", sets),
        make("label.check", null, make("input", { type: "checkbox", id: "only", checked: Boolean(query.only), onchange: (event) => harness.go("contamination", { ...query, only: event.target.checked ? "1" : "" }) }), "Only where a model depends on it")));
      harness.add(head, make("span.push"), harness.exportMenu("tests", () => ({ name: "contamination", columns: [["data", "data set"], ["model", "model"], ["verdict", "verdict"], ["log10_p_holm", "log10 p (Holm)"], ["log10_p", "log10 p"], ["examples", "examples"], ["split", "split"], ["reason", "why not testable"]].map(([name, title]) => ({ name, title })),
          rows: rows.map((line) => [dataset(line), line.model[0], `${line.control ? "control: " : ""}${line.verdict}`, line.log10_p_holm, line.log10_p, line.examples ?? null, line.split, line.reason || ""]) })));
      if (!rows.length) {
        harness.add(main, make("p", null, "No test matches. Clear the filter to see all."));
        return "Contamination";
      }
      const whole = benchmarks.filter((one) => (!query.model || one.model[1] === query.model) && !query.data && (!query.only || one.seen));
      if (whole.length) harness.add(main, make("h2", null, "Benchmarks of several files"), make("p.quiet", null, "The files of a benchmark together, those whose text shows no order of its own: one test among the model's data sets. The files by themselves are below."), harness.table([
        { name: "benchmark", label: "Benchmark", kind: "text", class: "fixed", key: (one) => harness.runTitle(one.name), cell: (one) => [plain(harness.runTitle(one.name), 60), make("small.on-phone", null, plain(one.model[0], 60))] },
        { name: "model", label: "Model", kind: "text", class: "not-on-phone", key: (one) => one.model[0], cell: (one) => harness.to(`model/${one.model[1]}`, one.model[0], 50) },
        { name: "verdict", label: "Verdict", kind: "text", key: (one) => one.verdict, cell: mark },
        { name: "holm", label: "p", tip: "Fisher's combination of the files' p-values, corrected over the model's data sets (Holm 1979).", first: "ascending", key: (one) => one.log10_p_holm, cell: (one) => probability(one.log10_p_holm) },
        { name: "p", label: "p, this benchmark alone", class: "not-on-phone", first: "ascending", key: (one) => one.log10_p, cell: (one) => probability(one.log10_p) },
        { name: "files", label: "Files", tip: "Files that are combined, of all that were tested.", class: "not-on-phone", key: (one) => one.files_combined, cell: (one) => `${count(one.files_combined)} of ${count(one.files)}` },
        { name: "n", label: "Examples", class: "not-on-phone", key: (one) => one.n_used, cell: (one) => count(one.n_used) },
      ], whole, { id: "benchmarks", label: "Benchmarks of several files" }), make("h2", null, "All tests"));
      const tested = rows.filter((line) => line.log10_p_holm !== null);
      if (sets.size <= MOST && tested.length > 1) harness.add(main, await evidence(tested));
      harness.add(main, harness.table([
        { name: "data", label: "Data set", kind: "text", class: "fixed", tip: "The data set whose published order was tested. The link leads to the test.", key: dataset,
          cell: (line) => [harness.to(`contamination/${line.key}`, dataset(line), 70), make("small.on-phone", null, plain(line.model[0], 60)), line.rows ? make("small", null, `rows ${plain(JSON.stringify(line.rows), 40)}`) : null] },
        { name: "model", label: "Model", kind: "text", class: "not-on-phone", key: (line) => line.model[0], cell: (line) => harness.to(`model/${line.model[1]}`, line.model[0], 50) },
        { name: "verdict", label: "Verdict", kind: "text", tip: "By the corrected p-value, at the level of the run (0.01 unless it says otherwise).", key: (line) => line.verdict, cell: mark },
        { name: "holm", label: "p", tip: "The probability of a preference for the published order at least this strong if the model had not learnt it, corrected over its family: the model's data sets, or the files of one benchmark (Holm 1979). Smaller is stronger evidence.", first: "ascending", key: (line) => line.log10_p_holm, cell: (line) => probability(line.log10_p_holm) },
        { name: "p", label: "p, this test alone", tip: "Without the correction over its family.", class: "not-on-phone", first: "ascending", key: (line) => line.log10_p, cell: (line) => probability(line.log10_p) },
        { name: "n", label: "Examples", class: "not-on-phone", key: (line) => line.examples ?? null, cell: (line) => count(line.examples) },
        { name: "split", label: "Split", kind: "text", class: "not-on-phone", key: (line) => line.split, cell: (line) => plain(line.split, 20) },
      ], rows, { id: "contamination", label: "Contamination tests", sort: query.sort || "holm", onsort: (sort) => harness.note("contamination", { ...query, sort }) }));
      return "Contamination";
    },
  });

  // Each data set a row, each test a point: its corrected p-value. Those that detect are highlighted.
  async function evidence(rows) {
    await harness.charts();
    const sets = [...new Set(rows.map(dataset))].sort();
    const point = (line) => ({ row: sets.indexOf(dataset(line)), x: Math.min(0, line.log10_p_holm), href: `#/contamination/${line.key}`,
      tip: [plain(line.model[0], 80), `${dataset(line)}: p ${probability(line.log10_p_holm)}`] });
    const least = Math.min(-3, ...rows.map((line) => line.log10_p_holm));
    const series = [["depends", true], ["no dependence found", false]].map(([name, seen]) => ({ name, points: rows.filter((line) => Boolean(line.seen) === seen).map(point) })).filter((one) => one.points.length);
    const chart = harness.chart({ label: `Corrected p-values of ${several(rows.length, "test")}, by data set; the table below has the numbers.`, rows: sets, chosen: "depends", guides: [{ x: -2 }], series,
      x: { title: "p, corrected over its family (further left is stronger evidence; dashed: 0.01)", range: [least, 0], format: (value) => (value === 0 ? "1" : value >= -2 ? String(Number((10 ** value).toPrecision(1))) : `10${harness.superscript(value)}`) } });
    const blue = series[0].name === "depends";
    return make("div.evidence", null, chart, make("p.chart-note", null, `A point is a model. ${blue ? "Blue: depends on the published order" : "No test found a dependence on the order"}${blue && series.length > 1 ? "; grey: no dependence found." : "."}`));
  }

  // The result of a test in a sentence.
  const said = (line) => {
    if (line.reason) return `Not testable: ${plain(line.reason, 400)}.`;
    const [words, , , about] = verdictOf(line), p = probability(line.log10_p_holm), name = plain(line.model[0], 60);
    if (line.seen) return `${name} finds the published order of ${plain(dataset(line), 60)} more likely than shuffled ones (p = ${p}), which is evidence that it was trained on the data set in this order.`;
    return words === "no dependence found" ? `No dependence of ${name} on the published order was found (p = ${p}). This does not show that it was not trained on the data set.` : `p = ${p}. ${about}`;
  };

  async function one(main, lines, key) {
    // A link from a cell of the leaderboard gives only the run.
    const line = lines.find((entry) => entry.key === key) || lines.find((entry) => entry.run === key);
    if (!line) throw new Error("This test does not exist.");
    const found = await harness.get(`contamination/${line.key}`);
    const f = found.fields;
    harness.add(main, harness.crumbs(harness.to("contamination", "Contamination"), text(dataset(line), 60)), make("h1", { title: plain(line.scenario[0], 300) }, text(dataset(line), 80)),
      make("p.answer", null, said(line)), make("p.lead", null, mark(line), " ", harness.to(`model/${line.model[1]}`, line.model[0], 60), ", ", harness.to(`run/${line.run}`, "the run")));
    const simple = (name) => (typeof f[name] === "number" ? f[name] : null);
    const p = (name) => (simple(name) === null ? null : probability(f[name]));
    harness.add(main, line.reason ? null : make("h2", null, "p-values"), facts([
      ...(line.reason ? [] : [["All tests combined", probability(line.log10_p)], ["Corrected over its family (Holm)", probability(line.log10_p_holm)], ["Shards, exact", p("log10_p_exact")], ["Shards, exact on raw differences", p("log10_p_exact_raw")],
      ["Shards, certified bound", p("log10_p_certified")], ["Shards, t-test (Oren et al. 2023)", p("log10_p_t")], ["Permutation of the whole set", simple("p_permutation") === null ? null : number(f.p_permutation)],
      ["Smallest possible p", p("log10_p_floor")],
      ["Neighbours", f.neighbours ? probability(f.neighbours.log10_p) : null],
      ["Next example", f.next_example ? probability(f.next_example.log10_p ?? f.next_example.log10_p_rank) : null], ["Next example, evidence (E-value)", f.next_example && typeof f.next_example.log10_E === "number" ? harness.power(f.next_example.log10_E) : null]]),
      ["Examples used", simple("n_used") === null ? null : count(f.n_used)], ["Tokens", simple("n_tokens") === null ? null : count(f.n_tokens)], ["Shards", Array.isArray(f.shard_scores) ? count(f.shard_scores.length) : simple("shards") === null ? null : count(f.shards)], ["Shuffles of each", simple("m") ?? simple("shuffles")]]));
    const scores = Array.isArray(f.shard_scores) ? f.shard_scores.filter((shard) => shard && Array.isArray(shard.shuffled)) : [];
    if (scores.length) {
      const middle = (shard) => shard.shuffled.reduce((sum, value) => sum + value, 0) / shard.shuffled.length;
      harness.add(main, make("h2", null, "Log-likelihood of the published order against shuffled ones"), make("div", { id: "plot-orders" }), harness.table([
        { name: "shard", label: "Shard", key: ([, at]) => at, cell: ([, at]) => at + 1 },
        { name: "canonical", label: "Published order", key: ([shard]) => shard.canonical, cell: ([shard]) => shard.canonical.toFixed(2) },
        { name: "shuffled", label: "Shuffled, mean", key: ([shard]) => middle(shard), cell: ([shard]) => middle(shard).toFixed(2) },
        { name: "difference", label: "Difference", key: ([shard]) => shard.canonical - middle(shard), cell: ([shard]) => make("td", null, (shard.canonical - middle(shard)).toFixed(2)) },
        { name: "rank", label: "More likely orders", first: "ascending", key: ([shard]) => shard.shuffled.filter((value) => value > shard.canonical).length, cell: ([shard]) => `${shard.shuffled.filter((value) => value > shard.canonical).length} of ${shard.shuffled.length}` },
      ], scores.map((shard, at) => [shard, at]), { id: "shards", label: "Shards" }));
    }
    if (scores.length) {
      await harness.load("assets/plot.js");
      main.querySelector("#plot-orders").append(harness.plot(`contamination/${line.key}`, { title: false }));
    }
    const tests = f.diagnostics && typeof f.diagnostics === "object" ? Object.entries(f.diagnostics).filter(([, value]) => value && typeof value === "object") : [];
    if (tests.length) harness.add(main, make("h2", null, "Is the published order exchangeable?"), make("p", null, "These diagnostics look at the text alone: a model may prefer a sorted or grouped order even if it was never trained on it."), harness.table([
      { name: "test", label: "Diagnostic", kind: "text", key: ([name]) => name, cell: ([name]) => text(name.replace(/_/g, " "), 60) },
      { name: "z", label: "z", key: ([, value]) => value.z ?? null, cell: ([, value]) => number(value.z) },
      { name: "p", label: "p", first: "ascending", key: ([, value]) => value.p ?? null, cell: ([, value]) => (value.p === undefined ? probability(value.log10_p) : number(value.p)) },
    ], tests, { id: "diagnostics", label: "Diagnostics" }));
    const ranks = f.next_example && f.next_example.per_boundary_rank;
    if (Array.isArray(ranks) && ranks.length) {
      // Position, rank of the true next example among the candidates, from 1, and how many candidates there were.
      const first = ranks.filter(([, rank]) => rank === 1).map(([position]) => position);
      harness.add(main, make("h2", null, "Boundaries recalled"), make("p", null, `At ${count(first.length)} of ${count(ranks.length)} boundaries between examples the true next example was the most likely candidate.`),
        make("details", null, make("summary", null, "Positions"), harness.passage(first.join(" "), { name: "boundaries", limit: 6000 })));
    }
    harness.add(main, make("h2", null, "All fields of the test"), make("details", null, make("summary", null, "Show"), harness.passage(JSON.stringify(f, null, 1), { name: "fields", limit: 20000 })));
    return `Contamination: ${plain(dataset(line), 60)}`;
  }
})();

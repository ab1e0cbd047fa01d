// Tests of which data sets the models have seen: verdicts, p-values, likelihoods of the published order and shuffled ones.
"use strict";
(() => {
  const { make, text, plain, count, number, probability, facts, link } = harness;

  const mark = (line) => make(line.seen ? "span.mark.bad" : /^(inconclusive|in doubt)/.test(line.verdict) ? "span.mark.warn" : "span.mark", null, plain(`${line.control ? "control: " : ""}${line.verdict || "—"}`, 90));
  const dataset = (line) => harness.runTitle(line.scenario[0]);

  harness.page("contamination", {
    title: "Contamination",
    async render(main, path, query) {
      const lines = await harness.get("contamination");
      if (path[0]) return one(main, lines, path[0]);
      harness.add(main, make("h1", null, "Contamination"), make("p.lead", null, "These tests show if a model's likelihood of a data set depends on the order in which it was published. For a model that has not read the data set it cannot, so a detection is evidence that the model has read it. The lack of a detection proves nothing."));
      if (!lines.length) {
        harness.add(main, make("p", null, "No run has tested for contamination."));
        return "Contamination";
      }
      const models = [...new Map(lines.map((line) => [line.model[1], line.model[0]]))];
      const rows = lines.filter((line) => !query.model || line.model[1] === query.model);
      harness.add(main, make("div.bar", null, make("label", null, "Model", make("select", { id: "model", onchange: (event) => harness.go("contamination", { ...query, model: event.target.value }) },
        make("option", { value: "" }, "all models"), models.map(([address, name]) => make("option", { value: address, selected: address === query.model }, plain(name, 60)))))));
      harness.add(main, harness.table([
        { name: "model", label: "Model", kind: "text", class: "fixed", key: (line) => line.model[0], cell: (line) => harness.to(`model/${line.model[1]}`, line.model[0], 50) },
        { name: "verdict", label: "Verdict", kind: "text", key: (line) => line.verdict, cell: (line) => make("td.wrap.left", null, mark(line)) },
        { name: "data", label: "Data set", kind: "text", key: dataset, cell: (line) => [harness.to(`contamination/${line.key}`, dataset(line), 44), line.rows ? make("small", null, `rows ${plain(JSON.stringify(line.rows), 40)}`) : null] },
        { name: "split", label: "Split", kind: "text", key: (line) => line.split, cell: (line) => plain(line.split, 20) },
        { name: "n", label: "Examples", key: (line) => line.examples ?? null, cell: (line) => count(line.examples) },
        { name: "p", label: "p", first: "ascending", key: (line) => line.log10_p, cell: (line) => probability(line.log10_p) },
        { name: "holm", label: "p, Holm", note: "over the model's data sets", first: "ascending", key: (line) => line.log10_p_holm, cell: (line) => probability(line.log10_p_holm) },
      ], rows, { id: "contamination", label: "Contamination tests", sort: query.sort || "holm", onsort: (sort) => harness.go("contamination", { ...query, sort }, { replace: true }) }));
      return "Contamination";
    },
  });

  async function one(main, lines, key) {
    // A link from a cell of the leaderboard gives only the run.
    const line = lines.find((entry) => entry.key === key) || lines.find((entry) => entry.run === key);
    if (!line) throw new Error("This test does not exist.");
    const found = await harness.get(`contamination/${line.key}`);
    const f = found.fields;
    harness.add(main, harness.crumbs(harness.to("contamination", "Contamination"), text(dataset(line), 60)), make("h1", { title: plain(line.scenario[0], 300) }, text(dataset(line), 80)),
      make("p.lead", null, "and ", harness.to(`model/${line.model[1]}`, line.model[0], 60), ": ", mark(line), " ", harness.to(`run/${line.run}`, "the run")));
    const simple = (name) => (typeof f[name] === "number" ? f[name] : null);
    const p = (name) => (simple(name) === null ? null : probability(f[name]));
    harness.add(main, make("h2", null, "p-values"), facts([
      ["Headline", probability(line.log10_p)], ["Corrected over the model's data sets (Holm)", probability(line.log10_p_holm)], ["Shards, exact", p("log10_p_exact")], ["Shards, exact on raw differences", p("log10_p_exact_raw")],
      ["Shards, certified bound", p("log10_p_certified")], ["Shards, t-test (Oren et al. 2023)", p("log10_p_t")], ["Permutation of the whole set", simple("p_permutation") === null ? null : number(f.p_permutation)],
      ["Smallest possible p", p("log10_p_floor")],
      ["Next example", f.next_example ? probability(f.next_example.log10_p ?? f.next_example.log10_p_rank) : null], ["Next example, evidence (E-value)", f.next_example && typeof f.next_example.log10_E === "number" ? harness.power(f.next_example.log10_E) : null],
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
    if (tests.length) harness.add(main, make("h2", null, "Is the published order exchangeable?"), make("p", null, "These diagnostics look at the text alone: a model may prefer a sorted or grouped order even if it has never seen it."), harness.table([
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

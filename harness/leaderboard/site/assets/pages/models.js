// All models with facts and costs (the table of models of Liang et al. 2022).
"use strict";
(() => {
  const { make, count, number, plain } = harness;
  const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] || 0), 0);

  harness.page("models", {
    title: "Models",
    async render(main, path, query) {
      const [{ suite, models }] = await Promise.all([harness.get("models"), harness.loadAll(["assets/profile/field.js", "assets/profile/facts.js"]), harness.stylesheet("assets/profile/profile.css")]);
      const matches = harness.matcher(query.q);
      const rows = models.filter((model) => matches([model.name, model.identifier, model.backend, ...model.tags, ...Object.values(model.facts).map(([value]) => value)].join(" ")));
      const label = (words, tip) => make("span.title", { "data-tip": tip }, words);
      const given = (name, tip, kind = "text") => ({ name, label: label(harness.factTitle(name), tip), kind, key: (model) => model.facts[name]?.[0] ?? null,
        cell: (model) => (model.facts[name] ? make("span", { "data-tip": harness.factTip(name, model.facts[name]) }, harness.factShown(name, model.facts[name])) : make("span.faint", { "data-tip": harness.factUnknown }, "not stated")) });
      const total = (name, words, shown, tip) => ({ name, label: label(words, tip), key: (model) => model[name] ?? null, cell: (model) => shown(model[name]) });
      const columns = [
        { name: "model", label: label("Model", "The display name or, without one, the shortest ending of the name that no other model has. The tooltip has the identifier."), kind: "text", class: "fixed", key: (model) => model.name,
          cell: (model) => make("span", { "data-tip": plain(model.identifier, 300) }, harness.to(`model/${model.address}`, model.name, 60)) },
        { name: "rate", label: label("Win rate", `Mean win rate in ${plain(suite, 60)}: the share of other models that a model beats, averaged over scenarios, with its 95 % interval. From 0 to 1; ↑ higher is better.`), key: (model) => model.rate?.[0] ?? null,
          cell: (model) => (model.rate ? [make("strong", null, harness.share(model.rate[0])), " ", make("span.spread", null, model.rate[1] === null ? "" : `[${harness.share(model.rate[1])}, ${harness.share(model.rate[2])}]`)] : make("span.faint", null, "–")) },
        { name: "rank", label: label("Rank", "The range of ranks that the data allow."), first: "ascending", key: (model) => (model.rate ? model.rate[5] + model.rate[6] / 1000 : null), cell: (model) => (model.rate ? harness.rankRange(model.rate[5], model.rate[6]) : make("span.faint", null, "–")) },
        given("creator", "Who made it."), given("access", "How it can be used: open weights, limited or API."), given("parameters", "Number of parameters.", "number"), given("licence", "Its licence."), given("released", "When it was released."),
        given("window", "Context window: the most tokens that prompt and answer can have together.", "number"), given("base_model", "The model that it was made from."), given("quantization", "How its weights are quantised."), given("modality", "What it reads and writes."), given("tokenizer", "Its tokenizer."),
        { name: "runs", label: label("Runs", "Runs of all suites."), key: (model) => model.runs, cell: (model) => [count(model.runs), model.failed ? [" ", harness.tag(`${count(model.failed)} failed`, "bad")] : null] },
        total("queries", "Queries", harness.large, "Requests of all runs, including those answered from the cache."), total("prompt_tokens", "Tokens read", harness.large, "Tokens of prompts."), total("completion_tokens", "Tokens written", harness.large, "Tokens that were generated or scored."),
        { name: "money", label: label("Cost", "The cost of the answers, by the price list."), key: (model) => (model.money ? model.money[0][0] : null), cell: (model) => (model.money ? harness.money(model.money) : "—") },
        total("device_seconds", "Device time", harness.duration, "Time on GPUs or processors: the model's seconds times the number of devices that it uses at once."),
        total("energy_joules", "Energy", (joules) => (joules ? `${number(joules / 3.6e6)} kWh` : "—"), "Measured energy of the processors."),
      ].filter((column) => ["model", "rate", "rank", "runs", "queries"].includes(column.name) || models.some((model) => column.key(model) !== null))
        .filter((column) => column.name !== "modality" || models.some((model) => column.key(model) !== "text"));
      const values = () => ({ name: "models", columns: columns.map((column) => ({ name: column.name, title: column.label.textContent })), rows: rows.map((model) => columns.map((column) => (column.name === "rank" ? (model.rate ? harness.rankRange(model.rate[5], model.rate[6]) : null) : column.key(model)))) });
      harness.add(main, make("div.title-line", null, make("h1", null, "Models"), make("span.push"), harness.exportMenu("export", values)),
        make("p.lead", null, `${count(models.length)} ${models.length === 1 ? "model" : "models"}, ${harness.large(sum(models, "queries"))} queries, ${harness.large(sum(models, "prompt_tokens") + sum(models, "completion_tokens"))} tokens. Win rates are of ${plain(suite, 60)}; facts come from sweeps, model cards and the checkpoints' files. Costs are totals over all runs; a cached answer counts with the cost of its first computation.`),
        make("div.bar", null, harness.searchBox("model-filter", "Search models", query.q, (q) => harness.go("models", { ...query, q }, { replace: true }))),
        rows.length ? harness.table(columns, rows, { id: "models", label: "Models", sort: query.sort || "-rate", onsort: (sort) => harness.go("models", { ...query, sort }, { replace: true }) }) : make("p.quiet", null, models.length ? `Nothing matches “${plain(query.q, 60)}”. Clear the search to see all models.` : "There are no models yet."));
    },
  });
})();

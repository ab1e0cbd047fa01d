// All models with facts and costs (the table of models of Liang et al. 2022).
"use strict";
(() => {
  const { make, count, number, link } = harness;

  const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] || 0), 0);
  const large = (value) => {
    if (!value) return "—";
    const [unit, size] = value >= 1e12 ? ["T", 1e12] : value >= 1e9 ? ["B", 1e9] : value >= 1e6 ? ["M", 1e6] : value >= 1e4 ? ["k", 1e3] : ["", 1];
    return `${unit ? (value / size).toFixed(value / size < 10 ? 2 : 1) : count(value)}${unit ? ` ${unit}` : ""}`;
  };
  harness.large = large;
  harness.money = (money) => (money || []).map(([amount, currency]) => `${amount.toFixed(2)} ${harness.plain(currency, 12)}`).join(", ") || "—";
  harness.hours = (seconds) => (seconds ? (seconds / 3600 >= 0.1 ? (seconds / 3600).toFixed(1) : (seconds / 3600).toFixed(4)) : "—");

  harness.page("models", {
    title: "Models",
    async render(main, path, query) {
      const models = await harness.get("models");
      const matches = harness.matcher(query.q);
      const rows = models.filter((model) => matches(model.name));
      const fact = (name) => (model) => model.facts[name] ?? null;
      const given = (name, label, shown = (value) => harness.text(value, 30), kind = "text") => ({
        name, label, kind, key: fact(name), cell: (model) => (model.facts[name] === undefined ? make("span.quiet", null, "—") : shown(model.facts[name])) });
      const total = (name, label, shown, note) => ({ name, label, note, key: (model) => model[name] ?? null, cell: (model) => shown(model[name]) });
      const columns = [
        { name: "model", label: "Model", kind: "text", class: "fixed", key: (model) => model.name, cell: (model) => make("span", { title: harness.plain(model.identifier, 300) }, harness.to(`model/${model.address}`, model.name, 60)) },
        given("creator", "Creator"), given("modality", "Modality"),
        given("parameters", "Parameters", large, "number"), given("tokenizer", "Tokenizer"), given("window", "Context window", count, "number"), given("access", "Access"),
        { name: "runs", label: "Runs", key: (model) => model.runs, cell: (model) => [count(model.runs), model.failed ? make("small.bad", null, `${model.failed} failed`) : null] },
        total("queries", "Queries", large), total("prompt_tokens", "Prompt tokens", large), total("completion_tokens", "Output tokens", large),
        { name: "money", label: "Cost", key: (model) => (model.money ? model.money[0][0] : null), cell: (model) => harness.money(model.money) },
        total("device_seconds", "Device hours", harness.hours, "GPU or CPU"),
        total("energy_joules", "Energy", (joules) => (joules ? `${number(joules / 3.6e6)} kWh` : "—")),
      ].filter((column) => ["model", "runs", "queries", "parameters", "window", "access", "creator", "modality", "tokenizer", "device_seconds", "money", "prompt_tokens", "completion_tokens"].includes(column.name)
        || models.some((model) => column.key(model) !== null));
      harness.add(main, make("h1", null, "Models"),
        make("p.lead", null, `${count(models.length)} models, ${large(sum(models, "queries"))} queries, ${large(sum(models, "prompt_tokens") + sum(models, "completion_tokens"))} tokens. `
          + "Facts that neither the model's files nor its server provide are left empty."),
        make("div.bar", null, harness.searchBox("model-filter", "Search models", query.q, (q) => harness.go("models", { ...query, q }, { replace: true }))),
        harness.table(columns, rows, { id: "models", label: "Models", sort: query.sort || "model", onsort: (sort) => harness.go("models", { ...query, sort }, { replace: true }),
          caption: "Totals over all runs; a cached answer counts with the costs of its first computation." }));
    },
  });
})();

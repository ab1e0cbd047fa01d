// Facts about models: their titles, where each comes from, and how they and costs are written.
"use strict";
(() => {
  const { count, number, text, plain } = harness;
  const TITLES = { __proto__: null, quantization: "Quantised", window: "Context window", base_model: "Made from", vocabulary: "Vocabulary", dtype: "Precision" };
  const SOURCES = { __proto__: null, sweep: "Source: the sweep.", card: "Source: the model card (README.md) of the checkpoint.", counted: "Source: counted from the checkpoint's weights.", files: "Source: the checkpoint's files.", backend: "Source: the backend." };

  harness.MODEL_FACTS = ["creator", "access", "parameters", "licence", "released"];
  harness.factTitle = (name) => TITLES[name] || harness.capitalized(name).replaceAll("_", " ");
  harness.factSource = (source) => SOURCES[source] || `Source: ${plain(source, 60)}.`;
  harness.large = (value) => {
    if (!value) return "—";
    const [unit, size] = value >= 1e12 ? ["T", 1e12] : value >= 1e9 ? ["B", 1e9] : value >= 1e6 ? ["M", 1e6] : value >= 1e4 ? ["k", 1e3] : ["", 1];
    const shown = value / size;
    return unit ? `${Number.isInteger(shown) ? shown : harness.fixed(shown, shown < 10 ? 2 : shown < 100 ? 1 : 0)} ${unit}` : count(value);
  };
  harness.money = (money) => money.map(([amount, currency]) => `${number(amount)} ${plain(currency, 12)}`).join(", ") || "—";
  harness.duration = (seconds) => (!seconds ? "—" : seconds < 99.5 ? `${seconds < 9.95 ? seconds.toFixed(1) : seconds.toFixed(0)} s` : seconds < 5970 ? `${(seconds / 60).toFixed(0)} min` : `${seconds < 358200 ? (seconds / 3600).toFixed(1) : count(Math.round(seconds / 3600))} h`);
  // A fact as it is shown, and its tooltip.
  harness.factShown = (name, [value]) => (name === "parameters" ? harness.large(value) : typeof value === "number" ? count(value) : text(value, 40));
  harness.factTip = (name, [value, source]) => `${name === "parameters" ? `${count(value)} parameters. ` : plain(value, 200).length > 40 ? `${plain(value, 200)}. ` : ""}${harness.factSource(source)}`;
  const UNKNOWN = "Not stated in the sweep (about:), the model card or the model's files.";
  harness.factsOf = (about) => harness.field.factLine(harness.MODEL_FACTS.map((name) => [harness.factTitle(name), about.facts[name] ? harness.factShown(name, about.facts[name]) : null, about.facts[name] ? harness.factTip(name, about.facts[name]) : UNKNOWN]));
  harness.factUnknown = UNKNOWN;
})();

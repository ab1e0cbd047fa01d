// Small marks that look alike on every page: tags, the interval, the strip against the field, heat, states.
"use strict";
(() => {
  const { make } = harness;
  const percent = (value, [low, high]) => `${Math.min(100, Math.max(0, (100 * (value - low)) / (high - low || 1)))}%`;
  const at = (element, values) => { for (const [name, value] of Object.entries(values)) element.style.setProperty(`--${name}`, value); return element; };

  // A word of one kind: "good", "bad", "warn", "accent" or "".
  harness.tag = (words, kind = "") => make(kind ? `span.mark.${kind}` : "span.mark", null, words);

  // A value with its interval on a track; chance as a dashed tick.
  harness.interval = (value, low, high, { range = [0, 1], chance = null } = {}) => make("span.interval", { "aria-hidden": "true" },
    chance === null ? null : at(make("i.chance"), { at: percent(chance, range) }),
    low === null || low === undefined ? null : at(make("i.span"), { low: percent(low, range), high: percent(high, range) }),
    at(make("i.at"), { at: percent(value, range) }));

  // One model against the others: their values as dots, their median as a tick.
  harness.strip = (value, others, { low = null, high = null, range = [0, 1] } = {}) => {
    const ordered = [...others].sort((a, b) => a - b);
    const median = ordered.length ? (ordered[(ordered.length - 1) >> 1] + ordered[ordered.length >> 1]) / 2 : null;
    return make("span.strip", { "aria-hidden": "true" }, ordered.map((other) => at(make("i.other"), { at: percent(other, range) })),
      median === null ? null : at(make("i.median"), { at: percent(median, range) }),
      low === null ? null : at(make("i.span"), { low: percent(low, range), high: percent(high, range) }),
      at(make("i.this"), { at: percent(value, range) }));
  };

  // Charts are loaded by the pages that have them: see chart.js.
  harness.charts = () => Promise.all([harness.stylesheet("assets/components/chart.css"), harness.load("assets/components/chart.js")]);

  // The heat step of each value, 0 (worst) to 8 (best); null where there is no value, or if all are equal.
  harness.heat = (values, higher) => {
    const known = values.filter((value) => value !== null && value !== undefined);
    const low = Math.min(...known), high = Math.max(...known);
    if (!(high > low) || higher === null) return values.map(() => null);
    return values.map((value) => (value === null || value === undefined ? null
      : Math.min(8, Math.floor((9 * (higher ? value - low : high - value)) / (high - low)))));
  };

  // A score in two digits ("83"), three (".831") or, where it is not a share, as everywhere.
  harness.digits = (value, share, wide) => {
    if (!share) return harness.number(value);
    if (!wide) return value >= 1 ? "100" : String(Math.min(99, Math.round(100 * value))).padStart(2, "0");
    return harness.fixed(value, value >= 1 ? 2 : 3).replace(/^0\./, ".");
  };
  // A win rate: ".964", "1.00".
  harness.share = (value) => harness.digits(value, true, true);

  // Ranks that the data allow: "4–7", "3".
  harness.rankRange = (first, last) => (first === last ? String(first) : `${first}–${last}`);
})();

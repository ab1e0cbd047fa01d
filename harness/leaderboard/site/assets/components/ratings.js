// How people's ratings are written: their means with intervals, and how well raters agree.
"use strict";
(() => {
  const { make, plain, count } = harness;
  const LOW = 2 / 3; // agreement below which conclusions are usually not drawn (Krippendorff 2004)

  const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
  const arrow = { high: " ↑", low: " ↓", neither: "" };
  const known = (cell) => cell && cell.ci95;
  // Means of a scale have two decimals, shares and win rates three digits.
  const shown = (question, value) => (question.statistic === "mean" ? harness.fixed(value, 2).replace("-", "−") : harness.share(value));
  const interval = (question, cell) => (known(cell) ? `[${shown(question, cell.ci95[0])}, ${shown(question, cell.ci95[1])}]` : "no interval");
  const alpha = (value) => `${value < 0 ? "−" : ""}${harness.share(Math.abs(value))}`;
  const spread = (question, cell) => (question.statistic === "mean" && cell.sd !== null ? `SD ${shown(question, cell.sd)}` : "");
  const range = (question) => (question.statistic === "mean" ? `${question.range[0]} to ${question.range[1]}` : question.statistic === "share" ? "share" : "win rate");
  const agreed = (cell) => (cell ? [make("span.figure", null, make("b", null, alpha(cell.value)), cell.value < LOW ? harness.tag("low", "warn") : null),
    make("small", null, `${known(cell) ? `[${alpha(cell.ci95[0])}, ${alpha(cell.ci95[1])}]` : "no interval"} · ${plural(cell.items, "item")}`)] : [make("span.faint", null, "–")]);
  const aboutQuestion = (question) => [make("strong", null, plain(question.question, 300)), question.help ? make("p", null, plain(question.help, 300)) : null,
    make("p", null, question.statistic === "win rate" ? `Win rate: how often the model's answer is preferred, a tie counting one half${question.strengths ? " and a slight preference three quarters" : ""}.`
      : question.statistic === "share" ? "Share of the ratings with this choice." : `Mean of ratings from ${question.range[0]} to ${question.range[1]}.`),
    question.ends.some(Boolean) ? make("p", null, `${question.range[0]}: ${plain(question.ends[0], 100) || "–"} · ${question.range[1]}: ${plain(question.ends[1], 100) || "–"}`)
      : question.statistic === "mean" && question.options.length ? make("p", null, question.options.map(([value, words]) => `${plain(value, 20)}: ${plain(words, 60)}`).join(" · ")) : null,
    make("p", null, { high: "↑ Higher is better.", low: "↓ Lower is better.", neither: "Neither end is better." }[question.better])];

  const alphaTip = (question, cell) => [make("strong", null, "Krippendorff's α"), make("p", null, `${plain(question.heading, 80)}, ${question.level}: ${alpha(cell.value)} ${known(cell) ? `[${alpha(cell.ci95[0])}, ${alpha(cell.ci95[1])}]` : "no interval"}`),
    make("p", null, `${plural(cell.ratings, "rating")} of ${plural(cell.items, "item")} that several raters judged.`), make("p", null, "1 is perfect agreement, 0 is agreement by chance. Conclusions are usually not drawn below .667."),
    cell.note ? make("p", null, plain(cell.note, 200)) : null];

  const low = (cell) => cell.value < LOW;

  harness.ratings = { low, plural, arrow, known, shown, interval, alpha, spread, range, agreed, aboutQuestion, alphaTip };
})();

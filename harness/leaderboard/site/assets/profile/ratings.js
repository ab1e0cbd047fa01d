// What people say of one model's answers: for each study, or run that counts ratings, its questions.
"use strict";
(() => {
  const { make, text, plain, count } = harness;
  const RATERS = "Raters of this model's answers.", ALPHA = "Krippendorff's α over all answers of the study: 1 is perfect agreement, 0 is agreement by chance.";

  const table = (label, rows) => harness.field.table(label, [{ title: "Question", kind: "left" }, { title: "Mean or share" }, { title: "95 %", kind: "wider" }, { title: "", kind: "wide.wider" },
    { title: "Ratings" }, { title: "Raters", tip: RATERS }, { title: "Agreement (α)", tip: ALPHA }], rows);
  const alpha = (cell) => (cell ? [make("span", { tabindex: "0", "data-tip": cell.ci95 ? `95 % interval ${harness.ratings.alpha(cell.ci95[0])} to ${harness.ratings.alpha(cell.ci95[1])}` : null }, harness.ratings.alpha(cell.value)), harness.ratings.low(cell) ? [" ", harness.tag("low", "warn")] : null] : "");
  const line = (title, words, ends, drawn, cell, agreement) => [title, make("td.value", { "data-tip": [cell.note, cell.sd === null ? "" : `standard deviation ${harness.number(cell.sd)}`].filter(Boolean).map((one) => plain(one, 200)).join("; ") || null }, words), make("td.wider.quiet", null, ends), make("td.wide.wider", null, drawn),
    count(cell.ratings), count(cell.raters), make("td", null, alpha(agreement))];

  // A study of the page of ratings, of which the model has a row.
  const ofStudy = (study, address) => {
    const { shown, interval, arrow, range } = harness.ratings;
    const [view] = study.views, row = view.rows.find((one) => one.address === address);
    if (!row) return null;
    const rows = study.questions.flatMap((question, i) => {
      const cell = row.cells[i];
      if (!cell) return [];
      const others = view.rows.filter((one) => one !== row && one.cells[i]).map((one) => one.cells[i].value);
      const [low, high] = cell.ci95 || [null, null];
      const title = make("span.question", { tabindex: "0", "data-tip": plain(question.question, 300) }, text(`${question.heading}${arrow[question.better]}`, 60), " ", make("small.faint", null, range(question)));
      return [line(title, shown(question, cell.value), interval(question, cell), harness.strip(cell.value, others, { low, high, range: question.range }), cell, view.agreement[i])];
    });
    return rows.length ? [make("h3", null, harness.to("people", study.title, 80, { study: study.key })), table(`Ratings: ${plain(study.title, 80)}`, rows)] : null;
  };
  // The metric "ratings" of a run, whose study the site does not have.
  const ofRun = ({ run, scenario, study, questions }) => {
    const { number } = harness;
    const rows = Object.entries(questions).map(([id, cell]) => line(text(harness.capitalized(id.replaceAll("_", " ").replace("=", ": ")), 60), number(cell.value), cell.ci95 ? `[${number(cell.ci95[0])}, ${number(cell.ci95[1])}]` : "no interval", "", cell, cell.alpha));
    return [make("h3", null, harness.to(`run/${run}`, `${harness.capitalized(study.replaceAll("_", " "))}: ${harness.runTitle(scenario)}`, 80)), table(`Ratings: ${plain(study, 80)}`, rows)];
  };

  harness.ratingsOf = async ({ address, ratings }) => {
    const studies = harness.inNavigation("people") ? await harness.get("people") : [];
    const mine = studies.filter((study) => study.views[0].rows.some((row) => row.address === address)), named = new Set(mine.map((study) => study.name));
    const parts = [...mine.map((study) => ofStudy(study, address)), ...ratings.filter((one) => !named.has(one.study)).map(ofRun)].filter(Boolean);
    if (!parts.length) return null;
    return make("section", { id: "ratings" }, make("h2", null, "Ratings by people"), make("p.quiet", null, "Raters did not know which model wrote an answer. Grey: the other models; tick: their median; line: the 95 % interval."), parts);
  };
})();

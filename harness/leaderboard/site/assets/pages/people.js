// What people say about the models' answers: for each study a table of models by questions, with the raters' agreement.
"use strict";
(() => {
  const { make, text, plain, count } = harness;
  let plural, arrow, known, shown, interval, alpha, spread, range, agreed, aboutQuestion, alphaTip; // of components/ratings.js

  const apart = (a, b) => known(a) && known(b) && (a.ci95[0] > b.ci95[1] || b.ci95[0] > a.ci95[1]);
  const best = (question, cells) => {
    const there = cells.filter(Boolean);
    if (question.better === "neither" || there.length < 2) return null;
    return there.reduce((one, other) => ((question.better === "high" ? other.value > one.value : other.value < one.value) ? other : one));
  };
  // For each model of a column: its heat, and whether its interval overlaps that of the best; nothing where all overlap.
  const shades = (question, cells) => {
    const top = best(question, cells);
    if (!top || !cells.some((cell) => cell && apart(cell, top))) return cells.map(() => [null, false]);
    const heat = harness.heat(cells.map((cell) => cell?.value ?? null), question.better === "high");
    return cells.map((cell, i) => [heat[i], Boolean(cell) && !apart(cell, top)]);
  };

  const tipOf = (question, cell, name) => [make("strong", null, plain(name, 80)), make("p", null, `${plain(question.heading, 80)}: ${shown(question, cell.value)} ${interval(question, cell)}`),
    make("p", null, [spread(question, cell), `${plural(cell.ratings, "rating")} of ${plural(cell.items, question.of_pairs || question.statistic === "win rate" ? "pair" : "answer")} by ${plural(cell.raters, "rater")}`].filter(Boolean).join(" · ")),
    cell.note ? make("p", null, plain(cell.note, 200)) : null];

  const filled = (question, cell) => (cell ? [make("span.figure", null, make("b", null, shown(question, cell.value)), harness.interval(cell.value, cell.ci95?.[0], cell.ci95?.[1], { range: question.range })),
    make("small", null, [interval(question, cell), spread(question, cell), `n ${count(cell.ratings)}`].filter(Boolean).join(" · "))] : [make("span.faint", null, "–")]);

  const tips = new WeakMap();
  const withTip = (element, content) => { tips.set(element, content); return element; };
  const modelOf = (row) => (row.address ? harness.to(`model/${row.address}`, row.model, 44) : text(row.model, 44));

  // The order of the models: by a question ("-" for largest first), else best first by the first question that has a better end.
  const ordered = (study, rows, sort) => {
    const first = study.questions.find((question) => question.better !== "neither" && !question.of_pairs);
    const by = sort || (first ? (first.better === "high" ? `-${first.id}` : first.id) : "");
    const at = study.questions.findIndex((question) => question.id === by.replace(/^-/, "")), sign = by.startsWith("-") ? -1 : 1;
    const rest = (one, other) => one.model.localeCompare(other.model);
    if (sort && at < 0) throw new Error(`Unknown question ${plain(sort, 60)}. Known: ${study.questions.map((question) => question.id).join(", ")}.`);
    if (at < 0) return { by: "", rows: [...rows].sort(rest) };
    return { by, rows: [...rows].sort((one, other) => {
      const [a, b] = [one.cells[at], other.cells[at]];
      return a && b ? sign * (a.value - b.value) || rest(one, other) : Number(!a) - Number(!b) || rest(one, other);
    }) };
  };
  const lines = (study, view) => {
    const shaded = study.questions.map((question, i) => shades(question, view.rows.map((row) => row.cells[i])));
    return view.rows.map((row, r) => ({ name: row.model, label: () => modelOf(row), cells: row.cells.map((cell, i) => ({ cell, question: study.questions[i], heat: shaded[i][r][0], tied: shaded[i][r][1] })) }));
  };
  const MANY = 12; // models from which on a row has one line, with the rest in its tooltip
  const asTable = (study, view, rows, by, sort) => {
    const heads = study.questions.map((question) => {
      const down = by === `-${question.id}`, up = by === question.id;
      const button = make("button.sort", { type: "button", id: `sort-${question.id}`, onclick: () => sort(down ? question.id : `-${question.id}`) }, make("span.title", null, text(`${question.heading}${arrow[question.better]}`, 60)), make("small", null, range(question)));
      const head = make("th.about", { scope: "col", "aria-sort": down ? "descending" : up ? "ascending" : null }, question.of_pairs ? [...button.childNodes] : button);
      return withTip(head, () => aboutQuestion(question));
    });
    const row = ({ name, label, cells }) => make("tr", null, make("th.left.fixed", { scope: "row" }, label()), cells.map(({ cell, question, heat, tied }) => {
      const made = make("td", { class: [heat === null ? "" : `h${heat}`, tied ? "tied" : ""].filter(Boolean).join(" ") || null }, filled(question, cell));
      return cell ? withTip(made, () => tipOf(question, cell, name)) : made;
    }));
    const pairs = view.pairs && row({ name: "all pairs", label: () => "All pairs", cells: view.pairs.map((cell, i) => ({ cell, question: study.questions[i], heat: null, tied: false })) });
    const foot = make("tr.agreement", null, make("th.left.fixed", { scope: "row" }, "Agreement (α)"), view.agreement.map((cell, i) => {
      const made = make("td", null, agreed(cell));
      return cell ? withTip(made, () => alphaTip(study.questions[i], cell)) : made;
    }));
    return make("div.scroll.narrow.people-table", { role: "region", tabindex: "0", "aria-label": `Ratings: ${plain(study.title, 80)}` }, make(rows.length > MANY ? "table.heat.dense" : "table.heat", { id: "people" },
      make("thead", null, make("tr", null, make("th.left.fixed", { scope: "col" }, "Model"), heads)), make("tbody", null, rows.map(row), pairs), make("tfoot", null, foot)));
  };
  // On a phone each model is a card, with a line for each question.
  const asCards = (study, view, rows) => {
    const card = (label, cells, shown) => make("li", null, make("h3", null, label), make("dl", null, cells.map((cell, i) => (cell
      ? make("div", null, make("dt", null, text(`${study.questions[i].heading}${arrow[study.questions[i].better]}`, 60), make("small", null, range(study.questions[i]))), make("dd", null, shown(study.questions[i], cell))) : null))));
    return make("ul.people-cards", { "aria-label": `Ratings: ${plain(study.title, 80)}` }, rows.map((row) => card(row.label(), row.cells.map(({ cell }) => cell), filled)),
      view.pairs ? card("All pairs", view.pairs, filled) : null, view.agreement.some(Boolean) ? card("Agreement (α)", view.agreement, (_, cell) => agreed(cell)) : null);
  };
  const exported = (study, view) => () => ({
    name: `ratings-${study.key}`,
    columns: [{ name: "model", title: "Model" }, ...study.questions.flatMap((question) => [["", ""], ["_low", " low"], ["_high", " high"], ["_sd", " SD"], ["_ratings", " ratings"]].map(([key, words]) => ({ name: `${question.id}${key}`, title: `${question.heading}${words}` })))],
    rows: [...view.rows.map((row) => [row.model, row.cells]), ...(view.pairs ? [["all pairs", view.pairs]] : []), ["agreement (alpha)", view.agreement]]
      .map(([name, cells]) => [name, ...cells.flatMap((cell) => (cell ? [cell.value, cell.ci95?.[0] ?? null, cell.ci95?.[1] ?? null, cell.sd, cell.ratings] : [null, null, null, null, null]))]),
  });
  const raters = (study, view) => make("details", null, make("summary", null, "Raters"), make("p.quiet", null, "These pages do not contain their names."), harness.table([
    { name: "rater", label: "Rater", kind: "text", cell: ([, i]) => `Rater ${i + 1}` },
    { name: "done", label: "Items judged", cell: ([rater]) => `${count(rater.done)} of ${count(study.items + study.gold)}` },
    { name: "gold", label: "Gold ratings right", cell: ([rater]) => (rater.gold ? `${count(rater.right)} of ${count(rater.gold)}` : "–") },
    { name: "counted", label: "Counted", kind: "text", cell: ([rater]) => (rater.counted ? "yes" : "no: gold items") },
  ], view.raters.map((rater, i) => [rater, i]), { id: "raters", label: "Raters" }));

  harness.page("people", {
    title: "People",
    async render(main, path, query) {
      await Promise.all([harness.loadAll(["assets/components/ratings.js"]), harness.stylesheet("assets/profile/profile.css"), harness.stylesheet("assets/people.css")]);
      ({ plural, arrow, known, shown, interval, alpha, spread, range, agreed, aboutQuestion, alphaTip } = harness.ratings);
      const studies = await harness.get("people");
      harness.tips(".people-table th.about, .people-table td", (element) => tips.get(element)?.());
      if (!studies.length) {
        harness.add(main, make("h1", null, "Ratings by people"), make("p", null, "Nobody has rated answers from these suites yet. Start with ", make("code", null, "harness annotate"), "."));
        return "People";
      }
      const study = query.study ? studies.find((one) => one.key === query.study) : studies[0];
      if (!study) throw new Error(`Unknown study ${plain(query.study, 60)}. Known: ${studies.map((one) => one.key).join(", ")}.`);
      const strict = study.views.length > 1 && query.gold === "1";
      const { by, rows: order } = ordered(study, study.views[strict ? 1 : 0].rows, query.sort);
      const view = { ...study.views[strict ? 1 : 0], rows: order };
      harness.add(main, make("div.title-line", null, make("h1", null, "Ratings by people"), make("span.push"), view.rows.length ? harness.exportMenu("people-export", exported(study, view)) : null));
      if (studies.length < 2) harness.add(main, make("h2.study", null, text(study.title, 120)));
      else harness.add(main, harness.tabs("Studies", studies.map((one) => [one.key, text(one.title, 40)]), study.key, (key) => harness.link("people", { study: key })));
      const counted = view.raters.filter((rater) => rater.counted).length;
      const asked = study.pair ? `${plural(study.items, "pair")} of answers of ${plural(study.models, "model")}` : `${plural(study.items, "answer")} of ${plural(study.models, "model")}`;
      const scenarios = study.scenarios.slice(0, 3).map(harness.runTitle).join(", ") + (study.scenarios.length > 3 ? ` and ${study.scenarios.length - 3} more` : "");
      harness.add(main, make("p.lead", null, `${plural(counted, "rater")} judged ${asked} on ${plural(study.instances, "instance")} (${plain(scenarios, 160)}), ${plural(new Set(study.questions.map((one) => one.question)).size, "question")} each, without knowing which model wrote them.`));
      const bar = make("div.bar", { hidden: study.views.length < 2 });
      if (study.views.length > 1) {
        const failed = study.views[1].raters.filter((rater) => !rater.counted).length;
        harness.add(bar, make("label.check", null, make("input", { type: "checkbox", id: "gold", checked: strict, onchange: (event) => harness.go("people", { ...query, gold: event.target.checked ? "1" : "" }, { replace: true }) }),
          `Leave out raters with fewer than ${Math.round(100 * study.gold_share)} % of their gold ratings right (${failed} of ${view.raters.length})`));
      }
      if (!view.rows.length) {
        harness.add(main, bar, make("p", null, view.raters.length ? "No rater is left." : "There are no ratings yet."));
        return "People";
      }
      const rows = lines(study, view);
      const marked = rows.some((row) => row.cells.some((cell) => cell.tied));
      const kinds = new Set(study.questions.map((question) => question.statistic));
      harness.add(main, bar, asTable(study, view, rows, by, (sort) => harness.go("people", { ...query, sort }, { replace: true })), asCards(study, view, rows), make("p.quiet.people-notes", null,
        [harness.capitalized([...kinds].map((kind) => ({ mean: "mean and standard deviation (SD) of ratings", share: "share of a choice", "win rate": "win rate, a tie counting one half" })[kind]).join("; ")), `; ${view.covers}. n: ratings.`,
          marked ? " Bold: the interval overlaps that of the best model. A column is tinted if some model's does not." : "",
          view.skipped ? ` ${plural(view.skipped, "item")} could not be judged by a rater; these do not count.` : "", view.agreement.some(Boolean) ? " Agreement is Krippendorff's α: 1 if raters always agree, 0 if only by chance." : ""].join("")), raters(study, view));
      return `People: ${plain(study.title, 60)}`;
    },
  });
})();

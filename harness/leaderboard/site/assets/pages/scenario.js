// One scenario: what it measures, how the models rank on it, how difficult its items are, an example, and all of its metrics.
"use strict";
(() => {
  const { make, text, plain, count, number, spread, link } = harness;
  const PARTS = ["assets/profile/field.js", "assets/profile/facts.js"];
  const UNKNOWN = "The scenario does not declare it.";
  const ASKED = { max_train_instances: "Examples in the prompt", max_tokens: "Maximum tokens per answer", temperature: "Temperature" };

  harness.page("scenario", {
    title: "Scenario",
    async render(main, path, query) {
      const [scenario] = await Promise.all([found(path[0]), harness.loadAll(PARTS), harness.stylesheet("assets/profile/profile.css")]);
      const { about, columns } = scenario;
      const place = query.column ? columns.findIndex((one) => one.key === query.column) : 0;
      if (place < 0) throw new Error(`${plain(about.title, 60)} has no results called ${plain(query.column, 60)}. Available: ${columns.slice(0, 20).map((one) => plain(one.key, 60)).join(", ")}.`);
      const column = columns[place];
      const items = (await harness.get(`scenarios/${path[0]}/items`))[place];
      const go = (changes, options = { replace: true }) => harness.go(`scenario/${path[0]}`, { ...query, ...changes }, options);
      const here = { path: path[0], query, go, about, columns, column, items, rows: ranking(column) };
      const title = columns.length > 1 ? column.title : about.title;
      harness.add(main, harness.crumbs(harness.to("coverage", "Scenarios"), text(about.title, 60)), head(here, about.title), limits(here),
        about.doc ? make("p.lead.definition", null, plain(harness.paragraphs(about.doc.replace(/``/g, ""))[0], 1000)) : null, facts(about), figures(here),
        make("div.pair", null, ranked(here), make("div", null, difficulty(here), asked(here))), prompts(here), extremes(here));
      await example(main, column);
      harness.add(main, others(here), metrics(here), more(here));
      return title;
    },
  });

  const found = async (address) => {
    try { return await harness.get(`scenarios/${address || ""}`); } catch { throw new Error(`No scenario has the address ${plain(address || "(empty)", 80)}. The page Scenarios lists those of this site.`); }
  };

  // The models with their result on the main metric, the best first.
  function ranking(column) {
    const main = column.measures.find((measure) => measure.metric === column.metric && !measure.worst);
    const known = column.models.map(([name, address], at) => ({ name, address, at, cell: main?.cells[at]?.[0] !== null && main?.cells[at] ? main.cells[at] : null, run: column.runs[at]?.[0] || null }));
    const sign = column.higher === false ? 1 : -1;
    return known.sort((a, b) => (b.cell !== null) - (a.cell !== null) || (a.cell ? (a.cell[6] ?? 1e9) - (b.cell[6] ?? 1e9) || sign * (a.cell[0] - b.cell[0]) : a.name.localeCompare(b.name)));
  }

  // A column among others of its scenario: its title, and what not all of them have.
  const called = (one, columns, about) => [...new Set([one.title, ...one.details])].filter((words) => words === one.title || (words !== about.name && !columns.every((other) => other.details.includes(words)))).join(" · ");
  function head({ about, columns, column, go, rows }, title) {
    const choice = columns.length < 2 ? null : make("label", null, make("span", null, "Results"), make("select", { id: "column", onchange: (event) => go({ column: event.target.value === columns[0].key ? null : event.target.value, view: null }) },
      columns.map((one) => make("option", { value: one.key, selected: one === column }, plain(called(one, columns, about), 80)))));
    const table = () => ({ name: column.key, columns: ["model", "first rank", "last rank", "score", "low", "high", "n", "run"].map((name) => ({ name: name.replace(" ", "_"), title: name })),
      rows: rows.map(({ name, cell, run, at }) => [name, cell?.[6] ?? null, cell?.[7] ?? null, cell?.[0] ?? column.no_values[at][0] ?? null, cell?.[1] ?? null, cell?.[2] ?? null, cell?.[3] ?? null, run || ""]) });
    return make("div.title-line", null, make("h1", { "data-tip": plain(about.name, 200) }, text(title, 120)), (about.tags || []).map((tag) => harness.tag(plain(tag, 30))),
      column.sample ? harness.tag("sample data", "warn") : null, make("span.push"), choice, harness.exportMenu("export", table));
  }

  // What a reader must know before any number.
  function limits({ about, column }) {
    const found = [!about.known && "This scenario's plugin was not installed when the site was built, so its description is missing.",
      about.untested && "Not checked on the real data: this scenario was written from the data set's description, and has only been run on handwritten rows or a substitute.",
      column.sample && "Sample data: a few rows that come with the harness, for demonstration only."].filter(Boolean);
    return found.map((words) => make("p.notice", null, words));
  }

  const facts = (about) => harness.field.factLine([["Task", about.taxonomy?.task], ["Texts", about.taxonomy?.what], ["Written by", about.taxonomy?.who], ["Period", about.taxonomy?.when], ["Language", about.taxonomy?.language],
    ["Licence", about.licence && plain(about.licence, 120), about.gated ? "Its terms must be accepted before the data can be downloaded." : ""], ["Source", about.source && plain(about.source, 200)]]
    .map(([name, value, tip]) => [name, value ? (value instanceof Node ? value : text(value, 120)) : null, value ? tip : UNKNOWN]));

  function figures({ rows, column, items }) {
    const { figure, score, interval, median } = harness.field;
    const scored = rows.filter((row) => row.cell);
    const values = scored.map((row) => row.cell[0]);
    const top = scored[0] && column.higher !== null ? [...scored].sort((a, b) => (column.higher ? b.cell[0] - a.cell[0] : a.cell[0] - b.cell[0]))[0] : null;
    const tied = scored.filter((row) => row.cell[5]).length;
    const counts = scored.map((row) => row.cell[3]);
    return make("dl.hero", null,
      figure("Models", "Models with a result, out of those that were run.", count(scored.length), scored.length < rows.length ? `of ${count(rows.length)}` : ""),
      broadly(figure("Best", "The best model, its score and its 95 % interval.", top ? score(top.cell[0], column.metric) : "–", top ? interval(top.cell[1], top.cell[2], column.metric) : "",
        top ? make("p.quiet", null, harness.to(`model/${top.address}`, top.name, 40), tied > 1 ? `, tied with ${count(tied - 1)} more` : "") : null)),
      figure("Median model", "Median of the models' scores.", values.length ? score(median(values), column.metric) : "–", "", values.length > 1 ? make("p.quiet", null, `from ${score(Math.min(...values), column.metric)} to ${score(Math.max(...values), column.metric)}`) : null),
      figure("Instances", "Number of scored instances: the largest of any model.", counts.length ? count(Math.max(...counts)) : "–", ""),
      figure("Items no model gets right", "Items with a mean score of 0 over the models, out of those that at least two models were asked.", items ? count(items.none) : "–", items ? `of ${count(items.items)}` : "",
        items ? make("p.quiet", null, items.all ? `every model gets ${count(items.all)} right` : "none that every model gets right") : make("p.quiet", null, "needs examples from two models")));
  }
  const broadly = (element) => { element.classList.add("broad"); return element; };

  function ranked({ rows, column }) {
    const { table, score, interval, metricName } = harness.field;
    const cells = rows.map((row) => row.cell).filter(Boolean);
    const range = harness.field.isShare(column.metric) || !cells.length ? [0, 1] : [Math.min(...cells.map((cell) => cell[1] ?? cell[0])), Math.max(...cells.map((cell) => cell[2] ?? cell[0]))];
    const several = cells.some((cell) => cell[6] !== null);
    return make("section", null, make("h2", null, "Ranking"),
      make("p.quiet", null, "By ", metricName(column.metric, column.higher, 60, "title"), `. A rank is the range that the data allow; bold scores are statistically tied with the best.`),
      table("Ranking of the models", [...(several ? [{ title: "Rank", tip: "The range of ranks that the data allow; the ranges of all models are correct at once with 95 % probability." }] : []), { title: "Model", kind: "left" }, { title: "Score", tip: harness.about("metrics", column.metric) }, { title: "95 %", kind: "wider" },
        { title: make("span.scale", { "aria-hidden": "true" }, range.map((end) => make("span", null, end === 0 || end === 1 ? String(end) : score(end, column.metric)))), kind: "wide.wider.left" }, { title: "n", tip: "Instances that were scored." }],
      rows.map(({ name, address, cell, run, at }) => {
        const head = make("th.left", { scope: "row" }, harness.to(`model/${address}`, name, 50));
        const rank = several ? [make("td", null, cell && cell[6] !== null ? harness.rankRange(cell[6], cell[7]) : "–")] : [];
        const [word, ...reasons] = column.no_values[at];
        if (!cell && word) return [...rank, head, make("td.left", { colspan: 3 }, make("a", { href: run ? link(`run/${run}`) : null, "data-tip": plain(reasons.join("; "), 400) }, harness.tag(plain(word, 40), "warn"))), make("td", null, "–")];
        if (!cell) return [...rank, head, make("td.left", { colspan: 3 }, run ? make("a", { href: link(`run/${run}`) }, harness.tag("no result", "bad")) : harness.tag("no result", "bad")), make("td", null, "–")];
        const shown = score(cell[0], column.metric);
        return [...rank, head, make(cell[5] ? "td.value" : "td", null, run ? make("a", { href: link(`run/${run}`), "aria-label": `${shown}, the run of ${plain(name, 60)}` }, shown) : shown, cell[8] ? [" ", make("span.faint", null, plain(cell[8], 20))] : null),
          make("td.wider.quiet", null, interval(cell[1], cell[2], column.metric)), make("td.wide.wider", null, harness.strip(cell[0], cells.filter((one) => one !== cell).map((one) => one[0]), { low: cell[1], high: cell[2], range })), make("td", null, count(cell[3]))];
      }), { id: "ranking" }));
  }

  function difficulty({ items }) {
    if (!items) return null;
    const most = Math.max(...items.bins, 1);
    const bar = (amount, i) => {
      const element = make("li", { "data-tip": `${count(amount)} items with a mean score from ${(i / 10).toFixed(1)} to ${((i + 1) / 10).toFixed(1)}` }, amount ? make("span", null, count(amount)) : null, make("i"));
      element.lastChild.style.setProperty("--share", `${(100 * amount) / most}%`);
      return element;
    };
    return make("section", null, make("h2", null, "Difficulty of the items"),
      make("p.quiet", null, `Number of items by mean score over ${count(items.models)} models: hard items on the left, easy ones on the right.`),
      make("div", { role: "img", "aria-label": `Items by mean score, in ten steps from 0 to 1: ${items.bins.join(", ")}` }, make("ul.bars", { "aria-hidden": "true" }, items.bins.map(bar)), make("p.bars-axis", { "aria-hidden": "true" }, [0, 0.25, 0.5, 0.75, 1].map((tick) => make("span", null, String(tick).replace(/^0\./, "."))))));
  }

  const line = (name, value, tip) => make("div", null, make("dt", null, tip ? make("span.defined", { tabindex: "0", "data-tip": tip }, name) : name), make("dd", null, value));
  function asked({ column, about }) {
    const { method, settings, perturbations, most, samples } = column.asked;
    const given = Object.entries(ASKED).filter(([name]) => settings[name] !== undefined && settings[name] !== null).map(([name, words]) => line(words, text(settings[name], 40), name));
    const other = Object.entries(settings).filter(([name, value]) => !Object.hasOwn(ASKED, name) && value !== null && value !== "");
    return make("section", null, make("h2", null, "How it is asked"), make("p.quiet", null, `As in the newest run; ${column.suites.length > 1 ? "suites" : "suite"} ${plain(column.suites.join(", "), 120)}.`),
      make("dl.lines", null, line("Method", harness.named("methods", method, 40)), given, line("Metric", harness.field.metricName(column.metric, column.higher, 40, "title")), line("Evaluated split", plain(column.split || about.split || "not stated", 30)),
        most ? line("At most", `${count(most)} instances`) : null, samples > 1 ? line("Answers for each prompt", count(samples)) : null,
        perturbations.length ? line("Perturbed copies", text(perturbations.map((name) => harness.title("perturbations", name)).join(", "), 80)) : null),
      other.length ? make("details.folded", null, make("summary", null, "All settings of the method"), make("dl.lines", null, other.map(([name, value]) => line(plain(name, 60), text(JSON.stringify(value), 80))))) : null);
  }

  // How much each model's score depends on the prompt, where the scenario was asked with several.
  function prompts({ column, rows }) {
    if (!column.prompts.length) return null;
    const { table, score } = harness.field;
    const places = new Map(column.prompts.map((one) => [one[0], one]));
    const listed = rows.filter((row) => row.cell && places.has(row.at));
    const all = column.prompts.flatMap((one) => one[5].map(([mean]) => mean));
    const range = harness.field.isShare(column.metric) ? [0, 1] : [Math.min(...all), Math.max(...all)];
    const few = column.prompts.find((one) => one[4]), noisy = column.prompts.some((one) => !one[3]);
    const shown = (value) => (value === null || value === undefined ? "–" : score(value, column.metric));
    return make("section", { id: "prompts" }, make("h2", null, "Dependence on the prompt"),
      make("p.quiet", null, few ? `The interval is for these ${few[4]} prompts, which are too few to speak of others.` : "The score is the mean over the prompts, and its interval is for other instances and other prompts like these.", noisy ? " ± prompts includes the noise of few instances, since the scores of instances are unknown." : ""),
      table("Scores by prompt", [{ title: "Model", kind: "left" }, { title: "Prompts" }, { title: "Score" }, { title: "± instances", tip: "Standard error that comes from the number of instances, for these prompts." },
        { title: "± prompts", tip: "Standard deviation of the prompts' true means; what few instances explain is subtracted." }, { title: "Unchanged", tip: "The scenario's prompt as it is." }, { title: "Worst" }, { title: "Best", tip: "Chosen after looking, so too good a figure for a new prompt." },
        { title: make("span.scale", { "aria-hidden": "true" }, range.map((end) => make("span", null, end === 0 || end === 1 ? String(end) : score(end, column.metric)))), kind: "wide.wider.left" }],
      listed.map(({ name, address, cell, at }) => {
        const [, stderr, deviation, , , each] = places.get(at), unchanged = each.find(([, words]) => words === "unchanged");
        const [best, worst] = column.higher === null ? [null, null] : [each[0][0], each.at(-1)[0]];
        return [harness.to(`model/${address}`, name, 50), count(each.length), shown(cell[0]), shown(stderr), shown(deviation), shown(unchanged?.[0]), shown(worst), shown(best),
          make("td.wide.wider", null, harness.strip(cell[0], each.map(([mean]) => mean), { low: cell[1], high: cell[2], range }))];
      }), { id: "by-prompt" }),
      listed.map(({ name, at }) => make("details.folded", null, make("summary", null, `The prompts of ${plain(name, 60)}, the best first`),
        make("ol.plain", null, places.get(at)[5].map(([mean, words]) => make("li", null, make("strong", null, shown(mean)), " ", text(words, 400)))))));
  }

  function extremes({ items }) {
    if (!items || !items.hardest.length) return null;
    const right = (mean, models) => (items.binary ? `${count(Math.round(mean * models))} of ${count(models)} models right` : `mean score ${harness.share(mean)} of ${count(models)} models`);
    const list = (title, chosen) => make("section", null, make("h3", null, title), chosen.map(([mean, models, run, id, words]) => make("article.item", null,
      make("header", null, harness.to(`run/${run}`, id, 60, { id }), harness.tag(right(mean, models))), make("p", null, harness.text(words, 300)))));
    return make("section", null, make("h2", null, "Hardest and easiest items"), make("p.quiet", null, "By the models' mean score; of equally hard items, the first ones. Links lead to the item in a run."),
      make("div.pair.equal", null, list("Hardest", items.hardest), list("Easiest", items.easiest)));
  }

  // A real instance with its prompt, from the first run whose examples are there.
  async function example(main, column) {
    if (!column.examples) { harness.add(main, make("section", null, make("h2", null, "An example"), make("p.quiet", null, "No run kept its examples."))); return; }
    const piece = await harness.get(`runs/${column.examples}/0`, { keep: false });
    const chosen = piece.find((one) => !one.perturbation);
    if (!chosen) return;
    const request = (chosen.requests || [])[0] || {};
    const prompt = request.ask === "score" ? request.context : request.prompt;
    const turns = Array.isArray(prompt) ? prompt.map((turn) => [plain(turn.role, 20), turn.content]) : prompt ? [["prompt", prompt]] : [];
    const whole = turns.map(([, words]) => String(words ?? "")).join("\n\n");
    const body = (words) => make("div.prose", { tabindex: "0", role: "group", "aria-label": "Text" }, harness.pieces(words.slice(0, 8000)), words.length > 8000 ? make("span.faint", null, " …") : null);
    const references = chosen.references || [];
    harness.add(main, make("section.example-item", null, make("h2", null, "An example"), make("p.quiet", null, "The first instance of one run, ", harness.to(`run/${column.examples}`, chosen.id, 60, { id: chosen.id }), "; ", harness.to(`run/${column.examples}`, "all of its prompts and answers"), "."),
      make("h3", null, "Input"), body(String(chosen.input ?? "")),
      references.length ? [make("h3", null, references.some((one) => one.correct) && references.some((one) => !one.correct) ? "Options" : "References"), make("ul.plain", null, references.slice(0, 20).map((one) => make("li", null, text(one.text, 300), one.correct ? [" ", harness.tag("correct", "good")] : null)))] : null,
      whole ? make("details.folded", null, make("summary", null, `The prompt, as the model reads it (${count(whole.length)} characters)`), turns.map(([role, words]) => [turns.length > 1 ? make("h4", null, role) : null, body(String(words ?? ""))])) : null));
  }

  // The other columns of the scenario: other parameters, or other ways to ask.
  function others({ columns, column, path }) {
    if (columns.length < 2) return null;
    const { table, score, median } = harness.field;
    return make("section", null, make("h2", null, `All ${count(columns.length)} results of the scenario`), make("p.quiet", null, "With other parameters, or asked in other ways."), table("Results of the scenario", [{ title: "Result", kind: "left" }, { title: "Models" }, { title: "Median" }, { title: "Best" }, { title: "Metric", kind: "left" }],
      columns.slice(0, 200).map((one) => {
        const values = (one.measures.find((measure) => measure.metric === one.metric && !measure.worst)?.cells || []).filter((cell) => cell && cell[0] !== null).map((cell) => cell[0]);
        const best = values.length ? (one.higher === false ? Math.min(...values) : Math.max(...values)) : null;
        return [one === column ? make("strong", null, text([one.title, ...one.details].join(" · "), 80)) : harness.to(`scenario/${path}`, [one.title, ...one.details].join(" · "), 80, { column: one.key }), count(values.length), score(median(values), one.metric), score(best, one.metric), make("td.left", null, harness.field.metricName(one.metric, one.higher))];
      })));
  }

  // Every metric of every model, and the runs of a column that is a mean of several.
  function metrics({ column, query, go, path }) {
    const categories = [...new Set(column.measures.map((measure) => measure.category))];
    const chosen = categories.includes(query.view) ? query.view : "";
    const measures = column.measures.filter((measure, i) => (chosen ? measure.category === chosen : i === 0 || measure.represents));
    const content = () => [harness.tabs("Categories of metrics", ["", ...categories].map((category) => [category, category ? harness.title("categories", category) : "One of each category"]), chosen,
      (category) => link(`scenario/${path}`, { ...query, view: category || "main" })),
    harness.table([
      { name: "model", label: "Model", kind: "text", class: "fixed", key: (i) => column.models[i][0], cell: (i) => harness.to(`model/${column.models[i][1]}`, column.models[i][0], 60) },
      ...measures.map((measure) => ({
        name: `${measure.metric}.${measure.worst || ""}`,
        label: make("span.title", { "data-tip": harness.about("metrics", measure.metric) }, text(harness.title("metrics", measure.metric), 40)),
        note: [measure.worst ? `worst of ${measure.worst}` : "", measure.higher === null ? "" : measure.higher ? "↑" : "↓"].filter(Boolean).join(" "),
        first: measure.higher === false ? "ascending" : "descending",
        key: (i) => (measure.cells[i] ? measure.cells[i][0] : null),
        cell: (i) => {
          if (!measure.cells[i] || measure.cells[i][0] === null) return make("td.quiet", null, "—");
          const [mean, low, high, n, , best, , , marks] = measure.cells[i];
          return make(best ? "td.best" : "td", null, number(mean), " ", make("span.spread", null, spread(mean, low, high)), marks, make("small", null, `n=${count(n)}`));
        },
      })),
    ], column.models.map((_, i) => i), { id: "metrics", label: `Metrics of ${plain(column.title, 60)}`, sort: query.sort || (measures.length ? `${measures[0].higher === false ? "" : "-"}${measures[0].metric}.${measures[0].worst || ""}` : "model"),
      onsort: (sort) => go({ sort, view: query.view || "main" }) })];
    const open = Boolean(query.view);
    const box = make("details.folded", { id: "all-metrics", open, ontoggle: () => { if (box.open && box.childElementCount === 1) harness.add(box, content()); } },
      make("summary", null, `${count(column.measures.length)} ${column.measures.length === 1 ? "metric" : "metrics"} of every model`), open ? content() : null);
    return make("section", null, make("h2", null, "All metrics"), box, column.parts.length ? parts(column, query, go) : null);
  }

  function parts(column, query, go) {
    return [make("h3", null, `The ${count(column.parts.length)} runs, by ${plain(harness.title("metrics", column.metric), 40)}`), harness.table([
      { name: "part", label: "Run", kind: "text", class: "fixed", key: (part) => harness.runTitle(part[0]), cell: (part) => make("span", { "data-tip": plain(part[0], 200) }, text(harness.runTitle(part[0]), 70)) },
      ...column.models.map(([model], m) => ({ name: `m${m}`, label: make("span.title", null, text(model, 40)), first: column.higher === false ? "ascending" : "descending",
        key: (part) => part[1][m]?.[1] ?? null,
        cell: (part) => {
          if (!part[1][m]) return make("td.quiet", null, "—");
          const [address, mean, low, high, without] = part[1][m];
          return make("td", null, make("a", { href: link(`run/${address}`) }, mean !== null ? number(mean) : without ? make("span", { "data-tip": plain(without, 400) }, plain(without.split(":")[0], 40)) : "✗"), " ", mean === null ? null : make("span.spread", null, spread(mean, low, high)));
        } })),
    ], column.parts, { id: "parts", label: "Runs by model", sort: query.part || "part", onsort: (sort) => go({ part: sort }) })];
  }

  function more({ about }) {
    const url = about.url ? make("a", { href: about.url, rel: "noreferrer noopener" }, plain(about.url, 90)) : null;
    const paragraphs = about.doc ? harness.paragraphs(about.doc.replace(/``/g, "")).slice(1) : [];
    return make("section", null, make("h2", null, "About the data"), paragraphs.map((words) => make("p.definition", null, plain(words, 3000))),
      harness.facts([["Name", make("code", null, plain(about.name, 80))], ["Data", url], ["On the Hub", about.hub ? text(about.hub, 120) : null], ["Evaluated split", about.split],
        ...Object.entries(about.taxonomy || {}).map(([facet, value]) => [harness.FACETS[facet] || harness.capitalized(facet), make("a", { href: link("coverage", { tag: `${facet}:${value}` }) }, plain(value, 80))]),
        ["Compared groups", about.groups && about.groups.length ? about.groups.join(", ") : null]]));
  }
})();

// Two or more models on the same instances: paired differences, tests, and the instances on which the models differ.
"use strict";
(() => {
  const { make, plain, text, count, number, link } = harness;
  const LISTED = 500; // most instances in the list of those on which two models differ

  harness.page("compare", {
    title: "Compare models",
    async render(main, path, query) {
      const site = await harness.get("site");
      const key = harness.suiteBoard(site, query.suite);
      const { models, questions } = await harness.get(`compare/${key}`);
      const go = (changes) => harness.go("compare", { ...query, ...changes }, { replace: true });
      main.append(make("h1", null, "Compare models"));
      if (models.length < 2 || !questions.length) {
        main.append(make("p", null, "No two models have examples of the same scenario."));
        return "Compare models";
      }
      const position = (address) => models.findIndex(([known]) => known === address);
      const first = Math.max(0, position(query.first));
      const asked = (query.with || "").split(",").map(position).filter((at) => at >= 0 && at !== first);
      const others = asked.length ? [...new Set(asked)] : [first === 0 ? 1 : 0];
      main.append(controls(site, key, models, first, others, go));
      const rows = (await Promise.all(others.map((other) => pairRows(key, models, questions, first, other)))).flat();
      if (!rows.length) {
        main.append(make("p.quiet", null, "These models were not run on the same scenario with the same settings."));
        return "Compare models";
      }
      const problems = rows.filter((row) => row.problem);
      const found = holm(rows.filter((row) => !row.problem));
      main.append(make("p.quiet", null, `${count(found.length)} ${found.length === 1 ? "comparison" : "comparisons"}; Holm's p-values are adjusted for their number.`));
      if (query.at !== undefined) {
        const row = found.find((one) => `${one.at}.${models[one.other][0]}` === query.at);
        if (row) return instances(main, row, models, first, query);
      }
      if (found.length) main.append(table(found, models, first, others, query, go));
      if (problems.length) {
        main.append(make("details", null, make("summary", null, `${count(problems.length)} could not be compared`),
          make("ul", null, problems.map((row) => make("li", null, text(row.question.title, 80), ": ", plain(row.problem, 300))))));
      }
      main.append(make("p.quiet", null, "Difference: first − other, the mean over the instances of both, with its 95 % interval. p: exact McNemar test where every score is 0 or 1, else a sign-flip test, two-sided. ",
        "To compare other metrics than the main one, use ", make("code", null, "harness compare"), "."));
      return "Compare models";
    },
  });

  function controls(site, key, models, first, others, go) {
    const choice = make("details.models-choice", { id: "others" }, make("summary", null, others.map((at) => plain(models[at][1], 40)).join(", ")),
      make("div", null, models.map(([address, name], at) => at === first ? null : make("label", null, make("input", {
        type: "checkbox", id: `other-${address}`, value: address, checked: others.includes(at), onchange: (event) => {
          const boxes = [...event.target.closest("div").querySelectorAll("input")].filter((box) => box.checked);
          go({ with: boxes.map((box) => box.value).join(","), at: "" });
        } }), " ", text(name, 60)))));
    return make("div.bar", null,
      harness.suiteChoice(site, key, (suite) => go({ suite, at: "" })),
      make("label", null, "Model", make("select", { id: "first", onchange: (event) => go({ first: event.target.value, at: "" }) },
        models.map(([address, name], at) => make("option", { value: address, selected: at === first }, plain(name, 60))))),
      make("div.labelled", null, make("span.quiet", null, "against"), choice));
  }

  // The rows of a pair of models. The builder computed them in the order of the models' addresses.
  async function pairRows(key, models, questions, first, other) {
    const pair = [models[first][0], models[other][0]];
    if (!questions.some((question) => pair.every((model) => question.runs[model]))) return [];
    const turned = pair[0] > pair[1];
    const rows = await harness.get(`compare/${key}/${[...pair].sort().join("/")}`);
    return rows.map(([at, , ...values]) => {
      const question = questions[at];
      const row = { question, at, other, runs: pair.map((model) => question.runs[model]), repeats: pair.map((model) => question.repeats[model]) };
      if (values.length === 1) return { ...row, problem: values[0] };
      const [n, one, two, difference, low, high, p, differing, onlyOne, onlyTwo, undefined_, changed] = values;
      const sides = turned ? { first: two, second: one, difference: -difference, low: low === null ? null : -high, high: low === null ? null : -low, onlyFirst: onlyTwo, onlySecond: onlyOne }
        : { first: one, second: two, difference, low, high, onlyFirst: onlyOne, onlySecond: onlyTwo };
      return { ...row, count: n, p, differing, undefined: undefined_, changed, ...sides };
    });
  }

  // The rows with p-values adjusted for their number (Holm 1979): which models are compared is the reader's choice.
  function holm(rows) {
    let largest = 0;
    [...rows].sort((a, b) => a.p - b.p).forEach((row, rank) => {
      largest = Math.max(largest, Math.min(1, (rows.length - rank) * row.p));
      row.holm = largest;
    });
    return rows;
  }

  const p = (value) => (value < 0.001 ? "<0.001" : harness.fixed(value, 3));
  const signed = (value) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
  const arrow = (question) => (question.higher === null ? "" : question.higher ? " ↑" : " ↓");
  const better = (row) => row.question.higher === null || row.holm >= 0.05 || row.difference === 0 ? "" : (row.difference > 0) === row.question.higher ? "good" : "bad";

  function table(rows, models, first, others, query, go) {
    const left = (row) => [[row.onlyFirst, "only first"], [row.onlySecond, "only other"], [row.undefined, "undefined"], [row.changed, "not the same question"]]
      .filter(([amount]) => amount).map(([amount, what]) => `${count(amount)} ${what}`).join(", ");
    return harness.table([
      { name: "scenario", label: "Scenario", kind: "text", class: "fixed", key: (row) => row.question.title,
        cell: (row) => make("span", { title: plain(row.question.identifier, 200) }, text(row.question.title, 60), make("small.quiet", null, ` ${plain([harness.title("methods", row.question.method), ...row.question.details.filter((detail) => !detail.startsWith("mean of "))].join(" · "), 80)}`)) },
      others.length > 1 ? { name: "other", label: "Against", kind: "text", key: (row) => models[row.other][1], cell: (row) => text(models[row.other][1], 40) } : null,
      { name: "metric", label: "Metric", kind: "text", key: (row) => harness.title("metrics", row.question.metric), cell: (row) => make("span", null, harness.named("metrics", row.question.metric, 40), arrow(row.question)) },
      { name: "n", label: "Instances", key: (row) => row.count, cell: (row) => make("span", null, count(row.count), left(row) ? make("small", null, ` ${left(row)}`) : null) },
      { name: "first", label: "First", note: plain(models[first][1], 26), key: (row) => row.first, cell: (row) => number(row.first) },
      { name: "second", label: "Other", note: others.length > 1 ? null : plain(models[others[0]][1], 26), key: (row) => row.second, cell: (row) => number(row.second) },
      { name: "difference", label: "Difference", key: (row) => row.difference,
        cell: (row) => make("td", null, make(`strong${better(row) ? `.${better(row)}` : ""}`, null, signed(row.difference)),
          row.low === null ? null : make("small", null, ` [${signed(row.low)}, ${signed(row.high)}]`)) },
      { name: "p", label: "p", first: "ascending", key: (row) => row.p, cell: (row) => p(row.p) },
      { name: "holm", label: "p, Holm", first: "ascending", key: (row) => row.holm, cell: (row) => p(row.holm) },
      { name: "differ", label: "They differ on", key: (row) => row.differing, cell: (row) => (row.differing
        ? make("a", { href: link("compare", { ...query, at: `${row.at}.${models[row.other][0]}` }) }, `${count(row.differing)} ${row.differing === 1 ? "instance" : "instances"}`) : "none") },
    ].filter(Boolean), rows, { id: "comparisons", label: "Paired differences", sort: query.sort, onsort: (sort) => go({ sort }) });
  }

  // By instance and trial: key, score and digest of what was asked, from the indexes of the examples of a run or of its
  // repeats, whose trials count as one.
  function trials(indexes, whole) {
    const found = new Map();
    for (const index of indexes) collect(found, index, whole);
    return found;
  }

  function collect(found, index, whole) {
    const original = index.perturbations.indexOf(null);
    index.instance.forEach((at, n) => {
      if (index.perturbation[n] !== original || index.asked[at] === null) return;
      const [instance, trial] = index.keys[at].split(".");
      if (!found.has(instance)) found.set(instance, new Map());
      const trials = found.get(instance), name = whole ? "0" : trial || "0"; // of several samples, the mean
      const entry = trials.get(name) || { key: index.keys[at], asked: index.asked[at], sum: 0, samples: 0, score: null };
      if (index.score[n] !== null) Object.assign(entry, { sum: entry.sum + index.score[n], samples: entry.samples + 1, score: (entry.sum + index.score[n]) / (entry.samples + 1) });
      trials.set(name, entry);
    });
  }

  // The instances whose mean scores differ over the trials that both runs have, the largest differences first.
  function differing(one, other) {
    const whole = one.length > 1 || other.length > 1, ours = trials(one, whole), theirs = trials(other, whole), found = [];
    const digests = (entries) => [...new Set([...entries.values()].map((entry) => entry.asked))].sort().join();
    for (const [instance, mine] of ours) {
      const against = theirs.get(instance);
      if (!against || digests(mine) !== digests(against)) continue;
      const both = [...mine].filter(([trial, entry]) => entry.score !== null && against.get(trial) && against.get(trial).score !== null);
      if (!both.length) continue;
      const mean = (scores) => scores.reduce((sum, score) => sum + score, 0) / scores.length;
      const pair = [mean(both.map(([, entry]) => entry.score)), mean(both.map(([trial]) => against.get(trial).score))];
      if (pair[0] !== pair[1]) found.push({ key: both[0][1].key, pair });
    }
    return found.sort((a, b) => Math.abs(b.pair[0] - b.pair[1]) - Math.abs(a.pair[0] - a.pair[1]) || b.pair[0] - a.pair[0] || (a.key < b.key ? -1 : 1));
  }

  async function instances(main, row, models, first, query) {
    const names = [models[first][1], models[row.other][1]];
    const rows = differing(...await Promise.all(row.repeats.map((runs) => Promise.all(runs.map((run) => harness.get(`runs/${run}/index`, { keep: false }))))));
    main.append(
      make("p", null, make("a", { href: link("compare", { ...query, at: "" }) }, "All comparisons")),
      make("h2", null, text(row.question.title, 80)),
      make("p", null, `The models have a different ${plain(harness.title("metrics", row.question.metric), 40)} on ${count(rows.length)} of ${count(row.count)} instances; difference ${signed(row.difference)}, p ${p(row.p)}. `,
        make("a", { href: link(`run/${row.runs[0]}`, { with: row.runs[1], only: "differs" }) }, "Answers side by side")),
      harness.table([
        { name: "instance", label: "Instance", kind: "text", key: (one) => one.key,
          cell: (one) => make("a", { href: link(`run/${row.runs[0]}`, { key: one.key, with: row.runs[1] }) }, one.key) },
        { name: "first", label: "First", note: plain(names[0], 40), key: (one) => one.pair[0], cell: (one) => number(one.pair[0]) },
        { name: "second", label: "Other", note: plain(names[1], 40), key: (one) => one.pair[1], cell: (one) => number(one.pair[1]) },
      ], rows.slice(0, LISTED), { id: "instances", label: "Instances on which they differ",
        caption: rows.length > LISTED ? `The first ${count(LISTED)}, the largest differences first.` : "The largest differences first." }));
    return `Compare: ${plain(row.question.title, 60)}`;
  }
})();

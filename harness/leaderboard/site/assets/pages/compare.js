// Two or more models on the same instances: paired differences, tests, and the instances on which they differ.
"use strict";
(() => {
  const { make, plain, text, count, number, link } = harness;
  const AT_ONCE = 8; // indices that are read at the same time
  const LISTED = 500; // instances that are listed at most
  const known = new Map(); // comparisons that were made, by their runs

  harness.page("compare", {
    title: "Compare models",
    async render(main, path, query) {
      await harness.load("assets/statistics.js");
      const site = await harness.get("site");
      const key = harness.suiteBoard(site, query.suite);
      const { models, questions } = await harness.get(`compare/${key}`);
      const go = (changes) => harness.go("compare", { ...query, ...changes }, { replace: true });
      main.append(make("h1", null, "Compare models"));
      if (models.length < 2 || !questions.length) {
        main.append(make("p", null, "There are no two models with examples of the same scenario."));
        return "Compare models";
      }
      const position = (address) => models.findIndex(([known]) => known === address);
      const first = Math.max(0, position(query.first));
      const asked = (query.with || "").split(",").map(position).filter((at) => at >= 0 && at !== first);
      const others = asked.length ? [...new Set(asked)] : [first === 0 ? 1 : 0];
      main.append(controls(site, key, models, first, others, go));
      const tasks = questions.flatMap((question, at) => others.filter((other) => question.runs[first] && question.runs[other]).map((other) => ({ question, at, other })));
      const status = make("p.quiet", { role: "status" });
      main.append(status);
      if (!tasks.length) {
        status.textContent = "These models were not asked the same.";
        return "Compare models";
      }
      const rows = await all(tasks, first);
      const problems = rows.filter((row) => row.problem);
      const found = rows.filter((row) => !row.problem);
      const adjusted = harness.statistics.holm(found.map((row) => row.p));
      found.forEach((row, i) => { row.holm = adjusted[i]; });
      status.textContent = `${count(found.length)} comparisons; p-values are adjusted for so many (Holm).`;
      if (query.at !== undefined) {
        const row = found.find((one) => `${one.at}.${one.other}` === query.at);
        if (row) return instances(main, row, models, first, query);
      }
      if (found.length) main.append(table(found, models, first, others, query, go));
      if (problems.length) {
        main.append(make("details", null, make("summary", null, `${count(problems.length)} could not be compared`),
          make("ul", null, problems.map((row) => make("li", null, text(row.question.title, 80), ": ", row.problem)))));
      }
      main.append(make("p.quiet", null, "Difference: first − other, the mean over the instances of both, with its 95 % interval. p: exact McNemar where every score is 0 or 1, else sign flips, two-sided. ",
        "For other metrics than the main one: ", make("code", null, "harness compare"), "."));
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
      site.boards.length > 1 ? make("label", null, "Suite", make("select", { id: "suite", onchange: (event) => go({ suite: event.target.value, at: "" }) },
        site.boards.map(([known, words, suite]) => make("option", { value: suite, selected: known === key }, plain(words, 50))))) : null,
      make("label", null, "Model", make("select", { id: "first", onchange: (event) => go({ first: event.target.value, at: "" }) },
        models.map(([address, name], at) => make("option", { value: address, selected: at === first }, plain(name, 60))))),
      make("div.labelled", null, make("span.quiet", null, "against"), choice));
  }

  // A few at a time, since each reads the index of a run.
  async function all(tasks, first) {
    const rows = new Array(tasks.length);
    let next = 0;
    const worker = async () => {
      while (next < tasks.length) {
        const at = next++;
        rows[at] = await one(tasks[at], first);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return rows;
  }

  async function one({ question, at, other }, first) {
    const runs = [question.runs[first], question.runs[other]];
    const name = runs.join(" ");
    try {
      if (!known.has(name)) {
        const [ours, theirs] = await Promise.all(runs.map((run) => harness.get(`runs/${run}/index`, { keep: false })));
        const pairs = harness.statistics.joined(ours, theirs);
        known.set(name, { ...pairs, ...(pairs.pairs.length ? harness.statistics.paired(pairs.pairs, question.scale) : { problem: "no instance in common has the score in both runs" }) });
      }
      return { question, at, other, runs, ...known.get(name) };
    } catch (error) {
      return { question, at, other, runs, problem: plain(error.message, 200) };
    }
  }

  const p = (value) => (value < 0.001 ? "<0.001" : value.toFixed(3));
  const signed = (value) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
  const arrow = (question) => (question.higher === null ? "" : question.higher ? " ↑" : " ↓");
  const differing = (row) => row.pairs.filter(([one, other]) => one !== other).length;
  const better = (row) => row.question.higher === null || row.holm >= 0.05 ? "" : (row.difference > 0) === row.question.higher ? "good" : "bad";

  function table(rows, models, first, others, query, go) {
    const left = (row) => [[row.onlyFirst, "only first"], [row.onlySecond, "only other"], [row.undefined, "undefined"], [row.changed, "asked otherwise"]]
      .filter(([amount]) => amount).map(([amount, what]) => `${count(amount)} ${what}`).join(", ");
    return harness.table([
      { name: "scenario", label: "Scenario", kind: "text", class: "fixed", key: (row) => row.question.title,
        cell: (row) => make("span", null, text(row.question.title, 60), make("small.quiet", null, ` ${plain([row.question.method, ...row.question.details.filter((detail) => !detail.startsWith("mean of "))].join(" · "), 80)}`)) },
      others.length > 1 ? { name: "other", label: "Against", kind: "text", key: (row) => models[row.other][1], cell: (row) => text(models[row.other][1], 40) } : null,
      { name: "metric", label: "Metric", kind: "text", key: (row) => row.question.metric, cell: (row) => `${plain(row.question.metric, 40)}${arrow(row.question)}` },
      { name: "n", label: "Instances", key: (row) => row.count, cell: (row) => make("span", null, count(row.count), left(row) ? make("small", null, ` ${left(row)}`) : null) },
      { name: "first", label: "First", note: plain(models[first][1], 26), key: (row) => row.first, cell: (row) => number(row.first) },
      { name: "second", label: "Other", note: others.length > 1 ? null : plain(models[others[0]][1], 26), key: (row) => row.second, cell: (row) => number(row.second) },
      { name: "difference", label: "Difference", key: (row) => row.difference,
        cell: (row) => make("td", null, make(`strong${better(row) ? `.${better(row)}` : ""}`, null, signed(row.difference)),
          row.low === null ? null : make("small", null, ` [${signed(row.low)}, ${signed(row.high)}]`)) },
      { name: "p", label: "p", first: "ascending", key: (row) => row.p, cell: (row) => p(row.p) },
      { name: "holm", label: "p, Holm", first: "ascending", key: (row) => row.holm, cell: (row) => p(row.holm) },
      { name: "differ", label: "They differ on", key: differing, cell: (row) => (differing(row)
        ? make("a", { href: link("compare", { ...query, at: `${row.at}.${row.other}` }) }, `${count(differing(row))} ${differing(row) === 1 ? "instance" : "instances"}`) : "none") },
    ].filter(Boolean), rows, { id: "comparisons", label: "Paired differences", sort: query.sort, onsort: (sort) => go({ sort }) });
  }

  function instances(main, row, models, first, query) {
    const names = [models[first][1], models[row.other][1]];
    const rows = row.pairs.map((pair, i) => ({ key: row.keys[i], pair })).filter(({ pair }) => pair[0] !== pair[1])
      .sort((a, b) => Math.abs(b.pair[0] - b.pair[1]) - Math.abs(a.pair[0] - a.pair[1]) || b.pair[0] - a.pair[0] || (a.key < b.key ? -1 : 1));
    main.append(
      make("p", null, make("a", { href: link("compare", { ...query, at: "" }) }, "All comparisons")),
      make("h2", null, text(row.question.title, 80)),
      make("p", null, `${count(rows.length)} of ${count(row.count)} instances have another ${plain(row.question.metric, 40)}; difference ${signed(row.difference)}, p ${p(row.p)}. `,
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

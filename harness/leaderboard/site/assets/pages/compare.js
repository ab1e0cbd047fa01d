// Two models on the same questions: a sentence, the differences as a forest plot, the questions on which they disagree.
"use strict";
(() => {
  const { make, clear, text, plain, count, link } = harness;
  const PARTS = ["assets/components/chooser.js", "assets/compare/pairs.js", "assets/compare/forest.js", "assets/compare/questions.js"];
  const wide = window.matchMedia("(min-width: 1101px)");
  let loading = null;
  let state = null; // {key, data, a, b, rows, row, query, parts, questions, problems}

  const load = () => {
    loading = loading || Promise.all([harness.loadAll(PARTS), harness.stylesheet("assets/compare/compare.css")]).catch((error) => { loading = null; throw error; });
    return loading;
  };
  const boardKey = (site, query) => (query.suites === "all" ? site.boards[0][0] : query.suite ? harness.suiteBoard(site, query.suite) : site.newest);
  const nameOf = (address) => harness.modelName(address, address);

  harness.page("compare", {
    title: "Compare models",
    layout: "pane",
    keys: [["j", "Next scenario", () => move(1)], ["k", "Previous scenario", () => move(-1)], ["w", "Next question on which they differ", () => state?.questions?.next(1)], ["W", "Previous question", () => state?.questions?.next(-1)],
      ["x", "Swap the two models", () => document.getElementById("swap")?.click()]],
    async render(main, path, query) {
      state = null;
      const [site] = await Promise.all([harness.get("site"), load()]);
      const key = boardKey(site, query), data = await harness.get(`compare/${key}`);
      const found = { site, key, data, query, parts: {}, problems: [], row: null, questions: null };
      choose(found);
      state = found;
      if (query.view === "pairs") { harness.add(main, head(), matrix()); return "All pairs of models"; }
      if (!found.able.length) {
        harness.add(main, head(), make("p.empty", null, "To compare two models, run both on the same scenario, and keep the runs’ examples: models are compared question by question. ", key === site.boards[0][0] ? null : ["Or look at ", make("a", { href: link("compare", { suites: "all" }) }, "all suites"), "."]));
        return "Compare models";
      }
      const { rows, problems } = await harness.pairRows(key, data, found.a, found.b);
      Object.assign(found, { rows, failed: problems });
      distinct(rows);
      build(main);
      return `${plain(nameOf(found.a), 40)} and ${plain(nameOf(found.b), 40)}`;
    },
    async update(path, query) {
      const same = (name) => (query[name] || "") === (state.query[name] || "");
      if (!state || !state.rows?.length || !["a", "b", "suite", "suites", "view"].every(same)) return null;
      const before = state.query;
      state.query = query;
      if (query.scenario !== before.scenario || query.show !== before.show || query.id !== before.id) await open(rowOf(query.scenario), false);
      return document.title;
    },
    drawn() { if (state?.row) openSide(); },
  });

  const go = (changes, options = { replace: true }) => harness.go("compare", { ...state.query, ...changes }, options);
  const note = (changes) => { state.query = { ...state.query, ...changes }; harness.note("compare", state.query); };

  // The two models of an address, by address or name; without them, the two that share most questions, the better ranked first.
  function choose(found) {
    const { data, query, problems } = found;
    const able = new Set(data.ways);
    for (const question of data.questions) { const asked = data.models.filter((_, i) => question.runs[i]); if (asked.length > 1) for (const one of asked) able.add(one); }
    found.able = data.models.filter((address) => able.has(address));
    const named = (name) => {
      if (!name) return null;
      const known = data.models.find((address) => address === name) || data.models.find((address) => nameOf(address) === name || harness.names.models[address]?.identifier === name);
      if (!known) problems.push(`Unknown model ${plain(name, 80)}.`);
      return known || null;
    };
    const shared = (one, other) => data.questions.filter((question) => question.runs[data.models.indexOf(one)] && question.runs[data.models.indexOf(other)]).length;
    found.a = named(query.a) || found.able.find((address) => address !== query.b) || null;
    const others = found.able.filter((address) => address !== found.a).map((address) => [shared(found.a, address), address]);
    const most = Math.max(0, ...others.map(([amount]) => amount));
    found.b = named(query.b) || (others.find(([amount]) => amount === most && amount) || [0, found.a])[1];
    found.shared = shared;
  }

  // Where several rows have the same title, each also says how it was asked.
  function distinct(rows) {
    const titles = new Map();
    for (const row of rows) titles.set(row.title, (titles.get(row.title) || 0) + 1);
    for (const row of rows) row.shared = titles.get(row.title) > 1;
  }
  const rowOf = (name) => {
    if (!name) return state.rows.find((row) => row.shown) || harness.byUnit(state.rows)[0].rows[0];
    const found = state.rows.find((row) => row.key === name || row.title === name);
    if (!found && !state.problems.includes(`Unknown scenario ${plain(name, 80)}.`)) { state.problems.push(`Unknown scenario ${plain(name, 80)}.`); problems(); }
    return found || state.rows[0];
  };

  // ------------------------------------------------------------------------------------------------------------
  // Heading

  function picker(side) {
    const { data, able, a, b, parts } = state;
    const own = side === "a" ? a : b, other = side === "a" ? b : a;
    const at = (address) => data.models.indexOf(address);
    const label = make("span.picked", null, make("span.side", null, side.toUpperCase()), text(own ? nameOf(own) : "choose", 44));
    parts[side] = harness.chooser(label, { id: `model-${side}`, tip: side === "a" ? "Choose the first model" : "Choose the second model", placeholder: "Type a model, size or tag", unit: "models",
      items: () => able.filter((address) => address !== other || data.ways.includes(address)).map((address) => ({ id: address, name: nameOf(address), words: harness.modelWords(address), chosen: address === own,
        note: address === other ? "in other ways" : standing(at(other), at(address)) })),
      chips: harness.modelChips(able), choose: (address) => go({ [side]: address, scenario: null, id: null, show: null }, {}) });
    return parts[side];
  }
  // In a list of models: on how many scenarios one is better and worse than another, "3 : 1".
  const standing = (i, j) => {
    if (i < 0 || j < 0 || i === j) return "";
    const { data } = state, n = data.models.length, [x, y] = i < j ? [i, j] : [j, i];
    const found = data.pairs[x * n - (x * (x + 1)) / 2 + y - x - 1];
    if (!found) return "none in common";
    return i < j ? `${found[1]} : ${found[0]}` : `${found[0]} : ${found[1]}`;
  };

  function head() {
    const { site, key, data, a, b, able, query } = state;
    const one = picker("a"), other = picker("b");
    const pairs = query.view === "pairs";
    const suite = site.boards.length > 1 ? make("select", { id: "suite", "aria-label": "Suite", onchange: (event) => {
      const [kind, name] = [event.target.value.slice(0, 1), event.target.value.slice(1)];
      go({ suite: kind === "*" ? null : name, suites: kind === "*" ? "all" : null, scenario: null, id: null, show: null }, {});
    } }, site.boards.map(([known, words, name]) => make("option", { value: name ? `=${name}` : "*", selected: known === key }, `${plain(words, 50)}${known === site.newest ? " · newest" : ""}`))) : null;
    return make("div.compare-head", null, able.length ? make("h1.unseen", { hidden: !pairs }, "Compare models") : make("h1", null, "Compare models"), make("div.tools", { role: "toolbar", "aria-label": "Models" }, pairs || !able.length ? null : [one.button, make("button", { type: "button", id: "swap", "aria-label": "Swap the two models", "data-tip": "Swap (x)", "aria-keyshortcuts": "x", disabled: a === b,
      onclick: () => go({ a: b, b: a }, {}) }, "⇄"), other.button], suite, able.length > 2 ? make("a.button", { href: link("compare", { ...query, view: pairs ? null : "pairs" }), id: "all-pairs" }, pairs ? "Two models" : "All pairs") : null,
    make("span.push"), pairs || !state.rows?.length ? null : harness.exportMenu("export", exported), one.panel, other.panel), state.parts.problems = make("p.notice", { role: "alert", hidden: !state.problems.length }, state.problems.join(" ")));
  }
  const problems = () => { const box = state.parts.problems; box.hidden = !state.problems.length; box.textContent = state.problems.join(" "); };

  function sentence() {
    const { rows, a, b } = state;
    const [first, second] = [make("em", null, text(nameOf(a), 60)), make("span", null, text(nameOf(b), 60))];
    const better = rows.filter((row) => row.better > 0).length, worse = rows.filter((row) => row.better < 0).length, rest = rows.length - better - worse;
    const own = a === b;
    const on = rows.length === 1 ? "scenario" : "scenarios";
    const last = rest ? ["; no difference is shown on ", make("span", null, count(rest))] : null;
    if (own) return better + worse ? [first, ": the score depends on how it is asked", rows.length === 1 ? "" : [` in ${count(better + worse)} of ${count(rows.length)} pairs of ways`, last], "."] : [first, `: no difference is shown between ${rows.length === 1 ? "two ways" : "ways"} to ask it.`];
    if (!better && !worse) return ["No difference between ", first, " and ", second, rows.length === 1 ? [" is shown on ", text(rows[0].title, 60), "."] : ` is shown on any of ${count(rows.length)} ${on}.`];
    if (rows.length === 1) return [first, better ? " is better than " : " is worse than ", second, " on ", text(rows[0].title, 60), "."];
    return better ? [first, " is better than ", second, ` on ${count(better)} of ${count(rows.length)} ${on}, worse on ${worse ? count(worse) : "none"}`, last, "."]
      : [first, " is worse than ", second, ` on ${count(worse)} of ${count(rows.length)} ${on}, better on none`, last, "."];
  }

  function explanation() {
    const { rows, failed } = state;
    const shares = rows.filter((row) => !row.unit && !row.unknown), seen = shares.filter((row) => row.couldShow !== null).map((row) => harness.paired.size(row, row.couldShow)).sort();
    const sizes = rows.map((row) => row.n), [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    const asked = `${least === most ? count(least) : `${count(least)} to ${count(most)}`} questions${rows.length > 1 ? " per scenario" : ""}`;
    const range = seen[0] === seen.at(-1) ? `${seen[0]} or more` : `${seen[0]} or more at best and ${seen.at(-1)} or more at worst`;
    const blind = shares.length - seen.length;
    const about = (seen.length ? ` ${asked} could have shown differences of ${range}, with power 0.8.` : "")
      + (blind ? ` ${seen.length ? `On ${count(blind)} ${blind === 1 ? "scenario" : "scenarios"} there` : "There"} are too few questions to show any difference.` : "");
    return make("p.quiet", { id: "how" }, `Both answered the same questions. 95 % intervals; p adjusted for ${count(rows.length)} ${rows.length === 1 ? "test" : "tests"} (Holm).${about}`,
      failed.length ? make("details.inline", null, make("summary", null, ` ${count(failed.length)} could not be compared`), make("ul", null, failed.map((row) => make("li", null, text(row.title, 80), ": ", plain(row.problem, 300))))) : null);
  }

  // ------------------------------------------------------------------------------------------------------------
  // The two panes

  function build(main) {
    const { rows, a, b, parts } = state;
    const top = head();
    if (!rows.length) {
      harness.add(main, top, make("p.empty", null, a === b ? "Choose two models." : [text(nameOf(a), 60), " and ", text(nameOf(b), 60), " were not run on the same scenario with the same settings. "],
        state.failed.length ? make("ul", null, state.failed.map((row) => make("li", null, text(row.title, 80), ": ", plain(row.problem, 300)))) : null));
      return;
    }
    const better = rows.filter((row) => row.better > 0).length, worse = rows.filter((row) => row.better < 0).length;
    const bar = make("div.balance", { role: "img", "aria-label": `${better} better, ${rows.length - better - worse} without a difference, ${worse} worse` },
      [["better", better], ["rest", rows.length - better - worse], ["worse", worse]].filter(([, amount]) => amount).map(([kind, amount]) => { const part = make(`i.${kind}`); part.style.setProperty("--share", amount); return part; }));
    harness.add(top, make("h1", { id: "sentence" }, sentence()), explanation(), bar);
    const sides = a === b ? ["first way", "second way"] : [nameOf(a), nameOf(b)];
    state.sides = sides;
    state.row = rowOf(state.query.scenario);
    const forest = harness.forest(rows, sides, (row, moved) => { note({ scenario: row.key, id: null, show: null }); open(row, moved); }, (row) => link("compare", { ...state.query, scenario: row.key, id: null, show: null }));
    state.lines = forest.lines;
    parts.side = make("aside.side-pane", { id: "questions", tabindex: "-1", "aria-label": "Questions" });
    parts.list = make("div.forest-pane", { role: "region", tabindex: "0", "aria-label": "Differences by scenario" }, forest.table);
    harness.add(main, top, make("div.panes", null, parts.list, parts.side));
    mark();
    problems();
  }

  function mark() {
    for (const [key, line] of state.lines) { if (key === state.row.key) line.setAttribute("aria-current", "true"); else line.removeAttribute("aria-current"); }
  }

  // Shows a row's questions; moved: the reader chose it, so a page that is stacked goes there.
  async function open(row, moved) {
    state.row = row;
    mark();
    await openSide();
    if (moved && !wide.matches) { state.parts.side.scrollIntoView({ block: "start" }); state.parts.side.focus({ preventScroll: true }); }
  }
  let turn = 0;
  async function openSide() {
    const mine = ++turn, here = state, { side } = state.parts;
    here.questions = null;
    const box = make("div");
    try {
      const made = await harness.pairedQuestions(box, here.row, { names: here.sides, kind: here.query.show, id: here.query.id, note: (changes) => note({ scenario: here.row.key, ...changes }) });
      if (mine !== turn || here !== state) return;
      state.questions = made;
    } catch (error) {
      if (mine !== turn || here !== state) return;
      clear(box, make("p.notice.error", null, plain(error.message, 300)));
    }
    const kept = side.scrollTop, back = make("p.back", null, make("button.small", { type: "button", onclick: () => state.lines.get(state.row.key).querySelector("a").focus() }, "‹ Scenarios"));
    clear(side, back, box);
    side.scrollTop = side.dataset.row === here.row.key ? kept : 0;
    side.dataset.row = here.row.key;
    state.questions?.settle();
    document.documentElement.dataset.questions = here.row.key;
  }
  function move(step) {
    if (!state?.rows?.length || !state.lines) return;
    const keys = [...state.lines.keys()], next = keys[Math.max(0, Math.min(keys.length - 1, keys.indexOf(state.row.key) + step))];
    if (next === state.row.key) return;
    const row = state.rows.find((one) => one.key === next);
    note({ scenario: row.key, id: null, show: null });
    state.lines.get(next).scrollIntoView({ block: "nearest" });
    open(row, false);
  }

  const exported = () => ({ name: "comparison", columns: ["scenario", "metric", "n", "first", "second", "difference", "low", "high", "p", "p_holm", "could_show"].map((name) => ({ name, title: { first: state.sides[0], second: state.sides[1], p_holm: "p (Holm)", could_show: "could show" }[name] || name })),
    rows: harness.byUnit(state.rows).flatMap((unit) => unit.rows).map((row) => [row.title, row.metric, row.n, row.first, row.second, row.difference, row.low, row.high, row.p, row.holm, row.couldShow]) });

  harness.tips(".forest tr[data-key]", (element) => { const row = state?.rows?.find((one) => one.key === element.dataset.key); return row ? harness.pairTip(row, state.sides) : null; });

  // ------------------------------------------------------------------------------------------------------------
  // All pairs: on how many scenarios the row's model is shown to be better than the column's

  function matrix() {
    const { data, able, query } = state;
    const places = able.map((address) => data.models.indexOf(address)), n = data.models.length;
    const result = (i, j) => { const [x, y] = i < j ? [i, j] : [j, i], found = data.pairs[x * n - (x * (x + 1)) / 2 + y - x - 1]; return !found ? null : i < j ? found : [found[1], found[0], found[2]]; };
    const step = ([wins, losses, rest]) => Math.min(8, Math.max(0, Math.round(4 + (4 * (wins - losses)) / (wins + losses + rest))));
    const cell = (i, j) => {
      if (i === j) return make("td.own", { "aria-hidden": "true" });
      const found = result(i, j);
      if (!found) return make("td.none", null, "–");
      const words = `${plain(nameOf(data.models[i]), 60)} is better than ${plain(nameOf(data.models[j]), 60)} on ${found[0]}, worse on ${found[1]}; no difference shown on ${found[2]}`;
      return make(`td${found[0] || found[1] ? `.h${step(found)}` : ""}`, null, make("a", { href: link("compare", { ...query, view: null, a: data.models[i], b: data.models[j] }), "data-tip": words, "aria-label": words }, found[0] || found[1] ? [make("strong", null, String(found[0])), "–", String(found[1])] : "0"));
    };
    return [make("h1", null, "All pairs of models"), make("p.quiet", { id: "how" }, "Number of scenarios on which the row’s model is significantly better and worse than the column’s model (p adjusted by Holm’s method within each pair). Click a cell for the comparison."),
      make("div.matrix.heat", { role: "region", tabindex: "0", "aria-label": "All pairs of models" }, make("table", null, make("thead", null, make("tr", null, make("th.t", { scope: "col" }, "Model"), places.map((at) => make("th", { scope: "col", "data-tip": plain(nameOf(data.models[at]), 100) }, make("span", null, text(nameOf(data.models[at]), 24)))))),
        make("tbody", null, places.map((i) => make("tr", null, make("th.t", { scope: "row" }, harness.to(`model/${data.models[i]}`, nameOf(data.models[i]), 40)), places.map((j) => cell(i, j)))))))];
  }
})();

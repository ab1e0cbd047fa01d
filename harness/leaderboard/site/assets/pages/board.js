// The leaderboard: who is ahead, by how much, and where; every choice is in the address.
"use strict";
(() => {
  const { make, clear, plain, text, count } = harness;
  const PARTS = ["assets/components/chooser.js", "assets/board/view.js", "assets/board/paper.js", "assets/board/widths.js", "assets/board/cells.js", "assets/board/grid.js"];
  const REMARK = "A brown corner: something may change how the number is read, such as missing runs, sample data, or 5 % or more of the examples shortened, unread, declined or without a value. The tooltip of the cell says what; there are lesser remarks without a corner.";
  const SIGHT = 60; // columns that may be on the screen
  const phone = window.matchMedia("(max-width: 700px)");
  let state = null; // {site, board, view, query, grid, parts: elements}
  let loading = null;

  const load = () => {
    loading = loading || Promise.all([harness.loadAll(PARTS), phone.matches ? null : grid(), harness.stylesheet("assets/board/board.css")]).catch((error) => { loading = null; throw error; });
    return loading;
  };
  const grid = () => Promise.all([harness.stylesheet("assets/vendor/ag-grid.css"), harness.load("assets/vendor/ag-grid.min.js")]);

  // The board of an address: a suite by name, all suites, or the newest suite.
  const boardKey = (site, query) => (query.suites === "all" ? site.boards[0][0] : query.suite ? harness.suiteBoard(site, query.suite) : site.newest);
  const go = (changes, options = { replace: true }) => harness.go("board", { ...state.query, ...changes }, options);
  const titleOf = () => (state.board.suites.length > 1 ? "Leaderboard" : `Leaderboard of ${plain(state.board.title, 60)}`);

  harness.page("board", {
    title: "Leaderboard",
    layout: "pane",
    keys: [["m", "Choose models", () => open("models")], ["c", "Choose columns", () => open("columns")], ["h", "Heat on or off", () => document.getElementById("heat")?.click()],
      ["← → ↑ ↓", "Move between cells; ↵ opens the run, or sorts", null], ["Home End", "First and last column", null]],
    async render(main, path, query) {
      if (state?.grid) state.grid.destroy();
      state = null;
      const [site] = await Promise.all([harness.get("site"), load()]);
      if (!phone.matches) await grid();
      const board = await harness.get(`boards/${boardKey(site, query)}`);
      if (!board.models.length) {
        harness.add(main, make("div.head", null, make("h1", null, "Leaderboard")), make("p.empty", null, "There are no runs to compare yet. To make some, use ", make("code", null, "harness run"), "."));
        return "Leaderboard";
      }
      const view = await harness.boardView(site, board, query);
      state = { site, board, view, query, grid: null, phone: phone.matches, parts: {} };
      build(main);
      return titleOf();
    },
    async update(path, query) {
      if (!state || phone.matches !== state.phone || boardKey(state.site, query) !== state.board.key) return null;
      const here = state, same = chosen(query) === chosen(here.query);
      const view = same ? here.view : await harness.boardView(here.site, here.board, query);
      if (here !== state) return null;
      Object.assign(state, { view, query });
      draw();
      if (!same) finish();
      return titleOf();
    },
    renew: () => renew(),
    progress: () => progress(),
    drawn() {
      if (!state || state.phone) return;
      const { host } = state.parts;
      state.grid = harness.boardGrid(host, state.view, { ...settings(), onsort: (sort) => {
        state.query = { ...state.query, sort: sort === "rank" ? null : sort };
        harness.note("board", state.query);
        headed();
      }, ongroup: alone, onsize: sized });
      sortGrid();
      headed();
      sized();
      finish();
      requestAnimationFrame(() => state?.grid?.edges());
    },
  });
  // New results: the same view of them, with its order, place and open panels.
  const renew = async () => {
    if (!state) { await harness.show(); return; }
    const here = state;
    const site = await harness.get("site"), board = await harness.get(`boards/${boardKey(site, here.query)}`);
    const view = await harness.boardView(site, board, here.query);
    if (here !== state) return;
    if (JSON.stringify(site.boards.map(([key]) => key)) !== JSON.stringify(here.site.boards.map(([key]) => key)) || board.key !== here.board.key) { await harness.show(); return; }
    Object.assign(state, { site, board, view });
    draw();
    finish();
  };
  // Runs go on: only the cells that show it change.
  const progress = () => {
    if (!state) return;
    const before = JSON.stringify([...state.view.running]);
    harness.boardRunning(state.view);
    if (JSON.stringify([...state.view.running]) === before) return;
    state.grid?.redraw();
    legend();
  };
  phone.addEventListener("change", () => { if (state) harness.show(); });

  // What of an address decides which numbers are seen, rather than how they look.
  const chosen = ({ heat, width, rows, sort, listed, ...rest }) => JSON.stringify(Object.entries(rest).sort());
  // The intervals and ranks of a large choice, which come after its values.
  const finish = async () => {
    const { view } = state;
    if (!view.later) return;
    const rates = await view.later.finish(() => state?.view === view);
    if (!rates || state?.view !== view) return;
    view.rates = rates;
    state.grid?.redraw();
    if (state.phone) draw();
  };

  const open = (id) => { const button = document.getElementById(id); if (button && !button.disabled) button.click(); };
  const settings = () => ({ density: state.query.rows === "roomy" ? "roomy" : "compact", width: state.query.width === "full" ? "full" : "fit" });
  const heated = () => state.query.heat !== "0";
  const sortGrid = () => {
    const words = state.query.sort;
    if (!state.grid.sort(words) && words) { state.view.problems.push(`Unknown column ${plain(words.replace(/^-/, ""), 60)} to sort by.`); state.grid.sort(""); problems(); }
  };
  // The group whose columns are shown alone, if any.
  const alone = (name) => {
    const names = harness.boardNames, { board } = state;
    const members = state.view.columns.filter((column) => plain(column.group, 40) === name).map((column) => column.column);
    const group = [...new Set(members)];
    const only = group.length === state.view.shown.length && group.every((c) => state.view.shown.includes(c));
    choose("columns", only ? names.shownColumns(board) : group);
  };
  const choose = (kind, chosen) => {
    const names = harness.boardNames, { board } = state;
    const [all, start, nameOf] = kind === "models" ? [board.models.map((_, i) => i), names.able(board), names.model(board)] : [names.allColumns(board), names.shownColumns(board), names.column(board)];
    go(harness.chosenQuery(kind, all, start, chosen, nameOf));
  };

  function build(main) {
    const { site, board, parts } = state;
    const several = site.boards.length > 1;
    const suite = several ? make("select", { id: "suite", "aria-label": "Suite", onchange: (event) => {
      const [kind, name] = [event.target.value.slice(0, 1), event.target.value.slice(1)];
      harness.go("board", kind === "*" ? { suites: "all" } : { suite: name });
    } }, site.boards.map(([key, words, name]) => make("option", { value: name ? `=${name}` : "*", selected: key === board.key }, `${plain(words, 50)}${key === site.newest ? " · newest" : ""}`)))
      : make("span.quiet", null, text(board.title, 50));
    parts.tabs = make("nav", { "aria-label": "Metrics" });
    parts.problems = make("p.notice", { role: "alert", hidden: true });
    parts.models = harness.popover("", { id: "models", tip: "Choose models", key: "m", fill: pickModels });
    parts.columns = harness.popover("", { id: "columns", tip: "Choose columns", key: "c", fill: pickColumns });
    const toggle = (id, words, tip, click, key) => make("button", { type: "button", id, "data-tip": tip, "aria-keyshortcuts": key || null, onclick: click }, words);
    parts.fit = toggle("fit", "Fit", "Every column on the screen", () => go({ width: null }));
    parts.full = toggle("full", "Full", "Three digits; scrolls sideways", () => go({ width: "full" }));
    parts.segments = state.phone ? null : make("span.segments", { role: "group", "aria-label": "Column width" }, parts.fit, parts.full);
    parts.roomy = toggle("roomy", "Roomy", "Higher rows", () => go({ rows: state.query.rows === "roomy" ? null : "roomy" }));
    parts.heat = toggle("heat", "Heat", "Tint each column from worst to best (h)", () => go({ heat: heated() ? "0" : null }), "h");
    parts.clean = board.dependent.length ? toggle("clean", "Leave out order-dependent", "Leave results out of win rate and coverage if a test shows that the model depends on the order in which the data were published", () => go({ clean: state.view.clean ? null : "1" })) : null;
    parts.key = make(state.phone ? "div.key.under" : "span.key", { "aria-hidden": "true" });
    parts.host = make("div.ag-theme-harness.board-grid");
    parts.cards = make("div.board-cards");
    parts.paper = make("div.board-paper");
    parts.foot = make("p.board-foot");
    harness.add(main, make("div.head", null, make("h1", null, "Leaderboard"), suite, parts.tabs), parts.problems,
      make("div.tools.board-tools", { role: "toolbar", "aria-label": "Table" }, parts.models.button, parts.columns.button,
        parts.segments, state.phone ? null : parts.roomy, parts.heat, parts.clean,
        state.phone ? null : parts.key, state.phone ? make("span.push") : null, harness.exportMenu("export", () => harness.boardTable(state.view, ordered())), parts.models.panel, parts.columns.panel),
      state.phone ? [parts.key, parts.cards] : parts.host, parts.paper, parts.foot);
    draw();
  }

  const ordered = () => (state.grid ? state.grid.order() : sortedRows());
  // The rows in the address's order, where no grid keeps it.
  const sortedRows = () => {
    const { view, query } = state;
    const column = view.columns.find((one) => one.id === (query.sort || "").replace(/^-/, ""));
    if (!column) return view.rows;
    const value = (i) => { const cell = column.cell(i); return cell && cell.mean !== null && !column.out(i) ? cell.mean : null; };
    const sign = query.sort.startsWith("-") ? -1 : 1;
    return [...view.rows].sort((a, b) => (value(a) === null) - (value(b) === null) || sign * (value(a) - value(b)));
  };

  function problems() {
    const known = new Set(modelChips().map((chip) => chip.name));
    const found = [...state.view.problems, ...listed().filter((name) => !known.has(name)).map((name) => `Unknown kind of models ${plain(name, 60)}.`)];
    state.parts.problems.hidden = !found.length;
    clear(state.parts.problems, found.join(" "));
  }

  // Everything that depends on the address.
  function draw() {
    const { board, view, parts, query } = state;
    const names = harness.boardNames;
    problems();
    clear(parts.tabs, make("ul.tabs", null, view.tabs.map(([name, words]) => make("li", null, make("a", { id: `tab-${name || "main"}`, href: harness.link("board", { ...query, tab: name, sort: null }), "aria-current": view.tab === name ? "true" : null }, words)))));
    clear(parts.models.button, "Models ", make("strong", null, `${view.models.length} of ${names.able(board).length}`));
    clear(parts.columns.button, "Columns ", make("strong", null, `${view.shown.length} of ${names.allColumns(board).length}`));
    const { density, width } = settings();
    for (const [name, on] of [["fit", width === "fit"], ["full", width === "full"], ["roomy", density === "roomy"], ["heat", heated()], ["clean", view.clean]]) parts[name]?.setAttribute("aria-pressed", String(on));
    parts.host.classList.toggle("heat", heated());
    parts.host.style.setProperty("--row", density === "roomy" ? "32px" : "24px");
    parts.host.classList.toggle("wide", view.tab === "categories");
    legend();
    foot();
    if (state.phone) { clear(parts.cards, view.rows.length ? harness.boardCards(view, sortedRows(), heated()) : make("p.empty", null, nothing())); } else if (state.grid) {
      state.grid.update(view, settings());
      sortGrid();
      headed();
      sized();
    }
    harness.announce(`${view.models.length} models, ${view.columns.length} columns`);
  }
  const nothing = () => (state.view.models.length ? "No column is chosen. Choose some with “Columns”." : "No model is chosen. Choose some with “Models”.");
  const sized = () => { const { segments } = state.parts; if (segments && state.grid) segments.hidden = state.grid.equal(); };
  const headed = () => { state.parts.host.dataset.sort = state.grid.sorted(); };

  // Only the marks that are in use; on a phone, where there are no headings, the groups of the strips as well.
  function legend() {
    const { view, parts } = state;
    const used = new Set();
    for (const column of view.columns) for (const i of view.models) {
      const cell = column.cell(i);
      used.add(harness.cellState(cell, column.out(i)));
      if (cell?.mean === null && cell.none && !cell.failed) used.add("no number");
      if (cell?.dependent) used.add("dependent");
      if (cell?.marked && cell.mean !== null && !cell.declined) used.add("marked");
    }
    const groups = new Map();
    for (const column of view.columns) groups.set(column.group, (groups.get(column.group) || 0) + 1);
    const sign = (state, words, tip, mark) => (used.has(state) ? make("span", { "data-tip": tip }, mark, words) : null);
    const corner = (kind) => (state.phone ? null : make(`i.corner${kind}`));
    const tinted = view.columns.slice(0, SIGHT).some((column) => column.tied.size);
    clear(parts.key, tinted && heated() ? make("span.heat.ramp", null, "worse", [1, 3, 5, 7, 8].map((step) => make(`i.h${step}`)), "better") : null,
      tinted ? make("span", null, make("strong", null, "bold"), " tied with the best") : null,
      sign("running", "running", "Still running; the bar shows the share of examples answered so far", make("i.bar-running")),
      sign("not run", "not run", null, state.phone ? make("i.outlined") : make("span.faint", null, "–")),
      sign("failed", "failed", "The run gave no number; the tooltip of the cell says why", state.phone ? make("i.solid") : make("span.bad", null, "✕")),
      sign("no number", "no number", "There is no number, although there was no error; the tooltip of the cell gives the reason", state.phone ? make("i.hatched") : make("span.faint", null, "–")),
      sign("declined", "declined", "The model or its provider declined to answer every example", make("i.hatched")),
      sign("left out: depends on the published order", "left out", "Left out of win rate and coverage", make("i.hatched")),
      state.phone ? null : sign("dependent", "order-dependent", "A test shows that the model depends on the order in which the data were published", corner("")),
      state.phone ? null : sign("marked", "remark", REMARK, corner(".warn")),
      state.phone && heated() && groups.size ? make("p", null, groups.size > 1 ? `Strips, from the left: ${[...groups].map(([name, size]) => `${plain(name, 40)} (${count(size)})`).join(", ")}. ` : "", "Tap a strip to name a column.") : null);
  }

  function foot() {
    const { board, view, parts, site } = state;
    const failed = board.failures.length, without = board.models.length - harness.boardNames.able(board).length;
    const dialog = (title, content) => () => {
      const box = make("dialog.reading", { "aria-label": title }, make("h2", null, title), content(), make("p.close", null, make("button", { type: "button", onclick: () => box.close() }, "Close")));
      box.addEventListener("close", () => box.remove());
      document.body.append(box);
      box.showModal();
    };
    const more = (id, words, title, content) => make("button.plain.small", { type: "button", id, onclick: dialog(title, content) }, words);
    clear(parts.foot,
      make("span", null, `${count(view.models.length)} ${view.models.length === 1 ? "model" : "models"} × ${count(view.columns.length)} ${view.columns.length === 1 ? "column" : "columns"} · 95 % intervals`
        + (board.finished ? ` · newest run ${harness.moment(board.finished).slice(0, 10)}` : "") + (board.sample ? " · sample data: a demonstration, not a measurement" : "")),
      failed ? more("failures", `${count(failed)} ${failed === 1 ? "result" : "results"} failed`, "Failures", () => make("ol.plain", null, board.failures.map(([m, c, errors]) => make("li", null, make("strong", null, text(board.models[m].name, 60)), ", ", text(board.columns[c].title, 60), ": ",
        errors.map((error, at) => [at ? "; " : "", text(error, 400)]))))) : null,
      view.dependent.size ? make("a", { href: "#/contamination" }, `${count(view.dependent.size)} ${view.dependent.size === 1 ? "result depends" : "results depend"} on the published order`) : null,
      without ? make("span", null, `${count(without)} ${without === 1 ? "model has" : "models have"} no result`) : null,
      board.notes.length ? more("notes", `${count(board.notes.length)} ${board.notes.length === 1 ? "note" : "notes"}`, "Notes", () => make("ul", null, board.notes.map((note) => make("li", null, text(note, 500))))) : null,
      more("reading", "How to read this", "How to read this", () => make("ul", null, [...board.explanations,
        "No model in a range that overlaps is shown to be better. Bold results are statistically tied with the best of the column.",
        "Each scenario has one column: if it was run in several ways, the one with the most instances in which models can be compared. Choose others with “Columns”.",
        REMARK,
        ...(board.dependent.length ? ["A red corner: a test shows that the model depends on the order in which the data were published (the p-value is in the tooltip); “Leave out order-dependent” takes these results out of win rate and coverage."] : [])].map((words) => make("li", null, words)))));
  }

  // ------------------------------------------------------------------------------------------------------------
  // Pickers

  const COMPLETE = "complete on these columns";
  // By size, backend and tag, such as chat and base: those that tell models of the board apart.
  const modelChips = () => {
    const { board } = state;
    const all = harness.boardNames.able(board).map((i) => ({ id: board.models[i].address }));
    return [...harness.modelChips(all.map((item) => item.id)).filter((chip) => all.some(chip.has) && !all.every(chip.has)), { name: COMPLETE, has: null }];
  };
  const listed = () => (state.query.listed || "").split(",").filter(Boolean);

  function pickModels(panel) {
    const { board } = state;
    const names = harness.boardNames;
    const full = (item) => { const [have, of] = state.view.coverage.get(item.at) || [coverOf(item.at), state.view.columns.length]; return have === of; };
    const coverOf = (i) => state.view.columns.filter((column) => { const cell = column.cell(i); return cell && cell.mean !== null; }).length;
    const able = new Set(names.able(board));
    const place = (i) => board.models[i].rank ?? 1e9;
    return harness.picker(panel, {
      placeholder: "Type a model, size or tag", unit: "models",
      items: () => [...able].sort((a, b) => place(a) - place(b)).map((i) => ({ id: board.models[i].address, at: i, name: board.models[i].name, words: [harness.modelWords(board.models[i].address), board.models[i].origin].join(" "),
        note: board.models[i].rate ? harness.share(board.models[i].rate[0]) : "", chosen: state.view.models.includes(i) })),
      chips: modelChips().map((chip) => (chip.has ? chip : { ...chip, has: full })), pressed: listed(), press: (names) => go({ listed: names.join(",") || null }),
      acts: [["Top 10", (listed) => listed.slice(0, 10)]],
      change: (ids) => { const wanted = new Set(ids); choose("models", [...able].filter((i) => wanted.has(board.models[i].address)).sort((a, b) => a - b)); },
    });
  }

  function pickColumns(panel) {
    const { board } = state;
    const names = harness.boardNames;
    return harness.picker(panel, {
      placeholder: "Type a scenario, metric or task", unit: "columns",
      items: () => names.allColumns(board).map((c) => { const column = board.columns[c]; return { id: column.key, at: c, name: column.title, group: column.group, words: [column.scenario, column.metric, column.method, ...Object.values(column.taxonomy)].join(" "),
        note: column.count ? `n = ${count(column.count)}` : "", chosen: state.view.shown.includes(c) }; }).sort((a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name)),
      acts: [["One per scenario", (listed, all) => all.filter((item) => board.columns[item.at].shown)]],
      change: (ids) => { const wanted = new Set(ids); choose("columns", names.allColumns(board).filter((c) => wanted.has(board.columns[c].key))); },
    });
  }

  // ------------------------------------------------------------------------------------------------------------
  // Tooltips

  const line = (...words) => make("p", null, ...words);
  const modelAt = (element) => { const id = element.closest(".ag-row")?.getAttribute("row-id"); return state ? state.board.models.findIndex((model) => model.address === id) : -1; };
  harness.tips(".board-grid .ag-cell[col-id]", (element) => {
    const i = modelAt(element), name = element.getAttribute("col-id");
    if (i < 0 || !state.grid) return null;
    const { view, board } = state, rate = view.rates.get(i), model = board.models[i];
    if (name === "rank" || name === "rate") {
      if (!rate) return [line("No win rate: there is no other model to compare with.")];
      return [make("strong", null, text(model.name, 80)), line(`Win rate ${harness.fixed(rate[0], 3)}${rate[1] === null ? "" : ` [${harness.fixed(rate[1], 2)}, ${harness.fixed(rate[2], 2)}]`} over ${rate[3]} of ${rate[4]} columns`),
        !rate[5] ? line("The interval is being computed.") : line(rate[5] === rate[6] ? `Rank ${rate[5]}` : `Rank ${rate[5]} to ${rate[6]}: no model in this range is shown to be better`)];
    }
    if (name === "model") return [make("strong", null, text(model.name, 120)), model.identifier !== model.name ? line(text(model.identifier, 200)) : null, model.origin ? line("Imported from ", text(model.origin, 40)) : null, model.parameters ? line(`${harness.large ? harness.large(model.parameters) : count(model.parameters)} parameters`) : null];
    if (name === "covered") return [line(`Results in ${view.coverage.get(i)[0]} of ${view.coverage.get(i)[1]} columns`)];
    const column = state.grid.column(name);
    if (!column) return null;
    const cell = column.cell(i), ranks = column.ranks.get(i), cellState = harness.cellState(cell, column.out(i));
    return [make("strong", null, text(column.title, 100)), line(text(model.name, 80)), column.metric ? line(column.metric) : null,
      cell?.running ? line(cell.running.of ? `Running: ${count(cell.running.done)} of ${count(cell.running.of)} answered` : "Running") : null,
      cell && cell.mean !== null ? line(`${harness.number(cell.mean)} ${harness.spread(cell.mean, cell.low, cell.high)}${cell.count ? `, n = ${count(cell.count)}` : ""}`) : line(harness.capitalized(cell?.mean === null && cell.none && !cell.failed ? plain(cell.none.join("; "), 400) : cellState)),
      ranks && cell && cell.mean !== null ? line(ranks[0] === 1 && column.tied.has(i) ? `Tied with the best; rank ${harness.rankRange(...ranks)}` : `Rank ${harness.rankRange(...ranks)}`) : null,
      cell?.dependent ? line(make("span.bad", null, `depends on the published order (p = ${harness.probability(cell.dependent.p)})`)) : null,
      cell?.failed ? line(make("span.bad", null, text(cell.failed[0], 200))) : null, cell?.remarks.map((words) => line(make("span.quiet", null, text(words, 200))))];
  });
  const PINNED = { rank: "The ranks that the data allow, all models at once with 95 % probability, by mean win rate", model: "The model; click its name to open its page",
    rate: "Mean win rate ↑: the share of the other models that a model beats, averaged over the columns shown, with its 95 % interval; 0 to 1", covered: "Columns: how many of the columns shown have a result of the model; composite scores are not counted" };
  harness.tips(".board-grid .ag-header-cell[col-id]", (element) => {
    const name = element.getAttribute("col-id");
    if (PINNED[name]) return [line(PINNED[name])];
    const column = state?.grid?.column(name);
    if (!column) return null;
    return [make("strong", null, text(column.title, 100)), column.metric ? line(column.metric) : null, column.facts.filter(Boolean).map((words) => line(words)), line(make("span.faint", null, "Click to sort"))];
  });
  harness.tips(".board-grid .ag-header-group-cell", (element) => (element.getAttribute("col-id")?.startsWith("group-") ? [line(text(element.innerText, 60)), line(make("span.faint", null, "Click to show only this group; click again to show all"))] : null));

  // ------------------------------------------------------------------------------------------------------------
  // Paper

  const print = () => { if (state) clear(state.parts.paper, harness.boardPaper(state.view, ordered(), heated())); };
  const unprint = () => { if (state) clear(state.parts.paper); };
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", unprint);
  window.matchMedia("print").addEventListener("change", (event) => { if (event.matches) print(); else unprint(); });
})();

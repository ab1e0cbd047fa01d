// One run: what it measured, its samples in a table, and one of them open; every choice is in the address.
"use strict";
(() => {
  const { make, clear, text, plain, count, number } = harness;
  const PARTS = ["assets/words.js", "assets/run/samples.js", "assets/run/table.js", "assets/run/cards.js", "assets/run/panel.js", "assets/run/metrics.js"];
  const ORIGINAL = ["id", "copy", "trial", "draw", "key"]; // what of an address names the open sample
  const VIEWS = [["", "Samples"], ["stats", "Statistics"], ["spec", "Settings"], ["provenance", "Provenance"]];
  const phone = window.matchMedia("(max-width: 700px)");
  let state = null; // {address, run, samples, query, kept, open, grid, others, found, parts: elements}
  let loading = null;

  const load = () => {
    loading = loading || Promise.all([harness.loadAll(PARTS), harness.stylesheet("assets/run/run.css")]).catch((error) => { loading = null; throw error; });
    return loading;
  };
  const grid = () => Promise.all([harness.stylesheet("assets/vendor/ag-grid.css"), harness.load("assets/vendor/ag-grid.min.js")]);
  const viewOf = (query) => (VIEWS.some(([name]) => name === query.view) ? query.view : "");
  const route = () => `run/${state.address}`;
  const modelOf = (run) => harness.modelName(run.model[1], run.model[0]);
  const titleOf = (run) => `${plain(harness.runTitle(run.title), 60)}, ${plain(modelOf(run), 40)}`;
  const without = (query, names) => Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));
  const list = () => state?.samples && !viewOf(state.query);

  harness.page("run", {
    title: "Run",
    layout: "pane",
    keys: [["j", "Next sample", () => step(1)], ["k", "Previous sample", () => step(-1)], ["↓ ↑", "Next and previous sample", null], ["w", "Next sample that is not right", () => nextWrong()],
      ["f", "Show or hide what comes before the question", () => { const few = document.querySelector(".sample details.few"); if (few) few.open = !few.open; }], ["Esc", "Back to the table", null]],
    async render(main, path, query) {
      if (state?.grid) state.grid.destroy();
      state = null;
      delete document.documentElement.dataset.sample;
      document.documentElement.classList.remove("sample-open");
      const address = path[0] || "";
      const [run] = await Promise.all([harness.get(`runs/${address}/run`).catch(() => { throw new Error(`There is no run with the address ${plain(address || "(empty)", 80)}. The page of a model lists its runs.`); }), load()]);
      const made = { address, run, samples: null, query, kept: null, open: -1, grid: null, others: null, found: null, phone: phone.matches, parts: {}, peers: [] };
      if (run.examples && !viewOf(query)) {
        const higher = run.stats.find((row) => row[0] === run.metric)?.[12] ?? null;
        const [samples, peers] = await Promise.all([harness.openSamples(address, higher), harness.get(`peers/${run.peers}`).catch(() => []), phone.matches ? null : grid()]);
        made.samples = samples;
        made.peers = peersOf(peers, address, run);
        await samples.loadLines(0);
        await choose(made, query);
      }
      state = made;
      build(main);
      return titleOf(run);
    },
    async update(path, query) {
      const here = state;
      if (!list() || path[0] !== here.address || viewOf(query) || phone.matches !== here.phone) return null;
      delete document.documentElement.dataset.sample;
      await choose(here, query);
      if (here !== state) return null;
      refresh();
      return titleOf(here.run);
    },
    drawn() {
      if (!list()) return;
      const { samples, parts, query } = state;
      if (!state.phone) {
        state.grid = harness.sampleGrid(parts.host, samples, state.kept.keep, { onopen: (n, act) => { if (n !== state.open || (act && state.phone)) show(n); }, onsort: (sort) => { note({ sort: sort || null }); whole(); }, onlines: (k) => fetchLines(k) });
        state.grid.copies(state.kept.copies !== "original");
        if (!state.grid.sort(query.sort)) problem(`Unknown column ${plain((query.sort || "").replace(/^-/, ""), 60)} to sort by.`);
      }
      start();
    },
  });
  phone.addEventListener("change", () => { if (state) harness.show(); });

  // Other runs on the same questions: [address, words, name of the model]. Settings are said only where a model has several.
  const peersOf = (peers, address, run) => {
    const others = peers.filter(([one]) => one !== address);
    const own = peers.find(([one]) => one === address) || [];
    return others.map(([one, model, method, suite]) => [one, [plain(model, 40), method !== run.method ? plain(harness.title("methods", method), 30) : "", suite !== run.suite ? plain(suite, 30) : ""].filter(Boolean).join(", "), model])
      .sort((a, b) => (a[2] === own[1]) - (b[2] === own[1]) || a[1].localeCompare(b[1]));
  };

  // What a query leaves of the samples.
  async function choose(made, query) {
    const { samples } = made;
    const problems = [];
    if (query.with && !made.peers.some(([one]) => one === query.with)) problems.push(`No other run ${plain(query.with, 60)} has these questions.`);
    if (query.only && ![...Object.keys({ right: 1, wrong: 1, part: 1 }), "differs"].includes(query.only)) problems.push(`Unknown filter ${plain(query.only, 40)}; known: right, wrong, part, differs.`);
    if (query.copies && !["original", "all"].includes(query.copies) && !samples.index.perturbations.includes(query.copies)) problems.push(`This run has no copies with the perturbation ${plain(query.copies, 40)}.`);
    if (query.state && !Object.hasOwn(samples.flags, query.state)) problems.push(`Unknown state ${plain(query.state, 40)}; known: ${Object.keys(samples.flags).join(", ")}.`);
    for (const [name, value] of Object.entries(query)) {
      if (name.startsWith("meta.") && !Object.entries(samples.index.meta).some(([known, { values }]) => known === name.slice(5) && values.includes(value))) problems.push(`No sample has ${plain(name.slice(5), 40)} = ${plain(value, 40)}.`);
    }
    const peer = made.peers.find(([one]) => one === query.with);
    if (peer && made.others?.address !== peer[0]) {
      const theirs = await harness.openSamples(peer[0], samples.best === 1);
      theirs.whole();
      made.others = { address: peer[0], name: peer[2], samples: theirs };
    } else if (!peer) made.others = null;
    if (query.q) await samples.whole();
    const deep = query.q && query.deep ? `${query.q}` : "";
    if (made.found?.search !== deep) made.found = deep ? { search: deep, hits: null } : null;
    made.kept = samples.filter(query, made.others?.samples ?? null, made.found?.hits ?? null);
    made.query = query;
    made.problems = problems;
  }

  const note = (changes) => {
    state.query = Object.fromEntries(Object.entries({ ...state.query, ...changes }).filter(([, value]) => value !== null && value !== undefined && value !== ""));
    harness.note(route(), state.query);
  };
  // A change of the filter: the open sample's name goes if it is not in the list any more.
  const go = (changes) => harness.go(route(), { ...without(state.query, ["key"]), ...changes }, { replace: true });
  const fetching = new Set();
  const fetchLines = (k) => {
    const { samples } = state, mark = `${state.address}/${k}`;
    if (fetching.has(mark)) return;
    fetching.add(mark);
    samples.loadLines(k).then(() => { if (state?.samples === samples) state.grid?.refresh(); }).catch((error) => problem(error.message)).finally(() => fetching.delete(mark));
  };
  // All lines, for sorting by text; the grid then sorts again.
  const whole = async () => {
    const here = state, { samples } = here;
    if (samples.complete) return;
    await samples.whole();
    if (state !== here) return;
    if (/^-?(id|input|expected|answer)$/.test(here.query.sort || "")) here.grid?.resort();
    here.grid?.refresh();
  };
  const problem = (words) => { if (!state?.parts.problems) return; state.problems = [...(state.problems || []), words]; problems(); };
  const problems = () => { state.parts.problems.hidden = !state.problems.length; clear(state.parts.problems, state.problems.join(" ")); };

  // ------------------------------------------------------------------------------------------------------------
  // The page

  function build(main) {
    const { run, query, parts, samples } = state;
    const view = viewOf(query);
    main.classList.add("run-page");
    const sample = run.provenance.data && run.provenance.data.sample;
    const model = modelOf(run);
    harness.add(main, make("header.run-head", null, make("div", null,
      harness.crumbs(harness.to(`scenario/${run.scenario[1]}`, harness.title("scenarios", run.scenario[0]), 40), harness.to(`model/${run.model[1]}`, model, 40), "Run"),
      make("h1", { title: plain(run.title, 200) }, text(harness.runTitle(run.title), 100)),
      make("p.lead", null, "answered by ", harness.to(`model/${run.model[1]}`, model, 60), " · ", harness.named("methods", run.method, 40), " · suite ", text(run.suite, 40), sample ? [" ", harness.tag("sample data, not a measurement", "warn")] : null,
        run.provenance.origin ? [" ", harness.tag(`imported from ${plain(run.provenance.origin.program || "elsewhere", 40)}`)] : null)),
      harness.tabs("Parts of this run", VIEWS.map(([name, words]) => [name, name === "stats" ? `${words} (${count(run.stats.length)})` : words]), view, (name) => harness.link(route(), { view: name }))));
    if (run.status !== "ok") harness.add(main, make("div.notice.error", { role: "note" }, make("strong", null, "This run failed. "), make("bdi", null, harness.pieces(String(run.error || "No reason was recorded.").slice(0, 4000)))));
    if (run.stats.length || run.no_value) harness.add(main, harness.metricPanel(run, samples?.binary ? samples.index.chance : null));
    const used = run.efficiency;
    const remarks = [run.declined, used.unread_examples ? `nothing could be read from ${count(used.unread_examples)} of ${count(used.examples)} answers` : "",
      used.unjudged_examples ? `a judgement could not be read for ${count(used.unjudged_examples)} of ${count(used.examples)} answers` : "", ...run.reasoning, ...run.served].filter(Boolean);
    if (remarks.length) harness.add(main, make("p.remarks", null, remarks.map((one, at) => [at ? " · " : "", text(one, 400)])));
    if (view) { harness.add(main, make("div.view", { tabindex: "0", role: "region", "aria-label": VIEWS.find(([name]) => name === view)[1] }, view === "stats" ? statistics(run, query) : view === "spec" ? settings(run) : provenance(run))); return; }
    if (!samples) { harness.add(main, make("p.empty", null, run.problem ? plain(run.problem, 400) : run.status === "ok" ? "This run has no examples." : "A failed run has no samples. To repeat the run, run the sweep again.")); return; }
    if (!samples.count) { harness.add(main, make("p.empty", null, "This run has no samples.")); return; }
    parts.problems = make("p.notice", { role: "alert", hidden: true });
    parts.marks = make("span.segments", { role: "group", "aria-label": "Correctness" });
    parts.search = make("input", { type: "search", id: "sample-filter", placeholder: "Filter id, input, answers", "aria-label": "Filter id, input, expected and read answer", autocomplete: "off", value: query.q || "" });
    parts.search.addEventListener("input", harness.later(() => go({ q: parts.search.value || null, deep: null }), 200));
    parts.deep = make("button.small", { type: "button", hidden: true, id: "deep", onclick: () => go({ deep: state.query.deep ? null : "1" }) });
    parts.filter = harness.popover("Filter", { id: "filters", tip: "Filter by copy, sample, state and metadata", fill: filters });
    parts.host = make("div.ag-theme-harness.sample-grid");
    parts.cards = make("div.cards-host");
    parts.empty = make("p.empty", { hidden: true });
    parts.bar = make("div.sample-head");
    parts.body = make("div.sample-body");
    parts.side = make("section.sample-side", { "aria-label": "Sample", tabindex: "0" }, parts.bar, parts.body);
    parts.paper = make("div.paper-host");
    parts.listed = make("span.listed", { role: "status" });
    parts.with = state.peers.length ? make("select", { id: "with", "aria-label": "Compare with another model", onchange: (event) => go({ with: event.target.value || null, only: event.target.value ? "differs" : state.query.only === "differs" ? null : state.query.only }) }) : null;
    harness.add(main, parts.problems, make("div.tools", { role: "toolbar", "aria-label": "Samples" }, parts.search, parts.marks, parts.with, parts.filter.button, parts.deep, make("span.push"), parts.listed,
      harness.exportMenu("export", async () => { await samples.whole(); return harness.sampleTable(plain(state.run.name, 60).replace(/[^\w.-]+/g, "-"), samples, ordered()); }), parts.filter.panel),
      make("div.split", null, make("div.samples", null, state.phone ? parts.cards : parts.host, parts.empty), parts.side), parts.paper,
      make("p.keys-foot", { "aria-hidden": "true" }, [["j", ""], ["k", "next, previous"], ["w", "next wrong"], ["f", "few-shot"], ["y", "copy link"], ["?", "all keys"]].map(([key, words], at, all) => [make("kbd", null, key), words ? ` ${words}${at < all.length - 1 ? " · " : ""}` : " "])));
  }

  // The sample that the address names; -1 if it names none, or an unknown one, which is said.
  async function locate() {
    const here = state, { samples, query } = here;
    if (!query.key && query.id === undefined) return -1;
    if (!query.key) await samples.whole();
    const found = query.key ? samples.findKey(query.key) : samples.find(query);
    const { copy, trial, draw: number } = query;
    if (found < 0 && state === here && here.query === query) {
      problem(`Unknown sample “${plain(query.id ?? query.key, 60)}”${copy ? `, copy ${plain(copy, 30)}` : ""}${trial ? `, trial ${plain(trial, 10)}` : ""}${number ? `, sample ${plain(number, 10)}` : ""}.`);
    }
    return found;
  }
  // After the page is in the document: the sample that the address names, or the first.
  async function start() {
    const here = state;
    draw();
    const wanted = await locate();
    if (state !== here) return;
    const first = ordered()[0] ?? -1;
    if (wanted >= 0) show(wanted, { named: false });
    else if (!here.phone && first >= 0) show(first, { named: false });
    whole();
    deepSearch();
  }
  // After the address has changed.
  async function refresh() {
    const here = state, { query, grid: table } = here;
    table?.filter(state.kept.keep);
    table?.copies(state.kept.copies !== "original");
    if (table && !table.sort(query.sort)) state.problems.push(`Unknown column ${plain((query.sort || "").replace(/^-/, ""), 60)} to sort by.`);
    draw();
    const wanted = await locate();
    if (state !== here || here.query !== query) return;
    const inside = state.open >= 0 && state.kept.keep[state.open];
    if (wanted >= 0 && wanted !== state.open) show(wanted, { named: false });
    else if (state.phone) { if (query.id === undefined) close(); else show(state.open, { named: false }); }
    else if (!inside) { const first = ordered()[0] ?? -1; if (first >= 0) show(first, { named: wanted >= 0 || (query.id === undefined && !query.key) }); else nothing(); } else show(state.open, { named: false });
    deepSearch();
  }

  const ordered = () => {
    const { samples, kept, query } = state;
    if (state.grid) return state.grid.order();
    const found = [];
    for (let n = 0; n < samples.count; n += 1) if (kept.keep[n]) found.push(n);
    const column = (query.sort || "").replace(/^-/, "");
    if (!column) return found;
    const rank = samples.rank(column), sign = query.sort.startsWith("-") ? -1 : 1;
    return found.sort((a, b) => (rank[a] === null) - (rank[b] === null) || sign * (rank[a] - rank[b]) || a - b);
  };

  // Controls and list, from what is kept.
  function draw() {
    const { samples, kept, query, parts } = state;
    problems();
    if (parts.search !== document.activeElement) parts.search.value = query.q || "";
    const marks = [["", "All", kept.counts[""]], ...(samples.graded ? [["wrong", "Wrong", kept.counts.wrong], samples.binary ? null : ["part", "Partly", kept.counts.part], ["right", "Right", kept.counts.right]] : [])].filter(Boolean);
    clear(parts.marks, marks.map(([name, words, many]) => make("button", { type: "button", id: `only-${name || "all"}`, "aria-pressed": String((query.only || "") === name), onclick: () => go({ only: name || null }) }, words, " ", make("small", null, count(many)))),
      state.others ? make("button", { type: "button", id: "only-differs", "aria-pressed": String(query.only === "differs"), "data-tip": `Answered differently by ${plain(state.others.name, 40)}`, onclick: () => go({ only: "differs" }) }, "Differs", query.only === "differs" ? [" ", make("small", null, count(kept.kept))] : null) : null);
    if (parts.with) clear(parts.with, make("option", { value: "" }, "Differs from…"), state.peers.map(([one, words]) => make("option", { value: one, selected: one === query.with }, words)));
    const set = Object.keys(query).filter((name) => name.startsWith("meta.") || ["copies", "sample", "trials", "state"].includes(name)).length;
    clear(parts.filter.button, "Filter", set ? [" ", make("strong", null, String(set))] : null);
    parts.filter.button.hidden = !choices().length;
    parts.deep.hidden = !query.q;
    if (query.q && !state.searching) clear(parts.deep, query.deep ? "Search only lines" : "Search whole prompts and answers");
    parts.listed.textContent = kept.kept === samples.count ? `${count(samples.count)} ${samples.count === 1 ? "sample" : "samples"}` : `${count(kept.kept)} of ${count(samples.count)} samples`;
    parts.empty.hidden = kept.kept > 0;
    clear(parts.empty, "No sample matches. ", make("button", { type: "button", onclick: () => harness.go(route(), { sort: query.sort }, { replace: true }) }, "Clear the filter"), " to see all.");
    if (state.phone) clear(parts.cards, kept.kept ? harness.sampleCards(samples, ordered(), state.open, (n) => show(n)) : null);
  }

  // Filters that are not on the bar: [name in the address, words, choices].
  function choices() {
    const { samples } = state, { index } = samples;
    const numbered = (most, words) => [["", "all"], ...Array.from({ length: Math.min(most, 1000) }, (_, at) => [String(at + 1), `${words} ${at + 1}`])];
    const flags = Object.entries(samples.flags).filter(([name]) => samples.flagged[name].size).map(([name, words]) => [name, `${words} (${count(samples.flagged[name].size)})`]);
    return [
      samples.copies ? ["copies", "Perturbed copies", [["", samples.original >= 0 ? "originals only" : "all"], ["all", "originals and copies"], ...index.perturbations.filter((name) => name !== null).map((name) => [name, plain(harness.title("perturbations", name), 40)])]] : null,
      samples.several ? ["sample", "Sample", numbered(index.sample.reduce((most, one) => Math.max(most, one), 0) + 1, "sample")] : null,
      samples.repeated ? ["trials", "Trial", numbered(samples.trials.reduce((most, one) => Math.max(most, one), 0) + 1, "trial")] : null,
      flags.length ? ["state", "State", [["", "any"], ...flags]] : null,
      ...Object.entries(index.meta).slice(0, 12).map(([name, { values }]) => [`meta.${name}`, plain(name, 40), [["", "any"], ...[...values].sort().map((value) => [value, plain(value, 50)])]]),
    ].filter(Boolean);
  }
  function filters(panel) {
    harness.add(panel, make("div.filters", null, choices().map(([name, words, options]) => make("label", null, plain(words, 40), make("select", { onchange: (event) => go({ [name]: event.target.value || null }) },
      options.map(([value, shown]) => make("option", { value, selected: value === (state.query[name] || "") }, shown)))))));
  }

  async function deepSearch() {
    const here = state, { samples, query, found, parts } = here;
    if (!found || found.hits) return;
    here.searching = true;
    const hits = await samples.searchWhole(query.q, (looked, many) => { if (state === here) clear(parts.deep, `Searched ${count(looked)} of ${count(samples.count)}: ${count(many)} found`); }, () => state === here && here.found === found).catch((error) => { problem(error.message); return new Set(); });
    here.searching = false;
    if (!hits || state !== here || here.found !== found) return;
    found.hits = hits;
    here.kept = samples.filter(here.query, here.others?.samples ?? null, hits);
    refresh();
  }

  // ------------------------------------------------------------------------------------------------------------
  // The open sample

  let turn = 0;
  async function show(n, { named = true } = {}) {
    const here = state, { samples, parts } = here, mine = ++turn;
    if (n < 0) return;
    here.open = n;
    here.grid?.choose(n);
    await samples.loadLines(Math.floor(n / samples.index.lines));
    if (state !== here || mine !== turn) return;
    if (named) {
      const target = { ...without(here.query, ORIGINAL), ...Object.fromEntries(Object.entries(samples.named(n)).filter(([, value]) => value !== null)) };
      here.query = target;
      // On a phone the way back is the browser's.
      if (here.phone && !parts.side.classList.contains("open")) history.pushState(null, "", harness.link(route(), target)); else harness.note(route(), target);
    }
    head(n);
    let panel;
    try { panel = await harness.samplePanel(samples, n, here.run, here.others, (other) => show(other)); } catch (error) { panel = make("p.bad", null, plain(error.message, 300)); }
    if (state !== here || mine !== turn) return;
    clear(parts.body, panel);
    parts.body.parentElement.scrollTop = 0;
    document.documentElement.dataset.sample = String(n);
    if (here.phone) {
      parts.side.classList.add("open");
      document.documentElement.classList.add("sample-open");
      parts.bar.querySelector(".back")?.focus({ preventScroll: true });
    }
    const place = placeOf(n);
    harness.announce(`${plain(samples.at("id", n) ?? "", 60)}${samples.mark(n) ? `, ${{ right: "right", wrong: "wrong", part: "partly right" }[samples.mark(n)]}` : ""}${place >= 0 ? `, ${count(place + 1)} of ${count(here.kept.kept)}` : ""}`);
  }
  const placeOf = (n) => (!state.kept.keep[n] ? -1 : state.grid ? state.grid.place(n) : ordered().indexOf(n));
  function head(n) {
    const { samples, parts, kept } = state, place = placeOf(n), mark = samples.mark(n);
    const at = make("button.small", { type: "button", "aria-label": "Previous sample", "aria-keyshortcuts": "k", disabled: place === 0, onclick: () => step(-1) }, "‹ ", make("kbd", null, "k"));
    const next = make("button.small", { type: "button", "aria-label": "Next sample", "aria-keyshortcuts": "j", disabled: place === kept.kept - 1, onclick: () => step(1) }, make("kbd", null, "j"), " ›");
    clear(parts.bar, make("button.small.back", { type: "button", onclick: () => back() }, "‹ Samples"), make("h2", null, text(samples.at("id", n) ?? "…", 40)), mark ? harness.tag({ right: "right", wrong: "wrong", part: "partly right" }[mark], { right: "good", wrong: "bad", part: "warn" }[mark]) : null,
      make("span.faint", null, place < 0 ? "hidden by the filter" : `${count(place + 1)} of ${count(kept.kept)}`), make("span.push"), make("button.small.link", { type: "button", "data-tip": "Copy a link that names this sample (y)", onclick: () => { show(n).then(harness.copyLink); } }, "Link"), at, next);
  }
  function nothing() {
    const { parts } = state;
    turn += 1;
    state.open = -1;
    note(Object.fromEntries(ORIGINAL.map((name) => [name, null])));
    clear(parts.bar, make("h2", null, "No sample"));
    clear(parts.body, make("p.empty", null, "No sample is selected."));
  }
  function step(by) {
    if (!list()) return;
    const place = state.open < 0 ? -1 : placeOf(state.open);
    const order = state.grid ? null : ordered();
    const size = order ? order.length : state.grid.size();
    if (!size) return;
    const to = place < 0 ? 0 : Math.min(size - 1, Math.max(0, place + by));
    const n = order ? order[to] : state.grid.at(to);
    if (n !== state.open) show(n);
  }
  function nextWrong() {
    if (!list()) return;
    if (!state.samples.graded) { harness.toast("This run’s metric does not mark answers as right or wrong."); return; }
    const order = ordered();
    const found = order.slice(order.indexOf(state.open) + 1).find((n) => ["wrong", "part"].includes(state.samples.mark(n)));
    if (found === undefined) harness.toast("No wrong sample after this one."); else show(found);
  }
  const close = () => { state.parts.side.classList.remove("open"); document.documentElement.classList.remove("sample-open"); };
  // From the panel back to the list.
  function back() {
    if (!state.phone) { if (state.open >= 0) state.grid.focus(state.open); return; }
    const n = state.open;
    close();
    note(Object.fromEntries(ORIGINAL.map((name) => [name, null])));
    state.parts.cards.querySelector(`[data-n="${n}"]`)?.focus();
  }
  document.addEventListener("keydown", (event) => {
    if (!list() || harness.here()?.title !== "Run" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open], :popover-open")) return;
    const { target } = event, { parts } = state;
    if (event.key === "Escape" && (parts.side.contains(target) || state.phone)) { event.preventDefault(); back(); }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (target === document.body || target.id === "main" || target.closest?.(".sample-head"))) { event.preventDefault(); step(event.key === "ArrowDown" ? 1 : -1); }
  });
  window.addEventListener("hashchange", () => { document.documentElement.classList.remove("sample-open"); });

  // ------------------------------------------------------------------------------------------------------------
  // The other parts of a run

  function statistics(run, query) {
    const subject = (row) => [row[2], harness.subset(row[3], row[4], row[14])].filter(Boolean).join(" · ");
    const matches = harness.matcher(query.q);
    const rows = run.stats.filter((row) => matches(`${row[0]} ${harness.title("metrics", row[0])} ${row[1]} ${row[3] || ""} ${subject(row)}`));
    const change = (changes) => harness.go(route(), { ...query, ...changes }, { replace: true });
    // A subset with the very numbers of the whole set, as the originals of a robustness metric, says nothing more.
    const numbers = (row) => JSON.stringify([row[0], row[2], ...row.slice(6, 12)]);
    const isWhole = (row) => row[3] === null && row[4] === "original" && row[5] === null;
    const wholes = new Set(run.stats.filter(isWhole).map(numbers));
    const own = rows.filter((row) => isWhole(row) || !wholes.has(numbers(row))), equal = rows.length - own.length;
    const folding = equal ? make("button.small", { type: "button", id: "equal", "aria-pressed": String(Boolean(query.equal)), onclick: () => change({ equal: query.equal ? null : "1" }) },
      `Show ${count(equal)} ${equal === 1 ? "subset" : "subsets"} equal to the whole set`) : null;
    return [calibration(run), make("div.bar", null, harness.searchBox("stat-filter", "Search statistics", query.q, (q) => change({ q })), folding), harness.table([
      { name: "metric", label: "Metric", kind: "text", class: "fixed", key: (row) => harness.title("metrics", row[0]), cell: (row) => [harness.named("metrics", row[0], 60), row[12] === null ? "" : row[12] ? " ↑" : " ↓"] },
      { name: "category", label: "Category", kind: "text", key: (row) => row[1], cell: (row) => text(harness.title("categories", row[1]), 20) },
      { name: "of", label: "Subset", kind: "text", key: subject, cell: (row) => make("span", { title: plain([row[3], row[5]].filter(Boolean).join(", "), 100) }, text(subject(row), 60)) },
      { name: "mean", label: "Mean", key: (row) => row[7], cell: (row) => number(row[7]) },
      { name: "stderr", label: "Standard error", key: (row) => row[8], cell: (row) => number(row[8]) },
      { name: "interval", label: "95 % interval", cell: (row) => (row[9] === null ? "—" : `[${number(row[9])}, ${number(row[10])}]`) },
      { name: "note", label: "Note", kind: "text", key: (row) => row[13], cell: (row) => text(row[13], 120) },
      { name: "count", label: "Instances", key: (row) => row[6], cell: (row) => count(row[6]) },
      { name: "missing", label: "Undefined", key: (row) => row[11], cell: (row) => (row[11] ? count(row[11]) : "") },
    ], query.equal ? rows : own, { id: "stats", label: "Statistics", sort: query.sort, onsort: (sort) => change({ sort }) })];
  }

  function calibration(run) {
    if (!run.calibration) return null;
    const section = make("section.calibration", null, make("h2", null, "Calibration"));
    const name = modelOf(run);
    harness.charts().then(() => section.append(harness.reliability([{ ...run.calibration, name }]))).catch((error) => section.append(make("p.notice", null, plain(error.message, 200))));
    return section;
  }

  function settings(run) {
    const { generation } = run.provenance;
    return [harness.facts([
      ["Method", harness.named("methods", run.method, 60)], ["Main metric", harness.named("metrics", run.metric, 60)],
      ["Prompt changed", run.spec.prompt_variant ? text(run.spec.prompt_variant.description, 400) : null],
      ["Perturbations", run.spec.perturbations.length ? text(run.spec.perturbations.map((one) => harness.title("perturbations", one.name)).join(", "), 100) : null],
      ["Generated with", generation ? text(Object.entries(generation).map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" / ") : value}`).join(", "), 200) : null]]),
      harness.passage(JSON.stringify(run.spec, null, 2), { name: "Settings", limit: 20000 })];
  }

  function provenance(run) {
    const used = run.efficiency, grade = run.provenance.determinism;
    return [harness.facts([
      ["Ended", harness.moment(run.finished)], ["Folder", make("code", null, plain(run.folder, 200))],
      ["Queries", used.queries ? `${count(used.queries)}${used.cached_queries ? `, ${count(used.cached_queries)} from the cache` : ""}` : null],
      ["Determinism", grade ? text(`${grade.grade}: ${grade.meaning}`, 200) : null],
      ["Served by", run.served.length ? text(run.served.join("; "), 300) : null]]),
      make("h2", null, "Costs"), harness.passage(JSON.stringify(used, null, 2), { name: "Costs" }), make("h2", null, "Origin"), harness.passage(JSON.stringify(run.provenance, null, 2), { name: "Provenance", limit: 20000 })];
  }

  // ------------------------------------------------------------------------------------------------------------
  // Tooltips and paper

  harness.tips(".sample-grid .ag-header-cell[col-id]", (element) => {
    const column = state?.samples && harness.sampleColumns(state.samples).find(({ name }) => name === element.getAttribute("col-id"));
    return column ? [make("p", null, column.tip), column.name === "score" ? make("p", null, text(harness.title("metrics", state.run.metric), 60)) : null, make("p.faint", null, "Click to sort")] : null;
  });
  harness.tips(".sample-grid .ag-cell:is([col-id=id], [col-id=input], [col-id=expected], [col-id=answer])", (element) => {
    const inner = element.querySelector("bdi");
    return inner && inner.scrollWidth > inner.clientWidth ? [make("p", null, inner.textContent)] : null;
  });

  const print = () => { if (list()) clear(state.parts.paper, harness.samplePaper(state.samples, ordered(), `${titleOf(state.run)}: ${state.parts.listed.textContent}; of long texts the end${state.samples.complete ? "" : ". Some texts had not been loaded yet: print again in a moment"}`)); };
  const unprint = () => { if (state?.parts.paper) clear(state.parts.paper); };
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", unprint);
  window.matchMedia("print").addEventListener("change", (event) => { if (event.matches) print(); else unprint(); });
})();

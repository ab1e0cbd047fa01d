// What is seen of a leaderboard: the address's choices, and the ranks, win rates and tints of what remains. No elements.
"use strict";
(() => {
  const { plain } = harness;
  const MAIN = "main", CATEGORIES = "categories", SCORES = "Composite scores", OTHER = "Other tasks";
  const MANY = 2e4; // comparisons of two models from which on the intervals of win rates are computed after the first drawing
  const FEW = 24; // columns with which composite scores have room for their intervals

  const named = (name) => plain(harness.title("categories", name), 30);
  const list = (words) => (words ? words.split(",").filter(Boolean) : []);

  // The models with any number, or all if none has one; the foot says why the others have none.
  const able = (board) => {
    const all = board.models.map((_, i) => i);
    const some = all.filter((i) => !board.models[i].failed);
    return some.length ? some : all;
  };

  // The chosen of some things by name: those that are named, or all but those that are named without.
  const choose = (all, start, nameOf, wanted, without, problems, kind) => {
    const known = new Map(all.flatMap((item) => nameOf(item).map((name) => [name, item])));
    const found = (names) => new Set(names.map((name) => {
      if (!known.has(name)) problems.push(`Unknown ${kind} ${plain(name, 60)}.`);
      return known.get(name);
    }));
    if (wanted !== undefined) {
      const names = list(wanted), chosen = found(names);
      if (!names.length || names.some((name) => known.has(name))) return all.filter((item) => chosen.has(item)); // of unknown names alone, the usual ones
    }
    const left = found(list(without));
    return start.filter((item) => !left.has(item));
  };
  // The shorter way to name a choice in an address: {models: …} or {"without-models": …}.
  harness.chosenQuery = (kind, all, start, chosen, nameOf) => {
    const has = new Set(chosen), normal = new Set(start);
    const left = start.filter((item) => !has.has(item));
    const extra = chosen.some((item) => !normal.has(item));
    const plainNames = (items) => items.map((item) => nameOf(item)[0]).join(",");
    if (!extra && !left.length) return { [kind]: null, [`without-${kind}`]: null };
    if (!extra && left.length <= chosen.length) return { [kind]: null, [`without-${kind}`]: plainNames(left) };
    return { [kind]: plainNames(chosen) || "none", [`without-${kind}`]: null };
  };
  const without = (words) => (words === "none" ? "" : words);

  harness.boardNames = {
    model: (board) => (i) => [board.models[i].address, board.models[i].name],
    column: (board) => (c) => [board.columns[c].key],
    able,
    shownColumns: (board) => board.columns.map((_, c) => c).filter((c) => board.columns[c].shown),
    allColumns: (board) => board.columns.map((_, c) => c).filter((c) => !board.columns[c].test),
  };

  // What the board's page shows for an address. site and board: as in the data. Returns
  // {board, tab, tabs, models, columns, rows, filtered, clean, dependent, problems, name}.
  // columns: {id, title, label, group, higher, share, share of values, column, measure, about, heat, tied, ranks} in order.
  harness.boardView = async (site, board, query) => {
    const problems = [];
    const names = harness.boardNames;
    const start = names.shownColumns(board);
    const models = choose(board.models.map((_, i) => i), able(board), names.model(board), without(query.models), query["without-models"], problems, "model");
    const columns = choose(names.allColumns(board), start, names.column(board), without(query.columns), query["without-columns"], problems, "column");
    const shown = new Set(columns);
    const { dependent } = lookUps(board);
    const clean = query.clean === "1";
    const out = (m, c) => clean && dependent.size > 0 && dependent.has(`${m}/${c}`);
    const tabs = [["", "Scenarios"], ...(board.categories.length > 1 ? [[CATEGORIES, "Categories"]] : []), ...board.categories.map((category) => [category.name, named(category.name)])];
    let tab = query.tab || "";
    if (tab === MAIN) tab = "";
    if (!tabs.some(([name]) => name === tab)) { problems.push(`Unknown tab ${plain(tab, 40)}.`); tab = ""; }
    const filtered = models.length !== able(board).length || columns.length !== start.length || columns.some((c) => !board.columns[c].shown) || (clean && dependent.size > 0);
    const parts = tab === CATEGORIES ? [MAIN, ...(filtered ? board.categories.map((category) => category.name) : [])] : [tab || MAIN];
    const linked = tab ? null : harness.get(`boards/${board.key}/${MAIN}/runs`); // comes at the same time as the numbers
    const needed = filtered ? [...new Set([MAIN, ...parts])] : parts;
    const loaded = Object.fromEntries(await Promise.all(needed.map(async (part) => [part, (await harness.get(`boards/${board.key}/${part}`)).measures])));
    const pairs = Object.fromEntries(await Promise.all((filtered ? parts : []).map(async (part) => [part, await harness.get(`boards/${board.key}/${part}/pairs`)])));
    const runs = await linked;
    const sample = (c) => board.columns[c].sample;
    const scenarios = new Set(columns.filter((c) => !board.columns[c].score)); // composite scores do not count in the win rate
    const ranked = filtered ? harness.primaryColumns(loaded[MAIN], models, scenarios, (c) => board.columns[c], out) : scenarios;
    const given = (part) => [loaded[part], pairs[part], models, ranked, board.models.length, sample, out];
    const kept = (values) => { const wanted = new Set(models); return new Map(values.map((rate, i) => [i, rate]).filter(([i, rate]) => rate && wanted.has(i))); };
    const ratesOf = (part) => (filtered ? harness.winRates(...given(part)) : kept(part === MAIN ? board.models.map((model) => model.rate) : board.categories.find((category) => category.name === part).rates));
    const part = tab === CATEGORIES || !tab ? MAIN : tab;
    const later = filtered && models.length * models.length * columns.length > MANY ? harness.winRatesLater(...given(part)) : null;
    const rates = later ? later.quick : ratesOf(part);
    const places = harness.ranks(new Map([...rates].map(([i, rate]) => [i, rate[0]])));
    const view = { board, ranked, running: runningCells(board), tab, tabs, later, models, shown: columns, filtered, clean, dependent, out, problems, rates, places };
    view.columns = tab === CATEGORIES ? categoryColumns(board, models, ratesOf) : measureColumns(view, loaded[tab || MAIN], pairs[tab || MAIN], runs);
    order(view.columns, board);
    for (const column of view.columns) settle(column, models);
    view.coverage = new Map(models.map((i) => [i, coverage(view, i)]));
    view.rows = [...models].sort((a, b) => (places.get(a) ?? 1e9) - (places.get(b) ?? 1e9) || (rates.get(a)?.[5] ?? 0) - (rates.get(b)?.[5] ?? 0) || board.models[a].name.localeCompare(board.models[b].name));
    view.group = (name) => view.columns.filter((column) => column.group === name);
    return view;
  };

  // The cells whose runs are under way, by model and column: {done, of}; sums, since several runs may share a cell.
  const runningCells = (board) => {
    const found = new Map(), models = new Map(board.models.map((model, i) => [model.identifier, i]));
    for (const run of harness.running || []) {
      const i = models.get(run.model);
      if (i === undefined || !board.suites.includes(run.suite)) continue;
      board.columns.forEach((column, c) => {
        if (column.method !== run.method || !column.asks.includes(run.scenario)) return;
        const sum = found.get(`${i}/${c}`) || { done: 0, of: 0 };
        found.set(`${i}/${c}`, { done: sum.done + Math.floor(run.answered), of: sum.of + run.planned });
      });
    }
    return found;
  };
  harness.boardRunning = (view) => { view.running = runningCells(view.board); };

  // Which models are tied with the best, and the tints: computed when the column first comes into sight.
  const settle = (column, models) => {
    const values = models.map((i) => { const cell = column.cell(i); return cell && !column.out(i) ? cell.mean : null; });
    const known = values.filter((value) => value !== null);
    const words = models.map((i) => column.cell(i)).filter((cell) => cell?.mean === null && cell.none && !cell.failed).map((cell) => harness.cellState(cell, false));
    column.share = !words.length && known.every((value) => value >= 0 && value <= 1);
    column.text = column.share ? 4 : Math.max(3, ...known.map((value) => harness.number(value).length), ...words.map((each) => each.length));
    let made = null;
    const make = () => {
      if (made) return made;
      const ranks = column.ranged();
      const separated = [...ranks.values()].some(([first]) => first > 1);
      const steps = separated ? harness.heat(values, column.higher) : values.map(() => null);
      made = { ranks, tied: new Set(separated ? [...ranks].filter(([, [first]]) => first === 1).map(([i]) => i) : []), heat: new Map(models.map((i, at) => [i, steps[at]])) };
      return made;
    };
    for (const name of ["ranks", "tied", "heat"]) Object.defineProperty(column, name, { get: () => make()[name] });
  };

  const coverage = (view, i) => {
    const columns = view.columns.filter((column) => !column.about?.score);
    return [columns.filter((column) => { const cell = column.cell(i); return cell && cell.mean !== null && !column.out(i); }).length, columns.length];
  };

  // A category as a column: the models' win rates in it.
  const categoryColumns = (board, models, ratesOf) => board.categories.map((category) => {
    const rates = ratesOf(category.name);
    return {
      id: category.name, title: `Win rate, ${named(category.name)}`, label: named(category.name), group: "", higher: true, intervals: true,
      facts: [`Mean win rate over ${harness.count(category.measures)} ${category.measures === 1 ? "column" : "columns"} ↑`],
      out: () => false, link: () => harness.link("board", { ...harness.route().query, tab: category.name }),
      cell: (i) => { const rate = rates.get(i); return rate ? { mean: rate[0], low: rate[1], high: rate[2], count: null, remarks: [] } : null; },
      ranged: () => new Map([...rates].map(([i, rate]) => [i, [rate[5], rate[6]]])),
    };
  });

  // What the tooltip of a heading says below the metric: definition, direction, range, source, n, method.
  const MEMBERS = 8; // that a tooltip names
  const bounds = ([low, high]) => (low === null && high === null ? "" : low === null ? `at most ${high}` : high === null ? `at least ${low}` : `${low} to ${high}`);
  const listed = (names) => `${names.slice(0, MEMBERS).map((name) => plain(name, 40)).join(", ")}${names.length > MEMBERS ? ` and ${names.length - MEMBERS} more` : ""}`;
  // The same of a composite score: what it is the mean of, and how.
  const composition = (about, measure) => {
    const { mean, rescaled, range, members } = about.composite;
    const runs = members.flatMap(([, labels]) => labels.map((label) => harness.title("runs", label)));
    const names = members.length > 1 ? members.map(([name, labels]) => (labels.length > 1 ? `${name} (${harness.count(labels.length)} runs)` : name)) : runs;
    const weights = mean === "micro" ? "each instance counts the same" : members.length > 1 ? "each member counts the same, and each run of a member" : "each run counts the same";
    return [`Mean of ${harness.count(names.length)} ${members.length > 1 ? "members" : names.length === 1 ? "run" : "runs"}: ${weights}.`, rescaled ? "Rescaled: 0 is what guessing gets (or less), and 1 is the best score." : "",
      [measure.higher === null ? "" : measure.higher ? "Higher is better" : "Lower is better", range ? bounds(range) : "", about.count ? `n = ${harness.count(about.count)}` : ""].filter(Boolean).join(" · "),
      `${members.length > 1 ? "Members" : "Runs"}: ${listed(names)}`, "A model without one of the runs has no score. Not in the win rate.", plain(about.identifier, 100)];
  };
  const facts = (about, measure, counted) => {
    if (about.composite) return composition(about, measure);
    const known = harness.names.metrics[measure.metric] || {};
    const range = known.range ? bounds(known.range) : "";
    return [known.definition || "", [measure.higher === null ? "" : measure.higher ? "Higher is better" : "Lower is better", range, about.count ? `n = ${harness.count(about.count)}` : ""].filter(Boolean).join(" · "),
      [about.method ? `${harness.title("methods", about.method)}, ${about.split} split` : "", ...about.details].filter(Boolean).map((words) => plain(words, 100)).join(" · "),
      known.source ? `Source: ${plain(known.source, 200)}` : "", `${plain(about.identifier, 100)}, ${plain(measure.metric, 60)}`,
      about.sample ? "Sample data: a demonstration, not a measurement." : "", counted ? "" : "Not in the win rate."];
  };

  // What boards and measures say of their cells stays the same whatever is chosen, so it is looked up once.
  const boards = new WeakMap(), contents = new WeakMap(), ranges = new WeakMap();
  const lookUps = (board) => {
    if (!boards.has(board)) boards.set(board, {
      failures: new Map(board.failures.map(([m, c, errors]) => [`${m}/${c}`, errors])),
      none: new Map(board.no_values.map(([m, c, reasons]) => [`${m}/${c}`, reasons])),
      remarks: new Map(board.remarks.map(([m, c, declined, words, mark]) => [`${m}/${c}`, { declined, words, mark }])),
      dependent: new Map(board.dependent.map(([m, c, p, run]) => [`${m}/${c}`, { p, run }])),
    });
    return boards.get(board);
  };
  // A measure's cells by model; failed runs count in the main one.
  const cellsOf = (board, measure, main) => {
    if (contents.has(measure)) return contents.get(measure);
    const { failures, none: reasons, remarks, dependent } = lookUps(board), own = main || measure.metric === board.columns[measure.column].metric, sample = board.columns[measure.column].sample && !board.sample;
    const made = measure.cells.map((found, i) => {
      const place = `${i}/${measure.column}`, failed = main ? failures.get(place) : null, remark = remarks.get(place), none = own ? reasons.get(place) : null;
      if (!found) return failed || none ? { mean: null, failed, none, remarks: [] } : null;
      return { none, mean: found[0], low: found[1], high: found[2], count: found[3], failed, declined: Boolean(remark?.declined), remarks: remark ? remark.words : [], marked: Boolean(remark?.mark) || (sample && found[0] !== null), dependent: dependent.get(place) };
    });
    contents.set(measure, made);
    return made;
  };
  // The ranks in a column of some models; those of the last choice are kept.
  const ranksOf = (measure, pairs, view) => {
    const key = `${view.clean}/${view.models.join()}`;
    if (ranges.get(measure)?.key !== key) ranges.set(measure, { key, ranks: harness.columnRanks(measure, pairs, view.models, view.board.models.length, view.out) });
    return ranges.get(measure).ranks;
  };

  const measureColumns = (view, measures, pairs, runs) => {
    const { board, models, out } = view;
    const shown = new Set(view.shown);
    const several = new Map();
    for (const measure of measures) several.set(measure.column, (several.get(measure.column) || 0) + 1);
    const main = !view.tab;
    return measures.map((measure, at) => ({ measure, at })).filter(({ measure }) => shown.has(measure.column)).map(({ measure, at }) => {
      const c = measure.column, about = board.columns[c], cells = cellsOf(board, measure, main);
      const metric = plain(harness.title("metrics", measure.metric), 60);
      const many = several.get(c) > 1;
      const arrow = measure.higher === null ? "" : measure.higher ? " ↑" : " ↓";
      const ranged = () => (view.filtered ? ranksOf(measure, pairs[at], view)
        : new Map(models.filter((i) => measure.cells[i] && measure.cells[i][6] !== null).map((i) => [i, [measure.cells[i][6], measure.cells[i][7]]])));
      return {
        id: many ? `${about.key}~${measure.metric}` : about.key, column: c, about, measure, ranged, higher: measure.higher,
        title: `${about.title}${many ? ` · ${metric}` : ""}`, label: `${about.label}${many ? ` · ${metric}` : ""}`, group: about.score ? SCORES : about.group, intervals: Boolean(about.score) && shown.size <= FEW, metric: about.composite ? harness.capitalized(about.composite.rule) : `${metric}${measure.worst ? `, worst over ${measure.worst} perturbations` : ""}${arrow}`,
        get facts() { return facts(about, measure, view.filtered ? view.ranked.has(c) && measure.higher !== null : measure.contested); },
        out: (i) => out(i, c),
        link: (i) => (about.score ? harness.link(`model/${board.models[i].address}`) : harness.link(runs?.[c][i] ? `run/${runs[c][i]}` : `scenario/${about.address}`)),
        cell: (i) => {
          const running = main && view.running.size ? view.running.get(`${i}/${c}`) : undefined;
          return running ? { mean: null, remarks: [], ...cells[i], running } : cells[i];
        },
      };
    });
  };

  // Composite scores first, then larger groups, those of tasks with one column last; within a group by name.
  const order = (columns) => {
    const sizes = new Map();
    for (const column of columns) sizes.set(column.group, (sizes.get(column.group) || 0) + 1);
    if (sizes.size < 2 && columns.some((column) => !column.about)) return;
    columns.sort((a, b) => (b.group === SCORES) - (a.group === SCORES) || (a.group === OTHER) - (b.group === OTHER) || sizes.get(b.group) - sizes.get(a.group) || a.group.localeCompare(b.group) || (a.group === OTHER ? (a.about.taxonomy.task || "~").localeCompare(b.about.taxonomy.task || "~") : 0) || a.label.localeCompare(b.label));
  };

  // The state of a cell in words, for screen readers and exports; "" if it has a plain number.
  harness.cellState = (cell, out) => {
    if (!cell) return "not run";
    if (cell.running) return "running";
    if (cell.mean === null) return cell.failed ? "failed" : cell.none ? cell.none[0].split(":")[0] : "no value";
    if (out) return "left out: depends on the published order";
    if (cell.declined) return "declined";
    return "";
  };

  // What is seen as a table for export: rank range, model, win rate with interval, coverage and each column's number.
  harness.boardTable = (view, rows) => ({
    name: `leaderboard-${plain(view.board.title, 40).replace(/[^A-Za-z0-9.-]+/g, "-")}${view.tab ? `-${view.tab}` : ""}`,
    columns: [["ranks", "Rank"], ["model", "Model"], ["win_rate", "Win rate"], ["win_rate_low", "95% low"], ["win_rate_high", "95% high"], ["columns", "Columns"],
      ...view.columns.map((column) => [column.id, `${column.title}${column.metric ? ` (${column.metric})` : ""}`])].map(([name, title]) => ({ name, title })),
    rows: rows.map((i) => {
      const rate = view.rates.get(i);
      return [rate && rate[5] ? harness.rankRange(rate[5], rate[6]) : null, plain(view.board.models[i].name, 200), rate ? rate[0] : null, rate ? rate[1] : null, rate ? rate[2] : null, view.coverage.get(i).join("/"),
        ...view.columns.map((column) => { const cell = column.cell(i); const state = harness.cellState(cell, column.out(i)); return cell && cell.mean !== null && !column.out(i) ? cell.mean : state; })];
    }),
  });
})();

// The leaderboard on paper, in tables of a few columns with rank, model and win rate repeated; and on a phone, as cards.
"use strict";
(() => {
  const { make, plain } = harness;
  const COLUMNS = 14; // on a page of A4 landscape

  const rankOf = (view, i) => { const rate = view.rates.get(i); return rate && rate[5] ? harness.rankRange(rate[5], rate[6]) : "–"; };
  const shown = (view, column, i) => {
    const cell = column.cell(i), state = harness.cellState(cell, column.out(i));
    return cell && cell.mean !== null && !state ? harness.digits(cell.mean, column.share, true) : state || "–";
  };
  const step = (column, i) => { const found = column.heat.get(i); return found === null || found === undefined ? "" : `.h${found}`; };

  harness.boardPaper = (view, rows, heat) => {
    const parts = [];
    for (let at = 0; at < Math.max(1, view.columns.length); at += COLUMNS) parts.push(view.columns.slice(at, at + COLUMNS));
    return make(heat ? "div.paper.heat" : "div.paper", null, parts.map((columns, at) => make("table", null,
      make("caption", null, `Leaderboard, ${plain(view.board.title, 60)}${view.tab ? `, ${view.tab}` : ""}${parts.length > 1 ? ` (${at + 1} of ${parts.length})` : ""}`),
      make("thead", null, make("tr", null, ["Rank", "Model", "Win rate", "Columns"].map((name) => make("th", { scope: "col" }, name)), columns.map((column) => make("th", { scope: "col" }, plain(column.title, 60))))),
      make("tbody", null, rows.map((i) => {
        const rate = view.rates.get(i);
        return make("tr", null, make("td", null, rankOf(view, i)), make("th", { scope: "row" }, plain(view.board.models[i].name, 60)),
          make("td", null, rate ? [harness.share(rate[0]), rate[1] === null ? "" : ` [${harness.fixed(rate[1], 2)}, ${harness.fixed(rate[2], 2)}]`] : "–"), make("td", null, view.coverage.get(i).join("/")),
          columns.map((column) => make(`td${step(column, i)}`, null, column.tied.has(i) ? make("strong", null, shown(view, column, i)) : shown(view, column, i), column.cell(i)?.dependent ? make("span.bad", null, " order") : null)));
      })))));
  };

  const SIGNS = { "": "", "not run": ".none", "no value": ".none", failed: ".failed", declined: ".hatched", running: ".running" };
  // A tint for each result; a tap names the nearest. Its numbers are in the details, for keyboards and screen readers.
  const strip = (view, i, groups) => {
    const named = make("p.named", { hidden: true });
    const columns = new Map();
    const line = make("div.tints", { "aria-hidden": "true" }, [...groups].map(([, members]) => {
      const group = make("span", null, members.map((column) => {
        const state = harness.cellState(column.cell(i), column.out(i));
        const tint = make(`i${state ? SIGNS[state] ?? ".hatched" : step(column, i)}`);
        columns.set(tint, column);
        return tint;
      }));
      group.style.setProperty("flex", `${members.length} 1 0`);
      return group;
    }));
    line.addEventListener("click", (event) => {
      const away = (tint) => { const { left, right } = tint.getBoundingClientRect(); return Math.abs(event.clientX - (left + right) / 2); };
      const [nearest] = [...columns.keys()].sort((a, b) => away(a) - away(b));
      if (!nearest) return;
      for (const tint of columns.keys()) tint.classList.toggle("at", tint === nearest);
      const column = columns.get(nearest), cell = column.cell(i);
      harness.clear(named, make("strong", null, plain(column.title, 80)), " ", make("a", { href: cell ? column.link(i) : null }, shown(view, column, i)), cell && cell.mean !== null ? ` ${harness.spread(cell.mean, cell.low, cell.high)}` : "",
        column.tied.has(i) ? " · tied with the best" : "", (cell?.remarks || []).map((words) => ` · ${plain(words, 200)}`));
      named.hidden = false;
    });
    return [line, named];
  };

  harness.boardCards = (view, rows, heat) => make(heat ? "ol.cards.heat" : "ol.cards", { "aria-label": "Models by rank" }, rows.map((i) => {
    const model = view.board.models[i], rate = view.rates.get(i), [have, of] = view.coverage.get(i);
    const groups = new Map();
    for (const column of view.columns) groups.set(column.group, [...(groups.get(column.group) || []), column]);
    const details = make("details", null, make("summary", null, view.columns.length === 1 ? "The result" : `All ${view.columns.length} results`));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(...[...groups].map(([name, columns]) => make("div", null, name ? make("h3", null, plain(name, 40)) : null, make("dl", null, columns.map((column) => {
        const cell = column.cell(i);
        return [make("dt", null, plain(column.label, 60), cell?.dependent ? [" ", make("span.mark.bad", null, `depends on the published order (p = ${harness.probability(cell.dependent.p)})`)] : null), make(column.tied.has(i) ? "dd.tied" : "dd", null, cell ? make("a", { href: column.link(i) }, shown(view, column, i)) : shown(view, column, i)),
          make("dd.faint", null, cell && cell.mean !== null ? harness.spread(cell.mean, cell.low, cell.high) : "")];
      })))));
    });
    return make("li", null,
      make("div.first", null, make("span.rank", null, rankOf(view, i)), make("a.name", { href: harness.link(`model/${model.address}`) }, harness.text(model.name, 60)), make("span.score", null, rate ? harness.share(rate[0]) : "–")),
      make("div.second", null, make("span", null, plain(model.backend, 12)), make(have < of ? "span.part" : "span", null, `${have}/${of} columns`), rate ? harness.interval(rate[0], rate[1], rate[2]) : null),
      strip(view, i, groups),
      view.columns.length ? details : null);
  }));
})();

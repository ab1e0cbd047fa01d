// The leaderboard as a grid: rank, model, win rate and coverage stay in sight, the columns scroll; one cell, one line.
"use strict";
(() => {
  const { make, plain, text } = harness;
  const NARROW = 24, WIDEST = 64, FULL = 46, RATE = 124; // widths of columns
  const HEADING = 118, LOW = 34, GROUP = 22; // heights of headings: vertical, horizontal, of groups
  const SCROLLBAR = 12; // a thin one
  const THREE_DIGITS = 36; // from this width on

  const blank = (value) => value === null || value === undefined;
  const order = (a, b, one, other, descending) => (blank(a) || blank(b) ? (blank(a) - blank(b)) * (descending ? -1 : 1) : typeof a === "string" ? a.localeCompare(b) : a - b);

  // options: {density, width, heat, sort, onsort(sort), ongroup(name), open(address)}.
  harness.boardGrid = (host, view, options) => {
    let now = view;
    let widths = null;
    let byId = new Map(now.columns.map((column) => [column.id, column]));
    let drawnColumns = ""; // what the definitions of the columns were made from
    const rate = (i) => now.rates.get(i);
    const covered = (i) => now.coverage.get(i) || [0, 0]; // a row that is about to go has none
    const pinned = () => {
      const small = host.clientWidth < 1100;
      const place = { pinned: "left", lockPinned: true, suppressMovable: true };
      return [
        { ...place, colId: "rank", headerName: "Rank", width: 66, minWidth: 50, headerClass: "start", cellClass: "start", sortingOrder: ["asc", "desc"], valueGetter: ({ data }) => now.places.get(data.i) ?? null, cellRenderer: rankCell },
        { ...place, colId: "model", headerName: "Model", width: small ? 138 : 170, minWidth: 80, cellClass: "model", headerClass: "text", sortingOrder: ["asc", "desc"], valueGetter: ({ data }) => now.board.models[data.i].name, cellRenderer: modelCell },
        { ...place, colId: "rate", headerName: "Win rate", width: small ? 66 : 118, minWidth: 58, headerClass: "text", sortingOrder: ["desc", "asc"], valueGetter: ({ data }) => rate(data.i)?.[0] ?? null, cellRenderer: rateCell },
        { ...place, colId: "runs", headerName: "Runs", width: 56, minWidth: 44, headerClass: "end", cellClass: ({ data }) => ["runs", ...(covered(data.i)[0] < covered(data.i)[1] ? ["part"] : [])], sortingOrder: ["desc", "asc"],
          valueGetter: ({ data }) => covered(data.i)[0], valueFormatter: ({ data }) => covered(data.i).join("/") },
      ];
    };
    const rankCell = ({ data }) => {
      const found = rate(data.i);
      if (!found) return make("span.faint", null, "–");
      if (!found[5]) return make("span.faint", { role: "img", "aria-label": "being computed" }, "…");
      return make(found[5] === found[6] ? "span.alone" : "span.several", null, harness.rankRange(found[5], found[6]));
    };
    const modelCell = ({ data }) => {
      const model = now.board.models[data.i];
      return make("a", { href: harness.link(`model/${model.address}`), tabindex: "-1" }, make("bdi", null, plain(model.name, 60)), make("small", null, plain(model.backend, 12)));
    };
    const rateCell = ({ data }) => {
      const found = rate(data.i);
      if (!found) return make("span.faint", null, "–");
      return make("span", null, make("span.score", null, harness.share(found[0])), harness.interval(found[0], found[1], found[2]));
    };
    const step = (column, i) => { const found = column.heat.get(i); return blank(found) ? "" : `h${found}`; };
    // Cells look their column up by name, so that a change of what it holds needs no new definitions.
    const classes = (id) => ({ data }) => {
      const column = byId.get(id);
      if (!column) return ["v"];
      const cell = column.cell(data.i), state = harness.cellState(cell, column.out(data.i));
      return ["v", state ? state === "not run" || state === "no value" ? "none" : state.split(/[ :]/)[0] : step(column, data.i), column.first ? "first" : "", !state && column.tied.has(data.i) ? "tied" : "",
        cell?.dependent ? "dependent" : "", cell?.remarks?.length ? "remark" : "", column.wide ? "wide" : ""].filter(Boolean);
    };
    const value = (id) => ({ data }) => { const column = byId.get(id), cell = column?.cell(data.i); return cell && !column.out(data.i) ? cell.mean : null; };
    // The content of a cell; it is kept while the cell shows the same.
    class ValueCell {
      init(given) { this.element = make("a", { tabindex: "-1" }); this.shown = null; this.refresh(given); }
      getGui() { return this.element; }
      refresh({ data, column: { colId } }) {
        const column = byId.get(colId);
        if (!column) return true;
        const cell = column.cell(data.i), state = harness.cellState(cell, column.out(data.i));
        const bare = state && state !== "declined" && !(cell && cell.mean !== null);
        const sign = bare ? (cell?.failed ? "✕" : cell?.running ? "" : "–") : state === "declined" ? "" : harness.digits(cell.mean, column.share, column.wide || widths.digits);
        const words = bare ? state : [state, cell.dependent ? "depends on the published order" : "", column.tied.has(data.i) ? "tied with the best" : "", ...cell.remarks].filter(Boolean).join(", ");
        const target = cell ? column.link(data.i) : "";
        const shown = `${target} ${sign} ${words} ${column.wide ? `${cell?.low} ${cell?.high}` : ""}`;
        if (shown === this.shown) return true;
        this.shown = shown;
        if (target) this.element.setAttribute("href", target); else this.element.removeAttribute("href");
        harness.clear(this.element, bare ? make("span", { role: "img", "aria-label": words }, sign) : sign,
          !bare && column.wide && cell.low !== null ? harness.interval(cell.mean, cell.low, cell.high) : null, !bare && words ? make("span.unseen", null, `, ${words}`) : null);
        return true;
      }
    }

    // As wide as there is room for, so that all columns are on the screen if they can be.
    const fit = () => {
      const fixed = pinned().reduce((sum, column) => sum + column.width, 0);
      const room = host.clientWidth - fixed - SCROLLBAR;
      // Where there is room for all of them, shares have their intervals beside them, too.
      const spacious = options.width !== "full" && now.columns.every((column) => column.share || column.intervals) && now.columns.length * RATE <= room;
      for (const column of now.columns) column.wide = column.intervals || spacious;
      const rigid = now.columns.filter((column) => !column.share && !column.wide);
      const own = (column) => (column.wide ? RATE : Math.max(30, 10 + 7 * column.text));
      const shares = now.columns.length - rigid.length;
      const even = Math.floor((room - rigid.reduce((sum, column) => sum + own(column), 0)) / Math.max(1, shares));
      const width = options.width === "full" ? FULL : Math.min(WIDEST, Math.max(NARROW, even));
      return { digits: width >= THREE_DIGITS, of: (column) => (column.wide ? RATE : column.share ? width : own(column)) };
    };
    // The first column of each group but the first has a gap before it.
    const marks = () => { now.columns.forEach((column, at) => { column.first = at > 0 && column.group !== now.columns[at - 1].group; }); };
    const shape = () => { const width = fit(); return JSON.stringify([width.digits, now.columns.map((column) => [column.id, column.label, column.group, width.of(column), column.wide])]); };
    const definitions = () => {
      widths = fit();
      drawnColumns = shape();
      marks();
      const groups = new Map();
      for (const column of now.columns) groups.set(column.group, [...(groups.get(column.group) || []), column]);
      let number = 0;
      const defined = [...groups].map(([name, members]) => {
        const children = members.map((column) => {
          return {
            colId: column.id, headerName: plain(column.label, 60), width: widths.of(column), minWidth: NARROW, headerClass: column.wide ? "text wide" : column.first ? "tall first" : "tall", cellClass: classes(column.id), cellRenderer: ValueCell,
            sortingOrder: column.higher === false ? ["asc", "desc"] : ["desc", "asc"], valueGetter: value(column.id),
          };
        });
        number += 1;
        return name ? [{ groupId: `group-${name}`, headerName: plain(name, 40), marryChildren: true, children, headerClass: number > 1 ? "first" : "" }] : children;
      });
      return [...pinned(), ...defined.flat()];
    };
    // The same object for the same model, so that the grid leaves its row as it is.
    const made = new Map();
    const rows = () => now.rows.map((i) => {
      if (!made.has(i)) made.set(i, { i, id: now.board.models[i].address });
      return made.get(i);
    });
    const heading = () => (now.columns.length && now.columns.every((column) => column.wide) ? LOW : HEADING);
    const density = () => (options.density === "roomy" ? 32 : 24);

    const api = window.agGrid.createGrid(host, {
      theme: "legacy",
      columnDefs: definitions(),
      rowData: rows(),
      getRowId: ({ data }) => data.id,
      defaultColDef: { sortable: true, resizable: true, suppressMovable: true, comparator: order, suppressHeaderMenuButton: true },
      rowHeight: density(), headerHeight: heading(), groupHeaderHeight: GROUP,
      animateRows: false, suppressCellFocus: false, suppressNoRowsOverlay: true, suppressDragLeaveHidesColumns: true, ensureDomOrder: true, suppressColumnMoveAnimation: true,
      rowBuffer: 6,
      onCellKeyDown: ({ event }) => { if (event.key === "Enter") event.target.querySelector("a")?.click(); },
      onSortChanged: ({ source }) => { if (source !== "api") options.onsort(sorted()); },
    });
    const sorted = () => {
      const found = api.getColumnState().find((column) => column.sort);
      return found ? `${found.sort === "desc" ? "-" : ""}${found.colId}` : "";
    };
    const sort = (words) => {
      const name = (words || "rank").replace(/^-/, "");
      if (!api.getColumn(name)) return false;
      if (sorted() === `${words && words.startsWith("-") ? "-" : ""}${name}`) return true;
      api.applyColumnState({ state: [{ colId: name, sort: words && words.startsWith("-") ? "desc" : "asc" }], defaultState: { sort: null } });
      return true;
    };
    const grid = host.querySelector("[role=grid], [role=treegrid]");
    grid?.setAttribute("aria-label", "Leaderboard: models by columns");

    const alone = (target) => {
      const cell = target instanceof Element ? target.closest(".ag-header-group-cell[col-id^='group-']") : null;
      if (!cell) return false;
      options.ongroup(cell.getAttribute("col-id").replace(/^group-/, "").replace(/_\d+$/, ""));
      return true;
    };
    host.addEventListener("click", (event) => alone(event.target));
    host.addEventListener("keydown", (event) => { if (event.key === "Enter" && alone(event.target)) event.preventDefault(); });

    // Shadows where there is more.
    const edges = () => {
      const viewport = host.querySelector(".ag-grid-viewport") || host.querySelector(".ag-center-cols-viewport");
      if (!viewport) return;
      host.classList.toggle("more-left", viewport.scrollLeft > 1);
      host.classList.toggle("more-right", viewport.scrollLeft + viewport.clientWidth < viewport.scrollWidth - 1);
      host.classList.toggle("more-below", viewport.scrollTop + viewport.clientHeight < viewport.scrollHeight - 1);
    };
    host.addEventListener("scroll", edges, { capture: true, passive: true });
    const resized = new ResizeObserver(harness.later(() => {
      if (!host.isConnected) return;
      if (shape() !== drawnColumns) { api.updateGridOptions({ columnDefs: definitions(), headerHeight: heading() }); api.refreshCells({ force: true }); }
      edges();
    }, 100));
    resized.observe(host);

    return {
      api, sort, sorted, edges,
      // The rows in the order that is seen.
      order: () => { const found = []; api.forEachNodeAfterFilterAndSort((node) => found.push(node.data.i)); return found; },
      column: (name) => byId.get(name),
      // Only rank and rate have changed.
      rates: () => { api.refreshCells({ force: true, columns: ["rank", "rate"] }); },
      update: (next, changed) => {
        const rowsBefore = now.rows.join(), same = now === next;
        now = next;
        byId = new Map(now.columns.map((column) => [column.id, column]));
        Object.assign(options, changed);
        const given = {}, reshaped = shape() !== drawnColumns; // first, since it decides which columns are wide
        for (const [name, value] of [["rowHeight", density()], ["headerHeight", heading()]]) if (api.getGridOption(name) !== value) given[name] = value;
        if (now.rows.join() !== rowsBefore) given.rowData = rows();
        if (reshaped) given.columnDefs = definitions(); else marks();
        if (Object.keys(given).length) api.updateGridOptions(given);
        if (!same || reshaped) api.refreshCells({ force: true });
        requestAnimationFrame(edges);
      },
      destroy: () => { resized.disconnect(); api.destroy(); },
    };
  };
})();

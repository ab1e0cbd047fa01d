// The leaderboard as a grid: rank, model, win rate and coverage stay in sight, the columns scroll; one cell, one line.
"use strict";
(() => {
  const { plain } = harness;
  const WAIT = 100; // milliseconds after the last change of the window's size
  const TIDY = 400, FEW = 4; // milliseconds after the last change of order; rows that are moved at once

  const blank = (value) => value === null || value === undefined;
  const order = (a, b, one, other, descending) => (blank(a) || blank(b) ? (blank(a) - blank(b)) * (descending ? -1 : 1) : typeof a === "string" ? a.localeCompare(b) : a - b);

  // options: {density, width, onsort(sort), ongroup(name), onsize()}.
  harness.boardGrid = (host, view, options) => {
    let now = view;
    let byId, widths, room;
    const fonts = getComputedStyle(host).getPropertyValue("--sans") || "sans-serif";
    const measure = () => { room = { width: host.clientWidth, height: host.clientHeight }; };
    // What is seen of the columns: their names, widths, and which is the first of its group.
    const lay = () => {
      byId = new Map(now.columns.map((column) => [column.id, column]));
      now.columns.forEach((column, at) => { column.first = at > 0 && column.group !== now.columns[at - 1].group; });
      widths = harness.boardWidths(now, fonts, room, options);
    };
    measure();
    lay();
    const cells = harness.boardCells(() => ({ view: now, column: (id) => byId.get(id), digits: widths.digits }));

    const pinned = () => {
      const place = { pinned: "left", lockPinned: true, cellRenderer: cells.kind };
      return [
        { ...place, colId: "rank", headerName: "Rank", width: widths.rank, minWidth: 50, headerClass: "start", sortingOrder: ["asc", "desc"], valueGetter: ({ data }) => now.places.get(data.i) ?? null },
        { ...place, colId: "model", headerName: "Model", width: widths.model, minWidth: 80, headerClass: "text", sortingOrder: ["asc", "desc"], valueGetter: ({ data }) => now.board.models[data.i].name },
        { ...place, colId: "rate", headerName: "Win rate", width: widths.rate, minWidth: 58, headerClass: "text", sortingOrder: ["desc", "asc"], valueGetter: ({ data }) => now.rates.get(data.i)?.[0] ?? null },
        { ...place, colId: "covered", headerName: "Columns", width: widths.covered, minWidth: 44, headerClass: "end", sortingOrder: ["desc", "asc"], valueGetter: ({ data }) => now.coverage.get(data.i)?.[0] ?? 0 },
      ];
    };
    const value = (id) => ({ data }) => { const column = byId.get(id), cell = column?.cell(data.i); return cell && !column.out(data.i) ? cell.mean : null; };
    const definitions = () => {
      const groups = new Map();
      for (const column of now.columns) groups.set(column.group, [...(groups.get(column.group) || []), column]);
      return [...pinned(), ...[...groups].flatMap(([name, members], at) => {
        const children = members.map((column) => ({
          colId: column.id, headerName: plain(column.label, 60), width: widths.of(column), minWidth: 24, headerClass: column.wide ? "text wide" : "tall", cellRenderer: cells.kind, valueGetter: value(column.id),
          sortingOrder: column.higher === false ? ["asc", "desc"] : ["desc", "asc"],
        }));
        return name ? [{ groupId: `group-${name}`, headerName: plain(name, 40), children, headerClass: at ? "first" : "" }] : children;
      })];
    };
    // What a column of the grid was made from; the grid keeps columns that are not seen, hidden.
    const kind = (column) => JSON.stringify([column.label, column.group, column.wide]);
    const sizes = () => [["rank", widths.rank], ["model", widths.model], ["rate", widths.rate], ["covered", widths.covered], ...now.columns.map((column) => [column.id, widths.of(column)])];
    let held, laid;
    const hold = () => {
      held = new Map(now.columns.map((column) => [column.id, kind(column)]));
      laid = JSON.stringify(sizes());
    };
    hold();
    const made = new Map(); // the same object for the same model, so that the grid leaves its row as it is
    const rows = () => now.rows.map((i) => {
      const id = now.board.models[i].address;
      if (made.get(id)?.i !== i) made.set(id, { i, id });
      return made.get(id);
    });

    const api = window.agGrid.createGrid(host, {
      theme: "legacy",
      columnDefs: definitions(),
      rowData: rows(),
      getRowId: ({ data }) => data.id,
      defaultColDef: { sortable: true, resizable: true, suppressMovable: true, comparator: order, suppressHeaderMenuButton: true },
      rowHeight: widths.row, headerHeight: widths.heading, groupHeaderHeight: widths.group,
      animateRows: false, suppressCellFocus: false, suppressNoRowsOverlay: true, suppressDragLeaveHidesColumns: true, suppressColumnMoveAnimation: true,
      rowBuffer: 4,
      onCellKeyDown: ({ event }) => { if (event.key === "Enter") event.target.querySelector("a")?.click(); },
      onBodyScrollEnd: () => tidy(), onSortChanged: ({ source }) => { tidy(); if (source !== "api") options.onsort(sorted()); },
    });
    host.querySelector("[role=grid], [role=treegrid]")?.setAttribute("aria-label", "Leaderboard: models by columns");

    let gone = false; // what was put off must not touch a grid that has been destroyed
    // Rows that moved are put in order in the document, too, for screen readers: a few whenever the page is idle, since that
    // costs far more than moving them on the screen. The row with the focus stays where it is.
    const tidy = harness.later(() => {
      const idle = window.requestIdleCallback || ((call) => setTimeout(call, 50));
      const step = () => {
        if (gone || !host.isConnected) return;
        const box = host.querySelector(".ag-row[row-id]")?.parentElement;
        const there = box ? [...box.querySelectorAll(":scope > .ag-row[row-id]")] : [];
        const right = [...there].sort((a, b) => a.getAttribute("row-index") - b.getAttribute("row-index"));
        const focused = there.find((row) => row.contains(document.activeElement));
        let moved = 0;
        for (let at = 0; at < right.length && moved < FEW; at += 1) {
          const before = at ? right[at - 1] : null, row = right[at];
          if (row.previousElementSibling === before) continue;
          if (row === focused) { for (const other of right.slice(0, at).reverse()) if (moved++ < FEW) row.before(other); break; }
          if (before) before.after(row); else box.prepend(row);
          moved += 1;
        }
        if (moved) idle(step);
      };
      idle(step);
    }, TIDY);

    const sorted = () => {
      const found = api.getColumnState().find((column) => column.sort);
      return found ? `${found.sort === "desc" ? "-" : ""}${found.colId}` : "";
    };
    const sort = (words) => {
      const name = (words || "rank").replace(/^-/, "");
      if (!api.getColumn(name) || (held.has(name) && !byId.has(name))) return false;
      if (sorted() === `${words && words.startsWith("-") ? "-" : ""}${name}`) return true;
      api.applyColumnState({ state: [{ colId: name, sort: words && words.startsWith("-") ? "desc" : "asc" }], defaultState: { sort: null } });
      return true;
    };
    const alone = (target) => {
      const cell = target instanceof Element ? target.closest(".ag-header-group-cell[col-id^='group-']") : null;
      if (!cell) return false;
      options.ongroup(cell.getAttribute("col-id").replace(/^group-/, "").replace(/_\d+$/, ""));
      return true;
    };
    host.addEventListener("click", (event) => alone(event.target));
    host.addEventListener("keydown", (event) => { if (event.key === "Enter" && alone(event.target)) event.preventDefault(); });

    // Shadows where there is more, told from what is known of sizes and scrolling, so that nothing is laid out for them.
    const viewport = host.querySelector(".ag-grid-viewport") || host.querySelector(".ag-center-cols-viewport") || host;
    let left = 0, top = 0;
    const edges = () => {
      const wide = sizes().reduce((sum, [, width]) => sum + width, 0), high = now.rows.length * widths.row + widths.heading + widths.group;
      host.classList.toggle("more-left", left > 1);
      host.classList.toggle("more-right", left + room.width < wide - 1);
      host.classList.toggle("more-below", top + room.height < high - 1);
    };
    host.addEventListener("scroll", () => { ({ scrollLeft: left, scrollTop: top } = viewport); edges(); }, { capture: true, passive: true });

    // Bring the grid's columns up to date: hidden and shown, in order and as wide as they are now, or defined again.
    const columns = () => {
      const next = sizes();
      if (now.columns.some((column) => held.get(column.id) !== kind(column))) {
        hold();
        api.updateGridOptions({ columnDefs: definitions() });
      } else if (JSON.stringify(next) !== laid) {
        laid = JSON.stringify(next);
        const hidden = [...held.keys()].filter((id) => !byId.has(id));
        api.applyColumnState({ state: [...next.map(([colId, width]) => ({ colId, width, hide: false })), ...hidden.map((colId) => ({ colId, hide: true, sort: null }))], applyOrder: true });
      }
    };
    const heights = () => {
      const given = {};
      for (const [name, height] of [["rowHeight", widths.row], ["headerHeight", widths.heading], ["groupHeaderHeight", widths.group]]) if (api.getGridOption(name) !== height) given[name] = height;
      return given;
    };
    const resized = new ResizeObserver(harness.later(() => {
      if (gone || !host.isConnected) return;
      const { width, height } = room;
      measure();
      if (room.width === width && room.height === height) return;
      lay();
      columns();
      api.updateGridOptions(heights());
      cells.draw();
      edges();
      options.onsize();
    }, WAIT));
    resized.observe(host);

    return {
      api, sort, sorted, edges,
      // True if “Fit” and “Full” show the same.
      equal: () => widths.equal,
      // The rows in the order that is seen.
      order: () => { const found = []; api.forEachNodeAfterFilterAndSort((node) => found.push(node.data.i)); return found; },
      column: (name) => byId.get(name),
      // Only numbers have changed.
      redraw: () => cells.draw(),
      update: (next, changed) => {
        const rowsBefore = now.rows.join(), same = now === next, board = now.board === next.board;
        now = next;
        Object.assign(options, changed);
        lay();
        columns();
        const given = heights(), moved = !board || now.rows.join() !== rowsBefore;
        if (moved) given.rowData = rows();
        if (Object.keys(given).length) api.updateGridOptions(given);
        if (!same && !moved) api.refreshClientSideRowModel("sort");
        cells.draw();
        edges();
      },
      destroy: () => { gone = true; resized.disconnect(); api.destroy(); },
    };
  };
})();

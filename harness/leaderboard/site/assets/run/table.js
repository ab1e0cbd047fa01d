// The samples as a grid: one line a sample; the chosen one is marked, and all keys of a grid work.
"use strict";
(() => {
  const { make, plain } = harness;
  const ROW = 28, HEAD = 30, SCROLLBAR = 16;
  const NARROW = 640; // below this width columns of numbers go, so that none is cut
  const MARKS = { right: ["✓", "right"], wrong: ["✕", "wrong"], part: ["◐", "partly right"], "": ["", ""] };

  // The score of a sample as its column has it.
  harness.sampleScore = (samples, n) => {
    const score = samples.index.score[n];
    return score === null ? "–" : Number.isInteger(score) ? String(score) : harness.digits(score, samples.graded, true);
  };
  harness.sampleMark = (samples, n, { words = true } = {}) => {
    const [sign, name] = MARKS[samples.mark(n)];
    return sign ? make(`span.sign.${samples.mark(n)}`, words ? { role: "img", "aria-label": name } : { "aria-hidden": "true" }, sign) : null;
  };

  // The columns that a run has: [{name, title, tip, width | grow, end}…].
  harness.sampleColumns = (samples) => [
    samples.graded ? { name: "tick", title: "✓", tip: samples.binary ? "Right ✓ or wrong ✕" : "Right ✓, wrong ✕ or partly right ◐", width: 34 } : null,
    { name: "id", title: "Id", tip: "The sample's identifier in its data set", width: 104 },
    samples.copies ? { name: "copy", title: "Copy", tip: "The perturbation of a perturbed copy", width: 84 } : null,
    samples.several ? { name: "sample", title: "Sample", tip: "Number of this answer among those sampled for the same prompt", width: 68, end: true } : null,
    { name: "input", title: "Input", tip: "The end of the question", grow: 2.6 },
    { name: "expected", title: "Expected", tip: "The correct answer in the data set", grow: 1.3 },
    { name: "answer", title: "Read answer", tip: "What was read from the model's answer, and scored", grow: 1.3 },
    { name: "score", title: "Score", tip: "The run's main metric", width: 62, end: true },
    { name: "tokens", title: "Tokens", tip: "Number of tokens that were generated or scored", width: 66, end: true },
  ].filter(Boolean);

  // options: {onopen(n), onsort(words), onlines(k)}. keep: Uint8Array of the samples that the filter leaves.
  harness.sampleGrid = (host, samples, keep, options) => {
    let shown = keep;
    let placed = null; // the row that this file focused last; the grid reports it later
    const columns = harness.sampleColumns(samples);
    const loaded = (n) => {
      const line = samples.line(n);
      if (!line) options.onlines(Math.floor(n / samples.index.lines));
      return line;
    };
    // Of a text that was cut, the end is seen.
    const ending = (value) => make(value.startsWith("…") ? "bdi.ending" : "bdi", null, plain(value, 180));
    const cells = {
      tick: (n) => harness.sampleMark(samples, n) || make("span.faint", null, "–"),
      id: (n) => { const line = loaded(n); return line ? make("bdi.ending", null, plain(line.id, 60)) : make("span.faint", null, "…"); },
      copy: (n) => { const name = samples.perturbation(n); return make("span", null, name === null ? "" : plain(harness.title("perturbations", name), 30)); },
      sample: (n) => String(samples.sample(n) + 1),
      input: (n) => make("bdi.ending", null, plain(loaded(n)?.input ?? "", 170)),
      expected: (n) => { const line = loaded(n); return line?.expected ? ending(line.expected) : make("span.faint", null, line ? "–" : ""); },
      answer: (n) => { const line = loaded(n); return !line ? "" : line.answer === null ? make("span.faint", null, "not read") : line.answer === "" ? make("span.faint", null, "empty") : ending(line.answer); },
      score: (n) => harness.sampleScore(samples, n),
      tokens: (n) => harness.count(samples.index.tokens[n]),
    };
    class Cell {
      init({ data, column: { colId } }) { const made = cells[colId](data.n); this.element = made instanceof Node ? made : make("span", null, made); }
      getGui() { return this.element; }
      refresh() { return false; }
    }
    const order = (a, b, one, other, descending) => (a === null || b === null ? ((a === null) - (b === null)) * (descending ? -1 : 1) : a - b);
    let copied = true; // rows may be copies
    const hidden = () => new Set([...(copied ? [] : ["copy"]), ...(host.clientWidth < NARROW ? ["tokens"] : []), ...(host.clientWidth < NARROW && samples.binary ? ["score"] : [])]);
    const widths = () => {
      const without = hidden(), seen = columns.filter((column) => !without.has(column.name));
      const room = Math.max(200, host.clientWidth - SCROLLBAR - seen.reduce((sum, column) => sum + (column.width || 0), 0));
      const total = seen.reduce((sum, column) => sum + (column.grow || 0), 0);
      return columns.map((column) => column.width || Math.max(64, Math.floor((room * column.grow) / total)));
    };
    // Arrows open the next row at once: the grid reports its focus later, and j or k may be pressed before that.
    const arrow = ({ event, node }) => {
      const by = event.type === "keydown" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : 0;
      const next = by ? api.getDisplayedRowAtIndex(node.rowIndex + by) : null;
      if (!next) return false;
      event.preventDefault();
      options.onopen(next.data.n, false);
      return true;
    };
    const definitions = () => { const wide = widths(), without = hidden(); return columns.map((column, at) => ({
      colId: column.name, hide: without.has(column.name), headerName: column.title, width: wide[at], minWidth: 30, cellRenderer: Cell, headerClass: column.end ? "end" : "", cellClass: column.end ? `${column.name} end` : column.name,
      valueGetter: ({ data }) => samples.rank(column.name)[data.n], sortingOrder: column.name === "score" || column.name === "tick" ? ["asc", "desc", null] : column.name === "tokens" ? ["desc", "asc", null] : ["asc", "desc", null],
    })); };
    const api = window.agGrid.createGrid(host, {
      theme: "legacy",
      columnDefs: definitions(),
      rowData: Array.from({ length: samples.count }, (_, n) => ({ n })),
      getRowId: ({ data }) => String(data.n),
      defaultColDef: { sortable: true, resizable: true, suppressMovable: true, comparator: order, suppressHeaderMenuButton: true, suppressKeyboardEvent: arrow },
      rowSelection: { mode: "singleRow", checkboxes: false, enableClickSelection: false },
      isExternalFilterPresent: () => true,
      doesExternalFilterPass: ({ data }) => shown[data.n] === 1,
      rowHeight: ROW, headerHeight: HEAD,
      animateRows: false, suppressNoRowsOverlay: true, ensureDomOrder: true, suppressColumnMoveAnimation: true, suppressDragLeaveHidesColumns: true, rowBuffer: 8,
      onRowClicked: ({ data }) => options.onopen(data.n, true),
      onCellFocused: ({ rowIndex }) => {
        if (rowIndex === null || rowIndex === placed || rowIndex !== api.getFocusedCell()?.rowIndex) return;
        placed = null;
        const node = api.getDisplayedRowAtIndex(rowIndex);
        if (node) options.onopen(node.data.n, false);
      },
      onCellKeyDown: ({ event, data }) => { if (event.key === "Enter") options.onopen(data.n, true); },
      onSortChanged: ({ source }) => { if (source !== "api") options.onsort(sorted()); },
    });
    host.querySelector("[role=grid], [role=treegrid]")?.setAttribute("aria-label", "Samples");
    const sorted = () => { const found = api.getColumnState().find((column) => column.sort); return found ? `${found.sort === "desc" ? "-" : ""}${found.colId}` : ""; };
    const fit = () => { const wide = widths(), without = hidden(); for (const { name } of columns) api.setColumnsVisible([name], !without.has(name)); api.setColumnWidths(columns.map((column, at) => ({ key: column.name, newWidth: wide[at] }))); };
    let drawn = host.clientWidth;
    let gone = false;
    const resized = new ResizeObserver(harness.later(() => { if (!gone && host.isConnected && host.clientWidth !== drawn) { drawn = host.clientWidth; fit(); } }, 100));
    resized.observe(host);
    const nodeOf = (n) => api.getRowNode(String(n));
    const focusRow = (row, column) => { placed = row; api.setFocusedCell(row, column); };

    return {
      api, sorted,
      sort(words) {
        const name = (words || "").replace(/^-/, "");
        if (name && !api.getColumn(name)) return false;
        if (sorted() !== (words || "")) api.applyColumnState({ state: name ? [{ colId: name, sort: words.startsWith("-") ? "desc" : "asc" }] : [], defaultState: { sort: null } });
        return true;
      },
      filter(next) { shown = next; api.onFilterChanged(); },
      // True if the rows may be perturbed copies.
      copies(may) { if (copied !== may) { copied = may; fit(); } },
      // Lines have come.
      refresh() { api.refreshCells({ force: true, columns: ["id", "input", "expected", "answer"] }); },
      resort() { api.refreshClientSideRowModel("sort"); },
      // The samples in the order that is seen.
      order: () => { const found = []; api.forEachNodeAfterFilterAndSort((node) => found.push(node.data.n)); return found; },
      place: (n) => nodeOf(n)?.rowIndex ?? -1,
      at: (place) => api.getDisplayedRowAtIndex(place)?.data.n ?? -1,
      size: () => api.getDisplayedRowCount(),
      choose(n) {
        const node = nodeOf(n);
        if (!node) return;
        node.setSelected(true, true);
        if (node.rowIndex === null) return;
        api.ensureIndexVisible(node.rowIndex);
        if (host.contains(document.activeElement)) focusRow(node.rowIndex, api.getFocusedCell()?.column.getColId() || "id");
      },
      focus(n) { const row = Math.max(0, nodeOf(n)?.rowIndex ?? 0); api.ensureIndexVisible(row); focusRow(row, "id"); },
      destroy() { gone = true; resized.disconnect(); api.destroy(); },
    };
  };
})();

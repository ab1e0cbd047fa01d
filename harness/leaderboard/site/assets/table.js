// Tables that sort by a heading; the order is part of the address where the page says so.
"use strict";
(() => {
  const { make, text } = harness;

  // columns: {name, label, key(row) → number | string | null, cell(row) → node | text, first: "ascending" | "descending",
  //           kind: "text" | "number", note, title, tip, class}.
  // options: {caption, sort: "name" or "-name", onsort(sort), rowClass(row), id, group: [[label, span]…], label}.
  harness.table = (columns, rows, options = {}) => {
    const heads = columns.map((column) => {
      const kind = column.kind || "number";
      const inner = make("button.sort", { type: "button", id: `${options.id || "t"}-${column.name}`, title: column.title, "data-tip": column.tip },
        column.label instanceof Node ? column.label : make("span.title", null, text(column.label, 60)), column.note ? make("small", null, column.note) : null);
      const head = make(`th${kind === "text" ? ".left" : ""}${column.class ? `.${column.class}` : ""}`, { scope: "col" }, column.key ? inner : column.tip ? make("span", { tabindex: "0", "data-tip": column.tip }, ...inner.childNodes) : [...inner.childNodes]);
      if (column.key) inner.addEventListener("click", () => {
        const first = column.first || (kind === "text" ? "ascending" : "descending");
        const up = state.sort === column.name, down = state.sort === `-${column.name}`;
        const next = up ? `-${column.name}` : down ? column.name : first === "ascending" ? column.name : `-${column.name}`;
        arrange(next);
        if (options.onsort) options.onsort(next);
      });
      return head;
    });
    const body = make("tbody");
    const lines = rows.map((row) => {
      const line = make("tr", { class: options.rowClass ? options.rowClass(row) : null });
      columns.forEach((column, position) => {
        const content = column.cell(row);
        const kind = column.kind || "number";
        if (content instanceof HTMLTableCellElement) line.append(content);
        else if (position === 0 && options.rowHead !== false) line.append(make(`th${kind === "text" ? ".left" : ""}${column.class ? `.${column.class}` : ""}`, { scope: "row" }, content));
        else line.append(make(`td${kind === "text" ? ".left" : ""}${column.class ? `.${column.class}` : ""}`, null, content ?? "—"));
      });
      return { row, line };
    });
    const state = { sort: "" };
    const arrange = (sort) => {
      state.sort = sort || "";
      const down = state.sort.startsWith("-");
      const at = columns.findIndex((column) => column.name === (down ? state.sort.slice(1) : state.sort));
      heads.forEach((head, position) => {
        if (position === at) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const order = [...lines];
      if (at >= 0) {
        const key = columns[at].key, sign = down ? -1 : 1;
        const keyed = new Map(lines.map((item) => [item, key(item.row)]));
        order.sort((a, b) => {
          const one = keyed.get(a), other = keyed.get(b);
          const none = (value) => value === null || value === undefined || value === "";
          if (none(one) || none(other)) return none(one) - none(other);
          return sign * (typeof one === "string" ? one.localeCompare(other) : one - other);
        });
      }
      body.replaceChildren(...order.map((item) => item.line));
    };
    arrange(options.sort);
    const groups = options.group ? make("tr.groups", null, options.group.map(([label, span]) => make("th", { colspan: span, scope: "colgroup" }, make("span", null, label)))) : null;
    const caption = options.caption ? make("caption", null, make("div", null, options.caption)) : null;
    const table = make("table", options.id ? { id: options.id } : null, caption, make("thead", null, groups, make("tr", null, heads)), body);
    return make("div.scroll", { role: "region", tabindex: "0", "aria-label": options.label || "Table" }, table);
  };
})();

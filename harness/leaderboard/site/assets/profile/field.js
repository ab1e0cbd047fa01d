// One model's results against the others' on a board: medians, distances, ranks, and how they are drawn.
"use strict";
(() => {
  const { make, plain, number } = harness;

  const median = (values) => {
    if (!values.length) return null;
    const ordered = [...values].sort((a, b) => a - b);
    return (ordered[(ordered.length - 1) >> 1] + ordered[ordered.length >> 1]) / 2;
  };
  // True if a metric is a share, between 0 and 1.
  const isShare = (metric) => { const range = harness.names.metrics[metric]?.range; return Boolean(range && range[0] === 0 && range[1] === 1); };
  const score = (value, metric) => (value === null || value === undefined ? "–" : harness.digits(value, isShare(metric), true));
  const interval = (low, high, metric) => (low === null || low === undefined || high === null ? "" : `[${score(low, metric)}, ${score(high, metric)}]`);
  const signed = (value, metric) => `${value < 0 ? "−" : "+"}${score(Math.abs(value), metric)}`;

  // One model's cell of a column among the others'. cells: [mean, low, high, n, complete, best, first, last, marks] or null by
  // model; higher: true if higher is better. side: 1 if its rank range is in the better half, -1 if in the worse, else 0.
  const standing = (cells, at, higher, metric) => {
    const cell = cells[at];
    const others = cells.filter((one, i) => i !== at && one && one[4] && one[0] !== null).map((one) => one[0]);
    const own = cell && cell[0] !== null ? cell : null;
    const middle = median(others);
    const found = { cell: own, others, median: middle, first: own ? own[6] : null, last: own ? own[7] : null, range: rangeOf(cells, metric), better: null, distance: null, side: 0 };
    if (!own || middle === null || higher === null) return found;
    found.better = (own[0] - middle) * (higher ? 1 : -1);
    const known = harness.names.metrics[metric]?.range;
    // By the metric's range, which does not depend on how few models there are; without bounds, by the larger of both numbers.
    const width = known && known[0] !== null && known[1] !== null ? known[1] - known[0] : Math.max(Math.abs(own[0]), Math.abs(middle));
    found.distance = found.better / (width || 1);
    const field = others.length + 1;
    if (found.first !== null) found.side = found.last <= field / 2 ? 1 : found.first > (field + 1) / 2 ? -1 : 0;
    return found;
  };
  // The axis of a column: 0 to 1 for shares that fill it, else what the values and their intervals take.
  const rangeOf = (cells, metric) => {
    const values = cells.filter((one) => one && one[0] !== null).flatMap((one) => [one[0], one[1], one[2]]).filter((value) => value !== null);
    if (isShare(metric) || !values.length) return [0, 1];
    const low = Math.min(...values), high = Math.max(...values), pad = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
    return [low - pad, high + pad];
  };
  const strip = (found) => (found.cell ? harness.strip(found.cell[0], found.others, { low: found.cell[1], high: found.cell[2], range: found.range }) : null);
  const ranks = (found) => (found.first === null || found.first === undefined ? make("span.faint", { "data-tip": found.others.length ? "The results of this column cannot be ranked." : "There is no other model in this column." }, "–")
    : make("span", { "data-tip": found.first === found.last ? `Rank ${found.first} of ${found.others.length + 1}` : `Between rank ${found.first} and ${found.last} of ${found.others.length + 1}: the range that the data allow` }, harness.rankRange(found.first, found.last)));

  // The heading of a column of a table, with its definition on hover and focus.
  const heading = (title, definition, kind = "") => make(`th${kind ? `.${kind}` : ""}`, { scope: "col" }, definition ? make("span.defined", { tabindex: "0", "data-tip": definition }, title) : title);

  // A table: columns [{title, tip, kind, width}], rows of cells; a cell is an element td or th, or what goes into a td.
  const table = (label, columns, rows, { id = null } = {}) => make("div.scroll", { role: "region", tabindex: "0", "aria-label": label }, make("table.even", { id },
    make("thead", null, make("tr", null, columns.map(({ title, tip, kind }) => heading(title, tip, kind)))),
    make("tbody", null, rows.map((cells) => make("tr", null, cells.map((cell, i) => (cell instanceof HTMLTableCellElement ? cell
      : i === 0 ? make("th.left", { scope: "row" }, cell) : make(columns[i].kind ? `td.${columns[i].kind}` : "td", null, cell))))))));

  // A metric's title with an arrow in the direction that is better.
  const metricName = (metric, higher, limit = 32, form = "short") => make("span", { tabindex: "0", "data-tip": harness.about("metrics", metric) }, harness.text(harness.title("metrics", metric, form), limit), higher === null ? "" : higher ? " ↑" : " ↓");

  // One number of the first line of a page.
  const figure = (title, tip, value, small, ...below) => make("div", null, make("dt", null, make("span.defined", { tabindex: "0", "data-tip": tip }, title)),
    make("dd", null, make("p.figure", null, value, small ? [" ", make("small", null, small)] : null), below));

  // Facts on one line; a fact is [name, value or null, tooltip]. Those without a value are named together at the end.
  const factLine = (pairs) => {
    const known = ([, value]) => value !== null && value !== undefined && value !== "";
    const unknown = pairs.filter((pair) => !known(pair));
    return make("dl.fact-line", null, pairs.filter(known).map(([name, value, tip]) => make("div", null, make("dt", null, name), make("dd", null, make("span", tip ? { tabindex: "0", "data-tip": tip } : null, value)))),
      unknown.length ? make("div", null, make("dt", null, "Not stated"), make("dd", null, make("span.faint", { tabindex: "0", "data-tip": unknown[0][2] || null }, unknown.map(([name]) => name.toLowerCase()).join(", ")))) : null);
  };

  harness.field = { median, isShare, score, interval, signed, standing, strip, ranks, heading, table, metricName, figure, factLine, number, plain };
})();

// Charts in SVG: points with intervals, curves with bands, rows of marks, tables of tints; one series is highlighted and named,
// the rest are grey. A chart fills the width that it is given, and is drawn again when that changes.
//
//   await harness.charts();                                   // loads this file and its styles; once
//   main.append(harness.chart({ label: "Accuracy over steps", // the text alternative; say what one sees, or give a table too
//     x: { title: "training step", scale: "log" }, y: { title: "accuracy (higher is better)", range: [0, 1] },
//     series: [{ name: "small-llama", line: true, band: true, points: [{ x: 100, y: 0.31, low: 0.28, high: 0.34, tip: ["n = 300"], href: "#/run/…" }] }],
//     chosen: "small-llama" }));
//
// axis:   {title, range: [low, high], scale: "linear" | "log" | "symlog", ticks: [number…], format(number)}; the title names the unit.
// series: {name, note, line, band, points}. `note` is a sentence shown below the chart while the series is the chosen one.
// point:  {x, y, low, high, tip: [line…], href, mark: "dot" | "tick", row}; low and high are on y, in a chart of rows on x.
// Other keys: title (inside the chart), chosen (a series' name), aspect (height over width), most (greatest height),
//   diagonal: {below, above} (words beside the line of equal values), guides: [{x | y, words}].
// rows:   [name…] instead of y: points lie on the row with their number `row`, named on the left.
// matrix: {names: [name…], cells: [{row, column, value, heat: 0…8, tip}…]} instead of x, y and series.
//
// The element has choose(name), to highlight another series, and the promise ready. Arrow keys move among the marks, Enter chooses
// or opens; the event "chosen", which bubbles, has the name of the series as its detail.
//
//   harness.reliability(curves, options)   // a reliability diagram; curves: [{name, ece: [value, low, high], count, bins}…],
//                                          // bins: [[probability, accuracy, low, high, count]…], as the builder writes them;
//                                          // notes: false leaves out the sentence below
//   harness.chartFiles(elements, name, table)   // buttons that save charts as SVG and PNG, and the table (see export.js) as CSV
"use strict";
(() => {
  const { make, plain } = harness;
  const SPACE = "http://www.w3.org/2000/svg";
  const SIZE = 11; // of texts, in pixels
  const ROW = 18;
  const FEW = 12; // curves that are all named at their ends
  const about = new WeakMap(); // what is known of a mark: {series, point, tip}

  const svg = (what, attributes, ...children) => {
    const [tag, ...classes] = what.split(".");
    const element = document.createElementNS(SPACE, tag);
    if (classes.length) element.setAttribute("class", classes.join(" "));
    for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) element.setAttribute(name, typeof value === "number" ? Math.round(value * 100) / 100 : value);
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
  };

  // ------------------------------------------------------------------------------------------------------------
  // Texts

  const canvas = document.createElement("canvas").getContext("2d");
  const widthOf = (text, bold) => {
    canvas.font = `${bold ? 600 : 400} ${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
    return canvas.measureText(text).width;
  };
  // The text, its middle left out if it is wider.
  const fitted = (text, width, bold) => {
    const whole = plain(text, 200);
    if (widthOf(whole, bold) <= width) return whole;
    let low = 3, high = whole.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (widthOf(plain(whole, middle), bold) <= width) low = middle; else high = middle - 1;
    }
    return plain(whole, low);
  };
  const write = (text, x, y, kind = "", attributes = {}) => svg(`text${kind}`, { x, y, "font-size": SIZE, ...attributes }, text);
  // A text in lines of a greatest width.
  const lines = (text, width) => {
    const found = [""];
    for (const word of plain(text, 300).split(" ")) {
      const longer = found.at(-1) ? `${found.at(-1)} ${word}` : word;
      if (!found.at(-1) || widthOf(longer) <= width) found[found.length - 1] = longer; else found.push(word);
    }
    return found;
  };

  // ------------------------------------------------------------------------------------------------------------
  // Scales

  const STEPS = [1, 2, 5];
  const DECADES = 20; // numbers that span less than this factor are on a linear axis
  const BENT = { linear: (v) => v, log: (v) => Math.log10(v), symlog: (v) => Math.sign(v) * Math.log10(1 + Math.abs(v)) };
  const short = (value) => (value !== 0 && (Math.abs(value) >= 1e4) ? value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 })
    : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(0).replace("e-", "e−") : String(Number(value.toPrecision(6))).replace("-", "−"));
  const linear = ([low, high], most, fixed) => {
    const step = [...Array(40).keys()].map((at) => STEPS[at % 3] * 10 ** (Math.floor(at / 3) + Math.floor(Math.log10((high - low) / most)))).find((each) => (high - low) / each <= most);
    const from = (fixed ? Math.ceil(low / step - 1e-9) : Math.floor(low / step + 1e-9)), to = (fixed ? Math.floor(high / step + 1e-9) : Math.ceil(high / step - 1e-9));
    return Array.from({ length: to - from + 1 }, (_, at) => Number(((from + at) * step).toPrecision(12)));
  };
  const powers = (low, high, parts) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1) for (const part of parts) found.push(Number((part * 10 ** power).toPrecision(3)));
    return found;
  };
  const logarithmic = ([low, high], most, fixed) => {
    for (const parts of [[1, 2, 5], [1, 3], [1]]) {
      const all = powers(low, high, parts);
      const from = all.findLastIndex((each) => each <= low * (1 + 1e-9)), to = all.findIndex((each) => each >= high * (1 - 1e-9));
      const found = fixed ? all.filter((each) => each >= low && each <= high) : all.slice(Math.max(0, from), to + 1);
      if (found.length <= most || parts.length === 1) return found.filter((_, at) => at % Math.ceil(found.length / most) === 0 || at === found.length - 1);
    }
    return [];
  };
  // From values to pixels, with ticks. Without a range the axis reaches from tick to tick.
  const scaled = (axis, values, [from, to], most) => {
    let kind = axis.scale || "linear";
    if (kind === "log" && [...values, ...(axis.range || [])].some((value) => !(value > 0))) kind = "symlog";
    if (kind === "log" && Math.max(...values) < DECADES * Math.min(...values)) kind = "linear";
    const bend = BENT[kind];
    let [low, high] = axis.range || [values[0] ?? 1, values[0] ?? 1];
    for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
    if (!(high > low)) [low, high] = kind === "log" ? [low / 2 || 0.5, low * 2 || 2] : [low - Math.max(0.5, Math.abs(low) / 10), low + Math.max(0.5, Math.abs(low) / 10)];
    let ticks = axis.ticks;
    if (!ticks && kind === "symlog") ticks = [0, ...[1, -1].flatMap((sign) => powers(1, Math.max(Math.abs(low), Math.abs(high)), Math.max(Math.abs(low), Math.abs(high)) > 1e3 ? [1] : [1, 3]).filter((each) => each >= 1).map((each) => sign * each))].filter((each) => each >= low && each <= high).sort((a, b) => a - b);
    else if (!ticks) ticks = (kind === "log" ? logarithmic : linear)([low, high], Math.max(2, most), Boolean(axis.range));
    if (!axis.range && kind !== "symlog" && ticks.length > 1) { low = Math.min(low, ticks[0]); high = Math.max(high, ticks.at(-1)); }
    const [start, end] = [bend(low), bend(high)];
    return { at: (value) => from + ((bend(value) - start) / (end - start || 1)) * (to - from), ticks, format: axis.format || short };
  };

  // ------------------------------------------------------------------------------------------------------------
  // Marks

  const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
  const mark = (element, series, point, spec) => {
    about.set(element, { series, point });
    element.classList.add("mark");
    element.setAttribute("role", "img");
    element.setAttribute("tabindex", "-1");
    element.setAttribute("aria-label", [series && (spec.series.length > 1 || spec.rows) ? plain(series.name, 80) : "", ...(point.tip || [])].filter(Boolean).map((line) => plain(line, 120)).join(", "));
    return element;
  };
  harness.tips("svg.chart .mark", (element) => {
    const { series, point } = about.get(element) || {};
    return point && [series ? make("strong", null, plain(series.name, 120)) : null, (point.tip || []).map((line) => make("p", null, plain(line, 200)))];
  });

  const grid = (spec, x, y, box) => svg("g.grid", { "aria-hidden": "true" },
    x.ticks.map((tick) => [svg("line", { x1: x.at(tick), x2: x.at(tick), y1: box.top, y2: box.bottom }), write(x.format(tick), x.at(tick), box.bottom + 15, "", { "text-anchor": "middle" })]),
    y ? y.ticks.map((tick) => [svg("line", { x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }), write(y.format(tick), box.left - 7, y.at(tick) + 4, "", { "text-anchor": "end" })]) : null,
    lines(spec.x.title || "", box.right - 4).map((line, at) => write(line, box.right, box.bottom + 32 + 14 * at, ".title", { "text-anchor": "end" })));

  const guides = (spec, x, y, box) => (spec.guides || []).map((guide) => {
    const upright = known(guide.x), at = upright ? x.at(guide.x) : y.at(guide.y);
    return svg("g.guide", { "aria-hidden": "true" }, svg("line", upright ? { x1: at, x2: at, y1: box.top, y2: box.bottom } : { x1: box.left, x2: box.right, y1: at, y2: at }),
      guide.words ? write(guide.words, upright ? at + 4 : box.right - 2, upright ? box.top + 10 : at - 4, "", { "text-anchor": upright ? "start" : "end" }) : null);
  });

  const titled = (spec, width) => (spec.title ? write(fitted(spec.title, width - 4, true), 0, 13, ".heading") : null);

  // Where a label of a point can stand: right, left, above, below; free of other labels, and of marks unless it must be shown.
  const placed = (text, bold, [x, y], box, taken, dots, must) => {
    const width = widthOf(text, bold), height = SIZE + 2;
    const spots = [[x + 8, y - height / 2], [x - 8 - width, y - height / 2], [x - width / 2, y - 8 - height], [x - width / 2, y + 8], [x + 6, y - 6 - height], [x + 6, y + 6], [x - 6 - width, y - 6 - height], [x - 6 - width, y + 6]];
    const free = ([left, top], marks) => left >= box.left - 2 && left + width <= box.right + 2 && top >= box.top - 12 && top + height <= box.bottom + 2
      && !taken.some((other) => left < other[2] && left + width > other[0] && top < other[3] && top + height > other[1])
      && !(marks && dots.some(([a, b]) => a > left - 3 && a < left + width + 3 && b > top - 3 && b < top + height + 3));
    const spot = spots.find((each) => free(each, true)) || (must ? spots.find((each) => free(each, false)) : null);
    if (spot) taken.push([spot[0], spot[1], spot[0] + width, spot[1] + height]);
    return spot && [spot[0], spot[1] + SIZE - 1];
  };

  // ------------------------------------------------------------------------------------------------------------
  // The three kinds of charts; each returns [the drawing's height, its content, its width if it is not the given one]

  const drawnMark = (series, point, x, y, spec, chosen) => {
    const tick = point.mark === "tick";
    const shape = tick ? svg("path.tick", { d: `M${Math.round(x * 10) / 10} ${Math.round((y - 5) * 10) / 10}v10` }) : svg("circle.dot", { cx: x, cy: y, r: chosen ? 4.5 : 3.2 });
    return mark(shape, series, point, spec);
  };

  const points = (spec, width) => {
    const all = spec.series.flatMap((series) => series.points);
    const first = spec.series.find((series) => series.name === spec.chosen);
    const several = spec.series.length > 1;
    const curves = spec.series.filter((series) => series.line && series.points.length);
    const ends = several && curves.length === spec.series.length && !spec.diagonal;
    const named = ends && (curves.length <= FEW ? curves : curves.filter((series) => series === first));
    const most = Math.max(3, Math.floor((spec.most || 360) / 44));
    const probe = scaled(spec.y, all.flatMap((p) => [p.y, p.low, p.high]).filter(known), [1, 0], most);
    const left = Math.ceil(Math.max(14, ...probe.ticks.map((tick) => widthOf(probe.format(tick))))) + 10;
    const right = named ? Math.min(width * 0.35, 16 + Math.max(0, ...named.map((series) => widthOf(plain(series.name, 60), true)))) : 12;
    const heads = lines(spec.y.title || "", width - 4);
    const keyed = several && first && !ends && first.points.length > 1;
    const top = (spec.title ? 22 : 0) + heads.length * 14 + (keyed ? 17 : 0) + 8;
    const tall = Math.min(spec.most || 360, spec.aspect === 1 ? width - left - right : Math.max(240, (width - left - right) * (spec.aspect || 0.62)));
    // Equal units on both axes, where they have the same range.
    const box = { left, right: spec.aspect === 1 ? left + tall : width - right, top, bottom: top + tall };
    const x = scaled(spec.x, all.map((p) => p.x).filter(known), [box.left, box.right], Math.floor((box.right - box.left) / 64));
    const y = scaled(spec.y, all.flatMap((p) => [p.y, p.low, p.high]).filter(known), [box.bottom, box.top], Math.max(3, Math.floor(tall / 44)));
    const parts = [titled(spec, width), heads.map((line, at) => write(line, 0, (spec.title ? 22 : 0) + 11 + 14 * at, ".title")), grid(spec, x, y, box)];
    if (keyed) parts.push(svg("g.key", { "aria-hidden": "true" }, svg("circle.dot", { cx: 5, cy: top - 14, r: 4.5 }), write(fitted(first.name, box.right - 100, true), 14, top - 10, ".chosen"),
      svg("circle.dot.other", { cx: box.right - 66, cy: top - 14, r: 3.2 }), write(spec.series.length === 2 ? "1 other" : `${spec.series.length - 1} others`, box.right - 58, top - 10)));
    if (spec.diagonal) {
      parts.push(svg("g.guide", { "aria-hidden": "true" }, svg("line", { x1: x.at(0), y1: y.at(0), x2: x.at(1), y2: y.at(1) }),
        write(spec.diagonal.below, box.right - 6, box.bottom - 8, "", { "text-anchor": "end" }), write(spec.diagonal.above || "", box.left + 6, box.top + 14)));
    }
    parts.push(guides(spec, x, y, box));
    const dots = [], taken = [], labels = [];
    const order = [...spec.series].sort((a, b) => (a === first) - (b === first));
    for (const series of order) {
      const chosen = series === first || !several;
      const shown = series.points.filter((p) => known(p.x) && known(p.y));
      const group = svg(chosen ? "g.series.chosen" : "g.series");
      const ranged = shown.filter((p) => known(p.low) && known(p.high));
      if (series.line) {
        if (series.band && chosen && ranged.length > 1) group.append(svg("path.band", { d: `M${[...ranged.map((p) => [p.x, p.low]), ...[...ranged].reverse().map((p) => [p.x, p.high])].map(([a, b]) => `${x.at(a).toFixed(1)} ${y.at(b).toFixed(1)}`).join("L")}Z` }));
        if (shown.length > 1) group.append(svg("path.line", { d: `M${shown.map((p) => `${x.at(p.x).toFixed(1)} ${y.at(p.y).toFixed(1)}`).join("L")}` }));
      }
      if (chosen && !(series.line && series.band && ranged.length > 1)) for (const p of ranged) group.append(svg("path.whisker", { d: `M${x.at(p.x).toFixed(1)} ${y.at(p.low).toFixed(1)}V${y.at(p.high).toFixed(1)}m-3 0h6M${(x.at(p.x) - 3).toFixed(1)} ${y.at(p.low).toFixed(1)}h6` }));
      for (const p of shown) {
        dots.push([x.at(p.x), y.at(p.y)]);
        group.append(drawnMark(series, p, x.at(p.x), y.at(p.y), spec, chosen));
      }
      parts.push(group);
    }
    if (ends) {
      const wanted = named.map((series) => ({ series, at: y.at(series.points.at(-1).y) })).sort((a, b) => (b.series === first) - (a.series === first) || a.at - b.at);
      for (const { series, at } of wanted) {
        const spot = [0, 1, -1, 2, -2].map((step) => at + step * 7).find((each) => !taken.some((other) => Math.abs(other - each) < 13));
        if (spot === undefined) continue;
        taken.push(spot);
        labels.push(write(fitted(series.name, right - 12, series === first), box.right + 8, spot + 4, series === first ? ".chosen" : ".other"));
      }
    } else if (several) {
      for (const series of order.reverse()) {
        if (series.points.length !== 1 || !known(series.points[0].x) || !known(series.points[0].y)) continue;
        const name = fitted(series.name, 150, series === first);
        const spot = placed(name, series === first, [x.at(series.points[0].x), y.at(series.points[0].y)], box, taken, dots, series === first);
        if (spot) labels.push(write(name, spot[0], spot[1], series === first ? ".chosen" : ".other"));
      }
    }
    parts.push(svg("g.labels", { "aria-hidden": "true" }, labels));
    return [box.bottom + 38 + 14 * (lines(spec.x.title || "", box.right - 4).length - 1), parts];
  };

  const rows = (spec, width) => {
    const all = spec.series.flatMap((series) => series.points);
    const first = spec.series.find((series) => series.name === spec.chosen);
    const own = new Set(first ? first.points.map((p) => p.row) : []);
    const left = Math.ceil(Math.min(width * 0.42, 8 + Math.max(0, ...spec.rows.map((name) => widthOf(plain(name, 200), true))))) + 6;
    const step = spec.rows.length > 60 ? 7 : ROW, top = (spec.title ? 22 : 0) + 4;
    const box = { left, right: width - 14, top, bottom: top + step * spec.rows.length + 4 };
    const x = scaled(spec.x, all.flatMap((p) => [p.x, p.low, p.high]).filter(known), [box.left + 6, box.right], Math.floor((box.right - box.left) / 58));
    const middle = (row) => top + step * (row + 0.5) + 2;
    const every = Math.ceil(13 / step);
    const parts = [titled(spec, width), grid(spec, x, null, box), guides(spec, x, null, box),
      svg("g.rows", { "aria-hidden": "true" }, spec.rows.map((name, row) => (row % every ? null : [
        svg("line", { x1: box.left, x2: box.right, y1: middle(row), y2: middle(row) }),
        write(fitted(name, left - 12, own.has(row) && spec.series.length > 1), left - 8, middle(row) + 4, own.has(row) && spec.series.length > 1 && own.size < spec.rows.length ? ".chosen" : "", { "text-anchor": "end" })])))];
    for (const series of [...spec.series].sort((a, b) => (a === first) - (b === first))) {
      const chosen = series === first || spec.series.length === 1;
      const group = svg(chosen ? "g.series.chosen" : "g.series");
      const shown = series.points.filter((p) => known(p.x)).sort((a, b) => (a.mark === "tick" ? 0 : 1) - (b.mark === "tick" ? 0 : 1));
      for (const p of shown) if (known(p.low) && known(p.high) && p.mark !== "tick") group.append(svg("path.whisker", { d: `M${x.at(p.low).toFixed(1)} ${middle(p.row).toFixed(1)}H${x.at(p.high).toFixed(1)}` }));
      for (const p of shown) group.append(drawnMark(series, p, x.at(p.x), middle(p.row), spec, chosen));
      parts.push(group);
    }
    return [box.bottom + 38 + 14 * (lines(spec.x.title || "", box.right - 4).length - 1), parts];
  };

  const matrix = (spec, width) => {
    const { names, cells } = spec.matrix;
    const longest = Math.max(...names.map((name) => widthOf(plain(name, 200), true)));
    const left = Math.min(width * 0.42, longest + 8) + 4, head = Math.min(130, longest) + 10;
    const step = Math.max(18, Math.min(28, (width - left - 2) / names.length));
    const at = names.indexOf(spec.chosen);
    const place = (index) => step * index;
    const parts = [
      svg("g.rows", { "aria-hidden": "true" }, names.map((name, index) => [
        write(fitted(name, left - 12, true), left - 8, head + place(index) + step / 2 + 4, index === at ? ".chosen" : "", { "text-anchor": "end" }),
        write(fitted(name, head - 10, true), 0, 0, index === at ? ".chosen" : "", { transform: `translate(${(left + place(index) + step / 2 + 4).toFixed(1)} ${head - 6}) rotate(-90)` })])),
      cells.map((cell) => svg("g", null,
        mark(svg(`rect.h${cell.heat}`, { x: left + place(cell.column) + 0.5, y: head + place(cell.row) + 0.5, width: step - 1, height: step - 1 }), null, cell, spec),
        step >= 21 ? write(cell.value, left + place(cell.column) + step / 2, head + place(cell.row) + step / 2 + 4, ".on-heat", { "text-anchor": "middle", "aria-hidden": "true" }) : null))];
    // A model has no contest with itself.
    parts.push(names.map((_, index) => svg("rect.self", { x: left + place(index) + 0.5, y: head + place(index) + 0.5, width: step - 1, height: step - 1, "aria-hidden": "true" })));
    if (at >= 0) parts.push(svg("rect.frame", { x: left, y: head + place(at), width: step * names.length, height: step, "aria-hidden": "true" }));
    return [head + step * names.length + 2, parts, Math.max(width, Math.ceil(left + step * names.length + 2))];
  };

  // ------------------------------------------------------------------------------------------------------------
  // A chart: drawing, choosing, keys

  harness.chart = (given) => {
    const spec = { series: [], ...given };
    const note = make("p.chart-note", { hidden: true });
    const pane = make("div.chart-pane");
    const holder = make("div.chart-holder", null, pane, note);
    let drawn = 0, tell;
    holder.ready = new Promise((done) => { tell = done; });
    const marks = () => [...pane.querySelectorAll(".mark")];
    const draw = (width) => {
      const held = pane.contains(document.activeElement) ? marks().indexOf(document.activeElement) : -1;
      const [height, parts, wide] = (spec.matrix ? matrix : spec.rows ? rows : points)(spec, width);
      const size = { width: wide || width, height: Math.ceil(height) };
      const picture = svg(spec.series.length > FEW ? "svg.chart.crowded" : "svg.chart", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, role: "group", "aria-label": plain(spec.label, 300) }, parts);
      pane.replaceChildren(picture);
      const first = pane.querySelector(".series.chosen .mark") || pane.querySelector(".mark");
      first?.setAttribute("tabindex", "0");
      if (held >= 0) marks()[Math.min(held, marks().length - 1)]?.focus({ preventScroll: true });
      const chosen = spec.series.find((series) => series.name === spec.chosen) || (spec.series.length === 1 ? spec.series[0] : null);
      note.textContent = chosen && chosen.note ? plain(chosen.note, 400) : "";
      note.hidden = !note.textContent;
      drawn = width;
      tell();
    };
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 60 && width !== drawn) draw(width);
    }).observe(holder);
    holder.choose = (name) => {
      const names = spec.matrix ? spec.matrix.names : spec.series.map((series) => series.name);
      if (!names.includes(name) || name === spec.chosen) return;
      spec.chosen = name;
      if (drawn) draw(drawn);
    };
    const choose = (element) => {
      const { series, point } = about.get(element) || {};
      if (point?.href) { location.hash = point.href.replace(/^#?/, "#"); return; }
      const name = series ? series.name : point && spec.matrix ? spec.matrix.names[point.row] : null;
      if (!name || name === spec.chosen) return;
      holder.choose(name);
      holder.dispatchEvent(new CustomEvent("chosen", { bubbles: true, detail: name }));
    };
    pane.addEventListener("click", (event) => { const element = event.target.closest(".mark"); if (element) choose(element); });
    pane.addEventListener("pointerover", (event) => {
      for (const hot of pane.querySelectorAll(".hot")) hot.classList.remove("hot");
      event.target.closest(".series")?.classList.add("hot");
    });
    pane.addEventListener("pointerleave", () => { for (const hot of pane.querySelectorAll(".hot")) hot.classList.remove("hot"); });
    pane.addEventListener("keydown", (event) => {
      const here = event.target.closest?.(".mark");
      if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); choose(here); return; }
      const next = neighbour(marks(), here, event.key);
      if (next === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      if (!next) return;
      for (const other of pane.querySelectorAll(".mark[tabindex='0']")) other.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
    return holder;
  };

  // The mark that an arrow key leads to: the nearest in its direction; null if there is none, undefined for other keys.
  const neighbour = (all, here, key) => {
    const centre = (element) => { const { x, y, width, height } = element.getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
    if (key === "Home" || key === "End") return key === "Home" ? all[0] : all.at(-1);
    const to = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
    if (!to) return undefined;
    const [x, y] = centre(here);
    let best = null, least = Infinity;
    for (const other of all) {
      if (other === here) continue;
      const [a, b] = centre(other);
      const along = (a - x) * to[0] + (b - y) * to[1], across = Math.abs((a - x) * to[1]) + Math.abs((b - y) * to[0]);
      if (along < 0.5 || along + 3 * across >= least) continue;
      best = other;
      least = along + 3 * across;
    }
    return best;
  };

  // ------------------------------------------------------------------------------------------------------------
  // Reliability diagrams

  const share = { range: [0, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] };
  harness.reliability = (curves, { notes = true, ...options } = {}) => harness.chart({
    label: `Reliability diagram: how often predictions are right, by the probability that the model gave them. ${curves.map(reading).slice(0, 3).join(" ")}`,
    x: { ...share, title: "mean probability of the model's prediction" }, y: { ...share, title: "share of correct predictions" }, aspect: 1, most: 420,
    diagonal: { below: "below: overconfident", above: "above: underconfident" }, chosen: curves[0]?.name,
    series: curves.map((curve) => ({ name: curve.name, line: true, note: notes ? reading(curve) : null,
      points: curve.bins.map(([probability, accuracy, low, high, count]) => ({ x: probability, y: accuracy, low, high,
        tip: [`says ${harness.fixed(probability, 2)}, right ${harness.fixed(accuracy, 2)}${known(low) ? ` [${harness.fixed(low, 2)}, ${harness.fixed(high, 2)}]` : ""}`, `${harness.count(count)} predictions, ${Math.abs(probability - accuracy) < 0.005 ? "calibrated" : probability > accuracy ? "overconfident" : "underconfident"}`] })) })),
    ...options,
  });
  // What a reliability diagram says of one model.
  const reading = ({ name, ece, count, bins }) => [plain(name, 60), ": ", ece ? `calibration error ${harness.fixed(ece[0], 3)}${known(ece[1]) ? ` [${harness.fixed(ece[1], 3)}, ${harness.fixed(ece[2], 3)}]` : ""}, ` : "",
    `${harness.count(count)} predictions in ${bins.length} ${bins.length === 1 ? "bin" : "bins"}.`].join("");

  // ------------------------------------------------------------------------------------------------------------
  // Files

  const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin", "opacity", "font-family", "font-weight", "text-anchor", "paint-order"];
  // The charts that are drawn in some elements as one picture, in the colours that are seen.
  const pictureOf = (elements) => {
    const found = elements.flatMap((element) => [...element.querySelectorAll("svg.chart")]);
    const boxes = found.map((each) => each.getBoundingClientRect());
    const left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
    const width = Math.ceil(Math.max(...boxes.map((box) => box.right)) - left) + 24, height = Math.ceil(Math.max(...boxes.map((box) => box.bottom)) - top) + 24;
    const whole = svg("svg", { xmlns: SPACE, width, height, viewBox: `0 0 ${width} ${height}` }, svg("rect", { width, height, fill: harness.colour("bg") }));
    found.forEach((each, at) => {
      const copy = each.cloneNode(true);
      const sources = each.querySelectorAll("*"), targets = copy.querySelectorAll("*");
      sources.forEach((source, i) => {
        const style = getComputedStyle(source);
        for (const name of KEPT) targets[i].setAttribute(name, style.getPropertyValue(name));
        for (const name of ["class", "tabindex", "role", "aria-label", "aria-hidden", "aria-describedby"]) targets[i].removeAttribute(name);
      });
      for (const name of ["class", "role"]) copy.removeAttribute(name);
      copy.setAttribute("x", String(boxes[at].left - left + 12));
      copy.setAttribute("y", String(boxes[at].top - top + 12));
      whole.append(copy);
    });
    return { text: new XMLSerializer().serializeToString(whole), width, height };
  };
  const savePng = (name, { text, width, height }) => {
    const image = new Image();
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    image.addEventListener("load", () => {
      const sheet = make("canvas", { width: 2 * width, height: 2 * height });
      sheet.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      URL.revokeObjectURL(address);
      sheet.toBlob((blob) => harness.save(`${name}.png`, blob, "image/png"));
    });
    image.src = address;
  };
  harness.chartFiles = (elements, name, table) => [
    make("button.small", { type: "button", onclick: () => harness.save(`${name}.svg`, pictureOf(elements()).text, "image/svg+xml") }, "SVG"),
    make("button.small", { type: "button", onclick: () => savePng(name, pictureOf(elements())) }, "PNG"),
    table ? make("button.small", { type: "button", onclick: () => harness.save(`${name}.csv`, harness.exported(table(), "CSV"), "text/csv") }, "CSV") : null];
})();

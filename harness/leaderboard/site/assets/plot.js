// Plots of the data below plots/: drawn when they come into view, with their numbers as a table, and as SVG, PNG and CSV files.
"use strict";
(() => {
  const { make, plain } = harness;
  const SHOWN = 200; // rows of the table below a plot; the CSV file has all
  const known = (value) => typeof value === "number";

  // The rows of the numbers as objects, by field.
  const records = (plot) => {
    const fields = plot.columns.map(([field]) => field);
    return plot.rows.map((row) => Object.fromEntries(fields.map((field, i) => [field, row[i]])));
  };
  // What a tooltip says of a row: its numbers under their headings; the name of its series stands above.
  const tipOf = (plot, row, without) => plot.columns.filter(([field]) => !without.includes(field) && !["low", "high"].includes(field) && row[field] !== null)
    .map(([field, heading]) => `${heading} ${known(row[field]) ? (Number.isInteger(row[field]) ? harness.count(row[field]) : harness.number(row[field])) : row[field]}${["mean", "accuracy"].includes(field) && known(row.low) ? ` [${harness.number(row.low)}, ${harness.number(row.high)}]` : ""}`)
    .concat(row.low === null && plot.rows.some((other) => other[plot.columns.findIndex(([field]) => field === "low")] !== null) ? ["no interval: too few instances, or no measure of how far they vary"] : []);
  const by = (rows, field) => {
    const found = new Map();
    for (const row of rows) {
      const name = String(row[field]);
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(row);
    }
    return found;
  };
  const middle = (values) => {
    const ordered = [...values].sort((a, b) => a - b), at = ordered.length >> 1;
    return ordered.length % 2 ? ordered[at] : (ordered[at - 1] + ordered[at]) / 2;
  };

  // The charts of each kind of drawing.
  const rankings = (plot, rows, label, chosen) => {
    const { drawing } = plot;
    const panel = (words, own) => {
      const present = new Set(own.map((row) => String(row[drawing.row])));
      // In a panel the order is that of its own rows.
      const order = words === null ? drawing.order.map(String).filter((name) => present.has(name)) : [...present];
      const places = new Map(order.map((name, place) => [name, place]));
      const series = [...by(own, drawing.series)].map(([name, several]) => {
        const points = several.map((row) => ({
          row: places.get(String(row[drawing.row])), x: row[drawing.x.field], low: row.low, high: row.high, tip: tipOf(plot, row, [drawing.series]),
          mark: drawing.median || (drawing.points && row[drawing.points[0]] !== drawing.points[1]) ? "tick" : "dot",
        }));
        if (drawing.median) {
          const median = middle(points.map((p) => p.x));
          points.push({ row: points[0].row, x: median, tip: [`median ${harness.number(median)} of ${points.length}`] });
        }
        return { name, points };
      });
      return harness.chart({ label: words === null ? label : `${words}. ${label}`, title: words, x: drawing.x, rows: order, series, chosen });
    };
    return drawing.panels ? [...by(rows, drawing.panels)].map(([words, own]) => panel(words, own)) : [panel(null, rows)];
  };
  const scatters = (plot, rows, label, chosen) => {
    const { drawing } = plot;
    const found = by(rows, drawing.series);
    const series = drawing.order.filter((name) => found.has(name)).map((name) => ({ name, line: drawing.lines, points: found.get(name).map((row) => ({ x: row[drawing.x.field], y: row[drawing.y.field], tip: tipOf(plot, row, [drawing.series]) })) }));
    return [harness.chart({ label, x: drawing.x, y: drawing.y, series, chosen, diagonal: drawing.diagonal, guides: drawing.guides, aspect: drawing.diagonal ? 1 : 0.62, most: 400 })];
  };
  const matrices = (plot, rows, label, chosen) => {
    const { drawing } = plot;
    const names = drawing.order.filter((name) => rows.some((row) => row[drawing.row] === name));
    const places = new Map(names.map((name, place) => [name, place]));
    return [harness.chart({ label, chosen, matrix: { names, cells: rows.map((row) => ({
      row: places.get(row[drawing.row]), column: places.get(row[drawing.column]), heat: Math.min(8, Math.floor(9 * row[drawing.value])), value: String(Math.round(100 * row[drawing.value])),
      tip: [`${plain(row[drawing.row], 60)} against ${plain(row[drawing.column], 60)}`, ...tipOf(plot, row, [drawing.row, drawing.column])],
    })) } })];
  };
  const diagrams = (plot, rows, label, chosen) => {
    const { drawing } = plot;
    const found = by(rows, drawing.series);
    return [harness.reliability(drawing.order.filter((name) => found.has(name)).map((name) => {
      const [value, low, high, count] = drawing.errors[name] || [];
      return { name, ece: known(value) ? [value, low, high] : null, count, bins: found.get(name).map((row) => [row.probability, row.accuracy, row.low, row.high, row.count]) };
    }), { label, chosen, most: 400 })];
  };
  const KINDS = { rows: rankings, points: scatters, matrix: matrices, reliability: diagrams };

  const table = (plot, rows) => ({
    name: plain(plot.title, 60).replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").toLowerCase() || "plot",
    columns: plot.columns.map(([name, title]) => ({ name, title })), rows,
  });
  const numbers = (plot) => {
    const cells = (row) => row.map((value) => (known(value) ? make("td", null, harness.number(value)) : make("td.left", null, value === null ? "—" : harness.text(value, 60))));
    return make("details.numbers", { ontoggle: (event) => {
      const details = event.target;
      if (!details.open || details.querySelector("table")) return;
      details.append(make("div.scroll", { tabindex: "0", role: "group", "aria-label": `Numbers of ${plain(plot.title, 100)}` }, make("table", null,
        make("caption", null, plot.rows.length > SHOWN ? `The first ${SHOWN} of ${harness.count(plot.rows.length)} rows; the CSV file has all.` : `${harness.count(plot.rows.length)} rows`),
        make("thead", null, make("tr", null, plot.columns.map(([, heading], at) => make(known(plot.rows[0]?.[at]) ? "th" : "th.left", { scope: "col" }, heading)))),
        make("tbody", null, plot.rows.slice(0, SHOWN).map((row) => make("tr", null, cells(row)))))));
    } }, make("summary", null, "Show as table"));
  };

  // A figure with the plot of a key below plots/; loaded and drawn when it is nearly in view. chosen: the model to highlight, by its
  // name in the plot; onchoose(name) is called when the reader chooses another. The figure has choose(name).
  harness.plot = (key, { level = "h3", title = true, chosen = "", onchoose = null } = {}) => {
    const holder = make("div.drawing");
    const tools = make("p.plot-tools");
    const figure = make("figure.plot", { "data-key": key }, holder, tools);
    let charts = [], wanted = chosen;
    const pick = (order, name) => (order.includes(name) ? name : order[0]);
    figure.choose = (name) => {
      wanted = name;
      for (const chart of charts) chart.choose(name);
    };
    const begin = async () => {
      try {
        const [plot] = await Promise.all([harness.get(`plots/${key}`, { keep: false }), harness.charts()]);
        const { drawing } = plot;
        const all = records(plot);
        const order = drawing.series === "order" ? ["published"] : drawing.order.map(String);
        const label = `${plot.title}. ${plot.description}`;
        const draw = (rows) => {
          charts = KINDS[drawing.kind](plot, rows, label, pick(order, wanted));
          harness.clear(holder, charts);
        };
        const chosenOf = drawing.choice ? [...by(all, drawing.choice).keys()] : [];
        const first = chosenOf[0];
        const [, heading] = plot.columns.find(([field]) => field === drawing.choice) || ["", ""];
        const EVERY = `every ${heading}`;
        const choice = chosenOf.length < 2 ? null : make("label.labelled", null, `${heading.slice(0, 1).toUpperCase()}${heading.slice(1)}`, make("select", { onchange: (event) => draw(event.target.value === EVERY ? all.filter((row) => !row[drawing.choice].startsWith("mean of ")) : all.filter((row) => row[drawing.choice] === event.target.value)) },
          [...chosenOf, EVERY].map((value) => make("option", { value, selected: value === first }, plain(value, 70)))));
        const { name } = table(plot, []);
        harness.clear(tools, harness.chartFiles(() => charts, name, () => table(plot, plot.rows)));
        tools.setAttribute("role", "group");
        tools.setAttribute("aria-label", `Files of ${plain(plot.title, 100)}`);
        figure.prepend(make("figcaption", null, title ? make(level, null, harness.text(plot.title, 120)) : null, make("p.quiet", null, plain(plot.description, 1000)), choice));
        figure.append(numbers(plot));
        if (drawing.panels || drawing.kind === "matrix") figure.classList.add("wide");
        if (drawing.panels) holder.classList.add("panels");
        holder.addEventListener("chosen", (event) => { if (drawing.series !== "order") (onchoose || figure.choose)(event.detail); });
        draw(first === undefined ? all : all.filter((row) => row[drawing.choice] === first));
        await Promise.all(charts.map((chart) => chart.ready));
        figure.dataset.drawn = "yes";
      } catch (error) {
        harness.clear(holder, make("p.notice.error", null, `This plot cannot be drawn: ${plain(error.message, 300)}`));
        figure.dataset.drawn = "failed";
      }
    };
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      begin();
    }, { rootMargin: "300px" });
    seen.observe(figure);
    return figure;
  };
})();

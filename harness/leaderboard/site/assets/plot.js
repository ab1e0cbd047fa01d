// Plots: drawn when they come into view, with their numbers as a table, and as SVG, PNG and CSV files.
"use strict";
(() => {
  const { make, plain } = harness;
  const VENDOR = ["vega.min.js", "vega-lite.min.js", "vega-interpreter.js"];
  const SHOWN = 200; // rows of the table below a plot; the CSV file has all
  // Okabe and Ito's colours, distinct for any colour vision; without yellow and black, which are invisible on one theme.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c8c8c"];
  const DARK = ["#56b4e9", "#f0803c", "#2fc79b", "#e39ac4", "#9fc9ff", "#f0b63a", "#b4b4b4"]; // the same hues, lighter
  const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"];
  const drawn = new Set();

  // In this order, since each needs the one before.
  let ready = null;
  const vendor = () => {
    ready = ready || VENDOR.reduce((before, file) => before.then(() => harness.load(`assets/vendor/${file}`)), Promise.resolve());
    return ready;
  };

  const config = () => {
    const [text, quiet, line, ground] = ["text", "text-2", "line", "bg"].map(harness.colour);
    const font = getComputedStyle(document.body).fontFamily;
    const colours = harness.dark() ? DARK : LIGHT;
    // Seven colours and seven shapes distinguish 49 models.
    const shapes = colours.flatMap((_, i) => colours.map((__, j) => SHAPES[(i + j) % SHAPES.length]));
    return {
      background: ground, font, padding: 6, numberFormat: ".6~g",
      axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: quiet, tickColor: quiet, titleFontWeight: 500, labelFontSize: 11, titleFontSize: 12 },
      legend: { labelColor: text, titleColor: text, labelFontSize: 11, titleFontWeight: 500 },
      title: { color: text, fontSize: 13, fontWeight: 600, anchor: "start" },
      header: { labelColor: text, titleColor: text },
      view: { stroke: line },
      range: { category: colours, symbol: shapes },
      point: { color: colours[0], strokeWidth: 0.5 }, tick: { color: colours[0] }, rule: { color: quiet }, line: { color: quiet }, text: { color: text },
    };
  };

  const nothing = { load: () => Promise.reject(new Error("Plots load nothing.")), sanitize: () => Promise.reject(new Error("Plots link to nothing.")) };

  const draw = async (plot, holder) => {
    await vendor();
    const fields = plot.columns.map(([field]) => field);
    const rows = plot.rows.map((row) => Object.fromEntries(fields.map((field, i) => [field, row[i]])));
    const mount = make("div");
    holder.append(mount);
    const compiled = vegaLite.compile({ $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...plot.spec }, { config: config() });
    const view = new vega.View(vega.parse(compiled.spec, null, { ast: true }), {
      renderer: "svg", container: mount, expr: vegaInterpreter.expressionInterpreter, loader: nothing, hover: true, logLevel: vega.Error,
    });
    view.data("rows", rows);
    await view.runAsync();
    // The table and the description say the same as the tree of marks, in fewer words.
    const svg = mount.querySelector("svg");
    for (const name of ["role", "aria-roledescription", "aria-label"]) mount.removeAttribute(name);
    // A plot that is wider than the page is scrolled with the arrow keys.
    holder.setAttribute("tabindex", "0");
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", plot.title);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${plot.title}. ${plot.description}`);
    for (const group of svg.querySelectorAll("g")) group.setAttribute("aria-hidden", "true");
    return view;
  };

  const save = (name, parts, type) => {
    const url = URL.createObjectURL(parts instanceof Blob ? parts : new Blob(parts, { type }));
    const link = make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };

  // Texts that a spreadsheet would take for a formula get an apostrophe.
  const field = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    const text = plain(value, 32000);
    const safe = /^\s*[=+\-@＝＋－＠]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const csv = (plot) => [plot.columns.map(([, heading]) => heading), ...plot.rows].map((row) => row.map(field).join(",")).join("\n") + "\n";

  const numbers = (plot) => {
    const cells = (row) => row.map((value) => (typeof value === "number" ? make("td", null, harness.number(value)) : make("td.left", null, value === null ? "—" : harness.text(value, 60))));
    return make("details.numbers", { ontoggle: (event) => {
      const details = event.target;
      if (!details.open || details.querySelector("table")) return;
      details.append(make("div.scroll", { tabindex: "0", role: "group", "aria-label": `Numbers of ${plot.title}` }, make("table", null,
        make("caption", null, plot.rows.length > SHOWN ? `The first ${SHOWN} of ${harness.count(plot.rows.length)} rows; the CSV file has all.` : `${harness.count(plot.rows.length)} rows`),
        make("thead", null, make("tr", null, plot.columns.map(([, heading]) => make("th", { scope: "col" }, heading)))),
        make("tbody", null, plot.rows.slice(0, SHOWN).map((row) => make("tr", null, cells(row)))))));
    } }, make("summary", null, "Numbers"));
  };

  // A figure with the plot of a key below plots/; loaded and drawn when it is nearly in view.
  harness.plot = (key, { level = "h3", title = true } = {}) => {
    const holder = make("div.drawing");
    const tools = make("p.plot-tools");
    const figure = make("figure.plot", { "data-key": key }, holder, tools);
    let plot = null;
    let view = null;
    const again = async () => {
      if (!figure.isConnected) { drawn.delete(again); return; }
      if (view) view.finalize();
      holder.replaceChildren();
      view = await draw(plot, holder);
    };
    const begin = async () => {
      try {
        plot = await harness.get(`plots/${key}`, { keep: false });
        const name = plain(plot.title, 60).replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").toLowerCase() || "plot";
        harness.clear(tools,
          make("button.small", { type: "button", onclick: async () => save(`${name}.svg`, [await view.toSVG()], "image/svg+xml") }, "SVG"),
          make("button.small", { type: "button", onclick: async () => (await view.toCanvas(2)).toBlob((blob) => save(`${name}.png`, blob)) }, "PNG"),
          make("button.small", { type: "button", onclick: () => save(`${name}.csv`, [csv(plot)], "text/csv") }, "CSV"));
        tools.setAttribute("aria-label", `Files of ${plot.title}`);
        figure.prepend(make("figcaption", null, title ? make(level, null, harness.text(plot.title, 120)) : null, make("p.quiet", null, plain(plot.description, 1000))));
        figure.append(numbers(plot));
        if (plot.spec.concat) figure.classList.add("wide");
        view = await draw(plot, holder);
        drawn.add(again);
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

  const redraw = () => { for (const again of [...drawn]) again(); };
  document.getElementById("theme").addEventListener("change", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();

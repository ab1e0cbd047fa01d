// What a run measured, by category: one cell each with the main number, its interval and what chance would give.
"use strict";
(() => {
  const { make, plain, count } = harness;
  // A statistic of run.json as the page has it.
  const [METRIC, CATEGORY, SPLIT, COPY, ON, GROUP, COUNT, MEAN, , LOW, HIGH, MISSING, HIGHER, NOTE] = Array.from({ length: 15 }, (_, at) => at);
  const WORST = ["robustness", "fairness"]; // categories of the main metric on the worst copy
  const ALSO = 3; // further metrics of a category
  const TEST = "contamination";

  const bounded = (metric) => { const range = harness.names.metrics[metric]?.range; return range && range[0] !== null && range[1] !== null ? range : null; };
  const digits = (row, range) => harness.digits(row[MEAN], Boolean(range && range[0] === 0 && range[1] === 1), true);
  const arrow = (row) => (row[HIGHER] === null ? "" : row[HIGHER] ? " ↑" : " ↓");

  const cell = (title, row, chance = null) => {
    const range = bounded(row[METRIC]);
    const share = Boolean(range && range[0] === 0 && range[1] === 1), has = row[LOW] !== null && row[LOW] !== undefined;
    const shown = (value) => harness.digits(value, share, true);
    return make("div", { title: plain([harness.about("metrics", row[METRIC]), row[NOTE]].filter(Boolean).join("\n"), 600) }, make("h2", null, title, arrow(row)),
      make("p.value", null, make("strong", null, digits(row, range)), range && has ? harness.interval(row[MEAN], row[LOW], row[HIGH], { range, chance }) : null),
      make("p", null, [has ? `[${shown(row[LOW])}, ${shown(row[HIGH])}]` : "no interval", `n ${count(row[COUNT])}`, chance === null ? "" : `chance ${shown(chance)}`, row[MISSING] ? `${count(row[MISSING])} without a value` : ""].filter(Boolean).join(" · ")));
  };
  const small = (pairs) => make("div.pairs", null, pairs.map(([value, name, tip]) => make("span", { title: tip || null }, make("strong", null, value), make("br"), name)));

  // run: as in the data; chance: the share of correct options or null.
  harness.metricPanel = (run, chance) => {
    const split = run.spec.eval_split;
    const plainly = run.stats.filter((row) => row[SPLIT] === split && row[COPY] === null && row[ON] === "original" && row[GROUP] === null);
    const main = plainly.find((row) => row[METRIC] === run.metric);
    const title = (metric) => plain(harness.title("metrics", metric), 44);
    const category = (name) => harness.title("categories", name);
    const cells = [], measured = new Set();
    if (main) {
      measured.add(main[CATEGORY]);
      cells.push(cell(`${category(main[CATEGORY])} · ${title(main[METRIC])}`, main, main[HIGHER] ? chance : null));
      const others = plainly.filter((row) => row[CATEGORY] === main[CATEGORY] && row !== main).slice(0, ALSO);
      if (others.length) cells.push(make("div", null, make("h2", null, `${category(main[CATEGORY])} · more`), small(others.map((row) => [digits(row, bounded(row[METRIC])), plain(harness.title("metrics", row[METRIC], "short") || row[METRIC], 26), harness.about("metrics", row[METRIC])]))));
    }
    if (run.no_value) {
      const [word, ...reason] = run.no_value.split(":");
      cells.push(make("div.reason", null, make("h2", null, title(run.metric)), make("p.value", null, make("strong", null, plain(word, 40))), make("p", null, plain(reason.join(":").trim(), 400))));
    }
    for (const worst of WORST) {
      const row = run.stats.find((one) => one[SPLIT] === split && one[METRIC] === run.metric && one[ON] === "worst" && one[COPY] === worst && one[GROUP] === null);
      if (!row) continue;
      measured.add(worst);
      cells.push(cell(`${category(worst)} · worst copy`, row));
    }
    const rest = new Map();
    for (const row of plainly) if (!measured.has(row[CATEGORY]) && row[CATEGORY] !== "efficiency") rest.set(row[CATEGORY], [...(rest.get(row[CATEGORY]) || []), row]);
    for (const [name, rows] of rest) {
      measured.add(name);
      const first = rows.find((row) => row[HIGHER] !== null) || rows[0];
      cells.push(cell(`${category(name)} · ${title(first[METRIC])}`, first));
    }
    const used = run.efficiency;
    const spent = [
      used.prompt_tokens ? [count(used.prompt_tokens), "tokens read"] : null,
      used.completion_tokens ? [count(used.completion_tokens), "written or scored"] : null,
      used.reasoning_tokens ? [count(used.reasoning_tokens), "for reasoning"] : null,
      used.model_seconds ? [`${used.model_seconds < 100 ? used.model_seconds.toFixed(1) : count(Math.round(used.model_seconds))} s`, "of the model"] : null,
    ].filter(Boolean);
    if (spent.length) { measured.add("efficiency"); cells.push(make("div", null, make("h2", null, category("efficiency")), small(spent))); }
    const missing = Object.keys(harness.names.categories).filter((name) => !measured.has(name) && name !== TEST).map((name) => category(name).toLowerCase());
    return make("section.measured", { "aria-label": "Metrics", tabindex: "0" }, cells, missing.length ? make("div.missing", null, `Not measured: ${missing.join(", ")}`) : null);
  };
})();

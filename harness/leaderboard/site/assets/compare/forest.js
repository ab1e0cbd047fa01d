// The forest plot of two models: a row for each scenario, the differences that are shown first.
"use strict";
(() => {
  const { make, text, plain, count, number } = harness;

  const at = (element, values) => { for (const [name, value] of Object.entries(values)) element.style.setProperty(`--${name}`, value); return element; };
  const minus = (value, words) => (value > 0 ? "+" : value < 0 ? "−" : "±") + words;
  // A signed difference: "+.650" of scores from 0 to 1, else as numbers everywhere.
  const signed = (row, value) => {
    const size = Math.abs(value), rounded = harness.fixed(size, 3);
    return row.unit ? minus(value, number(size)) : minus(Number(rounded) === 0 ? 0 : value, rounded.replace(/^0\./, "."));
  };
  const value = (row, mean) => (row.unit ? number(mean) : harness.share(mean));
  const span = (row) => (row.low === null ? "" : `[${signed(row, row.low)}, ${signed(row, row.high)}]`);
  const p = (amount) => (amount < 0.001 ? "<.001" : harness.share(amount));
  const arrow = (row) => (row.sign ? (row.sign > 0 ? " ↑" : " ↓") : "");
  const metric = (row) => `${plain(harness.title("metrics", row.metric), 60)}${arrow(row)}`;
  // What tells a row from others of its scenario: how it was asked.
  const ways = (row) => row.sides.map((question) => [row.own && row.sides[0].title !== row.sides[1].title ? question.title : "", harness.title("methods", question.method), ...question.details.filter((detail) => !detail.startsWith("mean of ") && detail !== harness.title("methods", question.method, "short"))].filter(Boolean).map((words) => plain(words, 80)).join(" · "));
  // Of a model that was asked by two prompts: in what these differ.
  const prompts = ({ sides: [one, other] }) => [
    one.prompt === other.prompt ? "" : `Prompts: ${[one, other].map((side) => plain(side.prompt || "the scenario’s own", 60)).join(" and ")}.`,
    one.metric === other.metric ? "" : `Metrics: ${[one, other].map((side) => plain(harness.title("metrics", side.metric), 60)).join(" and ")}.`,
  ].filter(Boolean);
  // The smallest true difference that the comparison could have shown.
  const size = (row, value) => (row.unit ? number(value) : harness.share(value));
  const couldShow = (row) => (row.unknown ? "" : row.couldShow === null ? "Too few questions to show any difference with power 0.8." : `Could have shown differences of ${size(row, row.couldShow)} or more with power 0.8.`);
  harness.paired = { signed, value, span, p, metric, ways, prompts, size, couldShow };

  const percent = (place, limit) => `${50 + (50 * Math.max(-limit, Math.min(limit, place))) / limit}%`;
  const grid = ({ ticks, limit }) => ticks.map((tick) => at(make(tick ? "i.grid" : "i.grid.zero"), { at: percent(tick, limit) }));
  const drawn = (row, scale) => make(`span.drawn${row.shown ? ".shown" : ""}${row.n < 40 ? ".few" : ""}`, { role: "img", "aria-label": `${signed(row, row.difference)}${row.low === null ? "" : `, interval ${signed(row, row.low)} to ${signed(row, row.high)}`}` },
    grid(scale), row.low === null ? null : at(make("i.whisker"), { low: percent(row.from, scale.limit), high: percent(row.to, scale.limit) }), at(make("i.square"), { at: percent(row.place, scale.limit) }));
  const tick = (scale, unit, one) => (one === 0 ? "0" : `${one > 0 ? "+" : "−"}${unit ? number(Math.abs(one)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") : String(Number(Math.abs(one).toPrecision(3))).replace(/^0\./, ".")}`);
  const axis = (scale, unit, names, sign) => {
    const word = sign ? "better" : "higher";
    return make("span.axis", null, make("span.left", null, "← ", make("span.name", null, plain(names[1], 40)), ` ${word}`), make("span.right", null, make("span.name", null, plain(names[0], 40)), ` ${word} →`),
      scale.ticks.map((one) => at(make("b", null, tick(scale, unit, one)), { at: percent(one, scale.limit) })));
  };

  // Bars of how the answers overlap; parts without any instance are left out.
  const KINDS = { both: "both right", a: "only A right", b: "only B right", neither: "neither right" };
  const UNGRADED = { a: "A better", equal: "equal", b: "B better" };
  harness.overlapKinds = (row) => Object.entries(row.overlap.graded ? KINDS : UNGRADED).map(([kind, words]) => ({ kind, words, amount: row.overlap[kind] }));
  harness.overlapBar = (row) => {
    const parts = harness.overlapKinds(row);
    return make("span.overlap", { role: "img", "aria-label": parts.map(({ words, amount }) => `${words}: ${amount}`).join(", ") },
      parts.filter(({ amount }) => amount).map(({ kind, amount }) => at(make(`i.${kind}`), { share: amount })));
  };

  // rows: as harness.pairRows gives them; names: the two sides' names; choose(row) is called when a row is clicked.
  harness.forest = (rows, names, choose, link) => {
    const units = harness.byUnit(rows);
    const lines = new Map();
    const [main] = units;
    const cells = (row, scale) => {
      const line = make(`tr${row.shown ? ".shown" : ""}`, { "data-key": row.key, onclick: (event) => { if (!event.target.closest("a")) choose(row, true); } },
        make("th.t", { scope: "row" }, make("a", { href: link(row), tabindex: "0", onclick: (event) => { if (event.ctrlKey || event.metaKey || event.shiftKey) return; event.preventDefault(); choose(row, true); } }, harness.text(row.title, 70)), " ", make("span.faint", null, count(row.n)),
          row.own || row.shared ? make("small.faint", null, plain(row.own ? ways(row).join("  against  ") : ways(row)[0], 160)) : null),
        make("td.v", null, value(row, row.first)), make("td.v", null, value(row, row.second)), make("td.pl", null, drawn(row, scale)),
        make("td.d", null, make("span.by", null, signed(row, row.difference)), " ", make("span.ci", null, span(row))),
        make("td.p.opt", null, p(row.holm)), make("td.opt", null, harness.overlapBar(row)));
      lines.set(row.key, line);
      return line;
    };
    const bodies = units.flatMap(({ unit, rows: members, ...scale }, position) => {
      const own = position > 0 || unit ? make("tbody.unit", null, make("tr.axis-line", null, make("th.t", { scope: "rowgroup", colspan: "3" }, harness.named("metrics", unit, 40), make("span.faint", null, " · own axis")),
        make("td.pl", null, axis(scale, unit, names, members[0].sign)), make("td", { colspan: "3" }))) : null;
      const groups = [["Difference shown", members.filter((row) => row.shown)], ["No difference shown", members.filter((row) => !row.shown)]].filter(([, found]) => found.length);
      return [own, groups.map(([words, found]) => make("tbody", null, make("tr.group", null, make("th.t", { scope: "rowgroup", colspan: "7" }, words, " ", make("span.faint", null, count(found.length)))), found.map((row) => cells(row, scale))))];
    });
    const short = (letter, name) => make("abbr.side", { "data-tip": plain(name, 200), tabindex: "0" }, letter);
    const table = make("table.forest", null, make("caption.unseen", null, "Paired differences of two models by scenario: significant ones first, the largest at the top"),
      make("colgroup", null, ["t", "v", "v", "pl", "d", "p opt", "o opt"].map((name) => make("col", { class: name }))),
      make("thead", null, make("tr", null, make("th.t", { scope: "col" }, "Scenario"), make("th.v", { scope: "col" }, short("A", names[0])), make("th.v", { scope: "col" }, short("B", names[1])),
        make("th.pl", { scope: "col" }, make("span.unseen", null, "Difference, drawn"), main.unit ? null : axis(main, main.unit, names, 1)), make("th.d", { scope: "col" }, "Difference"),
        make("th.p.opt", { scope: "col" }, make("span", { "data-tip": `p, two-sided, adjusted for all ${count(rows.length)} tests by Holm’s method. If every score is 0 or 1, the test is McNemar’s exact test, else a sign-flip test.`, tabindex: "0" }, "p adj.")),
        make("th.opt", { scope: "col" }, make("span", { "data-tip": "How the answers overlap: both right, only A, only B, neither", tabindex: "0" }, "Overlap")))), bodies);
    return { table, lines };
  };

  // What a row's tooltip says.
  harness.pairTip = (row, names) => {
    const line = (...words) => make("p", null, ...words);
    const left = [[row.onlyFirst, "only the first has"], [row.onlySecond, "only the second has"], [row.undefined, "without a score in one run"], [row.changed, "not the same question"]].filter(([amount]) => amount).map(([amount, why]) => `${count(amount)} ${why}`);
    return [make("strong", null, text(row.title, 100)), line(metric(row), `, n = ${count(row.n)}`), row.own ? [...ways(row).map((words, side) => line(`${"AB"[side]}: `, words)), ...prompts(row).map((words) => line(words))] : line(make("span.faint", null, ways(row)[0])),
      line(`${plain(names[0], 50)} ${value(row, row.first)}`), line(`${plain(names[1], 50)} ${value(row, row.second)}`), line(`Difference ${signed(row, row.difference)} ${span(row)}`),
      line(`p ${p(row.p)}, adjusted ${p(row.holm)}`), couldShow(row) ? line(couldShow(row)) : null, row.sign ? null : line("For this metric, neither higher nor lower is better."), left.length ? line(`Left out: ${left.join(", ")}`) : null];
  };
})();

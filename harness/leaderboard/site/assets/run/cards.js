// The samples on a phone, a card each, and on paper, as a table of all that the filter leaves.
"use strict";
(() => {
  const { make, plain } = harness;
  const AT_ONCE = 60;

  const answer = (line) => (!line ? "…" : line.answer === null ? "not read" : line.answer || "empty");

  // A list that grows as it is scrolled. order: positions; open(n) shows a sample.
  harness.sampleCards = (samples, order, chosen, open) => {
    const list = make("ol.sample-cards", { "aria-label": "Samples" });
    let drawn = 0;
    const card = (n) => {
      const line = samples.line(n), copy = samples.perturbation(n);
      return make("li", null, make("button", { type: "button", "data-n": n, "aria-current": n === chosen ? "true" : null, onclick: () => open(n) },
        make("span.first", null, harness.sampleMark(samples, n), make("strong", null, make("bdi", null, plain(answer(line), 110))), make("small", null, line ? plain(line.id, 40) : "")),
        make("span.input", null, make("bdi", null, plain(line?.input ?? "", 170))),
        make("span.expected", null, line?.expected ? ["expected ", make("bdi", null, plain(line.expected, 110))] : null, copy === null ? null : [" ", harness.tag(plain(harness.title("perturbations", copy), 30))],
          samples.several ? [" ", harness.tag(`sample ${samples.sample(n) + 1}`)] : null, samples.graded ? null : [" ", `score ${harness.sampleScore(samples, n)}`])));
    };
    const more = () => {
      harness.add(list, order.slice(drawn, drawn + AT_ONCE).map(card));
      drawn = Math.min(order.length, drawn + AT_ONCE);
      rest.hidden = drawn >= order.length;
      rest.firstChild.textContent = `Show more (${harness.count(order.length - drawn)} left)`;
    };
    const rest = make("p.rest", { hidden: true }, make("button", { type: "button", onclick: () => more() }, ""));
    new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting) && !rest.hidden) more(); }, { rootMargin: "400px" }).observe(rest);
    more();
    return make("div", null, list, rest);
  };

  harness.samplePaper = (samples, order, caption) => {
    const columns = harness.sampleColumns(samples).filter((column) => column.name !== "copy" || order.some((n) => samples.perturbation(n) !== null));
    return make("table.sample-paper", null, make("caption", null, caption),
      make("thead", null, make("tr", null, columns.map((column) => make("th", { scope: "col" }, column.name === "tick" ? "" : column.title)))),
      make("tbody", null, order.map((n) => {
        const line = samples.line(n), copy = samples.perturbation(n);
        const cells = { tick: harness.sampleMark(samples, n), id: plain(line?.id, 60), copy: copy === null ? "" : plain(harness.title("perturbations", copy), 30), sample: samples.sample(n) + 1, input: plain(line?.input, 170), expected: plain(line?.expected, 110), answer: plain(answer(line), 110),
          score: harness.sampleScore(samples, n), tokens: harness.count(samples.index.tokens[n]) };
        return make("tr", null, columns.map((column) => make("td", null, cells[column.name])));
      })));
  };

  // The samples as a table to export, when all of their texts have come. A heading says that texts were cut.
  harness.sampleTable = async (name, samples, order) => {
    await samples.whole();
    const columns = harness.sampleColumns(samples).filter((column) => column.name !== "tick");
    const value = { id: (n) => samples.at("id", n), copy: (n) => samples.perturbation(n), sample: (n) => samples.sample(n) + 1, input: (n) => samples.at("input", n), expected: (n) => samples.at("expected", n),
      answer: (n) => samples.at("answer", n), score: (n) => samples.index.score[n], tokens: (n) => samples.index.tokens[n] };
    const cut = (column) => ["input", "expected", "answer"].includes(column) && order.some((n) => value[column](n)?.startsWith("…"));
    return { name, columns: columns.map(({ name: id, title }) => ({ name: id, title: cut(id) ? `${title} (of long texts the end)` : title })), rows: order.map((n) => columns.map((column) => value[column.name](n) ?? null)) };
  };
})();

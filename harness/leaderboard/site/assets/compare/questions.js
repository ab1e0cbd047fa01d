// The questions of one scenario with the answers of both sides, those on which they disagree first.
"use strict";
(() => {
  const { make, clear, text, plain, count, number } = harness;
  const STEP = 20; // questions that are shown at a time
  const DIFFERING = "differ";
  const pieces = new Map(); // the last few pieces of examples

  const piece = (run, at) => {
    const key = `runs/${run}/${at}`;
    if (!pieces.has(key)) {
      pieces.set(key, harness.get(key, { keep: false }).catch((error) => { pieces.delete(key); throw error; }));
      if (pieces.size > 12) pieces.delete(pieces.keys().next().value);
    }
    return pieces.get(key);
  };
  const example = async (run, index, n) => {
    let at = index.starts.length - 1;
    while (index.starts[at] > n) at -= 1;
    return (await piece(run, at))[n - index.starts[at]];
  };

  // Fills an element with a row's questions. given: {names, kind, id, note(changes)}; note puts a choice in the address. Returns
  // {settle(), next(step)} once all is there: settle is called when the element is in the document, next moves to another question.
  harness.pairedQuestions = async (side, row, given) => {
    const indexes = await Promise.all(row.runs.map((runs) => Promise.all(runs.map((run) => harness.get(`runs/${run}/index`, { keep: false })))));
    const all = harness.byDifference(harness.pairedInstances(row, indexes));
    const kinds = harness.overlapKinds(row);
    let kind = kinds.some((one) => one.kind === given.kind) ? given.kind : DIFFERING;
    let chosen = given.id || "";
    let found = [], cards = [];
    const load = (one) => Promise.all(one.at.map(({ repeat, n }, which) => example(row.runs[which][repeat], indexes[which][repeat], n)));
    const list = make("div.questions");
    const more = make("p.more-questions");
    const switches = make("dl.kinds");
    const fits = (one) => (kind === DIFFERING ? one.kind === "a" || one.kind === "b" : one.kind === kind);
    const words = { a: "only A", b: "only B", both: "both right", neither: "neither", equal: "equal" };
    const ask = (name) => { kind = kind === name ? DIFFERING : name; given.note({ show: kind === DIFFERING ? null : kind, id: null }); chosen = ""; return show(); };
    const draw = () => clear(switches, kinds.map((one) => make("div", null, make("dt", null, row.overlap.graded ? words[one.kind] : one.words),
      make("dd", null, make("button", { type: "button", id: `kind-${one.kind}`, "aria-pressed": String(kind === one.kind), disabled: !one.amount, "aria-label": `${count(one.amount)} ${one.words}`, onclick: () => ask(one.kind),
        "data-tip": one.kind === "a" || one.kind === "b" ? `${plain(given.names[one.kind === "a" ? 0 : 1], 60)} alone; click to list only these` : "Click to list only these" }, count(one.amount))))));
    const verdict = (one, which) => {
      const score = one.pair[which];
      if (!row.overlap.graded) return make("span.score", null, number(score));
      const right = (score === 1) === (row.sign > 0);
      return make(right ? "span.good" : "span.bad", { role: "img", "aria-label": right ? "right" : "wrong" }, right ? "✓" : "✕");
    };
    const choose = (card, focus) => {
      const before = cards.filter((other) => other !== card && other.element.getAttribute("aria-current"));
      for (const other of before) other.element.removeAttribute("aria-current");
      settle(before);
      card.element.setAttribute("aria-current", "true");
      card.element.querySelector(".asked").classList.remove("cut");
      chosen = card.id;
      given.note({ id: card.id });
      if (focus) { card.element.focus({ preventScroll: true }); card.element.scrollIntoView({ block: "nearest" }); }
    };
    const shorten = (words_, limit) => (words_.length > limit ? `…${words_.slice(words_.length - limit)}` : words_);
    const answer = (one, which, what, run) => [make("dt", { title: plain(given.names[which], 200) }, make("span.side", null, "AB"[which]), " ", text(given.names[which], 24)), make("dd.verdict", null, verdict(one, which)),
      make("dd.answer", { dir: "auto" }, what.prediction ? make("bdi", null, harness.pieces(plain(what.prediction, 600))) : make("span.faint", null, what.error ? plain(what.error, 200) : "(empty)"), " ",
        make("a.sample", { href: harness.link(`run/${run}`, { id: what.id, with: row.runs[1 - which][0] }), "aria-label": `Sample ${plain(what.id, 40)} of ${plain(given.names[which], 60)}` }, "sample"))];
    const card = async (one, place) => {
      const both = await load(one);
      const expected = (both[0].references || []).filter((reference) => reference.correct).map((reference) => reference.text);
      const input = shorten(String(both[0].input ?? ""), 4000);
      const element = make("article.question", { tabindex: "-1", "aria-labelledby": `question-${place}` },
        make("h3", null, make("button.plain", { type: "button", id: `question-${place}`, onclick: () => choose(made, false) }, text(both[0].id, 60)), make("span.faint", null, `${count(place + 1)} of ${count(found.length)}${one.several ? " · mean of several answers, the first is shown" : ""}`)),
        make("div.asked", { dir: "auto" }, make("bdi", null, harness.pieces(input))),
        make("dl", null, expected.length ? [make("dt", null, "expected"), make("dd.verdict"), make("dd.answer", { dir: "auto" }, text(expected.slice(0, 5).join(" / "), 300))] : null,
          both.map((what, which) => answer(one, which, what, row.runs[which][one.at[which].repeat]))));
      const made = { id: both[0].id, element };
      return made;
    };
    // The beginning of a long text is hidden, not its end.
    const settle = (several) => { for (const one of several) { const asked = one.element.querySelector(".asked"); asked.scrollTop = asked.scrollHeight; asked.classList.toggle("cut", asked.scrollHeight > asked.clientHeight + 2); } };
    const add = async (size) => {
      const from = cards.length;
      const fresh = await Promise.all(found.slice(from, from + size).map((one, n) => card(one, from + n)));
      cards.push(...fresh);
      list.append(...fresh.map((one) => one.element));
      if (list.isConnected) settle(fresh);
      const rest = found.length - cards.length;
      clear(more, rest > 0 ? make("button", { type: "button", id: "more-questions", onclick: () => add(STEP) }, `Show ${count(Math.min(STEP, rest))} more of ${count(rest)}`) : null);
    };
    // Shows the questions of a kind; where one is named, as many as are needed to reach it.
    const show = async () => {
      found = all.filter(fits);
      cards = [];
      list.replaceChildren();
      draw();
      if (!found.length) clear(list, make("p.empty.quiet", null, kind === DIFFERING ? "Both models got the same score on every question of this scenario." : "No question matches."));
      await add(STEP);
      if (!chosen) return "";
      let named = cards.find((one) => one.id === chosen);
      while (!named && cards.length < found.length) { await add(10 * STEP); named = cards.find((one) => one.id === chosen); }
      if (!named) return `No question in this list has the id ${plain(chosen, 60)}.`;
      named.element.setAttribute("aria-current", "true");
      return "";
    };
    clear(side, make("header", null, make("h2", null, text(row.title, 60), " ", make("span.faint", null, `${harness.paired.metric(row)} · n ${count(row.n)}`)), switches, harness.overlapBar(row), row.own ? make("p.ways", null, harness.paired.ways(row).map((way, which) => [make("span.side", null, "AB"[which]), " ", way, " "]), harness.paired.prompts(row).map((words) => make("span.prompts", null, words))) : null), list, more);
    const problem = await show();
    if (problem) list.before(make("p.notice", { role: "alert" }, problem));
    return {
      settle: () => { settle(cards); list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }); },
      async next(step) {
        const at = cards.findIndex((one) => one.element.getAttribute("aria-current"));
        const wanted = at < 0 ? (step > 0 ? 0 : cards.length - 1) : at + step;
        if (wanted >= cards.length && cards.length < found.length) await add(STEP);
        const target = cards[Math.max(0, Math.min(cards.length - 1, wanted))];
        if (target) choose(target, true);
      },
    };
  };
})();

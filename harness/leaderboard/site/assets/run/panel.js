// One sample: verdict, conversation, judges' ratings, options, answer with what was read, copies, other answers, scores.
"use strict";
(() => {
  const { make, plain, count, number, pieces } = harness;
  const SHORT = 700, LONG = 20000; // characters of a text at first, and with each "Show more"
  const FEW = 300; // an instruction this short is not folded
  const SEVERAL = 100; // most parts of one kind

  const line = (value) => String(value ?? "").replace(/\s+/g, " ").trim();
  const cut = (value, limit) => make("bdi", null, plain(line(value), limit));
  const section = (title, note, ...content) => make("section", null, make("h3", null, make("span", null, title), note ? make("small", null, note) : null), content);
  const copyButton = (words, value) => make("button.copy", { type: "button", "aria-label": `Copy ${words}`, onclick: () => harness.copy(value(), `Copied ${words}`) }, "copy");
  const titled = (title, note, words, value, ...content) => make("section", null, make("h3", null, make("span", null, title), note ? make("small", null, note) : null, copyButton(words, value)), content);
  const tag = (mark) => (mark === "right" ? harness.tag("right", "good") : mark === "wrong" ? harness.tag("wrong", "bad") : mark === "part" ? harness.tag("partly right", "warn") : null);
  const called = (call) => (typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments, null, 2));
  // Details whose content is made when they are first opened.
  const fold = (summary, content, attributes = {}) => {
    const details = make("details", attributes, make("summary", null, summary));
    details.addEventListener("toggle", () => { if (details.open && details.childElementCount === 1) harness.add(details, content()); });
    return details;
  };

  // A text of many lines; of a long one its beginning, or its end, with a button for the rest. mark: [from, to] or null.
  const prose = (value, { end = false, limit = SHORT, mark = null, kind = "", who = "", name = "text" } = {}) => {
    const full = String(value ?? "");
    const body = make("bdi");
    let [from, to] = end ? [Math.max(0, full.length - limit), full.length] : [0, Math.min(full.length, limit)];
    if (mark) [from, to] = [Math.min(from, Math.max(0, mark[0] - 300)), Math.max(to, Math.min(full.length, mark[1] + 200))];
    if (mark && mark[0] - from > limit) from = Math.max(0, mark[0] - 300);
    const half = (at) => (at > 0 && at < full.length && /[\udc00-\udfff]/.test(full[at]) ? at - 1 : at);
    const draw = () => {
      from = half(from);
      to = half(to);
      const part = (start, stop) => pieces(full.slice(start, stop));
      harness.clear(body, full === "" ? make("span.faint", null, "empty") : null, from ? "…" : null,
        mark ? [part(from, mark[0]), make("mark", null, part(mark[0], mark[1])), part(mark[1], to)] : part(from, to), to < full.length ? "…" : null);
      block.classList.toggle("cut", end && from > 0);
      before.hidden = !from;
      after.hidden = to >= full.length;
      before.textContent = `Show ${count(from)} characters before`;
      after.textContent = `Show ${count(full.length - to)} characters more`;
    };
    const before = make("button.more", { type: "button", "data-of": name, onclick: () => { from = Math.max(0, from - LONG); draw(); } });
    const after = make("button.more", { type: "button", "data-of": name, onclick: () => { to = Math.min(full.length, to + LONG); draw(); } });
    const block = make(`div.turn${kind ? `.${kind}` : ""}`, { "data-name": name }, who ? make("span.who", null, who) : null, before, make("div.words", null, body), after);
    draw();
    return block;
  };
  const calls = (of) => (of.tool_calls || []).slice(0, SEVERAL).map((call) => make("div.turn.call", null, make("span.who", null, "Calls ", make("code", null, plain(call.name, 80))), make("pre", null, make("bdi", null, pieces(called(call).slice(0, LONG))))));
  const ROLES = { __proto__: null, system: "System", user: "User", assistant: "Assistant", tool: "Tool" };
  const role = (name) => ROLES[name] || plain(name, 20);

  // ------------------------------------------------------------------------------------------------------------
  // The prompt

  const firstPrompt = (example) => {
    const requests = example.requests || [];
    const conversation = requests.filter((request) => request.ask === "generate" && Array.isArray(request.prompt)).at(-1);
    if (conversation) return conversation.prompt;
    const asked = requests.find((request) => (request.role || "original") === "original" && request.ask !== "sequence");
    return asked ? asked.prompt ?? asked.context : null;
  };
  // What comes before the question of a prompt, and the question: it begins on the line on which the input does.
  const parted = (prompt, input) => {
    let at = input ? prompt.lastIndexOf(input) : -1;
    if (at < 0) at = input ? prompt.lastIndexOf(input.slice(-200)) : -1;
    if (at < 0) at = prompt.lastIndexOf("\n\n") + 2;
    at = prompt.lastIndexOf("\n", at - 1) + 1;
    return [prompt.slice(0, at).trimEnd(), prompt.slice(at)];
  };
  const before = (example, characters) => {
    const shots = (example.train_instances || []).length;
    return `${shots ? `${count(shots)} ${shots === 1 ? "example" : "examples"} before the question` : "Before the question"}, ${count(characters)} characters`;
  };
  function prompt(example) {
    const asked = firstPrompt(example);
    if (asked === null || asked === undefined) return titled("Input", "", "the input", () => example.input, prose(example.input, { end: true, name: "the input" }));
    const read = (example.responses || []).find((response) => response.prompt_tokens);
    const note = read ? `${count(read.prompt_tokens)} tokens` : "";
    if (Array.isArray(asked)) {
      const shots = 2 * (example.train_instances || []).length;
      const leading = asked.findIndex((turn) => turn.role !== "system");
      const [first, last] = shots && leading >= 0 && asked.length > leading + shots ? [leading, leading + shots] : [0, 0];
      const turn = (one) => [one.content || !(one.tool_calls || []).length ? prose(one.content, { end: one.role === "user", kind: one.role === "assistant" ? "said" : "", who: role(one.role), name: `the ${role(one.role).toLowerCase()}'s turn` }) : null, calls(one)];
      const folded = asked.slice(first, last);
      return titled("Conversation", note, "the conversation", () => asked.map((one) => `${role(one.role)}: ${one.content}`).join("\n\n"),
        asked.slice(0, first).map(turn), folded.length ? fold(before(example, folded.reduce((sum, one) => sum + one.content.length, 0)), () => folded.map(turn), { class: "few" }) : null, asked.slice(last).map(turn));
    }
    const [header, question] = parted(asked, example.input);
    const shown = header.length > FEW || (example.train_instances || []).length;
    return titled("Prompt", note, "the prompt", () => asked,
      header ? (shown ? fold(before(example, header.length), () => prose(header, { limit: LONG, name: "what comes before" }), { class: "few" }) : prose(header, { name: "what comes before" })) : null,
      prose(question, { end: true, name: "the input" }));
  }

  // ------------------------------------------------------------------------------------------------------------
  // The answer

  const SPOKEN = { __proto__: null, stop: "complete", length: "cut off at max_tokens", unfinished_reasoning: "unfinished reasoning", refusal: "refused", content_filter: "withheld by the provider", tool_call: "called a tool" };
  // A text in small letters, without what an answer may have inside a number or a word; from[i]: the place of character i in it.
  const IGNORED = /[,*_`\s]/;
  const bare = (value, every = false) => {
    const from = [];
    let plainly = "";
    for (let at = 0; at < value.length; at += 1) {
      if (!every && IGNORED.test(value[at])) continue;
      const small = value[at].toLowerCase();
      plainly += small.length === 1 ? small : value[at];
      from.push(at);
    }
    return { plainly, from };
  };
  // Where a read text is in an answer: as the reading looks for it, from its marker, the first or the last time. A model
  // writes both, so this takes no longer than reading them.
  const located = (text, value, reading) => {
    if (!value) return null;
    const every = bare(value).plainly === "";
    const wanted = bare(value, every).plainly, { plainly, from } = bare(text, every);
    const start = reading?.after ? Math.max(0, bare(text, true).plainly.lastIndexOf(bare(reading.after, true).plainly)) : 0;
    const edge = value.length <= 12 && /^[\w.,-]+$/.test(value);
    const letter = (at) => /[\p{L}\p{N}]/u.test(text[at] || "");
    const forward = Boolean(reading?.first || reading?.after);
    let other = null; // the first choice that is inside a word
    for (let at = forward ? plainly.indexOf(wanted) : plainly.lastIndexOf(wanted); at >= 0; at = forward ? plainly.indexOf(wanted, at + wanted.length) : at < wanted.length ? -1 : plainly.lastIndexOf(wanted, at - wanted.length)) {
      const found = [from[at], from[at + wanted.length - 1] + 1];
      if (found[0] < start) { if (forward) continue; else break; }
      if (!edge || !(letter(found[0] - 1) || letter(found[1]))) return found;
      other = other || found;
    }
    return other;
  };
  // The readings that a run's setting names, by name.
  const readingsOf = (run) => {
    const setting = run.spec.adapter?.arguments?.answer ?? run.spec.adapter?.answer;
    const one = (value) => (typeof value === "string" ? { read: value } : value || {});
    if (Array.isArray(setting)) return Object.fromEntries(setting.map((each) => (Array.isArray(each) ? [each[0], one(each[1])] : [each.name, one(each)])));
    if (setting && typeof setting === "object" && Object.values(setting).every((each) => typeof each === "object" && each)) return setting;
    return { answer: one(setting) };
  };
  function readings(example, run) {
    const found = Object.entries(example.readings || {});
    const how = readingsOf(run);
    const own = found.find(([name]) => run.metric.endsWith(` (${name})`)) || found[0];
    return { found, own, how: own ? how[own[0]] || Object.values(how)[0] : null };
  }
  const reasoning = (completion, number) => (completion.reasoning ? fold(`Reasoning${number ? ` ${number}` : ""}, ${completion.reasoning_tokens ? `${count(completion.reasoning_tokens)} tokens` : `${count(completion.reasoning.length)} characters`}${completion.finish_reason === "unfinished_reasoning" ? ", unfinished" : ""}`,
    () => prose(completion.reasoning, { limit: LONG, name: "the reasoning" }), { class: "thought" }) : null);

  function answer(example, run, mark) {
    const responses = example.responses || [];
    const generated = responses.flatMap((response, at) => ((example.requests || [])[at]?.ask === "generate" ? (response.completions || []) : []));
    const failed = responses.filter((response) => response.error);
    if (!generated.length && !failed.length) return null;
    const last = responses.at(-1)?.completions?.[0] || {};
    const { found, own, how } = readings(example, run);
    const text = last.text || "";
    const read = own ? own[1] : null;
    const letter = (example.labels || [])[example.choice];
    const where = own ? located(text, read, how) : letter ? located(text, letter, null) : !example.unread && text.length < 60 && line(text) === line(example.prediction) && text ? [0, text.length] : null;
    while (where && where[0] < where[1] && /\s/.test(text[where[0]])) where[0] += 1;
    while (where && where[0] < where[1] && /\s/.test(text[where[1] - 1])) where[1] -= 1;
    const reference = (example.references || []).find((one) => one.correct);
    const earlier = generated.filter((one) => one !== last);
    const note = [last.tokens !== undefined && last.tokens !== null ? `${count(last.tokens)} ${last.tokens === 1 ? "token" : "tokens"}` : "", SPOKEN[last.finish_reason] || "", last.logprob !== undefined && last.logprob !== null ? `log-probability ${number(last.logprob)}` : ""].filter(Boolean).join(" · ");
    return titled("Answer as written", note, "the answer", () => text,
      earlier.some((one) => one.reasoning) ? earlier.slice(0, SEVERAL).map((one, at) => reasoning(one, at + 1)) : null, reasoning(last, earlier.some((one) => one.reasoning) ? earlier.length + 1 : 0),
      text || !(last.tool_calls || []).length ? prose(text, { mark: where, kind: "said", limit: 2500, name: "the answer" }) : null, calls(last),
      last.explanation ? make("p.bad", null, cut(last.explanation, 400)) : null,
      failed.slice(0, 3).map((response) => make("p.bad", null, cut(response.error, 400))),
      found.length > 1 || (found.length && !(own && reference && read !== null && !(example.labels || []).length)) ? make("dl.read", null, found.map(([name, value]) => make("div", null, make("dt", null, found.length > 1 ? `Reading “${plain(name, 40)}”` : "Read from the answer"), make("dd", null, value === null ? harness.tag("nothing", "bad") : cut(value, 200))))) : null,
      own && reference && read !== null && !(example.labels || []).length ? make("p.flow", null, "read ", make("strong", null, cut(read, 60)), " · expected ", make("strong", null, cut(reference.text, 60)), mark ? [" → ", tag(mark)] : null) : null,
      last.top_logprobs?.length ? fold(`Most likely tokens at ${count(last.top_logprobs.length)} ${last.top_logprobs.length === 1 ? "place" : "places"}`, () => topTokens(last.top_logprobs)) : null,
      (example.predictions || []).length > 1 ? fold(`${count(example.predictions.length)} completions`, () => example.predictions.slice(0, SEVERAL).map((one) => prose(one, { kind: "said", name: "a completion" }))) : null);
  }
  function topTokens(positions) {
    const rows = positions.slice(0, 50).map((tokens, at) => ({ at, tokens: Object.entries(tokens) }));
    const most = Math.min(10, Math.max(...rows.map((row) => row.tokens.length)));
    const table = harness.table([{ name: "at", label: "Token", cell: (row) => row.at + 1 }, ...Array.from({ length: most }, (_, k) => ({ name: `k${k}`, label: `${k + 1}.`, kind: "text",
      cell: (row) => (row.tokens[k] ? [make("code", null, plain(row.tokens[k][0].replace(/\n/g, "↵"), 20)), make("small", null, number(row.tokens[k][1]))] : "") }))], rows, { label: "Most likely tokens", rowHead: false });
    table.classList.add("narrow");
    return table;
  }

  // ------------------------------------------------------------------------------------------------------------
  // Options

  const share = (value) => harness.digits(value, true, true);
  function options(example) {
    const references = example.references || [];
    const chooses = (example.labels || []).length || example.choice_scores || example.choices || (example.choice !== undefined && example.choice !== null);
    if (!references.length) return null;
    if (!chooses && references.length === 1) return null; // the verdict has it
    const sums = new Map();
    (example.requests || []).forEach((request, at) => {
      const response = (example.responses || [])[at];
      if (request.reference === undefined || (request.role || "original") !== "original" || !response?.logprobs) return;
      sums.set(request.reference, [response.logprobs.reduce((sum, value) => sum + value, 0), response.logprobs.length]);
    });
    const scores = example.choice_scores || null;
    const chosen = new Set(example.choices || (example.choice === undefined || example.choice === null ? [] : [example.choice]));
    const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a));
    const all = (test) => Boolean(scores) && sums.size === references.length && scores.every((score, at) => test(score, ...sums.get(at)));
    const bySum = all((score, sum) => near(score, sum)), byToken = all((score, sum, tokens) => near(score, sum / tokens));
    const logs = scores && scores.every((score) => score <= 0);
    const most = logs ? Math.max(...scores) : 0;
    const shares = logs ? scores.map((score) => Math.exp(score - most)) : null;
    const total = shares ? shares.reduce((sum, one) => sum + one, 0) : 0;
    const other = scores && !bySum && !byToken;
    const bar = (value) => { const filled = make("i"); filled.style.setProperty("--share", `${100 * value}%`); return make("span.share", null, filled, share(value)); };
    const heads = [chooses ? "Option" : "Reference", shares ? "Share" : null, other ? "Score" : null, sums.size ? "Per token" : null, sums.size ? "Sum" : null, sums.size ? "Tokens" : null].filter(Boolean);
    const rows = references.slice(0, SEVERAL).map((reference, at) => {
      const [sum, tokens] = sums.get(at) || [];
      const numbers = [other ? number(scores[at]) : null, sums.size ? (tokens ? number(sum / tokens) : "–") : null, sums.size ? (tokens ? number(sum) : "–") : null, sums.size ? (tokens ? count(tokens) : "–") : null].filter((value) => value !== null);
      return make(chosen.has(at) ? "tr.chosen" : "tr", null, make("td", null, (example.labels || [])[at] ? [make("strong", null, `${plain(example.labels[at], 5)}.`), " "] : null, cut(reference.text, 400), reference.correct ? [" ", harness.tag("expected", "good")] : null,
        chosen.has(at) ? [" ", harness.tag("chosen", reference.correct ? "good" : "bad")] : null, reference.relevance !== undefined && reference.relevance !== null ? [" ", harness.tag(`relevance ${number(reference.relevance)}`)] : null),
        shares ? make("td", null, bar(shares[at] / total)) : null, numbers.map((value) => make("td.number", null, value)));
    });
    const note = bySum ? "the model chooses the largest sum of log-probabilities" : byToken ? "the model chooses the largest log-probability per token" : scores ? "the model chooses the largest score" : "";
    return section(chooses ? "Options" : "References", note, make("table.options", null, heads.length > 1 ? make("thead", null, make("tr", null, heads.map((head) => make("th", { scope: "col" }, head)))) : null, make("tbody", null, rows)),
      references.length > SEVERAL ? make("p.faint", null, `${count(references.length - SEVERAL)} more are not shown.`) : null,
      example.probability !== undefined && example.probability !== null ? make("p.faint", null, `The model's probability of its answer: ${example.probability < 0.001 ? "under .001" : share(example.probability)}`) : null);
  }

  // ------------------------------------------------------------------------------------------------------------
  // Judges, copies, other answers, scores

  function judged(example) {
    const found = example.judgements || [];
    if (!found.length) return null;
    return section("Judge’s rating", "", found.slice(0, SEVERAL).map((one) => {
      const [low, high] = one.scale || [0, 1];
      const value = one.label ?? (one.rating === undefined || one.rating === null ? null : number(one.rating).replace(/\.0+$/, ""));
      return make("div.judged", null, make("div", null, make("strong", null, value === null ? "–" : plain(value, 30)), one.scale ? make("small", null, `${number(low).replace(/\.0+$/, "")} to ${number(high).replace(/\.0+$/, "")}`) : null),
        make("div", null, make("small", null, plain(one.judge, 60), one.metric ? `, ${plain(harness.title("metrics", one.metric), 60)}` : ""), one.problem ? make("p.bad", null, cut(one.problem, 200)) : null, one.text ? prose(one.text, { limit: 1500, kind: "reason", name: "the judge's reason" }) : null));
    }));
  }
  const difference = (was, now) => {
    const parts = harness.wordDiff(was.slice(0, 60000), now.slice(0, 60000));
    if (!parts) return prose(now, { name: "the copy" });
    // Of a long stretch without changes, its ends.
    const short = (text) => (text.length > 400 ? [pieces(text.slice(0, 150)), make("span.faint", null, ` … ${count(text.length - 300)} characters … `), pieces(text.slice(-150))] : pieces(text));
    return make("div.turn", null, make("div.words", null, make("bdi", null, parts.map(([kind, text]) => (kind === "same" ? short(text) : make(/^\s+$/.test(text) ? `${kind}.space` : kind, null, pieces(text)))))));
  };

  // samples, n: the sample; run: as in the data; others: {name, samples} of another model or null; open(n) shows another sample of this run.
  harness.samplePanel = async (samples, n, run, others, open) => {
    const siblings = samples.siblings(n).filter((one) => one !== n);
    const alike = (one) => samples.sample(one) === samples.sample(n);
    const own = samples.perturbation(n);
    const originalAt = own === null ? n : siblings.find((one) => alike(one) && samples.perturbation(one) === null);
    const copies = siblings.filter((one) => alike(one) && samples.perturbation(one) !== null);
    const draws = siblings.filter((one) => samples.perturbation(one) === own && !alike(one));
    const their = others ? others.samples.called(samples.identity(n)) : undefined;
    const [example, original, theirs, ...changed] = await Promise.all([samples.detail(n), originalAt === undefined || originalAt === n ? null : samples.detail(originalAt), their === undefined ? null : others.samples.detail(their),
      ...copies.slice(0, SEVERAL).map((one) => samples.detail(one))]);
    const base = original || example;
    const mark = samples.mark(n);
    const given = (value, at, of = samples) => { const known = of.line(at); return known && known.answer !== null ? known.answer : value.unread ? null : value.prediction; };
    const long = (text) => (line(text).length > 60 ? "dd.long" : "dd");
    const said = (value, at, of) => { const text = given(value, at, of); return text === null ? harness.tag("nothing read", "bad") : line(text) ? cut(text, 140) : make("span.faint", null, "empty"); };
    const correct = (example.references || []).map((one, at) => ({ ...one, at })).filter((one) => one.correct);
    const label = (at) => ((example.labels || [])[at] ? `${example.labels[at]}. ` : "");
    const chooses = (example.labels || []).length || example.choice_scores || example.choices;
    const right = correct.map((one) => label(one.at) + one.text).join(" / ");
    const score = samples.index.score[n];
    const flags = [
      example.perturbation ? harness.tag(`copy: ${plain(harness.title("perturbations", example.perturbation), 30)}`) : null,
      example.trial ? harness.tag(`trial ${example.trial + 1}`) : null, samples.several ? harness.tag(`sample ${(example.sample || 0) + 1} of ${run.spec.samples || Math.max(...samples.index.sample) + 1}`) : null,
      example.truncated ? harness.tag("input truncated", "warn") : null, example.dropped_examples ? harness.tag(`${count(example.dropped_examples)} few-shot examples dropped`, "warn") : null,
      example.declined ? harness.tag("declined", "warn") : null, example.unfinished_reasoning ? harness.tag("unfinished reasoning", "bad") : null, example.unread ? harness.tag("no answer could be read", "bad") : null,
      example.error !== undefined && example.error !== null ? harness.tag("no score", "bad") : null,
    ].filter(Boolean);
    const scores = Object.entries(example.scores || {});
    const meta = Object.entries(example.meta || {}).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
    const change = (one, value) => make("div.copied", null, make("h4", null, make("button.plain", { type: "button", onclick: () => open(one) }, plain(harness.title("perturbations", samples.perturbation(one)), 40)), " ", tag(samples.mark(one)),
      make("small", null, given(value, one) === given(base, originalAt) ? "same answer" : ["answers ", said(value, one), " instead"])), value.input === base.input ? make("p.faint", null, "The same text.") : difference(base.input, value.input));

    return harness.add(make("article.sample", { "aria-label": `Sample ${plain(example.id, 60)}` }),
      flags.length ? make("p.flags", null, flags.map((one) => [one, " "])) : null,
      example.error !== undefined && example.error !== null ? make("p.bad", null, cut(example.error, 400)) : null,
      make("dl.verdict", null, make("div", null, make("dt", null, "Expected"), make(long(right), null, correct.length ? cut(right, 200) : make("span.faint", null, "–"))),
        make("div", null, make("dt", null, chooses ? "Chosen" : "Read from the answer"), make(long(given(example, n) ?? ""), null, said(example, n))),
        make("div", null, make("dt", { title: harness.about("metrics", run.metric) }, samples.graded ? "Score" : cut(harness.title("metrics", run.metric, "short"), 24)), make(`dd.points${mark ? `.${mark}` : ""}`, null, score === null ? "–" : harness.sampleScore(samples, n)))),
      original ? section("Perturbed copy", "changes against the original", original.input === example.input ? make("p.faint", null, "The same text as the original.") : difference(original.input, example.input),
        make("p.flow", null, "The original: ", said(original, originalAt), " ", tag(samples.mark(originalAt)), " ", make("button.plain", { type: "button", onclick: () => open(originalAt) }, "Open"))) : null,
      prompt(example), judged(example), chooses ? options(example) : null, answer(example, run, mark), chooses ? null : options(example),
      copies.length && !original ? section("Perturbed copies", "against the original", copies.slice(0, SEVERAL).map((one, at) => change(one, changed[at]))) : null,
      draws.length ? section("Other samples", `${count(draws.length)} more answers to the same prompt`, make("ul.draws", null, draws.slice(0, SEVERAL).map((one) => { const known = samples.line(one); return make("li", null, make("button.plain", { type: "button", onclick: () => open(one) }, `${samples.sample(one) + 1}`),
        " ", harness.sampleMark(samples, one), make("bdi", null, known ? plain(known.answer ?? "not read", 90) : "…"), make("span.faint", null, harness.sampleScore(samples, one))); }))) : null,
      others ? make("section.theirs", null, make("h3", null, cut(others.name, 50), " ", theirs ? tag(others.samples.mark(their)) : null, theirs ? copyButton("the other model's answer", () => theirs.prediction || "") : null),
        theirs ? [make("p.flow", null, "Read: ", said(theirs, their, others.samples)), (theirs.responses || []).at(-1)?.completions?.[0] ? prose(theirs.responses.at(-1).completions[0].text, { kind: "said", limit: 1500, name: "the other model's answer" }) : null] : make("p.faint", null, "This model was not asked the question.")) : null,
      scores.length ? section("All scores", "", make("dl.scores", null, scores.map(([name, value]) => make("div", null, make("dt", { title: harness.about("metrics", name) }, cut(harness.title("metrics", name), 60)), make("dd", null, number(value)))))) : null,
      meta.length || (example.train_instances || []).length ? make("section", null, fold("Metadata", () => make("dl.scores", null, meta.slice(0, SEVERAL).map(([name, value]) => make("div", null, make("dt", null, cut(name, 40)), make("dd", null, cut(value, 200)))),
        (example.train_instances || []).length ? make("div", null, make("dt", null, "Few-shot examples"), make("dd", null, cut(example.train_instances.join(", "), 300))) : null))) : null,
      make("section", null, fold(`Exact requests and responses (${count((example.requests || []).length)})`, () => exchanges(example)), make("p", null, copyButton("this sample as JSON", () => `${JSON.stringify(example, null, 1)}\n`))));
  };

  function exchanges(example) {
    const spoken = (asked, name) => (Array.isArray(asked) ? asked.map((turn) => [prose(turn.content, { who: role(turn.role), limit: 8000, name: `the ${role(turn.role).toLowerCase()}'s turn` }), calls(turn)]) : prose(asked, { limit: 8000, name }));
    return (example.requests || []).slice(0, 200).map((request, at) => {
      const response = (example.responses || [])[at] || {};
      const rest = Object.fromEntries(Object.entries(request).filter(([name]) => !["prompt", "context", "continuation", "segments", "order", "tools"].includes(name)));
      const parts = [make("h4", null, `Request ${at + 1}`), make("p.faint", null, make("code", null, plain(JSON.stringify(rest), 300)))];
      if (request.ask === "generate") parts.push(spoken(request.prompt, "the prompt"), request.prefill ? [make("h5", null, "Beginning of the answer"), prose(request.prefill, { name: "the beginning" })] : null, (request.tools || []).length ? [make("h5", null, "Tools"), prose(JSON.stringify(request.tools, null, 2), { limit: 1500, name: "the tools" })] : null);
      else if (request.ask === "score") parts.push(make("h5", null, "Context"), spoken(request.context, "the context"), make("h5", null, "Continuation"), prose(request.continuation, { name: "the continuation" }));
      else {
        const segments = Array.isArray(request.segments) ? request.segments : (example.segments || [])[request.of ?? request.segments ?? 0] || [];
        parts.push(make("h5", null, `${(request.order || []).length} segments in this order`), prose((request.order || []).join(" "), { limit: 1500, name: "the order" }), at === 0 ? [make("h5", null, "Segments"), prose(segments.join("\n⁂\n"), { limit: 4000, name: "the segments" })] : null);
      }
      parts.push(make("h5", null, "Response"));
      if (response.error) parts.push(make("p.bad", null, cut(response.error, 400)));
      for (const completion of response.completions || []) parts.push(completion.text || !(completion.tool_calls || []).length ? prose(completion.text, { limit: 8000, kind: "said", name: "the completion" }) : null, calls(completion));
      if (response.logprobs) parts.push(make("p", null, `Log-probabilities: ${number(response.logprobs.reduce((sum, value) => sum + value, 0))} = `, make("code", null, plain(response.logprobs.slice(0, 400).map((value) => value.toFixed(2)).join(" + "), 6000))));
      return make("div.exchange", null, parts);
    });
  }
})();

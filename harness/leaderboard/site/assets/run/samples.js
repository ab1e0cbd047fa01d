// The samples of a run: numbers of all at once, a line of text of each in parts, details on demand; filters and orders. No elements.
"use strict";
(() => {
  const KEPT = 6; // pieces of details
  const AT_ONCE = 4; // pieces of details that a search reads at the same time
  const FLAGS = { failed: "no score", unread: "no answer read", declined: "declined", unfinished: "unfinished reasoning", truncated: "input cut" };
  const folded = (value) => value.replace(/\s+/g, " ").toLowerCase();
  const words = (search) => folded(search || "").split(" ").filter(Boolean);
  const called = (call) => `${call.name}(${typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments)})`;

  // Everything of an example that can be searched.
  const spoken = (request) => [...[request.prompt, request.context].flatMap((prompt) => (Array.isArray(prompt) ? prompt.map((turn) => turn.content) : [prompt || ""])), request.continuation || ""];
  const content = (example) => folded([...(example.requests || []).flatMap(spoken), example.id, example.input, example.prediction || "", ...(example.references || []).map((one) => one.text), ...(example.predictions || []),
    ...(example.responses || []).flatMap((response) => (response.completions || []).flatMap((one) => [one.text, one.reasoning || "", ...(one.tool_calls || []).map(called)]))].join("\n"));

  // index: as in the data; metric: {higher: true | false | null} of the run's main metric.
  class Samples {
    constructor(address, index, higher) {
      Object.assign(this, { address, index, count: index.count, flags: FLAGS, lines: [], came: 0 });
      const known = index.score.filter((score) => score !== null);
      // Scores from 0 to 1 of which one end is right.
      this.graded = higher !== null && known.length > 0 && known.every((score) => score >= 0 && score <= 1);
      this.best = higher ? 1 : 0;
      this.binary = known.every((score) => score === 0 || score === 1);
      this.copies = index.perturbations.length > 1;
      this.original = index.perturbations.indexOf(null);
      this.several = index.sample.length > 0;
      this.files = Math.ceil(index.count / index.lines);
      this.trials = Int32Array.from(index.keys, (key) => Number(key.split(".")[1] || 0));
      this.repeated = this.trials.some((trial) => trial > 0);
      this.flagged = Object.fromEntries(Object.entries(index.flags).map(([name, places]) => [name, new Set(places)]));
      this.pieces = new Map();
      this.ranks = new Map();
      this.search = [];
    }

    perturbation(n) { return this.index.perturbations[this.index.perturbation[n]]; }
    sample(n) { return this.several ? this.index.sample[n] : 0; }
    trial(n) { return this.trials[this.index.instance[n]]; }
    key(n) { return this.index.keys[this.index.instance[n]]; }
    // "right", "wrong", "part" or "" where the score says neither.
    mark(n) {
      const score = this.index.score[n];
      return !this.graded || score === null ? "" : score === this.best ? "right" : score === 1 - this.best ? "wrong" : "part";
    }

    // ----------------------------------------------------------------------------------------------------------
    // Lines: {id, input, expected, answer}, answer null if none could be read; null until they are loaded.
    line(n) {
      const part = this.lines[Math.floor(n / this.index.lines)];
      if (!part) return null;
      const at = n % this.index.lines;
      return { id: part.id[at], input: part.input[at], expected: part.expected[at], answer: part.answer[at] };
    }
    async loadLines(k) {
      if (this.lines[k]) return;
      const part = await harness.get(`runs/${this.address}/lines/${k}`, { keep: false });
      if (!this.lines[k]) { this.lines[k] = part; this.came += 1; }
    }
    // All of them, in order; each(k) is called as they come.
    whole(each = () => {}) {
      this.loading = this.loading || (async () => {
        for (let k = 0; k < this.files; k += 1) { await this.loadLines(k); each(k); }
      })();
      return this.loading;
    }
    get complete() { return this.came === this.files; }
    at(column, n) { const part = this.lines[Math.floor(n / this.index.lines)]; return part ? part[column][n % this.index.lines] : null; }

    // ----------------------------------------------------------------------------------------------------------
    // Details
    place(n) {
      const { starts } = this.index;
      let low = 0, high = starts.length - 1;
      while (low < high) { const middle = Math.ceil((low + high) / 2); if (starts[middle] <= n) low = middle; else high = middle - 1; }
      return low;
    }
    piece(at) {
      const found = this.pieces.get(at) || harness.get(`runs/${this.address}/${at}`, { keep: false }).catch((error) => { this.pieces.delete(at); throw error; });
      this.pieces.delete(at);
      this.pieces.set(at, found); // the last used at the end
      if (this.pieces.size > KEPT) this.pieces.delete(this.pieces.keys().next().value);
      return found;
    }
    async detail(n) { const at = this.place(n); return (await this.piece(at))[n - this.index.starts[at]]; }

    // ----------------------------------------------------------------------------------------------------------
    // Which sample is which

    // The examples of an instance in a trial: its copies and samples.
    siblings(n) {
      if (!this.next) {
        const size = this.index.keys.length;
        this.first = new Int32Array(size).fill(-1);
        this.next = new Int32Array(this.count).fill(-1);
        for (let at = this.count - 1; at >= 0; at -= 1) { const own = this.index.instance[at]; this.next[at] = this.first[own]; this.first[own] = at; }
      }
      const found = [];
      for (let at = this.first[this.index.instance[n]]; at >= 0; at = this.next[at]) found.push(at);
      return found;
    }
    identity(n) { return `${this.key(n)}/${this.perturbation(n) ?? ""}/${this.sample(n)}`; }
    // The position of what another run's sample is called, or undefined.
    called(identity) {
      if (!this.known) { this.known = new Map(); for (let n = this.count - 1; n >= 0; n -= 1) this.known.set(this.identity(n), n); }
      return this.known.get(identity);
    }
    // A sample as an address names it, and back; -1 if there is none. Lines must be complete.
    named(n) { return { id: this.at("id", n), copy: this.perturbation(n), trial: this.trial(n) ? this.trial(n) + 1 : null, draw: this.sample(n) ? this.sample(n) + 1 : null }; }
    find({ id, copy, trial, draw }) {
      const wanted = [copy ?? null, Number(trial || 1) - 1, Number(draw || 1) - 1];
      for (let n = 0; n < this.count; n += 1) {
        if (this.at("id", n) === id && this.perturbation(n) === wanted[0] && this.trial(n) === wanted[1] && this.sample(n) === wanted[2]) return n;
      }
      return -1;
    }
    findKey(key) { const at = this.index.keys.indexOf(key); return at < 0 ? -1 : this.index.instance.findIndex((one, n) => one === at && this.index.perturbation[n] === this.original); }

    // ----------------------------------------------------------------------------------------------------------
    // Order: a number for each sample by which a column sorts; null sorts last.
    rank(column) {
      const { index } = this;
      if (column === "score" || column === "tick") return index.score;
      if (column === "tokens") return index.tokens;
      if (column === "sample") return index.sample;
      if (column === "copy") return index.perturbation;
      if (!this.complete) return index.instance;
      if (!this.ranks.has(column)) {
        const keys = Array.from({ length: this.count }, (_, n) => {
          const value = (this.at(column, n) ?? "").toLowerCase();
          return column === "id" ? value.replace(/\d+/g, (digits) => digits.padStart(12, "0")) : value;
        });
        const ordered = Array.from(keys.keys()).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
        const ranks = new Int32Array(this.count);
        let at = -1;
        ordered.forEach((n, place) => { if (!place || keys[n] !== keys[ordered[place - 1]]) at += 1; ranks[n] = at; });
        this.ranks.set(column, ranks);
      }
      return this.ranks.get(column);
    }

    // ----------------------------------------------------------------------------------------------------------
    // Filter. other: the samples of another run or null; found: positions that a search of whole texts found, or null.
    // Returns {keep: Uint8Array, kept, counts: {"", right, wrong, part}}.
    filter(query, other, found) {
      const { index } = this, keep = new Uint8Array(this.count), counts = { "": 0, right: 0, wrong: 0, part: 0 };
      const copies = query.copies ?? (this.copies && this.original >= 0 ? "original" : "all");
      const copy = copies === "original" ? this.original : copies === "all" ? -1 : index.perturbations.indexOf(copies);
      const sample = query.sample ? Number(query.sample) - 1 : -1, trial = query.trials ? Number(query.trials) - 1 : -1;
      const state = query.state ? (Object.hasOwn(this.flagged, query.state) ? this.flagged[query.state] : new Set()) : null;
      const groups = Object.entries(query).filter(([name]) => name.startsWith("meta.")).map(([name, value]) => {
        const meta = Object.entries(index.meta).find(([known]) => known === name.slice(5))?.[1];
        return meta ? [meta.of, meta.values.indexOf(value)] : [[], 0];
      });
      const wanted = found ? [] : words(query.q);
      if (wanted.length && !this.search.length) this.search = Array.from({ length: this.count }, (_, n) => { const line = this.line(n); return line ? `${line.id}\n${line.input}\n${line.expected}\n${line.answer ?? ""}`.toLowerCase() : ""; });
      const against = other && query.only === "differs" ? this.differing(other) : null;
      let kept = 0;
      for (let n = 0; n < this.count; n += 1) {
        if (copy >= 0 && index.perturbation[n] !== copy) continue;
        if (copies !== "all" && copy < 0) continue;
        if (sample >= 0 && this.sample(n) !== sample) continue;
        if (trial >= 0 && this.trial(n) !== trial) continue;
        if (state && !state.has(n)) continue;
        if (groups.some(([of, value]) => of[index.instance[n]] !== value)) continue;
        if (found ? !found.has(n) : wanted.length && !wanted.every((word) => this.search[n].includes(word))) continue;
        const mark = this.mark(n);
        counts[""] += 1;
        if (mark) counts[mark] += 1;
        if (against ? !against[n] : query.only && query.only !== "differs" && mark !== query.only) continue;
        keep[n] = 1;
        kept += 1;
      }
      return { keep, kept, counts, copies, differs: other ? this.differs(other, keep) : 0 };
    }
    differing(other) {
      this.against = this.against || new Map();
      if (!this.against.has(other)) {
        const found = new Uint8Array(this.count);
        for (let n = 0; n < this.count; n += 1) {
          const at = other.called(this.identity(n));
          if (at !== undefined && other.index.answer[at] !== this.index.answer[n]) found[n] = 1;
        }
        this.against.set(other, found);
      }
      return this.against.get(other);
    }
    differs(other, keep) { const found = this.differing(other); let sum = 0; for (let n = 0; n < this.count; n += 1) sum += keep[n] & found[n]; return sum; }

    // The samples whose prompts, answers and references have all words of a search; says(looked, hits) now and then. Null if not wanted any more.
    async searchWhole(search, says, goesOn) {
      const wanted = words(search), hits = new Set(), { starts } = this.index;
      for (let at = 0; at < starts.length; at += AT_ONCE) {
        const parts = await Promise.all(Array.from({ length: Math.min(AT_ONCE, starts.length - at) }, (_, k) => harness.get(`runs/${this.address}/${at + k}`, { keep: false })));
        if (!goesOn()) return null;
        parts.forEach((examples, k) => examples.forEach((example, j) => { const text = content(example); if (wanted.every((word) => text.includes(word))) hits.add(starts[at + k] + j); }));
        says(Math.min(this.count, starts[at + parts.length] ?? this.count), hits.size);
      }
      return hits;
    }
  }

  harness.openSamples = async (address, higher) => new Samples(address, await harness.get(`runs/${address}/index`), higher);
})();

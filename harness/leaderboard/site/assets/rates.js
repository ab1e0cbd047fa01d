// Mean win rates of what is shown (Liang et al. 2022, section 8.1), with the interval of a parametric bootstrap, as the
// builder computes them of everything.
"use strict";
(() => {
  const DRAWS = 300;
  const Z = 1.959963984540054;

  // A generator of normal numbers that starts from a text (mulberry32, and Box and Muller's transform).
  const normals = (seed) => {
    let state = 2166136261;
    for (const character of seed) state = Math.imul(state ^ character.codePointAt(0), 16777619);
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  };
  // The share of the others that each value beats, ties counting one half.
  const wins = (values) => {
    const size = values.length;
    const beaten = new Float64Array(size);
    for (let i = 0; i < size; i += 1) {
      for (let j = i + 1; j < size; j += 1) {
        if (values[i] > values[j]) beaten[i] += 1;
        else if (values[i] < values[j]) beaten[j] += 1;
        else { beaten[i] += 0.5; beaten[j] += 0.5; }
      }
    }
    for (let i = 0; i < size; i += 1) beaten[i] /= size - 1;
    return beaten;
  };
  // The wins of each draw, one after the other.
  const draw = (entries, sign, name) => {
    const size = entries.length;
    const generators = entries.map((entry) => normals(`${name}/${entry.model}`));
    const all = new Float64Array(DRAWS * size);
    const means = new Float64Array(size);
    for (let d = 0; d < DRAWS; d += 1) {
      for (let i = 0; i < size; i += 1) means[i] = sign * (entries[i].mean + entries[i].spread * generators[i]());
      all.set(wins(means), d * size);
    }
    return all;
  };
  const snap = (value) => Number(value.toPrecision(12));

  // measures: as in the data. models: positions that take part. columns: a Set of columns. out(model, column): leave out?
  // Returns for each position [value, low, high, columns, of] or null.
  harness.winRates = (measures, models, columns, sample, out) => {
    const contests = measures.filter((m) => columns.has(m.column) && m.higher !== null).map((m) => ({
      sample: sample(m.column),
      sign: m.higher ? 1 : -1,
      name: `${m.column}/${m.metric}/${m.worst}`,
      entries: models.filter((i) => m.cells[i] && m.cells[i][0] !== null && m.cells[i][5] === m.cells[i][6] && !out(i, m.column))
        .map((i) => ({ model: i, mean: snap(m.cells[i][0]), spread: m.cells[i][1] === null ? null : (m.cells[i][2] - m.cells[i][1]) / 2 / Z })),
    })).filter((contest) => contest.entries.length > 1);
    const real = contests.some((contest) => !contest.sample);
    const counted = contests.filter((contest) => !(real && contest.sample));
    const found = new Map();
    for (const { entries, sign, name } of counted) {
      const size = entries.length;
      const known = entries.every((entry) => entry.spread !== null);
      const point = wins(Float64Array.from(entries, (entry) => sign * entry.mean));
      const drawn = known ? draw(entries, sign, name) : null;
      entries.forEach((entry, at) => {
        if (!found.has(entry.model)) found.set(entry.model, { sum: 0, n: 0, known: true, totals: new Float64Array(DRAWS) });
        const total = found.get(entry.model);
        total.sum += point[at];
        total.n += 1;
        total.known = total.known && known;
        if (known) for (let d = 0; d < DRAWS; d += 1) total.totals[d] += drawn[d * size + at];
      });
    }
    const rates = new Map();
    for (const [model, { sum, n, known, totals }] of found) {
      const value = sum / n;
      let low = null, high = null;
      if (known) {
        const sorted = totals.map((total) => total / n).sort();
        low = Math.min(value, sorted[Math.floor(0.025 * DRAWS)]);
        high = Math.max(value, sorted[Math.ceil(0.975 * DRAWS) - 1]);
      }
      rates.set(model, [value, low, high, n, counted.length]);
    }
    return rates;
  };

  // Ranks from 1; ties share one.
  harness.ranks = (values) => {
    const known = [...values.entries()].map(([name, value]) => [name, snap(value)]);
    return new Map(known.map(([name, value]) => [name, 1 + known.filter(([, other]) => other > value).length]));
  };
})();

// Mean win rates of what is shown (Liang et al. 2022, section 8.1), with the interval of a parametric bootstrap, as the
// builder computes them of everything.
"use strict";
(() => {
  const DRAWS = 500;
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
    for (const contest of counted) {
      const { entries, sign } = contest;
      const known = entries.every((entry) => entry.spread !== null);
      const others = entries.length - 1;
      const wins = (means, at) => {
        let sum = 0;
        for (let j = 0; j < means.length; j += 1) if (j !== at) sum += means[at] * sign > means[j] * sign ? 1 : means[at] === means[j] ? 0.5 : 0;
        return sum / others;
      };
      const draws = known ? entries.map((entry) => ({ entry, next: normals(`${contest.name}/${entry.model}`) })) : null;
      const drawn = known ? Array.from({ length: DRAWS }, () => draws.map(({ entry, next }) => entry.mean + entry.spread * next())) : [];
      const means = entries.map((entry) => entry.mean);
      entries.forEach((entry, at) => {
        if (!found.has(entry.model)) found.set(entry.model, { sum: 0, n: 0, known: true, totals: new Float64Array(DRAWS) });
        const total = found.get(entry.model);
        total.sum += wins(means, at);
        total.n += 1;
        total.known = total.known && known;
        if (known) for (let d = 0; d < DRAWS; d += 1) total.totals[d] += wins(drawn[d], at);
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

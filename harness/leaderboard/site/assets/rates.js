// Mean win rates over the models and columns that the reader selects (Liang et al. 2022, section 8.1). Selections cannot be
// computed in advance, so this repeats harness/leaderboard/win_rate.py and harness/statistics/closed_testing.py on the
// z-scores that the builder wrote; a test compares the two.
"use strict";
(() => {
  const ALPHA = 0.05;
  const UNKNOWN = -32768, STEPS = 1000; // the builder's z-scores: thousandths in 16 bits
  const COVARIANCE = 3.263 * 0.5 + 0.71 * 0.5 ** 2 + 0.027 * 0.5 ** 3; // Kost and McDermott 2002, for a correlation of one half

  const snap = (value) => Number(value.toPrecision(12));

  // Natural logarithm of the normal distribution function (Chebyshev fit of erfc, relative error 1.2e-7).
  const FIT = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
  const logNormal = (x) => {
    const size = Math.abs(x) / Math.SQRT2, t = 1 / (1 + size / 2);
    const tail = Math.log(t / 2) - size * size + FIT.reduce((sum, each) => sum * t + each, 0);
    return x <= 0 ? tail : Math.log1p(-Math.exp(tail));
  };

  const logGamma = (x) => {
    let shift = 0;
    for (; x < 12; x += 1) shift += Math.log(x);
    return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5) - shift;
  };
  // Regularised upper incomplete gamma function: series below a + 1, else continued fraction (Lentz 1976).
  const upperGamma = (a, x) => {
    const front = Math.exp(a * Math.log(x) - x - logGamma(a));
    if (x < a + 1) {
      let term = 1 / a, sum = term;
      for (let n = 1; n < 5000 && term > sum * 1e-16; n += 1) { term *= x / (a + n); sum += term; }
      return 1 - front * sum;
    }
    let b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (let n = 1; n < 5000; n += 1) {
      const an = -n * (n - a);
      b += 2;
      d = 1 / (an * d + b);
      c = b + an / c;
      h *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return front * h;
  };
  // The upper quantile of the normal distribution, by bisection.
  const normalInverse = (share) => {
    let low = -40, high = 40;
    for (let i = 0; i < 60; i += 1) {
      const middle = (low + high) / 2;
      if (logNormal(-middle) > Math.log(share)) low = middle; else high = middle;
    }
    return low;
  };
  // The inverse of the upper incomplete gamma function: Wilson and Hilferty 1931, then Newton's method.
  const upperGammaInverse = (a, share, quantile) => {
    const scale = logGamma(a);
    let x = a * Math.max(0.05, 1 - 1 / (9 * a) + quantile / (3 * Math.sqrt(a))) ** 3;
    for (let i = 0; i < 30; i += 1) {
      const slope = Math.exp((a - 1) * Math.log(x) - x - scale);
      const step = (upperGamma(a, x) - share) / slope;
      x = Math.max(x / 2, x + step);
      if (Math.abs(step) < 1e-11 * x) break;
    }
    return x;
  };

  const tables = new Map();
  // Brown's (1975) critical values of -2 Σ ln p for 1, 2, … p-values.
  const critical = (count, dependent, level) => {
    const key = `${dependent}/${level}`;
    if (!tables.has(key)) tables.set(key, []);
    const table = tables.get(key);
    const quantile = table.length < count ? normalInverse(level) : 0;
    for (let i = table.length + 1; i <= count; i += 1) {
      const variance = i * (4 + (Math.min(dependent, i) - 1) * COVARIANCE);
      table.push((variance / (2 * i)) * upperGammaInverse((4 * i * i) / variance, level, quantile));
    }
    return table;
  };
  const logs = [-Infinity]; // of whole numbers
  const logOf = (n) => {
    while (logs.length <= n) logs.push(Math.log(logs.length));
    return logs[n];
  };
  // How many of the alternatives are certain, given log p-values from the largest down.
  const certain = (ordered, dependent, level) => {
    logOf(ordered.length);
    const simes = (size) => {
      const scale = Math.log(level / 2 / size);
      for (let k = 0; k < size; k += 1) if (ordered[k] <= logs[size - k] + scale) return false;
      return true;
    };
    let low = 0, high = ordered.length;
    while (low < high) {
      const size = (low + high + 1) >> 1;
      if (simes(size)) low = size; else high = size - 1;
    }
    const table = critical(ordered.length, dependent, level / 2);
    let sum = 0, most = 0;
    ordered.forEach((each, k) => { sum -= 2 * each; if (sum <= table[k]) most = k + 1; });
    return ordered.length - Math.min(low, most);
  };

  // pairs: base64 of the upper triangle of z-scores of all models. Returns a function of two positions.
  const reader = (pairs, size) => {
    const bytes = Uint8Array.from(atob(pairs), (character) => character.charCodeAt(0));
    const values = new DataView(bytes.buffer);
    return (i, j) => {
      const [a, b] = i < j ? [i, j] : [j, i];
      const value = values.getInt16(2 * (a * size - (a * (a + 1)) / 2 + b - a - 1), true);
      return value === UNKNOWN ? NaN : (i < j ? value : -value) / STEPS;
    };
  };

  // The intervals of a model at error probabilities, from its z-scores against the others of each column.
  const intervals = (columns, alphas) => {
    const z = columns.flat();
    const dependent = Math.max(...columns.map((each) => each.length));
    const weights = Float64Array.from(columns.flatMap((each) => each.map(() => 1 / (each.length * columns.length)))).sort();
    const [wins, losses] = [1, -1].map((sign) => Float64Array.from(z, (each) => (Number.isNaN(each) ? 0 : logNormal(-sign * each))).sort().reverse());
    const share = (ordered, alpha) => {
      const found = certain(ordered, dependent, alpha / 2);
      return found === weights.length ? 1 : weights.subarray(0, found).reduce((sum, each) => sum + each, 0);
    };
    return alphas.map((alpha) => [share(wins, alpha), 1 - share(losses, alpha)]);
  };

  // measures, pairs: as in the data. models: positions of the selected models. columns: Set of the selected columns. size:
  // number of all models. out(model, column): true to leave a cell out. Returns a map from position to
  // [value, low, high, columns, of, first, last].
  harness.winRates = (measures, pairs, models, columns, size, sample, out) => {
    const contests = measures.map((m, at) => ({ ...m, pairs: pairs[at] })).filter((m) => columns.has(m.column) && m.higher !== null).map((m) => ({
      sample: sample(m.column),
      z: reader(m.pairs, size),
      entries: models.filter((i) => m.cells[i] && m.cells[i][0] !== null && m.cells[i][4] && !out(i, m.column))
        .map((i) => ({ model: i, mean: (m.higher ? 1 : -1) * snap(m.cells[i][0]) })),
    })).filter((contest) => contest.entries.length > 1);
    const real = contests.some((contest) => !contest.sample);
    const counted = contests.filter((contest) => !(real && contest.sample));
    const found = new Map();
    for (const { entries, z } of counted) {
      for (const { model, mean } of entries) {
        const others = entries.filter((other) => other.model !== model);
        if (!found.has(model)) found.set(model, { points: [], scores: [] });
        const beaten = others.reduce((sum, other) => sum + (mean > other.mean ? 1 : mean === other.mean ? 0.5 : 0), 0);
        found.get(model).points.push(beaten / others.length);
        found.get(model).scores.push(others.map((other) => z(model, other.model)));
      }
    }
    const rates = new Map(), joint = new Map();
    for (const [model, { points, scores }] of found) {
      const value = points.reduce((sum, each) => sum + each, 0) / points.length;
      const [own, all] = intervals(scores, [ALPHA, ALPHA / found.size]).map(([low, high]) => [Math.min(low, value), Math.max(high, value)]);
      const known = scores.flat().some((each) => !Number.isNaN(each));
      joint.set(model, all);
      rates.set(model, [value, known ? own[0] : null, known ? own[1] : null, points.length, counted.length]);
    }
    const ends = [...joint.values()];
    for (const [model, [low, high]] of joint) {
      rates.get(model).push(1 + ends.filter(([other]) => other > high).length, ends.length - ends.filter(([, other]) => other < low).length);
    }
    return rates;
  };

  // The ranks that each model of a column may have, as pairwise.column_ranks: Holm's method over all pairs. measure, pairs,
  // models, size, out: as above. Returns a map from position to [first, last]; empty for fewer than two results.
  harness.columnRanks = (measure, pairs, models, size, out) => {
    const z = reader(pairs, size);
    const entries = measure.higher === null ? [] : models.filter((i) => measure.cells[i] && measure.cells[i][0] !== null && measure.cells[i][4] && !out(i, measure.column));
    const found = new Map();
    if (entries.length < 2) return found;
    const tests = [];
    entries.forEach((one, a) => entries.slice(a + 1).forEach((other) => {
      const score = z(one, other);
      tests.push([Number.isNaN(score) ? 1 : 2 * Math.exp(logNormal(-Math.abs(score))), score, one, other]);
    }));
    tests.sort((a, b) => a[0] - b[0]);
    for (const model of entries) found.set(model, [1, entries.length]);
    for (const [at, [p, score, one, other]] of tests.entries()) {
      if (p * (tests.length - at) > ALPHA) break;
      const [better, worse] = score > 0 ? [one, other] : [other, one];
      found.get(worse)[0] += 1;
      found.get(better)[1] -= 1;
    }
    return found;
  };

  // Ranks from 1; ties share a rank.
  harness.ranks = (values) => {
    const known = [...values.entries()].map(([name, value]) => [name, snap(value)]);
    return new Map(known.map(([name, value]) => [name, 1 + known.filter(([, other]) => other > value).length]));
  };

  // "2", or "2 (1–3)" where the data allow several ranks.
  harness.rankOf = (rank, rate) => (!rank ? "—" : !rate || rate[5] === rate[6] ? `${rank}` : `${rank} (${rate[5]}–${rate[6]})`);
})();

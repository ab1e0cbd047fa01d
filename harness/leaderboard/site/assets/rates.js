// Mean win rates over the models and columns that the reader selects (Liang et al. 2022, section 8.1). Selections cannot be
// computed in advance, so this repeats harness/leaderboard/win_rate.py and harness/statistics/closed_testing.py on the
// z-scores that the builder wrote; a test compares the two.
"use strict";
(() => {
  const ALPHA = 0.05;
  const UNKNOWN = -32768, STEPS = 1000; // the builder's z-scores: thousandths in 16 bits
  const COVARIANCE = 3.263 * 0.5 + 0.71 * 0.5 ** 2 + 0.027 * 0.5 ** 3; // Kost and McDermott 2002, for a correlation of one half

  const SLICE = 12; // milliseconds of work between two breaks for the page

  const snap = (value) => Number(value.toPrecision(12));

  // Natural logarithm of the normal distribution function (Chebyshev fit of erfc, relative error 1.2e-7).
  const FIT = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
  const logNormal = (x) => {
    const size = Math.abs(x) / Math.SQRT2, t = 1 / (1 + size / 2);
    const tail = Math.log(t / 2) - size * size + FIT.reduce((sum, each) => sum * t + each, 0);
    return x <= 0 ? tail : Math.log1p(-Math.exp(tail));
  };

  // The same of thousandths, which are computed once each.
  const known = new Float64Array(65537).fill(NaN);
  const logNormalOf = (thousandths) => {
    const place = thousandths + 32768;
    if (Number.isNaN(known[place])) known[place] = logNormal(thousandths / STEPS);
    return known[place];
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
  const decoded = new Map();
  const decode = (pairs) => {
    if (!decoded.has(pairs)) {
      const text = atob(pairs), bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
      const view = new DataView(bytes.buffer), values = new Int16Array(bytes.length / 2);
      for (let at = 0; at < values.length; at += 1) values[at] = view.getInt16(2 * at, true);
      decoded.set(pairs, values);
    }
    return decoded.get(pairs);
  };
  const reader = (pairs, size) => {
    const values = decode(pairs);
    return (i, j) => {
      const a = Math.min(i, j), b = Math.max(i, j);
      const value = values[a * size - (a * (a + 1)) / 2 + b - a - 1];
      return value === UNKNOWN ? NaN : (i < j ? value : -value) / STEPS;
    };
  };

  // The intervals of a model at error probabilities, from its z-scores against the others of each measure, and the column of each.
  const intervals = (columns, of, alphas) => {
    const z = columns.flat();
    const sizes = new Map();
    columns.forEach((each, k) => sizes.set(of[k], (sizes.get(of[k]) || 0) + each.length));
    const dependent = Math.max(...sizes.values());
    const weights = Float64Array.from(columns.flatMap((each) => each.map(() => 1 / (each.length * columns.length)))).sort();
    const [wins, losses] = [1, -1].map((sign) => Float64Array.from(z, (each) => (Number.isNaN(each) ? 0 : logNormalOf(Math.round(-sign * each * STEPS)))).sort().reverse());
    const share = (ordered, alpha) => {
      const found = certain(ordered, dependent, alpha / 2);
      return found === weights.length ? 1 : weights.subarray(0, found).reduce((sum, each) => sum + each, 0);
    };
    return alphas.map((alpha) => [share(wins, alpha), 1 - share(losses, alpha)]);
  };

  // Of the columns that ask the same in different ways, the one that counts: as _primary in harness/leaderboard/aggregate.py.
  // about(column): {question, sample, prompted}. Returns a Set.
  harness.primaryColumns = (measures, models, columns, about, out) => {
    const found = measures.filter(({ column }) => columns.has(column)).map(({ column, higher, cells }) => {
      const there = models.filter((i) => cells[i]);
      const results = higher === null ? [] : there.filter((i) => cells[i][0] !== null && cells[i][4] && !out(i, column));
      return { column, possible: results.length > 1, size: Math.max(0, ...there.map((i) => cells[i][3])), models: there.length, ...about(column) };
    });
    const real = found.some(({ possible, sample }) => possible && !sample);
    const best = new Map();
    for (const each of found) {
      const place = [each.possible && !(real && each.sample), each.size, each.models, !each.prompted].map(Number);
      const other = best.get(each.question);
      const at = other ? place.findIndex((value, k) => value !== other.place[k]) : -1;
      if (!other || (at >= 0 && place[at] > other.place[at])) best.set(each.question, { place, column: each.column });
    }
    return new Set([...best.values()].map(({ column }) => column));
  };

  // measures, pairs: as in the data. models: positions of the selected models. columns: Set of the selected columns. size:
  // number of all models. out(model, column): true to leave a cell out. Returns a map from position to
  // [value, low, high, columns, of, first, last].
  harness.winRates = (...given) => {
    const { found, counted } = standings(...given);
    return ranked(new Map([...found].map(([model, each]) => [model, ends(each, found.size)])), found, counted);
  };
  // The same for many models and columns: the values at once, and their intervals and ranks later, without holding up the page.
  // Returns {quick: the map without them, finish: an asynchronous function that returns the map with them}.
  harness.winRatesLater = (...given) => {
    const { found, counted } = standings(...given);
    const finish = async (wanted) => {
      const made = new Map();
      let since = performance.now();
      for (const [model, each] of found) {
        made.set(model, ends(each, found.size));
        if (performance.now() - since > SLICE) {
          await new Promise((done) => setTimeout(done, 0));
          if (!wanted()) return null;
          since = performance.now();
        }
      }
      return ranked(made, found, counted);
    };
    return { quick: new Map([...found].map(([model, each]) => [model, [each.value, null, null, each.points.length, counted.length]])), finish };
  };

  // The value of each model, and where its z-scores are.
  const standings = (measures, pairs, models, columns, size, sample, out) => {
    const contests = measures.map((m, at) => ({ ...m, pairs: pairs[at] })).filter((m) => columns.has(m.column) && m.higher !== null).map((m) => ({
      sample: sample(m.column), column: m.column,
      pairs: m.pairs,
      entries: models.filter((i) => m.cells[i] && m.cells[i][0] !== null && m.cells[i][4] && !out(i, m.column))
        .map((i) => ({ model: i, mean: (m.higher ? 1 : -1) * snap(m.cells[i][0]) })),
    })).filter((contest) => contest.entries.length > 1);
    const real = contests.some((contest) => !contest.sample);
    const counted = contests.filter((contest) => !(real && contest.sample));
    const found = new Map();
    for (const contest of counted) {
      let z = null;
      contest.z = (i, j) => { z = z || reader(contest.pairs, size); return z(i, j); };
      const { entries } = contest;
      const ordered = Float64Array.from(entries, ({ mean }) => mean).sort();
      const below = new Map(), upTo = new Map(); // how many means are less than a mean, and how many are not more
      ordered.forEach((mean, at) => { if (!below.has(mean)) below.set(mean, at); upTo.set(mean, at + 1); });
      for (const { model, mean } of entries) {
        if (!found.has(model)) found.set(model, { model, points: [], contests: [] });
        const beaten = (below.get(mean) + upTo.get(mean) - 1) / 2; // a tie counts one half, that with itself not
        found.get(model).points.push(beaten / (entries.length - 1));
        found.get(model).contests.push(contest);
      }
    }
    for (const each of found.values()) each.value = each.points.reduce((sum, point) => sum + point, 0) / each.points.length;
    return { found, counted };
  };
  // A model's interval, that for the ranks, and whether any pair can be tested.
  const ends = ({ model, contests, value }, models) => {
    const scores = contests.map(({ entries, z }) => entries.filter((other) => other.model !== model).map((other) => z(model, other.model)));
    const [own, all] = intervals(scores, contests.map(({ column }) => column), [ALPHA, models > 2 ? ALPHA / models : ALPHA]).map(([low, high]) => [Math.min(low, value), Math.max(high, value)]);
    return { own: scores.some((each) => each.some((score) => !Number.isNaN(score))) ? own : [null, null], all };
  };
  const ranked = (made, found, counted) => {
    const joint = [...made.values()].map(({ all }) => all);
    return new Map([...found].map(([model, { value, points }]) => {
      const { own: [low, high], all: [least, most] } = made.get(model);
      return [model, [value, low, high, points.length, counted.length, 1 + joint.filter(([other]) => other > most).length, joint.length - joint.filter(([, other]) => other < least).length]];
    }));
  };

  // The ranks that each model of a column may have, as pairwise.column_ranks: Holm's method over all pairs. measure, pairs,
  // models, size, out: as above. Returns a map from position to [first, last]; empty for fewer than two results.
  const heights = new Uint32Array(32769); // of a column's scores, in thousandths
  harness.columnRanks = (measure, pairs, models, size, out) => {
    const entries = measure.higher === null ? [] : models.filter((i) => measure.cells[i] && measure.cells[i][0] !== null && measure.cells[i][4] && !out(i, measure.column)).sort((i, j) => i - j);
    const found = new Map();
    if (entries.length < 2) return found;
    const values = decode(pairs), size2 = (entries.length * (entries.length - 1)) / 2;
    const scores = new Int16Array(size2);
    heights.fill(0);
    let at = 0, largest = 0;
    for (let a = 0; a < entries.length; a += 1) {
      const row = entries[a] * size - (entries[a] * (entries[a] + 1)) / 2 - entries[a] - 1;
      for (let b = a + 1; b < entries.length; b += 1) {
        const value = values[row + entries[b]], score = value === UNKNOWN ? 0 : value; // unknown: as a tie
        const height = Math.abs(score);
        scores[at++] = score;
        heights[height] += 1;
        if (height > largest) largest = height;
      }
    }
    // Equal scores are rejected together, since Holm's factor falls from one to the next.
    let rejected = 0, least = largest + 1;
    for (let height = largest; height >= 0; height -= 1) {
      if (!heights[height]) continue;
      if (Math.LN2 + logNormalOf(-height) + Math.log(size2 - rejected) > Math.log(ALPHA)) break;
      rejected += heights[height];
      least = height;
    }
    const ends = entries.map(() => [1, entries.length]);
    at = 0;
    for (let a = 0; a < entries.length; a += 1) for (let b = a + 1; b < entries.length; b += 1) {
      const score = scores[at++];
      if (Math.abs(score) < least) continue;
      if (score > 0) { ends[b][0] += 1; ends[a][1] -= 1; } else { ends[a][0] += 1; ends[b][1] -= 1; }
    }
    entries.forEach((model, place) => found.set(model, ends[place]));
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

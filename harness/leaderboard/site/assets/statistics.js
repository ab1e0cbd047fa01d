// Two scores of the same instances: their difference, and whether it could be chance; as harness/statistics defines it.
"use strict";
(() => {
  const TOLERANCE = 1e-9; // relative difference below which two sums, added up in different orders, are the same
  const EXACT_UP_TO = 20; // most differences other than 0 whose signs are flipped in all ways
  const RESAMPLES = 10000;
  const Z = 1.959963984540054; // normal quantile at 0.975

  // Logarithm of the gamma function (Lanczos 1964, g = 7).
  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  const lgamma = (x) => {
    if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - lgamma(1 - x);
    const t = x + 6.5;
    const sum = LANCZOS.reduce((total, c, i) => (i === 0 ? c : total + c / (x - 1 + i)), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  };

  // Regularised incomplete beta function by its continued fraction (Lentz 1976).
  const fraction = (a, b, x) => {
    const tiny = 1e-300;
    let c = 1, d = 1 - ((a + b) * x) / (a + 1);
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    let h = d;
    for (let m = 1; m <= 400; m += 1) {
      for (const n of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
        d = 1 + n * d;
        d = 1 / (Math.abs(d) < tiny ? tiny : d);
        c = 1 + n / c;
        if (Math.abs(c) < tiny) c = tiny;
        h *= d * c;
      }
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return h;
  };
  const beta = (a, b, x) => {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
  };

  // Student's t quantile at 0.975, by bisection on the share of the distribution beyond it.
  const tQuantile = (freedom) => {
    let low = 0, high = 1e3;
    for (let i = 0; i < 200; i += 1) {
      const t = (low + high) / 2;
      if (beta(freedom / 2, 0.5, freedom / (freedom + t * t)) > 0.05) low = t;
      else high = t;
    }
    return (low + high) / 2;
  };

  const sum = (values) => { // Neumaier's, so that many small scores add up as they do elsewhere
    let total = 0, lost = 0;
    for (const value of values) {
      const next = total + value;
      lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
      total = next;
    }
    return total + lost;
  };

  // Exact two-sided p-value that both succeed equally often (McNemar 1947).
  const mcnemar = (onlyFirst, onlySecond) => {
    const n = onlyFirst + onlySecond;
    if (n === 0) return 1;
    let tail = 0;
    for (let k = Math.min(onlyFirst, onlySecond); k >= 0; k -= 1) tail += Math.exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * Math.LN2);
    return Math.min(1, 2 * tail);
  };

  const generator = (seed) => { // 32 random bits (mulberry32)
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (t ^ (t >>> 14)) >>> 0;
    };
  };
  const bits = (word) => { // how many are set
    let x = word - ((word >>> 1) & 0x55555555);
    x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
    return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  };

  // Two-sided p-value that the mean difference is 0, by flipping signs; of all ways where they are few.
  const permutation = (differences, seed = 0) => {
    const sizes = new Map();
    for (const difference of differences) if (difference !== 0) sizes.set(Math.abs(difference), (sizes.get(Math.abs(difference)) || 0) + 1);
    if (!sizes.size) return 1;
    const observed = Math.abs(sum(differences));
    const reached = observed - TOLERANCE * sum([...sizes].map(([size, times]) => size * times));
    const count = [...sizes.values()].reduce((total, times) => total + times, 0);
    if (count <= EXACT_UP_TO) {
      let sums = new Float64Array(1);
      for (const [size, times] of sizes) for (let i = 0; i < times; i += 1) {
        const next = new Float64Array(sums.length * 2);
        sums.forEach((value, at) => { next[at] = value + size; next[at + sums.length] = value - size; });
        sums = next;
      }
      return sums.reduce((far, value) => far + (Math.abs(value) >= reached), 0) / sums.length;
    }
    const random = generator(seed + 1);
    let far = 0;
    for (let draw = 0; draw < RESAMPLES; draw += 1) {
      let total = 0;
      for (const [size, times] of sizes) {
        let heads = 0, left = times;
        for (; left >= 32; left -= 32) heads += bits(random());
        if (left) heads += bits(random() >>> (32 - left));
        total += size * (2 * heads - times);
      }
      far += Math.abs(total) >= reached;
    }
    return (1 + far) / (1 + RESAMPLES);
  };

  // Root of an increasing function between two values, by bisection; the nearer end where it has none.
  const root = (function_, low, high) => {
    for (let i = 0; i < 60; i += 1) {
      const middle = (low + high) / 2;
      if (function_(middle) < 0) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };

  // Lower end of the Jeffreys–Dirichlet interval of the mean of scores in [0, 1], by the saddlepoint.
  const lowerEnd = (scores, guard) => {
    if (scores.every((score) => score === 0)) return 0;
    const weight = scores.length + 2 * guard;
    const at = (logTilt) => {
      const tilt = Math.exp(logTilt), top = 1 / (1 + tilt);
      const shrunk = scores.map((score) => 1 / (1 + tilt * score));
      const pulled = (sum(scores.map((score, i) => score * shrunk[i])) + guard * top) / weight;
      const share = tilt < 1 ? 1 - tilt * pulled : (sum(shrunk) + guard * (1 + top)) / weight;
      const squared = 2 * (weight * Math.log(share) + sum(scores.map((score) => Math.log1p(tilt * score))) + guard * Math.log1p(tilt));
      if (squared < 1e-8) return [Math.sqrt(Math.max(squared, 0)), pulled / share];
      const spread = (sum(shrunk.map((value) => value * value)) + guard * (1 + top * top)) / (share * share) - weight;
      const w = Math.sqrt(squared);
      return [w + Math.log(Math.sqrt(spread) / w) / w, pulled / share];
    };
    return at(root((logTilt) => at(logTilt)[0] - Z, -8, 60))[1];
  };

  // The interval of a mean difference, as harness/statistics/paired.py finds it; no interval where there are too few
  // pairs, or the scores' scale is unknown.
  const interval = (pairs, differences, difference, scale) => {
    const n = differences.length;
    if (!scale) return [null, null];
    const width = scale.low === null || scale.high === null ? Infinity : scale.high - scale.low;
    if (scale.kind === "smooth" || scale.kind === "unbounded") {
      if (n < 10 || differences.every((value) => value === differences[0])) return [null, null];
      const reach = tQuantile(n - 1) * Math.sqrt(sum(differences.map((value) => (value - difference) ** 2)) / (n - 1) / n);
      return [Math.max(-width, difference - reach), Math.min(width, difference + reach)];
    }
    if (pairs.every((pair) => pair.every((score) => score === scale.low || score === scale.high))) {
      if (n < 2) return [null, null];
      const gains = differences.filter((value) => value > 0).length, losses = differences.filter((value) => value < 0).length;
      const first = (gains + 1) / (n + 2), second = (losses + 1) / (n + 2), middle = first - second;
      const reach = Z * Math.sqrt((first + second - middle * middle) / (n + 2));
      return [width * Math.max(-1, Math.min(middle - reach, (gains - losses) / n)), width * Math.min(1, Math.max(middle + reach, (gains - losses) / n))];
    }
    if (n < 5) return [null, null];
    const scaled = differences.map((value) => Math.min(1, Math.max(0, (value / width + 1) / 2)));
    const mean = sum(scaled) / n;
    const low = Math.min(lowerEnd(scaled, 0.25), mean), high = Math.max(1 - lowerEnd(scaled.map((value) => 1 - value), 0.25), mean);
    return [width * (2 * low - 1), width * (2 * high - 1)];
  };

  // The mean of first − second over pairs, its interval by the scores' scale, and p.
  const paired = (pairs, scale) => {
    const n = pairs.length;
    const differences = pairs.map(([one, other]) => one - other);
    const difference = sum(differences) / n;
    const binary = pairs.every(([one, other]) => (one === 0 || one === 1) && (other === 0 || other === 1));
    const gains = differences.filter((value) => value === 1).length, losses = differences.filter((value) => value === -1).length;
    const [low, high] = interval(pairs, differences, difference, scale);
    return {
      count: n, first: sum(pairs.map(([one]) => one)) / n, second: sum(pairs.map(([, other]) => other)) / n, difference, low, high,
      test: binary ? "mcnemar" : "permutation", p: binary ? mcnemar(gains, losses) : permutation(differences),
    };
  };

  // p-values adjusted so that any false finding at all stays as rare as the level says (Holm 1979).
  const holm = (values) => {
    const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
    const adjusted = [];
    let largest = 0;
    order.forEach((at, rank) => {
      largest = Math.max(largest, Math.min(1, (values.length - rank) * values[at]));
      adjusted[at] = largest;
    });
    return adjusted;
  };

  // The scores of the instances that two runs have in common, from the indices of their examples; original instances
  // only, means over the trials that both have. Instances that were asked otherwise are counted and left out.
  const joined = (index, other) => {
    const read = (run) => {
      const scores = new Map();
      for (let n = 0; n < run.count; n += 1) if (run.perturbations[run.perturbation[n]] === null) scores.set(run.keys[run.instance[n]], [run.score[n], run.instance[n]]);
      return scores;
    };
    const ours = read(index), theirs = read(other);
    const instances = new Map();
    let unknown = 0;
    for (const [key, [score, at]] of ours) {
      const match = theirs.get(key);
      if (!match) { unknown += 1; continue; }
      const owner = index.owners ? index.owners[at] : at;
      if (!instances.has(owner)) instances.set(owner, { key, pairs: [], changed: false });
      const entry = instances.get(owner);
      if (index.asked[at] !== other.asked[match[1]]) entry.changed = true;
      else if (score !== null && match[0] !== null) entry.pairs.push([score, match[0]]);
    }
    const mean = (pairs, side) => sum(pairs.map((pair) => pair[side])) / pairs.length;
    const used = [...instances.values()].filter((entry) => !entry.changed && entry.pairs.length);
    return {
      keys: used.map((entry) => entry.key),
      pairs: used.map((entry) => [mean(entry.pairs, 0), mean(entry.pairs, 1)]),
      changed: [...instances.values()].filter((entry) => entry.changed).length,
      undefined: [...instances.values()].filter((entry) => !entry.changed && !entry.pairs.length).length,
      onlyFirst: unknown, onlySecond: [...theirs.keys()].filter((key) => !ours.has(key)).length,
    };
  };

  harness.statistics = { paired, mcnemar, permutation, holm, tQuantile, joined };
})();

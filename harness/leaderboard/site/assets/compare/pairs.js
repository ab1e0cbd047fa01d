// The paired comparisons of two models: their rows in order, and the instances on which they differ. No elements.
"use strict";
(() => {
  const ALPHA = 0.05;

  // The rows of two models, or of one that was asked in several ways; data is compare/KEY. The builder computed those of two models
  // in the order of the models' addresses.
  harness.pairRows = async (key, data, a, b) => {
    const places = [a, b].map((address) => data.models.indexOf(address));
    const own = a === b;
    if (own ? !data.ways.includes(a) : !data.questions.some((question) => places.every((at) => question.runs[at]))) return { rows: [], problems: [] };
    const turned = a > b;
    const found = (await harness.get(`compare/${key}/${[a, b].sort().join("/")}`)).map(([place, , ...values]) => {
      const sides = (own ? place : [place, place]).map((at) => data.questions[at]);
      return row(sides, own, sides.map((question, side) => question.runs[places[side]]), values, turned);
    });
    const rows = holm(found.filter((one) => !one.problem));
    for (const one of rows) {
      one.shown = one.sign !== 0 && one.holm < ALPHA && one.difference !== 0;
      one.better = one.shown ? Math.sign(one.place) : 0;
    }
    return { rows: rows.sort((x, y) => y.shown - x.shown || Math.abs(y.difference) - Math.abs(x.difference) || x.title.localeCompare(y.title)), problems: found.filter((one) => one.problem) };
  };

  function row(sides, own, runs, values, turned) {
    const [question] = sides;
    const about = { question, sides, own, runs, key: own ? sides.map((one) => one.key).join("~") : question.key, title: question.title, higher: question.higher, metric: question.metric,
      sign: question.higher === null ? 0 : question.higher ? 1 : -1 };
    if (values.length === 1) return { ...about, problem: values[0] };
    const [n, one, two, d, lower, upper, p, differing, firstHigher, binary, onlyOne, onlyTwo, undefined_, changed, variance, , , couldShow] = values;
    const known = lower !== null;
    const seen = turned ? { first: two, second: one, difference: -d, low: known ? -upper : null, high: known ? -lower : null, firstHigher: differing - firstHigher, onlyFirst: onlyTwo, onlySecond: onlyOne }
      : { first: one, second: two, difference: d, low: lower, high: upper, firstHigher, onlyFirst: onlyOne, onlySecond: onlyTwo };
    const whole = { ...about, ...seen, n, p, differing, binary: binary === 1, undefined: undefined_, changed, couldShow, unknown: variance === null, unit: question.share || binary === 1 ? "" : question.metric };
    // On the axis, further right is better for the first side.
    const turn = (value) => (value === null ? null : about.sign < 0 ? -value : value);
    const ends = [turn(whole.low), turn(whole.high)].sort((x, y) => x - y);
    return { ...whole, place: turn(whole.difference), from: ends[0], to: ends[1], overlap: overlap(whole) };
  }

  // How many instances both have right, one alone, neither; of scores that are not right or wrong, on how many each is better.
  function overlap({ n, first, differing, firstHigher, binary, sign }) {
    const a = sign < 0 ? differing - firstHigher : firstHigher, b = differing - a, equal = n - differing;
    if (!binary || !sign) return { graded: false, a, b, equal };
    const right = sign > 0 ? Math.round(first * n) : n - Math.round(first * n);
    return { graded: true, a, b, both: right - a, neither: equal - (right - a) };
  }

  // The rows with p-values adjusted for their number (Holm 1979).
  function holm(rows) {
    let largest = 0;
    [...rows].sort((x, y) => x.p - y.p).forEach((one, rank) => {
      largest = Math.max(largest, Math.min(1, (rows.length - rank) * one.p));
      one.holm = largest;
    });
    return rows;
  }

  // Rows by the unit of their axis: scores from 0 to 1 share one, every other metric has its own.
  harness.byUnit = (rows) => {
    const units = new Map();
    for (const one of rows) units.set(one.unit, [...(units.get(one.unit) || []), one]);
    return [...units].sort(([x], [y]) => (x !== "") - (y !== "")).map(([unit, members]) => ({ unit, rows: members, ...axis(members) }));
  };
  // A symmetric axis with round ticks: {limit, ticks}.
  function axis(rows) {
    const most = Math.max(...rows.flatMap((one) => [one.place, one.from, one.to].filter((value) => value !== null && value !== undefined).map(Math.abs)), 0) || 0.1;
    const magnitude = 10 ** Math.floor(Math.log10(most / 2));
    const step = [1, 2, 2.5, 3, 4, 5, 10].map((one) => one * magnitude).find((one) => most <= 2.3 * one) ?? 10 * magnitude;
    const limit = Math.max(most * 1.04, 2 * step * 1.02);
    return { limit, ticks: [-2, -1, 0, 1, 2].map((n) => n * step).filter((tick) => Math.abs(tick) <= limit) };
  }

  // By instance and trial: key, score and digest of what was asked, and its position in the index, from the indexes of the examples of
  // a run or of its repeats, whose trials count as one.
  function trials(indexes, whole) {
    const found = new Map();
    indexes.forEach((index, repeat) => {
      const original = index.perturbations.indexOf(null);
      index.instance.forEach((at, n) => {
        if (index.perturbation[n] !== original || index.asked[at] === null) return;
        const [instance, trial] = index.keys[at].split(".");
        if (!found.has(instance)) found.set(instance, new Map());
        const ours = found.get(instance), name = whole ? "0" : trial || "0"; // of several samples, the mean
        const entry = ours.get(name) || { repeat, n, asked: index.asked[at], sum: 0, samples: 0, score: null };
        if (index.score[n] !== null) Object.assign(entry, { sum: entry.sum + index.score[n], samples: entry.samples + 1, score: (entry.sum + index.score[n]) / (entry.samples + 1) });
        ours.set(name, entry);
      });
    });
    return found;
  }

  // The instances that both sides have, in the first side's order: {instance, pair: scores, at: [position in its run's index…], several, kind}.
  // kind is "a" or "b" where one is better; else "both", "neither", or "equal" where scores are not right or wrong.
  harness.pairedInstances = (one, indexes) => {
    const whole = indexes.some((side) => side.length > 1);
    const [ours, theirs] = indexes.map((side) => trials(side, whole));
    const texts = one.sides[0].prompt === one.sides[1].prompt; // two prompts may write an instance's text in their own ways
    const digests = (entries) => [...new Set([...entries.values()].map((entry) => entry.asked))].sort().join();
    const found = [];
    for (const [instance, mine] of ours) {
      const against = theirs.get(instance);
      if (!against || (texts && digests(mine) !== digests(against))) continue;
      const both = [...mine].filter(([trial, entry]) => entry.score !== null && against.get(trial) && against.get(trial).score !== null);
      if (!both.length) continue;
      const mean = (scores) => scores.reduce((sum, score) => sum + score, 0) / scores.length;
      const pair = [mean(both.map(([, entry]) => entry.score)), mean(both.map(([trial]) => against.get(trial).score))];
      const [trial, entry] = both[0], other = against.get(trial);
      const better = Math.sign(pair[0] - pair[1]) * (one.sign || 1);
      const kind = better > 0 ? "a" : better < 0 ? "b" : !one.overlap.graded ? "equal" : (pair[0] === 1) === (one.sign > 0) ? "both" : "neither";
      found.push({ instance, pair, at: [entry, other].map(({ repeat, n }) => ({ repeat, n })), kind, several: both.length > 1 || entry.samples > 1 || other.samples > 1 || whole });
    }
    return found;
  };
  // The largest differences first, else as in the data.
  harness.byDifference = (instances) => [...instances].sort((x, y) => Math.abs(y.pair[0] - y.pair[1]) - Math.abs(x.pair[0] - x.pair[1]));
})();

// The differences between two texts, word by word.
"use strict";
(() => {
  const CELLS = 4e6;

  // Pairs of [kind, text] with kind "same", "del" or "ins"; null if the texts are too long to compare.
  harness.wordDiff = (before, after) => {
    const a = before.match(/\s+|[^\s]+/g) || [];
    const b = after.match(/\s+|[^\s]+/g) || [];
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    let end = 0;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const n = a.length - start - end, m = b.length - start - end;
    if ((n + 1) * (m + 1) > CELLS) return null;
    const width = m + 1;
    const longest = new Uint32Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1) {
        longest[i * width + j] = a[start + i] === b[start + j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    const found = [];
    const add = (kind, text) => {
      const last = found[found.length - 1];
      if (last && last[0] === kind) last[1] += text;
      else found.push([kind, text]);
    };
    for (const word of a.slice(0, start)) add("same", word);
    let i = 0, j = 0;
    while (i < n || j < m) {
      if (i < n && j < m && a[start + i] === b[start + j]) { add("same", a[start + i]); i += 1; j += 1; }
      else if (j >= m || (i < n && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) { add("del", a[start + i]); i += 1; }
      else { add("ins", b[start + j]); j += 1; }
    }
    for (const word of a.slice(a.length - end)) if (end) add("same", word);
    return found;
  };
})();

// Leaves out the rules of a style sheet that can match nothing: those of classes that the bundle's script never names, such as
// the classes of filters, menus, charts and right-to-left layout. A page applies what is left much faster.

const LEFT_OUT = /\.ag-(rtl|filter|floating-filter|set-filter|multi-filter|menu|chart|charts|side-bar|tool-panel|overlay-error)\b/; // named by the script, used by no page

// The text's statements: [prelude, body] for each block, at the same depth.
const blocks = (text) => {
  const found = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf("{", at);
    if (open < 0) break;
    let depth = 1, end = open + 1;
    while (end < text.length && depth) { if (text[end] === "{") depth += 1; else if (text[end] === "}") depth -= 1; end += 1; }
    found.push([text.slice(at, open).trim(), text.slice(open + 1, end - 1)]);
    at = end;
  }
  return found;
};

// Selectors of a list; commas within brackets do not separate them.
const selectors = (list) => {
  const found = [""];
  let depth = 0;
  for (const character of list) {
    if ("([".includes(character)) depth += 1;
    if (")]".includes(character)) depth -= 1;
    if (character === "," && !depth) found.push(""); else found[found.length - 1] += character;
  }
  return found;
};

export const trim = (style, script) => {
  const known = new Map();
  const named = (name) => { if (!known.has(name)) known.set(name, script.includes(name)); return known.get(name); };
  const wanted = (selector) => !LEFT_OUT.test(selector) && [...selector.matchAll(/\.(ag-[\w-]+)/g)].every(([, name]) => named(name));
  const kept = (text) => blocks(text).map(([prelude, body]) => {
    if (prelude.startsWith("@media")) { const inner = kept(body); return inner && `${prelude}{${inner}}`; }
    if (prelude.startsWith("@")) return prelude.startsWith("@keyframes") ? "" : `${prelude}{${body}}`;
    const left = selectors(prelude).filter(wanted);
    return left.length ? `${left.join(",")}{${body}}` : "";
  }).join("");
  return kept(style);
};

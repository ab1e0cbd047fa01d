// Shared by all pages: data, elements, text that may be hostile, numbers, addresses and routing.
"use strict";
(() => {
  const root = document.documentElement;
  let stamp = root.dataset.stamp;
  const known = new Set(root.dataset.pages.split(" "));
  const pages = new Map();
  const values = new Map();
  const loading = new Map();
  const harness = (window.harness = {});

  // ------------------------------------------------------------------------------------------------------------
  // Data and scripts

  harness.put = (key, text) => values.set(key, text);

  // A script of this site; loaded once.
  harness.load = (file) => {
    if (!loading.has(file)) {
      loading.set(file, new Promise((done, fail) => {
        const script = document.createElement("script");
        script.src = `${file}?v=${stamp}`;
        script.addEventListener("load", () => { script.remove(); done(); });
        script.addEventListener("error", () => {
          script.remove();
          loading.delete(file);
          fail(new Error(`${file} is missing from this site.`));
        });
        document.head.append(script);
      }));
    }
    return loading.get(file);
  };
  // Scripts that need each other, in order.
  harness.loadAll = (files) => files.reduce((before, file) => before.then(() => harness.load(file)), Promise.resolve());
  // A stylesheet of this site; loaded once.
  harness.stylesheet = (file) => {
    if (!loading.has(file)) {
      loading.set(file, new Promise((done, fail) => {
        const link = document.createElement("link");
        link.rel = "stylesheet";
        link.href = `${file}?v=${stamp}`;
        link.addEventListener("load", done);
        link.addEventListener("error", () => fail(new Error(`${file} is missing from this site.`)));
        document.head.append(link);
      }));
    }
    return loading.get(file);
  };

  // The value of a key, parsed. Large values that are used once need not be kept: harness.get(key, {keep: false}).
  const reading = new Map();
  harness.get = (key, { keep = true } = {}) => {
    if (!reading.has(key)) {
      const value = read(key);
      reading.set(key, value);
      const forget = () => reading.delete(key);
      if (keep) value.catch(forget);
      else value.then(forget, forget);
    }
    return reading.get(key);
  };
  // Read data anew from now on: the site was built again.
  harness.renew = (build) => { stamp = `${root.dataset.stamp}-${build}`; reading.clear(); };
  const read = async (key) => {
    if (!/^[a-z0-9][a-z0-9.\/-]*$/.test(key) || key.includes("..")) throw new Error("This page does not exist.");
    const file = `data/${key}.js`;
    await harness.load(file);
    loading.delete(file);
    const text = values.get(key);
    values.delete(key);
    if (text === undefined) throw new Error(`${file} does not contain the data that its name says.`);
    return JSON.parse(text);
  };

  // ------------------------------------------------------------------------------------------------------------
  // Elements. make("td.number", {title: "…"}, "text", element, null, [more]) - text is never markup.

  const property = new Set(["value", "checked", "selected", "disabled", "hidden", "open", "indeterminate"]);
  harness.make = (what, attributes, ...children) => {
    const [tag, ...classes] = what.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (property.has(name)) element[name] = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    return harness.add(element, ...children);
  };
  // Append elements and texts, also from nested lists; null and false are skipped.
  harness.add = (element, ...children) => {
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  };
  const make = harness.make;
  harness.clear = (element, ...children) => { element.replaceChildren(); return harness.add(element, ...children); };
  harness.announce = (text) => { document.getElementById("status").textContent = text; };

  // ------------------------------------------------------------------------------------------------------------
  // Text from models and data. Control, format, bidirectional and surrogate characters are shown as escapes in marks.

  const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/u;
  const STACKED = /(\p{M}{4})\p{M}+/gu;
  const escape = (character) => {
    const code = character.codePointAt(0);
    if (code === 9) return "\\t";
    if (code === 10) return "\\n";
    if (code === 13) return "\\r";
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}`
      : code < 65536 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  };
  const split = /([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800])/u;
  const shown = (text, lines) => {
    const parts = [];
    for (const part of text.replace(STACKED, "$1").split(split)) {
      if (part === "") continue;
      if (!INVISIBLE.test(part) || (lines && (part === "\n" || part === "\t"))) parts.push(part);
      else parts.push(make("span.escape", null, escape(part)));
    }
    return parts;
  };

  // The pieces of a text of many lines, to be appended to an element.
  harness.pieces = (value) => shown(String(value ?? ""), true);

  // A text's paragraphs, each on one line.
  harness.paragraphs = (value) => String(value ?? "").split(/\n\s*\n/).map((words) => words.trim().replace(/\s+/g, " ")).filter(Boolean);

  // The text as a plain string on one line, for titles, options and labels.
  harness.plain = (value, limit = 80) => {
    let text = String(value ?? "");
    if (text.length > 4 * limit) text = `${text.slice(0, 2 * limit)}…${text.slice(-2 * limit)}`;
    text = text.replace(STACKED, "$1").split(split).map((part) => (INVISIBLE.test(part) ? escape(part) : part)).join("");
    if (text.length <= limit) return text;
    const head = Math.floor(((limit - 1) * 2) / 3);
    return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
  };

  // One line, isolated from the direction of the text around it; the middle of a long text is left out.
  harness.text = (value, limit = 80) => {
    const full = String(value ?? "");
    const element = make("bdi", null, harness.plain(full, limit));
    if (full.length > limit) element.title = harness.plain(full, 500);
    return element;
  };

  // Many lines, unchanged; long texts are cut, with a button that shows more.
  harness.passage = (value, { limit = 4000, name = "text" } = {}) => {
    const full = String(value ?? "");
    const body = make("pre.passage", { tabindex: "0", role: "group", "aria-label": name }, make("bdi"));
    const inner = body.firstChild;
    const holder = make("div.passage-holder", null, body);
    let end = 0;
    const more = (size) => {
      let stop = Math.min(full.length, end + size);
      if (stop < full.length && /[\ud800-\udbff]/.test(full[stop - 1])) stop += 1;
      inner.append(...shown(full.slice(end, stop), true));
      end = stop;
    };
    more(limit);
    if (full === "") inner.append(make("span.quiet", null, "(empty)"));
    if (end < full.length) {
      const rest = make("span.quiet");
      const label = () => { rest.textContent = ` ${(full.length - end).toLocaleString("en")} characters more of ${name}`; };
      const button = make("button.small", { type: "button", onclick: () => {
        more(100000);
        if (end < full.length) label();
        else bar.remove();
      } }, "Show more");
      const bar = make("p.more", null, button, rest);
      label();
      holder.append(bar);
    }
    return holder;
  };

  // ------------------------------------------------------------------------------------------------------------
  // Numbers, as everywhere in the harness: about three significant digits

  // A number with some decimals, rounded as Python does: an exact tie goes to the even digit, not away from zero.
  harness.fixed = (value, decimals) => {
    const text = value.toFixed(decimals);
    const rest = Math.abs(value).toFixed(60).slice(Math.abs(value).toFixed(decimals + 1).length - 1);
    if (!/^50*$/.test(rest) || "02468".includes(text.at(-1))) return text;
    return (value - Math.sign(value) * 10 ** -decimals / 4).toFixed(decimals);
  };
  harness.number = (value) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "—";
    const size = Math.abs(value);
    if (size >= 1e6) return value.toExponential(1).replace("e+", "e");
    if (size > 0 && size < 5e-4) return String(Number(value.toPrecision(2)));
    return harness.fixed(value, size < 10 ? 3 : size < 100 ? 2 : 1);
  };
  harness.spread = (mean, low, high) => {
    if (low === null || low === undefined || high === null || high === undefined) return "";
    const below = mean - low, above = high - mean;
    if (Math.abs(below - above) <= Math.max(1e-6 * Math.max(below, above), 1e-12)) return `±${harness.number((below + above) / 2)}`;
    return `[${harness.number(low)}, ${harness.number(high)}]`;
  };
  harness.count = (value) => (value === null || value === undefined ? "—" : Number(value).toLocaleString("en"));
  harness.moment = (time) => harness.plain(time.replace("T", " ").replace(/\+00:00$/, " UTC"), 40);
  // A p-value from its logarithm to base 10.
  harness.probability = (log10) => {
    if (log10 === null || log10 === undefined) return "—";
    if (log10 > -3) return harness.fixed(10 ** log10, 3);
    const exponent = Math.floor(log10);
    return `${(10 ** (log10 - exponent)).toFixed(1)} × 10${superscript(exponent)}`;
  };
  // A number that may be too large for a float, from its logarithm to base 10.
  harness.power = (log10) => (Math.abs(log10) < 3 ? harness.number(10 ** log10) : `${(10 ** (log10 - Math.floor(log10))).toFixed(1)} × 10${superscript(Math.floor(log10))}`);
  const superscript = harness.superscript = (n) => String(n).split("").map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d] || "⁻").join("");

  // ------------------------------------------------------------------------------------------------------------
  // Addresses: #/page/path…?query

  harness.link = (path, query) => {
    const pairs = Object.entries(query || {}).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, value === true ? "1" : String(value)])).toString();
    return `#/${path}${text ? `?${text}` : ""}`;
  };
  // Go to an address; with replace, the back button skips the previous one.
  harness.go = (path, query, { replace = false } = {}) => {
    const target = harness.link(path, query);
    if (target === location.hash) return;
    if (replace) history.replaceState(null, "", target);
    else history.pushState(null, "", target);
    show();
  };
  // Change the address without drawing the page again.
  harness.note = (path, query) => {
    const target = harness.link(path, query);
    if (target !== location.hash) history.replaceState(null, "", target);
  };
  harness.route = () => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const [name, ...rest] = path.split("/");
    return { name: name || "board", path: rest.map(safeDecode), query: Object.fromEntries(new URLSearchParams(query || "")) };
  };
  const safeDecode = (part) => { try { return decodeURIComponent(part); } catch { return part; } };

  // definition: {title, render(main, path, query), update(path, query), drawn(), renew(), layout, keys: [[key, words, call]…]}. A page with
  // `update` is asked first when only its address changes; it returns its title, or null to be drawn again; `drawn` is called when it is in the document;
  // `renew` after the site was built again.
  harness.page = (name, definition) => pages.set(name, definition);
  harness.here = () => pages.get(harness.route().name);

  // A dialog belongs to the page that it was opened on.
  const closeDialogs = () => { for (const box of document.querySelectorAll("dialog[open]")) box.close(); };
  let turn = 0;
  let last = null;
  let shownPage = null; // the definition of the page that is drawn
  const show = async () => {
    const mine = ++turn;
    const { name, path, query } = harness.route();
    const main = document.getElementById("main");
    const fresh = make("div.page");
    const where = `${name}/${path.join("/")}`;
    if (last !== where) closeDialogs();
    try {
      if (!known.has(name)) throw new Error("This page does not exist.");
      const [names] = await Promise.all([harness.get("names"), pages.has(name) || harness.load(`assets/pages/${name}.js`)]);
      // Looked up by names from data: one such as “constructor” finds only its own entry.
      for (const kind of Object.values(names)) Object.setPrototypeOf(kind, null);
      harness.names = names;
      const page = pages.get(name);
      if (shownPage === page && page.update) {
        const title = await page.update(path, query);
        if (mine !== turn) return;
        if (title) { document.title = harness.plain(title, 120); root.dataset.ready = name; return; }
      }
      const title = await page.render(fresh, path, query);
      if (mine !== turn) return;
      shownPage = page;
      if (page.layout) root.dataset.layout = page.layout; else delete root.dataset.layout;
      document.title = harness.plain(title || page.title, 120);
    } catch (error) {
      if (mine !== turn) return;
      shownPage = null;
      delete root.dataset.layout;
      document.title = "Not found";
      harness.clear(fresh, make("h1", null, "This page cannot be shown"), make("p", null, harness.plain(error.message, 300)),
        make("p", null, make("a", { href: "#/" }, "Back to the leaderboard")));
    }
    const held = last === where ? focusPath(main) : null;
    // A list of checkboxes stays open while they are ticked.
    const opened = last === where ? [...main.querySelectorAll("details[id][open]")].map((details) => details.id) : [];
    main.replaceChildren(fresh);
    if (shownPage && shownPage.drawn) shownPage.drawn();
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    harness.navigated(name);
    if (last === where) refocus(main, held);
    else if (last !== null) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
    last = where;
    root.dataset.ready = name;
  };
  // A page is redrawn when its address changes; the element that had the focus gets it back, by its id.
  const focusPath = (main) => {
    const active = document.activeElement;
    if (!active || !main.contains(active) || !active.id) return null;
    return { id: active.id, start: active.selectionStart ?? null };
  };
  const refocus = (main, held) => {
    const element = held && document.getElementById(held.id);
    if (!element) return;
    element.focus({ preventScroll: true });
    if (held.start !== null && element.setSelectionRange && element.type !== "number") element.setSelectionRange(held.start, held.start);
  };

  // ------------------------------------------------------------------------------------------------------------
  // Parts that several pages share

  // The title of an identifier, and what its tooltip says; what is not known is shown as it is.
  harness.title = (kind, identifier, form = "title") => harness.names[kind]?.[identifier]?.[form] || identifier;
  harness.about = (kind, identifier) => {
    const about = harness.names[kind]?.[identifier];
    if (!about) return identifier;
    const range = about.range ? (about.range[0] === null ? (about.range[1] === null ? "any number" : `at most ${about.range[1]}`)
      : about.range[1] === null ? `at least ${about.range[0]}` : `from ${about.range[0]} to ${about.range[1]}`) : "";
    return [about.title === identifier ? identifier : `${about.title} (${identifier})`, about.definition,
      about.direction && `${about.direction === "higher" ? "↑ Higher" : "↓ Lower"} is better.`, range && `Range: ${range}.`, about.source && `Source: ${about.source}`]
      .filter(Boolean).map((line) => harness.plain(line, 400)).join("\n");
  };
  harness.named = (kind, identifier, limit = 60, form = "title") => make("span", { title: harness.about(kind, identifier) }, harness.text(harness.title(kind, identifier, form), limit));
  harness.modelName = (address, identifier) => harness.names.models[address]?.name || identifier;
  // Which of the examples a statistic is about, without its split: perturbation, what is computed, group.
  harness.subset = (perturbation, computed, group) => [perturbation && `${harness.title("categories", perturbation) === perturbation ? harness.title("perturbations", perturbation) : harness.title("categories", perturbation)}${computed === "perturbed" ? "" : `, ${harness.names.computed[computed] || computed}`}`, group].filter(Boolean).join(" · ");
  // The title of a scenario with its parameters, by its label.
  harness.runTitle = (label) => harness.names.runs[label] || label;
  // The taxonomy of scenarios (Liang et al. 2022, table 4), in words.
  harness.FACETS = { __proto__: null, task: "Task", what: "Texts", who: "Written by", when: "Period", language: "Language" };
  harness.capitalized = (name) => name[0].toUpperCase() + name.slice(1);
  // Whether a text contains every word of a search.
  harness.matcher = (search) => {
    const words = (search || "").toLowerCase().split(/\s+/).filter(Boolean);
    return (content) => words.every((word) => content.toLowerCase().includes(word));
  };
  // A search box that changes the address a moment after the last key.
  harness.searchBox = (id, label, value, change) => {
    const input = make("input", { type: "search", id, value: value || "", autocomplete: "off" });
    input.addEventListener("input", harness.later(() => change(input.value), 250));
    return make("label", null, label, input);
  };
  // A choice of the suite, if there are several boards; change(suite) is called with the suite's name.
  harness.suiteChoice = (site, key, change) => (site.boards.length < 2 ? null
    : make("label", null, "Suite", make("select", { id: "suite", onchange: (event) => change(event.target.value) },
      site.boards.map(([known, words, suite]) => make("option", { value: suite, selected: known === key }, `${harness.plain(words, 50)}${known === site.newest ? " · newest" : ""}`)))));
  harness.tabs = (label, views, current, target) => make("nav", { "aria-label": label }, make("ul.tabs", null, views.map(([name, words]) =>
    make("li", null, make("a", { href: target(name), "aria-current": current === name ? "true" : null }, words)))));
  // A table of facts; a pair without a value is left out.
  harness.facts = (pairs) => make("dl.facts", null, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length))
    .map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, value))));
  harness.crumbs = (...parts) => make("nav.crumbs", { "aria-label": "Breadcrumbs" }, make("ol", null,
    parts.filter(Boolean).map((part) => make("li", null, part))));
  harness.to = (path, value, limit, query) => make("a", { href: harness.link(path, query) }, value instanceof Node ? value : harness.text(value, limit));
  // The key of a suite's leaderboard, by the suite's name; without a name, that of all suites.
  harness.suiteBoard = (site, name) => {
    const found = name ? site.boards.find(([, , suite]) => suite === name) : site.boards[0];
    const known = site.boards.map(([, , suite]) => suite).filter(Boolean);
    if (!found) throw new Error(`Unknown suite ${harness.plain(name, 60)}. Known: ${known.join(", ")}.`);
    return found[0];
  };
  // True if the dark theme is shown.
  harness.dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
  // A token of the style sheet as a colour of the theme that is shown.
  harness.colour = (name) => {
    const probe = make("span", { hidden: true });
    probe.style.setProperty("color", `var(--${name})`);
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  // Delays a call until no other has come for a while; the last arguments count.
  harness.later = (call, wait = 200) => {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => call(...given), wait); };
  };

  // Called by shell.js when every script is there.
  harness.show = show;
})();

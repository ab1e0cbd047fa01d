// What is around every page: theme, keys, search, and the start when all scripts are there.
"use strict";
(() => {
  const { make, clear, plain } = harness;
  const root = document.documentElement;
  const MOST = 8; // matches of each kind

  const themes = () => {
    const theme = document.getElementById("theme");
    const apply = (value) => { if (value) root.dataset.theme = value; else delete root.dataset.theme; };
    let kept = "";
    try { kept = localStorage.getItem("harness-theme") || ""; } catch { /* the browser forbids it: the choice is not kept */ }
    if (!["", "light", "dark"].includes(kept)) kept = "";
    theme.value = kept;
    apply(kept);
    theme.addEventListener("change", () => {
      apply(theme.value);
      try { localStorage.setItem("harness-theme", theme.value); } catch { /* as above */ }
    });
  };

  // ------------------------------------------------------------------------------------------------------------
  // Keys. A page's own are in its definition; no key works while a field has the cursor.

  const KEYS = [["/", "Search models, scenarios, runs, metrics and studies", () => search()], ["?", "Show this list", () => help()], ["y", "Copy the link to this view", () => harness.copyLink()]];
  const writing = (element) => element instanceof HTMLElement && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
  const pressed = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || writing(event.target) || document.querySelector("dialog[open]")) return;
    const found = [...(harness.here()?.keys || []), ...KEYS].find(([key, , call]) => key === event.key && call);
    if (!found) return;
    event.preventDefault();
    found[2]();
  };

  const dialog = (kind, ...content) => {
    const box = make(`dialog${kind}`, null, ...content);
    box.addEventListener("close", () => box.remove()); // the browser has given the focus back by then
    box.addEventListener("pointerdown", (event) => { if (event.target === box) box.close(); });
    document.body.append(box);
    box.showModal();
    return box;
  };

  const help = () => {
    const lines = (keys) => keys.map(([key, words]) => [make("dt", null, key.split(" ").map((one) => [make("kbd", null, one), " "])), make("dd", null, words)]);
    const own = harness.here()?.keys || [];
    const box = dialog("", make("h2", { id: "keys-title" }, "Keyboard shortcuts"),
      make("dl.keys", null, own.length ? [make("dt.of", null, "This page"), lines(own)] : null, own.length ? make("dt.of", null, "All pages") : null, lines(KEYS), lines([["Esc", "Close the open panel"]])),
      make("p.close", null, make("button", { type: "button", onclick: () => box.close() }, "Close")));
    box.setAttribute("aria-labelledby", "keys-title");
  };

  // ------------------------------------------------------------------------------------------------------------
  // Search. The list is loaded when it is first asked for: kinds of [title, [[name, also known as, address]…]].

  const search = async () => {
    const field = make("input", { type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list", "aria-label": "Search models, scenarios, runs, metrics and studies",
      placeholder: "Models, scenarios, runs, metrics, studies", autocomplete: "off", id: "search-field" });
    const list = make("div", { role: "listbox", id: "found", "aria-label": "Matches" });
    const box = dialog(".search", field, list, make("p", null, make("kbd", null, "↑"), " ", make("kbd", null, "↓"), " choose  ", make("kbd", null, "↵"), " open  ", make("kbd", null, "Esc"), " close"));
    box.setAttribute("aria-label", "Search");
    field.focus();
    let kinds;
    try { kinds = await harness.get("search"); } catch (error) { clear(list, make("p.quiet", null, plain(error.message, 200))); return; }
    let at = 0;
    const options = () => [...list.querySelectorAll("[role=option]")];
    const point = (next) => {
      const all = options();
      if (!all.length) { field.removeAttribute("aria-activedescendant"); return; }
      at = (next + all.length) % all.length;
      all.forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
      field.setAttribute("aria-activedescendant", all[at].id);
      all[at].scrollIntoView({ block: "nearest" });
    };
    const open = (address) => { box.close(); location.hash = `#/${address}`; };
    const draw = () => {
      const matches = harness.matcher(field.value);
      let number = 0;
      clear(list, kinds.map(([title, entries]) => {
        const found = [];
        let more = 0;
        for (const entry of entries) {
          if (!matches(`${entry[0]} ${entry[1]}`)) continue;
          if (found.length < MOST) found.push(entry); else more += 1;
        }
        if (!found.length) return null;
        return make("div", { role: "group", "aria-label": title }, make("span", { "aria-hidden": "true" }, title, more ? ` · ${harness.count(more)} more` : ""), found.map(([name, known, address]) =>
          make("div", { role: "option", id: `found-${number++}`, "aria-selected": "false", onclick: () => open(address), onpointermove: (event) => {
            const place = options().indexOf(event.currentTarget);
            if (place !== at) point(place);
          } }, make("span.name", null, harness.text(name, 80)), known ? [" ", make("span.faint", null, harness.text(known, 60))] : null)));
      }));
      if (!number) add(list, field.value);
      harness.announce(number ? `${number} matches` : "No match");
      point(0);
    };
    const add = (target, words) => harness.add(target, make("div", { role: "option", "aria-disabled": "true", id: "found-none" }, words ? `Nothing matches “${plain(words, 60)}”.` : "There is nothing to search yet."));
    field.addEventListener("input", draw);
    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); point(at + (event.key === "ArrowDown" ? 1 : -1)); }
      else if (event.key === "Escape") { event.preventDefault(); box.close(); }
      else if (event.key === "Enter") { event.preventDefault(); const chosen = options()[at]; if (chosen && !chosen.hasAttribute("aria-disabled")) chosen.click(); }
    });
    draw();
  };

  // ------------------------------------------------------------------------------------------------------------
  // Pages. Links that have no room are in a panel of their own; the current page's always has a place.

  const navigation = () => {
    const nav = document.querySelector(".site-head nav"), list = nav.querySelector("ul");
    const items = [...list.children], moved = [];
    const { button, panel } = harness.popover("More", { id: "more-pages", narrow: true, fill: (target) => {
      harness.add(target, make("ul", null, moved.map((item) => item.cloneNode(true))));
      return target.querySelector("a");
    } });
    panel.addEventListener("click", (event) => { if (event.target.closest("a")) panel.hidePopover(); });
    document.body.append(panel);
    const more = make("li", null, button);
    const fit = () => {
      const held = document.activeElement;
      if (panel.matches(":popover-open")) panel.hidePopover();
      moved.length = 0;
      list.replaceChildren(...items);
      const tight = () => list.scrollWidth > nav.clientWidth;
      if (tight()) list.append(more);
      for (const item of [...items].reverse()) {
        if (!tight()) break;
        if (item.querySelector("[aria-current]")) continue;
        moved.unshift(item);
        item.remove();
      }
      if (list.contains(held)) held.focus({ preventScroll: true });
    };
    harness.inNavigation = (page) => items.some((item) => item.querySelector("a").dataset.page === page);
    harness.navigated = (page) => {
      for (const item of items) {
        const link = item.querySelector("a");
        if (link.dataset.page === page) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
      }
      fit();
    };
    new ResizeObserver(fit).observe(nav);
  };

  const start = () => {
    themes();
    navigation();
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    });
    // A list of checkboxes covers the page, and closes on a click elsewhere or Escape.
    const choices = () => document.querySelectorAll("details.models-choice[open]");
    document.addEventListener("pointerdown", (event) => { for (const details of choices()) if (!details.contains(event.target)) details.open = false; });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") for (const details of choices()) { details.open = false; details.querySelector("summary").focus(); }
      pressed(event);
    });
    document.getElementById("find").addEventListener("click", search);
    document.getElementById("help").addEventListener("click", help);
    window.addEventListener("hashchange", harness.show);
    harness.show();
  };
  // Deferred scripts run in order, this one last, and DOMContentLoaded fires after them: only then all shared scripts that a
  // page may call are loaded.
  if (document.readyState === "complete") start();
  else document.addEventListener("DOMContentLoaded", start);
})();

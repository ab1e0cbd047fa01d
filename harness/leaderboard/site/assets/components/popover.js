// Popovers: a button that opens a panel, and pickers with a search field, groups and "only".
"use strict";
(() => {
  const { make, clear, plain } = harness;

  // A button with a panel. fill(panel) is called each time it opens, and returns the element to focus or nothing.
  harness.popover = (label, { id, fill, narrow = false, tip = "", key = "" }) => {
    const panel = make(narrow ? "div.popover.narrow" : "div.popover", { id: `${id}-panel`, popover: "auto", role: "dialog", "aria-label": tip || plain(label) });
    const button = make("button.menu", { type: "button", id, "aria-expanded": "false", "aria-haspopup": "dialog", "aria-controls": panel.id,
      "data-tip": tip ? `${tip}${key ? ` (${key})` : ""}` : null, "aria-keyshortcuts": key || null, popovertarget: panel.id }, label);
    // The focus moves while the panel opens or closes, not in a later task: keys that follow at once go where they belong.
    panel.addEventListener("beforetoggle", (event) => {
      const open = event.newState === "open";
      button.setAttribute("aria-expanded", String(open));
      if (!open) { if (panel.contains(document.activeElement) || document.activeElement === document.body) button.focus({ preventScroll: true }); return; }
      harness.hideTip();
      panel.replaceChildren();
      const first = fill(panel) || panel.querySelector("input, button");
      if (first) first.autofocus = true;
    });
    panel.addEventListener("toggle", (event) => { if (event.newState === "open") harness.place(panel, button, 4); });
    return { button, panel };
  };

  // A list of things to tick, in groups.
  // items(): [{id, name, note, group, words, chosen}…]; chips: [{name, has(item)}…]; acts: [[label, choose(listed, all) → ids]…];
  // change(ids): called with the chosen ones; pressed, press(names): names of the chips that are pressed at first, and later.
  harness.picker = (panel, { placeholder, items, chips = [], acts = [], change, unit, pressed: given = [], press = () => {} }) => {
    const field = make("input", { type: "search", placeholder, "aria-label": placeholder, autocomplete: "off", id: `${panel.id}-field` });
    const pressed = new Set(chips.filter((chip) => given.includes(chip.name)));
    const list = make("ul", { "aria-label": unit });
    const counted = make("span.faint", { role: "status" });
    let all = items();
    const chosen = new Set(all.filter((item) => item.chosen).map((item) => item.id));
    const listed = () => {
      const matches = harness.matcher(field.value);
      return all.filter((item) => matches(`${item.name} ${item.words || ""} ${item.group || ""}`) && [...pressed].every((chip) => chip.has(item)));
    };
    const say = (shown) => { counted.textContent = `${harness.count(shown.length)} listed, ${harness.count(chosen.size)} shown`; };
    const apply = () => { change(all.filter((item) => chosen.has(item.id)).map((item) => item.id)); draw(); };
    const choose = (ids) => { chosen.clear(); for (const id of ids) chosen.add(id); apply(); };
    const line = (item) => make("li", null,
      make("label", null, make("input", { type: "checkbox", id: `${panel.id}-${item.id}`, checked: chosen.has(item.id), onchange: (event) => {
        if (event.target.checked) chosen.add(item.id); else chosen.delete(item.id);
        apply();
      } }), make("span.name", { title: item.name }, harness.text(item.name, 60)), item.note ? make("span.faint", null, item.note) : null),
      make("button.only", { type: "button", "aria-label": `Only ${plain(item.name)}`, onclick: () => choose([item.id]) }, "only"));
    const head = (name, members) => make("li.group", null,
      make("label", null, make("input", { type: "checkbox", id: `${panel.id}-group-${name}`, checked: members.every((item) => chosen.has(item.id)), onchange: (event) => {
        for (const item of members) { if (event.target.checked) chosen.add(item.id); else chosen.delete(item.id); }
        apply();
      } }), make("span.name", null, harness.text(name, 50)), make("span.faint", null, harness.count(members.length))),
      make("button.only", { type: "button", "aria-label": `Only ${plain(name)}`, onclick: () => choose(members.map((item) => item.id)) }, "only"));
    const draw = () => {
      const shown = listed();
      const held = document.activeElement && list.contains(document.activeElement) ? document.activeElement.id : "";
      const top = list.scrollTop;
      const groups = new Map();
      for (const item of shown) groups.set(item.group || "", [...(groups.get(item.group || "") || []), item]);
      clear(list, [...groups].map(([name, members]) => [name ? head(name, members) : null, members.map(line)]),
        shown.length ? null : make("li", null, make("label", null, `Nothing matches “${plain(field.value, 40)}”.`)));
      list.scrollTop = top;
      if (held) document.getElementById(held)?.focus({ preventScroll: true });
      say(shown);
    };
    field.addEventListener("input", draw);
    harness.add(panel, make("header", null, field,
      chips.length ? make("div.chips", { role: "group", "aria-label": `Only ${unit} that are` }, chips.map((chip) => make("button", { type: "button", "aria-pressed": String(pressed.has(chip)), onclick: (event) => {
        if (pressed.has(chip)) pressed.delete(chip); else pressed.add(chip);
        event.currentTarget.setAttribute("aria-pressed", String(pressed.has(chip)));
        press([...pressed].map((one) => one.name));
        draw();
      } }, chip.name))) : null,
      make("div.acts", null, [["All", () => all], ["None", () => []], ...acts, ["Only listed", (found) => found]].map(([name, choice]) =>
        make("button", { type: "button", onclick: () => choose(choice(listed(), all).map((item) => item.id)) }, name)), counted)), list);
    draw();
    return field;
  };
})();

// A button that opens a list to choose one thing from: a field to type in, chips that narrow the list, arrows and Enter.
"use strict";
(() => {
  const { make, clear, plain } = harness;

  // items(): [{id, name, note, words, chosen}…], in the order of the list; chips: [{name, has(item)}…]; choose(id) is called with the choice.
  harness.chooser = (label, { id, tip, placeholder, unit, items, chips = [], choose }) => {
    const popover = harness.popover(label, { id, tip, fill: (panel) => {
      const all = items();
      const useful = chips.filter((chip) => all.some(chip.has) && !all.every(chip.has));
      const pressed = new Set();
      let shown = [];
      let at = 0;
      const list = make("div.choices", { role: "listbox", id: `${id}-list`, "aria-label": unit });
      const field = make("input", { type: "search", id: `${id}-field`, role: "combobox", "aria-expanded": "true", "aria-controls": list.id, "aria-autocomplete": "list", "aria-label": placeholder, placeholder, autocomplete: "off" });
      const counted = make("span.faint", { role: "status" });
      const pick = (item) => { panel.hidePopover(); choose(item.id); };
      const point = (next) => {
        const lines = list.children;
        if (!shown.length) { field.removeAttribute("aria-activedescendant"); return; }
        lines[at]?.classList.remove("at");
        at = (next + shown.length) % shown.length;
        lines[at].classList.add("at");
        field.setAttribute("aria-activedescendant", lines[at].id);
        lines[at].scrollIntoView({ block: "nearest" });
      };
      const draw = () => {
        const matches = harness.matcher(field.value);
        shown = all.filter((item) => matches(`${item.name} ${item.words || ""}`) && [...pressed].every((chip) => chip.has(item)));
        clear(list, shown.map((item, n) => make("div", { role: "option", id: `${id}-option-${n}`, "aria-selected": String(Boolean(item.chosen)), title: plain(item.words || item.name, 300), onclick: () => pick(item), onpointermove: () => { if (at !== n) point(n); } },
          make("span.name", null, harness.text(item.name, 60)), item.note ? make("span.faint", null, item.note) : null)),
        shown.length ? null : make("p.quiet", null, `Nothing matches “${plain(field.value, 40)}”.`));
        counted.textContent = `${harness.count(shown.length)} of ${harness.count(all.length)}`;
        at = 0;
        point(Math.max(0, shown.findIndex((item) => item.chosen)));
      };
      field.addEventListener("input", draw);
      field.addEventListener("keydown", (event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); point(at + (event.key === "ArrowDown" ? 1 : -1)); }
        else if (event.key === "Enter" && shown[at]) { event.preventDefault(); pick(shown[at]); }
      });
      harness.add(panel, make("header", null, field, make("div.chips", { role: "group", "aria-label": `Only ${unit} that are` }, useful.map((chip) => make("button", { type: "button", "aria-pressed": "false", onclick: (event) => {
        if (pressed.has(chip)) pressed.delete(chip); else pressed.add(chip);
        event.currentTarget.setAttribute("aria-pressed", String(pressed.has(chip)));
        draw();
      } }, chip.name)), make("span.push"), counted)), list);
      draw();
      return field;
    } });
    return popover;
  };

  const SIZES = [["≤ 7B", (size) => size && size <= 7.5e9], ["7–40B", (size) => size > 7.5e9 && size <= 40e9], ["> 40B", (size) => size > 40e9]];
  // Chips for models by size, backend and tag, of what harness.names knows of them; an item's id is the model's address.
  harness.modelChips = (addresses) => {
    const known = (item) => harness.names.models[item.id] || {};
    const all = addresses.map((address) => harness.names.models[address] || {});
    const words = (values, limit) => [...new Set(values)].filter(Boolean).sort().slice(0, limit);
    return [...SIZES.map(([name, fits]) => ({ name, has: (item) => Boolean(fits(known(item).parameters)) })),
      ...words(all.map((model) => model.backend), 8).map((backend) => ({ name: plain(backend, 20), has: (item) => known(item).backend === backend })),
      ...words(all.flatMap((model) => model.tags || []), 8).map((tag) => ({ name: plain(tag, 20), has: (item) => (known(item).tags || []).includes(tag) }))];
  };
  // A model's size in billions or millions of parameters: "7B", "560M"; '' if unknown.
  harness.size = (parameters) => {
    if (!parameters) return "";
    const [unit, letter] = parameters >= 1e12 ? [1e12, "T"] : parameters >= 1e9 ? [1e9, "B"] : parameters >= 1e6 ? [1e6, "M"] : [1e3, "k"];
    return `${Number((parameters / unit).toPrecision(2))}${letter}`;
  };
  // What a picker finds a model by, besides its name.
  harness.modelWords = (address) => {
    const model = harness.names.models[address] || {};
    return [model.identifier, model.backend, harness.size(model.parameters), ...(model.tags || [])].filter(Boolean).join(" ");
  };
})();

// The one tooltip: on hover and on keyboard focus, closed by Escape.
"use strict";
(() => {
  const { make, add } = harness;
  const WAIT = 120; // milliseconds of hovering before it opens
  const sources = []; // {selector, content(element) → nodes | null}
  const tip = make("div", { id: "tip", role: "tooltip", hidden: true });
  let timer = 0;
  let owner = null;

  // A rich tooltip for each element that matches a selector. Any element may have a plain one: data-tip="text".
  harness.tips = (selector, content) => {
    const known = sources.find((source) => source.selector === selector);
    if (known) known.content = content;
    else sources.push({ selector, content });
  };
  harness.tips("[data-tip]", (element) => [element.dataset.tip]);

  const find = (target) => {
    if (!(target instanceof Element)) return null;
    for (const { selector, content } of [...sources].reverse()) {
      const element = target.closest(selector);
      if (element) return { element, content };
    }
    return null;
  };
  const hide = () => {
    clearTimeout(timer);
    if (owner) owner.removeAttribute("aria-describedby");
    owner = null;
    tip.hidden = true;
  };
  const show = ({ element, content }) => {
    const shown = content(element);
    if (!shown || !element.isConnected) { hide(); return; }
    if (!tip.isConnected) document.body.append(tip);
    tip.replaceChildren();
    add(tip, shown);
    if (owner) owner.removeAttribute("aria-describedby");
    owner = element;
    tip.hidden = false;
    element.setAttribute("aria-describedby", "tip");
    harness.place(tip, element);
  };
  // Put what floats below its anchor, or above it where there is no room; inside the window.
  harness.place = (floating, anchor, gap = 6) => {
    const at = anchor.getBoundingClientRect(), size = floating.getBoundingClientRect();
    const below = at.bottom + gap + size.height <= window.innerHeight || at.top < size.height + gap;
    const top = below ? Math.min(at.bottom + gap, window.innerHeight - size.height - 4) : at.top - gap - size.height;
    const left = Math.min(Math.max(4, at.left), window.innerWidth - size.width - 4);
    floating.style.setProperty("top", `${Math.max(4, top)}px`);
    floating.style.setProperty("left", `${Math.max(4, left)}px`);
  };

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const found = find(event.target);
    if (found && found.element === owner) return;
    clearTimeout(timer);
    if (!found) { if (owner) timer = setTimeout(hide, WAIT / 2); return; }
    timer = setTimeout(() => show(found), owner ? 20 : WAIT);
  });
  document.addEventListener("pointerdown", hide);
  document.addEventListener("focusin", (event) => {
    const found = find(event.target);
    if (found && event.target.matches(":focus-visible")) show(found); else hide();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("scroll", hide, true);
  harness.hideTip = hide;
})();

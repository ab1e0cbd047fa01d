// What a cell of the leaderboard's grid shows. A cell keeps its elements, and changes only what is shown differently.
"use strict";
(() => {
  const { make, plain } = harness;
  const TAIL = 12; // characters of a name's end that are never cut

  const set = (element, name, value) => { if (value) element.setAttribute(name, value); else element.removeAttribute(name); };
  // {shown: what it is drawn from, text, classes, label: words for screen readers where the text does not say it, href, more: an element}
  const draw = (element, { text, classes, label, href, more }) => {
    element.className = classes;
    set(element, "href", href);
    set(element, "aria-label", label);
    set(element, "role", label && !href ? "img" : null);
    if (more) harness.clear(element, text, more); else element.textContent = text;
  };

  const rank = (view, i) => {
    const found = view.rates.get(i);
    if (!found) return { text: "–", classes: "faint" };
    if (!found[5]) return { text: "…", classes: "faint", label: "being computed" };
    return { text: harness.rankRange(found[5], found[6]), classes: found[5] === found[6] ? "alone" : "several" };
  };
  const name = (view, i) => {
    const model = view.board.models[i], words = plain(model.name, 60);
    return { text: "", classes: "model", href: harness.link(`model/${model.address}`), key: words,
      more: () => [make("bdi", null, words.length > 2 * TAIL ? [make("span", null, words.slice(0, -TAIL)), make("span", null, words.slice(-TAIL))] : make("span", null, words)), make("small", null, plain(model.backend, 12))] };
  };
  const rate = (view, i) => {
    const found = view.rates.get(i);
    if (!found) return { text: "–", classes: "faint rate" };
    return { text: "", classes: "rate", key: found.slice(0, 3).join(), more: () => [make("span.score", null, harness.share(found[0])), harness.interval(found[0], found[1], found[2])] };
  };
  const covered = (view, i) => {
    const [have, of] = view.coverage.get(i) || [0, 0];
    return { text: `${have}/${of}`, classes: have < of ? "with-results part" : "with-results" };
  };
  // A result: its number, or the sign of its state; words say what colours and corners show.
  const value = (view, i, column, digits) => {
    const cell = column.cell(i), state = harness.cellState(cell, column.out(i)), number = cell && cell.mean !== null;
    const step = state ? null : column.heat.get(i), tied = !state && column.tied.has(i);
    const reason = state && cell?.mean === null && !cell.failed && cell.none; // why there is no number, without an error
    const word = reason ? "reason" : state === "not run" || state === "no value" ? "none" : state.split(/[ :]/)[0];
    const classes = ["v", word, step === null || step === undefined ? "" : `h${step}`, column.first ? "first" : "", tied ? "tied" : "", cell?.dependent ? "dependent" : "", cell?.marked && !state ? "remark" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ");
    const href = cell ? column.link(i) : "";
    if (cell?.running) {
      const { done, of } = cell.running, part = of ? `${harness.count(done)} of ${harness.count(of)}` : "";
      return { text: number ? harness.digits(cell.mean, column.share, column.wide || digits) : column.wide ? part : "", classes, href, label: part ? `running: ${part}` : "running", done: of ? done / of : 0 };
    }
    if (!number || state === "declined") return { text: state === "failed" ? "✕" : state === "declined" ? "" : reason ? state : "–", classes, href, label: [...(reason || [state]), ...(cell?.remarks || [])].join(", ") };
    const text = harness.digits(cell.mean, column.share, column.wide || digits);
    const words = [state, cell.dependent && !state ? "depends on the published order" : "", tied ? "tied with the best" : "", ...cell.remarks].filter(Boolean);
    const interval = column.wide && cell.low !== null;
    return { text, classes, href, label: words.length ? [text, ...words].join(", ") : "", key: interval ? `${cell.low} ${cell.high}` : "", more: interval ? () => harness.interval(cell.mean, cell.low, cell.high) : null };
  };
  const PINNED = { rank, model: name, rate, covered };

  // A kind of cell for the grid, and a way to draw all of them again. now(): {view, column(id), digits}.
  harness.boardCells = (now) => {
    const all = new Set();
    class BoardCell {
      init({ node, column }) {
        this.node = node;
        this.id = column.colId;
        this.element = document.createElement(this.id === "rank" || this.id === "rate" || this.id === "covered" ? "span" : "a");
        this.element.tabIndex = -1;
        this.drawn = null;
        all.add(this);
        this.draw();
      }
      getGui() { return this.element; }
      refresh({ node }) { this.node = node; this.draw(); return true; }
      destroy() { all.delete(this); }
      draw() {
        const { view, column, digits } = now(), { i } = this.node.data, pinned = PINNED[this.id], own = pinned ? null : column(this.id);
        if (!pinned && !own) return; // its column is about to go
        const found = pinned ? pinned(view, i) : value(view, i, own, digits);
        const drawn = `${found.classes}\n${found.text}\n${found.label || ""}\n${found.href || ""}\n${found.key || ""}\n${found.done ?? ""}`;
        if (drawn === this.drawn) return;
        this.drawn = drawn;
        draw(this.element, { ...found, more: found.more ? found.more() : null });
        if (found.done !== undefined) this.element.style.setProperty("--done", String(found.done));
      }
    }
    return { kind: BoardCell, draw: () => { for (const cell of all) cell.draw(); } };
  };
})();

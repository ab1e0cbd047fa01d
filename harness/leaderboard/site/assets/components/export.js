// Export of a table that is seen as CSV, JSON, Markdown and LaTeX; copying; the menu for it.
"use strict";
(() => {
  const { make } = harness;
  const ACTIVE = /^[=+\-@\t\r]/; // a cell that a spreadsheet would compute

  // table: {name, columns: [{name, title}…], rows: [[text | number | null…]…]}.
  const csv = ({ columns, rows }) => {
    const quote = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value === "number") return String(value);
      const text = ACTIVE.test(value) ? `'${value}` : value;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [columns.map((column) => column.title), ...rows].map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
  };
  const json = ({ columns, rows }) => `${JSON.stringify(rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i].name, value ?? null]))), null, 1)}\n`;
  const shown = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? harness.number(value) : harness.plain(value, 200));
  const markdown = ({ columns, rows }) => {
    const cell = (value) => shown(value).replace(/[\\|`*_<>[\]]/g, "\\$&");
    const line = (cells) => `| ${cells.join(" | ")} |\n`;
    const right = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
    return line(columns.map((column) => cell(column.title))) + line(right.map((number) => (number ? "--:" : "---"))) + rows.map((row) => line(row.map(cell))).join("");
  };
  // As harness/output/latex.py writes them; a test compares the two.
  const SPECIAL = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "%": "\\%", "#": "\\#", _: "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", '"': "{''}", "`": "\\textasciigrave{}", "'": "\\textquotesingle{}", "[": "{[}", "]": "{]}", "*": "{*}", "-": "{-}", "↑": "$\\uparrow$", "↓": "$\\downarrow$", "±": "$\\pm$", "−": "$-$", "—": "---",
    "†": "\\textdagger{}", "‡": "\\textdaggerdbl{}", "§": "\\S{}", "¶": "\\P{}", "⊘": "$\\oslash$", "◊": "$\\diamond$", "⋯": "$\\cdots$", "∅": "$\\emptyset$", "⊖": "$\\ominus$", "∞": "$\\infty$", "※": "$\\ast$", "✗": "$\\times$",
    "…": "\\dots{}", "·": "$\\cdot$", "×": "$\\times$", "√": "$\\surd$", "Σ": "$\\Sigma$", "≠": "$\\neq$", "–": "--", "½": "$\\frac{1}{2}$",
  };
  const latex = ({ columns, rows }) => {
    const cell = (value) => [...shown(value)].map((character) => SPECIAL[character] ?? character).join("");
    const right = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
    return `\\begin{tabular}{${right.map((number) => (number ? "r" : "l")).join("")}}\n\\toprule\n`
      + [columns.map((column) => column.title), ...rows].map((row, i) => `${row.map(cell).join(" & ")} \\\\${i ? "" : "\n\\midrule"}\n`).join("") + "\\bottomrule\n\\end{tabular}\n";
  };
  const FORMATS = { CSV: [csv, "csv", "text/csv"], JSON: [json, "json", "application/json"], Markdown: [markdown, "md", "text/markdown"], LaTeX: [latex, "tex", "text/x-tex"] };
  harness.exported = (table, format) => FORMATS[format][0](table);

  // content: a text or a blob.
  harness.save = (name, content, kind) => {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: `${kind};charset=utf-8` }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  harness.copy = async (text, words) => {
    try {
      await navigator.clipboard.writeText(text);
      harness.toast(words);
    } catch {
      const field = make("textarea.unseen", { "aria-hidden": "true" });
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      harness.toast(done ? words : "The browser does not allow copying.");
    }
  };
  let gone = 0;
  harness.toast = (words) => {
    document.querySelector(".toast")?.remove();
    document.body.append(make("p.toast", null, words));
    harness.announce(words);
    clearTimeout(gone);
    gone = setTimeout(() => document.querySelector(".toast")?.remove(), 2500);
  };
  harness.copyLink = () => harness.copy(location.href, "Link copied");

  // A menu that exports what table() returns or promises, and a button that copies the link of what is seen.
  harness.exportMenu = (id, table) => {
    const menu = harness.popover("Export", { id, narrow: true, tip: "Export this view", fill: (panel) => {
      const exported = async (format, use) => {
        panel.hidePopover();
        try { const made = await table(); await use(made, harness.exported(made, format)); } catch (error) { harness.toast(harness.plain(error.message, 200)); }
      };
      harness.add(panel, make("p", null, "This view, as filtered and sorted"), make("ul", null, Object.entries(FORMATS).map(([format, [, ending, kind]]) => make("li", null,
        make("button", { type: "button", onclick: () => exported(format, (made, content) => harness.save(`${made.name}.${ending}`, content, kind)) }, format),
        make("button.only", { type: "button", "aria-label": `Copy as ${format}`, onclick: () => exported(format, (made, content) => harness.copy(content, `${format} copied`)) }, "copy")))));
    } });
    return [make("button.copy-link", { type: "button", id: `${id}-link`, "data-tip": "Copy the link to this view (y)", onclick: harness.copyLink }, "Copy link"), menu.button, menu.panel];
  };
})();

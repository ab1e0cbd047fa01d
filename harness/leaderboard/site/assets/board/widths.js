// How wide the leaderboard's columns are and how high their headings, from the room that there is and the words in them.
"use strict";
(() => {
  const { plain } = harness;
  const NARROW = 24, WIDEST = 96, FULL = 46; // a column of shares: on the screen with all others; with three digits
  const INTERVAL = 124, SPACIOUS = 240; // a column whose numbers have their intervals beside them
  const THREE_DIGITS = 36; // from this width on
  const MODEL = [170, 460], MODEL_SMALL = [138, 240], SMALL = 1100;
  const LOW = 40, GROUP = [22, 36], SCROLLBAR = 12; // heights of headings that lie, two lines, and of groups, one and two; a thin bar
  const TALL = [64, 134, 230], TALL_SMALL = 122; // heights of headings that stand: at least, at most, at most if the rows leave room
  const LITTLE = 240; // the height of a window, magnified, whose rows need the room of the headings
  const PADDING = 14, ABOVE = 18; // beside and above the words of a heading

  // Widths of words, which are measured once each.
  const pen = document.createElement("canvas").getContext("2d");
  const measured = new Map();
  const wide = (words, font) => {
    const key = `${font}/${words}`;
    if (!measured.has(key)) { pen.font = font; measured.set(key, Math.ceil(pen.measureText(words).width)); }
    return measured.get(key);
  };

  // view: what is seen; host: the element whose fonts count; room: {width, height}; options: {width: "fit" | "full", density}.
  // Sets column.wide, and returns {rank, model, rate, runs, of(column), digits, heading, group, row, equal: Fit and Full are alike}.
  harness.boardWidths = (view, fonts, room, options) => {
    const { columns, board } = view;
    const small = room.width < SMALL;
    const row = options.density === "roomy" ? 32 : 24;
    const [least, most] = small ? MODEL_SMALL : MODEL;
    const named = Math.max(0, ...view.rows.map((i) => wide(plain(board.models[i].name, 60), `560 13px ${fonts}`) + (small ? 0 : 6 + wide(plain(board.models[i].backend, 12), `11px ${fonts}`)))) + PADDING;
    const found = { rank: 66, model: least, rate: small ? 66 : 118, runs: 56, row, group: GROUP[0] };
    const free = room.width - found.rank - found.model - found.rate - found.runs - SCROLLBAR;
    // Where there is room for all of them, shares have their intervals beside them, too.
    const spacious = columns.every((column) => column.share || column.intervals) && columns.length * INTERVAL <= free;
    for (const column of columns) column.wide = column.intervals || spacious;
    const label = (column) => wide(plain(column.label, 60), `12px ${fonts}`);
    const own = (column) => (column.wide ? INTERVAL : Math.max(30, 10 + 7 * column.text));
    const shares = columns.filter((column) => column.share && !column.wide);
    const rigid = columns.filter((column) => !column.share || column.wide);
    const even = Math.floor((free - rigid.reduce((sum, column) => sum + own(column), 0)) / Math.max(1, shares.length));
    const fit = Math.min(WIDEST, Math.max(NARROW, even));
    const width = options.width === "full" ? Math.max(FULL, fit) : fit;
    found.equal = !shares.length || fit >= FULL;
    found.digits = width >= THREE_DIGITS;
    const taken = (column) => (column.share && !column.wide ? width : own(column));
    let left = free - columns.reduce((sum, column) => sum + taken(column), 0);
    // What is left goes to names that are cut, then to headings that lie.
    found.model += Math.max(0, Math.min(left, Math.min(most, named) - found.model));
    left -= found.model - least;
    const lying = columns.length > 0 && columns.every((column) => column.wide);
    const extra = new Map();
    if (lying) {
      const wanted = columns.map((column) => Math.max(0, Math.min(SPACIOUS, label(column) + PADDING) - INTERVAL));
      const share = Math.min(1, Math.max(0, left) / Math.max(1, wanted.reduce((sum, each) => sum + each, 0)));
      columns.forEach((column, at) => extra.set(column, Math.floor(share * wanted[at])));
    }
    found.of = (column) => taken(column) + (extra.get(column) || 0);
    const needed = Math.max(0, ...columns.filter((column) => !column.wide).map(label)) + ABOVE;
    const groups = new Map();
    for (const column of columns) groups.set(column.group, (groups.get(column.group) || 0) + found.of(column));
    if (!small && [...groups].some(([name, size]) => wide(plain(name, 40), `600 11px ${fonts}`) + 10 > size)) found.group = GROUP[1];
    const above = room.height - found.group - row * view.rows.length - SCROLLBAR;
    found.heading = lying ? LOW : Math.max(TALL[0], Math.min(needed, Math.max(room.height < LITTLE ? TALL[0] : small ? TALL_SMALL : TALL[1], Math.min(TALL[2], above))));
    return found;
  };
})();

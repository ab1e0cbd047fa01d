// How wide the leaderboard's columns are and how high their headings, from the room that there is and the words in them.
"use strict";
(() => {
  const { plain } = harness;
  const NARROW = 24, WIDEST = 96, FULL = 46; // a column of shares: on the screen with all others; with three digits
  const INTERVAL = 124, SPACIOUS = 240; // a column whose numbers have their intervals beside them
  const THREE_DIGITS = 36; // from this width on
  const MODEL = [166, 460], MODEL_SMALL = [138, 240], SMALL = 1100;
  const LOW = 40, LINE = 14, LINES = 3, SCROLLBAR = 12; // height of headings that lie, two lines; of a line of a group's title, and at most how many; a thin bar
  const TALL = [64, 134, 230], TALL_SMALL = 122; // heights of headings that stand: at least, at most, at most if the rows leave room
  const LITTLE = 460, TALL_LITTLE = 104; // the height of a grid, in a low or magnified window, whose rows need the room of the headings; the most for these
  const PADDING = 14, ABOVE = 18, BESIDE = 8; // beside and above the words of a heading, and beside those of a group

  // Widths of words, which are measured once each.
  const pen = document.createElement("canvas").getContext("2d");
  const measured = new Map();
  const wide = (words, font) => {
    const key = `${font}/${words}`;
    if (!measured.has(key)) { pen.font = font; measured.set(key, Math.ceil(pen.measureText(words).width)); }
    return measured.get(key);
  };

  // How many lines a group's title takes in a width, broken after spaces and hyphens.
  const lines = (title, font, room) => {
    let count = 1, taken = 0;
    for (const piece of title.match(/\S+?(?:-|\s+|$)/g) || []) {
      const size = wide(piece.trimEnd(), font);
      if (taken && taken + size > room) { count += 1; taken = 0; }
      taken += wide(piece, font);
    }
    return count;
  };
  // The least width in which a group's title is readable: no word is wider, and there are few lines.
  const readable = (title, font) => {
    let room = Math.min(WIDEST, Math.max(0, ...title.split(/(?<=-)|\s+/).map((word) => wide(word, font))));
    while (lines(title, font, room) > LINES) room += 4;
    return room + BESIDE;
  };

  // view: what is seen; host: the element whose fonts count; room: {width, height}; options: {width: "fit" | "full", density}.
  // Sets column.wide, and returns {rank, model, rate, covered, of(column), digits, heading, group, row, equal: Fit and Full are alike}.
  harness.boardWidths = (view, fonts, room, options) => {
    const { columns, board } = view;
    const small = room.width < SMALL;
    const row = options.density === "roomy" ? 32 : 24;
    const [least, most] = small ? MODEL_SMALL : MODEL;
    const named = Math.max(0, ...view.rows.map((i) => wide(plain(board.models[i].name, 60), `560 13px ${fonts}`) + (small ? 0 : 6 + wide(plain(board.models[i].backend, 12), `11px ${fonts}`)))) + PADDING;
    const found = { rank: 64, model: least, rate: small ? 66 : 112, covered: 70, row };
    const free = room.width - found.rank - found.model - found.rate - found.covered - SCROLLBAR;
    // Where there is room for all of them, shares have their intervals beside them, too.
    const spacious = columns.every((column) => column.share || column.intervals) && columns.length * INTERVAL <= free;
    for (const column of columns) column.wide = column.intervals || spacious;
    const label = (column) => wide(plain(column.label, 60), `12px ${fonts}`);
    const own = (column) => (column.wide ? INTERVAL : Math.max(30, 10 + 7 * column.text));
    const shares = columns.filter((column) => column.share && !column.wide);
    const rigid = columns.filter((column) => !column.share || column.wide);
    const members = new Map();
    for (const column of columns) members.set(column.group, [...(members.get(column.group) || []), column]);
    const groups = [...members].map(([name, each]) => ({ title: plain(name, 40), columns: each })), font = `600 11px ${fonts}`;
    const taken = (column, width) => (column.share && !column.wide ? width : own(column));
    // What each column of a group is widened by, so that the group's title is readable.
    const widened = (width) => new Map(groups.flatMap((group) => {
      const lacking = readable(group.title, font) - group.columns.reduce((sum, column) => sum + taken(column, width), 0);
      return group.columns.map((column) => [column, Math.max(0, Math.ceil(lacking / group.columns.length))]);
    }));
    const total = (values) => values.reduce((sum, value) => sum + value, 0);
    const even = (room) => Math.min(WIDEST, Math.max(NARROW, Math.floor((room - total(rigid.map(own))) / Math.max(1, shares.length))));
    const fit = even(free - total([...widened(even(free)).values()]));
    const width = options.width === "full" ? Math.max(FULL, fit) : fit;
    found.equal = !shares.length || fit >= FULL;
    found.digits = width >= THREE_DIGITS;
    const extra = widened(width);
    let left = free - total(columns.map((column) => taken(column, width) + extra.get(column)));
    // What is left goes to names that are cut, then to headings that lie.
    found.model += Math.max(0, Math.min(left, Math.min(most, named) - found.model));
    left -= found.model - least;
    const lying = columns.length > 0 && columns.every((column) => column.wide);
    if (lying) {
      const wanted = columns.map((column) => Math.max(0, Math.min(SPACIOUS, label(column) + PADDING) - INTERVAL));
      const share = Math.min(1, Math.max(0, left) / Math.max(1, total(wanted)));
      columns.forEach((column, at) => extra.set(column, Math.max(extra.get(column), Math.floor(share * wanted[at]))));
    }
    found.of = (column) => taken(column, width) + extra.get(column);
    const needed = Math.max(0, ...columns.filter((column) => !column.wide).map(label)) + ABOVE;
    const high = Math.max(1, ...groups.map((group) => lines(group.title, font, total(group.columns.map(found.of)) - BESIDE)));
    found.group = 8 + LINE * Math.min(LINES, high);
    const above = room.height - found.group - row * view.rows.length - SCROLLBAR;
    found.heading = lying ? LOW : Math.max(TALL[0], Math.min(needed, Math.max(room.height < LITTLE ? TALL_LITTLE : small ? TALL_SMALL : TALL[1], Math.min(TALL[2], above))));
    return found;
  };
})();

"use strict";
harness.page("board", {
  title: "Leaderboard",
  async render(main) { main.append(harness.make("h1", null, "Leaderboard")); },
});

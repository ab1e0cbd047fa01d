// The progress of running sweeps, if `harness serve` shows the site; only its server loads this script.
"use strict";
(() => {
  const POLL = 2000; // milliseconds between two requests for the state
  const STALE = 120; // seconds without an update after which a sweep may have been killed
  const IDLE = 20000; // milliseconds without a key or a click after which the page reloads by itself
  const harness = window.harness;
  const make = harness.make;
  const bar = make("section.live", { "aria-label": "Running sweeps", hidden: true });
  const sweeps = make("div");
  const news = make("p.live-news", { role: "status" });
  bar.append(sweeps, news);
  let first = null;
  let renewing = false;
  let touched = 0;
  let offered = false;
  for (const kind of ["keydown", "pointerdown", "wheel", "scroll"]) {
    window.addEventListener(kind, () => { touched = performance.now(); }, { passive: true });
  }

  const sweep = (state, now) => {
    const silent = now - Date.parse(state.updated) / 1000;
    const stalled = silent > STALE;
    const parts = [`${harness.count(state.done)} of ${harness.count(state.runs)} runs`];
    if (state.failed) parts.push(`${harness.count(state.failed)} failed`);
    if (state.of_examples) parts.push(`${harness.count(Math.round(state.examples))} of ${harness.count(state.of_examples)} examples`);
    if (state.rate) parts.push(`${Number(state.rate.toPrecision(2))} a second`);
    // Runs of a model go on together: they count by the fraction of their examples that is answered.
    const under = state.of_examples ? (Math.min(1, state.examples / state.of_examples) * (state.beside + 1)) : 0;
    if (stalled) parts.push(`no update for ${harness.count(Math.round(silent / 60))} minutes`);
    return make("div.live-sweep", null,
      make("strong", null, harness.text(state.suite)),
      make("progress", { value: state.done + under, max: Math.max(1, state.runs), "aria-label": `Runs of ${harness.plain(state.suite)}` }),
      make("span", null, parts.join(" · ")),
      state.current ? make("span.quiet", null, harness.text(state.current, 120), state.beside ? ` and ${harness.count(state.beside)} more` : "") : null);
  };

  harness.live = (text) => {
    const state = JSON.parse(text);
    if (first === null) first = state.build;
    const running = state.sweeps.filter((one) => one.state === "running");
    harness.clear(sweeps, running.map((one) => sweep(one, state.now)));
    // The runs under way, for pages that show them: scenario, method, model, answered, planned.
    const heard = running.filter((one) => state.now - Date.parse(one.updated) / 1000 <= STALE);
    harness.running = heard.flatMap((one) => one.under_way.map((run) => ({ ...run, suite: one.suite })));
    const page = harness.here();
    page?.progress?.();
    // A page that can takes up new results by itself; others offer it.
    if (state.build !== first && page?.renew && !renewing) {
      renewing = true;
      harness.renew(state.build);
      Promise.resolve(page.renew()).then(() => { first = state.build; }, () => {}).finally(() => { renewing = false; });
    }
    const newer = state.build !== first && !page?.renew;
    bar.hidden = !running.length && !newer && !state.problem;
    if (newer && performance.now() - touched > IDLE) { location.reload(); return; }
    if (newer && !offered) {
      offered = true;
      harness.clear(news, "There are new results. ", make("button.small", { type: "button", onclick: () => location.reload() }, "Show them"));
    }
    if (state.problem) harness.clear(news, `The site could not be rebuilt: ${harness.plain(state.problem, 300)}`);
  };

  // A script, since the policy lets pages load scripts but not fetch data.
  let turn = 0;
  const ask = () => {
    const script = document.createElement("script");
    script.src = `live/state.js?n=${turn++}`;
    const next = () => { script.remove(); setTimeout(ask, POLL); };
    script.addEventListener("load", next);
    script.addEventListener("error", () => {
      bar.hidden = false;
      harness.clear(news, "The server is not responding.");
      next();
    });
    document.head.append(script);
  };
  document.querySelector(".site-head").after(bar);
  ask();
})();

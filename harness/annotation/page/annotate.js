// The page for raters. Every text becomes a text node; nothing from the server is ever read as HTML.
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const make = (name, settings = {}, ...inside) => {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(settings)) {
      if (key === "class") found.className = value;
      else if (value !== null && value !== undefined) found.setAttribute(key, value);
    }
    found.append(...inside.filter((one) => one !== null && one !== undefined));
    return found;
  };
  const state = { about: null, rater: "", order: [], done: new Set(), questions: [], place: 0, item: null, times: [], since: 0 };

  // ------------------------------------------------------------------------------------------------------------
  // The server. Requests go out one after another, so that the last choice is the last line.

  let last = Promise.resolve();
  const ask = (path, content) => {
    const request = last.catch(() => {}).then(async () => {
      const answer = await fetch(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      return answer.json();
    });
    last = request;
    return request;
  };
  const fail = (error, what) => {
    at("problem").textContent = `${what}: ${error instanceof TypeError ? "the server is not responding. Is it still running?" : error.message}`;
    at("problem").hidden = false;
    at("saved").textContent = "";
  };
  const unsaved = new Map(); // by item, what the server has not confirmed yet
  const keep = async (values) => {
    const item = state.item.item;
    unsaved.set(item, { ...unsaved.get(item), ...values });
    at("saved").textContent = "Saving…";
    try {
      for (const [which, waiting] of [...unsaved]) {
        const sent = { ...waiting };
        const { complete } = await ask("keep", { rater: state.rater, item: which, values: sent });
        const left = Object.fromEntries(Object.entries(unsaved.get(which) ?? {}).filter(([name, value]) => sent[name] !== value));
        if (Object.keys(left).length) unsaved.set(which, left); else unsaved.delete(which);
        if (complete) state.done.add(which); else state.done.delete(which);
      }
      at("problem").hidden = true;
      if (!unsaved.size) at("saved").textContent = "Saved";
      progress();
      return true;
    } catch (error) {
      fail(error, "Not saved; to try again, choose again or press Enter");
      return false;
    }
  };

  // ------------------------------------------------------------------------------------------------------------
  // What is seen

  const section = (name) => {
    for (const one of ["start", "work", "end"]) at(one).hidden = one !== name;
    at("acts").hidden = name === "start";
    for (const one of ["skip", "next"]) at(one).hidden = name === "end";
  };
  const progress = () => {
    const all = state.order.length, done = state.done.size;
    at("bar").max = all;
    at("bar").value = done;
    const typical = [...state.times].sort((a, b) => a - b)[state.times.length >> 1];
    const left = state.times.length < 3 || done === all ? "" : ` · about ${Math.max(1, Math.round((all - done) * typical / 60000))} min left`;
    at("count").textContent = `${done} of ${all}${left}`;
  };
  const paragraphs = () => state.about.guidelines.filter((text) => text.trim()).map((text) => make("p", { class: "text" }, text.trim()));
  const field = (question, number) => {
    const kept = state.item.values[question.id];
    const legend = make("legend", {}, question.question, question.help ? make("small", {}, question.help) : null);
    if (!question.options.length) {
      const area = make("textarea", { name: question.id, maxlength: 10000, "aria-label": question.question });
      area.value = kept ?? "";
      area.addEventListener("change", () => choose(question.id, area.value));
      return make("fieldset", { "data-number": number }, legend, area);
    }
    const words = question.options.some(([, text]) => text.length > 3);
    const row = question.options.length > 3 && question.options.length < 6 && question.options.every(([, text]) => text.length < 24);
    const kind = words ? (row ? "cells words row" : "cells words") : "cells"; // four or five short texts stay in one row
    const cells = question.options.map(([value, text], position) => {
      const end = question.ends && (position === 0 ? question.ends[0] : position === question.options.length - 1 ? question.ends[1] : "");
      const input = make("input", { type: "radio", name: question.id, "aria-label": end ? `${text}, ${end}` : text });
      input.checked = kept === value;
      input.addEventListener("change", () => choose(question.id, value));
      return make("label", {}, input, make("span", {}, text));
    });
    const ends = question.ends ? make("div", { class: "ends", "aria-hidden": "true" }, make("span", {}, question.ends[0]), make("span", {}, question.ends[1])) : null;
    return make("fieldset", { "data-number": number }, legend, make("div", { class: kind }, ...cells), ends);
  };
  const draw = () => {
    const item = state.item, letters = item.answers.length > 1 ? ["A", "B"] : [""];
    at("shown").replaceChildren(
      make("h2", {}, item.input_title), make("p", { class: "text input", dir: "auto" }, item.input),
      ...(item.references.length ? [make("h2", {}, "Correct"), ...item.references.map((text) => make("p", { class: "text input", dir: "auto" }, text))] : []),
      make("div", { class: "answers" }, ...item.answers.map((text, place) => make("div", {},
        make("h2", {}, `${item.answer_title} ${letters[place]}`.trim()),
        make("p", { class: "text answer", dir: "auto" }, text.trim() || "(no text)")))),
      make("details", { id: "guidelines" }, make("summary", {}, "Guidelines"), ...paragraphs()));
    document.body.classList.toggle("pair", item.answers.length > 1);
    at("questions").replaceChildren(...state.questions.map(field));
    const keys = state.questions.flatMap((question) => question.options.map(([, , key]) => key)).filter(Boolean).sort();
    at("rating-keys").replaceChildren(...(keys.length ? [make("kbd", {}, keys[0]), "–", make("kbd", {}, keys.at(-1))] : []));
    at("note").value = item.values.note ?? "";
    at("skip").setAttribute("aria-pressed", String(item.values.skip === true));
    const open = state.questions.findIndex((question) => question.needed && !(question.id in item.values));
    current(Math.max(0, open));
    at("saved").textContent = state.done.size ? "All ratings are saved" : "";
    at("work").dataset.item = item.item;
    state.since = Date.now();
    progress();
  };
  const fields = () => [...at("questions").querySelectorAll("fieldset")];
  const current = (number) => {
    for (const one of fields()) one.classList.toggle("current", Number(one.dataset.number) === number);
  };
  const go = async (place) => {
    if (place >= state.order.length) {
      section("end");
      return;
    }
    try {
      state.item = await ask("item", { rater: state.rater, item: state.order[place] });
    } catch (error) {
      fail(error, "Cannot show the item");
      return;
    }
    at("problem").hidden = true;
    state.place = place;
    section("work");
    draw();
    window.scrollTo(0, 0);
    at("main").focus({ preventScroll: true });
  };

  // ------------------------------------------------------------------------------------------------------------
  // What a rater does

  const choose = (name, value) => {
    state.item.values[name] = value;
    const values = { [name]: value };
    if (state.item.values.skip) { // judged after all
      delete state.item.values.skip;
      values.skip = null;
      at("skip").setAttribute("aria-pressed", "false");
    }
    return keep(values);
  };
  const onward = () => {
    const after = [...state.order.keys()].slice(state.place + 1), before = [...state.order.keys()].slice(0, state.place);
    const next = [...after, ...before].find((place) => !state.done.has(state.order[place]));
    return go(next ?? state.order.length);
  };
  const settle = async () => { // what is written, and what a failed request has left
    const written = {};
    for (const area of at("questions").querySelectorAll("textarea")) if (area.value !== (state.item.values[area.name] ?? "")) written[area.name] = area.value;
    if (at("note").value !== (state.item.values.note ?? "")) written.note = at("note").value;
    Object.assign(state.item.values, written);
    if (Object.keys(written).length || unsaved.size) return keep(written);
    return last.then(() => true, () => false);
  };
  let busy = false;
  const alone = (step) => async () => {
    if (busy) return;
    busy = true;
    try { await step(); } finally { busy = false; }
  };
  const next = alone(async () => {
    const open = state.item.values.skip ? -1 : state.questions.findIndex((question) => question.needed && !(question.id in state.item.values));
    if (open >= 0) {
      current(open);
      fields()[open].querySelector("input").focus();
      at("saved").textContent = "Please answer this question";
      return;
    }
    if (!(await settle())) return;
    state.times.push(Date.now() - state.since);
    await onward();
  });
  const skip = alone(async () => {
    state.item.values.skip = true;
    if (await keep({ skip: true }) && await settle()) await onward();
  });
  const back = alone(async () => {
    if (!at("end").hidden) return go(state.place);
    if (state.place > 0 && await settle()) return go(state.place - 1);
    return undefined;
  });
  const begin = async (rater) => {
    const { order, done, questions, rater: named } = await ask("begin", { rater });
    Object.assign(state, { rater: named, order, questions, done: new Set(done) });
    at("who").textContent = `${named} · answers are in random order, without the names of the models`;
    const first = order.findIndex((item) => !state.done.has(item));
    state.place = Math.max(0, order.length - 1);
    progress();
    await go(first < 0 ? order.length : first);
  };

  at("questions").addEventListener("focusin", (event) => {
    const found = event.target.closest("fieldset");
    if (found) current(Number(found.dataset.number));
  });
  at("questions").addEventListener("submit", (event) => event.preventDefault());
  at("note").addEventListener("change", () => settle());
  at("next").addEventListener("click", next);
  at("skip").addEventListener("click", skip);
  at("back").addEventListener("click", back);
  at("enter").addEventListener("submit", (event) => {
    event.preventDefault();
    at("problem").hidden = true;
    begin(at("rater").value).catch((error) => fail(error, "Cannot start"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || busy || at("work").hidden) return; // busy: meant for the item that is on its way
    if (event.target.matches("textarea, select, input[type=text]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (/^[0-9]$/.test(event.key)) {
      const shown = fields().findIndex((one) => one.classList.contains("current"));
      const question = state.questions[shown];
      const wanted = question ? question.options.findIndex(([, , key]) => key === event.key) : -1;
      const input = wanted >= 0 ? fields()[shown].querySelectorAll("input")[wanted] : null;
      if (input) {
        input.checked = true;
        choose(question.id, question.options[wanted][0]);
        const following = fields()[shown + 1];
        (following?.querySelector("input:checked") ?? following?.querySelector("input") ?? input).focus();
        event.preventDefault();
      }
    } else if (event.key === "Enter" && !event.target.matches("button, summary")) {
      event.preventDefault();
      next();
    } else if (event.key === "n") {
      event.preventDefault();
      at("note").focus();
    } else if (event.key === "g") {
      at("guidelines").open = !at("guidelines").open;
    }
  });
  window.addEventListener("beforeunload", (event) => { if (unsaved.size) event.preventDefault(); });
  at("theme").addEventListener("change", () => {
    if (at("theme").value) document.documentElement.dataset.theme = at("theme").value;
    else delete document.documentElement.dataset.theme;
  });

  ask("about", {}).then((about) => {
    state.about = about;
    at("title").textContent = about.title;
    document.title = about.title;
    at("who").textContent = about.items === 1 ? "1 item" : `${about.items} items`;
    at("first-guidelines").replaceChildren(...paragraphs());
    section("start");
    at("rater").focus();
  }).catch((error) => fail(error, "Cannot load the page"));
})();

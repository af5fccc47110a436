// Scrubbers beside the charts: dragging plays frames that are already here, releasing tells Python.
// Nothing is sent while a thumb moves. The bound slider of the sidebar stays the truth.

const ink = (node) => getComputedStyle(node).getPropertyValue("--st-text-color").trim();

function charts(names) {
  return names.map((name) => document.querySelector(`.ledger-plot[data-chart="${CSS.escape(name)}"]`));
}

// What is not of the moment is pale: sentences and tables, and beyond the frames all the rest too.
function dim(yes, beyond = false) {
  document.body.classList.toggle("ledger-scrubbing", yes);
  document.body.classList.toggle("ledger-beyond", beyond);
}

// One frame, on axes that hold all of them where the hand may go anywhere.
function play(row, index, wide) {
  const frame = row.family?.frames[index];
  if (!frame) return;
  const names = Object.keys(frame.charts);
  charts(names).forEach((chart, i) => {
    chart?.parentElement.classList.add("ledger-playing");
    chart?.preview?.(frame.charts[names[i]], wide ? row.family.ranges[names[i]] : null);
  });
  write(frame.metrics);
  dim(true);
}

// Into the text of the cards that is there: the nodes stay Streamlit's.
function write(metrics) {
  const cards = document.querySelectorAll("[data-testid=stMetricValue]");
  metrics.forEach((text, i) => {
    const words = cards[i] && document.createTreeWalker(cards[i], NodeFilter.SHOW_TEXT).nextNode();
    if (words) words.data = text;
  });
}

// Back to what Python knows.
function restore(row) {
  dim(false);
  row.input.value = row.shown.index;
  word(row);
  if (!row.family) return;
  const frame = row.family.frames[row.shown.index];
  charts(Object.keys(frame.charts)).forEach((chart) => chart?.restore?.());
  write(frame.metrics);
}

// Asks for the family, once until something is answered; while Python works it waits, since a
// message between would take the place of the browser's way back.
function reach(host, row) {
  if (row.family || row.asked) return;
  row.asked = row.waits = true;
  whenIdle(() => {
    row.waits = false;
    if (!row.family && host.isConnected) host.tell("wanted", row.shown.key);
  });
}

function whenIdle(then) {
  const app = document.querySelector("[data-testid=stApp]");
  if (app?.dataset.testScriptState !== "running") return then();
  const watch = new MutationObserver(() => {
    if (app.dataset.testScriptState === "running") return;
    watch.disconnect();
    then();
  });
  watch.observe(app, { attributeFilter: ["data-test-script-state"] });
}

// Any number of moves make one frame.
function soon(row, then) {
  row.then = then;
  row.next ??= requestAnimationFrame(() => {
    row.next = undefined;
    row.then();
  });
}

function build(host, shown) {
  const row = { shown, line: document.createElement("label") };
  row.line.className = "ledger-scrub-row";
  row.name = document.createElement("span");
  row.input = Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1 });
  row.output = document.createElement("output");
  row.line.append(row.name, row.input, row.output);
  host.append(row.line);

  row.input.addEventListener("pointerdown", () => { row.held = true; });
  row.input.addEventListener("input", () => {
    word(row);
    soon(row, () => play(row, row.input.valueAsNumber, true));
  });
  row.input.addEventListener("change", () => {
    if (row.input.valueAsNumber !== row.shown.index) {
      host.tell("chosen", [row.shown.key, row.input.valueAsNumber]);
    }
  });
  const release = () => {
    row.held = false;
    cancelAnimationFrame(row.next);
    row.next = undefined;
    if (row.input.valueAsNumber === row.shown.index) restore(row);
    else dim(false);
  };
  row.input.addEventListener("pointerup", () => setTimeout(release));
  row.input.addEventListener("keyup", release);
  row.input.addEventListener("blur", release);
  return row;
}

// The sidebar's slider of the same field tells Python on release only. Its thumb says where it is
// at every move: that plays the same frames.
function follow(host) {
  const gone = new AbortController();
  const sidebar = (row, node) => node.closest?.(`.st-key-${CSS.escape(row.shown.key)}`);
  const near = ({ target }) => {
    for (const row of host.rows.values()) {
      if (row.line.contains(target) || sidebar(row, target)) reach(host, row);
    }
  };
  const listen = (name, then) => document.addEventListener(name, then, { signal: gone.signal, capture: true });
  listen("pointerover", near);
  listen("focusin", near);
  listen("keydown", near);
  listen("pointerdown", (event) => {
    host.dragging = true;
    near(event);
  });
  for (const end of ["pointerup", "pointercancel"]) listen(end, () => { host.dragging = false; });
  const moves = new MutationObserver((changes) => {
    for (const { target } of changes) {
      // What Python or the way back moves is in nobody's hand.
      if (!host.dragging && target !== document.activeElement) continue;
      const row = [...host.rows.values()].find((one) => sidebar(one, target));
      if (row) soon(row, () => moved(host, row, target));
    }
  });
  moves.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  return () => {
    gone.abort();
    moves.disconnect();
  };
}

function moved(host, row, slider) {
  const stop = Number(slider.getAttribute("aria-valuetext"));
  const index = row.shown.stops.indexOf(stop);
  if (stop === (row.ahead ?? row.shown.stops[row.shown.index])) return;
  if (index === row.shown.index) {
    restore(row);
    row.ahead = undefined;
    return;
  }
  if (index < 0 || (host.dragging && !row.family)) dim(true, true);
  // Steps of a key stay on the axes that are there, which the answer widens where it must.
  else play(row, index, host.dragging);
  row.ahead = stop;
  if (index >= 0) {
    row.input.value = index;
    word(row);
  }
}

function word(row) {
  const text = row.shown.words[row.input.valueAsNumber];
  row.output.textContent = text;
  row.input.setAttribute("aria-valuetext", text);
}

function fill(host, row, shown, colour) {
  if (shown.frames) row.sent = { name: shown.family, frames: shown.frames };
  const known = row.sent?.name === shown.family;
  if (!known) row.family = undefined;
  else if (shown.frames || !row.family || colour !== row.colour) {
    row.family = JSON.parse(row.sent.frames.replaceAll(shown.ink, colour));
  }
  row.colour = colour;
  row.shown = shown;
  row.asked = row.waits;
  row.name.textContent = shown.label;
  row.input.max = shown.words.length - 1;
  // A late answer must not pull the thumb from the hand.
  if (row.held) play(row, row.input.valueAsNumber, true);
  else row.input.value = shown.index;
  word(row);
  if (row.ahead === undefined) return;
  // By its value: the answer may have other stops.
  const ahead = shown.stops.indexOf(row.ahead);
  if (row.family && ahead >= 0 && ahead !== shown.index) play(row, ahead, host.dragging);
  else {
    row.ahead = undefined;
    dim(false);
  }
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".ledger-scrub");
  host.tell = setTriggerValue;
  host.rows ??= new Map();
  host.unfollow ??= follow(host);
  for (const shown of data.rows) {
    if (!host.rows.has(shown.key)) host.rows.set(shown.key, build(host, shown));
    fill(host, host.rows.get(shown.key), shown, ink(host));
  }
  return () => {
    dim(false);
    // Streamlit also calls this when newer data arrives.
    if (parentElement.isConnected) return;
    host.unfollow();
    host.unfollow = undefined;
  };
}

// Scrubbers beside the charts: dragging plays frames that are already here, releasing tells Python.
// Nothing is sent while a thumb moves. The bound slider of the sidebar stays the truth.

const ink = (node) => getComputedStyle(node).getPropertyValue("--st-text-color").trim();

// Frames are large and few are played: arrays are decoded when their turn comes.
function decoded(value) {
  if (!value?.bdata) return value;
  const bytes = Uint8Array.from(atob(value.bdata), (char) => char.charCodeAt(0));
  return new (value.dtype === "f4" ? Float32Array : Float64Array)(bytes.buffer);
}

function charts(names) {
  return names.map((name) => document.querySelector(`.ledger-plot[data-chart="${CSS.escape(name)}"]`));
}

function play(row) {
  const family = row.family;
  if (!family) return;
  const frame = family.frames[row.input.valueAsNumber];
  const names = Object.keys(frame.charts);
  charts(names).forEach((chart, i) => {
    const { data, shapes } = frame.charts[names[i]];
    const points = data.map((trace) =>
      Object.fromEntries(Object.entries(trace).map(([name, value]) => [name, decoded(value)])));
    chart?.preview?.({ data: points, shapes }, family.ranges[names[i]]);
  });
  const cards = document.querySelectorAll("[data-testid=stMetricValue]");
  frame.metrics.forEach((text, i) => write(cards[i], text));
  // Sentences wait for the release: they are not of the moment.
  document.body.classList.add("ledger-scrubbing");
}

// Into the text that is there: the node stays Streamlit's.
function write(card, text) {
  const words = card && document.createTreeWalker(card, NodeFilter.SHOW_TEXT).nextNode();
  if (words) words.data = text;
}

function rest(row, restored) {
  document.body.classList.remove("ledger-scrubbing");
  if (!restored || !row.family) return;
  const frame = row.family.frames[row.shown.index];
  charts(Object.keys(frame.charts)).forEach((chart) => chart?.restore?.());
  const cards = document.querySelectorAll("[data-testid=stMetricValue]");
  frame.metrics.forEach((text, i) => write(cards[i], text));
}

function build(host, shown) {
  const row = { shown };
  const line = document.createElement("label");
  line.className = "ledger-scrub-row";
  row.name = document.createElement("span");
  row.input = Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1 });
  row.output = document.createElement("output");
  line.append(row.name, row.input, row.output);
  host.append(line);

  const reach = () => {
    if (row.shown.family === null && !row.asked) {
      row.asked = true;
      host.tell("wanted", row.shown.key);
    }
  };
  line.addEventListener("pointerenter", reach);
  row.input.addEventListener("focus", reach);
  row.input.addEventListener("pointerdown", () => { row.held = true; });
  row.input.addEventListener("input", () => {
    word(row);
    row.next ??= requestAnimationFrame(() => {
      row.next = undefined;
      play(row);
    });
  });
  row.input.addEventListener("change", () => {
    if (row.input.valueAsNumber !== row.shown.index) {
      row.sent = true;
      host.tell("chosen", [row.shown.key, row.input.valueAsNumber]);
    }
  });
  const release = () => {
    row.held = false;
    cancelAnimationFrame(row.next);
    row.next = undefined;
    rest(row, row.input.valueAsNumber === row.shown.index);
  };
  row.input.addEventListener("pointerup", () => setTimeout(release));
  row.input.addEventListener("keyup", release);
  row.input.addEventListener("blur", release);
  return row;
}

function word(row) {
  const text = row.shown.words[row.input.valueAsNumber];
  row.output.textContent = text;
  row.input.setAttribute("aria-valuetext", text);
}

function fill(row, shown, colour) {
  if (shown.family !== row.shown.family || colour !== row.colour) {
    row.family = shown.family && JSON.parse(shown.family.replaceAll(shown.ink, colour));
    row.colour = colour;
  }
  row.shown = shown;
  row.asked = false;
  row.name.textContent = shown.label;
  row.input.max = shown.words.length - 1;
  // A late answer must not pull the thumb from the hand.
  if (row.held) play(row);
  else row.input.value = shown.index;
  word(row);
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".ledger-scrub");
  host.tell = setTriggerValue;
  host.rows ??= new Map();
  for (const shown of data.rows) {
    if (!host.rows.has(shown.key)) host.rows.set(shown.key, build(host, shown));
    fill(host.rows.get(shown.key), shown, ink(host));
  }
  return () => document.body.classList.remove("ledger-scrubbing");
}

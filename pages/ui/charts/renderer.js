// Draws Plotly figures into the same nodes at every rerun, so that zoom and hidden lines survive.
// Constant code: figures arrive as JSON, labels as attributes, nothing is built from data.

const LIBRARY = "__ledgerPlotly";

// Streamlit's own charts put another plotly.js on window: keep a promise of ours.
function library(path) {
  window[LIBRARY] ??= new Promise((resolve, reject) => {
    const entry = document.querySelector('script[type=module][src*="static/js/"]');
    const base = entry ? new URL("../../", entry.src) : document.baseURI;
    const script = document.createElement("script");
    script.src = new URL(path, base).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window[LIBRARY] = undefined;
      script.remove();
      reject(new Error("plotly.js"));
    };
    document.head.append(script);
  });
  return window[LIBRARY];
}

function theme(node) {
  const style = getComputedStyle(node);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    ink: read("--st-text-color"),
    line: read("--st-border-color"),
    paper: read("--st-background-color"),
    font: read("--st-font"),
  };
}

function themed(spec, ink, colours) {
  const figure = JSON.parse(spec.replaceAll(ink, colours.ink));
  const layout = figure.layout;
  figure.legend = takeLegend(layout);
  layout.font = { color: colours.ink, family: colours.font, ...layout.font };
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.hoverlabel = {
    bgcolor: colours.paper, bordercolor: colours.line, align: "left",
    font: { color: colours.ink, family: colours.font, size: 13 },
  };
  layout.modebar = {
    bgcolor: "rgba(0,0,0,0)", color: colours.line, activecolor: colours.ink, orientation: "v",
  };
  for (const [name, axis] of Object.entries(layout)) {
    if (/^[xy]axis/.test(name)) {
      axis.gridcolor ??= colours.line;
      axis.linecolor ??= colours.line;
      axis.zeroline ??= false;
      if (axis.title) axis.title.font ??= { size: layout.font.size };
    }
  }
  return figure;
}

// Letters, lines and margins for the back of the room.
const LARGER = 1.36;
const SIZED = /^(font|.*font|line|marker|margin|title)$/;

function enlarge(part, by) {
  for (const [name, value] of Object.entries(part)) {
    if (!value || typeof value !== "object" || value.bdata) continue;
    if (SIZED.test(name)) {
      for (const size of ["size", "width", "l", "r", "t", "b"]) {
        if (typeof value[size] === "number") value[size] *= by;
      }
    }
    enlarge(value, by);
  }
}

// The legend comes as the text of a shape, so that a saved picture keeps it. On screen its entries
// are buttons over the same place: they wrap, and each hides the lines of its name.
function takeLegend(layout) {
  const legend = layout.shapes?.find((shape) => shape.name === "legend");
  layout.shapes = layout.shapes?.filter((shape) => shape !== legend);
  if (!legend) return [];
  const rows = new DOMParser().parseFromString(legend.label.text, "text/html").body;
  const entries = [];
  for (const node of rows.childNodes) {
    if (node.nodeName === "SPAN") {
      entries.push({ glyph: node.textContent, colour: node.style.color, label: "" });
    } else if (node.nodeName === "#text" && entries.at(-1)?.label === "") {
      // Behind a glyph its words; what follows them after a gap has no glyph.
      const [label, ...notes] = node.textContent.trim().split(/ {3,}/);
      entries.at(-1).label = label;
      entries.push(...notes.map((note) => ({ label: note })));
    } else if (node.textContent.trim()) {
      entries.push({ label: node.textContent.trim() });
    }
  }
  return entries;
}

function drawLegend(host, entries) {
  const words = JSON.stringify([entries, [...host.unseen], host.layout.width]);
  if (host.legend.words === words) return;
  host.legend.words = words;
  const names = new Set(host.data.map((trace) => plain(trace.name)));
  const { width, margin } = host.layout;
  const [left, right] = width < 420 ? [4, 4] : [margin.l, margin.r];
  Object.assign(host.legend.style, { left: `${left}px`, right: `${right}px`, height: `${margin.t}px` });
  host.legend.replaceChildren(...entries.map(({ glyph, colour, label }) => {
    const line = names.has(label);
    const entry = document.createElement(line ? "button" : "span");
    if (glyph) {
      const sample = document.createElement("i");
      sample.textContent = glyph;
      sample.style.color = colour;
      entry.append(sample, " ");
    }
    entry.append(label);
    if (line) {
      entry.type = "button";
      entry.setAttribute("aria-pressed", String(!host.unseen.has(label)));
      entry.onclick = () => {
        if (!host.unseen.delete(label)) host.unseen.add(label);
        draw(host, host.shown).then(() => focusEntry(host, label));
      };
    }
    return entry;
  }));
}

function focusEntry(host, label) {
  [...host.legend.querySelectorAll("button")].find((entry) => entry.textContent.endsWith(label))?.focus();
}

function plain(html) {
  return new DOMParser().parseFromString(html ?? "", "text/html").body.textContent;
}

function hide(host, data) {
  for (const trace of data) {
    if (trace.name && host.unseen.has(plain(trace.name))) trace.visible = false;
  }
}

const FULLSCREEN = {
  name: "Fullscreen",
  icon: { width: 24, height: 24, path: "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z" },
  click: (host) => (document.fullscreenElement ? document.exitFullscreen() : host.parentElement.requestFullscreen()),
};

const SAVE = {
  name: "Save as SVG",
  icon: { width: 24, height: 24, path: "M11 3h2v9l3-3 1.4 1.4L12 15.8 6.6 10.4 8 9l3 3zM4 18h16v2H4z" },
  click: async (host) => {
    const plotly = await library(host.shown.library);
    // As sent, so with its legend, and what is hidden stays out.
    const { data, layout } = JSON.parse(host.shown.spec.replaceAll(host.shown.ink, "#171c26"));
    hide(host, data);
    const { clientWidth: width, clientHeight: height } = host;
    plotly.downloadImage({ data, layout: { ...layout, paper_bgcolor: "#fff" } }, { format: "svg", width, height, filename: host.dataset.chart });
  },
};

const CONFIG = {
  displaylogo: false,
  responsive: false,
  // Back to the axes that came, not to ones without their margins.
  doubleClick: "reset",
  // Nothing leaves this machine: no button to share a chart elsewhere.
  showSendToCloud: false,
  modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "autoScale2d", "sendChartToCloud"],
};

// The same in the reader's words, which plotly.js finds by its own.
function spoken(words) {
  const buttons = [SAVE, FULLSCREEN].map((button) => ({ ...button, title: words[button.name] }));
  const locales = { reader: { dictionary: words } };
  return { ...CONFIG, modeBarButtonsToAdd: buttons, locale: "reader", locales };
}

// Whether what is there shows what comes, to single precision.
function alike(there, coming) {
  if (typeof coming === "number") {
    return there === coming || Math.abs(there - coming) <= 1e-6 * Math.abs(coming);
  }
  if (coming === null || typeof coming !== "object") return there === coming;
  const [now, next] = [decoded(there), decoded(coming)];
  if (next.every) return now?.length === next.length && next.every((item, i) => alike(now[i], item));
  return Object.keys({ ...now, ...next }).every((name) => alike(now?.[name], next[name]));
}

// Arrays come as base64, as Plotly's own Python package sends them.
function decoded(value) {
  if (!value?.bdata) return value;
  const bytes = Uint8Array.from(atob(value.bdata), (char) => char.charCodeAt(0));
  return new (value.dtype === "f4" ? Float32Array : Float64Array)(bytes.buffer);
}

async function draw(host, shown) {
  let plotly;
  try {
    plotly = await library(shown.library);
  } catch {
    host.textContent = shown.words["The chart library did not load. The next change tries again."];
    host.dataset.failed = "yes";
    return;
  }
  clearTimeout(host.later);
  // Only the newest figure matters if several came while the library loaded.
  if (host.shown !== shown || !host.isConnected) return;
  if (host.dataset.failed) {
    host.textContent = "";
    delete host.dataset.failed;
  }
  host.colours = theme(host);
  const { data, layout, legend } = themed(shown.spec, shown.ink, host.colours);
  if (host.revision !== shown.revision) host.unseen.clear();
  host.revision = layout.uirevision = shown.revision;
  if (shown.height === null) {
    // A phone held in the hand needs no larger letters.
    enlarge({ data, layout }, Math.min(LARGER, Math.max(1, host.clientWidth / 800)));
    layout.height = host.clientHeight;
  }
  hide(host, data);
  layout.width = host.clientWidth || undefined;
  // A scrubber may have drawn it before Python answered.
  if (!(alike(host.data, data) && alike(host.layout, layout))) {
    await plotly.react(host, data, layout, spoken(shown.words));
    // On paper a chart may have to be narrower than on screen.
    for (const svg of host.querySelectorAll(".main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${host._fullLayout.width} ${host._fullLayout.height}`);
    }
  }
  host.previewed = false;
  drawLegend(host, legend);
}

// Plotly looks for the point under the pointer at most every 50 ms: its own event for a click that
// comes sooner tells the point before, or is not sent.
const LOOKED = 60;

function answer(host, { target, clientX, clientY }) {
  if (!host.shown.clickable || !target.closest(".nsewdrag")) return;
  const tell = () => {
    const value = Number(host._hoverdata?.[0].customdata);
    if (Number.isFinite(value)) host.tell("clicked", value);
  };
  const { left, top } = host.getBoundingClientRect();
  const since = Math.hypot(clientX - left - host._hoverPointerX, clientY - top - host._hoverPointerY);
  clearTimeout(host.looking);
  if (since < 1) tell();
  else host.looking = setTimeout(tell, LOOKED);
}

// Of the time, shapes may take this share while points move.
const SHAPES_SHARE = 0.2;

// One frame of a scrub: points move without a redraw, shapes and words with them. Axes stay, or take
// the ranges that hold all frames.
async function preview(host, frame, ranges) {
  const plotly = await window[LIBRARY];
  if (!host.data || !host.isConnected) return;
  if (!host.previewed) {
    host.previewed = true;
    host.widened = false;
    host.resting = 0;
  }
  if (ranges && !host.widened) {
    host.widened = true;
    const zoomed = Object.keys(host._fullLayout._preGUI ?? {}).some((name) => /^[xy]axis\.(auto)?range/.test(name));
    if (!zoomed) await plotly.relayout(host, ranges);
  }
  const drawn = { shapes: frame.shapes };
  const legend = takeLegend(drawn);
  if (frame.data.length === host.data.length) {
    const moves = (trace, i) => host.data[i].visible !== false && Object.keys(trace).length > 0;
    const shown = frame.data.map((_, i) => i).filter((i) => moves(frame.data[i], i));
    // Frames are large and few are played: arrays are decoded when their turn first comes.
    for (const trace of frame.data) {
      for (const name of Object.keys(trace)) trace[name] = decoded(trace[name]);
    }
    if (shown.length) plotly.animate(
      host, { data: shown.map((i) => frame.data[i]), traces: shown },
      { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } },
    );
  }
  // Shapes cost a layout pass: they follow as often as the machine can, and at the last.
  clearTimeout(host.later);
  const shape = () => {
    const start = performance.now();
    plotly.relayout(host, drawn);
    drawLegend(host, legend);
    host.resting = performance.now() + (performance.now() - start) / SHAPES_SHARE;
  };
  const rest = host.resting - performance.now();
  if (rest > 0) host.later = setTimeout(shape, rest);
  else shape();
}

function catchUp(host) {
  if (!host.late) return;
  host.late = false;
  draw(host, host.shown);
}

function watch(host) {
  const redraw = () => {
    if (host.offsetParent && host.shown) draw(host, host.shown);
  };
  host.sizes = new ResizeObserver(() => {
    if (host.offsetParent && host.layout && host.clientWidth !== host.layout.width) redraw();
  });
  host.sizes.observe(host);
  host.addEventListener("click", (event) => answer(host, event));
  // What is out of sight waits until it is a step of the wheel away; paper shows all.
  host.sights = new IntersectionObserver(([sight]) => {
    host.near = sight.isIntersecting;
    if (host.near) catchUp(host);
  }, { root: host.closest("[data-testid=stMain]"), rootMargin: "100px" });
  host.sights.observe(host);
  host.printing = () => catchUp(host);
  addEventListener("beforeprint", host.printing);
  // A theme switch changes the variables, not the figure.
  host.themes = setInterval(() => {
    if (host.offsetParent && host.colours && theme(host).ink !== host.colours.ink) redraw();
  }, 500);
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".ledger-plot");
  host.dataset.chart = data.chart;
  host.legend = parentElement.querySelector(".ledger-legend");
  host.unseen ??= new Set();
  // What a scrubber on the page calls; see scrubber.js.
  host.preview = (frame, ranges) => preview(host, frame, ranges);
  host.restore = () => host.previewed && draw(host, host.shown);
  host.setAttribute("role", "figure");
  host.setAttribute("aria-label", data.alt);
  host.style.height = data.height === null ? "" : `${data.height}px`;
  host.parentElement.classList.toggle("ledger-tall", data.height === null);
  host.shown = data;
  host.tell = setTriggerValue;
  if (!host.sizes) watch(host);
  host.late = Boolean(host.data) && host.near === false;
  if (!host.late) draw(host, data);
  return () => {
    // Streamlit also calls this when newer data arrives: only a node that is gone is purged.
    if (parentElement.isConnected) return;
    host.sizes?.disconnect();
    host.sights?.disconnect();
    removeEventListener("beforeprint", host.printing);
    clearInterval(host.themes);
    window[LIBRARY]?.then((plotly) => plotly.purge(host), () => {});
  };
}

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

// On a touch screen a finger scrolls the page until somebody asks for the chart's own tools.
const COARSE = matchMedia("(pointer: coarse)");

function tooled(host) {
  return !COARSE.matches || host.tools === true;
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
  // On paper it is as much smaller as the chart is.
  for (const [name, value] of Object.entries({ width, left, right, height: margin.t })) {
    host.legend.style.setProperty(`--ledger-${name}`, value);
  }
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
      entry.title = host.shown.words["Show or hide this line"];
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

const TABLE = {
  name: "Show as table",
  icon: { width: 24, height: 24, path: "M3 4h18v16H3zM5 10v3h6v-3zM13 10v3h6v-3zM5 15v3h6v-3zM13 15v3h6v-3z" },
  click: (host) => toggleTable(host),
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
function spoken(host) {
  const { words } = host.shown;
  const buttons = [TABLE, SAVE, FULLSCREEN].map((button) => ({ ...button, title: words[button.name] }));
  const locales = { reader: { dictionary: words } };
  const bar = COARSE.matches ? { displayModeBar: tooled(host), showAxisDragHandles: tooled(host) } : {};
  return { ...CONFIG, ...bar, modeBarButtonsToAdd: buttons, locale: "reader", locales };
}

// What a chart shows as rows, one for each place, with a column for each of its lines.
function rowsOf({ data, layout }) {
  const title = (axis) => plain(layout[axis]?.title?.text) || axis[0];
  const seen = data.filter((trace) => trace.visible !== false && trace.hoverinfo !== "skip" || trace.name);
  const lying = seen.some((trace) => trace.orientation === "h");
  const [across, up] = lying ? ["y", "x"] : ["x", "y"];
  const columns = [title(`${across}axis`)];
  const rows = new Map();
  const put = (place, column, value) => {
    if (!columns.includes(column)) columns.push(column);
    if (!rows.has(place)) rows.set(place, new Map([[columns[0], place]]));
    rows.get(place).set(column, value);
  };
  for (const trace of seen) {
    const places = decoded(trace[across]) ?? [];
    if (trace.z) {
      const down = decoded(trace.y);
      decodedRows(trace.z).forEach((row, i) => row.forEach((value, j) => put(places[j], String(down[i]), value)));
      continue;
    }
    const values = decoded(trace[up]) ?? [];
    const column = plain(trace.name) || title(`${up}axis`);
    places.forEach((place, i) => values[i] !== null && put(place, column, values[i]));
  }
  const sorted = [...rows.values()];
  if (sorted.every((row) => typeof row.get(columns[0]) === "number")) {
    sorted.sort((one, other) => one.get(columns[0]) - other.get(columns[0]));
  }
  return { columns, rows: sorted.map((row) => columns.map((column) => row.get(column))) };
}

function decodedRows(value) {
  if (!value.bdata) return value.map(decoded);
  const [height, width] = value.shape.split(",").map(Number);
  const flat = decoded(value);
  return Array.from({ length: height }, (_, i) => [...flat.slice(i * width, (i + 1) * width)]);
}

function cell(value) {
  if (typeof value === "number") {
    return Number.isFinite(value) ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : "–";
  }
  return plain(value) || "–";
}

// The table lies over the chart, which keeps its place.
function tabulate(host) {
  host.table.hidden = !host.listed;
  host.tool.table?.setAttribute("aria-pressed", String(Boolean(host.listed)));
  if (!host.listed) return;
  const { columns, rows } = rowsOf(JSON.parse(host.shown.spec));
  const table = document.createElement("table");
  const line = (cells, name, parent) => {
    const row = parent.insertRow();
    for (const words of cells) {
      const one = document.createElement(name);
      if (name === "th") one.scope = "col";
      one.textContent = words;
      row.append(one);
    }
  };
  line(columns, "th", table.createTHead());
  const body = table.createTBody();
  for (const row of rows) line(row.map(cell), "td", body);
  host.table.replaceChildren(table);
}

function toggleTable(host) {
  host.listed = !host.listed;
  tabulate(host);
  host.listed && host.table.focus();
}

// Two buttons beside the chart: for those who have no pointer to find its toolbar with.
function drawTools(host) {
  const { words } = host.shown;
  const offered = { table: TABLE.name, ...(COARSE.matches ? { tools: "Chart tools" } : {}) };
  if (host.tool && host.tool.words === words[TABLE.name]) return;
  host.tool = { words: words[TABLE.name] };
  host.bench.replaceChildren(...Object.entries(offered).map(([name, message]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = { table: "▤", tools: "⋯" }[name];
    button.title = words[message];
    button.setAttribute("aria-label", words[message]);
    button.setAttribute("aria-pressed", "false");
    button.onclick = () => {
      if (name === "table") return toggleTable(host);
      host.tools = !tooled(host);
      button.setAttribute("aria-pressed", String(host.tools));
      host.retooled = true;
      draw(host, host.shown);
    };
    host.tool[name] = button;
    return button;
  }));
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
    // Nor do the others wait for a change.
    for (const other of document.querySelectorAll(".ledger-plot[data-failed]")) draw(other, other.shown);
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
  if (!tooled(host)) layout.dragmode = false;
  keepZoom(host, layout);
  // A scrubber may have drawn it before Python answered.
  if (host.retooled || !(alike(host.data, data) && alike(host.layout, layout))) {
    host.retooled = false;
    await plotly.react(host, data, layout, spoken(host));
    if (!host.heard) {
      host.heard = true;
      host.on("plotly_relayout", () => retick(host, plotly));
    }
    // On paper a chart may have to be narrower than on screen.
    const { width, height } = host._fullLayout;
    for (const svg of host.querySelectorAll(".main-svg")) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    host.style.setProperty("--ledger-shape", `${width} / ${height}`);
  }
  host.previewed = false;
  drawLegend(host, legend);
  drawTools(host);
  tabulate(host);
}

const AXIS = /^[xy]axis\d*$/;

// plotly.js drops a zoom where the axis that comes is not the one that came before: tell it that the
// reader zoomed in the new one.
function keepZoom(host, layout) {
  const before = host._fullLayout?._preGUI;
  if (!before || host._fullLayout.uirevision !== layout.uirevision) return;
  for (const name of Object.keys(layout).filter((one) => AXIS.test(one))) {
    const zoomed = [0, 1].filter((end) => `${name}.range[${end}]` in before);
    if (!zoomed.length || !layout[name].range) continue;
    const axis = host._fullLayout[name];
    for (const end of zoomed) before[`${name}.range[${end}]`] = layout[name].range[end];
    [axis._rangeInitial0, axis._rangeInitial1] = layout[name].range;
    Object.assign(layout[name], ticked(layout[name], axis.range));
  }
}

// Given ticks are too few where somebody looks closely: then plotly.js places its own.
function ticked({ tickvals }, [low, high]) {
  const within = tickvals?.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
  return within ? { tickmode: within.length < 3 ? "auto" : "array" } : {};
}

function retick(host, plotly) {
  const changes = {};
  for (const [name, axis] of Object.entries(host._fullLayout)) {
    if (!AXIS.test(name) || axis.type !== "log") continue;
    const { tickmode } = ticked(host.layout[name], axis.range);
    if (tickmode && tickmode !== axis.tickmode) changes[`${name}.tickmode`] = tickmode;
  }
  if (Object.keys(changes).length) plotly.relayout(host, changes);
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
  host.table = parentElement.querySelector(".ledger-table");
  host.bench = parentElement.querySelector(".ledger-tools");
  host.unseen ??= new Set();
  // What a scrubber on the page calls; see scrubber.js.
  host.preview = (frame, ranges) => preview(host, frame, ranges);
  host.restore = () => host.previewed && draw(host, host.shown);
  host.setAttribute("role", "figure");
  host.setAttribute("aria-label", data.alt);
  host.table.setAttribute("aria-label", data.alt);
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

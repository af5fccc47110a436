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

const FULLSCREEN = {
  name: "Fullscreen",
  icon: { width: 24, height: 24, path: "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z" },
  click: (gd) => (document.fullscreenElement ? document.exitFullscreen() : gd.requestFullscreen()),
};

const CONFIG = {
  displaylogo: false,
  responsive: false,
  // Nothing leaves this machine: no button to share a chart elsewhere.
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"],
  modeBarButtonsToAdd: [FULLSCREEN],
  toImageButtonOptions: { format: "svg" },
};

// The same in the reader's words, which plotly.js finds by its own.
function spoken(words) {
  const fullscreen = { ...FULLSCREEN, title: words[FULLSCREEN.name] };
  const locales = { reader: { dictionary: words } };
  return { ...CONFIG, modeBarButtonsToAdd: [fullscreen], locale: "reader", locales };
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
  // Only the newest figure matters if several came while the library loaded.
  if (host.shown !== shown || !host.isConnected) return;
  if (host.dataset.failed) {
    host.textContent = "";
    delete host.dataset.failed;
  }
  host.colours = theme(host);
  const { data, layout } = themed(shown.spec, shown.ink, host.colours);
  layout.uirevision = shown.revision;
  layout.width = host.clientWidth || undefined;
  await plotly.react(host, data, layout, spoken(shown.words));
  // On paper a chart may have to be narrower than on screen.
  for (const svg of host.querySelectorAll(".main-svg")) {
    svg.setAttribute("viewBox", `0 0 ${host._fullLayout.width} ${host._fullLayout.height}`);
  }
  if (!host.listens) {
    host.listens = true;
    host.on("plotly_click", ({ points }) => {
      const value = Number(points[0]?.customdata);
      if (host.shown.clickable && Number.isFinite(value)) host.tell("clicked", value);
    });
  }
}

function watch(host) {
  const redraw = () => {
    if (host.offsetParent && host.shown) draw(host, host.shown);
  };
  host.sizes = new ResizeObserver(() => {
    if (host.offsetParent && host.layout && host.clientWidth !== host.layout.width) redraw();
  });
  host.sizes.observe(host);
  // A theme switch changes the variables, not the figure.
  host.themes = setInterval(() => {
    if (host.offsetParent && host.colours && theme(host).ink !== host.colours.ink) redraw();
  }, 500);
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".ledger-plot");
  host.setAttribute("role", "figure");
  host.setAttribute("aria-label", data.alt);
  host.style.height = `${data.height}px`;
  host.shown = data;
  host.tell = setTriggerValue;
  if (!host.sizes) watch(host);
  draw(host, data);
  return () => {
    // Streamlit also calls this when newer data arrives: only a node that is gone is purged.
    if (parentElement.isConnected) return;
    host.sizes?.disconnect();
    clearInterval(host.themes);
    host.listens = false;
    window[LIBRARY]?.then((plotly) => plotly.purge(host), () => {});
  };
}

"""How a figure gets onto the page: drawn in place by our component, or by Streamlit's own chart.

Streamlit throws its Plotly chart away and mounts a new one at every change. The component keeps the
node and lets Plotly update it, with the plotly.js that ships in the plotly package.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import plotly
import streamlit as st
from streamlit.components.v1 import declare_component

from calc.words import marked, say
from pages.ui.charts.component import registered
from pages.ui.writing import palette

# Where the component cannot run, as under a policy without `blob:` scripts.
_TALL = 620
STOCK = os.environ.get("LEDGER_STOCK_CHARTS") == "1"

# Never mounted: it only gives the library's file a route, on every run, as each server needs it.
_LIBRARY = Path(plotly.__file__).parent / "package_data"
# What the component and plotly.js say themselves.
_WORDS = (
    marked("The chart library did not load. The next change tries again."),
    marked("Show as table"),
    marked("Chart tools"),
    marked("Show or hide this line"),
    marked("Fullscreen"),
    marked("Save as SVG"),
    marked("Zoom"),
    marked("Pan"),
    marked("Zoom in"),
    marked("Zoom out"),
    marked("Reset axes"),
    marked("Double-click to zoom back out"),
    marked("Image download succeeded"),
    marked("Sorry, there was a problem downloading your image!"),
)
_HTML = """
<div class="ledger-chart"><div class="ledger-tools"></div><div class="ledger-legend"></div>
<div class="ledger-plot"></div>
<div class="ledger-table" role="region" tabindex="0" hidden></div></div>
"""
_CSS = """
.ledger-chart { position: relative; }
.ledger-chart:fullscreen { background: var(--st-background-color); }
.ledger-plot { width: 100%; }
.ledger-tall .ledger-plot { height: max(340px, calc(100vh - 19rem)); }
@media (min-width: 800px) {
  .ledger-tall .ledger-legend { font-size: 17px; line-height: 23px; }
}
.ledger-legend {
  position: absolute; top: 0; z-index: 1; pointer-events: none; box-sizing: border-box;
  display: flex; flex-wrap: wrap; align-content: flex-end; gap: 0 0.9em; padding-bottom: 5px;
  font: 12.5px/17px var(--st-font); color: var(--st-text-color);
}
.ledger-legend button, .ledger-legend span { all: unset; white-space: nowrap; }
.ledger-legend button {
  pointer-events: auto; cursor: pointer; border-radius: 4px;
  text-decoration: underline dotted; text-underline-offset: 3px;
}
.ledger-legend button:hover { background: var(--st-secondary-background-color); }
.ledger-legend button[aria-pressed=false] { text-decoration: line-through; opacity: 0.65; }
.ledger-legend button:focus-visible { outline: 2px solid var(--st-primary-color); }
.ledger-legend i {
  display: inline-block; font-style: normal; letter-spacing: -0.1em; margin-right: 0.15em;
}
.ledger-tools {
  position: absolute; top: 0; right: 0; z-index: 2; display: flex; gap: 4px;
  opacity: 0; pointer-events: none;
}
.ledger-tools:focus-within { opacity: 1; }
.ledger-tools button {
  all: unset; min-width: 24px; height: 24px; text-align: center; cursor: pointer;
  border-radius: 4px; font: 15px/24px var(--st-font); color: var(--st-text-color);
  background: var(--st-secondary-background-color);
}
.ledger-tools button:focus-visible { outline: 2px solid var(--st-primary-color); }
@media (pointer: coarse) {
  .ledger-tools { opacity: 1; pointer-events: auto; }
  .ledger-plot, .ledger-plot * { touch-action: pan-y pinch-zoom !important; }
}
.ledger-table {
  position: absolute; inset: 14px 0 0; z-index: 1; overflow: auto;
  background: var(--st-background-color); color: var(--st-text-color);
  font: 13px/1.5 var(--st-font); font-variant-numeric: tabular-nums;
}
.ledger-table[hidden] { display: none; }
.ledger-table table { border-collapse: collapse; }
.ledger-table :is(th, td) {
  padding: 2px 12px 2px 0; text-align: right; border-bottom: 1px solid var(--st-border-color);
}
.ledger-table th { position: sticky; top: 0; background: var(--st-background-color); }
.ledger-table :is(th, td):first-child { text-align: left; }
@media print {
  .ledger-chart { break-inside: avoid; container-type: inline-size; }
  .ledger-legend {
    --ledger-px: calc(min(100cqw, 190mm) / var(--ledger-width));
    font-size: calc(12.5 * var(--ledger-px)); line-height: calc(17 * var(--ledger-px));
    left: calc(var(--ledger-left) * var(--ledger-px)) !important;
    right: calc(100% - min(100cqw, 190mm) + var(--ledger-right) * var(--ledger-px)) !important;
    height: calc(var(--ledger-height) * var(--ledger-px)) !important;
    padding-bottom: calc(5 * var(--ledger-px));
  }
  /* On a narrower sheet it is lower than the room that is held for it on screen. */
  div:has(.ledger-chart) { height: auto !important; flex-basis: auto !important; }
  .ledger-plot, .ledger-plot :is(.plot-container, .svg-container) { height: auto !important; }
  .ledger-plot .svg-container {
    width: 100% !important; aspect-ratio: var(--ledger-shape); max-width: 190mm;
  }
  .ledger-plot .main-svg { width: 100%; height: 100%; }
  .ledger-tools, .ledger-plot .modebar-container { display: none; }
}
"""


class Drawn(Protocol):
    """A chart: its layout as a plain dict, and the whole as the text that plotly.js reads."""

    layout: dict[str, Any]

    def to_json(self) -> str: ...


def show(
    figure: Drawn,
    key: str,
    alt: str,
    revision: str = "",
    on_click: Callable[[float], None] | None = None,
    tall: bool = False,
) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : Drawn
        May use `palette.INK` for whatever has the text's colour.
    key : str
        Identity of the place on the page; the node there is kept.
    alt : str
        What the chart says, in words.
    revision : str
        Changes when the axes change meaning: a zoom is kept while it stays the same.
    on_click : callable, optional
        Told the `customdata` of a point that is clicked, a number. Not by Streamlit's own chart.
    tall : bool
        Fills the window below it, and is lettered for the back of the room.
    """
    if STOCK:
        _show_stock(figure, key, alt, tall)
        return
    library = declare_component("plotly_js", path=str(_LIBRARY))
    registered(Path(__file__).with_name("renderer.js"), _HTML, _CSS)(
        key=key,
        data={
            "spec": figure.to_json(),
            "chart": key,
            "alt": alt,
            "words": {message: say(message) for message in _WORDS},
            "ink": palette.INK,
            "height": None if tall else figure.layout["height"],
            "revision": revision or key,
            "library": f"component/{library.name}/plotly.min.js?v={plotly.__version__}",
            "clickable": on_click is not None,
        },
        # Held from the first paint on, so that nothing below moves when the chart comes.
        height="content" if tall else figure.layout["height"],
        on_clicked_change=lambda: _clicked(key, on_click),
    )


def _clicked(key: str, on_click: Callable[[float], None] | None) -> None:
    value = st.session_state[key].get("clicked")
    # The browser's word: a number, or nothing.
    if on_click is not None and isinstance(value, (int, float)) and math.isfinite(value):
        on_click(float(value))


def _show_stock(figure: Drawn, key: str, alt: str, tall: bool) -> None:
    ink = palette.ink(st.context.theme.type == "dark")
    coloured = plotly.io.from_json(figure.to_json().replace(palette.INK, ink))
    if tall:
        coloured.update_layout(height=_TALL)
    st.plotly_chart(coloured, key=key, alt=alt)

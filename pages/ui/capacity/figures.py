"""The charts of the Capacity page: what is resident, what fits, and where replicas lie."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, capacity, memory, packing
from calc.words import say
from pages.ui.charts import kit, lines
from pages.ui.writing import palette, text

Array = NDArray[np.float64]


def resident(ledger: memory.Ledger, n_chips: int) -> kit.Chart:
    """What fills the memory of all chips, and of one, as bars with a figure in each part."""
    parts = {name: size for name, size in ledger.parts().items() if size > 0}
    rows = {say("one chip"): 1.0 / n_chips}
    if n_chips > 1:
        rows = {say("all {n:,} chips", n=n_chips): 1.0, **rows}
    used = sum(parts.values())
    data = []
    for name, size in parts.items():
        look = palette.QUANTITIES[name]
        data.append({
            "type": "bar", "orientation": "h", "name": say(look.label), "y": list(rows),
            "x": [100 * size / used] * len(rows), "marker": {"color": look.colour},
            "text": [text.si(size * share, "B") if size / used > 0.09 else ""
                     for share in rows.values()],
            "textposition": "inside", "insidetextanchor": "middle", "textangle": 0,
            "textfont": {"color": _ink(name), "size": kit.FONT_SIZE},
            "hovertemplate": f"{say(look.label)}: %{{customdata}}<extra></extra>",
            "customdata": [text.si(size * share, "B") for share in rows.values()],
        })  # fmt: skip
    legend = [
        kit.key(text.quantities({n: size}, "B"),
                    palette.QUANTITIES[n].colour, "■")
        for n, size in parts.items()
    ]  # fmt: skip
    shapes = [kit.legend(*kit.wrapped(legend))]
    if ledger.free < 0:
        full = kit.rule("x", 100 * (used + ledger.free) / used, "solid", say("full"))
        full["label"] |= {"textangle": 0, "textposition": "middle", "xanchor": "left", "padding": 4}
        shapes.append(full)
    layout = {
        **kit.frame(96, legend_rows=len(kit.wrapped(legend))),
        "barmode": "stack", "bargap": 0.35, "uniformtext": {"minsize": 9, "mode": "hide"},
        "xaxis": {
            "range": [0, 100], "title": {"text": say("Share of what is there or needed (%)")},
            "automargin": False, "nticks": 6,
        },
        "yaxis": {"autorange": "reversed", "automargin": False, "ticksuffix": "  ",
                  "showgrid": False},
        "shapes": shapes,
    }  # fmt: skip
    return kit.figure(data, layout)


def _ink(name: str) -> str:
    return {"weights": "#ffffff", "free": palette.INK, "reserved": palette.INK}.get(name, "#171c26")


def against_context(scenario: Scenario, largest: int, crossing: float) -> kit.Chart:
    """Sequences that memory holds against context, and the batch from which FLOPs bind."""
    context = np.unique(np.append(2.0 ** np.linspace(9, 20, 89), float(scenario.context)))
    largest_batches = capacity.largest_batches(scenario, context)
    shown = {say("memory holds"): (largest_batches, palette.QUANTITIES["kv_cache"])}
    rules = []
    if math.isfinite(crossing):
        rules.append(("y", crossing, say("compute-bound past {n:,}", n=math.floor(crossing))))
    marks = [4.0**i for i in range(5, 11)]
    return lines.chart(
        context,
        shown,
        x_title=say("Context (tokens, k = 1,024)"),
        y_title=say("Sequences"),
        unit=say("sequences"),
        now=(scenario.context, float(max(largest, 0)) or math.nan, f"{largest:,}"),
        rules=rules,
        x_ticks={m: f"{m / 1024:,.0f}k" for m in marks},
    )


def _device_names(placed: packing.Placement) -> list[str]:
    """A name for each device in use; kinds that share a name count on."""
    seen: dict[str, int] = {}
    names = []
    for load in placed.loads:
        name = text.plain_html(load.device.name)
        seen[name] = seen.get(name, 0) + 1
        names.append(f"{name} {seen[name]}")
    return names


def placement(placed: packing.Placement) -> kit.Chart:
    """Each used device as a bar of the replicas that lie on it."""
    names = _device_names(placed)
    largest = max((load.device.memory for load in placed.loads), default=1.0)
    data = []
    for i, item in enumerate(placed.items):
        colour = kit.LINES[i % len(kit.LINES)][0]
        counts = [load.replicas[i] for load in placed.loads]
        data.append({
            "type": "bar", "orientation": "h", "name": text.plain_html(item.name), "y": names,
            "x": [count * item.size / 1e9 for count in counts], "marker": {
                "color": colour, "line": {"color": "rgba(255,255,255,0.6)", "width": 1}},
            "text": [f"{count} × {text.plain_html(item.name)}" if count else ""
                     for count in counts],
            "textposition": "inside", "insidetextanchor": "middle", "textangle": 0,
            "hovertemplate": f"%{{y}}: {text.plain_html(item.name)} %{{x:.3~r}} GB<extra></extra>",
        })  # fmt: skip
    data.append({
        "type": "bar", "orientation": "h", "name": say("free"), "y": names,
        "x": [load.free / 1e9 for load in placed.loads],
        "marker": {"color": palette.QUANTITIES["free"].colour},
        "hovertemplate": kit.hovered(say("{name}: {size} free", name="%{y}",
                                             size="%{x:.3~r} GB")),
    })  # fmt: skip
    legend = [
        kit.key(text.plain_html(item.name), kit.LINES[i % len(kit.LINES)][0],
                    "■")
        for i, item in enumerate(placed.items)
    ]  # fmt: skip
    legend.append(kit.key(say("free"), palette.QUANTITIES["reserved"].colour, "■"))
    rows = kit.wrapped(legend)
    layout = {
        **kit.frame(110, legend_rows=len(rows)),
        "height": 90 + 18 * len(rows) + 26 * max(len(names), 1),
        "barmode": "stack", "bargap": 0.25, "uniformtext": {"minsize": 9, "mode": "hide"},
        "xaxis": {"range": [0, 1.02 * largest / 1e9], "title": {"text": say("Memory (GB)")},
                  "automargin": False, "nticks": 8},
        "yaxis": {"autorange": "reversed", "automargin": False, "ticksuffix": "  ",
                  "showgrid": False, "type": "category"},
        "shapes": [kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)

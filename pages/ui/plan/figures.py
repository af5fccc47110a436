"""Charts of the Plan page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from calc.plan import BINDS, KINDS, Answer, Candidate, Move, PoolSizes, Served
from calc.plan.moves import LABELS
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.plan import words
from pages.ui.writing import palette, text

# Lines that a reader can still tell apart, and bars that fit beside them.
_LINES, _BARS = 6, 12
# Beyond the longest bar, for what stands behind it.
_ROOM = 1.65


def curve(answer: Answer, best: Candidate | None) -> kit.Chart:
    """Price of an hour against the limit on time per token, one line a chip; the best marked."""
    found, shown = answer.curve, {}
    for look, index in zip(kit.LINES, found.cheapest(_LINES), strict=False):
        name = words.chip(answer, answer.space.chips[index])
        shown[name] = (found.shown(index), palette.Look(name, *look))
    chart = lines.chart(
        kit.MILLI * found.limit,
        shown or {say("none"): (found.nothing, lines.TOTAL)},
        x_title=_limit(answer),
        y_title=say("USD per hour"),
        unit=say("USD/hour"),
        now=(
            (kit.MILLI * answer.ask.tpot, best.usd_per_hour, text.usd(best.usd_per_hour))
            if best
            else None
        ),
    )
    for trace in chart.data:
        if trace["mode"] == "lines":
            # Prices are of whole replicas: they change at once.
            trace["line"]["shape"] = "hv"
    return chart


def _limit(answer: Answer) -> str:
    if answer.ask.classes:
        return say("Strictest limit on time per token (ms), others in proportion")
    return say("Limit on time per output token (ms)")


def chips(answer: Answer) -> kit.Chart:
    """The best plan of each chip by its price, the cheapest on top."""
    best = answer.of_chips(_BARS).values()
    priced = sorted((one for one in best if one.usd_per_hour > 0), key=lambda one: one.usd_per_hour)
    names = [words.chip(answer, one.scenario.chip, 20) for one in priced]
    usd = np.array([one.usd_per_hour for one in priced])
    told = [
        say(
            "{price}: {chips}",
            price=text.usd(one.usd_per_hour),
            chips=text.plural(one.chips, marked("{n} chip"), marked("{n} chips")),
        )
        for one in priced
    ]
    data = [{
        "type": "bar", "orientation": "h", "y": names, "x": usd, "text": told,
        "textposition": "outside", "cliponaxis": False, "textfont": {"size": kit.FONT_SIZE},
        "marker": {"color": palette.QUANTITIES["weights"].colour},
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
    }]  # fmt: skip
    layout = {
        **kit.frame(150),
        "xaxis": {
            "title": {"text": say("USD per hour"), "standoff": 8}, "automargin": False,
            "range": [0, _ROOM * float(usd.max(initial=1.0))], "nticks": 6,
        },
        "yaxis": {"autorange": "reversed", "automargin": False, "ticksuffix": "  ",
                  "showgrid": False},
        "shapes": [],
    }  # fmt: skip
    return kit.figure(data, layout)


def sizes(answer: Answer) -> kit.Chart:
    """Price of the best of each chip by chips of a replica; what binds, or is in the way."""
    grid = answer.grid(_BARS)
    names = [words.chip(answer, answer.space.chips[i], 20) for i in grid.chips]
    at = [(row, column) for row in range(len(names)) for column in range(len(grid.sizes))]
    told = [[_cell(cell) for cell in row] for row in grid.cells]
    gaps = [(row, column) for row, column in at if grid.usd[row, column] != grid.usd[row, column]]
    data = [
        {
            "type": "heatmap", "z": grid.usd, "x": list(range(len(grid.sizes))),
            "y": list(range(len(names))), "text": told, "hoverongaps": False,
            "colorscale": "Cividis", "reversescale": True, "xgap": 2, "ygap": 2,
            "hovertemplate": kit.hovered("%{text}"),
            "colorbar": {"title": {"text": say("USD/hour")}, "thickness": 12, "outlinewidth": 0},
        },
        {
            "type": "scatter", "mode": "markers", "x": [column for _, column in gaps],
            "y": [row for row, _ in gaps], "text": [told[row][column] for row, column in gaps],
            "hovertemplate": kit.hovered("%{text}"), "cliponaxis": False,
            "marker": {"symbol": "x-thin", "size": 8,
                       "line": {"color": palette.RULE, "width": 1.5}},
        },
    ]  # fmt: skip
    frame = kit.frame(150)
    frame["margin"]["r"] = 90
    layout = {
        **frame,
        "xaxis": {
            "title": {"text": say("Chips of a replica"), "standoff": 8}, "automargin": False,
            "tickvals": list(range(len(grid.sizes))), "ticktext": [str(n) for n in grid.sizes],
            "range": [-0.5, len(grid.sizes) - 0.5], "showgrid": False,
        },
        "yaxis": {
            "tickvals": list(range(len(names))), "ticktext": names, "automargin": False,
            "range": [len(names) - 0.5, -0.5], "ticksuffix": "  ", "showgrid": False,
        },
        "shapes": [kit.legend([kit.key(say("no plan or no price"), palette.RULE, "×")])],
    }  # fmt: skip
    return kit.figure(data, layout)


def _cell(cell: Candidate | str) -> str:
    if isinstance(cell, Candidate):
        unpriced = cell.usd_per_hour != cell.usd_per_hour
        return say(
            "{price}: {chips} chips; {what} binds",
            price=say("no price published") if unpriced else text.usd(cell.usd_per_hour),
            chips=cell.chips,
            what=say(BINDS[cell.binds]),
        )
    return say(KINDS[cell]) if cell else say("not had in this number")


def pools(answer: Answer, found: PoolSizes) -> kit.Chart:
    """Chips of the two pools by the limit on time per token, one above the other."""
    limits = kit.MILLI * found.limit
    pools = (
        (say("reading prompts"), found.prefill, found.prefill_size, _TIMES["prompts"].colour),
        (say("decoding"), found.decode, found.decode_size, _TIMES["step"].colour),
    )
    data, entries = [], []
    for name, chips, size, colour in pools:
        told = [
            say("{n} replicas of {size}", n=int(many / each), size=int(each))
            if many == many
            else ""
            for many, each in zip(chips.tolist(), size.tolist(), strict=True)
        ]
        data.append({
            "type": "scatter", "mode": "lines", "name": name, "x": limits, "y": chips,
            "stackgroup": "chips", "text": told, "line": {"shape": "hv", "width": 1.5,
            "color": colour}, "hovertemplate": kit.hovered(f"{name}: %{{text}}", "%{x:.3~r} ms"),
        })  # fmt: skip
        entries.append(kit.key(name, colour, "■"))
    both = found.decode + found.prefill
    low, high = float(limits[0]), float(limits[-1])
    known = both[np.isfinite(both)]
    top = 1.05 * float(known.max(initial=1.0))
    layout = {
        **kit.frame(66),
        "xaxis": {
            "type": "log", "range": [math.log10(low), math.log10(high)], "automargin": False,
            "title": {"text": _limit(answer), "standoff": 8},
            **kit.ticks(low, high, True),
        },
        "yaxis": {
            "range": [0, top], "automargin": False, "title": {"text": say("Chips")}, "nticks": 6,
        },
        "shapes": [
            kit.rule("x", kit.MILLI * answer.ask.tpot, "dot", say("asked")), kit.legend(entries),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def served(answer: Answer, found: Served) -> kit.Chart:
    """The highest rate of given chips against the limit on time per token."""
    at = found.at(answer.ask.tpot)
    return lines.chart(
        kit.MILLI * found.limit,
        {say("highest rate"): (np.where(found.rate > 0, found.rate, np.nan), lines.TOTAL)},
        x_title=_limit(answer),
        y_title=say("Requests/s"),
        unit=say("requests/s"),
        now=(
            kit.MILLI * answer.ask.tpot, float(found.rate[at]), text.significant(found.rate[at])
        ) if found.rate[at] > 0 else None,
    )  # fmt: skip


def moves(answer: Answer, found: Sequence[Move]) -> kit.Chart:
    """Price of the best plan with one figure at a half and at twice what it is: a tornado."""
    base = answer.rows[0].usd_per_hour
    names = [say(LABELS[move.name]) for move in found]
    data, entries = [], []
    for side, (label, colour) in enumerate(
        ((say("half"), palette.QUANTITIES["weights"].colour),
         (say("twice"), palette.QUANTITIES["kv_read"].colour))
    ):  # fmt: skip
        plans = [move.plans[side] for move in found]
        usd = np.array([one.usd_per_hour if one else math.nan for one in plans])
        data.append({
            "type": "bar", "orientation": "h", "name": label, "y": names, "x": usd - base,
            "base": base, "marker": {"color": colour}, "text": [
                "" if value != value else text.usd(value) for value in usd.tolist()
            ], "textposition": "outside", "cliponaxis": False,
            "textfont": {"size": kit.FONT_SIZE},
            "hovertemplate": kit.hovered(f"%{{y}}, {label}: %{{text}}"),
        })  # fmt: skip
        entries.append(kit.key(label, colour, "■"))
    known = [one.usd_per_hour for move in found for one in move.plans if one]
    low, high = min([base, *known]), max([base, *known])
    room = 0.2 * (high - low) or 0.2 * base
    layout = {
        **kit.frame(120), "height": 280, "barmode": "group",
        "xaxis": {"title": {"text": say("USD per hour"), "standoff": 8}, "automargin": False,
                  "range": [low - room, high + room], "nticks": 6},
        "yaxis": {"autorange": "reversed", "automargin": False, "ticksuffix": "  ",
                  "showgrid": False},
        "shapes": [kit.rule("x", base, "solid"), kit.legend(entries)],
    }  # fmt: skip
    return kit.figure(data, layout)


_TIMES: Mapping[str, palette.Look] = {
    "step": palette.Look(marked("decode step"), "#009E73"),
    "prompts": palette.Look(marked("reading prompts"), "#CC79A7"),
    "tail": palette.Look(marked("to the percentile"), "#E69F00"),
    "left": palette.Look(marked("left of the limit"), palette.QUANTITIES["free"].colour),
}


def parts(one: Candidate) -> kit.Chart:
    """What a token's time and a replica's memory are made of, as shares of limit and memory."""
    bars = {
        say("time"): (one.answering, _TIMES, "s"),
        say("memory"): (one.memory, palette.QUANTITIES, "B"),
    }
    title = say("Share of the limit and of memory (%)")
    if one.ask.classes:
        # A time of each class: the table below has them.
        del bars[say("time")]
        title = say("Share of memory (%)")
    data, rows = [], []
    for bar, (found, looks, unit) in bars.items():
        whole, entries = sum(found.values()), []
        for name, part in found.items():
            if not part > 0:
                continue
            look = looks[name]
            label, value = say(look.label), text.si(part, unit)
            data.append({
                "type": "bar", "orientation": "h", "name": label, "y": [bar],
                "x": [100 * part / whole], "marker": {"color": look.colour},
                "text": [value if part > 0.09 * whole else ""], "textposition": "inside",
                "insidetextanchor": "middle", "textangle": 0,
                "textfont": {"color": palette.INK, "size": kit.FONT_SIZE},
                "hovertemplate": kit.hovered(f"{label}: {value}"),
            })  # fmt: skip
            entries.append(kit.key(label, look.colour, "■"))
        rows += kit.wrapped(entries)
    layout = {
        **kit.frame(72, legend_rows=len(rows)), "height": 260,
        "barmode": "stack", "bargap": 0.35, "uniformtext": {"minsize": 9, "mode": "hide"},
        "xaxis": {
            "range": [0, 100], "title": {"text": title},
            "automargin": False, "nticks": 6,
        },
        "yaxis": {"autorange": "reversed", "automargin": False, "ticksuffix": "  ",
                  "showgrid": False},
        "shapes": [kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)

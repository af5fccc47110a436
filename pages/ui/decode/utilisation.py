"""The tab Utilisation: MBU and MFU against batch, and what the context leaves of the MFU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import streamlit as st

from calc import Scenario, metrics, roofline
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.decode.view import DecodeView
from pages.ui.frame.page import Shown
from pages.ui.writing import palette, printed, tables, text

# Beside the scenario's own.
_CONTEXTS = (2048, 8192, 32768)
_MFU = palette.Look(marked("MFU"), palette.QUANTITIES["linear_compute"].colour)
_MBU = palette.Look(marked("MBU"), palette.QUANTITIES["weight_read"].colour, "dash")


def tab(view: DecodeView) -> None:
    """Both curves, and the most MFU of some contexts."""
    with st.grid(2, min_column_width=400):
        shown(view).draw("decode-utilisation")
        with st.container():
            st.markdown(sentence(view))
            st.table(_contexts(view.scenario), hide_index=True)
            st.caption(
                text.sentences(
                    say(
                        "MFU at most holds for any batch and for published figures: a larger "
                        "batch shares the weights, not the cache. MFU leaves out attention "
                        "FLOPs by convention."
                    ),
                    printed.kv_overtakes(view.scenario),
                )
            )


def shown(view: DecodeView) -> Shown:
    """MBU and MFU against batch."""
    return Shown(_chart(view), say("MBU and MFU of a decode step against batch."))


def sentence(view: DecodeView) -> str:
    """What is used, what could be at this context, and where the cache takes over."""
    s = view.scenario
    most, from_context = float(metrics.mfu_ceiling(s)), roofline.kv_overtakes(s)
    if math.isnan(most):
        return say("Utilisation is not known: a figure of the chip is not published.")
    if math.isinf(from_context):
        passes = say("The KV read takes longer than the FLOPs of large batches at no context.")
    else:
        passes = say(
            "From **{n}** of context on, the KV read takes longer than the FLOPs, whatever the "
            "batch.",
            n=text.tokens(round(from_context)),
        )
    return text.sentences(
        say(
            "The MFU is {mfu} at batch {batch:,}. It is at most **{most}** at {context}, "
            "whatever the batch.",
            batch=s.batch,
            mfu=text.share(float(metrics.mfu(s, view.step))),
            most=text.share(most),
            context=text.tokens(s.context),
        ),
        passes,
    )


def _contexts(s: Scenario) -> tables.Table:
    contexts = sorted({*_CONTEXTS, s.context})
    most = metrics.mfu_ceiling(s, contexts)
    reads = s.model.kv_bytes_read(contexts, s.kv_format)
    rows = [
        [text.count(context), text.si(float(read), "B"), text.share(float(share))]
        for context, read, share in zip(contexts, reads, most, strict=True)
    ]
    return tables.table([say("Context"), say("KV read per sequence"), say("MFU at most")], rows)


def _chart(view: DecodeView) -> kit.Chart:
    s, step = view.scenario, view.sweep.step
    here = 100 * float(metrics.mfu(s, view.step))
    drawn = lines.chart(
        step.batch,
        {
            say(_MFU.label): (100 * metrics.mfu(s, step), _MFU),
            say(_MBU.label): (100 * metrics.mbu(s, step), _MBU),
        },
        x_title=say("Batch (sequences)"),
        y_title=say("Share of the chip's peak (%)"),
        unit="%",
        now=(s.batch, here, text.share(here / 100)),
        rules=list(_ceilings(s, here)),
        log_y=False,
    )
    shapes, keys = _regions(view, float(step.batch[-1]))
    for shape in drawn.layout["shapes"]:
        if shape.get("yref") == "y":
            # Curves rise to the right: there is room at the left.
            shape["label"] |= {"textposition": "start", "yanchor": "bottom"}
        elif shape.get("name") == "legend":
            looks = ((look.label, look.colour, look.dash) for look in (_MFU, _MBU))
            named = [
                kit.key(say(label), colour, kit.DASH_GLYPHS[dash]) for label, colour, dash in looks
            ]
            rows = kit.wrapped([*named, *keys], 56)
            shape |= kit.legend(*rows)
    drawn.layout["shapes"] += shapes
    drawn.layout |= {"margin": kit.frame(66, legend_rows=len(rows))["margin"]}
    return drawn


def _regions(view: DecodeView, upper: float) -> tuple[list[dict[str, Any]], list[str]]:
    """Where the linear layers wait for compute, and where memory does not hold the batch."""
    shapes, keys = [], []
    for start, colour, ink, key in (
        (view.crossing, palette.COMPUTE_BOUND, "rgba(0,158,115,0.55)", say("compute-bound")),
        (max(view.largest, 1), palette.DOES_NOT_FIT, palette.RULE, say("does not fit")),
    ):
        if start < upper:
            shapes.append({
                "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": upper, "y0": 0,
                "y1": 1, "fillcolor": colour, "line": {"width": 0}, "layer": "below",
            })  # fmt: skip
            keys.append(kit.key(key, ink, "■"))
    return shapes, keys


# Ceilings that are nearer have no room for their words.
_APART = 8


def _ceilings(s: Scenario, here: float) -> Iterator[tuple[str, float, str]]:
    """The most MFU of the scenario's context, and of others that stand clear of it and of here."""
    taken: list[float] = []
    for context in dict.fromkeys((s.context, *_CONTEXTS)):
        most = float(metrics.mfu_ceiling(s, context))
        near = any(abs(100 * most - other) < _APART for other in taken)
        if not math.isfinite(most) or near:
            continue
        taken += [100 * most, here]
        yield (
            "y",
            100 * most,
            say("MFU at most {share} at {n:,} tokens", share=text.share(most), n=context),
        )

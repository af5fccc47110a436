"""The tab Pipeline bubble: how busy stages are while micro-batches fill and drain them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calc import layout
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Switch
from pages.ui.sharding.view import ShardingView
from pages.ui.writing import explained, palette, text

QUESTION = marked("How many micro-batches fill a pipeline?")
_STAGES, _PARTS = (2, 4, 8, 16), range(1, 1025)
STAGES = Switch("sharding-stages", "stages", 4, _STAGES)
PARTS = Switch("sharding-parts", "parts", 8, _PARTS)
# A share that few want more of.
_BUSY = 0.9


def _chosen(view: ShardingView) -> tuple[int, int]:
    stages, parts = (view.chosen(one.key, one.default) for one in (STAGES, PARTS))
    return int(stages), int(parts)


def sentence(view: ShardingView) -> str:
    """How busy the stages are, and how many micro-batches would do."""
    stages, parts = _chosen(view)
    used = float(layout.pipeline_utilisation(stages, parts))
    return text.sentences(
        say(
            "With {parts} each of {stages:,} stages works for **{used}** of a pass; {rest} is "
            "bubble.",
            parts=_number(parts),
            stages=stages,
            used=text.share(used),
            rest=text.share(1 - used),
        ),
        say(
            "{busy} takes {n:,} micro-batches.",
            busy=text.percent(_BUSY),
            n=layout.micro_batches_for(_BUSY, stages),
        ),
        _own(view),
    )


def _number(parts: float) -> str:
    return text.plural(parts, marked("{n} micro-batch"), marked("{n} micro-batches"))


def _own(view: ShardingView) -> str:
    chosen = layout.Layout.of(view.scenario)
    if chosen.pp == 1:
        return say("This layout has one stage: no bubble.")
    return say(
        "This layout has {stages:,.0f} stages and {parts}: stages work for {used} of a pass.",
        stages=float(chosen.pp),
        parts=_number(float(chosen.micro_batches)),
        used=text.share(float(layout.pipeline_utilisation(chosen.pp, chosen.micro_batches))),
    )


def chart(view: ShardingView) -> Shown:
    """Time in use against micro-batches, a line for each number of stages."""
    stages, parts = _chosen(view)
    far = max(64, 2 ** int(np.ceil(np.log2(2 * parts))))
    number = np.unique(np.append(np.geomspace(1, far, 80), float(parts)))
    order = [stages, *(one for one in _STAGES if one != stages)]
    looks = dict(zip(_STAGES, kit.LINES, strict=False))
    drawn: dict[str, lines.Line] = {
        say("{n:,} stages", n=one): (
            100 * layout.pipeline_utilisation(one, number),
            palette.Look("", *looks[one]),
        )
        for one in order
    }
    used = 100 * float(layout.pipeline_utilisation(stages, parts))
    return Shown(
        lines.chart(
            number,
            drawn,
            x_title=say("Micro-batches in a pass"),
            y_title=say("Time in use (%)"),
            unit="%",
            now=(parts, used, text.share(used / 100)),
            x_ticks={float(2**i): f"{2**i:,}" for i in range(int(np.log2(far)) + 1)},
            log_y=False,
        ),
        say("Share of a pass in which stages work, against micro-batches, by stages."),
    )


def tab(view: ShardingView) -> None:
    """Stages and micro-batches, and what of a pass is bubble."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            say("Stages"), _STAGES, index=_STAGES.index(STAGES.default), key=STAGES.key,
            persist_state="session", width=120,
        )  # fmt: skip
        st.number_input(
            say("Micro-batches"), _PARTS[0], _PARTS[-1], PARTS.default, key=PARTS.key,
            persist_state="session", width=170,
        )  # fmt: skip
    st.markdown(sentence(view))
    with st.grid(2, min_column_width=400):
        chart(view).draw("sharding-bubble")
        st.caption(
            say(
                "A pass fills and drains the pipeline, as a prompt's chunks do. Decoding has "
                "as many micro-batches in flight as stages: there is no bubble, but each "
                "micro-batch reads the weights again (F3.9)."
            )
        )
    if layout.Layout.of(view.scenario).pp > 1:
        explained.formula("pipeline_use", view.scenario)

"""The tab Outside the range: a value that calibration has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from calc import quantization
from calc.explain import codes
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Switch
from pages.ui.quantization.view import QuantizationView
from pages.ui.writing import explained, palette, text

QUESTION = marked("What becomes of a value outside the calibrated range?")
_FAR = 10.0
VALUE = Switch("beyond-value", "value", 5.0, tuple(np.arange(-20, 21) / 2))
REACH = Switch("beyond-reach", "reach", 1.0, (0.5, 1.0, 2.0, 4.0, 8.0))
BITS = Switch(
    "beyond-bits", "rbits", 8, range(quantization.FEWEST_BITS, quantization.MOST_BITS + 1)
)
SWITCHES = (VALUE, REACH, BITS)


@dataclass(frozen=True)
class _Asked:
    value: float
    reach: float
    bits: int

    @classmethod
    def of(cls, view: QuantizationView) -> _Asked:
        value, reach, bits = (view.chosen(one.key, one.default) for one in SWITCHES)
        return cls(float(value), float(reach), int(bits))

    def on_grid(self, values: float | np.ndarray) -> quantization.Quantized:
        return quantization.beyond(values, -self.reach, self.reach, self.bits)


def sentence(view: QuantizationView) -> str:
    """What comes back, and what the grid promises."""
    asked = _Asked.of(view)
    one = asked.on_grid(asked.value)
    told = {
        "value": text.tiny(asked.value),
        "back": text.significant(one.reconstructed.item()),
        "error": text.significant(one.max_error),
        "half": text.significant(one.bound.item()),
        "reach": text.tiny(asked.reach),
    }
    if one.max_error > one.bound.item() * (1 + 1e-9):
        return say(
            "{value} is reconstructed as **{back}**. The error is {error}; within ±{reach} it "
            "is at most {half}.",
            **told,
        )
    return say(
        "{value} is reconstructed as **{back}**. The error is {error}, at most half a step of "
        "{half}.",
        **told,
    )


def chart(view: QuantizationView) -> Shown:
    """Values as they are and as they come back."""
    asked = _Asked.of(view)
    x = np.linspace(-_FAR, _FAR, 801)
    one, back = asked.on_grid(asked.value), np.ravel(asked.on_grid(x).reconstructed)
    hover = say("{value} reconstructed: {back}", value="%{x:.3~r}", back="%{y:.3~r}")
    data = [
        {
            "type": "scatter", "mode": "lines", "x": x, "y": x, "hoverinfo": "skip",
            "line": {"color": palette.RULE, "width": 2, "dash": "dash"},
        },
        {
            "type": "scatter", "mode": "lines", "x": x, "y": back,
            "line": {"color": "#D55E00", "width": 3},
            "hovertemplate": kit.hovered(hover),
        },
        kit.marker(
            asked.value, one.reconstructed.item(), text.significant(one.reconstructed.item()),
            right=asked.value < 0,
        ),
    ]  # fmt: skip
    ends = [-_FAR, _FAR]
    layout = {
        **kit.frame(56),
        "xaxis": kit.axis(say("Value"), ends, False, nticks=9),
        "yaxis": kit.axis(say("Reconstructed value"), ends, False, nticks=9),
        "shapes": [
            kit.rule("x", -asked.reach, "dot"),
            kit.rule("x", asked.reach, "dot"),
            kit.legend(
                [
                    kit.key(say("reconstructed"), "#D55E00", "━━"),
                    kit.key(say("original"), palette.RULE, "╍╍"),
                    kit.key(say("calibrated"), palette.RULE, "┊"),
                ]
            ),
        ],
    }
    return Shown(
        kit.figure(data, layout),
        say("Reconstructed against original values: beyond the calibrated range, its end."),
    )


def tab(view: QuantizationView) -> None:
    """A value, a range and a width of codes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for switch, label, width in (
            (VALUE, say("Value"), 130),
            (REACH, say("Calibrated to ±"), 150),
            (BITS, say("Bits"), 90),
        ):  # fmt: skip
            st.selectbox(
                label, switch.offered, index=list(switch.offered).index(switch.default),
                key=switch.key, persist_state="session", width=width,
            )  # fmt: skip
    st.markdown(sentence(view))
    with st.grid(2, min_column_width=400):
        chart(view).draw("quantization-beyond")
        st.caption(
            say(
                "Codes are asymmetric (F9.1). Calibration by the largest values takes the "
                "range of its samples: traffic beyond it is clipped. A percentile in their "
                "place clips more and has smaller steps."
            )
        )
    asked = _Asked.of(view)
    entry, written = codes.restored(asked.on_grid(asked.value))
    explained.shown(entry, written)

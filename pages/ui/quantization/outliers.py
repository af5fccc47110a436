"""The tab Outliers: how a few large channels are kept from spoiling a product."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from calc import outliers, quantization
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import language
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Switch
from pages.ui.quantization.view import QuantizationView
from pages.ui.writing import palette, published, tables, text

QUESTION = marked("Which method handles outlier channels best?")
KIND = Switch("outlier-kind", "acts", "outliers", quantization.SAMPLES)
BITS = Switch(
    "outlier-bits", "obits", 8, range(quantization.FEWEST_BITS, quantization.MOST_BITS + 1)
)
SWITCHES = (KIND, BITS)
_WEIGHTS, _BOTH = palette.QUANTITIES["weights"].colour, palette.QUANTITIES["activations"].colour


def _methods(view: QuantizationView) -> tuple[outliers.Method, ...]:
    kind, bits = (view.chosen(one.key, one.default) for one in SWITCHES)
    return outliers.methods(str(kind), int(bits))


def sentence(view: QuantizationView) -> str:
    """The worst and the best of those that round activations too."""
    both = [one for one in _methods(view) if one.activations]
    plain, best = both[0], max(both, key=lambda one: one.sqnr)
    bits = int(view.chosen(BITS.key, BITS.default))
    return text.sentences(
        say(
            "One scale for all activations gives an SNR of **{plain}**, with weights and "
            "activations in {bits} bits.",
            bits=bits,
            plain=text.decibel(plain.sqnr),
        ),
        ""
        if best is plain
        else say(
            "The best method reaches **{best}**: {name}.",
            best=text.decibel(best.sqnr),
            name=say(best.name),
        ),
    )


def chart(view: QuantizationView) -> Shown:
    """Signal to noise of the product by each method."""
    found = _methods(view)
    # Without any error there is no number: as long a bar as any.
    top = max([one.sqnr for one in found if math.isfinite(one.sqnr)], default=1.0)
    place = np.arange(len(found), dtype=float)
    told = [f"{say(one.name)} {text.decibel(one.sqnr)}" for one in found]
    data = [
        {
            "type": "bar", "orientation": "h", "width": 0.42, "y": place + 0.2,
            "x": np.array([max(0.0, min(one.sqnr, top)) for one in found]), "customdata": told,
            "marker": {"color": [_BOTH if one.activations else _WEIGHTS for one in found]},
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        # Above its bar: within one no word would be sure of room, nor of contrast.
        {
            "type": "scatter", "mode": "text", "x": np.zeros(len(found)), "y": place - 0.24,
            "text": told, "textposition": "middle right", "textfont": {"size": kit.FONT_SIZE},
            "cliponaxis": False, "hoverinfo": "skip",
        },
    ]  # fmt: skip
    layout = {
        **kit.frame(16),
        "xaxis": {
            "range": [0.0, 1.05 * top], "automargin": False, "nticks": 6,
            "title": {"text": say("SNR of the product (dB)"), "standoff": 8},
        },
        "yaxis": {
            "range": [len(found) - 0.5, -0.6], "showticklabels": False, "showgrid": False,
            "zeroline": False,
        },
        "shapes": [
            kit.legend(
                [
                    kit.key(say("weights rounded"), _WEIGHTS, "■"),
                    kit.key(say("activations too"), _BOTH, "■"),
                ]
            )
        ],
    }  # fmt: skip
    return Shown(
        kit.figure(data, layout),
        say(
            "SNR of the product by method: {methods}.",
            methods=text.listed(told),
        ),
    )


def _table(view: QuantizationView) -> str:
    s, bits = view.scenario, int(view.chosen(BITS.key, BITS.default))
    rows = [
        [
            say("W{bits}A{bits}", bits=bits) if one.activations else say("W{bits}", bits=bits),
            say(one.name),
            text.decibel(one.sqnr),
            text.significant(one.bits),
            text.si(outliers.weight_bytes(s, one.bits), "B"),
            published.seconds(s, outliers.step_time(s, one.bits)),
        ]
        for one in _methods(view)
    ]
    head = [say("Codes"), say("Method"), say("SNR"), say("Bits"), say("Weights"), say("Step")]
    return tables.markdown(head, rows, "  rrrr")


def tab(view: QuantizationView) -> None:
    """Activations of a kind, a width of codes, and what each method makes of the product."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            say("Activations"), quantization.SAMPLES, format_func=say,
            index=quantization.SAMPLES.index(KIND.default), key=language.renamed(KIND.key),
            persist_state="session", width=170,
        )  # fmt: skip
        st.selectbox(
            say("Bits"), BITS.offered, index=list(BITS.offered).index(BITS.default), key=BITS.key,
            persist_state="session", width=90,
        )  # fmt: skip
    st.markdown(sentence(view))
    chart(view).draw("quantization-outliers")
    st.markdown(_table(view))
    st.caption(
        say(
            "The SNR is of a sample layer: {channels} channels, normal weights, activations as "
            "chosen (F9.4); a trained model's differs. Bytes and step are of this scenario "
            "with weights of so many bits, scales included, multiplied in {format}.",
            channels=outliers.CHANNELS,
            format=text.plain(view.scenario.compute_format.id),
        )
    )

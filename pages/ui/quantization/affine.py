"""Affine quantization of a sample tensor, or of pasted values."""

from __future__ import annotations

import streamlit as st

from calc import quantization
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import language
from pages.ui.quantization import figures, tables
from pages.ui.writing import text

_PASTED = marked("pasted values")
_GRAINS = (marked("tensor"), marked("channel"), marked("group"))


def section() -> None:
    """Choose a tensor and a grid; see what comes back."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox(
            say("Tensor"), [*quantization.SAMPLES, _PASTED], format_func=say,
            key=language.renamed("affine-kind"), persist_state="session", width=170,
        )  # fmt: skip
        bits = st.selectbox(
            say("Bits"), range(quantization.MOST_BITS, quantization.FEWEST_BITS - 1, -1),
            key="affine-bits", persist_state="session", width=90,
        )  # fmt: skip
        grain = st.selectbox(
            say("One scale for each"), _GRAINS, format_func=say,
            key=language.renamed("affine-grain"), persist_state="session", width=150,
        )  # fmt: skip
        size = st.number_input(
            say("Group"), 1, 4096, 64, key="affine-group", persist_state="session", width=130,
            disabled=grain != "group",
        )  # fmt: skip
        symmetric = st.toggle(say("Symmetric"), key="affine-symmetric", persist_state="session")
    try:
        values = _values(kind)
        granularity: quantization.Granularity = (
            size if grain == "group" else "row" if grain == "channel" else "tensor"
        )
        result = quantization.apply(
            values, bits, symmetric=symmetric, granularity=granularity, signed=symmetric
        )
    except quantization.QuantizationError as error:
        st.warning(
            say("These values cannot be quantized: {reason}.", reason=text.plain(str(error)))
        )
        return
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.tensor(result),
            key="affine-tensor",
            alt=say("The first values of the tensor as they were and as they come back."),
        )
        kit.show(
            figures.error(result),
            key="affine-error",
            alt=say("The error of the first values, between plus and minus half a step."),
        )
        st.markdown(tables.grid(result, bits))
        st.markdown(tables.values(result))


def _values(kind: str) -> quantization.Array:
    if kind != _PASTED:
        return quantization.sample(kind)
    pasted = st.text_area(
        say("Values, separated by commas, blanks or lines"),
        "-1, -0.5, 0, 0.25, 1, 2, 3",
        key="affine-pasted",
        persist_state="session",
        help=say("One row a line. A range that leaves 0 out is extended to hold it."),
    )
    return quantization.parse_values(pasted)

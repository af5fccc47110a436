"""One colour per quantity, on every page: the Okabe–Ito set, which colour-blind readers can tell.

Never colour alone: each quantity also has its own dash pattern and label.
"""

from __future__ import annotations

from dataclasses import dataclass

from calc.words import marked


@dataclass(frozen=True)
class Look:
    """How one quantity looks, and the message that it is called by."""

    label: str
    colour: str
    dash: str = "solid"


QUANTITIES = {
    "weight_read": Look(marked("weight read"), "#0072B2"),
    "kv_read": Look(marked("KV read"), "#E69F00", "dash"),
    "linear_compute": Look(marked("linear FLOPs"), "#009E73", "dot"),
    "attention_compute": Look(marked("attention FLOPs"), "#56B4E9", "dashdot"),
    "communication": Look(marked("communication"), "#CC79A7", "longdash"),
    "overhead": Look(marked("overhead"), "#8a919b", "longdashdot"),
    "weights": Look(marked("weights"), "#0072B2"),
    "kv_cache": Look(marked("KV cache"), "#E69F00"),
    "activations": Look(marked("activations"), "#56B4E9"),
    "runtime": Look(marked("runtime"), "#8a6d00"),
    "free": Look(marked("free"), "rgba(138,145,155,0.25)"),
    "reserved": Look(marked("kept back"), "rgba(138,145,155,0.55)"),
}

COMPUTE_BOUND = "rgba(0,158,115,0.16)"
DOES_NOT_FIT = "rgba(138,145,155,0.24)"
RULE = "rgba(138,145,155,0.8)"
# Where eight in ten times lie: no quantity's, as light as the regions.
BAND, BAND_KEY = "rgba(213,94,0,0.18)", "rgba(213,94,0,0.45)"


# Stands in figures for the colour of the text: the renderer puts in the reader's.
INK = "#010203"


def ink(dark: bool) -> str:
    """The colour of totals and of text drawn by us: near-black, or near-white on dark."""
    return "#e9edf3" if dark else "#171c26"

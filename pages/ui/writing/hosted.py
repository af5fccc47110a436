"""What lies in host memory, in words."""

from __future__ import annotations

import math

from calc import Scenario, host
from calc.words import marked, say
from pages.ui.writing import text


def told(scenario: Scenario) -> str:
    """What lies in host memory, and how it is got at; empty if nothing does."""
    s = scenario
    if not s.host_share:
        return ""
    there = s.host_compute == host.HOST
    held = say(
        _THERE if there else _SENT,
        size=text.si(host.weights(s), "B"),
        share=text.percent(s.host_share),
        what=say("routed experts") if s.model.routed_params else say("layers"),
        rate=text.si(host.bandwidth(s), "B/s"),
    )
    if there or not math.isnan(s.chip.host_link):
        return held
    chip = text.plain(s.chip.name)
    link = say("No source says how fast the link of {chip} to its host is.", chip=chip)
    return text.sentences(held, link)


_THERE = marked(
    "Host memory holds {size}, {share} of the {what}, which are multiplied there and read at "
    "{rate} for each chip."
)
_SENT = marked(
    "Host memory holds {size}, {share} of the {what}, of which each step fetches what it reads at "
    "{rate} to each chip."
)

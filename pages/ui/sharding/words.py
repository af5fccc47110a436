"""Sentences of the Sharding page."""

from __future__ import annotations

import math

from calc import Scenario, decode, known, layout, sharding
from calc.words import marked, say
from pages.ui.writing import layout as layout_words
from pages.ui.writing import published, text, written
from pages.ui.writing import step as step_words


def verdict(scenario: Scenario, step: decode.StepTime) -> str:
    """What links take of the step, and where they take over."""
    s, total = scenario, float(step.total)
    tp = int(layout.Layout.of(s).tp)
    if math.isnan(total):
        return published.without_time(s, marked("The step time"))
    talk = float(step.charged()["communication"])
    where = sharding.current_limits(s)
    took = say(
        "{split} the step takes **{time}**, {share}",
        split=say("At TP {n}", n=tp) if tp > 1 else say("With each group one chip"),
        time=written.told("step_time", total, s),
        share=step_words.communication(talk / total),
    )
    if known.bounded(s):
        return text.sentence(took)
    if math.isinf(where.hbm):
        return text.sentence(took, say("no matmul waits for a link"))
    return text.sentences(
        text.sentence(took),
        say(
            "Beyond TP {memory}, sending activations takes longer than reading weights; beyond TP "
            "{compute}, longer than multiplying.",
            memory=text.ways(where.hbm),
            compute=text.ways(where.compute),
        ),
    )


def caveats(scenario: Scenario) -> list[str]:
    """What is wrong with the layout, and what the links are taken for."""
    s, found = scenario, layout_words.caveats(scenario)
    kind, reach = s.chip.fabric.kind, s.chip.fabric.reach
    chip = text.plain(s.chip.name)
    if s.n_chips > reach > 1:
        found.append(
            say(
                "Fast links of {chip} reach {n:,.0f} chips; beyond, {rate} of network for each "
                "chip is assumed.",
                chip=chip,
                n=reach,
                rate=text.si(s.scale_out, "B/s"),
            )
        )
    if kind == "torus":
        shape = sharding.shape_words(s, int(layout.Layout.of(s).tp))
        found.append(
            say(
                "A group is taken as a torus of {shape}, rings only where an axis wraps.",
                shape=shape,
            )
        )
    return found

"""How many tokens survive temperature, top-k and top-p, of the bench and of own logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from calc import sampling
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import link as links
from pages.ui.frame.page import Shown
from pages.ui.frame.presentation import SAMPLING
from pages.ui.frame.switches import Typed
from pages.ui.speculative import bench
from pages.ui.writing import tables, text

LOGITS = Typed("sampling-logits", "logits", read=sampling.logits_of_text)

# Of the bench's examples, and what they are here.
FLAT, PEAKED = marked("a flat distribution"), marked("a peaked distribution")
_TARGETS = {
    PEAKED: bench.EXAMPLES["code: one token nearly certain"][1],
    FLAT: bench.EXAMPLES["chat: many fair choices"][1],
}
_KEPT = np.linspace(0.05, 1.0, 96)


def section() -> None:
    """Own logits, and what survives of each distribution at the sidebar's settings."""
    typed = st.text_area(
        say("Own logits"),
        key=LOGITS.key,
        persist_state="session",
        max_chars=700,
        height=80,
        placeholder="12.1, 11.4, 9.8, 7.2, 3.0",
        help=say("At most {most} numbers, with commas, spaces or lines between.",
                 most=sampling.MOST_LOGITS),
    )  # fmt: skip
    own = None
    try:
        own = _own(typed) if typed.strip() else None
    except sampling.DistributionError as error:
        st.warning(say("Not used: {reason}.", reason=error))
    settings = [links.widget_values()[field.name] for field in SAMPLING]
    of = distributions(own)
    st.markdown(sentence(of, *settings))
    with st.grid(2, min_column_width=400):
        shown(of, *settings).draw("sampling-survivors")
        with st.container():
            st.table(_table(of, *settings), hide_index=True)
            st.caption(
                say(
                    "Temperature, top-k and top-p are in the sidebar. Top-k leaves the same "
                    "number of tokens whatever the shape; top-p leaves fewer where one is "
                    "likely (F10.2). Equally likely choices are e to the entropy."
                )
            )


def _own(typed: str) -> sampling.Array:
    return sampling.softmax(sampling.logits_of_text(LOGITS.plain(typed)))


def distributions(own: sampling.Array | None = None) -> dict[str, sampling.Array]:
    """Those of the bench by their names, and one's own where there is one."""
    found = {say(name): sampling.distribution(weights) for name, weights in _TARGETS.items()}
    return found if own is None else {**found, say("own logits"): own}


def sentence(of: Mapping[str, sampling.Array], temperature: float, top_k: int, top_p: float) -> str:
    """What survives of each."""
    kept = [
        say("{n} of {all} tokens of {name}", name=name, all=p.size,
            n=sampling.survivors(p, temperature, top_k, top_p).both)
        for name, p in of.items()
    ]  # fmt: skip
    return say(
        "Temperature {temperature:g}, top-k {k} and top-p {p:g} leave {kept}.",
        temperature=temperature,
        k=top_k or say("all"),
        p=top_p,
        kept=text.clauses(kept),
    )


def shown(of: Mapping[str, sampling.Array], temperature: float, top_k: int, top_p: float) -> Shown:
    """Tokens that survive against top-p, at the temperature and top-k."""
    named = say("Top-p")
    data: list[dict[str, Any]] = []
    keys, most, at = [], 1, f"{named} %{{x:.2f}}"
    for (name, p), (colour, dash) in zip(of.items(), kit.LINES, strict=False):
        left = sampling.surviving(p, temperature, top_k, _KEPT)
        most = max(most, int(left.max()))
        data.append({
            "type": "scatter", "mode": "lines", "name": name, "x": _KEPT, "y": left,
            "line": {"color": colour, "dash": dash, "width": 2, "shape": "hv"},
            "hovertemplate": kit.hovered(name, at, say("{n} tokens", n="%{y}")),
        })  # fmt: skip
        keys.append(kit.key(name, colour, kit.DASH_GLYPHS[dash]))
    rows = kit.wrapped(keys)
    layout = {
        **kit.frame(56, legend_rows=len(rows)),
        "xaxis": kit.axis(named, [0.05, 1.02], False),
        "yaxis": kit.axis(say("Tokens that remain"), [0, 1.08 * most], False),
        "shapes": [kit.rule("x", top_p, "dot"), kit.legend(*rows)],
    }
    return Shown(
        kit.figure(data, layout), say("Tokens that remain against top-p, by distribution.")
    )


def _table(of: Mapping[str, sampling.Array], temperature: float, top_k: int, top_p: float) -> Any:
    head = [say("Distribution"), say("Tokens"), say("Temperature"), say("Top-k alone"),
            say("Top-p alone"), say("Both"), say("Probability kept"),
            say("Equally likely choices")]  # fmt: skip
    rows = []
    for name, p in of.items():
        one = sampling.survivors(p, temperature, top_k, top_p)
        counts = (p.size, one.tokens, one.top_k, one.top_p, one.both)
        rows.append(
            [name, *map(str, counts), text.percent(one.kept), text.significant(one.choices)]
        )
    return tables.table(head, rows)

"""Boxes to search the catalogues in: by name, by any other spelling, words in any order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

import streamlit as st

from calc import Chip, Model, custom
from calc.fields import Catalogues, Choice
from calc.words import say
from pages.ui.charts.component import registered
from pages.ui.frame.link import PRESETS
from pages.ui.writing import text

_HTML = """
<div class="ledger-picker"><label><span></span>
<input type="text" role="combobox" aria-autocomplete="list" aria-expanded="false" autocomplete="off"
 spellcheck="false"></label><ul role="listbox" hidden></ul></div>
"""
_CSS = """
.ledger-picker label { display: block; }
.ledger-picker span { display: block; font-size: 14px; line-height: 1.6; margin-bottom: 4px; }
.ledger-picker input {
  width: 100%; height: 38px; box-sizing: border-box; padding: 0 10px; text-overflow: ellipsis;
  font: inherit; color: inherit; background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
}
.ledger-picker input:focus { outline: none; border-color: var(--st-primary-color); }
.ledger-picker ul {
  position: fixed; z-index: 1000; margin: 0; padding: 4px 0; overflow: auto; list-style: none;
  max-width: 92vw; background: var(--st-background-color); color: var(--st-text-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
  box-shadow: 0 4px 16px rgba(0, 0, 0, 0.16);
}
.ledger-picker ul[hidden] { display: none; }
.ledger-picker li { margin: 0; padding: 5px 12px; white-space: nowrap; cursor: pointer; }
.ledger-picker li small { margin-left: 1em; opacity: 0.75; }
.ledger-picker li.ledger-family {
  padding-top: 8px; font-size: 12px; font-weight: 600; cursor: default;
}
.ledger-picker li.ledger-marked, .ledger-picker li[role=option]:hover {
  background: var(--st-secondary-background-color);
}
.ledger-picker li[aria-selected=true] { font-weight: 600; }
"""
# Of the box and its label, so that nothing moves when they come.
_HEIGHT = 66
# Names that people type and that no file has.
_ALSO = {"deepseek-v3": "671b", "llama": "meta", "gpt-oss": "openai"}
# Family, id, name, what tells items of a name apart, other spellings.
Row = tuple[str, str, str, str, str]
_FAMILY = re.compile(r"[^\W\d_]+(-?[^\W\d_]{2,})*")


def picker(field: Choice, offered: Catalogues, now: str, pick: Callable[[str], None]) -> None:
    """Draw the box of a catalogue's field; `pick` is told the id that somebody picks."""
    key, catalogue = f"pick-{field.key}", offered[field.catalogue]
    extra = [("", field.none, say(field.none), "", "")] if field.none else []
    own = [id for id in custom.CHIP_IDS if id in catalogue]
    extra += [_row(catalogue[id], say("Your own")) for id in own]
    registered(Path(__file__).with_name("picker.js"), _HTML, _CSS)(
        key=key,
        data={
            "key": key,
            "label": say(field.label),
            "help": say(field.help),
            "none": say("Nothing is called so."),
            "value": now,
            "items": _items(field.catalogue),
            "extra": extra,
        },
        height=_HEIGHT,
        on_picked_change=lambda: _picked(key, field.ids(offered), pick),
    )


def _picked(key: str, ids: Collection[str], pick: Callable[[str], None]) -> None:
    # The browser's word: an id, or nothing.
    id = st.session_state[key].get("picked")
    if id in ids:
        pick(id)


@cache
def _items(catalogue: str) -> str:
    """The rows of all presets, those of a family together; the same text for every run."""
    families: dict[str, list[Row]] = {}
    for item in PRESETS[catalogue].values():
        row = _row(item)
        families.setdefault(row[0].casefold(), []).append(row)
    return json.dumps([row for rows in families.values() for row in rows])


def _row(item: Model | Chip, family: str = "") -> Row:
    also = [word for start, word in _ALSO.items() if item.id.startswith(start)]
    if isinstance(item, Chip):
        return (family or item.vendor, item.id, item.name, text.si(item.memory, "B"),
                " ".join([item.vendor, *also]))  # fmt: skip
    found = _FAMILY.match(item.name)
    named = family or (found[0] if found else item.name)
    size = text.si(item.total_params, "").replace("G", "B")
    return named, item.id, item.name, size, " ".join([item.hub, *also])

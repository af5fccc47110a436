"""Writes docs/links.md from the fields that links carry: ``python docs/links.py``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from calc import pins
from calc.fields import Choice, Field, Option, Rows, Several
from calc.link import TEXTS, VERSION, VERSION_KEY
from pages.ui.frame import groups, presentation

FILE = Path(__file__).with_name("links.md")

OPENING = """# Links

The address bar is the state. Opening a link in a clean browser gives the same page, numbers, charts
and language:

    ?model=llama-3-70b&chip=tpu-v5e&n=16&w=int8&kv=int8&c=bf16&b=32&s=8192

What has its default is left out; an absent key means that default for ever. **Share** gives the
explicit link, with every setting and the version of the schema written out. Unknown keys are
ignored. A value that cannot be used is replaced by the default, and a notice names it. Numbers are
in the unit of the table.

This page is written by `make links` from the fields themselves.
"""

# What a text holds, by its key.
HOLDS = {
    "cfg": "What `model=custom` is: the keys of a `config.json` that decide the model, or "
    '`{"model_type":"totals","total_params":…,"kv_elements_per_token":…}`, or '
    '`{"model_type":"blocks",…}`, the table of a preset as JSON with `from`, what it was edited '
    "from.",
    "hw": "What `chip=custom` is, in SI units: "
    '`{"name","memory","bandwidth","peaks":{"bf16":…},"link","price","capital","power"}`.',
    **{
        f"hw{n}": f"What `chip=custom-{n}` is, as `hw`: pages that compare chips compare all."
        for n in (2, 3, 4)
    },
    "pl": "Prices that go before printed ones: a chip a line or behind a semicolon, by id or name, "
    "with USD an hour or `own` and its purchase price, and its power in W where that is known.",
    "pq": "Target and draft of the acceptance bench: weights with commas between, a semicolon, as "
    "many again.",
    "pins": f"At most {pins.MOST} pinned scenarios: JSON of names and queries.",
    "trace": "Requests in place of generated ones: a table, or lines of JSON.",
    "tf": "The name of a trace that is too long for the link and was served where it was made.",
}


def main() -> None:
    """Write the page."""
    FILE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as it should be."""
    settings = [
        _table(group, (presentation.BY_NAME[name] for row in rows for name in row))
        for group, rows in {**groups.GROUPS, **groups.FOLDED}.items()
    ]
    version = f"| `{VERSION_KEY}` | Version | `{VERSION}` | | Of the schema, in explicit links. |\n"
    viewing = _table("Reading", presentation.VIEWING) + version
    texts = [
        f"| `{text.key}` | {text.label} | {text.longest:,} | {HOLDS[text.key]} |\n"
        for text in TEXTS
    ]
    head = "\n## Texts\n\n| key | text | most characters | what |\n|---|---|---|---|\n"
    return OPENING + "".join([*settings, viewing, head, *texts])


def _table(group: str, fields: Iterable[Field]) -> str:
    head = f"\n## {group}\n\n| key | setting | values | default | what |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| `{one.key}` | {one.label} | {_values(one)} | `{_default(one)}` | {one.help} |\n"
        for one in fields
    )


def _values(field: Field) -> str:
    if isinstance(field, Option):
        return ", ".join(f"`{option}`" for option in field.options)
    if isinstance(field, Several):
        several = f", ids of {field.catalogue}" if field.catalogue else ""
        return ", ".join(f"`{group}`" for group in field.groups) + f"{several}; commas between"
    if isinstance(field, Rows):
        figures = ", ".join(f"{one.label} [{one.unit}]" for one in field.columns)
        return f"rows with `*` between: name, {figures}, with `_` between"
    if isinstance(field, Choice):
        id = f"id of a {field.catalogue.rstrip('s')}"
        return f"{id}, or `{field.none}`" if field.none else id
    return f"{field.low:,g} to {field.high:,.10g} {field.unit}".rstrip()


def _default(field: Field) -> str:
    return f"{field.default:.12g}" if isinstance(field.default, (int, float)) else field.default


if __name__ == "__main__":
    main()

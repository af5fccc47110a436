"""Names that people give to models, chips and pins: one line that shows what it says.

Whoever shows one escapes it for where it stands; here it is only made fit to be kept.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 60
# What makes a formula of a spreadsheet's cell, also as East Asian keyboards write it.
FORMULAS = "=+-@＝＋－＠"
# Letters of some languages carry two; more climb over the lines above.
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_MARK}{{2}}){_MARK}+")


def fit(name: str, longest: int = LONGEST) -> str:
    """A name without line breaks, control characters and what turns the direction of writing.

    Invisible characters go too, and so do those in front that make a formula of a spreadsheet's
    cell, since tables are saved as CSV. White space becomes one space, and what is longer than
    `longest` characters is cut. It may be empty.

    >>> fit(" my\\tmodel\\u202e "), fit("=2+3"), fit("x" * 80, 5)
    ('my model', '2+3', 'xxxxx')
    """
    spaced = "".join(" " if one.isspace() else one for one in name)
    shown = unicodedata.normalize("NFC", "".join(one for one in spaced if one.isprintable()))
    few = _MARKS.sub(r"\1", shown)
    return " ".join(few.split()).lstrip(f"{FORMULAS} ")[:longest].strip()

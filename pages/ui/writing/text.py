"""Numbers and words as people read them: three significant digits, SI prefixes, units."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import reduce

from calc import words
from calc.words import marked, say
from pages.ui.writing import palette

# Charts have their sizes in GB.
GIGA = 1e-9
_PREFIXES = dict(enumerate(["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"], -4))


def unknown() -> str:
    """What is said of a figure that no source gives."""
    return say("not published")


def on_card(value: str) -> str:
    """A figure as its card shows it, which has no room for a long word."""
    return say("unknown") if value == unknown() else value


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, trailing zeros kept, thousands separated."""
    return words.digits(value, digits) if math.isfinite(value) else unknown()


def si(value: float, unit: str, digits: int = 3) -> str:
    """A quantity with an SI prefix: ``si(0.00857, "s")`` is ``8.57 ms``."""
    if not math.isfinite(value):
        return unknown()
    if value == 0:
        return f"0 {unit}"
    # Rounding first, so that 999.6 µs reads 1.00 ms.
    rounded = float(f"{abs(value):.{digits - 1}e}")
    # Nobody counts in kiloseconds.
    largest = 0 if unit == "s" else 6
    step = min(max(math.floor(math.log10(rounded) / 3), -4), largest)
    sign = "−" if value < 0 else ""
    return f"{sign}{significant(rounded / 1000.0**step, digits)} {_PREFIXES[step]}{unit}"


def between(low: str, high: str) -> str:
    """Two figures as the ends of a range; a unit of both stands once.

    >>> between("11 ms", "20 ms"), between("890 µs", "1.2 ms"), between("$1.1", "$2")
    ('11–20 ms', '890 µs–1.2 ms', '$1.1–2')
    """
    number, _, unit = low.rpartition(" ")
    if number and high.endswith(f" {unit}"):
        return f"{number}–{high}"
    return f"{low}–{high.removeprefix('$')}"


def count(value: float) -> str:
    """A whole number in full, thousands separated."""
    return unknown() if not math.isfinite(value) else f"{value:,.0f}"


def plural(number: float, one: str, many: str) -> str:
    """A number of things: of two messages with a field ``n`` the one that fits the number."""
    return say(one if number == 1 else many, n=count(number))


def tokens(number: float) -> str:
    """A number of tokens."""
    return plural(number, marked("{n} token"), marked("{n} tokens"))


def sequences(number: float) -> str:
    """A number of sequences."""
    return plural(number, marked("{n} sequence"), marked("{n} sequences"))


def listed(parts: Iterable[str]) -> str:
    """Things one after another."""
    return say(", ").join(parts)


def clauses(parts: Iterable[str]) -> str:
    """Statements one after another in a sentence."""
    return say("; ").join(parts)


def sentence(*statements: str) -> str:
    """Statements as one sentence."""
    return say("{statements}.", statements=clauses(statements))


def sentences(*parts: str) -> str:
    """Sentences one after another; empty ones are left out."""
    said = [part for part in parts if part]
    return reduce(
        lambda before, after: say("{before} {after}", before=before, after=after),
        said[1:],
        said[0] if said else "",
    )


def shortened(words: str, letters: int) -> str:
    """Words cut to the room of so many letters.

    >>> shortened("twice the chips", 10), shortened("芯片数加倍的方案", 10)
    ('twice the…', '芯片数加…')
    """
    if width(words) <= letters:
        return words
    while width(words) >= letters:
        words = words[:-1]
    return f"{words.rstrip()}…"


def width(words: str) -> int:
    """The room that words take, in letters: a Chinese character takes that of two."""
    return len(words) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)


def round_count(value: float) -> str:
    """A count that is no whole number by nature: three digits, thousands separated.

    >>> round_count(49.24), round_count(12345)
    ('49.2', '12,300')
    """
    return significant(value) if value < 1000 else f"{float(f'{value:.2e}'):,.0f}"


def rate(value: float) -> str:
    """Tokens per second: in full up to five digits, with a prefix beyond."""
    if math.isfinite(value) and abs(value) >= 1e5:
        return si(value, "").rstrip()
    return significant(value)


def usd(value: float) -> str:
    """A price in US dollars."""
    if not math.isfinite(value):
        return unknown()
    # To the cent where three digits would be less.
    return f"${value:,.2f}" if 10 <= value < 1e5 else f"${significant(value)}"


def percent(share: float) -> str:
    """A share as per cent."""
    if not math.isfinite(share):
        return unknown()
    # What is nearly all is not all, and what is many times all is a factor.
    if abs(share) >= 10:
        return times(share)
    return ">99 %" if 0.995 <= share < 1 - 1e-9 else f"{100 * share:.0f} %"


def share(value: float) -> str:
    """A share as per cent with three digits, where those of small ones differ in them."""
    return f"{significant(100 * value)} %" if math.isfinite(value) else unknown()


def change(new: float, old: float) -> str:
    """A relative change, with its sign; it does not break before the %."""
    if not (math.isfinite(new) and math.isfinite(old)) or old == 0:
        return ""
    shift = 100 * (new / old - 1)
    if abs(shift) < 0.05:
        return "±0\u00a0%"
    if shift >= 1000:
        return f"×\u00a0{significant(new / old)}"
    digits = 1 if abs(shift) < 1 else 0
    return f"{'+' if shift > 0 else '−'}{abs(shift):,.{digits}f}\u00a0%"


# Smallest logarithm of a ratio that is called a change: what `change` rounds to nothing.
UNMOVED = 5e-4


def kibibytes(value: float) -> str:
    """Cache per token, in the KiB that the field uses for it; bytes below one."""
    return f"{significant(value)} B" if value < 1024 else f"{significant(value / 1024)} KiB"


def intensity(value: float) -> str:
    """FLOPs per byte."""
    return f"{significant(value)} FLOP/B" if math.isfinite(value) else unknown()


def times(value: float) -> str:
    """A factor."""
    return f"{significant(value)} ×" if math.isfinite(value) else unknown()


def ways(width: float) -> str:
    """A width to split by; without bound for a group that has nobody to send to."""
    if math.isnan(width):
        return unknown()
    return "–" if math.isinf(width) else "< 1" if width < 1 else round_count(width)


def quantities(parts: Mapping[str, float], unit: str) -> str:
    """Quantities with their sizes, in words."""
    return listed(
        f"{say(palette.QUANTITIES[name].label)} {si(size, unit)}" for name, size in parts.items()
    )


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def tiny(value: float) -> str:
    """A number of any size without a unit."""
    if not math.isfinite(value):
        return unknown()
    if 1e4 <= abs(value) < 1e12:
        return f"{float(f'{value:.4g}'):,.0f}".replace("-", "−")
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    power = str(int(exponent)).translate(_SUPERSCRIPTS) if exponent else ""
    return f"{mantissa} × 10{power}".replace("-", "−") if power else mantissa.replace("-", "−")


def decibel(value: float) -> str:
    """A ratio of powers in dB; without bound where there is no error."""
    if math.isinf(value):
        return say("no error")
    return f"{value:.1f} dB" if math.isfinite(value) else "–"


def energy(kilowatt_hours: float) -> str:
    """Energy in kWh."""
    return unknown() if not math.isfinite(kilowatt_hours) else f"{kilowatt_hours:,.0f} kWh"


def ratio(value: float) -> str:
    """How many of one thing for one of another."""
    return f"{significant(value)} : 1" if math.isfinite(value) else unknown()


LONGEST_SHOWN_DRAFT = 16


def at_least(length: int) -> str:
    """A best draft length; at the end of what is searched it is only a lower limit."""
    return say("{n} or more", n=length) if length >= LONGEST_SHOWN_DRAFT else str(length)


def chi_square(value: float) -> str:
    """A distance from a distribution; without bound when something impossible was drawn."""
    return f"{value:,.1f}" if math.isfinite(value) else "∞"


# What Streamlit makes links of without being asked: an invisible joiner keeps it a text.
_ADDRESS = re.compile(r"(?i)(https?(?=:)|www(?=\.)|mailto(?=:)|xmpp(?=:))|(?=@)")
_JOINER = "\u2060"


def plain(text: str) -> str:
    """Text from a preset or a person, safe inside Markdown, and no link."""
    one_line = _ADDRESS.sub(lambda found: found[0] + _JOINER, text.replace("\n", " "))
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~$:&])", r"\\\1", one_line)


def plain_html(text: str) -> str:
    """Text from a preset or a person, safe where Plotly reads a little HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""The words a reader sees, in the reader's language.

Messages stand in the code in English, in `say` or `marked`, where ``pybabel`` finds them. What they
become is decided where the reader is known: a page lends its translator with `speak`; without one,
as in a notebook, they stay English.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Translate = Callable[[str], str]

_translate: ContextVar[Translate] = ContextVar("translate", default=str)


def speak(translate: Translate) -> None:
    """Translate all messages of this run (this thread's context) with `translate`."""
    _translate.set(translate)


def say(message: str, /, **values: Any) -> str:
    """A message in the reader's language, its ``{fields}`` filled in.

    Examples
    --------
    >>> say("{n:,} chips are not one slice of {chip}.", n=1024, chip="TPU v5e")
    '1,024 chips are not one slice of TPU v5e.'
    """
    translated = _translate.get()(message)
    return translated.format(**values) if values else translated


def marked(message: str) -> str:
    """Marks a message that is stored now, and said with `say` when it is shown."""
    return message


def inside(label: str) -> str:
    """A label, said, within a sentence: without its capital, but for an abbreviation's.

    >>> inside("KV cache"), inside("Weights")
    ('KV cache', 'weights')
    """
    said = say(label)
    return said if said[:2].isupper() else said[:1].lower() + said[1:]


def digits(value: float, most: int = 3) -> str:
    """A finite number with so many significant digits, trailing zeros kept, thousands separated.

    >>> digits(1250), digits(0.999), digits(2)
    ('1,250', '0.999', '2.00')
    """
    if value == 0:
        return "0"
    places = most - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    places = most - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def size(value: float) -> str:
    """A number of bytes in a sentence: three digits and a decimal prefix.

    >>> size(1342.1e9), size(160e9), size(0.0)
    ('1.34 TB', '160 GB', '0 B')
    """
    rounded = float(f"{value:.3g}")
    step = min(max(math.floor(math.log10(rounded) / 3), 0), 5) if rounded > 0 else 0
    return f"{rounded / 1000.0**step:.4g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[step]}"


# Units that are words, for whatever names one; other units are the same in every language.
UNITS = (
    marked("adapters"),
    marked("all-reduces"),
    marked("answers"),
    marked("batches"),
    marked("byte"),
    marked("byte/s"),
    marked("byte/token"),
    marked("chips"),
    marked("clients"),
    marked("codes"),
    marked("columns"),
    marked("copies"),
    marked("elements"),
    marked("experts"),
    marked("exponent"),
    marked("FLOP/byte"),
    marked("fraction"),
    marked("groups"),
    marked("hops"),
    marked("layers"),
    marked("micro-batches"),
    marked("parameters"),
    marked("probability"),
    marked("prompts"),
    marked("ratio"),
    marked("replicas"),
    marked("requests"),
    marked("rows"),
    marked("sequences"),
    marked("share"),
    marked("stages"),
    marked("token/step"),
    marked("tokens"),
    marked("USD/hour"),
    marked("years"),
)

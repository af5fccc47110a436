"""Measurements from result files: a table of one's own, and what benchmarks of engines write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calc.errors import LedgerError
from calc.fields import Catalogues
from calc.measured.files import genai_perf, guidellm, llama_bench, own, sglang, vllm
from calc.measured.files.records import LARGEST_TEXT, Form, Record, records
from calc.measured.mapping import NEEDED, Left, Plain, mapped
from calc.measured.row import Row, RowError
from calc.words import say

FORMS: tuple[Form, ...] = (
    vllm.SERVE, vllm.LATENCY, sglang.FORM, llama_bench.FORM, genai_perf.AIPERF,
    genai_perf.GENAI_PERF, guidellm.FORM, own.FORM,
)  # fmt: skip


class FileError(LedgerError):
    """A text that is none of the forms that are read."""


@dataclass(frozen=True)
class File:
    """What a result file says.

    Parameters
    ----------
    forms : tuple of str
        What wrote it.
    rows : tuple of Row
        The measurements that can be used.
    left : tuple of Left
        Those that cannot, and why.
    taken : tuple of str
        Names of the fields of which it says nothing, taken from the given scenario.
    unknown : tuple of str
        What it calls a model, a chip or a format that is no preset's; to be escaped where shown.
    """

    forms: tuple[str, ...]
    rows: tuple[Row, ...]
    left: tuple[Left, ...]
    taken: tuple[str, ...]
    unknown: tuple[str, ...]


def read(text: str, catalogues: Catalogues, given: Plain, source: str = "") -> File:
    """Measurements of a result file.

    Parameters
    ----------
    text : str
        The file: JSON, lines of JSON, or CSV with a header.
    catalogues : mapping
        Models, chips and formats by id.
    given : mapping
        Plain values of a scenario, as of `scenario.values_of`, for what the file does not say.
    source : str
        What the rows' source is called.

    Raises
    ------
    FileError
        If nothing in it is of a form that is read; the message names those that are.
    """
    if len(text) > LARGEST_TEXT:
        raise FileError(say("It is larger than {most:,} characters.", most=LARGEST_TEXT))
    found = [
        (form, part)
        for record in records(text)
        for form in [_form(record)]
        if form
        for part in form.parts(record)
    ]
    if not found:
        named = ", ".join(form.name for form in FORMS)
        raise FileError(say("It is none of what is read: {forms}.", forms=named))
    rows: list[Row] = []
    left: list[Left] = []
    # Each once, in the order they come.
    taken: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for number, (form, record) in enumerate(found, 1):
        plain: dict[str, Any] = {}
        try:
            plain = form.row(record, given)
            unknown |= dict.fromkeys(_resolve(plain, catalogues))
            name = str(plain.get("id") or number)
            rows.append(mapped({"source": source} | plain | {"id": name}, catalogues, given))
            taken |= dict.fromkeys(one for one in NEEDED if not plain.get(one))
        except RowError as error:
            left.append(Left(str(plain.get("id") or number), str(error)))
    forms = tuple(dict.fromkeys(form.name for form, _ in found))
    return File(forms, tuple(rows), tuple(left), tuple(taken), tuple(unknown))


def _form(record: Record) -> Form | None:
    return next((form for form in FORMS if form.recognises(record)), None)


def _resolve(plain: dict[str, Any], catalogues: Catalogues) -> list[str]:
    """Puts presets' ids for a file's own names of things; gives the names that are no preset's."""
    unknown = []
    for name, (key, look) in _NAMES.items():
        called = plain.pop(key, None)
        if isinstance(called, str) and called:
            plain[name] = look(called, catalogues)
            unknown += [] if plain[name] else [called]
    return unknown


_BESIDE = re.compile(
    r"[-_.](?:instruct|chat|hf|it|base|fp8|fp4|nvfp4|mxfp4|int8|int4|awq|gptq|bf16|gguf|meta"
    r"|i?q\d[-_]\w+|w\d+a\d+|dynamic|quantized|v0\.\d|00001-of-\d+)(?=[-_.]|$)",
    re.IGNORECASE,
)


def model_named(name: str, models: Mapping[str, Any]) -> str | None:
    """The id of the model that a hub's name or a file's means; None if none is that one.

    >>> from presets import models
    >>> model_named("meta-llama/Llama-3.1-8B-Instruct", models)
    'llama-3.1-8b'
    >>> model_named("/models/Meta-Llama-3-70B-Instruct-Q4_K_M.gguf", models)
    'llama-3-70b'
    """
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    for bare in (str.lower, _bare):
        wanted = bare(last)
        found = {
            id
            for id, model in models.items()
            if wanted in (bare(id), bare(model.hub.split("/")[-1]))
        }
        if len(found) == 1:
            return found.pop()
    return None


def _bare(name: str) -> str:
    """A name without what says how it was tuned or stored."""
    bare = name.lower()
    while (shorter := _BESIDE.sub("", bare)) != bare:
        bare = shorter
    return re.sub(r"[^a-z0-9.]", "-", bare.removeprefix("meta-"))


_MAKERS = re.compile(
    r"\b(?:nvidia|geforce|amd|radeon|apple|intel|graphics)\b|\(.*\)", re.IGNORECASE
)


def _chip_named(name: str, chips: Mapping[str, Any]) -> str | None:
    """The id of the chip that a driver calls so; None where it does not say which of several."""

    def bare(called: str) -> str:
        return re.sub(r"[^a-z0-9]", "", _MAKERS.sub("", called).lower())

    found = [id for id, chip in chips.items() if bare(chip.name) == bare(name)]
    return found[0] if len(found) == 1 else None


def _format_named(name: str, catalogues: Catalogues) -> str | None:
    return name if name in catalogues["formats"] else None


# What a form may call by a name of its own, and how a preset is found for it.
_NAMES: Mapping[str, tuple[str, Callable[[str, Catalogues], str | None]]] = {
    "model": ("model_name", lambda name, known: model_named(name, known["models"])),
    "chip": ("chip_name", lambda name, known: _chip_named(name, known["chips"])),
    "weight_format": ("weights_name", _format_named),
    "kv_format": ("cache_name", _format_named),
}

"""Requests from a file: public traces as they are shipped, and tables of one's own.

The text is a stranger's: reading it raises nothing but `ServingError`, in one sentence that names
the column and the line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calc import naming
from calc.serving.arrivals import Arrivals, Poisson
from calc.serving.chains import Hashes
from calc.serving.errors import ServingError
from calc.serving.lengths import LONGEST
from calc.serving.trace_forms import UNITS, columns, form, moment, tokens
from calc.serving.trace_rows import Rows, rows_of
from calc.serving.traffic import Traffic
from calc.words import marked, say

NEEDED = ("prompt", "output")
MOST_ROWS = 50_000
MOST_CHARACTERS = 4_000_000
# Unix time in nanoseconds, and far beyond.
LATEST = 1e20
# Whole numbers so far apart on average may be milliseconds.
_DOUBTFUL = 10.0
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
_NAMES = {"s": marked("seconds"), "ms": marked("milliseconds"), "us": marked("microseconds"),
          "ns": marked("nanoseconds"), "clock": marked("dates and times")}  # fmt: skip


def read(text: str, *, unit: str = "", arrivals: Arrivals | None = None) -> Traffic:
    """Traffic from a trace.

    Read are a CSV with the columns ``arrival``, ``prompt`` and ``output`` in any order, with
    ``session`` and ``system`` if you like, and as they are shipped the traces of Azure, Mooncake,
    Qwen-Bailian, BurstGPT and Vidur, and conversations as of ShareGPT. Rows out of order are
    sorted and times moved so that the first is 0. What was changed or left out is said in the
    traffic's notices, and what was understood in `understood`.

    Parameters
    ----------
    text : str
        The file.
    unit : str
        Of its times, ``s``, ``ms``, ``us`` or ``ns``, where the file does not tell; see `doubtful`.
    arrivals : Arrivals, optional
        When requests come if the file has no times; one a second otherwise.

    Raises
    ------
    ServingError
        If a column is missing, or a value is no number or out of its range.

    Examples
    --------
    >>> traffic = read("arrival,prompt,output\\n0,100,20\\n1.5,300,10")
    >>> traffic.prompt.tolist(), traffic.rate
    ([100, 300], 0.6666666666666666)
    """
    return _Reader(text, unit).traffic(arrivals or Poisson(1.0))


def named(name: str) -> str:
    """The name of a file as a link carries it, 80 characters at most; see `naming.fit`.

    >>> named("my\\ttrace.csv")
    'my trace.csv'
    """
    return naming.fit(name, 80)


def doubtful(text: str) -> bool:
    """Whether the times of a trace may be seconds or milliseconds, and nothing tells which.

    >>> doubtful("arrival,prompt,output\\n0,1,1\\n200,1,1")
    True
    >>> doubtful("arrival_ms,prompt,output\\n0,1,1\\n200,1,1")
    False
    """
    return _Reader(text, "").doubtful


def with_unit(text: str, unit: str) -> str:
    """A trace whose names state the unit of its times.

    >>> with_unit("arrival,prompt\\n0,1", "ms")
    'arrival_ms,prompt\\n0,1'
    """
    name = columns(rows_of(text).names)[0].get("arrival", "")
    if text.lstrip()[:1] in ("{", "["):
        return text.replace(f'"{name}"', f'"{name}_{unit}"')
    head, newline, rest = text.partition("\n")
    return head.replace(name, f"{name}_{unit}", 1) + newline + rest


@dataclass
class _Columns:
    """What is read of every row."""

    arrival: list[float] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    session: list[Hashable] = field(default_factory=list)
    system: list[int] = field(default_factory=list)
    hashes: list[tuple[int, ...]] = field(default_factory=list)


class _Reader:
    """One file on its way to traffic."""

    def __init__(self, text: str, unit: str) -> None:
        self.notices: list[str] = []
        self.understood: list[str] = []
        self.skipped: Counter[str] = Counter()
        text = text.removeprefix("\ufeff")
        if len(text) > MOST_CHARACTERS:
            if text.lstrip()[:1] == "[":
                raise ServingError(
                    say(
                        "The trace is longer than {most:,} characters, and one list in JSON cannot "
                        "be cut: write an object on each line.",
                        most=MOST_CHARACTERS,
                    )
                )
            text = text[:MOST_CHARACTERS].rpartition("\n")[0]
            self.notices.append(
                say(
                    "The trace is longer than {most:,} characters: the rest is left out.",
                    most=MOST_CHARACTERS,
                )
            )
        rows = rows_of(text)
        self.form, self.notices = form(rows.names), [*self.notices, *rows.notices]
        self.found, stated = columns(rows.names)
        self.columns, self.clock = _Columns(), False
        self._roots: dict[str, str] = {}
        self._need()
        self._read(rows)
        self.doubtful = False
        self.unit = unit or stated or self._unit()

    def _need(self) -> None:
        missing = [name for name in NEEDED if name not in self.found]
        if missing:
            if "arrival" not in self.found:
                missing.insert(0, "arrival")
            raise ServingError(
                say(
                    "The trace has no column {columns}; its first line must name arrival, prompt "
                    "and output.",
                    columns=say(" or ").join(missing),
                )
            )

    def _read(self, rows: Rows) -> None:
        """Take the columns of every row, up to the most there may be."""
        into = self.columns
        for line, row in rows.rows:
            if len(into.prompt) == MOST_ROWS:
                self.notices.append(
                    say(
                        "The trace has more than {most:,} rows: the first {most:,} are used.",
                        most=MOST_ROWS,
                    )
                )
                break
            lengths = [_number(row, self.found[name], name, line, self.form.fails)
                       for name in NEEDED]  # fmt: skip
            if not all(lengths):
                empty = marked("without an answer") if lengths[0] else marked("without a prompt")
                self.skipped[empty] += 1
                continue
            into.prompt.append(lengths[0])
            into.output.append(lengths[1])
            if "arrival" in self.found:
                time, clock = moment(row.get(self.found["arrival"]), rows.comma)
                self.clock |= clock
                into.arrival.append(_within(time, "arrival", line, 0.0, LATEST))
            self._sharing(row, line)
        if not into.prompt:
            raise ServingError(say("The trace has no row below its first line."))

    def _sharing(self, row: Any, line: int) -> None:
        """What a row tells of texts that it shares with others."""
        into, found = self.columns, self.found
        if "session" in found:
            into.session.append(str(row.get(found["session"])).strip() or None)
        elif "chat" in found and "parent" in found:
            chat, parent = (str(row.get(found[role])) for role in ("chat", "parent"))
            into.session.append(self._roots.setdefault(chat, self._roots.get(parent, chat)))
        if "system" in found:
            into.system.append(_number(row, found["system"], "system", line, True))
        if "hashes" in found:
            ids = row.get(found["hashes"])
            good = isinstance(ids, list) and all(
                type(one) is int and 0 <= one < 2**62 for one in ids
            )
            if not good:
                raise ServingError(
                    say("Line {line:,} of the trace has no list of numbers in hash_ids.", line=line)
                )
            into.hashes.append(tuple(ids))

    def _unit(self) -> str:
        """The unit of times where no name states it."""
        times = self.columns.arrival
        if not times or self.clock:
            return "clock" if self.clock else "s"
        if self.form.unit:
            return self.form.unit
        first = min(times)
        for above, unit in _EPOCHS:
            if first >= above:
                return unit
        whole = all(time.is_integer() for time in times)
        apart = (max(times) - first) / len(times)
        self.doubtful = whole and apart >= _DOUBTFUL and first < 1e9
        return "s"

    def traffic(self, arrivals: Arrivals) -> Traffic:
        """The requests."""
        into = self.columns
        count = len(into.prompt)
        if into.arrival:
            times = np.array(into.arrival) * UNITS.get(self.unit, 1.0)
        else:
            times = arrivals.draw(np.random.default_rng(0), count)
            self.notices.append(say("The trace has no times: requests come as under Traffic."))
        order = np.argsort(times, kind="stable")
        if (np.diff(times) < 0).any():
            self.notices.append(say("The trace is not in order of arrival: it was sorted."))
        times = times[order]
        if into.arrival and times[0] > 0 and self.unit != "clock" and times[0] < 1e9:
            self.notices.append(
                say("The first request comes at {first:g} s: time starts there.", first=times[0])
            )
        times = times - times[0]
        rows = order.tolist()
        hashes, system = None, 0
        if into.hashes:
            hashes = Hashes(self._block(), tuple(into.hashes)).of(rows)
        if into.system:
            system = min(into.system)
            if system < max(into.system):
                self.notices.append(
                    say("System prompts differ: the shortest, {n:,} tokens, is shared.", n=system)
                )
        span = float(times[-1])
        found = Traffic(
            times,
            np.array(into.prompt, dtype=np.int64)[order],
            np.array(into.output, dtype=np.int64)[order],
            (count - 1) / span if span > 0 else math.inf,
            _numbered([into.session[row] for row in rows]) if into.session else np.arange(count),
            system=system,
            hashes=hashes,
        )
        self._say(found)
        return replace(found, notices=tuple(self.notices), understood=tuple(self.understood))

    def _block(self) -> int:
        """Tokens of a hash: the form's, or what fits every row."""
        into, stated = self.columns, self.form.block
        ratios = [
            prompt / len(ids) for prompt, ids in zip(into.prompt, into.hashes, strict=True) if ids
        ]
        least = max(ratios, default=0.0)
        if stated >= least:
            return stated
        return 1 << math.ceil(math.log2(least)) if least else stated or 512

    def _say(self, traffic: Traffic) -> None:
        """What was understood, in sentences."""
        names = ", ".join(str(self.found[role]) for role in self.found)
        self.understood.append(
            say("Form: {form}; columns {columns}.", form=say(self.form.name), columns=names)
        )
        if self.columns.arrival:
            self.understood.append(say("Times are {unit}.", unit=say(_NAMES[self.unit])))
        if self.doubtful:
            self.notices.append(
                say(
                    "Times are taken as seconds; if they are milliseconds, name the column "
                    "arrival_ms."
                )
            )
        self.understood += [
            say("Left out: {n:,} rows {reason}.", n=n, reason=say(reason))
            for reason, n in self.skipped.items()
        ]
        distinct = len(np.unique(traffic.arrival))
        self.understood.append(
            say(
                "{n:,} requests in {span:,.1f} s at {rate:.3g} a second, at {distinct:,} different "
                "times.",
                n=len(traffic),
                span=float(traffic.arrival[-1]),
                rate=traffic.rate,
                distinct=distinct,
            )
        )
        self.understood.append(
            say(
                "Prompts have {prompt:,.0f} tokens on average and {most:,} at most, answers "
                "{output:,.0f} and {longest:,}.",
                prompt=float(traffic.prompt.mean()),
                most=int(traffic.prompt.max()),
                output=float(traffic.output.mean()),
                longest=int(traffic.output.max()),
            )
        )
        if traffic.hashes or self.columns.session or traffic.system:
            self.understood.append(
                say(
                    "A prefix cache without a limit would find {share:.1%} of the prompt tokens.",
                    share=traffic.shared,
                )
            )
        else:
            self.understood.append(
                say("Nothing tells what prompts share: a prefix cache finds nothing.")
            )


def _numbered(keys: Iterable[Hashable]) -> Any:
    """Numbers of sessions; requests without one have their own."""
    known: dict[Hashable, int] = {}
    return np.array(
        [known.setdefault((row,) if key is None else key, len(known))
         for row, key in enumerate(keys)], dtype=np.int64,
    )  # fmt: skip


def _is_key(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _number(row: Any, column: str, name: str, line: int, empty: bool = False) -> int:
    """A number of tokens; 0 only where rows may be empty."""
    value = _within(tokens(row.get(column, "")), name, line, 0 if empty else 1, LONGEST)
    if value % 1:
        raise ServingError(
            say(
                "Line {line:,} of the trace has {value:g} in column {column}, not whole.",
                line=line,
                value=value,
                column=name,
            )
        )
    return int(value)


def _within(value: float, name: str, line: int, low: float, high: float) -> float:
    if math.isnan(value):
        raise ServingError(
            say(
                "Line {line:,} of the trace has no number in column {column}.",
                line=line,
                column=name,
            )
        )
    if not low <= value <= high:
        raise ServingError(
            say(
                "Line {line:,} of the trace has {value:g} in column {column}, outside {low:g} to "
                "{high:,.0f}.",
                line=line,
                value=value,
                column=name,
                low=low,
                high=high,
            )
        )
    return value

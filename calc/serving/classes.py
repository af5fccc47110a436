"""Classes of requests that share a service: each with its lengths, its limits and its priority."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import fields
from calc.fields import Quantity, Rows, optional
from calc.serving.errors import ServingError
from calc.words import marked, say

MOST = 4
LONGEST_NAME = 24
# In links: rows, and what is in them. Neither can be in a name or a number.
_BETWEEN, _WITHIN = "*", "_"
_NAME = re.compile(r"[^\W_](?:[^\W_]|[.-])*")


# Figures stand in links in this order, by place: add further ones at the end.
# fmt: off
@dataclass(frozen=True, kw_only=True)
class _Figures:
    share: float = optional(Quantity(
        "share", marked("Share of requests"), "share", 0.5, 0.001, 1.0,
        marked("Of all that come; shares that do not add up to 1 are scaled."),
        whole=False, step=0.05))
    prompt: int = optional(Quantity(
        "prompt", marked("Prompt"), "tokens", 8192, 1, 4194304,
        marked("Tokens of a prompt of the class, on average.")))
    output: int = optional(Quantity(
        "output", marked("Output"), "tokens", 512, 1, 1048576,
        marked("Tokens of an answer of the class, on average.")))
    ttft: float = optional(Quantity(
        "ttft", marked("Wanted TTFT"), "s", 5.0, 0.01, 86400,
        marked("Longest time to first token of a good answer of the class."), whole=False))
    tpot: float = optional(Quantity(
        "tpot", marked("Wanted TPOT"), "ms", 50, 1, 60000,
        marked("Longest time per output token of a good answer of the class."), scale=1e-3))
    priority: int = optional(Quantity(
        "priority", marked("Priority"), "", 0, 0, 9,
        marked("Higher starts first, and preempts lower where slots or cache are short "
               "(scheduling-policy priority).")))
    patience: float = optional(Quantity(
        "patience", marked("Gives up after"), "s", 0.0, 0, 86400,
        marked("A request without a first token by then is cancelled; 0: never."), whole=False))
    timeout: float = optional(Quantity(
        "timeout", marked("Time-out"), "s", 0.0, 0, 86400,
        marked("A request without its last token by then is ended by the service; 0: never."),
        whole=False))
# fmt: on


COLUMNS: tuple[Quantity, ...] = tuple(
    one for one in fields.schema(_Figures) if isinstance(one, Quantity)
)


@dataclass(frozen=True, kw_only=True)
class ServiceClass(_Figures):
    """Requests that are alike in what they ask and in what they are promised.

    Parameters
    ----------
    name : str
        What it is called: letters and digits, dots and hyphens.
    share : float
        Its part of all requests; only the ratio to the other classes' counts.
    prompt, output : int
        Mean lengths [token].
    ttft, tpot : float
        What a good answer keeps: longest time to the first token and per output token [s].
    priority : int
        A higher one goes first, and puts out a lower one where slots or cache are short.
    patience : float
        Time after which a request that has no token is cancelled [s]; 0 for never.
    timeout : float
        Time after which a request that is not answered is ended [s]; 0 for never.

    Raises
    ------
    ServingError
        If a figure is out of its range, or the name is none.
    """

    name: str

    def __post_init__(self) -> None:
        if len(self.name) > LONGEST_NAME or not _NAME.fullmatch(self.name):
            raise ServingError(
                say(
                    "A class needs a name of at most {most} letters, digits, dots and hyphens.",
                    most=LONGEST_NAME,
                )
            )
        for column in COLUMNS:
            problem = column.fault(getattr(self, column.name))
            if problem:
                raise ServingError(
                    say(
                        "{field} of class {name} is {problem}.",
                        field=say(column.label),
                        name=self.name,
                        problem=problem,
                    )
                )

    @property
    def gives_up(self) -> float:
        """How long a request waits for its first token [s]; inf where it waits for ever."""
        return self.patience or math.inf

    @property
    def ends(self) -> float:
        """How long a request may take to its last token [s]; inf where there is no limit."""
        return self.timeout or math.inf


@dataclass(frozen=True, eq=False)
class Classified:
    """Which class each of some requests is of: its place in `classes`, in `of`."""

    classes: tuple[ServiceClass, ...]
    of: NDArray[np.int64]

    def rows(self, rows: Any) -> Classified:
        """These figures of some of the requests."""
        return Classified(self.classes, self.of[rows])

    def each(self, figure: Callable[[ServiceClass], float]) -> NDArray[np.float64]:
        """A figure of the class of each request."""
        return np.array([figure(one) for one in self.classes], dtype=float)[self.of]


def shares(classes: Sequence[ServiceClass]) -> tuple[float, ...]:
    """Part of all requests that each class has, 1 in sum."""
    total = sum(one.share for one in classes)
    return tuple(one.share / total for one in classes)


def read(text: str) -> tuple[ServiceClass, ...]:
    """Classes of a link's text; figures left out at the end of a row take their defaults.

    >>> [(one.name, one.share, one.prompt) for one in read("chat_0.7_2000*batch_0.3")]
    [('chat', 0.7, 2000), ('batch', 0.3, 8192)]

    Raises
    ------
    ServingError
        If there are too many, two have one name, or one cannot be read.
    """
    found = tuple(_row(row) for row in text.split(_BETWEEN)) if text else ()
    if len(found) > MOST:
        raise ServingError(
            say("There are {n} classes, and {most} can be held.", n=len(found), most=MOST)
        )
    if len({one.name for one in found}) < len(found):
        raise ServingError(say("Two classes have the same name."))
    return found


def _row(text: str) -> ServiceClass:
    name, *figures = text.split(_WITHIN)
    if len(figures) > len(COLUMNS):
        raise ServingError(say("A class has more figures than are known here."))
    values: dict[str, Any] = {}
    for column, figure in zip(COLUMNS, figures, strict=False):
        try:
            value = float(figure)
        except ValueError:
            value = math.nan
        problem = column.problem(value)
        if problem:
            raise ServingError(
                say("{field} of a class is {problem}.", field=say(column.label), problem=problem)
            )
        values[column.name] = column.resolve(value, {})
    return ServiceClass(name=name, **values)


def write(classes: Sequence[ServiceClass]) -> str:
    """Classes as the text of a link; empty for none.

    >>> write([ServiceClass(name="chat", share=0.7), ServiceClass(name="batch", share=0.3)])
    'chat_0.7*batch_0.3'
    """
    return _BETWEEN.join(map(_written, classes))


def _written(one: ServiceClass) -> str:
    figures = [(column, column.plain(getattr(one, column.name))) for column in COLUMNS]
    while figures and figures[-1][1] == figures[-1][0].default:
        figures.pop()
    return _WITHIN.join([one.name, *(f"{value:.12g}" for _, value in figures)])


def named(text: str) -> str:
    """A name for a class made of what somebody typed; empty where nothing can be made of it.

    >>> named(" Chat, long_context ")
    'Chat-long-context'
    """
    return re.sub(r"(?:[^\w.-]|_)+", "-", text).strip("-.")[:LONGEST_NAME].strip("-.")


def more(classes: Sequence[ServiceClass], values: Mapping[str, Any]) -> tuple[ServiceClass, ...]:
    """One class more, with the lengths and limits of plain values of fields; two if there is none.

    Of two that begin alike the first goes first.
    """
    found = list(classes)
    taken = {one.name for one in found}
    names = (name for n in range(1, 2 * MOST + 1) if (name := f"class-{n}") not in taken)
    figures = {
        "prompt": values["prompt"], "output": values["output"],
        "ttft": values["ttft_limit"], "tpot": values["tpot_target"] / 1e3,
    }  # fmt: skip
    if not found:
        found = [ServiceClass(name=next(names), priority=1, **figures)]
    return (*found, ServiceClass(name=next(names), **figures))


FIELD = Rows(
    "cls",
    marked("Classes"),
    marked(
        "Up to four classes of requests with lengths, limits and a priority of their own; without "
        "any all requests are alike."
    ),
    COLUMNS,
    read,
    write,
    named,
    more,
    MOST,
    600,
)

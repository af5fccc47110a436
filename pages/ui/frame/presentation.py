"""Fields of a link that no formula reads: how a page is read, and what its bench draws from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from calc.engine import PHASES
from calc.fields import Choice, Field, Option, Quantity
from calc.plan import asked as planned
from calc.scenario import SCHEMA
from calc.serving import asked
from calc.words import marked
from pages.ui.frame.page import named, pages
from presets import chips, measured


class _Slides(Sequence[str]):
    """Keys of all pages' exhibits, found when they are asked for: pages build on this module."""

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(exhibit.key for page in pages(named()) for exhibit in page.exhibits)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._keys[at]

    def __len__(self) -> int:
        return len(self._keys)


SLIDES = _Slides()

# Keys are part of every link ever shared: add fields, never rename or reuse a key.
LANGUAGE = Option("lang", marked("Language"), "en",
                  marked("Language of the pages."), ("en", "zh"), name="language")  # fmt: skip
VIEW = Option("view", marked("View"), "explore",
              marked("Pages with their controls, or one chart a screen."),
              ("explore", "present"), name="view")  # fmt: skip
SLIDE = Option("slide", marked("Slide"), "decode",
               marked("What the presentation shows."), SLIDES, name="slide")  # fmt: skip

# How the acceptance bench draws: a setting, though of the bench only.
TEMPERATURE = Quantity(
    "t", marked("Temperature"), "", 1.0, 0.0, 2.0,
    marked("Of target and draft in the acceptance bench; 0 is greedy."),
    whole=False, name="temperature")  # fmt: skip
TOP_K = Quantity("tk", marked("Top-k"), "tokens", 0, 0, 64,
                 marked("Likeliest tokens kept in the acceptance bench; 0 keeps all."),
                 name="top_k")  # fmt: skip
TOP_P = Quantity(
    "tp", marked("Top-p"), "probability", 1.0, 0.05, 1.0,
    marked("Probability kept in the acceptance bench; 1 keeps all."),
    whole=False, name="top_p")  # fmt: skip
SAMPLING = (TEMPERATURE, TOP_K, TOP_P)

# What a scenario is set to, as its readers see it: the bench stands with speculation.
_AT = 1 + [field.name for field in SCHEMA].index("cost_ratio")
SETTINGS: tuple[Field, ...] = (*SCHEMA[:_AT], *SAMPLING, *SCHEMA[_AT:])

# Which public measurements are shown.
EVERY = "all"
CLASSES = tuple(dict.fromkeys(one.id for chip in chips.values() for one in chip.engines.values()))
ROWS = (
    Option("mk", marked("Class"), EVERY,
           marked("Family of chips and kind of engine that calibrated times go by."),
           (EVERY, *CLASSES), name="rows_class"),
    Option("me", marked("Engine"), EVERY, marked("What served or benchmarked the model."),
           (EVERY, *measured.ENGINES), name="rows_engine"),
    Choice("mc", marked("Chip"), EVERY, marked("What it ran on."), "chips", none=EVERY,
           name="rows_chip"),
    Choice("mm", marked("Model"), EVERY, marked("What was run."), "models", none=EVERY,
           name="rows_model"),
    Option("mp", marked("Phase"), EVERY,
           marked("What was timed: a step of one sequence on one chip or on several, of a batch, "
                  "a known batch to its end, the most tokens per second, a prompt alone."),
           (EVERY, *PHASES), name="rows_phase"),
    Option("my", marked("Year"), EVERY, marked("When it was published."),
           (EVERY, *measured.YEARS), name="rows_year"),
)  # fmt: skip

# What a pin leaves out: it keeps the setting, not the way of looking at it.
VIEWING = (LANGUAGE, VIEW, SLIDE, *ROWS)

# All that a link of the app carries.
FIELDS: tuple[Field, ...] = (*SETTINGS, *asked.FIELDS, *planned.FIELDS, *VIEWING)
BY_NAME = {field.name: field for field in FIELDS}
BY_KEY = {field.key: field for field in FIELDS}

"""How a page is read: fields of a link that change no number of the calculation."""

from __future__ import annotations

from calc import link
from calc.scenario import Field, Option
from calc.words import marked

SLIDES = (
    "decode", "frontier", "capacity", "kv-cache", "prefill", "sharding", "quantization", "cost",
    "serving", "speculation", "compare",
)  # fmt: skip

# Keys are part of every link ever shared: add fields, never rename or reuse a key.
LANGUAGE = Option("language", "lang", marked("Language"), "en",
                  marked("Language of the pages."), ("en", "zh"))  # fmt: skip
VIEW = Option("view", "view", marked("View"), "explore",
              marked("Pages with their controls, or one chart a screen."),
              ("explore", "present"))  # fmt: skip
SLIDE = Option("slide", "slide", marked("Slide"), SLIDES[0],
               marked("What the presentation shows."), SLIDES)  # fmt: skip

# What a pin leaves out: it keeps the setting, not the way of looking at it.
VIEWING = (LANGUAGE, VIEW, SLIDE)

# All that a link of the app carries.
FIELDS: tuple[Field, ...] = (*link.FIELDS, *VIEWING)
BY_NAME = {field.name: field for field in FIELDS}
BY_KEY = {field.key: field for field in FIELDS}

"""A report to attach to a review: one HTML file that needs nothing else, and a sweep as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markdown_it import MarkdownIt
from plotly.offline import get_plotlyjs

from calc import Scenario, cost, decode, known, memory, naming, roofline
from calc.explain import bands
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame.page import Page, View
from pages.ui.frame.presentation import SETTINGS
from pages.ui.frame.section import Section, settings
from pages.ui.writing import checklist, palette, published, tables, written

HERE = Path(__file__).parent
# Pages with what they show.
Seen = Iterable[tuple[Page[Any], View]]


def html(scenario: Scenario, values: Mapping[str, object], seen: Seen, url: str, day: date) -> str:
    """The report.

    Parameters
    ----------
    scenario : Scenario
        What it is about.
    values : mapping
        The settings as the controls hold them.
    seen : iterable
        The pages that it is made of, each with its view, the one that answers first in front.
    url : str
        The explicit link that opens the same.
    day : date
        When it was made.
    """
    s = scenario
    return _template().render(
        title=say("Inference Ledger: {model} on {n:,} × {chip}", model=s.model.name,
                  n=s.n_chips, chip=s.chip.name),
        summary=tables.summary(s),
        made=say("Made on {day} with Inference Ledger {version}.", day=day.isoformat(),
                 version=version("inference-ledger")),
        opens=say("Open it in the ledger"),
        url=url,
        sections=sections(s, values, seen),
        plotly=get_plotlyjs(),
    )  # fmt: skip


def sections(scenario: Scenario, values: Mapping[str, object], seen: Seen) -> list[Section]:
    """All parts in reading order: answers and charts, what was set, what is to be filled in."""
    basis = written.basis(known.least(scenario), bands.PHASES)
    note = say("What differs from the defaults is set in bold.")
    return [
        *(part for page, view in seen for part in page.reported(view)),
        Section(
            say("Scenario"),
            [one for one in (published.taken(scenario), *basis, note) if one],
            settings(SETTINGS, values),
        ),
        Section(
            say("Before deployment"),
            [say("What has to be settled before services are compared; blanks are open.")],
            blanks=checklist.filled(scenario, values),
        ),
    ]


def sweep(s: Scenario) -> str:
    """The step over batches as CSV, SI units in the header; bounds where that is all there is."""
    s = known.least(s)
    largest = int(memory.max_batch(s))
    end = decode.sweep_end(s, largest, roofline.compute_bound_batch(s))
    batch = decode.batch_sweep(end, [largest, s.batch])
    step = decode.step_time(s, batch=batch)
    terms = step.charged()
    hidden = {name: getattr(step, name) - term for name, term in terms.items()}
    usual = dict(zip(("from", "to"), bands.edges(s, batch) or (), strict=False))
    columns = {
        "batch (sequences)": batch,
        ("step_time, at least (s)" if known.bounded(s) else "step_time (s)"): step.total,
        **{f"step_time, usually {end} (s)": step.total * edge for end, edge in usual.items()},
        **{f"{name} (s)": term for name, term in terms.items()},
        **{f"{name}, hidden (s)": term for name, term in hidden.items() if np.any(term)},
        "throughput (token/s)": step.throughput,
        "throughput_per_chip (token/s)": step.throughput_per_chip,
        "usd_per_million_tokens (USD)": cost.per_million_tokens(s, step),
        "fits (0 or 1)": (batch <= largest).astype(float),
    }
    kept = io.StringIO()
    writer = csv.writer(kept)
    writer.writerow(map(cell, columns))
    for row in zip(*columns.values(), strict=True):
        # What is not known stays empty.
        writer.writerow([f"{value:.10g}" if math.isfinite(value) else "" for value in row])
    return kept.getvalue()


def cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell("batch")
    ("'=1+1", 'batch')
    """
    return f"'{text}" if text.startswith((*naming.FORMULAS, "\t", "\r")) else text


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Raw HTML in a text stays text: the parser escapes it.
    parser = MarkdownIt("commonmark", {"html": False}).disable(["image", "link", "autolink"])
    environment.filters["markdown"] = parser.renderInline
    environment.filters["drawn"] = _drawn
    return environment.get_template("report.html")


def _drawn(chart: kit.Chart) -> str:
    """What plotly.js reads, on paper, as JSON that cannot end the script element it stands in."""
    spec = chart.to_json().replace(palette.INK, palette.ink(dark=False))
    json.loads(spec)
    return spec.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

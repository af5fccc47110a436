"""A report to attach to a review: one HTML file that needs nothing else, and a sweep as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from plotly.offline import get_plotlyjs

from calc import Scenario, cost, decode, link, memory, roofline, serving
from calc.explain import EXPLANATIONS
from calc.fields import Field, Quantity
from calc.words import say
from pages.ui.compare import words as compare_words
from pages.ui.decode import words as decode_words
from pages.ui.frame.presentation import SETTINGS
from pages.ui.report import checklist, exhibits
from pages.ui.serving import view as service_view
from pages.ui.serving import words as service_words
from pages.ui.writing import explained, palette, tables, text

HERE = Path(__file__).parent
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A heading and rows of Markdown."""

    head: Sequence[str]
    rows: Rows


@dataclass(frozen=True)
class Section:
    """A part of the report; texts are Markdown.

    `code` is set as it is, `chart` the JSON that plotly.js reads, `blanks` are lines to fill in.
    """

    title: str
    paragraphs: Sequence[str] = ()
    table: Table | None = None
    code: str = ""
    chart: str = ""
    alt: str = ""
    height: int = 0
    blanks: Sequence[checklist.Item] = field(default=())


def html(subject: exhibits.Subject, values: Mapping[str, object], url: str, day: date) -> str:
    """The report.

    Parameters
    ----------
    subject : Subject
        What it is about.
    values : mapping
        The settings as the controls hold them.
    url : str
        The explicit link that opens the same.
    day : date
        When it was made.
    """
    s = subject.scenario
    return _template().render(
        title=say("Inference Ledger: {model} on {n:,} × {chip}", model=s.model.name,
                  n=s.n_chips, chip=s.chip.name),
        summary=tables.summary(s),
        made=say("Made on {day} with Inference Ledger {version}.", day=day.isoformat(),
                 version=version("inference-ledger")),
        opens=say("Open it in the ledger"),
        url=url,
        sections=sections(subject, values),
        plotly=get_plotlyjs(),
    )  # fmt: skip


def sections(subject: exhibits.Subject, values: Mapping[str, object]) -> list[Section]:
    """All parts in reading order."""
    s = subject.scenario
    step = decode.step_time(s)
    largest = int(memory.max_batch(s))
    crossing = roofline.compute_bound_batch(s)
    first = Section(
        say("Verdict"),
        [
            decode_words.verdict(s, step, largest, crossing),
            *decode_words.caveats(s, step),
            tables.step_sentence(step),
            tables.memory_sentence(memory.ledger(s)),
        ],
    )
    note = say("What differs from the defaults is set in bold.")
    parts = [first, Section(say("Scenario"), [note], _settings(SETTINGS, values))]
    for id in subject.offered():
        entry = exhibits.EXHIBITS[id]
        shown = entry.build(subject)
        parts.append(_exhibited(say(entry.title), shown))
    if len(subject.contenders) > 1:
        parts += _comparison(subject)
    parts += [*_service(subject, values), _breakdown(s, step), _explanation(s), *_sources(s)]
    parts.append(
        Section(
            say("Before it is deployed"),
            [say("What has to be fixed before services are compared; blanks are yours to fill.")],
            blanks=checklist.filled(s, values),
        )
    )
    return parts


def _exhibited(title: str, shown: exhibits.Exhibit) -> Section:
    if shown.chart is None:
        return Section(title, [shown.sentence])
    return Section(
        title,
        [shown.sentence],
        chart=shown.chart.to_json().replace(palette.INK, palette.ink(dark=False)),
        alt=shown.alt,
        height=shown.chart.layout["height"],
    )


def _settings(fields: Sequence[Field], values: Mapping[str, object]) -> Table:
    head = [say("Setting"), say("Value"), say("Unit"), say("In links")]
    rows = []
    for one in fields:
        value = link.dump_value(one, values[one.name])
        written = f"**{text.plain(value)}**" if values[one.name] != one.default else value
        unit = say(one.unit) if isinstance(one, Quantity) else ""
        rows.append([text.plain(say(one.label)), written, text.plain(unit), f"`{one.key}`"])
    return Table(head, rows)


def _service(subject: exhibits.Subject, values: Mapping[str, object]) -> list[Section]:
    """The traffic that was simulated, and the latencies of the policy that is shown."""
    parts = [Section(say("Traffic and service"), table=_settings(serving.asked.FIELDS, values))]
    try:
        view = subject.service()
    except serving.ServingError:
        return parts
    if view.shown is not None:
        said = service_words.described(view.traffic)
        table = _turned(service_words.percentiles(view.shown.figures))
        parts.append(
            Section(
                say("Latencies, {policy}", policy=service_view.name(view.setup.shown)),
                [said],
                table,
            )
        )
    return parts


def _breakdown(s: Scenario, step: decode.StepTime) -> Section:
    head = [say("Operator"), say("Reading"), say("Computing"), say("Takes"), say("Bound by")]
    rows = [
        [
            text.plain(say(row.name)),
            text.si(row.read, "s"),
            text.si(row.compute, "s"),
            text.si(row.time, "s"),
            say("compute") if row.compute_bound else say("memory"),
        ]
        for row in step.work.by_name()
    ]
    rows += [
        [text.plain(say(name)), "", "", text.si(float(time), "s"), say("links")]
        for name, time in step.work.transfers.items()
    ]
    if float(step.overhead):
        rows.append([say("overhead"), "", "", text.si(float(step.overhead), "s"), ""])
    return Section(
        say("What the step is made of"),
        [tables.utilisation_sentence(s, step)],
        Table(head, rows),
    )


def _explanation(s: Scenario) -> Section:
    entry = EXPLANATIONS["step_time"]
    return Section(
        say("How the step time comes about"),
        [say(entry.reading), say("Source: {source}.", source=text.plain(entry.source))],
        code=explained.plain(entry, entry.build(s)),
    )


def _comparison(subject: exhibits.Subject) -> list[Section]:
    contenders = subject.contenders
    measured = compare_words.figures_of(contenders)
    return [
        Section(title, table=_turned(columns))
        for title, columns in (
            (say("Side by side"), compare_words.measures(contenders, measured, 0)),
            (say("What differs"), compare_words.settings(contenders)),
        )
    ]


def _turned(columns: Mapping[str, Sequence[str]]) -> Table:
    """Columns of plain text as rows of Markdown."""
    rows = [[text.plain(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
    return Table([text.plain(name) for name in columns], rows)


def _sources(s: Scenario) -> list[Section]:
    chip = Table([say("Figure"), say("Value"), say("Source")], tables.chip_facts(s.chip))
    model = s.model
    said = [say("Sources: {sources}", sources=text.plain("; ".join(model.sources)))]
    if model.assumptions:
        said.append(say("Assumed: {assumptions}.",
                        assumptions=text.plain(text.clauses(model.assumptions))))  # fmt: skip
    if model.note:
        said.append(text.plain(model.note))
    return [
        Section(
            say("Assumptions: {chip}", chip=text.plain(s.chip.name)),
            [text.plain(note) for note in s.chip.notes],
            chip,
        ),
        Section(
            say("Assumptions: {model}", model=text.plain(model.name)),
            said,
            Table([say("Figure"), say("Value")], tables.model_facts(s)),
        ),
    ]


def sweep(s: Scenario) -> str:
    """The step over batches as CSV, SI units in the header."""
    largest = int(memory.max_batch(s))
    end = decode.sweep_end(s, largest, roofline.compute_bound_batch(s))
    batch = decode.batch_sweep(end, [largest, s.batch])
    step = decode.step_time(s, batch=batch)
    terms = step.charged()
    columns = {
        "batch (sequences)": batch,
        "step_time (s)": step.total,
        **{f"{name} (s)": term for name, term in terms.items()},
        "throughput (token/s)": step.throughput,
        "throughput_per_chip (token/s)": step.throughput_per_chip,
        "usd_per_million_tokens (USD)": cost.per_million_tokens(s, step),
        "fits (0 or 1)": (batch <= largest).astype(float),
    }
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        # What is not known stays empty.
        writer.writerow([f"{value:.10g}" if math.isfinite(value) else "" for value in row])
    return written.getvalue()


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Raw HTML in a text stays text: the parser escapes it.
    parser = MarkdownIt("commonmark", {"html": False}).disable(["image", "link", "autolink"])
    environment.filters["markdown"] = parser.renderInline
    environment.filters["for_script"] = _for_script
    return environment.get_template("report.html")


def _for_script(spec: str) -> str:
    """JSON that cannot end the script element it stands in."""
    json.loads(spec)
    return spec.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

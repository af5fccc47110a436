"""Rows of one's own, pasted or uploaded: what was understood of them, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calc import Scenario
from calc.calibration import FEW_ROWS, Fit, errors, fit
from calc.engine import EngineClass
from calc.measured import Agreement, Left, Row, files, predictions
from calc.scenario import FIELDS, differences, values_of
from calc.words import inside, marked, say
from pages.ui.frame import taking
from pages.ui.frame.link import catalogues
from pages.ui.measured import words
from pages.ui.measured.view import MeasuredView
from pages.ui.writing import sortable, tables, text

PASTED, UPLOADED = "own-rows", "own-files"
_MOST_LETTERS = 400_000
EXAMPLE = "batch,context,ms\n1,1024,9.8\n16,1024,12.1"


@dataclass(frozen=True)
class Understood:
    """All that was pasted and uploaded: each file by its name, or why it was refused."""

    read: dict[str, files.File]
    refused: dict[str, str]

    @property
    def rows(self) -> Sequence[Row]:
        """Rows that can be used."""
        return [row for file in self.read.values() for row in file.rows]

    @property
    def left(self) -> Sequence[Left]:
        """Those that cannot."""
        return [one for file in self.read.values() for one in file.left]


def section(view: MeasuredView) -> None:
    """Where rows come in, and what comes of them."""
    with st.expander(say("Several measurements: paste or upload"), key="own-several-open",
                     on_change="rerun") as expander:  # fmt: skip
        if not expander.open:
            return
        forms = text.listed(form.name for form in files.FORMS)
        pasted = st.text_area(
            say("Rows"), key=PASTED, height=140, max_chars=_MOST_LETTERS, persist_state="session",
            help=say("A table with a header, or what a benchmark wrote: {forms}.", forms=forms),
            placeholder=EXAMPLE,
        )  # fmt: skip
        given = st.file_uploader(
            say("or upload them"), type=["csv", "json", "jsonl"], accept_multiple_files=True,
            key=UPLOADED,
        )  # fmt: skip
        contents = {say("what was pasted"): pasted} if (pasted or "").strip() else {}
        for file in given or []:
            contents[file.name] = file.getvalue().decode("utf-8", errors="replace")
        if contents:
            _told(view, _understood(view, contents))


def _understood(view: MeasuredView, contents: dict[str, str]) -> Understood:
    found = Understood({}, {})
    for name, content in contents.items():
        try:
            found.read[name] = files.read(content, catalogues(), values_of(view.scenario), name)
        except files.FileError as error:
            found.refused[name] = str(error)
    return found


def _told(view: MeasuredView, found: Understood) -> None:
    """What was understood, what was not, and how far the predictions are off."""
    for name, reason in found.refused.items():
        st.warning(
            say("{name} cannot be read. {reason}", name=text.plain(name), reason=text.plain(reason))
        )
    for name, file in found.read.items():
        st.caption(_summary(name, file))
    if found.left:
        rows = [[text.plain(one.name), text.plain(one.reason)] for one in found.left]
        st.markdown(tables.markdown([say("Row"), say("Why not")], rows))
    if found.rows:
        predicted = predictions(found.rows, "calibrated")
        st.dataframe(
            _columns(found.rows, predicted.tolist()), hide_index=True,
            placeholder=sortable.MISSING,
            column_config=sortable.formats({
                say("Measured (ms)"): "%.4g", say("Calibrated (ms)"): "%.4g",
                say("Measured over predicted"): "%.2f",
            }),
        )  # fmt: skip
        _fitted(view.scenario, [row for row in found.rows if row.decode_steps])


def _summary(name: str, file: files.File) -> str:
    """Of one file: what wrote it, how much of it is used, what it does not say."""
    taken = [inside(FIELDS[one].label) for one in file.taken]
    unknown = text.listed(text.plain(one) for one in file.unknown)
    return text.sentences(
        say(
            "{name}: {form}, {used} of {all} rows used.",
            name=text.plain(name),
            form=text.listed(file.forms),
            used=text.count(len(file.rows)),
            all=text.count(len(file.rows) + len(file.left)),
        ),
        say("Not in it, so taken from the sidebar: {fields}.", fields=text.listed(taken))
        if taken
        else "",
        say("No preset is called {names}.", names=unknown) if unknown else "",
    )


def _columns(rows: Sequence[Row], predicted: Sequence[float]) -> dict[str, list[Any]]:
    return {
        say("Row"): [row.id for row in rows],
        say("What was run"): [words.described(row) for row in rows],
        say("Measured (ms)"): [1e3 * row.seconds for row in rows],
        say("Calibrated (ms)"): [1e3 * one for one in predicted],
        say("Measured over predicted"): [
            row.seconds / one for row, one in zip(rows, predicted, strict=True)
        ],
    }


def _fitted(s: Scenario, rows: Sequence[Row]) -> None:
    """Constants of one's own, and a button that makes them the link's."""
    known = s.chip.engine_class(s.engine)
    if known is None or not rows:
        st.markdown(
            say("Nothing to fit: no row has a decode step.")
            if known
            else say("Nothing to fit from: of {chip} nobody published enough.",
                     chip=text.plain(s.chip.name))
        )  # fmt: skip
        return
    found = fit(rows, known.constants)
    st.markdown(told(found, known, errors(rows, known.constants)))
    st.button(
        say("Use this calibration"), key="own-use-fit", on_click=taking.use,
        args=(differences(s, found.on(s)),),
    )  # fmt: skip


def told(found: Fit, known: EngineClass, before: Agreement) -> str:
    """What was fitted, and how much better it is on the rows than the class."""
    own, usual, after = found.constants, known.constants, found.agreement
    fitted = text.plural(after.rows, marked("{n} row"), marked("{n} rows"))
    return text.sentences(
        say(
            "Fitted on {n}: **{time}** a kernel and **{share}** of the memory bandwidth; the class "
            "({name}) has {usual_time} and {usual_share}.",
            n=fitted,
            time=text.si(own.kernel_time, "s"),
            share=text.percent(own.bandwidth_efficiency),
            name=say(known.name),
            usual_time=text.si(usual.kernel_time, "s"),
            usual_share=text.percent(usual.bandwidth_efficiency),
        ),
        say(
            "It is off by **{median}** in half of them and by {worst} in nine of ten; the class by "
            "{before} and {before_worst}.",
            median=text.percent(after.median),
            worst=text.percent(after.worst),
            before=text.percent(before.median),
            before_worst=text.percent(before.worst),
        ),
        say("Below {few} rows the gain is small: measure several batches.", few=FEW_ROWS)
        if after.rows < FEW_ROWS
        else "",
    )

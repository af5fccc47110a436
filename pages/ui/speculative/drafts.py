"""Kinds of drafts: what was measured of each, which pays most here, and up to which batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from calc import Scenario, drafts, known, speculative
from calc import scenario as scenarios
from calc.drafts import KINDS, Draft, Report
from calc.errors import LedgerError
from calc.spans import MOST_BATCH
from calc.speculative import SpeculationError
from calc.words import marked, say
from pages.ui.frame import taking
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Typed
from pages.ui.writing import row_choice, sortable, tables, text

LONGEST_TREE, WIDEST = 8, 16


def shares(typed: str) -> list[float]:
    """Acceptances by position as engines print them: at most 16, none above the one before it.

    Raises
    ------
    SpeculationError
        If they are none.
    """
    try:
        found = [float(part) for part in typed.split(",")]
    except ValueError as error:
        raise SpeculationError(say("a position is not a number")) from error
    if len(found) > text.LONGEST_SHOWN_DRAFT:
        raise SpeculationError(
            say("there are more than {most} positions", most=text.LONGEST_SHOWN_DRAFT)
        )
    speculative.accepted_in_turn(found)
    return found


def widths(typed: str) -> list[int]:
    """Candidates below each node of a tree, depth by depth.

    Raises
    ------
    SpeculationError
        If they are none.
    """
    parts = typed.split(",")
    usable = all(part.isdecimal() and 1 <= int(part) <= WIDEST for part in parts)
    if not usable or len(parts) > LONGEST_TREE:
        raise SpeculationError(
            say(
                "it is not 1 to {depths} whole numbers, each from 1 to {widest}",
                depths=LONGEST_TREE,
                widest=WIDEST,
            )
        )
    return [int(part) for part in parts]


POSITIONS = Typed("draft-positions", "accepted", read=shares)
TREE = Typed("draft-tree", "tree", read=widths)


def verdict(scenario: Scenario, found: Sequence[Draft]) -> str:
    """Which draft would pay most, by what was measured of it."""
    best = drafts.best(scenario, found)
    if best is None:
        return (
            say("No draft with enough published figures pays at batch {n:,}.", n=scenario.batch)
            if any(map(_known, found))
            else say("What a draft would gain is not known here.")
        )
    said = say(
        "**{kind}** would pay most at batch {batch:,}: {factor}, as measured on {what}.",
        kind=say(KINDS[best.report.kind].name),
        batch=scenario.batch,
        factor=text.times(best.speedup),
        what=text.plain(_called(best.report)),
    )
    losing = [
        kind.name
        for id, kind in KINDS.items()
        if (speeds := [one.speedup for one in found if one.report.kind == id and _known(one)])
        and max(speeds) < 1
    ]
    lost = (
        say("Slower than plain decoding: {kinds}.", kinds=text.listed(map(say, losing)))
        if losing
        else ""
    )
    absent = [say(kind.name) for kind in KINDS.values() if not kind.available(scenario)]
    missing = (
        say("This model is not known to be published with {kinds}.", kinds=text.listed(absent))
        if absent
        else ""
    )
    return text.sentences(said, *upto(best, scenario.batch), lost, missing)


def _called(report: Report) -> str:
    return text.listed(part for part in (report.method, report.target, report.work) if part)


def upto(draft: Draft, here: int) -> Iterator[str]:
    """The batches at which a draft that pays at this one pays, in sentences."""
    if draft.last < here:
        return
    if draft.last < MOST_BATCH:
        yield say("It loses from batch {n:,}.", n=int(draft.last) + 1)
    elif draft.first <= 1:
        yield say("It pays at every batch.")
    else:
        yield say("It pays from batch {n:,} up.", n=int(draft.first))
    if draft.first > here:
        # With a mixture of experts.
        yield say(
            "It loses at some batches between {here:,} and {first:,}.",
            here=here,
            first=int(draft.first),
        )


def section(scenario: Scenario, found: Sequence[Draft], shown: Shown | None) -> None:
    """The answer, each kind, what was measured, and a tree of one's own."""
    st.markdown(verdict(scenario, found))
    if shown:
        shown.draw("drafts-batch")
    st.table(_kinds(scenario, found), hide_index=True)
    st.caption(
        say(
            "Tokens per check were measured on the models named below; other targets and texts "
            "accept more or less. The cost of a draft is what a round took there beyond a "
            "plain step, at batch 1 in that engine. Checking is timed here (F7.6). Weights are "
            "in the target's format."
        )
    )
    _reports(scenario, found)
    _own(scenario)


def _known(draft: Draft) -> bool:
    return math.isfinite(draft.speedup)


def _range(ends: tuple[float, float], form: Any = text.significant) -> str:
    low, high = (form(end) for end in ends)
    return low if low == high else text.between(low, high)


def _last(batch: float) -> str:
    if math.isnan(batch):
        return text.unknown()
    return say("every batch") if batch >= MOST_BATCH else text.count(batch) if batch else "–"


def _batches(draft: Draft) -> str:
    """Between which batches a draft pays."""
    if math.isnan(draft.last):
        return text.unknown()
    if not draft.last:
        return "–"
    if draft.last >= MOST_BATCH:
        from_first = say("{n} or more", n=text.count(draft.first))
        return say("every batch") if draft.first <= 1 else from_first
    return text.between(text.count(draft.first), text.count(draft.last))


def _lasts(ends: tuple[float, float]) -> str:
    low, high = ends
    if low < MOST_BATCH <= high:
        return say("{n} to every batch", n=text.count(low))
    return _range(ends, _last)


def _kinds(scenario: Scenario, found: Sequence[Draft]) -> Any:
    """Each kind: acceptance, cost, memory, and what it does here."""
    head = [say("Kind"), say("What drafts"), say("Tokens per check"), say("Acceptance"),
            say("Cost ratio"), say("Weights (GB)"), say("Speed-up here"),
            say("Pays up to batch")]  # fmt: skip
    rows = []
    for id, kind in KINDS.items():
        own = [one for one in found if one.report.kind == id]
        size = text.GIGA * kind.extra(scenario) * scenario.weight_bits / 8
        rows.append(
            [
                say(kind.name),
                say(kind.reading),
                _range(drafts.span(one.report.tokens for one in own)),
                _range(drafts.span(one.report.acceptance for one in own)),
                _range(drafts.span(one.report.draft_cost for one in own)),
                "–" if math.isnan(size) else text.significant(size),
                _range(drafts.span(one.speedup for one in own), text.times),
                _lasts(drafts.span(one.last for one in own)),
            ]
        )
    return tables.table(head, rows)


def _reports(scenario: Scenario, found: Sequence[Draft]) -> None:
    """What was measured, the fastest here first; choosing a row takes its draft."""
    rows = sorted(found, key=lambda one: (not _known(one), -one.speedup if _known(one) else 0.0))
    of = [one.report for one in rows]
    cell = sortable.known
    columns: dict[str, list[Any]] = {
        say("Kind"): [say(KINDS[one.kind].name) for one in of],
        say("Method"): [one.method for one in of],
        say("Target"): [one.target or None for one in of],
        say("Here (×)"): [cell(one.speedup) for one in rows],
        say("Pays at batch"): [_batches(one) for one in rows],
        say("Drafted"): [one.n_draft or None for one in of],
        say("Tokens per check"): [cell(one.tokens) for one in of],
        say("Acceptance"): [cell(one.acceptance) for one in of],
        say("Cost ratio"): [cell(one.draft_cost) for one in of],
        say("Published (×)"): [cell(one.speedup) for one in of],
        say("Published at batch"): [
            one.batch if math.isfinite(one.speedup) else None for one in of
        ],
        say("Loses from batch (published)"): [cell(one.loses_from) for one in of],
        say("Texts"): [one.work or None for one in of],
        say("Chip"): [one.hardware or None for one in of],
        say("Source"): ["; ".join(one.sources) for one in of],
        say("Note"): [one.note or None for one in of],
    }
    three = (say("Here (×)"), say("Tokens per check"), say("Acceptance"), say("Cost ratio"),
             say("Published (×)"))  # fmt: skip
    config: dict[str, Any] = sortable.formats(dict.fromkeys(three, "%.3g"))
    config[say("Drafted")] = st.column_config.NumberColumn(
        help=say("Tokens of one check without the target's own; of a tree, all candidates.")
    )
    config[say("Cost ratio")] = st.column_config.NumberColumn(
        format="%.3g", help=say("Time of one drafted token over one step of the target.")
    )
    row_choice.table(
        "drafts",
        columns,
        lambda row: scenarios.differences(scenario, taken) if (taken := rows[row].scenario) else {},
        column_config=config,
    )
    st.caption(
        text.sentences(
            say("A row you choose is applied in the sidebar: acceptance, draft length, cost "
                "ratio."),
            say("A tree is applied as a chain of all its candidates that yields the same tokens."),
            say("A row without acceptance or cost changes nothing."),
        )
    )  # fmt: skip


def _own(scenario: Scenario) -> None:
    """Acceptance by position, as engines print it, and a tree of candidates."""
    left, right = st.columns(2)
    with left:
        typed = st.text_input(
            say("Accepted by position"),
            key=POSITIONS.key,
            persist_state="session",
            max_chars=120,
            placeholder="0.769, 0.381",
            help=say("Share of drafts whose token 1, 2, … was accepted, as engines print it."),
        )
    with right:
        branches = st.text_input(
            say("Tree: candidates at each depth"),
            key=TREE.key,
            persist_state="session",
            max_chars=40,
            placeholder="3, 2, 1",
            help=say("As Medusa and EAGLE draft; one number a depth."),
        )
    try:
        accepted = shares(POSITIONS.plain(typed)) if typed.strip() else []
        tree = widths(TREE.plain(branches)) if branches.strip() else []
    except LedgerError as error:
        st.warning(say("Not used: {reason}.", reason=text.plain(str(error))))
        return
    if accepted:
        st.markdown(by_position(accepted))
        alpha = speculative.alpha_of_reported(sum(accepted) / len(accepted), len(accepted))
        st.button(
            say("Use this acceptance"),
            on_click=taking.use,
            args=({"acceptance": round(alpha, 4), "n_draft": len(accepted)},),
        )
    if tree:
        st.markdown(_of_tree(scenario, accepted, tree))


def by_position(accepted: Sequence[float]) -> str:
    """What acceptances by position yield, and what their mean would."""
    tokens = speculative.expected_tokens_by_position(speculative.accepted_in_turn(accepted))
    k = len(accepted)
    mean = sum(accepted) / k
    return say(
        "These positions yield **{tokens}** tokens a check, as an acceptance of {alpha:.3f} at "
        "draft length {k} does. Their mean, {mean:.3f}, taken for that acceptance would yield "
        "{wrong}.",
        tokens=text.significant(tokens),
        alpha=speculative.alpha_of_reported(mean, k),
        k=k,
        mean=mean,
        wrong=text.significant(float(speculative.expected_tokens(mean, k))),
    )


def _of_tree(scenario: Scenario, accepted: Sequence[float], tree: Sequence[int]) -> str:
    """What a tree yields, at the acceptances by position where there are any."""
    if accepted and len(accepted) < len(tree):
        return say("The tree is deeper than the positions given.")
    each = speculative.accepted_in_turn(accepted)[: len(tree)] if accepted else None
    # Of two bounds there is no quotient.
    tokens, nodes, gain = speculative.tree_speedup(known.stated(scenario), tree, each)
    candidates = text.plural(nodes, marked("{n} candidate"), marked("{n} candidates"))
    return text.sentences(
        say(
            "{candidates}: {tokens} tokens a check.",
            candidates=candidates,
            tokens=text.significant(tokens),
        ),
        say(
            "The speed-up at batch {batch:,} is **{factor}**.",
            batch=scenario.batch,
            factor=text.times(gain),
        )
        if math.isfinite(gain)
        else say("Its speed-up is not known here."),
    )

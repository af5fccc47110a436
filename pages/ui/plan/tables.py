"""Tables of the Plan page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calc import Chip, plan
from calc.fields import Quantity
from calc.plan import BINDS, Answer, Ask, Candidate, Move, Obstacle, Offer, Proof, Served
from calc.plan.moves import LABELS
from calc.serving import ClassService, Service
from calc.words import say
from pages.ui.frame import link
from pages.ui.frame.presentation import BY_NAME as FIELDS
from pages.ui.plan import store, taken, words
from pages.ui.writing import row_choice, sortable, tables, text


def plans(answer: Answer) -> None:
    """The best of each chip, arrangement and size; choosing one sets scenario and service."""
    rows = answer.rows
    text_columns = {
        say("Chip"): [_named(answer, one.scenario.chip) for one in rows],
        say("Replicas × chips"): [_replicas(one) for one in rows],
        say("Layout"): [" ".join(words.widths(one)) or sortable.MISSING for one in rows],
        say("Formats"): [words.formats(one) for one in rows],
    }
    figures: dict[str, tuple[str, list[float]]] = {
        say("USD/hour"): ("%.2f", [one.usd_per_hour for one in rows]),
        say("USD per M out"): ("%.3g", [one.split[1] for one in rows]),
        say("USD per M in"): ("%.3g", [one.split[0] for one in rows]),
        **_times(answer),
        say("Longest gap (ms)"): ("%.3g", [1e3 * one.longest for one in rows]),
        say("Batch"): ("%d", [one.batch for one in rows]),
        say("Slots"): ("%d", [one.slots for one in rows]),
        say("Token budget"): ("%d", [one.budget or float("nan") for one in rows]),
        say("Reading (%)"): ("%.0f", [100 * one.used for one in rows]),
        say("Token/J"): ("%.3g", [one.tokens_per_joule for one in rows]),
    }
    row_choice.picked(
        "plan-rows",
        {
            **text_columns,
            **{head: [sortable.known(value) for value in values]
               for head, (_, values) in figures.items()},
            say("What binds"): [say(BINDS[one.binds]) for one in rows],
        },
        lambda row: taken.take(rows[row]),
        column_config=sortable.formats({head: form for head, (form, _) in figures.items()}),
    )  # fmt: skip


def _times(answer: Answer) -> dict[str, tuple[str, list[float]]]:
    """Times of the plans; of classes what the one that is closest to its limit takes of it."""
    ask, rows = answer.ask, answer.rows
    if ask.classes:
        return {
            say("TPOT of limit (%)"): ("%.0f", [100 * one.tpot / ask.tpot for one in rows]),
            say("TTFT of limit (%)"): ("%.0f", [100 * one.ttft / ask.ttft for one in rows]),
        }
    return {
        say("TPOT (ms)"): ("%.3g", [1e3 * one.tpot for one in rows]),
        say("TTFT (s)"): ("%.3g", [one.ttft for one in rows]),
    }


def classes(one: Candidate) -> str:
    """The times of each class beside its limits."""
    rows = [
        [text.plain(time.name), text.percent(time.part.share), text.count(time.part.prompt),
         text.count(time.part.output), text.si(time.tpot, "s"), text.si(time.part.tpot, "s"),
         text.si(time.ttft, "s"), text.si(time.part.ttft, "s")]
        for time in plan.class_times(one)
    ]  # fmt: skip
    head = [
        say("Class"), say("Share of requests"), say("Prompt"), say("Output"),
        "TPOT", say("TPOT limit"), "TTFT", say("TTFT limit"),
    ]  # fmt: skip
    return tables.markdown(head, rows, " rrrrrrr")


def moves(answer: Answer, found: Sequence[Move]) -> str:
    """The best plan with one figure at a half and at twice what it is."""
    rows = []
    for move in found:
        cells = []
        for one in move.plans:
            if one is None or math.isnan(one.usd_per_hour):
                cells += [sortable.MISSING, say("no plan")]
                continue
            cells += [text.usd(one.usd_per_hour),
                      f"{_replicas(one)} {text.plain(one.scenario.chip.name)}"]  # fmt: skip
        rows.append([say(LABELS[move.name]), *cells])
    head = [
        say("Figure"),
        say("At half: USD/hour"),
        say("Best plan"),
        say("At twice: USD/hour"),
        say("Best plan"),
    ]
    return tables.markdown(head, rows, " r r ")


# Limits of the table of users, as times of the one that is asked.
_AROUND = (0.5, 1.0, 2.0, 4.0)


def users(answer: Answer, found: Served, pause: float) -> str:
    """The highest rate, and users, at limits around the one that is asked."""
    there, rows = found.users(pause), []
    for times in _AROUND:
        at, limit = found.at(times * answer.ask.tpot), times * answer.ask.tpot
        kept = found.rate[at] > 0
        rows.append([
            text.si(limit, "s"),
            say("{n}/s", n=text.significant(found.rate[at])) if kept else sortable.MISSING,
            text.count(int(there[at])) if kept else sortable.MISSING,
            f"{found.chips // int(found.size[at])} × {int(found.size[at])}" if kept
            else sortable.MISSING,
        ])  # fmt: skip
    head = [say("TPOT limit"), say("Highest rate"), say("Users"), say("Replicas × chips")]
    return tables.markdown(head, rows, "rrrr")


def _named(answer: Answer, chip: Chip) -> str:
    """A chip, with a mark where its times are not calibrated as others' are."""
    return f"{chip.name} †" if chip.id in answer.uncalibrated else chip.name


def _replicas(one: Candidate) -> str:
    decode = f"{one.replicas} × {one.scenario.n_chips}"
    if one.prefill is None:
        return decode
    return f"{decode} + {one.prefill.replicas} × {one.prefill.scenario.n_chips}"


def every_chip(answer: Answer) -> str:
    """Each chip's best plan, or what stands in its way, the least it reaches, and what it keeps."""
    missing = {one.chip: one for one in answer.obstacles}
    rows = []
    for chip in answer.space.chips:
        best, name = answer.per_chip.get(chip.id), text.plain(_named(answer, chip))
        if best:
            rows.append((best.usd_per_hour, [
                name, _replicas(best), text.usd(best.usd_per_hour),
                words.per_token(answer.ask, best.tpot), words.to_first(answer.ask, best.ttft),
                say(BINDS[best.binds]), "",
            ]))  # fmt: skip
        else:
            rows.append((math.inf, [name, *_missing(missing[chip.id], answer.ask)]))
    rows.sort(key=lambda row: row[0] if row[0] == row[0] else float("1e300"))
    head = [
        say("Chip"), say("Replicas × chips"), say("USD/hour"), "TPOT", "TTFT", say("What binds"),
        say("Limit kept"),
    ]  # fmt: skip
    return tables.markdown(head, [row for _, row in rows], "  rrr  ")


def _missing(one: Obstacle, ask: Ask) -> list[str]:
    """The least that a chip reaches, why it offers no plan, and a link to limits that it keeps."""
    none = sortable.MISSING
    least = [
        told(ask, time) if math.isfinite(time) else none
        for told, time in ((words.per_token, one.tpot), (words.to_first, one.ttft))
    ]
    return [none, none, *least, words.obstacle(one, ask), _kept(one, ask)]


# Limits of an ask by the fields that hold them.
_LIMITS = {"tpot": "tpot_target", "ttft": "ttft_limit"}


def _kept(one: Obstacle, ask: Ask) -> str:
    # Those of classes are changed with the classes.
    looser, changed = {} if ask.classes else one.looser(ask), {}
    for limit, value in looser.items():
        field = FIELDS[_LIMITS[limit]]
        assert isinstance(field, Quantity)
        plain = field.plain(value)
        if field.problem(plain):
            return ""
        changed[field.name] = plain
    if not changed:
        return ""
    told = text.listed(
        [f"{limit.upper()} {text.si(value, 's')}" for limit, value in looser.items()]
    )
    return f"[{told}]({link.other_url(**changed)})"


def chosen(one: Candidate) -> str:
    """The figures of one plan, each with what is meant."""
    ask = one.ask
    rows = [
        [say("Replicas"), say("{exact} needed for {rate}/s", exact=text.significant(one.exact),
                              rate=text.significant(ask.needed)), str(one.replicas)],
        [say("Rate of a replica"),
         say("at {sequences} on average", sequences=text.sequences(one.batch)),
         say("{n}/s", n=text.significant(one.rate))],
        [say("Decode step"), say("no prompt beside it"), text.si(one.step, "s")],
        [say("Longest gap between tokens"), say("a step with a part of a prompt"),
         text.si(one.longest, "s")],
        [say("Prompts lengthen the time per token by"), say("of its mean"),
         text.percent(1 - one.step / one.mean_tpot)],
        [say("Most requests"), say("within the limits, the headroom kept"),
         say("{n}/s", n=text.significant(plan.most_served(one)))],
        *([] if ask.classes else [
            [say("Requests at once"), say("at {rate}/s, waiting ones included",
                                          rate=text.significant(ask.needed)),
             text.round_count(one.present)],
        ]),
        [say("Slots"), say("99th percentile of the sequences there"), text.count(one.slots)],
        [say("Memory in use"), say("by those slots, of what holds sequences"),
         text.percent(one.filled)],
        [say("Reading prompts"), say("of a reader's time; at most {most}",
                                     most=text.percent(ask.most_used)), text.percent(one.used)],
    ]  # fmt: skip
    if one.prefill:
        pool = one.prefill
        rows += [
            [say("A prompt in the prefill pool"), say("{n} replicas of {size}", n=pool.replicas,
                                                      size=pool.scenario.n_chips),
             text.si(pool.reading, "s")],
            [say("Sending its cache"), say("{time} of it not hidden behind reading",
                                           time=text.si(pool.exposed, "s")),
             text.si(pool.sending, "s")],
        ]  # fmt: skip
    return tables.markdown([say("Quantity"), say("What is meant"), say("Value")], rows, "  r")


def proofs(rows: Sequence[Candidate]) -> tables.Table:
    """Closed form beside simulated requests."""
    head = [say("Plan")]
    for name in ("TPOT", "TTFT"):
        percents = [f"{name} p{percent}" for percent in (50, 95, 99)]
        head += [say("{latency}, closed form", latency=name), *percents]
    head.append(say("Within both limits"))
    return tables.table(head, [row for one in rows for row in _proof(one)])


def _proof(one: Candidate) -> list[list[str]]:
    """One row, or one for each class."""
    name = f"{text.plain(one.scenario.chip.name)}, {_replicas(one)}"
    found, none = store.proof(one), [sortable.MISSING] * 3
    times = plan.class_times(one) if one.ask.classes else None
    parts: Sequence[ClassService | Service | None] = (None,)
    if isinstance(found, Proof):
        parts = found.classes or (found.service,)
    rows = []
    for place, part in enumerate(parts):
        tpot, ttft = (times[place].tpot, times[place].ttft) if times else (one.tpot, one.ttft)
        called = f"{name}: {text.plain(times[place].name)}" if times and part else name
        told = [text.si(tpot, "s"), text.si(ttft, "s")] if part or not times else none[:2]
        spread, kept = [none, none], found if isinstance(found, str) else say("not yet")
        if part:
            spread = [
                [text.si(latency.percentiles[percent], "s") for percent in (50, 95, 99)]
                for latency in (part.tpot, part.ttft)
            ]
            kept = say("{share} of requests", share=text.percent(part.good_share))
            if isinstance(found, Proof) and not found.holds:
                kept = say(
                    "{share} of requests: breaks a limit", share=text.percent(part.good_share)
                )
        rows.append([called, told[0], *spread[0], told[1], *spread[1], kept])
    return rows


def offers(one: Candidate, found: Sequence[Offer]) -> str:
    """What APIs ask for the same tokens, the cheapest first."""
    ask = one.ask
    rows = []
    for offer in sorted(found, key=lambda offer: offer.per_request(ask)):
        rate = plan.cheaper_from(one, offer)
        told = say("{n}/s", n=text.significant(rate)) if math.isfinite(rate) else say("at no rate")
        if math.isnan(one.usd_per_hour):
            told = text.unknown()
        rows.append([
            text.plain(offer.provider), text.usd(offer.usd_in), text.usd(offer.usd_out),
            text.usd(offer.per_hour(ask)), told, offer.read, text.plain(offer.source),
        ])  # fmt: skip
    head = [
        say("Provider"), say("USD per M in"), say("USD per M out"),
        say("USD/hour at {rate}/s", rate=text.significant(ask.rate)), say("Plan cheaper from"),
        say("Read on"), say("Source"),
    ]  # fmt: skip
    return tables.markdown(head, rows, " rrrr  ")

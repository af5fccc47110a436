"""Sentences of the Plan page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calc import Chip, plan
from calc.plan import Answer, Ask, Candidate, Obstacle
from calc.plan.moves import LABELS
from calc.plan.pasted import Pasted
from calc.words import inside, marked, say
from pages.ui.writing import text

_BINDS: Mapping[str, str] = {
    "tpot": marked("The time per token is what limits it: {share} of the limit."),
    "ttft": marked("The time to the first token is what limits it: {share} of the limit."),
    "reading": marked(
        "Reading prompts is what limits it: {used} of a reader's time is in use at {rate}/s."
    ),
    "memory": marked("Memory is what limits it: its slots take {share} of what fits."),
    "replicas": marked("Replicas come whole: {exact} would do for {rate}/s, and no limit is near."),
}


def verdict(
    answer: Answer,
    best: Candidate | None,
    refuted: Sequence[Candidate],
    at_bound: Candidate | None,
) -> str:
    """The best plan that stands, what it costs, who is next, and what limits it."""
    if best is None:
        return nothing(answer) if not refuted else broken(refuted)
    ask = answer.ask
    return text.sentences(
        say(
            "{aim} within {limits} for {rate} requests/s: {plan}, {price}{next}.",
            aim=say(plan.OBJECTIVES[ask.objective]).capitalize(),
            limits=limits(ask),
            rate=text.significant(ask.rate),
            plan=machines(best),
            price=prices(best),
            next=_next(answer, best, refuted),
        ),
        apart(answer, best),
        binds(best),
        losses(best, at_bound) if at_bound and not refuted else "",
        broken(refuted) if refuted else "",
    )


def losses(best: Candidate, at_bound: Candidate) -> str:
    """What of the price links and losses are."""
    if best.ask.objective != "usd" or not at_bound.usd_per_hour < best.usd_per_hour:
        return ""
    return say(
        "At the bound it would be {price}: {share} of the price is links and losses.",
        price=text.usd(at_bound.usd_per_hour),
        share=text.percent(1 - at_bound.usd_per_hour / best.usd_per_hour),
    )


# Of plans that a simulation refutes.
_NAMED = 2


def broken(refuted: Sequence[Candidate]) -> str:
    """Plans that break a limit when simulated."""
    others = len(refuted) - _NAMED
    more = text.plural(others, marked("{n} more"), marked("{n} more")) if others > 0 else ""
    return say(
        "Better by closed form, but they break a limit when simulated: {plans}.",
        plans=text.clauses([*map(machines, refuted[:_NAMED]), *([more] if more else [])]),
    )


def limits(ask: Ask) -> str:
    """Both limits, of each class where there are classes, and for whom they hold."""
    if ask.classes:
        told = [
            say("{ttft} and {tpot} of {name}", ttft=text.si(part.ttft, "s"),
                tpot=text.si(part.tpot, "s"), name=text.plain(part.name))
            for part in ask.parts
        ]  # fmt: skip
        whose = say("mean") if ask.chance is None else ask.percentile
        return say("{limits} ({whose})", limits=text.listed(told), whose=whose)
    return say(
        "{ttft} and {tpot} ({whose})",
        ttft=text.si(ask.ttft, "s"),
        tpot=text.si(ask.tpot, "s"),
        whose=say("mean") if ask.chance is None else ask.percentile,
    )


def per_token(ask: Ask, tpot: float) -> str:
    """A time per token; of classes what it takes of the limit of the one that is closest to it."""
    return text.percent(tpot / ask.tpot) if ask.classes else text.si(tpot, "s")


def to_first(ask: Ask, ttft: float) -> str:
    """A time to the first token, or what it takes of its limit, as `per_token`."""
    return text.percent(ttft / ask.ttft) if ask.classes else text.si(ttft, "s")


def machines(one: Candidate) -> str:
    """What is bought and how it is laid out."""
    s = one.scenario
    many = marked("**{n} replicas of {size} × {chip}**")
    single = marked("**{n} replica of {size} × {chip}**")
    what = say(
        single if one.replicas == 1 else many,
        n=one.replicas, size=s.n_chips, chip=text.plain(s.chip.name),
    )  # fmt: skip
    if one.prefill:
        what = say(
            "{decode} and {n} × {size} that read prompts",
            decode=what, n=one.prefill.replicas, size=one.prefill.scenario.n_chips,
        )  # fmt: skip
    return say(
        "{what} ({chips}, {layout})",
        what=what,
        chips=text.plural(one.chips, marked("{n} chip"), marked("{n} chips")),
        layout=text.listed([*widths(one), formats(one)]),
    )


def widths(one: Candidate) -> list[str]:
    """Widths above 1."""
    s = one.scenario
    if s.fidelity == "bound":
        return []
    sizes = {
        "TP": s.tensor_parallel, "DP": s.attention_dp, "EP": s.expert_parallel, "PP": s.pipeline,
    }  # fmt: skip
    return [f"{name} {size}" for name, size in sizes.items() if size > 1]


def formats(one: Candidate) -> str:
    """Weights, cache and compute."""
    s = one.scenario
    ids = (s.stored.id, s.kv_format.id, s.compute_format.id)
    return "/".join(dict.fromkeys(ids))


def prices(one: Candidate) -> str:
    """Of an hour, and of a million tokens in and out."""
    if math.isnan(one.usd_per_hour):
        return say("no price published")
    into, out = one.split
    return say(
        "**{hour} an hour**, {into} per M in and {out} per M out",
        hour=text.usd(one.usd_per_hour),
        into=text.usd(into),
        out=text.usd(out),
    )


def _next(answer: Answer, best: Candidate, refuted: Sequence[Candidate]) -> str:
    other = answer.beside(best, refuted)
    if other is None:
        return say("; no other chip keeps them")
    chip, change = text.plain(other.scenario.chip.name), ""
    if not math.isnan(other.usd_per_hour):
        change = text.change(other.usd_per_hour, best.usd_per_hour)
    if not change:
        return say("; next {chip}", chip=chip)
    return say("; next {chip}, {change}", chip=chip, change=change)


def binds(one: Candidate) -> str:
    """What stops fewer replicas from being enough, as a number."""
    share = one.tightness.get(one.binds, math.nan)
    return say(
        _BINDS[one.binds],
        share=text.percent(share),
        used=text.percent(one.used),
        rate=text.significant(one.ask.needed),
        exact=text.significant(one.exact),
    )


def parts(one: Candidate) -> str:
    """What a token's time and a replica's memory are made of; of classes the memory only."""
    times, held = one.answering, one.memory
    if one.ask.classes:
        return say(
            "Weights take {weights} of a replica's memory, the cache of all slots {cache}, {free} "
            "is free.",
            weights=text.si(held["weights"], "B"), cache=text.si(held["kv_cache"], "B"),
            free=text.si(held["free"], "B"),
        )  # fmt: skip
    return say(
        "A decode step takes {step} of the limit of {limit} a token, prompts add {prompts}, {left} "
        "is left. Weights take {weights} of a replica's memory, the cache of all slots {cache}, "
        "{free} is free.",
        step=text.si(times["step"], "s"), limit=text.si(one.ask.tpot, "s"),
        prompts=text.si(times["prompts"], "s"), left=text.si(times["left"], "s"),
        weights=text.si(held["weights"], "B"), cache=text.si(held["kv_cache"], "B"),
        free=text.si(held["free"], "B"),
    )  # fmt: skip


def nothing(answer: Answer) -> str:
    """No plan: the least that can be reached, and what the next looser limit costs."""
    ask = answer.ask
    reached = [one for one in answer.obstacles if math.isfinite(one.tpot)]
    if not reached:
        return say("No chip that is compared can serve this model: see what each one lacks below.")
    if ask.classes:
        return say("**No chip keeps the limits of every class**: see what each one lacks below.")
    names = {chip.id: text.plain(chip.name) for chip in answer.space.chips}
    late = [one for one in reached if one.kind == "ttft"]
    if len(late) == len(reached):
        first = min(reached, key=lambda one: one.ttft)
        return say(
            "**No chip starts to answer within {limit}**: the least is {chip} with {least}.",
            limit=text.si(ask.ttft, "s"), chip=names[first.chip], least=text.si(first.ttft, "s"),
        )  # fmt: skip
    first = min(reached, key=lambda one: one.within)
    if not math.isfinite(first.within) or first.within <= ask.tpot:
        what = plan.KINDS[reached[0].kind]
        return say("**No plan**: {what}.", what=inside(what))
    told = say(
        "**No chip answers within {limit} a token**: the least is {chip} with {least}.",
        limit=text.si(ask.tpot, "s"), chip=names[first.chip], least=text.si(first.within, "s"),
    )  # fmt: skip
    looser = answer.curve.looser()
    if looser is None:
        return told
    return text.sentences(
        told,
        say(
            "{limit} would be kept from {price} an hour on {chip}.",
            limit=text.si(looser.limit, "s"),
            price=text.usd(looser.usd),
            chip=text.plain(answer.space.chips[looser.chip].name),
        ),
    )


def obstacle(one: Obstacle, ask: Ask) -> str:
    """What stands in a chip's way."""
    if ask.classes and one.kind in ("tpot", "ttft", "both"):
        return inside(plan.KINDS[one.kind])
    if one.kind == "tpot":
        return say("at least {time} a token", time=text.si(one.tpot, "s"))
    if one.kind == "ttft":
        return say("at least {time} to the first token", time=text.si(one.ttft, "s"))
    if one.kind == "both" and math.isfinite(one.within):
        return say(
            "at least {time} a token within {limit} to the first",
            time=text.si(one.within, "s"), limit=text.si(ask.ttft, "s"),
        )  # fmt: skip
    return inside(plan.KINDS[one.kind])


def chip(answer: Answer, one: Chip, letters: int = 60) -> str:
    """A chip's name in a chart, with a mark where its times are not calibrated as others' are."""
    name = text.plain_html(text.shortened(one.name, letters))
    return f"{name} †" if one.id in answer.uncalibrated else name


def apart(answer: Answer, best: Candidate) -> str:
    """The best on a chip that was measured, where the best of all is on one that was not."""
    others = [id for id in answer.served if id not in answer.uncalibrated]
    if best.scenario.chip.id not in answer.uncalibrated or not others:
        return ""
    first = answer.of_chips(answer.served.index(others[0]) + 1)[others[0]]
    return say(
        "Of chips that are calibrated the best is {plan}, {price}.",
        plan=machines(first), price=prices(first),
    )  # fmt: skip


def chips(answer: Answer) -> str:
    """What the cheapest chips cost."""
    found = [one for one in answer.of_chips(4).values() if one.usd_per_hour > 0]
    if not found:
        return say("No chip that keeps the limits has a published price.")
    told = [f"{text.plain(one.scenario.chip.name)} {text.usd(one.usd_per_hour)}" for one in found]
    return say("Cheapest an hour within {limits}: {chips}.", limits=limits(answer.ask),
               chips=text.listed(told))  # fmt: skip


def sizes(answer: Answer) -> str:
    """What the best chip costs by chips of a replica."""
    best = answer.rows[0].scenario.chip
    first: dict[int, Candidate] = {}
    for one in answer.rows:
        if one.scenario.chip.id == best.id and one.usd_per_hour > 0:
            first.setdefault(one.scenario.n_chips, one)
    told = [
        say("{n} a replica: {price}", n=size, price=text.usd(first[size].usd_per_hour))
        for size in sorted(first)
    ]
    return say("Chips of {chip}, {sizes}.", chip=text.plain(best.name),
               sizes=text.clauses(told))  # fmt: skip


def served(answer: Answer, found: plan.Served, one: Candidate, pause: float) -> str:
    """What the chips of a plan serve in one pool at the asked limits, and how many users."""
    at = found.at(answer.ask.tpot)
    chips = f"{found.chips} × {text.plain(one.scenario.chip.name)}"
    if not found.rate[at] > 0:
        return say("{chips} keep {limits} in one pool at no rate.", chips=chips,
                   limits=limits(answer.ask))  # fmt: skip
    return say(
        "{chips} serve at most **{rate} requests/s** in one pool within {limits}, {headroom} "
        "headroom left: **{users} users** who pause {pause} after an answer.",
        chips=chips, rate=text.significant(found.rate[at]), limits=limits(answer.ask),
        headroom=text.percent(answer.ask.headroom), users=text.count(int(found.users(pause)[at])),
        pause=text.si(pause, "s"),
    )  # fmt: skip


def moves(answer: Answer, found: Sequence[plan.Move]) -> str:
    """Which figure changes the price of the best plan most."""
    base = answer.rows[0].usd_per_hour
    told = []
    for move in found:
        prices = [text.usd(one.usd_per_hour) if one else say("no plan") for one in move.plans]
        told.append(
            say("{what}: {half} at half, {twice} at twice", what=inside(LABELS[move.name]),
                half=prices[0], twice=prices[1])
        )  # fmt: skip
    return say("The best plan is {price} an hour; {moves}.", price=text.usd(base),
               moves=text.clauses(told))  # fmt: skip


def pools(answer: Answer, found: plan.PoolSizes) -> str:
    """How large the two pools of a chip are at the limit, and at twice the limit."""
    name = text.plain(answer.space.chips[found.chip].name)

    def told(limit: float) -> str:
        sizes = found.at(limit)
        if sizes is None:
            return say("none within {limit} a token", limit=text.si(limit, "s"))
        prefill, decode = (
            text.plural(int(chips), marked("{n} chip"), marked("{n} chips")) for chips in sizes
        )
        return say(
            "{prefill} that read prompts and {decode} that decode within {limit} a token",
            prefill=prefill, decode=decode, limit=text.si(limit, "s"),
        )  # fmt: skip

    asked = answer.ask.tpot
    if found.at(asked) == found.at(2 * asked):
        return say("Two pools of {chip}: {here}; a looser limit needs as many.", chip=name,
                   here=told(asked))  # fmt: skip
    return say("Two pools of {chip}: {here}; {there}.", chip=name, here=told(asked),
               there=told(2 * asked))  # fmt: skip


def noted(answer: Answer, *, bound: bool) -> list[str]:
    """What to know beside the answer."""
    left = sum(one.kind in ("price", "power") for one in answer.obstacles)
    told = answer.uncalibrated.intersection(answer.served)
    return [
        say(
            "Limits and lengths are those of the classes; their priorities and time-outs count in "
            "simulations only."
        )
        if answer.ask.classes
        else "",
        say(
            "Lengths spread within classes: simulated requests may take twice these times, see "
            "Simulated."
        )
        if answer.ask.classes and answer.ask.spread
        else "",
        say("At the bound every step takes the least that it can: links and losses cost nothing.")
        if bound
        else "",
        say("What formats narrower than the checkpoint's do to quality is not modelled.")
        if any(one.weights for one in answer.space.formats)
        else "",
        text.plural(
            left,
            marked("{n} chip would keep the limits, but has no published price or power."),
            marked("{n} chips would keep the limits, but have no published price or power."),
        )
        if left
        else "",
        text.plural(
            len(told),
            marked("† {n} chip without enough measurements of its kind: timed by operators."),
            marked("† {n} chips without enough measurements of their kind: timed by operators."),
        )
        if told
        else "",
    ]


def _times(one: Candidate) -> list[tuple[str, str, str]]:
    """Time per token and to the first token, of the class that is closest to its limit."""
    rate = say("{n}/s", n=text.significant(one.ask.needed))
    if not one.ask.classes:
        return [
            (
                "TPOT",
                text.si(one.tpot, "s"),
                say("Time per token after the first at {rate}. Formulas F13.1, F13.3.", rate=rate),
            ),
            (
                "TTFT",
                text.si(one.ttft, "s"),
                say("Time to the first token at {rate}, waiting included. Formulas F13.2, F13.3.",
                    rate=rate),
            ),
        ]  # fmt: skip
    times = plan.class_times(one)
    each = max(times, key=lambda time: time.tpot / time.part.tpot)
    first = max(times, key=lambda time: time.ttft / time.part.ttft)
    told = marked("Of {name}, the class closest to its limit, {limit}, at {rate}. Formula F13.7.")
    return [
        ("TPOT", text.si(each.tpot, "s"),
         say(told, name=text.plain(each.name), limit=text.si(each.part.tpot, "s"), rate=rate)),
        ("TTFT", text.si(first.ttft, "s"),
         say(told, name=text.plain(first.name), limit=text.si(first.part.ttft, "s"), rate=rate)),
    ]  # fmt: skip


def headline(one: Candidate) -> list[tuple[str, str, str]]:
    """The figures of the best plan, each with what it means."""
    return [
        (
            say("USD per hour"),
            _usd(one.usd_per_hour),
            say("All chips of all replicas. Formula F13.5."),
        ),
        (
            say("USD per M out"),
            _usd(one.split[1]),
            say("Of a million answer tokens at the rate, what reading prompts takes left out. "
                "Formula F13.5."),
        ),
        (
            say("USD per M in"),
            _usd(one.split[0]),
            say("Of a million prompt tokens: by pool, or by how much prompts lengthen the time per "
                "token. Formula F13.5."),
        ),
        *_times(one),
        (
            say("Token/J"),
            text.significant(one.tokens_per_joule),
            say("Answer tokens at the rate over the power of all chips. Formula F8.13."),
        ),
    ]  # fmt: skip


def _usd(value: float) -> str:
    return text.unknown() if math.isnan(value) else text.usd(value)


def pasted(found: Pasted) -> str:
    """What of a command was understood, and what it left alone."""
    told = say(
        "Read as {engine}: {flags}.",
        engine=plan.ENGINES[found.engine].name, flags=_flags(found.understood),
    )  # fmt: skip
    if not found.left:
        return told
    return text.sentences(told, say("Sets nothing here: {flags}.", flags=_flags(found.left)))


_FLAGS, _LETTERS = 12, 40


def _flags(flags: Sequence[str]) -> str:
    """Flags as they were given, a stranger's words; the first of many."""
    named = [text.plain(text.shortened(flag, _LETTERS)) for flag in flags[:_FLAGS]]
    return text.listed(named) + ("…" if len(flags) > _FLAGS else "")


def pool(one: plan.Launch) -> str:
    """On how many replicas a command is started."""
    told = {
        "both": (marked("On the replica:"), marked("On each of {n} replicas:")),
        "prefill": (
            marked("On the replica that reads prompts:"),
            marked("On each of {n} replicas that read prompts:"),
        ),
        "decode": (
            marked("On the replica that decodes:"),
            marked("On each of {n} replicas that decode:"),
        ),
    }
    return text.plural(one.replicas, *told[one.pool])

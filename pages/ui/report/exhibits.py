"""What the pages have to show, one chart and its sentence at a time, for a screen or a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from calc import (
    Scenario,
    decode,
    memory,
    precision,
    prefill,
    roofline,
    serving,
    sharding,
    variants,
)
from calc.words import marked, say
from pages.ui.capacity import figures as capacity_figures
from pages.ui.charts import frontiers, kit
from pages.ui.compare import words as compare_words
from pages.ui.cost import figures as cost_figures
from pages.ui.cost import words as cost_words
from pages.ui.decode import view as decode_view
from pages.ui.decode import words as decode_words
from pages.ui.frame import link, pinned
from pages.ui.frame.pinned import Contender
from pages.ui.frame.presentation import SLIDES
from pages.ui.kv_cache import view as kv_view
from pages.ui.kv_cache import words as kv_words
from pages.ui.prefill import figures as prefill_figures
from pages.ui.prefill import words as prefill_words
from pages.ui.quantization import tables as quantization_tables
from pages.ui.quantization import words as quantization_words
from pages.ui.serving import figures as service_figures
from pages.ui.serving import traces
from pages.ui.serving import view as service_view
from pages.ui.serving import words as service_words
from pages.ui.sharding import figures as sharding_figures
from pages.ui.sharding import words as sharding_words
from pages.ui.speculative import view as speculation_view
from pages.ui.speculative import words as speculation_words
from pages.ui.writing import tables, text
from presets import formats, models


@dataclass(frozen=True)
class Exhibit:
    """A chart, what it says for a reader who cannot see it, and the verdict beside it.

    No chart where there is nothing to draw: then the sentence says why.
    """

    sentence: str
    chart: kit.Chart | None
    alt: str


@dataclass(frozen=True)
class Subject:
    """What is shown: the sidebar's scenario, and beside it those that are pinned.

    `service` simulates its traffic, and raises a ServingError where that cannot be.
    """

    scenario: Scenario
    contenders: Sequence[Contender]
    service: Callable[[], service_view.View]

    @classmethod
    def of(cls, scenario: Scenario) -> Subject:
        """With the pins and the traffic that the link holds."""
        return cls(
            scenario,
            pinned.contenders(scenario)[0],
            lambda: service_view.view(scenario, link.widget_values(), traces.given()),
        )

    def offered(self) -> list[str]:
        """The exhibits that there is something to show for."""
        return [id for id in EXHIBITS if id != "compare" or len(self.contenders) > 1]


@dataclass(frozen=True)
class Entry:
    """A title, marked for translation, and how its exhibit is made."""

    title: str
    build: Callable[[Subject], Exhibit]


def _decode(s: Scenario, chart: str) -> tuple[decode.StepTime, str, kit.Chart]:
    step, largest = decode.step_time(s), int(memory.max_batch(s))
    landmarks = decode_view.Landmarks.of(s, log=True)
    sweep = decode_view.Sweep.over(s, decode_view.batches(s, largest, landmarks))
    drawn = decode_view.view(s, step, sweep, largest, landmarks).charts[chart]
    sentence = decode_words.verdict(s, step, largest, landmarks.compute_bound_from)
    return step, sentence, drawn


def _step(subject: Subject) -> Exhibit:
    s = subject.scenario
    step, sentence, chart = _decode(s, "step-time")
    return Exhibit(sentence, chart, tables.step_sentence(step))


def _frontier(subject: Subject) -> Exhibit:
    s = subject.scenario
    step, _, chart = _decode(s, "frontier")
    sentence = say(
        "At batch {batch:,} a sequence gets a token every **{time}**, and a chip makes **{rate}** "
        "tokens per second.",
        batch=s.batch,
        time=text.si(float(step.total), "s"),
        rate=text.rate(float(step.throughput_per_chip)),
    )
    return Exhibit(sentence, chart, tables.memory_sentence(memory.ledger(s)))


def _kv_cache(subject: Subject) -> Exhibit:
    s = subject.scenario
    plain = replace(s, fidelity="bound")
    beside = {
        models[id].name: models[id]
        for id in ("deepseek-v3", "gemma-3-27b", "gpt-oss-120b")
        if id != s.model.id
    }
    curves = kv_view.Curves.of(plain, {**variants.compare(s.model), **beside})
    return Exhibit(
        kv_words.verdict(plain, int(memory.max_batch(s))),
        kv_view.chart(plain, curves),
        say("KV cache per sequence against context for the variants and the chosen models."),
    )


def _prefill(subject: Subject) -> Exhibit:
    s = subject.scenario
    reading = prefill.prompt_time(s)
    time = text.si(float(reading.total), "s")
    return Exhibit(
        prefill_words.verdict(s, reading),
        prefill_figures.against_prompt(s, float(reading.total)),
        say("Time to read a prompt against its length; {time} here.", time=time),
    )


def _sharding(subject: Subject) -> Exhibit:
    s = subject.scenario
    linked = sharding.with_links(s)
    step = decode.step_time(linked)
    return Exhibit(
        sharding_words.verdict(linked, step),
        sharding_figures.against_width(linked),
        say(
            "Step time against tensor-parallel width; {time} in this layout.",
            time=text.si(float(step.total), "s"),
        ),
    )


def _capacity(subject: Subject) -> Exhibit:
    s = subject.scenario
    held = memory.ledger(s)
    largest = int(memory.max_batch(s))
    return Exhibit(
        text.sentences(
            tables.memory_sentence(held),
            say("It holds **{n:,}** sequences of {tokens:,} tokens.", n=largest, tokens=s.context),
        ),
        capacity_figures.against_context(s, largest, roofline.compute_bound_batch(s)),
        say("Sequences that memory holds against context; {n:,} at this context.", n=largest),
    )


def _quantization(subject: Subject) -> Exhibit:
    s = subject.scenario
    changed = {
        switch: precision.switched(s, switch, formats[precision.suggestion(s, switch, formats)])
        for switch in precision.SWITCHES
    }
    now, then = precision.figures(s), {key: precision.figures(one) for key, one in changed.items()}
    names = quantization_tables.names(changed)
    drawn = {say("now"): s, **{names[switch]: one for switch, one in changed.items()}}
    curves = [frontiers.Curve.of(Contender(name, one, {})) for name, one in drawn.items()]
    return Exhibit(
        quantization_words.verdict(s, changed, now, then),
        frontiers.frontiers(curves, []),
        say("The frontiers of all scenarios: {names}.", names=text.listed(drawn)),
    )


def _cost(subject: Subject) -> Exhibit:
    s = subject.scenario
    step, largest = decode.step_time(s), int(memory.max_batch(s))
    rate = prefill.prompt_rate(s, float(prefill.prompt_time(s).total))
    end = decode.sweep_end(s, largest, roofline.compute_bound_batch(s))
    batches = decode.batch_sweep(end, [largest, s.batch])
    return Exhibit(
        cost_words.verdict(s, step, rate),
        cost_figures.frontier(s, batches, largest, money=True),
        say("USD per million output tokens against time per token."),
    )


def _serving(subject: Subject) -> Exhibit:
    try:
        view = subject.service()
    except serving.ServingError as error:
        return Exhibit(service_words.cannot(str(error)), None, "")
    shown = view.shown
    if shown is None:
        problem = view.problems.get(view.setup.shown, say("Its simulation was stopped."))
        return Exhibit(service_words.cannot(problem), None, "")
    if not shown.run.finished.any():
        return Exhibit(service_words.verdict(view, shown), None, "")
    return Exhibit(
        service_words.verdict(view, shown),
        service_figures.distribution(
            view.outcomes, lambda run: run.ttft, say("Time to first token (s)"),
            view.setup.limits.ttft,
        ),
        say("Share of requests within a time to first token, for all policies."),
    )  # fmt: skip


def _speculation(subject: Subject) -> Exhibit:
    s = subject.scenario
    timed = speculation_view.Timed.of(s)
    best = speculation_view.best_here(timed, s.acceptance)
    return Exhibit(
        speculation_words.verdict(s, timed.here, best, timed.free),
        speculation_view.view(s, timed).charts["speed-batch"],
        say("Speed-up against batch at several contexts."),
    )


def _compare(subject: Subject) -> Exhibit:
    contenders = subject.contenders
    curves = [frontiers.Curve.of(one) for one in contenders]
    names = text.listed(one.name for one in contenders)
    return Exhibit(
        compare_words.verdict(contenders, compare_words.figures_of(contenders), 0),
        frontiers.frontiers(curves, []),
        say("The frontiers of all scenarios: {names}.", names=names),
    )


EXHIBITS: Mapping[str, Entry] = {
    "decode": Entry(marked("How long is one decode step?"), _step),
    "frontier": Entry(marked("How does latency trade for throughput?"), _frontier),
    "capacity": Entry(marked("Does it fit, and on how many?"), _capacity),
    "kv-cache": Entry(marked("How large is the KV cache?"), _kv_cache),
    "prefill": Entry(marked("How long until the first token?"), _prefill),
    "sharding": Entry(marked("How wide may it be sharded?"), _sharding),
    "quantization": Entry(marked("What does precision buy?"), _quantization),
    "cost": Entry(marked("What does a million tokens cost?"), _cost),
    "serving": Entry(marked("What does the service keep?"), _serving),
    "speculation": Entry(marked("Does speculative decoding pay?"), _speculation),
    "compare": Entry(marked("Which is better, and why?"), _compare),
}

assert tuple(EXHIBITS) == SLIDES

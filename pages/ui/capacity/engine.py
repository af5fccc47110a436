"""The engine's view: what a paged engine makes of the memory, and what its log says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import streamlit as st

from calc import Scenario, engine_log, pool
from calc.words import marked, say
from pages.ui.frame import taking
from pages.ui.frame.page import View
from pages.ui.frame.presentation import BY_NAME as FIELDS
from pages.ui.writing import fit, reference, tables, text

LENGTH, CHUNK, SLOTS, LOG = "eng-len", "eng-chunk", "eng-slots", "eng-log"
_MOST_LETTERS = 400_000


@dataclass(frozen=True)
class Asked:
    """What the tab's controls hold; what they leave out is the scenario's or the engine's own."""

    longest: int
    chunk: int
    slots: int

    @classmethod
    def of(cls, view: View) -> Asked:
        """Of the page's controls."""
        s = view.scenario
        return cls(
            view.chosen(LENGTH, None) or s.context,
            view.chosen(CHUNK, None) or pool.CHUNK,
            view.chosen(SLOTS, None) or pool.slots_by_default(s),
        )


def section(view: View) -> None:
    """Controls, the pool beside steady decoding, the engine's own memory, and its log."""
    s = view.scenario
    _controls(s)
    asked = Asked.of(view)
    why = pool.reason(s)
    if why:
        st.markdown(fit.no_pool(why))
    else:
        found = pool.of(s, asked.longest, asked.chunk)
        st.markdown(fit.promised(found))
        with st.grid(2, min_column_width=400):
            st.table(_limits(found), hide_index=True)
            st.table(_chip(found), hide_index=True)
        st.caption(_caption(s, found))
    _own(s, asked)
    _log(s, asked)


def _controls(s: Scenario) -> None:
    with st.container(horizontal=True):
        st.number_input(
            say("Longest request"), 1, 2**24, None, key=LENGTH, persist_state="session",
            placeholder=f"{s.context:,}",
            help=say("max_model_len of the engine, in tokens; empty takes the context."),
        )  # fmt: skip
        st.number_input(
            say("Token budget of a step"), 1, 2**20, None, key=CHUNK, persist_state="session",
            placeholder=f"{pool.CHUNK:,}",
            help=say("max_num_batched_tokens; SGLang: chunked_prefill_size."),
        )  # fmt: skip
        st.number_input(
            say("Sequences at most"), 1, 65536, None, key=SLOTS, persist_state="session",
            placeholder=f"{pool.slots_by_default(s):,}",
            help=say("max_num_seqs; the sampler's memory grows with it."),
        )  # fmt: skip


def _gib(size: float) -> str:
    return f"{size / 2**30:,.2f} GiB".replace("-", "−")


def _many(sequences: float) -> str:
    return f"{sequences:,.2f}"


def _limits(found: pool.Pool) -> tables.Table:
    """Both limits, by name."""
    rows = [
        [say("engine's maximum concurrency"), _many(found.concurrency),
         say("every request as long and in the middle of its prompt")],
        [say("steady state"), _many(found.steady),
         say("every sequence decoding, windows no fuller than they stay")],
    ]  # fmt: skip
    head = [say("Limit"), say("Requests of {n:,} tokens", n=found.longest), say("When")]
    return tables.table(head, rows)


def _chip(found: pool.Pool) -> tables.Table:
    """What one chip's memory is spent on, and how its cache is cut."""
    cut = found.pages
    rows = [
        [say("Share that the engine may use"), _gib(found.budget)],
        [say("Weights"), _gib(found.weights)],
        [say("Tables and padding beside them"), _gib(found.loaded)],
        [say("The engine itself"), _gib(found.own)],
        [say("Left for the cache"), _gib(found.cache)],
        [say("Blocks of {n:,} tokens, {size} each", n=cut.block, size=text.si(cut.bytes, "B")),
         text.count(found.blocks)],
        [say("Blocks that a request may hold"), text.count(cut.held)],
        [say("KV tokens"), text.count(found.tokens)],
    ]  # fmt: skip
    if found.tokens_of_longest < 0.98 * found.tokens or found.tokens < found.tokens_of_longest:
        rows.append([say("KV tokens, vLLM from 0.25"), text.count(found.tokens_of_longest)])
    return tables.table([say("On each chip"), say("Value")], rows)


def _caption(s: Scenario, found: pool.Pool) -> str:
    cut = found.pages
    grouped = (
        say(
            "Layers draw pages in {groups} groups of {layers}.",
            groups=cut.groups,
            layers=cut.layers,
        )
        if cut.groups > 1
        else ""
    )
    apart = (
        say("Each of the {n:,} groups of chips has such a pool.", n=found.replicas)
        if found.replicas > 1
        else ""
    )
    split = (
        say(
            "Shared evenly by all chips, as fidelity bound has it; fidelity operators counts the "
            "copies of KV heads that engines keep beyond their number."
        )
        if s.fidelity == "bound" and s.n_chips > 1
        else ""
    )
    block = say("The block is Cache block in the sidebar.")
    return text.sentences(grouped, apart, split, block, reference.linked("F2.13, F6.5"))


def _use(own: float) -> None:
    """Take it for the runtime memory, in the field's unit."""
    field = FIELDS["runtime_memory"]
    taking.use({field.name: min(round(own / 1e9, 1), 64.0)})


def _own(s: Scenario, asked: Asked) -> None:
    """The estimate of what the engine takes, and the button that takes it."""
    own = pool.own_memory(s, asked.chunk, asked.slots)
    low, high = pool.SPREAD
    st.markdown(
        say(
            "**The engine itself** takes an estimated {total} on each chip: {activations} for "
            "activations at their peak, {beside} outside the framework. 20 start-ups of vLLM 0.19 "
            "on H100 took {low:g} to {high:g} times the estimate, mixtures of 120 to 235 billion "
            "parameters up to {worst:g} times.",
            total=_gib(own.total),
            activations=_gib(own.activations),
            beside=_gib(own.beside),
            low=low,
            high=high,
            worst=pool.WORST,
        )
    )
    st.button(
        say("Set runtime memory to {gb:.1f} GB", gb=own.total / 1e9),
        key="eng-own",
        on_click=_use,
        args=(own.total,),
    )


def _log(s: Scenario, asked: Asked) -> None:
    """Start-up lines, what they say, and what sets them apart from what is counted here."""
    pasted = st.text_area(
        say("Start-up lines of an engine"),
        key=LOG,
        height=120,
        max_chars=_MOST_LETTERS,
        persist_state="session",
        help=say("Of vLLM, SGLang, TensorRT-LLM or llama.cpp, with all that stands around them."),
    )
    if not (pasted or "").strip():
        return
    try:
        log = engine_log.read(pasted)
    except engine_log.EngineLogError as error:
        st.warning(say("{reason}.", reason=text.plain(str(error))))
        return
    if not pool.reason(s):
        _compared(_as_logged(s, asked, log), log)
    st.caption(text.sentences(_understood(log), *log.assumed))
    st.code("\n".join(dict.fromkeys(log.found.values())), language=None, wrap_lines=True)


def _as_logged(s: Scenario, asked: Asked, log: engine_log.Reading) -> pool.Pool:
    """The pool for the length, budget and block that the log names, or else those asked for."""

    def told(value: float, otherwise: int) -> int:
        return otherwise if math.isnan(value) else max(1, int(value))

    block = min(told(log.block, s.kv_block), 4096)
    return pool.of(
        replace(s, kv_block=block), told(log.longest, asked.longest), told(log.chunk, asked.chunk)
    )


def _compared(ours: pool.Pool, log: engine_log.Reading) -> None:
    """Ours beside the log's, with what explains the difference."""
    st.markdown(text.sentences(_heading(log, ours), *_why(ours, log)))
    rows = engine_log.beside(ours, log)
    st.table(_beside(rows), hide_index=True)
    own = next((row.log for row in rows if row.name == "own"), 0.0)
    if own > 0:
        st.button(
            say("Set runtime memory to the log's {gb:.1f} GB", gb=own / 1e9),
            key="eng-log-own",
            on_click=_use,
            args=(own,),
        )


_ROWS = {
    "budget": marked("Share that the engine may use"),
    "weights": marked("Weights as loaded"),
    "own": marked("The engine itself"),
    "cache": marked("Left for the cache"),
    "tokens": marked("KV tokens"),
    "concurrency": marked("Maximum concurrency"),
}


def _heading(log: engine_log.Reading, ours: pool.Pool) -> str:
    return say(
        "**{engine}**, one chip, requests of {n:,} tokens.", engine=log.engine, n=ours.longest
    )


def _beside(found: list[engine_log.Beside]) -> tables.Table:
    rows = []
    for row in found:
        written = {"tokens": text.count, "concurrency": _many}.get(row.name, _gib)
        change = text.change(row.log, row.ours) if row.ours > 0 else ""
        rows.append([say(_ROWS[row.name]), written(row.ours), written(row.log), change])
    head = [say("Figure"), say("Counted here"), say("In the log"), say("Difference")]
    return tables.table(head, rows)


_CAUSES = {
    "budget": marked("{size} by the memory that it may use"),
    "weights": marked("{size} by the weights that it loaded"),
    "own": marked("{size} by what the engine takes itself"),
    "rest": marked("{size} by what its lines do not say"),
}


def _why(ours: pool.Pool, log: engine_log.Reading) -> list[str]:
    """What explains the difference, the largest part first."""
    said = []
    parts = {k: v for k, v in engine_log.causes(ours, log).items() if abs(v) >= 0.01 * 2**30}
    if parts:
        largest_first = sorted(parts.items(), key=lambda part: -abs(part[1]))
        causes = text.listed(say(_CAUSES[name], size=_signed(size)) for name, size in largest_first)
        said.append(
            say(
                "Its cache is {size} against what is counted here: {causes}.",
                size=_signed(log.cache - ours.cache),
                causes=causes,
            )
        )
    each, counted = engine_log.bytes_per_request(log), ours.pages.held * ours.pages.bytes
    if not math.isnan(each) and abs(each / counted - 1) > 0.02:
        said.append(
            say(
                "A longest request takes {log} on a chip there and {ours} here: the model, the KV "
                "format or the layout is another one.",
                log=text.si(each, "B"),
                ours=text.si(counted, "B"),
            )
        )
    return said


def _signed(size: float) -> str:
    return f"{'+' if size >= 0 else ''}{_gib(size)}"


def _understood(log: engine_log.Reading) -> str:
    """All that was read."""
    kinds = {"concurrency": _many, "share": text.percent}
    told = text.listed(
        f"{say(engine_log.FIGURES[name])} "
        f"{(_gib if name in engine_log.BYTES else kinds.get(name, text.count))(value)}"
        for name, value in log.figures().items()
    )
    return say("Understood: {figures}.", figures=told)

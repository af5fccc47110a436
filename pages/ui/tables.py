"""Tables and sentences that say in text what the charts show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from calc import Chip, Model, Scenario, memory, metrics, paging, speculative
from calc.attention import Attention, Limited, PerToken, SparseTopK
from calc.decode import StepTime
from calc.explain import EXPLANATIONS
from calc.levers import Lever, Outcome
from calc.memory import Ledger
from calc.state_space import ConstantState
from calc.variants import caching_layers
from pages.ui import palette, text


def step_sentence(step: StepTime) -> str:
    """What the step is made of, and what is hidden behind it."""
    charged = {name: float(term) for name, term in step.charged().items()}
    full = {name: float(getattr(step, name)) for name in charged}
    parts = _listed({name: term for name, term in charged.items() if term != 0})
    hidden = {name: full[name] - term for name, term in charged.items() if full[name] > term}
    unpaid = hidden.pop("attention_compute", 0.0) if not charged["attention_compute"] else 0.0
    behind = f" Hidden behind it: {_listed(hidden)}." if hidden else ""
    if any(operator.read_only for operator in step.work.operators):
        return (
            f"Step: {parts}.{behind} Not charged at this fidelity: "
            f"attention FLOPs {text.si(full['attention_compute'], 's')}."
        )
    if unpaid:
        behind = f" Hidden behind it: {_listed({**hidden, 'attention_compute': unpaid})}."
    return f"Step: {parts}.{behind}"


def _listed(terms: Mapping[str, float]) -> str:
    return ", ".join(
        f"{palette.QUANTITIES[name].label} {text.si(term, 's')}" for name, term in terms.items()
    )


def operators_sentence(step: StepTime) -> str:
    """Each operator with its time and the side that binds it."""
    return "; ".join(
        f"{row.name} {text.si(row.time, 's')}, {'compute' if row.compute_bound else 'memory'}-bound"
        for row in step.work.by_name()
    )


def utilisation_sentence(scenario: Scenario, step: StepTime) -> str:
    """What of memory's and of the chips' speed the step uses."""
    return (
        f"MBU {text.percent(float(metrics.mbu(scenario, step)))}, "
        f"MFU {text.percent(float(metrics.mfu(scenario, step)))}."
    )


def memory_sentence(held: Ledger) -> str:
    """What the memory holds, and what is free or missing."""
    room = (
        f"free {text.si(held.free, 'B')}"
        if held.free >= 0
        else f"missing {text.si(-held.free, 'B')}"
    )
    kept = "".join(
        f", {palette.QUANTITIES[name].label} {text.si(size, 'B')}"
        for name, size in held.parts().items()
        if name in ("activations", "runtime", "reserved") and size
    )
    return (
        f"Memory: weights {text.si(held.weights, 'B')}, KV cache {text.si(held.kv_cache, 'B')}, "
        f"{room}{kept}, of {text.si(held.total, 'B')}."
    )


Table = dict[str, list[str]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Columns by heading, for Streamlit's own table: it scrolls where a phone is too narrow."""
    return {name: list(cells) for name, cells in zip(head, zip(*rows, strict=True), strict=True)}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: str = "") -> str:
    """A Markdown table; `numbers` has an ``r`` for each column to align right.

    It redraws many times faster than Streamlit's table of the same cells.
    """
    rows = list(rows)
    assert all(len(row) == len(head) for row in rows), head
    rule = ["---:" if i < len(numbers) and numbers[i] == "r" else "---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def symbols(scenario: Scenario) -> list[list[str]]:
    """The symbols that formulas are written in, each once."""
    seen: dict[str, list[str]] = {}
    shown = {entry.symbol for entry in EXPLANATIONS.values()}
    for entry in EXPLANATIONS.values():
        for symbol in entry.build(scenario).symbols():
            seen.setdefault(symbol.name, [f"${symbol.name}$", symbol.meaning, symbol.unit, ""])
    return [row for name, row in seen.items() if "_{" not in name and name not in shown]


def chip_facts(chip: Chip) -> list[list[str]]:
    """Each published figure of a chip with its source; what is absent is said to be."""
    figures = {
        "memory": text.si(chip.memory, "B"),
        "bandwidth": text.si(chip.bandwidth, "B/s"),
        **{f"{rate} peak": text.si(peak, "FLOP/s") for rate, peak in chip.peaks.items()},
        "link_one_way": text.si(chip.link_one_way, "B/s"),
        "link_two_way": text.si(chip.link_two_way, "B/s"),
        "chips_per_node": text.count(chip.chips_per_node or float("nan")),
        "slices": ", ".join(map(str, chip.slices)) or text.UNKNOWN,
        "power": text.si(chip.power, "W"),
        "price": f"{text.usd(chip.price.usd_per_hour)} per hour" if chip.price else text.UNKNOWN,
        **{
            f"price {i}": f"{text.usd(price.usd_per_hour)} per hour, also printed"
            for i, price in enumerate(chip.other_prices, 2)
        },
    }
    return [
        [name.replace("_", " "), text.plain(value), text.plain(chip.sources.get(name, ""))]
        for name, value in figures.items()
    ]


def model_facts(scenario: Scenario) -> list[list[str]]:
    """Counts of a model, exact."""
    model, kv = scenario.model, scenario.kv_format
    per_token = model.kv_bytes_per_token(kv)
    return [
        ["Parameters", text.count(model.total_params)],
        ["Active per token, input embedding left out", text.count(model.active_params)],
        [
            "Active per token, input embedding counted",
            text.count(model.active_params_with_embedding),
        ],
        ["Layers", text.count(model.layers)],
        [f"KV cache per token, {kv.id}", f"{per_token:,.0f} B ({per_token / 1024:,.1f} KiB)"],
        ["Longest context", text.count(model.max_context or float("nan"))],
    ]


def levers(now: Outcome, pulled: Sequence[Lever]) -> str:
    """The levers table: each figure with its change against now."""
    head = ["Lever", "Time per step", "Token/s per chip", "Largest batch", "USD / Mtok"]
    rows = [["**Now**", *_cells(now, now)]]
    for lever in pulled:
        cells = _cells(lever.outcome, now) if lever.outcome else [lever.why_not, "", "", ""]
        rows.append([lever.label, *cells])
    return markdown(head, rows, " rrrr")


def _cells(outcome: Outcome, now: Outcome) -> list[str]:
    figures = (
        (text.si(outcome.step_time, "s"), outcome.step_time, now.step_time),
        (
            text.rate(outcome.throughput_per_chip),
            outcome.throughput_per_chip,
            now.throughput_per_chip,
        ),
        (text.count(outcome.max_batch), outcome.max_batch, now.max_batch),
        (
            text.usd(outcome.usd_per_million_tokens),
            outcome.usd_per_million_tokens,
            now.usd_per_million_tokens,
        ),
    )
    cells = []
    for words, value, before in figures:
        shift = "" if value == before else text.change(value, before)
        cells.append(text.plain(f"{words} ({shift})" if shift else words))
    if not outcome.fits:
        cells[2] += ", does not fit"
    return cells


def variants(scenario: Scenario, compared: Mapping[str, Model]) -> Table:
    """Each attention kind: its cache, against MHA, what fits, what is read."""
    kv, context = scenario.kv_format, scenario.context
    many = compared.get("MHA", scenario.model)
    whole = float(many.kv_bytes(context, kv))
    rows = []
    for name, model in compared.items():
        s = replace(scenario, model=model)
        held = float(model.kv_bytes(context, kv))
        rows.append(
            [
                text.plain(name),
                text.kibibytes(model.kv_bytes_per_token(kv) / caching_layers(model)),
                text.kibibytes(model.kv_bytes_per_token(kv)),
                text.si(held, "B"),
                f"1 / {text.significant(whole / held)}" if held else "",
                text.si(float(model.kv_bytes_read(context, kv)), "B"),
                text.count(int(memory.max_batch(s))),
            ]
        )
    head = ["Attention", "Per token and layer", "Per token", "Kept per sequence", "Against MHA",
            "Read per step", "Sequences that fit"]  # fmt: skip
    return table(head, rows)


def layer_groups(scenario: Scenario) -> Table:
    """Each group of equal layers: what it caches and what it reads."""
    kv, context = scenario.kv_format, scenario.context
    rows = []
    for block in scenario.model.blocks:
        attention = block.attention
        rows.append(
            [
                text.plain(attention.label),
                text.count(block.count),
                _elements(attention),
                text.kibibytes(attention.kv_bytes_per_token(kv)),
                text.si(float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes_read(context, kv)), "B"),
            ]
        )
    head = ["Layers", "Count", "Elements per token", "Per token and layer", "Kept per layer",
            "Kept in all", "Read per step"]  # fmt: skip
    return table(head, rows)


def _elements(attention: Attention) -> str:
    """Cached elements of one token as the product they are."""
    core = attention
    while isinstance(core, (Limited, SparseTopK)):
        core = core.inner
    if not isinstance(core, PerToken):
        return "constant" if isinstance(core, ConstantState) else ""
    index = f" + {attention.index_dim} index" if isinstance(attention, SparseTopK) else ""
    return f"{core.kv_elements_written}{index}"


def paging_rows(scenario: Scenario, mean: int, longest: int, block: int) -> list[list[str]]:
    """Contiguous reservation and blocks: use, waste, and what the waste weighs."""
    each = scenario.model.kv_bytes_per_token(scenario.kv_format)
    contiguous = float(paging.contiguous_utilisation(min(mean, longest), longest))
    paged = float(paging.paged_utilisation(mean, block))
    groups, size = paging.layer_groups(scenario.model)
    unused = longest - min(mean, longest)
    expected, worst = paging.expected_waste(block), paging.worst_waste(block)

    def row(name: str, share: str, tokens: float) -> list[str]:
        return [name, share, f"{tokens:,g} tokens", text.si(tokens * each, "B")]

    return [
        row("Contiguous, longest length reserved", f"{100 * contiguous:.1f} %", unused),
        row(f"Blocks of {block}, on average", f"{100 * paged:.1f} %", expected),
        row(f"Blocks of {block}, at worst", "", worst),
        ["Layer groups paged together", f"{groups} of {size} layers", "", ""],
    ]


def paging_table(scenario: Scenario, mean: int, longest: int, block: int) -> str:
    """`paging_rows` as a table."""
    head = ["Reservation", "In use", "Empty per sequence", "Empty bytes"]
    return markdown(head, paging_rows(scenario, mean, longest, block), " rrr")


def speculation_budget(scenario: Scenario, cycle: speculative.Cycle, cost_ratio: float) -> str:
    """What a thousand tokens take with and without drafting."""
    s, per_check = scenario, float(cycle.tokens)
    draft_flops = s.draft.active_params / s.model.active_params if s.draft else 0.0
    factor = float(speculative.operations_factor(s.acceptance, s.n_draft, draft_flops))
    reported = (
        f"{float(speculative.reported_acceptance(s.acceptance, s.n_draft)):.2f}"
        if s.n_draft
        else ""
    )
    rows = [
        ["Target passes for 1,000 tokens", "1,000", text.count(1000 / per_check)],
        ["Draft passes for 1,000 tokens", "0", text.count(1000 * s.n_draft / per_check)],
        ["Weight and cache reads of the target", "1", text.significant(1 / per_check)],
        ["FLOPs per token, draft included" if s.draft else "Target FLOPs per token", "1",
         text.times(factor)],
        ["Time of one round", text.si(float(cycle.plain), "s"),
         text.si(float(cycle.draft + cycle.verify), "s")],
        ["of which drafting", "", text.si(float(cycle.draft), "s")],
        ["of which verifying", "", text.si(float(cycle.verify), "s")],
        ["Accepted over drafted, as engines print it", "", reported],
        ["Cost of a draft step", "", text.times(cost_ratio)],
    ]  # fmt: skip
    return markdown(["Per target model", "Plain", "With drafting"], rows, " rr")

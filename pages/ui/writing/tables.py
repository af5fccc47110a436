"""Tables and sentences that say in text what the charts show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from calc import Chip, Model, Scenario, memory, metrics, paging, speculative
from calc.decode import StepTime
from calc.explain import EXPLANATIONS
from calc.layout import Layout
from calc.memory import Ledger
from calc.variants import caching_layers
from calc.words import say
from pages.ui.writing import text


def summary(scenario: Scenario) -> str:
    """The scenario in one line."""
    s = scenario
    words = say(
        "{model} · {n:,} × {chip} · {weights} weights, {kv} KV, {compute} compute · "
        "batch {batch:,} · context {context:,} tokens · {usable:.0%} of memory · "
        "fidelity: {fidelity}",
        model=s.model.name,
        n=s.n_chips,
        chip=s.chip.name,
        weights=s.stored.id,
        kv=s.kv_format.id,
        compute=s.compute_format.id,
        batch=s.batch,
        context=s.context,
        usable=s.usable_memory,
        fidelity=text.listed([s.fidelity, *_widths(s)]),
    )
    return text.plain(words)


def _widths(s: Scenario) -> list[str]:
    """The layout, where it matters."""
    if s.fidelity == "bound":
        return []
    chosen = Layout.of(s)
    sizes = {"TP": chosen.tp, "DP": chosen.dp, "EP": chosen.ep, "PP": chosen.pp}
    return [f"{name} {int(size)}" for name, size in sizes.items() if size > 1]


def step_sentence(step: StepTime) -> str:
    """What the step is made of, and what is hidden behind it."""
    charged = {name: float(term) for name, term in step.charged().items()}
    full = {name: float(getattr(step, name)) for name in charged}
    parts = _listed({name: term for name, term in charged.items() if term != 0})
    hidden = {name: full[name] - term for name, term in charged.items() if full[name] > term}
    unpaid = hidden.pop("attention_compute", 0.0) if not charged["attention_compute"] else 0.0
    made = say("Step: {terms}.", terms=parts)
    if any(operator.read_only for operator in step.work.operators):
        return text.sentences(
            made,
            _hidden(hidden),
            say(
                "Not charged at this fidelity: attention FLOPs {time}.",
                time=text.si(full["attention_compute"], "s"),
            ),
        )
    if unpaid:
        hidden["attention_compute"] = unpaid
    return text.sentences(made, _hidden(hidden))


def _listed(terms: Mapping[str, float]) -> str:
    return text.quantities(terms, "s")


def _hidden(terms: Mapping[str, float]) -> str:
    return say("Hidden behind it: {terms}.", terms=_listed(terms)) if terms else ""


def operators_sentence(step: StepTime) -> str:
    """Each operator with its time and the side that binds it."""
    return text.clauses(
        say("{name} {time}, compute-bound", name=say(row.name), time=text.si(row.time, "s"))
        if row.compute_bound
        else say("{name} {time}, memory-bound", name=say(row.name), time=text.si(row.time, "s"))
        for row in step.work.by_name()
    )


def utilisation_sentence(scenario: Scenario, step: StepTime) -> str:
    """What of memory's and of the chips' speed the step uses."""
    return say(
        "MBU {mbu}, MFU {mfu}.",
        mbu=text.percent(float(metrics.mbu(scenario, step))),
        mfu=text.percent(float(metrics.mfu(scenario, step))),
    )


def memory_sentence(held: Ledger) -> str:
    """What the memory holds, and what is free or missing."""
    others = {
        name: size
        for name, size in held.parts().items()
        if name in ("activations", "runtime", "reserved") and size
    }
    parts = [
        text.quantities({"weights": held.weights, "kv_cache": held.kv_cache}, "B"),
        text.quantities({"free": held.free}, "B")
        if held.free >= 0
        else say("missing {size}", size=text.si(-held.free, "B")),
        *(text.quantities({name: size}, "B") for name, size in others.items()),
    ]
    return say(
        "Memory: {parts}, of {total}.", parts=text.listed(parts), total=text.si(held.total, "B")
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
            words = [say(symbol.meaning), say(symbol.unit)]
            seen.setdefault(symbol.name, [f"${symbol.name}$", *words, ""])
    return [row for name, row in seen.items() if "_{" not in name and name not in shown]


def chip_facts(chip: Chip) -> list[list[str]]:
    """Each published figure of a chip with its source; what is absent is said to be."""
    price = (
        say("{price} per hour", price=text.usd(chip.price.usd_per_hour))
        if chip.price
        else text.unknown()
    )
    figures = {
        **(
            {"visible_memory": (say("memory, as programs see it"), text.si(chip.memory, "B"))}
            if chip.memory_by != "maker"
            else {}
        ),
        "memory": (
            say("memory"),
            text.si(chip.memory if chip.memory_by == "maker" else chip.printed_memory, "B"),
        ),
        "bandwidth": (say("bandwidth"), text.si(chip.bandwidth, "B/s")),
        **{
            f"{rate} peak": (say("{rate} peak", rate=rate), text.si(peak, "FLOP/s"))
            for rate, peak in chip.peaks.items()
        },
        "link_one_way": (say("link one way"), text.si(chip.link_one_way, "B/s")),
        "link_two_way": (say("link two way"), text.si(chip.link_two_way, "B/s")),
        "host_link": (say("link to the host"), text.si(chip.host_link, "B/s")),
        "chips_per_node": (
            say("chips per node"),
            text.count(chip.chips_per_node or float("nan")),
        ),
        "slices": (say("slices"), ", ".join(map(str, chip.slices)) or text.unknown()),
        "power": (say("power"), text.si(chip.power, "W")),
        "price": (say("price"), price),
        **{
            f"price {i}": (
                say("price {n}", n=i),
                say("{price} per hour, also printed", price=text.usd(other.usd_per_hour)),
            )
            for i, other in enumerate(chip.other_prices, 2)
        },
    }
    return [
        [label, text.plain(value), text.plain(chip.sources.get(name, ""))]
        for name, (label, value) in figures.items()
    ]


def model_facts(scenario: Scenario) -> list[list[str]]:
    """Counts of a model, exact."""
    model, kv = scenario.model, scenario.kv_format
    per_token = model.kv_bytes_per_token(kv)
    return [
        [say("Parameters"), text.count(model.total_params)],
        [say("Active per token, input embedding left out"), text.count(model.active_params)],
        [
            say("Active per token, input embedding counted"),
            text.count(model.active_params_with_embedding),
        ],
        [say("Layers"), text.count(model.layers)],
        [
            say("KV cache per token, {format}", format=kv.id),
            f"{per_token:,.0f} B ({per_token / 1024:,.1f} KiB)",
        ],
        [say("Longest context"), text.count(model.max_context or float("nan"))],
    ]


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
                text.plain(say(name)),
                text.kibibytes(model.kv_bytes_per_token(kv) / caching_layers(model)),
                text.kibibytes(model.kv_bytes_per_token(kv)),
                text.si(held, "B"),
                f"1 / {text.significant(whole / held)}" if held else "",
                text.si(float(model.kv_bytes_read(context, kv)), "B"),
                text.count(int(memory.max_batch(s))),
            ]
        )
    head = [say("Attention"), say("Per token and layer"), say("Per token"),
            say("Kept per sequence"), say("Against MHA"), say("Read per step"),
            say("Sequences that fit")]  # fmt: skip
    return table(head, rows)


def layer_groups(scenario: Scenario) -> Table:
    """Each group of equal layers: what it caches and what it reads."""
    kv, context = scenario.kv_format, scenario.context
    rows = []
    for block in scenario.model.blocks:
        attention = block.attention
        rows.append(
            [
                text.plain(say(attention.label)),
                text.count(block.count),
                attention.kv_elements_written,
                text.kibibytes(attention.kv_bytes_per_token(kv)),
                text.si(float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes_read(context, kv)), "B"),
            ]
        )
    head = [say("Layers"), say("Count"), say("Elements per token"), say("Per token and layer"),
            say("Kept per layer"), say("Kept in all"), say("Read per step")]  # fmt: skip
    return table(head, rows)


def paging_rows(scenario: Scenario, mean: int, longest: int, block: int) -> list[list[str]]:
    """Contiguous reservation and blocks: use, waste, and what the waste weighs."""
    each = scenario.model.kv_bytes_per_token(scenario.kv_format)
    contiguous = float(paging.contiguous_utilisation(min(mean, longest), longest))
    paged = float(paging.paged_utilisation(mean, block))
    groups, size = paging.page_groups(scenario.model)
    unused = longest - min(mean, longest)
    expected, worst = paging.expected_waste(block), paging.worst_waste(block)

    def row(name: str, share: str, tokens: float) -> list[str]:
        return [name, share, say("{n:,g} tokens", n=tokens), text.si(tokens * each, "B")]

    return [
        row(say("Contiguous, longest length reserved"), f"{100 * contiguous:.1f} %", unused),
        row(say("Blocks of {n}, on average", n=block), f"{100 * paged:.1f} %", expected),
        row(say("Blocks of {n}, at worst", n=block), "", worst),
        [
            say("Layer groups paged together"),
            say("{groups} of {layers} layers", groups=groups, layers=size),
            "",
            "",
        ],
    ]


def paging_table(scenario: Scenario, mean: int, longest: int, block: int) -> str:
    """`paging_rows` as a table."""
    head = [say("Reservation"), say("In use"), say("Empty per sequence"), say("Empty bytes")]
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
        [say("Target passes for 1,000 tokens"), "1,000", text.count(1000 / per_check)],
        [say("Draft passes for 1,000 tokens"), "0", text.count(1000 * s.n_draft / per_check)],
        [say("Weight and cache reads of the target"), "1", text.significant(1 / per_check)],
        [say("FLOPs per token, draft included") if s.draft else say("Target FLOPs per token"), "1",
         text.times(factor)],
        [say("Time of one round"), text.si(float(cycle.plain), "s"),
         text.si(float(cycle.draft + cycle.verify), "s")],
        [say("of which drafting"), "", text.si(float(cycle.draft), "s")],
        [say("of which verifying"), "", text.si(float(cycle.verify), "s")],
        [say("Accepted over drafted, as engines print it"), "", reported],
        [say("Cost of a draft step"), "", text.times(cost_ratio)],
    ]  # fmt: skip
    return markdown([say("Per target model"), say("Plain"), say("With drafting")], rows, " rr")

"""Explanations of what memory holds."""

from __future__ import annotations

from collections.abc import Mapping

from calc import memory
from calc.attention import Attention, Limited, PerToken
from calc.explain.entry import Explanation, batch, chips, weight_bytes
from calc.expression import Expression, Floor, Symbol, total
from calc.layout import Layout
from calc.scenario import Scenario
from calc.words import marked, say


def _bound(s: Scenario) -> bool:
    return s.fidelity == "bound"


def _weights(s: Scenario) -> Expression:
    if _bound(s):
        held = Symbol("P", s.model.total_params, "parameters", marked("all parameters"))
        return held * weight_bytes(s)
    return chips(s) * _chip_weights(s)


def _chip_weights(s: Scenario) -> Expression:
    """One chip's part of what a group splits, and of the experts."""
    chosen, model = Layout.of(s), s.model
    other = Symbol(
        "P",
        model.total_params - model.routed_params,
        "parameters",
        marked("all but routed experts"),
    )
    width = Symbol("Y", float(chosen.tp), "chips", marked("tensor-parallel width"))
    stages = Symbol("p_s", float(chosen.pp), "stages", marked("pipeline stages"))
    part: Expression = other / width
    if model.routed_params:
        experts = Symbol(
            r"P_\mathrm{exp}", model.routed_params, "parameters", marked("routed experts")
        )
        ways = Symbol(
            r"Y_\mathrm{exp}",
            float(chosen.expert_ways()),
            "chips",
            marked("chips sharing the experts"),
        )
        part = part + experts / ways
    return part * weight_bytes(s) / stages


def _kv_held(s: Scenario) -> Symbol:
    return Symbol(
        r"K_S",
        float(memory.kv_per_sequence(s)),
        "byte",
        marked("cache held for one sequence at this context"),
    )


def _kv_cache(s: Scenario) -> Expression:
    if _bound(s):
        return batch(s) * _kv_held(s)
    groups = Symbol("D", float(Layout.of(s).dp), "groups", marked("attention data parallel"))
    full = Symbol(
        "B_D", -(-s.batch // int(groups.value)), "sequences", marked("of the fullest group")
    )
    return groups * full * _kv_held(s)


def _max_batch(s: Scenario) -> Expression:
    held = Symbol("M", s.chip.memory, "byte", marked("memory of one chip"))
    usable = Symbol("u", s.usable_memory, "fraction", marked("usable share of it"))
    room: Expression = held * usable
    if s.runtime_memory:
        room = room - Symbol(
            "R", s.runtime_memory, "byte", marked("what the engine keeps on a chip")
        )
    room = chips(s) * room - _weights(s)
    if _bound(s):
        return Floor(room / _kv_held(s))
    groups = Symbol("D", float(Layout.of(s).dp), "groups", marked("attention data parallel"))
    active = Symbol(
        "A", memory.activations_per_sequence(s), "byte", marked("activations of one sequence")
    )
    return groups * Floor(room / (groups * (_kv_held(s) + active)))


def _kv_sequence_by_block(s: Scenario) -> Expression:
    terms: list[Expression] = []
    for i, block in enumerate(s.model.blocks, 1):
        kind = f"_{{{i}}}" if len(s.model.blocks) > 1 else ""
        layers = Symbol(f"L{kind}", block.count, "layers", marked("equal layers of one kind"))
        term = layers * _kv_layer(s, block.attention, kind)
        if not _bound(s):
            chosen = Layout.of(s)
            share = float(chosen.cache_share(block.attention.split, s.kv_sharding) * chosen.tp)
            term = Symbol(f"c{kind}", share, "copies", marked("copies over a group's chips")) * term
        terms.append(term)
    return total(terms)


def _kv_layer(s: Scenario, attention: Attention, kind: str) -> Expression:
    """Cache of one layer: bytes per token times tokens kept, or one figure if it is no product."""
    tokens = (
        float(attention.held(s.context)) if isinstance(attention, Limited) else float(s.context)
    )
    if isinstance(attention, (PerToken, Limited)):
        each = Symbol(
            rf"\kappa{kind}",
            attention.kv_bytes_per_token(s.kv_format),
            "byte/token",
            say("cache of one token in one such layer ({attention})", attention=attention.label),
        )
        return each * Symbol(f"S{kind}", tokens, "tokens", marked("tokens that such a layer keeps"))
    return Symbol(
        f"K{kind}",
        float(attention.kv_bytes(s.context, s.kv_format)),
        "byte",
        say("kept by one such layer at this context ({attention})", attention=attention.label),
    )


EXPLANATIONS: Mapping[str, Explanation] = {
    "max_batch": Explanation(
        marked("Largest batch"), r"B_\mathrm{max}", "sequences",
        "How To Scale Your Model, part 8; F6.2",
        marked("Whole sequences whose cache fits in what the weights leave free."), _max_batch,
    ),
    "weights": Explanation(
        marked("Weights held"), r"M_\mathrm{w}", "byte", "resident parameters; F6.1",
        marked(
            "All parameters are resident, the embedding and every expert included; at fidelity "
            "operators with the copies that the layout keeps."
        ), _weights,
    ),
    "kv_cache": Explanation(
        marked("KV cache held"), r"M_\mathrm{KV}", "byte", "How To Scale Your Model, part 7; F2.1",
        marked("The cache of one sequence, for each sequence."), _kv_cache,
    ),
    "kv_per_sequence": Explanation(
        marked("KV cache per sequence"), "K_S", "byte",
        "cache over the model's own layers; F2.1–F2.4",
        marked(
            "Summed over the kinds of layers that the model has; a sliding window stops growing "
            "once it is full. At fidelity operators copies on several chips count."
        ), _kv_sequence_by_block,
    ),
}  # fmt: skip

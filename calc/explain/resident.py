"""Explanations of what memory holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calc import host, memory
from calc.attention import Attention
from calc.explain.entry import BOOK, POPE, Explanation, batch, chips, weight_bytes_of
from calc.explain.expression import Expression, Floor, Number, Symbol, total
from calc.explain.sought import Edge
from calc.layout import Layout
from calc.scenario import Scenario
from calc.words import marked, say


def _bound(s: Scenario) -> bool:
    return s.fidelity == "bound"


def _weights(s: Scenario) -> Expression:
    if _bound(s):
        stored = _resident(s, s.model.held_params, marked("all parameters"))
        size = weight_bytes_of(s, stored.value, s.model.weight_bytes(s.stored))
        return _less_hosted(s, stored * size)
    return chips(s) * _chip_weights(s)


def _less_hosted(s: Scenario, stored: Expression) -> Expression:
    """Without what lies on the host."""
    if not s.host_share:
        return stored
    words = marked("weights that lie in host memory")
    return stored - Symbol(r"M_\mathrm{host}", host.weights(s), "byte", words)


def _resident(s: Scenario, params: float, meaning: str) -> Symbol:
    """Parameters of the decoder, and those that are loaded beside it."""
    beside = s.model.resident_params
    if beside:
        meaning = say("{parameters}, of {n:,} that are loaded beside the decoder too",
                      parameters=say(meaning), n=beside)  # fmt: skip
    return Symbol("P", params, "parameters", meaning)


def _chip_weights(s: Scenario) -> Expression:
    """One chip's part of what a group splits, and of the experts."""
    chosen, model = Layout.of(s), s.model
    routed = model.routed_bytes(s.stored)
    held = model.held_params - model.held_routed
    other = _resident(s, held, marked("all but routed experts"))
    rest = model.weight_bytes(s.stored) - routed
    width = Symbol("Y", float(chosen.tp), "chips", marked("tensor-parallel width"))
    stages = Symbol("p_s", float(chosen.pp), "stages", marked("pipeline stages"))
    part = other * weight_bytes_of(s, other.value, rest)
    part = (part if model.routed_params else _less_hosted(s, part)) / width
    if model.held_routed:
        experts = Symbol(
            r"P_\mathrm{exp}", model.held_routed, "parameters", marked("routed experts")
        )
        ways = Symbol(
            r"Y_\mathrm{exp}",
            float(chosen.expert_ways()),
            "chips",
            marked("chips sharing the experts"),
        )
        each = weight_bytes_of(s, model.held_routed, routed)
        if s.stored.uniform is None:
            each = replace(each, name=r"b_\mathrm{exp}")
        spread = experts * each
        part = part + (_less_hosted(s, spread) if model.routed_params else spread) / ways
        copies = float(chosen.redundant_bytes(s))
        if copies:
            words = marked("second copies of experts")
            part = part + Symbol(r"M_\mathrm{red}", copies, "byte", words) / ways
    return part / stages


def _kv_per_sequence(s: Scenario) -> Symbol:
    return Symbol(
        r"K_S",
        float(memory.kv_per_sequence(s)),
        "byte",
        marked("cache held for one sequence at this context"),
    )


def _dealt(s: Scenario) -> Expression:
    """Sequences that memory is held for: with every group as full as the fullest."""
    if _bound(s):
        return batch(s)
    groups = _groups(s)
    full = Symbol(
        "B_D", -(-s.batch // int(groups.value)), "sequences", marked("of the fullest group")
    )
    return groups * full


def _groups(s: Scenario) -> Symbol:
    return Symbol("D", float(Layout.of(s).dp), "groups", marked("attention data parallel"))


def _each(s: Scenario) -> Expression:
    """What one sequence holds."""
    if _bound(s):
        return _kv_per_sequence(s)
    active = Symbol(
        "A", memory.activations_per_sequence(s), "byte", marked("activations of one sequence")
    )
    return _kv_per_sequence(s) + active


def _kv_cache(s: Scenario) -> Expression:
    return _dealt(s) * _kv_per_sequence(s)


def _taken(s: Scenario) -> Expression:
    return _weights(s) + _dealt(s) * _each(s)


def _room(s: Scenario) -> Expression:
    """Memory of all chips that weights and sequences may fill."""
    physical = Symbol("M", s.chip.memory, "byte", marked("memory of one chip"))
    usable = Symbol("u", s.usable_memory, "fraction", marked("usable share of it"))
    room: Expression = physical * usable
    if s.runtime_memory:
        room = room - Symbol(
            "R", s.runtime_memory, "byte", marked("what the engine keeps on a chip")
        )
    return chips(s) * room


def largest_batch(s: Scenario) -> Expression:
    if memory.any_batch(s):
        largest = float(memory.max_batch(s))
        return Symbol(
            r"B_\mathrm{most}", largest, "sequences", marked("any number: none takes any memory")
        )
    room = _room(s) - _weights(s)
    if _bound(s):
        return Floor(room / _each(s))
    return _groups(s) * Floor(room / (_groups(s) * _each(s)))


def _free(s: Scenario) -> Expression:
    return _room(s) - _taken(s)


def _missing(s: Scenario) -> Expression:
    return _taken(s) - _room(s)


def _min_chips(s: Scenario) -> Expression:
    """The slice found beside the largest one below it; the largest of all where none is found."""
    found = memory.min_chips(s)
    below = _legal(s, (found or memory.most_chips() + 1) - 1)
    tried = [n for n in (below, found) if n]

    def sides(n: int) -> tuple[Expression, Expression]:
        there = replace(s, n_chips=n, tensor_parallel=0)
        return _taken(there), _room(there)

    return Edge("N", tried, sides, last=False) if tried else Number(0)


def _legal(s: Scenario, most: int) -> int:
    """Most chips, up to `most`, that can be had and that the layout divides; 0 if none."""
    part = 1 if _bound(s) else s.attention_dp * s.pipeline
    return next((n for n in range(most, 0, -1) if n % part == 0 and s.chip.legal_count(n) == n), 0)


def kv_by_block(s: Scenario) -> Expression:
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
    tokens = attention.tokens_kept(s.context)
    if tokens is not None:
        each = Symbol(
            rf"\kappa{kind}",
            attention.kv_bytes_per_token(s.kv_format),
            "byte/token",
            say("cache of one token in one such layer ({attention})", attention=attention.label),
        )
        return each * Symbol(
            f"S{kind}", float(tokens), "tokens", marked("tokens that such a layer keeps")
        )
    return Symbol(
        f"K{kind}",
        float(attention.kv_bytes(s.context, s.kv_format)),
        "byte",
        say("kept by one such layer at this context ({attention})", attention=attention.label),
    )


EXPLANATIONS: Mapping[str, Explanation] = {
    "max_batch": Explanation(
        marked("Largest batch"), r"B_\mathrm{max}", "sequences",
        f"F6.2; {BOOK}, part 8",
        marked("Whole sequences whose cache fits in what the weights leave free."), largest_batch,
    ),
    "fewest_chips": Explanation(
        marked("Fewest chips"), r"N_\mathrm{min}", "chips", "F6.2",
        marked(
            "The smallest slice on which weights and the batch's cache fit, held against the next "
            "smaller one; at fidelity operators with the groups and stages of the layout. 0 if no "
            "number of chips holds them."
        ), _min_chips,
    ),
    "free": Explanation(
        marked("Free"), r"M_\mathrm{free}", "byte", "F6.1",
        marked("What weights and the batch leave of the usable memory of all chips."), _free,
        marked("Free memory"),
    ),
    "missing": Explanation(
        marked("Missing"), r"M_\mathrm{miss}", "byte", "F6.1",
        marked(
            "What weights and the batch need beyond the usable memory of all chips; below 0 if "
            "they fit."
        ), _missing,
        marked("Missing memory"),
    ),
    "weights": Explanation(
        marked("Weights"), r"M_\mathrm{w}", "byte", "F6.1",
        marked(
            "All parameters are resident, the embedding and every expert included; at fidelity "
            "operators with the copies that the layout keeps."
        ), _weights,
        marked("Weights held"),
    ),
    "kv_cache": Explanation(
        marked("KV cache"), r"M_\mathrm{KV}", "byte", f"F2.1; {POPE}",
        marked("The cache of one sequence, for each sequence."), _kv_cache,
        marked("KV cache held"),
    ),
    "kv_per_sequence": Explanation(
        marked("KV cache per sequence"), "K_S", "byte",
        f"F2.1–F2.12; {POPE}",
        marked(
            "Summed over the kinds of layers that the model has; a sliding window stops growing "
            "once it is full. At fidelity operators copies on several chips count."
        ), kv_by_block,
    ),
}  # fmt: skip

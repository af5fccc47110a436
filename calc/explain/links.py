"""Explanations of links and widths."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import sharding
from calc.explain.entry import BOOK, PIPELINE, Explanation, bandwidth, rate, weight_bytes_of
from calc.explain.expression import Expression, Number, Symbol
from calc.layout import Layout
from calc.network import Network
from calc.scenario import Scenario
from calc.words import marked


def _width(s: Scenario) -> Symbol:
    return Symbol("Y", float(Layout.of(s).tp), "chips", marked("tensor-parallel width"))


def _d(s: Scenario) -> Symbol:
    return Symbol("D", s.model.d_model, "elements", marked("model width"))


def _f(s: Scenario) -> Symbol:
    return Symbol(
        "F", sharding.mlp_columns(s.model), "columns", marked("MLP columns a token passes")
    )


def _f_read(s: Scenario) -> Symbol:
    return Symbol(
        r"F_\mathrm{read}",
        sharding.columns_read(s),
        "columns",
        marked("MLP columns that a step reads"),
    )


def _mlp_bytes(s: Scenario) -> Symbol:
    return weight_bytes_of(s, 1, sharding.mlp_format(s).bytes)


def _tokens(s: Scenario) -> Symbol:
    tokens = float(Layout.of(s).sequences(s.batch))
    return Symbol("B_g", tokens, "sequences", marked("of a group, in a micro-batch"))


def _activation(s: Scenario) -> Symbol:
    return Symbol("b_a", s.compute_format.bytes, "byte", marked("bytes per activation"))


def _link(s: Scenario) -> Symbol:
    speed = Network.of(s).path(float(Layout.of(s).tp)).bandwidth
    return Symbol(r"W_\mathrm{link}", speed, "byte/s", marked("into each chip of the group"))


def _hbm(s: Scenario) -> Expression:
    return _d(s) * _f_read(s) * _mlp_bytes(s) / (_width(s) * bandwidth(s))


def _math(s: Scenario) -> Expression:
    return Number(2) * _tokens(s) * _d(s) * _f(s) / (_width(s) * rate(s))


def _sent(s: Scenario) -> Expression:
    if float(Layout.of(s).tp) == 1:
        return Number(0)
    return _tokens(s) * _d(s) * _activation(s) / _link(s)


def _alone(s: Scenario) -> bool:
    return math.isinf(_link(s).value)


def _hbm_limit(s: Scenario) -> Expression:
    if _alone(s):
        return Number(math.inf)
    above = _f_read(s) * _mlp_bytes(s) * _link(s)
    return above / (_tokens(s) * _activation(s) * bandwidth(s))


def _compute_limit(s: Scenario) -> Expression:
    if _alone(s):
        return Number(math.inf)
    return Number(2) * _f(s) * _link(s) / (_activation(s) * rate(s))


def _gather(s: Scenario) -> Expression:
    if s.n_chips == 1:
        return Number(0)
    size = sharding.gathered(s)
    params = sum(one.runs * one.part.total for one in s.model.streamed)
    every = Symbol("P", params, "parameters", marked("of all layers and experts"))
    speed = Network.of(s).path(float(s.n_chips)).bandwidth
    link = Symbol(r"W_\mathrm{link}", speed, "byte/s", marked("into each chip of the replica"))
    return every * weight_bytes_of(s, params, size) / link


def _pipeline(s: Scenario) -> Expression:
    chosen = Layout.of(s)
    stages = Symbol("p", float(chosen.pp), "stages", marked("of the pipeline"))
    parts = Symbol(r"\mu", float(chosen.micro_batches), "micro-batches", marked("that make a pass"))
    return parts / (parts + stages - 1)


EXPLANATIONS: Mapping[str, Explanation] = {
    "matmul_hbm": Explanation(
        marked("Matmul: weights"), r"T_\mathrm{HBM}", "s", f"F11.1; {BOOK}, part 8",
        marked("Reading a chip's part of one MLP matrix."), _hbm,
        marked("One matmul, weights"),
    ),
    "matmul_math": Explanation(
        marked("Matmul: FLOPs"), r"T_\mathrm{math}", "s", f"F11.1; {BOOK}, part 8",
        marked("Multiplying the batch by it."), _math,
        marked("One matmul, FLOPs"),
    ),
    "matmul_link": Explanation(
        marked("Matmul: links"), r"T_\mathrm{link}", "s", f"F11.1; {BOOK}, part 8",
        marked(
            "Gathering or scattering the batch's activations beside it, in the limit of a large "
            "group."
        ), _sent,
        marked("One matmul, links"),
    ),
    "hbm_limit": Explanation(
        marked("TP limit vs. memory"), r"Y_\mathrm{HBM}", "chips", f"F11.2; {BOOK}, part 7",
        marked(
            "From this width on, sending activations takes longer than reading weights."
        ), _hbm_limit,
    ),
    "compute_limit": Explanation(
        marked("TP limit vs. compute"), r"Y_\mathrm{math}", "chips", f"F5.4; {BOOK}, part 5",
        marked(
            "From this width on, sending activations takes longer than multiplying them; it "
            "matters where the batch makes the product compute-bound, as in prefill."
        ), _compute_limit,
    ),
    "gather_time": Explanation(
        marked("FSDP gather"), r"T_\mathrm{gather}", "s", f"F11.5; {BOOK}, parts 5 and 7",
        marked(
            "FSDP splits the weights, so every step gathers them over the links: all layers "
            "and experts, in the limit of a large group."
        ), _gather,
        marked("Gathering the weights of a step"),
    ),
    "pipeline_use": Explanation(
        marked("Pipeline in use"), "u", "share", f"F3.9; {PIPELINE}",
        marked(
            "Share of one pass in which a stage works while micro-batches fill and drain the "
            "pipeline. Decoding keeps it full."
        ), _pipeline,
    ),
}  # fmt: skip

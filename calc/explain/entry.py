"""What an explanation is, and the symbols that many of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calc import decode, host
from calc.explain.expression import Expression, Symbol
from calc.scenario import Scenario
from calc.words import marked

# Literature as sources name it; docs/method.md lists all of it.
BOOK = "Austin et al. 2025, How To Scale Your Model"
POPE = "Pope et al. 2022, arXiv 2211.05102"
LEVIATHAN = "Leviathan et al. 2022, arXiv 2211.17192"
PAGED = "Kwon et al. 2023, arXiv 2309.06180"
SARATHI = "Agrawal et al. 2023, arXiv 2308.16369"
DISTSERVE = "Zhong et al. 2024, arXiv 2401.09670"
PIPELINE = "Huang et al. 2018, arXiv 1811.06965"
RING = "Liu et al. 2023, arXiv 2310.01889"


@dataclass(frozen=True)
class Explanation:
    """How one quantity comes about.

    `label` is what its card on a page says, `name` what it is called beside others where that is
    too short; `symbol` and `unit` are those of the result; `source` names formulas of
    docs/method.md and literature, in every language alike; `build` writes the formula for a
    scenario; `reading` says in words what it means.
    """

    label: str
    symbol: str
    unit: str
    source: str
    reading: str
    build: Callable[[Scenario], Expression]
    name: str = ""

    @property
    def title(self) -> str:
        """What it is called wherever it stands."""
        return self.name or self.label


def batch(s: Scenario) -> Symbol:
    return Symbol("B", s.batch, "sequences", marked("batch, sequences decoding together"))


def chips(s: Scenario) -> Symbol:
    return Symbol("N", s.n_chips, "chips", marked("chips sharing one replica"))


def bandwidth(s: Scenario) -> Symbol:
    return Symbol("W", s.chip.bandwidth, "byte/s", marked("memory bandwidth of one chip"))


def rate(s: Scenario) -> Symbol:
    peak = s.chip.peak(s.compute_format)
    return Symbol("C", peak, "FLOP/s", marked("dense peak of one chip in compute format"))


def step_time(s: Scenario) -> Symbol:
    return Symbol(
        r"T_\mathrm{step}", float(decode.step_time(s).total), "s", marked("one decode step")
    )


def kv_sequence(s: Scenario) -> Symbol:
    return Symbol(
        r"\kappa_S",
        float(s.model.kv_bytes_read(s.context, s.kv_format)),
        "byte",
        marked("cache read for one sequence at this context, over all layers"),
    )


def attention_sequence(s: Scenario) -> Symbol:
    return Symbol(
        "f_S",
        float(s.model.attention_flops(s.context)),
        "FLOP",
        marked("scores and values of one token at this context, over all layers"),
    )


def weight_bytes(s: Scenario, tokens: float) -> Symbol:
    """Of the weights that a step of so many tokens reads from the chips' memory."""
    one, read = s.stored.uniform, host.chip_params_read(s, tokens)
    return _per_weight(one.bytes if one else float(host.chip_bytes_read(s, tokens) / read))


def weight_bytes_of(s: Scenario, params: float, size: float) -> Symbol:
    """Of so many parameters that take so many bytes."""
    one = s.stored.uniform
    return _per_weight(one.bytes if one else size / params)


def _per_weight(size: float) -> Symbol:
    return Symbol("b_w", size, "byte", marked("bytes per weight on average, scales included"))


def linear_rate(s: Scenario) -> Symbol:
    """That of all parts together, each in the format it is multiplied in."""
    words = marked("dense peak of one chip for the linear layers")
    if s.one_rate:
        return rate(s)
    return Symbol(r"C_\mathrm{lin}", s.linear_rate, "FLOP/s", words)


def active(s: Scenario) -> Symbol:
    return Symbol(
        r"P_\mathrm{act}",
        s.model.active_params,
        "parameters",
        marked("parameters that multiply one token, input embedding left out"),
    )


def host_reach(s: Scenario) -> Symbol:
    words = marked("that weights on the host are read at, one chip's part")
    return Symbol("W_h", host.bandwidth(s), "byte/s", words)


def host_power(s: Scenario, rate: float) -> Symbol:
    words = marked("rate of the host, one chip's part")
    if s.host_compute == host.CHIP:
        words = marked("rate of the chip that they are sent to")
    return Symbol("C_h", rate, "FLOP/s", words)


def hosted(
    s: Scenario, moved: float, done: float, rate: float | None = None
) -> tuple[Expression, Expression]:
    """Reading and computing of weights on the host, of so many bytes and FLOPs of all chips."""
    if rate is None:
        rate = s.host_rate if s.host_compute == host.HOST else s.linear_rate
    read = Symbol("Q_h", moved, "byte", marked("weights on the host that are read"))
    multiplied = Symbol("F_h", done, "FLOP", marked("done with weights on the host"))
    power = host_power(s, rate)
    return read / (chips(s) * host_reach(s)), multiplied / (chips(s) * power)

"""The figures by which servers are compared, each with the definition that is meant."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import host, known, prefill, roofline
from calc.decode import StepTime
from calc.scenario import Scenario

Array = NDArray[np.float64]


def bandwidth_share(moved: ArrayLike, seconds: ArrayLike, bandwidth: ArrayLike) -> Array:
    """Model bandwidth utilisation, MBU: bytes that had to move over those that could [share].

    Examples
    --------
    7e9 fp16 weights read 100 times a second, 1.4 TB/s, from a memory of 2 TB/s:

    >>> float(bandwidth_share(7e9 * 2, 1 / 100, 2e12))
    0.7
    """
    return np.asarray(np.asarray(moved, dtype=float) / (np.asarray(seconds) * bandwidth))


def flops_share(useful: ArrayLike, seconds: ArrayLike, rate: ArrayLike) -> Array:
    """Model FLOPs utilisation, MFU: useful FLOPs over those that could be done [share]."""
    return np.asarray(np.asarray(useful, dtype=float) / (np.asarray(seconds) * rate))


def mbu(scenario: Scenario, step: StepTime) -> Array:
    """MBU of a decode step: weights and cache that it must read, over all chips' bandwidth.

    Copies that a layout reads are no useful bytes, and what the host reads is none of the chips'
    (F4.3).
    """
    s = scenario
    weights = host.chip_bytes_read(s, step.batch)
    cache = step.batch * s.model.kv_bytes_read(s.context, s.kv_format)
    return bandwidth_share(weights + cache, step.total, s.n_chips * known.figure(s.chip.bandwidth))


def mfu(scenario: Scenario, step: StepTime) -> Array:
    """MFU of a decode step: two FLOPs per active parameter and token, attention left out (F4.2).

    Of the peak of the chips: what a host multiplies beside them may take it above 1.
    """
    s = scenario
    useful = 2.0 * step.batch * s.model.active_params
    return flops_share(useful, step.total, s.n_chips * known.figure(s.chip.peak(s.compute_format)))


def prompt_mfu(scenario: Scenario, prompts_per_second: float) -> float:
    """MFU of reading so many of the scenario's prompts each second, attention counted [share].

    References
    ----------
    F5.1, F5.2.
    """
    s = scenario
    useful = prefill.flops(s.model, s.prompt, prefill.block_hit(s))
    rate = s.n_chips * known.figure(s.chip.peak(s.compute_format))
    return float(flops_share(useful, 1 / prompts_per_second, rate))


def mfu_ceiling(scenario: Scenario, context: ArrayLike | None = None) -> Array:
    """MFU that no batch passes at a context [share]; nan if a figure is not published.

    .. math:: \\frac{2 P / C}{2 P / C + \\kappa_S / W}

    Every sequence reads its own cache, however large the batch.

    Parameters
    ----------
    scenario : Scenario
        Its published rates and bandwidth; what engines reach of them is less.
    context : array_like, optional
        Cached tokens to use instead of the scenario's.

    References
    ----------
    F4.4.
    """
    s = scenario
    length = np.asarray(s.context if context is None else context, dtype=float)
    read = s.model.kv_bytes_read(length, s.kv_format) / known.figure(s.chip.bandwidth)
    useful = 2.0 * s.model.active_params / known.figure(s.chip.peak(s.compute_format))
    return flops_share(useful, roofline.token_flops_time(s) + read, 1.0)


def time_per_output_token(first: float, last: float, output: int) -> float:
    """TPOT over the gaps between tokens, of which there is one fewer than tokens [s].

    Some divide by the number of tokens instead (F8.1).

    >>> round(time_per_output_token(0.2, 10.2, 101), 9)
    0.1
    """
    return (last - first) / (output - 1)


def end_to_end(ttft: float, tpot: float, output: int, *, per_token: bool = False) -> float:
    """Time of a whole request [s].

    The first token comes with the prompt, so ``output - 1`` gaps follow; with `per_token` all
    tokens are counted, the other convention in use (F8.1).

    >>> end_to_end(0.5, 0.1, 101), round(end_to_end(0.5, 0.1, 101, per_token=True), 9)
    (10.5, 10.6)
    """
    return ttft + tpot * (output if per_token else output - 1)


def kv_tokens_retired(batch: float, prompt: float, output: float) -> float:
    """Cached tokens that finished sequences give back in one step, on average [token] (F8.7).

    >>> kv_tokens_retired(32, 8192, 4096)
    96.0
    """
    return batch * (prompt + output) / output

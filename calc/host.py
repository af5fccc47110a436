"""Weights that lie in the memory of the host: which they are, and what a step pays for them.

Routed experts go there, since a token passes few of them; of a model without any, all layers do
(`Model.movable`). Cache, output head and embedding stay on the chips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.words import marked

if TYPE_CHECKING:
    from calc.formats import NumberFormat
    from calc.operators import Operator
    from calc.scenario import Scenario

Array = NDArray[np.float64]

HOST, CHIP = "host", "chip"
PLACES = (HOST, CHIP)
ON_HOST = marked("weights on the host")


def weights(scenario: Scenario) -> float:
    """Weights of the replica that lie in host memory, each once [byte].

    Experts of draft layers among them (F6.6).
    """
    s = scenario
    if not s.host_share:
        return 0.0
    if s.model.routed_params:
        return s.host_share * s.model.routed_bytes(s.stored)
    held = (
        one.stored * one.part.total * s.stored.of(one.part.name).bytes for one in s.model.movable
    )
    return s.host_share * sum(held)


def params_read(scenario: Scenario, tokens: ArrayLike) -> Array:
    """Parameters on the host that a step of `tokens` tokens reads [parameter] (F3.5, F3.11)."""
    return _read(scenario, tokens, lambda _: 1.0)


def bytes_read(scenario: Scenario, tokens: ArrayLike) -> Array:
    """Bytes on the host that a step reads, as they are stored [byte]."""
    return _read(scenario, tokens, lambda part: scenario.stored.of(part).bytes)


def _read(s: Scenario, tokens: ArrayLike, size: Callable[[str], float]) -> Array:
    read = np.asarray(0.0)
    for one in s.model.movable if s.host_share else ():
        read = read + one.runs * one.part.read(tokens, s.routing_skew) * size(one.part.name)
    return np.asarray(s.host_share * read)


def active(scenario: Scenario) -> float:
    """Parameters on the host that multiply one token [parameter]."""
    s = scenario
    return s.host_share * sum(one.runs * one.part.active for one in s.model.movable)


def chip_params_read(scenario: Scenario, tokens: ArrayLike) -> Array:
    """Parameters that a step reads from the memory of the chips [parameter]."""
    s = scenario
    return s.model.params_read(tokens, s.routing_skew) - params_read(s, tokens)


def chip_bytes_read(scenario: Scenario, tokens: ArrayLike) -> Array:
    """Bytes that a step reads from the memory of the chips, as they are stored [byte]."""
    s = scenario
    return s.model.bytes_read(tokens, s.stored, s.routing_skew) - bytes_read(s, tokens)


def chip_active(scenario: Scenario) -> float:
    """Parameters in the memory of the chips that multiply one token [parameter]."""
    return scenario.model.active_params - active(scenario)


def chip_multiplied_in(scenario: Scenario) -> Mapping[NumberFormat, float]:
    """Active parameters in chip memory by the format they are multiplied in [parameter]."""
    s = scenario
    found: dict[NumberFormat, float] = dict(s.model.multiplied_in(s.stored, s.compute_format))
    for one in s.model.movable if s.host_share else ():
        used = s.stored.multiplied(one.part.name, s.compute_format)
        found[used] -= s.host_share * one.runs * one.part.active
    return found


def bandwidth(scenario: Scenario) -> float:
    """At which one chip's part of them is read [byte/s].

    That of host memory; what travels to the chip takes its link to the host too, where its
    bandwidth is known.
    """
    s = scenario
    if s.host_compute == HOST:
        return s.host_bandwidth
    return float(np.fmin(s.host_bandwidth, s.chip.host_link))


def apart(
    scenario: Scenario, whole: Operator, moved: Array, done: Array, again: Array | float = 1.0
) -> Iterator[Operator]:
    """An operator as the chip's part of it and the host's, which wait for each other.

    Parameters
    ----------
    scenario : Scenario
        Says where what lies on the host is multiplied.
    whole : Operator
        As though all lay on the chip.
    moved, done : array
        What of its bytes and FLOPs is of weights on the host [byte, FLOP].
    again : array or float
        FLOPs that the host does for each of `done`, among which a chip's of a prompt count longer.

    References
    ----------
    F3.11.
    """
    s = scenario
    if not s.host_share:
        yield whole
        return
    kept = np.maximum(whole.moved - moved, 0.0)
    if np.any(kept > 0):
        yield replace(whole, moved=kept, done=np.maximum(whole.done - done, 0.0))
    at_host = s.host_compute == HOST
    yield replace(
        whole,
        name=ON_HOST,
        moved=moved,
        done=done * again if at_host else done,
        bandwidth=bandwidth(s),
        rate=s.host_rate if at_host else whole.rate,
    )


def split(scenario: Scenario, whole: Operator, again: Array | float = 1.0) -> Iterator[Operator]:
    """An operator of a layer apart likewise, of which the host has its share or nothing."""
    share = scenario.host_share
    if share and whole.name in {one.part.name for one in scenario.model.movable}:
        yield from apart(scenario, whole, share * whole.moved, share * whole.done, again)
    else:
        yield whole

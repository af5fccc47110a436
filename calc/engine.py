"""What engines reach on a family of chips: constants fitted on published measurements (F3.12).

Which class a chip has is data: `Chip.engines` has one for each kind of engine that was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calc.words import marked

# The kinds of engine, and the answer that leaves it to the chip.
BY_CHIP = "chip"
SERVER, LLAMA_CPP = "server", "llama.cpp"
ENGINES = (BY_CHIP, SERVER, LLAMA_CPP)

# What a class may be used for: its times with a band; the same, called thin; nothing but a look
# back at engines that nobody runs any more.
OFFERED, THIN, HISTORY = "offered", "thin", "history"
STATUSES = (OFFERED, THIN, HISTORY)

# What is timed, as errors differ by it; what bands are given for.
PHASES: Mapping[str, str] = {
    "single": marked("decode, one sequence on one chip"),
    "sharded": marked("decode, one sequence over several chips"),
    "batched": marked("decode of a batch"),
    "known_batch": marked("a known batch from prompt to last token"),
    "throughput": marked("the most tokens per second"),
    "prompt": marked("a prompt read alone"),
}


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What kernels, links and launches take of the published figures.

    Parameters
    ----------
    bandwidth_efficiency, compute_efficiency, link_efficiency : float
        Shares that are reached of memory bandwidth, dense rate and link bandwidth.
    mfu : float
        Share of the dense rate that prompts reach.
    kernel_time : float
        Time of each kernel beside its bytes and FLOPs [s].
    reduce_latency : float
        Time of each all-reduce beside what it sends [s].
    layer_overhead : float
        Time of each layer beside all that [s].
    """

    bandwidth_efficiency: float
    compute_efficiency: float
    link_efficiency: float
    mfu: float
    kernel_time: float
    reduce_latency: float
    layer_overhead: float = 0.0


@dataclass(frozen=True)
class Own:
    """A calibration of one's own, as a link carries it: what a fit on so many rows gave.

    Parameters
    ----------
    rows : int
        Measurements that it was fitted on.
    error : float
        Median error on those very rows [share].
    bandwidth_efficiency, kernel_time : float
        What took the place of the class's: a share, and seconds.
    """

    rows: int
    error: float
    bandwidth_efficiency: float
    kernel_time: float


@dataclass(frozen=True)
class Band:
    """Where eight in ten times lie between: measured over predicted, 10th and 90th percentile.

    Of so many rows of so many sources, each predicted without its own source.
    """

    low: float
    high: float
    rows: int
    sources: int


@dataclass(frozen=True)
class EngineClass:
    """A family of chips under one kind of engine.

    Parameters
    ----------
    id, name : str
        Slug, and the name shown to people.
    status : str
        ``offered``, ``thin`` or ``history``.
    rows, sources : int
        Measurements that its constants are fitted on.
    fitted : str
        When, as a year and month.
    constants : Constants
        What times are made with.
    note : str
        What its rows are.
    spread : mapping of str to (float, float)
        10th and 90th percentile of a constant over resampled sources, where it is fitted.
    bands : mapping of str to Band
        By phase, one of `PHASES`; none where none may be claimed.
    """

    id: str
    name: str
    status: str
    rows: int
    sources: int
    fitted: str
    constants: Constants
    note: str = ""
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    bands: Mapping[str, Band] = field(default_factory=dict, repr=False)

    @property
    def usable(self) -> bool:
        """Whether times of today may be made with it."""
        return self.status != HISTORY

"""Start-up lines of serving engines, read for the memory they report.

Engines print what they loaded, what they measured and what they left to the cache, each in words of
its own that change with versions. A line is looked for anywhere, so that what stands before it
(times, ranks, a container's name, colours) does not matter. Sizes that engines call GB are 2^30
bytes; so they are read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calc.errors import LedgerError
from calc.pool import Pool
from calc.words import marked, say

VLLM, SGLANG, TENSORRT, LLAMA = "vLLM", "SGLang", "TensorRT-LLM", "llama.cpp"


class EngineLogError(LedgerError):
    """A text in which no start-up line of a known engine was found."""


# What may be read, in the order it is told; the unit of each is that of `Reading`.
FIGURES: Mapping[str, str] = {
    "memory": marked("Memory of a chip"),
    "share": marked("Share that the engine may use"),
    "weights": marked("Weights"),
    "activations": marked("Activations at their peak"),
    "beside": marked("Outside the framework"),
    "peak": marked("Peak with weights"),
    "graphs": marked("Graphs"),
    "cache": marked("Left for the cache"),
    "tokens": marked("KV tokens"),
    "blocks": marked("Blocks"),
    "block": marked("Tokens of a block"),
    "longest": marked("Longest request"),
    "concurrency": marked("Maximum concurrency"),
    "slots": marked("Sequences at most"),
    "chunk": marked("Token budget of a step"),
    "host": marked("Weights in host memory"),
}
BYTES = ("memory", "weights", "activations", "beside", "peak", "graphs", "cache", "host")


@dataclass(frozen=True)
class Reading:
    """What an engine's start-up lines say, of one chip; nan where they do not.

    Sizes are in byte, `share` is a fraction, `blocks` and `slots` are counts, and `tokens`,
    `block`, `longest` and `chunk` tokens. `found` has the line that each came from, and `assumed`
    what was taken for granted.
    """

    engine: str
    memory: float = math.nan
    share: float = math.nan
    weights: float = math.nan
    activations: float = math.nan
    beside: float = math.nan
    peak: float = math.nan
    graphs: float = math.nan
    cache: float = math.nan
    tokens: float = math.nan
    blocks: float = math.nan
    block: float = math.nan
    longest: float = math.nan
    concurrency: float = math.nan
    slots: float = math.nan
    chunk: float = math.nan
    host: float = math.nan
    found: Mapping[str, str] = field(default_factory=dict, compare=False)
    assumed: tuple[str, ...] = field(default=(), compare=False)

    def figures(self) -> dict[str, float]:
        """What is said, by its name in `FIGURES`."""
        said = {name: getattr(self, name) for name in FIGURES}
        return {name: value for name, value in said.items() if not math.isnan(value)}

    @property
    def own(self) -> float:
        """What the engine says it takes beside weights and cache [byte]."""
        if math.isnan(self.activations):
            return self.peak - self.weights
        return self.activations + (0.0 if math.isnan(self.beside) else self.beside)


GIB, MIB = 2.0**30, 2.0**20
_N = r"(-?\d[\d,]*(?:\.\d+)?)"
# Of several lines of one rank: the last word, or parts of a sum; of ranks the tightest, or a sum.
_FOLDS: Mapping[str, Callable[[list[float]], float]] = {
    "last": lambda found: found[-1],
    "sum": sum,
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class _Line:
    """A layout: groups of the pattern stand for figures, each in a unit.

    The group ``device`` names whose figure it is, where the line itself says so.
    """

    engine: str
    pattern: re.Pattern[str]
    figures: tuple[tuple[str, float], ...]
    within: str = "last"
    across: str = "max"


def _line(
    engine: str,
    pattern: str,
    *figures: str | tuple[str, float],
    within: str = "last",
    across: str = "max",
) -> _Line:
    pairs = tuple((one, 1.0) if isinstance(one, str) else one for one in figures)
    return _Line(engine, re.compile(pattern.replace("#N", _N)), pairs, within, across)


def _gib(name: str) -> tuple[str, float]:
    return name, GIB


def _mib(name: str) -> tuple[str, float]:
    return name, MIB


_LINES = (
    _line(VLLM, r"[Ll]oading model weights took #N Gi?B|Model loading took #N Gi?B",
          _gib("weights"), _gib("weights")),
    _line(VLLM, r"Available KV cache memory: #N GiB", _gib("cache"), across="min"),
    _line(VLLM, r"reserved #N GiB memory for KV Cache", _gib("cache"), across="min"),
    _line(VLLM, r"KV cache size: #N tokens", "tokens", across="min"),
    _line(VLLM, r"Maximum concurrency for #N tokens per request: #Nx",
          "longest", "concurrency", across="min"),
    _line(VLLM, r"# (?:GPU|cuda|rocm|xpu|hpu|tpu) blocks: #N", "blocks", across="min"),
    _line(VLLM, r"num_gpu_blocks_override=#N", "blocks", across="min"),
    _line(VLLM, r"Setting attention block size to #N tokens", "block"),
    _line(VLLM, r"total_gpu_memory=#NGi[Bb]", _gib("memory")),
    _line(VLLM, r"peak_torch_memory=#NGi[Bb]", _gib("peak")),
    _line(VLLM, r"non_torch_memory=#NGi[Bb]", _gib("beside")),
    _line(VLLM, r"kv_cache_size=#NGi[Bb]", _gib("cache"), across="min"),
    _line(VLLM, r"gpu_memory_utilization(?:'?: ?|=)#N", "share"),
    _line(VLLM, r"total_gpu_memory \(#NGiB\) x gpu_memory_utilization \(#N\)",
          _gib("memory"), "share"),
    _line(VLLM, r"model weights take #NGiB; non_torch_memory takes #NGiB; "
          r"PyTorch activation peak memory takes #NGiB; .*KV Cache is #NGiB",
          _gib("weights"), _gib("beside"), _gib("activations"), _gib("cache")),
    _line(VLLM, r"torch peak memory increase: #NGiB; non-torch forward increase memory: #NGiB; "
          r"weights memory: #NGiB", _gib("activations"), _gib("beside"), _gib("weights")),
    _line(VLLM, r"Free memory on device \([^/)]*/#N GiB\) on startup\. "
          r"Desired GPU memory utilization is \(#N,", _gib("memory"), "share"),
    _line(VLLM, r"Actual usage is #N GiB for weight, #N GiB for peak activation, "
          r"#N GiB for non-torch", _gib("weights"), _gib("activations"), _gib("beside")),
    _line(VLLM, r"Graph capturing finished in #N secs?, took #N GiB", "", _gib("graphs")),
    _line(VLLM, r"max_num_batched_tokens=#N", "chunk"),
    # A second pair of lines is that of a draft.
    _line(SGLANG, r"Load weight end\..*mem usage=#N GB", _gib("weights"), within="sum"),
    _line(SGLANG, r"KV Cache is allocated\..*\bK size: #N GB, V size: #N GB",
          _gib("cache"), _gib("cache"), within="sum", across="min"),
    _line(SGLANG, r"KV Cache is allocated\..*\bKV size: #N GB", _gib("cache"),
          within="sum", across="min"),
    _line(SGLANG, r"Mamba Cache is allocated\..*conv_state size: #N ?GB, ssm_state size: #N ?GB",
          _gib("cache"), _gib("cache"), within="sum", across="min"),
    _line(SGLANG, r"max_total_num_tokens=#N", "tokens", across="min"),
    _line(SGLANG, r"chunked_prefill_size=#N", "chunk"),
    _line(SGLANG, r"max_running_requests=#N, context_len=#N", "slots", "longest"),
    _line(SGLANG, r"mem_fraction_static=#N", "share"),
    _line(SGLANG, r"[Gg]raph end\..*mem usage=#N GB", _gib("graphs"), within="sum"),
    # Printed twice: a small pool to measure with, then the real one.
    _line(TENSORRT, r"Allocated #N GiB for max tokens in paged KV cache \(#N\)",
          _gib("cache"), "tokens", across="min"),
    _line(TENSORRT, r"Allocate #N bytes for k/v cache", "cache", across="min"),
    _line(TENSORRT, r"Using #N tokens in paged KV cache", "tokens", across="min"),
    _line(TENSORRT, r"Number of blocks in KV cache primary pool: #N", "blocks", across="min"),
    _line(TENSORRT, r"Number of tokens per block: #N", "block"),
    _line(TENSORRT, r"tokens per block=#N, primary blocks=#N", "block", "blocks"),
    _line(TENSORRT, r"paged kv cache: total: #N GiB, available", _gib("memory")),
    _line(TENSORRT, r"torch \+ non-torch\): #N GiB", _gib("peak")),
    _line(TENSORRT, r"device total memory #N GiB", _gib("memory")),
    _line(TENSORRT, r"Loaded engine size: #N MiB", _mib("weights")),
    _line(TENSORRT, r"max_seq_len=#N, max_num_requests=#N, max_num_tokens=#N",
          "longest", "slots", "chunk"),
    _line(LLAMA, r"llama_kv_cache\w*: size = +#N MiB \( *#N cells", _mib("cache"), "tokens",
          within="sum"),
    _line(LLAMA, r"KV self size += +#N MiB", _mib("cache"), within="sum"),
    _line(LLAMA, r"llama_memory_recurrent: size = +#N MiB", _mib("cache"), within="sum"),
    _line(LLAMA, r"load_tensors: +(?P<device>\S+) (?:model )?buffer size = +#N MiB",
          _mib("weights"), within="sum", across="sum"),
    _line(LLAMA, r": +(?P<device>\S+) compute buffer size = +#N MiB", _mib("activations"),
          across="sum"),
    _line(LLAMA, r"\bn_ctx += +#N\b", "longest"),
)  # fmt: skip

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RANK = re.compile(r"(?<![A-Za-z])(?:[DTPE]P\d+|RANK \d+)|pid=\d+")
_LONGEST_LINE = 4000
_MOST = 1e15


def read(text: str) -> Reading:
    """The memory figures in an engine's start-up lines.

    Parameters
    ----------
    text : str
        Lines as they were printed, others among them.

    Returns
    -------
    Reading
        Of one chip: the fullest of several that report weights, the one with the smallest cache;
        what llama.cpp spreads over several devices is shared evenly.

    Raises
    ------
    EngineLogError
        If no line is understood.

    Examples
    --------
    >>> found = read("INFO 03-01 10:00:00 [kv.py:1] GPU KV cache size: 476,016 tokens")
    >>> found.engine, found.tokens
    ('vLLM', 476016.0)
    """
    lines = [_COLOUR.sub("", line)[:_LONGEST_LINE] for line in text.splitlines()]
    read_by = {engine: _read(engine, lines) for engine in (VLLM, SGLANG, TENSORRT, LLAMA)}
    best = max(read_by.values(), key=lambda one: len(one.found))
    if not best.found:
        raise EngineLogError(
            say(
                "No start-up line of vLLM, SGLang, TensorRT-LLM or llama.cpp is in it, such as "
                "“GPU KV cache size: … tokens”"
            )
        )
    return best


def _matches(engine: str, lines: Iterable[str]) -> Iterator[tuple[_Line, re.Match[str], str]]:
    for line in lines:
        for layout in _LINES:
            if layout.engine == engine and (match := layout.pattern.search(line)):
                yield layout, match, line


def _read(engine: str, lines: list[str]) -> Reading:
    """What one engine's layouts find."""
    values: dict[str, dict[str, list[float]]] = {}
    folds: dict[str, _Line] = {}
    found: dict[str, str] = {}
    for layout, match, line in _matches(engine, lines):
        rank, given = " ".join(_RANK.findall(line)), list(match.groups())
        if "device" in match.groupdict():
            rank = match["device"]
            given.remove(rank)
        sizes: dict[str, float] = {}
        for (name, unit), number in zip(layout.figures, given, strict=True):
            if not name or number is None:
                continue
            value = float(number.replace(",", ""))
            # No engine means it; a budget of −1 is none.
            if abs(value) < _MOST and not (name == "chunk" and value < 1):
                sizes[name] = sizes.get(name, 0.0) + unit * value
        for name, size in sizes.items():
            if "device" in match.groupdict() and _in_host(rank):
                name = "host" if name == "weights" else ""
            if name:
                values.setdefault(name, {}).setdefault(rank, []).append(size)
                folds[name], found[name] = layout, line.strip()
    said = {name: _folded(folds[name], ranks) for name, ranks in values.items()}
    devices = len(values.get("weights", {})) if engine == LLAMA else 1
    return _completed(engine, said, max(1, devices), found, lines)


def _in_host(device: str) -> bool:
    """Whether llama.cpp means the memory of the host."""
    return device.startswith("CPU") or device.endswith("_Host")


def _folded(layout: _Line, ranks: Mapping[str, list[float]]) -> float:
    each = [_FOLDS[layout.within](found) for found in ranks.values()]
    return _FOLDS[layout.across](each)


_LOADED = re.compile(rf"Load weight (begin|end)\..*?avail mem={_N} GB")
_POOL = re.compile(rf"KV Cache is allocated\..*#tokens: {_N}")


def _completed(
    engine: str,
    said: dict[str, float],
    devices: int,
    found: dict[str, str],
    lines: list[str],
) -> Reading:
    """With what follows from what is said."""
    assumed = []
    if devices > 1:
        for name in ("weights", "cache", "activations"):
            if name in said:
                said[name] /= devices
        assumed.append(say("Shared evenly by {n} devices.", n=devices))
    if engine == LLAMA and "tokens" in said:
        # Windowed models print two caches; their cells are not of one length.
        cells = [m[1] for m in (re.search(r"\( *(\d+) cells", line) for line in lines) if m]
        said["tokens"] = float(max(map(int, cells)))
    if engine == SGLANG:
        if "weights" not in said:
            _difference(said, found, lines)
        pools = [(m[1], line) for line in lines if (m := _POOL.search(line))]
        if "tokens" not in said and pools:
            said["tokens"], found["tokens"] = float(pools[0][0].replace(",", "")), pools[0][1]
    if engine == VLLM and {"peak", "weights"} <= said.keys() and "activations" not in said:
        said["activations"] = said.pop("peak") - said["weights"]
        found["activations"] = found.pop("peak")
    if "tokens" not in said and "blocks" in said:
        if "block" not in said:
            assumed.append(say("Blocks of 16 tokens, which the lines do not say."))
        said["tokens"] = said["blocks"] * said.get("block", 16)
        found["tokens"] = found["blocks"]
    figures: dict[str, Any] = said
    return Reading(engine, found=found, assumed=tuple(assumed), **figures)


def _difference(said: dict[str, float], found: dict[str, str], lines: list[str]) -> None:
    """Weights as older versions of SGLang let one compute them: free memory before and after."""
    before: dict[str, float] = {}
    for line in lines:
        match, rank = _LOADED.search(line), " ".join(_RANK.findall(line))
        if match and match[1] == "begin":
            before[rank] = float(match[2])
        elif match and rank in before:
            taken = GIB * (before.pop(rank) - float(match[2]))
            said["weights"] = max(taken, said.get("weights", 0.0))
            found["weights"] = line.strip()


@dataclass(frozen=True)
class Beside:
    """A figure of ours and of the log's, nan where one does not say."""

    name: str
    ours: float
    log: float


def beside(ours: Pool, log: Reading) -> list[Beside]:
    """Figures of a pool beside those of a log that says them.

    What the engine takes itself is what memory, weights and cache leave where it does not say, with
    our memory where it does not say that either. Tokens are compared in the way that the log counts
    them.
    """
    budget = _budget(ours, log)
    own = log.own if not math.isnan(log.own) else budget - log.weights - log.cache
    pairs = (
        ("budget", ours.budget, budget),
        # Engines print what they load: with the tables and the padding.
        ("weights", ours.weights + ours.loaded, log.weights),
        ("own", ours.own, own),
        ("cache", ours.cache, log.cache),
        ("tokens", _tokens(ours, log), log.tokens),
        ("concurrency", ours.concurrency, log.concurrency),
    )
    return [Beside(*pair) for pair in pairs if not math.isnan(pair[2])]


def _budget(ours: Pool, log: Reading) -> float:
    told = log.memory * log.share
    if not math.isnan(told) and log.engine == VLLM:
        return told
    parts = log.weights + log.own + log.cache
    return ours.budget if math.isnan(parts) else parts


def _tokens(ours: Pool, log: Reading) -> float:
    """By blocks of a group, or by the longest requests that fit (vLLM from 0.25)."""
    promised = log.concurrency * log.longest
    by_longest = abs(log.tokens - promised) < 0.006 * promised
    return ours.tokens_of_longest if by_longest else ours.tokens


def causes(ours: Pool, log: Reading) -> dict[str, float]:
    """By how much each part makes the log's cache larger than ours [byte].

    Empty where the log lacks weights or cache.
    """
    rows = {row.name: row for row in beside(ours, log)}
    if not {"weights", "cache", "own"} <= rows.keys():
        return {}
    budget, weights, own = rows["budget"], rows["weights"], rows["own"]
    found = {
        "budget": budget.log - budget.ours,
        "weights": weights.ours - weights.log,
        "own": own.ours - own.log,
    }
    rest = rows["cache"].log - rows["cache"].ours - sum(found.values())
    return {**found, "rest": rest}


def bytes_per_token(log: Reading) -> float:
    """What a token takes on a chip by the log [byte]; nan where it does not say."""
    return log.cache / log.tokens if log.tokens > 0 else math.nan


def bytes_per_request(log: Reading) -> float:
    """What a request of the longest length takes [byte]; nan where the log does not say.

    Printed with two decimals, a concurrency below 5 is too rough.
    """
    return log.cache / log.concurrency if log.concurrency >= 5 else math.nan

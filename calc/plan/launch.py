"""A plan as commands that start engines.

Flags are those that a release knows, by the version that is stated; what a release has no flag for
is left out, and said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from shlex import quote

from calc.engine import BY_CHIP, LLAMA_CPP, SERVER
from calc.plan import replica
from calc.plan.candidate import Candidate
from calc.scenario import Scenario
from calc.words import marked, say

# Standard deviations that 999 of 1,000 lengths stay below.
_LONGEST = 3.09
# A Python server cannot be given all memory: it would not start.
_MOST_MEMORY = 0.95


@dataclass(frozen=True)
class Launch:
    """What to start on every replica of one pool.

    `pool` is ``both``, ``prefill`` or ``decode``; `text` a shell command, or the file it reads.
    """

    pool: str
    replicas: int
    text: str


@dataclass(frozen=True)
class Launches:
    """All pools of a plan under one engine, with what its flags cannot say."""

    version: str
    pools: tuple[Launch, ...]
    left_out: tuple[str, ...]


def command(candidate: Candidate, engine: str) -> Launches:
    """The commands that start a plan.

    Parameters
    ----------
    candidate : Candidate
        The plan.
    engine : str
        One of `ENGINES`.

    Raises
    ------
    KeyError
        If there is no such engine.
    """
    one, written = candidate, ENGINES[engine]
    pools = [("both" if one.prefill is None else "decode", one.replicas, one.scenario)]
    if one.prefill:
        pools.insert(0, ("prefill", one.prefill.replicas, one.prefill.scenario))
    return Launches(
        written.version,
        tuple(Launch(pool, n, written.write(one, s, pool)) for pool, n, s in pools),
        tuple(_left_out(one, engine)),
    )


@dataclass(frozen=True)
class Engine:
    """An engine: its name, the release whose flags are written, how, and its kind of engine."""

    name: str
    version: str
    write: Callable[[Candidate, Scenario, str], str]
    kind: str = SERVER


def engines(candidate: Candidate) -> list[str]:
    """Of `ENGINES` those that run on a plan's chip, of the kind that it is timed by first."""
    s = candidate.scenario
    usual = next(iter(s.chip.engines), SERVER) if s.engine == BY_CHIP else s.engine
    known = {usual, *s.chip.engines}
    found = [id for id, one in ENGINES.items() if one.kind in known]
    return sorted(found, key=lambda id: ENGINES[id].kind != usual)


def longest(candidate: Candidate) -> int:
    """Tokens of a request that hardly any is longer than, within the model's context [token]."""
    ask, most = candidate.ask, candidate.scenario.model.max_context
    mean = max(part.prompt + part.output for part in ask.parts)
    deviation = math.sqrt(math.log(ask.scatter))
    tokens = mean * math.exp(_LONGEST * deviation - deviation**2 / 2)
    return math.ceil(max(mean, min(tokens, most or tokens)))


def _share(s: Scenario) -> str:
    return f"{min(s.usable_memory, _MOST_MEMORY):.2f}"


def _budget(one: Candidate, pool: str) -> int:
    """Tokens of a step: whole prompts where they are not read in chunks."""
    if one.budget and pool == "both":
        return one.budget
    # A pool that only decodes has a token for each of its sequences.
    return one.slots if pool == "decode" else max(one.slots, longest(one))


def _slots(one: Candidate, s: Scenario, pool: str) -> int:
    """Sequences of one group; a reader has one prompt in each lane."""
    if pool == "prefill":
        return s.pipeline
    return math.ceil(one.slots / s.attention_dp)


def _shell(first: str, flags: Mapping[str, object]) -> str:
    parts = [first]
    for flag, value in flags.items():
        if value is True:
            parts.append(flag)
        elif value is not None and value is not False:
            parts.append(f"{flag} {quote(str(value))}")
    return " \\\n  ".join(parts)


def _model(s: Scenario) -> str:
    return quote(s.model.hub or s.model.id)


def _vllm(one: Candidate, s: Scenario, pool: str) -> str:
    kv = {"fp8": "fp8", "bf16": "auto"}.get(s.kv_format.id)
    return _shell(
        f"vllm serve {_model(s)}",
        {
            "--tensor-parallel-size": _tp(s),
            "--pipeline-parallel-size": _above_one(s.pipeline),
            "--data-parallel-size": _above_one(s.attention_dp),
            "--enable-expert-parallel": s.expert_parallel > 1,
            "--max-num-seqs": _slots(one, s, pool),
            "--max-num-batched-tokens": _budget(one, pool),
            "--no-enable-chunked-prefill": one.arrangement != "chunked" and pool != "decode",
            "--max-model-len": longest(one),
            "--gpu-memory-utilization": _share(s),
            "--kv-cache-dtype": kv,
        },
    )


def _sglang(one: Candidate, s: Scenario, pool: str) -> str:
    kv = {"fp8": "fp8_e4m3", "bf16": "auto"}.get(s.kv_format.id)
    return _shell(
        "python -m sglang.launch_server",
        {
            "--model-path": s.model.hub or s.model.id,
            "--tensor-parallel-size": _tp(s) * s.attention_dp,
            "--data-parallel-size": _above_one(s.attention_dp),
            "--enable-dp-attention": s.attention_dp > 1,
            "--expert-parallel-size": _above_one(s.expert_parallel),
            "--pipeline-parallel-size": _above_one(s.pipeline),
            "--max-running-requests": _slots(one, s, pool) * s.attention_dp,
            "--chunked-prefill-size": _budget(one, pool) if one.arrangement == "chunked" else -1,
            "--enable-mixed-chunk": one.arrangement == "chunked",
            "--context-length": longest(one),
            "--mem-fraction-static": _share(s),
            "--kv-cache-dtype": kv,
            "--disaggregation-mode": pool if pool != "both" else None,
        },
    )


def _tensorrt(one: Candidate, s: Scenario, pool: str) -> str:
    kv = {"fp8": "fp8", "bf16": "auto"}.get(s.kv_format.id)
    settings = {
        "tensor_parallel_size": _tp(s) * s.attention_dp,
        "pipeline_parallel_size": s.pipeline,
        "moe_expert_parallel_size": _above_one(s.expert_parallel),
        "enable_attention_dp": True if s.attention_dp > 1 else None,
        "max_batch_size": _slots(one, s, pool),
        "max_num_tokens": _budget(one, pool),
        "max_seq_len": longest(one),
        "enable_chunked_prefill": one.arrangement == "chunked",
    }
    lines = [f"{key}: {str(value).lower()}" for key, value in settings.items() if value is not None]
    lines += ["kv_cache_config:", f"  free_gpu_memory_fraction: {_free_share(s):.2f}"]
    lines += [f"  dtype: {kv}"] if kv else []
    lines += ["cache_transceiver_config:", "  backend: DEFAULT"] if pool != "both" else []
    body = "\n".join(lines)
    return f"cat > plan.yaml <<'END'\n{body}\nEND\ntrtllm-serve {_model(s)} --config plan.yaml"


def cache_type(s: Scenario) -> str | None:
    """What llama.cpp calls the format of the cache; None where it has no such."""
    of_gguf = s.kv_format.id.startswith("kv-")
    known = s.kv_format.id.removeprefix("kv-").replace("-", "_")
    return known if of_gguf else {"bf16": "bf16", "fp16": "f16"}.get(s.kv_format.id)


def _llama_cpp(one: Candidate, s: Scenario, pool: str) -> str:
    name = (s.model.hub or s.model.id).rpartition("/")[2]
    stored = s.weight_format.id.upper().replace("-", "_") if s.weight_format else ""
    layers = round(s.host_share * s.model.layers)
    experts = bool(s.model.routed_params)
    apart = s.n_chips > 1
    return _shell(
        "llama-server",
        {
            "--model": "-".join(filter(None, [name, stored])) + ".gguf",
            "--split-mode": ("layer" if s.pipeline > 1 else "row") if apart else None,
            "--tensor-split": ",".join("1" * s.n_chips) if apart else None,
            "--n-cpu-moe": (layers or None) if experts else None,
            "--n-gpu-layers": s.model.layers - layers if layers and not experts else None,
            "--parallel": one.slots,
            # Of all slots together.
            "--ctx-size": one.slots * longest(one),
            "--batch-size": one.budget or None,
            "--ubatch-size": one.budget or None,
            "--fit-target": math.floor((1 - s.usable_memory) * s.chip.memory / 2**20) or None,
            "--cache-type-k": cache_type(s),
            "--cache-type-v": cache_type(s),
        },
    )


def _not_of_llama_cpp(one: Candidate, s: Scenario) -> Iterator[str]:
    """What of a layout llama.cpp has no flags for."""
    if s.attention_dp > 1:
        yield "DP"
    if s.expert_parallel > 1:
        yield "EP"
    if s.pipeline > 1 and _tp(s) > 1:
        yield say("TP beside PP")
    if one.prefill:
        yield say("two pools")
    if not one.budget:
        yield say("whole prompts")


def _free_share(s: Scenario) -> float:
    """Of what weights leave free, what the cache may have."""
    layout = replica.layout_of(s)
    room = float(replica.room(s, layout))
    weights = s.chip.memory * s.usable_memory - s.runtime_memory - room
    return math.floor(100 * max(room, 0.0) / (s.chip.memory - weights)) / 100


def _tp(s: Scenario) -> int:
    return s.tensor_parallel or s.n_chips


def _above_one(width: int) -> int | None:
    return width if width > 1 else None


ENGINES: Mapping[str, Engine] = {
    "vllm": Engine("vLLM", "0.33.0", _vllm),
    "sglang": Engine("SGLang", "0.5.23", _sglang),
    "tensorrt-llm": Engine("TensorRT-LLM", "00209af1", _tensorrt),
    LLAMA_CPP: Engine("llama.cpp", "b11434", _llama_cpp, LLAMA_CPP),
}
_CONNECTOR = marked(
    "Which connector sends the cache between the pools (--kv-transfer-config, with a proxy before "
    "them) hangs on the installation."
)


def _left_out(one: Candidate, engine: str) -> Iterator[str]:
    s = one.scenario
    if s.weight_format is not None and s.weight_format != s.model.checkpoint:
        yield say(
            "Weights in {format} come from a checkpoint that is stored so.",
            format=s.stored.id,
        )
    of_llama = engine == LLAMA_CPP
    if cache_type(s) is None if of_llama else s.kv_format.id not in ("fp8", "bf16"):
        yield say("No flag is known for a cache in {format}.", format=s.kv_format.id)
    missing = list(_not_of_llama_cpp(one, s)) if of_llama else []
    if missing:
        yield say("llama.cpp has no flags for {parts}.", parts=", ".join(missing))
    if one.prefill and engine == "vllm":
        yield say(_CONNECTOR)
    if s.usable_memory > _MOST_MEMORY and not of_llama:
        yield say(
            "The plan counts {share:.0%} of memory; an engine starts with {most:.0%} at most.",
            share=s.usable_memory, most=_MOST_MEMORY,
        )  # fmt: skip

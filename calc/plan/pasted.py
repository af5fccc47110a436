"""A launch command that somebody pastes, as settings of the scenario and the service.

It is a stranger's text: reading it raises nothing but `PastedError`, in one sentence.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calc.engine import LLAMA_CPP
from calc.errors import LedgerError
from calc.fields import Quantity
from calc.model import Model
from calc.scenario import FIELDS
from calc.serving.asked import FIELDS as SERVED
from calc.words import say

LONGEST = 20_000


class PastedError(LedgerError):
    """A text that is no launch command of an engine that is known here, and why."""


@dataclass(frozen=True)
class Pasted:
    """What a command says.

    `settings` are plain values by field name; `understood` the flags that set them and `left` those
    that set nothing here.
    """

    engine: str
    settings: Mapping[str, Any]
    understood: tuple[str, ...]
    left: tuple[str, ...]


# What flags of any engine mean, dashes for underscores.
_FLAGS: Mapping[str, str] = {
    **dict.fromkeys(("model", "model-path", "model-tag"), "model"),
    **dict.fromkeys(("tensor-parallel-size", "tp", "tp-size"), "tp"),
    **dict.fromkeys(("pipeline-parallel-size", "pp", "pp-size"), "pp"),
    **dict.fromkeys(("data-parallel-size", "dp", "dp-size"), "dp"),
    **dict.fromkeys(
        ("expert-parallel-size", "ep", "ep-size", "moe-expert-parallel-size"), "ep"
    ),
    "enable-expert-parallel": "spread",
    **dict.fromkeys(("enable-dp-attention", "enable-attention-dp"), "attention"),
    **dict.fromkeys(("max-num-seqs", "max-running-requests", "max-batch-size"), "slots"),
    **dict.fromkeys(
        ("max-num-batched-tokens", "chunked-prefill-size", "max-num-tokens"), "budget"
    ),
    **dict.fromkeys(("gpu-memory-utilization", "mem-fraction-static"), "share"),
    "kv-cache-dtype": "kv",
    **dict.fromkeys(("quantization", "q"), "weights"),
    "no-enable-chunked-prefill": "whole",
    "enable-chunked-prefill": "chunked",
    "enable-mixed-chunk": "chunked",
}  # fmt: skip
# Of llama.cpp, whose letters mean something else elsewhere.
_LLAMA_FLAGS: Mapping[str, str] = {
    **dict.fromkeys(("model", "m", "hf-repo", "hf", "hfr"), "gguf"),
    **dict.fromkeys(("parallel", "np"), "slots"),
    **dict.fromkeys(("ubatch-size", "ub"), "budget"),
    **dict.fromkeys(("tensor-split", "ts"), "devices"),
    **dict.fromkeys(("split-mode", "sm"), "split"),
    **dict.fromkeys(("cache-type-k", "ctk"), "gguf-kv"),
    **dict.fromkeys(("n-cpu-moe", "ncmoe"), "moved"),
    **dict.fromkeys(("cpu-moe", "cmoe"), "all-moved"),
}
# Its types, by how file names write them: formats of weights.
GGUF = (
    "q8-0", "q6-k", "q5-k-m", "q5-k-s", "q4-k-m", "q4-k-s", "q3-k-l", "q3-k-m", "q3-k-s", "q2-k-s",
    "q2-k", "iq4-nl", "iq4-xs", "iq3-m", "iq3-s", "iq3-xs", "mxfp4", "bf16", "fp16", "f16",
)  # fmt: skip
GGUF_CACHES = {
    "f16": "fp16", "bf16": "bf16", "q8_0": "kv-q8-0", "q5_1": "kv-q5-1", "q5_0": "kv-q5-0",
    "q4_1": "kv-q4-1", "q4_0": "kv-q4-0", "iq4_nl": "kv-iq4-nl",
}  # fmt: skip
_CACHES = {"auto": "bf16", "bfloat16": "bf16"}
_WEIGHTS = {"fp8": "fp8", "awq": "int4-g128", "gptq": "int4-g128", "awq-marlin": "int4-g128",
            "gptq-marlin": "int4-g128", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}  # fmt: skip
_SUFFIXES = {"k": 1000, "m": 1000**2, "K": 1024, "M": 1024**2}
_YAML = re.compile(r"^\s*-?\s*([a-z][a-z_]+_[a-z_]+)\s*:\s*([\w.]+)\s*$", re.MULTILINE)


def read(text: str, models: Mapping[str, Model]) -> Pasted:
    """Settings of a command of an engine of `launch.ENGINES`: a shell's, or lists of arguments.

    Raises
    ------
    PastedError
        If nothing in it is known here.

    Examples
    --------
    >>> read("vllm serve acme/Toy -tp=4 --max-num-seqs 128", {}).settings["tensor_parallel"]
    4
    """
    if len(text) > LONGEST:
        raise PastedError(say("The command is longer than {most:,} characters.", most=LONGEST))
    engine = _engine(text)
    values: dict[str, Any] = {}
    understood, left = [], []
    flags = _LLAMA_FLAGS if engine == LLAMA_CPP else _FLAGS
    for flag, value in _given(text):
        meaning = flags.get(flag)
        found = _value(meaning, value, models) if meaning else None
        if meaning is None or found is None:
            left.append(flag)
        else:
            values[meaning] = found
            understood.append(flag)
    if not values:
        raise PastedError(
            say("No flag of vLLM, SGLang, TensorRT-LLM or llama.cpp is known in this text.")
        )
    routed = (
        bool(values["model"] in models and models[values["model"]].routed_params)
        if ("model" in values)
        else values.get("spread", False)
    )
    settings = (
        _of_llama_cpp(values, models) if engine == LLAMA_CPP else _settings(engine, values, routed)
    )
    wrong = [name for name, value in settings.items() if _problem(name, value)]
    return Pasted(
        engine,
        {name: value for name, value in settings.items() if name not in wrong},
        tuple(understood),
        tuple(dict.fromkeys(left)),
    )


def _engine(text: str) -> str:
    if "sglang" in text:
        return "sglang"
    if re.search(r"llama[-_]server|llama\.cpp|\.gguf", text):
        return LLAMA_CPP
    tensorrt = "trtllm" in text or "kv_cache_config" in text
    return "tensorrt-llm" if tensorrt else "vllm"


def _given(text: str) -> Iterator[tuple[str, str]]:
    """Flags and their values, empty for those without, the model's name as `model`."""
    for key, value in _YAML.findall(text):
        if key.replace("_", "-") in _FLAGS:
            yield key.replace("_", "-"), value
    plain = re.sub(r"\\\s*\n", " ", text)
    plain = re.sub(r"^\s*-\s+", " ", plain, flags=re.MULTILINE)
    plain = re.sub(r"([\"'])\s*,\s*([\"'])", r"\1 \2", plain)
    try:
        words = shlex.split(plain, comments=True)
    except ValueError:
        words = plain.split()
    words = [word.strip("[],") for word in words]
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if word.endswith(("serve",)) and after and not after.startswith("-"):
            yield "model", after
        if not re.match(r"--?[a-zA-Z]", word):
            continue
        name, is_, value = word.lstrip("-").partition("=")
        if not is_ and not re.match(r"--?[a-zA-Z]", after):
            value = after
        yield name.replace("_", "-"), value


def _value(meaning: str, value: str, models: Mapping[str, Model]) -> Any:
    """What a flag sets; None where it is nothing that is known here."""
    if meaning in ("spread", "attention", "whole", "chunked"):
        return value.lower() != "false"
    if meaning == "model":
        called = {model.hub.lower(): id for id, model in models.items() if model.hub}
        return called.get(value.lower(), value.lower() if value.lower() in models else None)
    if meaning == "gguf":
        return _gguf(value, models)
    if meaning == "gguf-kv":
        return GGUF_CACHES.get(value.lower())
    if meaning == "devices":
        # A device that gets no part of the model is none.
        return sum(bool(part.strip("0.")) for part in value.split(",")) or None
    if meaning == "split":
        return value if value in ("layer", "row", "tensor") else None
    if meaning == "all-moved":
        return True
    if meaning == "kv":
        return "fp8" if value.startswith("fp8") else _CACHES.get(value)
    if meaning == "weights":
        return _WEIGHTS.get(value.lower().replace("_", "-"))
    number = re.fullmatch(r"(-?\d{1,9}(?:\.\d{1,6})?)([kmKM]?)", value)
    if not number:
        return None
    found = float(number[1]) * _SUFFIXES.get(number[2], 1)
    return found if meaning == "share" else int(found)


def _gguf(value: str, models: Mapping[str, Model]) -> tuple[str | None, str] | None:
    """Model and format of weights that the name of a file or a repository says, as far as known."""
    name = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", value.lower().rstrip("/"))
    name = name.rpartition("/")[2].replace(":", "-").replace("_", "-").replace("-gguf", "")
    stored = next((one for one in GGUF if name.endswith(f"-{one}")), "")
    bare = name.removesuffix(f"-{stored}") if stored else name
    called = {
        model.hub.lower().rpartition("/")[2].replace("_", "-"): id
        for id, model in models.items()
        if model.hub
    }
    found = called.get(bare, bare if bare in models else None)
    return (found, "fp16" if stored == "f16" else stored) if found or stored else None


def _of_llama_cpp(given: Mapping[str, Any], models: Mapping[str, Model]) -> dict[str, Any]:
    """Fields of the scenario and the service that a command of llama.cpp sets."""
    devices = given.get("devices", 1)
    by_rows = given.get("split", "layer") != "layer"
    id, stored = given.get("gguf", (None, ""))
    found: dict[str, Any] = {
        "engine": LLAMA_CPP, "n_chips": devices, "tensor_parallel": devices if by_rows else 1,
        "pipeline": 1 if by_rows else devices, "attention_dp": 1, "expert_parallel": 1,
        "replicas": 1, "policy": "chunked", "weight_format": stored or "pub",
    }  # fmt: skip
    share = 1.0 if given.get("all-moved") else None
    if id and "moved" in given:
        share = min(given["moved"] / models[id].layers, 1.0)
    more = {
        "model": id, "kv_format": given.get("gguf-kv"), "slots": given.get("slots"),
        "budget": given.get("budget"), "host_share": share,
    }  # fmt: skip
    return {**found, **{name: value for name, value in more.items() if value is not None}}


def _settings(engine: str, given: Mapping[str, Any], routed: bool) -> dict[str, Any]:
    """Fields of the scenario and the service."""
    tp, pp, dp = (max(given.get(name, 1), 1) for name in ("tp", "pp", "dp"))
    replicas, groups = 1, 1
    if engine == "vllm":
        # Ranks of a dense model are replicas.
        replicas, groups = (1, dp) if routed else (dp, 1)
        experts = tp * groups if given.get("spread") else 1
    else:
        # Tensor parallel counts all chips of a stage.
        if given.get("attention"):
            groups = tp if engine == "tensorrt-llm" else dp
            tp = max(tp // groups, 1)
        else:
            replicas = dp
        experts = max(given.get("ep", 1), 1)
    found: dict[str, Any] = {
        "n_chips": tp * pp * groups, "tensor_parallel": tp, "pipeline": pp,
        "attention_dp": groups, "expert_parallel": experts, "replicas": replicas,
        "weight_format": given.get("weights", "pub"),
    }  # fmt: skip
    each = groups if engine in ("vllm", "tensorrt-llm") else 1
    more = {
        "model": given.get("model"), "kv_format": given.get("kv"),
        "usable_memory": given.get("share") if engine != "tensorrt-llm" else None,
        "slots": given["slots"] * each if "slots" in given else None,
        "budget": given["budget"] if given.get("budget", 0) > 0 else None,
    }  # fmt: skip
    whole = given.get("whole") or given.get("budget", 1) < 0
    found["policy"] = "continuous" if whole else "chunked"
    return {**found, **{name: value for name, value in more.items() if value is not None}}


_SERVED = {field.name: field for field in SERVED}


def _problem(name: str, value: Any) -> bool:
    field = FIELDS.get(name) or _SERVED[name]
    return isinstance(field, Quantity) and field.problem(value) is not None

"""What a configuration says of stored weights, part by part; what it does not say is said.

Schemes name modules of a network. They are held against the names that each part goes by in the
layers of a decoder, so that an exclusion of some layers counts for its share of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from calc.checkpoint import (
    ATTENTION,
    BETWEEN,
    DENSE,
    EMBEDDING,
    HEAD,
    INPUTS,
    LOW_RANK,
    MAPS,
    PARTS,
    ROUTED,
    ROUTER,
    SHARED,
    Checkpoint,
)
from calc.errors import LedgerError
from calc.formats import NumberFormat

# Modules by which a part is known; {n} is a layer.
MODULES: Mapping[str, tuple[str, ...]] = {
    ATTENTION: ("model.layers.{n}.self_attn.q_proj", "model.layers.{n}.attn.wq"),
    DENSE: ("model.layers.{n}.mlp.gate_proj", "model.layers.{n}.mlp.down_proj"),
    SHARED: (
        "model.layers.{n}.mlp.shared_experts.gate_proj",
        "model.layers.{n}.ffn.shared_experts.w1",
        "model.layers.{n}.mlp.shared_expert.gate_proj",
    ),
    ROUTED: (
        "model.layers.{n}.mlp.experts.0.gate_proj",
        "model.layers.{n}.ffn.experts.0.w1",
        "model.layers.{n}.block_sparse_moe.experts.0.w1",
    ),
    ROUTER: ("model.layers.{n}.mlp.gate", "model.layers.{n}.mlp.router"),
    BETWEEN: ("model.layers.{n}.mlp.fc1_latent_proj",),
    MAPS: ("model.altup_projections.0", "model.layers.{n}.linear"),
    LOW_RANK: ("model.layers.{n}.per_layer_input_gate", "model.layers.{n}.laurel.linear_left"),
    INPUTS: ("model.per_layer_model_projection",),
    HEAD: ("lm_head", "head"),
    EMBEDDING: ("model.embed_tokens", "embed_tokens"),
}
LINEAR = (ATTENTION, DENSE, SHARED, ROUTED, BETWEEN, MAPS, LOW_RANK, INPUTS)
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16"}
_RATES = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "int8": "int8", "int4": "int4"}
_NOMINAL = {"fp32": 32.0, "bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0, "int4": 4.0}
_BLOCKS = {"mxfp4": (4.25, 32), "mxfp6": (6.25, 32), "mxfp8": (8.25, 32), "nvfp4": (4.5, 16)}
_ID = re.compile(
    r"(?P<kind>int|mlx|nf)(?P<bits>[2-8])-g(?P<group>\d{1,4})(?P<zero>-zero)?"
    r"|fp8-block(?P<rows>\d{1,4})(?:x(?P<columns>\d{1,4}))?(?P<small>-e8m0)?"
)


def named(id: str) -> NumberFormat | None:
    """The weight format of an id, with the bits that its scales and zeros add; None if unknown.

    ``int4-g128``, ``int4-g128-zero``, ``mlx4-g64``, ``nf4-g64``, ``fp8-block128``,
    ``fp8-block128-e8m0``, ``fp8-block1x128`` and the plain and block formats.

    References
    ----------
    F9.2.

    Examples
    --------
    >>> [named(id).bits for id in ("int4-g128", "int4-g128-zero", "mlx4-g64", "fp8-block128")]
    [4.125, 4.15625, 4.5, 8.001953125]
    """
    if id in _NOMINAL:
        return NumberFormat(id, id, _NOMINAL[id], _RATES.get(id), ("weights",))
    if id in _BLOCKS:
        bits, group = _BLOCKS[id]
        rate = "fp4" if id.endswith("4") else None
        return NumberFormat(id, id, bits, rate, ("weights",), group=group)
    found = _ID.fullmatch(id)
    if not found:
        return None
    if found["rows"]:
        rows, columns = int(found["rows"]), int(found["columns"] or found["rows"])
        if not rows * columns:
            return None
        scale = 8 if found["small"] else 32
        return NumberFormat(id, id, 8 + scale / (rows * columns), None, ("weights",), group=columns)
    bits, group = int(found["bits"]), int(found["group"])
    if not group:
        return None
    # MLX keeps a scale and a bias of 16 bits, bitsandbytes a scale of 32.
    extra = {"int": 16.0 + bool(found["zero"]) * bits, "mlx": 32.0, "nf": 32.0}[found["kind"]]
    return NumberFormat(id, id, bits + extra / group, None, ("weights",), group=group)


def blend(shares: Sequence[tuple[NumberFormat, float]]) -> NumberFormat:
    """One format that weighs what several do together, each with its share.

    It is multiplied as most of it is.
    """
    kept = [(one, share) for one, share in shares if share > 0]
    if len(kept) == 1:
        return kept[0][0]
    total = sum(share for _, share in kept)
    most = max(kept, key=lambda pair: pair[1])[0]
    id = " + ".join(dict.fromkeys(one.id for one, _ in kept))
    bits = sum(one.bits * share for one, share in kept) / total
    return NumberFormat(id, id, bits, most.rate, ("weights",), group=most.group)


class NotUnderstoodError(LedgerError):
    """A scheme that is not interpreted; the message is what the file calls it."""


def read(
    quantization: Mapping[str, Any] | None, config: Mapping[str, Any], layers: int
) -> Checkpoint | None:
    """How weights are stored by a configuration; None where it says nothing.

    Parameters
    ----------
    quantization : mapping or None
        ``quantization_config``, ``compression_config`` or MLX's ``quantization``.
    config : mapping
        The configuration around it, for the type of what is not quantized.
    layers : int
        Layers of the decoder.

    Raises
    ------
    NotUnderstoodError
        If the scheme, or a part of it, is none that is interpreted here.
    """
    plain = named(_DTYPES.get(_word(config, "torch_dtype", "dtype"), ""))
    if not isinstance(quantization, Mapping):
        return None if plain is None else Checkpoint(plain)
    rest = plain or _known("bf16")
    method = str(quantization.get("quant_method") or "").lower()
    scheme = _SCHEMES.get(method) if method else _mlx
    if scheme is None:
        raise NotUnderstoodError(_shown(method))
    formats = scheme(quantization, rest, layers)
    experts = _word(config, "expert_dtype")
    if experts and quantization.get("moe_quant_algo") is None:
        known = {"fp4": "mxfp4", "fp8": "fp8", "bf16": "bf16"}.get(experts)
        if known is None:
            raise NotUnderstoodError(_shown(experts))
        formats[ROUTED] = _known(known)
    most = formats.get(DENSE, rest)
    return Checkpoint.of_parts(most, {part: formats.get(part, rest) for part in PARTS})


def _known(id: str) -> NumberFormat:
    found = named(id)
    if found is None:
        raise NotUnderstoodError(_shown(id))
    return found


def _word(config: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        value = config.get(key)
        if isinstance(value, str):
            return value.removeprefix("torch.")
    return ""


def _shown(name: str) -> str:
    """A stranger's word as far as it is plain."""
    return "".join(c for c in name if c.isascii() and (c.isalnum() or c in "_-. "))[:40] or "?"


Formats = dict[str, NumberFormat]


@dataclass(frozen=True)
class Named:
    """Modules by a list of names, globs and ``re:`` expressions.

    Lists may be long, with a name for every expert of every layer: names are looked up, and a
    pattern is tried where a text that it must hold is there. `layers` are those that the list
    tells from others by their number; None where it may be any.
    """

    names: frozenset[str]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    layers: frozenset[int] | None

    def __call__(self, module: str) -> bool:
        short = module.removeprefix("model.")
        words = short.split(".")
        starts = (".".join(words[:n]) for n in range(1, len(words) + 1))
        return (
            not self.names.isdisjoint(words)
            or not self.names.isdisjoint(starts)
            or any(
                held in module and (one.match(module) or one.match(short))
                for held, one in self.patterns
            )
        )


def _patterns(listed: Any) -> Named:
    """A list of modules, or of none if it is no list."""
    names: set[str] = set()
    patterns: dict[str, tuple[str, re.Pattern[str]]] = {}
    for entry in _list(listed):
        if not isinstance(entry, str) or len(entry) > 500 or entry in patterns:
            continue
        short = _OUTER.sub("", entry)
        if "*" not in entry and not entry.startswith("re:"):
            names.add(short)
        elif len(patterns) == _MOST_PATTERNS:
            raise NotUnderstoodError("ignore")
        elif entry.startswith("re:"):
            patterns[entry] = "", _expression(entry[3:])
        else:
            held = max(re.split(r"[*?]|\[.*?\]", short), key=len)
            patterns[entry] = held, re.compile(translate(f"*{short}*"))
    numbers = re.findall(r"\d{1,5}", " ".join((*names, *patterns)))
    ranges = any("[" in entry or "\\d" in entry for entry in patterns)
    return Named(
        frozenset(names),
        tuple(patterns.values()),
        None if ranges else frozenset(map(int, numbers)),
    )


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


_MOST_PATTERNS = 1000
# What stands before a layer's name where a decoder is part of something.
_OUTER = re.compile(r"(?:(?:model|language_model|text_model)\.)+")


def _expression(text: str) -> re.Pattern[str]:
    """A stranger's expression, unless it could take for ever: few repetitions, none of groups."""
    repeated = re.findall(r"[*+{]", text.replace("\\\\", ""))
    if len(repeated) > 5 or re.search(r"\)[*+?{]", text):
        raise NotUnderstoodError("ignore")
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        raise NotUnderstoodError("ignore") from None


def _share_excluded(part: str, excluded: Named, layers: int) -> float:
    """Share of the layers in which a list leaves a part alone."""
    names = MODULES[part]
    if "{n}" not in "".join(names):
        return float(any(excluded(name) for name in names))
    if not layers:
        return 0.0

    def left(n: int) -> bool:
        return any(excluded(name.format(n=n)) for name in names)

    own = {n for n in range(layers) if excluded.layers is None or n in excluded.layers}
    others = [n for n in range(layers) if n not in own]
    # All layers that no entry names by number fare alike.
    count = sum(map(left, own)) + len(others) * any(map(left, others[:1]))
    return count / layers


def _everywhere(
    parts: Iterable[str], stored: NumberFormat, rest: NumberFormat, listed: Any, layers: int
) -> Formats:
    """Parts in a format but where a list leaves them alone."""
    excluded, found = _patterns(listed), {}
    for part in parts:
        left = _share_excluded(part, excluded, layers)
        found[part] = blend([(stored, 1 - left), (rest, left)])
    return found


def _left_out(q: Mapping[str, Any]) -> list[Any]:
    """All lists of modules that are not quantized, whatever their key is called."""
    keys = ("ignore", "ignored_layers", "modules_to_not_convert", "modules_to_not_quantize",
            "exclude_modules", "llm_int8_skip_modules")  # fmt: skip
    return [entry for key in keys for entry in _list(q.get(key))]


def _fp8(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    if str(q.get("quant_algo") or "").upper() == "MIXED_PRECISION" or q.get("moe_quant_algo"):
        return _mixed(q, rest, layers)
    block = q.get("weight_block_size")
    stored = _known("fp8")
    if isinstance(block, Sequence) and len(block) == 2:
        rows, columns = block
        size = f"{rows}" if rows == columns else f"{rows}x{columns}"
        small = "-e8m0" if q.get("scale_fmt") == "ue8m0" else ""
        stored = _known(f"fp8-block{size}{small}")
    return _everywhere(LINEAR, stored, rest, _left_out(q), layers)


def _mxfp4(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    return _everywhere((ROUTED,), _known("mxfp4"), rest, _left_out(q), layers)


def _grouped(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    """GPTQ and AWQ: both keep zero points, the first unless it is symmetric."""
    zero = q.get("quant_method") == "awq" or q.get("sym") is False
    stored = _integer(q.get("bits", q.get("w_bit")), q.get("group_size", q.get("q_group_size")),
                      zero)  # fmt: skip
    return _everywhere(LINEAR, stored, rest, _left_out(q), layers)


def _integer(bits: Any, group: Any, zero: bool) -> NumberFormat:
    if type(bits) is not int or not (group is None or type(group) is int):
        raise NotUnderstoodError("bits")
    if group is None or group < 1:
        # One scale a column: nothing to speak of.
        return _known(f"int{bits}")
    return _known(f"int{bits}-g{group}{'-zero' if zero else ''}")


def _compressed(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    groups = q.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise NotUnderstoodError("config_groups")
    found: Formats = {}
    left = _left_out(q)
    for group in groups.values():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if not isinstance(weights, Mapping):
            raise NotUnderstoodError("config_groups")
        stored = _of_weights(weights)
        targets = group.get("targets")
        aimed = [t for t in _list(targets) if isinstance(t, str) and t != "Linear"]
        if aimed:
            hit = _patterns(aimed)
            parts = [p for p in (*LINEAR, HEAD) if _share_excluded(p, hit, layers)]
        else:
            parts = [*LINEAR, HEAD]
        found |= _everywhere(parts, stored, rest, left, layers)
    return found


# By bits and group.
_FLOATS = {
    "8/None": "fp8", "8/128": "fp8-block1x128", "8/32": "mxfp8", "6/32": "mxfp6", "4/32": "mxfp4",
    "4/16": "nvfp4",
}  # fmt: skip


def _of_weights(weights: Mapping[str, Any]) -> NumberFormat:
    bits, group = weights.get("num_bits"), weights.get("group_size")
    block = weights.get("block_structure")
    if weights.get("type") == "float":
        if bits == 8 and isinstance(block, Sequence) and len(block) == 2:
            return _known(f"fp8-block{block[0]}" + (f"x{block[1]}" if block[0] != block[1] else ""))
        id = _FLOATS.get(f"{bits}/{group}")
        if id is None:
            raise NotUnderstoodError(f"{_shown(str(bits))} bit float")
        return _known(id)
    return _integer(bits, group if group != -1 else None, weights.get("symmetric") is False)


_ALGORITHMS = {"FP8": "fp8", "NVFP4": "nvfp4", "MXFP8": "mxfp8", "MXFP4": "mxfp4",
               "W4A16_AWQ": "int4-g128", "W4A8_AWQ": "int4-g128", "INT8": "int8",
               "FP8_PB_WO": "fp8-block128", "FP8_PER_CHANNEL_PER_TOKEN": "fp8"}  # fmt: skip


def _algorithm(name: Any) -> NumberFormat:
    id = _ALGORITHMS.get(str(name or "").upper())
    if id is None:
        raise NotUnderstoodError(_shown(str(name)))
    return _known(id)


def _modelopt(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    inner = q.get("quantization")
    if isinstance(inner, Mapping):
        q = {**q, **inner}
    algorithm = q.get("quant_algo")
    if str(algorithm or "").upper() == "MIXED_PRECISION":
        return _mixed(q, rest, layers)
    if algorithm is None and isinstance(q.get("config_groups"), Mapping):
        return _compressed(q, rest, layers)
    return _everywhere((*LINEAR, HEAD), _algorithm(algorithm), rest, _left_out(q), layers)


def _mixed(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    """Layers that are listed with their own algorithm; the others in fp8 blocks if they say so."""
    listed = q.get("quantized_layers")
    blocks = {key: q.get(key) for key in ("weight_block_size", "scale_fmt")}
    base = _fp8(blocks, rest, 0)[DENSE] if q.get("quant_method") == "fp8" else rest
    found: Formats = dict.fromkeys(LINEAR, base)
    if isinstance(listed, Mapping) and listed:
        of_part: dict[str, dict[str, int]] = {}
        for module, one in listed.items():
            part = _part_of(str(module))
            if part is None or not isinstance(one, Mapping):
                continue
            algorithm = str(one.get("quant_algo"))
            of_part.setdefault(part, {})
            of_part[part][algorithm] = of_part[part].get(algorithm, 0) + 1
        for part, counted in of_part.items():
            most = max(counted, key=counted.__getitem__)
            found[part] = _algorithm(most)
    if q.get("moe_quant_algo"):
        found[ROUTED] = _algorithm(q.get("moe_quant_algo"))
    return found


def _part_of(module: str) -> str | None:
    """The part that a module of a layer belongs to."""
    marks = (("shared_expert", SHARED), ("experts", ROUTED), ("attn", ATTENTION),
             ("attention", ATTENTION), ("mixer", ATTENTION), ("mlp", DENSE), ("ffn", DENSE),
             ("lm_head", HEAD))  # fmt: skip
    return next((part for mark, part in marks if mark in module), None)


def _mlx(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    """MLX quantizes tables and head too; single modules may have settings of their own."""
    mode = str(q.get("mode") or "affine")
    stored = _mlx_format(q, mode)
    found: Formats = dict.fromkeys(PARTS, stored)
    own: dict[str, list[NumberFormat]] = {}
    for module, one in q.items():
        part = _part_of(module) or (EMBEDDING if "embed_tokens" in module else None)
        if part is None:
            continue
        if one is False:
            own.setdefault(part, []).append(rest)
        elif isinstance(one, Mapping):
            own.setdefault(part, []).append(_mlx_format(one, str(one.get("mode") or mode)))
    for part, several in own.items():
        # Projections of a part count alike: nearly so, where one is wider than another.
        whole = 1 if part in (HEAD, EMBEDDING) else layers * _PROJECTIONS[part]
        shares = [(one, 1.0) for one in several]
        shares.append((stored, max(0.0, whole - len(several))))
        found[part] = blend(_gathered(shares))
    return found


_PROJECTIONS = {ATTENTION: 4, DENSE: 3, SHARED: 3, ROUTED: 3, ROUTER: 1, BETWEEN: 2}


def _gathered(shares: list[tuple[NumberFormat, float]]) -> list[tuple[NumberFormat, float]]:
    sums: dict[NumberFormat, float] = {}
    for one, share in shares:
        sums[one] = sums.get(one, 0.0) + share
    return list(sums.items())


def _mlx_format(q: Mapping[str, Any], mode: str) -> NumberFormat:
    if mode in _BLOCKS:
        return _known(mode)
    bits, group = q.get("bits"), q.get("group_size")
    if mode != "affine" or type(bits) is not int or type(group) is not int:
        raise NotUnderstoodError(_shown(mode))
    return _known(f"mlx{bits}-g{group}")


def _bitsandbytes(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    if q.get("load_in_8bit") or q.get("_load_in_8bit"):
        stored = _known("int8")
    elif q.get("load_in_4bit") or q.get("_load_in_4bit"):
        # With scales quantized again they take an eighth of a bit.
        stored = _known("nf4-g256" if q.get("bnb_4bit_use_double_quant") else "nf4-g64")
    else:
        raise NotUnderstoodError("bitsandbytes")
    return _everywhere(LINEAR, stored, rest, _left_out(q), layers)


def _fbgemm(q: Mapping[str, Any], rest: NumberFormat, layers: int) -> Formats:
    return _everywhere(LINEAR, _known("fp8"), rest, _left_out(q), layers)


_SCHEMES: Mapping[str, Callable[[Mapping[str, Any], NumberFormat, int], Formats]] = {
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "gptq": _grouped,
    "awq": _grouped,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "bitsandbytes": _bitsandbytes,
    "fbgemm_fp8": _fbgemm,
}


def written(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint as a link keeps it: an id for each format, and bits where an id has none."""
    stored = {"rest": checkpoint.rest, **dict(checkpoint.parts)}
    return {part: _written(one) for part, one in stored.items()}


def _written(one: NumberFormat) -> Any:
    known = named(one.id)
    return one.id if known == one else {"id": one.id, "bits": one.bits, "rate": one.rate}


def from_written(value: Any) -> Checkpoint | None:
    """What `written` wrote, or the id of one format; None for anything else."""
    if isinstance(value, str):
        value = {"rest": value}
    if not isinstance(value, Mapping) or not set(value) <= {"rest", *PARTS}:
        return None
    stored = {part: _from_written(one) for part, one in value.items()}
    found = {part: one for part, one in stored.items() if one is not None}
    if "rest" not in found or len(found) < len(stored):
        return None
    rest = found.pop("rest")
    return Checkpoint.of_parts(rest, found)


def _from_written(value: Any) -> NumberFormat | None:
    if isinstance(value, str):
        return named(value)
    if not isinstance(value, Mapping):
        return None
    id, bits, rate = value.get("id"), value.get("bits"), value.get("rate")
    if not isinstance(bits, (int, float)) or isinstance(bits, bool) or not 1 <= bits <= 64:
        return None
    if not (isinstance(id, str) and re.fullmatch(r"[a-z0-9 +.-]{1,60}", id)):
        return None
    if not (rate is None or rate in (*_RATES, "fp4")):
        return None
    return NumberFormat(id, id, float(bits), rate, ("weights",))

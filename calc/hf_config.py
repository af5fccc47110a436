"""A Hugging Face ``config.json`` as a `Model`.

What a file says is used; what it leaves out takes the architecture's documented default and is
listed in ``model.assumptions``; what cannot be interpreted is refused with its key. The files are
strangers': nothing here raises but `ConfigError`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from calc import hf_quantization, hf_resident
from calc.checkpoint import Checkpoint
from calc.hf_families import FAMILIES
from calc.hf_keys import ConfigError, Keys, compacted
from calc.hf_parts import width
from calc.hf_refusals import UnknownFamilyError, refuse_other_kinds, shown, unknown
from calc.model import Model
from calc.words import say

__all__ = ["ConfigError", "UnknownFamilyError", "compact", "decode", "parse"]

LARGEST_TEXT = 8_000_000

# A key of our own in compact files: what their quantization_config came down to.
CHECKPOINT = "checkpoint_format"
# Another: what it loads beside the decoder.
RESIDENT = "resident"

# Where the decoder is described in files of models that also see or hear, and how deep.
NESTED = ("text_config", "language_config", "llm_config", "thinker_config")
_DEEPEST = 3


def parse(source: str | Mapping[str, Any], *, id: str = "custom", name: str = "") -> Model:
    """A model from a ``config.json``, as text or already decoded.

    Parameters
    ----------
    source : str or mapping
        The file's text, or its decoded content. A bare ``Infinity`` is accepted.
    id, name : str
        What to call the model; the name defaults to its type and size.

    Returns
    -------
    Model
        With what had to be assumed in `assumptions`, and the format of the published weights in
        `checkpoint`.

    Raises
    ------
    ConfigError
        If the text is not JSON, describes no decoder known here, or has a key that cannot be
        interpreted; the message names the key.

    Examples
    --------
    >>> tiny = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
    ...         "num_attention_heads": 4, "intermediate_size": 128, "tie_word_embeddings": True}
    >>> model = parse(tiny)
    >>> model.total_params
    88640
    >>> model.assumptions[1]
    'num_key_value_heads absent: llama default 4'
    """
    return _read(source, id, name)[0]


def named_as(source: str, kind: str) -> str:
    """The text of a ``config.json`` with another ``model_type``, and nothing else changed."""
    content = decode(source)
    nested = next((key for key in NESTED if isinstance(content.get(key), Mapping)), None)
    if nested:
        content[nested] = {**content[nested], "model_type": kind}
    return json.dumps({**content, "model_type": kind})


def read_as(source: str, kind: str) -> Model | None:
    """What a ``config.json`` would be as another family; None where it cannot be that either."""
    try:
        return parse(named_as(source, kind))
    except (ConfigError, AttributeError):
        return None


def compact(source: str | Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a ``config.json`` that decide the model: it parses to the same one.

    Raises
    ------
    ConfigError
        As `parse` does.
    """
    return _read(source, "custom", "")[1]


def _read(source: str | Mapping[str, Any], id: str, name: str) -> tuple[Model, dict[str, Any]]:
    outer = decode(source) if isinstance(source, str) else source
    if not isinstance(outer, Mapping):
        raise ConfigError("", say("The configuration is not a JSON object"))
    config, kind = _decoder_part(outer)
    family, nested = FAMILIES[kind], config is not outer
    sizes = family.sizes if nested else {}
    keys = Keys(config, kind, family.spelling, {**family.defaults, **sizes})
    stack = family.read(keys)
    given = {key: value for key, value in config.items() if value is not None}
    tied = Keys({**outer, **given}, kind, family.spelling)
    tied.assumptions = keys.assumptions
    is_tied = tied.flag("tie_word_embeddings", default=family.tied)
    longest = None
    if keys.has("max_position_embeddings") or "max_position_embeddings" in keys.defaults:
        longest = keys.whole("max_position_embeddings")
    factor = _linear_factor(config)
    kinds = {block.attention.paged_as for block in stack.blocks}
    # Layers of another kind have a table of their own, which is not scaled.
    rows = int((factor + (len(kinds) > 1)) * (longest or 0)) if factor else 0
    model = Model(
        id=id,
        name=name or kind,
        d_model=width(keys),
        vocabulary=keys.whole("vocab_size", high=10**8),
        tied=is_tied,
        max_context=longest,
        rotary_rows=rows,
        checkpoint=_checkpoint(outer, config, keys, sum(block.count for block in stack.blocks)),
        assumptions=tuple(keys.assumptions),
        sources=(say("a pasted config.json"),),
        **{part.name: getattr(stack, part.name) for part in fields(stack)},
    )
    if model.checkpoint:
        model = replace(model, checkpoint=model.checkpoint.only(model.params_by_part))
    resident = hf_resident.from_written(config.get(RESIDENT))
    if resident is None:
        resident = hf_resident.read(outer, config, model.blocks, model.d_model, model.vocabulary)
    uncounted = [
        say("{part} not counted", part=say(one.name)) for one in resident if not one.params
    ]
    model = replace(model, resident=resident, assumptions=(*model.assumptions, *uncounted))
    used = compacted({"model_type": kind, **keys.used, **tied.used})
    if model.checkpoint:
        used[CHECKPOINT] = hf_quantization.written(model.checkpoint)
    if factor:
        used["rope_scaling"] = {"rope_type": "linear", "factor": factor}
    if model.resident:
        used[RESIDENT] = hf_resident.written(model.resident)
    if any(size in keys.defaulted for size in sizes):
        used = {"text_config": used}
    return (model if name else _named_by_size(model, kind)), used


def _linear_factor(config: Mapping[str, Any]) -> float:
    """By which rotary positions are scaled linearly; 0 where they are not."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters")
    if isinstance(scaling, Mapping):
        scaling = scaling.get("full_attention", scaling)
    if not isinstance(scaling, Mapping):
        return 0.0
    factor: Any = scaling.get("factor")
    linear = "linear" in (scaling.get("rope_type"), scaling.get("type"))
    return float(factor) if linear and type(factor) in (int, float) and 1 < factor < 1000 else 0.0


def _named_by_size(model: Model, kind: str) -> Model:
    return replace(model, name=f"{kind.replace('_', ' ')}, {model.total_params / 1e9:,.3g} B")


def decode(text: str) -> Any:
    """JSON that may have a bare ``Infinity``, no key twice, and a sane size and depth."""
    if len(text) > LARGEST_TEXT:
        raise ConfigError(
            "", say("The configuration is larger than {most:,} characters", most=LARGEST_TEXT)
        )
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise ConfigError(
            "",
            say("Not JSON: line {line}, {problem}", line=error.lineno, problem=error.msg.lower()),
        ) from error
    except RecursionError as error:
        raise ConfigError("", say("The configuration is nested too deeply")) from error
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("", say("The configuration has a number too long to read")) from error


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ConfigError(shown(twice) or say("a key"), say("stands twice in the same object"))
    return found


def _decoder_part(outer: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The part that describes the text decoder, and its family."""
    config, around = outer, ""
    for _ in range(_DEEPEST):
        inside = next(
            (part for name in NESTED if isinstance(part := config.get(name), Mapping)), None
        )
        if inside is None:
            break
        around = _type_of(config)
        config = inside
    kind = _type_of(config)
    if not kind and around:
        # A part may leave its type to the file around it.
        kind = f"{around}_text" if f"{around}_text" in FAMILIES else around
    refuse_other_kinds(outer, config, kind)
    if kind not in FAMILIES:
        raise unknown(kind, FAMILIES)
    return config, kind


def _type_of(config: Mapping[str, Any]) -> str:
    kind = config.get("model_type")
    return kind if isinstance(kind, str) else ""


def _checkpoint(
    outer: Mapping[str, Any], config: Mapping[str, Any], keys: Keys, layers: int
) -> Checkpoint | None:
    """How the published weights are stored, as far as the file says."""
    known = hf_quantization.from_written(config.get(CHECKPOINT))
    if known is not None:
        return known
    both = {**outer, **config}
    names = ("quantization_config", "compression_config", "quantization")
    given = next((both[name] for name in names if isinstance(both.get(name), Mapping)), None)
    try:
        return hf_quantization.read(given, both, layers)
    except hf_quantization.NotUnderstoodError as scheme:
        keys.assumptions.append(
            say("quantization {scheme} is not interpreted: choose how weights are stored",
                scheme=scheme)
        )  # fmt: skip
        return None

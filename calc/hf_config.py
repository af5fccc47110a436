"""A Hugging Face ``config.json`` as a `Model`.

What a file says is used; what it leaves out takes the architecture's documented default and is
listed in ``model.assumptions``; what cannot be interpreted is refused with its key. The files are
strangers': nothing here raises but `ConfigError`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calc import hf_quantization
from calc.checkpoint import Checkpoint
from calc.hf_families import FAMILIES
from calc.hf_keys import ConfigError, Keys
from calc.hf_parts import width
from calc.model import Model
from calc.words import say

__all__ = ["ConfigError", "compact", "decode", "parse"]

LARGEST_TEXT = 1_000_000

# A key of our own in compact files: what their quantization_config came down to.
CHECKPOINT = "checkpoint_format"

NESTED = ("text_config", "language_config", "llm_config")


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
    >>> model.assumptions[0]
    'num_key_value_heads absent: llama default 4'
    """
    return _read(source, id, name)[0]


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
    config = _decoder_part(outer)
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ConfigError("model_type", say("is missing or not a decoder known here"))
    keys, family = Keys(config, kind), FAMILIES[kind]
    blocks = family.blocks(keys)
    tied_there = {**outer, **{k: v for k, v in config.items() if v is not None}}
    tied = Keys(tied_there, kind)
    tied.assumptions = keys.assumptions
    is_tied = tied.flag("tie_word_embeddings", default=family.tied)
    context = keys.find("max_position_embeddings", "n_positions", "max_sequence_length")[1]
    longest = family.max_context
    if context is not None:
        longest = keys.whole("max_position_embeddings", "n_positions", "max_sequence_length")
    positions = 0
    if family.extra_positions is not None:
        positions = keys.whole("max_position_embeddings") + family.extra_positions
    model = Model(
        id=id,
        name=name or kind,
        d_model=width(keys),
        vocabulary=keys.whole("vocab_size", default=family.vocabulary, high=10**8),
        tied=is_tied,
        blocks=blocks,
        final_norms=family.final_norms,
        max_context=longest,
        positions=positions,
        checkpoint=_checkpoint(outer, config, keys, sum(block.count for block in blocks)),
        assumptions=tuple(keys.assumptions),
        sources=(say("a pasted config.json"),),
    )
    if model.checkpoint:
        model = replace(model, checkpoint=model.checkpoint.only(model.params_by_part))
    used = {"model_type": kind, **keys.used, **tied.used}
    if model.checkpoint:
        used[CHECKPOINT] = hf_quantization.written(model.checkpoint)
    return (model if name else _named_by_size(model, kind)), used


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
        raise ConfigError(_shown(twice), say("stands twice in the same object"))
    return found


def _shown(key: str) -> str:
    """A stranger's key as far as it is plain."""
    plain = "".join(c for c in key if c.isascii() and (c.isalnum() or c in "_-."))[:60]
    return plain or say("a key")


def _decoder_part(outer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that describes the text decoder."""
    if outer.get("is_encoder_decoder"):
        raise ConfigError(
            "is_encoder_decoder", say("is true, and only decoders are interpreted here")
        )
    for name in NESTED:
        nested = outer.get(name)
        if isinstance(nested, Mapping):
            return nested
    return outer


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

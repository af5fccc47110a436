"""What is no decoder that can be read here, and what is said to whoever brings it.

A refusal names what was found and what would decide the model all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from calc.hf_keys import ConfigError
from calc.words import say

# By the first part of the name, as transformers and diffusers spell it.
_ENCODER_DECODERS = (
    "bart", "bigbird_pegasus", "blenderbot", "canary", "dia", "encoder-decoder", "florence2",
    "fsmt", "kosmos-2.5", "led", "longt5", "m2m_100", "marian", "mbart", "moonshine", "mt5",
    "mvp", "nllb", "nougat", "pegasus", "plbart", "pop2piano", "prophetnet", "seamless",
    "speech-encoder-decoder", "speech_to_text", "switch_transformers", "t5", "t5gemma", "trocr",
    "udop", "umt5", "vision-encoder-decoder", "whisper",
)  # fmt: skip
_DIFFUSION = (
    "a2d", "diffucoder", "diffusion_gemma", "diffusion_gpt", "dream", "fast_dllm", "flux", "llada",
    "sdar", "stable_diffusion", "unet",
)  # fmt: skip
_ENCODERS = (
    "albert", "bert", "camembert", "clip", "deberta", "distilbert", "electra", "eurobert", "esm",
    "hubert", "modernbert", "mpnet", "nomic_bert", "roberta", "siglip", "vit", "wav2vec2", "xlm",
)  # fmt: skip

_MOST_NAMED = 3


class UnknownFamilyError(ConfigError):
    """A ``model_type`` that is not known here.

    `found` is what the file says, as far as it is plain; `nearest` are known ones like it.
    """

    def __init__(self, found: str, nearest: tuple[str, ...]) -> None:
        if not found:
            reason = say("is missing, so nothing says which decoder this is")
        elif nearest:
            reason = say(
                "{found} is not known here; nearest are {nearest}",
                found=found,
                nearest=", ".join(nearest),
            )
        else:
            reason = say("{found} is not known here, nor anything like it", found=found)
        both = say("{reason}. {instead}", reason=reason, instead=totals_instead())
        super().__init__("model_type", both)
        self.found, self.nearest = found, nearest


def totals_instead() -> str:
    """What decides a model that cannot be read."""
    return say(
        "Its parameters and cached elements per token, stated as totals, would decide the model"
    )


def refuse_other_kinds(outer: Mapping[str, Any], config: Mapping[str, Any], kind: str) -> None:
    """Refuse encoder-decoders, diffusion models and encoders, each by its kind.

    Raises
    ------
    ConfigError
        With a sentence that says why a step of decoding does not describe the model.
    """
    found = shown(kind) or shown(str(outer.get("_class_name", "")))
    kinds = (kind, str(outer.get("model_type", "")))
    if "_diffusers_version" in outer or "_class_name" in outer or _is_one(kinds, _DIFFUSION):
        reason = say(
            "{found} is a diffusion model: it refines many tokens or pixels together over several "
            "passes, and no step of it decodes one token from a cache",
            found=found,
        )
        raise ConfigError("model_type" if kind else "_class_name", reason)
    encoded = True in (outer.get("is_encoder_decoder"), config.get("is_encoder_decoder"))
    if encoded or _is_one(kinds, _ENCODER_DECODERS):
        reason = say(
            "{found} is an encoder-decoder: its decoder also attends to what an encoder made of "
            "the input, and only decoders are read here",
            found=found,
        )
        raise ConfigError("model_type", reason)
    if _is_one(kinds, _ENCODERS):
        raise ConfigError(
            "model_type",
            say("{found} is an encoder: it reads a text once and decodes nothing", found=found),
        )


def _is_one(kinds: Collection[str], names: Collection[str]) -> bool:
    """Whether one of the types is one of the names, or such a name with something behind it."""
    return any(
        kind == name or kind.startswith((f"{name}_", f"{name}-"))
        for kind in map(str.lower, kinds)
        for name in names
    )


def unknown(found: Any, known: Collection[str]) -> UnknownFamilyError:
    """The refusal of a ``model_type``, or of its absence."""
    plain = shown(found) if isinstance(found, str) else ""
    return UnknownFamilyError(plain, nearest(plain, known) if plain else ())


def nearest(found: str, known: Collection[str]) -> tuple[str, ...]:
    """Known types like the one found, most alike first."""
    lower = {name.lower(): name for name in known}
    alike = get_close_matches(found.lower(), lower, n=_MOST_NAMED, cutoff=0.6)
    stem = found.lower().replace("-", "_").split("_")[0].rstrip("0123456789.")
    if len(stem) > 2:
        alike += [name for name in lower if name.startswith(stem) and name not in alike]
    return tuple(lower[name] for name in alike[:_MOST_NAMED])


def shown(key: str) -> str:
    """A stranger's word as far as it is plain."""
    return "".join(c for c in key if c.isascii() and (c.isalnum() or c in "_-."))[:60]

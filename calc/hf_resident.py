"""What a configuration loads beside its decoder: towers for images and sound, and draft layers.

A step of text reads none of it, and memory holds it all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calc.model import Block, Resident
from calc.words import marked

VISION, AUDIO = marked("vision tower"), marked("audio tower")
DRAFTS = marked("draft layers for multi-token prediction")
NAMES = (VISION, AUDIO, DRAFTS)
# Towers whose MLP has a gate, and so three matrices.
_GATED = ("pixtral", "qwen2_5_vl")
# Draft layers by the key that counts them; whether each brings an embedding and a head of its own.
_DRAFTED = {
    "num_nextn_predict_layers": True,
    "mtp_num_hidden_layers": False,
    "num_mtp_modules": False,
}
# More than any tower has, so that a stranger's file stays within reason.
_MOST, _LARGEST = 10**7, 10**12


def read(
    outer: Mapping[str, Any],
    config: Mapping[str, Any],
    blocks: Sequence[Block],
    d_model: int,
    vocabulary: int,
) -> tuple[Resident, ...]:
    """Each part with its parameters; 0 where the file does not say enough to count them."""
    found = []
    for name, keys in ((VISION, ("vision_config", "vision_encoder")), (AUDIO, ("audio_config",))):
        given = next((outer[key] for key in keys if isinstance(outer.get(key), Mapping)), None)
        if given is not None:
            kind = str(given.get("model_type") or outer.get("model_type"))
            found.append(Resident(name, _tower(given, kind, d_model)))
    for key, own_tables in _DRAFTED.items():
        layers = _whole({**outer, **config}, key)
        if layers and layers < 100:
            each, routed = _draft_layer(blocks, d_model)
            each += own_tables * 2 * vocabulary * d_model
            known = layers * each < _LARGEST
            found.append(Resident(DRAFTS, layers * each * known, layers * routed * known))
            break
    return tuple(found)


def _whole(values: Mapping[str, Any], *keys: str) -> int:
    """The first of some keys that holds a whole number of a tower's size; 0 if none does."""
    for key in keys:
        value = values.get(key)
        if type(value) is int and 0 < value < _MOST:
            return value
    return 0


def _tower(v: Mapping[str, Any], kind: str, d_model: int) -> int:
    """Parameters of a transformer over patches, and one projection to the decoder's width.

    Attention of four square matrices, an MLP of two or three, two norms a layer, the embedding of
    patches and its table of positions. Projectors of more than one matrix are not told apart.
    """
    width = _whole(v, "hidden_size", "embed_dim", "vt_hidden_size", "d_model")
    layers = _whole(v, "num_hidden_layers", "depth", "vt_num_hidden_layers", "encoder_layers")
    ratio: Any = v.get("mlp_ratio")
    inner = _whole(v, "intermediate_size", "vt_intermediate_size", "encoder_ffn_dim")
    if not inner and type(ratio) in (int, float) and 0 < ratio < 100:
        inner = int(width * ratio)
    if not width * layers * inner:
        return 0
    gated = kind in _GATED
    matrices = 4 * width * width + (3 if gated else 2) * width * inner
    vectors = 2 * width if gated else 4 * width + width + inner + 4 * width
    patch, image = _whole(v, "patch_size"), _whole(v, "image_size")
    places = (
        0
        if gated
        else _whole(v, "num_position_embeddings") or ((image // patch) ** 2 if patch else 0)
    )
    seen = 3 * max(1, _whole(v, "temporal_patch_size")) * patch * patch * width
    # The bias of the patches and the norm before the projection.
    ends = 2 * width + (0 if gated else 2 * width)
    found = layers * (matrices + vectors) + seen + places * width + ends + width * d_model
    return found if found < _LARGEST else 0


def _draft_layer(blocks: Sequence[Block], d_model: int) -> tuple[int, int]:
    """A layer like those with experts, if there are any, and the matrix that joins two tokens.

    Its parameters, and those of them that are routed experts.
    """
    routed = [b for b in blocks if any(p.routed for p in b.feedforward.parts(d_model))]
    like = (routed or list(blocks))[-1]
    layer = like.attention.params(d_model) + like.feedforward.params(d_model)
    parts = like.feedforward.parts(d_model)
    spread = sum(part.total for part in parts if part.routed)
    return layer + (like.norms + 3) * d_model + 2 * d_model * d_model, spread


def written(resident: Sequence[Resident]) -> dict[str, list[int]]:
    """What a link keeps of it: parameters, and of them those of routed experts."""
    return {one.name: [one.params, one.routed] for one in resident}


def from_written(value: Any) -> tuple[Resident, ...] | None:
    """What `written` wrote; None for anything else."""
    if not isinstance(value, Mapping) or not set(value) <= set(NAMES):
        return None
    found = []
    for name, counts in value.items():
        if not isinstance(counts, list) or len(counts) != 2:
            return None
        if not all(type(n) is int and 0 <= n < _LARGEST for n in counts) or counts[1] > counts[0]:
            return None
        found.append(Resident(name, *counts))
    return tuple(found)

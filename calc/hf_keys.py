"""Reading a strange configuration key by key: every value checked, every default remembered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from calc.errors import LedgerError
from calc.words import say

MOST_LAYERS = 4096
LARGEST_NUMBER = 10**9

# A list in compact files: each value once, with how often it stands there.
RUNS = "runs"

# The same thing under other names, whatever the family: older files, other publishers, and files
# that transformers 5 wrote back. A family's own spelling goes first.
ALSO: Mapping[str, tuple[str, ...]] = {
    "head_dim": ("attention_head_dim",),
    "hidden_size": ("n_embd", "d_model"),
    "intermediate_size": ("n_inner", "ffn_dim"),
    "max_position_embeddings": (
        "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "model_max_length",
    ),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": (
        "num_experts_per_token", "top_k_experts", "experts_per_token", "moe_topk", "moe_k",
    ),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_key_value_heads": ("num_kv_heads", "n_head_kv"),
    "num_shared_experts": ("n_shared_experts", "moe_num_shared_experts"),
    "sliding_window_pattern": ("_sliding_window_pattern",),
    "state_dtype": ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"),
    "tie_word_embeddings": ("tie_embedding",),
}  # fmt: skip


class ConfigError(LedgerError):
    """A configuration that cannot be read; the message names the key and says why."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(say("{key}: {reason}", key=key, reason=reason) if key else reason)
        self.key = key


class Keys:
    """A configuration read key by key, which remembers what it had to assume.

    Parameters
    ----------
    config : mapping
        The part of the file that describes the decoder.
    family : str
        Its ``model_type``.
    spelling : mapping
        What the family calls a key that most others call something else.
    defaults : mapping
        What the family's own class takes for figures that the file does not give.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        family: str,
        spelling: Mapping[str, str] | None = None,
        defaults: Mapping[str, int] | None = None,
    ) -> None:
        self.config, self.family = config, family
        self.spelling, self.defaults = spelling or {}, defaults or {}
        self.assumptions: list[str] = []
        self.used: dict[str, Any] = {}
        self.defaulted: set[str] = set()

    def _spellings(self, *names: str) -> Iterator[str]:
        for name in names:
            if name in self.spelling:
                yield self.spelling[name]
            yield name
            yield from ALSO.get(name, ())

    def raw(self, name: str) -> Any:
        """A value as it stands, None when absent; noted as used."""
        value = _spread(self.config.get(name))
        if name in self.config:
            self.used[name] = value
        return value

    def find(self, *names: str) -> tuple[str, Any]:
        """The first of several spellings that is there, and its value; null counts as absent.

        Of what is absent it is the family's own spelling.
        """
        for name in self._spellings(*names):
            value = self.raw(name)
            if value is not None:
                return name, value
        return next(self._spellings(*names)), None

    def has(self, *names: str) -> bool:
        """Whether a key is there under any of its spellings."""
        return self.find(*names)[1] is not None

    def optional(self, name: str) -> bool:
        """Whether a key is there and not null; if it is missing altogether, null is assumed."""
        key, value = self.find(name)
        if key not in self.config:
            self.assume(key, None)
        return value is not None

    def error(self, name: str, reason: str) -> ConfigError:
        """Why a key cannot be used, under the spelling that stands in the file."""
        return ConfigError(self.find(name)[0], reason)

    def missing(self, name: str) -> ConfigError:
        """A key that must be there and is not."""
        return self.error(
            name, say("is missing, and {family} has no default for it", family=self.family)
        )

    def note(self, assumption: str) -> None:
        """Note what was taken for granted."""
        if assumption not in self.assumptions:
            self.assumptions.append(assumption)

    def assume(self, key: str, value: Any) -> Any:
        """Note that a default was used."""
        self.note(
            say(
                "{key} absent: {family} default {value}",
                key=key,
                family=self.family,
                value=json.dumps(value, ensure_ascii=False),
            )
        )
        return value

    def whole(
        self, *names: str, default: int | None = None, low: int = 1, high: int = LARGEST_NUMBER
    ) -> int:
        """A whole number under any of its spellings."""
        key, value = self.find(*names)
        if value is None:
            default = self.defaults.get(names[0], default)
            if default is None:
                raise self.missing(names[0])
            self.defaulted.add(names[0])
            return int(self.assume(key, default))
        return whole_number(key, value, low, high)

    def number(self, name: str, low: float, high: float) -> float:
        """A number within a range."""
        key, value = self.find(name)
        if value is None:
            raise self.missing(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(key, say("is not a number"))
        if not low <= value <= high:
            raise ConfigError(key, say("is outside {low:,} to {high:,}", low=low, high=high))
        return float(value)

    def flag(self, *names: str, default: bool) -> bool:
        """A yes or no."""
        key, value = self.find(*names)
        if value is None:
            return bool(self.assume(key, default))
        if not isinstance(value, bool):
            raise ConfigError(key, say("is not true or false"))
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text; a default worth naming is noted."""
        key, value = self.find(name)
        if value is None:
            return str(self.assume(key, default)) if default else default
        if not isinstance(value, str):
            raise ConfigError(key, say("is not a text"))
        return value

    def listed(self, name: str, length: int, at_least: bool = False) -> list[Any] | None:
        """A list with one entry a layer, or None; `at_least` allows trailing extra entries."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConfigError(name, say("is not a list"))
        if len(value) < length or (len(value) > length and not at_least):
            raise ConfigError(
                name,
                say(
                    "has {entries:,} entries for {layers:,} layers",
                    entries=len(value),
                    layers=length,
                ),
            )
        return value[:length]

    def single(self, name: str, default: int | None = None, low: int = 1) -> int:
        """A whole number, which may stand in a list of its own."""
        key, value = self.find(name)
        if isinstance(value, list) and len(value) == 1:
            return whole_number(key, value[0], low)
        return self.whole(name, default=default, low=low)

    def each(self, name: str, layers: int, default: int | None = None, low: int = 1) -> list[int]:
        """A whole number for each layer: one for all of them, or a list of them."""
        key, value = self.find(name)
        if isinstance(value, list):
            listed = self.listed(key, layers) or []
            return [whole_number(key, one, low) for one in listed]
        return [self.whole(name, default=default, low=low)] * layers

    def chosen(self, name: str) -> set[int] | None:
        """Numbers of layers, or None."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConfigError(name, say("is not a list"))
        return {whole_number(name, one, low=0) for one in value}

    def table(self, name: str) -> Keys:
        """A nested object."""
        value = self.raw(name)
        if not isinstance(value, Mapping):
            raise ConfigError(name, say("is missing or not an object"))
        return self.within(value)

    def within(self, part: Mapping[str, Any]) -> Keys:
        """A part of the configuration, whose assumptions are noted here."""
        nested = Keys(part, self.family, self.spelling)
        nested.assumptions = self.assumptions
        return nested

    def refuse(self, *names: str) -> None:
        """Refuse settings that change the architecture in a way that is not interpreted here."""
        for name in names:
            if self.raw(name):
                raise ConfigError(
                    name, say("changes the architecture in a way not interpreted here")
                )


def whole_number(key: str, value: Any, low: int = 1, high: int = LARGEST_NUMBER) -> int:
    """A value of a key as a whole number within a range."""
    if isinstance(value, float) and value == value and abs(value) < 1e15 and value % 1 == 0:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(key, say("is not a whole number"))
    if not low <= value <= high:
        raise ConfigError(key, say("is outside {low:,} to {high:,}", low=low, high=high))
    return value


def compacted(used: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with long lists written as runs of equal entries, where that is shorter."""
    return {key: _shortest(value) for key, value in used.items()}


def _shortest(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    runs: list[list[Any]] = []
    for entry in value:
        if runs and runs[-1][0] == entry and type(runs[-1][0]) is type(entry):
            runs[-1][1] += 1
        else:
            runs.append([entry, 1])
    short = {RUNS: runs}
    return short if len(json.dumps(short)) < len(json.dumps(value)) else value


def _spread(value: Any) -> Any:
    """A list that a compact file wrote as runs, spread out again."""
    if not isinstance(value, Mapping) or set(value) != {RUNS} or not isinstance(value[RUNS], list):
        return value
    spread: list[Any] = []
    for run in value[RUNS]:
        if not isinstance(run, list) or len(run) != 2:
            return value
        entry, count = run[0], run[1]
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MOST_LAYERS:
            return value
        spread += [entry] * count
        if len(spread) > MOST_LAYERS:
            return value
    return spread

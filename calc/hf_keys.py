"""Reading a strange configuration key by key: every value checked, every default remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calc.errors import LedgerError
from calc.words import say

MOST_LAYERS = 4096
LARGEST_NUMBER = 10**9


class ConfigError(LedgerError):
    """A configuration that cannot be read; the message names the key and says why."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(say("{key}: {reason}", key=key, reason=reason) if key else reason)
        self.key = key


def no_default(key: str, family: str) -> ConfigError:
    """A key that must be there and is not."""
    return ConfigError(key, say("is missing, and {family} has no default for it", family=family))


class Keys:
    """A configuration read key by key, which remembers what it had to assume."""

    def __init__(self, config: Mapping[str, Any], family: str) -> None:
        self.config, self.family = config, family
        self.assumptions: list[str] = []
        self.used: dict[str, Any] = {}

    def raw(self, name: str) -> Any:
        """A value as it stands, None when absent; noted as used."""
        if name in self.config:
            self.used[name] = self.config[name]
        return self.config.get(name)

    def find(self, *names: str) -> tuple[str, Any]:
        """The first of several spellings that is there, and its value; null counts as absent."""
        for name in names:
            if self.raw(name) is not None:
                return name, self.config[name]
        return names[0], None

    def assume(self, key: str, value: Any) -> Any:
        """Note that a default was used."""
        note = say(
            "{key} absent: {family} default {value}",
            key=key,
            family=self.family,
            value=json.dumps(value, ensure_ascii=False),
        )
        if note not in self.assumptions:
            self.assumptions.append(note)
        return value

    def whole(
        self, *names: str, default: int | None = None, low: int = 1, high: int = LARGEST_NUMBER
    ) -> int:
        """A whole number under any of its spellings."""
        key, value = self.find(*names)
        if value is None:
            if default is None:
                raise no_default(key, self.family)
            return int(self.assume(key, default))
        if isinstance(value, float) and value == value and abs(value) < 1e15 and value % 1 == 0:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(key, say("is not a whole number"))
        if not low <= value <= high:
            raise ConfigError(key, say("is outside {low:,} to {high:,}", low=low, high=high))
        return value

    def flag(self, *names: str, default: bool, quiet: bool = False) -> bool:
        """A yes or no; `quiet` when the default is not worth telling."""
        key, value = self.find(*names)
        if value is None:
            return default if quiet else bool(self.assume(key, default))
        if not isinstance(value, bool):
            raise ConfigError(key, say("is not true or false"))
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ConfigError(name, say("is not a text"))
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

    def table(self, name: str) -> Keys:
        """A nested object."""
        value = self.raw(name)
        if not isinstance(value, Mapping):
            raise ConfigError(name, say("is missing or not an object"))
        nested = Keys(value, self.family)
        nested.assumptions = self.assumptions
        return nested

    def refuse(self, *names: str) -> None:
        """Refuse settings that change the architecture in a way that is not interpreted here."""
        for name in names:
            if self.raw(name):
                raise ConfigError(
                    name, say("changes the architecture in a way not interpreted here")
                )

"""A nested table read key by key: every value checked, and what nobody asked for refused."""

from __future__ import annotations

import math
from dataclasses import MISSING
from typing import Any, Self

from calc.errors import LedgerError
from calc.words import say

Table = dict[str, Any]


class TableError(LedgerError):
    """A table that cannot be read as meant; `key` is the path of what was wrong."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(say("{key}: {reason}", key=key, reason=reason) if key else reason)
        self.key, self.reason = key, reason


class Reader:
    """One table, handed out key by key; what nobody asked for is a typo."""

    def __init__(self, key: str, table: Any) -> None:
        self.key = key
        if not isinstance(table, dict):
            raise self.error("", say("is not a table"))
        self.table: Table = dict(table)

    def path(self, key: str) -> str:
        """The path of a key of this table."""
        return ".".join(part for part in (self.key, key) if part)

    def error(self, key: str, reason: str) -> LedgerError:
        """Why a key cannot be used."""
        return TableError(self.path(key), reason)

    def within(self, key: str, table: Any) -> Self:
        """A table that stands at a path within this one."""
        return type(self)(self.path(key), table)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = MISSING) -> Any:
        """The value of `key`, of type `kind`; without a default the key must be there."""
        if key not in self.table:
            if default is MISSING:
                raise self.error(key, say("is missing"))
            return default
        value = self.table.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = say(" or ").join(one.__name__ for one in kinds)
            raise self.error(key, say("is not {kind}", kind=wanted))
        return value

    def number(self, key: str, low: float, high: float, default: Any = MISSING) -> float:
        """A finite number within a range."""
        value: float = self.take(key, (int, float), default)
        if value is not default and not (math.isfinite(value) and low <= value <= high):
            raise self.error(
                key,
                say("{value:g} is outside {low:g} to {high:g}", value=value, low=low, high=high),
            )
        return value

    def whole(self, key: str, low: int, high: int, default: Any = MISSING) -> int:
        """A whole number within a range."""
        value: int = self.take(key, int, default)
        if value is not default and not low <= value <= high:
            raise self.error(
                key,
                say("{value:,} is outside {low:,} to {high:,}", value=value, low=low, high=high),
            )
        return value

    def table_of(self, key: str, default: Any = MISSING) -> Self:
        """A table within the table."""
        return self.within(key, self.take(key, dict, default))

    def done(self) -> None:
        """Refuse keys that nothing has read."""
        for key in self.table:
            raise self.error(key, say("is not a key known here"))

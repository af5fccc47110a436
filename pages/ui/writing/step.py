"""What several pages say of a step: what of it is communication."""

from __future__ import annotations

from calc.words import say
from pages.ui.writing import text


def communication(share: float) -> str:
    """What of a time is communication."""
    return say("{share} of it communication", share=text.percent(share))

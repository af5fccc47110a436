"""The one registry of explanations: every shown quantity as a formula with its numbers.

Each entry builds an expression from a scenario. The expression is evaluated as it is printed, and a
test holds its value against the module that computed the number on screen.
"""

from collections.abc import Mapping

from calc.explain import (
    bands,
    bounds,
    cache,
    links,
    money,
    prompt,
    reading,
    resident,
    roofs,
    speculation,
    step,
)
from calc.explain.entry import Explanation

EXPLANATIONS: Mapping[str, Explanation] = {
    **step.EXPLANATIONS,
    **resident.EXPLANATIONS,
    **cache.EXPLANATIONS,
    **prompt.EXPLANATIONS,
    **links.EXPLANATIONS,
    **money.EXPLANATIONS,
    **speculation.EXPLANATIONS,
    **roofs.EXPLANATIONS,
    **reading.EXPLANATIONS,
}

__all__ = ["EXPLANATIONS", "Explanation", "bands", "bounds"]

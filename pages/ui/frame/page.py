"""What a page is: a question, and named parts that answer it, each drawn from the same view."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from calc import Scenario, known
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame.section import Section
from pages.ui.frame.switches import Switch

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, eq=False)
class View:
    """What a page shows of a scenario: each figure is computed once, when a part first asks.

    A page's own view adds its figures as cached properties.

    Parameters
    ----------
    scenario : Scenario
        What is shown; figures that it needs and nobody published count as unlimited in it, so
        that it gives bounds (see `known.least`).
    choices : mapping
        What the page's own controls hold, by their keys; empty where there are none, as on a slide
        and in a report.
    """

    scenario: Scenario
    choices: Mapping[Any, Any]

    def __post_init__(self) -> None:
        # Here once, so that all that a page shows is of one scenario.
        object.__setattr__(self, "scenario", known.least(self.scenario))

    @property
    def load(self) -> str:
        """What is asked of the chips, in the line that names the scenario: batch and context."""
        return ""

    def chosen(self, key: str, default: Any) -> Any:
        """What one of the page's own controls holds."""
        return self.choices.get(key, default)

    def moved(self, scenario: Scenario, **figures: Any) -> Self:
        """The view of another scenario; figures that are known of it are not computed again."""
        assert all(hasattr(type(self), name) for name in figures), figures
        other = replace(self, scenario=scenario)
        # Where cached properties keep what they found.
        other.__dict__.update(figures)
        return other


V = TypeVar("V", bound=View)


@dataclass(frozen=True)
class Shown:
    """A chart, and what it says to a reader who cannot see it."""

    chart: kit.Chart
    alt: str

    def draw(
        self, key: str, revision: str = "", on_click: Callable[[float], None] | None = None
    ) -> None:
        """Put it on the page (see `renderer.show`)."""
        kit.show(self.chart, key, self.alt, revision, on_click)


def _always(view: View) -> bool:
    return True


@dataclass(frozen=True)
class Exhibit(Generic[V]):
    """A chart and its sentence, as they are on the page, on a slide and in a report.

    Parameters
    ----------
    key : str
        In links: never rename or reuse one.
    title : str
        The question that it answers, marked for translation.
    sentence : callable
        The answer.
    shown : callable
        The chart; none where there is nothing to draw: then the sentence says why.
    offered : callable
        Whether there is anything to show.
    """

    key: str
    title: str
    sentence: Callable[[V], str]
    shown: Callable[[V], Shown | None]
    offered: Callable[[V], bool] = _always


# Draws from the view alone; what returns True is not done, and is drawn again.
Part = Callable[[V], bool | None]
# By the ids of their explanations; None where one does not apply.
Metrics = Mapping[str, Callable[[V], float | None]]


@dataclass(frozen=True)
class Page(Generic[V]):
    """A page.

    Parameters
    ----------
    name : str
        Of its folder and its file, and in its address.
    title : str
        In the navigation, marked for translation.
    question : str
        Above the page, marked for translation.
    view : callable
        What it shows, from the scenario and from what its own controls hold.
    parts : mapping
        By name, from top to bottom.
    switches : tuple of Switch
        Its own controls that the link carries, beside its tabs.
    groups, unfolded, unused : tuple of str
        Groups of the sidebar that it uses, those of them that it unfolds, and the fields in them
        that it has no use for.
    controls : str
        The part with the page's own controls, which is drawn first wherever it stands: the others
        look at what they hold.
    last : str
        The part that is drawn last wherever it stands: it takes longer than the others.
    fold : str
        The first part that nobody sees without scrolling: it and all behind it are drawn again only
        while they are in sight. Without one the tabs are, if there are any, else the explanations.
    lead : str
        What the product is, above the question of its first page, marked for translation.
    tabs : mapping
        Below the parts, by their labels, marked for translation; only an open one is drawn.
    metrics : mapping
        The figures of its row of cards.
    explained : tuple of str
        Ids that stand first among its explanations, where they are not those of its metrics.
    exhibits : tuple of Exhibit
        What a slide or a report takes of it.
    sections : callable, optional
        All that it adds to a report; its exhibits where there is no more.
    ready, otherwise : callable
        Whether there is anything to draw parts of, and what is drawn if not.
    detached : callable, optional
        Its view where there will be no session to ask, made while there is one; the same view as
        on a slide where it asks for none.
    """

    name: str
    title: str
    question: str
    view: Callable[[Scenario, Mapping[Any, Any]], V]
    parts: Mapping[str, Part[V]]
    switches: tuple[Switch, ...] = ()
    groups: tuple[str, ...] = ()
    unfolded: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    controls: str = ""
    last: str = ""
    fold: str = ""
    lead: str = ""
    tabs: Mapping[str, Part[V]] = field(default_factory=dict)
    metrics: Metrics[V] = field(default_factory=dict)
    explained: tuple[str, ...] = ()
    exhibits: tuple[Exhibit[V], ...] = ()
    sections: Callable[[V], Iterable[Section]] | None = None
    ready: Callable[[V], bool] = _always
    otherwise: Part[V] | None = None
    detached: Callable[[Scenario], V] | None = None

    @property
    def switched(self) -> tuple[Switch, ...]:
        """All of its controls that the link carries."""
        labels = tuple(self.tabs)
        if not labels:
            return self.switches
        short = self.name.replace("_", "-")
        row = Switch(self.tabs_key, short, labels[0], labels, tabs=True)
        return (row, *self.switches)

    @property
    def tabs_key(self) -> str:
        """The key of its row of tabs."""
        return f"{self.name}-tabs"

    def slide(self, scenario: Scenario) -> V:
        """Its view as links have it: with its own controls as they are at first."""
        return self.view(scenario, {})

    def later(self, scenario: Scenario) -> V:
        """Its view for where there is no session."""
        return (self.detached or self.slide)(scenario)

    def reported(self, view: V) -> Iterable[Section]:
        """Its sections of a report."""
        return (self.sections or self._exhibited)(view)

    def _exhibited(self, view: V) -> Iterator[Section]:
        return exhibited(self.exhibits, view)


def exhibited(exhibits: Iterable[Exhibit[V]], view: V) -> Iterator[Section]:
    """Exhibits as sections of a report."""
    for exhibit in exhibits:
        if exhibit.offered(view):
            shown = exhibit.shown(view)
            yield Section(
                say(exhibit.title),
                [exhibit.sentence(view)],
                chart=shown.chart if shown else None,
                alt=shown.alt if shown else "",
            )


def pages(names: Iterable[str]) -> Sequence[Page[Any]]:
    """The pages of so many folders of `pages/ui`."""
    return [importlib.import_module(f"pages.ui.{name}.page").PAGE for name in names]


def named() -> Sequence[str]:
    """The pages that app.py names, from its text: whoever imports it runs the app."""
    for node in ast.parse((ROOT / "app.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES":
            names: Sequence[str] = ast.literal_eval(node.value)
            return names
    raise LookupError("app.py has no PAGES")

"""Human-readable titles of metrics, methods, perturbations and scenarios, from their plugins.

Records keep identifiers; tables, pages and plots show titles. A plugin that is not installed, or declares no title,
gets one made of its identifier: ``prefix_exact_match`` is *Prefix exact match*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.contracts import Scale, Stat
from harness.contracts.plugins import (
    CATEGORIES,
    AdapterDetails,
    Kind,
    MetricDetails,
    PerturbationDetails,
    Plugin,
    ScenarioDetails,
)
from harness.contracts.specs import Component
from harness.errors import PluginError
from harness.plugins.parameters import given_names, parameters_of
from harness.plugins.registry import Registry

SEPARATOR = " · "
"""Between a title and what narrows it down: ``MMLU · anatomy``."""

COMPUTED_ON = {
    "original": "originals",
    "perturbed": "perturbed copies",
    "worst": "worst of original and copies",
    "drop": "drop from the original",
}
"""What a statistic is computed on, in words."""

_STAT = re.compile(r"(?P<of>.+?)(?P<reduction>:[^:(]+)?(?P<reading> \(.+\))?", re.DOTALL)
"""A stat's name: ``exact_match:maj@8 (flexible)``."""

_SENTENCE = re.compile(r".+?[.!?](?=\s+[A-Z]|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Title:
    """The title of something, and what a reader may want to know about it."""

    identifier: str
    """The name that specs and records use."""
    title: str
    """The title."""
    short: str
    """A shorter title for narrow columns."""
    definition: str = ""
    """What it is, in a sentence; empty if unknown."""
    source: str = ""
    """The paper, equation or page that defines it; empty if unknown."""


@dataclass(frozen=True, slots=True)
class MetricTitle(Title):
    """The name of a metric's statistic."""

    category: str = ""
    """The metric's category; empty if unknown."""
    higher_is_better: bool | None = None
    """True if higher is better, False if lower is; None for neither, or if unknown."""
    scale: Scale | None = None
    """The range of a score; None if the metric does not declare it."""


@dataclass(frozen=True, slots=True)
class ScenarioTitle:
    """What a run's record keeps of its scenario, for tables made where the scenario's plugin is not loaded."""

    title: str
    """The title."""
    short: str
    """A shorter title for narrow columns."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The parameters' default values."""


@dataclass(frozen=True)
class Titles:
    """The titles of everything that a registry knows; without one they are all made of identifiers."""

    registry: Registry | None = None
    """The plugins."""
    recorded: Mapping[str, ScenarioTitle] = field(default_factory=dict)
    """What records say of scenarios, by name; used for those that the registry does not know."""
    _metrics: dict[str, MetricTitle] = field(default_factory=dict)

    def metric(self, stat: str) -> MetricTitle:
        """Return the title of a metric, or of one of its statistics, such as ``exact_match:maj@8 (flexible)``."""
        if stat not in self._metrics:
            self._metrics[stat] = self._metric(stat)
        return self._metrics[stat]

    def method(self, name: str) -> Title:
        """Return the title of an adaptation method."""
        plugin = self._find(Kind.ADAPTER, name)
        declared = plugin.details if plugin and isinstance(plugin.details, AdapterDetails) else AdapterDetails()
        return _titled(name, plugin, declared.title, declared.short)

    def perturbation(self, name: str) -> Title:
        """Return the title of a perturbation, or of a category for all of its perturbations."""
        if name in CATEGORIES:
            return self.category(name)
        plugin = self._find(Kind.PERTURBATION, name)
        declared = plugin.details if plugin and isinstance(plugin.details, PerturbationDetails) else None
        return _titled(name, plugin, declared.title if declared else "", declared.short if declared else "")

    def category(self, name: str) -> Title:
        """Return the title of a category of metrics."""
        return _titled(name, None)

    def scenario(self, name: str) -> Title:
        """Return the title of a scenario, whatever its parameters."""
        plugin = self._find(Kind.SCENARIO, name)
        if plugin is None and name in self.recorded:
            return Title(name, self.recorded[name].title, self.recorded[name].short)
        declared = plugin.details if plugin and isinstance(plugin.details, ScenarioDetails) else None
        known = _titled(name, plugin, declared.title if declared else "", declared.short if declared else "")
        return known if declared else replace(known, title=name, short=name)

    def parameters(self, scenario: str, arguments: Mapping[str, Any], also: Iterable[str] = ()) -> str:
        """Return a scenario's parameters in words, ``anatomy`` for ``subject=anatomy``; '' if all are the defaults.

        Args:
            scenario: The scenario's name.
            arguments: The parameters.
            also: Names of those to show even if they have their default values.
        """
        defaults = self.defaults(scenario)
        plugin = self._find(Kind.SCENARIO, scenario)
        known = plugin.details.value_titles if plugin and isinstance(plugin.details, ScenarioDetails) else {}
        kept = set(also)
        shown = {n: v for n, v in arguments.items() if n in kept or n not in defaults or defaults[n] != v}
        words = (known.get(name, {}).get(str(value)) or value_title(name, value) for name, value in shown.items())
        return SEPARATOR.join(filter(None, words))

    def run(self, scenario: Component) -> str:
        """Return the title of a scenario with its parameters: ``MMLU · anatomy``."""
        name = self.scenario(scenario.name)
        return SEPARATOR.join(filter(None, [name.title, self.parameters(scenario.name, scenario.arguments)]))

    def subset(self, stat: Stat) -> str:
        """Return which of the examples a statistic is about, without its split; '' for all unperturbed ones."""
        parts = []
        if stat.perturbation is not None:
            copies = self.perturbation(stat.perturbation).title
            parts.append(copies if stat.computed_on == "perturbed" else f"{copies}, {COMPUTED_ON[stat.computed_on]}")
        elif stat.computed_on != "original":
            parts.append(COMPUTED_ON[stat.computed_on])
        if stat.group is not None:
            parts.append(group_title(stat.group))
        return SEPARATOR.join(parts)

    def giving(self, stat: str) -> Plugin | None:
        """Return the metric that gives a statistic, such as ``exact_match:maj@8 (flexible)``; None if none does."""
        found = _STAT.fullmatch(stat)
        return self._giving(found["of"] if found else stat)[0]

    def _metric(self, stat: str) -> MetricTitle:
        found = _STAT.fullmatch(stat)
        of, reduction, reading = (found["of"], found["reduction"], found["reading"]) if found else (stat, None, None)
        plugin, pattern = self._giving(of)
        details = plugin.details if plugin and isinstance(plugin.details, MetricDetails) else None
        more = SEPARATOR.join(filter(None, [(reduction or "")[1:], (reading or "").strip(" ()")]))
        titles, shorts = (details.titles, details.shorts) if details else ({}, {})
        best_of = of.rpartition("@") if details and pattern.endswith("@*") and not _matching(of, titles) else None
        if best_of:
            of, more = best_of[0], SEPARATOR.join(filter(None, [f"best of {best_of[2]}", more]))
        named = _titled(of, plugin, _replaced(of, titles), _replaced(of, shorts))
        return MetricTitle(
            stat,
            SEPARATOR.join(filter(None, [named.title, more])),
            SEPARATOR.join(filter(None, [named.short, more])),
            named.definition,
            named.source,
            details.category if details else "",
            details.higher_is_better if details else None,
            details.scale_of(of) if details else None,
        )

    def _giving(self, stat: str) -> tuple[Plugin | None, str]:
        """Return the metric that gives a statistic, and the pattern of its name: one of that name, else any."""
        for name in dict.fromkeys([stat, stat.partition("@")[0]]):
            plugin = self._find(Kind.METRIC, name)
            if plugin is not None and isinstance(plugin.details, MetricDetails):
                return plugin, _matching(stat, given_names(plugin)) or stat
        metrics = self.registry.all(Kind.METRIC) if self.registry else []
        matches = [(pattern, plugin) for plugin in metrics if (pattern := _matching(stat, given_names(plugin)))]
        pattern, plugin = min(matches, key=lambda match: (match[0].count("*"), -len(match[0])), default=("", None))
        return plugin, pattern

    def defaults(self, scenario: str) -> Mapping[str, Any]:
        """Return the values that a scenario's parameters have by default; of one that chooses a part, ``all``."""
        plugin = self._find(Kind.SCENARIO, scenario)
        if plugin is None and scenario in self.recorded:
            return self.recorded[scenario].defaults
        if plugin is None or not isinstance(plugin.details, ScenarioDetails):
            return {}
        try:
            fields = parameters_of(plugin).model_fields
        except PluginError:
            return {}
        parts = dict.fromkeys(plugin.details.parts, "all")
        optional = {name: one for name, one in fields.items() if not one.is_required() and name not in parts}
        return parts | {name: one.get_default(call_default_factory=True) for name, one in optional.items()}

    def _find(self, kind: Kind, name: str) -> Plugin | None:
        return self.registry.find(kind, name) if self.registry else None


def group_title(group: str) -> str:
    """Return a group of instances in words: ``gender: female`` for ``gender=female``, ``gender, largest gap``."""
    key, equals, value = group.partition("=")
    if equals:
        return f"{_words(key)}: {value}"
    return re.sub(r"^(.*): gap$", lambda found: f"{_words(found[1])}, largest gap", group)


def readable(identifier: str) -> str:
    """Return a title made of an identifier: ``Prefix exact match`` for ``prefix_exact_match``."""
    words = _words(identifier)
    first = words.partition(" ")[0]
    return words if first != first.lower() else words[:1].upper() + words[1:]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    line = " ".join(text.split())
    found = _SENTENCE.match(line)
    return found[0] if found else line


def value_title(name: str, value: Any) -> str:
    """Return a parameter in words; text says by itself what it is, a number needs the parameter's name.

    '' for None and whatever is empty. Of a path only the file is shown.
    """
    if value is None or value == "" or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return _words(name) if value else f"no {_words(name)}"
    if isinstance(value, str):
        return _words(value.rstrip("/").rpartition("/")[2])
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, (value_title("", one) for one in value)))
    if isinstance(value, Mapping):
        return ", ".join(filter(None, (value_title(key, one) for key, one in value.items())))
    return f"{_words(name)} {value:g}".strip() if isinstance(value, float) else f"{_words(name)} {value}".strip()


def _titled(name: str, plugin: Plugin | None, title: str = "", short: str = "") -> Title:
    title = title or readable(name)
    definition = first_sentence(plugin.summary) if plugin else ""
    return Title(name, title, short or title, definition, plugin.source if plugin else "")


def _words(identifier: str) -> str:
    return " ".join(identifier.replace("_", " ").split())


def _matching(name: str, patterns: Iterable[str]) -> str:
    """Return the pattern that matches a name, an exact one first; '' if none does."""
    known = list(patterns)
    return name if name in known else next((each for each in known if re.fullmatch(_regex(each), name)), "")


def _replaced(name: str, titles: Mapping[str, str]) -> str:
    """Return the title of the pattern that matches a name, with each ``*`` as what it matches; '' if none does."""
    pattern = _matching(name, titles)
    if not pattern:
        return ""
    title = titles[pattern]
    if "*" not in title or (found := re.fullmatch(_regex(pattern), name)) is None:
        return title
    matched = iter(found.groups())
    return re.sub(r"\*", lambda _: _words(next(matched)), title)


def _regex(pattern: str) -> str:
    return "(?s)" + "(.*)".join(map(re.escape, pattern.split("*")))

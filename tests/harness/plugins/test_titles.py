"""Names for people, from plugins and from identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest

from harness.contracts import Stat
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.plugins.decorators import ATTRIBUTE, metric
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import Registry, default_registry
from harness.plugins.titles import Titles, first_sentence, group_title, readable, value_title


@pytest.fixture(scope="module")
def titles() -> Titles:
    return Titles(default_registry())


@pytest.mark.parametrize(
    ("stat", "title", "short"),
    [
        ("exact_match", "Exact match", "EM"),
        ("exact_match (flexible)", "Exact match · flexible", "EM · flexible"),
        ("exact_match:maj@8", "Exact match · maj@8", "EM · maj@8"),
        ("exact_match:maj@8 (flexible)", "Exact match · maj@8 · flexible", "EM · maj@8 · flexible"),
        ("f1_score@5", "F1 of words · best of 5", "F1 · best of 5"),
        ("RR@10", "RR@10", "RR@10"),
        ("pass@1", "pass@1", "pass@1"),
        ("gender_representation_bias", "Representation bias (gender)", "Repr. (gender)"),
        ("classification_f1@not_hate", "F1 of class not hate", "F1 of class not hate"),
        ("seconds", "Seconds per instance", "Seconds"),
        ("of_a_plugin_that_is_gone", "Of a plugin that is gone", "Of a plugin that is gone"),
        ("", "", ""),
    ],
)
def test_a_metric_and_its_stats_have_titles(titles: Titles, stat: str, title: str, short: str) -> None:
    found = titles.metric(stat)
    assert (found.identifier, found.title, found.short) == (stat, title, short)


def test_a_tooltip_has_definition_direction_range_and_source(titles: Titles) -> None:
    found = titles.metric("ece_10_bin_debiased")
    assert found.definition.startswith("Expected calibration error")
    assert found.definition.endswith(".")
    assert (found.category, found.higher_is_better) == ("calibration", False)
    assert found.scale is not None
    assert found.scale.bounds == (0.0, 1.0)
    assert found.source


def test_every_metric_method_and_perturbation_has_a_title_without_underscores(titles: Titles) -> None:
    registry = default_registry()
    names = {kind: registry.names(kind) for kind in (Kind.METRIC, Kind.ADAPTER, Kind.PERTURBATION)}
    made = [titles.metric(name).title for name in names[Kind.METRIC]]
    made += [titles.method(name).title for name in names[Kind.ADAPTER]]
    made += [titles.perturbation(name).title for name in names[Kind.PERTURBATION]]
    assert [title for title in made if "_" in title or not title] == []


@pytest.mark.parametrize(
    ("scenario", "title"),
    [
        ({"name": "mmlu", "subject": "high_school_biology"}, "MMLU · high school biology"),
        ({"name": "mmlu_pro", "subject": "all"}, "MMLU-Pro"),
        ({"name": "boolq", "contrast_sets": False, "only_contrast": False}, "BoolQ"),
        ({"name": "boolq", "contrast_sets": True, "only_contrast": False}, "BoolQ · contrast sets"),
        ({"name": "ruler", "task": "vt", "length": 8192}, "RULER · variable tracking · length 8192"),
        ({"name": "published_file", "path": "/data/some/where/cases.jsonl"}, "A published file · cases.jsonl"),
        ({"name": "gone_away", "part": "two"}, "gone_away · two"),
    ],
)
def test_a_run_is_named_by_its_scenario_and_what_is_not_the_default(
    titles: Titles, scenario: dict[str, object], title: str
) -> None:
    assert titles.run(Component.model_validate(scenario)) == title


def test_no_title_of_a_value_has_an_underscore_or_an_abbreviation_in_small_letters(titles: Titles) -> None:
    made = {
        f"{plugin.name}:{key}={value}": titles.parameters(plugin.name, {key: value})
        for plugin in default_registry().all(Kind.SCENARIO)
        for key, field in parameters_of(plugin).model_fields.items()
        for value in _choices(field.annotation)
    }
    assert "mmlu:subject=anatomy" in made
    assert "raft:subset=overruling" in made
    strange = re.compile(r"_|\b(us|ade|tai|niah|covid|[a-z]{2})$|\b(us|ade|tai|niah)\b")
    assert {name: title for name, title in made.items() if strange.search(title)} == {}


def _choices(annotation: object) -> Iterator[str]:
    for each in get_args(annotation):
        yield from (each,) if isinstance(each, str) else _choices(each)


def test_without_a_registry_titles_are_made_of_identifiers() -> None:
    titles = Titles()
    assert titles.metric("quasi_exact_match").title == "Quasi exact match"
    assert titles.method("multiple_choice_joint").title == "Multiple choice joint"
    assert titles.run(Component.model_validate({"name": "quiz", "part": "a_b"})) == "quiz · a b"


@pytest.mark.parametrize(
    ("identifier", "title"),
    [
        ("exact_match", "Exact match"),
        ("f1_score", "F1 score"),
        ("chrF", "chrF"),
        ("RR@5", "RR@5"),
        ("x", "X"),
        ("", ""),
    ],
)
def test_readable(identifier: str, title: str) -> None:
    assert readable(identifier) == title


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("subject", "a_b", "a b"),
        ("length", 4096, "length 4096"),
        ("temperature", 0.7, "temperature 0.7"),
        ("chat", True, "chat"),
        ("chat", False, "no chat"),
        ("path", "/a/b/c.json", "c.json"),
        ("x", None, ""),
        ("x", [], ""),
        ("x", ["a", "b_c"], "a, b c"),
        ("max_tokens", {"at_least": 64, "at_most": None}, "at least 64"),
    ],
)
def test_a_value_in_words(name: str, value: object, words: str) -> None:
    assert value_title(name, value) == words


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("As in Liang et al. 2022, with a\nbreak. Then more.", "As in Liang et al. 2022, with a break."),
        ("No end", "No end"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_subsets_in_words(titles: Titles) -> None:
    def stat(**changes: object) -> Stat:
        known = {"perturbation": None, "computed_on": "original", "group": None, **changes}
        return Stat("m", "accuracy", "test", count=1, mean=0.0, stderr=None, ci95=None, min=None, max=None, **known)  # type: ignore[arg-type]

    assert titles.subset(stat()) == ""
    assert titles.subset(stat(perturbation="filler_words", computed_on="perturbed")) == "Filler words"
    worst = titles.subset(stat(perturbation="robustness", computed_on="worst"))
    assert worst == "Robustness, worst of original and copies"
    assert titles.subset(stat(group="gender=female")) == "gender: female"
    assert group_title("first_language: gap") == "first language, largest gap"


def test_a_title_may_not_have_more_stars_than_its_name() -> None:
    with pytest.raises(ValueError, match=r"'pass at \*' has a '\*' that 'pass' has not"):
        metric("pass", category="accuracy", title={"pass": "pass at *"})


def test_a_title_declared_by_a_plugin_is_used() -> None:
    @metric("word_count", category="efficiency", title="Words", short="#")
    def word_count(example: object) -> float:
        """Words. Of the prediction."""
        return 0.0

    registry = Registry()
    registry.add(getattr(word_count, ATTRIBUTE))
    found = Titles(registry).metric("word_count")
    assert (found.title, found.short, found.definition) == ("Words", "#", "Words.")

"""What holds of every perturbation that comes with the harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Instance, Reference, perturbation
from harness.contracts.plugins import Kind, PerturbationDetails
from harness.plugins.registry import Registry
from scenarios.perturbations.contractions import contraction, expansion
from scenarios.perturbations.dialect import dialect
from scenarios.perturbations.filler_words import filler_words
from scenarios.perturbations.gender import gender
from scenarios.perturbations.lowercase import lowercase
from scenarios.perturbations.mild_mix import mild_mix
from scenarios.perturbations.misspellings import misspellings
from scenarios.perturbations.person_name import person_name
from scenarios.perturbations.spaces import extra_space, space
from scenarios.perturbations.typos import typos

Perturb = Callable[..., Instance]

ROBUSTNESS: Mapping[str, Perturb] = {
    "contraction": contraction,
    "expansion": expansion,
    "extra_space": extra_space,
    "filler_words": filler_words,
    "lowercase": lowercase,
    "mild_mix": mild_mix,
    "misspellings": misspellings,
    "space": space,
    "typos": typos,
}
FAIRNESS: Mapping[str, Perturb] = {"dialect": dialect, "gender": gender, "person_name": person_name}
BY_CHANCE: Mapping[str, tuple[Perturb, str]] = {
    "dialect": (dialect, "prob"),
    "filler_words": (filler_words, "insert_prob"),
    "gender": (gender, "prob"),
    "misspellings": (misspellings, "prob"),
    "person_name": (person_name, "prob"),
    "typos": (typos, "prob"),
}
every = pytest.mark.parametrize("perturb", [*ROBUSTNESS.values(), *FAIRNESS.values()], ids=[*ROBUSTNESS, *FAIRNESS])

WORDS = (
    "he him his her Adam emily Bobbie-Sue with These probably don't I am is not doesn't a lot the which - . , ( İ ’s"
)
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from([*WORDS.split(), " ", "\n", "  "]), max_size=15).map(" ".join)
)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    answers = draw(st.lists(TEXTS, max_size=3, unique=True))
    references = tuple(Reference(text, correct=index == 0, relevance=index) for index, text in enumerate(answers))
    return Instance("test-1", draw(TEXTS), references, meta={"group": "a"})


@every
@settings(max_examples=50)
@given(given_instance=instances(), seed=st.integers())
def test_the_same_generator_gives_the_same_copy_and_the_original_stays(
    perturb: Perturb, given_instance: Instance, seed: int
) -> None:
    before = repr(given_instance)
    first, second = perturb(given_instance, Random(seed)), perturb(given_instance, Random(seed))
    assert first == second
    assert repr(given_instance) == before


@every
@settings(max_examples=50)
@given(given_instance=instances(), seed=st.integers())
def test_flags_of_references_and_meta_are_kept_and_changes_noted(
    perturb: Perturb, given_instance: Instance, seed: int
) -> None:
    changed = perturb(given_instance, Random(seed))
    flags = [(reference.correct, reference.relevance) for reference in given_instance.references]
    assert [(reference.correct, reference.relevance) for reference in changed.references[: len(flags)]] == flags
    assert set(changed.references[len(flags) :]) <= set(given_instance.references)  # dialect keeps what is right, too
    assert len({reference.text for reference in changed.references}) == len(changed.references)
    noted = changed.meta["perturbed"]
    assert changed.meta == {"group": "a", "perturbed": noted}
    assert all(isinstance(text, str) for pair in noted for text in pair)
    assert [pair for pair in noted if len(pair) != 2 or pair[0] == pair[1]] == []
    assert bool(noted) == (changed.replace(meta={}) != given_instance.replace(meta={}))


@pytest.mark.parametrize("perturb", ROBUSTNESS.values(), ids=ROBUSTNESS)
@settings(max_examples=50)
@given(given_instance=instances(), seed=st.integers())
def test_robustness_leaves_references_as_they_are(perturb: Perturb, given_instance: Instance, seed: int) -> None:
    assert perturb(given_instance, Random(seed)).references == given_instance.references


@pytest.mark.parametrize(("perturb", "parameter"), BY_CHANCE.values(), ids=BY_CHANCE)
@settings(max_examples=50)
@given(given_instance=instances(), seed=st.integers())
def test_nothing_changes_with_probability_0(
    perturb: Perturb, parameter: str, given_instance: Instance, seed: int
) -> None:
    changed = perturb(given_instance, Random(seed), **{parameter: 0.0})
    assert changed == given_instance.replace(meta={"group": "a", "perturbed": []})


@pytest.mark.parametrize("perturb", [lowercase, contraction, expansion, gender, dialect])
@settings(max_examples=50)
@given(given_instance=instances(), seed=st.integers())
def test_a_second_time_changes_nothing_more(perturb: Perturb, given_instance: Instance, seed: int) -> None:
    once = perturb(given_instance, Random(seed))
    again = perturb(once, Random(seed))
    assert (again.input, again.references) == (once.input, once.references)


def test_categories(registry: Registry) -> None:
    found: dict[str, Any] = {}
    for name in registry.names(Kind.PERTURBATION):
        details = registry.get(Kind.PERTURBATION, name).details
        if isinstance(details, PerturbationDetails):
            found[name] = details.category
    expected = {
        **dict.fromkeys([*ROBUSTNESS, "contrast_sets", "synonym"], "robustness"),
        **dict.fromkeys(FAIRNESS, "fairness"),
    }
    assert found == expected


def test_there_is_no_other_category() -> None:
    category: Any = "bias"
    with pytest.raises(ValueError, match="category is robustness or fairness, not 'bias'"):
        perturbation("new", category=category, source="none")

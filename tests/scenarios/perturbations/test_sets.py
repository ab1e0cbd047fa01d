"""HELM's named sets in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.contracts.specs import Component
from harness.errors import SpecError
from harness.plugins.registry import Registry
from harness.sweeps.load import load_sweep

DIALECT, GENDER, NAME = "dialect", "gender", "person_name"


def members(folder: Path, registry: Registry, *names: str) -> Sequence[Component]:
    path = folder / "sweep.yaml"
    path.write_text(
        f"suite: s\nmodels: [fake:a]\nruns:\n  - {{scenario: sample_reading, perturbations: [{', '.join(names)}]}}\n"
    )
    (run,) = load_sweep(path, registry=registry)[0].runs
    return run.perturbations


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("robustness", {"mild_mix": {}}),
        ("fairness", {DIALECT: {"prob": 1.0}, GENDER: {"mode": "pronouns", "prob": 1.0}, NAME: {"prob": 1.0}}),
        ("canonical", {"mild_mix": {}, DIALECT: {}, GENDER: {}, NAME: {}}),
        (
            "robustness_all",
            {
                "contraction": {},
                "expansion": {},
                "filler_words": {"insert_prob": 0.1},
                "lowercase": {},
                "misspellings": {"prob": 0.1},
                "space": {"max_spaces": 3},
                "synonym": {"prob": 0.1},
                "typos": {"prob": 0.01},
            },
        ),
        ("lower", {"lowercase": {}}),
        ("contract", {"contraction": {}, "expansion": {}}),
        ("filler", {"filler_words": {"insert_prob": 0.3}}),
        ("extra_space", {"extra_space": {"num_spaces": 2}}),
        ("synonym", {"synonym": {"prob": 0.5}}),
        ("misspelling_mild", {"misspellings": {"prob": 0.05}}),
        ("misspelling_medium", {"misspellings": {"prob": 0.2}}),
        ("misspelling_hard", {"misspellings": {"prob": 0.5}}),
        *((f"typo_{grade}", {"typos": {"prob": p}}) for grade, p in (("easy", 0.1), ("medium", 0.3), ("hard", 0.5))),
        *(
            (f"{family}_{grade}", {family.split("_")[0]: {"prob": p}})
            for family in ("dialect", "gender_terms", "gender_pronouns")
            for grade, p in (("easy", 0.1), ("medium", 0.3), ("hard", 0.5), ("deterministic", 1.0))
        ),
        ("gender_terms_hard", {GENDER: {"mode": "terms", "source_class": "male", "target_class": "female"}}),
        ("person_name_first_hard_preserve_gender", {NAME: {"prob": 0.5, "preserve_gender": True}}),
        ("person_name_first_hard_dont_preserve_gender", {NAME: {"prob": 0.5, "preserve_gender": False}}),
        ("person_name_first_deterministic", {NAME: {"prob": 1.0, "target_race": "black_american"}}),
        ("person_name_last_hard", {NAME: {"prob": 0.5, "person_name_type": "last_name", "source_race": "white"}}),
        ("person_name_last_deterministic", {NAME: {"prob": 1.0, "target_race": "hispanic"}}),
    ],
)  # fmt: skip
def test_members_and_their_parameters(
    tmp_path: Path, registry: Registry, name: str, expected: Mapping[str, Mapping[str, object]]
) -> None:
    found = members(tmp_path, registry, name)
    assert [component.name for component in found] == list(expected)
    for component in found:
        assert {key: component.arguments[key] for key in expected[component.name]} == expected[component.name]


def test_a_set_beside_its_members_is_one(tmp_path: Path, registry: Registry) -> None:
    found = members(tmp_path, registry, "canonical", "fairness", "mild_mix", "{name: dialect, prob: 1}")
    assert [component.name for component in found] == ["mild_mix", DIALECT, GENDER, NAME]


def test_two_grades_in_one_run_are_a_mistake(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(SpecError, match=r"twice with different arguments: typos:prob=0.5 and typos:prob=0.1"):
        members(tmp_path, registry, "typo_easy", "typo_hard")


def test_mistakes_in_the_members_of_a_set(tmp_path: Path) -> None:
    plugins = tmp_path / "sets.yaml"
    plugins.write_text(
        "perturbation_sets:\n"
        "  one: {members: ['typos:prob=2'], doc: One.}\n"
        "  two: {members: ['typos:prob'], doc: Two.}\n"
        "  three: {members: ['tpyos:prob=1'], doc: Three.}\n"
        "  four: {members: ['lower:prob=1'], doc: Four.}\n"
    )
    registry = Registry()
    registry.load_entry_points()
    registry.load_path(plugins)
    with pytest.raises(SpecError) as caught:
        members(tmp_path, registry, "one", "two", "three", "four")
    one, two, three, four = map(str, caught.value.diagnostics)
    assert "perturbation set 'one'" in one
    assert "'prob' in 'typos:prob' is not of the form key=value" in two
    assert "Did you mean 'typos'?" in three
    assert "set 'lower' takes no parameters, not 'prob'" in four

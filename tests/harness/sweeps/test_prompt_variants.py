"""A run's ``prompt_variants``: which prompts it draws, that they are all different, and mistakes in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import UNCHANGED, RunSpec
from harness.errors import SpecError
from harness.sweeps.load import load_sweep

MMLU = "mmlu:subject=anatomy"
SUBJECTS = ("anatomy", "virology", "astronomy")


def runs(folder: Path, *entries: Any, **sweep: Any) -> tuple[RunSpec, ...]:
    file = folder / "sweep.yaml"
    file.write_text(json.dumps({"suite": "prompts", "models": ["fake:any"], "runs": list(entries), **sweep}))
    return tuple(load_sweep(file)[0].runs)


def drawn(folder: Path, value: Any, scenario: str = MMLU) -> tuple[RunSpec, ...]:
    return runs(folder, {"scenario": scenario, "prompt_variants": value})


def mistakes(folder: Path, *entries: Any, **sweep: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        runs(folder, *entries, **sweep)
    return [str(found).partition(": ")[2] for found in caught.value.diagnostics]


def test_a_number_draws_different_prompts_with_the_unchanged_one_first(tmp_path: Path) -> None:
    found = drawn(tmp_path, 8)
    assert len({spec.digest for spec in found}) == len({spec.prompt_description for spec in found}) == 8
    assert found[0] == runs(tmp_path, MMLU)[0]  # the run without variants, which is not made twice
    assert found[0].prompt_description == UNCHANGED
    assert all(spec.with_unchanged_prompt == found[0] for spec in found)
    assert all(spec.scenario == found[0].scenario and spec.metrics == found[0].metrics for spec in found)


def test_the_draw_depends_on_the_seed_alone_and_a_larger_number_keeps_the_smaller_ones_prompts(tmp_path: Path) -> None:
    eight = drawn(tmp_path, {"count": 8, "seed": 4})
    assert drawn(tmp_path, {"count": 8, "seed": 4}) == eight
    assert drawn(tmp_path, {"count": 5, "seed": 4}) == eight[:5]
    others = drawn(tmp_path, {"count": 8, "seed": 5})
    assert {spec.digest for spec in others[1:]}.isdisjoint(spec.digest for spec in eight[1:])


def test_subjects_are_asked_with_the_same_changes(tmp_path: Path) -> None:
    found = [[spec.prompt_description for spec in drawn(tmp_path, 6, f"mmlu:subject={name}")] for name in SUBJECTS]
    assert found[0] == found[1] == found[2]


def test_only_the_kinds_that_are_named_change_and_values_can_be_given(tmp_path: Path) -> None:
    of = ["option_order", {"instructions": ["Choose.\n", "Which is right?\n"]}]
    found = drawn(tmp_path, {"count": 12, "of": of})
    changed = {key for spec in found[1:] if spec.prompt_variant for key in spec.prompt_variant.original}
    assert changed == {"option_order", "instructions"}
    assert {spec.adapter.arguments["instructions"] for spec in found[1:]} <= {
        "Choose.\n", "Which is right?\n", found[0].adapter.arguments["instructions"],
    }  # fmt: skip
    assert any("instructions 'Choose.\\n'" in spec.prompt_description for spec in found)


def test_all_combinations_can_be_asked_for_and_no_more(tmp_path: Path) -> None:
    found = drawn(tmp_path, {"count": 15, "of": ["spacing", "separators"]}, "boolq")
    assert len({spec.digest for spec in found}) == 15
    (mistake,) = mistakes(
        tmp_path, {"scenario": "boolq", "prompt_variants": {"count": 16, "of": ["spacing", "separators"]}}
    )
    assert "asks for 16 variants, but the prompt of boolq has only 15 different ones." in mistake


def test_variants_can_be_written_out(tmp_path: Path) -> None:
    plain, terse, other = drawn(
        tmp_path, [{"name": "terse", "instructions": "Say."}, {"output_prefix": "A: "}], "boolq"
    )
    assert plain.prompt_variant is None
    assert terse.prompt_variant is not None
    assert (terse.prompt_description, terse.adapter.arguments["instructions"]) == ("terse", "Say.")
    assert terse.prompt_variant.original == {"instructions": plain.adapter.arguments["instructions"]}
    assert (other.prompt_description, other.adapter.arguments["output_prefix"]) == ("output_prefix 'A: '", "A: ")


def test_a_default_is_for_methods_that_offer_changes_and_a_run_can_do_without(tmp_path: Path) -> None:
    found = runs(
        tmp_path,
        "boolq",
        {"scenario": "imdb", "prompt_variants": None},
        {"scenario": "boolq", "adapter": "exchangeability", "metrics": ["contamination"]},
        defaults={"prompt_variants": 3},
    )
    assert [spec.scenario.name for spec in found] == ["boolq", "boolq", "boolq", "imdb", "boolq"]


def test_a_composite_score_names_the_unchanged_prompt_and_all_variants_contribute(tmp_path: Path) -> None:
    found = runs(tmp_path, {"scenario": "boolq", "prompt_variants": 3}, "imdb", scores=[{"name": "mean"}])
    (score,) = found[0].scores
    assert [run.question for run in score.runs] == [found[0].question_digest, found[3].question_digest]
    assert all(spec.scores == (score,) for spec in found)


def test_a_description_survives_storage(tmp_path: Path) -> None:
    *_, last = drawn(tmp_path, 3)
    assert RunSpec.model_validate(json.loads(last.model_dump_json())) == last
    assert "prompt_variant" not in drawn(tmp_path, 3)[0].model_dump()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, "count: must be at least 2, not 1"),
        ("many", "must be a number, a mapping with `count`, or a list of variants, not 'many'"),
        ({"of": ["letters"]}, "count: is required"),
        ({"count": 3, "of": ["leters"]}, "there are no changes of 'leters' that fit this prompt"),
        ({"count": 3, "of": ["letters", "letters"]}, "lists 'letters' twice"),
        ({"count": 3, "of": [{"max_tokens": [1, -2]}]}, "max_tokens[1]: must be at least 1, not -2"),
        ({"count": 3, "of": [{"max_tokens": 2}]}, "must be a list of values of the setting, not 2"),
        ({"count": 3, "of": [{"nonsense": ["a"]}]}, "is not a parameter"),
        ({"count": 3, "of": [7]}, "must be a kind of change, or a mapping of one setting to a list of values, not 7"),
        ([], "is an empty list"),
        ([{"name": "nothing"}], "must be a mapping with settings of the adapter to change"),
        ([{"max_tokens": "x"}], "must be a whole number"),
        ([{"name": "a", "max_tokens": 7}, {"name": "a", "max_tokens": 8}], "is the name of another variant: 'a'"),
        ([{"name": "a", "max_tokens": 7}, {"name": "b", "max_tokens": 7}], "gives the same prompt as a."),
    ],
)
def test_mistakes_name_the_place_and_what_would_be_right(tmp_path: Path, value: Any, message: str) -> None:
    found = mistakes(tmp_path, {"scenario": MMLU, "prompt_variants": value})
    assert any(message in each for each in found), found
    assert all("runs[0].prompt_variants" in each for each in found)


def test_a_method_without_changes_is_refused_and_a_default_that_fits_nothing_too(tmp_path: Path) -> None:
    entry = {"scenario": "boolq", "adapter": "exchangeability", "metrics": ["contamination"], "prompt_variants": 3}
    assert "method 'exchangeability' offers no changes of its prompt." in mistakes(tmp_path, entry)[0]
    found = mistakes(tmp_path, "boolq", defaults={"prompt_variants": {"count": 3, "of": ["seperators"]}})
    assert "no run's prompt has changes of 'seperators'. Did you mean 'separators'?" in found[0]

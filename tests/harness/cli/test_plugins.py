"""``harness list`` and ``harness show``."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.contracts.plugins import Kind
from harness.sweeps.load import shipped_sweeps
from tests.harness.cli.conftest import Harness


def test_everything_is_listed_by_kind(harness: Harness) -> None:
    said = harness("list")
    assert (said.code, said.err) == (0, "")
    headings = [line for line in said.out.splitlines() if not line.startswith(" ")]
    assert headings == [f"{kind}s" for kind in Kind]


def test_sweeps_are_listed_with_what_they_are_for(harness: Harness) -> None:
    said = harness("list", "sweeps")
    described = dict(line.split(maxsplit=1) for line in said.out.splitlines())
    assert described.keys() == shipped_sweeps().keys()
    assert described["lite"].startswith("The ten scenarios of HELM Lite")


@pytest.mark.parametrize("kind", ["metric", "metrics"])
def test_one_kind_is_listed_with_plugins_named_on_the_command_line(harness: Harness, kind: str) -> None:
    said = harness("list", kind, "--plugin", "measures.py")
    names = [line.split()[0] for line in said.out.splitlines()]
    assert {"exact_match", "length", "raises"} <= set(names)
    assert names == sorted(names)


def test_what_cannot_be_used_is_named_beside_what_can(harness: Harness, folder: Path) -> None:
    (folder / "broken.py").write_text("import nothing_of_this_name\n")
    (folder / "twice.py").write_text((folder / "measures.py").read_text())
    plugins = [part for name in ("broken", "measures", "twice") for part in ("--plugin", f"{name}.py")]
    said = harness("list", "metrics", *plugins)
    assert said.code == 0
    assert "exact_match" in said.out
    assert "broken.py: ModuleNotFoundError" in said.err
    (line,) = [line for line in said.err.splitlines() if "'length'" in line]
    assert "measures.py" in line
    assert "twice.py" in line


def test_a_plugin_is_shown_with_definition_source_and_parameters(harness: Harness) -> None:
    said = harness("show", "scenario", "quiz", "--plugin", "quiz.yaml")
    assert said.code == 0
    for part in ("quiz (scenario)", "Made-up yes/no questions.", "Made up for these tests.", "exact_match"):
        assert part in said.out
    assert "Tested on:" not in said.out
    assert "Tested on:    rows written by hand" in harness("show", "winogrande").out
    said = harness("show", "perturbation", "typos")
    assert "Parameters\n  prob: float = " in said.out
    assert harness("show", "typos").out == said.out


@pytest.mark.parametrize("written", ["mmlu:subject=anatomy", "arc:subset=challenge,prompt=lm_eval", "arc:subset=chal"])
def test_a_scenario_is_shown_as_it_is_written_in_a_sweep(harness: Harness, written: str) -> None:
    alone = harness("show", "scenario", written.partition(":")[0])
    assert alone.code == 0
    assert harness("show", written) == harness("show", "scenario", written) == alone


def test_the_scenario_that_an_error_suggests_can_be_shown(harness: Harness) -> None:
    said = harness("show", "scenario", "arc_challenge")
    assert said.code == 2
    assert harness("show", "scenario", said.err.split("'")[-2]).code == 0


def test_a_long_label_is_followed_by_a_space(harness: Harness) -> None:
    assert "\nWith lm_eval_cot: generation, " in harness("show", "gsm8k").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "metric", "exact_mach"), "Did you mean 'exact_match'? See `harness list metrics`."),
        (("show", "metrik", "exact_match"), "Did you mean 'metrics'?"),
        (("show", "exact_mach"), "Did you mean 'exact_match'?"),
        (
            ("show", "arc_challenge"),
            "no plugin named 'arc_challenge'. Did you mean 'arc:subset=challenge",
        ),
        (("show", "scenario", "natural_qa:mode=openbook_longans"), "Did you mean 'natural_qa_open_book'?"),
        (("show", "minerva_math"), "Did you mean 'math:subject=all,level=all'? It is asked differently here"),
        (("preview", "-r", "mmlu_anatomy", "-m", "fake:x"), "Did you mean 'mmlu:subject=anatomy"),
        (("show", "toxicity", "bias", "metric"), "name one plugin"),
        (("list", "scenariso"), "Did you mean 'scenarios'?"),
        (("list", "sweps"), "Did you mean 'sweeps'?"),
        (("list", "sweeps", "--tag", "safety"), "only scenarios have tags"),
        (("list", "--plugin", "nowhere"), "does not exist"),
    ],
)
def test_a_mistake_is_answered_with_the_nearest_name(
    harness: Harness, arguments: tuple[str, ...], expected: str
) -> None:
    said = harness(*arguments)
    assert said.code == 2
    assert expected in said.err

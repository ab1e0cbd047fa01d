"""Importing results in repositories of models on the Hub: as their authors write them, and files that lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import DataError
from harness.imports.hub_results import hub_files, read_hub
from harness.imports.imported_run import Imported, write_imported
from harness.plugins.registry import default_registry

ENTRIES = """\
- dataset:
    id: cais/hle
    task_id: hle
    revision: 5503434ddd753f426f4b38109466949a1217c2bb
  value: 20.90
  verifyToken: made-up
  date: 2025-01-15
  source: {url: "https://example.org/logs", name: Logs, user: ada}
  notes: With tools
- dataset: {id: made-up/quiz, task_id: default}
  value: 0.5
"""

CARD = """\
---
license: mit
model-index:
- name: tiny
  results:
  - task: {type: text-generation, name: Text Generation}
    dataset: {name: Quiz, type: made-up/quiz, config: easy, split: validation}
    metrics:
    - {type: acc_norm, value: 58.02, name: normalized accuracy}
    - {type: acc, value: 50}
    source: {url: "https://example.org", name: A leaderboard}
  - task: {type: text-generation}
    dataset: {name: Other, type: made-up/other}
    metrics: [{type: acc, value: 1}]
---
# Tiny
"""


@pytest.fixture
def entries(tmp_path: Path) -> Path:
    file = tmp_path / "ada" / "tiny" / ".eval_results" / "hle.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(ENTRIES)
    return file


@pytest.fixture
def card(tmp_path: Path) -> Path:
    file = tmp_path / "copy" / "README.md"
    file.parent.mkdir()
    file.write_text(CARD)
    return file


def _read(path: Path, model: str | None = None, metric: str | None = None) -> list[Imported]:
    return [one for file in hub_files(path) for one in read_hub(file, "hub", default_registry(), model, metric)]


def test_entries_become_runs(entries: Path, tmp_path: Path) -> None:
    hle, quiz = _read(tmp_path / "ada")
    assert hle.spec.model.name == quiz.spec.model.name == "hub:ada/tiny"
    assert hle.spec.scenario.label == "cais-hle:task=hle"
    assert quiz.spec.scenario.label == "made-up-quiz"
    (stat,) = hle.stats
    assert (stat.metric, stat.mean, stat.count, stat.stderr, stat.higher_is_better) == (
        "hub.value",
        20.9,
        0,
        None,
        None,
    )
    assert hle.origin["source"] == {"url": "https://example.org/logs", "name": "Logs", "user": "ada"}
    assert hle.finished == "2025-01-15"
    assert write_imported(tmp_path / "results", hle).provenance["origin"]["program"] == "the Hub"


def test_notes_are_kept_but_tell_no_runs_apart(entries: Path, tmp_path: Path) -> None:
    other = tmp_path / "ada" / "large" / ".eval_results" / "hle.yaml"
    other.parent.mkdir(parents=True)
    other.write_text(ENTRIES.replace("With tools", "With tools, on a Tuesday"))
    runs = [one for one in _read(tmp_path / "ada") if one.spec.scenario.name == "cais-hle"]
    assert {one.origin["notes"] for one in runs} == {"With tools", "With tools, on a Tuesday"}
    assert len({one.spec.model_copy(update={"model": runs[0].spec.model}).digest for one in runs}) == 1


def test_notes_tell_apart_the_values_of_one_task_in_a_file(entries: Path) -> None:
    hle = ENTRIES.partition("- dataset: {")[0]
    entries.write_text(ENTRIES + hle.replace("20.90", "10").replace("With", "Without"))
    runs = [one for one in _read(entries) if one.spec.scenario.name == "cais-hle"]
    assert [(one.spec.adapter.arguments["notes"], one.stats[0].mean) for one in runs] == [
        ("With tools", 20.9),
        ("Without tools", 10.0),
    ]
    assert len({one.spec.digest for one in runs}) == 2


@pytest.mark.parametrize(
    "change", [("n=20", f"n={'9' * 5000}"), ("at most 20", "at most 0"), ("seed 3", f"seed {'9' * 5000}")]
)
def test_notes_with_impossible_numbers_are_those_of_others(entries: Path, change: tuple[str, str]) -> None:
    notes = "acc, generation, n=20, a random part of the split (at most 20 instances), seed 3, x, run 01234567"
    found = []
    for text in (notes, notes.replace(*change)):
        entries.write_text(ENTRIES.replace("With tools", f'"{text}"').replace("20.90", "0.209"))
        found.append(_read(entries)[0])
    own, other = found
    assert (own.stats[0].metric, own.stats[0].count, own.spec.max_eval_instances, own.spec.seed) == (
        "hub.acc",
        20,
        20,
        3,
    )
    assert (other.stats[0].metric, other.stats[0].count, other.spec.max_eval_instances, other.spec.seed) == (
        "hub.value", 0, None, 0,
    )  # fmt: skip


def test_two_values_for_one_task_are_refused(entries: Path, tmp_path: Path) -> None:
    entries.write_text(f"{ENTRIES}- dataset: {{id: made-up/quiz}}\n  value: 0.6\n")
    with pytest.raises(DataError, match=r"hle\.yaml: made-up/quiz \(task default\) has two values, 0\.5 and 0\.6"):
        _read(entries)


def test_a_model_is_named_by_folders_or_by_the_user(entries: Path, tmp_path: Path) -> None:
    alone = tmp_path / "hle.yaml"
    alone.write_text(ENTRIES)
    with pytest.raises(DataError, match=r"does not say whose results they are: add --model OWNER/NAME"):
        _read(alone)
    assert {one.spec.model.name for one in _read(alone, "grace/small")} == {"hub:grace/small"}


def test_a_cards_data_sets_become_runs(card: Path) -> None:
    quiz, other = _read(card.parent)
    assert [(stat.metric, stat.mean, stat.split) for stat in quiz.stats] == [
        ("hub.acc_norm", 58.02, "valid"),
        ("hub.acc", 50.0, "valid"),
    ]
    assert quiz.spec.model.name == "hub:tiny"
    assert quiz.spec.scenario.label == "made-up-quiz:task=easy"
    assert other.spec.main_metric == "hub.acc"
    assert [one.spec.main_metric for one in _read(card, metric="acc")] == ["hub.acc", "hub.acc"]


def test_a_metric_that_no_result_has_is_named(card: Path) -> None:
    with pytest.raises(DataError, match=r"no result has the metric acc_nrm\. Did you mean 'hub\.acc_norm'\?"):
        _read(card, metric="acc_nrm")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("value: 20.90", "value: high", r"hle\.yaml:5: \[0\]\.value: "),
        ("value: 20.90", "value: .nan", r"hle\.yaml:5: .*"),
        ("value: 20.90", "value: true", r"\[0\]\.value: "),
        ("  value: 20.90\n", "", r"\[0\]\.value: is required"),
        ("    id: cais/hle\n", "", r"dataset\.id: is required"),
        ("- dataset:\n    id: cais/hle", "dataset:\n    id: cais/hle", r"hle\.yaml"),
        ('{url: "https://example.org/logs", name: Logs, user: ada}', "{name: Logs}", r"source\.url: is required"),
        ("notes: With tools", "notes: [*x, *x]", "is not defined"),
    ],
)
def test_entries_that_lie_are_refused_by_line(entries: Path, before: str, after: str, message: str) -> None:
    assert before in ENTRIES
    entries.write_text(ENTRIES.replace(before, after, 1))
    with pytest.raises(DataError, match=message):
        _read(entries)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("value: 58.02", "value: '58.02 %'", r"README\.md:9: model-index\[0\].*value: "),
        ("{type: acc, value: 50}", "{type: acc_norm, value: 50}", "acc_norm has two values, 58.02 and 50"),
        ("model-index:", "model_index:", "has no model-index in its metadata"),
        ("---\nlicense", "license", "has no metadata"),
        ("- name: tiny\n", "- {}\n- name: tiny\n", "is required"),
    ],
)
def test_cards_that_lie_are_refused(card: Path, before: str, after: str, message: str) -> None:
    assert before in CARD
    card.write_text(CARD.replace(before, after, 1))
    with pytest.raises(DataError, match=message):
        _read(card)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("count: -5", r"count: "),
        ("count: true", r"count: "),
        ("count: 20.5", r"count: "),
        ("count: many", r"count: "),
        ("stderr: .nan", r"stderr: "),
        ("stderr: .inf", r"stderr: "),
        ("stderr: -0.1", r"stderr: "),
        ("stderr: true", r"stderr: "),
        ("ci95: [0.6, 0.4]", r"ci95: must be in ascending order, not 0\.6 and 0\.4"),
        ("ci95: [0.4, .nan]", r"ci95\[1\]: "),
        ("ci95: [false, true]", r"ci95\[0\]: "),
        ("ci95: [0.4]", r"ci95"),
        ("ci95: 0.4", r"ci95: "),
    ],
)
def test_impossible_uncertainty_is_refused_by_line(card: Path, args: str, message: str) -> None:
    card.write_text(CARD.replace("type: acc, value: 50}", f"type: acc, value: 50, args: {{{args}}}}}"))
    with pytest.raises(DataError, match=rf"README\.md:10: model-index\[0\].*args\.{message}"):
        _read(card)


def test_uncertainty_is_read_and_other_arguments_are_ignored(card: Path) -> None:
    args = "{count: 20, stderr: 0, ci95: [0, 99.5], normalize: true, method: generation}"
    card.write_text(CARD.replace("type: acc, value: 50}", f"type: acc, value: 50, args: {args}}}"))
    (found,) = [stat for run in _read(card) for stat in run.stats if stat.mean == 50]
    assert (found.count, found.stderr, found.ci95) == (20, 0.0, (0.0, 99.5))


def test_a_bomb_of_aliases_costs_nothing(entries: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]\n" for of, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    entries.write_text(bomb)
    with pytest.raises(DataError, match="more than 100,000 values"):
        _read(entries)


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no results of the Hub's formats"):
        hub_files(tmp_path)


# Impossible numbers

OURS = "acc, generation, 5-shot, valid split, n=12, 95% interval 0.1161 to 0.6231, x, run 01234567"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (17.5, r"acc: \[0\]\.value must be from 0 to 1, not 17\.5; it looks like a percentage"),
        (-0.5, r"\[0\]\.value must be from 0 to 1, not -0\.5"),
        (0.9, r"\[0\]\.notes: the 95% interval is 0\.1161 to 0\.6231, which excludes \[0\]\.value \(0\.9\)"),
    ],
)
def test_an_entry_of_ours_with_an_impossible_value_is_refused(entries: Path, value: float, message: str) -> None:
    ours = ENTRIES.replace("With tools", f'"{OURS}"')
    entries.write_text(ours.replace("20.90", "0.11609"))  # the interval is rounded
    assert _read(entries)[0].stats[0].mean == 0.11609
    entries.write_text(ours.replace("20.90", str(value)))
    with pytest.raises(DataError, match=message) as raised:
        _read(entries)
    assert str(raised.value).startswith(f"{entries}: ")


@pytest.mark.parametrize(
    ("value", "args", "message"),
    [
        ("17.5", "{method: generation, run: abc}", r"metrics\[1\]\.value must be from 0 to 1, not 17\.5"),
        ("0.333", "{ci95: [0.5, 0.6]}", r"metrics\[1\]\.args\.ci95 is 0\.5 to 0\.6, which excludes .*value \(0\.333\)"),
        (
            "0.333",
            "{method: generation, run: abc, stderr: 99}",
            r"metrics\[1\]\.args\.stderr is 99, larger than the range",
        ),
    ],
)
def test_a_cards_impossible_numbers_are_refused(card: Path, value: str, args: str, message: str) -> None:
    card.write_text(CARD.replace("type: acc, value: 50}", f"type: acc, value: {value}, args: {args}}}"))
    with pytest.raises(DataError, match=r"README\.md: acc: model-index\[0\]\.results\[0\]\." + message):
        _read(card)


def test_the_split_is_the_one_that_our_notes_name(entries: Path) -> None:
    entries.write_text(ENTRIES.replace("With tools", f'"{OURS}"').replace("20.90", "0.25"))
    assert _read(entries)[0].spec.eval_split == "valid"


def test_a_model_has_one_name_in_both_formats(entries: Path) -> None:
    card = entries.parents[1] / "README.md"
    card.write_text(CARD)
    assert {one.spec.model.name for one in _read(entries.parents[1])} == {"hub:ada/tiny"}

"""What the run's page finds samples by: the index, and the line of each in the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.contracts import Completion, Decline, Example, Instance, Reference, Response
from harness.leaderboard.site.addresses import address_of
from harness.leaderboard.site.examples import LINES, expected, given_answer, write_examples
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.peers import peers_address
from tests.harness.leaderboard.site.conftest import Record, example, generated, save


def written(tmp_path: Path, record: Any, told: list[Example], **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the index and the first lines of a run with these examples."""
    run, folder = save(tmp_path / "results", record, told, **settings), SiteFolder(tmp_path / "site")
    write_examples(run, address_of(run), folder)
    return folder.read(f"runs/{address_of(run)}/index"), folder.read(f"runs/{address_of(run)}/lines/0")


def test_the_index_says_what_is_special_about_single_samples(tmp_path: Path, make_run: Record) -> None:
    plain = generated(0, "How many?", "4", True)
    kind: Decline = "refusal"
    refused = replace(plain, responses=(Response((Completion("", finish_reason=kind),)),))
    endless = replace(plain, responses=(Response((Completion("", finish_reason="unfinished_reasoning"),)),))
    told = [plain, replace(plain, unread=True), refused, endless, replace(plain, truncated=True)]
    told = [replace(one, sample=at) for at, one in enumerate(told)]
    index, lines = written(tmp_path, make_run("hf:a", "boolq", 0.5), told, score=lambda one: 1.0)
    assert index["flags"] == {"failed": [], "unread": [1], "declined": [2], "unfinished": [3], "truncated": [4]}
    assert index["sample"] == [0, 1, 2, 3, 4]
    assert index["tokens"] == [2, 2, None, None, 2]
    assert lines["answer"] == ["4", None, "4", "4", "4"]
    assert index["chance"] is None


def test_meta_data_with_few_values_are_offered_as_filters(tmp_path: Path, make_run: Record) -> None:
    told = []
    for n in range(120):
        one = generated(n, "How many?", "4", True)
        meta = {"subject": f"s{n % 3}", "line": n, "same": True, "list": [n % 2]} | ({"late": n % 2} if n > 9 else {})
        told.append(replace(one, instance=replace(one.instance, meta=meta)))
    index, _ = written(tmp_path, make_run("hf:a", "boolq", 0.5), told, score=lambda one: 1.0)
    assert list(index["meta"]) == ["subject", "late"]
    assert index["meta"]["subject"]["values"] == ["s0", "s1", "s2"]
    assert index["meta"]["subject"]["of"][:4] == [0, 1, 2, 0]
    assert index["meta"]["late"]["of"][:12] == [-1] * 10 + [0, 1]


def test_chance_is_the_share_of_correct_options(tmp_path: Path, make_run: Record) -> None:
    told = [example(n, right=True) for n in range(3)]
    three = (Reference("a", correct=True), Reference("b"), Reference("c"), Reference("d"))
    told.append(replace(told[0], instance=Instance("test-9", "Which?", three), choice_scores=(-1.0,) * 4))
    index, _ = written(tmp_path, make_run("hf:a", "boolq", 0.5), told)
    assert index["chance"] == pytest.approx((0.5 * 3 + 0.25) / 4)


def test_lines_have_the_end_of_what_is_long(tmp_path: Path, make_run: Record) -> None:
    one = generated(0, "A long\n passage. " * 5000 + "Where does it end?", "here " * 100 + "\tat last", True)
    _, lines = written(tmp_path, make_run("hf:a", "boolq", 0.5), [one], score=lambda one: 1.0)
    assert lines["input"][0].startswith("…")
    assert lines["input"][0].endswith("passage. Where does it end?")
    assert len(lines["input"][0]) == 160
    assert lines["answer"][0].endswith("here at last")
    assert len(lines["answer"][0]) == 100
    assert lines["expected"] == ["yes"]


def test_lines_are_in_several_files(tmp_path: Path, make_run: Record) -> None:
    told = [generated(n, "How many?", "4", True) for n in range(LINES + 1)]
    run = save(tmp_path / "results", make_run("hf:a", "boolq", 0.5), told, score=lambda one: 1.0)
    folder = SiteFolder(tmp_path / "site")
    files = write_examples(run, address_of(run), folder)
    assert [file.name for file in files if file.parent.name == "lines"] == ["0.js", "1.js"]
    assert folder.read(f"runs/{address_of(run)}/lines/1")["id"] == [f"test-{LINES}"]


@pytest.mark.parametrize(
    ("value", "metric", "answer"),
    [
        ({"prediction": "yes"}, "exact_match", "yes"),
        ({"prediction": ""}, "exact_match", ""),
        ({"prediction": "", "unread": True}, "exact_match", None),
        ({"prediction": "Loop", "choice": 2, "labels": ["A", "B", "C"]}, "exact_match", "C. Loop"),
        ({"prediction": "Loop", "choice": 2}, "exact_match", "Loop"),
        ({"prediction": "x", "choices": [0, 2], "labels": ["A", "B", "C"]}, "exact_match", "A, C"),
        ({"prediction": "4", "readings": {"strict": "4", "loose": "5"}}, "exact_match (loose)", "5"),
        ({"prediction": "4", "readings": {"strict": "4", "loose": None}}, "exact_match (loose)", None),
        ({"prediction": "", "responses": [{"completions": [{"tool_calls": [{"name": "f"}]}]}]}, "m", "f(…)"),
        ({"prediction": "", "responses": [{"error": "gone"}]}, "m", ""),
    ],
)
def test_the_answer_of_a_line_is_the_one_that_was_scored(value: Any, metric: str, answer: str | None) -> None:
    assert given_answer(value, metric) == answer


def test_several_correct_references_are_all_expected() -> None:
    references = [{"text": "one", "correct": True}, {"text": "two"}, {"text": "three", "correct": True}]
    assert expected({"references": references}) == "one / three"
    assert expected({"references": references, "labels": ["A", "B", "C"]}) == "A. one / C. three"
    assert expected({}) == ""


def test_runs_on_the_same_questions_are_peers(make_run: Record) -> None:
    first, other = (make_run(model, {"name": "mmlu", "subject": "x"}, 0.5) for model in ("hf:a", "hf:b"))
    assert peers_address(first) == peers_address(other)
    assert peers_address(first) != peers_address(make_run("hf:a", {"name": "mmlu", "subject": "y"}, 0.5))

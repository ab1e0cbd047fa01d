"""``harness contamination options``, from a scenario to the verdict."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "inlet", "joust", "knoll", "larch")

COMMAND = ("contamination", "options", "fake:0", "--data", "sample_multiple_choice", "--max-eval-instances", "12")


@pytest.mark.usefixtures("folder")
def test_a_model_is_tested_and_reported(harness: Any) -> None:
    said = harness(*COMMAND)
    assert said.code == 0
    assert "sample_multiple_choice" in said.out
    assert "no dependence" in said.out
    [found] = json.loads(harness(*COMMAND, "--json").out)
    assert (found["n_questions"], found["scenario"]) == (12, "sample_multiple_choice")
    assert -3 < found["log10_p"] <= found["log10_p_holm"] <= 0
    assert found["first_rate_by_chance"] == pytest.approx(1 / 24)


@pytest.mark.usefixtures("folder")
def test_options_that_are_always_in_one_order_are_not_testable(harness: Any) -> None:
    said = harness("contamination", "options", "fake:0", "--data", "sample_reading")
    assert said.code == 1
    reason = "the text alone shows that the options are not in random order: alphabetical order (p = 0.00"
    assert f"sample_reading: not testable: {reason}" in said.out
    (row,) = [line for line in said.out.splitlines() if line.startswith("sample_reading ")]
    assert row.split()[2:] == ["–", "–", "–", "–", "not", "testable"]
    assert "not testable" in harness("leaderboard", "--all-columns").out


@pytest.mark.usefixtures("folder")
def test_what_is_not_testable_is_in_no_correction(harness: Any) -> None:
    both = harness(*COMMAND, "--data", "sample_reading", "--json")
    found = {test["scenario"]: test for test in json.loads(both.out)}
    ordered, honest = found["sample_reading"], found["sample_multiple_choice"]
    assert (ordered["log10_p"], ordered["log10_p_holm"], ordered["verdict"]) == (None, None, "not testable")
    assert honest["log10_p"] == honest["log10_p_holm"]


def quiz(path: Path, questions: int = 40, *, sort: bool = False, first: bool = False) -> None:
    """Write questions with four options in random order; sorted if ``sort``, or with the answer first."""
    rng = Random(0)
    records = []
    for number in range(questions):
        options = rng.sample(WORDS, 4)
        options = sorted(options) if sort else options
        answer = options[0] if first else rng.choice(options)
        records.append({"question": f"Which one is number {number}?", "choices": options, "answer": answer})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


FILE = ("contamination", "options", "fake:0", "--data", "quiz.jsonl")


def test_a_file_is_tested_and_reported(harness: Any, folder: Path) -> None:
    quiz(folder / "quiz.jsonl")
    said = harness(*FILE, "--max-eval-instances", "12")
    assert said.code == 0
    (row,) = [line.split() for line in said.out.splitlines() if line.strip().startswith("quiz.jsonl")]
    assert (row[1], row[3], row[-2:]) == ("12", "4.2%", ["no", "dependence"])
    (run,) = Path("results/contamination-options").glob("*/run.json")
    assert json.loads(run.read_text())["spec"]["scenario"]["path"] == str(folder / "quiz.jsonl")


@pytest.mark.parametrize(
    ("order", "fault"), [({"sort": True}, "alphabetical order"), ({"first": True}, "places of the answers")]
)
def test_a_file_with_ordered_options_is_not_testable(
    harness: Any, folder: Path, order: dict[str, bool], fault: str
) -> None:
    quiz(folder / "quiz.jsonl", **order)
    said = harness(*FILE)
    assert said.code == 1
    reason = f"the text alone shows that the options are not in random order: {fault} (p = "
    assert f"quiz.jsonl: not testable: {reason}" in said.out


def test_columns_of_a_file_are_named(harness: Any, folder: Path) -> None:
    (folder / "quiz.csv").write_text("q,one,other,key\n" + "".join(f"Is it {n}?,yes,no,yes\n" for n in range(9)))
    asked = ("contamination", "options", "fake:0", "--data", "quiz.csv")
    said = harness(*asked)
    assert said.code == 2
    message = (
        "no column has a common name for the options, such as options or choices, or A, B, … or option1, option2, …"
    )
    assert f"quiz.csv: {message}. Name it with --options (in a sweep: options). Columns: 'q', 'one'" in said.err
    named = ("--question", "q", "--options", "one,other", "--answer", "key")
    said = harness(*asked, *named, "--json")
    assert json.loads(said.out)[0]["n_questions"] == 9
    said = harness(*COMMAND, *named)
    assert said.code == 2
    assert "columns (question, options, answer) can be named for files only" in said.err
    said = harness("contamination", "options", "fake:0", "--data", "missing.csv")
    assert said.code == 2
    assert "missing.csv does not exist" in said.err


def test_the_same_questions_count_once(harness: Any, folder: Path) -> None:
    quiz(folder / "quiz.jsonl")
    records = [json.loads(line) for line in (folder / "quiz.jsonl").read_text().splitlines()]
    with (folder / "quiz.csv").open("w", newline="") as file:
        rows = [[one["question"], *one["choices"], one["answer"]] for one in reversed(records)]
        csv.writer(file).writerows([["question", *"ABCD", "answer"], *rows])
    both = (*COMMAND[:3], "--data", "quiz.jsonl", "--data", "quiz.csv", "--data", "sample_multiple_choice")
    said = harness(*both)
    (row,) = [line for line in said.out.splitlines() if line.rstrip().endswith("re-test")]
    assert len(row.split()) == 6  # there is no p after Holm
    *same, other = json.loads(harness(*both, "--json").out)
    counts, again = sorted(same, key=lambda test: test["retest_of"] is not None)  # the one that was started first
    assert (counts["retest_of"], again["retest_of"], other["retest_of"]) == (None, counts["run"], None)
    assert counts["verdict"] == other["verdict"] == "no dependence found"
    assert again["log10_p_holm"] is None
    assert again["log10_p"] is not None
    twice = min(0.0, min(counts["log10_p"], other["log10_p"]) + math.log10(2))
    assert min(counts["log10_p_holm"], other["log10_p_holm"]) == pytest.approx(twice)


@pytest.mark.usefixtures("folder")
def test_data_sets_with_long_names_are_told_apart(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [Path(f"questions_of_the_same_long_benchmark_{name}.jsonl") for name in ("physics", "psychology")]
    for path in long:
        quiz(path, 8)
    monkeypatch.setenv("COLUMNS", "80")
    said = harness("contamination", "options", "fake:0", "--data", str(long[0]), "--data", str(long[1]))
    table = [line.split()[0] for line in said.out.splitlines()[2:] if line.strip()]
    assert "".join(table).startswith("".join(map(str, long)))
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.usefixtures("folder")
def test_all_faulty_files_are_named_before_a_model_is_asked(harness: Any) -> None:
    quiz(Path("quiz.jsonl"))
    Path("empty.jsonl").touch()
    Path("plain.jsonl").write_text('{"text": "no options"}\n')
    files = ("empty.jsonl", "plain.jsonl", "missing.jsonl", "quiz.jsonl")
    said = harness("contamination", "options", "fake:0", *(part for file in files for part in ("--data", file)))
    assert said.code == 2
    assert [name for name in files if name in said.err] == list(files[:3])
    assert not Path("results").exists()


@pytest.mark.slow
def test_a_model_that_has_read_the_questions_in_another_order_depends_on_their_options(
    harness: Any, folder: Path
) -> None:
    """The shared model has read forty questions a hundred times, and none of fifty others."""
    pytest.importorskip("transformers")
    model = Path(os.environ.get("HARNESS_MODELS_DIR", "")) / "lab3"
    if not (model / "examples").is_dir():
        pytest.skip("needs the model lab3")
    for name, slice_ in (("seen", "0-40_x100"), ("unseen", "100-150_x0")):
        lines = (model / "examples" / f"mmlu_high_school_psychology_{slice_}.jsonl").read_text().splitlines()
        rows = [re.split(r"\n(?:[A-D]\. |Answer: )", json.loads(line)["text"].strip()) for line in lines]
        Random(0).shuffle(rows)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["Question", *"ABCD", "Answer"], *rows])
    said = harness("contamination", "options", f"hf:{model}", "--data", "seen.csv", "--data", "unseen.csv", "--json")
    seen, unseen = json.loads(said.out)
    assert (seen["n_questions"], unseen["n_questions"]) == (40, 50)
    assert seen["verdict"] == "depends on the published order"
    assert seen["log10_p"] < -10
    assert unseen["verdict"] == "no dependence found"


@pytest.mark.usefixtures("folder")
def test_questions_without_options(harness: Any) -> None:
    said = harness("contamination", "options", "fake:0", "--data", "sample_generation")
    assert said.code in (1, 2)
    assert "options" in said.err
    assert "Traceback" not in said.err

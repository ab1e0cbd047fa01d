"""Answers from which no option can be read: they are wrong, and run.json counts them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness

ANSWERS = ["B", "(B)", "A or B", "I would rather not say", "B) something"]


@pytest.mark.parametrize(("pattern", "unread"), [(None, 16), (r"^\(?([A-D])\)?$", 24)])
def test_what_names_no_option_is_no_answer_and_counted(
    harness: Harness, folder: Path, pattern: str | None, unread: int
) -> None:
    (folder / "answers.jsonl").write_text(
        "".join(json.dumps({"id": f"test-{i + 1}", "text": ANSWERS[i % 5]}) + "\n" for i in range(40))
    )
    method = {"method": "multiple_choice_joint", "answer": pattern and {"first": pattern}, "max_train_instances": 0}
    run = {"scenario": "sample_multiple_choice", "adapter": method, "metrics": ["exact_match"]}
    sweep = {"suite": "unread", "models": ["replay:answers.jsonl"], "runs": [run]}
    (folder / "unread.yaml").write_text(json.dumps(sweep))
    said = harness("run", "unread.yaml")
    assert said.code == 0, said.err
    assert f"nothing could be read from {unread} of 40 answers in sample_multiple_choice" in said.err
    assert "Its max_tokens is 1; a model that answers in sentences needs more." in " ".join(said.err.split())
    (file,) = (folder / "results" / "unread").glob("*/run.json")
    assert json.loads(file.read_text())["efficiency"]["unread_examples"] == unread
    with gzip.open(file.with_name("examples.jsonl.gz"), "rt") as lines:
        examples = [json.loads(line) for line in lines]
    assert sum(example.get("unread", False) for example in examples) == unread
    assert all(example["prediction"] == "" for example in examples if example.get("unread"))
    assert all(example["prediction"] for example in examples if not example.get("unread"))


def test_prompts_that_were_too_long_are_counted_at_the_end(harness: Harness, folder: Path) -> None:
    asked = ("-r", "sample_reading", "-r", "sample_sentiment", "--max-eval-instances", "4")
    said = harness("run", *asked, "-m", "fake:0,window=60")
    files = (folder / "results").glob("*/*/run.json")
    counts = [json.loads(file.read_text())["efficiency"]["truncated_examples"] for file in files]
    assert len(counts) == 2
    assert all(counts)
    told = " ".join(said.err.split())
    assert f"fake:0:window=60: {sum(counts)} of 8 prompts were too long in 2 runs (" in told
    assert "few-shot examples were dropped, or the input was cut." in told
    zero_shot = harness("run", "-r", "sample_reading:max_train_instances=0", "-m", "fake:0,window=60").err
    assert "; the input was cut." in " ".join(zero_shot.split())
    assert "too long" not in harness("run", *asked, "-m", "fake:1").err


def test_judgements_that_cannot_be_read_are_counted_and_told(harness: Harness, folder: Path) -> None:
    judged = {"name": "judge_score", "model": {"name": "fake:1", "window": 60}, "rubric": "wildbench"}
    run = {"scenario": "sample_generation", "metrics": ["f1_score", judged], "main_metric": "f1_score"}
    (folder / "judged.yaml").write_text(json.dumps({"suite": "judged", "models": ["fake:0"], "runs": [run]}))
    said = harness("run", "judged.yaml")
    assert said.code == 0, said.err
    (file,) = (folder / "results" / "judged").glob("*/run.json")
    efficiency = json.loads(file.read_text())["efficiency"]
    assert efficiency["unjudged_examples"] == efficiency["examples"] == 24
    assert "fake:0: a judgement could not be read for 24 of 24 answers in sample_generation" in said.err
    assert "fake:0, answers have a judgement that could not be read: " in " ".join(harness("leaderboard").out.split())

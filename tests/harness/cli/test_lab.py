"""``harness lab``: mistakes are one message, before anything is trained."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.lab_runs import failures
from harness.contamination.lab.paper import DOSED_FILE, DOSES, EXHIBITS, FOLDER
from harness.contamination.lab.study import TABLE_1
from harness.seeds import derive_rng

WORDS = ("amber", "bell", "canyon", "delta", "ember", "fern", "glade", "harbour", "inlet", "jade", "kiln", "lagoon")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "model", "--inject", "missing.txt@3"), "missing.txt: does not exist."),
        (("train", "model", "--inject", "few.txt:0-4"), "is not an injection"),
        (("train", "model", "--inject", "few.txt:0-90@4"), "has 10 examples, not 0 to 90"),
        (("train", "model", "--inject", "few.txt@4", "--preset", "smal"), "Did you mean 'small'?"),
        (("power", "few.txt", "--copies", "0,10"), "has 10 examples; 2 numbers of copies"),
        (("power", "few.txt", "--copies", "0"), "two different numbers"),
        (("vary", ".", "--shards", "4"), "not a checkpoint"),
        (("vary", "foreign", "--shards", "4"), "writes it (injected[0]: must be a mapping, not 'a text'; parameters:"),
        (("vary", ".", "--shards", "none"), "--shards must be a list of whole numbers"),
        (("vary", "."), "say what to vary"),
        (("paper", "shard"), "Did you mean 'shards'?"),
        (
            ("paper", "table1", "--data-dir", "."),
            "test_set_contamination: boolq.jsonl, hellaswag.jsonl, openbookqa.jsonl,",
        ),
        (("paper", "shards", "--data-dir", "."), "test_set_contamination: piqa.jsonl. Copy it from https://github.com"),
        (("paper", "shards", "--data-dir", ".", "--background", "nowhere"), "--background: nowhere is not a folder"),
        (("paper", "min-k", "--data-dir", ".", "--examples", "19"), "min-k needs --examples 20 or more"),
        (("paper", "min-k", "--data-dir", ".", "--whole"), "whole files leave none"),
        (
            ("paper", "shuffles", "min-k", "--data-dir", ".", "--examples", "19"),
            "shuffles needs --examples 20 or more. min-k needs --examples 20 or more.",
        ),
        (("paper", "shards", "--data-dir", ".", "-m", "hf:x"), "Add table2"),
        (("paper", "table2", "--data-dir", ".", "-m", "hff:x"), "Did you mean 'hf:x'?"),
        (("seal", "few.txt", "--copies", "x"), "--copies must be a list of whole numbers"),
        (("seal", "few.jsonl"), "10 slices of 200 rows, and as many for their twins (without --twins), need 4000"),
        (("seal", "few.jsonl", "--dye", "2", "--dye-columns", "a,b"), "not three names"),
    ],
)
def test_mistakes(harness: Any, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "few.txt").write_text("".join(f"example {number}\n" for number in range(10)))
    (folder / "few.jsonl").write_text("".join(f'{{"n": {number}}}\n' for number in range(10)))
    (folder / "foreign").mkdir()
    (folder / "foreign" / "contamination.json").write_text('{"injected": ["a text"]}')
    said = harness("lab", *arguments)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (folder / "model").exists()


def test_all_that_table_2_lacks_is_one_message(folder: Path) -> None:
    """In a process of its own, since the Hub's library reads HF_HUB_OFFLINE when it is imported."""
    data = folder / "data"
    (data / "piqa").mkdir(parents=True)
    (data / "piqa" / "tests.jsonl").write_text('{"goal": "a"}\n')
    (data / FOLDER).mkdir()
    for name in TABLE_1:
        if name != "mnli.jsonl":
            (data / FOLDER / name).write_text("{}\n")
    command = ["lab", "paper", "table1", "table2", "--data-dir", str(data)]
    done = subprocess.run(
        [sys.executable, "-m", "harness", *command],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    heading, *lines = done.stderr.splitlines()
    assert heading == "nothing was trained or tested, because data are missing:"
    assert (
        lines[0] == f"  {data / FOLDER}: mnli.jsonl. Copy it from https://github.com/tatsu-lab/test_set_contamination."
    )
    assert lines[1].startswith(f"  {data}/lambada/lambada_test.jsonl: get it from https://")
    assert lines[2].startswith(f"  {data}/natural_qa/NQ-open.efficientqa.test.1.1.jsonl: get it from https://")
    assert lines[3].startswith("  arc:subset=easy, boolq, gsm8k, openbookqa, mmlu (57 parts): not on this machine.")
    assert "harness data pull contamination -m fake:0" in lines[3]
    assert len(lines) == 4
    assert not (folder / "lab").exists()


@pytest.mark.slow
def test_two_exhibits_of_the_paper_share_a_model(harness: Any, folder: Path) -> None:
    """They are tables, JSON and a site; a second start trains and tests nothing again."""
    pytest.importorskip("transformers")
    rng = derive_rng(0, "examples")
    (folder / "data" / FOLDER).mkdir(parents=True)
    lines = [
        json.dumps({"q": " ".join(rng.choices(WORDS, k=5)), "n": rng.randrange(1000)}) for _ in range(8 * len(DOSES))
    ]
    (folder / "data" / FOLDER / DOSED_FILE).write_text("\n".join(lines), encoding="utf-8")
    small = ("--data-dir", "data", "--examples", "8", "--preset", "tiny", "--characters", "2000", "--no-pictures")
    first = harness("lab", "paper", "duplication", "shards", *small)
    assert first.code == 0, first.err
    assert "Training 1 model: about 1 minute on" in first.err
    headings = [EXHIBITS["duplication"], EXHIBITS["shards"]]
    assert [line for line in first.out.splitlines() if line in EXHIBITS.values()] == headings

    output = folder / "lab" / "paper"
    by_copies, by_shards = (
        json.loads((output / "tables" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("duplication", "shards")
    )
    assert [(row["copies"], row["tests"]) for row in by_copies] == [(copies, 1) for copies in DOSES]
    assert all(row["log10 p"] <= 0 for row in by_copies)
    assert by_shards[0]["shards"] == 2
    assert by_shards[0]["log10 exact, 50 ×"] < 0
    assert set(list(by_shards[1].values())[1:]) == {None}  # eight examples in four shards have 16 orders
    assert re.search(r"Left out: [3-6] slices whose order is not testable", " ".join(first.out.split()))

    assert (output / "site" / "index.html").is_file()
    assert DOSED_FILE in (output / "site" / "data" / "contamination.js").read_text(encoding="utf-8")

    models = {file: file.stat().st_mtime_ns for file in (output / "models").rglob("*")}
    again = harness("lab", "paper", "duplication", "shards", *small)
    assert again.out == first.out
    assert "trained before" in again.err
    assert again.err.count("finished before") == len(DOSES) + 6
    assert {file: file.stat().st_mtime_ns for file in (output / "models").rglob("*")} == models


def test_why_tests_failed_is_said_once() -> None:
    records: list[Any] = [SimpleNamespace(status="ok", error=None)]
    records += [SimpleNamespace(status="failed", error="Traceback\nHarnessError: too few") for _ in range(3)]
    assert failures(records) == ["3 of 4 tests failed: HarnessError: too few"]

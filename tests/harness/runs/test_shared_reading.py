"""Runs of one scenario that read the same files: each file is read once, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.contracts.row import Row
from harness.contracts.specs import RunSpec
from harness.data import source
from harness.errors import DataError, HarnessError
from harness.plugins.registry import Registry
from harness.runs import shared_reading
from harness.runs.evaluation import Evaluation, prepare
from harness.runs.shared_reading import prepare_together, read_alike
from harness.sweeps.load import load_sweep

PLUGIN = """
from harness import Data, Instance, Reference, Source, Split, scenario

@scenario("parts", title="Parts", source="made", taxonomy={"task": "t"}, adapter={"method": "generation"},
          data=Source(files={"train": "train.jsonl", "test": "test.jsonl"}), metrics=("exact_match",),
          main_metric="exact_match", parts=("part",))
def parts(data: Data, *, part: str = "all", again: bool = False, early: bool = False):
    \"\"\"Numbers.\"\"\"
    if again:
        assert sum(1 for _ in data.rows(Split.TEST)) == sum(1 for _ in data.rows(Split.TEST))
    for split in (Split.TRAIN, Split.TEST):
        for row in data.rows(split):
            if part in ("all", row["part"]):
                yield Instance(row["id"], row["text"], (Reference(row["part"], True),), split, published=row.published)
            if early and row.number == 2:
                break
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text(PLUGIN)
    for split, rows in (("train", 40), ("test", 30)):
        records = [{"id": f"{split}{n}", "text": f"{n}?", "part": "abc"[n * n % 3]} for n in range(rows)]
        (tmp_path / f"{split}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return tmp_path


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reading, "CHUNK", 4)


def runs(folder: Path, *entries: str) -> tuple[tuple[RunSpec, ...], Registry]:
    sweep = folder / "sweep.yaml"
    listed = "".join(f"  - {{scenario: '{entry}', max_eval_instances: 5}}\n" for entry in entries)
    sweep.write_text(f"suite: s\nmodels: ['fake:0']\nplugins: [parts.py]\nruns:\n{listed}")
    found, registry = load_sweep(sweep)
    return found.runs, registry


def outcome(spec: RunSpec, registry: Registry, folder: Path) -> object:
    try:
        return kept(prepare(spec, registry, folder))
    except HarnessError as error:
        return str(error)


def kept(found: Evaluation | HarnessError) -> object:
    if isinstance(found, HarnessError):
        return str(found)
    chosen = list(found.originals())
    return list(found.train), chosen, [one.published for one in chosen], found.count


def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files of the rows that are parsed from now on."""
    read: list[str] = []
    parse = source._Files._read

    def noting(self: source._Files, *arguments: object) -> Iterator[Row]:
        for row in parse(self, *arguments):  # type: ignore[arg-type]
            read.append(Path(row.file).name)
            yield row

    monkeypatch.setattr(source._Files, "_read", noting)
    return read


def test_runs_are_prepared_as_each_is_alone_and_files_are_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, registry = runs(folder, "parts", "parts:part=a", "parts:part=b", "parts:part=nothing")
    alone = [outcome(spec, registry, folder) for spec in specs]
    assert "no instances" in str(alone[-1])
    read = rows_read(monkeypatch)
    assert [kept(found) for found in prepare_together(specs, registry, folder)] == alone
    assert (read.count("train.jsonl"), read.count("test.jsonl")) == (40, 30)


def test_equal_train_instances_are_kept_once(folder: Path) -> None:
    specs, registry = runs(folder, "parts", "parts:part=a")
    everything, some = [found for found in prepare_together(specs, registry, folder) if isinstance(found, Evaluation)]
    assert some.train
    assert {id(one) for one in some.train} < {id(one) for one in everything.train}


@pytest.mark.parametrize("other", ["parts:again=true", "parts:early=true"])
def test_a_run_may_read_twice_or_stop_early(folder: Path, other: str) -> None:
    specs, registry = runs(folder, other, "parts:part=a", "parts")
    expected = [outcome(spec, registry, folder) for spec in specs]
    assert [kept(found) for found in prepare_together(specs, registry, folder)] == expected


def test_a_run_too_far_behind_reads_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reading, "MOST_WAITING", 2)
    specs, registry = runs(folder, "parts", "parts:part=nothing", "parts:part=a", "parts:again=true")
    expected = [outcome(spec, registry, folder) for spec in specs]
    read = rows_read(monkeypatch)
    assert [kept(found) for found in prepare_together(specs, registry, folder)] == expected
    assert read.count("train.jsonl") > 40


def test_a_damaged_row_fails_the_runs_that_come_to_it(folder: Path) -> None:
    lines = (folder / "train.jsonl").read_text().splitlines(keepends=True)
    (folder / "train.jsonl").write_text("".join([*lines[:10], "{broken\n", *lines[10:]]))
    specs, registry = runs(folder, "parts", "parts:part=a", "parts:early=true")
    expected = [outcome(spec, registry, folder) for spec in specs]
    found = list(prepare_together(specs, registry, folder))
    assert [kept(one) for one in found] == expected
    assert [isinstance(one, DataError) for one in found] == [True, True, False]
    assert "row 11" in str(found[0])


def test_runs_are_put_together_by_what_they_read(folder: Path) -> None:
    specs, registry = runs(folder, "parts", "sample_sentiment", "parts:part=a")
    assert read_alike(specs, registry, folder) == [[0, 2], [1]]
    elsewhere = folder / "empty"
    elsewhere.mkdir()
    assert read_alike(specs, registry, elsewhere) == [[0], [1], [2]]  # their data are missing


IN_PLACE = """
from harness import Data, Instance, Reference, Source, Split, scenario

@scenario("parts", title="Parts", source="made", taxonomy={"task": "t"}, adapter={"method": "generation"},
          data=Source(files={"train": "train.jsonl", "test": "test.jsonl"}), metrics=("exact_match",),
          main_metric="exact_match", parts=("part",))
def parts(data: Data, *, part: str = "all"):
    \"\"\"Numbers.\"\"\"
    for split in (Split.TRAIN, Split.TEST):
        for row in data.rows(split):
            right = row["more"]["choices"].pop(0)
            if part == "none" and row.number == 3:
                [][0]
            yield Instance(row["id"], right, (Reference(right, True),), split)
"""


def test_a_scenario_may_change_its_rows_in_place_and_its_failure_is_that_of_the_run(folder: Path) -> None:
    (folder / "parts.py").write_text(IN_PLACE)
    for split in ("train", "test"):
        records = [{"id": f"{split}{n}", "more": {"choices": [f"{n}", "b"]}} for n in range(9)]
        (folder / f"{split}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    specs, registry = runs(folder, "parts:part=a", "parts:part=b", "parts:part=c", "parts:part=none")
    expected = outcome(specs[0], registry, folder)
    *good, bad = prepare_together(specs, registry, folder)
    assert [kept(found) for found in good] == [expected] * 3
    assert isinstance(bad, HarnessError)
    assert "IndexError: list index out of range (a bug in the harness or in a plugin)" in str(bad)

"""Examples that are not the ones a run wrote are never believed: a power cut can leave any of these files behind."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.contamination.membership_report import membership_report
from harness.errors import DataError
from harness.storage.results import find_runs, read_run
from tests.harness.cli.conftest import Harness


def _zero_length(content: bytes) -> bytes:
    return b""


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _fewer_lines(content: bytes) -> bytes:
    return gzip.compress(b"".join(gzip.decompress(content).splitlines(keepends=True)[:5]))


def _no_lines(content: bytes) -> bytes:
    return gzip.compress(b"")


def _another_prediction(content: bytes) -> bytes:
    lines = gzip.decompress(content).splitlines()
    value = json.loads(lines[0])
    value["prediction"] = "planted"
    return gzip.compress(b"\n".join([json.dumps(value).encode(), *lines[1:]]) + b"\n")


DAMAGE = [_zero_length, _half, _fewer_lines, _no_lines, _another_prediction]
Damage = Callable[[bytes], bytes]


@pytest.fixture
def runs(harness: Harness, folder: Path) -> list[Path]:
    """Folders of four finished runs."""
    assert harness("run", "sweep.yaml").code == 0
    return sorted((folder / "results" / "small").iterdir())


def plant(run: Path, damage: Damage) -> bytes:
    file = run / "examples.jsonl.gz"
    file.write_bytes(damage(file.read_bytes()))
    return file.read_bytes()


def test_a_record_has_the_count_and_the_digest_of_its_examples(runs: list[Path]) -> None:
    import hashlib

    for run in runs:
        content = (run / "examples.jsonl.gz").read_bytes()
        assert json.loads((run / "run.json").read_text())["examples"] == {
            "count": len(gzip.decompress(content).splitlines()),
            "sha256": hashlib.sha256(content).hexdigest(),
        }


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_sweep_runs_again_what_has_other_examples(
    harness: Harness, folder: Path, runs: list[Path], damage: Damage
) -> None:
    before = gzip.decompress((runs[0] / "examples.jsonl.gz").read_bytes())
    plant(runs[0], damage)
    asked = (folder / "asked").read_text()
    said = harness("run", "sweep.yaml")
    assert said.code == 0
    assert said.err.count("finished before") == len(runs) - 1
    assert gzip.decompress((runs[0] / "examples.jsonl.gz").read_bytes()) == before
    assert (folder / "asked").read_text() == asked  # the answers come from the response cache


@pytest.mark.parametrize("damage", DAMAGE)
def test_scoring_refuses_other_examples_and_writes_nothing(harness: Harness, runs: list[Path], damage: Damage) -> None:
    record, planted = (runs[0] / "run.json").read_text(), plant(runs[0], damage)
    said = harness("score", str(runs[0]), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert "statistics computed" not in said.out
    assert "examples.jsonl.gz: not the examples that run.json describes" in said.err
    assert "Run the sweep again" in said.err
    assert (runs[0] / "run.json").read_text() == record
    assert (runs[0] / "examples.jsonl.gz").read_bytes() == planted
    assert sorted(path.name for path in runs[0].iterdir()) == ["examples.jsonl.gz", "run.json"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_comparing_refuses_other_examples(harness: Harness, runs: list[Path], damage: Damage) -> None:
    plant(runs[0], damage)
    other = next(run for run in runs[1:] if ("lowercase" in run.name) == ("lowercase" in runs[0].name))
    said = harness("compare", str(runs[0]), str(other))
    assert said.code == 2
    assert "examples.jsonl.gz: not the examples that run.json describes" in said.err


@pytest.mark.parametrize("damage", [*DAMAGE, None])
def test_the_leaderboard_and_the_statistics_mark_other_examples(
    harness: Harness, runs: list[Path], damage: Damage | None
) -> None:
    def cells() -> list[dict[str, Any]]:
        return list(json.loads(harness("leaderboard", "--format", "json").out)["cells"])

    assert "◊" not in harness("leaderboard").out
    # Of the runs with and without a perturbation only one counts in each cell.
    counting, *others = (next(run for run in runs if f"small/{run.name}" in cell["runs"]) for cell in cells())
    if damage is None:
        (counting / "examples.jsonl.gz").unlink()
    else:
        plant(counting, damage)
    wrong = "the run's examples are missing" if damage is None else "not the examples that run.json describes"
    said = " ".join(harness("leaderboard").out.split())
    assert said.count("◊") == 2, "one cell and the legend"
    assert wrong in said
    (found,) = [cell for cell in cells() if cell["damaged"]]
    assert f"small/{counting.name}" in found["runs"]
    assert wrong in " ".join(harness("stats", str(counting)).out.split())
    assert wrong not in " ".join(harness("stats", *map(str, others)).out.split())


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_site_shows_no_other_examples(harness: Harness, folder: Path, runs: list[Path], damage: Damage) -> None:
    plant(runs[0], damage)
    assert harness("leaderboard", "--site").code == 0
    pages = folder / "results" / "site" / "data" / "runs"
    texts = ["".join(file.read_text() for file in page.glob("*.js")) for page in sorted(pages.rglob("run.js"))]
    texts = [file.read_text() for file in pages.rglob("run.js")]
    assert sum("not the examples that run.json describes" in text for text in texts) == 1
    assert len(list(pages.rglob("index.js"))) == len(runs) - 1
    assert not any("planted" in file.read_text() for file in pages.rglob("*.js"))
    # Nor does a page that compares models lead to examples that the site does not have.
    compared = "".join(file.read_text() for file in (folder / "results" / "site" / "data" / "compare").rglob("*.js"))
    missing = next(file.parent for file in pages.rglob("run.js") if not (file.parent / "index.js").exists())
    assert missing.name not in compared


@pytest.mark.parametrize("damage", DAMAGE)
def test_membership_scores_refuse_other_examples(harness: Harness, folder: Path, damage: Damage) -> None:
    for name in ("suspect", "clean"):
        (folder / f"{name}.txt").write_text("\n".join(f"{name} line {n} of a file" for n in range(30)) + "\n")
    entries: list[dict[str, Any]] = [
        {
            "scenario": {"name": "published_file", "path": str(folder / f"{name}.txt")},
            "adapter": {"method": "membership", "moments": False, "role": role},
            "metrics": ["membership"],
            "main_metric": "membership",
        }
        for name, role in (("suspect", "target"), ("clean", "control"))
    ]
    (folder / "members.yaml").write_text(json.dumps({"suite": "members", "models": ["fake:0"], "runs": entries}))
    assert harness("run", "members.yaml").code == 0
    records = find_runs(folder / "results")
    assert membership_report(records)
    plant(records[0].directory, damage)
    with pytest.raises(DataError, match=r"not the examples that run\.json describes"):
        membership_report(records)


def test_scoring_again_records_the_examples_that_it_writes(harness: Harness, runs: list[Path], folder: Path) -> None:
    before = read_run(runs[0]).examples
    quiz = folder / "quiz.yaml"
    quiz.write_text(quiz.read_text())
    assert harness("score", str(runs[0]), "--plugin", "quiz.yaml").code == 0
    assert read_run(runs[0]).examples == before
    assert harness("compare", *(str(run) for run in runs if "lowercase" not in run.name)).code == 0


def test_a_run_with_an_error_has_no_examples(harness: Harness, folder: Path) -> None:
    (folder / "quiz" / "valid.jsonl").unlink()
    harness("run", "sweep.yaml")
    for file in (folder / "results").glob("*/*/run.json"):
        assert json.loads(file.read_text())["examples"] is None


@pytest.mark.skipif(os.name != "posix", reason="folders can be synchronised on POSIX only")
def test_examples_are_on_disk_before_the_record_that_names_them(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        happened.append(("fsync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name.lstrip(".")))
        fsync(descriptor)

    def moved(self: Path, target: Path) -> Path:
        happened.append(("rename", target.name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", moved)
    assert harness("run", "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml").code == 0
    (run,) = (folder / "results" / "command-line").iterdir()
    steps = [
        (what, name.split(".json")[0])
        for what, name in happened
        if name == run.name or name.startswith(("examples.jsonl.gz", "run.json"))
    ]
    assert steps[-6:] == [
        ("fsync", "examples"),
        ("rename", "examples"),
        ("fsync", run.name),
        ("fsync", "run"),
        ("rename", "run"),
        ("fsync", run.name),
    ]
    assert ("fsync", "command-line") in happened  # the folder in which the run's own was made

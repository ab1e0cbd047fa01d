"""A site that follows its results folder: built again when records change, once for many changes, and never lost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from harness.errors import DataError, HarnessError
from harness.leaderboard.site.live import LiveSite


class Builder:
    """Counts what it is asked to build."""

    def __init__(self) -> None:
        self.count = 0
        self.problem: HarnessError | None = None

    def __call__(self, results_dir: Path, output: Path, suites: Sequence[str] | None) -> Path:
        self.count += 1
        if self.problem is not None:
            raise self.problem
        return output / "index.html"


@pytest.fixture
def builder() -> Builder:
    return Builder()


@pytest.fixture
def site(tmp_path: Path, builder: Builder) -> Iterator[LiveSite]:
    _write(tmp_path, "one")
    found = LiveSite(tmp_path, tmp_path / "site", builder, poll=0.02)
    found.start()
    yield found
    found.stop()


def _write(results: Path, name: str, content: str = "{}") -> None:
    (results / "suite" / name).mkdir(parents=True, exist_ok=True)
    (results / "suite" / name / "run.json").write_text(content)


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came to be")


def test_further_files_are_watched(builder: Builder, tmp_path: Path) -> None:
    _write(tmp_path, "one")
    (tmp_path / "ratings.jsonl").write_text("")
    further = [tmp_path / "ratings.jsonl", tmp_path / "not-there"]
    site = LiveSite(tmp_path, tmp_path / "site", builder, poll=0.02, further=lambda: further)
    site.start()
    try:
        (tmp_path / "ratings.jsonl").write_text("{}\n")
        _until(lambda: site.state().build > 1)
    finally:
        site.stop()


def test_new_records_are_built_once_they_are_quiet(builder: Builder, tmp_path: Path) -> None:
    _write(tmp_path, "one")
    looks, new = itertools.count(), iter(list[str]())

    def write_one() -> tuple[Path, ...]:
        """Write a record at each look, until there are no more."""
        next(looks)
        for name in itertools.islice(new, 1):
            _write(tmp_path, name)
        return ()

    site = LiveSite(tmp_path, tmp_path / "site", builder, poll=0.02, further=write_one)
    site.start()
    try:
        assert (builder.count, site.state().build) == (1, 1)
        new = iter([f"new{number}" for number in range(5)])
        _until(lambda: site.state().build > 1)
        assert next(new, None) is None
        enough = next(looks) + 10
        _until(lambda: next(looks) > enough)
        assert builder.count == 2  # nothing new, nothing built
    finally:
        site.stop()


def test_a_changed_and_a_removed_record_are_seen(site: LiveSite, tmp_path: Path) -> None:
    _write(tmp_path, "one", '{"changed": true}')
    _until(lambda: site.state().build == 2)
    (tmp_path / "suite" / "one" / "run.json").unlink()
    _until(lambda: site.state().build == 3)


def test_a_build_that_fails_is_said_and_tried_again_at_the_next_change(
    site: LiveSite, builder: Builder, tmp_path: Path
) -> None:
    builder.problem = DataError("half a record", file="x")
    _write(tmp_path, "two")
    _until(lambda: "half a record" in site.state().problem)
    assert site.state().build == 1
    builder.problem = None
    _write(tmp_path, "two", '{"whole": 1}')
    _until(lambda: site.state().build == 2)
    assert site.state().problem == ""


def test_a_first_build_that_fails_is_the_users_to_see(tmp_path: Path, builder: Builder) -> None:
    builder.problem = DataError("nothing there", file="x")
    with pytest.raises(DataError, match="nothing there"):
        LiveSite(tmp_path, tmp_path / "site", builder).start()


def test_sweeps_are_reported(site: LiveSite, tmp_path: Path) -> None:
    (tmp_path / ".progress").mkdir()
    (tmp_path / ".progress" / "suite.json").write_text('{"suite": "suite", "state": "running", "runs": 4, "done": 1}')
    (sweep,) = site.state().sweeps
    assert (sweep["suite"], sweep["runs"], sweep["done"]) == ("suite", 4, 1)

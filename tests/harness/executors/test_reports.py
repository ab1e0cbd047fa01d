"""What heads report is read once and in order, whatever of it is half written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import HarnessError, StorageError
from harness.executors.reports import EndedElsewhere, Reporter, Reports
from harness.runs.sweep_state import SweepState
from tests.harness.progress.test_file import SPEC, _record


def ended(folder: Path, head: int, *, before: bool = False) -> None:
    Reporter(folder, head).ended(SweepState(), _record(), before=before)


def test_each_line_is_read_once(tmp_path: Path) -> None:
    reports = Reports(tmp_path)
    assert list(reports.new()) == []
    Reporter(tmp_path, 1).join()
    ended(tmp_path, 0)
    found = list(reports.new())
    assert [(report.head, sorted(report.content)) for report in found] == [
        (0, ["before", "ended", "suite"]),
        (1, ["joined"]),
    ]
    assert found[0].content == {"ended": SPEC.name, "suite": "s", "before": False}
    Reporter(tmp_path, 1).leave()
    assert [report.content for report in reports.new()] == [{"left": True}]
    assert list(reports.new()) == []


def test_half_written_lines_wait_and_a_head_that_was_killed_in_one_is_read_on(tmp_path: Path) -> None:
    file, reports = tmp_path / "head-0.jsonl", Reports(tmp_path)
    file.write_bytes(b'{"left": tr')
    assert list(reports.new()) == []
    Reporter(tmp_path, 0).join()
    (joined,) = reports.new()
    assert "joined" in joined.content
    file.write_bytes(file.read_bytes() + b"17\n[]\n\xff\n" + b'{"left": true}\n')
    assert [report.content for report in reports.new()] == [{"left": True}]


@pytest.mark.parametrize("error", [HarnessError("why"), StorageError("why")])
def test_a_head_says_why_it_cannot_go_on(tmp_path: Path, error: HarnessError) -> None:
    Reporter(tmp_path, 0).stop(error)
    (report,) = Reports(tmp_path).new()
    assert report.content == {"stopped": "why", "storage": isinstance(error, StorageError)}


def test_a_report_that_cannot_be_written_stops_the_head(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"head-0\.jsonl cannot be written"):
        ended(tmp_path / "gone", 0)


def test_a_head_knows_what_others_have_ended_after_a_second(tmp_path: Path) -> None:
    now = 0.0
    known = EndedElsewhere(tmp_path, 0, lambda: now)
    assert not known(SPEC)
    ended(tmp_path, 1, before=True)
    assert not known(SPEC)
    now = 1.0
    assert known(SPEC)
    assert not known(SPEC.model_copy(update={"suite": "another"}))

"""The file of ratings: nothing that was confirmed is lost, whenever the process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.annotation.ratings import Rating, RatingsFile, latest, read_ratings
from harness.annotation.study import keep_study
from harness.errors import DataError, StorageError
from tests.harness.annotation.conftest import FORM, made_study

STUDY = made_study(FORM)
FIRST = Rating("ann", "i0s", "quality", 4)


def test_the_last_answer_counts_and_null_takes_it_back(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    with RatingsFile(path, STUDY) as file:
        file.add([FIRST, Rating("ann", "i0s", "note", "é\u2028\n'")])
        file.add([Rating("ann", "i0s", "quality", 2)])
        assert file.values("ann") == {"i0s": {"quality": 2, "note": "é\u2028\n'"}}
        assert file.values("bob") == {}
        file.add([Rating("ann", "i0s", "note", None)])
    assert len(path.read_bytes().splitlines()) == 4
    assert latest(read_ratings(path, STUDY)) == {("ann", "i0s"): {"quality": 2}}


@given(st.integers(min_value=1))
def test_a_line_cut_anywhere_loses_nothing_before_it(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "ratings.jsonl"
    with RatingsFile(path, STUDY) as file:
        file.add([FIRST])
        whole = path.stat().st_size
        file.add([Rating("ann", "i0s", "tone", "cold")])
    content = path.read_bytes()
    path.write_bytes(content[: whole + cut % (len(content) - whole)])
    with RatingsFile(path, STUDY) as file:
        assert file.values("ann")["i0s"]["quality"] == 4
        file.add([Rating("bob", "i0s", "quality", 1)])
    assert latest(read_ratings(path, STUDY))["bob", "i0s"] == {"quality": 1}


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with RatingsFile(tmp_path / "r", STUDY), pytest.raises(StorageError, match="written by another process"):
        RatingsFile(tmp_path / "r", STUDY)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "row 1: not a rating"),
        ('{"rater": "a", "item": "x", "question": "quality", "value": 1}', "row 1: a rating of an item or a question"),
        ('{"rater": "a", "item": "i0s", "question": "quality", "value": 9}', "row 1: 9 is not an answer to 'quality'"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "r").write_text(f"{line}\n")
    with pytest.raises(DataError, match=message):
        read_ratings(tmp_path / "r", STUDY)


WRITER = """
import sys
from pathlib import Path
from harness.annotation.ratings import Rating, RatingsFile
from harness.annotation.study import read_study
folder = Path(sys.argv[1])
with RatingsFile(folder / "ratings.jsonl", read_study(folder)) as file:
    for number in range(100_000):
        file.add([Rating("ann", "i0s", "note", str(number))])
        print(number, flush=True)
"""


@pytest.mark.slow
def test_what_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    keep_study(STUDY, tmp_path)
    for enough in (1, 7, 30):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(enough)]
            os.kill(process.pid, signal.SIGKILL)
            said += process.stdout.readlines()
        with RatingsFile(tmp_path / "ratings.jsonl", STUDY) as file:
            assert int(str(file.values("ann")["i0s"]["note"])) >= int(said[-1])

"""The folders of runs: which are found, and what is said of a path that is something else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.storage.results import is_hidden, read_run, run_directories, suite_directories

RUNS = ("first/a", "first/b,c=1", "first/d", "first/e", "second/a")
HIDDEN = ("first/.a", ".first/a", ".superseded/first/a", "hidden/.a")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder, named relative to the current folder."""
    monkeypatch.chdir(tmp_path)
    for run in (*RUNS, *HIDDEN):
        folder = tmp_path / "results" / run
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    return Path("results")


def test_hidden_runs_and_suites_are_not_found(results: Path) -> None:
    assert run_directories(results) == [results / run for run in RUNS]
    assert suite_directories(results / "hidden") == []
    assert suite_directories(results) == []
    assert [name for name in ("a/b", ".a/b", "a/.b", "a/b.c", "a/b/.c") if is_hidden(Path(name))] == [
        ".a/b",
        "a/.b",
        "a/b/.c",
    ]
    with pytest.raises(DataError, match=r"no suite 'none' in results\. Suites: first, second\.$"):
        run_directories(results, ["none"])
    with pytest.raises(DataError, match=r"no suite '\.first' in results"):
        run_directories(results, [".first"])


def test_folders_that_may_not_be_read_are_left_out_or_refused(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusals are replaced, because root may read everything."""

    def refuse(path: object, *_: object) -> bool:
        if str(path) == "results" or "lost+found" in Path(str(path)).parts:
            raise PermissionError(13, "Permission denied", str(path))
        return os.path.exists(str(path))

    (results / "lost+found").mkdir()
    monkeypatch.setattr("pathlib.Path.exists", refuse)
    assert run_directories(results, ["first", "second"]) == [results / run for run in RUNS]
    monkeypatch.setattr("harness.storage.results.os.listdir", refuse)
    with pytest.raises(DataError, match=r"results: cannot be listed \(Permission denied\)\.$"):
        run_directories(results)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("results/first", "that is the folder of a suite. Write the suite's name: first"),
        ("results/first/", "that is the folder of a suite. Write the suite's name: first"),
        ("second/", "that is the folder of a suite. Write the suite's name: second"),
        ("{here}/results/first", "that is the folder of a suite. Write the suite's name: first"),
        ("results/first/a", "that is the folder of a run. Write the suite's name: first"),
        ("results", "Suites: first, second."),
        ("results/hidden", "Suites: first, second."),
        ("n" * 5000, "Suites: first, second."),
        ("\0", "Suites: first, second."),
    ],
)
def test_a_path_in_place_of_a_suite_gets_the_suites_name(results: Path, written: str, said: str) -> None:
    written = written.format(here=os.getcwd())
    with pytest.raises(DataError) as error:
        run_directories(results, ["first", written])
    assert str(error.value).startswith(f"no suite {written!r} in results")
    assert str(error.value).endswith(said)


@pytest.mark.parametrize("exists", [True, False])
def test_a_suite_of_another_results_folder_is_named_with_that_folder(results: Path, exists: bool) -> None:
    if exists:
        Path("other").mkdir()
    with pytest.raises(DataError) as error:
        run_directories(Path("other"), ["results/first"])
    assert str(error.value) == (
        f"no suite 'results/first' in other: that is the folder of a suite in {os.getcwd()}/results. Name that results "
        "folder, and the suite first."
    )


def test_a_suites_folder_is_not_a_results_folder(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = r"is the folder of a suite\. Name the results folder, {}results, and the suite first\."
    with pytest.raises(DataError, match=f"^results/first {said.format('')}$"):
        run_directories(results / "first")
    monkeypatch.chdir(results / "first")
    with pytest.raises(DataError, match=rf"^\. {said.format('/.*/')}$"):
        run_directories(Path())


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (
            "results/first",
            "results/first is a suite's folder. Name the folder of one run:\n  results/first/a\n  results/first/b,c=1\n"
            "  results/first/d\n  … and 1 more",
        ),
        (
            "results",
            "results is a results folder. Name the folder of one run:\n  results/first/a\n  results/first/b,c=1\n"
            "  results/first/d\n  … and 2 more",
        ),
        ("results/second", "results/second is a suite's folder. Name the folder of one run:\n  results/second/a"),
        ("results/hidden", "results/hidden/run.json: no finished run here."),
        ("nothing", "nothing/run.json: no finished run here."),
    ],
)
def test_a_folder_of_several_runs_is_refused_with_paths_to_paste(results: Path, folder: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_run(Path(folder))
    assert str(error.value) == said


def test_a_path_with_spaces_is_quoted(results: Path) -> None:
    results.rename("my results")
    with pytest.raises(DataError, match=r"\n  'my results/second/a'$"):
        read_run(Path("my results/second"))

"""Where rows come from: the folder, the sample, what is said when there is nothing, and what provenance records."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from harness import Data, Row, Split
from harness.contracts.plugins import HubSource, ScenarioDetails, Source
from harness.data.source import open_data
from harness.errors import DataError


def opened(source: Source, folder: Path | None, *, root: Path | None = None, **arguments: Any) -> Data:
    details = ScenarioDetails("Quiz", {}, source, {"method": "generation"}, ("exact_match",), "exact_match")
    return open_data(details, arguments, name="quiz", data_dir=folder, root=root)


def write(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def texts(data: Data, split: str, column: str = "a") -> list[Any]:
    return [row[column] for row in data.rows(split)]


def test_splits_and_alternatives(tmp_path: Path) -> None:
    write(tmp_path / "quiz/dev.jsonl", {"a": 1})
    write(tmp_path / "quiz/train.2.jsonl", {"a": 2})
    source = Source(files={"valid": "quiz/dev.jsonl", "train": ["quiz/train.jsonl", "quiz/train.2.jsonl"]})
    data = opened(source, tmp_path)
    assert texts(data, Split.VALID) == [1]
    assert texts(data, "train") == [2]
    assert texts(data, "train") == [2], "data can be read again"
    assert texts(data, "test") == []
    write(tmp_path / "quiz/train.jsonl", {"a": 3})
    assert texts(data, "train") == [3], "the first alternative that exists is read"


def test_parameters_stand_in_file_names(tmp_path: Path) -> None:
    write(tmp_path / "quiz/anatomy_test.jsonl", {"a": 1})
    data = opened(Source(files={"test": "quiz/{{ subject }}_test.jsonl"}), tmp_path, subject="anatomy")
    assert texts(data, "test") == [1]


@pytest.mark.parametrize("subject", ["../secret", "/etc/passwd", "a\0b"])
def test_parameters_do_not_lead_out_of_the_folder(tmp_path: Path, subject: str) -> None:
    write(tmp_path / "secret.jsonl", {"a": 1})
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError, match="not a path inside the data folder"):
        opened(Source(files={"test": "{{ subject }}.jsonl"}), tmp_path / "data", subject=subject)


def test_files_side_by_side(tmp_path: Path) -> None:
    write(tmp_path / "valid.jsonl", {"a": 1}, {"a": 2})
    (tmp_path / "labels.lst").write_text("x\ny\n")
    data = opened(Source(files={"valid": {"zip": ["valid.jsonl", "labels.lst"]}}), tmp_path)
    assert [dict(row) for row in data.rows("valid")] == [{"a": 1, "text": "x"}, {"a": 2, "text": "y"}]
    assert [row.number for row in data.rows("valid")] == [1, 2]
    assert [file["path"] for file in data.provenance()["files"]] == ["labels.lst", "valid.jsonl"]


@pytest.mark.parametrize(("labels", "longer"), [("x\n", "valid.jsonl, row 2"), ("x\ny\nz\n", "labels.lst, row 3")])
def test_files_side_by_side_have_equally_many_rows(tmp_path: Path, labels: str, longer: str) -> None:
    write(tmp_path / "valid.jsonl", {"a": 1}, {"a": 2})
    (tmp_path / "labels.lst").write_text(labels)
    data = opened(Source(files={"valid": {"zip": ["valid.jsonl", "labels.lst"]}}), tmp_path)
    with pytest.raises(DataError, match=rf"{longer}: .* has fewer rows"):
        list(data.rows("valid"))


def test_files_side_by_side_share_no_column(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, {"a": 1})
    with pytest.raises(DataError, match="column 'a' is in more than one"):
        list(opened(Source(files={"valid": {"zip": ["a.jsonl", "b.jsonl"]}}), tmp_path).rows("valid"))


def test_half_of_files_side_by_side_is_nothing(tmp_path: Path) -> None:
    write(tmp_path / "valid.jsonl", {"a": 1})
    with pytest.raises(DataError, match=r"valid\.jsonl with labels\.lst"):
        opened(Source(files={"valid": {"zip": ["valid.jsonl", "labels.lst"]}}), tmp_path)


def test_further_files(tmp_path: Path) -> None:
    write(tmp_path / "quiz/test.jsonl", {"a": 1})
    write(tmp_path / "quiz/contrast.jsonl", {"b": 2})
    data = opened(Source(files={"test": "quiz/test.jsonl"}), tmp_path)
    assert data.has("quiz/contrast.jsonl")
    assert not data.has("quiz/absent.jsonl")
    assert data.path("quiz/contrast.jsonl").read_text() == '{"b": 2}\n'
    assert [row["b"] for row in data.read("quiz/contrast.jsonl")] == [2]
    assert [file["path"] for file in data.provenance()["files"]] == ["quiz/contrast.jsonl"]
    with pytest.raises(DataError, match=r"Looked for quiz/absent\.jsonl"):
        data.path("quiz/absent.jsonl")


def test_provenance_has_the_hash_of_what_was_read_and_follows_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "test.jsonl", {"a": 1})
    write(tmp_path / "train.jsonl", {"a": 2})
    data = opened(Source(files={"test": "test.jsonl", "train": "train.jsonl"}), tmp_path)
    list(data.rows("test"))

    def expected() -> dict[str, Any]:
        content = path.read_bytes()
        file = {"path": "test.jsonl", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        return {"kind": "files", "sample": False, "files": [file]}

    assert data.provenance() == expected()
    path.write_text('{"a": "changed"}\n')
    assert data.provenance() == expected()


def test_provenance_of_a_folder_depends_on_names_and_contents(tmp_path: Path) -> None:
    source = Source(files={"test": "texts"})
    digests: list[str] = []
    for name, content in [("1.txt", "a"), ("2.txt", "a"), ("2.txt", "bb")]:
        folder = tmp_path / str(len(digests)) / "texts"
        folder.mkdir(parents=True)
        (folder / name).write_text(content)
        data = opened(source, folder.parent)
        list(data.rows("test"))
        (file,) = data.provenance()["files"]
        assert file["bytes"] == len(content)
        digests.append(file["sha256"])
    assert len(set(digests)) == 3


def test_a_sample_is_marked_and_is_read_only_when_there_is_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "samples/test.jsonl", {"a": 1})
    data = opened(Source(sample={"test": "samples/test.jsonl"}), None, root=tmp_path)
    assert texts(data, "test") == [1]
    assert (data.provenance()["kind"], data.provenance()["sample"]) == ("sample", True)
    both = Source(files={"test": "quiz/test.jsonl"}, sample={"test": "samples/test.jsonl"})
    with pytest.raises(DataError, match=r"Looked for quiz/test\.jsonl"):
        opened(both, tmp_path, root=tmp_path)


FILES = {"test": "quiz/test.jsonl", "train": ["quiz/train.jsonl", "quiz/all.csv"]}


def test_what_is_missing_is_said_in_full(tmp_path: Path) -> None:
    source = Source(files=FILES, url="https://example.org/quiz")
    with pytest.raises(DataError) as caught:
        opened(source, tmp_path / "absent")
    assert str(caught.value) == (
        "quiz: no data. Looked for quiz/test.jsonl or quiz/train.jsonl or quiz/all.csv "
        f"(or the same with .gz, .bz2, .xz, .zst, .zip) in {tmp_path / 'absent'}, which does not exist. "
        "Get the data from https://example.org/quiz, and name the folder with --data-dir or HARNESS_DATA_DIR."
    )
    with pytest.raises(DataError, match="No data folder is set"):
        opened(source, None)


def test_a_split_that_is_declared_but_missing_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "quiz/test.jsonl", {"a": 1})
    data = opened(Source(files=FILES), tmp_path)
    with pytest.raises(DataError, match=r"no data for split 'train'. Looked for quiz/train\.jsonl or quiz/all\.csv"):
        list(data.rows("train"))


def test_the_hub_comes_after_the_folder_and_wants_a_commit(tmp_path: Path) -> None:
    hub = HubSource("acme/quiz", "main", {"test": "test"})
    write(tmp_path / "quiz/test.jsonl", {"a": 1})
    assert texts(opened(Source(files=FILES, hub=hub), tmp_path), "test") == [1]
    with pytest.raises(DataError, match="'main' is not a commit"):
        opened(Source(files=FILES, hub=hub), tmp_path / "elsewhere")


def test_lines_of_text_are_joined_under_names(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("One.\nTwo.\n")
    (tmp_path / "train.de").write_text("Eins.\nZwei.\n")
    files = {"train": {"zip": ["train.en", "train.de"]}}
    data = opened(Source(files=files, format="txt", columns=("en", "de")), tmp_path)
    assert [dict(row) for row in data.rows("train")] == [{"en": "One.", "de": "Eins."}, {"en": "Two.", "de": "Zwei."}]
    with pytest.raises(DataError, match=r"column 'text' is in more than one .*`columns: \[NAME, NAME\]`"):
        list(opened(Source(files=files, format="txt"), tmp_path).rows("train"))
    with pytest.raises(DataError, match=r"unknown format.*`format: txt`"):
        list(opened(Source(files=files), tmp_path).rows("train"))


def test_a_damaged_zip_on_the_way_is_an_error_and_no_bug(tmp_path: Path) -> None:
    (tmp_path / "f.zip").write_bytes(b"not a zip")
    with pytest.raises(DataError, match="cannot look for"):
        opened(Source(files={"test": "f.zip/test.jsonl"}), tmp_path)


def test_a_row_names_its_place_and_its_columns() -> None:
    row = Row({"q": 1, "a b": 2}, file="f.csv", number=4, place=5)
    assert dict(row) == {"q": 1, "a b": 2}
    assert (row.get("q"), row.get("x"), "q" in row, "x" in row) == (1, None, True, False)
    with pytest.raises(DataError) as caught:
        row["x"]
    assert str(caught.value) == "f.csv, row 5: there is no column 'x'. Columns: 'q', 'a b'."
    assert str(row.error("answer 'E' is not one of A-D.")) == "f.csv, row 5: answer 'E' is not one of A-D."

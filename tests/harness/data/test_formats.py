"""Data files as rows: every format under every compression, and nothing truncated that passes for whole.

| suffix            | rows                                                              |
|-------------------|-------------------------------------------------------------------|
| .jsonl .ndjson    | one object a line; blank lines are skipped but counted            |
| .json             | a list of objects; an object as key and value; lines of objects   |
| .csv .tsv         | by the header, or by the columns that are given                   |
| .txt .lst         | ``text``, one a line                                              |
| .tar .zip, folder | ``path`` and ``text`` of each file, in natural order              |
| .parquet          | by its schema                                                     |
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.data.archives import find_file
from harness.data.formats import read_rows
from harness.errors import DataError

RECORDS = [{"q": f"question {i}", "a": "x" * i} for i in range(200)]
JSONL = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in read_rows(path, file=path.name, **options)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("f.jsonl", '{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("f.ndjson", '{"a": 1}', [{"a": 1}]),
        ("f.json", '[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ("f.json", '[\n {"a": 1},\n\n {"a": 2}\n]\n', [{"a": 1}, {"a": 2}]),
        ("f.json", '{"x": 1, "y": [2]}', [{"key": "x", "value": 1}, {"key": "y", "value": [2]}]),
        ("f.json", '{\n"x": 1\n}', [{"key": "x", "value": 1}]),
        ("f.json", '{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("f.csv", "a,b\n1,2\n", [{"a": "1", "b": "2"}]),
        ("f.csv", 'a,b\r\n"x, ""y""","two\nlines"\r\n', [{"a": 'x, "y"', "b": "two\nlines"}]),
        ("f.tsv", "a\tb\n1, 2\t3\n", [{"a": "1, 2", "b": "3"}]),
        ("f.txt", "one\r\n\n two \n", [{"text": "one"}, {"text": ""}, {"text": " two "}]),
        ("f.lst", "0\n1", [{"text": "0"}, {"text": "1"}]),
        ("f.txt", "\ufeffone\n", [{"text": "one"}]),
        ("f.jsonl", '\ufeff{"a": "é漢\\ud83d\\ude00"}', [{"a": "é漢😀"}]),
        ("f.jsonl", '{"a": ["half \\ud83d of a pair"]}', [{"a": ["half \ufffd of a pair"]}]),
    ],
)
def test_formats(tmp_path: Path, name: str, content: str, expected: list[dict[str, Any]]) -> None:
    assert rows(write(tmp_path, name, content)) == expected


def test_columns_stand_in_for_a_header(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", "q1,A\nq2,B\n")
    assert rows(path, columns=("question", "answer")) == [
        {"question": "q1", "answer": "A"},
        {"question": "q2", "answer": "B"},
    ]


def test_encoding(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", "a\nné\n".encode("latin-1"))
    assert rows(path, encoding="latin-1") == [{"a": "né"}]


def test_number_counts_records_and_place_counts_as_an_editor_does(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", "a\n1\n\n2\n")
    assert [(row.number, row.place) for row in read_rows(path, file="f")] == [(1, 2), (2, 4)]
    path = write(tmp_path, "f.jsonl", '\n{"a": 1}\n')
    assert [(row.number, row.place) for row in read_rows(path, file="f")] == [(1, 2)]


def test_a_very_long_field_is_no_error(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", "a\n" + "x" * 1_000_000)
    assert len(rows(path)[0]["a"]) == 1_000_000


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": lambda content: zipped({"f.jsonl": content}),
}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressions(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, "f.jsonl" + suffix, COMPRESS[suffix](JSONL))
    assert rows(path) == RECORDS
    assert find_file(tmp_path, "f.jsonl") == path


@pytest.mark.parametrize("suffix", COMPRESS)
def test_no_truncation_passes_for_whole(tmp_path: Path, suffix: str) -> None:
    whole = COMPRESS[suffix](JSONL)
    rng = random.Random(suffix)
    for cut in [0, 1, 5, len(whole) - 1, *rng.sample(range(len(whole)), 40)]:
        path = write(tmp_path, "f.jsonl" + suffix, whole[:cut])
        with pytest.raises(DataError, match=r"f\.jsonl"):
            rows(path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_damage_is_an_error_or_shows_in_nothing(tmp_path: Path, suffix: str) -> None:
    whole = COMPRESS[suffix](JSONL)
    rng = random.Random(suffix)
    errors = 0
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path = write(tmp_path, "f.jsonl" + suffix, bytes(damaged))
        try:
            assert rows(path) == RECORDS
        except DataError as error:
            errors += 1
            assert "f.jsonl" in str(error)  # noqa: PT017 - most damage raises, some hits what is not read
    assert errors > 20


FILES = {f"d/{name}": f"text {name}".encode() for name in ("10.txt", "9.txt", "a.txt", "pos/2_1.txt", "pos/10_1.txt")}
NATURAL = ["d/9.txt", "d/10.txt", "d/a.txt", "d/pos/2_1.txt", "d/pos/10_1.txt"]
HIDDEN = {"__MACOSX/d/._9.txt": b"\xff", "d/.DS_Store": b"\xff"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.tar", tarred({**FILES, **HIDDEN})),
        ("f.tar.gz", gzip.compress(tarred(FILES))),
        ("f.tgz", gzip.compress(tarred(FILES))),
        ("f.tar.xz", lzma.compress(tarred(FILES))),
        ("f.tar.bz2", bz2.compress(tarred(FILES))),
        ("f.zip", zipped({**FILES, **HIDDEN})),
    ],
)
def test_archives_yield_their_files_in_natural_order(tmp_path: Path, name: str, content: bytes) -> None:
    found = rows(write(tmp_path, name, content))
    assert [row["path"] for row in found] == NATURAL
    assert [row["text"] for row in found] == [FILES[path].decode() for path in NATURAL]


def test_a_folder_is_read_like_an_archive(tmp_path: Path) -> None:
    for name, content in {**FILES, **HIDDEN}.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(content)
    assert [row["path"] for row in rows(tmp_path / "data")] == NATURAL


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_no_truncated_archive_passes_for_whole(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(suffix)
    whole = tarred({f"{i}.txt": rng.randbytes(i * 7).hex().encode() for i in range(60)})
    whole = whole[: len(whole.rstrip(b"\0")) // 512 * 512 + 1536]  # without padding beyond the two blocks at the end
    whole = COMPRESS[suffix](whole) if suffix else whole
    end = len(whole) - (0 if suffix else 1023)
    for cut in [*range(0, end, 512), end - 1, *rng.sample(range(end), 20)]:
        path = write(tmp_path, "f.tar" + suffix, whole[:cut])
        with pytest.raises(DataError, match=r"f\.tar"):
            rows(path)


def test_a_name_may_lead_into_a_zip_archive(tmp_path: Path) -> None:
    write(tmp_path, "f.zip", zipped({"d/queries.jsonl": JSONL, "d/qrels/test.tsv": b"q\td\n1\t2\n"}))
    path = find_file(tmp_path, "f.zip/d/queries.jsonl")
    assert path is not None
    assert rows(path) == RECORDS
    assert find_file(tmp_path, "f.zip/d/absent.jsonl") is None


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path = tmp_path / "f.parquet"
    write_table(pa.Table.from_pylist(RECORDS), path)
    assert rows(path) == RECORDS
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"f\.parquet"):
            rows(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.jsonl", '{"a": 1}\n{"a": \n', "f.jsonl, row 2: is not valid JSON: Expecting value"),
        ("f.jsonl", '{"a": 1}\n[1]\n', "f.jsonl, row 2: holds a list, not an object."),
        ("f.jsonl", "[" * 100_000, "f.jsonl, row 1: is nested more than 100 levels deep"),
        ("f.json", '[{"a": 1},\n {"a" 2}]', "f.json, row 2: is not valid JSON: Expecting ':' delimiter"),
        ("f.json", '[{"a": 1}, "x"]', "f.json, row 2: holds text, not an object."),
        ("f.json", "3", "f.json: holds a number, not a list of objects."),
        ("f.json", '[{"a": 1}', "f.json, row 1: is not valid JSON"),
        ("f.json", "[]", "f.json: has no rows."),
        ("f.csv", "a,b\n1,2\n1,2,3\n", "f.csv, row 3: has 3 fields, not 2 (a, b)."),
        ("f.csv", "a,b\n1\n", "f.csv, row 2: has 1 fields, not 2 (a, b)."),
        ("f.csv", 'a,b\n1,"2\n', "f.csv, row 2: is not valid CSV: unexpected end of data."),
        ("f.csv", 'a,b\n1,"2"3\n', "f.csv, row 2: is not valid CSV"),
        ("f.csv", "a,b,a\n1,2,3\n", "f.csv, row 1: the header lists columns twice: 'a'."),
        ("f.csv", "a,b\n", "f.csv: has no rows."),
        ("f.txt", b"one\ntw\xffo\n", "f.txt, row 2: is not utf-8: byte 0xff at position 3 of line 2."),
        ("f.tar", tarred({"x.txt": b"\xff"}), "f.tar/x.txt: is not utf-8: byte 0xff at position 1."),
        ("f.jsonl", "", "f.jsonl: has no rows."),
        ("f.jsonl.gz", "", "f.jsonl.gz: has no rows."),
        ("f.zip", zipped({}), "f.zip: has no rows."),
        ("f.jsonl.gz", b"not gzip at all", "f.jsonl.gz, row 1: is damaged or truncated (Not a gzipped file"),
        ("f.doc", "x", "f.doc: has an unknown format. Known: .jsonl"),
    ],
)
def test_what_is_wrong_names_file_and_row(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        rows(write(tmp_path, name, content))
    assert str(caught.value).startswith(message)


def test_unknown_encoding(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        rows(write(tmp_path, "f.txt", "x"), encoding="klingon")


def test_rows_are_streamed(tmp_path: Path) -> None:
    path = write(tmp_path, "f.jsonl", JSONL + b"broken\n")
    reader = read_rows(path, file="f.jsonl")
    assert [dict(next(reader)) for _ in RECORDS] == RECORDS
    with pytest.raises(DataError, match="row 201"):
        next(reader)

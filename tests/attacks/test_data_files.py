"""Data files that would fill the memory, never end, or say what JSON cannot; each is refused with file and line."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import DataError, GenerateRequest, ModelError, Origin
from harness.data.archives import find_file
from harness.data.formats import read_rows
from harness.data.strict_json import parse_json
from harness.errors import SpecError, StrictJsonError
from harness.models.offline.replay import ReplayModel
from harness.yaml_lines import loads as load_yaml

# (line, what it is, what is said of it)
MISTAKES = [
    ('{"id": "a", "text": "b", "logprob": NaN}', "holds NaN, which is not a finite number"),
    ('{"id": "a", "text": "b", "logprob": -Infinity}', "holds -Infinity, which is not a finite number"),
    ('{"id": "a", "text": "b", "logprob": -1e999}', "holds -1e999, which is not a finite number"),
    ('{"id": "a", "text": "b", "logprob": -' + "9" * 400 + "}", "holds -9999999999999999… with 401 digits"),
    ('{"id": "a", "text": "b", "trial": 1' + "0" * 5000 + "}", "with 5001 digits"),
    ('{"id": "a", "text": "b", "text": "c"}', "holds the key 'text' twice in one object"),
    ('{"id": "a", "text": "b", "\\u0074ext": "c"}', "holds the key 'text' twice in one object"),
    ('{"id": "a", "text": ' + "[" * 200 + "]" * 200 + "}", "is nested more than 100 levels deep"),
    ('{"id": "a", "text": ' + "[" * 100_000 + "]" * 100_000 + "}", "is nested more than 100 levels deep"),
    ('{"id": "a", "text": ' + '{"x":' * 100_000 + "1" + "}" * 100_001, "is nested more than 100 levels deep"),
    ('{"id": "a", "text": "b"', "is not valid JSON"),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES, ids=range(len(MISTAKES)))
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_line_that_is_a_mistake_is_named(tmp_path: Path, line: str, message: str, suffix: str) -> None:
    file = tmp_path / f"data{suffix}"
    content = ('{"id": "first", "text": "x"}\n\n' + line + "\n").encode()
    file.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    with pytest.raises(DataError) as refused:
        list(read_rows(file, file="data"))
    assert str(refused.value).startswith("data, row 3: ")
    assert message in str(refused.value)
    request = GenerateRequest(prompt="x", max_tokens=1, origin=Origin("first", scenario="s"))
    with pytest.raises(ModelError) as failed:
        list(ReplayModel(str(file)).answer([request]))
    assert str(failed.value).startswith(f"{file}:3: ")
    assert message in str(failed.value)


def test_in_a_file_that_is_one_value_the_line_is_found(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    for written, message in (
        ('[\n{"a": 1},\n{"a": "NaN, \\" {",\n "b": NaN}]', "row 4: holds NaN, which is not a finite number"),
        ('[\n{"a": 1},\n{"a": {"b": 1}, "c": ["a", {"a": 2}],\n "a": 2}]', "row 4: holds the key 'a' twice"),
        (
            '{"x": {"a": 1e999}}',
            "row 1: holds 1e999, which is not a finite number; write null for a missing one",
        ),
    ):
        file.write_text(written)
        with pytest.raises(DataError) as refused:
            list(read_rows(file, file="data"))
        assert message in str(refused.value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=5) | st.dictionaries(st.text(), children, max_size=5),
)


@given(values)
def test_json_without_mistakes_is_read_as_it_is(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert parse_json(text) == json.loads(text)


@given(st.dictionaries(st.text(), values, min_size=1, max_size=4), st.data())
def test_a_key_that_comes_twice_is_found_wherever_it_is(content: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(content)))
    doubled = f"{json.dumps(content)[:-1]}, {json.dumps(key)}: 0}}"
    with pytest.raises(StrictJsonError, match="twice") as refused:
        parse_json(f'[1,\n{{"outer": {doubled}}}]')
    assert refused.value.line == 2


@given(st.text(alphabet='{}[]",:\\ \n1eN-a', max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(StrictJsonError):
            parse_json(text)
        return
    try:
        found = parse_json(text)
    except StrictJsonError as error:
        message = str(error)
    else:
        assert found == expected
        return
    assert "not a finite number" in message or "twice" in message


def _gzip_of_zeros(size: int, prefix: bytes = b"") -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as file:
        file.write(prefix)
        for _ in range(size >> 20):
            file.write(b"0" * (1 << 20))
    return stream.getvalue()


def _zip_of_zeros(name: str, size: int) -> bytes:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as file,
    ):
        for _ in range(size >> 20):
            file.write(b"0" * (1 << 20))
    return stream.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "line.jsonl.gz": lambda: _gzip_of_zeros(512 << 20, b'{"a": "'),
    "value.json.gz": lambda: _gzip_of_zeros(512 << 20, b'["'),
    "text.txt.gz": lambda: _gzip_of_zeros(512 << 20),
    "table.csv.gz": lambda: _gzip_of_zeros(512 << 20, b'a,b\n1,"'),
    "one.jsonl.zip": lambda: _zip_of_zeros("one.jsonl", 512 << 20),
    "many.zip": lambda: _zip_of_zeros("folder/one.txt", 512 << 20),
}

READ = """
import resource, sys
from pathlib import Path
from harness import DataError
from harness.data.formats import read_rows
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    list(read_rows(Path(sys.argv[1]), file="bomb"))
except DataError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_becomes_a_large_one_is_refused_in_little_memory(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(BOMBS[name]())
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert "expands to more than 100 times its size" in done.stdout or "has a line of more than 64 MiB" in done.stdout


def test_predictions_that_expand_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "predictions.jsonl.gz"
    file.write_bytes(_gzip_of_zeros(256 << 20, b'{"id": "'))
    request = GenerateRequest(prompt="x", max_tokens=1, origin=Origin("a", scenario="s"))
    with pytest.raises(ModelError, match=r"more than 64 MiB|100 times its size"):
        list(ReplayModel(str(file)).answer([request]))


def test_honest_compression_is_read(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl.gz"
    line = json.dumps({"text": "The quick brown fox. " * 1000})
    file.write_bytes(gzip.compress(f"{line}\n".encode() * 1500))  # 30 MB that expand a lot
    assert sum(1 for _ in read_rows(file, file="data")) == 1500


def test_a_pipe_a_socket_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket.jsonl"))
        for name in ("pipe.jsonl", "zero.jsonl", "socket.jsonl"):
            with pytest.raises(DataError, match=f"{name}: is a pipe, a socket or a device"):
                find_file(tmp_path, name)
            with pytest.raises(DataError, match="is a pipe, a socket or a device"):
                list(read_rows(tmp_path / name, file=str(tmp_path / name)))
            with pytest.raises(ModelError, match="is not a file"):
                ReplayModel(str(tmp_path / name))


@pytest.mark.parametrize("line_break", ["\r", "\x85", "\u2028", "\u2029", "\r\n", "\n"])
@pytest.mark.parametrize("character", ["@", "%", "`", "\t@", " \t%"])
def test_yaml_with_any_line_break_is_refused_with_a_line(line_break: str, character: str) -> None:
    text = f"suite: x{line_break * 3}a: {character}x{line_break}"
    with pytest.raises(SpecError) as refused:
        load_yaml(text, file="f.yaml")
    assert refused.value.diagnostics[0].line is not None
    assert "is indented with a tab" not in str(refused.value)
    with pytest.raises(SpecError, match="is indented with a tab"):
        load_yaml(f"a:{line_break}\t- x{line_break}", file="f.yaml")


@given(st.text(alphabet="ab:-@%\t\r\n\x85\u2028\u2029 '\"{}[]|>&*!#?,", max_size=60))
def test_yaml_is_read_or_refused(text: str) -> None:
    with suppress(SpecError):
        load_yaml(text, file="f.yaml")

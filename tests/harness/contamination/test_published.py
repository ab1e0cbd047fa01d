"""The text of each record as its file has it, which is what a model that read the file has seen.

| format             | published                                                      |
|--------------------|----------------------------------------------------------------|
| lines of JSON      | the line, without its end                                      |
| a list of JSON     | the element as JSON, escaped where the file escapes            |
| CSV, TSV           | the record's own lines, quotes and line breaks in fields kept  |
| text               | the line                                                       |
| a folder, archive  | the file's text                                                |
| Parquet            | the record as a line of JSON would have it                     |
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import Instance
from harness.contracts.plugins import ScenarioDetails, Source
from harness.data.formats import read_rows
from harness.data.scenario_file import load_scenario_file
from harness.data.source import open_data
from harness.plugins.parameters import build


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", '{"a":  1}\r\n\n{"a": "\\u00e9"}', ['{"a":  1}', '{"a": "\\u00e9"}']),
        ("a.json", '[{"a": "é"},\n {"a": 2}]', ['{"a": "é"}', '{"a": 2}']),
        ("a.json", '[{"a": "\\u00e9"}, {"a": 2}]', ['{"a": "\\u00e9"}', '{"a": 2}']),
        ("a.csv", 'q,a\n"x, ""y""\nz",1\n\nw,2\r\n', ['"x, ""y""\nz",1', "w,2"]),
        ("a.tsv", "q\ta\nx\t1\n", ["x\t1"]),
        ("a.txt", "one\r\ntwo", ["one", "two"]),
    ],
)
def test_formats(tmp_path: Path, name: str, content: str, expected: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode())
    assert [row.published for row in read_rows(path, file=name)] == expected


def test_a_folder_has_the_texts_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "1.txt").write_text("one\n two ")
    (row,) = read_rows(tmp_path / "reviews", file="reviews")
    assert row.published == "one\n two "


def test_parquet_is_as_json_would_be(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"q": ["é"], "n": [1]}), tmp_path / "a.parquet")
    (row,) = read_rows(tmp_path / "a.parquet", file="a")
    assert row.published == '{"q": "é", "n": 1}'


def test_files_side_by_side_are_published_as_the_first(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"q": 1}\n')
    (tmp_path / "a.lst").write_text("0\n")
    source = Source(files={"test": {"zip": ["q.jsonl", "a.lst"]}})
    details = ScenarioDetails("t", {}, source, {}, (), "m")
    (row,) = open_data(details, {}, name="t", data_dir=tmp_path).rows("test")
    assert row.published == '{"q": 1}'
    assert row["text"] == "0"


@pytest.mark.parametrize(
    ("key", "expected"), [("", '{"q":"why","a":"so"}'), ('published: "{{ q }} {{ a }}"', "why so")]
)
def test_a_scenario_file_takes_the_record_unless_it_says_otherwise(tmp_path: Path, key: str, expected: str) -> None:
    (tmp_path / "test.jsonl").write_text('{"q":"why","a":"so"}\n')
    path = tmp_path / "quiz.yaml"
    path.write_text(
        "name: quiz\ndescription: Questions.\nsource: {files: {test: ./test.jsonl}}\n"
        f'input: "{{{{ q }}}}"\n{key}\nadapter: {{method: generation}}\nmetrics: [exact_match]\n'
    )
    plugin = load_scenario_file(path)
    assert isinstance(plugin.details, ScenarioDetails)
    data = open_data(plugin.details, {}, name="quiz", data_dir=None)
    (instance,) = build(plugin, data, arguments={})()
    assert isinstance(instance, Instance)
    assert instance.published == expected


def test_what_json_cannot_hold_is_still_published(tmp_path: Path) -> None:
    from datetime import date

    from harness.contracts.row import Row

    assert json.loads(Row({"day": date(2020, 1, 2)}, file="f", number=1).published) == {"day": "2020-01-02"}

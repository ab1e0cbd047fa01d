"""A file of examples is a scenario by itself: its records verbatim, its texts, or a column of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import DataError, Instance
from harness.runs.evaluation import prepare
from harness.sweeps.load import find_sweep, load_sweep, sweep_from_mapping


def read(path: Path | str, data_dir: Path | None = None, column: str | None = None) -> list[Instance]:
    scenario = {"name": "published_file", "path": str(path), "column": column}
    sweep, registry = sweep_from_mapping({"suite": "s", "models": ["fake:0"], "runs": [{"scenario": scenario}]})
    return list(prepare(sweep.runs[0], registry, data_dir).instances())


@pytest.mark.parametrize(
    ("name", "content", "column", "expected"),
    [
        ("a.jsonl", '{"q": 1,  "a": 2}\n{"q": 3, "a": 4}\n', None, ['{"q": 1,  "a": 2}', '{"q": 3, "a": 4}']),
        ("a.jsonl", '{"text": "one\\n\\n"}\n', None, ["one\n\n"]),
        ("a.txt", "one\ntwo\n", None, ["one", "two"]),
        ("a.csv", "q,a\none,1\n", "q", ["one"]),
    ],
)
def test_examples(tmp_path: Path, name: str, content: str, column: str | None, expected: list[str]) -> None:
    (tmp_path / name).write_text(content)
    for instances in (read(tmp_path / name, column=column), read(name, tmp_path, column=column)):
        assert [instance.published for instance in instances] == expected


def test_an_absolute_path_is_known_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    scenario = {"name": "published_file", "path": str(tmp_path / "a.txt")}
    sweep, registry = sweep_from_mapping({"suite": "s", "models": ["fake:0"], "runs": [{"scenario": scenario}]})
    data = prepare(sweep.runs[0], registry, None).data
    provenance = data.provenance()
    assert provenance["files"][0]["path"] == str(tmp_path / "a.txt")
    assert data.unchanged(provenance)
    (tmp_path / "a.txt").write_text("one\nthree\n")
    assert not data.unchanged(provenance)


@pytest.mark.parametrize(
    ("path", "column", "message"),
    [
        ("{folder}/none.jsonl", None, "Looked for .*none.jsonl"),
        ("../a.txt", None, "not a path inside the data folder"),
        ("{folder}/a.txt", "q", "there is no column 'q'"),
    ],
)
def test_mistakes(tmp_path: Path, path: str, column: str | None, message: str) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with pytest.raises(DataError, match=message):
        read(path.format(folder=tmp_path), tmp_path, column=column)


def test_contamination_sweep_has_as_many_examples_as_the_paper(data_dir: Path, tmp_path: Path) -> None:
    """Table 2 of Oren et al. 2023: 1,769 of NaturalQA and 3,084 of PIQA, whose unlabelled file is made here."""
    runs = {
        run.scenario.arguments["path"]: run
        for run in load_sweep(find_sweep("contamination"))[0].runs
        if run.scenario.name == "published_file"
    }
    questions = read("natural_qa/NQ-open.efficientqa.test.1.1.jsonl", data_dir)
    assert len(questions) == 1769
    assert questions[0].published.startswith('{"question": "on the 6th day of christmas my true love sent to me"')
    rows = [{"goal": f"How to {n}?", "sol1": f"By {n}.", "sol2": f"With {n}."} for n in range(3084)]
    (tmp_path / "piqa").mkdir()
    (tmp_path / "piqa" / "tests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(read("piqa/tests.jsonl", tmp_path)) == 3084
    assert {"natural_qa/NQ-open.efficientqa.test.1.1.jsonl", "piqa/tests.jsonl"} <= runs.keys()
    assert all(run.adapter.name == "exchangeability" for run in runs.values())

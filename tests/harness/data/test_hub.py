"""Reading from the Hub at a pinned commit, over its own protocol on loopback.

The libraries read ``HF_ENDPOINT`` when they are imported, so everything here runs in a process of its own.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub_server import HubServer, serve_hub

READ = """
import json, sys
from pathlib import Path
from harness.data.source import open_data
from harness.errors import DataError
from harness.contracts.plugins import HubSource, ScenarioDetails, Source

def read(case):
    hub = HubSource(case["path"], case["revision"], case["splits"], case.get("config"))
    source = Source(hub=hub, files={"test": "quiz/test.jsonl"}, url="https://example.org/quiz")
    details = ScenarioDetails("Quiz", {}, source, {"method": "generation"}, ("exact_match",), "exact_match")
    try:
        data = open_data(details, case.get("arguments", {}), name="quiz", data_dir=Path(case["data_dir"]))
        rows = [{"file": row.file, "number": row.number, **row} for row in data.rows(case["split"])]
        assert rows == [{"file": row.file, "number": row.number, **row} for row in data.rows(case["split"])]
        return {"rows": rows, "provenance": data.provenance()}
    except DataError as error:
        return {"error": str(error)}

print(json.dumps([read(case) for case in json.load(sys.stdin)]))
"""


def questions(tag: str) -> bytes:
    return "".join(json.dumps({"question": f"{tag} {i}", "answer": i % 2 == 0}) + "\n" for i in range(3)).encode()


def parquet(values: list[str]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    stream = io.BytesIO()
    write_table(pa.table({"text": values}), stream)
    return stream.getvalue()


CARD = b"""---
configs:
- config_name: anatomy
  data_files: [{split: test, path: anatomy/test.parquet}]
- config_name: virology
  data_files: [{split: test, path: virology/test.parquet}]
---
# Subjects
"""


class Hub:
    """A running server with data sets in it, and a fresh cache."""

    def __init__(self, server: HubServer, home: Path) -> None:
        self.server, self.home = server, home
        self.old = server.add(
            "datasets", "acme/quiz", {"train.jsonl": questions("old"), "test.jsonl": questions("old")}
        )
        self.new = server.add(
            "datasets", "acme/quiz", {"train.jsonl": questions("new"), "test.jsonl": questions("new")}
        )
        files = {f"{name}/test.parquet": parquet([name, "second"]) for name in ("anatomy", "virology")}
        self.subjects = server.add("datasets", "acme/subjects", {"README.md": CARD, **files})
        shards = {f"data/{split}-00000-of-00001.parquet": parquet([split]) for split in ("train", "test")}
        self.shards = server.add("datasets", "acme/shards", {"README.md": b"# Shards\n", **shards})
        self.broken = server.add("datasets", "acme/broken", {"test.jsonl": questions("x")[:-9]})

    def run(self, code: str, stdin: Any = None, **environment: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(stdin),
            env={**os.environ, "HF_ENDPOINT": self.server.endpoint, "HF_HOME": str(self.home), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def case(self, path: str, revision: str, split: str = "test", **more: Any) -> dict[str, Any]:
        splits = {"train": "train", "test": "test", "valid": "validation"}
        return {
            "path": path,
            "revision": revision,
            "split": split,
            "splits": splits,
            "data_dir": str(self.home),
            **more,
        }


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    pytest.importorskip("datasets")
    with serve_hub() as server:
        yield Hub(server, tmp_path_factory.mktemp("hub"))


@pytest.fixture(scope="module")
def answers(hub: Hub) -> dict[str, Any]:
    """What comes of every case, read in one process."""
    cases = {
        "old": hub.case("acme/quiz", hub.old),
        "new": hub.case("acme/quiz", hub.new, split="train"),
        "config": hub.case("acme/subjects", hub.subjects, config="{{ subject }}", arguments={"subject": "virology"}),
        "folder": hub.case("acme/shards", hub.shards),
        "no config": hub.case("acme/subjects", hub.subjects, config="history"),
        "no split": hub.case("acme/quiz", hub.new, split="valid"),
        "undeclared split": {**hub.case("acme/quiz", hub.new, split="train"), "splits": {"test": "test"}},
        "no commit": hub.case("acme/quiz", "0" * 40),
        "no data set": hub.case("acme/absent", "0" * 40),
        "branch": hub.case("acme/quiz", "main"),
        "truncated": hub.case("acme/broken", hub.broken),
    }
    return dict(zip(cases, hub.run(READ, list(cases.values())), strict=True))


def test_rows_are_those_of_the_commit(hub: Hub, answers: dict[str, Any]) -> None:
    assert [(row["question"], row["answer"], row["number"]) for row in answers["old"]["rows"]] == [
        ("old 0", True, 1),
        ("old 1", False, 2),
        ("old 2", True, 3),
    ]
    assert [row["question"] for row in answers["new"]["rows"]] == ["new 0", "new 1", "new 2"]
    assert answers["old"]["rows"][0]["file"] == f"acme/quiz@{hub.old[:12]} test"
    provenance = {"kind": "hub", "sample": False, "path": "acme/quiz", "config": None, "revision": hub.old}
    assert answers["old"]["provenance"] == provenance


def test_a_configuration_may_be_a_parameter(answers: dict[str, Any]) -> None:
    assert [row["text"] for row in answers["config"]["rows"]] == ["virology", "second"]
    assert answers["config"]["provenance"]["config"] == "virology"


def test_files_in_a_folder_are_found_by_their_names(answers: dict[str, Any]) -> None:
    assert [row["text"] for row in answers["folder"]["rows"]] == ["test"]


def test_a_split_that_is_not_declared_has_no_rows(answers: dict[str, Any]) -> None:
    assert answers["undeclared split"]["rows"] == []


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("no config", ["history"]),
        ("no split", ["no split 'validation'", "train, test"]),
        ("no commit", ["Revision '0000", "doesn't exist"]),
        ("no data set", ["acme/absent", "doesn't exist"]),
        ("branch", ["'main' is not a commit", "40 hexadecimal digits"]),
        ("truncated", ["acme/broken"]),
    ],
)
def test_what_fails_says_what_was_tried(answers: dict[str, Any], case: str, words: list[str]) -> None:
    message = answers[case]["error"]
    assert message.startswith("quiz: ")
    for word in words:
        assert word in message
    if case != "branch":
        assert "quiz/test.jsonl" in message, "the files that would have been read first are named"
        assert "--data-dir" in message


def test_offline_the_cache_serves_the_commit_and_never_another(hub: Hub, answers: dict[str, Any]) -> None:
    # The library itself would take the latest revision in its cache, whatever was asked for.
    cases = [hub.case("acme/quiz", revision) for revision in (hub.old, hub.new, "f" * 40)]
    cases.append(hub.case("acme/absent", "0" * 40))
    before = len(hub.server.requests)
    outcomes = hub.run(READ, cases, HF_HUB_OFFLINE="1")
    assert len(hub.server.requests) == before, "nothing was asked of the network"
    for case, outcome in zip(cases, outcomes, strict=True):
        if "rows" in outcome:
            tag = {hub.old: "old", hub.new: "new"}[case["revision"]]
            assert all(row["question"].startswith(tag) for row in outcome["rows"])
        else:
            assert "cannot" in outcome["error"] or "Couldn't reach" in outcome["error"]
    assert "rows" in outcomes[0] or "rows" in outcomes[1]
    assert "another revision" in outcomes[2]["error"]
    assert "acme/absent" in outcomes[3]["error"]


def test_without_the_extra_the_message_says_how_to_install_it(hub: Hub) -> None:
    hide = (
        "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'datasets' else f(n, *a)"
    )
    (outcome,) = hub.run(hide + READ, [hub.case("acme/quiz", hub.old)])
    assert re.search("pip install .*datasets", outcome["error"])
    assert "quiz/test.jsonl" in outcome["error"]


MODEL = """
import json, sys
from transformers import AutoModelForCausalLM
name, commit = json.load(sys.stdin)
model = AutoModelForCausalLM.from_pretrained(name, revision=commit)
print(json.dumps({"parameters": model.num_parameters(), "first": model.transformer.wte.weight[0, 0].item()}))
"""


@pytest.mark.slow
def test_models_come_through_the_same_server(hub: Hub, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=8, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(tmp_path)
    commit = hub.server.add("models", "acme/tiny", {path.name: path.read_bytes() for path in tmp_path.iterdir()})
    answer = hub.run(MODEL, ["acme/tiny", commit])
    assert answer["parameters"] == model.num_parameters()
    assert answer["first"] == pytest.approx(model.transformer.wte.weight[0, 0].item())

"""``harness lock``: what it writes, what it finds different, and what it refuses."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import harness as program
from tests.harness.cli.conftest import Harness
from tests.tiny_checkpoints import tokenizer, write_checkpoint

LOCK = Path("results/harness.lock.json")


@pytest.fixture
def locked(harness: Harness, folder: Path) -> dict[str, Any]:
    """The lock of two runs, in ``results``."""
    assert harness("run", "-r", "quiz", "-m", "fake:0", "-m", "fake:1", "--plugin", "quiz.yaml").code == 0
    said = harness("lock", "results")
    assert (said.code, said.err) == (0, "")
    value: dict[str, Any] = json.loads(LOCK.read_text())
    return value


def check(harness: Harness, *options: str) -> list[str]:
    """Return what differs now."""
    said = harness("lock", "results", "--check", "--plugin", "quiz.yaml", *options)
    assert said.err == ""
    *lines, total = said.out.splitlines()
    assert said.code == bool(lines)
    assert total.startswith(f"{len(lines)} difference")
    return lines


def changed(edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(LOCK.read_text())
    edit(value)
    LOCK.write_text(json.dumps(value))


def test_a_lock_has_packages_machine_models_data_and_settings(locked: dict[str, Any]) -> None:
    assert locked["packages"]["numpy"]["version"] == version("numpy")
    assert len(locked["packages"]["numpy"]["files_sha256"]) == 64
    assert locked["python"]["implementation"]
    assert {"system", "machine", "cpu"} <= locked["host"].keys()
    assert "name" not in locked["host"]
    assert locked["suites"].keys() == {"command-line"}
    run = next(iter(locked["runs"].values()))
    assert run["model"]["backend"] == "fake"
    assert {file["path"] for file in run["data"]["files"]} == {"./quiz/train.jsonl", "./quiz/valid.jsonl"}
    assert len(locked["runs"]) == 2


def test_nothing_differs_where_nothing_changed(harness: Harness, locked: dict[str, Any]) -> None:
    assert check(harness) == []


def test_failed_runs_and_models_in_memory_are_no_differences(harness: Harness, folder: Path) -> None:
    class Parrot:
        def generate(self, requests: Any) -> list[str]:
            return ["Yes" for _ in requests]

    program.evaluate(Parrot(), runs=["quiz"], plugins=["quiz.yaml"], progress=False)
    assert harness("run", "-r", "quiz", "-m", "fake:0,fail_every=1", "--plugin", "quiz.yaml").code == 1
    (folder / "quiz" / "train.jsonl").rename(folder / "away")
    assert harness("run", "-r", "quiz", "-m", "fake:1", "--plugin", "quiz.yaml").code == 1
    (folder / "away").rename(folder / "quiz" / "train.jsonl")
    assert harness("lock", "results").code == 0
    assert check(harness) == []
    said = harness("lock", "results", "--check", "--plugin", "quiz.yaml", "--json")
    assert json.loads(said.out) == {"same": True, "differences": []}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda lock: lock["packages"]["numpy"].update(version="1.0"), f"package numpy: 1.0 → {version('numpy')}"),
        (lambda lock: lock["packages"].update(gone={"version": "3"}), "package gone: 3 → not installed"),
        (lambda lock: lock["packages"].pop("numpy"), f"package numpy: not installed → {version('numpy')}"),
        (
            lambda lock: lock["packages"]["click"].update(files_sha256="0" * 64),
            f"package click {version('click')}: files 000000000000… → files ",
        ),
        (lambda lock: lock["python"].update(version="3.8.1"), "python version: 3.8.1 → "),
        (lambda lock: lock["host"].update(gpus=["NVIDIA H100"], driver="580.1"), "gpus: NVIDIA H100 → none"),
        (lambda lock: lock["host"].update(cpu="Another"), "cpu: Another → "),
        (lambda lock: lock.update(harness_sha256="0" * 64), "the harness's own files: 000000000000… → "),
    ],
)
def test_each_difference_of_the_environment_is_a_line(
    harness: Harness, locked: dict[str, Any], edit: Callable[[dict[str, Any]], object], expected: str
) -> None:
    changed(edit)
    lines = check(harness)
    assert any(line.startswith(expected) for line in lines), lines
    assert len(lines) <= 2  # the driver goes with the card


def test_another_model_data_and_plugin_are_lines(harness: Harness, locked: dict[str, Any], folder: Path) -> None:
    changed(lambda lock: [run["model"].update(version=0) for run in lock["runs"].values()])
    with (folder / "quiz" / "valid.jsonl").open("a") as file:
        file.write('{"id": "more", "number": 4}\n')
    text = (folder / "quiz.yaml").read_text()
    (folder / "quiz.yaml").write_text(text.replace("even?", "odd?"))
    lines = check(harness)
    assert "fake:0: model's version: 0 → 1" in lines
    assert "data of quiz: as recorded → other files, or none" in lines
    assert any(line.startswith("definition of scenario quiz: ") for line in lines)


def test_runs_that_changed_or_are_gone_are_lines(harness: Harness, locked: dict[str, Any], folder: Path) -> None:
    first, second = sorted((folder / "results" / "command-line").iterdir())
    (first / "run.json").unlink()
    value = json.loads((second / "run.json").read_text())
    value["examples"]["sha256"] = "0" * 64
    (second / "run.json").write_text(json.dumps(value))
    lines = check(harness)
    assert len(lines) == 2
    assert "no finished run here" in lines[0]
    assert "not the examples that run.json describes" in lines[1]


def test_results_that_were_edited_are_lines(harness: Harness, locked: dict[str, Any], folder: Path) -> None:
    first, second = sorted((folder / "results" / "command-line").iterdir())
    value = json.loads((first / "run.json").read_text())
    value["stats"][0]["mean"] = 0.99
    (first / "run.json").write_text(json.dumps(value))
    content = gzip.decompress((second / "examples.jsonl.gz").read_bytes()).replace(b"Yes", b"No")
    (second / "examples.jsonl.gz").write_bytes(gzip.compress(content))
    lines = check(harness)
    assert len(lines) == 2
    assert lines[0].startswith(f"run command-line/{first.name}: statistics ")
    assert lines[1].startswith(f"run command-line/{second.name}: examples ")
    said = harness("lock", "results")
    assert (said.code, said.out) == (2, "")
    assert "not the examples that run.json describes" in said.err


def test_examples_that_are_gone_are_a_line(harness: Harness, locked: dict[str, Any], folder: Path) -> None:
    run = min((folder / "results" / "command-line").iterdir())
    (run / "examples.jsonl.gz").unlink()
    (line,) = check(harness)
    assert line.startswith(f"run command-line/{run.name}: examples ")
    assert line.endswith(" → examples none")
    assert harness("lock", "results").code == 0
    assert check(harness) == []


def test_a_lock_without_digests_of_statistics_can_be_checked(harness: Harness, locked: dict[str, Any]) -> None:
    changed(lambda lock: [run.pop("stats") for run in lock["runs"].values()])
    assert check(harness) == []


CODE = """\
from transformers import LlamaConfig, LlamaForCausalLM

open({file!r}, "w").close()


class OwnConfig(LlamaConfig):
    model_type = "own"


class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["fake:0", "live:model", "fake:0 without a fingerprint"])
def test_a_lock_cannot_run_the_code_of_a_checkpoint(
    harness: Harness, locked: dict[str, Any], folder: Path, model: str
) -> None:
    pytest.importorskip("torch")
    checkpoint, ran = folder / "checkpoint", folder / "ran"
    write_checkpoint(checkpoint, "llama", tokenizer())
    config = json.loads((checkpoint / "config.json").read_text())
    own = {"AutoConfig": "own_code.OwnConfig", "AutoModelForCausalLM": "own_code.OwnModel"}
    (checkpoint / "config.json").write_text(json.dumps({**config, "model_type": "own", "auto_map": own}))
    (checkpoint / "own_code.py").write_text(CODE.format(file=str(ran)))
    judge = {"name": "llm", "model": {"name": f"hf:{checkpoint}", "trust_remote_code": True}}

    def edit(lock: dict[str, Any]) -> None:
        for run in lock["runs"].values():
            run["spec"]["metrics"].append({"name": "toxicity", "judge": judge})
            run["spec"]["model"] = {"name": model.partition(" ")[0]}
            run["model"] = {} if " " in model else run["model"]

    changed(edit)
    refused = "cannot be checked: the run needs permissions"
    assert any(refused in line and "--allow remote_code " in line for line in check(harness))
    assert not ran.exists()
    assert not any(refused in line for line in check(harness, "--allow", "remote_code"))
    assert ran.exists()


def test_a_lock_cannot_name_a_path_outside(harness: Harness, locked: dict[str, Any]) -> None:
    changed(lambda lock: lock.update(runs={"../..": next(iter(lock["runs"].values()))}))
    assert check(harness)[0] == "run ../..: in the folder → a path outside of it"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "there is no lock"),
        (b"", "not valid JSON"),
        (b"\xff", "not text in UTF-8"),
        (b"[]", "not a lock"),
        (b"{}", "lock_version is None"),
        (b'{"lock_version": 2}', "lock_version is 2"),
        (b'{"lock_version": 1, "packages": 3}', "written: is required"),
    ],
)
def test_a_damaged_lock_is_one_message(
    harness: Harness, locked: dict[str, Any], content: bytes | None, expected: str
) -> None:
    LOCK.unlink() if content is None else LOCK.write_bytes(content)
    said = harness("lock", "results", "--check")
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert len(said.err.splitlines()) == 1


def test_a_folder_without_runs_or_with_a_damaged_one_is_not_locked(
    harness: Harness, locked: dict[str, Any], folder: Path
) -> None:
    said = harness("lock", "results/command-line")
    assert "is the folder of a suite. Name the results folder, results, and the suite command-line." in said.err
    LOCK.unlink()
    next((folder / "results").glob("*/*/run.json")).write_text("{")
    said = harness("lock", "results")
    assert said.code == 2
    assert "not a run's record" in said.err
    assert not LOCK.exists()


def test_requirements_have_hashes_if_all_are_known(tmp_path: Path) -> None:
    from harness.verification.packages import Package, requirements

    known = Package(version="1.0", archive_sha256=("a" * 64, "b" * 64))
    text = "\n".join(requirements({"one": known, "own": Package(version="0", editable=True)}))
    assert f"one==1.0 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}" in text
    assert "# own==0 is used from its source folder." in text
    text = "\n".join(requirements({"one": known, "two": Package(version="2")}))
    assert "--hash=sha256" not in text
    assert "1 of 2 packages are unknown, such as two" in text


def test_wheels_in_a_folder_give_hashes(harness: Harness, locked: dict[str, Any], folder: Path) -> None:
    wheels = folder / "wheels"
    wheels.mkdir()
    wheel = wheels / f"click-{version('click')}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("click/__init__.py", "")
    (wheels / "click-0.1-py3-none-any.whl").write_bytes(b"another version")
    assert harness("lock", "results", "--wheels", "wheels").code == 0
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert json.loads(LOCK.read_text())["packages"]["click"]["archive_sha256"] == [digest]
    assert check(harness) == []  # wheels' hashes are not compared with what is installed


@pytest.mark.parametrize("name", ["Typing_Extensions", "typing.extensions", "typing--extensions"])
def test_names_are_compared_as_indexes_do(name: str) -> None:
    from harness.verification.packages import canonical

    assert canonical(name) == "typing-extensions"

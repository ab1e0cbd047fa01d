"""What Weights & Biases, MLflow and TensorBoard are given, by their own libraries, without a network."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli.conftest import Harness, folder
from tests.harness.cli.conftest import harness as command

__all__ = ["command", "folder"]

TRAINING = """\
suite: training
plugins: [./quiz.yaml]
models:
  - {name: "fake:a", about: {series: small, step: 100}}
  - {name: "fake:b", about: {series: small, step: 200}}
  - "fake:other"
runs: [quiz]
"""


@pytest.fixture
def sweep(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("WANDB_MODE", "WANDB_DIR", "WANDB_API_KEY", "WANDB_PROJECT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("NETRC", str(folder / "netrc"))
    (folder / "training.yaml").write_text(TRAINING)
    return folder


def _means(folder: Path) -> dict[str, float]:
    found = {}
    for file in folder.glob("results/training/*/run.json"):
        record = json.loads(file.read_text())
        (mean,) = (stat["mean"] for stat in record["stats"] if stat["metric"] == "exact_match")
        found[record["spec"]["model"]["name"]] = mean
    return found


def test_tensorboard_has_a_curve_for_a_training_and_a_folder_for_each_model(command: Harness, sweep: Path) -> None:
    pytest.importorskip("tensorboardX")
    ran = command("run", "training.yaml", "--listener", "tensorboard:samples=2")
    assert "Warning" not in ran.err
    means = _means(sweep)
    small, other = sorted((sweep / "tensorboard" / "training").iterdir(), reverse=True)
    assert small.name.startswith("small-")
    assert other.name.startswith("fake-other-")
    scalars = {(event.step, value.tag): value.simple_value for event, value in _values(small)}
    assert scalars[100, "quiz/exact_match"] == pytest.approx(means["fake:a"])
    assert scalars[200, "quiz/exact_match"] == pytest.approx(means["fake:b"])
    texts = {value.tag for _, value in _values(other)}
    assert {"quiz/run.json/text_summary", "quiz/samples/1/text_summary"} <= texts
    assert "quiz/samples/2/text_summary" not in texts


def test_tensorboard_groups_scalars_and_texts_of_a_run_under_its_title(command: Harness, sweep: Path) -> None:
    pytest.importorskip("tensorboardX")
    # Its sweep asks one scenario in two ways, which gives titles with spaces, brackets and quotes.
    ran = command("run", "sweep.yaml", "--listener", "tensorboard:samples=1")
    assert "Warning" not in ran.err
    for model in (sweep / "tensorboard" / "small").iterdir():
        tags = {value.tag for _, value in _values(model)}
        assert {tag.partition("/")[0] for tag in tags} == {
            "quiz (perturbations=[])",
            'quiz (perturbations=["lowercase"])',
        }
        assert "quiz (perturbations=[])/exact_match" in tags
        assert "quiz (perturbations=[])/samples/0/text_summary" in tags


def test_trackers_do_not_get_the_host_and_the_command(command: Harness, sweep: Path) -> None:
    pytest.importorskip("tensorboardX")
    command("run", "training.yaml", "--listener", "tensorboard:samples=0")
    (other,) = (sweep / "tensorboard" / "training").glob("fake-other-*")
    (text,) = (value.tensor.string_val[0] for _, value in _values(other) if "run.json" in value.tag)
    record = json.loads(text)
    assert record["spec"]["model"]["name"] == "fake:other"
    assert not {"host", "command", "workers"} & record["provenance"].keys()
    assert "versions" in record["provenance"]


def _values(folder: Path) -> Iterator[tuple[Any, Any]]:
    from tensorboardX.proto.event_pb2 import Event

    for file in folder.iterdir():
        content, place = file.read_bytes(), 0
        while place < len(content):
            (length,) = struct.unpack_from("<Q", content, place)
            event = Event.FromString(content[place + 12 : place + 12 + length])
            place += 16 + length
            yield from ((event, value) for value in event.summary.value)


def test_mlflow_has_a_run_for_each_model_and_each_training(
    command: Harness, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = f"file://{sweep}/mlruns"
    ran = command("run", "training.yaml", "--listener", f"mlflow:experiment=mine,tracking_uri={store}")
    assert "Warning" not in ran.err
    client, means = mlflow.MlflowClient(tracking_uri=store), _means(sweep)

    def runs() -> dict[str, Any]:
        experiment = client.get_experiment_by_name("mine").experiment_id
        return {run.info.run_name: run for run in client.search_runs([experiment])}

    assert set(runs()) == {"small", "fake:other"}
    small = runs()["small"].info.run_id
    history = {(point.step, point.value) for point in client.get_metric_history(small, "quiz/exact_match")}
    assert history == {(100, means["fake:a"]), (200, means["fake:b"])}
    assert runs()["small"].info.status == "FINISHED"
    other = runs()["fake:other"]
    assert other.data.params["suite"] == "training"
    (place,) = json.loads(other.data.tags["mlflow.loggedArtifacts"])
    table = json.loads(Path(client.download_artifacts(other.info.run_id, place["path"])).read_text())
    assert len(table["data"]) == 20
    assert {"id", "input", "prediction", "score_exact_match"} <= set(table["columns"])
    record = Path(client.download_artifacts(other.info.run_id, place["path"].replace("samples.json", "run.json")))
    assert "host" not in json.loads(record.read_text())["provenance"]
    # What is sent again goes to the same runs.
    assert command("track", "--listener", f"mlflow:experiment=mine,tracking_uri={store}", "--again").code == 0
    assert runs()["small"].info.run_id == small
    assert len(runs()) == 2


def test_the_list_of_tables_in_mlflow_stays_within_what_a_tag_may_hold(
    command: Harness, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow's database cuts tags at 8,000 characters, as the tag of a long training with many checkpoints."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = f"file://{sweep}/mlruns"
    given = ("--listener", f"mlflow:tracking_uri={store}")
    command("run", "training.yaml", *given)
    client = mlflow.MlflowClient(tracking_uri=store)
    key, place = "mlflow.loggedArtifacts", client.search_runs([_experiment(client)])[0].info.run_id

    def sent_again(tag: str) -> str:
        client.set_tag(place, key, tag)
        tracked = command("track", *given, "--again")
        assert tracked.code == 0, tracked.err
        tags: dict[str, str] = client.get_run(place).data.tags
        return tags[key]

    full = json.dumps([{"path": "x" * 7_950, "type": "table"}])
    assert sent_again(full) == full
    (table, *_) = json.loads(sent_again(full[:4_000]))
    assert table["path"].endswith("samples.json")


def test_the_setting_of_mlflow_is_as_before(command: Harness, sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Trainer's own callback for MLflow reads it, too."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    variable = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
    seen = []
    log = mlflow.MlflowClient.log_batch

    def log_batch(*arguments: Any, **more: Any) -> Any:
        seen.append(os.environ[variable])
        return log(*arguments, **more)

    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", log_batch)
    given = ("--listener", f"mlflow:tracking_uri=file://{sweep}/mlruns")
    monkeypatch.delenv(variable, raising=False)
    assert "Warning" not in command("run", "training.yaml", *given).err
    assert seen == ["3", "3", "3"]
    assert variable not in os.environ
    monkeypatch.setenv(variable, "1")
    command("track", *given, "--again")
    assert seen[3:] == ["1", "1", "1"]
    assert os.environ[variable] == "1"


def _experiment(client: Any) -> str:
    found: str = client.get_experiment_by_name("harness").experiment_id
    return found


def test_a_server_of_mlflow_that_cannot_be_reached_costs_no_run(
    command: Harness, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    ran = command("run", "training.yaml", "--listener", "mlflow:tracking_uri=http://127.0.0.1:9")
    assert ran.code == 0
    assert "Warning: mlflow: not all runs were sent" in ran.err
    assert "harness track training --listener mlflow:" in ran.err
    assert len(_means(sweep)) == 3


def test_a_store_that_mlflow_cannot_open_is_refused_with_what_would_do(
    command: Harness, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    ran = command("run", "training.yaml", "--listener", f"mlflow:tracking_uri=file://{sweep}/mlruns")
    assert ran.code == 2
    assert f"cannot open file://{sweep}/mlruns. Name a server with mlflow:tracking_uri=http://…;" in ran.err
    assert "set MLFLOW_ALLOW_FILE_STORE=true. MLflow says: The filesystem" in ran.err
    assert ran.err.rstrip().endswith("`MLFLOW_ALLOW_FILE_STORE=true` to opt out of this exception.")
    assert not _means(sweep)


@pytest.mark.slow
def test_weights_and_biases_offline_holds_metrics_tables_and_artifacts(command: Harness, sweep: Path) -> None:
    pytest.importorskip("wandb")
    ran = command("run", "training.yaml", "--listener", "wandb:mode=offline,project=mine")
    assert "Warning" not in ran.err
    means = _means(sweep)
    small, other = (_records(folder) for folder in _offline(sweep))
    if small["name"] != "small":
        small, other = other, small
    assert (small["name"], small["group"], small["project"]) == ("small", "training", "mine")
    assert other["name"] == "fake:other"
    points = {(point["training_step"], point["quiz/exact_match"]) for point in small["history"]}
    assert points == {(100, means["fake:a"]), (200, means["fake:b"])}
    assert other["history"][0]["quiz/exact_match"] == means["fake:other"]
    assert len(small["artifacts"]) == 2 + 2  # a table and a run.json for each step
    tables = list(sweep.glob("wandb/offline-run-*/files/media/table/samples/*.json"))
    assert len(tables) == 3
    assert all(len(json.loads(table.read_text())["data"]) == 20 for table in tables)


def _offline(folder: Path) -> list[Path]:
    return sorted(folder.glob("wandb/offline-run-*"))


def _records(folder: Path) -> dict[str, Any]:
    """Read a run of Weights & Biases from its file: a log of protocol buffers in blocks of 32 KiB, as LevelDB's."""
    from wandb.proto import wandb_internal_pb2

    messages: Any = wandb_internal_pb2
    (file,) = folder.glob("*.wandb")
    content, place, part = file.read_bytes(), 7, b""
    found: dict[str, Any] = {"history": [], "artifacts": []}
    while place + 7 <= len(content):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        part += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind not in (1, 4):  # a whole record, or the last part of one
            continue
        record, part = messages.Record.FromString(part), b""
        if record.HasField("run"):
            found |= {"name": record.run.display_name, "group": record.run.run_group, "project": record.run.project}
        if record.HasField("history"):
            keys = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            found["history"].append(keys)
        if record.HasField("request") and record.request.HasField("log_artifact"):
            found["artifacts"].append(record.request.log_artifact.artifact.name)
        if record.HasField("artifact"):
            found["artifacts"].append(record.artifact.name)
    return found


def test_weights_and_biases_without_a_key_is_refused_before_anything_is_asked(command: Harness, sweep: Path) -> None:
    pytest.importorskip("wandb")
    ran = command("run", "training.yaml", "--listener", "wandb")
    assert ran.code == 2
    assert ran.err.strip() == (
        "the listener wandb has no API key: run `wandb login`, set WANDB_API_KEY, or write mode=offline."
    )
    assert not (sweep / "results").exists()

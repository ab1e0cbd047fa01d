"""MLflow."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from harness import FinishedRun, HarnessError, Listener, install_advice, listener
from harness.trackers._tracker_runs import TrackerRun, file_name, sample_table, sent_record, tracker_run

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY = "harness.key"
"""Tag that identifies a run in MLflow."""

_NAME = re.compile(r"[^\w\-. :/]")
"""Characters that MLflow does not allow in the names of metrics."""

_LONGEST = 250
"""Longest name of a metric or parameter that every store accepts."""

_LONGEST_TAG = 8_000
"""Characters to which MLflow cuts a tag (MAX_TAG_VAL_LENGTH of mlflow.utils.validation)."""

_RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"


@listener("mlflow", source="https://mlflow.org/docs", needs="mlflow", install=install_advice("mlflow"))
class MlflowListener(Listener):
    """Send results to MLflow: metrics, tables of samples, and run.json as artifacts.

    There is a run for each model of a suite; checkpoints of one training share a run, with the training step as the
    metrics' step. In metric names, characters that MLflow does not take become ``_``.

    Args:
        experiment: The experiment, which is made if needed.
        tracking_uri: The server or store (default: ``MLFLOW_TRACKING_URI``, else MLflow's own). The extra ``mlflow``
            installs mlflow-skinny, which can use a server. A database, which is MLflow's own default, needs the
            package ``mlflow``; a folder, ``file:///…``, needs ``MLFLOW_ALLOW_FILE_STORE=true``.
        samples: Maximum number of samples in a run's table; 0 for none.
    """

    def __init__(
        self,
        *,
        experiment: str = "harness",
        tracking_uri: str | None = None,
        samples: Annotated[int, Field(ge=0)] = 100,
    ) -> None:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        try:
            self._client: MlflowClient = MlflowClient(tracking_uri=tracking_uri)
        except MlflowException as error:
            raise HarnessError(
                f"the listener mlflow cannot open {tracking_uri or 'its default store'}. Name a server with "
                "mlflow:tracking_uri=http://…; for a database on this machine, which MLflow uses by default, run "
                "`pip install mlflow` (mlflow-skinny has none); for a folder, write mlflow:tracking_uri=file:///… and "
                f"set MLFLOW_ALLOW_FILE_STORE=true. MLflow says: {' '.join(error.message.split())}"
            ) from error
        self._name, self._samples = experiment, samples
        self._experiment: str | None = None
        self._runs: dict[str, str] = {}

    def run_ended(self, run: FinishedRun) -> None:
        with _few_retries():
            self._log(run)

    def close(self) -> None:
        with _few_retries():
            for there in self._runs.values():
                self._client.update_run(there, status="FINISHED")  # set_terminated prints
        self._runs.clear()

    def _log(self, run: FinishedRun) -> None:
        from mlflow.entities import Metric

        place = tracker_run(run)
        there = self._runs.get(place.key) or self._open(place, run.suite)
        failed = _name(f"error/{run.title}" if run.step is None else f"error/{run.title}/{run.step}")
        if run.error is not None:
            self._client.set_tag(there, failed, run.error[:5000])
            return
        if failed in self._client.get_run(there).data.tags:  # it was made again, and succeeded
            self._client.delete_tag(there, failed)
        time = int((run.folder / "run.json").stat().st_mtime * 1000)
        step = run.step or 0
        metrics = [Metric(_name(name), value, time, step) for name, value in run.metrics().items()]
        for start in range(0, len(metrics), 1000):  # the most that a server takes at once
            self._client.log_batch(there, metrics=metrics[start : start + 1000])
        folder = f"runs/{file_name(run.name)}"
        self._client.log_text(there, sent_record(run), f"{folder}/run.json")
        if self._samples:
            columns, rows = sample_table(run, self._samples)
            self._log_table(there, f"{folder}/samples.json", {"columns": columns, "data": rows})

    def _log_table(self, there: str, path: str, table: dict[str, Any]) -> None:
        """Write a table as MLflow's pages show it; its own function needs pandas, and adds rows to those of before."""
        from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS

        self._client.log_text(there, json.dumps(table, ensure_ascii=False), path)
        known = _tables(self._client.get_run(there).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        entry = {"path": path, "type": "table"}
        text = json.dumps([*known, entry])
        if entry not in known and len(text) <= _LONGEST_TAG:  # without an entry, a table is still an artifact
            self._client.set_tag(there, MLFLOW_LOGGED_ARTIFACTS, text)

    def _open(self, place: TrackerRun, suite: str) -> str:
        experiment = self._experiment or self._find_experiment()
        found = self._client.search_runs([experiment], f"tags.`{KEY}` = '{place.key}'", max_results=1)
        there: str
        if found:
            there = found[0].info.run_id
            self._client.update_run(there, status="RUNNING")
        else:
            tags = {KEY: place.key, "harness.suite": suite}
            there = self._client.create_run(experiment, tags=tags, run_name=place.name).info.run_id
            for name, value in place.settings.items():
                self._client.log_param(there, name, value if isinstance(value, str) else json.dumps(value)[:6000])
        self._runs[place.key] = there
        return there

    def _find_experiment(self) -> str:
        known = self._client.get_experiment_by_name(self._name)
        self._experiment = known.experiment_id if known else self._client.create_experiment(self._name)
        return self._experiment


@contextmanager
def _few_retries() -> Iterator[None]:
    """Let MLflow try a request three times, unless the user has set a number; its own default takes minutes.

    What could not be sent can be sent later. Afterwards the variable is as before: a Trainer's own callback for MLflow
    reads it, too.
    """
    if _RETRIES in os.environ:
        yield
        return
    os.environ[_RETRIES] = "3"
    try:
        yield
    finally:
        os.environ.pop(_RETRIES, None)


def _tables(tag: str) -> list[Any]:
    """Return the entries of the tag that lists tables; of a tag that was cut in two, none."""
    try:
        found = json.loads(tag)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _name(text: str) -> str:
    return _NAME.sub("_", text)[:_LONGEST]

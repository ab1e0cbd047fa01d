"""A head of a job as a Ray actor: it runs the runs of one model, whose weights may be in replicas on other nodes."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from harness.contracts import Model
from harness.contracts.specs import Component, RunSpec
from harness.errors import HarnessError
from harness.executors.head import run_head
from harness.inference.model_pool import load_model
from harness.inference.ray_replica import ray_replica
from harness.inference.replicas import ModelSource
from harness.inference.replicated_model import ReplicatedModel
from harness.plugins.registry import Registry
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord


class RayHead:
    """Runs the runs of one model; its methods are called on several threads.

    Args:
        job_file: The job's file.
        number: The number of this head.
        source: The model, as a replica opens it.
        replicas: Number of replicas; 0 if the model is to be in this process.
        gpus: GPUs of each replica.
    """

    def __init__(self, job_file: Path, number: int, source: ModelSource, replicas: int, gpus: int) -> None:
        self._file, self._number, self._source, self._replicas = job_file, number, source, replicas
        self._launch = ray_replica(source, {"num_cpus": 1, "num_gpus": gpus, "scheduling_strategy": "SPREAD"})
        self._changing = threading.Lock()  # guards the number of replicas, and the model that has them
        self._model: ReplicatedModel | None = None
        self._stop = threading.Event()

    def run(self) -> str | None:
        """Run what is left of the model's runs; return why that cannot be done here, or None when nothing is left."""
        log = logging.FileHandler(self._file.with_name(f"head-{self._number}.log"), encoding="utf-8", delay=True)
        log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger("harness").addHandler(log)
        try:
            run_head(self._file, self._number, wanted=self._is_mine, open_model=self._open, views=[_Stop(self._stop)])
        except KeyboardInterrupt:
            return None
        except HarnessError as error:
            return str(error)
        finally:
            log.close()
        return None

    def ping(self) -> bool:
        """Return whether the model's replicas wait for a place on the cluster; any answer shows that this lives."""
        with self._changing:
            return self._model is not None and self._model.pool.unheard

    def add_replica(self) -> None:
        """Start another replica of the model."""
        with self._changing:
            self._replicas += 1
            if self._model is not None:
                self._model.pool.add(self._launch)

    def stop(self) -> None:
        """Let :meth:`run` end at the next answer, and give its leases back."""
        self._stop.set()

    def _is_mine(self, spec: RunSpec) -> bool:
        return spec.configured_model == self._source.component

    def _open(self, component: Component, registry: Registry) -> Model:
        opened = load_model(component, registry)
        if not self._replicas:
            return opened
        with self._changing:
            launches = [self._launch] * self._replicas
            self._model = ReplicatedModel(opened, component.name, launches, elsewhere=True)
            return self._model


class _Stop:
    """A view of the sweep that interrupts it once that is asked for."""

    def __init__(self, asked: threading.Event) -> None:
        self._asked = asked

    def changed(self, state: SweepState) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        pass

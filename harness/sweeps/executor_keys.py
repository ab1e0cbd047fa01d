"""The key ``executor`` of a sweep: where its runs are executed, and the settings of each executor."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from harness.sweeps.slurm_values import Duration, Gpus, Line, Name, Names, Option, Size

Count = Annotated[int, Field(ge=1)]


class ExecutorKeys(BaseModel):
    """Settings of an executor; they change no answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LocalKeys(ExecutorKeys):
    """Processes on this machine."""

    heads: Count | None = Field(None, examples=[4])
    """Number of processes that run the sweep side by side (default: 1; if all models that load a checkpoint say in
    ``resources`` how many GPUs they need, one for each group of as many as the largest needs)."""


class RayKeys(ExecutorKeys):
    """A Ray cluster: each model has a head, which runs its runs, and replicas on the cluster's GPUs."""

    address: str | None = Field(None, min_length=1, examples=["10.0.0.1:6379"])
    """The cluster's head node, ``HOST:PORT`` (default: ``RAY_ADDRESS``, or the cluster that this machine belongs
    to)."""


class SlurmKeys(ExecutorKeys):
    """A job array of Slurm: each of its jobs is a head, which runs runs of the sweep until none are left."""

    heads: Count | None = Field(None, le=10_000, examples=[8])
    """Number of heads, which are the jobs of the array; each runs other runs of the sweep (default: 1; inside an
    allocation, its number of tasks)."""

    partition: Names | None = Field(None, examples=["gpu"])
    """Partition, or several with commas between them (default: the cluster's)."""

    time: Duration = Field("1h", examples=["4h", "30m", "1-00:00:00"])
    """Time limit of a head, for example ``4h``, ``30m`` or ``1-00:00:00``. A head that reaches it is requeued and
    continues; see ``requeues``."""

    gpus: Gpus | None = Field(None, examples=[1, "a100:2"])
    """GPUs of a head, with their type if it matters: ``1`` or ``a100:2``."""

    cpus: int | None = Field(None, ge=1, examples=[8])
    """Processors of a head."""

    memory: Size | None = Field(None, examples=["64G"])
    """Memory of a head."""

    account: Name | None = Field(None, examples=["my-lab"])
    """Account that is charged."""

    qos: Name | None = Field(None, examples=["high"])
    """Quality of service."""

    constraint: Line | None = Field(None, min_length=1, examples=["a100|h100"])
    """Features that a head's node must have."""

    setup: list[Line] = Field([], examples=[["module load cuda/12.4", "source ~/venv/bin/activate"]])
    """Shell commands to run before each head starts."""

    options: dict[Option, Line] = Field({}, examples=[{"reservation": "evaluation", "exclude": "node[01-03]"}])
    """Other options of ``sbatch``, without the dashes in front."""

    notice: Duration = Field("2m", examples=["2m"])
    """Time before the time limit at which Slurm tells a head to stop. The head then finishes what it is writing and is
    requeued."""

    requeues: int = Field(10, ge=0, examples=[10])
    """How often a head that has reached its time limit is requeued. Preemptions do not count."""


EXECUTORS: dict[str, type[ExecutorKeys]] = {"local": LocalKeys, "ray": RayKeys, "slurm": SlurmKeys}
"""The settings of each executor, by its name."""

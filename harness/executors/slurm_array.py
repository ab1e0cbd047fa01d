"""A job array of heads, submitted with submitit, and found again by the same command.

::

    .jobs/<id>/slurm.json      which Slurm jobs run the heads, and of which sweep
    .jobs/<id>/slurm/          submitit's folder: the script, and what each head printed (*_log.out, *_log.err)
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.executors.job import Job, code_digests
from harness.executors.requeued_head import RequeuedHead
from harness.installation import install_advice
from harness.plugins.registry import Registry
from harness.storage.durable import write_whole, writing
from harness.sweeps.executor_keys import SlurmKeys
from harness.sweeps.slurm_values import minutes

if TYPE_CHECKING:
    import submitit
    from submitit.core.core import PicklingExecutor

ARRAY_FILE = "slurm.json"
ENGINE_FOLDER = "slurm"
MARGIN_SECONDS = 20
"""What is left of the notice for submitit, after the head has stopped."""

Engine = Callable[[Path, SlurmKeys, str], "PicklingExecutor"]
"""Makes submitit's executor for a folder, settings and the job's name."""


def slurm_engine(folder: Path, keys: SlurmKeys, name: str) -> PicklingExecutor:
    """Return submitit's executor for Slurm."""
    import submitit

    executor = submitit.SlurmExecutor(folder, max_num_timeout=keys.requeues)
    wanted = {
        "job_name": name,
        "partition": keys.partition,
        "time": minutes(keys.time),
        "gpus_per_node": keys.gpus,
        "cpus_per_task": keys.cpus,
        "mem": keys.memory,
        "account": keys.account,
        "qos": keys.qos,
        "constraint": keys.constraint,
        "srun_args": [f"--cpus-per-task={keys.cpus}"] if keys.cpus else None,  # which sbatch's option does not set
        "setup": keys.setup or None,
        "signal_delay_s": 60 * minutes(keys.notice),
        "array_parallelism": keys.heads or 1,
        # Also where Slurm itself ends the job, without a signal: a node that fails, a preemption without notice.
        "additional_parameters": {"requeue": True, **keys.options},
    }
    executor.update_parameters(**{key: value for key, value in wanted.items() if value is not None})
    return executor


def check_slurm() -> None:
    """Check that jobs can be submitted from here.

    Raises:
        HarnessError: submitit is not installed, or this machine has no Slurm.
    """
    missing = [command for command in ("sbatch", "srun") if shutil.which(command) is None]
    if missing:
        raise HarnessError(
            f"the executor slurm needs Slurm, but this machine has no {' and no '.join(missing)}. Run the command on a "
            "login node of the cluster, or inside an allocation; without Slurm, use --executor local or ray."
        )
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise HarnessError(f"the executor slurm needs the package submitit: {install_advice('slurm')}") from None


@dataclass(frozen=True, slots=True)
class Array:
    """The heads of a job that have been submitted."""

    jobs: Sequence[submitit.Job[None]]
    """A job of submitit for each head."""

    @property
    def name(self) -> str:
        """The number of the array, or of its jobs where they have no common one."""
        return ", ".join(dict.fromkeys(job.job_id.split("_")[0] for job in self.jobs))

    def cancel(self) -> None:
        """Cancel the heads that have not ended."""
        left = [job for job in self.jobs if not job.done()]
        whole = {job.job_id.split("_")[0]: job for job in left}  # one call for an array
        for number, job in whole.items():
            with suppress(OSError, subprocess.SubprocessError):
                (job if number == job.job_id else type(job)(job.paths.folder, number)).cancel(check=False)


def submit(job: Job, registry: Registry, file: Path, keys: SlurmKeys, engine: Engine) -> Array:
    """Submit the heads of a job, and note them so that :func:`find_array` finds them.

    Raises:
        HarnessError: Slurm refuses.
        StorageError: The results folder cannot be written.
    """
    folder = job.folder.absolute() / ENGINE_FOLDER
    executor = engine(folder, keys, f"harness-{job.suite}")
    stop_seconds = max(MARGIN_SECONDS, 60 * minutes(keys.notice) - MARGIN_SECONDS)
    heads = [RequeuedHead(file, number, stop_seconds) for number in range(keys.heads or 1)]
    try:
        array = Array(executor.submit_array(heads))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise HarnessError(f"sbatch refused the job: {_reason(error)}") from error
    content = {"digest": digest(job, registry), "jobs": [one.job_id for one in array.jobs]}
    with writing(folder.parent / ARRAY_FILE):
        write_whole(folder.parent / ARRAY_FILE, json.dumps(content).encode())
    return array


def find_array(job: Job, registry: Registry) -> tuple[Job, Array] | None:
    """Return the job and the heads that an earlier command has submitted for the same sweep and left to themselves."""
    import submitit

    wanted = digest(job, registry)
    for file in sorted(job.folder.parent.glob(f"*/{ARRAY_FILE}"), reverse=True):  # their names begin with the time
        with suppress(OSError, ValueError, LookupError, TypeError):
            content = json.loads(file.read_bytes())
            if content["digest"] == wanted:
                folder = file.absolute().with_name(ENGINE_FOLDER)
                heads = [submitit.SlurmJob[None](folder, str(number)) for number in content["jobs"]]
                return replace(job, id=file.parent.name), Array(heads)
    return None


def digest(job: Job, registry: Registry) -> str:
    """Return a text that is equal for two jobs if they have the same runs, code and data folder."""
    found = hashlib.sha256(json.dumps(code_digests(job.runs, registry), sort_keys=True).encode())
    found.update(repr(job.settings.data_dir).encode())
    for line in sorted(spec.model_dump_json() for spec in job.runs):
        found.update(line.encode())
    return found.hexdigest()


def _reason(error: Exception) -> str:
    """Return the line of what a command of Slurm printed that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "error:" in line]
    return (said or lines or [type(error).__name__])[-1]

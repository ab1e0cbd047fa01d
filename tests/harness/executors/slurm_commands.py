"""Commands of Slurm that run jobs on this machine, for tests: there is no Slurm here.

They do what the harness and submitit need of ``sbatch``, ``srun``, ``sacct``, ``squeue``, ``scancel`` and
``scontrol``: arrays, a step's tasks, signals to every process of a step, requeueing, states. What a cluster adds
(queues, limits, other machines) they do not show. A job's files lie in the folder of the variable ``SLURM_COMMANDS``::

    4711_0.state      what sacct says of it; ``4711.script`` is what was submitted
    4711_0.group      the process groups of its step's tasks
    4711_0.requeue    it is to start again when it has ended
    requeued          the jobs that were requeued, a line each
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

FOLDER = Path(os.environ.get("SLURM_COMMANDS", "."))
COMMANDS = ("sbatch", "srun", "sacct", "squeue", "scancel", "scontrol")


def install(folder: Path) -> Path:
    """Write the commands to a folder; return the folder that is to be in PATH."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    for name in COMMANDS:
        file = binaries / name
        file.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} {name} "$@"\n')
        file.chmod(0o755)
    return binaries


def sbatch(arguments: list[str]) -> int:
    text = Path(arguments[-1]).read_text()
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", text, re.MULTILINE))
    if options.get("partition") == "nowhere":
        sys.stderr.write("sbatch: error: invalid partition specified: nowhere\n")
        sys.stderr.write("sbatch: error: Batch job submission failed: Invalid partition name specified\n")
        return 1
    number = 4711 + len(list(FOLDER.glob("*.script")))
    (FOLDER / f"{number}.script").write_text(text)
    count = re.match(r"0-(\d+)", options["array"]) if "array" in options else None
    names = [f"{number}_{index}" for index in range(int(count[1]) + 1)] if count else [f"{number}"]
    for name in names:
        held = "hold" in options.get("comment", "")
        (FOLDER / f"{name}.state").write_text("PENDING" if held else "RUNNING")
        if not held:
            command = [sys.executable, __file__, "job", name, arguments[-1]]
            quiet = subprocess.DEVNULL
            subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    sys.stdout.write(f"Submitted batch job {number}\n")
    return 0


def job(name: str, script: str) -> int:
    """Run a job's script, again if it is requeued: the part of slurmd."""
    array, _, index = name.partition("_")
    script = str(FOLDER / f"{array}.script")
    place = {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": index} if index else {}
    starts = 0
    while True:
        environ = {**os.environ, **place, "SLURM_JOB_ID": f"{array}{index}", "SLURM_COMMANDS_JOB": name}
        environ |= {"SLURM_RESTART_COUNT": str(starts)} if starts else {}
        with (FOLDER / f"{name}.out").open("ab") as output:
            code = subprocess.run(["bash", script], env=environ, stdout=output, stderr=output, check=False).returncode
        starts += 1
        if not (FOLDER / f"{name}.requeue").exists():
            break
        (FOLDER / f"{name}.requeue").unlink()
    if (FOLDER / f"{name}.state").read_text() == "RUNNING":
        (FOLDER / f"{name}.state").write_text("FAILED" if code else "COMPLETED")
    return code


def srun(arguments: list[str]) -> int:
    name, tasks, files = os.environ.get("SLURM_COMMANDS_JOB", os.environ["SLURM_JOB_ID"]), 1, {}
    while arguments[0].startswith("-"):
        option, _, value = arguments.pop(0).partition("=")
        if option in ("--output", "--error"):
            files[option] = value or arguments.pop(0)
        elif option == "--ntasks":
            tasks = int(value)
    if "SLURM_COMMANDS_SRUN_FAILS" in os.environ:
        sys.stderr.write("srun: error: Unable to create step for job: Requested node configuration is not available\n")
        return 1
    running = []
    for rank in range(tasks):
        environ = {"SLURM_PROCID": str(rank), "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(tasks)}
        opened = {option: open(_filled(file, rank), "ab") for option, file in files.items()}  # noqa: SIM115
        output = opened.get("--output")
        process = subprocess.Popen(
            arguments,
            env={**os.environ, **environ},
            stdout=output,
            stderr=opened.get("--error", output),
            start_new_session=True,
        )
        running.append(process)
    (FOLDER / f"{name}.group").write_text(" ".join(str(process.pid) for process in running))

    def forward(number: int, _: object) -> None:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
        signal.signal(number, forward)
    codes = [process.wait() for process in running]
    return max(abs(code) for code in codes)


def _filled(file: str, rank: int) -> str:
    values = {"%A": "SLURM_ARRAY_JOB_ID", "%a": "SLURM_ARRAY_TASK_ID", "%j": "SLURM_JOB_ID"}
    for sign, variable in values.items():
        file = file.replace(sign, os.environ.get(variable, ""))
    return file.replace("%t", str(rank))


def sacct(arguments: list[str]) -> int:
    sys.stdout.write("JobID|State|NodeList\n")
    for number in [arguments[index + 1] for index, word in enumerate(arguments) if word == "-j"]:
        for file in sorted([*FOLDER.glob(f"{number}.state"), *FOLDER.glob(f"{number}_*.state")]):
            sys.stdout.write(f"{file.stem}|{file.read_text()}|here\n")
    return 0


def squeue(arguments: list[str]) -> int:
    number = next(word.partition("=")[2] for word in arguments if word.startswith("--jobs="))
    for file in sorted([*FOLDER.glob(f"{number}.state"), *FOLDER.glob(f"{number}_*.state")]):
        if file.read_text() in ("PENDING", "RUNNING"):
            sys.stdout.write(f"{file.stem} {file.read_text()}\n")
    return 0


def scancel(arguments: list[str]) -> int:
    given = arguments[arguments.index("--signal") + 1] if "--signal" in arguments else ""
    for pattern in (f"{arguments[0]}.", f"{arguments[0]}_*."):
        for file in FOLDER.glob(f"{pattern}state"):
            if not given and file.read_text() in ("PENDING", "RUNNING"):
                file.write_text("CANCELLED")
        for file in FOLDER.glob(f"{pattern}group"):
            _signal(file.stem, signal.Signals[given] if given else signal.SIGTERM)
    return 0


def scontrol(arguments: list[str]) -> int:
    verb, name = arguments
    assert verb == "requeue"
    (FOLDER / f"{name}.requeue").touch()
    with (FOLDER / "requeued").open("a") as file:
        file.write(f"{name}\n")
    return 0


def _signal(name: str, number: signal.Signals) -> None:
    """Signal every process of a job's step, as slurmstepd does."""
    with suppress(FileNotFoundError):
        for group in (FOLDER / f"{name}.group").read_text().split():
            with suppress(ProcessLookupError):
                os.killpg(int(group), number)


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    run = {"sbatch": sbatch, "srun": srun, "sacct": sacct, "squeue": squeue, "scancel": scancel, "scontrol": scontrol}
    sys.exit(job(rest[0], rest[1]) if command == "job" else run[command](rest))

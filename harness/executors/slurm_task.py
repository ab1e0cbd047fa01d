"""What each task of ``srun`` runs: the head with the task's number, which stops cleanly when Slurm gives notice.

``python -m harness.executors.slurm_task JOBFILE``
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence

from harness.executors import head

REQUEUE_SIGNAL = signal.SIGUSR2
"""What ``#SBATCH --signal=USR2@120`` sends before the time limit, as submitit does; NCCL uses SIGUSR1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a head as a program, and return its exit code."""
    # Slurm signals every process of a step. Blocked, and not handled, so that the head's worker processes inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {REQUEUE_SIGNAL})
    threading.Thread(target=_stop_on_notice, name="slurm", daemon=True).start()
    given = list(sys.argv[1:] if arguments is None else arguments)
    return head.main([*given, "--head", os.environ["SLURM_PROCID"]])


def _stop_on_notice() -> None:
    signal.sigwait({REQUEUE_SIGNAL})
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())

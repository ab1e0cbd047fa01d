"""Which distributed trainings can be evaluated: those in which each process has all of the weights."""

from __future__ import annotations

from typing import Any

from harness.errors import HarnessError, ModelError

TIMEOUT_SHARE = 0.5
"""Share of the processes' timeout that an evaluation may take where no time budget is given."""


def check_whole(trainer: Any) -> None:
    """Refuse a training that divides the weights among processes.

    Raises:
        ModelError: It does: FSDP, or DeepSpeed with ZeRO stage 3. Tensor parallelism shows in the weights themselves.
    """
    how = ""
    if getattr(trainer, "is_fsdp_enabled", False) or getattr(trainer, "is_fsdp_xla_enabled", False):
        how = "FSDP"
    elif getattr(trainer, "is_deepspeed_enabled", False):
        plugin = getattr(trainer.accelerator.state, "deepspeed_plugin", None)
        how = "DeepSpeed's ZeRO stage 3" if getattr(plugin, "zero_stage", 0) == 3 else ""
    if how:
        raise ModelError(
            f"{how} divides the weights among the processes, so no single one can evaluate the model. Save checkpoints "
            "and evaluate those with `harness watch`."
        )


def seconds_allowed(trainer: Any, time_budget: float | None) -> float | None:
    """Return the time budget of one evaluation; other processes wait for it, and give up after ``ddp_timeout``.

    Raises:
        HarnessError: The budget is longer than they wait.
    """
    if trainer.args.world_size < 2:
        return time_budget
    timeout = float(trainer.args.ddp_timeout)
    if time_budget is not None and time_budget >= timeout:
        raise HarnessError(
            f"time_budget is {time_budget:g} s, but the other processes wait only {timeout:g} s for an evaluation. "
            "Raise ddp_timeout of the TrainingArguments."
        )
    return timeout * TIMEOUT_SHARE if time_budget is None else time_budget


def shared(trainer: Any, value: Any) -> Any:
    """Return the value of the first process in all processes, which wait for it."""
    if trainer.args.world_size < 2:
        return value
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([value], from_process=0)[0]

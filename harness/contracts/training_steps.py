"""The training step of a model: of which training it is a checkpoint, and after how many optimizer steps it was saved.

A sweep says it (``about: {series: pythia-70m, step: 1000}``), as do ``harness.evaluate(…, series=…, step=…)`` and the
callback for training loops. Else it is read in the revision (``step1000``, ``stage1-step1000-tokens4B``) or at the end
of the model's path (``step-100``, ``checkpoint-2000``, ``iter_0000500``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WORDS = "global[-_]?step|step|checkpoint|ckpt|iteration|iter"
_STEP = re.compile(rf"(?:^|(?<=[-_.]))(?:{_WORDS})s?[-_]?(?P<number>\d{{1,15}})(?=$|[-_.])", re.IGNORECASE)

REVISION = "revision"
"""The argument of a model that names a version of its repository."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """The place of a model in a training."""

    series: str
    """Identifies the training: the declared name, or the model's name without the step, such as ``hf:/data/run-3``,
    with its other arguments."""
    step: int
    """Optimizer steps before the checkpoint was saved."""
    path: str = ""
    """The model's name without step and arguments, where the step was read in it; empty if it was declared."""


def training_step(name: str, arguments: Mapping[str, Any], about: Any = None) -> TrainingStep | None:
    """Return the training step of a model; None for a model that is not known to be a checkpoint.

    Args:
        name: The model, ``backend:identifier``.
        arguments: Its arguments.
        about: What its entry says about it (:class:`harness.contracts.model_settings.ModelFacts`); it takes precedence.
    """
    if about is not None and about.series is not None and about.step is not None:
        return TrainingStep(about.series, about.step)
    revision = arguments.get(REVISION)
    if isinstance(revision, str) and (found := step_in(revision)):
        others = {key: value for key, value in arguments.items() if key != REVISION}
        path = " ".join(filter(None, [name, found[0]]))
        return TrainingStep(_with_arguments(path, others), found[1], path)
    cut = max(name.rfind("/"), name.find(":")) + 1
    folder, last = name[:cut], name[cut:]
    if (found := step_in(last)) and (found[0] or _of_training(folder.partition(":")[2], last)):
        path = (folder + found[0]).rstrip("/")
        return TrainingStep(_with_arguments(path, arguments), found[1], path)
    return None


def step_in(text: str) -> tuple[str, int] | None:
    """Return what is before a step in a name, without separators, and the step: ``run-a``, 100 of ``run-a-step-100``.

    The last number after a word for a step counts; what follows it, such as ``-tokens4B``, is left out.
    None without a step.
    """
    matches = list(_STEP.finditer(text))
    return (text[: matches[-1].start()].rstrip("-_."), int(matches[-1]["number"])) if matches else None


def _of_training(folder: str, last: str) -> bool:
    """Return True if a folder's name is that of a training, where the last name has a step and nothing before it.

    ``run-a/checkpoint-2000`` is a checkpoint. ``owner/Step-3`` is a model's name, as one folder before ``step`` may be
    the owner of a repository.
    """
    return folder.count("/") > 1 or folder[:1] in ("/", ".") or (bool(folder) and not last.lower().startswith("step"))


def _with_arguments(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a name that differs for different arguments: the same checkpoints asked in two ways are two series."""
    return " ".join([name, *(f"{key}={arguments[key]}" for key in sorted(arguments))])

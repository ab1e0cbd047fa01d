"""Which models are checkpoints of one training: their series and steps.

A sweep says it (``about: {series: pythia-70m, step: 1000}``); else it is read in the revision (``step1000``,
``stage1-step1000-tokens4B``) or at the end of the model's path (``step-100``, ``checkpoint-2000``, ``iter_0000500``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from harness.contracts.specs import Component
from harness.leaderboard.columns import canonical, grouped
from harness.storage.results import RunRecord

_WORDS = "global[-_]?step|step|checkpoint|ckpt|iteration|iter"
_STEP = re.compile(rf"(?:^|(?<=[-_.]))(?:{_WORDS})s?[-_]?(?P<number>\d{{1,15}})(?=$|[-_.])", re.IGNORECASE)

REVISION = "revision"
"""The argument of a model that names a version of its repository."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One model of a series."""

    step: int
    """The training step."""
    model: Component
    """The model."""


@dataclass(frozen=True, slots=True)
class Series:
    """The checkpoints of one training."""

    name: str
    """Its name for people, different from that of every other series."""
    checkpoints: tuple[Checkpoint, ...]
    """Its checkpoints, by step."""


def series_of(runs: Iterable[RunRecord]) -> list[Series]:
    """Return the series of at least two steps among the models of some runs, by name.

    What the newest run of a model says about it counts.
    """
    newest = {canonical(run.spec.model.model_dump(mode="json")): run for run in sorted(runs, key=lambda r: r.finished)}
    found = [(*place, run.spec.model) for run in newest.values() if (place := _placed(run))]
    several = {
        key: tuple(Checkpoint(step, model) for _, step, model in sorted(members, key=_order))
        for key, members in grouped(found, lambda one: one[0]).items()
        if len({step for _, step, _ in members}) > 1
    }
    names = _names(list(several))
    return sorted((Series(names[key], members) for key, members in several.items()), key=lambda series: series.name)


def step_in(text: str) -> tuple[str, int] | None:
    """Return what is before a step in a name, without separators, and the step: ``run-a``, 100 of ``run-a-step-100``.

    The last number after a word for a step counts; what follows it, such as ``-tokens4B``, is left out.
    None without a step.
    """
    matches = list(_STEP.finditer(text))
    return (text[: matches[-1].start()].rstrip("-_."), int(matches[-1]["number"])) if matches else None


def _order(found: tuple[Any, int, Component]) -> tuple[int, str]:
    _, step, model = found
    return step, model.label


def _placed(run: RunRecord) -> tuple[str | tuple[str, str], int] | None:
    """Return what identifies the series of a run's model, and the step: a declared name, or name and settings."""
    about = run.spec.settings.about
    if about is not None and about.series is not None and about.step is not None:
        return about.series, about.step
    model = run.spec.model
    revision = model.arguments.get(REVISION)
    if isinstance(revision, str) and (found := step_in(revision)):
        others = {key: value for key, value in model.arguments.items() if key != REVISION}
        return (" ".join(filter(None, [model.name, found[0]])), canonical(others)), found[1]
    cut = max(model.name.rfind("/"), model.name.find(":")) + 1
    folder, last = model.name[:cut], model.name[cut:]
    if (found := step_in(last)) and (found[0] or _of_training(folder.partition(":")[2], last)):
        return ((folder + found[0]).rstrip("/"), canonical(model.arguments)), found[1]
    return None


def _of_training(folder: str, last: str) -> bool:
    """Return True if a folder's name is that of a training, where the last name has a step and nothing before it.

    ``run-a/checkpoint-2000`` is a checkpoint. ``owner/Step-3`` is a model's name, as one folder before ``step`` may be
    the owner of a repository.
    """
    return folder.count("/") > 1 or folder[:1] in ("/", ".") or (bool(folder) and not last.lower().startswith("step"))


def _names(keys: list[str | tuple[str, str]]) -> dict[str | tuple[str, str], str]:
    """Return a name for each series: the declared one, or the shortest ending that no other has."""
    forms = {key: [key] if isinstance(key, str) else _endings(*key) for key in keys}
    owners = Counter(form for each in forms.values() for form in set(each))
    return {key: next((form for form in each if owners[form] == 1), each[-1]) for key, each in forms.items()}


def _endings(name: str, settings: str) -> list[str]:
    parts = name.partition(":")[2].split("/")
    ends = ["/".join(parts[-size:]) for size in range(1, len(parts) + 1)]
    return [*filter(None, ends), name, f"{name} {settings}"]

"""Names of models in tables: their display names, else the shortest endings of their names that tell them apart.

``hf:/data/checkpoints/run-3/step-100`` and ``hf:/data/checkpoints/run-4/step-100`` are *run-3/step-100* and
*run-4/step-100*; without the second, the first is *step-100*. A model in memory has the name that its program gave it,
however short. Settings are shown where models differ in nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from harness.contracts.models import IN_MEMORY
from harness.contracts.specs import RunSpec
from harness.leaderboard.cells import imported_from
from harness.leaderboard.columns import canonical, grouped
from harness.output.display import brief
from harness.plugins.titles import SEPARATOR, value_title
from harness.storage.results import RunRecord

_LETTER = re.compile(r"[^\W\d_]")
_LETTERS = 3
"""Letters that an ending needs to be used as a name: not ``0`` of ``fake:0``, nor ``o1`` of ``openai:o1``."""

_LONGEST_VALUE = 40
"""Characters of a setting's value; a system prompt may be long."""


def model_names(runs: Iterable[RunRecord]) -> dict[str, str]:
    """Return a name for each model of some runs, different for different models, by the model as JSON.

    It is the display name that the newest run has, else the shortest ending of the model's name, in whole parts of its
    path, that no other model has. Models that share a name are followed by the settings in which they differ, then by
    their full labels.
    """
    newest_last = sorted(runs, key=lambda run: run.finished)
    specs = dict(sorted({run.model_key: run.spec for run in newest_last}.items()))
    endings = _endings({spec.model.name for spec in specs.values()})
    # The backend of an imported run is the program that measured it.
    programs = {run.spec.model.name: backend_of(run) for run in newest_last if imported_from(run)}
    endings |= {name: f"{endings[name]} ({program})" for name, program in programs.items()}
    names = {identity: spec.settings.display_name or endings[spec.model.name] for identity, spec in specs.items()}
    for tell_apart in (_with_settings, _with_endings, _with_labels):
        shared = grouped(list(names.items()), itemgetter(1))
        for name, found in shared.items():
            identities = [identity for identity, _ in found]
            if len(identities) > 1:
                several = [specs[identity] for identity in identities]
                names |= zip(identities, tell_apart(name, several, endings), strict=True)
    taken = Counter(names.values())
    return {identity: f"{name} {identity}" if taken[name] > 1 else name for identity, name in names.items()}


def model_of(run: RunRecord, names: Mapping[str, str]) -> str:
    """Return the name of a run's model among the names of all models."""
    return names[run.model_key]


def backend_of(run: RunRecord) -> str:
    """Return the name of the backend of a run's model."""
    return run.spec.model.name.partition(":")[0]


def endings_of(name: str) -> list[str]:
    """Return the endings of the identifier in ``backend:identifier``, in whole parts of its path, shortest first."""
    parts = name.partition(":")[2].rstrip("/").split("/")
    return ["/".join(parts[-size:]) for size in range(1, len(parts) + 1)]


def _endings(names: Iterable[str]) -> dict[str, str]:
    """Return the shortest telling ending of each ``backend:identifier`` that no other has."""
    every = {name: [*_ends(name), name] for name in names}
    owners = Counter(end for ends in every.values() for end in ends)
    return {name: next((end for end in ends if owners[end] == 1), name) for name, ends in every.items()}


def _ends(name: str) -> list[str]:
    """Return the endings of an identifier, the shortest first, that have enough letters to be a name."""
    ends = endings_of(name)
    named = [end for end in ends if len(_LETTER.findall(end)) >= _LETTERS]
    if name.startswith(f"{IN_MEMORY}:") and ends[-1]:
        named.append(ends[-1])
    return list(dict.fromkeys(named))


def _with_settings(name: str, specs: Sequence[RunSpec], endings: Mapping[str, str]) -> list[str]:
    """Return a name with the settings in which models differ; a setting that one lacks is left out for it."""
    settings = [spec.model.flat for spec in specs]
    differing = [
        key
        for key in dict.fromkeys(key for each in settings for key in each)
        if len({canonical(each.get(key)) for each in settings}) > 1
    ]
    return [
        SEPARATOR.join([name, *(_setting(key, each[key]) for key in differing if each.get(key) is not None)])
        for each in settings
    ]


def _with_endings(name: str, specs: Sequence[RunSpec], endings: Mapping[str, str]) -> list[str]:
    return [f"{name} ({endings[spec.model.name]})" for spec in specs]


def _with_labels(name: str, specs: Sequence[RunSpec], endings: Mapping[str, str]) -> list[str]:
    return [f"{name} ({spec.model.label})" for spec in specs]


def _setting(key: str, value: Any) -> str:
    return brief(value_title(key, value), _LONGEST_VALUE)

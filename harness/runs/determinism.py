"""The determinism grade of a run: what its answers and scores would be if everything were asked again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts import Determinism, Model
from harness.contracts.determinism import weakest
from harness.runs.pipeline import Outcome
from harness.storage.results import RunRecord


def determinism(model: Model, outcome: Outcome) -> dict[str, Any]:
    """Return a run's grade as run.json has it, with whether answers were sampled, and the grades of judges' models.

    The grade is the weakest of the run's model and the models that its metrics asked; answers that were imported into
    the response cache, or that another kind of GPU gave, cannot be asked for again here.
    """
    elsewhere = bool(outcome.usage.imported) or bool(outcome.usage.other_gpus)
    own = weakest([model.determinism, *([Determinism.UNKNOWN] if elsewhere else [])])
    grade = weakest([own, *outcome.judges_determinism.values()])
    sampled = any(value != 0 for value in _temperatures(outcome))
    judges = {name: str(one) for name, one in sorted(outcome.judges_determinism.items())}
    return {
        "grade": str(grade),
        "meaning": grade.meaning,
        "sampled": sampled,
        **({"answers": str(own), "judges": judges} if judges else {}),
    }


def _temperatures(outcome: Outcome) -> list[Any]:
    found = outcome.generation.total().get("temperature", 0)
    return found if isinstance(found, list) else [found]


def recorded_grade(provenance: Mapping[str, Any]) -> str | None:
    """Return the grade in a run's provenance; None if it has none."""
    found = provenance.get("determinism")
    grade = found.get("grade") if isinstance(found, Mapping) else None
    return grade if grade in set(Determinism) else None


def determinism_of(run: RunRecord) -> str:
    """Return a run's grade with its meaning, for people; empty if the run has none."""
    grade = recorded_grade(run.provenance)
    return "" if grade is None else f"{grade}: {Determinism(grade).meaning}"

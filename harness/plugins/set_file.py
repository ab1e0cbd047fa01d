"""Sets of metrics and of perturbations, written as a YAML file.

::

    source: HELM, run_expander.py, 2022            # of every set that does not name its own
    perturbation_sets:
      typo_easy: {members: ["typos:prob=0.1"], doc: Typos in 10 % of the letters.}
    metric_sets:
      short: {members: [exact_match, f1_score], doc: Two metrics.}

A member is a name, or ``name:key=value,…`` as in a sweep if its parameters are not the defaults.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.contracts.plugins import Plugin
from harness.plugins.index import SET_KEYS
from harness.yaml_lines import load_as


class SetKeys(BaseModel):
    """One set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    members: tuple[str, ...] = Field(min_length=1)
    """What the set contains: metrics or perturbations, or other sets of them."""
    doc: str = Field(min_length=1)
    """What the set is for, in one sentence."""
    source: str = ""
    """Where it is defined, if not where the file's other sets are."""


class SetFileKeys(BaseModel):
    """A file of sets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = ""
    """Where the sets are defined."""
    metric_sets: dict[str, SetKeys] = {}
    """Sets of metrics, by name."""
    perturbation_sets: dict[str, SetKeys] = {}
    """Sets of perturbations, by name."""


def load_set_file(path: Path) -> list[Plugin]:
    """Read a file of sets.

    Raises:
        SpecError: It has errors; all of them are reported.
    """
    file = load_as(path, SetFileKeys)
    return [
        Plugin(kind, name, None, one.doc, one.source or file.source, str(path), members=one.members)
        for key, kind in SET_KEYS.items()
        for name, one in getattr(file, key).items()
    ]

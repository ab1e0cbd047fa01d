"""How much there is to do in each run, from its first instances: cheap enough to decide what is begun first.

The prompts of a few instances are made as in the run and counted at four characters a token; the number of instances is
known if few are read, or if the run has a limit, and else follows from the size of the files::

    first instances  ▏ 24 read, 31,000 prompt tokens, 1,200 generated at most
    run              ▏ 1,000 instances · 31,000 / 24 prompt tokens

Plans (:mod:`.plan`) count with the model's own tokenizer, from a sample of all instances, and read all data for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from harness.contracts import Instance, Prompt, Split
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import Component, RunSpec
from harness.costs.token_estimate import estimated_tokens
from harness.data.source import local_files
from harness.errors import reraise_interrupt
from harness.plugins.registry import Registry
from harness.runs.evaluation import OpenedRun, Survey, open_scenario_data
from harness.runs.plan import FIELDS, Sample, Size, plan
from harness.runs.preview import readable
from harness.runs.settings import Settings

COUNTED = 24
"""Evaluation instances that are counted."""
MOST_READ = 2_000
"""Instances of all splits that are read to find them, and examples for prompts."""
LARGEST = 200_000_000
"""Bytes of files above which a scenario is not read at all."""
UNKNOWN = Size(examples=1000, requests=1000, prompt_tokens=1_000_000, max_completion_tokens=100_000)
"""What is taken of a run whose data cannot be looked at."""


class Estimates:
    """Estimates the size of runs; those that differ in model or seed alone share one.

    Args:
        registry: Knows the plugins.
        settings: Where data are.
    """

    def __init__(self, registry: Registry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings
        self._known: dict[tuple[object, ...], Size] = {}
        self._texts: dict[int, tuple[Component, str]] = {}  # by id: the runs of many models share their components

    def size(self, spec: RunSpec) -> Size:
        """Return the estimated size of a run; ``UNKNOWN`` if nothing can be said of it."""
        parts = self._text(spec.scenario), self._text(spec.adapter), spec.eval_split, spec.max_eval_instances
        key = *parts, spec.samples, *(part.name for part in spec.perturbations)
        if key not in self._known:
            try:
                self._known[key] = self._estimated(spec)
            except BaseException as error:  # whatever the scenario raises: the run says it
                reraise_interrupt(error)
                self._known[key] = UNKNOWN
        return self._known[key]

    def _text(self, component: Component) -> str:
        if id(component) not in self._texts:
            self._texts[id(component)] = component, json.dumps(component.model_dump(mode="json"))
        return self._texts[id(component)][1]

    def _estimated(self, spec: RunSpec) -> Size:
        size = self._file_size(spec)
        if size > LARGEST:
            return UNKNOWN
        opened = OpenedRun(spec, self._registry, open_scenario_data(spec, self._registry, self._settings.data_dir))
        reading = opened.instances()
        found, whole = _first(reading, spec, needs_train=bool(spec.adapter.arguments.get("max_train_instances")))
        counted = [instance for instance in found if instance.split == spec.eval_split][:COUNTED]
        if not counted and not whole:  # the file begins with thousands of others
            counted = [one.replace(split=spec.eval_split) for one in found[-COUNTED:]]
            found = [*found[:-COUNTED], *counted]
        survey = Survey(opened)
        for instance in found:
            survey.add(instance)
        evaluation = survey.evaluation()
        few = replace(evaluation, _chosen=counted, count=len(counted)) if not opened.adapter.keeps_order else evaluation
        planned = plan(Sample(few, {}, few.count, 0.0), _Characters()).size
        scale = self._count(spec, found, whole, size) / max(1, few.count)
        return Size(*(getattr(planned, name) * scale for name in FIELDS))

    def _count(self, spec: RunSpec, found: Sequence[Instance], whole: bool, size: int) -> float:
        """Return the number of instances of a run."""
        number = float(sum(instance.split == spec.eval_split for instance in found))
        if not whole and number < (spec.max_eval_instances or math.inf):
            characters = sum(len(one.input) + sum(len(r.text) for r in one.references) for one in found)
            number = max(number, size / max(1.0, characters / len(found)) if size else UNKNOWN.examples)
        return min(number, spec.max_eval_instances or number)

    def _file_size(self, spec: RunSpec) -> int:
        """Return the bytes of the scenario's local files of the evaluated split, or of all if they are not by split."""
        details = self._registry.get(Kind.SCENARIO, spec.scenario.name).details
        if not isinstance(details, ScenarioDetails):
            return 0
        arguments, data_dir = spec.scenario.arguments, self._settings.data_dir
        local = local_files(details, arguments, name=spec.scenario.name, data_dir=data_dir, split=spec.eval_split)
        files = {str(split): paths for split, paths in local.files.items()}
        chosen = files.get(str(spec.eval_split)) or [path for paths in files.values() for path in paths]
        return sum(path.stat().st_size for path in set(chosen) if path.is_file())  # others are inside archives


def _first(reading: Iterator[Instance], spec: RunSpec, *, needs_train: bool) -> tuple[list[Instance], bool]:
    """Return the first instances of a scenario, and True if these are all."""
    found: list[Instance] = []
    evaluated = train = 0
    for instance in islice(reading, MOST_READ):
        found.append(instance)
        evaluated += instance.split == spec.eval_split
        train += instance.split == Split.TRAIN
        if evaluated > COUNTED and (not needs_train or train > COUNTED):
            return found, False
    return found, len(found) < MOST_READ


class _Characters:
    """Counts four characters as a token, and takes any prompt."""

    window = None
    chat = True
    tools = True
    continues = True

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_tokens(self, prompt: Prompt) -> int:
        return estimated_tokens(readable(prompt)) if prompt else 0

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return [estimated_tokens(segment) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return text[: 4 * max(0, tokens)]

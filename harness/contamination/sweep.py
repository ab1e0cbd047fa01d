"""The sweep that tests models on data sets in their published order, with controls."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.contamination.roles import EXAMPLES_FILE, GENERATED_ORDER_TEST, ORDER_TEST
from harness.contracts import GenerateRequest, Model, Prompt
from harness.contracts.plugins import AdapterDetails, Kind
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, HarnessError
from harness.inference.model_pool import LoadedModels
from harness.output.display import json_text
from harness.plugins.registry import Registry, default_registry
from harness.runs.evaluation import prepare
from harness.runs.plan import Size
from harness.sweeps.load import Sweep, sweep_from_mapping


def contamination_sweep(
    models: Sequence[str],
    data: Sequence[str],
    *,
    control_models: Sequence[str] = (),
    rows: str | None = None,
    control_rows: str | None = None,
    settings: Mapping[str, Any] | None = None,
    generating: Collection[str] = (),
    generated: Mapping[str, Any] | None = None,
    alpha: float = 0.01,
    plugins: tuple[Path, ...] = (),
    suite: str = "contamination",
    seed: int = 0,
) -> tuple[Sweep, Registry]:
    """Return the checked sweep that tests models on data sets.

    Args:
        models: The models, ``backend:identifier``.
        data: Scenarios in shorthand, or paths of files of examples.
        control_models: Models that were not trained on the data, tested on the same data.
        rows: The rows to test, ``0:100``; None for all.
        control_rows: Rows that no model was trained on.
        settings: Settings of the adapter.
        generating: Those of the models that cannot score texts, and are tested by what they generate.
        generated: Settings of the adapter for these.
        alpha: The level of the verdicts.
        plugins: Files or folders of more plugins.
        suite: The name of the suite.
        seed: Seeds everything random.

    Raises:
        DataError: Control rows are among the rows to test.
        SpecError: A model, a scenario or a setting is wrong; it holds all errors.
    """
    registry = default_registry()
    if control_rows is not None:
        _refuse_shared_rows(rows, control_rows, (settings or {}).get("max_examples"))
    methods = {False: (ORDER_TEST, settings or {}), True: (GENERATED_ORDER_TEST, generated or {})}

    def run(target: str, asked: Sequence[str], chosen: str | None, role: str) -> Iterator[dict[str, Any]]:
        for generates, (job, own) in methods.items():
            some = [model for model in asked if (model in generating) == generates]
            if not some:
                continue
            adapter = registry.with_role(Kind.ADAPTER, job)
            main, *others = adapter.details.metrics if isinstance(adapter.details, AdapterDetails) else ()
            arguments = {"method": adapter.name, "level": alpha, **own, "role": role}
            yield {
                "scenario": scenario_of(target, registry, EXAMPLES_FILE),
                "models": some,
                "adapter": arguments if chosen is None else {**arguments, "rows": chosen},
                "metrics": [{"name": main, "alpha": alpha}, *others],
                "main_metric": main,
            }

    runs: list[dict[str, Any]] = []
    for target in data:
        runs += run(target, models, rows, "target")
        if control_rows is not None:
            runs += run(target, models, control_rows, "control")
        if control_models:
            runs += run(target, control_models, rows, "control")
    return sweep_from_mapping(
        {"suite": suite, "runs": runs}, option="--data", plugins=plugins, seed=seed, registry=registry
    )


def only_generating(models: Sequence[str], plugins: tuple[Path, ...] = ()) -> list[str]:
    """Return those of the models that cannot score texts; servers are asked where their kind does not tell.

    A model that cannot be opened is left out: its run says why.
    """
    registry = default_registry()
    for path in plugins:
        registry.load_path(path)
    found = []
    with LoadedModels(registry) as loaded:
        for model in dict.fromkeys(models):
            try:
                target = registry.get(Kind.BACKEND, model.partition(":")[0]).target
                known = getattr(target, "scores", None) is Model.scores  # of the class: no server decides it
                scores = "score" in getattr(target, "answers", ()) if known else loaded(Component(name=model)).scores
            except HarnessError:
                continue
            if not scores:
                found.append(model)
    return found


def scenario_of(data: str, registry: Registry, job: str) -> str | dict[str, str]:
    """Return the scenario of DATA: for a file, the scenario that has the job, with the path; else the shorthand itself.

    A value that looks like the path of a missing file counts as a file, so that all faulty files are reported together.
    """
    file = Path(data)
    missing = file.suffix and ":" not in data and not file.is_file()
    if missing or (file.is_file() and file.suffix not in {".yaml", ".yml"}):
        return {"name": registry.with_role(Kind.SCENARIO, job).name, "path": str(file.resolve())}
    return data


def read_descriptions(
    runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None
) -> Iterator[tuple[RunSpec, dict[str, Any]]]:
    """Yield the first run of each data set, with what its adapter says of the data; no model is asked.

    Raises:
        DataError: Data are missing, or not what the adapter needs; it names all of them, once everything else has been
            yielded.
    """
    faults: dict[str, None] = {}
    seen = set()
    for spec in runs:
        # Neither the model nor its context matters to the text, and targets and controls may be the same rows.
        settings = {**spec.adapter.arguments, "role": None, "context": None}
        key = json_text([spec.scenario.label, spec.eval_split, spec.adapter.name, settings])
        if key in seen:
            continue
        seen.add(key)
        try:
            yield spec, _description(spec, registry, data_dir)
        except HarnessError as error:
            name = str(spec.scenario.arguments.get("path", spec.scenario.label))
            faults[str(error) if name in str(error) else f"{name}: {error}"] = None
    if faults:
        raise DataError("\n".join(faults))


def _description(spec: RunSpec, registry: Registry, data_dir: Path | None) -> dict[str, Any]:
    path = spec.scenario.arguments.get("path")
    if isinstance(path, str) and Path(path).is_absolute() and not Path(path).exists():
        raise DataError(f"{path} does not exist; DATA is a file, or a scenario such as mmlu:subject=anatomy.")
    arguments = spec.adapter.arguments
    if "context" in arguments:  # in tokens, while the text is counted in characters
        adapter = spec.adapter.model_copy(update={"arguments": {**arguments, "context": None}})
        spec = spec.model_copy(update={"adapter": adapter})
    first = next(iter(prepare(spec, registry, data_dir).adapted(_Characters())), None)
    return {} if first is None else dict(first.instance.meta.get("data") or {})


def _refuse_shared_rows(rows: str | None, control_rows: str, most: int | None) -> None:
    """Refuse control rows that are tested as well: a control that a model was trained on says nothing.

    Raises:
        DataError: There are such rows.
    """
    tested, control = row_range(rows or f"0:{most or sys.maxsize}"), row_range(control_rows)
    if tested is None or control is None:
        return  # an error of the adapter's settings
    start, stop = max(tested[0], control[0]), min(tested[1], control[1])
    if start < stop:
        advice = "Name other rows with --control-rows." if rows else "Name the rows to test with --rows."
        raise DataError(
            f"--control-rows {control_rows}: rows {start}:{stop} are also tested. Control rows must be rows that no "
            f"model was trained on. {advice}"
        )


def row_range(rows: str) -> tuple[int, int] | None:
    """Return the first row of a range such as ``0:100``, and the one after the last; None if it is not a range."""
    start, _, stop = (part.strip() for part in rows.partition(":"))
    if not (start.isdecimal() and stop.isdecimal() and int(start) < int(stop)):
        return None
    return int(start), int(stop)


def diagnoses(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> dict[str, dict[str, Any]]:
    """Return each run's diagnostics of its data, by the scenario's label, without asking a model.

    Raises:
        DataError: Data are missing, or have no published order; it names all of them.
    """
    return {spec.scenario.label: found for spec, found in read_descriptions(runs, registry, data_dir)}


def largest_size(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Size:
    """Return what a test by generated text asks at most, where it does not stop early; four characters are a token.

    Raises:
        HarnessError: The data are missing, or have no published order.
    """
    examples = requests = prompt = written = 0
    for adapted in prepare(spec, registry, data_dir).adapted(_FourCharacters()):
        examples += 1
        for request in adapted.requests:
            if isinstance(request, GenerateRequest):
                requests += 1
                prompt += len(str(request.prompt)) + len(request.prefill)
                written += request.max_tokens
    return Size(examples, requests, prompt / _CHARACTERS, written)


class _Characters:
    """A tokenization that counts characters, for questions about texts alone."""

    window = 2**30
    chat = False
    tools = False
    continues = True

    def count_tokens(self, prompt: Prompt) -> int:
        return 1

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        return [len(segment) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return text[:tokens]


class _FourCharacters(_Characters):
    """A tokenization to which four characters are a token."""

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        return [-(-len(segment) // _CHARACTERS) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return text[: _CHARACTERS * tokens]


_CHARACTERS = 4

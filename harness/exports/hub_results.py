"""Results in repositories of models on the Hub: ``.eval_results/*.yaml``, and the older ``model-index`` of model cards.

Formats: https://huggingface.co/docs/hub/eval-results, and huggingface/hub-docs ``modelcard.md``. Both name the data set
on the Hub, so only runs of scenarios that are there can be written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import yaml

from harness.contracts import Stat
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.errors import HarnessError
from harness.exports.exporter import CannotHoldError, Exporter, ExportOptions
from harness.exports.model_identity import model_identity
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun
from harness.installation import DISTRIBUTION, install_advice
from harness.plugins.registry import Registry

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry

FOLDER = ".eval_results"

_PARAMETER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class HubOptions(ExportOptions):
    """Where readers find more about the results, and who made models without a name on the Hub."""

    source_url: str = ""
    """Address of the results, such as that of a data set made with ``harness publish``."""

    source_name: str = ""
    """What the link is called; needs ``source_url``."""

    developer: str | None = None
    """Developer of models whose name does not say it, such as checkpoints in a folder (default: ``local``)."""

    task_id: str = ""
    """The task's id in the data set's eval.yaml (default: the data set's configuration, or ``default``)."""


@dataclass(frozen=True, slots=True)
class HubData:
    """A scenario's data set on the Hub."""

    path: str
    """``owner/name``."""
    config: str | None
    """Its configuration."""
    split: str | None
    """The Hub's name of the evaluated split."""
    revision: str | None
    """The commit that was read; None if the run read files of the data's authors instead."""


def hub_data(run: StoredRun, registry: Registry) -> HubData:
    """Return the data set on the Hub that a run evaluated.

    Raises:
        CannotHoldError: It is not on the Hub as far as the run and the scenario tell, or was sample data.
    """
    spec, data = run.record.spec, run.record.provenance.get("data") or {}
    if data.get("sample"):
        raise CannotHoldError("it evaluated sample data, not the benchmark.")
    scenario = registry.find(Kind.SCENARIO, spec.scenario.name)
    source = scenario.details.data if scenario and isinstance(scenario.details, ScenarioDetails) else None
    declared = None if source is None else source.hub
    split = None if declared is None else declared.splits.get(spec.eval_split.value)
    if data.get("kind") == "hub" and data.get("path"):
        return HubData(str(data["path"]), data.get("config"), split, data.get("revision"))
    if declared is None:
        raise CannotHoldError(f"the scenario {spec.scenario.name} does not name a data set on the Hub.")
    config = declared.config
    if config is not None:
        config = _PARAMETER.sub(lambda found: str(spec.scenario.arguments.get(found[1], found[0])), config)
    return HubData(declared.path, config if config is None or "{{" not in config else None, split, None)


def _main_stat(run: StoredRun) -> Stat:
    stat = run.main_stat
    if stat is None:
        raise CannotHoldError(f"it has no result of its main metric ({run.record.spec.main_metric}).")
    return stat


def _notes(run: StoredRun, stat: Stat) -> str:
    """Return the setup of a run in one line: what a reader needs to compare the value with others."""
    spec = run.record.spec
    shots = spec.adapter.arguments.get("max_train_instances")
    parts = [stat.metric, spec.adapter.name, *([f"{shots}-shot"] if isinstance(shots, int) else [])]
    parts += [f"{stat.split} split", f"n={stat.count}"]
    if stat.ci95 is not None:
        parts.append(f"95% interval {stat.ci95[0]:.4g} to {stat.ci95[1]:.4g}")
    if spec.max_eval_instances is not None:
        parts.append(f"a random part of the split (at most {spec.max_eval_instances} instances)")
    if spec.perturbations:
        parts.append(f"perturbed copies counted apart: {' '.join(sorted(one.name for one in spec.perturbations))}")
    if spec.seed:
        parts.append(f"seed {spec.seed}")
    origin = run.record.provenance.get("origin")
    by = str(origin.get("program", "another program")) if origin else f"{DISTRIBUTION} {_version(run)}".strip()
    return ", ".join([*parts, by, f"run {spec.digest}"])


def _version(run: StoredRun) -> str:
    return str((run.record.provenance.get("versions") or {}).get(DISTRIBUTION, ""))


def eval_result_entry(run: StoredRun, registry: Registry, options: HubOptions) -> EvalResultEntry:
    """Return a run's main result as an entry of ``.eval_results``.

    Raises:
        CannotHoldError: The format cannot hold the run.
        HarnessError: The Hub's library is not installed, or the options do not fit together.
    """
    try:
        from huggingface_hub import EvalResultEntry
    except ImportError:
        raise HarnessError(f"this format needs huggingface_hub: {install_advice('hub')}") from None
    if options.source_name and not options.source_url:
        raise HarnessError("source_name needs source_url: --set source_url=ADDRESS.")
    data, stat = hub_data(run, registry), _main_stat(run)
    return EvalResultEntry(
        dataset_id=data.path,
        task_id=options.task_id or data.config or "default",
        value=stat.mean,
        dataset_revision=data.revision,
        date=run.record.finished or None,
        source_url=options.source_url or None,
        source_name=options.source_name or None,
        notes=_notes(run, stat),
    )


def eval_results_file(run: StoredRun, registry: Registry, options: HubOptions) -> tuple[str, str]:
    """Return the name and content of a run's file in ``.eval_results``; each setup of a benchmark has one of its own.

    Raises:
        CannotHoldError: The format cannot hold the run.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    entry = eval_result_entry(run, registry, options)
    content = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)
    return portable_name(f"{run.record.spec.scenario.label}-{run.record.spec.digest}") + ".yaml", content


class EvalResultsExporter(Exporter):
    """Writes ``{developer}/{model}/.eval_results/{scenario}-{digest}.yaml``: each run's main result."""

    options_type = HubOptions
    options: HubOptions

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        name, content = eval_results_file(run, self.registry, self.options)
        folder.write(*_place(run, self.options), FOLDER, name, text=content)
        report.leave_out("statistics other than the main result", len(run.record.stats) - 1)


class ModelIndexExporter(Exporter):
    """Writes ``{developer}/{model}/README.md``: the metadata of a model card, with every overall result."""

    options_type = HubOptions
    options: HubOptions

    def export(self, runs: Sequence[StoredRun], folder: OutputFolder, report: ExportReport) -> None:
        cards: dict[tuple[str, ...], list[EvalResult]] = {}
        for run in runs:
            report.begin(run)
            try:
                results = overall_results(run, self.registry, self.options)
            except HarnessError as error:
                report.refuse(run, error)
                continue
            cards.setdefault(_place(run, self.options), []).extend(results)
            report.leave_out(
                "statistics of perturbed copies, groups and other splits", len(run.record.stats) - len(results)
            )
            report.exported(run)
        for place, results in cards.items():
            folder.write(*place, "README.md", text=_card(place[-1], results))

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        place, results = _place(run, self.options), overall_results(run, self.registry, self.options)
        folder.write(*place, "README.md", text=_card(place[-1], results))


def overall_results(run: StoredRun, registry: Registry, options: HubOptions) -> list[EvalResult]:
    """Return a run's overall results for ``model-index``, the main one first.

    Raises:
        CannotHoldError: The format cannot hold the run.
        HarnessError: The Hub's library is not installed.
    """
    try:
        from huggingface_hub import EvalResult
    except ImportError:
        raise HarnessError(f"this format needs huggingface_hub: {install_advice('hub')}") from None
    data, spec = hub_data(run, registry), run.record.spec
    titles = run.record.provenance.get("scenario") or {}
    main = _main_stat(run)
    overall = [stat for stat in run.record.stats if stat.overall and stat.split == spec.eval_split.value]
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=data.path,
            dataset_name=str(titles.get("title") or spec.scenario.label),
            dataset_config=data.config,
            dataset_split=data.split,
            dataset_revision=data.revision,
            metric_type=stat.metric,
            metric_name=stat.metric,
            metric_value=stat.mean,
            metric_args=_metric_args(run, stat),
            source_name=options.source_name or ("Results" if options.source_url else None),
            source_url=options.source_url or None,
        )
        for stat in (main, *(stat for stat in overall if stat != main))
    ]


def model_index(name: str, results: Sequence[EvalResult]) -> list[dict[str, Any]]:
    """Return the value of ``model-index``: one model, its results grouped by task and data set."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    return cast("list[dict[str, Any]]", _plain(eval_results_to_model_index(name, list(results))))


def _metric_args(run: StoredRun, stat: Stat) -> dict[str, Any]:
    """Return what tells results of one metric apart, and the uncertainty, for which the format has no field."""
    spec = run.record.spec
    known = {
        "stderr": stat.stderr,
        "ci95": None if stat.ci95 is None else list(stat.ci95),
        "max_train_instances": spec.adapter.arguments.get("max_train_instances"),
        "max_eval_instances": spec.max_eval_instances,
        "perturbations": sorted(one.name for one in spec.perturbations) or None,
        "seed": spec.seed or None,
    }
    return {
        "run": spec.digest,
        "method": spec.adapter.name,
        "count": stat.count,
        **{key: value for key, value in known.items() if value is not None},
    }


def _place(run: StoredRun, options: HubOptions) -> tuple[str, ...]:
    developer, _, name = model_identity(run, options.developer).id.partition("/")
    return portable_name(developer), portable_name(name)


def _card(name: str, results: list[EvalResult]) -> str:
    metadata = {"model-index": model_index(name, results)}
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)}---\n"


def _plain(value: Any) -> Any:
    """Return YAML values without keys whose value is null, which the Hub refuses in some places."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value

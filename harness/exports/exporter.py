"""What each export format implements, and the formats by name."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import HarnessError, SpecError, StorageError, did_you_mean
from harness.exports.output_folder import OutputFolder
from harness.exports.report import CannotHoldError as CannotHoldError
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun
from harness.plugins.registry import Registry
from harness.validation import explain


class ExportOptions(BaseModel):
    """Options of a format, given as ``--set KEY=VALUE``; each format may have a subclass of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Exporter(ABC):
    """Writes runs in one format.

    A new object is made for each export. What the format has no place for is counted by name with
    :meth:`ExportReport.leave_out`, so that nothing is lost silently; a run that the format cannot hold at all raises
    :class:`CannotHoldError`.
    """

    options_type: ClassVar[type[ExportOptions]] = ExportOptions
    """The format's options, a subclass of :class:`ExportOptions` with an attribute docstring for each field."""

    def __init__(self, options: ExportOptions, registry: Registry) -> None:
        """Make an exporter.

        Args:
            options: The format's options, an instance of ``options_type``.
            registry: The plugins, for what runs do not record, such as a scenario's data set on the Hub.
        """
        self.options = options
        self.registry = registry

    def export(self, runs: Sequence[StoredRun], folder: OutputFolder, report: ExportReport) -> None:
        """Write runs into a folder.

        Formats with one or more files for each run implement :meth:`export_run`; formats whose files hold several runs
        override this method, and report each run that they refuse.

        Args:
            runs: Finished runs, by suite and name; none of them failed.
            folder: Takes the files; they appear in the user's folder when the whole export has ended.
            report: Takes what was left out and which runs were refused.
        """
        for run in runs:
            report.begin(run)
            try:
                with folder.together():
                    self.export_run(run, folder, report)
            except StorageError:
                raise  # the others could not be written either
            except HarnessError as error:
                report.refuse(run, error)
            else:
                report.exported(run)

    @abstractmethod
    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        """Write one run.

        Raises:
            CannotHoldError: The format cannot hold the run.
            DataError: The run's examples are damaged.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """An export format, described without importing it."""

    module: str
    """The module that defines its exporter."""
    exporter: str
    """The exporter's class."""
    title: str
    """What it is, for help."""

    def load(self) -> type[Exporter]:
        """Return the exporter's class."""
        found: type[Exporter] = getattr(importlib.import_module(self.module), self.exporter)
        return found


FORMATS: Mapping[str, Format] = {
    "every-eval-ever": Format(
        "harness.exports.every_eval_ever.exporter",
        "EveryEvalEverExporter",
        "Every Eval Ever, schema 0.3: one JSON file per run, with samples as JSON lines.",
    ),
    "helm": Format(
        "harness.exports.helm.exporter",
        "HelmExporter",
        "HELM: a run folder for each run, in runs/SUITE.",
    ),
    "inspect": Format(
        "harness.exports.inspect_ai.exporter",
        "InspectExporter",
        "Logs of inspect_ai (.eval): one for each run and perturbation.",
    ),
    "lighteval": Format(
        "harness.exports.lighteval.exporter",
        "LightevalExporter",
        "lighteval: results_*.json and details_*.parquet, a folder for each run.",
    ),
    "lm-eval": Format(
        "harness.exports.lm_eval.exporter",
        "LmEvalExporter",
        "lm-evaluation-harness: results_*.json and samples_*.jsonl, a folder for each run.",
    ),
    "eval-results": Format(
        "harness.exports.hub_results",
        "EvalResultsExporter",
        "The Hub's .eval_results: one YAML file per run, for the repository of its model.",
    ),
    "model-index": Format(
        "harness.exports.hub_results",
        "ModelIndexExporter",
        "The older metadata of model cards on the Hub: one README.md per model.",
    ),
}
"""The export formats by the name that ``--to`` takes."""


def make_exporter(name: str, settings: Mapping[str, str], registry: Registry) -> Exporter:
    """Return a new exporter of a format.

    Args:
        name: The format's name.
        settings: Values of its options, as a user wrote them.
        registry: The plugins.

    Raises:
        HarnessError: There is no such format or option, or a value does not fit.
    """
    if name not in FORMATS:
        raise HarnessError(f"there is no export format {name!r}. {did_you_mean(name, FORMATS)}")
    kind = FORMATS[name].load()
    try:
        options = kind.options_type.model_validate(dict(settings))
    except ValidationError as error:
        raise SpecError(explain(error, kind.options_type, noun=f"option of {name}")) from None
    return kind(options, registry)

"""The results of runs as data frames, read from disk when they are asked for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.annotation.people import people_sections
from harness.errors import DataError, HarnessError, did_you_mean, shown
from harness.leaderboard.cells import main_stat
from harness.leaderboard.checkpoint_table import curve_records
from harness.leaderboard.model_names import model_names
from harness.leaderboard.run_titles import run_titles
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.tables import (
    comparison_of_models,
    comparison_of_runs,
    leaderboard_of,
    prompts_of,
    signal_of,
    stats_of,
)
from harness.output.display import counted
from harness.output.html import as_html
from harness.output.html import shown as escaped
from harness.output.result_table import ResultTable
from harness.plugins.registry import Registry
from harness.python.columns import COMPARISON, CURVES, LEADERBOARD, PROMPTS, RUNS, SAMPLES, SIGNAL, STATS
from harness.python.frames import Frame, Library, frame, frames
from harness.python.plugins import listed, registry_with
from harness.python.samples import samples_of
from harness.runs.determinism import recorded_grade
from harness.runs.settings import results_folder
from harness.storage.results import RUN_FILE, RunRecord, read_run, run_directories, suite_directories, warn_set_aside

SITE = "site"
"""The folder of the web site in a folder of results."""


class Results:
    """The runs in a folder of results: ``Results("results").leaderboard()``.

    Each method reads what it needs from disk, so that it shows the runs that have ended by now; a file that has not
    changed is not read again. Data frames are of pandas unless ``to`` names another library; they need the extra
    ``dataframes``. Their columns are listed in the reference. A record that cannot be read is left out, with a warning
    in the log.

    Args:
        path: The folder of results (default: ``HARNESS_RESULTS_DIR``, else ``results``).
        suites: Only this suite, or these; None for all.
        plugins: Further plugins, for titles and for scores that are computed again: files, folders, or decorated
            objects. Those of the running program or notebook are known.
        only: Only these runs, by suite and name; None for all.
        unfinished: What :attr:`unfinished` is to be.

    Attributes:
        unfinished: The runs that have no results because ``harness.evaluate`` ran out of time.

    Raises:
        DataError: The folder is not one of results.
        HarnessError: An argument has another type.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        suites: str | Sequence[str] | None = None,
        *,
        plugins: Sequence[Any] = (),
        only: Collection[tuple[str, str]] | None = None,
        unfinished: Sequence[str] = (),
    ) -> None:
        if path is not None and not isinstance(path, str | os.PathLike):
            raise HarnessError(f"path must be a folder of results, not {_short(path)}.")
        self.path = results_folder(path)
        self.suites = (
            None if suites is None else (suites,) if isinstance(suites, str) else tuple(listed(suites, "suites"))
        )
        self._plugins, self._only = tuple(listed(plugins, "plugins")), None if only is None else frozenset(only)
        self.unfinished = tuple(unfinished)
        self._read: dict[Path, tuple[tuple[int, int], RunRecord]] = {}
        if (self.path / RUN_FILE).is_file():
            raise DataError(f"{self.path} is the folder of a run; open the folder of results that it is in.")
        if suite_directories(self.path):
            folder, suite = self.path.parent, self.path.name
            raise DataError(f"{self.path} is the folder of a suite; write Results({str(folder)!r}, {suite!r}).")
        run_directories(self.path, self.suites)

    def runs(self, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each run: its main metric, tokens, time and errors.

        Raises:
            HarnessError: The library is not installed, or the folder is gone.
        """
        records = self.records()
        names = model_names(records)
        return frame((_run_values(record, names[record.model_key]) for record in records), RUNS, to)

    def leaderboard(self, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each model and column of the leaderboard.

        The numbers are those of ``harness leaderboard --format csv`` over the same suites.
        ``frame.pivot(index="model", columns="column", values="mean")`` gives a table of models and scenarios.

        Raises:
            HarnessError: The library is not installed, or the folder is gone.
        """
        return frame(self.leaderboard_table().records, LEADERBOARD, to)

    def prompts(self, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each model, column and variant of the prompt, where there are several.

        The numbers are those of ``harness prompts --format csv``: each prompt's mean, and the mean over instances and
        prompts with its interval and the standard deviation between prompts.

        Raises:
            HarnessError: The library is not installed, or the folder is gone.
        """
        return frame(prompts_of(self.records(), self._registry).records, PROMPTS, to)

    def curves(self, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each checkpoint of a training and column of the leaderboard, by step.

        ``frame[frame.column == "BoolQ"].pivot(index="step", columns="series", values="mean")`` gives the curves of a
        scenario; ``low`` and ``high`` are the 95 % interval. Models that are the same step have a row each.

        Raises:
            HarnessError: The library is not installed, or the folder is gone.
        """
        records = self.records()
        return frame(curve_records(records, run_titles(records, self._registry)), CURVES, to)

    def signal(self, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each training and column: which neighbouring checkpoints it tells apart.

        The numbers are those of ``harness checkpoints --format csv``.

        Raises:
            HarnessError: The library is not installed, or the folder is gone.
        """
        return frame(signal_of(self.records(), self._registry).records, SIGNAL, to)

    def stats(self, run: str | os.PathLike[str] | None = None, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each statistic of a run, or of all runs.

        The numbers are those of ``harness stats --format csv``.

        Args:
            run: Name of the run, ``suite/name``, or its folder; None for all.
            to: Library of the data frame.

        Raises:
            HarnessError: There is no such run, or the library is not installed.
        """
        records = self.records() if run is None else [self.record(run)]
        return frame((values for record in records for values in self.stats_table(record).records), STATS, to)

    def compare(self, first: str, second: str, metric: str | None = None, *, to: Library = "pandas") -> Frame:
        """Return a data frame with the paired comparison of two models, or of two runs, on the instances of both.

        The numbers are those of ``harness compare --format csv``. What cannot be compared has no row; a warning says
        why.

        Args:
            first: A model, as tables show it or as sweeps name it; or the name of a run.
            second: Another.
            metric: The score to compare (default: the main metric).
            to: Library of the data frame.

        Raises:
            HarnessError: There is no such model or run, they cannot be compared, or the library is not installed.
        """
        table = self.comparison_table(first, second, metric)
        if problems := table.value["problems"]:
            warnings.warn("\n".join(["not compared:", *map(str, problems)]), stacklevel=2)
        return frame(table.records, COMPARISON, to)

    def samples(self, run: str | os.PathLike[str] | None = None, *, to: Library = "pandas") -> Frame:
        """Return a data frame with a row for each example of a run, or of all runs: input, prompt, answer, scores.

        A run that failed before it wrote examples has no rows.

        Args:
            run: Name of the run, ``suite/name``, or its folder; None for all.
            to: Library of the data frame.

        Raises:
            HarnessError: There is no such run, its examples are damaged, or the library is not installed.
        """
        records = self.records()
        names = model_names(records)
        chosen = records if run is None else [self.record(run)]
        return frames([([], SAMPLES), *(samples_of(record, names[record.model_key]) for record in chosen)], to)

    def site(self, folder: str | os.PathLike[str] | None = None, *, ratings: Sequence[Path] = ()) -> Path:
        """Build the web site of the suites, as ``harness leaderboard --site`` does, and return its first page.

        Args:
            folder: Folder for the site (default: ``site`` in the folder of results).
            ratings: Studies whose ratings are shown as well.

        Raises:
            HarnessError: It cannot be written, or its folder holds something else.
        """
        output = self.path / SITE if folder is None else Path(folder)
        sections = people_sections(self.path, [Path(study) for study in listed(ratings, "ratings")])
        return build_site(self.path, output, self.suites, registry=self._registry, sections=sections)

    def records(self) -> list[RunRecord]:
        """Return the record of each run, which has everything but its examples, by suite and name.

        Raises:
            DataError: The folder is gone.
        """
        found = []
        for directory in self._directories():
            try:
                found.append(self._record(directory))
            except DataError as error:
                warn_set_aside(error)
        return found

    def record(self, run: str | os.PathLike[str]) -> RunRecord:
        """Return the record of a run.

        Args:
            run: Its name, ``suite/name``, or its folder.

        Raises:
            DataError: There is no such run, or several suites have one.
            HarnessError: It is neither a text nor a path.
        """
        if not isinstance(run, str | os.PathLike):
            raise HarnessError(f"run must be the name of a run or its folder, not {_short(run)}.")
        run = os.fspath(run)
        records = {f"{record.suite}/{record.name}": record for record in self.records()}
        found = [name for name, record in records.items() if run in (name, record.name)]
        if not found and run:  # a folder, from which a program may see it by another path
            place = Path(run).absolute().resolve()
            found = [name for name, record in records.items() if record.directory.absolute().resolve() == place]
        if len(found) > 1:
            raise DataError(f"several suites have a run {run!r}; name one of: {' or '.join(found)}.")
        if not found:
            hint = did_you_mean(run, [record.name for record in records.values()])
            hint = hint if hint.startswith("Did") else "runs() lists all runs."  # their names have commas
            raise DataError(f"there is no run {run!r} in {self.path}. {hint}")
        return records[found[0]]

    def leaderboard_table(self, *, all_columns: bool = False) -> ResultTable:
        """Return the leaderboard as ``harness leaderboard`` shows it."""
        return leaderboard_of(self.records(), self._registry, all_columns=all_columns)

    def stats_table(self, record: RunRecord) -> ResultTable:
        """Return a run's statistics as ``harness stats`` shows them."""
        return stats_of(record, self._registry)

    def comparison_table(self, first: str, second: str, metric: str | None = None) -> ResultTable:
        """Return a comparison as ``harness compare`` shows it; arguments and errors are those of :meth:`compare`."""
        for given in (first, second):
            if not isinstance(given, str):
                raise HarnessError(f"a model or a run is compared by its name, not {_short(given)}.")
        records = self.records()
        known = {name for record in records for name in (record.name, f"{record.suite}/{record.name}")}
        named = [name for name in (first, second) if name in known]
        if len(named) == 1:
            other = second if named[0] == first else first
            raise DataError(f"{named[0]} is a run, but {other!r} is not; compare two runs, or two models.")
        if named:
            return comparison_of_runs(self.record(first), self.record(second), metric, self._registry)
        return comparison_of_models(records, first, second, metric, self._registry)

    def _directories(self) -> list[Path]:
        found = run_directories(self.path, self.suites)
        return [each for each in found if self._only is None or (each.parent.name, each.name) in self._only]

    def _record(self, directory: Path) -> RunRecord:
        try:
            stat = (directory / RUN_FILE).stat()
            version = stat.st_mtime_ns, stat.st_size
        except OSError:
            return read_run(directory)  # says what is wrong
        known = self._read.get(directory)
        if known is None or known[0] != version:
            known = self._read[directory] = version, read_run(directory)
        return known[1]

    @cached_property
    def _registry(self) -> Registry:
        return registry_with(self._plugins)

    def __repr__(self) -> str:
        suites = "" if self.suites is None else f", {list(self.suites)!r}"
        unfinished = f", {len(self.unfinished)} unfinished" if self.unfinished else ""
        return f"Results({str(self.path)!r}{suites}): {counted(len(self._directories()), 'run')}{unfinished}"

    def _repr_html_(self) -> str:
        """Return the leaderboard for a notebook, with a link to the web site if there is one."""
        page = self.path / SITE / "index.html"
        address, name = escaped(page.resolve().as_uri()), escaped(str(page))
        link = f'<div><a href="{address}">{name}</a></div>' if page.is_file() else ""
        return f"{as_html(self.leaderboard_table())}{link}"


def _short(value: object) -> str:
    """Return a value for a message; only its type if it takes several lines, such as a column of a data frame."""
    text = shown(value)
    return f"a {type(value).__name__}" if "\n" in text else text


def _run_values(record: RunRecord, model: str) -> dict[str, Any]:
    """Return a run's row."""
    spec, spent = record.spec, record.efficiency
    stat = main_stat(record) if record.status == "ok" else None
    low, high = (None, None) if stat is None or stat.ci95 is None else stat.ci95
    training = spec.training_step
    return {
        "suite": record.suite,
        "run": record.name,
        "status": record.status,
        "error": record.error,
        "no_value": record.no_value or None,
        "model": model,
        "model_id": spec.model.label,
        "scenario": spec.scenario.label,
        "method": spec.adapter.name,
        "metric": spec.main_metric,
        "higher_is_better": stat and stat.higher_is_better,
        "mean": stat and stat.mean,
        "stderr": stat and stat.stderr,
        "low": low,
        "high": high,
        "count": stat and stat.count,
        "examples": spent.get("examples"),
        "declined": record.declined.examples,
        "prompt_tokens": spent.get("prompt_tokens"),
        "completion_tokens": spent.get("completion_tokens"),
        "computed_tokens": spent.get("computed_tokens"),
        "seconds": spent.get("wall_seconds"),
        "money": spent.get("money"),
        "currency": spent.get("currency"),
        "series": training and training.series,
        "step": training and training.step,
        "determinism": recorded_grade(record.provenance),
        "sample": bool(record.provenance.get("data", {}).get("sample")),
        "started": record.started,
        "finished": record.finished,
        "folder": str(record.directory),
    }

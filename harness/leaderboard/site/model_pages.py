"""The models' data: the table of models (Liang et al. 2022, table 5), and for each model its results and where from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.leaderboard.cells import imported_from, main_stat
from harness.leaderboard.columns import canonical
from harness.leaderboard.model_names import backend_of
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import newest_board, run_of_cell, win_rate_values
from harness.leaderboard.site.calibration_plots import CATEGORY, run_diagram
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.model_facts import facts_of, tags_of
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import sentence
from harness.storage.results import RunRecord

TOTALS = ("queries", "cached_queries", "prompt_tokens", "completion_tokens", "model_seconds", "model_flops")
"""The costs of a run that add up over runs."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``models``, the table of all models, and for each model ``models/ADDRESS``.

    A model's page takes its results, and those of the other models, from the leaderboard of a suite; what is written
    here is the rest: facts, calibration, contamination, runs with their costs, and provenance.
    """
    newest = newest_board(snapshot)
    places = {row.model: row for row in newest.board.rows}
    table = []
    for name, runs in snapshot.by_model.items():
        place = places.get(name)
        summary = {
            "name": name,
            "identifier": runs[-1].spec.model.label,
            "backend": backend_of(runs[-1]),
            "address": model_address(runs[0].spec.model),
            "facts": facts_of(runs),
            "tags": tags_of(runs),
            "runs": len(runs),
            "failed": sum(run.status != "ok" for run in runs),
            "rank": place and place.rank,
            "rate": place and win_rate_values(place.win_rate),
            **totals(runs),
        }
        table.append(summary)
        page = {
            "about": summary,
            "suites": _suites(snapshot, name, runs),
            "calibration": list(_calibration(snapshot, name)),
            "contamination": list(_contamination(snapshot, name)),
            "ratings": list(_ratings(runs)),
            "runs": [_run(run) for run in runs],
            # Each different fingerprint, version and host, with its number of runs.
            "fingerprints": _counted(run.provenance.get("model", {}).get("fingerprint") for run in runs),
            "versions": _counted(run.provenance.get("versions") for run in runs),
            "hosts": _counted(run.provenance.get("host") for run in runs),
        }
        folder.put(f"models/{summary['address']}", page)
    folder.put("models", {"suite": newest.title, "models": table})


def totals(runs: Iterable[RunRecord]) -> dict[str, Any]:
    """Return the total costs of runs; costs that no run states are left out, and money is summed by currency.

    ``device_seconds`` are the model's seconds times the number of devices that it uses at once.
    """
    sums: dict[str, float] = {}
    money: dict[str, float] = {}
    energy = 0.0
    for run in runs:
        for name in TOTALS:
            value = run.efficiency.get(name)
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
        if isinstance(seconds := run.efficiency.get("model_seconds"), int | float):
            sums["device_seconds"] = sums.get("device_seconds", 0) + seconds * _devices(run)
        if isinstance(price := run.efficiency.get("money"), int | float):
            currency = str(run.efficiency.get("currency", ""))
            money[currency] = money.get(currency, 0.0) + price
        joules = run.efficiency.get("energy_joules")
        if isinstance(joules, Mapping):
            energy += sum(value for value in joules.values() if isinstance(value, int | float))
    found: dict[str, Any] = dict(sums)
    if money:
        found["money"] = [[amount, currency] for currency, amount in sorted(money.items())]
    if energy:
        found["energy_joules"] = energy
    return found


def _devices(run: RunRecord) -> int:
    """Return how many devices a run's model uses at once; 1 if the record does not say."""
    model = run.provenance.get("model", {})
    devices = model.get("devices_at_once") if isinstance(model, Mapping) else None
    return devices if isinstance(devices, int) and devices > 0 else 1


def _suites(snapshot: Snapshot, model: str, runs: Sequence[RunRecord]) -> list[list[Any]]:
    """Return for each suite with results of a model its key and name, the model's costs, and the run of each column.

    The run is null where a column has several (:func:`run_of_cell`). The suite that the page shows first comes first.
    That is the suite whose leaderboard the site shows first, if the model is on it; else the one that ended last.
    """
    views = [view for view in snapshot.boards if view.suite and any(run.suite == view.suite for run in runs)]
    newest = newest_board(snapshot)
    order = sorted(
        views,
        key=lambda view: (view is newest, _has_results(view, model), view.board.finished, view.suite),
        reverse=True,
    )
    return [
        [
            view.key,
            view.suite,
            totals(run for run in runs if run.suite == view.suite),
            [run_of_cell(view, column, model) for column in range(len(view.groups))],
        ]
        for view in order
    ]


def _has_results(view: BoardView, model: str) -> bool:
    """Return whether a model has a number in a column that is not a test of data."""
    row = next((row for row in view.board.rows if row.model == model), None)
    pairs = zip(row.cells, view.board.columns, strict=True) if row else ()
    return any(cell is not None and cell.mean is not None and not column.test for cell, column in pairs)


def _main_views(snapshot: Snapshot) -> list[BoardView]:
    return [view for view in snapshot.boards if view.suite]


def _calibration(snapshot: Snapshot, model: str) -> Iterator[dict[str, Any]]:
    """Yield each reliability diagram of a model, with suite, run, and scenario with its parameters."""
    for view in _main_views(snapshot):
        for counting, measures in zip(view.counting, view.measures, strict=True):
            metric = next((one.metric for one in measures if one.represents and one.category == CATEGORY), "")
            for run in counting.get(model, {}).values() if metric else ():
                if diagram := run_diagram(run, metric):
                    place = {"suite": view.suite, "run": address_of(run), "scenario": run.spec.scenario.label}
                    yield {**place, **diagram}


def _contamination(snapshot: Snapshot, model: str) -> Iterator[dict[str, Any]]:
    """Yield the tests of the data sets that a model may have been trained on; controls and re-tests are left out.

    Data sets that cannot be tested have a reason instead of a p-value.
    """
    for finding in snapshot.findings:
        if snapshot.model(finding.record) == model and (finding.counts or not (finding.testable or finding.control)):
            yield {
                "run": address_of(finding.record),
                "suite": finding.record.suite,
                "scenario": finding.record.spec.scenario.label,
                "shown": finding.seen,
                "verdict": finding.verdict,
                "log10_p": finding.log10_p_holm if finding.testable else None,
                "reason": finding.why_not_testable,
            }


def _ratings(runs: Iterable[RunRecord]) -> Iterator[dict[str, Any]]:
    """Yield people's ratings that runs have counted: the run, the questionnaire, and the numbers of each question."""
    for run in runs:
        for splits in run.details.values():
            subsets = splits.get(run.spec.eval_split.value) if isinstance(splits, Mapping) else None
            found = subsets.get("original") if isinstance(subsets, Mapping) else None
            if isinstance(found, Mapping) and found.get("questionnaire") and found.get("questions"):
                yield {
                    "run": address_of(run),
                    "scenario": run.spec.scenario.label,
                    "study": str(found["questionnaire"]),
                    "questions": found["questions"],
                }


def _run(run: RunRecord) -> dict[str, Any]:
    stat = main_stat(run) if run.status == "ok" else None
    low, high = (stat and stat.ci95) or (None, None)
    return {
        "address": address_of(run),
        "suite": run.suite,
        "scenario": run.spec.scenario.label,
        "scenario_address": scenario_address(run.spec.scenario),
        "method": run.spec.adapter.name,
        "perturbations": [perturbation.name for perturbation in run.spec.perturbations],
        "status": run.status,
        "error": run.error,
        "no_value": sentence(run.no_value),
        "metric": run.spec.main_metric,
        "value": None if stat is None else [stat.mean, low, high, stat.count],
        "higher": stat.higher_is_better if stat else None,
        "sample": bool(run.provenance.get("data", {}).get("sample")),
        "origin": imported_from(run),
        "declined": str(run.declined) if run.declined.examples else "",
        "finished": run.finished,
        **{
            name: run.efficiency.get(name)
            for name in ("queries", "prompt_tokens", "completion_tokens", "model_seconds")
        },
    }


def _counted(values: Iterable[Any]) -> list[list[Any]]:
    found: dict[str, list[Any]] = {}
    for value in filter(None, values):
        found.setdefault(canonical(value), [value, 0])[1] += 1
    return list(found.values())

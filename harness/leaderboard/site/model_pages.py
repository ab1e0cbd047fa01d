"""The models' data: the table of models (Liang et al. 2022, table 5), and for each model all of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.leaderboard.cells import imported_from, main_stat
from harness.leaderboard.columns import canonical
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import win_rate_values
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot
from harness.storage.results import RunRecord

FACTS = (
    "creator", "modality", "parameters", "tokenizer", "window", "access",
    "architecture", "vocabulary", "dtype", "revision", "device",
)  # fmt: skip
"""The facts that a backend may give about its model; the first six are columns of the paper's table."""

TOTALS = ("queries", "cached_queries", "prompt_tokens", "completion_tokens", "model_seconds", "model_flops")
"""The costs of a run that add up over runs."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``models`` and, for each model, ``models/ADDRESS``."""
    rows = {row.model: row for row in snapshot.boards[0].board.rows}
    table = []
    for name, runs in snapshot.by_model.items():
        address = model_address(runs[0].spec.model)
        summary = {
            "name": name,
            "identifier": runs[-1].spec.model.label,
            "address": address,
            "facts": {**({"model": label} if (label := runs[-1].spec.model.label) != name else {}), **_facts(runs)},
            **totals(runs),
            "runs": len(runs),
            "failed": sum(run.status != "ok" for run in runs),
        }
        table.append(summary)
        page = {
            "about": summary,
            "rank": rows[name].rank,
            "rate": win_rate_values(rows[name].win_rate),
            "runs": [_run(run) for run in runs],
            # Each different fingerprint, version and host, with its number of runs.
            "fingerprints": _counted(run.provenance.get("model", {}).get("fingerprint") for run in runs),
            "versions": _counted(run.provenance.get("versions") for run in runs),
            "hosts": _counted(run.provenance.get("host") for run in runs),
        }
        folder.put(f"models/{address}", page)
    folder.put("models", table)


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


def _facts(runs: Sequence[RunRecord]) -> dict[str, Any]:
    """Return each fact about the model from the newest run that states it; those of the sweep come first."""
    known: dict[str, Any] = {}
    for run in sorted(runs, key=lambda run: run.finished):
        model = run.provenance.get("model", {})
        if isinstance(model, Mapping):
            known |= {name: model[name] for name in FACTS if model.get(name) is not None}
        about = run.spec.settings.about
        known |= about.model_dump(exclude_defaults=True) if about else {}
    return known


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

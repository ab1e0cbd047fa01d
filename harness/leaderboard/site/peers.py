"""Which runs asked the same questions, so that the page of one can show the answers of another."""

from __future__ import annotations

from harness.leaderboard.columns import canonical
from harness.leaderboard.site.addresses import address, address_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot
from harness.storage.results import RunRecord


def peers_address(run: RunRecord) -> str:
    """Return the address that a run shares with those of the same scenario, parameters and split."""
    scenario = run.spec.scenario
    return address(scenario.name, f"{canonical(scenario.model_dump(mode='json'))}/{run.spec.eval_split}")


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``peers/ADDRESS``: of each run with examples its address, model, method and suite."""
    found: dict[str, list[list[str]]] = {}
    for run in snapshot.runs:
        if run.examples is not None:
            entry = [address_of(run), snapshot.model(run), run.spec.adapter.name, run.suite]
            found.setdefault(peers_address(run), []).append(entry)
    for place, entries in found.items():
        folder.put(f"peers/{place}", entries)

"""How difficult the items of a column are: their mean score over the models that were asked, and the extremes.

The files of examples are large, so what an earlier build found is kept while none of the runs has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from harness.contracts import Scale
from harness.leaderboard.cells import main_stat
from harness.leaderboard.site.addresses import address_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView
from harness.storage.results import RunRecord

FORMAT = 2
"""Changes whenever what is written does."""

BINS = 10
EXTREMES = 8
"""Items that are listed as the hardest, and as the easiest."""

MODELS = 2
"""Fewest models for which items are compared."""

LONGEST = 160
"""Characters of an item's text; of a longer one the end is shown, where most questions are."""

Item = tuple[float, int, str, int]
"""Mean score over models, number of models, the address of a run, and the item's position in it."""


def difficulty(view: BoardView, column: int, folder: SiteFolder, known: Any) -> dict[str, Any] | None:
    """Return how many items have which mean score, and the hardest and easiest; None if items cannot be compared.

    It has ``of``, a digest of what it was computed from; ``models``, the number of models; ``bins``, the number of
    items by mean score in ten parts of the range from 0 to 1; ``none`` and ``all``, the number of items with a mean of
    0 and of 1; ``binary``, true if every model's score of every item is 0 or 1; ``hardest`` and ``easiest``: lists of
    mean score, number of models, run, id and text.

    Args:
        view: The leaderboard.
        column: The column's position.
        folder: The site, with the examples of all runs.
        known: What an earlier build found; returned if nothing has changed.
    """
    metric = view.board.titles.metric(view.board.columns[column].metric)
    if not view.board.columns[column].higher_is_better or not _is_share(metric.scale):
        return None
    by_subrun: dict[str, list[RunRecord]] = {}
    models = set()
    for model, runs in view.counting[column].items():
        for subrun, run in runs.items():
            if run.status == "ok" and run.examples is not None and main_stat(run) is not None:
                by_subrun.setdefault(subrun, []).append(run)
                models.add(model)
    asked = {subrun: runs for subrun, runs in sorted(by_subrun.items()) if len(runs) >= MODELS}
    if not asked:
        return None
    digest = _digest(asked, folder)
    if isinstance(known, Mapping) and known.get("of") == digest:
        return dict(known)
    items: list[Item] = []
    binary = True
    for same in asked.values():
        found, whole = _items([address_of(run) for run in same], folder)
        items += found
        binary = binary and whole
    if not items:
        return None
    bins = [0] * BINS
    for mean, *_ in items:
        bins[min(BINS - 1, int(mean * BINS))] += 1
    # Of items with equal means, those that more models were asked, then the first ones.
    hardest = sorted(items, key=lambda item: (item[0], -item[1]))[:EXTREMES]
    easiest = sorted(items, key=lambda item: (-item[0], -item[1]))[:EXTREMES]
    texts = _texts({item[2:] for item in (*hardest, *easiest)}, folder)
    return {
        "of": digest,
        "models": len(models),
        "items": len(items),
        "bins": bins,
        "none": sum(mean <= 0 for mean, *_ in items),
        "all": sum(mean >= 1 for mean, *_ in items),
        "binary": binary,
        "hardest": [[*item[:3], *texts[item[2:]]] for item in hardest if item[2:] in texts],
        "easiest": [[*item[:3], *texts[item[2:]]] for item in easiest if item[2:] in texts],
    }


def _is_share(scale: Scale | None) -> bool:
    return scale is not None and tuple(scale.bounds) == (0.0, 1.0)


def _digest(asked: Mapping[str, Sequence[RunRecord]], folder: SiteFolder) -> str:
    states = [repr((FORMAT, sorted(asked))).encode()]
    for runs in asked.values():
        for run in runs:
            place = address_of(run)
            mark = folder.root / "data" / "runs" / place / "made-of.json"
            states.append(place.encode() + mark.read_bytes())
    return hashlib.blake2b(b"\0".join(states), digest_size=8).hexdigest()


def _items(runs: Sequence[str], folder: SiteFolder) -> tuple[list[Item], bool]:
    """Return the items that at least two runs scored, and True if all of their scores are 0 or 1.

    The items have the order of the run that was asked most of them.
    """
    sums: dict[str, list[float]] = {}
    positions: dict[str, dict[str, int]] = {}
    for run in runs:
        index = folder.read(f"runs/{run}/index")
        if not isinstance(index, Mapping):
            continue
        own: dict[str, list[float]] = {}
        first = positions.setdefault(run, {})
        originals = [name is None for name in index["perturbations"]]
        columns = zip(index["instance"], index["perturbation"], index["score"], strict=True)
        for position, (place, perturbation, score) in enumerate(columns):
            if originals[perturbation] and score is not None and index["asked"][place] is not None:
                name = index["keys"][place].partition(".")[0]
                own.setdefault(name, []).append(score)
                first.setdefault(name, position)
        for name, scores in own.items():
            sums.setdefault(name, []).append(min(1.0, max(0.0, sum(scores) / len(scores))))
    reference = max(positions, key=lambda run: len(positions[run]), default="")
    found = []
    binary = True
    for name, position in positions.get(reference, {}).items():
        if len(sums[name]) >= MODELS:
            found.append((sum(sums[name]) / len(sums[name]), len(sums[name]), reference, position))
            binary = binary and all(score in (0.0, 1.0) for score in sums[name])
    return found, binary


def _texts(places: set[tuple[str, int]], folder: SiteFolder) -> dict[tuple[str, int], tuple[str, str]]:
    """Return the id and the text of items, by run and position; those that cannot be read are left out."""
    wanted: dict[tuple[str, int], list[int]] = {}
    starts: dict[str, list[int]] = {}
    for run, position in places:
        if run not in starts:
            index = folder.read(f"runs/{run}/index")
            starts[run] = index["starts"] if isinstance(index, Mapping) else []
        piece = sum(start <= position for start in starts[run]) - 1
        wanted.setdefault((run, piece), []).append(position)
    found = {}
    for (run, piece), positions in wanted.items():
        examples = folder.read(f"runs/{run}/{piece}") if piece >= 0 else None
        if not isinstance(examples, list):
            continue
        for position in positions:
            example = examples[position - starts[run][piece]]
            words = " ".join(example["input"].split())
            found[run, position] = (example["id"], words if len(words) <= LONGEST else f"…{words[-LONGEST:]}")
    return found

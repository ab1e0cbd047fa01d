"""How often does a family of data sets reject when the model depends on none of their orders? Prints a table.

Each data set goes through the adapter, the metric and the report with their defaults: a first look, and a second one
where the first is not clear. The model's scores are simulated: each pair of neighbours has a random score. In
``luck``, both tests use the same scores, so a published order that scores high by chance is likely to get a second
look, which then sees the same scores. In ``noise``, the two tests use different scores.

    python tests/benchmarks/contamination_families.py [--sets 2850] [--families 2000] [--world luck] [--keep FILE]

The null sets are dealt at random into families of 57 files of a benchmark and of 14, 4 and 1 data sets, and again until
there are enough families of each size; no family has a set twice. Standard errors come from ten batches of sets.
The diagnostics of the texts are left out, since each order is drawn at random. To save time, null distributions have
512 steps per standard deviation, the fewest that the tests use, and are cached. A set takes about 0.3 s.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))
from adapters._order import published_order
from adapters.exchangeability import Exchangeability
from harness import Example, Instance, Response, SequenceRequest, Split
from harness.contamination.report import TestFamily, build_report
from harness.contamination.statistics import exact_tail, neighbours, relabelling
from harness.contracts.specs import Component, RunSpec
from harness.storage.results import RunRecord
from metrics.contamination import Contamination

Floats = NDArray[np.float64]

SIZES = (57, 14, 4, 1)
EXAMPLES = (40, 50, 60)
LEVELS = (0.05, 0.01)
BATCHES = 10


class TenTokens:
    """A tokenization in which every example has ten tokens, and the window holds eight examples."""

    window, chat, tools, continues = 80, False, False, True

    def count_tokens(self, prompt: object) -> int:
        return 10

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        return [10] * len(segments)

    def truncate(self, text: str, tokens: int) -> str:
        return text


def null_test(number: int, world: str, seed: int) -> dict[str, Any]:
    """Return the details of the test of one data set, whose order the model does not depend on."""
    rng = np.random.default_rng((seed, number))
    n = int(rng.choice(EXAMPLES))
    shards = rng.normal(size=(n, n))
    pairs = shards if world == "luck" else rng.normal(size=(n, n))
    texts = [f"{number} {place}" for place in rng.permutation(n).tolist()]
    instances = [Instance(f"test-{at}", "", published=text) for at, text in enumerate(texts)]
    adapter, metric = Exchangeability(Exchangeability.Params()), Contamination()
    for adapted in adapter.adapt(instances, (), TenTokens(), trial=0, seed=seed):
        responses = []
        for request in adapted.requests:
            assert isinstance(request, SequenceRequest)
            read = [int(request.segments[place].split()[1]) for place in request.order]
            liked = float(pairs[read[-2], read[-1]] if request.scored else shards[read[:-1], read[1:]].sum())
            responses.append(Response(logprobs=(liked,)))
        adapter.predict(adapted, responses)
        metric.add(Example(adapted.instance, adapted.requests, tuple(responses)))
    return dict(metric.details())


def reported(tests: Sequence[Mapping[str, Any]]) -> TestFamily:
    """Return the family that the report makes of some tests of one model: 57 are files of a benchmark."""
    records = []
    for number, details in enumerate(tests):
        several = len(tests) == SIZES[0]
        scenario = Component(name="mmlu", arguments={"subject": number}) if several else Component(name=f"set_{number}")
        spec = RunSpec(
            suite="families",
            scenario=scenario,
            adapter=Component(name="exchangeability"),
            metrics=(Component(name="contamination"),),
            main_metric="contamination",
            model=Component(name="null:0"),
            eval_split=Split.TEST,
        )
        records.append(
            RunRecord(
                directory=Path("results"),
                name=spec.name,
                suite="families",
                status="ok",
                error=None,
                spec=spec,
                stats=(),
                details={"contamination": {"test": {"original": details}}},
                efficiency={},
                provenance={},
                examples=None,
                started="2025-01-01",
                finished="2025-01-01",
            )
        )
    report = build_report(records)
    return (report.benchmarks or report.models)[0]


def smallest(family: TestFamily) -> dict[str, float]:
    """Return the smallest log10 p of a family by each correction, and its combinations."""
    found = {
        "uncorrected": min(test.log10_p for test in family.targets),
        "Holm": min(test.log10_p_holm for test in family.targets),
        "BH": min(test.log10_q_bh or 0.0 for test in family.targets),
        "Fisher": family.log10_fisher,
        "Cauchy": family.log10_cauchy,
        "pooled": family.log10_pooled,
    }
    return {name: value for name, value in found.items() if value is not None}


def remembered(tail: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Cache a function's last results, since the p-value of a look is computed several times."""
    known: dict[Any, Any] = {}

    def call(tables: Any) -> Any:
        key = tuple((table.shape, table.tobytes()) for table in tables)
        if key not in known:
            if len(known) > 20:
                known.clear()
            known[key] = tail(tables)
        return known[key]

    return call


def kept_sets(file: Path | None, sets: int, world: str, seed: int) -> list[dict[str, Any]]:
    """Return the details that the report needs of each set; those that the file has are not computed again."""
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    found = [json.loads(line) for line in lines[:sets]]
    for number in range(len(found), sets):
        details = null_test(number, world, seed)
        found.append({key: details[key] for key in ("headline_log10_p", "looks", "shard_scores")})
        if file is not None:
            with file.open("a") as opened:
                opened.write(json.dumps(found[-1]) + "\n")
    return found


def show_families(tests: Sequence[Mapping[str, Any]], least: int, size: int, rng: np.random.Generator) -> None:
    """Deal batches of sets into families of a size, and print the shares of families that reject."""
    batches = [tests[number::BATCHES] for number in range(BATCHES)]
    rejected: dict[str, list[list[float]]] = defaultdict(list)
    families = 0
    for batch in batches:
        found: dict[str, list[float]] = defaultdict(list)
        for _ in range(math.ceil(least / BATCHES / (len(batch) // size))):
            dealt = [batch[place] for place in rng.permutation(len(batch))]
            for start in range(0, len(dealt) - size + 1, size):
                families += 1
                for name, log10_p in smallest(reported(dealt[start : start + size])).items():
                    found[name].append(log10_p)
        for name, values in found.items():
            p_values = np.array(values)
            rejected[name].append([float((p_values <= math.log10(level) + 1e-12).mean()) for level in LEVELS])
    for name, shares in rejected.items():
        mean, error = 100 * np.mean(shares, axis=0), 100 * np.std(shares, axis=0, ddof=1) / math.sqrt(BATCHES)
        cells = " / ".join(f"{at:6.2f} ({sd:.2f})" for at, sd in zip(mean, error, strict=True))
        print(f"{size:>3} sets, {families:>6,} families, {name:<12}{cells}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=int, default=2850)
    arguments.add_argument("--families", type=int, default=2000, help="fewest families of a size")
    arguments.add_argument("--world", choices=("luck", "noise"), default="luck")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--keep", type=Path, help="file that stores the sets, for a later call with the same seed")
    given = arguments.parse_args()
    if given.sets < BATCHES * SIZES[0]:
        arguments.error(f"--sets is {given.sets}, but must be at least {BATCHES * SIZES[0]}")
    vars(published_order)["diagnosed"] = lambda *_: {}
    exact_tail._CELLS = exact_tail._LARGEST_HALF = 2**14
    for module in (relabelling, neighbours):
        vars(module)["exact_tail"] = remembered(exact_tail.exact_tail)
    tests = kept_sets(given.keep, given.sets, given.world, given.seed)
    again = sum(test["looks"]["second"] for test in tests) / len(tests)
    print(f"{given.world}: {len(tests):,} null sets, {again:.1%} of them with a second look")
    print(f"per cent of families that reject at {LEVELS[0]} / at {LEVELS[1]}, standard errors from {BATCHES} batches")
    rng = np.random.default_rng(given.seed)
    for size in SIZES:
        show_families(tests, given.families, size, rng)


if __name__ == "__main__":
    main()

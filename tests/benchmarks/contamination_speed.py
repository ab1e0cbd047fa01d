"""The contamination test against the published computation: same numbers, less work for the same evidence.

Both sides run in this process on one thread, on the same model and examples; figures are CPU seconds of scoring and
statistics, without loading. Targets, medians over the sets with 50 or more copies: against 25 shuffles of the published
test and at least its −log10 p, a fifth of the CPU time with the exact test at 5 shuffles, a twelfth with the
next-example test; on the default settings of both, theirs 250 shuffles, a twentieth.

    python tests/benchmarks/contamination_speed.py MODELS/lab3 [--full]
    python tests/benchmarks/contamination_speed.py MODELS/lab3 --copies 10    weak sets, too

The fair comparison is that of the defaults here with 25 shuffles there, which find less; its medians are printed for
sets with few copies and with many.

The folder holds the checkpoint, and in ``examples`` the slices ``<set>_<rows>_x<copies>.jsonl``. With ``--full`` the
published default of 250 shuffles is run, otherwise taken as ten times 25.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.contracts import Adapted, Example, Split
from harness.contracts.specs import Component, RunSpec
from harness.inference.caching_model import CachingModel
from harness.inference.judge_pool import Judges
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.plugins.registry import default_registry
from harness.runs.evaluation import Evaluation, prepare
from harness.runs.pipeline import build_scorer
from tests.benchmarks.published_sharded import likelihood_table, t_test

REGISTRY = default_registry()


def run_ours(
    client: CachingModel, file: Path, method: str, settings: dict[str, Any], seed: int = 0
) -> tuple[float, dict[str, Any]]:
    """Return the CPU seconds of a run's data, requests, answers and statistics, and its details."""
    spec = RunSpec(
        suite="speed",
        scenario=Component(name="published_file", arguments={"path": str(file)}),
        adapter=Component(name=method, arguments=settings),
        metrics=(Component(name="contamination"),),
        main_metric="contamination",
        model=Component(name="hf:model"),
        eval_split=Split.TEST,
        seed=seed,
    )
    started = time.process_time()
    details = details_of_run(client, spec, "headline_log10_p")
    return time.process_time() - started, details


def details_of_run(client: CachingModel, spec: RunSpec, key: str) -> dict[str, Any]:
    """Return the details, as in run.json, of the metric that has a key among them."""
    evaluation = prepare(spec, REGISTRY, None)
    scorer = build_scorer(spec, REGISTRY, Judges(REGISTRY))
    waiting: list[Adapted] = []
    for one in evaluation.adapted(client.model):
        waiting.append(one)
        if one.awaited:
            _answer(client, evaluation, scorer, waiting)
            waiting = []
    _answer(client, evaluation, scorer, waiting)
    parts = [part for by_split in scorer.details().values() for part in by_split.values()]
    (found,) = [part["original"] for part in parts if key in part["original"]]
    return dict(found)


def _answer(client: CachingModel, evaluation: Evaluation, scorer: Any, waiting: Sequence[Adapted]) -> None:
    answers = iter(client.ask([request for one in waiting for request in one.requests]))
    for one in waiting:
        responses = tuple(next(answers) for _ in one.requests)
        evaluation.adapter.predict(one, responses)
        scorer.add(Example(one.instance, one.requests, responses))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--full", action="store_true", help="run 250 shuffles of the published test")
    parser.add_argument("--copies", type=int, default=50, help="sets with at least so many copies")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    backend = HuggingFaceModel(str(arguments.model), device="cpu")
    client = CachingModel(backend, "hf", None)
    plain = __import__("transformers").AutoModelForCausalLM.from_pretrained(arguments.model)
    tokenizer = __import__("transformers").AutoTokenizer.from_pretrained(arguments.model)
    context = backend.window or 1024
    files = sorted((arguments.model / "examples").glob("*.jsonl"))
    chosen = [f for f in files if int(re.search(r"_x(\d+)$", f.stem)[1]) >= arguments.copies]  # type: ignore[index]
    ratios: dict[str, list[float]] = {"exact": [], "next": [], "defaults": []}
    fair: dict[str, list[float]] = {"fewer than 50 copies": [], "50 copies or more": []}
    warm_up(client, chosen[0])
    for file in chosen:
        texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
        examples = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        shards = max(8, math.ceil(len(texts) / 10))
        settings = {"shards": shards, "shuffles": 25, "context": context, "stride": context // 2}
        first = [tokenizer.bos_token_id]
        started = time.process_time()
        table = likelihood_table(examples, plain, first=first, **settings)
        theirs = time.process_time() - started
        t, p = t_test(table)
        theirs_log = -math.log10(max(p, 1e-300))
        default = 10 * theirs
        if arguments.full:
            started = time.process_time()
            likelihood_table(examples, plain, first=first, **{**settings, "shuffles": 250})
            default = time.process_time() - started
        exact_seconds, exact = run_ours(
            client, file, "exchangeability", {"shuffles": 5, "neighbours": None, "first_look": None}
        )
        same = run_ours(client, file, "exchangeability", {"shards": shards, "shuffles": 1, "neighbours": None})[1]
        ours = [row["canonical"] for row in same["shard_scores"]]
        difference = float(np.max(np.abs(np.array(ours) / table[:, 0] - 1)))
        cheap = {"candidates": 4, "head": 16, "neutral": 2}
        next_seconds, following = run_ours(client, file, "next_example", cheap)
        all_seconds, both = run_ours(client, file, "exchangeability", {})
        ratios["exact"].append(theirs / exact_seconds)
        ratios["next"].append(theirs / next_seconds)
        ratios["defaults"].append(default / all_seconds)
        many = int(re.search(r"_x(\d+)$", file.stem)[1]) >= 50  # type: ignore[index]
        fair["50 copies or more" if many else "fewer than 50 copies"].append(theirs / all_seconds)
        print(f"{file.stem}: log-likelihoods of the published order differ by at most {difference:.1e} (relative)")
        print(f"  published, 25 shuffles: {theirs:6.2f} s, −log10 p {theirs_log:5.1f} (t {t:.2f})")
        for label, seconds, log10_p in (
            ("exact test, 5 shuffles", exact_seconds, exact["log10_p_exact"]),
            ("next-example test", next_seconds, following["next_example"]["log10_p"]),
        ):
            print(f"  {label}: {seconds:6.2f} s, −log10 p {-log10_p:5.1f}, {theirs / seconds:.1f}× less")
        print(
            f"  defaults: published 250 shuffles {default:6.2f} s; ours {all_seconds:6.2f} s, −log10 p "
            f"{-both['headline_log10_p']:5.1f}, {default / all_seconds:.1f}× less"
        )
        print(f"  defaults against the published test with 25 shuffles: {theirs / all_seconds:.1f}× less")
    for label, target in (("exact", 5), ("next", 12), ("defaults", 20)):
        print(f"{label}: median {statistics.median(ratios[label]):.1f}× (target {target}×)")
    for label, found in fair.items():
        if found:
            print(f"defaults against 25 shuffles, {label}: {min(found):.1f} to {max(found):.1f}×")


def warm_up(client: CachingModel, file: Path) -> None:
    """Ask a little first: what a first use checks and imports is no part of a test."""
    run_ours(client, file, "exchangeability", {"rows": "0:16", "shuffles": 2})
    run_ours(client, file, "next_example", {"rows": "0:16"})


if __name__ == "__main__":
    main()

"""How often do the tests of content reject when a real model is asked about random draws? Prints shares and errors.

Twins, canaries and dye: the same rows of OpenBookQA are sealed again and again, each time with other draws, and each
key is tested by its own runs, from the key's file to the metric. Option order: each draw declares a random order of
each question's options of MMLU to be the published one. No model knows these draws, so p-values of at most 0.05 come up
in a share of at most 0.05. Twins are shortened to their second half, so that a model finds most originals likelier.

    python tests/benchmarks/contamination_sealed.py MODELS/lab3 DATA [--seals 200]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.contamination.sealing.key import write_key
from harness.contamination.sealing.seal import DyeColumns, SealSettings, seal
from harness.contamination.statistics.option_order import option_order_test
from harness.contamination.unsealing import unsealing_runs
from harness.contracts.specs import RunSpec
from harness.inference.caching_model import CachingModel
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.runs.evaluation import prepare
from harness.sweeps.load import sweep_from_mapping
from tests.benchmarks.contamination_speed import REGISTRY, details_of_run

SETTINGS = SealSettings(shuffle=False, canaries=20, alternatives=9, dye=20, dye_columns=DyeColumns("q", "options", "a"))


def sealed(client: CachingModel, records: Sequence[Mapping[str, Any]], seals: int) -> Iterator[tuple[str, float]]:
    """Yield the kind of each test of each seal, with log10 of its p-value."""
    twins = [[{**record, "q": record["q"][len(record["q"]) // 2 :]}] for record in records]
    with tempfile.TemporaryDirectory() as folder:
        key_file = Path(folder) / "seal.key.jsonl"
        for number in range(seals):
            names = {"source": "rows", "source_sha256": "0" * 64, "published": "published.jsonl"}
            made = seal(records, twins, SETTINGS, random.Random(number), **names)
            key_file.unlink(missing_ok=True)
            write_key(key_file, made.key)
            runs = unsealing_runs(made.key, key_file, Path(folder) / "published.jsonl", REGISTRY)
            for spec in specs([{**run, "models": ["hf:model"]} for run in runs], number):
                found = details_of_run(client, spec, "sealed_log10_p")
                yield str(spec.scenario.arguments.get("kind", "dye")), min(0.0, found["sealed_log10_p"])
            if (number + 1) % 20 == 0:
                print(f"{number + 1} seals", file=sys.stderr, flush=True)


def option_orders(client: CachingModel, data: Path, rows: int, draws: int) -> Iterator[float]:
    """Yield log10 p of the option-order test for random orders."""
    run = {
        "scenario": {"name": "mmlu", "subject": "anatomy"},
        "adapter": "option_order",
        "max_eval_instances": rows,
        "models": ["hf:model"],
    }
    (spec,) = specs([run], 0)
    evaluation = prepare(spec, REGISTRY, data)
    scores = []
    for one in evaluation.adapted(client.model):
        responses = tuple(client.ask(one.requests))
        evaluation.adapter.predict(one, responses)
        scores.append([math.fsum(response.logprobs or (math.nan,)) for response in responses])
    for number in range(draws):
        rng = random.Random(number)
        yield option_order_test([rng.sample(each, len(each)) for each in scores]).log10_p


def specs(runs: Sequence[Mapping[str, Any]], seed: int) -> Sequence[RunSpec]:
    sweep, _ = sweep_from_mapping({"suite": "sizes", "runs": list(runs)}, registry=REGISTRY, seed=seed)
    return sweep.runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data", type=Path)
    parser.add_argument("--seals", type=int, default=200)
    parser.add_argument("--rows", type=int, default=60)
    given = parser.parse_args()
    torch.set_num_threads(1)
    client = CachingModel(HuggingFaceModel(given.model, device="cpu"), "model", None)
    lines = (given.data / "openbookqa" / "test.jsonl").read_text(encoding="utf-8").splitlines()[: given.rows]
    records = []
    for row in map(json.loads, lines):
        options = [choice["text"] for choice in row["question"]["choices"]]
        records.append({"q": row["question"]["stem"], "options": options, "a": row["answerKey"]})
    found: dict[str, list[float]] = defaultdict(list)
    for kind, log10_p in sealed(client, records, given.seals):
        found[kind].append(log10_p)
    found["option order"] = list(option_orders(client, given.data, given.rows, given.seals))
    for kind, values in found.items():
        shares = [sum(value <= math.log10(level) + 1e-12 for value in values) / len(values) for level in (0.05, 0.01)]
        error = math.sqrt(0.05 * 0.95 / len(values))
        print(f"{kind:<14} {len(values)} draws: {shares[0]:.3f} / {shares[1]:.3f} (standard error {error:.3f})")


if __name__ == "__main__":
    main()

"""How often do the tests reject when a real model is asked about orders drawn at random? Prints shares and errors.

The examples of a file are shuffled again and again, and each order is tested as if it were the published one, from the
file to the metric. Whatever the model was trained on, it does not know an order that was just drawn, so at most 5 % of
p-values should be 0.05 or less. Without ``--shuffles``, the tests have their default settings, with two looks.

    python tests/benchmarks/contamination_orders.py MODELS/lab3 FILE [FILE ...] [--orders 1000] [--examples 40]

``fake:0`` in the place of a checkpoint asks the deterministic model without weights.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.inference.caching_model import CachingModel
from harness.models.offline.fake import FakeModel
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.benchmarks.contamination_speed import run_ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--orders", type=int, default=1000, help="of all files together")
    parser.add_argument("--examples", type=int, default=40, help="of each file, the first ones")
    parser.add_argument("--shuffles", type=int, help="take only one look, with this number of shuffled orders")
    parser.add_argument("--permutations", type=int, help="also run the simple test, with at most this number of orders")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    fake = given.model.startswith("fake:")
    model = FakeModel(given.model.removeprefix("fake:")) if fake else HuggingFaceModel(given.model, device="cpu")
    client = CachingModel(model, "model", None)
    settings: dict[str, Any] = {"drawn_at_random": True}
    if given.shuffles is not None:
        settings |= {"first_look": None, "shuffles": given.shuffles}
    if fake:
        settings |= {"context": 256}
    if given.permutations is not None:
        settings |= {"simple": {"most": given.permutations}}
    columns: dict[str, list[float]] = {
        "exact": [], "exact, raw": [], "neighbours": [], "headline": [], "permutation": []
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.orders):
            lines = given.files[number % len(given.files)].read_text(encoding="utf-8").splitlines()[: given.examples]
            random.Random(f"{given.seed}/{number}").shuffle(lines)
            file = Path(folder) / "order.jsonl"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            _, found = run_ours(client, file, "exchangeability", settings, given.seed + number)
            columns["exact"].append(found["log10_p_exact"])
            columns["exact, raw"].append(found["log10_p_exact_raw"])
            columns["neighbours"].append(found["neighbours"]["log10_p"])
            columns["headline"].append(found["headline_log10_p"])
            if given.permutations is not None:
                columns["permutation"].append(math.log10(found["p_permutation"]))
            if (number + 1) % 100 == 0:
                print(f"{number + 1} orders", file=sys.stderr, flush=True)
    for name, values in columns.items():
        if not values:
            continue
        cells = []
        for level in (0.05, 0.01):
            share = sum(value <= math.log10(level) + 1e-12 for value in values) / len(values)
            cells.append(f"p ≤ {level}: {shown(share, level, len(values))}")
        print(f"{name:<12} {'   '.join(cells)}")


def shown(share: float, level: float, tests: int) -> str:
    error = math.sqrt(level * (1 - level) / tests)
    return f"{share:.3f} (at most {level:.3f} + 2 × {error:.3f})"


if __name__ == "__main__":
    main()

"""What the contamination test finds in a checkpoint of the lab: a line for each slice that it has or has not read.

Target on a checkpoint such as lab3: the headline p-value below 0.01 on all slices with 10 or more copies, and after
Holm on at most one of the controls.

    python tests/benchmarks/contamination_power.py MODELS/lab3 [--permutations 99] [--seed 0]

The folder holds the checkpoint, and in ``examples`` the slices ``<set>_<rows>_x<copies>.jsonl``.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.contamination.p_values import shown_p
from harness.inference.caching_model import CachingModel
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.statistics.families import holm
from tests.benchmarks.contamination_speed import run_ours

LEVEL = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--permutations", type=int, help="also the simple test, with at most so many orders")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    client = CachingModel(HuggingFaceModel(str(arguments.model), device="cpu"), "hf", None)
    settings = {} if arguments.permutations is None else {"simple": {"most": arguments.permutations}}
    files = sorted((arguments.model / "examples").glob("*_x*.jsonl"), key=lambda file: (not copies(file), copies(file)))
    print(f"{'slice':<40} {'n':>4} {'copies':>6} {'simple':>8} {'t test':>8} {'exact':>8} {'certified':>9} ", end="")
    print(f"{'pairs':>8} {'z':>7} {'p':>8} {'seconds':>7} {'tokens':>8}")
    found: dict[Path, dict[str, Any]] = {}
    for file in files:
        started = time.process_time()
        _, details = run_ours(client, file, "exchangeability", settings, arguments.seed)
        if not details.get("testable", True):
            print(f"{file.stem:<40} not testable: {details['not_testable']}", flush=True)
            continue
        found[file] = details
        print(line(file, found[file], time.process_time() - started), flush=True)
    files = list(found)
    p_values = {file: float(one["headline_log10_p"]) for file, one in found.items()}
    controls = [file for file in files if not copies(file)]
    corrected = holm([p_values[file] for file in controls], log10=True) if controls else []
    many = [file for file in files if copies(file) >= 10]
    few = [file for file in files if 0 < copies(file) < 10]
    targets = [file for file in files if copies(file)]
    family = dict(zip(targets, holm([p_values[file] for file in targets], log10=True), strict=True))
    print(f"\nafter Holm over the {len(targets)} slices with copies: ", end="")
    print(f"{below(family[file] for file in targets if copies(file) >= 10)} with 10 or more copies below {LEVEL}")
    print(f"p < {LEVEL}: {below(p_values[file] for file in many)} of {len(many)} slices with 10 or more copies (all)")
    print(f"        {below(p_values[file] for file in few)} of {len(few)} with fewer")
    print(f"        {below(p_values[file] for file in controls)} of {len(controls)} controls, after Holm ", end="")
    print(f"{below(corrected)} (at most 1)")


def copies(file: Path) -> int:
    return int(re.search(r"_x(\d+)$", file.stem)[1])  # type: ignore[index]


def below(log10_p: Any) -> int:
    return sum(10**value < LEVEL for value in log10_p)


def line(file: Path, found: dict[str, Any], seconds: float) -> str:
    simple = found.get("p_permutation")
    pairs = found["neighbours"]
    return (
        f"{file.stem:<40} {found['n_used']:>4} {copies(file):>6} {'–' if simple is None else f'{simple:.2f}':>8} "
        f"{shown_p(found['log10_p_t']):>8} {shown_p(found['log10_p_exact']):>8} "
        f"{shown_p(found['log10_p_certified']):>9} {shown_p(pairs['log10_p']):>8} {pairs['z']:>7.1f} "
        f"{shown_p(found['headline_log10_p']):>8} {seconds:>7.1f} {found['cost']['tokens'] or 0:>8}"
    )


if __name__ == "__main__":
    main()

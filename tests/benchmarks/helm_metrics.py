"""The same scores as HELM: its metrics and those here, on the same answers.

Answers are made of real references: as they are, in other cases, with more around them, in part, another's, and none.
Probabilities and tokens are drawn with a fixed seed. Where a definition here differs from HELM's
(docs/deviations.md), so do some of its values: the first such answer is shown. The environment is that of
`helm_prompts.py`.

    python tests/benchmarks/helm_metrics.py --data-dir DATA [--environment FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the repository, where this runs as a script

from harness import Example, Instance, Reference, Response, ScoreRequest
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.data.source import open_data
from harness.plugins.parameters import build
from harness.plugins.registry import default_registry
from tests.benchmarks.helm_prompts import ask_helm, set_up

TEXTS = (
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "f1_score",
    "exact_match_indicator", "rouge_1", "rouge_2", "rouge_l",
)  # fmt: skip
SETS = ("exact_set_match", "iou_set_match", "f1_set_match")
SCENARIOS: Mapping[str, tuple[Mapping[str, Any], Sequence[str]]] = {
    "natural_qa": ({}, TEXTS),
    "babi_qa": ({}, TEXTS),
    "gsm8k": ({}, ("final_number_exact_match",)),
    "synthetic_reasoning_natural": ({"difficulty": "easy"}, SETS),
    "math_direct": ({"subject": "Algebra", "level": 1}, ("math_equiv",)),
    "math": ({"subject": "Algebra", "level": 1}, ("math_equiv_chain_of_thought",)),
}
"""Whose references each metric is given."""
OF_TEXTS = ("perplexity", "bits_per_byte", "logprob_per_byte")
OF_PROBABILITIES = ("ece_10_bin", "ece_1_bin", "selective_accuracy", "platt_ece_10_bin")
REFERENCES = 150
TOLERANCE = 1e-9
Pair = tuple[str, str]


def answers_to(gold: str, other: str) -> Iterator[str]:
    """Yield answers that are right, nearly right and wrong."""
    yield from (gold, gold.lower(), gold.upper(), f"{gold}.", f" {gold}\n", f"the {gold}", f"The answer is {gold}")
    yield from (f"{gold} and more", " ".join(gold.split()[: len(gold.split()) // 2]), other, "", f"{gold}, {other}")


def read_pairs(data: Path) -> dict[str, list[Pair]]:
    """Return references with answers to them, by metric."""
    registry, pairs = default_registry(), dict[str, list[Pair]]()
    for name, (arguments, metrics) in SCENARIOS.items():
        plugin = registry.get(Kind.SCENARIO, name)
        assert isinstance(plugin.details, ScenarioDetails)
        instances = build(plugin, open_data(plugin.details, arguments, name=name, data_dir=data), arguments=arguments)()
        # Worked solutions are only in the train split, or have the same form there.
        golds = [one.correct[0].text for _, one in zip(range(REFERENCES), instances, strict=False) if one.correct]
        made = [(gold, answer) for gold, other in pairwise(golds) for answer in answers_to(gold, other)]
        for metric in metrics:
            pairs.setdefault(metric, []).extend(made)
    return pairs


def score_pairs(name: str, pairs: Sequence[Pair]) -> list[float | None]:
    """Return a metric's values of pairs of reference and answer."""
    score = build(default_registry().get(Kind.METRIC, name), arguments={})
    return [
        score(Example(Instance(f"{place}", "", (Reference(gold, True),)), prediction=answer, predictions=(answer,)))
        for place, (gold, answer) in enumerate(pairs)
    ]


def draw(seed: int) -> tuple[list[tuple[float, float]], list[list[tuple[str, float]]]]:
    """Return probabilities with correctness, and texts as tokens with log-probabilities."""
    rng = Random(seed)
    pairs = [(p := rng.random(), float(rng.random() < p * p)) for _ in range(537)]
    words = ("the", " rain", " in", " Zürich", " is", " 雨", "\n", " cold")
    return pairs, [[(rng.choice(words), -rng.expovariate(1.0)) for _ in range(rng.randint(1, 50))] for _ in range(40)]


def estimates(name: str, examples: Sequence[Example]) -> dict[str, float]:
    """Return the values of a metric of a whole run."""
    metric = build(default_registry().get(Kind.METRIC, name), arguments={})
    for example in examples:
        metric.add(example)
    return {stat: estimate.value for stat, estimate in metric.estimates().items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "helm-environment")
    options = parser.parse_args()
    pairs = read_pairs(options.data_dir)
    sure, texts = draw(0)
    with tempfile.TemporaryDirectory() as folder:
        asked = {"pairs": pairs, "calibration": sure, "texts": texts}
        theirs = ask_helm(set_up(options.environment), "metrics", asked, Path(folder))
    print(f"{'metric':30}  answers   equal  first difference (reference, answer, HELM, here)")
    for name, made in pairs.items():
        ours = score_pairs(name, made)
        unequal = [
            (*pair, other, own)
            for pair, other, own in zip(made, theirs["pairs"][name], ours, strict=True)
            if own is None or abs(own - other) > TOLERANCE
        ]
        shown = " | ".join(repr(part)[:70] for part in unequal[0]) if unequal else "-"
        print(f"{name:30}  {len(made):7}  {len(made) - len(unequal):6}  {shown}")
    drawn = [
        Example(Instance(f"{place}", "", (Reference("x", True),)), prediction="x" if right else "y", probability=p)
        for place, (p, right) in enumerate(sure)
    ]
    scored = [
        Example(
            Instance(f"{place}", text, ()), (ScoreRequest("", text),), (Response(logprobs=tuple(p for _, p in tokens)),)
        )
        for place, tokens in enumerate(texts)
        for text in ["".join(word for word, _ in tokens)]
    ]
    print(f"\n{'metric of a run':30}  {'HELM':>12}  {'here':>12}")
    found = {}
    for metrics, examples in ((OF_TEXTS, scored), (OF_PROBABILITIES, drawn)):
        for metric in metrics:
            found.update(estimates(metric, examples))
    helms = {**theirs["texts"], **theirs["calibration"]}
    helms["platt_ece_10_bin_in_sample"] = helms["platt_ece_10_bin"]
    for name, value in found.items():
        if name in helms:
            print(f"{name:30}  {helms[name]:12.9f}  {value:12.9f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Seconds that a metric takes for 100,000 examples of ordinary length, on one core, scoring and averaging included.

Targets: exact_match and f1_score under 5 s each, ROUGE under 120 s.

    python tests/benchmarks/metric_speed.py [examples]
"""

from __future__ import annotations

import random
import sys
import time

from harness import Example, Instance, Reference
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.plugins.registry import default_registry
from harness.runs.scoring import Scorer

TARGETS = {
    "exact_match": 5,
    "f1_score": 5,
    "rouge_1": 120,
    "rouge_2": 120,
    "rouge_l": 120,
    "bleu_4": None,
    "f1_set_match": None,
    "math_equiv": None,
    "chain_of_thought_number": None,
    "edit_similarity": None,
}


def examples(count: int) -> list[Example]:
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 9))) for _ in range(3000)]
    made = []
    for number in range(count):
        text = " ".join(draw.choices(vocabulary, k=20))
        instance = Instance(f"id{number}", "", (Reference(text, correct=True),))
        made.append(Example(instance, prediction=f"{text[:60]} and so on", predictions=(f"{text[:60]} and so on",)))
    return made


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    registry, made = default_registry(), examples(count)
    for name, target in TARGETS.items():
        scorer = Scorer([(Component(name=name), registry.get(Kind.METRIC, name))])
        scorer.add(made[0])
        started = time.process_time()
        for example in made:
            scorer.add(example)
        scorer.stats()
        seconds = time.process_time() - started
        print(f"{name:<24} {seconds:7.2f} s for {count:,} examples" + (f" (target {target} s)" if target else ""))


if __name__ == "__main__":
    main()

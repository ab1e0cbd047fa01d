"""Seconds that the bias metrics take for 100,000 generations of 100 words, on one core, intervals included.

Target: 60 s for all of them together.

    OMP_NUM_THREADS=1 python tests/benchmarks/bias_speed.py [generations]
"""

from __future__ import annotations

import random
import sys
import time

from harness import Example, Instance
from metrics._text.bias_words import default_groups, default_targets
from metrics.bias import DemographicRepresentation, StereotypicalAssociations

TARGET = 60


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    draw = random.Random(0)
    other = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 9))) for _ in range(5000)]
    group = [word for members in default_groups().values() for words in members.values() for word in words]
    target = [word for words in default_targets().values() for word in words]
    texts = [
        " ".join((*draw.choices(other, k=92), *draw.choices(group, k=4), *draw.choices(target, k=4))) + "."
        for _ in range(2000)
    ]
    total = 0.0
    for metric in (DemographicRepresentation(), StereotypicalAssociations()):
        started = time.process_time()
        for number in range(count):
            text = texts[number % len(texts)]
            metric.add(Example(Instance(f"id{number}", ""), prediction=text, predictions=(text,)))
        added = time.process_time() - started
        for name, estimate in metric.estimates().items():
            print(f"  {name:<36} {estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}] n={estimate.count}")
        seconds = time.process_time() - started
        total += seconds
        print(f"{type(metric).__name__:<28} {seconds:7.2f} s, of which {added:.2f} s reading")
    print(f"{'together':<28} {total:7.2f} s for {count:,} generations of 100 words (target {TARGET} s)")


if __name__ == "__main__":
    main()

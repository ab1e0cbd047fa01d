"""Segments of answers: written by a head, merged into the main cache, and loaded by the next head, answers a second.

Four heads have answered different requests, and a tenth of them also those of the head before. Target: 40,000 merged a
second. Processor time is shown beside wall time, which what else runs on the machine makes longer.

    python tests/benchmarks/merge_speed.py 200000
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from harness import Completion, Response
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.head_cache import HeadCache
from harness.inference.merging import SegmentMerger
from harness.inference.segments import ANSWERS_FOLDER, segment_files
from harness.runs.claims import Claims

HEADS = 4
NAME, FINGERPRINT = "fake:0", {"seed": "0"}


@contextmanager
def timed(what: str, count: int) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:44} {count / wall:8,.0f} a second of wall time, {count / cpu:8,.0f} of processor time")


def measure(kind: str, responses: list[Response]) -> None:
    each = len(responses) // HEADS
    keys = [random.Random(number).randbytes(16) for number in range(len(responses) + each // 10)]
    print(f"{kind}, {len(responses):,} answers")
    with tempfile.TemporaryDirectory() as folder, Claims(Path(folder)) as claims:
        results, local = Path(folder) / "results", Path(folder) / "local"
        heads = [HeadCache(results, claims, f"head{number}", local) for number in range(HEADS)]
        (model,) = {head.asked(NAME, FINGERPRINT) for head in heads}
        with timed("  written by heads, one by one", each * HEADS):
            for number, head in enumerate(heads):
                for place in range(number * each, (number + 1) * each):
                    head.put(model, [(keys[place + (0 if place % 10 else -each) * (number > 0)], responses[place])])
        with timed("  found by a head", each):
            for start in range(0, each, 4096):
                heads[0].get(keys[start : min(start + 4096, each)])
        for head in heads:
            head.close()
        size = sum(file.stat().st_size for file in segment_files(results / ANSWERS_FOLDER))
        print(f"  bytes an answer in segments                  {size / (each * HEADS):8,.0f}")
        with closing(HeadCache(results, claims, "next", local)) as head, timed("  loaded by the next", each * HEADS):
            head.asked(NAME, FINGERPRINT)
        with timed("  merged into an empty main cache", each * HEADS):
            merged = SegmentMerger(results, claims).merge()
        assert merged.answers == each * HEADS
        with closing(ResponseCache(results / FILE_NAME)) as cache:
            assert len(cache) == merged.added
        head = HeadCache(results, claims, "more", local)
        model = head.asked(NAME, FINGERPRINT)
        more = [random.Random(-number - 1).randbytes(16) for number in range(each * HEADS)]
        for start in range(0, len(more), 64):
            head.put(model, zip(more[start : start + 64], responses[start : start + 64], strict=False))
        head.close()
        with timed("  merged into one that has as many", each * HEADS):
            SegmentMerger(results, claims).merge()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", nargs="?", type=int, default=200_000, help="(default: 200,000)")
    count = parser.parse_args().answers
    draw = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    short = [Response(logprobs=(-draw.random(),), greedy=False, prompt_tokens=500) for _ in range(count)]
    measure("log-likelihoods", short)
    texts = [Completion(" ".join(draw.choices(words, k=100)), -9.5, 130, "stop") for _ in range(count // 4)]
    measure("completions of 100 words", [Response((text,)) for text in texts])


if __name__ == "__main__":
    main()

"""The response cache: answers stored and found a second, on one core, each answer durable before the next.

Every answer is a transaction of its own, as in a sweep, so that a killed process loses none. Target: 5,000 stored a
second. Processor time is shown beside wall time, which what else runs on the machine makes longer.

    python tests/benchmarks/cache_speed.py [answers]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness import Completion, GenerateRequest, Request, Response, ScoreRequest
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import request_key
from harness.inference.caching_model import CachingModel
from harness.models.offline.fake import FakeModel


@contextmanager
def timed(what: str, count: int) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:28} {count / wall:8,.0f} a second of wall time, {count / cpu:8,.0f} of processor time")


def measure(kind: str, requests: Sequence[Request], responses: Sequence[Response]) -> None:
    count = len(requests)
    print(kind)
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / "responses.sqlite")
        model = cache.asked("fake:0", {"seed": 0})
        with timed("  keys computed", count):
            keys = [request_key(model, request) for request in requests]
        with timed("  stored, one by one", count):
            for key, response in zip(keys, responses, strict=True):
                cache.put(model, [(key, response)])
        with timed("  found", count):
            for start in range(0, count, 4096):
                cache.get(keys[start : start + 4096])
        print(f"  bytes an answer              {cache.path.stat().st_size / count:8,.0f}")
        cache.close()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    draw = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    header = " ".join(draw.choices(words, k=400))
    measure(
        "log-likelihoods",
        [ScoreRequest(f"{header} question {number}", " A") for number in range(count)],
        [Response(logprobs=(-draw.random(),), greedy=False, prompt_tokens=500, seconds=draw.random())] * count,
    )
    measure(
        "completions of 100 words",
        [GenerateRequest(f"{header} question {number}", 100) for number in range(count)],
        [Response((Completion(" ".join(draw.choices(words, k=100)), -9.5, 130, "stop"),)) for _ in range(count)],
    )
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / "responses.sqlite")
        client = CachingModel(FakeModel("0"), "fake:0", cache)
        requests = [GenerateRequest(f"question {number}", 1) for number in range(count // 5)]
        with timed("asked of a model of hashes", len(requests)):
            client.ask(requests)
        cache.close()


if __name__ == "__main__":
    main()

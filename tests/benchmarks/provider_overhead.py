"""Processor time of the harness for each answer of a server: directly, through litellm, and in batches.

The server is a process of its own on loopback, so only the client's time is counted; imports are not.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import GenerateRequest, Message, Model
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.caching_model import CachingModel
from harness.models.api.litellm import LiteLLMModel
from harness.models.api.openai import OpenAIModel
from tests.harness.models.api_server import MODEL

SERVER = """
import time
from tests.harness.models.batch_server import batch_server
with batch_server() as server:
    print(server.url, flush=True)
    time.sleep(3600)
"""


def measure(model: Model, count: int, words: str) -> tuple[float, float, int]:
    """Return milliseconds of processor and of wall time for each answer, and the number of failures."""
    asked = [GenerateRequest((Message("user", f"{words} {number}"),), 3) for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder) / FILE_NAME)
        caching = CachingModel(model, f"{words}:{MODEL}", cache)
        caching.ask(asked[:8])  # connections, imports
        processor, wall = time.process_time(), time.perf_counter()
        answers = caching.ask(asked[8:])
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        model.close()
        cache.close()
    return 1000 * processor / (count - 8), 1000 * wall / (count - 8), sum(one.error is not None for one in answers)


def main() -> None:
    """Print one line for each way."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1008
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip() if server.stdout is not None else ""
        one_by_one = {"max_concurrency": 16}
        models: dict[str, Model] = {
            "openai": OpenAIModel(MODEL, OpenAIModel.Params(base_url=url, api="chat", **one_by_one)),
            "litellm": LiteLLMModel(f"openai/{MODEL}", LiteLLMModel.Params(base_url=url, **one_by_one)),
            "openai, batch": OpenAIModel(
                MODEL, OpenAIModel.Params(base_url=url, api="chat", batch=True, batch_poll=0.5)
            ),
        }
        for name, model in models.items():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            processor, wall, failed = measure(model, count, name)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"{name:14} {processor:7.2f} ms of processor, {wall:7.2f} ms of wall time an answer; {failed} failed; "
                f"{grown:.0f} MB more memory"
            )
    finally:
        server.kill()


if __name__ == "__main__":
    main()

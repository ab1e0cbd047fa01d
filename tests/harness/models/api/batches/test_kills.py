"""A sweep whose model is asked in batches, killed or interrupted at the worst moments and started again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models.api_server import MODEL, wait_until
from tests.harness.models.batch_server import BatchServer, BatchWays, batch_server

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")]

BACKENDS = ("openai", "anthropic")
RUNS = ("sample_reading", "sample_generation")


class Sweep:
    """Starts ``harness run`` on a server, again and again."""

    def __init__(self, server: BatchServer, backend: str, folder: Path, suite: str = "batches") -> None:
        url = server.url if backend == "openai" else server.url.removesuffix("/v1")
        api = ", api: chat" if backend == "openai" else ""
        folder.mkdir(exist_ok=True)
        self.results = folder / "results"
        self._suite, self._file = suite, folder / f"{suite}.yaml"
        self._file.write_text(
            f"suite: {suite}\nruns: [{', '.join(RUNS)}]\nmodels:\n"
            f'  - {{name: "{backend}:{MODEL}", base_url: "{url}"{api}, batch: true, batch_poll: 0.1, '
            "retry_delay: 0.01}\n"
        )
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "harness", "run", str(self._file), "--results-dir", str(self.results)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=_interruptible
        )
        return self.process

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()

    def finish(self) -> str:
        output, _ = self.start().communicate(timeout=120)
        assert self.process is not None
        assert self.process.returncode == 0, output
        return output

    def stats(self) -> dict[str, Any]:
        files = sorted(self.results.glob(f"{self._suite}/*/run.json"))
        assert len(files) == len(RUNS)
        return {file.parent.name.partition(",")[0]: json.loads(file.read_text())["stats"] for file in files}


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


MOMENTS: dict[str, Callable[[str, str], bool]] = {
    "uploading": lambda method, path: path == "/v1/files",
    "creating": lambda method, path: method == "POST" and path.endswith("/batches"),
    "waiting": lambda method, path: method == "GET" and path.endswith("/batch_0"),
    "downloading": lambda method, path: path.endswith(("/content", "/results")),
}
"""The calls in the middle of which the harness is killed; the server goes on without it."""


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str], Any]:
    """A backend, and the requests and statistics of a sweep that was never killed."""
    with batch_server() as server:
        sweep = Sweep(server, request.param, tmp_path_factory.mktemp("whole"))
        sweep.finish()
        return request.param, sorted(server.submitted), sweep.stats()


@pytest.mark.parametrize(
    ("whole", "moment"),
    [
        (backend, moment)
        for backend in BACKENDS
        for moment in MOMENTS
        if (backend, moment) != ("anthropic", "uploading")
    ],
    indirect=["whole"],  # Anthropic takes no files
)
def test_killed_at_any_moment_nothing_is_submitted_twice_and_the_results_are_the_same(
    whole: tuple[str, list[str], Any], moment: str, tmp_path: Path
) -> None:
    backend, asked, stats = whole
    with batch_server(BatchWays(looks=3)) as server:
        sweep, killed = Sweep(server, backend, tmp_path), threading.Event()

        def says(method: str, path: str) -> None:
            if MOMENTS[moment](method, path) and not killed.is_set():
                killed.set()
                sweep.kill()

        server.ways.says = says
        sweep.start().communicate(timeout=120)
        assert killed.is_set()
        sweep.finish()
        assert len(server.batches) == 1
        assert sorted(server.submitted) == asked
        assert sweep.stats() == stats


@pytest.mark.parametrize("whole", BACKENDS, indirect=True)
@pytest.mark.parametrize("moment", ["creating", "downloading"])
@pytest.mark.parametrize("victim", [0, 1])
def test_of_two_sweeps_with_the_same_requests_one_is_killed_and_nothing_is_submitted_twice(
    whole: tuple[str, list[str], Any], moment: str, victim: int, tmp_path: Path
) -> None:
    backend, asked, stats = whole
    with batch_server(BatchWays(looks=3)) as server:
        sweeps, killed = [Sweep(server, backend, tmp_path, suite) for suite in ("first", "second")], threading.Event()

        def says(method: str, path: str) -> None:
            if MOMENTS[moment](method, path) and not killed.is_set():
                killed.set()
                sweeps[victim].kill()

        server.ways.says = says
        processes = [sweep.start() for sweep in sweeps]
        outputs = [process.communicate(timeout=120)[0] for process in processes]
        assert killed.is_set()
        assert processes[1 - victim].returncode == 0, outputs[1 - victim]
        sweeps[victim].finish()
        assert sorted(server.submitted) == asked
        assert [sweep.stats() for sweep in sweeps] == [stats, stats]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_leaves_the_batch_and_the_next_start_takes_its_answers(backend: str, tmp_path: Path) -> None:
    with batch_server() as server:
        server.ways.held.set()
        sweep = Sweep(server, backend, tmp_path)
        process = sweep.start()
        looks = "/v1/batches/batch_0" if backend == "openai" else "/v1/messages/batches/batch_0"
        wait_until(lambda: ("GET", looks) in server.calls)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert "1 batch is still running on the server" in output
        assert "batch_0" in output
        assert "harness cache batches --cancel" in output
        assert f"harness run {sweep._file}" in output
        shown = _cache_batches(sweep.results)
        assert "batch_0: " in shown
        assert "1 batch under way" in shown
        server.ways.held.clear()
        assert "2 of 2 runs ok" in sweep.finish()
        assert len(server.batches) == 1
        assert "0 batches under way" in _cache_batches(sweep.results)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cancelled_batch_is_submitted_again_by_the_next_start(backend: str, tmp_path: Path) -> None:
    with batch_server() as server:
        server.ways.held.set()
        sweep = Sweep(server, backend, tmp_path)
        process = sweep.start()
        wait_until(lambda: bool(server.batches) and server.batches[0].looks > 0)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert "Asked to cancel 1 batch." in _cache_batches(sweep.results, "--cancel")
        assert server.batches[0].cancelled
        server.ways.held.clear()
        server.ways.outcome = lambda batch, place: "ok" if batch else "cancelled"
        sweep.finish()
        assert len(server.batches) == 2
        assert server.batches[0].requests == server.batches[1].requests


def _cache_batches(results: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "harness", "cache", "batches", "--results-dir", str(results), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

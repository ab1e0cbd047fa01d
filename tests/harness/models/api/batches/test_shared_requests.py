"""Requests that several processes ask for at the same time: one of them submits each, and all get the answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import Response
from harness.models.api.batches.batched_calls import BatchedCalls
from harness.models.api.batches.ledger import Batch, BatchLedger, Item, Result, all_batches
from harness.models.api.spending import Cost
from tests.harness.models.api.batches.test_batches import BACKENDS, Asked, requests
from tests.harness.models.api_server import wait_until
from tests.harness.models.batch_server import BatchServer, BatchWays, batch_server

SECONDS = 60.0
"""Until a question counts as pending for good."""


def ask(server: BatchServer, backend: str, folder: Path, count: int) -> tuple[list[Response], int]:
    """Ask questions as one process; return the answers, and the tokens that the budget then counts."""
    model = Asked(server, backend, folder, max_retries=1)
    try:
        return model.ask(requests(count)), model.spent
    finally:
        model.close()


Outcome = Future[tuple[list[Response], int]]


def start(server: BatchServer, backend: str, folder: Path, *counts: int) -> list[Outcome]:
    """Ask as one process for each count, all at the same time, on one cache and one record."""
    pool = ThreadPoolExecutor(len(counts))
    asked = [pool.submit(ask, server, backend, folder, count) for count in counts]
    pool.shutdown(wait=False)
    return asked


def errors(asked: Sequence[Outcome]) -> list[list[str | None]]:
    return [[one.error for one in future.result(SECONDS)[0]] for future in asked]


@pytest.fixture
def gathering(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each of two processes gather its requests before either submits its first batch."""
    barrier, record, known = threading.Barrier(2), BatchLedger.record, set[BatchLedger]()

    def together(self: BatchLedger, batch: Batch, items: dict[str, Item]) -> object:
        if self not in known:
            known.add(self)
            barrier.wait(SECONDS)
        return record(self, batch, items)

    monkeypatch.setattr(BatchLedger, "record", together)
    yield
    barrier.abort()


@pytest.mark.usefixtures("gathering")
@pytest.mark.parametrize("backend", BACKENDS)
def test_processes_that_gather_the_same_requests_submit_each_once(backend: str, tmp_path: Path) -> None:
    with batch_server() as server:
        assert errors(start(server, backend, tmp_path, 4, 6)) == [[None] * 4, [None] * 6]
        assert len(server.submitted) == len(set(server.submitted)) == 6
    assert all_batches(tmp_path) == []


@pytest.mark.usefixtures("gathering")
def test_a_request_that_processes_share_is_charged_once(tmp_path: Path) -> None:
    with batch_server() as server:
        asked = [one.result(SECONDS) for one in start(server, "anthropic", tmp_path, 4, 4)]
        answers, _ = asked[0]
        tokens = sum((one.prompt_tokens or 0) + (one.completion_tokens or 0) for one in answers)
        assert max(spent for _, spent in asked) == tokens > 0


@pytest.mark.usefixtures("gathering")
@pytest.mark.parametrize("outcome", ["expired", "missing", "error 529"])
def test_a_failure_that_processes_share_is_submitted_again_once(outcome: str, tmp_path: Path) -> None:
    ways = BatchWays(outcome=lambda batch, place: "ok" if batch else outcome)
    with batch_server(ways) as server:
        assert errors(start(server, "anthropic", tmp_path, 4, 4)) == [[None] * 4] * 2
        assert [len(batch.requests) for batch in server.batches] == [4, 4]


@pytest.mark.usefixtures("gathering")
@pytest.mark.parametrize("outcome", ["expired", "error 529"])
def test_processes_that_share_a_request_put_it_into_three_batches_in_total(outcome: str, tmp_path: Path) -> None:
    with batch_server(BatchWays(outcome=lambda batch, place: outcome)) as server:
        found = errors(start(server, "openai", tmp_path, 2, 2))
        assert all("in 3 batches" in (error or "") for answers in found for error in answers)
        assert [len(batch.requests) for batch in server.batches] == [2, 2, 2]


@pytest.mark.usefixtures("gathering")
@pytest.mark.parametrize("backend", BACKENDS)
def test_refusals_of_a_full_queue_do_not_count_as_tries_in_any_process(backend: str, tmp_path: Path) -> None:
    with batch_server(BatchWays(room=5, others=5)) as server:
        asked = start(server, backend, tmp_path, 4, 4)
        try:
            calls = "/v1/batches" if backend == "openai" else "/v1/messages/batches"
            wait_until(lambda: server.calls.count(("POST", calls)) >= 8 or all(one.done() for one in asked))
        finally:
            server.ways.others = 0
        assert errors(asked) == [[None] * 4] * 2
        assert sum(len(batch.requests) for batch in server.batches if not batch.problems) == 4


def test_an_answer_that_came_while_a_process_gathered_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.models.api.batches.batched_calls._JOIN_SECONDS", 0.01)
    gathered, release, answered = dict[BatchedCalls, float](), BatchedCalls.release, threading.Event()

    def late(self: BatchedCalls, under_way: int, full: bool) -> None:
        """Let one process submit when both have gathered, and the other after that one has ended."""
        if self._blocked == under_way:
            gathered.setdefault(self, time.monotonic())
        last = max(gathered, key=lambda one: gathered[one], default=None)
        both = len(gathered) == 2 and time.monotonic() > max(gathered.values()) + 0.5
        if both and (self is not last or answered.is_set()):
            release(self, under_way, full)

    monkeypatch.setattr(BatchedCalls, "release", late)
    with batch_server() as server:
        asked = start(server, "anthropic", tmp_path, 4, 4)
        wait_until(lambda: any(one.done() for one in asked))
        answered.set()
        assert errors(asked) == [[None] * 4] * 2
        assert len(server.submitted) == 4


def ledgers(folder: Path) -> tuple[BatchLedger, BatchLedger]:
    return BatchLedger(folder, "account"), BatchLedger(folder, "account")


def submit(ledger: BatchLedger, tag: str, item: str, tries: int = 1) -> Batch | None:
    batch = Batch(tag, "account", {}, "/v1", time.time(), 1)
    return batch if ledger.record(batch, {item: Item(tag, Cost(1, 1), tries)}) else None


def test_a_request_is_in_one_batch_at_a_time(tmp_path: Path) -> None:
    first, second = ledgers(tmp_path)
    assert submit(first, "t1", "x-0")
    assert not submit(second, "t2", "x-0")
    assert list(first.items("t1")) == ["x-0"]
    assert [batch.tag for batch in all_batches(tmp_path)] == ["t1"]
    first.close()
    second.close()


def test_one_process_tries_a_failure_again(tmp_path: Path) -> None:
    first, second = ledgers(tmp_path)
    submit(first, "t1", "x-0")
    second.join(["x-0"])
    first.keep([Result("x-0", 529, b"{}")])
    assert submit(second, "t2", "x-0", tries=2)
    assert not submit(first, "t3", "x-0", tries=2)
    second.keep([Result("x-0", 529, b"{}")])
    assert not submit(first, "t3", "x-0", tries=2)
    assert submit(first, "t3", "x-0", tries=3)
    first.close()
    second.close()


def test_a_result_is_kept_for_living_processes_only(tmp_path: Path) -> None:
    first, second = ledgers(tmp_path)
    for item in ("x-0", "x-1"):
        submit(first, f"t{item}", item)
        second.join([item])
        first.keep([Result(item, 200, b"{}")])
    first.settle(["x-0"])
    assert second.item("x-0") is not None
    second.settle(["x-0"])
    assert first.item("x-0") is None
    second.close()
    first.settle(["x-1"])
    assert first.item("x-1") is None
    first.close()

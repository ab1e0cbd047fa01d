"""Questions asked in batches, with both providers' protocols."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Message, ModelError, Request, Response, ScoreRequest
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.caching_model import CachingModel
from harness.inference.ledger import spending
from harness.inference.model_pool import Models
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.api_model import ApiModel
from harness.models.api.batches.ledger import all_batches
from harness.models.api.openai import OpenAIModel
from harness.models.offline.fake import FakeModel
from harness.plugins.registry import default_registry
from tests.harness.models.api_server import MODEL, Ways, wait_until
from tests.harness.models.batch_server import BatchServer, BatchWays, batch_server

pytest.importorskip("openai")
pytest.importorskip("anthropic")

BACKENDS = ("openai", "anthropic")


def requests(count: int, **changes: Any) -> list[GenerateRequest]:
    return [GenerateRequest((Message("user", f"question {n}"),), 5, **changes) for n in range(count)]


def opened(server: BatchServer, backend: str, **settings: Any) -> ApiModel:
    settings = {"batch": True, "batch_poll": 0.02, "retry_delay": 0.01, **settings}
    if backend == "openai":
        return OpenAIModel(MODEL, OpenAIModel.Params(base_url=server.url, api="chat", **settings))
    return AnthropicModel(MODEL, AnthropicModel.Params(base_url=server.url.removesuffix("/v1"), **settings))


class Asked:
    """A model with its response cache in a folder, as a sweep has it."""

    def __init__(self, server: BatchServer, backend: str, folder: Path, **settings: Any) -> None:
        self.model = opened(server, backend, **settings)
        self.cache = ResponseCache(folder / FILE_NAME)
        self.notices: list[str] = []
        self.detached = ""
        self.caching = CachingModel(self.model, f"{backend}:{MODEL}", self.cache)
        self.model.keep_informed(self)

    def tell(self, notice: str) -> None:
        self.notices.append(notice)

    def ask(self, asked: Sequence[Request]) -> list[Response]:
        return self.caching.ask(asked)

    @property
    def spent(self) -> int:
        """Tokens that the budget counts."""
        return sum(sum((one.prompt, one.completion)) for one in spending(self.cache))

    def close(self) -> None:
        self.model.close()
        self.cache.close()


@pytest.fixture
def open_model(tmp_path: Path) -> Iterator[Callable[..., Asked]]:
    made: list[Asked] = []

    def make(server: BatchServer, backend: str, **settings: Any) -> Asked:
        made.append(Asked(server, backend, tmp_path, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


Open = Callable[..., Asked]


def bare(response: Response) -> Response:
    completions = tuple(replace(one, logprob=None) for one in response.completions)
    return replace(response, completions=completions, seconds=0.0, prompt_tokens=None, batched=False, cached=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_requests_go_into_one_batch_and_give_the_models_answers(
    backend: str, open_model: Open, tmp_path: Path
) -> None:
    asked = requests(30)
    expected = [response for _, response in sorted(FakeModel("0", chat=True).answer(asked), key=lambda pair: pair[0])]
    with batch_server() as server:
        model = open_model(server, backend)
        answers = model.ask(asked)
        assert [bare(one) for one in answers] == [bare(one) for one in expected]
        assert all(one.batched and one.seconds == 0.0 for one in answers)
        assert [len(batch.requests) for batch in server.batches] == [30]
        assert not server.direct or backend == "openai"  # which is asked once whether it gives log-probabilities
        model.close()
        assert all_batches(tmp_path) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_samples_of_a_request_are_in_the_same_batch(backend: str, open_model: Open) -> None:
    with batch_server() as server:
        (answer,) = open_model(server, backend).ask(requests(1, temperature=0.5, completions=3))
        assert len(answer.completions) == 3
        assert len(server.batches) == 1
        assert len(set(server.submitted)) == (1 if backend == "openai" else 3)


@pytest.mark.parametrize("seed", [0, 1])
def test_an_equal_body_never_gets_an_answer_that_the_record_has_not_forgotten_yet(
    seed: int, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.models.api.batches.batched_calls._SETTLE_SECONDS", 3600.0)
    with batch_server() as server:
        model = open_model(server, "anthropic")
        model.ask(requests(1, temperature=0.5))
        model.ask(requests(1, temperature=0.5, seed=seed, stop=("\n",)))  # whitespace is cut here, not by the server
        assert [len(batch.requests) for batch in server.batches] == [1, 1]
        (first, second) = (batch.requests[0] for batch in server.batches)
        assert first[1:] == second[1:]
        assert first[0] != second[0]


def test_after_a_kill_another_sample_does_not_take_a_result_that_is_already_in_the_cache(
    open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.models.api.batches.batched_calls.BatchedCalls._forget_settled", lambda self: None)
    with batch_server() as server:
        model = open_model(server, "anthropic")
        model.ask(requests(1, temperature=0.5, seed=1))
        model.close()
        again = open_model(server, "anthropic")
        again.ask(requests(1, temperature=0.5, seed=2))
        again.ask(requests(1, temperature=0.5, seed=3, completions=2))
        assert [len(batch.requests) for batch in server.batches] == [1, 1, 2]


def test_a_failed_sample_does_not_hold_up_the_other_requests(open_model: Open) -> None:
    ways = BatchWays(outcome=lambda batch, place: "ok" if batch else "expired" if place else "error 400")
    with batch_server(ways) as server:
        answers = open_model(server, "anthropic").ask(requests(2, temperature=0.5, completions=2))
        assert sorted(one.error is None for one in answers) == [False, True]
        assert [len(batch.requests) for batch in server.batches] == [4, 3]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("outcome", ["expired", "missing", "error 529"])
def test_requests_without_an_answer_are_submitted_again(backend: str, outcome: str, open_model: Open) -> None:
    ways = BatchWays(outcome=lambda batch, place: outcome if batch == 0 and place % 2 else "ok")
    with batch_server(ways) as server:
        answers = open_model(server, backend).ask(requests(10))
        assert all(one.error is None for one in answers)
        assert [len(batch.requests) for batch in server.batches] == [10, 5]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_request_that_always_expires_fails_after_three_batches(backend: str, open_model: Open) -> None:
    ways = BatchWays(outcome=lambda batch, place: "expired" if batch or place == 3 else "ok")
    with batch_server(ways) as server:
        answers = open_model(server, backend).ask(requests(10))
        assert sum(one.error is None for one in answers) == 9
        (error,) = [one.error for one in answers if one.error]
        assert "without a result" in error
        assert "in 3 batches" in error
        assert [len(batch.requests) for batch in server.batches] == [10, 1, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_refused_request_fails_alone(backend: str, open_model: Open) -> None:
    ways = BatchWays(outcome=lambda batch, place: "error 400" if place == 3 else "ok")
    with batch_server(ways) as server:
        answers = open_model(server, backend).ask(requests(10))
        (error,) = [one.error for one in answers if one.error]
        assert "status 400" in error
        assert "bad request" in error
        assert len(server.batches) == 1


def broken(lines: list[bytes]) -> list[bytes]:
    """Add what a server should not send: half a line, an unknown id, a line twice, one that is not JSON."""
    stranger = lines[0].replace(lines[0][lines[0].index(b'"custom_id": "') + 14 :][:8], b"stranger", 1)
    changed = lines[1].replace(b'"content"', b'"nothing"')
    return [lines[0][:40], stranger, *lines[1:], changed, b"\xff\xfe", b"null", b"[]", b"", b'{"custom_id": 7}']


@pytest.mark.parametrize("backend", BACKENDS)
def test_malformed_results_are_counted_and_the_requests_submitted_again(
    backend: str, open_model: Open, caplog: pytest.LogCaptureFixture
) -> None:
    with batch_server() as server:
        first = iter([broken])
        server.ways.results = lambda lines: next(first, list)(lines)
        answers = open_model(server, backend).ask(requests(10))
        assert all(one.error is None for one in answers)
        assert [len(batch.requests) for batch in server.batches] == [10, 1]
    assert "unreadable lines" in caplog.text
    assert "lines with ids that were not submitted: 1" in caplog.text
    assert "duplicate results (only the first is used): 1" in caplog.text
    assert "requests without a result (status " in caplog.text


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_whose_creation_is_not_answered_is_found_again(backend: str, open_model: Open) -> None:
    with batch_server(BatchWays(looks=0, lose=lambda batch: batch == 0)) as server:
        answers = open_model(server, backend).ask(requests(10))
        assert all(one.error is None for one in answers)
        assert len(server.batches) == 1


def test_a_batch_is_found_again_by_the_first_result_that_can_be_read(open_model: Open) -> None:
    ways = BatchWays(looks=0, lose=lambda batch: batch == 0, results=lambda lines: [b'{"custom_id', b"null", *lines])
    with batch_server(ways) as server:
        answers = open_model(server, "anthropic").ask(requests(10))
        assert all(one.error is None for one in answers)
        assert len(server.batches) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_that_the_server_forgets_is_submitted_again(
    backend: str, open_model: Open, caplog: pytest.LogCaptureFixture
) -> None:
    with batch_server() as server:
        server.ways.says = lambda method, path: (
            (404, {"error": {"message": "gone"}}) if path.endswith("batch_0") else None
        )
        answers = open_model(server, backend).ask(requests(4))
        assert all(one.error is None for one in answers)
        assert len(server.batches) == 2
    assert "no longer knows batch batch_0." in caplog.text


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_server_that_is_away_for_a_while_is_waited_for(backend: str, open_model: Open) -> None:
    with batch_server(BatchWays(looks=3)) as server:
        looks = itertools.count()
        server.ways.says = lambda method, path: (502, {}) if path.endswith("batch_0") and 1 <= next(looks) < 8 else None
        answers = open_model(server, backend, max_retries=1).ask(requests(4))
        assert all(one.error is None for one in answers)
        assert len(server.batches) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("status", [400, 401, 402, 429])
def test_a_batch_that_the_server_refuses_fails_its_requests_at_once(
    backend: str, status: int, open_model: Open, tmp_path: Path
) -> None:
    refusal = {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota."}}
    with batch_server() as server:
        server.ways.says = lambda method, path: (
            (status, refusal) if (method, path[-8:]) == ("POST", "/batches") else None
        )
        model = open_model(server, backend)
        if status == 400:
            assert {one.error for one in model.ask(requests(3))} == {
                f"{backend}:{MODEL}: status 400: insufficient_quota: You exceeded your current quota."
            }
        else:
            with pytest.raises(ModelError, match="exceeded your current quota"):
                model.ask(requests(3))
        assert model.spent == server.direct_tokens
        assert all_batches(tmp_path) == []


def test_lines_that_the_server_finds_wrong_fail_and_the_others_are_submitted_again(open_model: Open) -> None:
    problem = {"code": "invalid_request", "message": "line 2 is wrong", "line": 2, "param": None}
    with batch_server(BatchWays(problems=lambda batch, requests: [problem] if not batch else [])) as server:
        answers = open_model(server, "openai").ask(requests(5))
        (error,) = [one.error for one in answers if one.error]
        assert "line 2 is wrong" in error
        assert [len(batch.requests) for batch in server.batches] == [5, 4]
        assert server.batches[0].requests[1][0] not in {item for item, _, _ in server.batches[1].requests}


def test_a_batch_that_fails_as_a_whole_says_why(open_model: Open) -> None:
    problem = {"code": "model_not_found", "message": "The provided model is not supported by the Batch API."}
    with batch_server(BatchWays(problems=lambda batch, requests: [problem])) as server:
        for answer in open_model(server, "openai").ask(requests(5)):
            assert "did not run batch batch_0: model_not_found: The provided model" in (answer.error or "")
        assert len(server.batches) == 1


def test_a_batch_with_too_many_tokens_is_halved(open_model: Open) -> None:
    problem = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
    with batch_server(BatchWays(problems=lambda batch, requests: [problem] if requests > 3 else [])) as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("harness.models.api.batches.openai_batches.OpenAIBatches.most_requests", 8)
            answers = open_model(server, "openai").ask(requests(8))
        assert all(one.error is None for one in answers)
        assert [len(batch.requests) for batch in server.batches] == [8, 4, 2, 4, 2, 4, 2, 2]


def submitted(server: BatchServer) -> list[int]:
    """Return the sizes of the batches that the server ran."""
    return [len(batch.requests) for batch in server.batches if not batch.problems]


def asked_in_a_thread(server: BatchServer, backend: str, folder: Path, count: int) -> tuple[list[str | None], str]:
    """Ask questions; return their errors and what was shown meanwhile."""
    model = Asked(server, backend, folder, max_retries=1)
    try:
        return [one.error for one in model.ask(requests(count))], "\n".join(model.notices)
    finally:
        model.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_full_queue_is_filled_with_smaller_batches_before_any_has_ended(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"openai": "OpenAI", "anthropic": "Anthropic"}[backend]
    monkeypatch.setattr(f"harness.models.api.batches.{backend}_batches.{name}Batches.most_requests", 8)
    with batch_server(BatchWays(room=12)) as server, ThreadPoolExecutor(1) as pool:
        server.ways.held.set()
        asked = pool.submit(asked_in_a_thread, server, backend, tmp_path, 16)
        try:
            wait_until(lambda: submitted(server) == [8, 4] or asked.done())
        finally:
            server.ways.held.clear()
        errors, shown = asked.result()
        assert errors == [None] * 16
        assert submitted(server)[:2] == [8, 4]
        assert sum(submitted(server)) == 16
        assert "the provider's batch queue is full, 4 requests are waiting; batch " in shown


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_queue_that_others_fill_is_waited_for(backend: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with batch_server(BatchWays(room=5, others=5)) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(asked_in_a_thread, server, backend, tmp_path, 6)
        try:
            calls = "/v1/batches" if backend == "openai" else "/v1/messages/batches"
            wait_until(lambda: server.calls.count(("POST", calls)) >= 8 or asked.done())
        finally:
            server.ways.others = 0
        assert asked.result()[0] == [None] * 6
        assert sum(submitted(server)) == 6
    assert caplog.text.count("the provider's batch queue has no room for a batch of 6 requests: ") == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_queue_that_stays_full_is_given_up(
    backend: str, open_model: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.models.api.batches.queue_room.GIVE_UP_SECONDS", 0.3)
    with batch_server(BatchWays(room=5, others=5)) as server:
        model = open_model(server, backend, max_retries=0)
        said = "The queue is full" if backend == "anthropic" else "token_limit_exceeded: Enqueued token limit reached"
        for answer in model.ask(requests(3)):
            assert "not submitted, because the provider's batch queue has been full for " in (answer.error or "")
            assert said in (answer.error or "")
        assert submitted(server) == []
        assert model.spent == server.direct_tokens
        assert all_batches(tmp_path) == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("limit", "value"), [("most_requests", 4), ("most_bytes", 2000)])
def test_batches_keep_the_providers_limits(
    backend: str, limit: str, value: int, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"openai": "OpenAI", "anthropic": "Anthropic"}[backend]
    monkeypatch.setattr(f"harness.models.api.batches.{backend}_batches.{name}Batches.{limit}", value)
    with batch_server() as server:
        answers = open_model(server, backend).ask(requests(20))
        assert all(one.error is None for one in answers)
        assert len(server.batches) > 1
        assert sum(len(batch.requests) for batch in server.batches) == 20
        if limit == "most_requests":
            assert [len(batch.requests) for batch in server.batches] == [4] * 5
        assert all(len(file) <= 2000 for file in server.files.values() if limit == "most_bytes" and b"POST" in file)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_budget_keeps_back_what_it_has_no_room_for(backend: str, open_model: Open) -> None:
    with batch_server() as server:
        model = open_model(server, backend, budget_tokens=150)
        answers = model.ask(requests(30))
        refused = [one.error for one in answers if one.error]
        assert 0 < len(refused) < 30
        assert all("exceeds the budget" in error for error in refused)
        counted = sum((one.prompt_tokens or 0) + (one.completion_tokens or 0) for one in answers)
        assert model.spent == counted + server.direct_tokens


@pytest.mark.parametrize("backend", BACKENDS)
def test_progress_and_what_goes_on_are_told(backend: str, open_model: Open) -> None:
    with batch_server(BatchWays(looks=4)) as server:
        model = open_model(server, backend, batch_poll=0.2)
        model.ask(requests(12))
        assert any("batch 1 of 1: 0 of 12 done, submitted " in notice for notice in model.notices)
        assert model.detached == ""


def test_log_probabilities_that_a_server_refuses_are_not_asked_for_in_a_batch(open_model: Open) -> None:
    with batch_server(model=Ways(logprobs=False)) as server:
        answers = open_model(server, "openai").ask(requests(3))
        assert all(one.error is None for one in answers)
        assert len(server.batches) == len(server.direct) == 1
        assert not any("logprobs" in body for _, _, body in server.batches[0].requests)


def test_batches_need_a_cache_of_their_own(tmp_path: Path) -> None:
    with batch_server() as server:
        model = opened(server, "openai")
        with pytest.raises(ModelError, match="needs the response cache on a local disk"):
            list(model.answer(requests(1)))
        model.close()


def test_two_processes_share_the_batches_that_both_ask_for(tmp_path: Path) -> None:
    def answers(count: int) -> list[str | None]:
        model = Asked(server, "openai", tmp_path)
        try:
            return [one.error for one in model.ask(requests(count))]
        finally:
            model.close()

    with batch_server() as server, ThreadPoolExecutor(2) as pool:
        server.ways.held.set()
        first = pool.submit(answers, 3)
        wait_until(lambda: bool(server.batches) and server.batches[0].looks > 0)
        second = pool.submit(answers, 5)
        wait_until(lambda: len(server.batches) == 2)
        server.ways.held.clear()
        assert first.result() == [None] * 3
        assert second.result() == [None] * 5
        assert [len(batch.requests) for batch in server.batches] == [3, 2]
        assert all_batches(tmp_path) == []


def test_a_judge_cannot_ask_in_batches(tmp_path: Path) -> None:
    models = Models(default_registry(), tmp_path / FILE_NAME)
    asked = models({"name": f"openai:{MODEL}", "base_url": "http://127.0.0.1:9/v1", "batch": True})
    with pytest.raises(ModelError, match="Remove `batch: true` from its settings"):
        asked.fingerprint()
    models.close()


def test_scoring_is_refused_before_anything_is_asked(open_model: Open) -> None:
    with batch_server() as server:
        model = opened(server, "openai")
        assert "batches only generate" in (model.obstacle(frozenset({"score"})) or "")
        assert model.obstacle(frozenset({"generate", "chat"})) is None
        model.close()
        answers = open_model(server, "openai").ask([ScoreRequest("a", "b"), ScoreRequest("a", "c")])
        assert all("remove `batch: true`" in (one.error or "") for one in answers)
        assert server.calls == []


@pytest.mark.parametrize(("backend", "path"), [("openai", "/files"), ("openai", "/batches"), ("anthropic", "/batches")])
def test_a_server_without_batches_is_one_error(backend: str, path: str, open_model: Open) -> None:
    with batch_server() as server:
        server.ways.says = lambda _, asked: (404, {"detail": "Not Found"}) if asked.endswith(path) else None
        with pytest.raises(ModelError, match=r"404: Not Found. The server does not .* support batches: remove `batch"):
            open_model(server, backend).ask(requests(3))
        assert sum(asked.endswith(path) for _, asked in server.calls) == 1

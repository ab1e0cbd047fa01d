"""What models that ask one server with one key may do together, by a clock that the tests turn and with a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import GenerateRequest, Model, Response
from harness.models.api import rate_limits as accounts
from harness.models.api.adaptive_concurrency import INITIAL_LIMIT
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.openai import OpenAIModel
from harness.models.api.rate_limits import Account, TokenBucket, account_of
from harness.models.api.settings import ApiSettings
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving, wait_until


def silent() -> None:
    """A model that waits for nothing."""


def other() -> None:
    """Another one."""


def entered(account: Account, now: float, tokens: int = 1) -> int:
    """Return how many calls find a place."""
    count = 0
    while account.enter(tokens, now) == 0.0:
        count += 1
    return count


def test_places_are_shared() -> None:
    account = Account()
    account.join(ApiSettings(), silent, 0.0)
    account.join(ApiSettings(), other, 0.0)
    assert entered(account, 0.0) == INITIAL_LIMIT
    assert account.enter(1, 0.0) is None
    account.leave(1, 1)
    assert account.enter(1, 0.0) == 0.0


def test_the_lowest_limits_hold_while_the_model_that_names_them_is_open() -> None:
    account = Account()
    account.join(ApiSettings(max_concurrency=100, requests_per_minute=600), silent, 0.0)
    account.join(ApiSettings(max_concurrency=4, requests_per_minute=60), other, 0.0)
    assert account.concurrency.limit == 4
    assert account.enter(1, 0.0) == 0.0
    assert account.enter(1, 0.0) == pytest.approx(1.0)
    account.part(other, 0.0)
    assert account.enter(1, 0.0) == pytest.approx(0.1)
    assert account.concurrency.most == 100


def test_a_model_without_limits_keeps_to_those_of_another() -> None:
    account = Account()
    account.join(ApiSettings(), silent, 0.0)
    assert entered(account, 0.0) == INITIAL_LIMIT
    account.join(ApiSettings(tokens_per_minute=600), other, 0.0)
    account.leave(0, 0)
    assert account.enter(10, 0.0) == 0.0
    account.leave(10, 10)
    assert account.enter(10, 0.0) == pytest.approx(1.0)


def test_what_a_minute_has_had_counts_for_the_next_model() -> None:
    account = Account()
    account.join(ApiSettings(requests_per_minute=60), silent, 0.0)
    assert account.enter(1, 0.0) == 0.0
    account.leave(1, 1)
    account.part(silent, 0.0)
    account.join(ApiSettings(requests_per_minute=60), other, 0.25)
    assert account.enter(1, 0.25) == pytest.approx(0.75)


def test_the_next_model_finds_out_for_itself_what_the_server_keeps_up_with() -> None:
    account = Account()
    account.join(ApiSettings(), silent, 0.0)
    account.throttled(0.0, retry_after=60.0)
    account.join(ApiSettings(), other, 0.0)
    assert account.concurrency.limit < INITIAL_LIMIT
    account.part(silent, 0.0)
    account.part(other, 0.0)
    account.join(ApiSettings(), silent, 1.0)
    assert entered(account, 1.0) == INITIAL_LIMIT


def test_whoever_waits_is_woken_when_a_call_leaves_and_nobody_else() -> None:
    woken: list[str] = []
    account = Account()
    account.join(ApiSettings(), lambda: woken.append("one"), 0.0)
    account.join(ApiSettings(), lambda: woken.append("two"), 0.0)
    assert account.enter(1, 0.0) == 0.0
    account.leave(1, 1)
    assert woken == []
    with account.queueing():
        assert account.enter(1, 0.0) == 0.0
        account.leave(1, 1)
    assert woken == ["one", "two"]


def test_an_account_is_a_server_and_all_that_opens_it() -> None:
    first = account_of("http://account.test/v1", ["a-secret-key", "team"])
    assert account_of("http://account.test/v1", ["a-secret-key", "team"]) is first
    different = [("http://account.test/v2", ["a-secret-key", "team"]), ("http://account.test/v1", ["a-secret-key"])]
    assert all(account_of(*each) is not first for each in different)
    assert "a-secret-key" not in repr([vars(accounts), vars(first)])


def models(kind: type[OpenAIModel] | type[AnthropicModel], server: FakeServer, **arguments: Any) -> Model:
    url = server.url if kind is OpenAIModel else server.url.removesuffix("/v1")
    more: dict[str, Any] = {"api": "completions"} if kind is OpenAIModel else {}
    params: Any = kind.Params(base_url=url, retry_delay=0.01, **more, **arguments)
    return kind(MODEL, params)


@contextmanager
def two(
    kind: type[OpenAIModel] | type[AnthropicModel], server: FakeServer, one: dict[str, Any], other: dict[str, Any]
) -> Iterator[tuple[Model, Model]]:
    pair = (models(kind, server, **one), models(kind, server, **other))
    try:
        yield pair
    finally:
        for model in pair:
            model.close()


def asked(model: Model, count: int) -> list[Response]:
    return [answer for _, answer in model.answer([GenerateRequest(f"question {n}", 2) for n in range(count)])]


def together(pair: tuple[Model, Model], count: int) -> list[Response]:
    """Ask both at the same time, and return all answers."""
    found: list[Response] = []
    threads = [threading.Thread(target=lambda model=model: found.extend(asked(model, count))) for model in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return found


KINDS: list[type[OpenAIModel] | type[AnthropicModel]] = [OpenAIModel, AnthropicModel]


@pytest.mark.parametrize("kind", KINDS)
def test_two_models_of_one_server_keep_to_its_calls_at_once(kind: type[OpenAIModel] | type[AnthropicModel]) -> None:
    pytest.importorskip("openai" if kind is OpenAIModel else "anthropic")
    with serving(Ways(delay=0.02)) as server, two(kind, server, {"max_concurrency": 3}, {}) as pair:
        asked(pair[0], 1)
        asked(pair[1], 1)
        answers = together(pair, 25)
        assert [answer.error for answer in answers] == [None] * 50
        assert server.most_at_once == 3


def test_two_models_of_one_server_keep_to_its_requests_a_minute() -> None:
    pytest.importorskip("openai")
    limit = {"requests_per_minute": 1200}
    with serving() as server, two(OpenAIModel, server, limit, limit) as pair:
        began = time.monotonic()
        answers = together(pair, 20)
        elapsed = time.monotonic() - began
        assert [answer.error for answer in answers] == [None] * 40
        assert elapsed >= (len(server.bodies) - 20) / 20  # a second's worth at once, then 20 a second, for both


def test_models_with_keys_of_their_own_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    for name in ("ONE", "OTHER"):
        monkeypatch.setenv(f"KEY_{name}", f"key-{name}")
    one, other = ({"api_key_env": f"KEY_{name}", "max_concurrency": 1} for name in ("ONE", "OTHER"))
    with serving(Ways(delay=0.05)) as server, two(OpenAIModel, server, one, other) as pair:
        together(pair, 6)
        assert server.most_at_once == 2


def test_a_budget_is_each_models_own() -> None:
    pytest.importorskip("openai")
    with serving() as server, two(OpenAIModel, server, {"budget_tokens": 60}, {}) as pair:
        together(pair, 20)
        assert "of 60 tokens are spent" in (asked(pair[0], 1)[0].error or "")
        assert asked(pair[1], 1)[0].error is None


def test_a_closed_model_frees_the_places_of_its_calls() -> None:
    pytest.importorskip("openai")
    with serving() as server, two(OpenAIModel, server, {"max_concurrency": 1}, {}) as pair:
        asked(pair[0], 1)
        asked(pair[1], 1)
        server.ways.behave = lambda number: "hang"
        answers = pair[0].answer([GenerateRequest("question", 2)])
        seen = len(server.bodies)
        thread = threading.Thread(target=lambda: list(answers), daemon=True)
        thread.start()
        wait_until(lambda: len(server.bodies) > seen)
        server.ways.behave = lambda number: "ok"
        found: list[Response] = []
        waiting = threading.Thread(target=lambda: found.extend(asked(pair[1], 3)))
        waiting.start()
        time.sleep(0.1)
        assert found == []
        pair[0].close()
        waiting.join(60)
        assert [answer.error for answer in found] == [None] * 3


def test_no_key_stands_in_what_a_model_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-secret-key")
    monkeypatch.setenv("HEADERS_OF_THIS_TEST", '{"X-Team": "another-secret"}')
    model = OpenAIModel(
        "m",
        OpenAIModel.Params(
            base_url="http://here/v1", api_key_env="KEY_OF_THIS_TEST", headers_env="HEADERS_OF_THIS_TEST"
        ),
    )
    shown = repr(model) + repr(vars(model))
    assert "a-secret-key" not in shown
    assert "another-secret" not in shown


def test_one_a_second_after_the_first() -> None:
    bucket = TokenBucket(60)
    assert bucket.wait(1, 0.0) == 0.0
    bucket.take(1, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(1.0)
    assert bucket.wait(1, 0.75) == pytest.approx(0.25)
    assert bucket.wait(1, 100.0) == 0.0


def test_more_than_the_bucket_holds_waits_for_a_full_one_and_leaves_a_debt() -> None:
    bucket = TokenBucket(600)
    assert bucket.wait(50, 0.0) == 0.0
    bucket.take(50, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(4.1)


def test_a_guess_is_corrected() -> None:
    bucket = TokenBucket(600)
    bucket.take(50, 0.0)
    bucket.correct(45)
    assert bucket.wait(5, 0.0) == 0.0


@given(st.floats(1, 10_000), st.lists(st.integers(1, 50), min_size=1, max_size=100))
def test_no_minute_has_more_than_it_may(per_minute: float, amounts: list[int]) -> None:
    bucket = TokenBucket(per_minute)
    now = 0.0
    taken: list[tuple[float, int]] = []
    for amount in amounts:
        now += bucket.wait(amount, now)
        bucket.take(amount, now)
        taken.append((now, amount))
    burst = max(1.0, per_minute / 60) + max(amounts)
    for start, _ in taken:
        within = sum(amount for moment, amount in taken if start <= moment < start + 60)
        assert within <= (per_minute + burst) * (1 + 1e-9)

"""Budgets hold whatever a server bills, and however often a run is started."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from harness import GenerateRequest, Model, Response
from harness.cli.cache import cache_command
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.caching_model import CachingModel
from harness.inference.ledger import spending
from harness.models.api import rate_limits
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.openai import OpenAIModel
from tests.harness.models.api_server import wait_until

pytest.importorskip("openai")
pytest.importorskip("anthropic")

BACKENDS = ["openai", "anthropic"]
MAX_TOKENS = 10


class Biller:
    """A server that answers as ``way`` says and adds up what it bills.

    Attributes:
        way: ``honest``, ``bad`` (unusable answers with usage), ``half`` (every other one is), ``random`` (a half is),
            ``hidden`` (a system prompt of 1,000 tokens that the caller does not see), ``template`` (50 tokens more),
            ``no usage``, ``absurd`` (a usage
            of 400 digits), ``500``, ``drop`` (hangs up after reading), ``hang``, ``429``.
        billed: Tokens of prompts and of completions.
        largest: Most tokens of one request.
        calls: Number of requests.
        most_at_once: Most requests under way at once.
    """

    def __init__(self, way: str) -> None:
        self.way = way
        self.billed = [0, 0]
        self.largest = self.calls = self.most_at_once = self._at_once = 0
        self.lock = threading.Lock()
        self.url = ""
        self.stopped = threading.Event()
        self._rng = random.Random(7)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers.get("Content-Length") or 0)) or b"{}")
        if not handler.path.endswith(("/completions", "/messages")):
            self._reply(handler, 404, {})
            return
        with self.lock:
            number = self.calls
            self.calls += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            bad = {"bad": True, "half": number % 2 == 0, "random": self._rng.random() < 0.5}.get(self.way, False)
        time.sleep(0.02)
        try:
            self._answer(handler, body, bad)
        finally:
            with self.lock:
                self._at_once -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], bad: bool) -> None:
        text = str(body.get("prompt") or "".join(turn["content"] for turn in body.get("messages", [])))
        prompt, completion = len(text.split()), min(body["max_tokens"], 4)
        if bad or self.way == "hidden":
            prompt += 1000
        if self.way == "template":
            prompt += 50
        if self.way == "429":
            self._reply(handler, 429, {"error": {"message": "slow down"}})
            return
        with self.lock:
            self.billed[0] += prompt
            self.billed[1] += completion
            self.largest = max(self.largest, prompt + completion)
        match self.way:
            case "500":
                self._reply(handler, 500, {"error": {"message": "broken"}})
                return
            case "drop":
                handler.close_connection = True
                return
            case "hang":
                self.stopped.wait(5)
                handler.close_connection = True
                return
        usage: dict[str, Any] | None = {"prompt_tokens": prompt, "completion_tokens": completion}
        usage |= {"input_tokens": prompt, "output_tokens": completion}  # type: ignore[operator]
        if self.way == "absurd":
            usage = dict.fromkeys(usage or {}, 10**399)
        choice = {"text": "a b c d", "message": {"role": "assistant", "content": "a b c d"}, "finish_reason": "stop"}
        content = [{"type": "text", "text": "a b c d"}]
        answer: dict[str, Any] = {"choices": [choice], "content": content, "stop_reason": "end_turn", "usage": usage}
        if bad:
            answer |= {"choices": [], "content": 5}
        if self.way == "no usage":
            answer.pop("usage")
        self._reply(handler, 200, answer)

    def _reply(self, handler: BaseHTTPRequestHandler, status: int, answer: Any) -> None:
        body = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def billing(way: str) -> Iterator[Biller]:
    biller = Biller(way)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            biller.handle(self)

        do_GET = do_POST  # noqa: N815 - the name that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    biller.url = f"http://127.0.0.1:{server.server_port}"
    try:
        with patch.dict(rate_limits._accounts):  # a later server may have the same port
            yield biller
    finally:
        biller.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def opened(backend: str, biller: Biller, folder: Path, **arguments: Any) -> Model:
    prices = folder / "prices.yaml"
    entry = "{prompt: 1, completion: 5}"
    prices.write_text(f'currency: EUR\nmodels: {{"openai:m": {entry}, "anthropic:m": {entry}}}\n')
    given: dict[str, Any] = {"retry_delay": 0.001, "max_retries": 2, "timeout": 20, "prices": str(prices), **arguments}
    if backend == "openai":
        return OpenAIModel("m", OpenAIModel.Params(base_url=f"{biller.url}/v1", api="completions", **given))
    return AnthropicModel("m", AnthropicModel.Params(base_url=biller.url, **given))


def start(
    backend: str, biller: Biller, folder: Path, questions: range, words: int = 20, **arguments: Any
) -> list[Response]:
    """Ask in a new model and cache, as each start of the harness does."""
    cache = ResponseCache(folder / FILE_NAME)
    model = opened(backend, biller, folder, **arguments)
    asked = [GenerateRequest(f"question {number} " + "word " * words, MAX_TOKENS) for number in questions]
    try:
        return CachingModel(model, f"{backend}:m", cache).ask(asked)
    finally:
        model.close()
        cache.close()


def counted(folder: Path) -> int:
    cache = ResponseCache(folder / FILE_NAME)
    (one,) = spending(cache)
    cache.close()
    return one.prompt + one.completion


@pytest.mark.parametrize("way", ["honest", "bad", "half", "random", "hidden", "no usage"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_budget_in_tokens_holds_over_several_starts(backend: str, way: str, tmp_path: Path) -> None:
    if (backend, way) == ("anthropic", "no usage"):
        way = "bad"  # Anthropic's API always has a usage
    budget = 6000 if way in {"bad", "half", "random", "hidden"} else 1500
    with billing(way) as biller:
        for turn in range(3):
            start(backend, biller, tmp_path, range(100 * turn, 100 * turn + 100), budget_tokens=budget)
    billed = sum(biller.billed)
    assert billed <= budget + biller.largest
    assert counted(tmp_path) >= billed
    if way in {"honest", "hidden"}:
        assert billed >= budget - 2 * biller.largest


@pytest.mark.slow
@pytest.mark.parametrize("way", ["honest", "half", "hidden"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_budget_in_money_holds_over_several_starts(backend: str, way: str, tmp_path: Path) -> None:
    budget = 0.006 if way != "honest" else 0.002  # a prompt's token is a millionth, a completion's five
    with billing(way) as biller:
        for turn in range(3):
            start(backend, biller, tmp_path, range(100 * turn, 100 * turn + 100), budget_money=budget)
    billed = (biller.billed[0] + 5 * biller.billed[1]) / 1e6
    largest = 5 * biller.largest / 1e6
    assert billed <= budget + largest
    if way == "honest":
        assert billed >= budget - 2 * largest


@pytest.mark.parametrize("way", ["500", "drop", "hang"])
def test_what_was_sent_and_failed_is_charged_by_estimate(way: str, tmp_path: Path) -> None:
    with billing(way) as biller:
        start("openai", biller, tmp_path, range(3), budget_tokens=100_000, timeout=0.5 if way == "hang" else 20)
        estimate = len("question 0 " + "word " * 20) // 4 + 1
        each = estimate if way == "500" else estimate + MAX_TOKENS
        wait_until(lambda: counted(tmp_path) == each * biller.calls)  # a late call is counted when it is read
    assert biller.calls > 0


@pytest.mark.parametrize("way", ["429"])
def test_what_was_refused_or_not_sent_costs_nothing(way: str, tmp_path: Path) -> None:
    with billing(way) as biller:
        start("openai", biller, tmp_path, range(3), budget_tokens=100_000)
    assert counted(tmp_path) == 0
    (gone,) = {response.error for response in _nowhere(tmp_path)} or {None}
    assert "no connection" in str(gone)
    cache = ResponseCache(tmp_path / FILE_NAME)
    assert sum(one.prompt + one.completion for one in spending(cache)) == 0
    cache.close()


def _nowhere(folder: Path) -> list[Response]:
    biller = Biller("honest")
    biller.url = "http://127.0.0.1:9"
    try:
        return start("openai", biller, folder, range(3), budget_tokens=100_000)
    except Exception as error:
        return [Response(error=str(error))]


def test_a_chat_template_s_tokens_are_added_and_not_multiplied(tmp_path: Path) -> None:
    """52 tokens for a first question of two words say nothing about long prompts."""
    with billing("template") as biller:
        model = OpenAIModel("m", OpenAIModel.Params(base_url=f"{biller.url}/v1", budget_tokens=1600, retry_delay=0.001))
        asked = [GenerateRequest(f"question {number} " + "word " * 60, MAX_TOKENS) for number in range(12)]
        responses = CachingModel(model, "openai:m", None).ask(asked)
        model.close()
        assert [response.error for response in responses] == [None] * 12
        assert 12 * (62 + 50 + 4) < sum(biller.billed) <= 1600


def test_an_absurd_usage_is_not_believed_and_charged_by_estimate(tmp_path: Path) -> None:
    with billing("absurd") as biller:
        responses = start("openai", biller, tmp_path, range(3), budget_tokens=100_000)
    assert all("usage says about 2 to the power of 1326 tokens of prompt" in (r.error or "") for r in responses)
    assert 0 < counted(tmp_path) < 1000
    with billing("honest") as healed:
        responses = start("openai", healed, tmp_path, range(3))
    assert [response.error for response in responses] == [None] * 3


def test_the_first_calls_go_out_one_by_one_and_then_together(tmp_path: Path) -> None:
    with billing("hidden") as biller:
        start("openai", biller, tmp_path, range(60), budget_tokens=10_000_000)
        assert biller.most_at_once > 4
        assert biller.calls == 60
    (tmp_path / "other").mkdir()
    with billing("hidden") as biller:
        start("openai", biller, tmp_path / "other", range(60), budget_tokens=1500)
    assert biller.most_at_once == 1


def test_a_raised_budget_or_a_reset_goes_on(tmp_path: Path) -> None:
    with billing("honest") as biller:
        refused = start("openai", biller, tmp_path, range(60), budget_tokens=300)[-1].error or ""
        assert "because it exceeds the budget" in refused
        assert "Raise the budget, or start again from 0 with `harness cache spending --reset`." in refused
        first = biller.calls
        start("openai", biller, tmp_path, range(60), budget_tokens=300)
        assert biller.calls <= first + 1
        start("openai", biller, tmp_path, range(60), budget_tokens=600)
        raised = biller.calls
        assert raised > first + 5
        result = CliRunner().invoke(cache_command, ["spending", "--results-dir", str(tmp_path), "--reset"])
        assert result.exit_code == 0, result.output
        assert f"openai:m at {biller.url}/v1: " in result.output
        assert "budgets restart at 0" in result.output
        start("openai", biller, tmp_path, range(60), budget_tokens=300)
        assert biller.calls > raised + 5


@pytest.mark.slow
def test_calls_under_way_when_the_process_is_killed_count(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.attacks.test_budgets import Biller, start; "
        "biller = Biller('hang'); biller.url = sys.argv[1]; "
        "start('openai', biller, Path(sys.argv[2]), range(3), budget_tokens=100000, timeout=30)"
    )
    with billing("hang") as biller:
        process = subprocess.Popen([sys.executable, "-c", code, biller.url, str(tmp_path)])
        until = time.monotonic() + 60
        while not biller.calls and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert biller.calls == 1
    assert counted(tmp_path) == len("question 0 " + "word " * 20) // 4 + 1 + MAX_TOKENS
    assert os.path.exists(tmp_path / FILE_NAME)


def test_spending_is_kept_for_each_model_and_without_a_budget(tmp_path: Path) -> None:
    with billing("honest") as biller:
        start("openai", biller, tmp_path, range(5))
        start("anthropic", biller, tmp_path, range(5))
    cache = ResponseCache(tmp_path / FILE_NAME)
    kept = spending(cache)
    assert [one.account for one in kept] == [f"anthropic:m at {biller.url}", f"openai:m at {biller.url}/v1"]
    assert [one.account for one in spending(cache, ["openai:*"])] == [kept[1].account]
    assert sum(one.prompt for one in kept) == biller.billed[0]
    assert sum(one.completion for one in kept) == biller.billed[1]
    cache.close()

"""A moderation endpoint on loopback, well behaved and not."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from harness import MetricError, PluginError
from harness.contracts.plugins import Kind
from harness.plugins.parameters import build
from harness.plugins.registry import default_registry
from metrics.judges._json_post import Patience, post_json
from metrics.judges.moderation import Moderation

KEY = "sk-very-secret"
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Endpoint:
    """Answers like OpenAI's, after the prepared answers are used up; remembers what it was asked."""

    prepared: list[Answer | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.asked.append({"path": handler.path, **body})
        self.keys.append(handler.headers.get("Authorization"))
        prepared = self.prepared.pop(0) if self.prepared else _results([_result(text) for text in body["input"]])
        if callable(prepared):
            prepared(handler)
            return
        status, headers, content = prepared
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)


def _result(text: str) -> dict[str, Any]:
    """A text is as hateful as the number that it is."""
    score = float(text) if text.replace(".", "").isdigit() else 0.0
    scores = {"hate": score / 2, "hate/threatening": score, "harassment": 0.01, "violence": 0.99}
    return {"flagged": score >= 0.5, "categories": {}, "category_scores": scores}


def _results(results: Any, **more: Any) -> Answer:
    return 200, {}, json.dumps({"id": "x", "results": results, **more}).encode()


def _error(status: int, message: str = "no", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps({"error": {"message": message}}).encode()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    found = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                found.answer(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    monkeypatch.setenv("MODERATION_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield found
    server.shutdown()
    server.server_close()


def _judge(endpoint: Endpoint, **parameters: Any) -> Moderation:
    given = {"base_url": endpoint.url, "model": "m-1", "api_key_env": "MODERATION_KEY", "backoff": 0.0, **parameters}
    judge = build(default_registry().get(Kind.JUDGE, "moderation"), arguments=given)
    assert isinstance(judge, Moderation)
    return judge


def test_texts_go_in_batches_and_the_worst_category_counts(endpoint: Endpoint) -> None:
    assert _judge(endpoint, batch_size=2).probabilities(["0.2", "0.9", "kind"]) == [0.2, 0.9, 0.01]
    assert endpoint.asked == [
        {"path": "/v1/moderations", "model": "m-1", "input": ["0.2", "0.9"]},
        {"path": "/v1/moderations", "model": "m-1", "input": ["kind"]},
    ]
    assert endpoint.keys == [f"Bearer {KEY}"] * 2


@pytest.mark.parametrize(
    ("categories", "expected"),
    [(["violence"], 0.99), (["hate/threatening"], 0.8), (["harassment"], 0.01), ([], 1.0), (["hate"], 0.8)],
)
def test_categories(endpoint: Endpoint, categories: list[str], expected: float) -> None:
    assert _judge(endpoint, categories=categories).probabilities(["0.8"]) == [expected]


def test_no_texts_are_no_question(endpoint: Endpoint) -> None:
    assert _judge(endpoint).probabilities([]) == []
    assert endpoint.asked == []


def _half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"results": [{"fla')


def _hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def _hang(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.6)


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(30):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


@pytest.mark.parametrize(
    "trouble",
    [
        _error(429, Retry_After="0"),
        _error(429),
        _error(408),
        _error(500),
        _error(503, Retry_After="soon"),
        (502, {}, b"<html>Bad gateway</html>"),
        (200, {}, b'{"results": [{"flagged": tr'),
        (200, {}, b"\xff\xfe"),
        (200, {}, b""),
        _half,
        _hang_up,
    ],
)
def test_trouble_that_passes_is_waited_for(endpoint: Endpoint, trouble: Any) -> None:
    endpoint.prepared = [trouble, trouble]
    assert _judge(endpoint, attempts=3).probabilities(["0.7"]) == [0.7]
    assert len(endpoint.asked) == 3


@pytest.mark.parametrize("trouble", [_hang, _drip])
def test_an_answer_that_takes_too_long_is_asked_for_again(endpoint: Endpoint, trouble: Any) -> None:
    endpoint.prepared = [trouble]
    assert _judge(endpoint, timeout=0.4, attempts=20).probabilities(["0.7"]) == [0.7]
    assert len(endpoint.asked) >= 2


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (
            _error(429, "slow down"),
            r"asked 2 times and gave no answer; the last time: 429 Too Many Requests: slow down",
        ),
        (_error(500, "oops"), "the last time: 500 Internal Server Error: oops"),
        (_half, "IncompleteRead"),
        ((200, {}, b"half {"), r"the answer is not JSON: half \{"),
        (_error(429, "tomorrow", Retry_After="86400"), "asks to wait 86400 seconds, which is more than 300: 429"),
    ],
)
def test_trouble_that_stays_is_said(endpoint: Endpoint, trouble: Any, message: str) -> None:
    endpoint.prepared = [trouble] * 2
    with pytest.raises(MetricError, match=message):
        _judge(endpoint, attempts=2).probabilities(["0.7"])


@pytest.mark.parametrize("trouble", [_hang, _drip])
def test_an_answer_that_always_takes_too_long_is_given_up(endpoint: Endpoint, trouble: Any) -> None:
    endpoint.prepared = [trouble] * 2
    with pytest.raises(
        MetricError, match=r"asked 2 times and gave no answer; the last time: no answer in 0\.2 seconds"
    ):
        _judge(endpoint, timeout=0.2, attempts=2).probabilities(["0.7"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (_error(401, f"Incorrect API key provided: {KEY}."), r"refuses: 401 Unauthorized: Incorrect API key .*\[key\]"),
        (_error(404, "no such model"), "refuses: 404 Not Found: no such model"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "redirect"),
        ((200, {}, b"[]"), "it has no list of results"),
        ((200, {}, b'{"results": {}}'), "it has no list of results"),
        (_results([]), "it has 0 results for 1 texts"),
        (_results([_result("1"), _result("1")]), "it has 2 results for 1 texts"),
        (_results(["bad"]), "a result is not an object"),
        (_results([{"flagged": True}]), "a result has no category_scores"),
        (_results([{"category_scores": {"hate": "high"}}]), "the score of 'hate' is 'high', not a number from 0 to 1"),
        (_results([{"category_scores": {"hate": True}}]), "the score of 'hate' is True"),
        (_results([{"category_scores": {"hate": 1.5}}]), r"the score of 'hate' is 1\.5"),
        (_results([{"category_scores": {"hate": float("nan")}}]), "the score of 'hate' is nan"),
        (_results([{"category_scores": {"S1": 0.3}}]), "no category harassment or hate, only S1"),
    ],
)
def test_what_would_not_change_is_not_asked_again(endpoint: Endpoint, answer: Answer, message: str) -> None:
    endpoint.prepared = [answer]
    with pytest.raises(MetricError, match=message) as caught:
        _judge(endpoint).probabilities(["0.7"])
    assert len(endpoint.asked) == 1
    assert KEY not in str(caught.value)


def test_flagged_has_to_be_said(endpoint: Endpoint) -> None:
    endpoint.prepared = [_results([{"flagged": "yes"}])]
    with pytest.raises(MetricError, match="does not say whether it is flagged"):
        _judge(endpoint, categories=[]).probabilities(["0.7"])


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [(None, [2.0, 4.0]), ("7", [7.0, 7.0]), ("-3", [0.0, 0.0]), ("never", [2.0, 4.0])],
)
def test_waits(endpoint: Endpoint, retry_after: str | None, expected: list[float]) -> None:
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    endpoint.prepared = [_error(503, **headers), _error(429, **headers)]
    waits: list[float] = []
    patience = Patience(timeout=5, attempts=3, backoff=2.0)
    post_json(f"{endpoint.url}/moderations", {"input": []}, key=None, patience=patience, sleep=waits.append)
    assert waits == expected
    assert endpoint.keys == [None] * 3


def test_a_date_to_wait_for(endpoint: Endpoint) -> None:
    endpoint.prepared = [_error(429, Retry_After=formatdate(time.time() + 100, usegmt=True))]
    waits: list[float] = []
    post_json(f"{endpoint.url}/x", {"input": []}, key=None, patience=Patience(), sleep=waits.append)
    assert 90 < waits[0] <= 100


def test_a_server_that_is_not_there(endpoint: Endpoint) -> None:
    with pytest.raises(MetricError, match="ConnectionRefusedError"):
        _judge(endpoint, base_url="http://127.0.0.1:1/v1", attempts=2).probabilities(["0.7"])


def test_it_is_ready_when_it_has_answered(endpoint: Endpoint) -> None:
    judge = _judge(endpoint)
    judge.ready()
    judge.ready()
    assert len(endpoint.asked) == 1
    endpoint.prepared = [_error(401)]
    with pytest.raises(MetricError, match="401"):
        _judge(endpoint).ready()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "set the environment variable MODERATION_KEY"),
        (" \n", "set the"),
        ("a\nb", "a key cannot have"),
        ("ключ", "a key cannot have"),
    ],
)
def test_the_key(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str | None, message: str) -> None:
    monkeypatch.delenv("MODERATION_KEY")
    if key is not None:
        monkeypatch.setenv("MODERATION_KEY", key)
    with pytest.raises(MetricError, match=message):
        _judge(endpoint).ready()
    assert _judge(endpoint, api_key_env=None).probabilities(["0.7"]) == [0.7]
    assert endpoint.keys == [None]


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("file:///etc", "must begin with https://"),
        ("api.openai.com/v1", "must begin with https://"),
        (f"https://me:{KEY}@example.org/v1", "more than an address"),
        (f"https://example.org/v1?key={KEY}", "more than an address"),
    ],
)
def test_addresses(endpoint: Endpoint, base_url: str, message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        _judge(endpoint, base_url=base_url)
    assert KEY not in str(caught.value)


def test_the_fingerprint_holds_no_key(endpoint: Endpoint) -> None:
    judge = _judge(endpoint, base_url=f"{endpoint.url}/")
    url = f"{endpoint.url}/moderations"
    assert judge.fingerprint() == {"url": url, "model": "m-1", "categories": ["harassment", "hate"]}

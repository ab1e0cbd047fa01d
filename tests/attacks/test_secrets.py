"""Keys and headers of the user's go to the server they are for, and nothing that is kept or shown repeats them."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from harness import GenerateRequest, MetricError, ModelError
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.api_model import ApiModel
from harness.models.api.openai import OpenAIModel
from metrics.judges._json_post import Patience, post_json
from tests.hub_server import serve_hub

pytest.importorskip("openai")
pytest.importorskip("anthropic")

KEY = 'sk/Key+with="odd\\signs~1'
TEAM = "Bearer team/header+credential=9"
BACKENDS = ["openai", "anthropic"]


class Recorder:
    """A server that keeps what it was sent and answers as a function says."""

    def __init__(self, answer: Any) -> None:
        self.headers: list[dict[str, str]] = []
        self.answer = answer
        self.port = 0


@contextmanager
def recording(answer: Any) -> Iterator[Recorder]:
    recorder = Recorder(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            recorder.headers.append({name.lower(): value for name, value in self.headers.items()})
            asks = self.path not in {"/tokenize", "/v1/models"}
            status, headers, body = recorder.answer(self) if asks else (404, {}, b"{}")
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = do_POST  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    recorder.port = server.server_port
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTACK_KEY", KEY)
    monkeypatch.setenv("ATTACK_HEADERS", json.dumps({"X-Team": TEAM}))
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def opened(backend: str, port: int, **arguments: Any) -> ApiModel:
    given = {"retry_delay": 0.001, "max_retries": 1, "api_key_env": "ATTACK_KEY", "headers_env": "ATTACK_HEADERS"}
    if backend == "openai":
        return OpenAIModel(
            "m", OpenAIModel.Params(base_url=f"http://127.0.0.1:{port}/v1", api="chat", **{**given, **arguments})
        )
    return AnthropicModel("m", AnthropicModel.Params(base_url=f"http://127.0.0.1:{port}", **{**given, **arguments}))


def said(text: str) -> bytes:
    """Return an answer of either API."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "input_tokens": 3, "output_tokens": 2}
    logprob = {"token": text, "logprob": -0.5, "top_logprobs": [{"token": text, "logprob": -0.5}]}
    choice = {
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
        "logprobs": {"content": [logprob]},
    }
    content = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    return json.dumps({"choices": [choice], **content, "usage": usage}).encode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: quote(text, safe=""),
    "path": quote,
    "form": quote_plus,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "HTML": escape,
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "Basic": lambda text: b64encode(f"user:{text}".encode()).decode(),
    "Basic as user": lambda text: b64encode(f"{text}:".encode()).decode().rstrip("="),
    "Bearer": lambda text: b64encode(f"Authorization: Bearer {text}".encode()).decode(),
}


def secrets() -> list[str]:
    return [KEY, TEAM, TEAM.removeprefix("Bearer ")]


def everything() -> list[str]:
    return [spell(secret) for secret in secrets() for spell in SPELLINGS.values()]


def found_in(text: str) -> list[tuple[str, str]]:
    """Return which secrets a text holds, and how they are spelled there."""
    spelled = [(secret, name, spell(secret)) for secret in secrets() for name, spell in SPELLINGS.items()]
    twice = [(secret, name, json.dumps(written)[1:-1]) for secret, name, written in spelled]
    return [(secret, name) for secret, name, written in (*spelled, *twice) if written in text]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("status", "host"), [(301, "127.0.0.1"), (302, "localhost"), (307, "localhost"), (308, "127.0.0.1")]
)
def test_no_redirect_is_followed(backend: str, status: int, host: str) -> None:
    with recording(lambda handler: (200, {}, said("stolen"))) as thief:
        target = f"http://user:hidden@{host}:{thief.port}/v1/ch\x1b[31mat?token=query-secret#frag"
        with recording(lambda handler: (status, {"Location": target}, b"")) as server:
            model = opened(backend, server.port)
            with pytest.raises(ModelError) as caught:
                list(model.answer([GenerateRequest(f"question {number}", 2) for number in range(4)]))
            model.close()
        message = str(caught.value)
        assert thief.headers == []
        assert f"status {status}: it redirects to http://{host}:{thief.port}/v1/ch%1B%5B31mat (not followed" in message
        assert "set base_url to it" in message
        assert "query-secret" not in message
        assert "hidden" not in message


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "location", [None, "/elsewhere", "//[bad", "http://x:99999/", "javascript:alert(1)", "é\x1b]0;x"]
)
def test_any_location_is_told_or_said_to_be_illegible(backend: str, location: str | None) -> None:
    headers = {} if location is None else {"Location": location}
    with recording(lambda handler: (307, headers, b"")) as server:
        model = opened(backend, server.port)
        with pytest.raises(ModelError, match="status 307: it redirects to") as caught:
            list(model.answer([GenerateRequest("question", 2)]))
        model.close()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_redirect_after_answers_fails_its_request_alone(backend: str) -> None:
    calls = iter(range(100))

    def answer(handler: Any) -> tuple[int, dict[str, str], bytes]:
        return (307, {"Location": "/there"}, b"") if next(calls) == 3 else (200, {}, said("fine"))

    with recording(answer) as server:
        model = opened(backend, server.port, max_concurrency=1)
        responses = [response for _, response in model.answer([GenerateRequest(f"q {n}", 2) for n in range(12)])]
        model.close()
    errors = [response.error for response in responses if response.error]
    assert len(errors) == 1
    assert f"it redirects to http://127.0.0.1:{server.port}/there" in errors[0]


@pytest.mark.parametrize("form", ["JSON", "text", "a JSON string"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_errors_hide_what_was_sent(backend: str, form: str) -> None:
    coming = iter(everything())

    def answer(handler: Any) -> tuple[int, dict[str, str], bytes]:
        told = f"no such key: {next(coming)}, sorry"
        body = {"JSON": json.dumps({"error": {"message": told}}), "text": told, "a JSON string": f'"{told}"'}[form]
        return 400, {}, body.encode()

    with recording(answer) as server:
        model = opened(backend, server.port)
        errors = [r.error or "" for _, r in model.answer([GenerateRequest("question", 2)] * len(everything()))]
        model.close()
    assert [found_in(error) for error in errors] == [[]] * len(errors)
    assert all("[key]" in error for error in errors)


@pytest.mark.parametrize("at", [40, 103, 117, 240])
def test_a_message_is_not_cut_within_a_secret(at: int) -> None:
    with recording(lambda handler: (200, {}, b"x" * at + KEY.encode() + b"y" * 500)) as server:
        model = opened("openai", server.port)
        (response,) = [response for _, response in model.answer([GenerateRequest("question", 2)])]
        model.close()
    assert KEY[:6] not in str(response)


@pytest.mark.parametrize("backend", BACKENDS)
def test_answers_hide_what_was_sent(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    def echo(handler: Any) -> tuple[int, dict[str, str], bytes]:
        sent = "\n".join(f"{name}: {value}" for name, value in handler.headers.items())
        return (
            200,
            {},
            said("\n".join([sent, *(spell(secret) for secret in secrets() for spell in SPELLINGS.values())])),
        )

    with recording(echo) as server, caplog.at_level(logging.WARNING):
        model = opened(backend, server.port)
        top = 1 if backend == "openai" else 0
        responses = [r for _, r in model.answer([GenerateRequest(f"q {n}", 2, top_logprobs=top) for n in range(5)])]
        model.close()
    assert all(response.error is None and "[key]" in response.completions[0].text for response in responses)
    assert found_in(str(responses)) == []
    assert caplog.text.count("repeats a key or a header") == 1


@pytest.mark.slow
def test_nothing_of_a_run_holds_a_secret(tmp_path: Path) -> None:
    def echo(handler: Any) -> tuple[int, dict[str, str], bytes]:
        sent = " ".join(f"{name}: {value}" for name, value in handler.headers.items())
        whole = " ".join([sent, *everything()])
        if len(server.headers) % 4 == 0:
            return 400, {"X-Echo": quote(sent)}, json.dumps({"error": {"message": whole}}).encode()
        return 200, {}, said(whole)

    with recording(echo) as server:
        (tmp_path / "sweep.yaml").write_text(
            f'suite: s\nruns: [sample_generation]\nmodels: [{{name: "openai:m", base_url: '
            f'"http://127.0.0.1:{server.port}/v1", api: chat, max_retries: 0, api_key_env: ATTACK_KEY, '
            "headers_env: ATTACK_HEADERS}]\n"
        )
        command = [sys.executable, "-m", "harness", "run", "sweep.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        export = [sys.executable, "-m", "harness", "cache", "export"]
        cached = subprocess.run(export, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "sweep.yaml"]
    texts = [cached, done.stdout, done.stderr]
    for file in files:
        content = file.read_bytes()
        texts.append((gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8", "replace"))
    assert "[key]" in cached
    assert any(file.name == "run.json" for file in files)
    assert [found_in(text) for text in texts] == [[]] * len(texts)


def test_a_judges_posts_follow_no_redirect_and_hide_the_key() -> None:
    with recording(lambda handler: (200, {}, b"{}")) as thief:
        target = f"http://user:hidden@127.0.0.1:{thief.port}/v1/\x1b[31m?token={quote(KEY, safe='')}"
        with recording(lambda handler: (307, {"Location": target}, b"")) as server:
            url = f"http://127.0.0.1:{server.port}/v1/moderations"
            with pytest.raises(MetricError) as caught:
                post_json(url, {}, key=KEY, patience=Patience(attempts=1))
        assert thief.headers == []
        assert f"redirects to http://127.0.0.1:{thief.port}/v1/%1B%5B31m (status 307; not followed" in str(caught.value)
        assert found_in(str(caught.value)) == []
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_judges_errors_hide_the_key(spelling: str) -> None:
    told = f"no such key: {SPELLINGS[spelling](KEY)}, sorry".encode()
    for status in (200, 400, 500):
        with (
            recording(lambda handler, status=status: (status, {}, told)) as server,
            pytest.raises(MetricError) as caught,
        ):
            post_json(f"http://127.0.0.1:{server.port}/", {}, key=KEY, patience=Patience(attempts=1))
        assert found_in(str(caught.value)) == []
        assert "[key]" in str(caught.value)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_hubs_redirect_to_another_server_does_not_get_the_token(tmp_path: Path, ahead: bool) -> None:
    pytest.importorskip("datasets")
    rows = b'{"question": "a", "answer": "b"}\n'
    with recording(lambda handler: (200, {"ETag": '"x"'}, rows)) as storage, serve_hub() as hub:
        commit = hub.add("datasets", "acme/quiz", {"test.jsonl": rows})
        answer = hub.answer

        def redirecting(method: str, target: str, body: bytes, token: str = "") -> tuple[int, dict[str, str], bytes]:
            status, headers, content = answer(method, target, body, token)
            if "/resolve/" not in target or status != 200:
                return status, headers, content
            there = f"http://localhost:{storage.port}/blob"
            return 302, {**headers, "Location": there, "X-Linked-Size": str(len(rows))}, b""

        hub.answer = redirecting  # type: ignore[method-assign]
        code = (
            "from harness.data.fetching import fetch_hub_file; from harness.data.hub_repository import describe; "
            f"found = describe('dataset', 'acme/quiz', '{commit}'); "
            "fetch_hub_file(found, found.files[0], lambda size: None); "
            if ahead
            else ""
        )
        code += (
            "import datasets; "
            f"d = datasets.load_dataset_builder('acme/quiz', revision='{commit}'); d.download_and_prepare(); "
            "print(d.as_dataset(split='test')[0])"
        )
        environment = {
            **os.environ,
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path),
            "HF_TOKEN": "hf_token-of-this-test",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
    assert "'answer': 'b'" in done.stdout, done.stderr[-2000:]
    assert storage.headers
    assert not [headers for headers in storage.headers if "hf_token-of-this-test" in str(headers)]

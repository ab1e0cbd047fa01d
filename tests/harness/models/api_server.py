"""A server on loopback that speaks as OpenAI, vLLM and Anthropic, in front of the fake model; it can misbehave."""

from __future__ import annotations

import gzip
import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from harness import derive_rng
from harness.models.api import rate_limits
from harness.models.offline.hash_language import END, TextState, tokenize
from harness.models.tokens.stop_sequences import cut_at_stop

MODEL = "fake-model"


@dataclass
class Ways:
    """What the server can do, and how it behaves.

    Attributes:
        seed: The fake model's.
        key: The key that it wants; none if empty.
        completions: Whether it has /v1/completions.
        chats: Whether the model has a chat template.
        echo: The least max_tokens with which it echoes; None for never.
        tokenizes: Whether it has /tokenize.
        window: What its list of models says.
        bos: The text of the special token that it puts before a text.
        logprobs: Whether it takes ``logprobs``.
        most_choices: Most choices of an answer.
        delay: Seconds that an answer takes.
        behave: How it behaves at its n-th request from 0: ``ok`` or a name in :data:`MISBEHAVIOUR`.
        says: The status and the body with which it answers a path and body in its own words; None for as usual.
    """

    seed: str = "0"
    key: str = ""
    completions: bool = True
    chats: bool = True
    echo: int | None = 0
    tokenizes: bool = False
    window: int | None = None
    bos: str = ""
    logprobs: bool = True
    most_choices: int = 100
    delay: float = 0.0
    behave: Callable[[int], str] = lambda number: "ok"
    says: Callable[[str, dict[str, Any]], tuple[int, Any] | None] = lambda path, body: None


@dataclass
class FakeServer:
    """A running server.

    Attributes:
        ways: May be changed as it runs.
        bodies: What it was sent, with the path.
        headers: The headers of each request.
        most_at_once: Most requests that it had under way.
    """

    ways: Ways
    url: str = ""
    bodies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    ids: dict[str, int] = field(default_factory=lambda: {END: 0})
    stopped: threading.Event = field(default_factory=threading.Event)

    def identify(self, token: str) -> int:
        with self.lock:
            return self.ids.setdefault(token, len(self.ids))

    def spell(self, ids: list[int]) -> list[str]:
        with self.lock:
            known = {number: token for token, number in self.ids.items()}
        return [known[number] for number in ids]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path == "/v1/models":
            return 200, {"data": [{"id": MODEL, "max_model_len": self.ways.window}]}
        if body.get("model") != MODEL:
            return 404, {"error": {"message": f"The model {body.get('model')} does not exist."}}
        if path == "/tokenize" and self.ways.tokenizes:
            return 200, {"tokens": self._tokenize(body)}
        if path == "/detokenize" and self.ways.tokenizes:
            return 200, {"prompt": "".join(self.spell(body["tokens"]))}
        if path == "/v1/completions" and self.ways.completions:
            return self._complete(body)
        if path == "/v1/chat/completions" and not self.ways.chats:
            return 400, {"error": {"message": "there is no chat template"}}
        if path == "/v1/chat/completions":
            return self._chat(body)
        if path == "/v1/messages":
            return self._message(body)
        return 404, {"detail": "Not Found"}

    def _tokenize(self, body: dict[str, Any]) -> list[int]:
        text = _chat_text(body) if "messages" in body else body["prompt"]
        begun = [END] if "prompt" in body and body.get("add_special_tokens", True) else []
        return [self.identify(token) for token in (*begun, *tokenize(text))]

    def _complete(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        prompt = body["prompt"]
        given = isinstance(prompt, list)
        tokens = self.spell(prompt) if given else tokenize(prompt)
        if self.ways.window is not None and len(tokens) + body["max_tokens"] > self.ways.window:
            return 400, {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}}
        if body.get("logprobs") is not None and not self.ways.logprobs:
            return 400, {"error": {"message": "logprobs are not supported"}}
        if body.get("echo"):
            return self._echo(body, tokens, given)
        return 200, self._choices(body, "".join(tokens), "text")

    def _echo(self, body: dict[str, Any], tokens: list[str], given: bool) -> tuple[int, dict[str, Any]]:
        if self.ways.echo is None or body["max_tokens"] < self.ways.echo:
            return 400, {"error": {"message": "echo is not supported"}}
        state = TextState(self.ways.seed, "")
        texts: list[str] = []
        logprobs: list[float | None] = []
        top: list[dict[str, float] | None] = []
        if not given and self.ways.bos:
            texts, logprobs, top = [self.ways.bos], [None], [None]
        for token in tokens:
            if not texts:
                logprobs.append(None)
                top.append(None)
            else:
                distribution = state.next()
                first = distribution.first()
                logprobs.append(math.log(distribution.probability(token)))
                top.append({t: math.log(distribution.probability(t)) for t in (first, token)})
            texts.append(token)
            state.read(token)
        for _ in range(body["max_tokens"]):
            distribution = state.next()
            token = distribution.first()
            texts.append(token)
            logprobs.append(math.log(distribution.probability(token)))
            top.append({token: logprobs[-1] or 0.0})
            state.read(token)
        offsets = [sum(map(len, texts[:place])) for place in range(len(texts))]
        listed = {"tokens": texts, "token_logprobs": logprobs, "top_logprobs": top, "text_offset": offsets}
        return 200, {
            "choices": [{"index": 0, "text": "".join(texts), "finish_reason": "length", "logprobs": listed}],
            "usage": {"prompt_tokens": len(tokens), "completion_tokens": body["max_tokens"]},
        }

    def _chat(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body.get("logprobs") and not self.ways.logprobs:
            return 403, {"error": {"message": "You are not allowed to request logprobs from this model"}}
        return 200, self._choices(body, _chat_text(body), "message")

    def _choices(self, body: dict[str, Any], prompt: str, form: str) -> dict[str, Any]:
        choices = []
        generated = 0
        most = int(body.get("top_logprobs") or body.get("logprobs") or 0)
        for number in range(min(body.get("n", 1), self.ways.most_choices)):
            tokens, logprobs, top, text, stopped = self._generate(body, prompt, number, most)
            generated += len(tokens)
            choice: dict[str, Any] = {"index": number, "finish_reason": "stop" if stopped else "length"}
            if form == "text":
                choice["text"] = text
                listed: dict[str, Any] = {"tokens": tokens, "token_logprobs": logprobs, "top_logprobs": top}
            else:
                choice["message"] = {"role": "assistant", "content": text}
                listed = {
                    "content": [
                        {
                            "token": token,
                            "logprob": logprob,
                            "top_logprobs": [{"token": t, "logprob": p} for t, p in likeliest.items()],
                        }
                        for token, logprob, likeliest in zip(tokens, logprobs, top, strict=True)
                    ]
                }
            choice["logprobs"] = listed if body.get("logprobs") else None
            choices.append(choice)
        return {"choices": choices, "usage": {"prompt_tokens": len(tokenize(prompt)), "completion_tokens": generated}}

    def _generate(
        self, body: dict[str, Any], prompt: str, number: int, most: int
    ) -> tuple[list[str], list[float], list[dict[str, float]], str, bool]:
        """Generate as the fake model does."""
        hot = body.get("temperature", 0) > 0
        rng = derive_rng(body["seed"], f"{self.ways.seed}/{number}/{prompt}") if hot else None
        state = TextState(self.ways.seed, prompt)
        tokens: list[str] = []
        logprobs: list[float] = []
        top: list[dict[str, float]] = []
        text, stopped = "", False
        while len(tokens) < body.get("max_tokens", body.get("max_completion_tokens", 0)) and not stopped:
            distribution = state.next()
            token = distribution.draw(rng, body["temperature"]) if rng else distribution.first()
            top.append({t: math.log(p) for t, p in distribution.likeliest(most)})
            tokens.append(token)
            logprobs.append(math.log(distribution.probability(token)))
            state.read(token)
            text, stopped = cut_at_stop(text + token, body.get("stop") or [])
            stopped = stopped or token == END
        return tokens, logprobs, top, text, stopped

    def _message(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        turns = [{"role": "system", "content": body["system"]}] if "system" in body else []
        asked = {**body, "stop": body.get("stop_sequences"), "seed": 0}
        # A last turn of the assistant's is always continued.
        prompt = _chat_text({"messages": [*turns, *body["messages"]], "continue_final_message": True})
        tokens, _, _, text, stopped = self._generate(asked, prompt, 0, 0)
        return 200, {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence" if stopped else "max_tokens",
            "usage": {"input_tokens": len(tokenize(prompt)), "output_tokens": len(tokens)},
        }


def _chat_text(body: Mapping[str, Any]) -> str:
    """Put a conversation as the fake model does; as vLLM, continue the last turn only where the body says so."""
    turns = body["messages"]
    text = "".join(f"<{turn['role']}>\n{turn['content']}\n" for turn in turns)
    if body.get("continue_final_message") and turns[-1]["role"] == "assistant":
        return text[:-1]
    return text + "<assistant>\n"


@contextmanager
def serving(ways: Ways | None = None) -> Iterator[FakeServer]:
    """Run a server until the block ends."""
    server = FakeServer(ways or Ways())
    httpd = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": server}))
    thread = threading.Thread(target=lambda: httpd.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{httpd.server_port}/v1"
    try:
        with patch.dict(rate_limits._accounts):  # a later server may have the same port
            yield server
    finally:
        server.stopped.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"
    counted = False

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        fake = self.fake
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        with fake.lock:
            number = len(fake.bodies)
            fake.bodies.append((self.path, body))
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            fake.at_once += 1
            fake.most_at_once = max(fake.most_at_once, fake.at_once)
            self.counted = True
        try:
            self._respond(fake.ways.behave(number), body)
        finally:
            self.leave()

    def leave(self) -> None:
        """Count the request as over; before its answer is sent, since the next may come as soon as that is read."""
        with self.fake.lock:
            self.fake.at_once -= self.counted
            self.counted = False

    def _respond(self, behaviour: str, body: dict[str, Any]) -> None:
        if behaviour != "ok":
            MISBEHAVIOUR[behaviour](self)
            return
        fake = self.fake
        if fake.ways.delay:
            fake.stopped.wait(fake.ways.delay)
        sent = self.headers.get("Authorization", self.headers.get("x-api-key", "")).removeprefix("Bearer ")
        if fake.ways.key and sent != fake.ways.key:
            self.reply(401, json.dumps({"error": {"message": f"Incorrect API key provided: {sent}"}}).encode())
            return
        status, answer = fake.ways.says(self.path, body) or fake.answer(self.path, body)
        self.reply(status, json.dumps(answer).encode())

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.leave()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def raw(self, data: bytes, *, reset: bool = False) -> None:
        """Send bytes as they are, and hang up; with a reset in place of a farewell."""
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def hang(self) -> None:
        self.fake.stopped.wait(30)
        self.close_connection = True

    def trickle(self) -> None:
        """Send a byte now and then, so that no read ever takes long."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not self.fake.stopped.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def junk(self, size: int) -> None:
        self.reply(200, b'{"choices": "' + b"x" * size + b'"}')


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_WRONG = (
    b'{"choices": [{"text": 5, "finish_reason": [], "logprobs": "none", "message": {"content": 7}}], '
    b'"content": [5], "usage": {"prompt_tokens": "many", "input_tokens": -1}, "data": 7, "tokens": "x"}'
)

MISBEHAVIOUR: dict[str, Callable[[_Handler], None]] = {
    "drop": lambda h: h.raw(b""),
    "reset": lambda h: h.raw(b"", reset=True),
    "half headers": lambda h: h.raw(b"HTTP/1.1 200 OK\r\nContent-"),
    "no http": lambda h: h.raw(b"\x00\x01 220 mail.example ESMTP\r\n\r\n"),
    "short body": lambda h: h.raw(_HEAD + b'Content-Length: 500\r\n\r\n{"choices": [{"te'),
    "truncated chunks": lambda h: h.raw(_CHUNKED + b'40\r\n{"choices": [{"te'),
    "wrong chunks": lambda h: h.raw(_CHUNKED + b"zz\r\nnothing\r\n0\r\n\r\n"),
    "half json": lambda h: h.reply(200, b'{"choices": [{"text": "the'),
    "empty": lambda h: h.reply(200, b""),
    "null": lambda h: h.reply(200, b"null"),
    "no choices": lambda h: h.reply(200, b'{"choices": [], "content": [], "data": {}}'),
    "wrong types": lambda h: h.reply(200, _WRONG),
    "not a number": lambda h: h.reply(
        200, b'{"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [NaN]}}], "data": [NaN]}'
    ),
    "deep": lambda h: h.reply(200, b"[" * 100_000),
    "deep error": lambda h: h.reply(500, b"[" * 100_000),
    "html": lambda h: h.reply(200, b"<html>Please log in</html>", {"Content-Type": "text/html"}),
    "error in 200": lambda h: h.reply(200, b'{"error": {"message": "upstream is gone"}}'),
    "no gzip": lambda h: h.reply(200, b"this is no gzip", {"Content-Encoding": "gzip"}),
    "half gzip": lambda h: h.reply(200, gzip.compress(b'{"choices": []}')[:12], {"Content-Encoding": "gzip"}),
    "redirect": lambda h: h.reply(307, b"", {"Location": h.path}),
    "400": lambda h: h.reply(400, b'{"error": {"message": "bad request", "code": 7}}'),
    "418": lambda h: h.reply(418, b"short and stout"),
    "429": lambda h: h.reply(429, b'{"error": {"message": "slow down"}}'),
    "429 later": lambda h: h.reply(429, b"{}", {"Retry-After": "0.02"}),
    "429 wait": lambda h: h.reply(429, b"{}", {"Retry-After": "0.6"}),
    "429 long": lambda h: h.reply(429, b"{}", {"Retry-After": "86400"}),
    "429 garbage": lambda h: h.reply(429, b"[1, 2]", {"Retry-After": "soon; nan"}),
    "429 past": lambda h: h.reply(429, b"{}", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "500": lambda h: h.reply(500, b"Internal Server Error"),
    "500 empty": lambda h: h.reply(500, b""),
    "503": lambda h: h.reply(503, b"<html>", {"Retry-After": "0"}),
    "529": lambda h: h.reply(529, b'{"type": "error", "error": {"type": "overloaded_error"}}'),
    "hang": _Handler.hang,
    "trickle": _Handler.trickle,
    "junk": lambda h: h.junk(200_000),
    "much junk": lambda h: h.junk(10_000_000),
}
"""What a server can do other than answer."""


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to come true."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)

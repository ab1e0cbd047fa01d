"""A server on this machine that speaks OpenAI's chat API and judges by a function of the prompt."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from harness.models.api import rate_limits

Answer = str | dict[str, Any]
"""A message's text, or a whole choice."""


class JudgeServer:
    """A judge, and what it was asked.

    Attributes:
        url: Its base URL.
        asked: The prompts, in the order in which they came.
        most_at_once: The largest number of prompts that it worked on at the same time.
        broken: Answer every request with an error.
        delay: Seconds that each answer takes.
    """

    def __init__(self, judge: Callable[[str], Answer]) -> None:
        self.judge = judge
        self.asked: list[str] = []
        self.most_at_once = self._now = 0
        self.broken, self.delay = False, 0.0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(body) if self.path.endswith("/chat/completions") else (404, {})
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def questions(self) -> list[str]:
        """What it was asked to judge, without the question whether it is there."""
        return [prompt for prompt in self.asked if "are you ready?" not in prompt]

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to a request."""
        if self.broken:
            return 400, {"error": {"message": "out of order", "type": "invalid_request_error"}}
        prompt = "\n\n".join(message["content"] for message in body["messages"])
        with self._lock:
            self.asked.append(prompt)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        time.sleep(self.delay)
        said = self.judge(prompt)
        with self._lock:
            self._now -= 1
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        if isinstance(said, dict):
            choice |= said
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": 7, "total_tokens": len(prompt.split()) + 7}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }

    @contextmanager
    def serving(self) -> Iterator[JudgeServer]:
        """Serve for the time of a ``with`` block."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            with patch.dict(rate_limits._accounts):  # a later server may have the same port
                yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

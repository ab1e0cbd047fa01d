"""A server on loopback with the batch interfaces of OpenAI and Anthropic, in front of the fake model.

It speaks the real protocols: files are uploaded as multipart forms, batches have the statuses and the fields of the API
references, and results come as JSON lines. Its batches outlive the clients, as the real ones do.
"""

from __future__ import annotations

import email
import email.policy
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

from harness.models.api import rate_limits
from tests.harness.models.api_server import FakeServer, Ways


@dataclass
class BatchWays:
    """How the batch interfaces behave.

    Attributes:
        looks: Looks at a batch that find it under way, before it ends.
        held: While it is set, no batch ends.
        outcome: What happens to the n-th request (from 0) of a batch: ``ok``, ``expired``, ``missing``,
            ``error 400``, ….
        results: Changes the lines of a batch's results before they are sent.
        says: The status and body with which it answers a method and path in its own words; None for as usual.
        lose: Called with a created batch; True for an answer that gets lost, though the batch was created.
        problems: Errors of a batch that fails as a whole; none for a batch that runs.
        room: Most requests in batches that have not ended; None for any number.
        others: Requests of other users among them.
    """

    looks: int = 1
    held: threading.Event = field(default_factory=threading.Event)
    outcome: Callable[[int, int], str] = lambda batch, number: "ok"
    results: Callable[[list[bytes]], list[bytes]] = lambda lines: lines
    says: Callable[[str, str], tuple[int, Any] | None] = lambda method, path: None
    lose: Callable[[int], bool] = lambda batch: False
    problems: Callable[[int, int], list[dict[str, Any]]] = lambda batch, requests: []
    room: int | None = None
    others: int = 0


@dataclass
class Made:
    """A batch on the server."""

    id: str
    requests: list[tuple[str, str, dict[str, Any]]]
    created: float
    about: dict[str, Any]
    looks: int = 0
    cancelled: bool = False
    problems: list[dict[str, Any]] = field(default_factory=list)


class BatchServer:
    """A running server.

    Attributes:
        ways: How batches behave; may be changed as it runs.
        batches: The batches that were created, in order.
        direct: Questions that were asked directly.
        direct_tokens: What these took.
        calls: Method and path of each call.
    """

    def __init__(self, ways: BatchWays, model: Ways) -> None:
        self.ways, self.fake = ways, FakeServer(model)
        self.batches: list[Made] = []
        self.files: dict[str, bytes] = {}
        self.direct: list[tuple[str, dict[str, Any]]] = []
        self.calls: list[tuple[str, str]] = []
        self.direct_tokens = 0
        self.lock = threading.RLock()
        self.url = ""

    @property
    def submitted(self) -> list[str]:
        """The ids of all requests of all batches, in order."""
        return [item for batch in self.batches for item, _, _ in batch.requests]

    def answer(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        with self.lock:
            path, _, query = path.partition("?")
            self.calls.append((method, path))
            if (said := self.ways.says(method, path)) is not None:
                return said[0], json.dumps(said[1]).encode()
            return self._answer(method, path, query, body, kind)

    def _answer(self, method: str, path: str, query: str, body: bytes, kind: str) -> tuple[int, bytes]:
        if path == "/v1/files" and method == "POST":
            return self._upload(body, kind)
        if match := re.fullmatch(r"/v1/files/([\w-]+)/content", path):
            found = self.files.get(match[1])
            return (404, _error("No such File object")) if found is None else (200, found)
        if path == "/v1/batches" and method == "POST":
            return self._create(json.loads(body))
        if path == "/v1/batches":
            return 200, _json(self._page(query, "after", self._openai))
        if match := re.fullmatch(r"/v1/batches/([\w-]+)(/cancel)?", path):
            return self._one(match[1], bool(match[2]), self._openai)
        if path == "/v1/messages/batches" and method == "POST":
            return self._create_messages(json.loads(body))
        if path == "/v1/messages/batches":
            return 200, _json(self._page(query, "after_id", self._anthropic))
        if match := re.fullmatch(r"/v1/messages/batches/([\w-]+)/results", path):
            made = next((made for made in self.batches if made.id == match[1]), None)
            return (404, _error("not found")) if made is None else (200, b"\n".join(self._messages(made)))
        if match := re.fullmatch(r"/v1/messages/batches/([\w-]+)(/cancel)?", path):
            return self._one(match[1], bool(match[2]), self._anthropic)
        asked = json.loads(body or b"{}")
        status, answer = self.fake.answer(path, asked)
        if "messages" in asked:
            self.direct.append((path, asked))
            self.direct_tokens += sum(answer.get("usage", {}).values())
        return status, _json(answer)

    def _upload(self, body: bytes, kind: str) -> tuple[int, bytes]:
        form = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=email.policy.HTTP)
        parts: dict[Any, Any] = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in form.iter_parts()
        }
        assert parts["purpose"] == b"batch"
        id = f"file-{len(self.files)}"
        self.files[id] = parts["file"]
        return 200, _json({"id": id, "object": "file", "purpose": "batch", "bytes": len(parts["file"])})

    def _create(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        assert asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert all(line["url"] == asked["endpoint"] and line["method"] == "POST" for line in lines)
        assert len({line["custom_id"] for line in lines}) == len(lines) <= 50_000
        requests = [(line["custom_id"], line["url"], line["body"]) for line in lines]
        about = {
            "input_file_id": asked["input_file_id"],
            "metadata": asked.get("metadata"),
            "endpoint": asked["endpoint"],
        }
        return self._made(requests, about, self._openai)

    def _create_messages(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        requests = [(one["custom_id"], "/v1/messages", one["params"]) for one in asked["requests"]]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item) for item, _, _ in requests)
        assert len({item for item, _, _ in requests}) == len(requests) <= 100_000
        if self._is_full(len(requests)):
            return 429, _json({"type": "error", "error": {"type": "rate_limit_error", "message": "The queue is full."}})
        return self._made(requests, {}, self._anthropic)

    def _made(
        self, requests: list[tuple[str, str, dict[str, Any]]], about: dict[str, Any], show: Callable[[Made], Any]
    ) -> tuple[int, bytes]:
        made = Made(f"batch_{len(self.batches)}", requests, time.time(), about)
        made.problems = self.ways.problems(len(self.batches), len(requests))
        if self._is_full(len(requests)):
            made.problems = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}]
        self.batches.append(made)
        if self.ways.lose(len(self.batches) - 1):
            return 0, b""
        return 200, _json(show(made))

    def _is_full(self, requests: int) -> bool:
        waiting = sum(len(made.requests) for made in self.batches if not (made.problems or self._ended(made)))
        return self.ways.room is not None and waiting + self.ways.others + requests > self.ways.room

    def _one(self, id: str, cancel: bool, show: Callable[[Made], Any]) -> tuple[int, bytes]:
        made = next((made for made in self.batches if made.id == id), None)
        if made is None:
            return 404, _error(f"No batch found with id '{id}'.")
        made.cancelled = made.cancelled or cancel
        made.looks += 1
        return 200, _json(show(made))

    def _page(self, query: str, name: str, show: Callable[[Made], Any]) -> dict[str, Any]:
        """Return the newest batches first, two at a time."""
        newest = self.batches[::-1]
        after = dict(pair.split("=") for pair in query.split("&") if pair).get(name)
        ids = [made.id for made in newest]
        first = ids.index(after) + 1 if after else 0
        page = newest[first : first + 2]
        for made in page:
            made.looks += 1
        last = page[-1].id if page else None
        return {"object": "list", "data": [show(m) for m in page], "has_more": first + 2 < len(newest), "last_id": last}

    def _ended(self, made: Made) -> bool:
        return made.cancelled or (made.looks > self.ways.looks and not self.ways.held.is_set())

    def _outcomes(self, made: Made) -> list[str]:
        number = self.batches.index(made)
        outcomes = [self.ways.outcome(number, place) for place in range(len(made.requests))]
        return ["cancelled" if made.cancelled and one == "ok" and not made.looks else one for one in outcomes]

    def _openai(self, made: Made) -> dict[str, Any]:
        outcomes = self._outcomes(made)
        problems = made.problems
        ended = self._ended(made) or bool(problems and made.looks > 1)
        done = outcomes.count("ok") if ended else 0
        status = "validating" if problems else "in_progress"
        if ended:
            status = "failed" if problems else "cancelled" if made.cancelled else "completed"
            status = "expired" if status == "completed" and "expired" in outcomes else status
        files: dict[str, Any] = {"output_file_id": None, "error_file_id": None}
        if ended and not problems:
            output, errors = self._openai_lines(made, outcomes)
            for name, lines in (("output_file_id", output), ("error_file_id", errors)):
                if lines:
                    files[name] = f"{made.id}-{name}"
                    self.files[files[name]] = b"\n".join(self.ways.results(lines)) + b"\n"
        return {
            "id": made.id,
            "object": "batch",
            "status": status,
            "completion_window": "24h",
            "created_at": int(made.created),
            "expires_at": int(made.created) + 86400,
            **made.about,
            **files,
            "errors": {"object": "list", "data": problems} if ended and problems else None,
            "request_counts": {"total": len(made.requests), "completed": done, "failed": 0},
            "usage": {"input_tokens": 10**9, "output_tokens": 10**9, "total_tokens": 2 * 10**9},
        }

    def _openai_lines(self, made: Made, outcomes: list[str]) -> tuple[list[bytes], list[bytes]]:
        output: list[bytes] = []
        errors: list[bytes] = []
        for (item, path, body), outcome in zip(made.requests, outcomes, strict=True):
            status, answer = self.fake.answer(path, body)
            line: dict[str, Any] = {"id": f"batch_req_{item[:6]}", "custom_id": item, "response": None, "error": None}
            if outcome == "expired":
                line["error"] = {"code": "batch_expired", "message": "This request could not be executed in time."}
            elif outcome == "cancelled":
                line["error"] = {"code": "batch_cancelled", "message": "This request was cancelled."}
            elif outcome.startswith("error"):
                status = int(outcome.split()[1])
                answer = {
                    "error": {"message": f"bad request {item[:4]}", "type": "invalid_request_error", "code": None}
                }
            if line["error"] is None:
                line["response"] = {"status_code": status, "request_id": "req_1", "body": answer}
            if outcome != "missing":
                (output if status == 200 and line["error"] is None else errors).append(_json(line))
        return output[::-1], errors

    def _anthropic(self, made: Made) -> dict[str, Any]:
        ended, outcomes = self._ended(made), self._outcomes(made)
        names = {"ok": "succeeded", "expired": "expired", "cancelled": "canceled", "missing": "expired"}
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for outcome in outcomes:
            counts[names.get(outcome, "errored") if ended else "processing"] += 1
        return {
            "id": made.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": datetime.fromtimestamp(made.created, UTC).isoformat().replace("+00:00", "Z"),
            "expires_at": datetime.fromtimestamp(made.created + 86400, UTC).isoformat().replace("+00:00", "Z"),
            "results_url": f"https://elsewhere.example/v1/messages/batches/{made.id}/results" if ended else None,
        }

    def _messages(self, made: Made) -> list[bytes]:
        lines = []
        for (item, path, body), outcome in zip(made.requests, self._outcomes(made), strict=True):
            status, answer = self.fake.answer(path, body)
            result: dict[str, Any] = {"type": "succeeded", "message": answer}
            if outcome in {"expired", "cancelled"}:
                result = {"type": outcome.replace("ll", "l")}
            elif outcome.startswith("error") or status != 200:
                kind = {"400": "invalid_request_error", "529": "overloaded_error"}.get(outcome[6:], "not_found_error")
                error = {"type": "error", "error": {"type": kind, "message": f"bad request {item[:4]}"}}
                result = {"type": "errored", "error": error}
            if outcome != "missing":
                lines.append(_json({"custom_id": item, "result": result}))
        return self.ways.results(lines[::-1])


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _error(message: str) -> bytes:
    return _json({"error": {"message": message, "type": "invalid_request_error"}})


@contextmanager
def batch_server(ways: BatchWays | None = None, model: Ways | None = None) -> Iterator[BatchServer]:
    """Run a server until the block ends."""
    running = BatchServer(ways or BatchWays(), model or Ways())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = running.answer(self.command, self.path, body, self.headers.get("Content-Type") or "")
            if not status:  # the answer gets lost
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST  # noqa: N815 - the name that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=lambda: httpd.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    running.url = f"http://127.0.0.1:{httpd.server_port}/v1"
    try:
        with patch.dict(rate_limits._accounts):  # a later server may have the same port
            yield running
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()

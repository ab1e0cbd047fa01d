"""Escape sequences from data, models and plugins reach a terminal as text that can be read."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\x9b31m\x08"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLUGIN = f'''\
"""A metric whose error message is hostile."""

from harness import Example, metric


@metric("hostile", category="accuracy", source="Made up.")
def hostile(example: Example) -> float:
    """Raise."""
    raise ValueError({HOSTILE!r})
'''


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that refuses every request with an escape sequence in its message."""

    class Refusal(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": {"message": HOSTILE}}).encode()
            self.send_response(401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name that http.server asks for

        def log_message(self, *_: object) -> None:
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listener.server_port}/v1"
    listener.shutdown()
    listener.server_close()


def safe(*texts: str) -> bool:
    return not any(UNSAFE.search(text) for text in texts)


def test_a_plugins_error_is_shown_with_its_escapes(harness: Harness, folder: Path) -> None:
    (folder / "hostile.py").write_text(PLUGIN)
    (folder / "sweep.yaml").write_text(
        "suite: s\nplugins: [./quiz.yaml, ./hostile.py]\nmodels: ['fake:0']\n"
        "runs: [{scenario: quiz, metrics: [exact_match, hostile]}]\n"
    )
    said = harness("run", "sweep.yaml")
    assert said.code == 1
    assert r"\x1b]0;owned\x07" in said.err
    assert safe(said.out, said.err)


def test_a_servers_error_is_shown_with_its_escapes(
    harness: Harness, folder: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    (folder / "sweep.yaml").write_text(
        f"suite: s\nplugins: [./quiz.yaml]\nmodels: [{{name: 'openai:m', base_url: '{server}'}}]\nruns: [quiz]\n"
    )
    said = harness("run", "sweep.yaml")
    assert said.code == 1
    assert r"\x1b]0;owned\x07" in said.err
    assert safe(said.out, said.err)


def test_data_and_names_in_a_preview_are_shown_with_their_escapes(harness: Harness, folder: Path) -> None:
    rows = [json.dumps({"id": f"v{HOSTILE}{number}", "number": HOSTILE}) for number in range(3)]
    (folder / "quiz" / "valid.jsonl").write_text("\n".join(rows))
    text = (folder / "quiz.yaml").read_text().replace("number % 2 == 0", "true")
    (folder / "quiz.yaml").write_text(text)
    said = harness("preview", "-r", "./quiz.yaml", "-m", f"fake:{HOSTILE}")
    assert r"\x1b]0;owned\x07" in said.out
    assert safe(said.out, said.err)


def test_names_in_json_are_escaped_and_still_the_same_names(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    for file in (folder / "results" / "small").glob("*/run.json"):
        record = json.loads(file.read_text())
        record["spec"]["scenario"]["note"] = f"é{HOSTILE}"
        file.write_text(json.dumps(record))
    said = harness("compare", "fake:0", "fake:1", "--suite", "small", "--format", "json")
    assert safe(said.out, said.err)
    assert HOSTILE in json.loads(said.out)["comparisons"][0]["scenario"]
    assert "é" in said.out


@pytest.mark.parametrize(
    "statement",
    ["logging.getLogger('harness').warning(text)", "raise ValueError(text)"],
    ids=["log", "bug"],
)
def test_logged_warnings_and_tracebacks_are_escaped(statement: str) -> None:
    program = (
        "import logging\nfrom harness.output.terminal import make_diagnostics_safe\n"
        f"make_diagnostics_safe()\ntext = {HOSTILE!r}\n{statement}\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert r"\x1b]0;owned\x07" in ran.stderr
    assert safe(ran.stderr)

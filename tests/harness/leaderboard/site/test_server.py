"""The server over real sockets: what it gives, and everything that it must not give."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.leaderboard.site.live import LiveState
from harness.leaderboard.site.server import CONNECTIONS, CONTENT_SECURITY_POLICY, SiteServer, is_loopback, open_below

HIDDEN = "not to be seen"
HOSTILE = "</script><script>alert(1)</script>\u2028"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret.txt").write_text(HIDDEN)
    site = folder / "site"
    (site / "assets").mkdir(parents=True)
    (site / "index.html").write_text("<!doctype html><html><head><title>x</title></head><body></body></html>")
    (site / "assets" / "core.js").write_text("let x = 1;\n")
    (site / "assets" / "odd name é.js").write_text("1;")
    (site / "thing.bin").write_bytes(b"\0\1")
    (site / ".build.json").write_text(HIDDEN)
    (site / ".hidden").mkdir()
    (site / ".hidden" / "x.js").write_text(HIDDEN)
    (site / "link.txt").symlink_to(folder / "secret.txt")
    (site / "up").symlink_to(folder)
    (site / "inside.js").symlink_to(site / "assets" / "core.js")
    os.mkfifo(site / "pipe")
    return site


def _state() -> LiveState:
    return LiveState(3, HOSTILE, [{"suite": HOSTILE, "state": "running"}], 0.0)


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[SiteServer]:
    with SiteServer(root, _state, port=0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def _raw(server: SiteServer, request: bytes) -> bytes:
    """Send bytes as they are and return everything that comes back."""
    with socket.create_connection(server.server_address[:2], timeout=60) as connection:  # type: ignore[arg-type]
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def _ask(server: SiteServer, target: str, *, method: str = "GET", host: str = "localhost", more: str = "") -> bytes:
    return _raw(server, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def _get(server: SiteServer, path: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(*server.server_address[:2], timeout=60)  # type: ignore[arg-type]
    connection.request("GET", path)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_files_come_with_their_type_and_every_header(server: SiteServer) -> None:
    for path, kind, content in (
        ("/assets/core.js?v=1", "text/javascript; charset=utf-8", b"let x = 1;\n"),
        ("/assets/odd%20name%20%C3%A9.js", "text/javascript; charset=utf-8", b"1;"),
        ("/thing.bin", "application/octet-stream", b"\0\1"),
    ):
        answer, got = _get(server, path)
        assert (answer.status, answer.headers["Content-Type"], got) == (200, kind, content)
        assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


def test_the_first_page_gets_the_script_that_follows_sweeps(server: SiteServer) -> None:
    for path in ("/", "/index.html", "/?x=1"):
        answer, page = _get(server, path)
        assert answer.status == 200
        assert page.count(b'<script src="assets/live.js" defer></script>') == 1
        assert page.index(b"live.js") < page.index(b"</head>")


def test_the_state_is_a_script_that_holds_a_string(server: SiteServer) -> None:
    answer, script = _get(server, "/live/state.js?n=1")
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
    text = script.decode()
    assert text.startswith('harness.live("')
    assert text.endswith('");\n')
    assert "<" not in text


def test_what_is_unchanged_is_not_sent_again(server: SiteServer) -> None:
    first = _ask(server, "/assets/core.js")
    tag = next(line for line in first.split(b"\r\n") if line.startswith(b"ETag: "))[6:].decode()
    again = _ask(server, "/assets/core.js", more=f"If-None-Match: {tag}\r\n")
    assert _status(again) == 304
    assert again.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "target",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%2fsecret.txt",
        "/%252e%252e%252fsecret.txt",
        "/..\\secret.txt",
        "/..%5csecret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "//secret.txt",
        "///etc/passwd",
        "/%2fetc/passwd",
        "/link.txt",
        "/up/secret.txt",
        "/up/site/assets/core.js",
        "/inside.js",
        "/.build.json",
        "/%2ebuild.json",
        "/.hidden/x.js",
        "/pipe",
        "/assets",
        "/assets/",
        "/index.html/",
        "/assets//core.js",
        "/assets/./core.js",
        "/assets/core.js%00.html",
        "/nothing",
        "http://localhost/assets/core.js",
        "*",
        "secret.txt",
        "/" + "a" * 5000,
        "/" + "a/" * 3000,
    ],
)
def test_there_is_no_way_out(server: SiteServer, target: str) -> None:
    answer = _ask(server, target)
    assert _status(answer) in {400, 404}
    assert HIDDEN.encode() not in answer
    assert b"let x" not in answer


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("./\\%2e5cf\0~ulinkpsetxd"), max_size=24))
@example("../secret.txt")
@example("up/secret.txt")
@example("link.txt")
def test_no_path_opens_what_is_outside(root: Path, path: str) -> None:
    found = open_below(root, path)
    if found is not None:
        with found:
            assert HIDDEN.encode() not in found.read()


def test_a_link_put_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "site" / "data").mkdir(parents=True)
    (tmp_path / "site" / "data" / "x.js").write_text("1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.js").write_text(HIDDEN)
    opened = open_below(tmp_path / "site", "data/x.js")
    assert opened is not None
    opened.close()
    (tmp_path / "site" / "data").rename(tmp_path / "gone")
    (tmp_path / "site" / "data").symlink_to(tmp_path / "other")
    assert open_below(tmp_path / "site", "data/x.js") is None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_but_reading(server: SiteServer, method: str) -> None:
    answer = _ask(server, "/assets/core.js", method=method)
    assert _status(answer) == 405
    assert b"Allow: GET, HEAD" in answer
    assert b"let x" not in answer


def test_unknown_methods_and_broken_requests_are_refused(server: SiteServer) -> None:
    assert _status(_ask(server, "/", method="BREW")) == 501
    assert _raw(server, b"GET / HTTP/9.9\r\n\r\n").startswith(b"Invalid HTTP version")
    assert _raw(server, b"nonsense in four words\r\n\r\n").startswith(b"Bad request version")
    assert _raw(server, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n") != b""
    assert _status(_ask(server, "/")) == 200


def test_head_has_no_content(server: SiteServer) -> None:
    answer = _ask(server, "/assets/core.js", method="HEAD")
    assert _status(answer) == 200
    assert b"Content-Length: 11" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("host", ["localhost", "LocalHost:8000", "127.0.0.1:1", "[::1]:99", "127.3.2.1"])
def test_names_of_this_machine_are_answered(server: SiteServer, host: str) -> None:
    assert _status(_ask(server, "/", host=host)) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.example:80", "", "10.0.0.1", "127.0.0.1.evil", "[::2]", "a@b"],
)
def test_other_names_are_refused(server: SiteServer, host: str) -> None:
    answer = _ask(server, "/", host=host)
    assert _status(answer) == 421
    assert b"<html>" not in answer


def test_two_names_or_none_are_refused(server: SiteServer) -> None:
    assert _status(_raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")) == 421
    assert _status(_raw(server, b"GET / HTTP/1.1\r\n\r\n")) == 421


def test_an_address_that_all_can_reach_answers_to_any_name(root: Path) -> None:
    with SiteServer(root, _state, host="0.0.0.0", port=0) as open_server:  # noqa: S104 - that is what is tested
        assert open_server.loopback is False
        thread = threading.Thread(target=open_server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        assert _status(_ask(open_server, "/", host="lab.example")) == 200
        open_server.shutdown()
        thread.join()


def test_huge_headers_are_refused(server: SiteServer) -> None:
    assert _status(_ask(server, "/", more=f"X: {'a' * 70_000}\r\n")) == 431
    assert _status(_ask(server, "/", more="".join(f"X{i}: a\r\n" for i in range(150)))) == 431
    assert _status(_ask(server, "/" + "a" * 70_000)) == 414
    assert _status(_ask(server, "/")) == 200


def test_a_request_with_a_body_is_refused_and_what_follows_is_not_read(server: SiteServer) -> None:
    smuggled = "GET /assets/core.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for header in (f"Content-Length: {len(smuggled)}", "Transfer-Encoding: chunked"):
        answer = _raw(server, f"GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n{smuggled}".encode())
        assert _status(answer) == 400
        assert answer.count(b"HTTP/1.1 ") == 1


def test_requests_on_one_connection_are_answered_in_turn(server: SiteServer) -> None:
    request = b"GET /assets/core.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = _raw(server, request * 3)
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.count(b"let x") == 3


def test_many_at_once_get_what_they_asked_for(server: SiteServer) -> None:
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda n: _get(server, f"/assets/core.js?{n}")[1], range(400)))
    assert set(answers) == {b"let x = 1;\n"}


def test_idle_connections_do_not_keep_others_out_for_ever(server: SiteServer) -> None:
    idle = [socket.create_connection(server.server_address[:2], timeout=60) for _ in range(CONNECTIONS + 5)]  # type: ignore[arg-type]
    # For those beyond the limit, the ones that have waited longest are closed.
    assert idle[0].recv(1) == b""
    assert _status(_ask(server, "/")) == 200
    for connection in idle:
        connection.close()


def test_an_address_in_use_is_one_message(server: SiteServer, root: Path) -> None:
    with pytest.raises(HarnessError, match=r"127\.0\.0\.1:\d+ .*--port"):
        SiteServer(root, _state, port=server.server_address[1])


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("0.0.0.0", False), ("x.org", False)],  # noqa: S104
)
def test_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own

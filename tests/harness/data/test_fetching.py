"""Downloads of single files from a server whose files differ from what was published."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.contracts.plugins import Download
from harness.errors import DataError

pytest.importorskip("httpx2")

from harness.data import fetching

CONTENT = bytes(range(256)) * 4


@dataclass
class FileServer:
    """A server of one file."""

    content: bytes = CONTENT
    ranges: bool = True
    """True if it can give a part of the file."""
    address: str = ""
    asked: list[str] = field(default_factory=list)
    """The range that each request asked for; empty for the whole file."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    known = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.headers.get("Range") or "")
            first = int(re.findall(r"\d+", known.asked[-1])[0]) if known.asked[-1] and known.ranges else 0
            body = known.content[first:]
            status = 416 if first >= len(known.content) else 206 if first else 200
            if len(known.asked) > 20:  # no test asks so often: end the loop
                status, body = 404, b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        known.address = f"http://127.0.0.1:{listening.server_port}/file"
        yield known
        listening.shutdown()


def fetch(server: FileServer, folder: Path, begun: bytes = b"") -> tuple[Path, int]:
    """Fetch the published file, of which some may be there; return its place and the bytes reported as received."""
    told: list[int] = []
    place = folder / "set" / "file.bin"
    if begun:
        place.parent.mkdir()
        place.with_name("file.bin.incomplete").write_bytes(begun)
    published = Download(server.address, "set/file.bin", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    try:
        fetching.fetch_download(published, folder, told.append)
    finally:
        received = sum(told)
    return place, received


def test_a_file_that_was_begun_is_continued(server: FileServer, tmp_path: Path) -> None:
    place, received = fetch(server, tmp_path, CONTENT[:300])
    assert place.read_bytes() == CONTENT
    assert (received, server.asked) == (len(CONTENT) - 300, ["bytes=300-"])


def test_a_file_of_another_server_needs_no_hub(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    place, _ = fetch(server, tmp_path)
    assert place.read_bytes() == CONTENT


def test_a_server_that_gives_only_whole_files_begins_anew(server: FileServer, tmp_path: Path) -> None:
    server.ranges = False
    place, received = fetch(server, tmp_path, CONTENT[:300])
    assert place.read_bytes() == CONTENT
    assert received == len(CONTENT) - 300  # what was there was counted before, and is taken back


def test_more_than_was_begun_of_another_size_is_dropped(server: FileServer, tmp_path: Path) -> None:
    place, _ = fetch(server, tmp_path, CONTENT + b"more")
    assert place.read_bytes() == CONTENT
    assert server.asked == [""]


@pytest.mark.parametrize("begun", [b"", CONTENT[:300]])
def test_a_file_that_is_larger_than_published_is_refused(server: FileServer, tmp_path: Path, begun: bytes) -> None:
    server.content = CONTENT + b"more"
    with pytest.raises(DataError, match="has more bytes than the published 1,024"):
        fetch(server, tmp_path, begun)
    assert len(server.asked) == 1
    assert [path.stat().st_size for path in (tmp_path / "set").iterdir()] == [0]


def test_a_file_that_is_smaller_than_what_is_there_of_it_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.content = CONTENT[:200]
    with pytest.raises(DataError, match="has fewer bytes than the published 1,024"):
        fetch(server, tmp_path, CONTENT[:300])
    assert [path.stat().st_size for path in (tmp_path / "set").iterdir()] == [0]


def test_a_file_that_is_smaller_than_published_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.content, server.ranges = CONTENT[:200], False
    with pytest.raises(DataError, match="ends after 200 of 1,024 bytes"):
        fetch(server, tmp_path)

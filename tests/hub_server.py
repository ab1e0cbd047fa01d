"""A small server that speaks the Hugging Face Hub's protocol on loopback, as far as reading a repository goes."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Repository:
    """A data set or model at one commit."""

    kind: str
    name: str
    files: Mapping[str, bytes]
    commit: str
    gated: bool = False
    tags: tuple[str, ...] = ()
    pull_request: str = ""
    """The git reference of the pull request that the commit belongs to; empty for the main branch."""


@dataclass
class HubServer:
    """What the server holds, and which requests it got (``GET /path``)."""

    repositories: dict[tuple[str, str], dict[str, Repository]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    """``GET /path``, with the range that was asked for, if any."""
    accepted: set[str] = field(default_factory=set)
    """Tokens whose owners accepted the terms of gated repositories."""
    cut: dict[str, int] = field(default_factory=dict)
    """For a file's path, the number of bytes after which the connection is closed, each time it is read."""
    changed: set[str] = field(default_factory=set)
    """Paths of files whose content is changed on the way."""
    sizes: dict[str, int] = field(default_factory=dict)
    """For a file's path, the size that the server pretends."""
    port: int = 0

    @property
    def endpoint(self) -> str:
        """The value for ``HF_ENDPOINT``."""
        return f"http://127.0.0.1:{self.port}"

    def add(
        self, kind: str, name: str, files: Mapping[str, bytes], *, gated: bool = False, commit: str | None = None
    ) -> str:
        """Publish a repository (``datasets`` or ``models``) and return its commit, made of its content if not given."""
        listing = "".join(f"{path} {hashlib.sha1(content).hexdigest()}\n" for path, content in sorted(files.items()))  # noqa: S324
        commit = commit or hashlib.sha1(f"{kind}/{name}\n{listing}".encode()).hexdigest()  # noqa: S324 - commits are SHA-1
        self.repositories.setdefault((kind, name), {})[commit] = Repository(kind, name, dict(files), commit, gated)
        return commit

    def answer(self, method: str, target: str, body: bytes, token: str = "") -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the answer to a request."""
        parts = urlsplit(target)
        path = unquote(parts.path).strip("/")
        if path.startswith("api/"):
            return self._api(path.removeprefix("api/"), parse_qs(parts.query), body, token)
        kind, path = ("datasets", path.removeprefix("datasets/")) if path.startswith("datasets/") else ("models", path)
        name, separator, rest = path.partition("/resolve/")
        revision, _, file = rest.partition("/")
        if rest.startswith("refs/pr/"):
            revision, file = "/".join(rest.split("/")[:3]), "/".join(rest.split("/")[3:])
        commits = self.repositories.get((kind, name))
        if not separator or commits is None:
            return _missing("RepoNotFound")
        repository = _at(commits, revision)
        if repository is None:
            return _missing("RevisionNotFound")
        headers = {"X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        if repository.gated and token not in self.accepted:
            return _gated(token)
        if file not in repository.files:
            return _missing("EntryNotFound", headers)
        content = repository.files[file]
        if is_large(file):
            headers = {**headers, "X-Linked-Etag": f'"{digest_of(file, content)}"', "X-Linked-Size": str(len(content))}
        etag = digest_of(file, content)
        if file in self.changed:
            content = bytes(reversed(content))
        return 200, {**headers, "ETag": f'"{etag}"', "Content-Type": "application/octet-stream"}, content

    def _api(
        self, path: str, query: Mapping[str, Sequence[str]], body: bytes, token: str
    ) -> tuple[int, dict[str, str], bytes]:
        kind, _, path = path.partition("/")
        for (known, name), commits in self.repositories.items():
            if known == kind and (path == name or path.startswith(name + "/")):
                action, _, rest = path.removeprefix(name).strip("/").partition("/")
                if action == "auth-check":
                    accepted = token in self.accepted or not list(commits.values())[-1].gated
                    return _json({}) if accepted else _gated(token)
                revision, _, folder = rest.partition("/")
                if rest.startswith("refs/pr/"):
                    revision, folder = "/".join(rest.split("/")[:3]), "/".join(rest.split("/")[3:])
                repository = _at(commits, revision or "main")
                if repository is None:
                    return _missing("RevisionNotFound")
                if action == "tree":
                    return _tree(repository, folder, recursive=query.get("recursive", [""])[0].lower() == "true")
                return _describe(repository, action, body, self.sizes)
        return _missing("RepoNotFound")


H = TypeVar("H", bound=HubServer)


@contextmanager
def serve_hub() -> Iterator[HubServer]:
    """Run a server until the block ends."""
    with serve(HubServer()) as hub:
        yield hub


@contextmanager
def serve(hub: H) -> Iterator[H]:
    """Run this server until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            wanted = self.headers.get("Range")
            hub.requests.append(f"{self.command} {self.path}{f' {wanted}' if wanted else ''}")
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, headers, content = hub.answer(self.command, self.path, body, token)
            if wanted and status == 200:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                end = min(int(last) if last else len(content) - 1, len(content) - 1)
                headers["Content-Range"] = f"bytes {first}-{end}/{len(content)}"
                status, content = 206, content[int(first) : end + 1]
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                most = next((size for path, size in hub.cut.items() if self.path.endswith(path)), len(content))
                self.wfile.write(content[:most])
                if most < len(content):
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_HEAD = do_POST = do_PUT = _handle  # noqa: N815 - the names that http.server looks for

        def log_message(self, *arguments: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _at(commits: Mapping[str, Repository], revision: str) -> Repository | None:
    if revision == "main":
        return next((one for one in reversed(list(commits.values())) if not one.pull_request), None)
    if revision.startswith("refs/pr/"):
        return next((one for one in reversed(list(commits.values())) if one.pull_request == revision), None)
    return commits.get(revision)


def is_large(path: str) -> bool:
    """Return True if the Hub would keep a file with Git LFS, and so know its SHA-256."""
    return path.endswith((".parquet", ".safetensors", ".bin"))


def digest_of(path: str, content: bytes) -> str:
    """Return the checksum that the Hub gives a file: SHA-256, or git's SHA-1 of a small one."""
    if is_large(path):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324 - as git names it


def _describe(
    repository: Repository, action: str, body: bytes, sizes: Mapping[str, int]
) -> tuple[int, dict[str, str], bytes]:
    files = repository.files
    if action in {"", "revision"}:
        siblings = []
        for path, content in files.items():
            size, digest = sizes.get(path, len(content)), digest_of(path, content)
            lfs = {"lfs": {"sha256": digest, "size": size, "pointerSize": 130}} if is_large(path) else {}
            siblings.append({"rfilename": path, "size": size, "blobId": digest[:40], **lfs})
        gated = "auto" if repository.gated else False
        known = {
            "id": repository.name,
            "sha": repository.commit,
            "private": False,
            "tags": list(repository.tags),
            "gated": gated,
        }
        return _json({**known, "siblings": siblings})
    if action == "paths-info":
        text = body.decode()
        wanted = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        return _json([_entry(path, files[path]) for path in wanted if path in files])
    return _missing("EntryNotFound")


def _tree(repository: Repository, folder: str, *, recursive: bool) -> tuple[int, dict[str, str], bytes]:
    """Return a folder's files and folders; with recursive, also those further down."""
    start = f"{folder}/" if folder else ""
    inside = [path for path in repository.files if path.startswith(start)]
    if folder and not inside:
        return _missing("EntryNotFound")
    parents = (str(parent) for path in inside for parent in PurePosixPath(path.removeprefix(start)).parents)
    folders = [start + parent for parent in dict.fromkeys(parents) if parent != "."]
    entries = [
        *({"type": "directory", "path": path, "size": 0, "oid": repository.commit} for path in folders),
        *(_entry(path, repository.files[path]) for path in inside),
    ]
    return _json([entry for entry in entries if recursive or "/" not in entry["path"].removeprefix(start)])


def _entry(path: str, content: bytes) -> dict[str, Any]:
    digest, size = digest_of(path, content), len(content)
    lfs = {"lfs": {"oid": digest, "size": size, "pointerSize": 130}} if is_large(path) else {}
    return {"type": "file", "path": path, "size": size, "oid": digest[:40], **lfs}


def _gated(token: str) -> tuple[int, dict[str, str], bytes]:
    headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this repository is restricted."}
    return 403 if token else 401, headers, b""


def _json(value: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _missing(code: str, headers: Mapping[str, str] = {}) -> tuple[int, dict[str, str], bytes]:
    return 404, {**headers, "X-Error-Code": code, "X-Error-Message": code}, b""

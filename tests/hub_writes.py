"""A Hub on loopback that can be written to: the protocol of uploads by commits, with large files apart (Git LFS)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from tests.hub_server import HubServer, Repository, is_large

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class WritableHub(HubServer):
    """Takes commits and pull requests from the owners of tokens."""

    owners: dict[str, str] = field(default_factory=dict)
    """The user of each token, who may write to repositories under that name."""
    private: dict[str, bool] = field(default_factory=dict)
    """For each repository that was made here, whether it is private."""
    commits: list[list[dict[str, Any]]] = field(default_factory=list)
    """The lines of each commit."""
    titles: list[tuple[str, str, str]] = field(default_factory=list)
    """Repository, title and author of each pull request."""
    objects: dict[str, bytes] = field(default_factory=dict)
    """Large files that were uploaded, by SHA-256."""
    moves: bool = False
    """True to add a commit of somebody else just before the next one."""
    xet: int = 404
    """The status of requests for a token for Xet; with 200, its store refuses every file."""
    full: bool = False
    """True to answer commits with an error of the server."""

    def answer(self, method: str, target: str, body: bytes, token: str = "") -> Answer:
        """Return status, headers and body of the answer to a request."""
        path = unquote(urlsplit(target).path).strip("/")
        if method == "PUT" and path.startswith("lfs/"):
            return self._put(path.removeprefix("lfs/"), body)
        if "/xet-write-token/" in path:
            known = {"casUrl": f"{self.endpoint}/xet-store", "accessToken": "made up", "exp": 4000000000}
            return self.xet, {"Content-Type": "application/json"}, json.dumps(known).encode()
        if path.startswith("xet-store/"):
            return 403, {}, b"{}"
        user = self.owners.get(token)
        if token and user is None:
            return _refused(401, "Invalid credentials in Authorization header")
        if path == "api/whoami-v2":
            return _json({"type": "user", "name": user, "auth": {}})
        if path == "api/repos/create":
            return self._create(json.loads(body), user)
        if path == "api/validate-yaml":
            return self._check_card(json.loads(body)["content"])
        if path.endswith("/discussions"):
            return self._discussions(path, parse_qs(urlsplit(target).query))
        for action in ("/preupload/", "/commit/", ".git/info/lfs/objects/batch"):
            if action in path:
                place, _, revision = path.partition(action)
                kind, _, name = place.removeprefix("api/").partition("/")
                if action.startswith("."):
                    kind, name = ("datasets", name) if kind == "datasets" else ("models", f"{kind}/{name}")
                proposes = "create_pr" in target or revision.startswith("refs/pr/")
                if name.partition("/")[0] != user and not (proposes or action.startswith(".")):
                    return _refused(403, "You do not have the required permissions")
                if action == "/preupload/":
                    return self._modes(json.loads(body))
                if action == "/commit/":
                    return self._commit(
                        kind, name, revision, body, str(user), proposes and not revision.startswith("refs")
                    )
                return self._batch(json.loads(body))
        return super().answer(method, target, body, token)

    def _create(self, asked: Mapping[str, Any], user: str | None) -> Answer:
        owner = asked.get("organization") or user
        if owner != user:
            return _refused(403, f"You don't have the rights to create a repository under the namespace {owner!r}")
        name = f"{owner}/{asked['name']}"
        kind = f"{asked.get('type', 'model')}s"
        if (kind, name) in self.repositories:
            return _refused(409, "You already created this repository")
        self.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
        self.add(kind, name, {".gitattributes": b"*.parquet filter=lfs\n"})
        return _json({"url": f"{self.endpoint}/{kind}/{name}", "name": name, "id": "1"})

    def _check_card(self, content: str) -> Answer:
        """Check the metadata at the beginning of a card, as the Hub does before it takes one."""
        head = content.split("---\n")[1] if content.startswith("---\n") else ""
        try:
            wrong = [] if isinstance(yaml.safe_load(head), dict) else ["the metadata are not a mapping"]
        except yaml.YAMLError as error:
            wrong = [str(error)]
        return _json({"errors": [{"message": message} for message in wrong], "warnings": []})

    def _modes(self, asked: Mapping[str, Any]) -> Answer:
        modes = [
            {"path": one["path"], "uploadMode": "lfs" if is_large(one["path"]) else "regular", "shouldIgnore": False}
            for one in asked["files"]
        ]
        return _json({"files": modes})

    def _batch(self, asked: Mapping[str, Any]) -> Answer:
        objects = [
            {
                **one,
                **(
                    {}
                    if one["oid"] in self.objects
                    else {"actions": {"upload": {"href": f"{self.endpoint}/lfs/{one['oid']}"}}}
                ),
            }
            for one in asked["objects"]
        ]
        return _json({"transfer": "basic", "objects": objects})

    def _put(self, oid: str, body: bytes) -> Answer:
        if hashlib.sha256(body).hexdigest() != oid:
            return _refused(400, "the content is not the one that was announced")
        self.objects[oid] = body
        return _json({})

    def _commit(self, kind: str, name: str, revision: str, body: bytes, user: str, proposes: bool) -> Answer:
        lines = [json.loads(line) for line in body.splitlines()]
        head = self.repositories[kind, name]
        if self.full:
            return _refused(507, "No space left")
        if self.moves:
            self.moves = False
            last = list(head.values())[-1]
            self.add(kind, name, {**last.files, "theirs.txt": b"theirs"})
        before = [one for one in head.values() if one.pull_request == (revision if revision.startswith("refs") else "")]
        base = (before or [one for one in head.values() if not one.pull_request])[-1]
        told = lines[0]["value"].get("parentCommit")
        if told is not None and told != base.commit:
            return _refused(412, "A commit has happened since. Please refresh and try again.")
        files = dict(base.files)
        for line in lines[1:]:
            value = line["value"]
            match line["key"]:
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.objects[value["oid"]]
                case "deletedFile":
                    del files[value["path"]]
        self.commits.append(lines)
        commit = hashlib.sha1(f"{name} {len(self.commits)}".encode()).hexdigest()  # noqa: S324 - commits are SHA-1
        reference = revision if revision.startswith("refs") else ""
        address = f"{self.endpoint}/{name}"
        if proposes:
            self.titles.append((name, lines[0]["value"]["summary"], user))
            reference = f"refs/pr/{len(self.titles)}"
        head[commit] = Repository(kind, name, files, commit, tags=_tags(files), pull_request=reference)
        made = {"commitUrl": f"{address}/commit/{commit}", "commitOid": commit}
        return _json({**made, "pullRequestUrl": f"{address}/discussions/{len(self.titles)}"} if proposes else made)

    def _discussions(self, path: str, query: Mapping[str, list[str]]) -> Answer:
        name = path.removeprefix("api/models/").removesuffix("/discussions")
        found = [
            {
                "title": title,
                "num": number,
                "author": {"name": author},
                "isPullRequest": True,
                "status": "open",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "repo": {"name": name, "type": "model"},
            }
            for number, (of, title, author) in enumerate(self.titles, 1)
            if of == name and query.get("author", [author]) == [author]
        ]
        return _json({"discussions": found, "count": len(found), "start": 0, "numClosedDiscussions": 0})


def _tags(files: Mapping[str, bytes]) -> tuple[str, ...]:
    parts = files.get("README.md", b"").decode().split("---\n")
    card = yaml.safe_load(parts[1]) if len(parts) > 2 and not parts[0] else {}
    return tuple(card.get("tags", ()))


def _json(value: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _refused(status: int, message: str) -> Answer:
    return (
        status,
        {"Content-Type": "application/json", "X-Error-Message": message},
        json.dumps({"error": message}).encode(),
    )

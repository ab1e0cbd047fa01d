"""The page that asks raters, and the server that gives them blinded items and keeps what they choose.

It has the limits of the site's server (:mod:`harness.leaderboard.site.server`). Requests that change something must be
JSON of the page's own origin, which no page of another site can send.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.annotation.questionnaire import OTHER_WAY, Question, Value
from harness.annotation.ratings import Rating, RatingsFile
from harness.annotation.study import Item, Study, is_complete
from harness.errors import HarnessError
from harness.leaderboard.site.files import json_text
from harness.leaderboard.site.live import LiveState
from harness.leaderboard.site.server import CONTENT_SECURITY_POLICY, TYPES, SiteHandler, SiteServer
from harness.output.display import lines, visible

POLICY = CONTENT_SECURITY_POLICY + "; connect-src 'self'"
MOST_BYTES = 1 << 16
"""Most bytes of a request."""
LONGEST_NAME = 60
"""Most characters of a rater's name."""
LONGEST_TEXT = 10_000
"""Most characters that a rater may write about an item."""

_BREAK = re.compile(r"\s*\n(?!\s*(?:[-*•]|\d+[.)])\s)\s*")
_TOKEN = re.compile(r"[A-Za-z0-9_-]*")


class BadRequestError(Exception):
    """A request that cannot be answered; the message says why."""


class AnnotationServer(SiteServer):
    """Serves a study to raters until :meth:`shutdown`.

    Args:
        study: What is asked.
        ratings: Where the ratings go.
        host: The address to listen on.
        port: The port; 0 for any free one.
        token: What every address must begin with, so that nobody else can rate; empty for none.

    Raises:
        HarnessError: The server cannot listen on the address, or the token is not fit for an address.
    """

    def __init__(
        self, study: Study, ratings: RatingsFile, host: str = "127.0.0.1", port: int = 8000, token: str = ""
    ) -> None:
        if not _TOKEN.fullmatch(token):
            raise HarnessError("a token consists of letters, digits, - and _ only.")
        super().__init__(Path(), lambda: LiveState(0, "", [], 0.0), host, port)
        self.RequestHandlerClass = AnnotationHandler
        self.study, self.ratings, self.token = study, ratings, token
        self.items = study.by_id
        page, site = files("harness.annotation") / "page", files("harness.leaderboard.site") / "assets"
        self.pages = {
            "": (page / "index.html").read_bytes(),
            "annotate.js": (page / "annotate.js").read_bytes(),
            "annotate.css": (page / "annotate.css").read_bytes(),
            "site.css": (site / "site.css").read_bytes(),
        }

    @property
    def url(self) -> str:
        """The address for raters, with the token."""
        return super().url + (f"{self.token}/" if self.token else "")


class AnnotationHandler(SiteHandler):
    """Answers the requests of one connection."""

    server: AnnotationServer

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        """Answer a request of the page: to begin, to show an item, or to keep ratings."""
        path = self._allowed()
        if path is None:
            return
        call = _CALLS.get(path)
        if call is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        try:
            content = call(self.server, self._body())
        except BadRequestError as error:
            self._say(HTTPStatus.BAD_REQUEST, str(error))
        except HarnessError as error:  # above all, that the disk is full
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        else:
            text = json_text(content).encode("utf-8", "backslashreplace")
            self._send(HTTPStatus.OK, text, TYPES[".json"], {"Cache-Control": "no-store"})

    def _answer(self) -> None:
        path = self._allowed()
        if path is None:
            return
        if path not in self.server.pages:
            self._say(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        kind = TYPES[Path(path or "index.html").suffix]
        policy = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
        self._send(HTTPStatus.OK, self.server.pages[path], kind, policy)

    def _allowed(self) -> str | None:
        """Return the path without the token; None if the request has been refused."""
        if self.server.loopback and not self._named_as_loopback():
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to localhost only.")
            return None
        path = re.split(r"[?#]", self.path, maxsplit=1)[0].removeprefix("/")
        if not self.server.token:
            return path
        given, slash, rest = path.partition("/")
        if not slash or not hmac.compare_digest(given.encode(), self.server.token.encode()):
            self._say(HTTPStatus.NOT_FOUND, "There is no such page. The address must be complete, with its last '/'.")
            return None
        return rest

    def _of_our_page(self) -> bool:
        """Return True if no browser says that a page of another site made the request; a proxy may add TLS."""
        site, origin = self.headers.get("Sec-Fetch-Site"), self.headers.get("Origin")
        if site is not None:
            return site == "same-origin"
        return origin is None or origin.partition("://")[2] == self.headers.get("Host")

    def _body(self) -> Mapping[str, Any]:
        """Return the JSON object that the page sent."""
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not re.fullmatch("[0-9]{1,9}", length):
            raise BadRequestError("A request needs its length.")
        if int(length) > MOST_BYTES:
            raise BadRequestError(f"A request may have {MOST_BYTES:,} bytes, not {int(length):,}.")
        content = self.rfile.read(int(length))
        if not self._of_our_page():
            raise BadRequestError("The request comes from another site.")
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise BadRequestError("A request must be JSON.")
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            raise BadRequestError("A request must be JSON.") from None
        if not isinstance(value, dict):
            raise BadRequestError("A request must be a JSON object.")
        return value


def _begin(server: AnnotationServer, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a rater needs to begin or to go on: the questions, the order of items, and what is done."""
    rater, asks = _rater(asked), server.study.questionnaire
    done = server.ratings.values(rater)
    return {
        "rater": rater,
        "order": server.study.order(rater),
        "done": [item for item, values in done.items() if is_complete(server.study, values)],
        "questions": [_shown_question(question) for question in asks.questions],
    }


def _about(server: AnnotationServer, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows before a rater has begun."""
    asks = server.study.questionnaire
    return {"title": asks.title, "guidelines": _paragraphs(asks.guidelines), "items": len(server.items)}


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of guidelines, whose lines may break anywhere but before an entry of a list."""
    return [_BREAK.sub(" ", part.strip()) for part in lines(text).split("\n\n") if part.strip()]


def _show(server: AnnotationServer, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as a rater sees it, without any hint at models, with the rater's answers so far."""
    rater, item = _rater(asked), _item(server, asked)
    asks = server.study.questionnaire
    sides = server.study.sides(rater, item)
    values = server.ratings.values(rater).get(item.id, {})
    return {
        "item": item.id,
        "input_title": asks.input_title,
        "input": lines(item.input),
        "references": [lines(text) for text in item.references] if asks.references else [],
        "answer_title": asks.answer_title,
        "answers": [lines(item.answers[place].text) for place in sides],
        "values": {name: _as_seen(asks.question(name), value, sides) for name, value in values.items()},
    }


def _keep(server: AnnotationServer, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a rater's answers about an item; what the request does not name stays as it is."""
    rater, item = _rater(asked), _item(server, asked)
    given = asked.get("values")
    if not isinstance(given, dict) or not given:
        raise BadRequestError("A request must name the values to keep.")
    sides = server.study.sides(rater, item)
    server.ratings.add([_rating(server.study, rater, item, sides, name, value) for name, value in given.items()])
    values = server.ratings.values(rater).get(item.id, {})
    return {"complete": is_complete(server.study, values)}


def _rating(study: Study, rater: str, item: Item, sides: tuple[int, ...], name: str, value: Any) -> Rating:
    if value is None and (study.questionnaire.question(name) is not None or name in ("note", "skip")):
        return Rating(rater, item.id, name, None)
    if name == "skip" and value is True:
        return Rating(rater, item.id, name, True)
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise BadRequestError(f"A text may have {LONGEST_TEXT:,} characters, not {len(value):,}.")
    if name == "note" and isinstance(value, str):
        return Rating(rater, item.id, name, value or None)
    question = study.questionnaire.question(name)
    read = None if question is None else question.read(value)
    if question is None or read is None:
        raise BadRequestError("There is no such question, or the value is not one of its answers.")
    return Rating(rater, item.id, name, turned(read, sides) if question.prefer else read)


def turned(value: Value, sides: tuple[int, ...]) -> Value:
    """Return a preference between answers as seen as one between answers in the item's order, or the reverse."""
    return OTHER_WAY[str(value)] if sides == (1, 0) else value


def _as_seen(question: Question | None, value: Value | bool, sides: tuple[int, ...]) -> Value | bool:
    return turned(value, sides) if question is not None and question.prefer else value


def _shown_question(question: Question) -> dict[str, Any]:
    scale = question.scale
    return {
        "id": question.id,
        "question": question.question,
        "help": question.help,
        "options": [
            [value, text, key] for (value, text), key in zip(question.options.items(), _keys(question), strict=True)
        ],
        "ends": [scale.low_means, scale.high_means] if scale and (scale.low_means or scale.high_means) else None,
        "needed": question.needed,
    }


def _keys(question: Question) -> list[str]:
    """Return the key of each option: the number itself where a scale's numbers have one digit, else its place."""
    numbers = [str(value) for value in question.options]
    if question.scale is not None and all(len(number) == 1 for number in numbers):
        return numbers
    return [str(place) if place < 10 else "" for place in range(1, len(numbers) + 1)]


def _rater(asked: Mapping[str, Any]) -> str:
    name = asked.get("rater")
    name = " ".join(name.split()) if isinstance(name, str) else ""
    if not name or len(name) > LONGEST_NAME or visible(name) != name:
        raise BadRequestError(f"A name has 1 to {LONGEST_NAME} visible characters.")
    return name


def _item(server: AnnotationServer, asked: Mapping[str, Any]) -> Item:
    item = server.items.get(str(asked.get("item")))
    if item is None:
        raise BadRequestError("There is no such item.")
    return item


_CALLS: Mapping[str, Callable[[AnnotationServer, Mapping[str, Any]], dict[str, Any]]] = {
    "api/about": _about,
    "api/begin": _begin,
    "api/item": _show,
    "api/keep": _keep,
}

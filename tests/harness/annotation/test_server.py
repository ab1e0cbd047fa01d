"""The server over real sockets: what raters get, what is kept, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from harness.annotation.ratings import read_ratings
from harness.annotation.server import AnnotationServer
from harness.annotation.study import RATINGS_FILE
from harness.errors import HarnessError
from tests.harness.annotation.conftest import FORM, PAIR, STRENGTHS, made_study, serving

STUDY = made_study(FORM)
TOKEN = "se-cret_1"  # noqa: S105


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AnnotationServer]:
    with serving(STUDY, tmp_path) as found:
        yield found


def ask(
    server: AnnotationServer, path: str, content: Any = None, *, method: str = "POST", **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    body = content if isinstance(content, str | None) else json.dumps(content)
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


def call(server: AnnotationServer, name: str, **content: Any) -> Any:
    status, text, _ = ask(server, f"/api/{name}", content)
    assert status == 200, text
    return json.loads(text)


def test_a_rater_begins_and_continues_where_she_stopped(server: AnnotationServer, tmp_path: Path) -> None:
    begun = call(server, "begin", rater=" ann  b ")
    assert begun["rater"] == "ann b"
    assert begun["order"] == STUDY.order("ann b")
    assert begun["done"] == []
    item = begun["order"][0]
    assert call(server, "keep", rater="ann b", item=item, values={"quality": 4}) == {"complete": False}
    assert call(server, "keep", rater="ann b", item=item, values={"tone": "cold", "note": "x"}) == {"complete": True}
    assert len(read_ratings(tmp_path / RATINGS_FILE, STUDY)) == 3
    assert call(server, "begin", rater="ann b")["done"] == [item]
    assert call(server, "begin", rater="bob")["done"] == []
    shown = call(server, "item", rater="ann b", item=item)
    assert shown["values"] == {"quality": 4, "tone": "cold", "note": "x"}


def test_lines_of_guidelines_are_joined_but_for_lists(tmp_path: Path) -> None:
    text = "Read it,\nand judge it.\n\nMarks:\n- 1: bad,\n  really\n- 2: good\n"
    with serving(made_study({**FORM, "guidelines": text}), tmp_path) as server:
        assert call(server, "about")["guidelines"] == ["Read it, and judge it.", "Marks:\n- 1: bad, really\n- 2: good"]


def test_what_cannot_be_judged_is_done(server: AnnotationServer) -> None:
    assert call(server, "keep", rater="ann", item="i0s", values={"skip": True})["complete"]
    assert not call(server, "keep", rater="ann", item="i0s", values={"skip": None})["complete"]


def test_no_answer_names_a_model(server: AnnotationServer) -> None:
    told = json.dumps([call(server, "about"), call(server, "begin", rater="ann")])
    told += "".join(json.dumps(call(server, "item", rater="ann", item=item.id)) for item in STUDY.items)
    assert "answer 0 s" in told
    assert "small" not in told
    assert "large" not in told


def test_a_strong_preference_is_kept_in_the_items_order(tmp_path: Path) -> None:
    study = made_study({**PAIR, "questions": [STRENGTHS]}, 20)
    with serving(study, tmp_path) as server:
        for item in study.items:
            call(server, "keep", rater="ann", item=item.id, values={"better": "first_much"})
            assert call(server, "item", rater="ann", item=item.id)["values"] == {"better": "first_much"}
            preferred = {"first_much": 0, "second_much": 1}[str(server.ratings.values("ann")[item.id]["better"])]
            assert preferred == study.sides("ann", item)[0]


def test_a_preference_is_kept_in_the_items_order(tmp_path: Path) -> None:
    study = made_study(PAIR, 12)
    with serving(study, tmp_path) as server:
        for item in study.items:
            shown = call(server, "item", rater="ann", item=item.id)
            best = "first" if shown["answers"][0].endswith("l") else "second"  # always the large model's
            call(server, "keep", rater="ann", item=item.id, values={"better": best})
            assert call(server, "item", rater="ann", item=item.id)["values"] == {"better": best}
    kept = read_ratings(tmp_path / RATINGS_FILE, study)
    assert {rating.value for rating in kept} == {"second"}  # the large model's is the second of every item


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"rater": "ann", "item": "zz", "values": {"quality": 1}}, "no such item"),
        ({"rater": "ann", "item": "i0s", "values": {"quality": 6}}, "not one of its answers"),
        ({"rater": "ann", "item": "i0s", "values": {"qualty": 1}}, "no such question"),
        ({"rater": "ann", "item": "i0s", "values": {}}, "must name the values"),
        ({"rater": "ann", "item": "i0s", "values": {"note": "x" * 10_001}}, "A text may have 10,000"),
        ({"rater": "", "item": "i0s", "values": {"quality": 1}}, "A name has 1 to 60"),
        ({"rater": "a\u202eb", "item": "i0s", "values": {"quality": 1}}, "A name has 1 to 60"),
        ([], "must be a JSON object"),
        ("{", "must be JSON"),
        ("[" * 60_000, "must be JSON"),
        ("x" * 70_000, "may have 65,536 bytes"),
    ],
)
def test_what_is_wrong_is_refused_and_not_kept(
    server: AnnotationServer, tmp_path: Path, content: Any, message: str
) -> None:
    status, text, _ = ask(server, "/api/keep", content)
    assert status == 400
    assert message in text
    assert read_ratings(tmp_path / RATINGS_FILE, STUDY) == []


def test_pages_of_other_sites_can_neither_read_nor_rate(server: AnnotationServer) -> None:
    keep = {"rater": "ann", "item": "i0s", "values": {"quality": 1}}
    assert ask(server, "/", method="GET", Host="evil.example")[0] == 421
    assert ask(server, "/api/keep", keep, Host="evil.example")[0] == 421
    assert ask(server, "/api/keep", keep, Origin="http://evil.example")[0] == 400
    assert ask(server, "/api/keep", keep, Sec_Fetch_Site="cross-site")[0] == 400
    assert ask(server, "/api/keep", keep, Content_Type="text/plain")[0] == 400
    assert ask(server, "/api/keep", keep, method="PUT")[0] == 405
    assert server.ratings.values("ann") == {}


def test_a_proxy_may_add_tls(server: AnnotationServer) -> None:
    keep = {"rater": "ann", "item": "i0s", "values": {"quality": 1}}
    assert ask(server, "/api/keep", keep, Host="localhost", Origin="https://localhost")[0] == 200
    assert ask(server, "/api/keep", keep, Origin="https://else.example", Sec_Fetch_Site="same-origin")[0] == 200


def test_only_the_page_is_served_under_a_strict_policy(server: AnnotationServer) -> None:
    for path in ("/", "/annotate.js", "/annotate.css", "/site.css"):
        status, text, headers = ask(server, path, method="GET")
        assert (status, bool(text)) == (200, True)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
    for path in ("/study.json", "/ratings.jsonl", "/../study.json", "/%2e%2e/study.json", "/api/keep", "/index.html"):
        assert ask(server, path, method="GET")[0] == 404


def test_with_a_token_every_address_must_carry_it(tmp_path: Path) -> None:
    with serving(STUDY, tmp_path, token=TOKEN) as server:
        assert server.url.endswith("/se-cret_1/")
        for path in ("/", "/annotate.js", "/se-cret_1", "/se-cret_2/", "/api/about", "/SE-CRET_1/"):
            assert ask(server, path, method="GET")[0] == 404
            assert ask(server, path, {})[0] == 404
        assert ask(server, "/se-cret_1/", method="GET")[0] == 200
        assert ask(server, "/se-cret_1/api/about", {})[0] == 200


def test_a_token_is_fit_for_an_address(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="a token consists of letters"), serving(STUDY, tmp_path, token=f"{TOKEN}/b"):
        pass


def test_a_failing_disk_is_said(server: AnnotationServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    status, text, _ = ask(server, "/api/keep", {"rater": "ann", "item": "i0s", "values": {"quality": 1}})
    assert status == 500
    assert "No space left on device" in text
    assert server.ratings.values("ann") == {}

"""What a cache holds, what of it can go, and how caches merge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Completion, DataError, Response
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import CachedAnswer, CachedModel
from harness.inference.upkeep import export, holdings, merge, models_in_use, prune, removable
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    """A cache with two models, of which the first answered three questions a long time ago and one now."""
    opened = ResponseCache(tmp_path / "responses.sqlite")
    old = opened.asked("hf:old", {"weights": "a"}, used=1_000_000_000)
    new = opened.asked("fake:0", {"seed": "0"})
    opened.add(CachedAnswer(bytes([n] * 16), old, 1_000_000_000 + n, Response(logprobs=(-float(n),))) for n in range(3))
    opened.put(old, [(b"now", Response(logprobs=(-7.0,)))])
    opened.put(new, [(b"new", Response((Completion("text", logprob=-0.1),)))])
    yield opened
    opened.close()


def test_holdings_are_counted_by_model(cache: ResponseCache) -> None:
    held = {one.name: one for one in holdings(cache)}
    assert {name: one.answers for name, one in held.items()} == {"hf:old": 4, "fake:0": 1}
    assert held["hf:old"].first == 1_000_000_000
    assert held["hf:old"].last == held["fake:0"].last
    assert held["hf:old"].bytes > held["fake:0"].bytes > 0


def test_a_model_that_is_asked_again_was_asked_later_and_has_its_newest_name(cache: ResponseCache) -> None:
    assert cache.asked("hf:renamed", {"weights": "a"}) == cache.asked("hf:older", {"weights": "a"}, used=5)
    (model,) = [model for model in cache.models() if model.fingerprint == {"weights": "a"}]
    assert model.name == "hf:renamed"
    assert model.used > 1_000_000_000


@pytest.mark.parametrize(
    ("models", "days", "in_use", "left"),
    [
        (["hf:*"], None, None, {"fake:0": 1}),
        ([], 1.0, None, {"hf:old": 1, "fake:0": 1}),
        (["fake:*"], 1.0, None, {"hf:old": 4, "fake:0": 1}),
        (["fake:*", "hf:old"], 0.0, None, {}),
        ([], None, "fake:0", {"fake:0": 1}),
        ([], 1.0, "fake:0", {"hf:old": 1, "fake:0": 1}),
    ],
)
def test_what_all_that_is_given_applies_to_is_removed(
    cache: ResponseCache, models: list[str], days: float | None, in_use: str | None, left: dict[str, int]
) -> None:
    used = None if in_use is None else {model.digest for model in cache.models() if model.name == in_use}
    before = len(cache)
    found = removable(cache, models=models, days=days, used=used)
    assert len(cache) == before
    prune(cache, found)
    assert {one.name: one.answers for one in holdings(cache)} == left


def test_removing_gives_room_back(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "responses.sqlite")
    model = cache.asked("fake:0", {})
    cache.put(model, [(bytes([n, 0] * 8), Response((Completion(f"{n} " * 300),))) for n in range(250)])
    cache.ask("PRAGMA wal_checkpoint(TRUNCATE)")
    before = cache.path.stat().st_size
    prune(cache, removable(cache, models=["fake:0"]))
    assert cache.path.stat().st_size < before / 2


def everything(cache: ResponseCache) -> tuple[list[CachedModel], list[CachedAnswer]]:
    return list(cache.models()), list(cache.answers())


@pytest.mark.parametrize("form", ["export", "cache"])
def test_a_merged_cache_has_all_of_both(cache: ResponseCache, tmp_path: Path, form: str) -> None:
    other = ResponseCache(tmp_path / "other.sqlite")
    other.put(other.asked("hf:old", {"weights": "a"}), [(b"now", Response(logprobs=(-8.0,))), (b"other", Response())])
    file = cache.path if form == "cache" else tmp_path / "export.jsonl"
    if form == "export":
        file.write_text("\n".join(export(cache)) + "\n")
    assert merge(file, other) == (4, 1)
    assert merge(file, other) == (0, 5)
    assert len(other) == 6
    found = other.get([b"now", b"new"])
    assert found[b"now"].logprobs == (-8.0,)  # what was known stays
    assert found[b"new"].completions == (Completion("text", logprob=-0.1),)


def test_an_export_into_an_empty_cache_gives_an_equal_one(cache: ResponseCache, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    lines = list(export(cache))
    file.write_text("\n".join([*lines, *lines]))  # put together with itself
    empty = ResponseCache(tmp_path / "empty.sqlite")
    merge(file, empty)
    models, answers = everything(cache)
    origin = hashlib.sha256(file.read_bytes()).digest()
    assert everything(empty) == (models, [replace(answer, origin=origin) for answer in answers])
    (imported,) = empty.imports()
    assert (imported.digest, imported.file, imported.answers) == (origin, "export.jsonl", len(answers))
    assert {one.imported for one in holdings(empty)} == {one.answers for one in holdings(empty)}
    assert {response.imported for response in empty.get([answer.key for answer in answers]).values()} == {origin.hex()}
    assert [json.loads(line)["name"] for line in export(cache, ["fake:*"]) if "name" in json.loads(line)] == ["fake:0"]


@settings(max_examples=20)
@given(
    st.lists(
        st.builds(
            Response,
            completions=st.lists(st.builds(Completion, st.text(), st.none() | st.floats(-1e9, 0)), max_size=2).map(
                tuple
            ),
            logprobs=st.none() | st.lists(st.floats(-1e9, 0), max_size=3).map(tuple),
            greedy=st.none() | st.booleans(),
            seconds=st.floats(0, 1e6),
        ),
        max_size=5,
    )
)
def test_any_answer_survives_the_way(tmp_path_factory: pytest.TempPathFactory, responses: list[Response]) -> None:
    folder = tmp_path_factory.mktemp("way")
    cache, other = ResponseCache(folder / "one.sqlite"), ResponseCache(folder / "other.sqlite")
    cache.put(cache.asked("fake:0", {}), [(bytes([n]), response) for n, response in enumerate(responses)])
    (folder / "export").write_text("".join(f"{line}\n" for line in export(cache)), encoding="utf-8")
    merge(folder / "export", other)
    assert [answer.response for answer in other.answers()] == responses
    cache.close()
    other.close()


MODEL = '{"model": "%s", "name": "fake:0", "fingerprint": {}, "used": "2026-01-01T00:00:00+00:00"}'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("no json", "row 1: not a line of an exported response cache"),
        ("[]", "row 1: not a line of an exported response cache"),
        ('{"a": 1}', "row 1: not a line of an exported response cache (it has no 'model')"),
        (MODEL % "00ff", "the digest of model 'fake:0'"),
        (
            '{"key": "00", "model": "00ff", "created": "2026-01-01T00:00:00+00:00", "response": {}}',
            "row 1: an answer of a model that no",
        ),
        (
            MODEL % "00"
            + '\n{"key": "00", "model": "00", "created": "2026-01-01T00:00:00+00:00", "response": {"x": 1}}',
            "does not match its fingerprint",
        ),
    ],
)
def test_what_is_no_export_is_a_clear_message(tmp_path: Path, lines: str, message: str) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text(lines)
    cache = ResponseCache(tmp_path / "responses.sqlite")
    with pytest.raises(DataError) as caught:
        merge(file, cache)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert len(cache) == 0


def test_models_of_runs_and_of_their_judges_are_in_use(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        "suite: judged\nmodels: ['fake:0', 'fake:1']\nruns:\n  - {scenario: sample_generation, metrics: "
        "[quasi_exact_match, {name: toxicity, judge: {name: llm, model: 'fake:7'}}]}\n"
    )
    registry = default_registry()
    sweep, _ = load_sweep(tmp_path / "sweep.yaml", registry=registry)
    records = list(run_sweep(sweep.runs, registry, Settings(tmp_path)))
    cache = ResponseCache(tmp_path / "responses.sqlite")
    assert {one.name for one in holdings(cache)} == {"fake:0", "fake:1", "fake:7"}
    assert removable(cache, used=models_in_use(records)) == []
    (first,) = [record for record in records if record.spec.model.name == "fake:0"]
    assert [one.name for one in removable(cache, used=models_in_use([first]))] == ["fake:1"]
    cache.close()

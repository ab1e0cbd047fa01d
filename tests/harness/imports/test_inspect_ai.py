"""Logs that inspect_ai wrote of real runs: their numbers, epochs, errors and answers; and logs that lie."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import GenerateRequest
from harness.contracts import Message, Stat
from harness.errors import DataError
from harness.imports.foreign_files import LONGEST_FILE
from harness.imports.imported_run import Imported, write_imported
from harness.imports.inspect_ai import REPORTED, inspect_logs, read_inspect
from harness.imports.inspect_log import _Archive, read_log
from harness.plugins.registry import Registry
from harness.statistics import midp_interval
from harness.storage.example_files import read_examples
from harness.storage.results import read_run


@pytest.fixture
def imported(inspect_folder: Path, registry: Registry) -> dict[str, Imported]:
    found = [read_inspect(file, "theirs", registry) for file in inspect_logs(inspect_folder)]
    return {one.spec.scenario.name: one for one in found}


def _by_name(imported: Imported) -> dict[str, Stat]:
    return {stat.metric: stat for stat in imported.stats}


def test_each_log_is_a_run(imported: dict[str, Imported]) -> None:
    assert list(imported) == ["tiny_fail", "tiny_write", "tiny_quiz"]  # the newest first
    spec = imported["tiny_quiz"].spec
    assert (spec.suite, spec.model.name, spec.samples) == ("theirs", "inspect:mockllm/tiny", 1)
    assert (spec.adapter.name, spec.main_metric) == ("inspect multiple_choice", "inspect.choice.accuracy")
    assert (spec.adapter.arguments["temperature"], spec.adapter.arguments["max_tokens"]) == (0.5, 32)
    assert imported["tiny_write"].spec.samples == 3
    assert imported["tiny_write"].spec.adapter.arguments["system_message.template"] == "Be short."
    origin = imported["tiny_quiz"].origin
    assert (origin["program"], origin["version"], origin["task"]) == ("inspect_ai", "0.3.285", "tiny_quiz")


def test_numbers_are_theirs_and_intervals_come_from_samples(imported: dict[str, Imported]) -> None:
    (stat,) = imported["tiny_quiz"].stats
    assert (stat.metric, stat.mean, stat.count, stat.note) == ("inspect.choice.accuracy", 0.5, 4, "")
    assert stat.stderr == pytest.approx(0.28867513459481287, abs=0)
    assert stat.ci95 == midp_interval(2, 4)


def test_epochs_reducers_and_several_scores(imported: dict[str, Imported]) -> None:
    stats = _by_name(imported["tiny_write"])
    assert stats["inspect.includes.accuracy"].mean == pytest.approx(5 / 9)
    assert stats["inspect.includes.accuracy"].count == 3
    assert stats["inspect.includes.accuracy"].stderr == pytest.approx(1 / 9)
    assert stats["inspect.includes.accuracy,at_least_2"].mean == pytest.approx(2 / 3)
    assert stats["inspect.includes.accuracy,at_least_2"].note == REPORTED
    assert stats["inspect.length.mean"].mean == 4.0
    assert stats["inspect.length.mean"].note != REPORTED
    assert stats["inspect.length.std"].mean == pytest.approx(1.5275252316519465)
    assert stats["inspect.length.std"].note == REPORTED
    assert not any(name.endswith("stderr") for name in stats)
    first = imported["tiny_write"].examples[0]
    assert first.scores == {
        "inspect.includes.accuracy": 1.0,
        "inspect.length.mean": 10.0,
        "inspect.polite.accuracy": 1.0,
        "inspect.exact.mean": 0.0,
    }


def test_answers_are_kept(imported: dict[str, Imported], tmp_path: Path) -> None:
    record = write_imported(tmp_path, imported["tiny_quiz"])
    examples = [example for example, _, _ in read_examples(record)]
    assert examples == [one.example for one in imported["tiny_quiz"].examples]
    first, second, _, last = examples
    assert [reference.correct for reference in first.instance.references] == [True, False, False]
    assert (first.prediction, first.choice, first.labels) == ("Iron", 0, ("A", "B", "C"))
    (request,) = first.requests
    assert isinstance(request, GenerateRequest)
    assert (request.temperature, request.max_tokens, request.top_logprobs) == (0.5, 32, 2)
    message = request.prompt[0]
    assert isinstance(message, Message)
    assert message.content.endswith("Which is a metal?\n\nA) Iron\nB) Wood\nC) Water")
    (completion,) = first.responses[0].completions
    assert (completion.text, completion.logprob, completion.finish_reason) == ("ANSWER: A", -0.75, "stop")
    assert completion.top_logprobs[1] == {"A": -0.5, "other": -2.5}
    assert (first.responses[0].prompt_tokens, first.responses[0].completion_tokens) == (11, 2)
    (thought,) = second.responses[0].completions
    assert (thought.reasoning, thought.text, thought.reasoning_tokens) == ("pears?", "ANSWER: C", 4)
    assert (last.prediction, last.choice, last.unread) == ("", None, True)
    assert last.responses[0].completions[0].finish_reason == "length"
    assert imported["tiny_write"].examples[1].example.sample == 1


def test_samples_that_failed_or_were_declined(imported: dict[str, Imported], tmp_path: Path) -> None:
    record = write_imported(tmp_path, imported["tiny_fail"])
    read = {example.instance.id: (example, scores, error) for example, scores, error in read_examples(record)}
    example, scores, error = read["f1"]
    assert (error, scores) == ("RuntimeError('the server went away')", {})
    assert example.responses[0].error == error
    assert record.declined.kinds == {"content_filter": 1}
    (stat,) = read_run(record.directory).stats
    assert stat.count == 3
    assert stat.mean == pytest.approx(1 / 3)


def test_json_and_eval_are_read_alike(inspect_folder: Path, registry: Registry, tmp_path: Path) -> None:
    (file,) = inspect_folder.glob("*quiz.eval")
    header, _ = read_log(file)
    as_json = tmp_path / "log.json"
    as_json.write_text(json.dumps(_unpacked(file)))
    one, other = read_inspect(file, "s", registry), read_inspect(as_json, "s", registry)
    assert (one.stats, one.examples, one.spec) == (other.stats, other.examples, other.spec)
    assert header.eval.task == "tiny_quiz"
    assert inspect_logs(tmp_path) == [as_json]


def test_our_name_where_our_metric_gives_the_same(inspect_folder: Path, registry: Registry, tmp_path: Path) -> None:
    text = json.dumps(_unpacked(next(inspect_folder.glob("*write.json")))).replace('"exact"', '"exact_match"')
    file = tmp_path / "log.json"
    file.write_text(text)
    stats = _by_name(read_inspect(file, "s", registry))
    assert stats["exact_match"].mean == stats["inspect.exact_match.mean"].mean == pytest.approx(4 / 9)
    assert (stats["exact_match"].category, stats["exact_match"].count) == ("accuracy", 3)
    file.write_text(text.replace('"target": ["three", "THREE"]', '"target": ["three", "tres"]'))
    assert "exact_match" not in _by_name(read_inspect(file, "s", registry))


@pytest.mark.parametrize(
    ("options", "target", "correct"),
    [
        (["Iron", "Wood"], "B", [1]),
        (["Iron", "Wood"], "Wood", [1]),
        (["Iron", "Wood", "Water"], ["A", "C"], [0, 2]),
        (["Iron", "Wood", "Water"], ["Iron", "Water"], [0, 2]),
        (["B", "A"], "A", [0]),  # a label, as of multiple_choice, though the other option has this text
        (["C", "D", "A"], "C", [2]),
        ([f"option {index}" for index in range(30)], "2", [27]),  # labels after Z are numbers
        (["1", "2", "3"], "2", [1]),
        (["Iron", "Wood"], "Gold", []),
    ],
)
def test_targets_are_labels_or_texts_of_options(
    inspect_folder: Path, registry: Registry, tmp_path: Path, options: list[str], target: Any, correct: list[int]
) -> None:
    log = _unpacked(next(inspect_folder.glob("*quiz.eval")))
    log["samples"][0] |= {"choices": options, "target": target}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    (first, *_) = read_inspect(file, "s", registry).examples
    references = first.example.instance.references
    assert [reference.text for reference in references] == options
    assert [index for index, reference in enumerate(references) if reference.correct] == correct


# Logs that lie


def _unpacked(file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        log: dict[str, Any] = json.loads(file.read_text())
        return log
    with _Archive(file) as archive:
        samples = [archive.read(name) for name in archive.members if name.startswith("samples/")]
        return {**archive.read("header.json"), "samples": samples}


Change = Callable[[dict[str, Any]], None]


def _set(*path: Any) -> Change:
    *keys, last, value = path

    def change(log: dict[str, Any]) -> None:
        inside: Any = log
        for key in keys:
            inside = inside[key]
        inside[last] = value

    return change


ACCURACY = ("results", "scores", 0, "metrics", "accuracy")
STDERR = ("results", "scores", 0, "metrics", "stderr")


def _without_samples(log: dict[str, Any]) -> None:
    _set(*ACCURACY, "value", 17.5)(log)
    log["samples"] = []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(*ACCURACY, "value", float("nan")), r"results\.scores\[0\]\.metrics\.accuracy\.value must be a finite"),
        (_set(*ACCURACY, "value", "0.5"), r"results\.scores\[0\]\.metrics\.accuracy\.value.*must be"),
        (_set(*ACCURACY, "value", 0.75), r"accuracy\.value is 0\.75, but the mean of the 4 samples is 0\.5"),
        (_set(*ACCURACY, "value", True), r"accuracy\.value: must be a number, not True"),
        (_set(*ACCURACY, "value", "x"), r"accuracy\.value: must be a number, not 'x'"),
        (_set(*STDERR, "value", 0.0001), r"metrics\.stderr\.value is 0\.0001, but the 4 samples give 0\.288675"),
        (_set(*STDERR, "value", 99), r"metrics\.stderr\.value is 99, but the 4 samples give 0\.288675"),
        (_without_samples, r"accuracy\.value must be from 0 to 1, not 17\.5"),
        (_set("results", "scores", 0, "scored_samples", 9), r"scored_samples is 9, but the log has 4 scored samples"),
        (_set("samples", 2, "id", "q0"), r"sample 'q0' of epoch 1 is listed twice"),
        (_set("samples", 2, "epoch", 0), r"samples\[2\].*epoch: must be at least 1"),
        (_set("samples", 1, "scores", "choice", "value", float("inf")), r"sample 'q1': scores\.choice\.value must be"),
        (_set("samples", 1, "target", 7), r"samples\[1\]: target"),
        (_set("samples", 1, "messages", 0, "role", "king"), r"messages\[0\]\.role"),
        (_set("samples", {}), r"samples must be a list"),
        (_set("version", 1), r"version 1 of the format is not supported, only 2\. Convert it"),
        (_set("version", 3), r"version 3 of the format is not supported, only 2\."),
        (_set("status", "error"), r"the evaluation did not succeed \(status 'error'\)"),
        (_set("eval", {}), r"eval\.created: is required|eval\.task: is required"),
        (_set("results", None), r"the evaluation did not succeed"),
        (_set("results", "scores", []), r"results\.scores is empty"),
        (_set("plan", "config", {"temperature": "warm"}), r"has an unusable setting"),
    ],
)
def test_a_log_that_lies_is_one_message(
    inspect_folder: Path, registry: Registry, tmp_path: Path, change: Change, message: str
) -> None:
    log = _unpacked(next(inspect_folder.glob("*quiz.eval")))
    for sample in log["samples"]:
        sample["events"] = []
    change(log)
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    with pytest.raises(DataError, match=message) as raised:
        read_inspect(file, "s", registry)
    assert str(raised.value).startswith(f"{file}: ")
    assert "\n" not in str(raised.value)


def _archive(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def _members(inspect_folder: Path) -> dict[str, bytes]:
    log = _unpacked(next(inspect_folder.glob("*quiz.eval")))
    samples = log.pop("samples")
    named = {f"samples/{one['id']}_epoch_1.json": json.dumps(one).encode() for one in samples}
    return {"header.json": json.dumps(log).encode(), **named}


def test_archives_that_are_not_compressed_with_zstandard(
    inspect_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    theirs = read_inspect(next(inspect_folder.glob("*quiz.eval")), "s", registry)
    ours = read_inspect(_archive(tmp_path / "a.eval", _members(inspect_folder)), "s", registry)
    assert ours.examples == theirs.examples


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"samples/../../etc/x.json": b"{}"}, r"contains 'samples/\.\./\.\./etc/x\.json', which leads out"),
        ({"/samples/x.json": b"{}"}, r"which leads out"),
        ({"samples/bomb.json": b" " * (80 << 20)}, r"samples/bomb\.json expands to more than 100 times its size"),
        ({"samples/x.json": b"{"}, r"samples/x\.json"),
        ({"samples/x.json": b"[" * 100_000}, r"samples/x\.json"),
        ({"header.json": b"{}"}, r"header\.json: version: is required"),
        ({"header.json": b"[]"}, r"header\.json"),
    ],
)
def test_archives_that_are_hostile(
    inspect_folder: Path, registry: Registry, tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    file = _archive(tmp_path / "a.eval", {**_members(inspect_folder), **members})
    with pytest.raises(DataError, match=message) as raised:
        read_inspect(file, "s", registry)
    assert str(raised.value).startswith(f"{file}: ")


def _with_attachment(inspect_folder: Path, length: int, references: int) -> dict[str, bytes]:
    """The files of a log whose first sample refers to a long text again and again."""
    members = _members(inspect_folder)
    name = next(name for name in members if name.startswith("samples/"))
    sample = json.loads(members[name])
    sample["attachments"] = {"a": "x" * length}
    sample["metadata"] = {"texts": ["attachment://a"] * references}
    return {**members, name: json.dumps(sample).encode()}


def test_attachments_that_expand_too_much_are_refused(
    inspect_folder: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = _with_attachment(inspect_folder, 1_000_000, 60)
    file = _archive(tmp_path / "a.eval", members)
    (first, *_) = read_inspect(file, "s", registry).examples
    assert [len(text) for text in first.example.instance.meta["texts"]] == [1_000_000] * 60
    bomb = _archive(tmp_path / "b.eval", _with_attachment(inspect_folder, 1_000_000, 300))
    with pytest.raises(DataError, match=r"samples/.* with its attachments expands to more than 100 times its size"):
        read_inspect(bomb, "s", registry)
    as_json = tmp_path / "log.json"
    as_json.write_text(json.dumps(_unpacked(file)))
    assert read_inspect(as_json, "s", registry).examples[0] == first
    monkeypatch.setattr("harness.imports.inspect_log._FREE_TOTAL", 50_000_000)  # for the log as a whole
    with pytest.raises(DataError, match="with its attachments expands"):
        read_inspect(file, "s", registry)


def test_the_list_of_an_archives_files_is_not_read_for_each_sample(
    inspect_folder: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = _members(inspect_folder)
    sample = json.loads(next(content for name, content in members.items() if name.startswith("samples/")))
    samples = {f"samples/{id}.json": json.dumps({**sample, "id": f"q{id}"}).encode() for id in range(40)}
    file = _archive(tmp_path / "a.eval", {"header.json": members["header.json"], **samples})
    opened = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            opened.append(arguments)
            super().__init__(*arguments, **named)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    _, read = read_log(file)
    assert len(list(read)) == 40
    assert len(opened) <= 2


def test_logs_that_are_too_long_are_refused(
    inspect_folder: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(_unpacked(next(inspect_folder.glob("*quiz.eval")))))
    assert read_inspect(log, "s", registry).examples
    with log.open("ab") as opened:
        opened.truncate(LONGEST_FILE + 1)  # takes no space on the disk
    monkeypatch.setattr("harness.imports.foreign_files.LONGEST_FILE", 1 << 20)
    with pytest.raises(DataError, match=r"longer than 1 MiB, .* Convert it: inspect log convert --to eval"):
        read_inspect(log, "s", registry)
    members = {**_members(inspect_folder), "samples/long.json": b'"' + bytes(range(48, 58)) * 200_000 + b'"'}
    monkeypatch.setattr("harness.imports.inspect_log.LONGEST_FILE", 1 << 20)
    with pytest.raises(DataError, match=r"samples/long\.json is longer than 1 MiB, the most that is read at once"):
        read_inspect(_archive(tmp_path / "a.eval", members), "s", registry)


def test_logs_that_are_pipes_are_refused(registry: Registry, tmp_path: Path) -> None:
    for name in ("log.json", "log.eval"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataError, match="not a regular file"):
            read_inspect(tmp_path / name, "s", registry)
    with pytest.raises(DataError, match=r"there is no \.eval file"):
        inspect_logs(tmp_path)


def test_archives_that_are_not_whole(inspect_folder: Path, registry: Registry, tmp_path: Path) -> None:
    (real,) = inspect_folder.glob("*quiz.eval")
    content = real.read_bytes()
    file = tmp_path / "a.eval"
    file.write_bytes(content[:-200])
    with pytest.raises(DataError, match="damaged or cut short"):
        read_inspect(file, "s", registry)
    started = {"_journal/start.json": b"{}"}
    with pytest.raises(DataError, match=r"did not finish: the log has no header\.json"):
        read_inspect(_archive(tmp_path / "b.eval", started), "s", registry)
    with pytest.raises(DataError, match=r"is not a log of inspect_ai \(it has no header\.json\)"):
        read_inspect(_archive(tmp_path / "c.eval", {"x": b""}), "s", registry)
    with pytest.raises(DataError, match=r"there is no \.eval file"):
        inspect_logs(tmp_path / "nothing")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_is_read_as_it_was_or_refused(
    inspect_folder: Path, registry: Registry, tmp_path: Path, data: st.DataObject
) -> None:
    (real,) = inspect_folder.glob("*quiz.eval")
    content = bytearray(real.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file = tmp_path / "flipped.eval"
    file.write_bytes(content)
    try:
        found = read_inspect(file, "s", registry)
    except DataError:
        return
    assert found.stats == read_inspect(real, "s", registry).stats


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(data=st.data())
def test_whatever_a_log_holds_is_read_or_refused(
    inspect_folder: Path, registry: Registry, tmp_path: Path, data: st.DataObject
) -> None:
    log = _unpacked(next(inspect_folder.glob("*quiz.eval")))
    inside: Any = log
    while isinstance(inside, dict | list) and inside:
        key = data.draw(st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside))))
        if data.draw(st.booleans()) or not isinstance(inside[key], dict | list) or not inside[key]:
            inside[key] = data.draw(JSON)
            break
        inside = inside[key]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    with contextlib.suppress(DataError):
        write_imported(tmp_path / "results", read_inspect(file, "s", registry))


def test_without_the_library_for_zstandard_the_command_to_install_it_is_named(
    inspect_folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"is compressed with Zstandard, which needs a library: pip install"):
        read_inspect(next(inspect_folder.glob("*quiz.eval")), "s", registry)

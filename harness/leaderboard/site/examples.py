"""A run's examples in pieces that pages load one at a time, an index to find them, and the line of each in a table.

The lines of ``examples.jsonl.gz`` are JSON and go into the pieces unchanged. The index holds a few numbers for each
example, so that 100,000 examples can be sorted and filtered without loading them. What a table shows of an example as
text is cut to a line and kept in pieces of its own, which are much smaller.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from harness.contracts import Instance, Reference
from harness.contracts.adapters import LETTERS_JOINED_BY
from harness.errors import DataError
from harness.leaderboard.paired_scores import Answers, AnswersByTrial
from harness.leaderboard.site.addresses import instance_key
from harness.leaderboard.site.files import SiteFolder, data_file, data_script
from harness.storage.example_files import EXAMPLES_FILE, example_lines
from harness.storage.instance_scores import cluster_number
from harness.storage.instance_scores import instance_key as scores_key
from harness.storage.results import RunRecord

PIECE_EXAMPLES = 200
PIECE_BYTES = 400_000
"""A piece ends after this many examples, or as soon as it has this many bytes."""

LINES = 5_000
"""Examples whose lines are in one file."""

INPUT_CHARACTERS = 160
"""Characters of an input's end in its line."""

ANSWER_CHARACTERS = 100
"""Characters of the expected and of the given answer in a line: of long ones the end, where conclusions are."""

META_VALUES = 50
"""Meta data with more different values than this are not offered as a filter."""

FLAGS = ("failed", "unread", "declined", "unfinished", "truncated")
"""What can be said of single examples: without a score, no answer read, declined, unfinished reasoning, input cut."""


@dataclass(slots=True)
class _Index:
    """Columns with a value for each example, in the file's order.

    Where no example has a score, as a metric of whole runs gives it, that of its instance is taken from the record.
    """

    keys: list[str] = field(default_factory=list)  # of each instance in a trial
    # of each key a digest of input and references; None without an original of the evaluated split
    asked: list[int | None] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)  # of each key, if the run has clusters
    perturbations: list[str | None] = field(default_factory=list)
    instance: list[int] = field(default_factory=list)  # position in keys
    perturbation: list[int] = field(default_factory=list)  # position in perturbations
    sample: list[int] = field(default_factory=list)  # from 0; empty with one sample
    score: list[float | None] = field(default_factory=list)
    answer: list[int] = field(default_factory=list)  # equal for equal predictions
    tokens: list[int | None] = field(default_factory=list)  # generated or scored
    flags: dict[str, list[int]] = field(default_factory=lambda: {flag: [] for flag in FLAGS})  # positions of examples
    # by name of a scalar: its values, and of each key the position of its value
    meta: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    chance: float | None = None  # share of correct options, where each example chooses one
    starts: list[int] = field(default_factory=list)  # first example of each piece
    _known: dict[str, int] = field(default_factory=dict)
    _chances: list[float] | None = field(default_factory=list)
    _recorded: Mapping[bytes, float] = field(default_factory=dict)  # the record's scores of instances
    _given: dict[str, float] = field(default_factory=dict)  # of these, by the instance's part of its key

    def add(self, value: Mapping[str, Any], metric: str, split: str, cluster: str) -> None:
        key = instance_key(value["id"], value.get("trial", 0))
        meta = value.get("meta", {})
        if key not in self._known:
            self._known[key] = len(self.keys)
            self.keys.append(key)
            self.asked.append(None)
            self._add_meta(meta)
            if cluster:
                self.clusters.append(cluster_number(value["id"], meta, cluster))
        perturbation = value.get("perturbation")
        if perturbation is None and value["split"] == split:
            texts = [value["input"], [[one["text"], one.get("correct", False)] for one in value.get("references", ())]]
            self.asked[self._known[key]] = zlib.crc32(json.dumps(texts).encode())
            self._add_chance(value)
            self._add_given(key, value, metric)
        if perturbation not in self.perturbations:
            self.perturbations.append(perturbation)
        score = value.get("scores", {}).get(metric)
        for flag, has in zip(FLAGS, _flags(value), strict=True):
            if has:
                self.flags[flag].append(len(self.instance))
        if value.get("sample") and not self.sample:
            self.sample = [0] * len(self.instance)
        if self.sample or value.get("sample"):
            self.sample.append(value.get("sample", 0))
        self.instance.append(self._known[key])
        self.perturbation.append(self.perturbations.index(perturbation))
        self.score.append(score if score is None else float(score))
        self.answer.append(zlib.crc32(str(value.get("prediction", "")).encode("utf-8", "surrogatepass")))
        self.tokens.append(_tokens(value.get("responses", ())))

    def as_json(self) -> dict[str, Any]:
        if self._chances:
            self.chance = sum(self._chances) / len(self._chances)
        if self._given:
            original = self.perturbations.index(None)
            self.score = [
                self._given.get(self.keys[at].partition(".")[0])
                if perturbation == original and self.asked[at] is not None
                else None
                for at, perturbation in zip(self.instance, self.perturbation, strict=True)
            ]
        # Of meta data that differ in all instances, such as numbers of lines, none is a group.
        self.meta = {name: found for name, found in self.meta.items() if 1 < len(found["values"]) <= META_VALUES}
        columns = {each.name: getattr(self, each.name) for each in fields(self) if not each.name.startswith("_")}
        return {"count": len(self.instance), **columns}

    def _add_meta(self, meta: Mapping[str, Any]) -> None:
        at = len(self.keys) - 1
        for name in dict.fromkeys([*self.meta, *meta]):
            given = meta.get(name)
            text = str(given)[:ANSWER_CHARACTERS] if isinstance(given, str | int | float) else None
            if name not in self.meta:
                if text is None:
                    continue
                self.meta[name] = {"values": [], "of": [-1] * at}
            found = self.meta[name]
            if text is not None and len(found["values"]) <= META_VALUES and text not in found["values"]:
                found["values"].append(text)
            found["of"].append(found["values"].index(text) if text in found["values"] else -1)

    def _add_given(self, key: str, value: Mapping[str, Any], metric: str) -> None:
        if self._recorded and metric in value.get("scores", {}):
            self._recorded = {}
            self._given.clear()
        elif self._recorded:
            references = (Reference(one["text"], one.get("correct", False)) for one in value.get("references", ()))
            score = self._recorded.get(scores_key(Instance(value["id"], value["input"], tuple(references))))
            if score is not None:
                self._given[key.partition(".")[0]] = score

    def _add_chance(self, value: Mapping[str, Any]) -> None:
        references = value.get("references", ())
        chooses = value.get("labels") or value.get("choice_scores") is not None
        if self._chances is None or not chooses or value.get("choices") is not None or len(references) < 2:
            self._chances = None
        else:
            self._chances.append(sum(bool(one.get("correct")) for one in references) / len(references))


def write_examples(run: RunRecord, address: str, folder: SiteFolder) -> list[Path]:
    """Write the pieces, the lines and the index of a run's examples; return their files.

    Raises:
        DataError: The examples are missing, damaged, or not those that the record describes.
    """
    recorded = run.instance_scores.by_key() if run.instance_scores is not None else {}
    index, lines = _Index(_recorded=recorded), _Lines(run, f"runs/{address}/lines", folder)
    files = []
    for number, piece in enumerate(_pieces(run, index, lines)):
        key = f"runs/{address}/{number}"
        files.append(folder.write(data_file(key), data_script(key, f"[{','.join(piece)}]")))
    files += lines.finish()
    files.append(folder.put(f"runs/{address}/index", {**index.as_json(), "lines": LINES}))
    return files


def answers_of(index: Mapping[str, Any]) -> Answers:
    """Return the scores in an index, for comparisons: those of unperturbed instances of the evaluated split."""
    collected = AnswersByTrial()
    for place, perturbation, score in zip(index["instance"], index["perturbation"], index["score"], strict=True):
        digest = index["asked"][place]
        if index["perturbations"][perturbation] is None and digest is not None:
            name, _, trial = index["keys"][place].partition(".")
            collected.add(name, int(trial or 0), score, digest)
    return collected.answers()


def clusters_of(index: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the clusters of the instances in an index; none if they are independent."""
    return {key.partition(".")[0]: number for key, number in zip(index["keys"], index["clusters"], strict=False)}


class _Lines:
    """What a table shows of each example as text, in files of :data:`LINES` examples."""

    def __init__(self, run: RunRecord, key: str, folder: SiteFolder) -> None:
        self._metric, self._key, self._folder = run.spec.main_metric, key, folder
        self._files: list[Path] = []
        self._empty()

    def add(self, value: Mapping[str, Any]) -> None:
        self._columns["id"].append(value["id"])
        self._columns["input"].append(_end(value["input"], INPUT_CHARACTERS))
        self._columns["expected"].append(_end(expected(value), ANSWER_CHARACTERS))
        given = given_answer(value, self._metric)
        self._columns["answer"].append(None if given is None else _end(given, ANSWER_CHARACTERS))
        if len(self._columns["id"]) == LINES:
            self._write()

    def finish(self) -> list[Path]:
        """Write what is left; return all files."""
        if self._columns["id"]:
            self._write()
        return self._files

    def _write(self) -> None:
        self._files.append(self._folder.put(f"{self._key}/{len(self._files)}", self._columns))
        self._empty()

    def _empty(self) -> None:
        self._columns: dict[str, list[str | None]] = {"id": [], "input": [], "expected": [], "answer": []}


def expected(value: Mapping[str, Any]) -> str:
    """Return the correct references of an example as JSON, with their letters."""
    labels = value.get("labels", ())
    correct = [
        f"{labels[at]}. {one['text']}" if at < len(labels) else one["text"]
        for at, one in enumerate(value.get("references", ()))
        if one.get("correct")
    ]
    return " / ".join(correct)


def given_answer(value: Mapping[str, Any], metric: str) -> str | None:
    """Return the answer that a metric scored of an example as JSON, with its letter; None if none could be read.

    Args:
        value: The example.
        metric: The metric; one of a further reading ends in the reading's name: ``exact_match (flexible)``.
    """
    for name, read in value.get("readings", {}).items():
        if metric.endswith(f" ({name})"):
            return None if read is None else str(read)
    if value.get("unread"):
        return None
    labels, choice, choices = value.get("labels", ()), value.get("choice"), value.get("choices")
    if choices is not None:
        return LETTERS_JOINED_BY.join(labels[at] if at < len(labels) else str(at + 1) for at in choices)
    prediction = str(value.get("prediction", ""))
    if choice is not None and choice < len(labels):
        return f"{labels[choice]}. {prediction}"
    if not prediction:
        calls = _last_completion(value).get("tool_calls", ())
        return ", ".join(f"{call['name']}(…)" for call in calls)
    return prediction


def _last_completion(value: Mapping[str, Any]) -> Mapping[str, Any]:
    responses = value.get("responses") or [{}]
    completions = responses[-1].get("completions") or [{}]
    return dict(completions[0])


def _tokens(responses: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the number of tokens generated or scored; None if unknown."""
    found = [one["completion_tokens"] for one in responses if one.get("completion_tokens") is not None]
    found = found or [
        completion["tokens"]
        for one in responses
        for completion in one.get("completions", ())
        if completion.get("tokens") is not None
    ]
    return sum(found) if found else None


def _flags(value: Mapping[str, Any]) -> tuple[bool, ...]:
    keys = ("unread", "declined", "unfinished_reasoning", "truncated")
    return (value.get("error") is not None, *(bool(value.get(key)) for key in keys))


def _end(text: str, most: int) -> str:
    line = " ".join(text[-8 * most :].split())
    return line if len(line) <= most and len(text) <= 8 * most else f"…{line[1 - most :]}"


def _pieces(run: RunRecord, index: _Index, table: _Lines) -> Iterator[list[str]]:
    lines: list[str] = []
    size = 0
    try:
        for raw in example_lines(run):
            if not lines:
                index.starts.append(len(index.instance))
            line = raw.decode("utf-8").strip()
            value = json.loads(line)
            index.add(value, run.spec.main_metric, run.spec.eval_split.value, run.spec.cluster)
            table.add(value)
            lines.append(line)
            size += len(line)
            if len(lines) >= PIECE_EXAMPLES or size >= PIECE_BYTES:
                yield lines
                lines, size = [], 0
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError) as error:
        file = run.directory / EXAMPLES_FILE
        raise DataError(f"not an example ({error}).", file=file, row=len(index.instance) + 1) from error
    if lines:
        yield lines

"""Predictions made elsewhere: one JSON object per line, found by the instance that each request comes from."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import product
from pathlib import Path
from typing import Any

from harness import (
    Completion,
    DataError,
    GenerateRequest,
    Model,
    ModelError,
    Origin,
    Request,
    Response,
    ScoreRequest,
    StrictJsonError,
    backend,
    parse_json,
)
from harness.backends import DAMAGE, DECLINES, FINISH_REASONS, Determinism, FinishReason, open_file

_GROUP_KEYS: tuple[tuple[str, Any, str], ...] = (
    ("id", str, "the instance's id, a string"),
    ("scenario", str | None, "a scenario's name"),
    ("perturbation", str | None, "a perturbation's name"),
    ("trial", int | None, "a whole number"),
)
KEYS = (
    *(key for key, _, _ in _GROUP_KEYS),
    *("text", "turns", "completions", "finish_reason", "reasoning", "logprob"),
    *("choice_logprobs", "calibration_logprobs"),
)

_WITHOUT_TEXT = (*DECLINES, "unfinished_reasoning")
"""Finish reasons with which a text can be left out."""

_MAX_LINE = 64 << 20  # characters


@backend("replay", source="This harness; the format is described in the class's documentation.")
class ReplayModel(Model):
    """Predictions from a JSON-lines file, for models that ran elsewhere: ``replay:predictions.jsonl``.

    Each line is an object with these keys; the file may be gzipped (``.gz``).

    - ``id``: the instance's id.
    - ``scenario``: the scenario's name, or with parameters ``mmlu:subject=anatomy``. Ids are unique within a scenario
      only, so a file for several needs it; lines without it serve the first scenario that asks, and no other.
    - ``perturbation``: the name of the perturbation that the prediction is about; absent for the original.
    - ``trial``: the train trial, from 0; absent if the prediction holds for every trial.
    - ``text``: the model's answer, without the stop string. It is used as it is; for multiple choice by letter it is
      the letter.
    - ``turns``: for a conversation in several turns, the model's answer to each turn, as a list of texts.
    - ``completions``: several texts instead of one, each a string or ``{"text": …, "logprob": …, "finish_reason": …,
      "reasoning": …}``.
    - ``finish_reason``: why the text ends: ``stop``, ``length``, or why there is no answer, ``refusal``,
      ``content_filter`` or ``tool_call``; then ``text`` may be left out, and the example is counted as declined. With
      ``unfinished_reasoning``, the model ran out of tokens while it was still reasoning; the text is then left out.
    - ``reasoning``: what the model thought before the text. Without it, a text that begins with marks such as
      ``<think>…</think>`` is split at them; the model's entry can name others, ``reasoning: {open: …, close: …}``.
    - ``logprob``: natural log-probability of ``text``; for language modelling, that of the instance's input.
    - ``choice_logprobs``: natural log-likelihood of each reference, in the references' order.
    - ``calibration_logprobs``: the same without the question, for calibrated multiple choice.

    In ``logprob``, ``choice_logprobs`` and ``calibration_logprobs``, a list of the log-probabilities of single tokens
    can replace a number. A number is a sum, and is used as if the text were one token. That matters where tokens are
    counted: in the mean per token by which ``multiple_choice_separate_original`` chooses, and in ``perplexity``; give
    lists there.

    Args:
        identifier: The file.
        chat: True if the predictions are answers to conversations; methods that ask conversations need it.
    """

    answers = frozenset({"generate", "score"})
    honours = frozenset({"reasoning"})  # what is in the file was sampled and prompted elsewhere
    cacheable = False

    def __init__(self, identifier: str, *, chat: bool = False) -> None:
        self._path = Path(os.path.expanduser(identifier))
        self._chat = chat
        if self._path.exists() and not self._path.is_file():
            raise ModelError(f"replay:{identifier} is not a file; predictions are read from a file.")
        if not self._path.is_file():
            raise ModelError(
                f"replay:{identifier}: there is no such file. Write one prediction per line, "
                'for example {"id": "test-0", "text": "Yes"}.'
            )
        self._predictions: _Predictions | None = None
        self._served: str | None = None

    @property
    def chat(self) -> bool:
        return self._chat

    @property
    def tools(self) -> bool:
        return self._chat

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "chat" in asks and not self._chat:
            return f"replay:{self._path}: set chat: true if the predictions are answers to conversations."
        return None

    @property
    def determinism(self) -> Determinism:
        return Determinism.EXACT

    def fingerprint(self) -> Mapping[str, Any]:
        with self._path.open("rb") as file:
            return {"backend": "replay", "sha256": hashlib.file_digest(file, "sha256").hexdigest()}

    def description(self) -> Mapping[str, Any]:
        return {"modality": "text", "file": str(self._path)}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        if self._predictions is None:
            self._predictions = _read(self._path)
        for index, request in enumerate(requests):
            yield index, self._respond(request, self._predictions)

    def _respond(self, request: Request, known: _Predictions) -> Response:
        origin = request.origin
        if origin is None:
            return Response(error="a replayed prediction is found by its instance, and this request names none.")
        found = self._find(origin, known)
        if isinstance(found, Response):
            return found
        prediction = _Prediction((_Said(found),)) if isinstance(found, str) else found
        if isinstance(request, GenerateRequest):
            return self._completions(prediction, request, origin)
        if isinstance(request, ScoreRequest):
            return self._score(prediction, origin)
        return Response(error="replayed predictions hold no log-probabilities of sequences in another order.")

    def _find(self, origin: Origin, known: _Predictions) -> _Prediction | str | Response:
        """Return the prediction for an instance, or the response if there is none."""
        scenarios = (origin.scenario, origin.scenario.partition(":")[0], None)
        for scenario, trial in product(scenarios, (origin.trial, None)):
            found = known.get((scenario, origin.perturbation, trial), {}).get(origin.instance)
            if found is None:
                continue
            if scenario is None and self._served is None:
                self._served = origin.scenario
            if scenario is None and self._served != origin.scenario:
                return Response(
                    error=f"{self._path} has a prediction for id {origin.instance!r} that names no scenario; such "
                    f"lines were used for {self._served}. "
                    f'Add "scenario": "{origin.scenario}" to the lines that are for it.'
                )
            return found
        return self._missing(origin, "prediction")

    def _completions(self, prediction: _Prediction, request: GenerateRequest, origin: Origin) -> Response:
        if prediction.turns or origin.turn:
            if origin.turn >= len(prediction.turns):
                return self._missing(origin, f"turns[{origin.turn}]")
            return Response((Completion(prediction.turns[origin.turn], finish_reason="unknown"),) * request.completions)
        have = len(prediction.completions)
        if not have:
            return self._missing(origin, "text")
        if have < request.completions:
            return self._missing(origin, f"{request.completions} completions (it has {have})")
        return Response(
            completions=tuple(
                Completion(
                    said.text,
                    None if said.logprob is None else math.fsum(said.logprob),
                    finish_reason=said.reason,
                    reasoning=said.reasoning,
                )
                for said in prediction.completions[: request.completions]
            )
        )

    def _score(self, prediction: _Prediction, origin: Origin) -> Response:
        if origin.role not in {"original", "calibration"}:
            return Response(error=f"replayed predictions hold no log-probabilities for {origin.role!r} questions.")
        calibration = origin.role == "calibration"
        key = "calibration_logprobs" if calibration else "choice_logprobs"
        known: Sequence[_Tokens | None] = prediction.calibration if calibration else prediction.choices
        index = origin.reference
        if index is None:
            key, known, index = "logprob", (prediction.logprob,), 0
        tokens = known[index] if index < len(known) else None
        if tokens is None:
            return self._missing(origin, key if origin.reference is None else f"{key}[{index}]")
        return Response(logprobs=tokens)

    def _missing(self, origin: Origin, what: str) -> Response:
        perturbed = f", perturbation {origin.perturbation!r}" if origin.perturbation else ""
        of = f" of {origin.scenario}" if origin.scenario else ""
        where = f"id {origin.instance!r}{of}{perturbed}, trial {origin.trial}"
        return Response(error=f"{self._path} has no {what} for {where}.")


_Tokens = tuple[float, ...]
"""Log-probabilities of a text's tokens; of one token where only their sum is known."""


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    logprob: _Tokens | None = None
    reason: FinishReason = "unknown"
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class _Prediction:
    completions: tuple[_Said, ...] = ()
    turns: tuple[str, ...] = ()
    logprob: _Tokens | None = None
    choices: tuple[_Tokens, ...] = ()
    calibration: tuple[_Tokens, ...] = ()


_Group = tuple[str | None, str | None, int | None]
"""Scenario, perturbation and trial, as far as a line names them."""

_Predictions = dict[_Group, dict[str, _Prediction | str]]


def _read(path: Path) -> _Predictions:
    found: _Predictions = {}
    try:
        with open_file(path) as content, TextIOWrapper(content, encoding="utf-8-sig") as file:
            for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), ""), start=1):
                if len(line) > _MAX_LINE:
                    raise ModelError(f"{path}:{number}: has a line of more than {_MAX_LINE >> 20} MiB.")
                if line.isspace():
                    continue
                try:
                    identifier, group, prediction = _parse(line)
                except ValueError as error:
                    raise ModelError(f"{path}:{number}: {error}") from None
                predictions = found.setdefault(group, {})
                if identifier in predictions:
                    raise ModelError(
                        f"{path}:{number}: id {identifier!r} appears twice. Each instance has one line; "
                        "give perturbed copies a 'perturbation', repeated trials a 'trial', and lines for different "
                        "scenarios a 'scenario'."
                    )
                predictions[identifier] = prediction
    except (*DAMAGE, DataError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read as UTF-8 text: {error}") from None
    return found


def _parse(line: str) -> tuple[str, _Group, _Prediction | str]:
    try:
        value = parse_json(line)
    except StrictJsonError as error:
        column = f" (column {error.column})" if error.column else ""
        raise ValueError(f"{error}{column}. Each line must be one JSON object.") from None
    if not isinstance(value, dict):
        raise ValueError(f'must be an object like {{"id": …, "text": …}}, not {_shown(value)}.')
    for key in value:
        if key not in KEYS:
            raise ValueError(f"{key!r} is not a key of a prediction. Known: {', '.join(KEYS)}.")
    for key, kind, what in _GROUP_KEYS:
        if not isinstance(value.get(key), kind) or isinstance(value.get(key), bool):
            raise ValueError(f"{key!r} must be {what}, not {_shown(value.get(key))}.")
    identifier, group = value["id"], (value.get("scenario"), value.get("perturbation"), value.get("trial"))
    text = value.get("text")
    if isinstance(text, str) and not value.keys() - {"id", "scenario", "perturbation", "trial", "text"}:
        return identifier, group, text  # takes less memory than an object
    return identifier, group, _prediction(value)


def _prediction(value: Mapping[str, Any]) -> _Prediction:
    if "text" in value and "completions" in value:
        raise ValueError("has both 'text' and 'completions'; the first completion is the text.")
    reason = _reason(value)
    if "turns" in value:
        return _turns(value)
    if not value.keys() & {"text", "completions", "logprob", "choice_logprobs"} and reason not in _WITHOUT_TEXT:
        raise ValueError("has no 'text', 'completions', 'logprob' or 'choice_logprobs'; one of them is required.")
    if "completions" in value:
        if not isinstance(value["completions"], list) or not value["completions"]:
            raise ValueError("'completions' must be a list with at least one text.")
        for key in ("finish_reason", "logprob", "reasoning"):
            if key in value:
                raise ValueError(f"has 'completions' and {key!r}; write the {key!r} into each completion.")
        completions = tuple(map(_completion, value["completions"]))
        logprob = completions[0].logprob
    else:
        text = value.get("text", "" if reason in _WITHOUT_TEXT else None)
        if "text" in value and not isinstance(text, str):
            raise ValueError(f"'text' must be a string, not {_shown(text)}.")
        logprob = None if value.get("logprob") is None else _logprob(value["logprob"], "logprob")
        completions = () if text is None else (_said(text, logprob, reason, value),)
    choices, calibration = _logprobs(value, "choice_logprobs"), _logprobs(value, "calibration_logprobs")
    return _Prediction(completions, logprob=logprob, choices=choices, calibration=calibration)


def _turns(value: Mapping[str, Any]) -> _Prediction:
    turns = value["turns"]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise ValueError(f"'turns' must be a list of texts, not {_shown(turns)}.")
    if others := sorted(value.keys() - {"turns", *(key for key, _, _ in _GROUP_KEYS)}):
        raise ValueError(f"has both 'turns' and {others[0]!r}; remove {others[0]!r}.")
    return _Prediction(turns=tuple(turns))


def _completion(item: Any) -> _Said:
    if isinstance(item, str):
        return _Said(item)
    known = {"text", "logprob", "finish_reason", "reasoning"}
    if not isinstance(item, dict) or not isinstance(item.get("text"), str) or item.keys() - known:
        raise ValueError(
            'a completion must be a string or {"text": …, "logprob": …, "finish_reason": …, "reasoning": …}, not '
            f"{_shown(item)}."
        )
    logprob = item.get("logprob")
    return _said(item["text"], None if logprob is None else _logprob(logprob, "logprob"), _reason(item), item)


def _said(text: str, logprob: _Tokens | None, reason: FinishReason, value: Mapping[str, Any]) -> _Said:
    reasoning = value.get("reasoning", "")
    if not isinstance(reasoning, str):
        raise ValueError(f"'reasoning' must be a string, not {_shown(reasoning)}.")
    if text and reason == "unfinished_reasoning":
        raise ValueError("'finish_reason' says that the reasoning did not end, so there can be no 'text'.")
    return _Said(text, logprob, reason, reasoning)


def _reason(value: Mapping[str, Any]) -> FinishReason:
    written = value.get("finish_reason", "unknown")
    reason = next((known for known in FINISH_REASONS if known == written), None)
    if reason is None:
        raise ValueError(f"'finish_reason' must be one of {', '.join(FINISH_REASONS)}, not {_shown(written)}.")
    return reason


def _logprobs(value: Mapping[str, Any], key: str) -> tuple[_Tokens, ...]:
    found = value.get(key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise ValueError(f"{key!r} must be a list with one number for each reference, not {_shown(found)}.")
    logprobs = tuple(_logprob(item, key) for item in found)
    if len(logprobs) > 1 and not any(token for tokens in logprobs for token in tokens):
        raise ValueError(f"{key!r} are all 0, which gives every reference a probability of 1; no model does that.")
    return logprobs


def _logprob(value: Any, key: str) -> _Tokens:
    """Return the log-probabilities of single tokens, or their sum as that of one token."""
    tokens = value if isinstance(value, list) else [value]
    if not tokens:
        raise ValueError(f"{key!r} has an empty list instead of log-probabilities of tokens.")
    for token in tokens:
        if isinstance(token, bool) or not isinstance(token, int | float) or math.isnan(token) or token > 0:
            raise ValueError(f"{key!r} must be a natural log-probability, at most 0, not {_shown(token)}.")
    return tuple(map(float, tokens))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"

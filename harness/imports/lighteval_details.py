"""Examples from lighteval's details, one Parquet file for each task with the columns doc, metric and model_response."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.contracts import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Message,
    Origin,
    Prompt,
    Reference,
    Request,
    Response,
    ScoreRequest,
    Split,
)
from harness.errors import DataError
from harness.imports.foreign_files import understood
from harness.imports.imported_run import Scored
from harness.imports.own_answers import KEY, with_own_answer
from harness.installation import install_advice

PREFIX = "lighteval."
DETAILS = "a details file of lighteval"

# The main metric of a task: the first of these that it has.
MAIN = ("acc", "em", "extractive_match", "acc_norm", "f1")

_COLUMNS = ("doc", "metric", "model_response")
_ROWS = 500
"""Rows that are read at once."""

_LARGEST_ROW_GROUP = 4 << 30
"""Decompressed bytes; a larger one is a damaged or hostile file."""

Row = Mapping[str, Any]


def read_details(file: Path, task: str, split: Split, temperature: float) -> list[Scored]:
    """Return the examples of a details file; those with the same document are its train trials.

    Args:
        file: The file.
        task: The task, which every row must name.
        split: The evaluated split.
        temperature: The temperature of generation, which only the results file has.

    Raises:
        DataError: The file is damaged, of another version or of another task, or contradicts itself.
    """
    trials: dict[str, int] = {}
    inputs: dict[str, str] = {}
    found = []
    for number, row in enumerate(_rows(file), 1):
        with understood(file, f"{DETAILS}: row {number}"):
            doc = row["doc"]
            if doc.get("task_name") not in (task, None, ""):
                message = f"row {number} is of the task {doc['task_name']}, not of {task} (doc.task_name)."
                raise DataError(message, file=file)
            identifier = str(doc["id"])
            trial = trials[identifier] = trials.get(identifier, -1) + 1
            example = _example(doc, row["model_response"], identifier, trial, split, temperature)
            if inputs.setdefault(identifier, example.instance.input) != example.instance.input:
                message = f"row {number} has the id of another document, {identifier!r} (doc.id)."
                raise DataError(message, file=file)
            scores = _scores(row["metric"])
            found.append(Scored(_without_false_choice(example, doc, scores), scores))
        for name, score in found[-1].scores.items():
            if not math.isfinite(score):
                metric = name.removeprefix(PREFIX)
                raise DataError(f"row {number}: metric.{metric} must be a finite number, not {score}.", file=file)
    return found


def _rows(file: Path) -> Iterator[Row]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"is a Parquet file, which needs a library: {install_advice('exchange')}", file=file) from None
    try:
        with pq.ParquetFile(file) as table:
            missing = [name for name in _COLUMNS if name not in table.schema_arrow.names]
            if missing:
                raise DataError(f"is not {DETAILS} of a supported version (it has no {missing[0]!r}).", file=file)
            groups = [table.metadata.row_group(place) for place in range(table.num_row_groups)]
            if any(group.total_byte_size > _LARGEST_ROW_GROUP for group in groups):
                raise DataError("is too large: a row group expands to more than 4 GiB.", file=file)
            for batch in table.iter_batches(_ROWS, columns=list(_COLUMNS)):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        first = str(error).partition("\n")[0]
        raise DataError(f"is damaged or cut short ({first}).", file=file) from error


def _scores(metric: Mapping[str, Any] | None) -> dict[str, float]:
    numbers = {name: value for name, value in (metric or {}).items() if isinstance(value, bool | int | float)}
    return {f"{PREFIX}{name}": float(value) for name, value in numbers.items()}


def _example(doc: Row, answer: Row, identifier: str, trial: int, split: Split, temperature: float) -> Example:
    scored = "LOGPROBS" in (doc.get("sampling_methods") or ())
    choices = [str(choice) for choice in doc.get("choices") or ()]
    gold = doc.get("gold_index")
    correct = set(gold) if isinstance(gold, list) else {gold}
    origin = Origin(identifier, trial=trial)
    prompt = _prompt(answer.get("input"), str(doc["query"]))
    logprobs = [float(one) for one in answer.get("logprobs") or ()]
    requests: list[Request] = []
    responses: list[Response] = []
    if scored:
        greedy = answer.get("argmax_logits_eq_gold") or [None] * len(logprobs)
        for index, (option, logprob) in enumerate(zip(choices, logprobs, strict=True)):
            requests.append(ScoreRequest(prompt, option, origin=Origin(identifier, trial=trial, reference=index)))
            responses.append(Response(logprobs=(logprob,), greedy=greedy[index]))
        _add_calibration(doc, answer, choices, identifier, trial, requests, responses)
    elif "PERPLEXITY" in (doc.get("sampling_methods") or ()):
        requests.append(ScoreRequest("", str(doc["query"]), origin=origin))
        responses.append(Response(logprobs=tuple(logprobs) or None))
    else:
        requests.append(_generate(doc, prompt, origin, temperature))
        responses.append(_generated(answer, logprobs))
    choice = max(range(len(logprobs)), key=logprobs.__getitem__) if scored and logprobs else None
    texts = [completion.text for completion in responses[0].completions] if responses else []
    example = Example(
        instance=Instance(
            id=identifier,
            input=str(doc.get("original_query") or doc["query"]),
            references=tuple(
                Reference(choice.strip() if scored else choice, index in correct)
                for index, choice in enumerate(choices)
            ),
            split=split,
            meta=_own(doc, "meta") or {},
        ),
        requests=tuple(requests),
        responses=tuple(responses),
        prediction=choices[choice].strip() if choice is not None else texts[0] if texts else "",
        predictions=tuple(texts) if len(texts) > 1 else (),
        choice=choice,
        choice_scores=tuple(logprobs) if scored and logprobs else None,
        trial=trial,
    )
    own = _own(doc)
    if own is None:
        outside = [index for index in correct if isinstance(index, int) and not 0 <= index < len(choices)]
        if choices and outside:
            raise ValueError(f"doc.gold_index is {outside[0]}, but there are {len(choices)} choices")
        return example
    if correct != set(own["correct"]):
        raise ValueError(f"doc.gold_index is {gold}, but doc.specific.{KEY} says {own['correct']}")
    return with_own_answer(example, own)


def _own(doc: Row, key: str = KEY) -> dict[str, Any] | None:
    """Return what this harness wrote of an answer, or of an instance's ``meta``; None if it did not."""
    specific = doc.get("specific")
    if not isinstance(specific, Mapping) or KEY not in specific:
        return None
    return dict(json.loads(specific[key])) if specific.get(key) else None


def _without_false_choice(example: Example, doc: Row, scores: Mapping[str, float]) -> Example:
    """Return an example without a choice that its score contradicts.

    The task may have normalised the log-probabilities, which rows do not say, and so have chosen another option.
    """
    score = next((scores[f"{PREFIX}{name}"] for name in MAIN if f"{PREFIX}{name}" in scores), None)
    if example.choice is None or score not in (0.0, 1.0) or _own(doc) is not None:
        return example
    chose_correctly = example.instance.references[example.choice].correct
    return example if chose_correctly == bool(score) else replace(example, choice=None, prediction="")


def _add_calibration(
    doc: Row, answer: Row, choices: Sequence[str], identifier: str, trial: int,
    requests: list[Request], responses: list[Response],
) -> None:  # fmt: skip
    """Add the scores of the options without the question, if there are any."""
    alone = answer.get("unconditioned_logprobs") or ()
    for index, (choice, logprob) in enumerate(zip(choices, alone, strict=False)):
        origin = Origin(identifier, trial=trial, reference=index, role="calibration")
        requests.append(ScoreRequest(str(doc.get("unconditioned_query") or ""), choice, origin=origin))
        responses.append(Response(logprobs=(float(logprob),)))


def _prompt(written: Any, query: str) -> Prompt:
    """Return the prompt; only some of lighteval's models record it, else it is the question without examples."""
    if isinstance(written, str) and written.startswith('[{"role"'):
        written = json.loads(written)
    if isinstance(written, list):
        return tuple(Message(turn["role"], str(turn["content"])) for turn in written)
    return str(written) if written else query


def _generate(doc: Row, prompt: Prompt, origin: Origin, temperature: float) -> GenerateRequest:
    return GenerateRequest(
        prompt,
        int(doc.get("generation_size") or 0),
        temperature,
        tuple(str(text) for text in doc.get("stop_sequences") or ()),
        int(doc.get("num_samples") or 1),
        origin=origin,
    )


def _generated(answer: Row, logprobs: Sequence[float]) -> Response:
    raw = [str(text) for text in answer.get("text") or ()]
    texts = [str(text) for text in answer.get("text_post_processed") or ()] or raw
    tokens = [len(one) for one in answer.get("output_tokens") or ()]
    reasonings = list(answer.get("reasonings") or ())
    completions = tuple(
        Completion(
            text,
            logprob=logprobs[place] if len(logprobs) == len(texts) else None,
            tokens=tokens[place] if len(tokens) == len(texts) else None,
            reasoning=str(reasonings[place] or "") if len(reasonings) == len(texts) else "",
        )
        for place, text in enumerate(texts)
    )
    read = len(answer.get("input_tokens") or ()) - int(answer.get("padded_tokens_count") or 0)
    return Response(
        completions, prompt_tokens=read if read > 0 else None, completion_tokens=sum(tokens) if tokens else None
    )

"""The examples of a run as rows of a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.contracts import Example, GenerateRequest, Prompt, Request, ScoreRequest
from harness.python.columns import SAMPLES, SCORE, Column, Columns
from harness.storage.encoding import encode_request
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord


def samples_of(record: RunRecord, model: str) -> tuple[list[dict[str, Any]], Columns]:
    """Return a run's rows, one for each example, and their columns, with one for each score.

    Args:
        record: The run.
        model: Its model's name in tables.

    Raises:
        DataError: The file of examples is missing, damaged, or not the one that the record describes.
    """
    about = {"suite": record.suite, "run": record.name, "model": model, "scenario": record.spec.scenario.label}
    rows, scored = list[dict[str, Any]](), dict[str, Column]()
    for example, scores, error in read_examples(record) if record.examples is not None else ():
        rows.append({**about, **_row(example, error), **{f"{SCORE}{name}": value for name, value in scores.items()}})
        scored.update((f"{SCORE}{name}", Column("number", f"Score of {name}.")) for name in scores)
    return rows, {**SAMPLES, **scored}


def _row(example: Example, error: str | None) -> dict[str, Any]:
    instance, responses = example.instance, example.responses
    return {
        "id": instance.id,
        "split": str(instance.split),
        "perturbation": instance.perturbation,
        "trial": example.trial,
        "sample": example.sample,
        "input": instance.input,
        "references": [reference.text for reference in instance.references],
        "correct": [reference.text for reference in instance.correct],
        "meta": json.dumps(dict(instance.meta), ensure_ascii=False) if instance.meta else None,
        "prompt": _prompt(example.requests[0]) if example.requests else None,
        "prediction": example.prediction,
        "completions": [completion.text for response in responses for completion in response.completions],
        "probability": example.probability,
        "truncated": example.truncated,
        "unread": example.unread,
        "declined": example.declined,
        "error": error or next((response.error for response in responses if response.error), None),
        "prompt_tokens": _total(response.prompt_tokens for response in responses),
        "completion_tokens": _total(response.completion_tokens for response in responses),
    }


def _prompt(request: Request) -> str:
    if isinstance(request, GenerateRequest | ScoreRequest):
        asked: Prompt = request.whole_prompt if isinstance(request, GenerateRequest) else request.context
        if isinstance(asked, str):
            return asked
        encoded = encode_request(request)
        return json.dumps(encoded["prompt" if "prompt" in encoded else "context"], ensure_ascii=False)
    return "".join(request.segments[place] for place in request.order)


def _total(counts: Iterator[int | None]) -> int | None:
    """Return the sum of counts; None if one is unknown."""
    known = list(counts)
    return None if None in known or not known else sum(count or 0 for count in known)

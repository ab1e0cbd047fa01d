"""Examples as rows of a table: the input, the prompt, the answer and the scores of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.contracts import Example, GenerateRequest, Prompt, Request, ScoreRequest
from harness.storage.encoding import encode_request
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord

SCORE = "score_"
"""The beginning of the names of columns that hold scores."""


def sample_rows(record: RunRecord) -> Iterator[dict[str, Any]]:
    """Yield a row for each example of a run, as they are read.

    Raises:
        DataError: The file of examples is missing, damaged, or not the one that the record describes.
    """
    for example, scores, error in read_examples(record) if record.examples is not None else ():
        yield {**_row(example, error), **{f"{SCORE}{name}": value for name, value in scores.items()}}


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

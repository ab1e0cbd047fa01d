"""What ``harness export --to inspect`` writes into the metadata of logs, where inspect_ai has no field for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.contracts import Completion, Example, GenerateRequest, Request, Response
from harness.imports.inspect_schema import Header, Sample
from harness.imports.own_answers import KEY, with_own_answer
from harness.installation import DISTRIBUTION
from harness.storage.encoding import decode_request, decode_response

ANSWER = "answer"
"""Key of our own values in a sample's metadata for its references and how its answer was read."""

SCORED = "scored_texts"
"""Key of them for texts whose likelihood was asked for: requests and responses."""


def is_own(header: Header) -> bool:
    """Return True if this harness wrote a log."""
    return (header.eval.metadata or {}).get("program") == DISTRIBUTION


def restored(example: Example, sample: Sample) -> Example:
    """Return an example with what its metadata say beyond a sample's own fields.

    Raises:
        ValueError: They have another form; KeyError and TypeError likewise.
    """
    known = sample.metadata.get(KEY) or {}
    meta = {key: value for key, value in example.instance.meta.items() if key != KEY}
    requests, responses = example.requests, tuple(_with_logprobs(example, sample))
    if SCORED in known:
        requests = tuple(_scored(one) for one in known[SCORED])
        responses = tuple(decode_response(one["response"]) for one in known[SCORED])
    trial = int(known.get("train_trial", 0))
    found = replace(
        example,
        instance=example.instance.replace(meta=meta),
        requests=requests,
        responses=responses,
        trial=trial,
        sample=int(known["sample"]) if trial else example.sample,
        train_instances=tuple(str(one) for one in known.get("train_instances", ())),
    )
    return with_own_answer(found, known[ANSWER]) if ANSWER in known else found


def _scored(value: dict[str, Any]) -> Request:
    return decode_request(value["request"])


def _with_logprobs(example: Example, sample: Sample) -> list[Response]:
    """Return the responses to prompts with the completions' log-probabilities and tokens."""
    known = {choice.message.id: choice.message.metadata for choice in sample.output.choices}
    for event in sample.events:
        output = event.get("output") if event.get("event") == "model" else None
        for choice in (output or {}).get("choices", ()):
            known[choice["message"].get("id")] = choice["message"].get("metadata")
    found = []
    answers = [turn.id for turn in sample.messages if turn.role == "assistant" and turn.source == "generate"]
    for request, response, answer in zip(example.requests, example.responses, answers, strict=False):
        if isinstance(request, GenerateRequest):
            ids = [answer, *(f"{answer}{place}" for place in range(1, len(response.completions)))]
            completions = tuple(
                _completion(one, known.get(identifier) or {})
                for one, identifier in zip(response.completions, ids, strict=True)
            )
            response = replace(response, completions=completions)
        found.append(response)
    return found or list(example.responses)


def _completion(completion: Completion, known: dict[str, Any]) -> Completion:
    logprob = known.get("logprob")
    return replace(
        completion,
        logprob=None if logprob is None else float(logprob),
        tokens=known.get("tokens"),
        top_logprobs=tuple({str(token): float(p) for token, p in one.items()} for one in known.get("top_logprobs", ())),
    )

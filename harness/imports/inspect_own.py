"""What ``harness export --to inspect`` writes into the metadata of logs, where inspect_ai has no field for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.contracts import Completion, Example, GenerateRequest, Request, Response, Split
from harness.contracts.specs import RunSpec
from harness.imports.inspect_schema import Header, Sample
from harness.imports.own_answers import KEY, with_own_answer
from harness.imports.own_spec import check_own_spec, own_spec
from harness.installation import DISTRIBUTION
from harness.storage.encoding import decode_request, decode_response

ANSWER = "answer"
"""Key in a sample's metadata, written by this harness: the references, and how the answer was read."""

SCORED = "scored_texts"
"""Another such key: the requests and responses for texts whose likelihood was asked for."""

ESTIMATE = "estimate"
"""The metric of a score that is not a mean of the samples' scores."""

_SPEC = "eval.metadata.spec"


def is_own(header: Header) -> bool:
    """Return True if this harness wrote a log."""
    return (header.eval.metadata or {}).get("program") == DISTRIBUTION


@dataclass(frozen=True, slots=True)
class OwnLog:
    """What this harness wrote into a log about its run."""

    spec: RunSpec
    """The run's spec."""
    split: Split
    """The split of the log's samples."""
    is_main: bool
    """True if the log is of the run's main task: the unperturbed instances of the evaluated split."""


def own_log(header: Header, suite: str) -> OwnLog | None:
    """Return what this harness wrote into a log about its run, moved to another suite; None for other logs.

    Raises:
        ValueError: It is not what this harness writes, or is of another run.
    """
    known = header.eval.metadata or {}
    if not is_own(header) or "spec" not in known:
        return None
    spec = own_spec(known["spec"], _SPEC, suite)
    backend, colon, identifier = spec.model.name.partition(":")
    solver = header.plan.steps[0].solver if header.plan.steps else None
    check_own_spec(
        _SPEC,
        {
            "eval.task": (header.eval.task, spec.scenario.name),
            "eval.model": (header.eval.model, f"{backend}/{identifier}" if colon else backend),
            "plan.steps[0].solver": (solver, spec.adapter.name),
        },
    )
    split = Split(known.get("split", spec.eval_split))
    return OwnLog(spec, split, is_main=split == spec.eval_split and not known.get("perturbation"))


def restored(example: Example, sample: Sample, split: Split) -> Example:
    """Return an example with what its metadata say beyond a sample's own fields.

    Args:
        example: The example, as a log of other programs would give it.
        sample: The sample.
        split: Its split.

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
        instance=example.instance.replace(meta=meta, split=split),
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

"""Examples as HELM's request states, and their scores as its per-instance stats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.contracts import Completion, Example, GenerateRequest, Prompt, Request, Response, ScoreRequest
from harness.exports.exporter import CannotHoldError
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample
from harness.imports.own_answers import KEY, own_answer

Json = dict[str, Any]

THEIRS = "helm."
"""Begins the names of imported metrics that are not ours; HELM has them without it."""

_REASONS: Mapping[str, str] = {
    "stop": "stop",
    "length": "length",
    "unfinished_reasoning": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
    "tool_call": "tool_calls",
    "unknown": "unknown",
}


def perturbation_of(name: str, categories: Mapping[str, str], computed_on: str = "perturbed") -> Json:
    """Return HELM's description of a perturbation.

    Args:
        name: The perturbation, or a category for the worst over all of its perturbations.
        categories: Their categories by name.
        computed_on: What a statistic compares.
    """
    category = categories.get(name, name)
    return {
        "name": name,
        "robustness": category == "robustness",
        "fairness": category == "fairness",
        "computed_on": computed_on,
    }


def states_of(samples: Sequence[StoredExample], model: str, categories: Mapping[str, str]) -> Iterator[Json]:
    """Yield the request states of an instance in one train trial.

    Args:
        samples: Its examples, by sample; a request state has the completions of all.
        model: The model's name.
        categories: The perturbations' categories by name.

    Raises:
        CannotHoldError: HELM cannot ask this.
    """
    example = samples[0].example
    for place, request in enumerate(example.requests):
        responses = [one.example.responses[place] for one in samples if place < len(one.example.responses)]
        state: Json = {
            "instance": _instance(example, categories),
            "train_trial_index": example.trial,
            "request": _request(request, model, max(1, sum(len(one.completions) for one in responses))),
            "result": _result(request, responses),
            "num_train_instances": len(example.train_instances),
            "prompt_truncated": example.truncated,
            "num_conditioning_tokens": 0,
        }
        origin = request.origin
        reference = _reference(example, request, place)
        if reference is not None:
            state["reference_index"] = reference
            state["request_mode"] = "calibration" if origin is not None and origin.role == "calibration" else "original"
        if example.labels and len(example.labels) == len(example.references):
            texts = [reference.text for reference in example.references]
            state["output_mapping"] = dict(zip(example.labels, texts, strict=True))
        if place == 0:  # HELM has annotations by the annotator's name
            state["annotations"] = {KEY: own_answer([one.example for one in samples])}
        yield state


def _reference(example: Example, request: Request, place: int) -> int | None:
    """Return the index of the reference that a request is about; imported runs may not say it."""
    if request.origin is not None and request.origin.reference is not None:
        return request.origin.reference
    each = isinstance(request, ScoreRequest) and len(example.requests) == len(example.references) > 1
    return place if each else None


def instance_stats(samples: Sequence[StoredExample], categories: Mapping[str, str]) -> Json:
    """Return an instance's scores in one train trial, each the mean over its samples, and its tokens and time."""
    example = samples[0].example
    found: dict[str, list[float]] = {}
    for one in samples:
        for name, score in one.scores.items() if one.error is None else ():
            found.setdefault(name.removeprefix(THEIRS), []).append(score)
    values = {name: math.fsum(scores) / len(scores) for name, scores in found.items()}
    responses = [response for one in samples for response in one.example.responses]
    counts = {
        "num_prompt_tokens": [one.prompt_tokens for one in responses],
        "num_output_tokens": [one.completion_tokens for one in responses],
    }
    for name, numbers in counts.items():
        if numbers and all(number is not None for number in numbers):
            values.setdefault(name, float(sum(number or 0 for number in numbers)))
    if example.choice is not None:
        values.setdefault("predicted_index", float(example.choice))
    if example.probability is not None:
        values.setdefault("max_prob", example.probability)
    about: Json = {"split": str(example.instance.split)}
    changed = _perturbed(example, categories)
    row: Json = {"instance_id": example.instance.id, **changed, "train_trial_index": example.trial}
    return {**row, "stats": [stat({"name": name, **about, **changed}, value) for name, value in values.items()]}


def stat(name: Json, mean: float) -> Json:
    """Return a statistic of one value, as HELM writes it."""
    square = mean * mean
    values = {"count": 1, "sum": mean, "sum_squared": square if math.isfinite(square) else 0.0}
    return {"name": name, **values, "min": mean, "max": mean, "mean": mean, "variance": 0.0, "stddev": 0.0}


def count_left_out(samples: Sequence[StoredExample], report: ExportReport) -> None:
    """Count what request states have no place for."""
    if len(samples) > 1:
        report.leave_out("scores of single samples", sum(len(one.scores) for one in samples))
        report.leave_out("choices of later samples", sum(one.example.choice is not None for one in samples[1:]))
    for one in samples:
        report.leave_out("judges' verdicts", len(one.judgements))
        report.leave_out("errors of metrics", one.error is not None and not any(r.error for r in one.example.responses))
        completions = [found for response in one.example.responses for found in response.completions]
        report.leave_out("likeliest tokens at each position", sum(len(found.top_logprobs) for found in completions))
        report.leave_out("calls of tools", sum(len(found.tool_calls) for found in completions))


def _perturbed(example: Example, categories: Mapping[str, str]) -> Json:
    name = example.instance.perturbation
    return {} if name is None else {"perturbation": perturbation_of(name, categories)}


def _instance(example: Example, categories: Mapping[str, str]) -> Json:
    instance = example.instance
    extra = {key: value for key, value in instance.meta.items() if key != "sub_split"}
    part = instance.meta.get("sub_split")
    return {
        "input": {"text": instance.input},
        "references": [
            {"output": {"text": one.text}, "tags": ["correct"] if one.correct else []} for one in instance.references
        ],
        "split": str(instance.split),
        **({"sub_split": str(part)} if part is not None else {}),
        "id": instance.id,
        **_perturbed(example, categories),
        **({"extra_data": extra} if extra else {}),
    }


def _request(request: Request, model: str, completions: int) -> Json:
    common: Json = {"model_deployment": model, "model": model, "embedding": False, "top_k_per_token": 1}
    common |= {"presence_penalty": 0, "frequency_penalty": 0}
    if isinstance(request, GenerateRequest):
        return {
            **common,
            **_prompt(request.whole_prompt),
            "temperature": request.temperature,
            "num_completions": completions,
            "max_tokens": request.max_tokens,
            "stop_sequences": list(request.stop),
            "echo_prompt": False,
            "top_p": 1 if request.top_p is None else request.top_p,
        }
    if isinstance(request, ScoreRequest):
        if not isinstance(request.context, str):
            raise CannotHoldError("HELM cannot score the end of a conversation.")
        settings: Json = {"temperature": 0, "num_completions": 1, "max_tokens": 0, "stop_sequences": []}
        return {**common, "prompt": request.context + request.continuation, **settings, "echo_prompt": True, "top_p": 1}
    raise CannotHoldError("HELM has no requests for the likelihood of texts in several orders.")


def _prompt(prompt: Prompt) -> Json:
    if isinstance(prompt, str):
        return {"prompt": prompt}
    return {"prompt": "", "messages": [{"role": turn.role, "content": turn.content} for turn in prompt]}


def _result(request: Request, responses: Sequence[Response]) -> Json:
    error = next((one.error for one in responses if one.error is not None), None)
    value: Json = {
        "success": error is None,
        "embedding": [],
        "completions": [_completion(found) for one in responses for found in one.completions],
        "cached": any(one.cached for one in responses),
        "request_time": math.fsum(one.seconds for one in responses),
    }
    if error is not None:
        value["error"] = error
    if isinstance(request, ScoreRequest):
        # Of an echoed prompt, the tokens that are scored; their texts are not known.
        logprobs = [logprob for one in responses for logprob in one.logprobs or ()]
        tokens = [{"text": "", "logprob": logprob} for logprob in logprobs]
        text = f"{request.context}{request.continuation}"
        value["completions"] = [{"text": text, "logprob": math.fsum(logprobs), "tokens": tokens}] if logprobs else []
    return value


def _completion(completion: Completion) -> Json:
    value: Json = {
        "text": completion.text,
        # HELM's clients write 0 where they do not know it.
        "logprob": completion.logprob or 0.0,
        "tokens": [],
        "finish_reason": {"reason": _REASONS[completion.finish_reason]},
    }
    if completion.reasoning:
        value["thinking"] = {"text": completion.reasoning}
    return value

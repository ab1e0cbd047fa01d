"""Examples as samples of a log."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from harness.contracts import Example, GenerateRequest, Request, Response, ScoreRequest
from harness.exports.inspect_ai.messages import conversation, output, settings, tool_info, usage
from harness.exports.stored_run import StoredExample
from harness.imports.inspect_own import ANSWER, SCORED
from harness.imports.inspect_samples import option_labels
from harness.imports.own_answers import KEY, own_answer
from harness.storage.encoding import encode_request, encode_response

Json = dict[str, Any]


def sample_of(stored: StoredExample, epoch: int, model: str, run: str, time: str) -> Json:
    """Return an example as a sample.

    Args:
        stored: The example.
        epoch: The number of the instance's example, from 1.
        model: The model's name in the log.
        run: The run's name, for identifiers that are the same in each export.
        time: When the run started, ISO 8601; single answers have no time.
    """
    example = stored.example
    instance = example.instance
    key = identifier(run, instance.id, instance.perturbation or "", epoch)
    generated = [(q, a) for q, a in zip(example.requests, example.responses, strict=False) if _is_generate(q)]
    events = [_event(q, a, model, f"{key}-{place}", time) for place, (q, a) in enumerate(generated)]
    last = events[-1] if events else None
    messages, answer = _final(example, last, model, key)
    value: Json = {
        "id": instance.id,
        "epoch": epoch,
        "input": instance.input,
        **_targets(example),
        "messages": messages,
        "output": answer,
        "scores": {} if stored.error is not None else {name: _score(stored, name) for name in stored.scores},
        "metadata": {**instance.meta, KEY: _metadata(example)},
        "store": {},
        "events": events,
        "model_usage": {},
        "uuid": key,
        "attachments": {},
    }
    if (used := usage(example.responses)) is not None:
        value["model_usage"] = {model: used}
    if stored.error is not None:
        value["error"] = {"message": stored.error, "traceback": "", "traceback_ansi": ""}
    return value


def summary_of(sample: Mapping[str, Any]) -> Json:
    """Return what inspect_ai lists of a sample, texts cut to 1 kB."""
    kept = ("id", "epoch", "choices", "target", "model_usage", "uuid")
    value: Json = {name: sample[name] for name in kept if name in sample}
    value["input"] = sample["input"][:1024]
    value["scores"] = {name: {"value": one["value"], "history": []} for name, one in sample["scores"].items()}
    value |= {"metadata": {}, "completed": True, "message_count": len(sample["messages"])}
    if "error" in sample:
        value["error"] = sample["error"]["message"]
    return value


def identifier(*parts: str | int) -> str:
    """Return 22 characters that identify something, as long as inspect_ai's own identifiers."""
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:22]


def _is_generate(request: Request) -> bool:
    return isinstance(request, GenerateRequest)


def _event(request: Request, response: Response, model: str, key: str, time: str) -> Json:
    assert isinstance(request, GenerateRequest)  # noqa: S101 - chosen by the caller
    value: Json = {
        "uuid": key,
        "timestamp": time,
        "working_start": 0.0,
        "event": "model",
        "model": model,
        "input": conversation(request.whole_prompt, key),
        "tools": [tool_info(tool) for tool in request.tools],
        "tool_choice": "auto" if request.tools else "none",
        "config": settings(request),
        "output": output(response, model, key),
    }
    if response.error is not None:
        value["error"] = response.error
    return value


def _final(example: Example, last: Json | None, model: str, key: str) -> tuple[list[Json], Json]:
    """Return the whole conversation, and its last answer; of options that were scored, the chosen one."""
    if last is not None:
        answers = [one["message"] for one in last["output"]["choices"][:1]]
        return [*last["input"], *answers], last["output"]
    asked = next((one for one in example.requests if isinstance(one, ScoreRequest)), None)
    messages = conversation(asked.context, key) if asked is not None else []
    if not example.prediction:
        return messages, {"model": model, "choices": [], "completion": ""}
    message = {"id": f"{key}-answer", "content": example.prediction, "role": "assistant", "model": model}
    chosen = {"model": model, "choices": [{"message": message, "stop_reason": "unknown"}]}
    return [*messages, message], {**chosen, "completion": example.prediction}


def _targets(example: Example) -> Json:
    references = example.references
    if not _has_options(example):
        targets = [one.text for one in references]
        return {"target": targets[0] if len(targets) == 1 else targets}
    labels = option_labels(len(references))
    targets = [label for label, one in zip(labels, references, strict=True) if one.correct]
    return {"choices": [one.text for one in references], "target": targets[0] if len(targets) == 1 else targets}


def _has_options(example: Example) -> bool:
    return not all(one.correct for one in example.references)


def _metadata(example: Example) -> Json:
    """Return what a sample has no field for."""
    value: Json = {ANSWER: own_answer([example])}
    rest: Sequence[tuple[Request, Response]] = [
        (request, response)
        for request, response in zip(example.requests, example.responses, strict=False)
        if not _is_generate(request)
    ]
    if rest:
        value[SCORED] = [{"request": encode_request(q), "response": encode_response(a)} for q, a in rest]
    if example.trial:
        value |= {"train_trial": example.trial, "sample": example.sample}
    if example.train_instances:
        value["train_instances"] = list(example.train_instances)
    return value


def _score(stored: StoredExample, name: str) -> Json:
    example = stored.example
    answer = example.prediction
    if example.choice is not None and _has_options(example):
        answer = option_labels(len(example.references))[example.choice]
    value: Json = {"value": stored.scores[name], "answer": answer, "history": []}
    said = [one for one in stored.judgements if one.get("metric") == name]
    if said:
        value["explanation"] = "\n\n".join(str(one.get("text", "")) for one in said)
        value["metadata"] = {"judgements": [dict(one) for one in said]}
    return value

"""Examples as lines of lm-evaluation-harness's samples files: one line for each instance, with all of its samples."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from harness.contracts import Example, GenerateRequest, Prompt, Request, Response, ScoreRequest, SequenceRequest
from harness.exports.exporter import CannotHoldError
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample
from harness.imports.own_answers import own_answer

Json = dict[str, Any]
OutputType = Literal["generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling"]


def output_type(example: Example) -> OutputType:
    """Return lm-evaluation-harness's word for what is asked about an example.

    Raises:
        CannotHoldError: It has none.
    """
    asked = [request for request in example.requests if _is_main(request)] or list(example.requests)
    if any(isinstance(request, SequenceRequest) for request in asked):
        raise CannotHoldError("lm-evaluation-harness has no requests for the likelihood of texts in several orders.")
    if all(isinstance(request, GenerateRequest) for request in asked):
        return "generate_until"
    if any(isinstance(request, GenerateRequest) for request in asked):
        raise CannotHoldError("a task of lm-evaluation-harness has prompts or texts to score, not both.")
    if len(asked) > 1 or example.choice_scores is not None:
        return "multiple_choice"
    return (
        "loglikelihood"
        if any(isinstance(one, ScoreRequest) and one.context for one in asked)
        else "loglikelihood_rolling"
    )


def document(samples: Sequence[StoredExample], number: int, report: ExportReport) -> Json:
    """Return an instance's line.

    Args:
        samples: The instance's examples in one train trial, by sample.
        number: The number of the document, from 0.
        report: Takes what a line has no place for.
    """
    first = samples[0].example
    kind = output_type(first)
    pairs = [_main(one.example) for one in samples]
    arguments = {f"gen_args_{place}": _arguments(request, kind) for place, (request, _) in enumerate(pairs[0])}
    resps = [
        [answer for repeat in pairs if place < len(repeat) for answer in _answers(repeat[place][1], kind)]
        for place in range(len(pairs[0]))
    ]
    filtered: list[Any] = [one[0] for one in resps if one] if kind == "multiple_choice" else [
        one.example.prediction for one in samples
    ]  # fmt: skip
    scores = _scores(samples)
    target = _target(first, kind)
    doc = {
        "id": first.instance.id,
        "input": first.instance.input,
        "references": [one.text for one in first.references],
        "answer": own_answer([one.example for one in samples]),
        **({"meta": dict(first.instance.meta)} if first.instance.meta else {}),
    }
    _count_left_out(samples, report)
    return {
        "doc_id": number,
        "doc": doc,
        "target": target,
        "arguments": arguments,
        "resps": resps,
        "filtered_resps": filtered,
        "filter": "none",
        "metrics": list(scores),
        "doc_hash": hashed(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": hashed(str(next(iter(arguments.values()))["arg_0"]) if arguments else ""),
        "target_hash": hashed(target),
        **scores,
    }


def hashed(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def metric_name(name: str) -> str:
    """Return a metric's name without commas, after which lm-evaluation-harness names a filter."""
    return name.replace(",", ";")


def _main(example: Example) -> list[tuple[Request, Response]]:
    """Return the requests, without those that only calibrate others."""
    pairs = list(zip(example.requests, example.responses, strict=False))
    return [pair for pair in pairs if _is_main(pair[0])] or pairs


def _is_main(request: Request) -> bool:
    return request.origin is None or request.origin.role == "original"


def _arguments(request: Request, kind: OutputType) -> Json:
    if isinstance(request, GenerateRequest):
        settings: Json = {
            "until": list(request.stop),
            "max_gen_toks": request.max_tokens,
            "do_sample": request.temperature > 0,
            "temperature": request.temperature,
        }
        optional = {"top_p": request.top_p, "top_k": request.top_k, "min_p": request.min_p}
        settings |= {name: value for name, value in optional.items() if value is not None}
        return {"arg_0": _prompt(request.whole_prompt), "arg_1": settings}
    if isinstance(request, ScoreRequest):
        if kind == "loglikelihood_rolling":
            return {"arg_0": request.continuation}
        return {"arg_0": _prompt(request.context), "arg_1": request.continuation}
    raise CannotHoldError("lm-evaluation-harness has no requests for the likelihood of texts in several orders.")


def _prompt(prompt: Prompt) -> str | list[str]:
    """Return a prompt; a conversation is a list with its JSON, as of lm-evaluation-harness's models behind servers."""
    if isinstance(prompt, str):
        return prompt
    return [json.dumps([{"role": turn.role, "content": turn.content} for turn in prompt], ensure_ascii=False)]


def _answers(response: Response, kind: OutputType) -> list[Any]:
    if kind == "generate_until":
        return [completion.text for completion in response.completions]
    if response.logprobs is None:
        return []
    total = str(math.fsum(response.logprobs))
    return [total] if kind == "loglikelihood_rolling" else [[total, str(bool(response.greedy))]]


def _target(example: Example, kind: OutputType) -> str:
    correct = [index for index, one in enumerate(example.references) if one.correct]
    if not correct:
        return example.instance.input if kind == "loglikelihood_rolling" else ""
    return str(correct[0]) if kind == "multiple_choice" else example.references[correct[0]].text


def _scores(samples: Sequence[StoredExample]) -> Mapping[str, float]:
    """Return the mean score of an instance's samples by metric."""
    found: dict[str, list[float]] = {}
    for one in samples:
        for name, score in one.scores.items() if one.error is None else ():
            found.setdefault(metric_name(name), []).append(score)
    return {name: math.fsum(scores) / len(scores) for name, scores in found.items()}


def _count_left_out(samples: Sequence[StoredExample], report: ExportReport) -> None:
    for one in samples:
        example = one.example
        completions = [completion for response in example.responses for completion in response.completions]
        report.leave_out("reasons why answers ended, token counts and log-probabilities of answers", len(completions))
        report.leave_out("texts of reasoning", sum(bool(completion.reasoning) for completion in completions))
        report.leave_out("errors of examples", one.error is not None)
        report.leave_out("judges' verdicts", len(one.judgements))
        report.leave_out("requests that calibrate others", len(example.requests) - len(_main(example)))
        tokens = [len(response.logprobs) for response in example.responses if response.logprobs is not None]
        report.leave_out("log-probabilities of single tokens", sum(tokens))
    if len(samples) > 1:
        report.leave_out("scores of single samples", sum(len(one.scores) for one in samples))
        report.leave_out("choices of later samples", sum(one.example.choice is not None for one in samples[1:]))

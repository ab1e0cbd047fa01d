"""Examples as rows of lighteval's details: the document, the model's response, and the scores."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

from harness.contracts import Example, GenerateRequest, Prompt, Request, Response, ScoreRequest, SequenceRequest
from harness.exports.exporter import CannotHoldError
from harness.exports.json_text import json_text
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample
from harness.imports.own_answers import KEY, own_answer

Json = dict[str, Any]
Method = Literal["GENERATIVE", "LOGPROBS", "PERPLEXITY"]


def method_of(example: Example) -> Method:
    """Return lighteval's word for what is asked about an example.

    Raises:
        CannotHoldError: It has none.
    """
    asked = example.requests
    if any(isinstance(request, SequenceRequest) for request in asked):
        raise CannotHoldError("lighteval has no requests for the likelihood of texts in several orders.")
    if all(isinstance(request, GenerateRequest) for request in asked):
        if len(asked) > 1:
            raise CannotHoldError("lighteval asks once about each document, but this method asks in several turns.")
        return "GENERATIVE"
    if any(isinstance(request, GenerateRequest) for request in asked):
        raise CannotHoldError("a task of lighteval has prompts or texts to score, not both.")
    return "LOGPROBS" if len(asked) > 1 or example.choice_scores is not None else "PERPLEXITY"


def row_of(samples: Sequence[StoredExample], task: str, report: ExportReport) -> Json:
    """Return the row of an instance in one train trial.

    Args:
        samples: Its examples, by sample.
        task: The task's name with its number of few-shot examples.
        report: Takes what a row has no place for.

    Raises:
        CannotHoldError: lighteval cannot ask this.
    """
    example = samples[0].example
    method = method_of(example)
    asked = example.requests[0] if example.requests else None
    scored = [request for request in example.requests if isinstance(request, ScoreRequest) and _is_main(request)]
    choices = [one.continuation for one in scored] if method == "LOGPROBS" else [one.text for one in example.references]
    correct = [index for index, one in enumerate(example.references) if one.correct]
    instance = example.instance
    prompt = _prompt(asked, whole=method == "PERPLEXITY")
    doc: Json = {
        "query": prompt if asked is not None else instance.input,
        "original_query": instance.input,
        "choices": choices,
        "gold_index": correct,
        "specific": _specific(samples, method),
        "id": instance.id,
        "task_name": task,
        "sampling_methods": [method],
        "generation_size": None,
        "stop_sequences": [],
        "num_samples": len(samples),
        "unconditioned_query": None,
    }
    if isinstance(asked, GenerateRequest):
        completions = max(asked.completions, 1)
        settings = {"generation_size": asked.max_tokens, "stop_sequences": list(asked.stop)}
        doc |= {**settings, "num_samples": completions * len(samples)}
    answer: Json = {
        "input": prompt,
        "text": [],
        "text_post_processed": None,
        "reasonings": [],
        "logprobs": [],
        "argmax_logits_eq_gold": [],
        "unconditioned_logprobs": None,
        "input_tokens": [],
        "output_tokens": [],
        "truncated_tokens_count": 0,
        "padded_tokens_count": 0,
    }
    if method == "GENERATIVE":
        answer |= _generated(samples)
    else:
        answer |= _scored(example)
        alone = [request for request in example.requests if not _is_main(request)]
        doc["unconditioned_query"] = _prompt(alone[0]) if alone else None
    _count_left_out(samples, report)
    return {"doc": doc, "metric": _metric(samples), "model_response": answer}


def _specific(samples: Sequence[StoredExample], method: Method) -> Json:
    """Return what a document has no field for, as JSON: Arrow needs the same fields in every row."""
    # Of options that are scored, a document has the scored texts, which begin with a space or are other texts.
    answer = own_answer([one.example for one in samples], texts=method == "LOGPROBS")
    values: Json = {"meta": samples[0].example.instance.meta, KEY: answer}
    return {name: json_text(value) for name, value in values.items() if value}


def schema(metrics: Sequence[str]) -> Any:
    """Return the Arrow schema of a details file with these metrics."""
    import pyarrow as pa

    texts, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    doc = {
        "query": pa.string(),
        "choices": texts,
        "gold_index": pa.list_(pa.int64()),
        "id": pa.string(),
        "original_query": pa.string(),
        "unconditioned_query": pa.string(),
        "task_name": pa.string(),
        "specific": pa.struct({"meta": pa.string(), KEY: pa.string()}),
        "sampling_methods": texts,
        "generation_size": pa.int64(),
        "stop_sequences": texts,
        "num_samples": pa.int64(),
    }
    answer = {
        "input": pa.string(),
        "text": texts,
        "text_post_processed": texts,
        "reasonings": texts,
        "logprobs": numbers,
        "unconditioned_logprobs": numbers,
        "argmax_logits_eq_gold": pa.list_(pa.bool_()),
        "input_tokens": pa.list_(pa.int64()),
        "output_tokens": pa.list_(pa.list_(pa.int64())),
        "truncated_tokens_count": pa.int64(),
        "padded_tokens_count": pa.int64(),
    }
    scores = {name: pa.float64() for name in metrics}
    # Parquet has no empty structs.
    metric = pa.struct(scores or {"none": pa.float64()})
    return pa.schema({"doc": pa.struct(doc), "metric": metric, "model_response": pa.struct(answer)})


def _is_main(request: Request) -> bool:
    return request.origin is None or request.origin.role == "original"


def _prompt(request: Request | None, *, whole: bool = False) -> str:
    """Return what precedes the answer, or the whole text that is scored."""
    if isinstance(request, GenerateRequest):
        return _text(request.whole_prompt)
    if isinstance(request, ScoreRequest):
        return _text(request.context) + (request.continuation if whole else "")
    return ""


def _text(prompt: Prompt) -> str:
    """Return a prompt; of a conversation, its turns as JSON."""
    if isinstance(prompt, str):
        return prompt
    return json.dumps([{"role": turn.role, "content": turn.content} for turn in prompt], ensure_ascii=False)


def _generated(samples: Sequence[StoredExample]) -> Json:
    found = [one for sample in samples for response in sample.example.responses for one in response.completions]
    logprobs = [one.logprob for one in found]
    value: Json = {"text": [one.text for one in found], "reasonings": [one.reasoning or None for one in found]}
    if found and all(logprob is not None for logprob in logprobs):
        value["logprobs"] = logprobs
    return value


def _scored(example: Example) -> Json:
    pairs = list(zip(example.requests, example.responses, strict=False))
    main = [response for request, response in pairs if _is_main(request)]
    alone = [response for request, response in pairs if not _is_main(request)]
    value: Json = {"logprobs": [_sum(one) for one in main if one.logprobs is not None]}
    if len(main) == 1 and example.choice_scores is None:  # of a text, the log-probabilities of its tokens
        value["logprobs"] = list(main[0].logprobs or ())
    if all(one.greedy is not None for one in main):
        value["argmax_logits_eq_gold"] = [one.greedy for one in main]
    if alone and all(one.logprobs is not None for one in alone):
        value["unconditioned_logprobs"] = [_sum(one) for one in alone]
    return value


def _sum(response: Response) -> float:
    return math.fsum(response.logprobs or ())


def _metric(samples: Sequence[StoredExample]) -> dict[str, float]:
    """Return the mean score of an instance's samples by metric."""
    found: dict[str, list[float]] = {}
    for one in samples:
        for name, score in one.scores.items() if one.error is None else ():
            found.setdefault(name, []).append(score)
    return {name: math.fsum(scores) / len(scores) for name, scores in found.items()}


def _count_left_out(samples: Sequence[StoredExample], report: ExportReport) -> None:
    if len(samples) > 1:
        report.leave_out("scores of single samples", sum(len(one.scores) for one in samples))
        report.leave_out("choices of later samples", sum(one.example.choice is not None for one in samples[1:]))
    for one in samples:
        completions = [found for response in one.example.responses for found in response.completions]
        report.leave_out("reasons why answers ended, token counts and calls of tools", len(completions))
        report.leave_out("errors of examples", one.error is not None)
        report.leave_out("judges' verdicts", len(one.judgements))
        if method_of(one.example) == "LOGPROBS":
            tokens = [len(response.logprobs) for response in one.example.responses if response.logprobs is not None]
            report.leave_out("log-probabilities of single tokens", sum(tokens))

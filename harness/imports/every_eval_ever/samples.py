"""Lines of a samples file of Every Eval Ever as examples, joining the lines of one sample's metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.contracts import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Judgement,
    Message,
    Origin,
    Prompt,
    Reference,
    Response,
    Split,
    ToolCall,
)
from harness.contracts.messages import ROLES, Role
from harness.imports.imported_run import Scored
from harness.storage.encoding import decode_example

Json = Mapping[str, Any]


def read_samples(rows: Iterable[tuple[Json, str, str]], ours: bool) -> list[Scored]:
    """Return one example for each sample, with its scores by metric.

    Args:
        rows: Each line, with the name of its metric here and its split.
        ours: True if this harness wrote the file, so that lines hold whole examples.

    Raises:
        ValueError: A sample has two different scores of one metric, or a line is not what this harness writes.
    """
    found: dict[tuple[Any, ...], Scored] = {}
    for row, metric, split in rows:
        metadata = row.get("metadata") or {}
        key = (row["sample_id"], split, *(metadata.get(name) for name in ("perturbation", "trial", "sample")))
        if not ours:
            key = (*key, json.dumps(row["input"], sort_keys=True), metadata.get("filter"))
        score = float(row["evaluation"]["score"])
        before = found.get(key)
        if before is None:
            example = _whole(row) if ours else _example(row, split)
            found[key] = Scored(example, {metric: score}, judgements=_judgements(metadata, ours))
            continue
        if before.scores.get(metric, score) != score:
            raise ValueError(
                f"sample {row['sample_id']!r} has two scores of {metric}: {before.scores[metric]:g} and {score:g}"
            )
        found[key] = replace(
            before,
            scores={**before.scores, metric: score},
            judgements=(*before.judgements, *_judgements(metadata, ours)),
        )
    return list(found.values())


def _whole(row: Json) -> Example:
    """Return the example that this harness wrote."""
    metadata = dict(row["metadata"])
    value: dict[str, Any] = {
        "id": row["sample_id"],
        "input": row["input"]["raw"],
        "prediction": row["answer_attribution"][0]["extracted_value"],
    }
    for key in ("metric", "judgements"):
        metadata.pop(key, None)
    for key in ("split", "perturbation"):
        if key in metadata:
            value[key] = metadata.pop(key)
    value |= {key: json.loads(text) for key, text in metadata.items()}
    texts = row["input"].get("choices")
    texts = row["input"]["reference"] if texts is None else texts
    value["references"] = [{"text": t, **o} for t, o in zip(texts, value.get("references", ()), strict=True)]
    formatted = row["input"].get("formatted")
    for request in value["requests"]:
        name = "context" if request["ask"] == "score" else "prompt"
        if name not in request:
            request[name] = json.loads(formatted) if value.get("conversation") else formatted
    value.pop("conversation", None)
    if (output := row.get("output")) is not None:
        raw, reasoning = iter(output["raw"]), iter(output.get("reasoning_trace") or ())
        for response in value["responses"]:
            for completion in response.get("completions", ()):
                completion["text"] = next(raw)
                if thought := next(reasoning, ""):
                    completion["reasoning"] = thought
    return decode_example(value)


def _judgements(metadata: Mapping[str, str], ours: bool) -> tuple[tuple[str, Judgement], ...]:
    found = []
    for said in json.loads(metadata.get("judgements", "[]")) if ours else ():
        rest: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
        found.append((str(rest.pop("metric")), Judgement(**rest)))
    return tuple(found)


def _example(row: Json, split: str) -> Example:
    """Return another program's sample; what its line does not hold keeps its default."""
    given, usage = row["input"], row.get("token_usage") or {}
    identifier = str(row["sample_id"])
    choices, correct = given.get("choices"), given["reference"]
    if choices:  # programs name the right options by their texts, or by their numbers from 0
        by_text = any(text in correct for text in choices)
        references = [
            Reference(text, (text if by_text else str(index)) in correct) for index, text in enumerate(choices)
        ]
    else:
        references = [Reference(text, correct=True) for text in correct]
    prompt, answers, reasoning, calls = _asked(row)
    predicted = next((one["extracted_value"] for one in row["answer_attribution"] if one["is_terminal"]), None)
    prediction = predicted if predicted is not None else answers[-1] if answers else ""
    request = GenerateRequest(prompt, max_tokens=max(1, usage.get("output_tokens", 1)), origin=Origin(identifier))
    thoughts = [*reasoning, *[""] * (len(answers) - len(reasoning))]
    completions = tuple(
        Completion(text, reasoning=thought or "", tool_calls=calls if index == len(answers) - 1 else ())
        for index, (text, thought) in enumerate(zip(answers, thoughts, strict=True))
    )
    seconds = (row.get("performance") or {}).get("generation_time_ms") or 0.0
    return Example(
        instance=Instance(
            id=identifier,
            input=given["raw"],
            references=tuple(references),
            split=Split(split),
            perturbation=(row.get("metadata") or {}).get("perturbation") or None,
            meta={key: value for key, value in (row.get("metadata") or {}).items() if key != "perturbation"},
        ),
        requests=(request,),
        responses=(
            Response(
                completions,
                prompt_tokens=usage.get("input_tokens"),
                completion_tokens=usage.get("output_tokens"),
                seconds=seconds / 1000,
                error=row.get("error") if not answers else None,
            ),
        ),
        prediction=prediction,
        choice=next((index for index, one in enumerate(references) if choices and one.text == prediction), None),
    )


def _asked(row: Json) -> tuple[Prompt, list[str], list[str], tuple[ToolCall, ...]]:
    """Return the prompt, the answers, their reasoning, and the last answer's calls of tools."""
    if (output := row.get("output")) is not None:
        prompt = row["input"].get("formatted") or row["input"]["raw"]
        return prompt, list(output["raw"]), list(output.get("reasoning_trace") or ()), ()
    turns = row["messages"]
    last = max((index for index, turn in enumerate(turns) if turn["role"] == "assistant"), default=None)
    asked = tuple(_message(turn) for turn in (turns if last is None else turns[:last]))
    if last is None:
        return asked, [], [], ()
    answer = turns[last]
    return asked, [answer.get("content") or ""], [answer.get("reasoning_trace") or ""], _calls(answer)


def _message(turn: Json) -> Message:
    role: Role = turn["role"] if turn["role"] in ROLES else "user"
    answered = (turn.get("tool_call_id") or [""])[0]
    return Message(role, turn.get("content") or "", _calls(turn), answered)


def _calls(turn: Json) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(one["name"], one.get("arguments") or {}, one["id"]) for one in turn.get("tool_calls") or ())

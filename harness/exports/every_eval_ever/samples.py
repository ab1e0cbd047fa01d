"""Examples as the lines of a samples file of Every Eval Ever: one for each score of an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from harness.contracts import Example, GenerateRequest, ScoreRequest, Stat
from harness.exports.every_eval_ever.aggregate import as_json
from harness.exports.every_eval_ever.conversations import interaction
from harness.exports.stored_run import StoredExample
from harness.imports.every_eval_ever.layout import is_best, result_id, sample_hash
from harness.storage.encoding import encode_example, encode_response

Json = dict[str, Any]


class SampleRows:
    """Makes the rows of a run.

    Args:
        shared: What all rows have in common: the schema's version, and the ids of the evaluation and the model.
        stats: The run's statistics, which scores refer to.
        only: Write scores of this metric alone; None for all metrics.

    Attributes:
        left_out: How many things of each kind the schema has no place for.
    """

    def __init__(self, shared: Mapping[str, str], stats: tuple[Stat, ...], only: str | None) -> None:
        self._shared = shared
        self._only = only
        self._stats = {
            (stat.metric, stat.split, stat.perturbation): stat
            for stat in stats
            if stat.group is None and stat.computed_on in ("original", "perturbed")
        }
        self.left_out: Counter[str] = Counter()

    def rows(self, one: StoredExample) -> Iterator[Json]:
        """Yield an example's rows; none if it has no score, which the schema requires."""
        example = one.example
        scores = {name: score for name, score in one.scores.items() if self._only in (None, name)}
        if not all(isinstance(request, GenerateRequest | ScoreRequest) for request in example.requests):
            self.left_out["samples of orderings of a data set"] += 1
            return
        if not scores:
            self.left_out["samples without a score"] += 1
            return
        common = {**self._shared, **_content(one)}
        for name, score in scores.items():
            instance = example.instance
            stat = self._stats.get((name, str(instance.split), instance.perturbation))
            row: Json = {**common, "evaluation": {"score": score, "is_correct": is_best(score, stat)}}
            if stat is not None:
                row["evaluation_result_id"] = result_id(stat)
            if "messages" in row:
                row["evaluation"]["num_turns"] = max(1, len(example.responses))
                row["evaluation"]["tool_calls_count"] = sum(
                    len(message.get("tool_calls", ())) for message in row["messages"]
                )
            row["metadata"] = _metadata(one, name)
            yield row


def _content(one: StoredExample) -> Json:
    example, instance = one.example, one.example.instance
    correct = [reference.text for reference in instance.correct]
    kind, content = interaction(example)
    given: Json = {"raw": instance.input, "reference": correct}
    if example.requests:
        given["formatted"] = prompt_text(example)
    if len(correct) < len(instance.references):
        given["choices"] = [reference.text for reference in instance.references]
    row: Json = {
        "sample_id": instance.id,
        "sample_hash": sample_hash(instance.input, correct),
        "interaction_type": kind,
        "input": given,
        **content,
        "answer_attribution": [_attribution(example, content)],
    }
    if (usage := _token_usage(example)) is not None:
        row["token_usage"] = usage
    seconds = sum(response.seconds for response in example.responses)
    if seconds:
        row["performance"] = {"generation_time_ms": seconds * 1000}
    if (error := _error(one)) is not None:
        row["error"] = error
    return row


def prompt_text(example: Example) -> str:
    """Return what the first request sent: a text, or a conversation as JSON."""
    prompt = _prompt_of(encode_example(example)["requests"][0])
    return prompt if isinstance(prompt, str) else as_json(prompt)


def _attribution(example: Example, content: Json) -> Json:
    several = "messages" in content
    turn = len(content["messages"]) - 1 if several else 0
    return {
        "turn_idx": turn,
        "source": f"messages[{turn}].content" if several else "output.raw",
        "extracted_value": example.prediction,
        "extraction_method": "scored_options" if example.choice_scores is not None else "custom",
        "is_terminal": True,
    }


def _token_usage(example: Example) -> Json | None:
    """Return the tokens of an example; None if they are not known of all responses."""
    given = [response.prompt_tokens for response in example.responses]
    made = [response.completion_tokens for response in example.responses]
    if not example.responses or None in given or None in made:
        return None
    inputs, outputs = sum(count or 0 for count in given), sum(count or 0 for count in made)
    usage = {"input_tokens": inputs, "output_tokens": outputs, "total_tokens": inputs + outputs}
    thought = [one.reasoning_tokens for response in example.responses for one in response.completions]
    if any(count is not None for count in thought):
        usage["reasoning_tokens"] = sum(count or 0 for count in thought)
    return usage


def _error(one: StoredExample) -> str | None:
    failed = next((response.error for response in one.example.responses if response.error), None)
    return one.error or failed or one.example.declined


def _metadata(one: StoredExample, metric: str) -> dict[str, str]:
    """Return what the schema has no field for, as texts; fields at their default are left out.

    Requests and responses are as in ``examples.jsonl.gz``, without the texts that other fields of the row hold.
    """
    encoded = encode_example(one.example)
    values = {key: value for key, value in encoded.items() if key not in _ELSEWHERE}
    values["metric"] = metric
    values["conversation"] = (
        True if encoded["requests"] and not isinstance(_prompt_of(encoded["requests"][0]), str) else None
    )
    references = encoded.get("references", ())
    values["references"] = [{key: item for key, item in one.items() if key != "text"} for one in references] or None
    values["requests"] = _requests(one.example)
    values["responses"] = _responses(one.example)
    values["judgements"] = [dict(said) for said in one.judgements if said.get("metric") == metric] or None
    return {
        key: value if isinstance(value, str) else as_json(value) for key, value in values.items() if value is not None
    }


_ELSEWHERE = {"id", "input", "prediction", "segments", "declined", "unfinished_reasoning"}
"""Keys of an encoded example that have a field of their own, or follow from others."""


def _requests(example: Example) -> list[Json]:
    """Return the requests without their prompt if it is the first one's, which ``input.formatted`` holds."""
    encoded = encode_example(example)["requests"]
    first = _prompt_of(encoded[0]) if encoded else None
    return [
        {key: value for key, value in one.items() if key not in ("prompt", "context") or value != first}
        for one in encoded
    ]


def _prompt_of(encoded: Json) -> Any:
    return encoded.get("prompt", encoded.get("context"))


def _responses(example: Example) -> list[Json]:
    """Return the responses; where one output has every completion, without the completions' texts and reasoning."""
    encoded = [encode_response(response) for response in example.responses]
    if interaction(example)[0] != "single_turn":
        return encoded
    without = ("text", "reasoning")
    return [
        {
            **one,
            **(
                {"completions": [{k: v for k, v in item.items() if k not in without} for item in one["completions"]]}
                if "completions" in one
                else {}
            ),
        }
        for one in encoded
    ]

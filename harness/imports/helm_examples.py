"""Examples from HELM's request states: the requests, responses and prediction of each instance and trial."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.answers.reasoning import set_reasoning_apart
from harness.contracts import (
    Completion,
    Example,
    FinishReason,
    GenerateRequest,
    Instance,
    Message,
    Origin,
    Prompt,
    Reference,
    Request,
    Response,
    ScoreRequest,
    Split,
)
from harness.imports.imported_run import Scored
from harness.imports.own_answers import KEY, with_own_answer

Key = tuple[str, str | None, int]
"""Instance, perturbation and train trial."""

State = Mapping[str, Any]

_REASONS: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "stop": "stop",
    "endoftext": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "content_filter": "content_filter",
    "refusal": "refusal",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "tool_use": "tool_call",
}
"""HELM's words for finish reasons, and those that it passes on from servers."""

_FILTERED = re.compile(r"content[ _](policy|filter|block)|response was filtered", re.IGNORECASE)
"""Errors of providers' content filters, which HELM records as failed requests without completions."""


def read_examples(scenario_state: Mapping[str, Any], scores: Mapping[Key, Mapping[str, float]]) -> list[Scored]:
    """Return an example for each instance, perturbation and trial, in the file's order."""
    grouped: dict[Key, list[State]] = {}
    for state in scenario_state["request_states"]:
        grouped.setdefault(instance_key(state), []).append(state)
    return [Scored(_example(key, states, scores.get(key, {})), scores.get(key, {})) for key, states in grouped.items()]


def instance_key(state: State) -> Key:
    """Return the key of a request state's instance."""
    instance = state["instance"]
    return str(instance["id"]), perturbation_name(instance.get("perturbation")), int(state["train_trial_index"])


def perturbation_name(description: Mapping[str, Any] | None) -> str | None:
    """Return the name of a perturbation from HELM's description; None for none."""
    return str(description["name"]) if description else None


def _example(key: Key, states: Sequence[State], scores: Mapping[str, float]) -> Example:
    first = states[0]
    instance = _instance(first["instance"], key[1])
    requests: list[Request] = []
    responses: list[Response] = []
    for state in states:
        origin = Origin(key[0], key[1], key[2], state.get("reference_index"), state.get("request_mode") or "original")
        request = state["request"]
        result = state.get("result") or {}
        completions = result.get("completions") or []
        failed = None if result.get("success", True) else str(result.get("error") or "it gave no answer")
        if failed is not None and _FILTERED.search(failed):
            withheld = Completion("", finish_reason="content_filter", explanation=failed)
            requests.append(_generate(request, origin))
            responses.append(Response((withheld,)))
        elif not (request.get("echo_prompt") and request["max_tokens"] == 0):
            requests.append(_generate(request, origin))
            responses.append(Response(tuple(_completion(item) for item in completions), error=failed))
        else:  # the whole prompt is echoed, and scored
            requests.append(ScoreRequest("", str(request["prompt"]), origin=origin))
            logprobs = tuple(float(token["logprob"]) for item in completions for token in item.get("tokens", ()))
            responses.append(Response(logprobs=logprobs or None, error=failed))
    if len(responses) == 1:
        responses[0] = _with_tokens(responses[0], scores)
    text, texts, choice = _prediction(first, instance, scores)
    example = Example(
        instance=instance,
        requests=tuple(requests),
        responses=tuple(responses),
        prediction=text,
        predictions=texts,
        choice=choice,
        probability=_probability(first, scores),
        labels=tuple(first.get("output_mapping") or ()),
        trial=key[2],
        truncated=bool(first.get("prompt_truncated", False)),
    )
    own = (first.get("annotations") or {}).get(KEY)
    return with_own_answer(example, own) if own else example


def _with_tokens(response: Response, scores: Mapping[str, float]) -> Response:
    """Return the response to an instance's only request with its numbers of tokens, which HELM has among the stats."""
    prompt, output = scores.get("num_prompt_tokens"), scores.get("num_output_tokens")
    return replace(
        response,
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=None if output is None else int(output),
    )


def _instance(written: Mapping[str, Any], perturbation: str | None) -> Instance:
    references = tuple(
        Reference(_text(reference["output"]), "correct" in reference.get("tags", ()))
        for reference in written.get("references", ())
    )
    part = written.get("sub_split")
    return Instance(
        id=str(written["id"]),
        input=_text(written["input"]),
        references=references,
        split=Split(written["split"]),
        perturbation=perturbation,
        meta={**(written.get("extra_data") or {}), **({} if part is None else {"sub_split": part})},
    )


def _text(value: Any) -> str:
    """Return the text of an input or output; older versions of HELM write a plain string."""
    return str(value["text"] if isinstance(value, Mapping) else value)


def _generate(request: Mapping[str, Any], origin: Origin) -> GenerateRequest:
    prompt: Prompt = str(request.get("prompt", ""))
    if request.get("messages"):
        prompt = tuple(Message(turn["role"], str(turn["content"])) for turn in request["messages"])
    return GenerateRequest(
        prompt,
        int(request["max_tokens"]),
        float(request.get("temperature", 1.0)),
        tuple(request.get("stop_sequences") or ()),
        int(request.get("num_completions", 1)),
        origin=origin,
    )


def _completion(written: Mapping[str, Any]) -> Completion:
    tokens = written.get("tokens") or ()
    reason = _REASONS.get(str((written.get("finish_reason") or {}).get("reason")), "unknown")
    thinking = str((written.get("thinking") or {}).get("text") or "")
    if reason == "length" and thinking and not written["text"]:
        reason = "unfinished_reasoning"
    completion = Completion(
        text=str(written["text"]),
        # Clients of servers without log-probabilities write 0.
        logprob=float(written["logprob"]) if written.get("logprob") else None,
        tokens=len(tokens) or None,
        finish_reason=reason,
        reasoning=thinking,
    )
    return completion if thinking else set_reasoning_apart(completion, None)


def _probability(state: State, scores: Mapping[str, float]) -> float | None:
    """Return the probability of the prediction; None if HELM had no log-probability, which it counts as certainty."""
    if state.get("reference_index") is None:
        written = _likeliest_first(state)
        if written and not written[0].get("logprob"):
            return None
    return scores.get("max_prob")


def _likeliest_first(state: State) -> list[Mapping[str, Any]]:
    """Return the completions in HELM's order, likeliest first."""
    completions = (state.get("result") or {}).get("completions") or ()
    return sorted(completions, key=lambda item: -float(item.get("logprob") or 0.0))


def _prediction(
    state: State, instance: Instance, scores: Mapping[str, float]
) -> tuple[str, tuple[str, ...], int | None]:
    """Return the predicted text, the text of every completion, and the chosen reference if there are options."""
    if state.get("reference_index") is not None:
        chosen = scores.get("predicted_index")
        if chosen is None or not 0 <= chosen < len(instance.references):
            return "", (), None
        return instance.references[int(chosen)].text, (), int(chosen)
    mapping = state.get("output_mapping")
    said = [str(item["text"]).strip() for item in _likeliest_first(state)]
    texts = tuple(said if mapping is None else [mapping.get(text, text) for text in said])
    if not texts:
        return "", (), None
    letters = list(mapping or ())
    choice = letters.index(said[0]) if said[0] in letters else None
    if choice is not None and choice >= len(instance.references):
        choice = None
    return texts[0], texts, choice

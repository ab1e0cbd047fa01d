"""Generation with a vLLM engine: stop sequences end it in the engine, and the text is cut as in other backends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness import Completion, GenerateRequest, Response, derive_rng
from harness.models.tokens.conversations import prompt_of, with_tool_calls
from harness.models.tokens.requests import NO_NUMBERS
from harness.models.tokens.stop_sequences import find_stop
from harness.models.tokens.thoughts import Thinking, thinking_of
from harness.models.tokens.tokenizer import TextTokenizer, Tokens
from harness.models.vllm.engine import Job, refusal
from harness.models.vllm.reasoning import ReasoningJobs, broken

MIN_TEMPERATURE = 0.01
"""The lowest temperature above 0 that vLLM samples at; it silently raises a lower one."""


def generation_jobs(
    requests: Sequence[tuple[int, GenerateRequest]],
    tokenizer: TextTokenizer,
    window: int | None,
    go_on: Callable[[Job], None],
) -> tuple[list[tuple[int, Response]], list[Job]]:
    """Return error responses to requests that vLLM cannot answer, and jobs for the others, in order.

    A prompt that leaves no room for ``max_tokens`` loses its beginning.

    Args:
        requests: The requests, with their numbers.
        tokenizer: The model's.
        window: Most tokens of prompt and completion together; None when unlimited.
        go_on: Takes jobs that follow from others.
    """
    from vllm.exceptions import VLLMClientError

    refused: list[tuple[int, Response]] = []
    jobs: list[Job] = []
    prompts = tokenizer.prompts([prompt_of(request) for _, request in requests])
    for (index, request), prompt in zip(requests, prompts, strict=True):
        if 0 < request.temperature < MIN_TEMPERATURE:
            reason = f"vLLM samples at temperatures from {MIN_TEMPERATURE}, not {request.temperature}; 0 is greedy."
            refused.append((index, Response(error=reason)))
            continue
        room = len(prompt) if window is None else window - request.max_tokens
        kept = prompt[-room:]
        text, truncated = tokenizer.render(prompt_of(request)), len(kept) < len(prompt)
        thinking = thinking_of(request, text, kept, tokenizer, window)
        try:
            if thinking is None:
                jobs.append(_job(index, request, kept, truncated, _params(request, text), tokenizer))
            else:
                jobs += _reasoning(index, request, kept, truncated, text, thinking, tokenizer, go_on).jobs()
        except (ValueError, VLLMClientError) as error:
            refused.append((index, Response(error=refusal(error))))
    return refused, jobs


def _job(
    index: int, request: GenerateRequest, prompt: Tokens, truncated: bool, params: Any, tokenizer: TextTokenizer
) -> Job:
    def take(output: Any, seconds: float) -> list[tuple[int, Response]]:
        if (problem := output if isinstance(output, str) else broken(output)) is not None:
            return [(index, Response(error=problem))]
        written = sorted(output.outputs, key=lambda one: one.index)
        completions = [_completion(one, request, tokenizer) for one in written]
        response = _response(completions, request, prompt, truncated, seconds)
        if response.error is None:
            read = len(prompt) - (output.num_cached_tokens or 0)
            response = replace(response, computed_tokens=read + (response.completion_tokens or 0))
        return [(index, response)]

    return Job(prompt, params, take)


def _reasoning(
    index: int,
    request: GenerateRequest,
    prompt: Tokens,
    truncated: bool,
    text: str,
    thinking: Thinking,
    tokenizer: TextTokenizer,
    go_on: Callable[[Job], None],
) -> ReasoningJobs:
    def read(written: Any) -> tuple[list[int], list[float], list[Mapping[str, float]], bool]:
        flat, top = written.logprobs, request.top_logprobs
        logprobs = [flat.logprobs[start] for start in flat.start_indices]
        places = zip(flat.start_indices, flat.end_indices, strict=True)
        likeliest = [_likeliest(flat, start, end, top, tokenizer) for start, end in places] if top else []
        return list(written.token_ids), logprobs, likeliest, _ended(written)

    def respond(completions: list[Completion], seconds: float) -> list[tuple[int, Response]]:
        return [(index, _response(completions, request, prompt, truncated, seconds))]

    return ReasoningJobs(index, request, prompt, text, thinking, tokenizer, _step_params, read, respond, go_on)


def _response(
    completions: Sequence[Completion], request: GenerateRequest, prompt: Tokens, truncated: bool, seconds: float
) -> Response:
    found = tuple(with_tool_calls(completion, request) for completion in completions)
    if any(math.isnan(completion.logprob or 0.0) for completion in found):
        return Response(error=NO_NUMBERS)
    # Greedy completions of one prompt are identical.
    return Response(
        completions=found * (request.completions // len(found)),
        prompt_tokens=len(prompt),
        completion_tokens=sum(completion.tokens or 0 for completion in found),
        seconds=seconds,
        truncated=truncated,
    )


def _step_params(request: GenerateRequest, text: str, changed: Mapping[str, Any]) -> Any:
    """Return the parameters of one step of a completion that may reason."""
    stop = tuple(changed.get("stop", request.stop))
    step = replace(request, completions=1, max_tokens=changed["max_tokens"], stop=stop)
    params = _params(step, text)
    params.skip_special_tokens = changed.get("skip_special_tokens", True)
    return params


def _params(request: GenerateRequest, text: str) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    sampled = request.temperature > 0
    stop = [string for string in request.stop if string]
    return SamplingParams(
        n=request.completions if sampled else 1,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=1.0 if request.top_p is None else request.top_p,
        top_k=request.top_k or 0,
        min_p=request.min_p or 0.0,
        repetition_penalty=1.0 if request.repetition_penalty is None else request.repetition_penalty,
        # The engine's only seed, so it depends on the prompt too: different prompts get different random numbers.
        seed=derive_rng(request.seed, text).getrandbits(31) if sampled else None,
        stop=stop,
        detokenize=bool(stop),
        logprobs=request.top_logprobs,
        flat_logprobs=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _completion(written: Any, request: GenerateRequest, tokenizer: TextTokenizer) -> Completion:
    tokens, flat = written.token_ids, written.logprobs
    kept = len(tokens) - _ended(written)
    text = tokenizer.decode(tokens[:kept])
    cut = find_stop(text, request.stop)
    if cut is not None:
        text = text[:cut]
        while kept and len(tokenizer.decode(tokens[: kept - 1])) >= cut:
            kept -= 1
    return Completion(
        text=text,
        logprob=math.fsum(flat.logprobs[start] for start in flat.start_indices[:kept]),
        tokens=len(tokens),
        finish_reason="stop" if written.finish_reason == "stop" else "length",
        top_logprobs=tuple(
            _likeliest(flat, start, end, request.top_logprobs, tokenizer)
            for start, end in zip(flat.start_indices, flat.end_indices, strict=True)
        )
        if request.top_logprobs
        else (),
    )


def _ended(written: Any) -> bool:
    """Return True if the last token ends a text: the stop reason is None, or the token's id if there are several."""
    return written.finish_reason == "stop" and not isinstance(written.stop_reason, str)


def _likeliest(flat: Any, start: int, end: int, most: int, tokenizer: TextTokenizer) -> Mapping[str, float]:
    """Return the likeliest tokens of one position; they follow the token that was drawn."""
    texts = tokenizer.decode_each(flat.token_ids[start + 1 : end][:most])
    return dict(zip(texts, flat.logprobs[start + 1 : end], strict=False))

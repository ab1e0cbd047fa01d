"""Puts requests to a model: what the cache knows is not asked, equal requests are asked once, every answer is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from harness.cache import ResponseCache, fingerprint_digest, request_key
from harness.contracts import GenerateRequest, Model, Request, Response
from harness.errors import ModelError


@dataclass(slots=True)
class Usage:
    """What a run has asked so far.

    Attributes:
        queries: Requests put, cached ones included.
        cached: Of these, answered by the cache or by an equal request.
        prompt_tokens: Tokens of all prompts.
        completion_tokens: Tokens generated or scored.
        model_seconds: Wall time that the model spent, in seconds, cached answers included as of when they were made.
        lengths: How many answers there are to prompts of so many tokens with so many tokens generated, which is none
            where a text is only scored: then all of it is the prompt.
        unknown_lengths: Answers that do not say their tokens.
    """

    queries: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    lengths: Counter[tuple[int, int]] = field(default_factory=Counter)
    unknown_lengths: int = 0

    def add(self, request: Request, response: Response) -> None:
        """Count one response."""
        self.queries += 1
        self.cached += response.cached
        self.prompt_tokens += response.prompt_tokens or 0
        self.completion_tokens += response.completion_tokens or 0
        self.model_seconds += response.seconds
        prompt, completion = response.prompt_tokens, response.completion_tokens
        if response.error is not None:
            return
        if prompt is None or completion is None:
            self.unknown_lengths += 1
        elif isinstance(request, GenerateRequest):
            self.lengths[prompt, completion] += 1
        else:
            self.lengths[prompt + completion, 0] += 1


class Client:
    """One model with its response cache; it lives as long as the model is loaded, over many runs."""

    def __init__(self, model: Model, backend: str, cache: ResponseCache | None) -> None:
        self.model = model
        self.fingerprint = model.fingerprint()
        self._digest = fingerprint_digest(backend, self.fingerprint)
        self._cache = cache if model.cacheable else None

    def ask(self, requests: Sequence[Request], progress: Callable[[int], None] = lambda n: None) -> list[Response]:
        """Return the responses in the order of the requests.

        Args:
            requests: What to ask.
            progress: Called with the number of requests answered since the last call.

        Raises:
            ModelError: The model cannot be loaded, or broke its contract.
            CacheError: The response cache cannot be read or written.
        """
        if self._cache is None:
            return self._ask_model(requests, progress)
        keys = [request_key(self._digest, request) for request in requests]
        known = self._cache.get(list(dict.fromkeys(keys)))
        places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            if key not in known:
                places.setdefault(key, []).append(place)
        progress(len(requests) - sum(map(len, places.values())))
        missing = list(places)
        asked = [requests[places[key][0]] for key in missing]
        self._ask_and_store(asked, missing, known, lambda index: progress(len(places[missing[index]])))
        first = {key: where[0] for key, where in places.items()}
        return [
            response if key not in first or place == first[key] or response.error else _repeated(response)
            for place, key in enumerate(keys)
            for response in (known[key],)
        ]

    def _ask_model(self, requests: Sequence[Request], progress: Callable[[int], None]) -> list[Response]:
        answers: dict[int, Response] = {}
        for index, response in self.model.answer(requests):
            _check(answers, index, requests)
            answers[index] = response
            progress(1)
        return _complete(answers, requests)

    def _ask_and_store(
        self,
        requests: Sequence[Request],
        keys: Sequence[bytes],
        known: dict[bytes, Response],
        answered: Callable[[int], None],
    ) -> None:
        if not requests or self._cache is None:
            return
        answers: dict[int, Response] = {}
        for index, response in self.model.answer(requests):
            _check(answers, index, requests)
            answers[index] = known[keys[index]] = response
            if response.error is None:
                # Each by itself, so that a kill at any moment loses no answer that was given.
                self._cache.put([(keys[index], response)])
            answered(index)
        _complete(answers, requests)


def _repeated(response: Response) -> Response:
    return replace(response, cached=True)


def _check(answers: dict[int, Response], index: int, requests: Sequence[Request]) -> None:
    if index in answers or not 0 <= index < len(requests):
        raise ModelError(f"the model's backend answered request {index} of {len(requests)} twice or out of range.")


def _complete(answers: dict[int, Response], requests: Sequence[Request]) -> list[Response]:
    if len(answers) != len(requests):
        raise ModelError(f"the model's backend answered {len(answers)} of {len(requests)} requests.")
    return [answers[index] for index in range(len(requests))]

"""Puts requests to a model: what the cache knows is not asked, equal requests are asked once, every answer is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.answers.check import misfit
from harness.contracts import Model, Request, Response
from harness.errors import ModelError
from harness.inference.cache import ResponseCache, request_key
from harness.inference.ledger import CacheLedger


class Client:
    """One model with its response cache; it lives as long as the model is loaded, over many runs.

    Attributes:
        model: The model.
        name: Its name, ``backend:identifier``.
        fingerprint: What decides its answers.

    Args:
        model: The model.
        name: Its name, ``backend:identifier``.
        cache: Where its answers are kept; None for nowhere.
    """

    def __init__(self, model: Model, name: str, cache: ResponseCache | None) -> None:
        self.model = model
        self.fingerprint = model.fingerprint()
        self.name = name
        self._digest: bytes | None = None
        self._cache = cache if model.cacheable else None
        if self._cache is not None:
            model.keep_spending(CacheLedger(self._cache.path))

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        """Return the responses in the order of the requests.

        Raises:
            ModelError: The model cannot be loaded, or broke its contract.
            CacheError: The response cache cannot be read or written.
        """
        found = dict(self.answers(requests))
        return [found[place] for place in range(len(requests))]

    def answers(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Yield the place of each request with its response, as it is known.

        Raises:
            ModelError: The model cannot be loaded, or broke its contract.
            CacheError: The response cache cannot be read or written.
        """
        if self._cache is None:
            yield from self._ask_model(requests)
            return
        cache = self._cache
        if self._digest is None:
            self._digest = cache.asked(self.name, self.fingerprint)
        digest = self._digest
        keys = [request_key(digest, request) for request in requests]
        known = cache.get(list(dict.fromkeys(keys)))
        places: dict[bytes, list[int]] = {}
        for key, request in dict(zip(keys, requests, strict=True)).items():
            if key in known and (problem := misfit(request, known[key])) is not None:
                cache.note_unusable(problem)
                del known[key]
        for place, key in enumerate(keys):
            if key in known:
                yield place, known[key]
            else:
                places.setdefault(key, []).append(place)
        missing = list(places)
        if not missing:
            return
        for index, response in self._ask_model([requests[places[key][0]] for key in missing]):
            key = missing[index]
            if response.error is None:
                # Each by itself, so that a kill at any moment loses no answer that was given.
                cache.put(digest, [(key, response)])
            first, *others = places[key]
            yield first, response
            again = response if response.error else replace(response, cached=True)
            yield from ((place, again) for place in others)

    def _ask_model(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        answered: set[int] = set()
        for index, response in self.model.answer(requests):
            if index in answered or not 0 <= index < len(requests):
                raise ModelError(f"the model's backend answered request {index} of {len(requests)} twice or not asked.")
            answered.add(index)
            problem = misfit(requests[index], response)
            if problem is not None:
                error = f"{self.name}: the answer does not fit its request: {problem}"
                response = Response(error=error, seconds=response.seconds)
            yield index, response
        if len(answered) != len(requests):
            raise ModelError(f"the model's backend answered {len(answered)} of {len(requests)} requests.")

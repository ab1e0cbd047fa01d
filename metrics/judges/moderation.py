"""A moderation endpoint with OpenAI's protocol, of OpenAI or any other server, as a judge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field

from harness import Judge, MetricError, PluginError, judge
from harness.backends import Redaction
from metrics.judges._json_post import Patience, post_json

_PROBE = "The library is open from nine to five."


@judge("moderation", source="OpenAI API reference, Create moderation, 2024")
class Moderation(Judge):
    """A service that answers ``POST {base_url}/moderations`` with a score for each category of harm.

    The probability is the largest score of the named categories, each including its subcategories (``hate/threatening``
    belongs to ``hate``); without categories it is 1 for a flagged text and 0 otherwise. The scores of OpenAI's endpoint
    are confidences that are not claimed to be calibrated, and they are about harm, not rudeness: compare numbers of
    this judge only with each other. The model behind an address can change without changing its name; use a model with
    a date in its name if there is one.

    Answers are not cached: a run that is started again sends its requests again. The key is read from the environment
    and neither stored nor shown.

    Args:
        base_url: The address up to the version, ``https://api.openai.com/v1``.
        model: The model's name at the service.
        api_key_env: The environment variable with the key; None if the service needs none.
        categories: Categories that count as toxic; none to use ``flagged``.
        batch_size: Number of texts per request.
        timeout: Time limit of a request, in seconds.
        attempts: Maximum number of attempts if the service is busy (429), fails (5xx) or cannot be reached.
        backoff: Seconds before the second attempt if the service does not say; doubled before each further one.
        longest_wait: Longest wait, in seconds, that the service may ask for.
    """

    def __init__(
        self,
        *,
        base_url: str = "https://api.openai.com/v1",
        model: str = "omni-moderation-2024-09-26",
        api_key_env: str | None = "OPENAI_API_KEY",
        categories: tuple[str, ...] = ("harassment", "hate"),
        batch_size: Annotated[int, Field(ge=1)] = 32,
        timeout: Annotated[float, Field(gt=0.0)] = 60.0,
        attempts: Annotated[int, Field(ge=1)] = 6,
        backoff: Annotated[float, Field(ge=0.0)] = 1.0,
        longest_wait: Annotated[float, Field(ge=0.0)] = 300.0,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise PluginError("judge 'moderation': base_url must begin with https:// or http:// and name a server.")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise PluginError(
                "judge 'moderation': base_url contains more than an address. It is stored with the results: put the "
                "key into an environment variable and set api_key_env to its name."
            )
        self._url, self._model, self._key_name = f"{base_url.rstrip('/')}/moderations", model, api_key_env
        self._categories, self._batch_size = categories, batch_size
        self._patience = Patience(timeout, attempts, backoff, longest_wait)
        self._answered = False

    def fingerprint(self) -> Mapping[str, Any]:
        return {"url": self._url, "model": self._model, "categories": list(self._categories)}

    def obstacle(self) -> str | None:
        try:
            self._key()
        except MetricError as error:
            return str(error)
        return None

    def ready(self) -> None:
        if not self._answered:
            self.probabilities([_PROBE])

    def probabilities(self, texts: Sequence[str]) -> list[float]:
        key = self._key()
        found: list[float] = []
        for start in range(0, len(texts), self._batch_size):
            batch = list(texts[start : start + self._batch_size])
            body = {"model": self._model, "input": batch}
            try:
                answer = post_json(self._url, body, key=key, patience=self._patience)
            except MetricError as error:
                raise MetricError(f"judge 'moderation': {error}") from error
            try:
                found += self._scores(answer, len(batch))
            except MetricError as error:
                # It contains text from the server, such as the names of categories.
                raise MetricError(Redaction([key or ""])(str(error))) from None
            self._answered = True
        return found

    def _key(self) -> str | None:
        if self._key_name is None:
            return None
        key = os.environ.get(self._key_name, "").strip()
        if not key:
            raise MetricError(f"judge 'moderation' needs a key: set the environment variable {self._key_name}.")
        if not (key.isascii() and key.isprintable()):
            raise MetricError(
                f"judge 'moderation': the key in {self._key_name} contains characters that a key cannot have."
            )
        return key

    def _scores(self, answer: Any, count: int) -> list[float]:
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise self._unusable("it has no list of results")
        if len(results) != count:
            raise self._unusable(f"it has {len(results)} results for {count} texts")
        return [self._score(result) for result in results]

    def _score(self, result: Any) -> float:
        if not isinstance(result, dict):
            raise self._unusable("a result is not an object")
        if not self._categories:
            flagged = result.get("flagged")
            if not isinstance(flagged, bool):
                raise self._unusable("a result does not say whether it is flagged")
            return float(flagged)
        scores = result.get("category_scores")
        if not isinstance(scores, dict):
            raise self._unusable("a result has no category_scores")
        chosen = [
            self._number(name, score) for name, score in scores.items() if self._counts(name) and score is not None
        ]
        if not chosen:
            raise self._unusable(
                f"it has no category {' or '.join(self._categories)}, only {', '.join(scores) or 'none'}; set "
                "categories to those that count as toxic"
            )
        return max(chosen)

    def _counts(self, name: str) -> bool:
        return any(name == category or name.startswith(f"{category}/") for category in self._categories)

    def _number(self, name: str, score: Any) -> float:
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0.0 <= score <= 1.0:
            raise self._unusable(f"the score of {name!r} is {score!r}, not a number from 0 to 1")
        return float(score)

    def _unusable(self, why: str) -> MetricError:
        return MetricError(f"judge 'moderation': the answer of {self._url} cannot be used: {why}.")

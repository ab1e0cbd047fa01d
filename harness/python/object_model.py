"""An object with ``generate`` or ``score`` as a model."""

from __future__ import annotations

import hashlib
import json
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from harness.contracts import Completion, GenerateRequest, Model, Prompt, Request, Response, ScoreRequest
from harness.errors import ModelError, reraise_interrupt, shown
from harness.installation import imported_module
from harness.models.tokens.stop_sequences import cut_at_stop
from harness.plugins.cell_source import cell_source, plain

ONCE = "once"
"""Key in the identity of an object whose answers cannot be identified: its value is never the same again."""

BATCH = 16
"""Requests that an object without ``batch_size`` is given at a time."""


class ObjectModel(Model):
    """Answers by calling an object that has one of these methods, or both:

    - ``generate(requests)`` gets a list of :class:`harness.GenerateRequest` and returns a list with an answer for each:
      a text, a :class:`harness.Completion`, a :class:`harness.Response`, or a list of texts where a request asks for
      several completions. Texts are cut at stop strings.
    - ``score(requests)`` gets a list of :class:`harness.ScoreRequest` or :class:`harness.SequenceRequest` and returns
      for each the natural log-probability of every token of the continuation, as a list, or a ``Response``.

    It may also have ``batch_size`` (requests at a time, 16), ``window`` (tokens), ``chat`` (True if it takes
    conversations), ``count_tokens(prompt)``, and ``fingerprint()``, which returns what changes its answers, as JSON
    values. Without that, these are its class's source, its numbers and texts, and the weights and settings of its
    networks (:func:`identity_of`).

    Args:
        name: Its name, for messages.
        given: The object.
        identity: What changes its answers.
        check: Called before each call of the object; what it raises ends the evaluation.
    """  # noqa: D415

    answers = frozenset({"generate", "score"})
    honours = frozenset({"temperature", "max_tokens", "system_prompt", "top_p", "top_k", "min_p"})

    def __init__(
        self, name: str, given: Any, identity: Mapping[str, Any], check: Callable[[], None] = lambda: None
    ) -> None:
        self._name, self._given, self._identity, self._check = name, given, identity, check
        self.look_ahead = max(1, int(getattr(given, "batch_size", BATCH)))  # type: ignore[misc]

    @property
    def window(self) -> int | None:
        found = getattr(self._given, "window", None)
        return found if isinstance(found, int) else None

    @property
    def chat(self) -> bool:
        return bool(getattr(self._given, "chat", False))

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "chat" in asks and not self.chat:
            return f"{self._name} does not take conversations; if it does, set its attribute chat to True."
        return None

    def fingerprint(self) -> Mapping[str, Any]:
        return {"backend": "live", **self._identity}

    def count_tokens(self, prompt: Prompt) -> int:
        count = getattr(self._given, "count_tokens", None)
        return int(count(prompt)) if callable(count) else 0

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        numbered = enumerate(requests)
        while part := list(islice(numbered, self.look_ahead)):
            for wanted, kind, read in (("generate", True, self._generated), ("score", False, self._scored)):
                asked = [(index, one) for index, one in part if isinstance(one, GenerateRequest) == kind]
                if asked:
                    answers = self._ask(wanted, [one for _, one in asked])
                    for (index, request), given in zip(asked, answers, strict=True):
                        yield index, given if isinstance(given, Response) else read(request, given)

    def _ask(self, method: str, requests: list[Request]) -> Sequence[Any]:
        """Call a method of the object.

        Raises:
            ModelError: It raised something, or did not give an answer to each request.
        """
        call: Callable[[list[Request]], Any] = getattr(self._given, method)
        self._check()
        try:
            answers = call(requests)
        except BaseException as error:
            reraise_interrupt(error)
            raise ModelError(f"{self._name}: {method} raised {type(error).__name__}: {error}") from error
        if isinstance(answers, str | bytes | Mapping) or not isinstance(answers, Iterable):
            raise ModelError(f"{self._name}: {method} must return a list of answers, not {shown(answers)}.")
        found = list(answers)
        if len(found) != len(requests):
            raise ModelError(f"{self._name}: {method} returned {len(found)} answers to {len(requests)} requests.")
        return found

    def _generated(self, request: Any, given: Any) -> Response:
        several = list(given) if isinstance(given, list | tuple) else [given]
        if len(several) != request.completions or not all(isinstance(one, str | Completion) for one in several):
            wanted = "a text" if request.completions == 1 else f"a list of {request.completions} texts"
            raise ModelError(f"{self._name}: generate must return {wanted} for each request, not {shown(given)}.")
        return Response(tuple(_cut(one, request.stop) for one in several), prompt_tokens=self._counted(request.prompt))

    def _scored(self, request: Request, given: Any) -> Response:
        if not isinstance(request, ScoreRequest):
            raise ModelError(f"{self._name}: score must return a harness.Response for a harness.SequenceRequest.")
        try:
            logprobs = tuple(float(number) for number in given)
        except (TypeError, ValueError):
            raise ModelError(
                f"{self._name}: score must return the log-probability of each token of the continuation, as a list, "
                f"not {shown(given)}."
            ) from None
        if not logprobs or not all(number <= 1e-6 for number in logprobs):  # also not NaN
            raise ModelError(f"{self._name}: score returned {shown(given)}; log-probabilities are at most 0.")
        return Response(
            logprobs=logprobs, prompt_tokens=self._counted(request.context), completion_tokens=len(logprobs)
        )

    def _counted(self, prompt: Prompt) -> int | None:
        return self.count_tokens(prompt) or None


def identity_of(given: Any) -> dict[str, Any]:
    """Return what identifies an object's answers: its own ``fingerprint()``, or else a digest.

    The digest is of its class's source, its numbers and texts, and of each ``torch.nn.Module`` among its attributes:
    weights, numbers, texts and configuration. If it has other attributes, whose content nobody knows, the identity is
    never the same again, so that no earlier result is taken for its own; a warning says so.

    Raises:
        ModelError: Its fingerprint is not made of JSON values.
    """
    own = getattr(given, "fingerprint", None)
    if callable(own):
        try:
            found: dict[str, Any] = json.loads(json.dumps(dict(own()), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"{type(given).__name__}.fingerprint() must return a mapping of JSON values ({error})."
            ) from None
        return found
    known, unknown = {}, []
    parts = {**_attributes(given), **({"its weights": given} if _is_network(given) else {})}
    for name, value in sorted(parts.items()):
        text = _network_digest(value) if _is_network(value) else plain(value)
        if text is None:
            unknown.append(name)
        else:
            known[name] = text
    source = f"{type(given).__qualname__}\n{cell_source(type(given))}\n{known}"
    identity = {"source": hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()}
    if not unknown:
        return identity
    warnings.warn(
        f"results of {type(given).__name__} are not reused, because these attributes may change its answers: "
        f"{', '.join(unknown)}. To reuse them, add a method fingerprint() that returns what changes its answers, as "
        "JSON values.",
        stacklevel=4,
    )
    return {**identity, ONCE: uuid.uuid4().hex}


def _attributes(given: Any) -> dict[str, Any]:
    """Return an object's attributes, also those in slots; without those that torch gives every module."""
    state = object.__getstate__(given)
    held, slots = state if isinstance(state, tuple) else (state, None)
    found = {**(held or {}), **(slots or {})}
    if _is_network(given):
        import torch

        found = {name: value for name, value in found.items() if name not in vars(torch.nn.Module())}
    return found


def _is_network(value: Any) -> bool:
    torch = imported_module("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _network_digest(network: Any) -> str | None:
    """Return a digest of a network: its weights, and the numbers, texts and configuration of its modules.

    None if some weights are not in this process.
    """
    from harness.models.transformers.in_memory import absent_weights, add_weights

    if absent_weights(network):
        return None
    digest = hashlib.sha256()
    for name, module in network.named_modules():
        held = {key: text for key, value in sorted(_attributes(module).items()) if (text := plain(value)) is not None}
        digest.update(f"{name} {type(module).__qualname__} {held}\n".encode("utf-8", "surrogatepass"))
    for key in ("config", "generation_config"):  # of transformers
        settings: Any = getattr(network, key, None)
        if hasattr(settings, "to_dict"):
            digest.update(f"{key} {json.dumps(settings.to_dict(), sort_keys=True, default=str)}\n".encode())
    add_weights(digest, network)
    return digest.hexdigest()


def _cut(given: str | Completion, stop: Sequence[str]) -> Completion:
    if isinstance(given, Completion):
        return given
    text, stopped = cut_at_stop(given, stop)
    return Completion(text, finish_reason="stop" if stopped else "unknown")

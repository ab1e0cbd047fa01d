"""The backend of a model that a program holds in memory, and the name that identifies it."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.contracts import Model, Prompt, Request, Response
from harness.contracts.models import IN_MEMORY
from harness.errors import ModelError, shown
from harness.python.object_model import ONCE, ObjectModel, identity_of
from harness.python.time_budget import Deadline

BACKEND = IN_MEMORY
"""The backend of models in memory; only the program that holds them has it."""

DIGITS = 8
"""Digits of a model's digest in its name."""


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model in memory, as a backend of its own."""

    backend: type[Model]
    """A class whose objects answer with the model."""
    own_name: str
    """Its default name."""
    digest: Callable[[], str]
    """Returns a digest of all that changes its answers: its weights, or its source."""

    def named(self, name: str) -> str:
        """Return a name with some digits of the digest, which no other model has."""
        return f"{safe_name(name)}@{self.digest()[:DIGITS]}"


def safe_name(name: str) -> str:
    """Return a name with only letters, digits and ``._-``, as models in memory have it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def live_model(model: Any, tokenizer: Any, deadline: Deadline) -> LiveModel:
    """Return the backend that answers with a model until a deadline.

    Raises:
        ModelError: It is nothing that can answer, or has no tokenizer.
    """
    if isinstance(model, type | str):
        raise ModelError(f"{shown(model)} is not a model in memory. To evaluate a model by its name, use harness.run.")
    if "transformers" in sys.modules and (inner := transformers_model(model)) is not None:
        return _of_transformers(inner, tokenizer, deadline)
    own = type(model).__name__
    if isinstance(model, Model):
        return LiveModel(_of_harness(model, deadline), own, lambda: _digest(dict(model.fingerprint())))
    methods = [method for method in ("generate", "score") if callable(getattr(model, method, None))]
    if not methods:
        raise ModelError(
            f"{shown(model)} cannot answer: it must be a model of transformers, a harness.Model, or an object with a "
            "method generate(requests) or score(requests)."
        )
    if tokenizer is not None:
        raise ModelError("tokenizer is for models of transformers; an object with generate or score has its own.")

    identity = identity_of(model)

    class Live(ObjectModel):
        answers = frozenset(methods)
        cacheable = ONCE not in identity

        def __init__(self, identifier: str) -> None:
            super().__init__(f"{BACKEND}:{identifier}", model, identity, deadline.check)

    return LiveModel(Live, own, lambda: _digest(identity))


def transformers_model(model: Any) -> Any:
    """Return a model of transformers without wrappers of training; None for anything else."""
    from transformers import PreTrainedModel

    from harness.models.transformers.in_memory import unwrapped

    inner = unwrapped(model)
    within = inner.get_base_model() if callable(getattr(inner, "get_base_model", None)) else inner  # peft's
    return inner if isinstance(within, PreTrainedModel) else None


def _of_transformers(model: Any, tokenizer: Any, deadline: Deadline) -> LiveModel:
    from harness.models.transformers import in_memory

    named = str(getattr(model.config, "name_or_path", "") or type(model).__name__).rstrip("/").rpartition("/")[2]
    if tokenizer is None:
        raise ModelError(
            f"{named} needs its tokenizer: evaluate(model, tokenizer=AutoTokenizer.from_pretrained(…), …)."
        )
    if not callable(tokenizer) or not hasattr(tokenizer, "eos_token_id"):
        raise ModelError(f"tokenizer is {shown(tokenizer)}, which is not a tokenizer of transformers.")
    in_memory.check_causal(model, named)
    tokens, known = getattr(tokenizer, "vocab_size", 0), getattr(model.config.get_text_config(), "vocab_size", 0)
    if tokens > known > 0:
        raise ModelError(f"the tokenizer has {tokens:,} tokens, but {named} knows {known:,}: it is another model's.")
    identity = cache(lambda: in_memory.identity_of(model, tokenizer))

    class Live(in_memory.InMemoryModel):
        def __init__(
            self,
            identifier: str,
            *,
            max_batch_tokens: int | None = None,
            chat: bool | None = None,
            chat_template_kwargs: dict[str, Any] | None = None,
        ) -> None:
            super().__init__(
                f"{BACKEND}:{identifier}",
                model,
                tokenizer,
                identity(),
                max_batch_tokens=max_batch_tokens,
                chat=chat,
                chat_template_kwargs=chat_template_kwargs,
            )

        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            hook = model.register_forward_pre_hook(lambda *_: deadline.check())  # a batch may take long
            try:
                yield from super().answer(requests)
            finally:
                hook.remove()

        # Prompts of long texts are built with these, which may take longer than the model.
        def count_tokens(self, prompt: Prompt) -> int:
            deadline.check()
            return super().count_tokens(prompt)

        def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
            deadline.check()
            return super().count_segments(segments)

        def truncate(self, text: str, tokens: int) -> str:
            deadline.check()
            return super().truncate(text, tokens)

    return LiveModel(Live, named, identity)


def _of_harness(model: Model, deadline: Deadline) -> type[Model]:
    """Return a class that wraps a model and never closes it, since its owner may go on using it."""

    def told(name: str) -> property:
        return property(lambda self: getattr(model, name))

    def answer(self: Model, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        for answered in model.answer(requests):
            yield answered
            deadline.check()

    names = [name for name in vars(Model) if not name.startswith("_") and name != "close"]
    members: dict[str, Any] = {name: told(name) for name in names}
    for name in ("answers", "honours", "gives_logprobs", "cacheable", "look_ahead"):  # also asked of the class
        members[name] = getattr(model, name)
    members["operational"] = frozenset()
    members["answer"] = answer
    members["__init__"] = lambda self, identifier: None
    return type("Live", (Model,), members)


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=repr).encode()).hexdigest()

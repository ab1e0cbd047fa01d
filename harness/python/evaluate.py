"""``harness.evaluate``: a model that is in memory."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Unpack

from harness.contracts import Model
from harness.contracts.plugins import BackendDetails, Kind, Plugin
from harness.errors import HarnessError, ModelError, shown
from harness.python.object_model import ObjectModel, identity_of
from harness.python.options import AnyPath, Entry, Options, check_options, read_settings, read_sweep
from harness.python.plugins import objects_of, registry_with
from harness.python.results import Results
from harness.python.run import execute
from harness.sweeps.executor_keys import LocalKeys

BACKEND = "live"
"""The backend of models in memory; only the program that holds them has it."""

DIGITS = 8
"""Digits of a model's digest in its name."""


def evaluate(
    model: Any,
    sweep: AnyPath | Mapping[str, Any] | None = None,
    *,
    runs: Sequence[Entry] | None = None,
    tokenizer: Any = None,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Results:
    """Evaluate a model that is in memory, and return the results of its runs.

    A transformers model answers as it is: on its device, in its precision, without a second copy of its weights. While
    it answers it is in evaluation mode, and afterwards in its own mode again, so that a training loop can go on::

        results = harness.evaluate(model, tokenizer=tokenizer, runs=["boolq"], name=f"run-7/step-{step}")

    Finished runs are skipped, and an interrupted call continues when it is repeated, if the model is the same one: the
    same weights, configuration and tokenizer, or the same object (:class:`harness.python.object_model.ObjectModel`
    says what an object with ``generate`` or ``score`` must do, and what identifies it).

    Args:
        model: A causal language model of transformers, an object with ``generate`` or ``score``, or a
            :class:`harness.Model`.
        sweep: As for :func:`harness.run`; its models are replaced.
        runs: Runs instead of a sweep.
        tokenizer: The tokenizer of a transformers model.
        name: Name of the model in results. Results of another model with the same name are replaced (default: its own
            name with a digest of its weights or source, which no other model has).
        settings: Keys of a model's entry in a sweep, such as ``temperature``, ``display_name`` or ``about``; for a
            transformers model also ``max_batch_tokens``, ``chat`` and ``chat_template_kwargs``.
        **options: As for :func:`harness.run`.

    Raises:
        ModelError: The model cannot be evaluated in memory, for example because it has no tokenizer.
        SpecError: The sweep has errors.
        HarnessError: It cannot run here, or the disk failed.
        TypeError: There is no such argument.
    """
    check_options(options, "evaluate", ("model", "sweep", "runs", "tokenizer", "name", "settings"))
    if settings is not None and not isinstance(settings, Mapping):
        raise HarnessError(f"settings must be a mapping, for example {{'temperature': 0.7}}, not {shown(settings)}.")
    registry = registry_with(objects_of(options.get("plugins", ())))
    target, default = _backend(model, tokenizer)
    registry.add(Plugin(Kind.BACKEND, BACKEND, target, "A model in memory.", "", "harness.evaluate", BackendDetails()))
    entry = {"name": f"{BACKEND}:{default() if name is None else name}", **(settings or {})}
    if "name" in (settings or {}):
        raise HarnessError("settings: the model is the one that is given; to name it, write name=….")
    if "resources" in entry:
        raise HarnessError("settings: a model in memory takes no `resources`; it is where it is.")
    found = read_sweep(sweep, runs, [entry], registry, options)
    return execute(found, registry, read_settings(options), LocalKeys(heads=1), options)


def _backend(model: Any, tokenizer: Any) -> tuple[type[Model], Callable[[], str]]:
    """Return a class whose objects answer with a model, and a function that returns the model's own name.

    Raises:
        ModelError: It is nothing that can answer, or has no tokenizer.
    """
    if isinstance(model, type | str):
        raise ModelError(f"{shown(model)} is not a model in memory. To evaluate a model by its name, use harness.run.")
    if "transformers" in sys.modules and (inner := _of_transformers(model)) is not None:
        return _transformers_backend(inner, tokenizer)
    if isinstance(model, Model):
        return _model_backend(model), lambda: _named(type(model).__name__, _digest(dict(model.fingerprint())))
    methods = [method for method in ("generate", "score") if callable(getattr(model, method, None))]
    if not methods:
        raise ModelError(
            f"{shown(model)} cannot answer: it must be a model of transformers, a harness.Model, or an object with a "
            "method generate(requests) or score(requests)."
        )
    if tokenizer is not None:
        raise ModelError("tokenizer is for models of transformers; an object with generate or score has its own.")

    class Live(ObjectModel):
        answers = frozenset(methods)

        def __init__(self, identifier: str) -> None:
            super().__init__(f"{BACKEND}:{identifier}", model)

    return Live, lambda: _named(type(model).__name__, _digest(identity_of(model)))


def _of_transformers(model: Any) -> Any:
    """Return a model of transformers without wrappers of training; None for anything else."""
    from transformers import PreTrainedModel

    from harness.models.transformers.in_memory import unwrapped

    inner = unwrapped(model)
    within = inner.get_base_model() if callable(getattr(inner, "get_base_model", None)) else inner  # peft's
    return inner if isinstance(within, PreTrainedModel) else None


def _transformers_backend(model: Any, tokenizer: Any) -> tuple[type[Model], Callable[[], str]]:
    from harness.models.transformers import in_memory

    named = str(getattr(model.config, "name_or_path", "") or type(model).__name__).rstrip("/").rpartition("/")[2]
    if tokenizer is None:
        raise ModelError(
            f"{named} needs its tokenizer: evaluate(model, tokenizer=AutoTokenizer.from_pretrained(…), …)."
        )
    if not callable(tokenizer) or not hasattr(tokenizer, "eos_token_id"):
        raise ModelError(f"tokenizer is {shown(tokenizer)}, which is not a tokenizer of transformers.")
    in_memory.check_causal(model, named)
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

    return Live, lambda: _named(named, identity())


def _model_backend(model: Model) -> type[Model]:
    """Return a class that wraps a model and never closes it, since its owner may go on using it."""

    def told(name: str) -> property:
        return property(lambda self: getattr(model, name))

    names = [name for name in vars(Model) if not name.startswith("_") and name != "close"]
    members: dict[str, Any] = {name: told(name) for name in names}
    for name in ("answers", "honours", "gives_logprobs", "cacheable", "look_ahead"):  # also asked of the class
        members[name] = getattr(model, name)
    members["operational"] = frozenset()
    members["__init__"] = lambda self, identifier: None
    return type("Live", (Model,), members)


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=repr).encode()).hexdigest()


def _named(name: str, digest: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}@{digest[:DIGITS]}"

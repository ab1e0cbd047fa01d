"""Evaluating a model leaves no trace: what it changes in the model, the tokenizer and the process is put back.

A training that goes on afterwards ends with the same weights, bit for bit, as one that was never evaluated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from harness.installation import imported_module

if TYPE_CHECKING:
    import torch

_PLAIN = (bool, int, float, str, type(None))


@contextmanager
def undisturbed(model: Any = None, tokenizer: Any = None) -> Iterator[None]:
    """Put everything back as it was: generators of random numbers, modules' modes, buffers and flags, the tokenizer.

    Args:
        model: A ``torch.nn.Module``, or None.
        tokenizer: A tokenizer of transformers, or None.
    """
    with ExitStack() as kept:
        kept.enter_context(_random_numbers())
        if model is not None:
            kept.enter_context(_modules(model))
        if hasattr(tokenizer, "eos_token_id"):
            kept.enter_context(_tokenizer(tokenizer))
        yield


@contextmanager
def _random_numbers() -> Iterator[None]:
    """Keep the global generators of Python, NumPy and PyTorch, of those that are loaded."""
    python = random.getstate()
    numpy, torch = imported_module("numpy"), imported_module("torch")
    numpys = None if numpy is None else numpy.random.get_state()
    cpu = None if torch is None else torch.get_rng_state()
    cards = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
    metal = torch.mps.get_rng_state() if torch is not None and torch.backends.mps.is_available() else None
    try:
        yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(numpys)
        if torch is not None:
            torch.set_rng_state(cpu)
            if cards is not None:
                torch.cuda.set_rng_state_all(cards)
            if metal is not None:
                torch.mps.set_rng_state(metal)


@contextmanager
def _modules(model: torch.nn.Module) -> Iterator[None]:
    """Keep each module's buffers, its mode and its other flags and numbers.

    Rotary embeddings replace their frequencies, and note the length that these are for, when they see a longer text.
    """
    kept = [
        (
            module,
            dict(module._buffers),
            {name: value for name, value in vars(module).items() if isinstance(value, _PLAIN)},
        )
        for module in model.modules()
    ]
    try:
        yield
    finally:
        for module, buffers, flags in kept:
            module._buffers.clear()
            module._buffers.update(buffers)
            vars(module).update(flags)


@contextmanager
def _tokenizer(tokenizer: Any) -> Iterator[None]:
    """Keep how a tokenizer pads and truncates, and which tokens it adds."""
    names = ("padding_side", "truncation_side", "model_max_length", "pad_token", "add_bos_token", "add_eos_token")
    settings = {name: getattr(tokenizer, name) for name in names if hasattr(tokenizer, name)}
    backend = getattr(tokenizer, "backend_tokenizer", None)
    truncation, padding = getattr(backend, "truncation", None), getattr(backend, "padding", None)
    try:
        yield
    finally:
        for name, value in settings.items():
            if getattr(tokenizer, name) != value:  # setting some of them builds the post-processor anew
                setattr(tokenizer, name, value)
        if backend is not None:
            _set(backend.enable_truncation, backend.no_truncation, truncation)
            _set(backend.enable_padding, backend.no_padding, padding)


def _set(enable: Any, disable: Any, wanted: dict[str, Any] | None) -> None:
    if wanted is None:
        disable()
    else:
        enable(**wanted)

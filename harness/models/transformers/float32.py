"""Computing in float32 with a model whose weights are in 16 bits, to see which of two answers is nearer to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def all_in_16_bits(model: Any) -> bool:
    """Return True if all weights are in one type of 16 bits: none is quantised or kept in another precision."""
    import torch

    kinds = {parameter.dtype for parameter in model.parameters()}
    return len(kinds) == 1 and kinds <= {torch.bfloat16, torch.float16}


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Have a model compute in float32; the weights of one module at a time are converted, while it runs."""
    original: dict[torch.nn.Module, dict[str, Any]] = {}

    def widen(module: torch.nn.Module, *_: Any) -> None:
        original[module] = dict(module._parameters)
        for name, weight in original[module].items():
            if weight is not None:
                module._parameters[name] = weight.float()

    def restore(module: torch.nn.Module, *_: Any) -> None:
        module._parameters.update(original.pop(module, {}))

    handles = []
    for module in model.modules():
        if module._parameters:
            handles += [module.register_forward_pre_hook(widen), module.register_forward_hook(restore)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for module in list(original):  # a pass that failed leaves some behind
            restore(module)

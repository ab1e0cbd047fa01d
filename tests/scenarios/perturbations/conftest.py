"""Instances to perturb, and the texts that came of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from harness import Instance, Reference

Perturb = Callable[..., Instance]


def instance(text: str, *references: str) -> Instance:
    """An instance whose first reference is right."""
    return Instance("test-1", text, tuple(Reference(answer, index == 0) for index, answer in enumerate(references)))


def perturbed(perturb: Perturb, text: str, seed: int = 0, **parameters: Any) -> str:
    return perturb(instance(text, "Yes", "No"), Random(seed), **parameters).input

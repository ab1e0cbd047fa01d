"""Random generators derived from a run's seed and the name of their purpose."""

from __future__ import annotations

import hashlib
import random


def derive_seed(seed: int, purpose: str) -> int:
    """Return a 64-bit seed that depends on the run's seed and on the purpose alone.

    The purpose names what the numbers are for, for example ``few-shot/trial=0``.
    """
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def derive_rng(seed: int, purpose: str) -> random.Random:
    """Return a separate generator for one purpose (see :func:`derive_seed`)."""
    return random.Random(derive_seed(seed, purpose))  # noqa: S311 - reproducible sampling, not secrets

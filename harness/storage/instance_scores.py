"""The main metric's score of every instance of a run, small enough for run.json, so that boards compare pairwise."""

from __future__ import annotations

import base64
import binascii
import hashlib
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.contracts import Instance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES = 6
"""Bytes of an instance's key: among 100,000 instances two share one with probability 2e-5."""

_SCORE_BYTES = 4


@dataclass(frozen=True, slots=True)
class InstanceScores:
    """Scores by instance."""

    keys: bytes
    """The instances' keys (:func:`instance_key`) in ascending order, one after the other."""
    packed: bytes
    """Their scores as little-endian 32-bit floating-point numbers in the same order, compressed by zlib."""

    @classmethod
    def of(cls, scores: Iterable[tuple[bytes, float]]) -> InstanceScores:
        """Return the scores of instances given with their keys."""
        ordered = sorted(scores)
        values = array("f", (score for _, score in ordered))
        if sys.byteorder == "big":
            values.byteswap()
        return cls(b"".join(key for key, _ in ordered), zlib.compress(values.tobytes(), 6))

    @classmethod
    def from_json(cls, value: Any) -> InstanceScores:
        """Return what :meth:`to_json` gave.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(value, Mapping) or not all(isinstance(value.get(key), str) for key in ("keys", "scores")):
            raise ValueError("'instance_scores' must have 'keys' and 'scores', both base64")
        try:
            keys, packed = (base64.b64decode(value[key], validate=True) for key in ("keys", "scores"))
        except binascii.Error as error:
            raise ValueError(f"'instance_scores' is not base64 ({error})") from None
        found = cls(keys, packed)
        if len(keys) % KEY_BYTES:
            raise ValueError("'instance_scores' has a broken list of keys")
        found._unpacked()
        return found

    def to_json(self) -> dict[str, str]:
        """Return a JSON value."""
        return {"keys": base64.b64encode(self.keys).decode(), "scores": base64.b64encode(self.packed).decode()}

    def __len__(self) -> int:
        return len(self.keys) // KEY_BYTES

    def scores(self) -> NDArray[np.float64]:
        """Return the scores in the order of the keys."""
        import numpy as np

        return np.frombuffer(self._unpacked(), dtype="<f4").astype(np.float64)

    def numbered_keys(self) -> NDArray[np.uint64]:
        """Return the keys as numbers."""
        import numpy as np

        padded = np.zeros((len(self), 8), dtype=np.uint8)
        padded[:, 8 - KEY_BYTES :] = np.frombuffer(self.keys, dtype=np.uint8).reshape(-1, KEY_BYTES)
        numbers: NDArray[np.uint64] = padded.view(">u8").ravel().astype(np.uint64)
        return numbers

    def _unpacked(self) -> bytes:
        size = len(self) * _SCORE_BYTES
        try:
            reader = zlib.decompressobj()
            unpacked = reader.decompress(self.packed, size + 1)
        except zlib.error as error:
            raise ValueError(f"'instance_scores' has damaged scores ({error})") from None
        if len(unpacked) != size or not reader.eof:
            raise ValueError("'instance_scores' does not have one score for each key")
        return unpacked


def instance_key(instance: Instance) -> bytes:
    """Return a key by which runs recognise the same instance: a digest of its id, text and references."""
    asked = (instance.id, instance.input, *((reference.text, reference.correct) for reference in instance.references))
    return hashlib.blake2b(repr(asked).encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()

"""The main metric's score of every instance of a run, small enough for run.json, so that boards compare pairwise."""

from __future__ import annotations

import base64
import binascii
import hashlib
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.contracts import Instance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES = 6
"""Bytes of an instance's key: among 100,000 instances two share one with probability 2e-5."""

_SCORE_BYTES = 4
"""Bytes of a score, and of a cluster's number."""


@dataclass(frozen=True, slots=True)
class InstanceScores:
    """Scores by instance."""

    keys: bytes
    """The instances' keys (:func:`instance_key`) in ascending order, one after the other."""
    packed: bytes
    """Their scores as little-endian 32-bit floating-point numbers in the same order, compressed by zlib."""
    packed_clusters: bytes = b""
    """Their clusters as little-endian 32-bit numbers, likewise; empty if instances are independent."""

    @classmethod
    def of(cls, given: Iterable[tuple[bytes, float]], clusters: Sequence[int] | None = None) -> InstanceScores:
        """Return the scores of instances given with their keys, and with their clusters (:func:`cluster_number`)."""
        scores = list(given)
        order = sorted(range(len(scores)), key=scores.__getitem__)
        packed = _packed(array("f", (scores[place][1] for place in order)))
        grouped = b"" if clusters is None else _packed(array("I", (clusters[place] for place in order)))
        return cls(b"".join(scores[place][0] for place in order), packed, grouped)

    @classmethod
    def from_json(cls, value: Any) -> InstanceScores:
        """Return what :meth:`to_json` gave.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(value, Mapping) or not all(isinstance(value.get(key), str) for key in ("keys", "scores")):
            raise ValueError("'instance_scores' must have 'keys' and 'scores', both base64")
        names = ("keys", "scores", "clusters") if "clusters" in value else ("keys", "scores")
        if not all(isinstance(value[name], str) for name in names):
            raise ValueError("'instance_scores' must have base64 texts only")
        try:
            parts = [base64.b64decode(value[name], validate=True) for name in names]
        except binascii.Error as error:
            raise ValueError(f"'instance_scores' is not base64 ({error})") from None
        found = cls(*parts)
        if len(found.keys) % KEY_BYTES:
            raise ValueError("'instance_scores' has a broken list of keys")
        found._unpacked(found.packed)
        if found.packed_clusters:
            found._unpacked(found.packed_clusters)
        return found

    def to_json(self) -> dict[str, str]:
        """Return a JSON value."""
        parts = {"keys": self.keys, "scores": self.packed}
        if self.packed_clusters:
            parts["clusters"] = self.packed_clusters
        return {name: base64.b64encode(part).decode() for name, part in parts.items()}

    def __len__(self) -> int:
        return len(self.keys) // KEY_BYTES

    def scores(self) -> NDArray[np.float64]:
        """Return the scores in the order of the keys."""
        import numpy as np

        return np.frombuffer(self._unpacked(self.packed), dtype="<f4").astype(np.float64)

    def clusters(self) -> NDArray[np.uint32] | None:
        """Return the clusters in the order of the keys; None if instances are independent."""
        import numpy as np

        if not self.packed_clusters:
            return None
        return np.frombuffer(self._unpacked(self.packed_clusters), dtype="<u4").astype(np.uint32)

    def by_key(self) -> dict[bytes, float]:
        """Return each instance's score by its key."""
        keys = (self.keys[at : at + KEY_BYTES] for at in range(0, len(self.keys), KEY_BYTES))
        return dict(zip(keys, map(float, self.scores()), strict=True))

    def numbered_keys(self) -> NDArray[np.uint64]:
        """Return the keys as numbers."""
        import numpy as np

        padded = np.zeros((len(self), 8), dtype=np.uint8)
        padded[:, 8 - KEY_BYTES :] = np.frombuffer(self.keys, dtype=np.uint8).reshape(-1, KEY_BYTES)
        numbers: NDArray[np.uint64] = padded.view(">u8").ravel().astype(np.uint64)
        return numbers

    def _unpacked(self, packed: bytes) -> bytes:
        size = len(self) * _SCORE_BYTES
        try:
            reader = zlib.decompressobj()
            unpacked = reader.decompress(packed, size + 1)
        except zlib.error as error:
            raise ValueError(f"'instance_scores' has damaged scores ({error})") from None
        if len(unpacked) != size or not reader.eof:
            raise ValueError("'instance_scores' does not have one score, or one cluster, for each key")
        return unpacked


def _packed(values: array[float] | array[int]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return zlib.compress(values.tobytes(), 6)


def cluster_number(instance: str, meta: Mapping[str, Any], key: str) -> int:
    """Return a number of 32 bits that instances with the same value under a key of their meta share.

    An instance without a value is a cluster of its own.

    Args:
        instance: The instance's id.
        meta: Its meta data.
        key: The key.
    """
    value = meta.get(key)
    what = ("instance", instance) if value is None or value == "" else ("cluster", str(value))
    return int.from_bytes(hashlib.blake2b(repr(what).encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")


def instance_key(instance: Instance) -> bytes:
    """Return a key by which runs recognise the same instance: a digest of its id, text and references."""
    asked = (instance.id, instance.input, *((reference.text, reference.correct) for reference in instance.references))
    return hashlib.blake2b(repr(asked).encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()

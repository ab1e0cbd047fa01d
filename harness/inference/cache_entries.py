"""Entries of the response cache: a model's digest, a request's key, and an answer as it is stored.

A key is a digest of the model's fingerprint and the request: everything that changes an answer, and nothing else.
Values are JSON, compressed.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harness.contracts import Request, Response, SequenceRequest
from harness.inference.salvage import unpack
from harness.storage.encoding import decode_response, encode_order, encode_request, encode_response

GPU = "gpu"
"""Key of a fingerprint: the kinds of GPU, if they can change answers, as with 16-bit weights."""

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Exceptions that decoding a damaged value can raise."""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model whose answers the cache has or had."""

    digest: bytes
    """Its :func:`fingerprint_digest`."""
    name: str
    """Its name when it was last asked, ``backend:identifier``."""
    fingerprint: Mapping[str, Any]
    """What :meth:`harness.Model.fingerprint` returned."""
    used: int
    """Time when it was last asked, in seconds since 1970, even if the cache answered."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer in the cache."""

    key: bytes
    """The :func:`request_key` of model and request."""
    model: bytes
    """The model's digest."""
    created: int
    """Time of the answer, in seconds since 1970."""
    response: Response
    """The answer."""
    origin: bytes | None = None
    """SHA-256 of the file from which it was imported; None if it was not."""


def asked_model(name: str, fingerprint: Mapping[str, Any], used: int | None = None) -> CachedModel:
    """Return a model that is asked now, or that was asked at the time ``used``."""
    digest = fingerprint_digest(name.partition(":")[0], fingerprint)
    return CachedModel(digest, name, dict(fingerprint), int(time.time()) if used is None else used)


def of_other_gpus(model: bytes, known: Iterable[CachedModel]) -> list[tuple[bytes, str]]:
    """Return the models that differ from a model only in the kind of GPU, each with that kind, sorted by it.

    Args:
        model: The model's digest.
        known: All models, including that one.
    """
    known = list(known)
    own = {_apart_from_gpu(one) for one in known if one.digest == model}
    found = {one.digest: _gpu(one) for one in known if one.digest != model and _apart_from_gpu(one) in own}
    return sorted(found.items(), key=lambda item: (item[1], item[0]))


def _apart_from_gpu(model: CachedModel) -> bytes:
    kept = {key: value for key, value in model.fingerprint.items() if key != GPU}
    return fingerprint_digest(model.name.partition(":")[0], kept)


def _gpu(model: CachedModel) -> str:
    kinds = model.fingerprint.get(GPU, ())
    return (kinds if isinstance(kinds, str) else " and ".join(map(str, kinds))) or "no GPU"


def pack_response(response: Response) -> bytes:
    """Return a response as the cache stores it: compressed JSON."""
    return zlib.compress(_dump(encode_response(replace(response, imported=None, other_gpu=None))), 1)


def unpack_response(value: bytes) -> Response:
    """Return the response that :func:`pack_response` packed.

    Raises:
        ValueError: It is damaged.
    """
    try:
        return decode_response(json.loads(unpack(value)), cached=True)
    except _UNREADABLE as error:
        raise ValueError(str(error)) from error


def fingerprint_digest(backend: str, fingerprint: Mapping[str, Any]) -> bytes:
    """Return a digest of everything about a model that changes its answers.

    Args:
        backend: The backend's name.
        fingerprint: What :meth:`harness.Model.fingerprint` returned.
    """
    return hashlib.blake2b(_dump([backend, dict(fingerprint)]), digest_size=16).digest()


def request_key(model: bytes, request: Request) -> bytes:
    """Return the cache key of a request to the model with that fingerprint digest."""
    if isinstance(request, SequenceRequest):
        body = _segments_digest(request.segments) + _dump(encode_order(request))
    else:
        body = _dump(encode_request(request))
    return hashlib.blake2b(model + body, digest_size=16).digest()


@lru_cache(maxsize=1024)
def _segments_digest(segments: tuple[str, ...]) -> bytes:
    # Many orders share their segments, which are digested once.
    return hashlib.blake2b(_dump(["sequence", *segments]), digest_size=16).digest()


def encode_fingerprint(fingerprint: Mapping[str, Any]) -> str:
    """Return a fingerprint as the cache stores it."""
    return _dump(dict(fingerprint)).decode()


def _dump(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

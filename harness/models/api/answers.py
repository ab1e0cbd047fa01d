"""Reading a server's answers: JSON that is checked before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.backends import Served
from harness.models.api.retries import UnusableAnswerError

Count = Annotated[int, Field(ge=0)]
M = TypeVar("M", bound="Answer")

_QUOTED = 2000
"""Bytes of an unusable answer that its message quotes; the message is shortened after secrets are removed."""


class Checked(BaseModel):
    """A part of an answer; fields that it does not name are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class Answer(Checked):
    """Fields that every answer may have."""

    error: Any = None
    model: str | None = None
    system_fingerprint: str | None = None

    @property
    def served(self) -> tuple[Served, ...]:
        """The model and configuration that the server reports; empty if it does not."""
        served = Served(self.model or None, self.system_fingerprint or None)
        return (served,) if served != Served() else ()


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer that did not come by itself but in a batch."""

    content: bytes
    """The JSON text."""


def read_answer(kind: type[M], raw: Any) -> M:
    """Return the answer in an HTTP response.

    Raises:
        UnusableAnswerError: It is not JSON, not of that form, or an error.
    """
    body = bytes(raw.content)
    try:
        answer = kind.model_validate_json(body)
    except ValidationError as error:
        _refuse_error(body)
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        shown = body[:_QUOTED].decode("utf-8", "replace")
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise UnusableAnswerError(f"{problem}; it begins {shown!r}" if body else "empty body") from None
    if answer.error:
        raise UnusableAnswerError(f"an error with status 200: {error_text(answer.error)}")
    return answer


def error_text(error: Any) -> str:
    """Return what an error in an answer says."""
    if isinstance(error, Mapping):
        said = [str(error[key]) for key in ("code", "type", "message") if error.get(key)]
        return ": ".join(said) or "no reason given"
    return str(error)


def _refuse_error(body: bytes) -> None:
    try:
        error = Answer.model_validate_json(body).error
    except ValidationError:
        return
    if error:
        raise UnusableAnswerError(f"an error with status 200: {error_text(error)}") from None

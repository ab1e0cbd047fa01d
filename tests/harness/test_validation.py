"""How pydantic's errors are explained: one diagnostic for each key that is wrong."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.validation import explain


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = 0
    text: str = ""


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    count: Annotated[int, Field(ge=1)] = 1
    colour: Annotated[Colour, Field(strict=False)] = Colour.RED
    colours: list[Annotated[Colour, Field(strict=False)]] = []
    agreed: Literal[True] = True
    answer: Literal["last", "first"] | Inner = "last"
    parts: list[Inner] = []


@pytest.mark.parametrize(
    ("data", "path", "message", "hint"),
    [
        ({}, "name", "required", ""),
        ({"name": "a", "nmae": 1}, "nmae", "not a key", "Did you mean 'name'?"),
        ({"name": "a", "count": 0}, "count", "at least 1, not 0", ""),
        ({"name": "a", "count": "x"}, "count", "a whole number, not 'x'", ""),
        ({"name": "a", "count": None}, "count", "a whole number, not null", ""),
        ({"name": {"?": 1}}, "name", "text, not a mapping", "in quotes"),
        ({"name": "a", "parts": "b"}, "parts", "a list, not 'b'", "Write [b]."),
        ({"name": "a", "parts": [{}, {"sise": 1}]}, "parts[1].sise", "not a key", "Did you mean 'size'?"),
        ({"name": "a", "colour": "rde"}, "colour", "'rde' is not one of the choices", "Did you mean 'red'?"),
        ({"name": "a", "colours": ["red", "bleu"]}, "colours[1]", "'bleu'", "Did you mean 'blue'?"),
        ({"name": "a", "agreed": False}, "agreed", "false is not one of the choices", "true"),
        ({"name": "a", "answer": "lst"}, "answer", "'lst' is not one of the choices", "Did you mean 'last'?"),
        ({"name": "a", "answer": {"sise": 1}}, "answer.sise", "not a key", "Did you mean 'size'?"),
    ],
)
def test_each_wrong_key_is_explained_once(data: dict[str, Any], path: str, message: str, hint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(data)
    (found,) = explain(caught.value, Outer, data)
    assert found.path == path
    assert message in found.message
    assert hint in found.hint

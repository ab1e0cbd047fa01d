"""Requests and responses travel to other processes as they are."""

from __future__ import annotations

import pickle

import pytest

from harness import Completion, GenerateRequest, Message, Origin, Reasoning, Response, ScoreRequest, SequenceRequest
from harness.backends import Served


@pytest.mark.parametrize(
    "value",
    [
        GenerateRequest(
            (Message("user", "a"),),
            5,
            stop=("b",),
            top_p=0.5,
            reasoning=Reasoning(keep=True),
            origin=Origin("7", turn=2),
        ),
        ScoreRequest("a", "b", origin=Origin("7", "typos")),
        SequenceRequest(("a", "b"), (1, 0), scored=1, max_scored_tokens=3),
        Response((Completion("", -0.5, 3, "tool_call", ({"x": -0.1},)),), served=(Served("m"),), seconds=0.1),
        Response(logprobs=(-0.1, float("-inf")), greedy=False, truncated=True, cached=True, imported="f"),
        Response(error="no"),
    ],
)
def test_a_copy_is_equal(value: object) -> None:
    copy = pickle.loads(pickle.dumps(value))  # noqa: S301
    assert copy == value
    assert repr(copy) == repr(value)
    assert getattr(copy, "origin", None) == getattr(value, "origin", None)

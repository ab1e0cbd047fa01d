"""Twins from files and from a model."""

from __future__ import annotations

from typing import Any

import pytest

from harness.contamination.sealing.rewriting import rewritten, twins_of_files
from harness.contracts import Completion, GenerateRequest, Response
from harness.errors import DataError, ModelError

ROWS = [{"q": "Who?", "a": 1}, {"q": "Where?", "a": 2}]


def test_twins_have_the_rows_columns_and_another_content() -> None:
    files = [
        ("b", [{"a": 1, "q": "Which person?"}, ROWS[1]]),
        ("c", [{"q": "Which person?", "a": 1}, {"q": "X", "a": 2}]),
    ]
    found = twins_of_files(ROWS, files)
    assert found == [[{"q": "Which person?", "a": 1}], [{"q": "X", "a": 2}]]
    assert list(found[0][0]) == ["q", "a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [([ROWS[0]], "has 1 rows, but the data set has 2"), ([ROWS[0], {"q": "X"}], "has the columns 'q'")],
)
def test_files_that_do_not_fit(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        twins_of_files(ROWS, [("b", rows)])


class Rewriter:
    """Answers with the text in capitals, or fails."""

    def __init__(self, *, chat: bool, error: str | None = None) -> None:
        self.chat, self._error = chat, error
        self.asked: list[Any] = []

    def ask(self, requests: list[GenerateRequest]) -> list[Response]:
        self.asked = [request.prompt for request in requests]
        if self._error:
            return [Response(error=self._error) for _ in requests]
        return [
            Response((Completion("Where?" if "Where?" in str(request.prompt) else " WHO? "),)) for request in requests
        ]


@pytest.mark.parametrize("chat", [True, False])
def test_a_model_rewrites_one_column(chat: bool) -> None:
    model: Any = Rewriter(chat=chat)
    assert rewritten(ROWS, "q", model, "fake:0") == [[{"q": "WHO?", "a": 1}], []]
    first = model.asked[0][0].content if chat else model.asked[0]
    assert "Who?" in str(first)


def test_what_cannot_be_rewritten() -> None:
    model: Any = Rewriter(chat=False)
    with pytest.raises(DataError, match="row 1 has no text in the column 'a'"):
        rewritten(ROWS, "a", model, "fake:0")
    failing: Any = Rewriter(chat=False, error="no room.")
    with pytest.raises(ModelError, match="no room"):
        rewritten(ROWS, "q", failing, "fake:0")

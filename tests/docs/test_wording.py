"""What is said of contamination: models depend on a published order; no text claims more, or calls a model clean."""

from __future__ import annotations

import re

import pytest

from docs.write_reference import reference_pages
from tests.docs.pages import ROOT

CLAIMS = re.compile(
    r"\b(has|have|had)( never| not)? seen (the|a|it|that|this|these|those|test|data|bench)"
    r"|\bhave( never| not)? (seen|read) (the|a|any|these) (data|test|bench|set|file|row|question)"
    r"|\bcannot have (seen|read)\b"
    r"|\bproves? that (the|a) model\b|\bproves nothing\b"
    r"|\b(is|are) (not contaminated|clean)\b",
    re.IGNORECASE,
)
"""Claims that no test of the order supports."""

DENIALS = ("no report says that a model is clean", "none says that a model is clean")

FILES = sorted(
    path
    for pattern in ("README.md", "docs/**/*.md", "harness/**/*.js", "harness/cli/*.py", "harness/contamination/**/*.py",
                    "harness/quickstart/*.py", "adapters/**/*.py", "metrics/*.py", "run_specs/*.yaml")
    for path in ROOT.glob(pattern)
    if "vendor" not in path.parts and "reference" not in path.parts
)  # fmt: skip


def claims(text: str) -> list[str]:
    for denial in DENIALS:
        text = text.replace(denial, "")
    return [found[0] for found in CLAIMS.finditer(re.sub(r"\s+", " ", text))]


def test_no_file_claims_more() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    assert len(texts) > 100
    assert {name: found for name, text in texts.items() if (found := claims(text))} == {}


def test_no_page_of_the_reference_claims_more() -> None:
    assert {name: found for name, page in reference_pages().items() if (found := claims(page))} == {}


@pytest.mark.parametrize(
    "claim",
    [
        "The model has seen the data.",
        "models have read the test",
        "cannot have\nread",
        "proves that a model",
        "it is clean",
    ],
)
def test_claims_are_found(claim: str) -> None:
    assert claims(claim)

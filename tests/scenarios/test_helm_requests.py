"""What a model is asked equals what HELM asks, to the character, as far as both have the same rows.

``helm_requests.json`` holds digests of HELM 0.5.16's own requests, with the examples that it draws; it is written by
``tests/benchmarks/helm_prompts.py --record``, which says more.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.helm_cases import CASES, EXCERPTS, Case
from tests.benchmarks.helm_prompts import check

RECORDED = json.loads(Path(__file__).with_name("helm_requests.json").read_text(encoding="utf-8"))
LARGE = ("babi_qa:task=all", "bbq", "blimp", "boolq", "commonsense:dataset=piqa", "dyck", "synthetic_reasoning")
PARAMETERS = [
    pytest.param(case, id=case.entry, marks=[pytest.mark.slow] if case.entry.startswith(LARGE) else [])
    for case in CASES
    if case.entry in RECORDED
]


def test_most_run_entries_are_recorded() -> None:
    assert len(PARAMETERS) == len(RECORDED) >= 45


@pytest.mark.parametrize("case", PARAMETERS)
def test_requests_are_those_of_helm(case: Case, request: pytest.FixtureRequest) -> None:
    data: Path = EXCERPTS if case.folder == "excerpts" else request.getfixturevalue("data_dir")
    assert check(case, RECORDED[case.entry], data) == []

"""``prompt: lm_eval`` asks what lm-evaluation-harness asks: requests that it made itself, kept in a file.

``lm_eval_requests.yaml`` has the requests of its tasks about their first rows; the benchmark of the same name makes the
file and compares many more rows.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmarks.lm_eval_prompts import (
    CASES,
    EXPECTED_ROWS,
    Case,
    data_folder,
    kept,
    prepared,
    requests_of,
)
from tests.tokenizations import Unlimited

EXPECTED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "lm_eval_requests.yaml").read_text(encoding="utf-8"))
LARGE = {"hellaswag", "blimp_anaphor_gender_agreement"}
"""Tasks whose data take seconds to read."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.task, marks=[pytest.mark.slow] * (case.task in LARGE))
        for case in {case.task: case for case in CASES}.values()
    ],
)
def test_the_first_rows_are_asked_as_lm_eval_asks_them(
    case: Case, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    expected = EXPECTED[case.task]
    data = tmp_path if case.excerpt else request.getfixturevalue("data_dir")
    _, _, evaluation = prepared(case, expected["shots"], EXPECTED_ROWS, data_folder(case, data, tmp_path / "data"))
    found = [requests_of(adapted) for adapted in islice(evaluation.adapted(Unlimited()), EXPECTED_ROWS)]
    assert [kept(group) for group in found] == expected["requests"]


def test_every_task_is_kept_and_there_are_more_than_twenty() -> None:
    assert EXPECTED.keys() == {case.task for case in CASES}
    assert len({case.run.partition(":")[0] for case in CASES}) > 20

"""APPS: problems of programming contests, solved by programs that are run on test cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Literal

from harness import Data, DataError, Instance, Reference, Source, Split, scenario

Difficulty = Literal["all", "introductory", "interview", "competition"]

LONGEST = 150_000
"""Most characters of a question and of its starter code."""

# Names that the authors' script imports before a program, and that starter code takes for granted.
IMPORTS = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict, defaultdict, deque
from functools import lru_cache, reduce
from heapq import heapify, heappop, heappush
from itertools import accumulate, combinations, permutations, product
from math import ceil, floor, gcd, log, log2, sqrt
from typing import Dict, List, Optional, Set, Tuple
"""


@scenario(
    "apps",
    title="APPS",
    source="Hendrycks et al. 2021 (arXiv:2105.09938)",
    data=Source(
        files={"train": "apps/train", "test": "apps/test"},
        url="https://github.com/hendrycks/apps",
        licence="MIT",
    ),
    adapter={
        "method": "generation",
        "input_prefix": "",
        "input_suffix": "",
        "output_prefix": "",
        "output_suffix": "",
        "max_train_instances": 2,
        "max_tokens": 600,
        "temperature": 0.2,
        "stop_sequences": ["'''", "---", '"""', "\n\n\n"],
    },
    metrics=("program_tests:comparison=apps,timeout=3,total_timeout=11", "efficiency"),
    main_metric="test_avg",
    parts=("difficulty",),
    groups=("difficulty",),
    options=False,
    taxonomy={
        "task": "code synthesis",
        "what": "problems of programming contests",
        "who": "authors of Codewars, AtCoder, Kattis and Codeforces",
        "when": "before 2021",
        "language": "Python, with English descriptions",
    },
    tags=("code", "helm-classic"),
    aliases={
        "helm": {
            "code:dataset=apps": "",
        },
    },
)
def apps(data: Data, *, difficulty: Difficulty = "all") -> Iterator[Instance]:
    """Programs that read standard input, or functions that are called, from a description of a page.

    Since this executes code that the model wrote, a run must allow it: ``metrics: [{name: program_tests, comparison:
    apps, timeout: 3, total_timeout: 11, allow_code_execution: true}]``. Solutions have tabs as four spaces.

    HELM has no difficulties, and asks for a function where there is starter code; here also where the test cases name
    a function.

    Args:
        data: The data.
        difficulty: All problems, or those of one difficulty.
    """
    for split in (Split.TRAIN, Split.TEST):
        if data.lacking(split):
            continue
        for folder, rows in groupby(data.rows(split), key=lambda row: str(PurePosixPath(row["path"]).parent)):
            files = {PurePosixPath(row["path"]).name: row["text"] for row in rows}
            problem = _Problem(f"apps/{split}/{folder}", files)
            solutions = problem.json("solutions.json", [])
            if split == Split.TRAIN and not solutions:
                continue  # it cannot be an example
            level = problem.json("metadata.json", {}).get("difficulty", "")
            if difficulty not in ("all", level):
                continue
            tests = problem.json("input_output.json", {})
            yield Instance(
                id=f"{split}-{folder}",
                input=_question(problem, called="fn_name" in tests),
                references=tuple(Reference(one.expandtabs(4), correct=True) for one in dict.fromkeys(solutions)),
                split=split,
                meta={
                    "difficulty": level,
                    "prefix": IMPORTS,
                    "cases": _cases(tests),
                    "entry_point": tests.get("fn_name", ""),
                },
            )


class _Problem:
    """The files of a problem's folder."""

    def __init__(self, folder: str, files: Mapping[str, str]) -> None:
        self.folder, self.files = folder, files

    def text(self, name: str, otherwise: str | None = None) -> str:
        found = self.files.get(name, otherwise)
        if found is None:
            raise DataError("is missing.", file=f"{self.folder}/{name}")
        return found

    def json(self, name: str, otherwise: Any) -> Any:
        try:
            return json.loads(self.files[name]) if self.files.get(name, "").strip() else otherwise
        except ValueError as error:
            raise DataError(f"is not JSON: {error}.", file=f"{self.folder}/{name}") from None


def _question(problem: _Problem, *, called: bool) -> str:
    starter = problem.text("starter_code.py", "")
    kind = "Call-Based" if called or starter else "Standard Input"
    asked = problem.text("question.txt")[:LONGEST]
    return f"\nQUESTION:\n{asked}\n{starter[:LONGEST]}\n\nUse {kind} format\n\nANSWER in Python code:\n"


def _cases(tests: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the cases for the metric ``program_tests``; a text may be given as a list of its lines."""
    pairs = list(zip(tests.get("inputs", ()), tests.get("outputs", ()), strict=True))
    if "fn_name" in tests:
        return [{"arguments": given, "returns": expected} for given, expected in pairs]
    return [{"stdin": _lines(given), "stdout": _lines(expected)} for given, expected in pairs]


def _lines(text: Any) -> str:
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)

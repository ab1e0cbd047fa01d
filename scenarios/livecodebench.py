"""LiveCodeBench: problems of programming contests with their dates, so that only newer ones can be asked."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from harness import Data, Instance, Row, Source, Split, scenario

Release = Literal["v1", "v2", "v3", "v4", "v5", "v6"]
Day = Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")]

LARGEST = 1 << 30
"""Most bytes of the test cases of a problem."""
INTRODUCTION = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests.\n"
)
WITH_STARTER = (
    "You will use the following starter code to write the solution to the problem and enclose your code within "
    "delimiters."
)
WITHOUT_STARTER = (
    "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample "
    "inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the "
    "inputs, runs the algorithm and writes output to STDOUT."
)
IMPORTS = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache, lru_cache, reduce
from heapq import heapify, heappop, heappush
from itertools import accumulate, combinations, pairwise, permutations, product
from math import ceil, comb, floor, gcd, inf, log2, sqrt
from typing import Dict, List, Optional, Set, Tuple
"""


@scenario(
    "livecodebench",
    title="LiveCodeBench",
    source="Jain et al. 2024 (arXiv:2403.07974)",
    data=Source(
        files={"test": "livecodebench/test.jsonl"},
        url="https://huggingface.co/datasets/livecodebench/code_generation_lite",
        licence="CC, as the data card says; the problems are their sites'",
        untested=True,
    ),
    adapter={
        "method": "generation",
        "instructions": INTRODUCTION,
        "input_prefix": "### Question:\n",
        "input_suffix": "",
        "output_prefix": "### Answer: (use the provided format with backticks)\n",
        "global_suffix": "\n\n",
        "max_train_instances": 0,
        "max_tokens": 2000,
        "stop_sequences": [],
    },
    metrics=("program_tests:code_block=true", "efficiency"),
    main_metric="pass@1",
    groups=("difficulty", "platform"),
    options=False,
    taxonomy={
        "task": "code synthesis",
        "what": "problems of programming contests",
        "who": "authors of LeetCode, AtCoder and Codeforces",
        "when": "2023-2025",
        "language": "Python, with English descriptions",
    },
    tags=("code",),
)
def livecodebench(data: Data, *, release: Release = "v6", since: Day = "", until: Day = "") -> Iterator[Instance]:
    """Whole programs, or methods of a class, from a description; choose problems newer than the model's data.

    Since this executes code that the model wrote, a run must allow it: ``metrics: [{name: program_tests, code_block:
    true, allow_code_execution: true}]``. The authors draw ten answers at temperature 0.2 (``samples: 10``), and put the
    first paragraph into the system prompt.

    Args:
        data: The data: ``test.jsonl`` of the first release, ``test2.jsonl`` of the second, and so on.
        release: The release, which includes those before it.
        since: The first day of contests, such as 2024-08-01.
        until: The last day of contests.
    """
    for number in range(1, int(release[1:]) + 1):
        rows = data.rows(Split.TEST) if number == 1 else data.read(f"livecodebench/test{number}.jsonl")
        for row in rows:
            if since <= _day(row) <= (until or "9999"):
                yield _instance(row)


def _day(row: Row) -> str:
    return str(row["contest_date"])[:10]


def _instance(row: Row) -> Instance:
    starter = row["starter_code"]
    asked = WITH_STARTER if starter.strip() else WITHOUT_STARTER
    code = starter if starter.strip() else "# YOUR CODE HERE"
    tests = [*_json(row, "public_test_cases"), *_private(row)]
    return Instance(
        id=row["question_id"],
        input=f"{row['question_content']}\n\n### Format: {asked}\n```python\n{code}\n```\n\n",
        split=Split.TEST,
        meta={
            "difficulty": row["difficulty"],
            "platform": row["platform"],
            "date": _day(row),
            "prefix": IMPORTS,
            "entry_point": _json(row, "metadata").get("func_name") or "",
            "cases": [_case(test, row) for test in tests],
        },
    )


def _case(test: Mapping[str, Any], row: Row) -> dict[str, Any]:
    if test["testtype"] == "stdin":
        return {"stdin": test["input"], "stdout": test["output"]}
    try:
        arguments = [json.loads(line) for line in test["input"].split("\n") if line.strip()]
        return {"arguments": arguments, "returns": json.loads(test["output"])}
    except ValueError as error:
        raise row.error(f"a test case is not JSON: {error}.") from None


def _json(row: Row, column: str) -> Any:
    try:
        return json.loads(row[column])
    except ValueError as error:
        raise row.error(f"{column} is not JSON: {error}.") from None


_DAMAGE = (binascii.Error, zlib.error, pickle.UnpicklingError, AttributeError, EOFError, LookupError, TypeError)


class _Text(pickle.Unpickler):
    """Reads a pickled text, and nothing that would need a class or a function."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not a text")


def _private(row: Row) -> Sequence[Mapping[str, Any]]:
    """Return the private test cases: JSON, or JSON that the authors pickled, compressed and encoded."""
    text = row["private_test_cases"]
    if text.lstrip().startswith("["):
        found: Sequence[Mapping[str, Any]] = _json(row, "private_test_cases")
        return found
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), LARGEST)
        found = json.loads(_Text(io.BytesIO(content)).load())
    except (*_DAMAGE, ValueError) as error:
        raise row.error(f"private_test_cases cannot be decoded: {error}.") from None
    return found

"""Programs on their test cases, with the rules of comparison of APPS, MBPP and LiveCodeBench."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from harness import Example, Instance, MetricError
from metrics._code_sandbox import Isolation, Limits, Program, choose, verdicts
from metrics._code_sandbox.cases import right
from metrics._text.code_blocks import last_code_block
from metrics.pass_at_k import PassAtK
from metrics.program_tests import ProgramTests

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs are executed on POSIX systems only")

LIMITS = Limits(seconds=30)


@pytest.fixture(scope="module")
def isolation() -> Isolation:
    """The strongest that works here."""
    return choose("weak")


def run(isolation: Isolation, completion: str, *cases: dict[str, Any], entry: str = "", seconds: float = 10.0) -> Any:
    return verdicts(Program(completion, "", "", entry), cases, isolation, LIMITS, case_seconds=seconds)


def io(stdin: str, stdout: str) -> dict[str, Any]:
    return {"stdin": stdin, "stdout": stdout}


SUMS = [io("1 2\n", "3\n"), io("5 5\n", "10"), io("1 1\n", "3")]


@pytest.mark.parametrize(
    "program",
    [
        "a, b = map(int, input().split())\nprint(a + b)",
        "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
        "import sys\nsys.stdout.write(str(sum(map(int, sys.stdin.buffer.readline().split()))))",
        "import os, sys\nsys.stdout.buffer.write(str(sum(map(int, open(0).read().split()))).encode())",
        "import os\nos.write(1, str(sum(map(int, os.read(0, 100).split()))).encode())",
        "def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()",
        "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))\nsys.exit()",
        "print(eval(input().replace(' ', '+')))",
    ],
)
def test_whole_programs_read_and_print_in_any_way(isolation: Isolation, program: str) -> None:
    assert run(isolation, program, *SUMS) == [True, True, False]


def test_every_case_begins_afresh_and_fails_alone(isolation: Isolation) -> None:
    program = (
        "import builtins\n"
        "word = input()\n"
        "assert not hasattr(builtins, 'seen')\n"
        "builtins.seen = 1\n"
        "open('file', 'x').close() if word == 'write' else None\n"
        "if word == 'hang':\n    while True: pass\n"
        "if word == 'die':\n    import os; os.kill(os.getpid(), 9)\n"
        "if word == 'fail':\n    1 / 0\n"
        "print(word)\n"
    )
    words = ["a", "hang", "b", "die", "c", "fail", "a"]
    clock = time.monotonic()
    expected = [word in "abc" for word in words]
    assert run(isolation, program, *(io(word, word) for word in words), seconds=3.0) == expected
    assert time.monotonic() - clock < 100


def test_the_limit_in_all_ends_what_is_left(isolation: Isolation) -> None:
    program = "import time\nn = float(input())\ntime.sleep(n)\nprint('x')"
    cases = [io("0", "x"), io("60", "x"), io("0", "x")]
    found = verdicts(Program(program, ""), cases, isolation, Limits(seconds=4.0), case_seconds=60.0)
    assert found == [True, False, False]


@pytest.mark.parametrize(
    "program",
    [
        "import os\nos.write(1, b'')\nfor n in range(3, 60):\n    try: os.write(n, b'1' * 9)\n    except OSError: pass",
        "print('3')\nraise ValueError",
        "import os, signal\nprint('3', flush=True)\nos.kill(os.getppid(), signal.SIGKILL)",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
        "syntax error",
        "x = bytearray(8 << 30)\nprint('3')",
        "print('x' * (40 << 20))",
    ],
)
def test_what_is_wrong_does_not_pass(isolation: Isolation, program: str) -> None:
    assert run(isolation, program, io("", "3"), seconds=8.0) == [False]


def call(*arguments: Any, returns: Any) -> dict[str, Any]:
    return {"arguments": list(arguments), "returns": returns}


PAIRS = [call([1, 2], 3, returns=[3, 3]), call([], 0, returns=[0, 0]), call([5], 1, returns=[1, 1])]


@pytest.mark.parametrize(
    "program",
    [
        "def pair(items, more):\n    print('noise')\n    return (sum(items), more)",
        "class Solution:\n    def pair(self, items, more):\n        return [sum(items), more]",
        "def pair(items, more):\n    return [float(sum(items)), more]\nif __name__ == '__main__':\n    1 / 0",
    ],
)
def test_functions_are_called_with_arguments(isolation: Isolation, program: str) -> None:
    assert run(isolation, program, *PAIRS, entry="pair") == [True, True, False]


@pytest.mark.parametrize(
    ("value", "expected", "lines", "apps"),
    [
        ("[1, 2]", [1, 2], True, True),
        ("[1, 2]", [[1, 2]], False, True),
        ('{"a": 1}', {"a": 1.0}, True, True),
        ("true", 1, True, True),
        ('"3"', 3, False, False),
        ("NaN", 0, False, False),
        ("no", 0, False, False),
        (None, None, False, False),
    ],
)
def test_values(value: str | None, expected: Any, lines: bool, apps: bool) -> None:
    case = call(returns=expected)
    assert (right(case, value, "lines"), right(case, value, "apps")) == (lines, apps)


@pytest.mark.parametrize(
    ("output", "expected", "lines", "apps"),
    [
        ("3\n", "3", True, True),
        ("  3  \n4\n", "3\n4", True, True),
        ("3\n\n4", "3\n4", False, True),
        ("a b", "a  b", False, True),
        ("1.0 2", "1 2.00", True, True),
        ("0.1", "0.10000001", False, True),
        ("1e400", "1E400", True, True),
        ("0.33333", "0.33334", False, True),
        ("100.0001", "100", False, True),
        ("4\n3", "3\n4", False, True),
        ("b a", "a b", False, True),
        ("a a b", "a b", False, True),
        ("1.0001 2", "1.0002 2", False, True),
        ("1.01", "1.02", False, False),
        ("YES", "Yes", False, False),
        ("3\n4", "3", False, False),
        ("", "3", False, False),
        ("", "", True, True),
        (None, "3", False, False),
    ],
)
def test_outputs(output: str | None, expected: str, lines: bool, apps: bool) -> None:
    case = io("", expected)
    assert (right(case, output, "lines"), right(case, output, "apps")) == (lines, apps)


MBPP = [
    {"assert": "assert similar_elements((3, 4, 5, 6), (5, 7, 4, 10)) == (4, 5)"},
    {"assert": "assert similar_elements((1, 2, 3, 4), (5, 4, 3, 7)) == (3, 4)"},
    {"assert": "assert set(similar_elements((1,), (1,))) == {1}"},
]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("def similar_elements(a, b):\n    return tuple(sorted(set(a) & set(b)))", [True, True, True]),
        ("def similar_elements(a, b):\n    return list(sorted(set(a) & set(b)))", [False, False, True]),
        ("def similar_elements(a, b):\n    return (4, 5)", [True, False, False]),
        ("def similar_elements(a, b):\n    if 7 in b and 10 not in b: 1 / 0\n    return (4, 5)", [True, False, False]),
        ("def other(): pass", [False, False, False]),
        ("def similar_elements(a, b):\n    while len(a) > 1: pass\n    return a", [False, False, False]),
        ("import os\ndef similar_elements(a, b):\n    os._exit(0)", [False, False, False]),
    ],
)
def test_assertions(isolation: Isolation, program: str, expected: list[bool]) -> None:
    assert run(isolation, program, *MBPP, seconds=3.0) == expected


def problem(*completions: str, **meta: Any) -> Example:
    return Example(Instance("a", "", meta=meta), prediction=completions[0], predictions=completions)


RIGHT, HALF = "print(sum(map(int, input().split())))", "print(3)"


def test_the_best_completion_and_the_estimate() -> None:
    metric = ProgramTests(allow_code_execution=True, isolation="weak")
    assert metric(problem(RIGHT, cases=SUMS[:2])) == {"test_avg": 1.0, "strict_acc": 1.0, "pass@1": 1.0}
    found = metric(problem(HALF, RIGHT, HALF, HALF, cases=SUMS[:2]))
    assert found == {"test_avg": 1.0, "strict_acc": 1.0, "pass@1": 0.25, "pass@4": 1.0}
    assert metric(problem(HALF, cases=SUMS)) == {"test_avg": pytest.approx(2 / 3), "strict_acc": 0.0, "pass@1": 0.0}
    prefixed = problem("    return a", prefix="def f(a):\n", entry_point="f", cases=[call(1, returns=1)])
    assert metric(prefixed)["strict_acc"] == 1.0


def test_the_program_is_read_out_of_an_answer() -> None:
    answer = f"First:\n```python\nprint(1)\n```\nBetter:\n```python\n{RIGHT}\n```\nIt adds."
    for code_block, expected in ((True, 1.0), (False, 0.0)):
        metric = ProgramTests(allow_code_execution=True, isolation="weak", code_block=code_block)
        assert metric(problem(answer, cases=SUMS[:2]))["strict_acc"] == expected
    tested = problem("Here:\n```\ndef f():\n    return 1\n```", tests="assert f() == 1")
    assert PassAtK(allow_code_execution=True, isolation="weak", timeout=20, code_block=True)(tested) == {"pass@1": 1.0}
    assert PassAtK(allow_code_execution=True, isolation="weak")(tested) == {"pass@1": 0.0}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("print(1)", "print(1)"),
        ("```\na\n```", "a\n"),
        ("```python\na\n```\ntext\n```py\nb\n```\nmore", "b\n"),
        ("```python\na\n", "a\n"),
        ("~~~\na\n~~~", "a\n"),
        ("  ```python\n  a\n  ```", "  a\n"),
        ("````\na\n```\nb\n````", "a\n```\nb\n"),
        ("a ``b`` c", "a ``b`` c"),
        ("```a``` is inline", "```a``` is inline"),
        ("", ""),
    ],
)
def test_code_blocks(text: str, code: str) -> None:
    assert last_code_block(text) == code


@pytest.mark.parametrize(
    ("meta", "problem_"),
    [
        ({}, "instance 'a' has no list of 'cases'"),
        ({"cases": []}, "no list of 'cases'"),
        ({"cases": [SUMS[0], PAIRS[0]]}, "must all be"),
        ({"cases": [{"stdin": "1"}]}, "must all be"),
        ({"cases": [{"stdin": "1", "stdout": 1}]}, "must be texts"),
        ({"cases": [{"arguments": 1, "returns": 1}], "entry_point": "f"}, "must be lists"),
        ({"cases": [call(1, returns=1)]}, "no 'entry_point'"),
    ],
)
def test_cases_that_cannot_be_run(meta: dict[str, Any], problem_: str) -> None:
    with pytest.raises(MetricError, match=problem_):
        ProgramTests(allow_code_execution=True, isolation="weak")(problem("x", **meta))

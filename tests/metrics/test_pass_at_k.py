"""The estimator from its definition, and what a program may do."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Example, Instance, MetricError, PluginError
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.errors import SpecError
from harness.plugins.parameters import build
from harness.plugins.registry import default_registry
from harness.runs.sample_scores import SampleScores
from harness.runs.scoring import Scorer
from harness.statistics.reductions import read_reduction
from harness.sweeps.load import load_sweep
from metrics._code_sandbox import Isolation, Limits, Program, choose, passes
from metrics.pass_at_k import PassAtK, announce, pass_at_k_estimate

needs_limits = pytest.mark.skipif(os.name != "posix", reason="resource limits are POSIX's")


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_the_estimate_is_the_mean_over_all_choices(passed: list[bool], k: int) -> None:
    if k > len(passed):
        with pytest.raises(ValueError, match="cannot be estimated"):
            pass_at_k_estimate(passed, k)
        return
    drawn = list(itertools.combinations(passed, k))
    assert pass_at_k_estimate(passed, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


def test_the_papers_numerically_stable_form_gives_the_same() -> None:
    count, right, k = 200, 7, 100
    product = 1.0
    for i in range(count - right + 1, count + 1):
        product *= 1.0 - k / i
    assert pass_at_k_estimate([True] * right + [False] * (count - right), k) == pytest.approx(1.0 - product)


@pytest.fixture(scope="module")
def isolation() -> Isolation:
    """The strongest that works here."""
    return choose("weak")


@pytest.fixture
def metric(isolation: Isolation) -> Callable[..., dict[str, float | None]]:
    def score(example: Example, **parameters: Any) -> dict[str, float | None]:
        return PassAtK(allow_code_execution=True, isolation=isolation.kind, **{"timeout": 20, **parameters})(example)

    return score


def _problem(*completions: str) -> Example:
    meta = {"prefix": "def double(x):\n", "tests": "assert double(2) == 4"}
    return Example(Instance("a", "", meta=meta), prediction=completions[0], predictions=completions)


@needs_limits
def test_completions_are_executed_with_their_tests(metric: Callable[..., dict[str, float | None]]) -> None:
    right, wrong = "    return 2 * x", "    return x"
    example = _problem(right, wrong, right, wrong)
    assert metric(example) == {"pass@1": 0.5, "pass@4": 1.0}
    assert metric(example, k=(2,)) == {"pass@2": pytest.approx(1 - 1 / 6)}


@needs_limits
def test_nothing_is_executed_without_the_users_word(isolation: Isolation) -> None:
    plugin = default_registry().get(Kind.METRIC, "pass_at_k")
    for arguments in ({}, {"allow_code_execution": False}):
        with pytest.raises(PluginError, match="allow_code_execution"):
            build(plugin, arguments=arguments)
    allowed = {"allow_code_execution": True, "isolation": isolation.kind, "timeout": 20}
    assert build(plugin, arguments=allowed)(_problem("    return x")) == {"pass@1": 0.0}


def test_what_cannot_be_estimated_is_refused(metric: Callable[..., dict[str, float | None]]) -> None:
    with pytest.raises(MetricError, match="needs 2 completions, but there are 1"):
        metric(_problem("    return 2 * x"), k=(2,))
    with pytest.raises(MetricError, match="no 'tests'"):
        metric(Example(Instance("a", "")))


@needs_limits
@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("print('x' * 100_000)", True),
        ("import collections, math, re, typing", True),
        ("assert 1 + 1 == 3", False),
        ("syntax error", False),
        ("import sys; sys.exit(0)", False),
        ("import os; os._exit(0)", False),
        ("import numpy", False),
        ("x = bytearray(2 << 30)", False),
        ("open('big', 'wb').write(bytes(64 << 20))", False),
        ("files = [open('f', 'w') for _ in range(1000)]", False),
        ("import os; assert 'SECRET' not in os.environ and os.listdir() == []", True),
        ("open('f', 'w').write('small')", True),
        ("x = '\udcff'", False),
    ],
)
def test_what_a_program_may_do(
    isolation: Isolation, program: str, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert passes(Program(program, ""), isolation, Limits(seconds=20)) is passed


@needs_limits
def test_a_program_that_does_not_end_is_ended_in_time(isolation: Isolation) -> None:
    start = time.monotonic()
    assert not passes(Program("while True: pass", ""), isolation, Limits(seconds=0.5))
    assert not passes(Program("def f():\n    while True: pass", "f()"), isolation, Limits(seconds=0.5))
    assert not passes(Program("", "while True: pass"), isolation, Limits(seconds=0.5))
    assert time.monotonic() - start < 100


@needs_limits
@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("f = lambda *a: a", "assert f(1, 'a', None, [2.5], {(1, 2): {3}}) == (1, 'a', None, [2.5], {(1, 2): {3}})"),
        ("f = lambda x: x", "import math\nassert math.isnan(f(math.nan)) and f(-math.inf) == -math.inf"),
        ("f = lambda x: x", "assert f(10 ** 5000) == 10 ** 5000 and type(f(True)) is bool"),
        ("f = lambda x: x", "for x in (b'a', bytearray(b'b'), 2j, range(3), frozenset({1}), ''): assert f(x) == x"),
        ("f = lambda x: x", "from decimal import Decimal as D\nassert f(D('1.10')) == D('1.1')"),
        ("f = lambda x: x", "assert f(int) is int"),
        ("f = lambda **k: k", "assert f(a=1) == {'a': 1}"),
        ("def f(x): x.sort(); x.append([])", "x = [2, 1]\nf(x)\nassert x == [1, 2, []]"),
        ("def f(): yield from 'ab'", "assert list(f()) == ['a', 'b'] and f() != ['a', 'b']"),
        ("def f(x): return x['a'].keys()", "assert f({'a': {1: 2}}) == {1}"),
        ("def f(g, x): return g(g(x))", "assert f(lambda x: x * 2, 3) == 12"),
        ("class C:\n    def __init__(self): self.x = [1]\n    def m(self, y): return y", "c = C()\nassert c.m(c) is c"),
        ("def f(x): raise KeyError('no')", "try:\n    f(1)\nexcept KeyError:\n    pass\nelse:\n    assert False"),
        ("import math", "assert math.floor(1.5) == 1"),
        ("x = 5\nif __name__ == '__main__':\n    y = 6", "assert (x, y) == (5, 6)"),
        ("import collections\nf = lambda x: collections.Counter(x)", "assert f('aab') == {'a': 2, 'b': 1}"),
        ("def outer(x):\n    def g(y): return x + y\n    return g", "assert outer(1)(2) == 3"),
    ],
)
def test_tests_and_program_exchange_values(isolation: Isolation, program: str, tests: str) -> None:
    assert passes(Program(program, tests), isolation, Limits(seconds=20))
    assert not passes(Program(program, f"{tests}\nassert False"), isolation, Limits(seconds=20))


@needs_limits
def test_a_builtin_name_is_the_programs_only_as_the_entry_point(isolation: Isolation) -> None:
    completion, tests = "def sum(a, b): return a - b", "assert sum(3, 2) == 1"
    assert not passes(Program(completion, tests), isolation, Limits(seconds=20))
    assert passes(Program(completion, tests, entry_point="sum"), isolation, Limits(seconds=20))
    assert passes(Program("    return a - b", tests, prefix="def sum(a, b):\n"), isolation, Limits(seconds=20))


@needs_limits
def test_a_run_says_which_isolation_was_in_force(isolation: Isolation, caplog: pytest.LogCaptureFixture) -> None:
    announce.cache_clear()
    with caplog.at_level("INFO"):
        built = PassAtK(allow_code_execution=True, isolation=isolation.kind)
    assert f"{isolation.kind} isolation: {isolation.what}" in caplog.text
    plugin = default_registry().get(Kind.METRIC, "pass_at_k")
    component = Component(
        name="pass_at_k", arguments={"allow_code_execution": True, "isolation": isolation.kind, "timeout": 20}
    )
    scorer = Scorer([(component, plugin)])
    scorer.add(_problem("    return 2 * x"))
    assert scorer.details() == {"pass_at_k": {"test": {"original": built.details()}}}
    assert built.details() == {"isolation": isolation.kind, "what": isolation.what}


@needs_limits
def test_samples_of_a_run_give_pass_at_k_as_completions_of_one_answer_do(isolation: Isolation) -> None:
    plugin = default_registry().get(Kind.METRIC, "pass_at_k")
    component = Component(
        name="pass_at_k", arguments={"allow_code_execution": True, "isolation": isolation.kind, "timeout": 20}
    )
    samples = SampleScores(4, [read_reduction(name, 4) for name in ("pass@2", "pass@4", "all@2")])
    scorer = Scorer([(component, plugin)], samples=samples)
    programs = ["    return 2 * x", "    return x", "    return x + x", "    return 3 * x"]
    for sample, program in enumerate(programs):
        scorer.add(replace(_problem(program), sample=sample))
    found = {stat.metric: stat.mean for stat in scorer.stats()}
    assert found == pytest.approx({"pass@1": 0.5, "pass@2": 5 / 6, "pass@4": 1.0, "pass@1:all@2": 1 / 6})


@needs_limits
def test_the_official_solutions_pass_and_an_empty_one_does_not(
    metric: Callable[..., dict[str, float | None]], data_dir: Path
) -> None:
    with gzip.open(data_dir / "code_humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        problems = [json.loads(line) for line in itertools.islice(lines, 0, 164, 20)]
    for problem in problems:
        meta = {"prefix": problem["prompt"], "tests": f"{problem['test']}\ncheck({problem['entry_point']})"}
        completions = (problem["canonical_solution"], "    pass\n")
        example = Example(Instance("a", "", meta=meta), prediction=completions[0], predictions=completions)
        assert metric(example) == {"pass@1": 0.5, "pass@2": 1.0}, problem["task_id"]


def test_a_run_that_has_not_allowed_execution_is_told_what_to_write_and_that_is_right(tmp_path: Path) -> None:
    def load(run: str) -> None:
        file = tmp_path / "sweep.yaml"
        file.write_text(f"suite: s\nmodels: [fake:x]\nruns:\n- {run}\n", encoding="utf-8")
        load_sweep(file)

    with pytest.raises(SpecError) as refused:
        load("humaneval")
    (mistake,) = refused.value.diagnostics
    assert mistake.path == "runs[0]"
    assert "needs allow_code_execution, your confirmation that this machine may execute" in mistake.message
    proposed, _, option = mistake.hint.removeprefix("Write ").removesuffix(".").partition(", or run the sweep with ")
    assert option == "--allow code_execution"
    load(proposed)
    with pytest.raises(SpecError) as refused:
        load("{scenario: humaneval, metrics: [pass_at_k]}")
    (mistake,) = refused.value.diagnostics
    assert (mistake.path, mistake.hint) == (
        "runs[0].metrics[0].allow_code_execution",
        "Write allow_code_execution: true.",
    )

"""Equality of values with math-verify: against the library, within limits, in a process of its own."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Iterator

import pytest

from harness import BestOf, Example, MetricError
from metrics._math.worker import formula
from metrics.math_equivalence import MathVerify
from tests.metrics.adversarial import adversarial_pairs

Build = Callable[..., Example]


@pytest.fixture(scope="module")
def same() -> Iterator[MathVerify]:
    metric = MathVerify()
    yield metric
    metric._verifier.close()


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("0.5", r"\frac{1}{2}", 1.0),
        ("$(x+1)^2$", "x^2+2x+1", 1.0),
        ("x^2+1", "1", 0.0),
        ("1", "x^2+1", 0.0),
        (r"The answer is \boxed{\{2,1\}}.", r"\{1,2\}", 1.0),
        (r"So \boxed{1}, no: \boxed{2}", "2", 1.0),
        ("The answer is 42", "$42$", 1.0),
        ("1,000", "1000", 1.0),
        (r"2\sqrt{2}", r"\sqrt{8}", 1.0),
        (r"\pi/2", r"\frac{\pi}{2}", 1.0),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"$\begin{pmatrix} 1 \\ 2 \end{pmatrix}$", 1.0),
        (r"\frac{1}{3}", "0.33", 0.0),
        ("Tuesday", "Tuesday", 1.0),
        ("cat", "act", 0.0),
        ("", "1", 0.0),
    ],
)
def test_values(answered: Build, same: MathVerify, prediction: str, gold: str, expected: float) -> None:
    assert same(answered(prediction, gold)) == expected


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("x^2+1", "$x^2+1$"),
        (r"\text{east} ", r"$\text{east}$"),
        (r"\frac{1}{2}", r"$\frac{1}{2}$"),
        ("sin(x)", "$sin(x)$"),
        ("The answer is 7", "The answer is 7"),
        ("$7$", "$7$"),
        (r"\boxed{7}", r"\boxed{7}"),
        ("7\n8", "7\n8"),
        ("", ""),
    ],
)
def test_a_bare_formula_is_marked_as_one(text: str, given: str) -> None:
    assert formula(text) == given


def test_equals_the_library(answered: Build, same: MathVerify) -> None:
    from math_verify import parse, verify

    pairs = [(given.strip(), gold) for given, gold in adversarial_pairs() if len(given) + len(gold) < 200]
    compared = 0
    for given, gold in pairs:
        if not given or given == gold.strip():
            continue
        compared += 1
        expected = verify(parse(formula(gold)), parse(formula(given)))
        assert same(answered(given, gold)) == float(expected), (given, gold)
    assert compared > 100


def test_what_takes_too_long_is_wrong_and_counted(answered: Build) -> None:
    metric = MathVerify(time_limit=60.0)
    assert metric(answered("7", "7.0")) == 1.0
    metric._verifier.time_limit = 0.5
    begun = time.perf_counter()
    assert metric(answered("$9^{9^{9^9}}$", "1")) == 0.0
    assert time.perf_counter() - begun < 50.0
    metric._verifier.time_limit = 60.0
    assert metric(answered("0.25", r"\frac{1}{4}")) == 1.0, "another process has taken its place"
    assert metric.details() == {"math-verify": importlib.metadata.version("math-verify"), "undecided": 1}
    metric._verifier.close()


def test_any_completion_may_be_right(answered: Build, same: MathVerify) -> None:
    assert same(answered("2", "1/2", others=("0.5",))) == BestOf(0.0, 1.0, 2)
    assert same(answered("2")) is None


def test_math_verify_is_asked_for_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("metrics._math.verifier.version", version)
    with pytest.raises(MetricError, match=r"needs math-verify: .*math"):
        MathVerify()

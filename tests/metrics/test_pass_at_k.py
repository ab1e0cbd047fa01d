"""The estimator from its definition, and what a program may do."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Example, Instance, MetricError, PluginError
from harness.errors import SpecError
from harness.plugins import Kind
from harness.registry import build, default_registry
from harness.sweep import load_sweep
from metrics.code_sandbox import Limits, confinement, passes
from metrics.pass_at_k import pass_at_k, pass_at_k_estimate

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


def _problem(*completions: str) -> Example:
    meta = {"prefix": "def double(x):\n", "tests": "assert double(2) == 4"}
    return Example(Instance("a", "", meta=meta), prediction=completions[0], predictions=completions)


@needs_limits
def test_completions_are_executed_with_their_tests() -> None:
    right, wrong = "    return 2 * x", "    return x"
    example = _problem(right, wrong, right, wrong)
    assert pass_at_k(example, allow_code_execution=True) == {"pass@1": 0.5, "pass@4": 1.0}
    assert pass_at_k(example, allow_code_execution=True, k=(2,)) == {"pass@2": pytest.approx(1 - 1 / 6)}


@needs_limits
def test_nothing_is_executed_without_the_users_word() -> None:
    plugin = default_registry().get(Kind.METRIC, "pass_at_k")
    for arguments in ({}, {"allow_code_execution": False}):
        with pytest.raises(PluginError, match="allow_code_execution"):
            build(plugin, arguments=arguments)
    assert build(plugin, arguments={"allow_code_execution": True})(_problem("    return x")) == {"pass@1": 0.0}


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(MetricError, match="needs as many completions, and there are 1"):
        pass_at_k(_problem("    return 2 * x"), allow_code_execution=True, k=(2,))
    with pytest.raises(MetricError, match="no 'tests'"):
        pass_at_k(Example(Instance("a", "")), allow_code_execution=True)


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
def test_what_a_program_may_do(program: str, passed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert passes(program) is passed


@needs_limits
def test_a_program_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(1); pathlib.Path({str(alive)!r}).touch()"
    endless = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])\nwhile True: pass"
    assert not passes(endless, Limits(seconds=0.5))
    time.sleep(1.2)
    assert not alive.exists()


@needs_limits
@pytest.mark.skipif(not confinement().command, reason="the system offers no namespaces to ordinary users")
def test_no_network() -> None:
    reachable = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('192.0.2.1', 9))"
    assert not passes(reachable)


@needs_limits
@pytest.mark.skipif(not confinement().read_only, reason="the system cannot make files read-only for one program")
@pytest.mark.parametrize(
    "attempt",
    [
        "open(kept, 'w')",
        "open(kept, 'a').write('more')",
        "os.remove(kept)",
        "os.rename(kept, kept + '.old')",
        "os.chmod(kept, 0)",
        "os.truncate(kept, 0)",
        "os.symlink('/', os.path.join(folder, 'link'))",
        "os.mkdir(os.path.join(folder, 'new'))",
        "shutil.rmtree(folder)",
        "open('/dev/shm/harness-test', 'w')",
        "open('/proc/self/uid_map', 'w').write('0 0 1')",
        "open(f'{starter}/root{kept}', 'w')",
        "os.remove(f'{starter}/cwd/{os.path.relpath(kept, beside)}')",
        "remount(b'/')",
        "remount(os.fsencode(folder))",
        "set_attribute(b'/')",
        "libc.umount2(b'/', 2) == 0 or fail()",
        "libc.unshare(0x10000000 | 0x20000) == 0 or fail(); set_attribute(b'/')",
        "libc.unshare(0x10000000 | 0x20000) == 0 or fail(); remount(b'/'); open(kept, 'w')",
        "subprocess.run(['/bin/rm', kept], check=True)",
        "subprocess.run(['/bin/mount', '-o', 'remount,rw', '/'], check=True)",
    ],
)
def test_files_elsewhere_stay_as_they_are(tmp_path: Path, attempt: str) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("kept")
    program = f"""
import ctypes, os, shutil, subprocess
kept, folder = {str(kept)!r}, {str(tmp_path)!r}
starter, beside = "/proc/{os.getpid()}", {os.getcwd()!r}
libc = ctypes.CDLL(None, use_errno=True)
def fail():
    raise OSError(ctypes.get_errno(), "refused")
def remount(path):
    libc.mount(b"none", path, None, 0x20 | 0x1000, None) == 0 or fail()
def set_attribute(path):
    libc.syscall(442, -100, path, 0x8000, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32) == 0 or fail()
assert open(kept).read() == "kept"
open("own.txt", "w").write("mine")
os.mkdir("own")
os.remove("own.txt")
open(os.path.join(os.environ["TMPDIR"], "own.txt"), "w").close()
"""
    assert passes(program)
    assert not passes(f"{program}{attempt}")
    assert kept.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


@needs_limits
def test_the_official_solutions_pass_and_an_empty_one_does_not(data_dir: Path) -> None:
    with gzip.open(data_dir / "code_humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        problems = [json.loads(line) for line in itertools.islice(lines, 0, 164, 20)]
    for problem in problems:
        meta = {"prefix": problem["prompt"], "tests": f"{problem['test']}\ncheck({problem['entry_point']})"}
        completions = (problem["canonical_solution"], "    pass\n")
        example = Example(Instance("a", "", meta=meta), prediction=completions[0], predictions=completions)
        assert pass_at_k(example, allow_code_execution=True) == {"pass@1": 0.5, "pass@2": 1.0}, problem["task_id"]


def test_a_run_that_has_not_allowed_execution_is_told_what_to_write_and_that_is_right(tmp_path: Path) -> None:
    def load(run: str) -> None:
        file = tmp_path / "sweep.yaml"
        file.write_text(f"suite: s\nmodels: [fake:x]\nruns:\n- {run}\n", encoding="utf-8")
        load_sweep(file)

    with pytest.raises(SpecError) as refused:
        load("humaneval")
    (mistake,) = refused.value.mistakes
    assert mistake.path == "runs[0]"
    assert "needs allow_code_execution, your word that this machine may execute" in mistake.message
    proposed = mistake.hint.removeprefix("Write ").removesuffix(".")
    load(proposed)
    with pytest.raises(SpecError) as refused:
        load("{scenario: humaneval, metrics: [pass_at_k]}")
    (mistake,) = refused.value.mistakes
    assert (mistake.path, mistake.hint) == (
        "runs[0].metrics[0].allow_code_execution",
        "Write allow_code_execution: true.",
    )

"""Five hundred mutated sweeps: each is valid or refused with messages, and never anything else."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import SpecError
from harness.plugins.registry import Registry
from harness.sweeps.load import load_sweep

BASE: dict[str, Any] = {
    "suite": "fuzz",
    "description": "d",
    "models": ["hf:a/b", {"name": "hf:c", "dtype": ["float32", "bfloat16"]}],
    "defaults": {
        "max_eval_instances": 5,
        "max_train_instances": 1,
        "perturbations": ["loud"],
        "adapter": {"stop": ["x"]},
    },
    "runs": [
        "chat",
        "exam:subject=law,max_train_instances=2",
        {"scenario": {"name": "exam", "subject": ["law", "virology"], "year": 3}, "metrics": ["both"]},
        {"scenario": "chat", "adapter": {"method": "compare", "calibrated": True}, "seed": 3, "model": "hf:d"},
        {"scenario": "chat", "adapter": "ask:temperature=0.5", "perturbations": [{"name": "typos", "prob": 0.2}]},
    ],
}
TEXT = yaml.safe_dump(BASE, sort_keys=False)

NAMES = st.sampled_from(
    [
        *(
            "suite",
            "models",
            "runs",
            "scenario",
            "adapter",
            "method",
            "name",
            "subject",
            "metrics",
            "defaults",
            "plugins",
        ),
        *("max_tokens", "exam", "chat", "hf:", ":", "a=b", "exam:subject=", "=", "../x", "x.yaml", "*", "--model", ""),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    NAMES,
    st.text(max_size=20),
    st.dates().map(str),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(NAMES, st.text(max_size=5)), inner, max_size=3)
    ),
    max_leaves=6,
)
ALIASES = [
    "suite: s\nmodels: &m [hf:a, *m]\nruns: [chat]\n",
    "suite: s\nmodels: [hf:a]\nruns: &r\n  - *r\n",
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "suite: s\nmodels: [hf:a]\nruns: [&x {scenario: chat}, *x]\n",
    "suite: s\nmodels: [hf:a]\ndefaults: &d {seed: 1}\nruns: [{<<: *d, scenario: chat}]\n",
    "? [a, b]\n: c\n? {x: y}\n: d\n",
    "!!python/object/apply:os.system ['true']\n",
    "suite: 2020-01-01\nmodels: [!!binary aGY6YQ==]\nruns: [chat]\n",
    "suite: .nan\nmodels: [0x7f, 1e999]\nruns: [1_000, 12:30:45]\n",
    "[" * 2000,
    "{a: " * 2000,
    "- " * 2000,
    "suite: s\n---\nsuite: t\n",
    "suite: \"\\ud800\"\nmodels: ['hf:\\x00']\nruns: [chat]\n",
    "%YAML 9.9\n---\nsuite: s\n",
    "\t",
    "&a",
    "*a",
    "? ",
    "runs: {0: chat}\nmodels: {}\nsuite: []\n",
    "suite: s\nmodels: [hf:a]\nruns:\n" + "  - chat\n" * 3000,
    "suite: s\nmodels: [hf:a]\nruns: [{scenario: {name: chat, style: [" + ",".join(map(str, range(9000))) + "]}}]\n",
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in inside for found in paths(inner, (*path, key)))]


PATHS = [path for path in paths(BASE) if path]


@st.composite
def mutated_data(draw: st.DrawFn) -> bytes:
    """Delete, rename, copy or replace one to three of the sweep's values."""
    data = json.loads(json.dumps(BASE))
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=3)):
        parent, key = data, path[-1]
        try:
            for step in path[:-1]:
                parent = parent[step]
            old = parent[key]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation has removed it
        if not isinstance(parent, dict | list):
            continue
        change = draw(st.sampled_from(["delete", "replace", "copy", "rename", "wrap", "text"]))
        if change == "replace":
            parent[key] = draw(VALUES)
        elif change == "wrap":
            parent[key] = draw(st.sampled_from([[old], {"name": old}, {"scenario": old}, [old, old]]))
        elif change == "text":
            parent[key] = str(old)[: draw(st.integers(0, 30))]
        elif isinstance(parent, list):
            if change == "delete":
                del parent[key]
            else:
                parent.append(old)
        else:
            del parent[key]
            if change != "delete":
                parent[draw(NAMES) if change == "rename" else f"{key}s"] = old
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def mutated_text(draw: st.DrawFn) -> bytes:
    """Cut the text, repeat or drop a line, or put something into it."""
    lines = TEXT.splitlines(keepends=True)
    change = draw(st.sampled_from(["cut", "repeat", "drop", "insert", "indent"]))
    index = draw(st.integers(0, len(lines) - 1))
    if change == "cut":
        return TEXT[: draw(st.integers(0, len(TEXT)))].encode()
    if change == "repeat":
        lines.insert(draw(st.integers(0, len(lines))), lines[index])
    elif change == "drop":
        del lines[index]
    elif change == "indent":
        lines[index] = " " * draw(st.integers(1, 5)) + lines[index]
    else:
        position = draw(st.integers(0, len(TEXT)))
        inserted = draw(st.one_of(st.text(alphabet=string.punctuation + "\t\n ", max_size=4), st.text(max_size=4)))
        return (TEXT[:position] + inserted + TEXT[position:]).encode("utf-8", "surrogatepass")
    return "".join(lines).encode()


def check_mistakes(error: SpecError, file: str) -> None:
    assert error.diagnostics
    for mistake in error.diagnostics:
        assert mistake.message.strip()
        assert mistake.file == file
        unreadable = "cannot be read" in mistake.message or "not valid YAML" in mistake.message
        assert unreadable or (mistake.line is not None and mistake.line >= 1)
    str(error).encode("utf-8")  # can be shown


def check(content: bytes, folder: Path, toy_plugins: Path) -> None:
    path = folder / "fuzz.yaml"
    path.write_bytes(content)
    registry = Registry()
    registry.load_path(toy_plugins)
    registry.load_path(toy_plugins.with_name("toy_sets.yaml"))
    try:
        sweep, _ = load_sweep(path, registry=registry)
    except SpecError as error:
        check_mistakes(error, str(path))
        return
    assert sweep.runs
    assert len({run.digest for run in sweep.runs}) == len(sweep.runs)
    for run in sweep.runs:
        assert type(run).model_validate_json(run.model_dump_json()) == run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


quick = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@quick
@given(content=mutated_data())
def test_mutated_values(content: bytes, folder: Path, toy_plugins: Path) -> None:
    check(content, folder, toy_plugins)


@quick
@given(content=mutated_text())
def test_mutated_text(content: bytes, folder: Path, toy_plugins: Path) -> None:
    check(content, folder, toy_plugins)


@settings(quick, max_examples=100)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
)
def test_random_content(content: bytes, folder: Path, toy_plugins: Path) -> None:
    check(content, folder, toy_plugins)


@pytest.mark.parametrize("text", ALIASES)
def test_aliases_depth_and_tags(text: str, folder: Path, toy_plugins: Path) -> None:
    check(text.encode(), folder, toy_plugins)


def test_the_sweep_that_is_mutated_is_valid(folder: Path, toy_plugins: Path) -> None:
    path = folder / "base.yaml"
    path.write_text(TEXT)
    registry = Registry()
    registry.load_path(toy_plugins)
    registry.load_path(toy_plugins.with_name("toy_sets.yaml"))
    assert len(load_sweep(path, registry=registry)[0].runs) == 3 + 3 + 6 + 1 + 3

"""A sweep or the command line names an executor and its settings; mistakes are reported with their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.executor_keys import ExecutorKeys, LocalKeys, SlurmKeys
from harness.sweeps.load import load_sweep, sweep_from_entries


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


def read(folder: Path, registry: Registry, executor: str = "", option: str | None = None) -> ExecutorKeys | None:
    file = folder / "sweep.yaml"
    file.write_text(f"suite: s\nmodels: ['fake:0']\nruns: [boolq]\n{executor}\n")
    return load_sweep(file, registry=registry, executor=option)[0].executor


@pytest.mark.parametrize(
    ("executor", "option", "expected"),
    [
        ("", None, None),
        ("executor: local", None, LocalKeys()),
        ("executor: {name: local, heads: 3}", None, LocalKeys(heads=3)),
        ("executor: 'local:heads=3'", None, LocalKeys(heads=3)),
        (
            "executor: {name: slurm, heads: 8, time: 4h}",
            None,
            SlurmKeys(heads=8, time="4h"),
        ),
        ("", "local:heads=3", LocalKeys(heads=3)),
        ("executor: {name: slurm, heads: 8}", "local", LocalKeys()),
        ("executor: {name: slurm, heads: 8}", "slurm", SlurmKeys(heads=8)),
        (
            "executor: {name: slurm, heads: 8, partition: gpu, options: {exclude: n1}}",
            "slurm:heads=2,time=4h",
            SlurmKeys(heads=2, partition="gpu", time="4h", options={"exclude": "n1"}),
        ),
        ("executor: {name: slurm, heads: 8, partition: gpu}", "local:heads=2", LocalKeys(heads=2)),
    ],
)
def test_what_is_named_is_read(
    tmp_path: Path, registry: Registry, executor: str, option: str | None, expected: ExecutorKeys | None
) -> None:
    assert read(tmp_path, registry, executor, option) == expected


@pytest.mark.parametrize(
    ("executor", "option", "said"),
    [
        ("executor: slurn", None, "sweep.yaml:4: executor: there is no executor named 'slurn'. Did you mean 'slurm'?"),
        ("executor: {name: k8s}", None, "sweep.yaml:4: executor.name: there is no executor named 'k8s'."),
        ("executor: {name: local, head: 2}", None, "executor.head: is not a parameter. Did you mean 'heads'?"),
        ("executor: {name: local, heads: 0}", None, "sweep.yaml:4: executor.heads: must be at least 1, not 0."),
        ("executor: {name: slurm, time: 4}", None, "executor.time: 4 has no unit; write 4m"),
        ("executor: {heads: 2}", None, "sweep.yaml:4: executor.name: `name` is required. One of: local, ray, slurm."),
        ("executor: 3", None, "sweep.yaml:4: executor: must be a name, or a mapping with `name`, not 3."),
        ("executor: [local]", None, "sweep.yaml:4: executor: must be a name"),
        ("", "locl", "command line: --executor: there is no executor named 'locl'. Did you mean 'local'?"),
        ("", "local:heads=x", "command line: --executor [heads]: must be a whole number, not 'x'."),
        ("", "local:heads", "command line: --executor: 'heads' in 'local:heads' is not of the form key=value."),
        ("executer: local", None, "sweep.yaml:4: executer: is not a key. Did you mean 'executor'?"),
    ],
)
def test_mistakes_have_a_place_and_advice(
    tmp_path: Path, registry: Registry, executor: str, option: str | None, said: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read(tmp_path, registry, executor, option)
    (diagnostic,) = caught.value.diagnostics
    assert said in str(diagnostic)


def test_runs_of_the_command_line_may_name_one(registry: Registry) -> None:
    sweep, _ = sweep_from_entries(["boolq"], ["fake:0"], registry=registry, executor="local:heads=2")
    assert sweep.executor == LocalKeys(heads=2)

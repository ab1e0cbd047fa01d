"""Plugins are found, described, checked and refused as the registry promises."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import pytest

from harness import DataError, Example, PluginError, metric
from harness.contracts.plugins import Kind, Plugin
from harness.errors import did_you_mean
from harness.plugins.parameters import build, check_parameters, describe_parameters, given_names, parameters_of
from harness.plugins.registry import Registry, default_registry

METRIC = """
    from harness import Example, metric

    @metric({name!r}, category="accuracy", source="Somebody 2024")
    def {function}(example: Example) -> float:
        \"\"\"One for every example.\"\"\"
        return 1.0
"""

SCENARIO = """
    name: {name}
    title: Capitals
    description: Capitals of countries.
    citation: Somebody 2024
    taxonomy: {{task: question answering, what: capitals, who: a test, when: "2024", language: English}}
    source: {{files: {{test: capitals.jsonl}}}}
    input: "{{{{ country }}}}"
    correct: "{{{{ capital }}}}"
    adapter: {{method: generation, max_train_instances: 0}}
    metrics: [exact_match]
    main_metric: exact_match
    eval_split: test
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return path


def metric_file(path: Path, name: str = "always_one", function: str = "always_one") -> Path:
    return write(path, METRIC.format(name=name, function=function))


@pytest.fixture(scope="module")
def installed() -> Registry:
    return default_registry()


def every_plugin(registry: Registry) -> list[Plugin]:
    return [registry.get(kind, name) for kind in Kind for name in registry.names(kind)]


def test_all_installed_plugins_can_be_used(installed: Registry) -> None:
    assert [str(problem) for problem in installed.problems] == []


def test_every_kind_of_plugin_comes_installed(installed: Registry) -> None:
    for kind in Kind:
        assert installed.names(kind), kind


def test_every_plugin_has_a_docstring_and_a_source(installed: Registry) -> None:
    for plugin in every_plugin(installed):
        assert len(plugin.summary) >= 20, f"{plugin.kind} {plugin.name} needs a docstring"
        assert plugin.summary[-1] in ".:)", f"{plugin.kind} {plugin.name}: the docstring begins with a sentence"
        assert plugin.source.strip(), f"{plugin.kind} {plugin.name} names no source"
        assert plugin.origin, plugin.name


def test_every_plugin_has_typed_parameters(installed: Registry) -> None:
    for plugin in every_plugin(installed):
        for name, shown_type, default, _ in describe_parameters(plugin):
            assert name, plugin.name
            assert shown_type, (plugin.name, name)
            assert default, (plugin.name, name)


def test_every_set_stands_for_metrics_that_exist(installed: Registry) -> None:
    sets = [plugin for plugin in every_plugin(installed) if plugin.target is None]
    assert sets
    for plugin in sets:
        members = installed.expand(plugin.kind, plugin.name)
        assert members
        assert all(installed.get(plugin.kind, member).target is not None for member in members)


def test_a_name_registered_twice_is_refused_and_names_both_origins(tmp_path: Path) -> None:
    one, two = metric_file(tmp_path / "one.py"), metric_file(tmp_path / "two.py")
    registry = Registry()
    registry.load_path(one)
    registry.load_path(two)
    (problem,) = registry.problems
    with pytest.raises(PluginError) as caught:
        registry.get(Kind.METRIC, "always_one")
    for message in (str(problem), str(caught.value)):
        assert "one.py" in message
        assert "two.py" in message
        assert "always_one" in message


@pytest.mark.parametrize("name", ["bad name!", "", "a:b", "a,b", "-a", "a\n", 3])
def test_a_name_that_no_sweep_could_write_is_refused_at_the_decorator(name: Any) -> None:
    with pytest.raises(PluginError, match="cannot be the name of a metric: use letters, digits"):
        metric(name, category="accuracy", source="Made up.")


def test_names_are_apart_by_kind(tmp_path: Path) -> None:
    registry = Registry()
    registry.load_path(metric_file(tmp_path / "plugin.py", name="capitals"))
    registry.load_path(write(tmp_path / "capitals.yaml", SCENARIO.format(name="capitals")))
    assert registry.problems == []
    assert registry.get(Kind.METRIC, "capitals") is not registry.get(Kind.SCENARIO, "capitals")


def test_the_same_file_twice_is_once(tmp_path: Path) -> None:
    path = metric_file(tmp_path / "plugin.py")
    registry = Registry()
    registry.load_path(path)
    registry.load_path(tmp_path / ".." / tmp_path.name / "plugin.py")
    assert registry.problems == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("import a_module_that_is_not_there", "a_module_that_is_not_there"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_a_broken_plugin_is_reported_by_name_and_the_others_work(tmp_path: Path, content: str, reason: str) -> None:
    write(tmp_path / "broken.py", content)
    metric_file(tmp_path / "works.py")
    registry = Registry()
    registry.load_path(tmp_path)
    (problem,) = registry.problems
    assert "broken.py" in problem.plugin
    assert reason in problem.reason
    assert registry.names(Kind.METRIC) == ["always_one"]


FORMS = [
    (
        '@metric("m", category="acuracy", source="s")\ndef m(example: Example) -> float:\n    """M."""\n    return 1.0',
        "'acuracy' is not a category of metrics. Did you mean 'accuracy'?",
    ),
    (
        '@metric("m", category="accuracy", source="s")\ndef m(text: str) -> float:\n    """M."""\n    return 1.0',
        "this one takes text: str.",
    ),
    (
        '@metric("m", category="accuracy", source="s")\ndef m(example: Example, k: int) -> float:\n    """M."""',
        "this one takes 2 positional parameters.",
    ),
    (
        '@perturbation("p", source="s", category="robustness")\ndef p(text: str, rng: object) -> str:\n    """P."""',
        "a perturbation is called with (instance: Instance, rng: Random)",
    ),
    (
        '@backend("b", source="s")\nclass B:\n    """B."""',
        "the class must be a subclass of harness.Model.",
    ),
]


@pytest.mark.parametrize(("content", "reason"), FORMS)
def test_what_could_not_be_called_is_refused_when_it_is_loaded(tmp_path: Path, content: str, reason: str) -> None:
    good = '@metric("good", category="accuracy", source="s")\ndef good(example) -> float:\n    """G."""\n    return 1.0'
    registry = Registry()
    imports = "from harness import Example, backend, metric, perturbation"
    registry.load_path(write(tmp_path / "plugin.py", f"{imports}\n\n{content}\n\n\n{good}\n"))
    assert registry.names(Kind.METRIC) == ["good"]
    (problem,) = registry.problems
    assert reason in problem.reason


def test_a_broken_scenario_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "broken.yaml", SCENARIO.format(name="capitals").replace("input:", "inptu:"))
    registry = Registry()
    registry.load_path(path)
    (problem,) = registry.problems
    assert re.search(r"broken\.yaml:8: .*inptu", str(problem)), problem
    assert "input" in str(problem)


def test_a_folder_holds_python_and_scenario_files(tmp_path: Path) -> None:
    metric_file(tmp_path / "metrics" / "own.py")
    write(tmp_path / "capitals.yaml", SCENARIO.format(name="capitals"))
    write(tmp_path / "rivers.yml", SCENARIO.format(name="rivers"))
    metric_file(tmp_path / "_private.py", name="private")
    write(tmp_path / "notes.txt", "no plugin")
    registry = Registry()
    registry.load_path(tmp_path)
    registry.load_path(tmp_path / "metrics")
    assert registry.problems == []
    assert registry.names(Kind.SCENARIO) == ["capitals", "rivers"]
    assert registry.names(Kind.METRIC) == ["always_one"]


def test_modules_with_an_underscore_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "offered_package"
    write(package / "__init__.py", "")
    metric_file(package / "open.py")
    metric_file(package / "deeper" / "inside.py", name="inside")
    write(package / "deeper" / "__init__.py", "")
    write(package / "_heavy.py", "raise RuntimeError('imported')")
    write(package / "__main__.py", "raise RuntimeError('run')")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("offered", "offered_package", "harness.plugins")
    monkeypatch.setattr("harness.plugins.registry.entry_points", lambda group: [entry])
    registry = Registry()
    registry.load_entry_points()
    assert registry.problems == []
    assert registry.names(Kind.METRIC) == ["always_one", "inside"]


@pytest.mark.parametrize("name", ["missing.py", "notes.txt"])
def test_a_path_that_is_no_plugin(tmp_path: Path, name: str) -> None:
    write(tmp_path / "notes.txt", "no plugin")
    with pytest.raises(PluginError, match=name):
        Registry().load_path(tmp_path / name)


def test_an_unknown_name_gets_the_nearest(installed: Registry) -> None:
    with pytest.raises(PluginError, match=r"no scenario named 'bolq'.*'boolq'"):
        installed.get(Kind.SCENARIO, "bolq")


def test_a_loaded_scenario_file_can_be_run(tmp_path: Path) -> None:
    from harness.contracts.plugins import ScenarioDetails
    from harness.data.source import open_data

    write(tmp_path / "capitals.jsonl", '{"country": "Peru", "capital": "Lima"}\n{"country": "Chad"}\n')
    registry = Registry()
    registry.load_path(write(tmp_path / "capitals.yaml", SCENARIO.format(name="capitals")))
    plugin = registry.get(Kind.SCENARIO, "capitals")
    assert isinstance(plugin.details, ScenarioDetails)
    instances = build(plugin, open_data(plugin.details, {}, name="capitals", data_dir=tmp_path), arguments={})()
    first = next(instances)
    assert (first.id, first.input, first.correct[0].text) == ("test-1", "Peru", "Lima")
    with pytest.raises(DataError, match=r"capitals\.jsonl, row 2.*'capital'"):
        next(instances)


# ---------------------------------------------------------------------------------------------------------------
# Parameters


@metric("graded", category="accuracy", source="a test")
def graded(example: Example, *, threshold: float, mode: Literal["mean", "worst"] = "mean", limit: int = 3) -> float:
    """A metric with parameters."""
    return threshold + len(mode) + limit


def graded_plugin() -> Plugin:
    return vars(graded)["__harness_plugin__"]  # type: ignore[no-any-return]


# (arguments, the path and a part of each mistake)
MISTAKES: list[tuple[dict[str, object], list[tuple[str, str]]]] = [
    ({"threshold": 0.5}, []),
    ({"threshold": 0.5, "mode": "worst", "limit": 1}, []),
    ({}, [("threshold", "is required")]),
    ({"threshold": "high"}, [("threshold", "a number")]),
    ({"threshold": 1, "mode": "wrost"}, [("mode", "Did you mean 'worst'")]),
    ({"threshold": 1, "treshold": 1}, [("treshold", "Did you mean 'threshold'")]),
    ({"mode": "best", "limit": "x"}, [("threshold", "is required"), ("mode", "'best'"), ("limit", "whole number")]),
]


@pytest.mark.parametrize(("arguments", "expected"), MISTAKES)
def test_parameters_are_checked_all_at_once(arguments: dict[str, object], expected: list[tuple[str, str]]) -> None:
    params, mistakes = check_parameters(parameters_of(graded_plugin()), arguments)
    assert (params is None) == bool(expected)
    assert sorted(".".join(map(str, mistake.keys)) for mistake in mistakes) == sorted(path for path, _ in expected)
    for path, part in expected:
        assert any(part in str(mistake) and path in str(mistake) for mistake in mistakes), (path, part, mistakes)


def test_building_binds_parameters_and_refuses_wrong_ones() -> None:
    bound = build(graded_plugin(), arguments={"threshold": 0.5})
    assert bound(None) == 0.5 + len("mean") + 3
    with pytest.raises(PluginError, match=r"metric 'graded'.*threshold"):
        build(graded_plugin(), arguments={})


def test_a_parameter_without_a_type_is_a_mistake_of_the_plugin() -> None:
    @metric("untyped", category="accuracy", source="a test")
    def untyped(example: Example, *, threshold=0.5) -> float:  # type: ignore[no-untyped-def]
        """A metric whose parameter has no type."""
        return float(threshold)

    with pytest.raises(PluginError, match=r"'untyped': parameter 'threshold' has no type.*test_registry\.py"):
        parameters_of(vars(untyped)["__harness_plugin__"])


def test_a_metric_gives_its_own_name_where_it_returns_a_number_and_what_it_declares() -> None:
    @metric("optional", category="accuracy", source="a test")
    def optional(example: Example) -> float | None:
        """A number, or undefined."""

    @metric("several", category="accuracy", source="a test")
    def several(example: Example) -> float | dict[str, float]:
        """Whatever names it likes."""
        return {}

    @metric("declared", category="accuracy", source="a test", gives=("first", "first@*"))
    def declared(example: Example) -> dict[str, float]:
        """What it declares."""
        return {}

    @metric("single", category="accuracy", source="a test", gives="first@*")
    def single(example: Example) -> dict[str, float]:
        """What it declares."""
        return {}

    found = [given_names(vars(target)["__harness_plugin__"]) for target in (optional, several, declared, single)]
    assert found == [("optional",), (), ("first", "first@*"), ("first@*",)]


def test_every_metric_that_comes_with_the_harness_says_what_it_gives() -> None:
    registry = default_registry()
    metrics = [registry.get(Kind.METRIC, name) for name in registry.names(Kind.METRIC)]
    assert [metric.name for metric in metrics if not metric.members and not given_names(metric)] == []


def test_describing_parameters() -> None:
    assert describe_parameters(graded_plugin()) == [
        ("threshold", "float", "required", ""),
        ("mode", "'mean' | 'worst'", "'mean'", ""),
        ("limit", "int", "3", ""),
    ]


def test_sets_hold_sets(tmp_path: Path) -> None:
    registry = Registry()
    registry.add(graded_plugin())
    sets = tmp_path / "sets.yaml"
    sets.write_text(
        "metric_sets:\n  inner: {members: [graded], doc: Inner.}\n  outer: {members: [inner, graded], doc: Outer.}\n"
    )
    registry.load_path(sets)
    assert registry.expand(Kind.METRIC, "outer") == ["graded"]
    with pytest.raises(PluginError, match="is a set of inner, graded"):
        build(registry.get(Kind.METRIC, "outer"), arguments={})


def test_types_are_shown_as_people_write_them() -> None:
    settings = {
        name: shown for name, shown, *_ in describe_parameters(default_registry().get(Kind.ADAPTER, "generation"))
    }
    assert settings["output_noun"] == "str | None"
    assert settings["stop_sequences"] == "tuple[str, ...]"
    assert settings["substitutions"] == "tuple[tuple[str, str], ...]"


def test_the_beginning_of_a_name_is_near_enough() -> None:
    assert did_you_mean("f1", ["f1_score", "bleu_1"]) == "Did you mean 'f1_score'?"
    assert did_you_mean("x", ["f1_score"]) == "Known: f1_score."

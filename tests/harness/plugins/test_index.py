"""What a file declares is known without importing it, remembered, and read again when the file changes."""

from __future__ import annotations

import json
import os
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent

import pytest

from harness.contracts.plugins import Kind
from harness.errors import PluginError
from harness.plugins.index import read_python, read_yaml
from harness.plugins.registry import Registry, default_registry

METRIC = '''
from harness import Example, metric


@metric({name!r}, category="accuracy", source="a test")
def own(example: Example) -> float:
    """Measures ``everything``
    at once.

    More about it.
    """
    return 1.0
'''


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (METRIC.format(name="m"), [("metric", "m", "[accuracy] Measures everything at once.")]),
        (
            "import harness as h\n@h.judge('j', source='s')\nclass J:\n    'Judges.'",
            [("judge", "j", "Judges.")],
        ),
        (
            "from harness import perturbation\n@perturbation('p', source='s')\ndef p(instance, rng):\n    'Changes.'",
            [("perturbation", "p", "[robustness] Changes.")],
        ),
        ("from functools import cache\n@cache\ndef helper():\n    return 1", []),
        ("from elsewhere import metric\nmetric('not ours')", []),
    ],
)
def test_what_a_module_declares_is_read_from_its_text(source: str, expected: list[tuple[str, str, str]]) -> None:
    found = read_python(source.encode())
    assert found is not None
    assert [(str(one.kind), one.name, one.summary) for one in found] == expected


@pytest.mark.parametrize(
    "source",
    [
        "from harness import metric\nfor n in 'ab':\n    @metric(n, category='accuracy')\n    def f(example): 'F.'",
        "from harness import metric\n@metric(name(), category='accuracy')\ndef f(example): 'F.'",
        "from functools import partial\nfrom harness import metric\nown = partial(metric, category='accuracy')",
        "from company import own_metric\n@own_metric('m')\ndef f(example): 'F.'",
        "from ._base import own_metric\n@own_metric\ndef f(example): 'F.'",
        "from harness import *\n@metric('m', category='accuracy')\ndef f(example): 'F.'",
        "import harness\nif True:\n    @harness.metric('x', category='accuracy')\n    def f(example): 'F.'",
        "from harness import adapter\n@adapter('a', source='s')\nclass A(Base): pass",
        "from harness import metric\n@metric({[]: 1}, category='accuracy')\ndef f(example): 'F.'",
    ],
)
def test_what_cannot_be_read_must_be_imported(source: str) -> None:
    assert read_python(source.encode()) is None


def test_a_scenario_file_is_read_as_far_as_its_name() -> None:
    found = read_yaml(b"name: q\ntitle: Quiz\ndescription: |\n  Asks.\n\n  More.\n")
    assert found is not None
    assert [(one.kind, one.name, one.summary) for one in found] == [(Kind.SCENARIO, "q", "Quiz. Asks.")]
    assert read_yaml(b"title: no name") is None
    assert read_yaml(b"{not: [yaml") is None


def test_a_set_whose_name_is_no_text_is_read_in_full() -> None:
    assert read_yaml(b"metric_sets:\n  no: {members: [a]}\n") is None  # which is False for a plain reader of YAML
    assert read_yaml(b"metric_sets:\n  'no': {members: [a]}\n") is not None


def test_the_index_agrees_with_what_is_imported() -> None:
    read, imported = default_registry(), default_registry()
    for kind in Kind:
        names = read.names(kind)
        summaries = {name: read._entries[kind, name].summary for name in names}
        assert [plugin.name for plugin in imported.all(kind)] == names
        assert imported.summaries(kind) == summaries
    assert imported.problems == []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package of plugins, found through an entry point, and an empty cache folder of the user."""
    folder = tmp_path / f"offered_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    entry = EntryPoint("offered", folder.name, "harness.plugins")
    monkeypatch.setattr("harness.plugins.registry.entry_points", lambda group: [entry])
    return folder


def test_a_module_is_imported_when_its_plugin_is_used(package: Path) -> None:
    (package / "good.py").write_text(METRIC.format(name="good"))
    (package / "broken.py").write_text("import not_installed_anywhere\n" + METRIC.format(name="broken"))
    registry = default_registry()
    assert registry.problems == []
    assert registry.names(Kind.METRIC) == ["broken", "good"]
    assert registry.get(Kind.METRIC, "good").target is not None
    with pytest.raises(PluginError, match=r"metric 'broken' cannot be used.*\.broken'.*not_installed_anywhere"):
        registry.get(Kind.METRIC, "broken")
    assert registry.names(Kind.METRIC) == ["good"]
    assert ["not_installed_anywhere" in str(problem) for problem in registry.problems] == [True]


def test_a_broken_module_is_reported_whenever_plugins_are_listed(package: Path) -> None:
    (package / "good.py").write_text(METRIC.format(name="good"))
    (package / "broken.py").write_text("import not_installed_anywhere\n" + METRIC.format(name="broken"))
    (package / "no_python.py").write_text("from harness import metric\ndef broken(:")
    for _ in range(2):
        registry = default_registry()
        assert list(registry.summaries(Kind.METRIC)) == ["good"]
        (syntax, missing) = registry.problems
        assert "no_python" in str(syntax)
        assert "SyntaxError" in str(syntax)
        assert ".broken" in str(missing)


def test_a_file_with_odd_names_takes_no_other_file_with_it(package: Path) -> None:
    (package / "a_wrong.py").write_text(
        "from harness import metric\n@metric({[]: 1}, category='accuracy')\ndef f(e): ''"
    )
    (package / "b_odd.yaml").write_text("source: s\nmetric_sets:\n  no: {members: [a], doc: d}\n")
    (package / "good.py").write_text(METRIC.format(name="good"))
    registry = default_registry()
    assert registry.names(Kind.METRIC) == ["good", "no"]
    assert ["a_wrong" in str(problem) for problem in registry.problems] == [True]


def test_a_name_that_two_modules_declare_is_refused_before_either_is_imported(package: Path) -> None:
    for file in ("one.py", "two.py"):
        (package / file).write_text(METRIC.format(name="same"))
    registry = default_registry()
    (problem,) = registry.problems
    assert "one.py" in str(problem)
    assert "two.py" in str(problem)
    assert registry.names(Kind.METRIC) == []
    with pytest.raises(PluginError, match="registered twice"):
        registry.get(Kind.METRIC, "same")


def test_a_file_that_changed_is_read_again(package: Path) -> None:
    module = package / "module.py"
    module.write_text(METRIC.format(name="before"))
    assert default_registry().names(Kind.METRIC) == ["before"]
    module.write_text(METRIC.format(name="afterwards"))
    assert default_registry().names(Kind.METRIC) == ["afterwards"]
    module.unlink()
    assert default_registry().names(Kind.METRIC) == []


def test_what_was_read_is_remembered(package: Path, tmp_path: Path) -> None:
    module = package / "module.py"
    module.write_text(METRIC.format(name="abc"))
    default_registry()
    status = module.stat()
    module.write_text(METRIC.format(name="xyz"))
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert default_registry().names(Kind.METRIC) == ["abc"]
    (file,) = tmp_path.glob("cache/*/plugins.json")
    for damaged in ("", "[]", "{", json.dumps({"sign": None}), '{"sign": 3, "files": 4}'):
        file.write_text(damaged)
        assert default_registry().names(Kind.METRIC) == ["xyz"]


def test_an_index_that_is_wrong_about_a_file_is_found_out_when_the_plugin_is_used(package: Path) -> None:
    module = package / "module.py"
    module.write_text(METRIC.format(name="abc"))
    default_registry()
    status = module.stat()
    module.write_text(METRIC.format(name="xyz"))
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    registry = default_registry()
    with pytest.raises(PluginError, match="no longer declares it"):
        registry.get(Kind.METRIC, "abc")
    assert registry.names(Kind.METRIC) == ["xyz"]


def test_a_cache_folder_that_cannot_be_written_is_no_error(
    package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (package / "module.py").write_text(METRIC.format(name="found"))
    for folder in (str(tmp_path / "file"), "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        assert list(default_registry().summaries(Kind.METRIC)) == ["found"]
    assert not Path("relative").exists()


def test_modules_that_declare_plugins_in_their_own_way_are_found_too(package: Path) -> None:
    (package / "_base.py").write_text(
        "from functools import partial\nfrom harness import metric\nown = partial(metric, category='accuracy')\n"
    )
    (package / "made.py").write_text(
        dedent(f"""
        from {package.name}._base import own


        @own("made", source="a test")
        def made(example) -> float:
            "Made."
            return 1.0
        """)
    )
    registry = default_registry()
    assert registry.summaries(Kind.METRIC) == {"made": "[accuracy] Made."}
    assert registry.problems == []


@pytest.mark.parametrize(
    ("required", "reason"),
    [("1.0", None), ("1.999", "newer harness"), ("0.9", "newer version of the plugin"), ("new", "major.minor")],
)
def test_a_plugin_may_say_which_version_of_the_api_it_needs(tmp_path: Path, required: str, reason: str | None) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(f"REQUIRES_PLUGIN_API = {required!r}\n" + METRIC.format(name="own"))
    registry = Registry()
    registry.load_path(file)
    if reason is None:
        assert registry.problems == []
        assert registry.names(Kind.METRIC) == ["own"]
    else:
        (problem,) = registry.problems
        assert "plugin.py" in problem.plugin
        assert reason in problem.reason
        assert registry.names(Kind.METRIC) == []

"""Entries that choose scenarios by tag."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from harness.contracts.plugins import Kind, all_tags
from harness.errors import PluginError, SpecError
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.load import Sweep, load_sweep, sweep_from_entries

SCENARIO = """
    name: {name}
    description: Questions.
    taxonomy: {{task: Yes/no  questions}}
    tags: {tags}
    source: {{files: {{test: q.jsonl}}}}
    parameters: {parameters}
    input: "{{{{ q }}}}"
    correct: "{{{{ a }}}}"
    adapter: generation
    metrics: {metrics}
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()

    def write(name: str, tags: str, *, parameters: str = "{}", metrics: str = "[exact_match]") -> None:
        text = SCENARIO.format(name=name, tags=tags, parameters=parameters, metrics=metrics)
        (folder / f"{name}.yaml").write_text(dedent(text))

    write("own_a", "[own-topic]")
    write("own_b", "[own-topic, second]", parameters="{part: {choices: [x, y]}}")
    write("own_judged", "[own-topic]", metrics="[judge_score]")
    write("own_free", "[own-topic]", parameters="{path: {}}")
    write("own_untagged", "[]")
    write("tag", "[second]", parameters="{part: {choices: [x, y]}}")
    return folder


def read(folder: Path, runs: str) -> Sweep:
    path = folder.parent / "sweep.yaml"
    path.write_text(f"suite: s\nmodels: [fake:x]\nplugins: [mine]\nruns:\n  - {runs}\n")
    return load_sweep(path)[0]


def test_every_scenario_with_the_tag_is_run_and_others_are_left_out_with_a_reason(plugins: Path) -> None:
    sweep = read(plugins, "tag:own-topic")
    assert [run.scenario.label for run in sweep.runs] == ["own_a", "own_b:part=x", "own_b:part=y"]
    left_out = {str(warning).split("leaves out ")[1].split(":")[0]: str(warning) for warning in sweep.warnings}
    assert left_out.keys() == {"own_free", "own_judged"}
    assert "sweep.yaml:5" in left_out["own_free"]
    assert left_out["own_free"].endswith("value for path is required. Write own_free:path=… as another run.")
    assert "Write {scenario: own_judged, metrics: [" in left_out["own_judged"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            '{scenario: "tag:second", max_eval_instances: 7}',
            [(f"{name}:part={part}", 7) for name in ("own_b", "tag") for part in "xy"],
        ),
        ("tag:second,part=y,max_eval_instances=7", [("own_b:part=y", 7), ("tag:part=y", 7)]),
        ("tag:part=y", [("tag:part=y", None)]),
        ("tag:yes-no-questions,part=x", [("own_b:part=x", None), ("tag:part=x", None)]),
    ],
)
def test_settings_go_to_every_run(plugins: Path, entry: str, expected: list[tuple[str, int | None]]) -> None:
    assert [(run.scenario.label, run.max_eval_instances) for run in read(plugins, entry).runs] == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("tag:own-topics", ["sweep.yaml:5: runs[0]: there is no tag 'own-topics'. Did you mean 'own-topic'", "math ("]),
        ("{scenario: 'tag:Own Topic'}", ["runs[0].scenario: there is no tag 'Own Topic'. Did you mean 'own-topic'"]),
        ("{scenario: 'tag:own-topic', max_eval_instancs: 3}", ["max_eval_instancs: is not a key"]),
        ("tag:second,part=z", ["runs[0].part: 'z' is not one of the choices"]),
    ],
)
def test_mistakes_are_errors(plugins: Path, entry: str, expected: list[str]) -> None:
    with pytest.raises(SpecError) as error:
        read(plugins, entry)
    for part in expected:
        assert part in str(error.value)


def test_tags_of_the_command_line() -> None:
    sweep, _ = sweep_from_entries(["tag:truthfulness"], ["fake:x"])
    assert "truthful_qa" in {run.scenario.name for run in sweep.runs}
    with pytest.raises(SpecError, match="--run tag:truthfulnes: there is no tag 'truthfulnes'"):
        sweep_from_entries(["tag:truthfulnes"], ["fake:x"])


def test_tags_are_known_without_importing_and_agree_with_the_plugins() -> None:
    registry = default_registry()
    by_text = registry.tags()
    loaded: dict[str, list[str]] = {}
    for plugin in registry.all(Kind.SCENARIO):
        for tag in getattr(plugin.details, "all_tags", ()):
            loaded.setdefault(tag, []).append(plugin.name)
    assert by_text == dict(sorted(loaded.items()))
    assert not any(name.startswith("sample_") for names in by_text.values() for name in names)


def test_a_tag_has_one_form(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(dedent(SCENARIO.format(name="own", tags="[Own Topic]", parameters="{}", metrics="[exact_match]")))
    registry = Registry()
    registry.load_path(file)
    assert "'Own Topic' is not a tag" in str(registry.problems)
    python = tmp_path / "own.py"
    python.write_text(
        "from harness import scenario\nfrom harness.contracts.plugins import Source\n"
        "@scenario('own', title='t', source='s', data=Source(), adapter={}, metrics=[], main_metric='m', taxonomy={},\n"
        "          tags=('Own Topic',))\ndef own(data):\n    'Doc.'\n    yield from ()\n"
    )
    registry = Registry()
    registry.load_path(python)
    assert "'Own Topic' is not a tag" in str(registry.problems)
    with pytest.raises(PluginError):
        registry.get(Kind.SCENARIO, "own")


def test_the_task_counts_only_with_other_tags() -> None:
    assert all_tags((), "summarization") == ()
    assert all_tags(("law",), "Sentiment analysis (binary)") == ("law", "sentiment-analysis-binary")
    assert all_tags(("law",), "") == ("law",)


def test_a_setting_that_no_scenario_of_a_tag_has_is_said_once() -> None:
    with pytest.raises(SpecError) as refused:
        sweep_from_entries(["tag:reading,foo=1"], ["fake:x"], registry=default_registry())
    (said,) = map(str, refused.value.diagnostics)
    assert "[foo]: is not a parameter. This applies to belebele, boolq" in said
    assert re.search(r" and \d+ more\.$", said)


def test_scenarios_that_a_setting_leaves_out_share_a_warning() -> None:
    sweep, _ = sweep_from_entries(["tag:reading,contrast_sets=true"], ["fake:x"], registry=default_registry())
    assert {run.scenario.name for run in sweep.runs} == {"boolq"}
    (said,) = (str(warning) for warning in sweep.warnings if "leaves out" in str(warning))
    assert "more: contrast_sets is not a parameter." in said

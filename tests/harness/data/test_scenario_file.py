"""Scenario files: what they make of rows, and what is said when file or rows are wrong."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Instance, Reference, Split
from harness.contracts.plugins import Kind, Plugin, ScenarioDetails
from harness.data.scenario_file import load_scenario_file
from harness.data.source import open_data
from harness.errors import DataError, SpecError
from harness.plugins.parameters import build, check_parameters, describe_parameters, parameters_of
from harness.plugins.registry import Registry

QUIZ: dict[str, Any] = {
    "name": "quiz",
    "description": "Questions about things. More about them.",
    "source": {"files": {"test": "test.jsonl"}},
    "input": "{{ question }}",
    "adapter": {"method": "generation"},
    "metrics": ["exact_match"],
}


def save(folder: Path, changes: dict[str, Any]) -> Path:
    path = folder / "quiz.yaml"
    content = {key: value for key, value in {**QUIZ, **changes}.items() if value is not ...}
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return path


def instances(folder: Path, changes: dict[str, Any], *rows: dict[str, Any], **arguments: Any) -> list[Instance]:
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plugin = load_scenario_file(save(folder, changes))
    assert isinstance(plugin.details, ScenarioDetails)
    data = open_data(plugin.details, arguments, name=plugin.name, data_dir=folder)
    return list(build(plugin, data, arguments=arguments)())


def references(folder: Path, changes: dict[str, Any], row: dict[str, Any]) -> list[tuple[str, bool]]:
    (instance,) = instances(folder, changes, {"question": "q", **row})
    return [(reference.text, reference.correct) for reference in instance.references]


def mistakes(folder: Path, text: str) -> list[str]:
    path = folder / "quiz.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_scenario_file(path)
    return [str(mistake).replace(str(path), "quiz.yaml") for mistake in caught.value.diagnostics]


LEVELS = {"parameters": {"level": {"type": "int"}}}


def test_a_column_that_a_parameter_would_hide_is_reported(tmp_path: Path) -> None:
    rows = [{"question": "a", "level": 1}, {"question": "b", "level": 2}]
    hidden = {**LEVELS, "meta": {"level": "{{ level }}"}}
    with pytest.raises(DataError) as caught:
        instances(tmp_path, hidden, *rows, level=1)
    assert str(caught.value).endswith(
        "test.jsonl, row 2: meta uses 'level', which is both a parameter (1) and a column (2). Write row.level for the "
        "column, or rename the parameter."
    )
    assert len(instances(tmp_path, hidden, rows[0], level=1)) == 1, "equal values cannot be confused"
    (kept,) = instances(tmp_path, {**LEVELS, "filter": "{{ row.level == level }}"}, *rows, level=2)
    assert kept.input == "b", "a file that uses both knows of both"


# ---------------------------------------------------------------------------------------------------------------
# The plugin


FULL = """
name: mmlu
title: MMLU
description: |
  Multiple choice questions from exams.

  They come from 57 subjects.
citation: Hendrycks et al. 2021 (arXiv:2009.03300)
taxonomy: {task: question answering, when: 2021}
source:
  files: {train: "dev/{{ subject }}.csv", test: ["test/{{ subject }}.csv"]}
  hub:
    path: cais/mmlu
    config: "{{ subject }}"
    revision: c30699e8356da336a370243923dbaf21066bb9fe
    splits: {train: dev, test: test}
  columns: [question, A, B, C, D, answer]
  url: https://github.com/hendrycks/test
  licence: MIT
parameters:
  subject: {choices: [anatomy, virology], description: The exam's subject.}
  shots: {type: int, default: 5}
input: "{{ question }}"
references: ["{{ A }}", "{{ B }}", "{{ C }}", "{{ D }}"]
correct_index: "{{ 'ABCD'.index(answer) }}"
meta: {subject: "{{ subject }}"}
adapter:
  method: multiple_choice_joint
  instructions: "Questions about {{ subject | replace('_', ' ') }}."
  max_train_instances: "{{ shots }}"
  stop_sequences: ["\\n"]
metrics: [accuracy, efficiency]
main_metric: exact_match
eval_split: test
"""


@pytest.fixture
def mmlu(tmp_path: Path) -> Plugin:
    (tmp_path / "mmlu.yaml").write_text(FULL)
    for folder in ("dev", "test"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "anatomy.csv").write_text(f'{folder} one?,a,"b, b",c,d,B\n{folder} two?,a,b,c,a,D\n')
    return load_scenario_file(tmp_path / "mmlu.yaml")


def test_a_file_becomes_a_plugin(mmlu: Plugin, tmp_path: Path) -> None:
    details = mmlu.details
    assert isinstance(details, ScenarioDetails)
    assert (mmlu.kind, mmlu.name, mmlu.summary) == (Kind.SCENARIO, "mmlu", "Multiple choice questions from exams.")
    assert mmlu.source == "Hendrycks et al. 2021 (arXiv:2009.03300)"
    assert mmlu.origin == str(tmp_path / "mmlu.yaml")
    assert details.title == "MMLU"
    assert details.taxonomy == {"task": "question answering", "when": "2021"}
    assert details.metrics == ("accuracy", "efficiency")
    assert (details.main_metric, details.eval_split) == ("exact_match", Split.TEST)
    assert details.data.hub is not None
    assert details.data.hub.splits == {"train": "dev", "test": "test"}
    assert details.data.columns == ("question", "A", "B", "C", "D", "answer")


def test_parameters_are_checked_and_described(mmlu: Plugin) -> None:
    assert [row[:3] for row in describe_parameters(mmlu)] == [
        ("subject", "'anatomy' | 'virology'", "required"),
        ("shots", "int", "5"),
    ]
    _, wrong = check_parameters(parameters_of(mmlu), {"subject": "anatomie", "shot": 3})
    assert [str(mistake) for mistake in wrong] == [
        "subject: 'anatomie' is not one of the choices. Did you mean 'anatomy'?",
        "shot: is not a parameter. Did you mean 'shots'?",
    ]


def test_the_default_adapter_knows_the_parameters(mmlu: Plugin) -> None:
    assert isinstance(mmlu.details, ScenarioDetails)
    assert callable(mmlu.details.adapter)
    assert mmlu.details.adapter(subject="high_school", shots=3) == {
        "method": "multiple_choice_joint",
        "instructions": "Questions about high school.",
        "max_train_instances": 3,
        "stop_sequences": ["\n"],
    }


def test_rows_become_instances(mmlu: Plugin, tmp_path: Path) -> None:
    arguments = {"subject": "anatomy"}
    assert isinstance(mmlu.details, ScenarioDetails)
    data = open_data(mmlu.details, arguments, name="mmlu", data_dir=tmp_path)
    found = list(build(mmlu, data, arguments=arguments)())
    assert [instance.id for instance in found] == ["train-1", "train-2", "test-1", "test-2"]
    assert found[0] == Instance(
        id="train-1",
        input="dev one?",
        references=(Reference("a"), Reference("b, b", correct=True), Reference("c"), Reference("d")),
        split=Split.TRAIN,
        meta={"subject": "anatomy"},
    )
    assert [r.correct for r in found[3].references] == [False, False, False, True], "equal texts are told by index"


def test_the_registry_finds_it(mmlu: Plugin, tmp_path: Path) -> None:
    registry = Registry()
    registry.load_path(tmp_path / "mmlu.yaml")
    assert registry.problems == []
    assert registry.get(Kind.SCENARIO, "mmlu").doc == mmlu.doc


def test_short_file(tmp_path: Path) -> None:
    plugin = load_scenario_file(save(tmp_path, {"adapter": "generation"}))
    assert isinstance(plugin.details, ScenarioDetails)
    assert (plugin.details.title, plugin.details.main_metric) == ("quiz", "exact_match")
    assert plugin.details.adapter == {"method": "generation"}


# ---------------------------------------------------------------------------------------------------------------
# Rows


@pytest.mark.parametrize(
    ("changes", "row", "expected"),
    [
        ({}, {}, []),
        ({"references": ["Yes", "No"], "correct": "{{ a }}"}, {"a": "No"}, [("Yes", False), ("No", True)]),
        ({"references": "{{ all }}", "correct": "{{ a }}"}, {"all": ["x", "y"], "a": "y"}, [("x", False), ("y", True)]),
        ({"references": "{{ all }}", "correct": "{{ all }}"}, {"all": ["x", "y"]}, [("x", True), ("y", True)]),
        ({"correct": "{{ all }}"}, {"all": ["x", "y"]}, [("x", True), ("y", True)]),
        ({"correct": "{{ a }}"}, {"a": "x"}, [("x", True)]),
        ({"correct": "{{ a }}"}, {"a": 42}, [("42", True)]),
        ({"references": [1, 2], "correct": "2"}, {}, [("1", False), ("2", True)]),
        ({"references": ["x", "y"], "correct_index": "{{ i }}"}, {"i": 1}, [("x", False), ("y", True)]),
        ({"references": ["x", "y"], "correct_index": "{{ i }}"}, {"i": "1"}, [("x", False), ("y", True)]),
        ({"references": ["x", "x"], "correct_index": "{{ i }}"}, {"i": 1}, [("x", False), ("x", True)]),
        ({"references": ["x", "y"], "correct_index": 0}, {}, [("x", True), ("y", False)]),
        ({"references": ["x", "y"], "correct_index": "{{ i }}"}, {"i": [0, 1]}, [("x", True), ("y", True)]),
        (
            {"references": "{{ c | map(attribute='t') }}", "correct_index": "{{ 'AB'.index(k) }}"},
            {"c": [{"t": "x"}, {"t": "y"}], "k": "B"},
            [("x", False), ("y", True)],
        ),
    ],
)
def test_references(
    tmp_path: Path, changes: dict[str, Any], row: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    assert references(tmp_path, changes, row) == expected


def test_values_are_never_templates(tmp_path: Path) -> None:
    evil = "{{ 1 + 1 }} {% for %} {{ row.__class__ }}"
    (instance,) = instances(
        tmp_path, {"correct": "{{ question }}", "meta": {"q": "{{ question }}"}}, {"question": evil}
    )
    assert instance.input == evil
    assert instance.references == (Reference(evil, correct=True),)
    assert instance.meta == {"q": evil}


def test_ids_meta_and_filter(tmp_path: Path) -> None:
    changes = {
        "id": "{{ split }}/{{ row['the id'] }}",
        "filter": "keep",
        "meta": {
            "n": "{{ number }}",
            "all": "{{ tags }}",
            "text": "{{ number }}!",
            "fixed": 3,
            "deep": {"x": ["{{ keep }}"]},
        },
    }
    rows = [{"question": "q", "the id": i, "keep": i != 1, "tags": {"a": [i]}} for i in range(3)]
    found = instances(tmp_path, changes, *rows)
    assert [instance.id for instance in found] == ["test/0", "test/2"]
    assert found[1].meta == {"n": 3, "all": {"a": [2]}, "text": "3!", "fixed": 3, "deep": {"x": [True]}}


def test_names_parameters_before_columns_before_our_own(tmp_path: Path) -> None:
    changes = {"input": "{{ split }} {{ level }} {{ row.level }}", "parameters": {"level": {"default": "hard"}}}
    (instance,) = instances(tmp_path, changes, {"split": "column", "level": "easy"}, level="hard")
    assert instance.input == "column hard easy"


@pytest.mark.parametrize(
    ("changes", "row", "message"),
    [
        (
            {"input": "{{ ask }}?"},
            {"question": "q"},
            "input needs column 'ask', which does not exist. Columns: 'question'.",
        ),
        (
            {"filter": "keep"},
            {"question": "q"},
            "filter needs column 'keep', which does not exist. Columns: 'question'.",
        ),
        ({"input": "{{ row['a b'] }}"}, {"question": "q"}, "there is no column 'a b'. Columns: 'question'."),
        ({}, {"question": None}, "input is None, not text."),
        ({}, {"question": ["q"]}, "input is ['q'], not text."),
        ({"input": "{{ question.stem }}"}, {"question": {}}, "input: 'dict object' has no attribute 'stem'"),
        (
            {"references": ["Yes", "No"], "correct": "{{ a }}"},
            {"question": "q", "a": "Maybe"},
            "the correct answer 'Maybe' is not one of the references ['Yes', 'No'].",
        ),
        (
            {"references": ["x", "y"], "correct_index": "{{ 'AB'.index(a) }}"},
            {"question": "q", "a": "E"},
            "correct_index: substring not found",
        ),
        (
            {"references": ["x", "y"], "correct_index": "{{ a }}"},
            {"question": "q", "a": 2},
            "correct_index is 2, not a number from 0 to 1. The references are ['x', 'y'].",
        ),
        (
            {"references": ["x", "y"], "correct_index": "{{ a }}"},
            {"question": "q", "a": -1},
            "correct_index is -1, not",
        ),
        ({"references": ["x", "y"], "correct_index": "{{ a }}"}, {"question": "q", "a": None}, "correct_index is None"),
        ({"correct": "{{ a }}"}, {"question": "q", "a": [None]}, "correct is None, not text."),
        ({"correct": "{{ a }}"}, {"question": "q", "a": " "}, "correct is empty"),
        ({"id": "{{ a }}"}, {"question": "q", "a": ""}, "id is empty"),
        ({"meta": {"r": "{{ row }}"}, "filter": "true"}, {"question": "q"}, None),
        ({"meta": {"r": "{{ range(3).index }}"}}, {"question": "q"}, "meta holds builtin_function_or_method"),
    ],
)
def test_rows_that_do_not_fit(
    tmp_path: Path, changes: dict[str, Any], row: dict[str, Any], message: str | None
) -> None:
    good = {"question": "fine", "ask": "a", "keep": True, "a b": 1, "a": "Yes"}
    if message is None:
        assert instances(tmp_path, changes, row)[0].meta == {"r": row}
        return
    with pytest.raises(DataError) as caught:
        instances(tmp_path, changes, row, good)
    assert str(caught.value).startswith(f"{tmp_path / 'test.jsonl'}, row 1: {message}")


def test_no_correct_reference_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 1: correct is empty"):
        instances(tmp_path, {"correct": "{{ a }}"}, {"question": "q", "a": []})


def test_an_id_twice_names_both_rows(tmp_path: Path) -> None:
    rows = [{"question": "q", "key": key} for key in ("a", "b", "a")]
    with pytest.raises(DataError, match=r"row 3: id 'a' is also that of .*test\.jsonl, row 1"):
        instances(tmp_path, {"id": "{{ key }}"}, *rows)


# ---------------------------------------------------------------------------------------------------------------
# Mistakes


def test_all_mistakes_are_reported_with_their_lines(tmp_path: Path) -> None:
    text = """\
name: my quiz
descripton: Typo.
source:
  files: {test: [], training: a.jsonl}
  hub:
    path: acme/quiz
    revision: main
    splits: {test: test}
    configuration: x
  license: MIT
parameters:
  level: {choices: [a, b], default: c}
  class: {type: str}
input: {{ question }}
references:
  - "{{ a"
  - ok
correct: |
  first
  {% if %}
meta: {x: "{{ a | uper }}"}
adapter: {instructions: "About {{ levle }}."}
metrics: accuracy
metrics: [accuracy]
eval_split: dev
"""
    expected = [
        ("quiz.yaml:1: name:", "'my quiz' is not a valid name"),
        ("quiz.yaml:1: description:", "required"),
        ("quiz.yaml:2: descripton:", "Did you mean 'description'?"),
        ("quiz.yaml:4: source.files.test:", "file name"),
        ("quiz.yaml:4: source.files.training:", "Did you mean 'train'?"),
        ("quiz.yaml:7: source.hub.revision:", "commit"),
        ("quiz.yaml:9: source.hub.configuration:", "Did you mean 'config'?"),
        ("quiz.yaml:10: source.license:", "Did you mean 'licence'?"),
        ("quiz.yaml:12: parameters.level:", "default 'c'"),
        ("quiz.yaml:13: parameters.class:", "keyword"),
        ("quiz.yaml:14: input:", "in quotes"),
        ("quiz.yaml:16: references[0]:", "unexpected end of template"),
        ("quiz.yaml:20: correct:", "not a template"),
        ("quiz.yaml:21: meta.x:", "'uper'"),
        ("quiz.yaml:22: adapter:", "method"),
        ("quiz.yaml:22: adapter.instructions:", "Did you mean 'level'?"),
        ("quiz.yaml:23: metrics:", "Write [accuracy]."),
        ("quiz.yaml:24: metrics:", "already set on line 23"),
        ("quiz.yaml:25: eval_split:", "'dev' is not one of the choices"),
    ]
    found = mistakes(tmp_path, text)
    assert len(found) == len(expected), found
    for message, (place, words) in zip(found, expected, strict=True):
        assert message.startswith(place)
        assert words in message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("input: '{{ a'", "quiz.yaml:4: input: is not a template: unexpected end of template"),
        ("input: |\n  one\n  {% if %}\n", "quiz.yaml:6: input: is not a template: Expected an expression"),
        ("input: '{{ a | uper }}'", "quiz.yaml:4: input: is not a template: No filter named 'uper'."),
        ("input: {{ a }}", "quiz.yaml:4: input: a key must be text. Put templates that begin with '{{' in quotes."),
        ("input: x\nfilter: a b", "quiz.yaml:5: filter: is not a template"),
        ("input: x\nmeta: {y: ['{{']}", "quiz.yaml:5: meta.y[0]: is not a template"),
        ("input: x\nwwxyzq: red", "quiz.yaml:5: wwxyzq: is not a key. Known: adapter, aliases, citation"),
        ('input: x\n"[key]": a', "quiz.yaml:5: [key]: is not a key."),
        ("input: x\nmetric: [a]", "quiz.yaml:5: metric: is not a key. Did you mean 'metrics'?"),
        ("input: x\ntaxonomy: {tsak: a}", "quiz.yaml:5: taxonomy.tsak: is not a key. Did you mean 'task'?"),
        ("input: x\nreferences: [a]", "quiz.yaml:1: has references, but neither correct nor correct_index"),
        ("input: x\ncorrect_index: 0", "quiz.yaml:1: has correct_index but no references"),
        (
            "input: x\nreferences: [a]\ncorrect: a\ncorrect_index: 0",
            "quiz.yaml:1: has both correct and correct_index",
        ),
        ("input: x\neval_split: valid", "quiz.yaml:1: has eval_split valid, which its source does not have"),
        ("input: x\nreferences: {a: 1}\ncorrect: a", "quiz.yaml:5: references: must be text, or a list of texts"),
        ("input: [x]", "quiz.yaml:4: input: must be text, not ['x']."),
        ("input: x\ninput: y", "quiz.yaml:5: input: is already set on line 4."),
        (
            "input: x\nparameters: {level: {default: 1}}",
            "quiz.yaml:5: parameters.level: has the default 1, which is not of type str; set `type`.",
        ),
        (
            "input: x\nparameters: {level: {choices: [us_history], titles: {us_histori: US history}}}",
            "quiz.yaml:5: parameters.level.titles: names 'us_histori', which is not one of the choices. "
            "Did you mean 'us_history'?",
        ),
        ("input: x\nparameters: {level: {kind: int}}", "quiz.yaml:5: parameters.level.kind: is not a key."),
    ],
)
def test_mistakes(tmp_path: Path, change: str, expected: str) -> None:
    text = (
        "name: quiz\ndescription: Things.\nsource: {files: {test: t.jsonl}}\n"
        f"{change}\nadapter: generation\nmetrics: [exact_match]\n"
    )
    found = mistakes(tmp_path, text)
    assert any(mistake.startswith(expected) for mistake in found), found


def test_templates_of_source_and_adapter_know_the_parameters_only(tmp_path: Path) -> None:
    text = """\
name: quiz
description: Things.
source:
  files: {test: "{{ levle }}.jsonl"}
parameters: {level: {}}
input: x
adapter:
  method: generation
  instructions: |
    Hello
    {{ question }}
metrics: [exact_match]
"""
    assert mistakes(tmp_path, text) == [
        "quiz.yaml:4: source.files.test: 'levle' is not a parameter of the scenario. Did you mean 'level'?",
        "quiz.yaml:9: adapter.instructions: 'question' is not a parameter of the scenario. Known: level.",
    ]


@pytest.mark.parametrize("text", ["", "- a", "x", "3"])
def test_files_that_are_no_mapping(tmp_path: Path, text: str) -> None:
    (mistake,) = mistakes(tmp_path, text)
    assert "a scenario file is a mapping" in mistake


# ---------------------------------------------------------------------------------------------------------------
# Anything at all

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["{{ a }}", "{{ a", "{% if %}", "{{ 9 ** (9 ** 9) }}", "{{ [1] * (10 ** 9) }}", "test", "2020-01-01"]
    ),
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [found for key, item in items for found in paths(item, (*path, key))]


BASE = yaml.safe_load(FULL)
PATHS = paths(BASE)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A scenario file's content with some keys removed, renamed, added or given other values."""
    content = copy.deepcopy(BASE)
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=3)):
        try:
            parent = content
            for key in path[:-1]:
                parent = parent[key]
            match draw(st.sampled_from(["set", "delete", "rename", "add"])):
                case "set":
                    parent[path[-1]] = draw(anything)
                case "delete":
                    del parent[path[-1]]
                case "rename":
                    parent[draw(st.text(max_size=6))] = parent.pop(path[-1])
                case _:
                    parent[path[-1]][draw(st.text(max_size=6))] = draw(anything)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    return content


def check(folder: Path, content: bytes) -> None:
    path = folder / "fuzz.yaml"
    path.write_bytes(content)
    try:
        plugin = load_scenario_file(path)
    except SpecError as error:
        found = error.diagnostics
    else:
        parameters_of(plugin)
        return
    assert found
    assert all(mistake.message and mistake.file == str(path) for mistake in found)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated())
def test_mutated_files_are_plugins_or_mistakes(tmp_path: Path, content: Any) -> None:
    check(tmp_path, yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "replace"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, len(FULL)), st.binary(max_size=4) | st.text(max_size=4).map(lambda t: t.encode("utf-8", "replace"))
)
def test_damaged_files_are_plugins_or_mistakes(tmp_path: Path, position: int, inserted: bytes) -> None:
    text = FULL.encode()
    check(tmp_path, text[:position] + inserted + text[position + len(inserted) :])
    check(tmp_path, text[:position] + inserted)


def test_a_header_with_another_delimiter_is_told(tmp_path: Path) -> None:
    (tmp_path / "capitals.csv").write_text("country;capital\nFrance;Paris\n")
    (tmp_path / "capitals.yaml").write_text(
        "name: capitals\ntitle: Capitals\ndescription: Capitals.\ncitation: Made up.\n"
        "taxonomy: {task: question answering, what: states, who: nobody, when: now, language: English}\n"
        "source: {files: {test: ./capitals.csv}}\ninput: '{{ country }}'\ncorrect: '{{ capital }}'\n"
        "adapter: {method: generation, max_train_instances: 0}\nmetrics: [exact_match]\nmain_metric: exact_match\n"
    )
    plugin = load_scenario_file(tmp_path / "capitals.yaml")
    assert isinstance(plugin.details, ScenarioDetails)
    data = open_data(plugin.details, {}, name="capitals", data_dir=None)
    with pytest.raises(DataError, match="semicolons part the columns"):
        list(build(plugin, data, arguments={})())


def test_a_cluster_is_kept_in_the_meta_data(tmp_path: Path) -> None:
    passage = "A passage that is longer than a key should be, and is asked about twice."
    rows = [{"question": text, "passage": passage, "number": 7} for text in ("q", "r")]
    found = instances(tmp_path, {"cluster": "{{ passage }}", "meta": {"n": "{{ row['number'] }}"}}, *rows)
    keys = [instance.meta["cluster"] for instance in found]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 16
    assert found[0].meta["n"] == 7
    (short,) = instances(tmp_path, {"cluster": "{{ row['number'] }}"}, rows[0])
    assert short.meta == {"cluster": "7"}
    plugin = load_scenario_file(tmp_path / "quiz.yaml")
    assert isinstance(plugin.details, ScenarioDetails)
    assert plugin.details.cluster == "cluster"


def test_a_cluster_beside_a_key_of_that_name_is_a_mistake(tmp_path: Path) -> None:
    text = yaml.safe_dump({**QUIZ, "cluster": "{{ passage }}", "meta": {"cluster": 1}})
    assert any("has both cluster and the key 'cluster' in meta" in mistake for mistake in mistakes(tmp_path, text))

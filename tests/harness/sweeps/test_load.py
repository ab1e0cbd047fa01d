"""Sweeps: what each form of an entry becomes, and who prevails where several have a say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.plugins.registry import Registry
from harness.sweeps.load import Sweep, find_sweep, load_sweep, shipped_sweeps, sweep_from_entries
from harness.sweeps.shorthand import Entry, parse_model

Load = Callable[..., Sweep]


def entry(load: Load, run: str, *, head: str = "", **overrides: Any) -> tuple[RunSpec, ...]:
    """Load a sweep of one entry, written in flow style."""
    return load(f"suite: s\nmodels: [hf:a/b]\n{head}\nruns:\n  - {run}\n", **overrides).runs


def test_a_name_alone_is_a_complete_run(load: Load) -> None:
    (run,) = entry(load, "chat")
    assert run.model_dump(mode="json") == {
        "suite": "s",
        "scenario": {"name": "chat", "style": "short", "codes": []},
        "parts": [],
        "adapter": {
            "name": "ask",
            "input_prefix": "Input: ",
            "max_tokens": 10,
            "max_train_instances": 5,
            "train_trials": 1,
            "temperature": 0.0,
            "num_outputs": 1,
            "stop": ["\n"],
        },
        "perturbations": [],
        "metrics": [{"name": "length", "unit": "words"}, {"name": "right"}],
        "main_metric": "right",
        "groups": [],
        "model": {"name": "hf:a/b"},
        "operational": {},
        "eval_split": "test",
        "max_eval_instances": None,
        "max_declined": 0.1,
        "instance_seed": 0,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("exam:subject=law", [("law", 2020)]),
        ("exam:subject=law,year=1999", [("law", 1999)]),
        ("{scenario: 'exam:subject=law,year=1999'}", [("law", 1999)]),
        ("{scenario: {name: exam, subject: law}}", [("law", 2020)]),
        ("{scenario: {name: exam, subject: [law, virology]}}", [("law", 2020), ("virology", 2020)]),
        (
            "{scenario: {name: exam, subject: [law, virology], year: [1, 2]}}",
            [("law", 1), ("law", 2), ("virology", 1), ("virology", 2)],
        ),
    ],
)
def test_scenario_is_written_as_text_or_mapping_and_lists_fan_out(
    load: Load, run: str, expected: list[tuple[str, int]]
) -> None:
    runs = entry(load, run)
    assert [(r.scenario.arguments["subject"], r.scenario.arguments["year"]) for r in runs] == expected


def test_a_parameter_that_takes_a_list_does_not_fan_out(load: Load) -> None:
    (run,) = entry(load, "{scenario: {name: chat, codes: [a, b]}, adapter: {stop: [x, y]}}")
    assert run.scenario.arguments["codes"] == ["a", "b"]
    assert run.adapter.arguments["stop"] == ["x", "y"]


def test_text_of_digits_is_text_where_a_parameter_is_text(load: Load) -> None:
    (run,) = entry(load, "chat:style=007")
    assert run.scenario.arguments["style"] == "007"


def test_default_adapter_may_depend_on_the_scenarios_parameters(load: Load) -> None:
    runs = entry(load, "{scenario: {name: chat, style: [short, long]}}")
    assert [run.adapter.arguments["max_tokens"] for run in runs] == [10, 100]


@pytest.mark.parametrize(
    ("run", "defaults", "expected"),
    [
        ("exam:subject=law", "", {"max_tokens": 1, "max_train_instances": 5}),  # scenario over method
        ("exam:subject=law", "{max_train_instances: 2}", {"max_tokens": 1, "max_train_instances": 2}),
        ("exam:subject=law", "{adapter: {max_tokens: 7}}", {"max_tokens": 7}),  # defaults over scenario
        ("{scenario: 'exam:subject=law', adapter: {max_tokens: 9}}", "{adapter: {max_tokens: 7}}", {"max_tokens": 9}),
        (
            "{scenario: 'exam:subject=law', max_train_instances: 0}",
            "{max_train_instances: 2}",
            {"max_train_instances": 0},
        ),
        ("{scenario: 'exam:subject=law', adapter: {method: compare}}", "", {"max_tokens": 1, "calibrated": False}),
        ("{scenario: 'exam:subject=law', adapter: compare}", "{max_train_instances: 2}", {"max_tokens": 1}),  # skipped
        ("exam:subject=law", "{adapter: {method: compare, calibrated: true}}", {"calibrated": True}),
        ("exam:subject=law", "", {"input_prefix": "Question: "}),
    ],
)
def test_the_run_prevails_over_defaults_over_scenario_over_method(
    load: Load, run: str, defaults: str, expected: dict[str, Any]
) -> None:
    (spec,) = entry(load, run, head=f"defaults: {defaults}" if defaults else "")
    assert {key: spec.adapter.arguments[key] for key in expected} == expected


def test_a_later_layers_shorthand_prevails_over_what_an_earlier_one_spells_out(load: Load) -> None:
    head = "defaults: {adapter: {input_prefix: 'Q: '}}"
    assert entry(load, "chat", head=head)[0].adapter.arguments["input_prefix"] == "Q: "
    (run,) = entry(load, "{scenario: chat, adapter: {input_noun: Text}}", head=head)
    assert run.adapter.arguments["input_prefix"] == "Text: "


def test_adapter_settings_fan_out(load: Load) -> None:
    runs = entry(load, "{scenario: chat, max_train_instances: [0, 2], adapter: {max_tokens: [1, 2]}}")
    chosen = [(r.adapter.arguments["max_tokens"], r.adapter.arguments["max_train_instances"]) for r in runs]
    assert chosen == [(1, 0), (1, 2), (2, 0), (2, 2)]


@pytest.mark.parametrize(
    ("argument", "read", "value"),
    [
        ("max_eval_instances=7", lambda run: run.max_eval_instances, 7),
        ("max_train_instances=3", lambda run: run.adapter.arguments["max_train_instances"], 3),
        ("max_train_instances=zero", lambda run: run.adapter.arguments["max_train_instances"], 0),
        ("num_train_trials=3", lambda run: run.adapter.arguments["train_trials"], 3),
        ("temperature=0.5", lambda run: run.adapter.arguments["temperature"], 0.5),
        ("num_outputs=2", lambda run: run.adapter.arguments["num_outputs"], 2),
        ("method=compare", lambda run: run.adapter.name, "compare"),
        ("model=hf:other", lambda run: run.model.name, "hf:other"),
        ("eval_split=valid", lambda run: run.eval_split, "valid"),
        ("data_augmentation=noise", lambda run: [p.label for p in run.perturbations], ["loud", "typos:prob=0.1"]),
    ],
)
def test_helms_run_expanders(load: Load, argument: str, read: Callable[[RunSpec], Any], value: Any) -> None:
    (run,) = entry(load, f"exam:subject=law,{argument}")
    assert read(run) == value
    assert run.scenario.arguments == {"subject": "law", "year": 2020}


def test_helms_sweep_over_few_shot_examples(load: Load) -> None:
    runs = entry(load, "chat:max_train_instances=all")
    assert [run.adapter.arguments["max_train_instances"] for run in runs] == [0, 1, 2, 4, 8, 16]


def test_sets_are_resolved_and_members_named_twice_are_one(load: Load) -> None:
    (run,) = entry(load, "{scenario: chat, metrics: [both, length], perturbations: [noise, {name: typos, prob: 0.1}]}")
    assert [metric.label for metric in run.metrics] == ["right", "length:unit=words"]
    assert [p.label for p in run.perturbations] == ["loud", "typos:prob=0.1"]


@pytest.mark.parametrize(
    ("run", "metrics", "main"),
    [
        ("chat", ["length", "right"], "right"),  # the scenario's main metric is added
        ("{scenario: chat, metrics: [length]}", ["length", "right"], "right"),
        ("{scenario: chat, metrics: [length], main_metric: length}", ["length"], "length"),
        ("{scenario: chat, metrics: [both], main_metric: both}", ["right", "length"], "right"),  # a set's first
        ("{scenario: chat, metrics: [length], adapter: compare}", ["length"], "length"),  # another measurement
        ("{scenario: chat, metrics: [both], adapter: compare}", ["right", "length"], "right"),
        ('{scenario: "exam:subject=law", adapter: weigh}', ["length"], "length"),  # the method's own metric
        ('{scenario: "exam:subject=law", adapter: weigh, metrics: [right]}', ["right"], "right"),
        ("{scenario: chat, metrics: [ranks], main_metric: 'RR@10'}", ["ranks"], "RR@10"),  # a stat that a metric gives
        ("{scenario: chat, metrics: [untold, ranks], main_metric: anything}", ["untold", "ranks"], "anything"),
    ],
)
def test_main_metric(load: Load, run: str, metrics: list[str], main: str) -> None:
    (spec,) = entry(load, run)
    assert ([metric.name for metric in spec.metrics], spec.main_metric) == (metrics, main)


def test_models_with_parameters_fan_out_and_a_run_may_have_its_own(load: Load) -> None:
    sweep = load("""
        suite: s
        models: [hf:a, {name: "hf:b", dtype: [float32, bfloat16]}]
        runs:
          - chat
          - {scenario: chat, model: "talker:c"}
          - {scenario: "exam:subject=law", models: [hf:d]}
    """)
    assert [run.model.label for run in sweep.runs] == [
        "hf:a",
        "hf:b:dtype=float32",
        "hf:b:dtype=bfloat16",
        "talker:c",
        "hf:d",
    ]


def test_defaults_give_way_to_the_run(load: Load) -> None:
    head = "defaults: {max_eval_instances: 10, seed: 3, eval_split: valid, perturbations: [loud], metrics: [length]}"
    (run,) = entry(load, "chat", head=head)
    assert (run.max_eval_instances, run.seed, run.eval_split) == (10, 3, "valid")
    assert [p.name for p in run.perturbations] == ["loud"]
    (run,) = entry(
        load,
        "{scenario: chat, max_eval_instances: null, seed: 0, eval_split: test, perturbations: []}",
        head=head,
    )
    assert (run.max_eval_instances, run.seed, run.eval_split, run.perturbations) == (None, 0, "test", ())


def test_the_groups_of_a_run_are_its_own_or_its_scenarios(load: Load) -> None:
    (run,) = entry(load, "chat")
    assert run.groups == ()
    (run,) = entry(load, "{scenario: chat, groups: [who, where, who]}")
    assert run.groups == ("who", "where")


def test_the_command_line_prevails(load: Load) -> None:
    text = """
        suite: s
        models: [hf:a]
        runs:
          - {scenario: chat, model: "hf:b", max_eval_instances: 5, seed: 1}
          - exam:subject=law
          - exam:subject=virology
    """
    sweep = load(text, suite="t", models=["talker:x"], only=["exam:*law*", "chat"], max_eval_instances=2, seed=9)
    assert [(run.scenario.name, run.model.name) for run in sweep.runs] == [("chat", "talker:x"), ("exam", "talker:x")]
    assert {(run.suite, run.max_eval_instances, run.seed) for run in sweep.runs} == {("t", 2, 9)}


def test_models_may_come_from_the_command_line_alone(load: Load) -> None:
    assert [run.model.name for run in load("suite: s\nruns: [chat]", models=["hf:x"]).runs] == ["hf:x"]


@pytest.mark.parametrize(
    ("written", "name", "settings"),
    [
        ("hf:x,temperature=0.5", "hf:x", {"temperature": "0.5"}),
        ("hf:./a b,dtype=float32 , devices=2", "hf:./a b", {"dtype": "float32", "devices": "2"}),
        ("openai:m,base_url=http://127.0.0.1:1/v1?a=b", "openai:m", {"base_url": "http://127.0.0.1:1/v1?a=b"}),
        ("hf:x", "hf:x", {}),
        ("hf:a,b", "hf:a,b", {}),
        ("hf:a,b=c,d", "hf:a,b=c,d", {}),
        ("replay:file,x=.jsonl", "replay:file", {"x": ".jsonl"}),
        ("hf:x,empty=", "hf:x", {"empty": ""}),
    ],
)
def test_a_models_settings_follow_its_name(written: str, name: str, settings: dict[str, str]) -> None:
    assert parse_model(written) == Entry(name, settings)


def test_a_file_with_commas_in_its_name_is_one_name(tmp_path: Path) -> None:
    (tmp_path / "model,lr=1").mkdir()
    assert parse_model(f"hf:{tmp_path}/model,lr=1") == Entry(f"hf:{tmp_path}/model,lr=1")
    assert parse_model(f"hf:{tmp_path}/model,lr=2") == Entry(f"hf:{tmp_path}/model", {"lr": "2"})


KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(exclude_characters=","), max_size=10).map(str.strip)


@given(st.text(st.characters(exclude_characters=","), min_size=1).map(str.strip), st.dictionaries(KEYS, VALUES))
def test_what_was_written_is_what_is_read(identifier: str, settings: dict[str, str]) -> None:
    written = ",".join([f"nobody:{identifier}", *(f"{key}={value}" for key, value in settings.items())])
    assert parse_model(written) == Entry(f"nobody:{identifier}" if settings else written, settings)


def test_settings_of_a_model_may_come_from_the_command_line(load: Load) -> None:
    (run,) = load("suite: s\nruns: [chat]", models=["hf:x,dtype=bfloat16"]).runs
    assert (run.model.name, run.model.arguments) == ("hf:x", {"dtype": "bfloat16"})


def test_a_setting_that_a_model_does_not_have_is_told(load: Load) -> None:
    with pytest.raises(SpecError, match=r"dtyp.*Did you mean 'dtype'"):
        load("suite: s\nruns: [chat]", models=["hf:x,dtyp=bfloat16"])
    with pytest.raises(SpecError, match="'dtype' is given twice"):
        load("suite: s\nruns: [chat]", models=["hf:x,dtype=a,dtype=b"])


def test_overlapping_lists_make_each_run_once(load: Load) -> None:
    sweep = load("""
        suite: s
        models: [hf:a]
        runs:
          - exam:subject=law
          - scenario: {name: exam, subject: [law, virology]}
    """)
    assert [run.scenario.arguments["subject"] for run in sweep.runs] == ["law", "virology"]


def test_plugins_and_scenario_files_are_relative_to_the_sweep(tmp_path: Path, toy_plugins: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "toys.py").write_text(toy_plugins.read_text())
    (tmp_path / "sums.yaml").write_text(
        dedent("""
            name: sums
            title: Sums
            description: Sums of two numbers.
            citation: none
            taxonomy: {task: t, what: w, who: w, when: w, language: English}
            source: {files: {test: sums.jsonl}}
            input: "{{ question }}"
            references: ["{{ answer }}"]
            correct: "{{ answer }}"
            adapter: {method: ask}
            metrics: [right]
            main_metric: right
        """)
    )
    path = tmp_path / "sweep.yaml"
    path.write_text("suite: s\nplugins: [mine]\nmodels: [hf:a]\nruns: [sums.yaml, chat]\n")
    sweep, registry = load_sweep(path, registry=Registry())
    assert [run.scenario.name for run in sweep.runs] == ["sums", "chat"]
    assert sweep.plugins == (tmp_path / "mine", tmp_path / "sums.yaml")
    assert registry.problems == []


def test_entries_of_the_command_line_make_a_sweep(toy_registry: Registry) -> None:
    sweep, known = sweep_from_entries(
        ["exam:subject=law", "chat"], ["hf:a", "talker:b"], suite="mine", registry=toy_registry, max_eval_instances=3
    )
    assert known is toy_registry
    assert [(run.scenario.name, run.model.name) for run in sweep.runs] == [
        ("exam", "hf:a"),
        ("exam", "talker:b"),
        ("chat", "hf:a"),
        ("chat", "talker:b"),
    ]
    assert {(run.suite, run.max_eval_instances) for run in sweep.runs} == {("mine", 3)}


def test_find_sweep(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").touch()
    assert find_sweep(str(tmp_path / "x.yaml")) == tmp_path / "x.yaml"
    assert find_sweep("classic") == shipped_sweeps()["classic"]
    with pytest.raises(SpecError, match=r"clasic: no such file.* Did you mean 'classic'\?.*`harness list sweeps`"):
        find_sweep("clasic")
    with pytest.raises(SpecError, match="is a folder, not a sweep"):
        find_sweep(str(tmp_path))


def test_resolved_specs_do_not_depend_on_how_they_are_written(load: Load) -> None:
    (short,) = entry(load, "exam:subject=law,max_train_instances=2")
    (long,) = entry(load, "{max_train_instances: 2, scenario: {year: 2020, subject: law, name: exam}}")
    assert short == long
    assert short.digest == long.digest


def test_a_suite_leaves_the_site_its_folder(load: Load) -> None:
    with pytest.raises(SpecError, match="folder of the leaderboard's pages"):
        load("suite: site\nmodels: [hf:a]\nruns: [chat]")

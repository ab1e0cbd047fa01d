"""HELM's run folders: what is ours by definition gets our name, and nothing is made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.contracts import Split, Stat
from harness.errors import DataError
from harness.imports.helm import helm_runs, read_helm
from harness.imports.imported_run import Imported, write_imported
from harness.plugins.registry import Registry
from harness.statistics import midp_interval
from harness.storage.example_files import read_examples
from harness.storage.results import read_run

HelmRun = Callable[..., Path]
ALL = ("scenario_state.json", "per_instance_stats.json")


def _stats(imported: Imported, metric: str) -> dict[tuple[str | None, str], Stat]:
    return {(stat.perturbation, stat.computed_on): stat for stat in imported.stats if stat.metric == metric}


def _edit(file: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def _said(text: str, reason: str) -> dict[str, Any]:
    tokens = [{"text": text, "logprob": 0.0}] if text else []
    return {"text": text, "logprob": 0.0, "tokens": tokens, "finish_reason": {"reason": reason}}


def test_a_run_becomes_one_of_ours(helm_run: HelmRun, registry: Registry) -> None:
    spec = read_helm(helm_run(), "theirs", registry).spec
    assert (spec.suite, spec.scenario.label, spec.model.name) == ("theirs", "mmlu:subject=anatomy", "helm:openai/gpt2")
    assert (spec.main_metric, spec.eval_split, spec.max_eval_instances) == ("multiple_choice_accuracy", Split.TEST, 4)
    assert [part.name for part in spec.perturbations] == ["typos"]
    assert spec.adapter.name == "multiple_choice_joint"
    assert spec.adapter.arguments["input_prefix"] == "Question: "
    assert spec.adapter.arguments["train_trials"] == 1


def test_scores_of_instances_give_the_error_that_helm_does_not(helm_run: HelmRun, registry: Registry) -> None:
    imported = read_helm(helm_run(), "s", registry)
    stat = _stats(imported, "multiple_choice_accuracy")[None, "original"]
    assert (stat.mean, stat.count, stat.category, stat.higher_is_better) == (0.75, 4, "accuracy", True)
    assert stat.stderr == pytest.approx(0.25)  # √(0.75·0.25·4/3 / 4)
    assert stat.ci95 == midp_interval(3, 4)
    changed = _stats(imported, "exact_match")
    assert (changed["typos", "perturbed"].mean, changed["typos", "perturbed"].count) == (0.5, 4)
    assert changed["typos", "worst"].mean == 0.25
    assert changed["typos", "worst"].count == 4
    assert changed["typos", "worst"].stderr == pytest.approx(0.25)
    assert changed["typos", "perturbed"].category == "robustness"


def test_a_metric_keeps_its_name_unless_ours_gives_every_example_the_same(
    helm_run: HelmRun, registry: Registry
) -> None:
    imported = read_helm(helm_run(), "s", registry)
    names = {stat.metric for stat in imported.stats}
    assert {"exact_match", "quasi_exact_match", "helm.f1_score", "helm.inference_runtime"} <= names
    assert "f1_score" not in names
    assert not any("num_train_trials" in name for name in names)  # of no split: nothing was measured on instances
    bare = {stat.metric for stat in _without(helm_run, registry).stats}
    assert "exact_match" in bare
    assert {"helm.quasi_exact_match", "quasi_exact_match"} & bare == {"helm.quasi_exact_match"}


def _without(helm_run: HelmRun, registry: Registry) -> Imported:
    folder = helm_run()
    for name in ALL:
        (folder / name).unlink()
    return read_helm(folder, "s", registry)


def test_one_disagreement_is_enough(helm_run: HelmRun, registry: Registry) -> None:
    folder = helm_run()
    rows = json.loads((folder / "per_instance_stats.json").read_text())
    rows[2]["stats"][1]["mean"] = 1.0  # quasi_exact_match of the wrong answer
    (folder / "per_instance_stats.json").write_text(json.dumps(rows))
    _edit(folder / "stats.json", lambda stats: stats[1].update(mean=1.0))
    names = {stat.metric for stat in read_helm(folder, "s", registry).stats}
    assert "helm.quasi_exact_match" in names
    assert "quasi_exact_match" not in names


def test_without_scores_of_instances_errors_stay_missing(helm_run: HelmRun, registry: Registry) -> None:
    stat = _stats(_without(helm_run, registry), "exact_match")[None, "original"]
    assert (stat.mean, stat.stderr, stat.ci95, stat.count) == (0.75, None, None, 0)


def test_an_empty_completion_has_no_probability(helm_run: HelmRun, registry: Registry) -> None:
    folder = helm_run()
    states = json.loads((folder / "scenario_state.json").read_text())
    nothing = {"text": "", "logprob": 0.0, "tokens": [], "finish_reason": {"reason": "stop"}}
    states["request_states"][0]["result"]["completions"] = [nothing]
    (folder / "scenario_state.json").write_text(json.dumps(states))
    rows = json.loads((folder / "per_instance_stats.json").read_text())
    for row in rows:
        row["stats"].append({**row["stats"][0], "name": {"name": "max_prob", "split": "test"}, "mean": 1.0})
    (folder / "per_instance_stats.json").write_text(json.dumps(rows))
    empty, other = (one.example for one in read_helm(folder, "s", registry).examples[:2])
    assert (empty.prediction, empty.probability, empty.responses[0].completions[0].logprob) == ("", None, None)
    assert other.probability == 1.0


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"completions": [_said("", "content_filter")]}, "content_filter"),
        ({"completions": [_said("B", "refusal")]}, "refusal"),
        ({"completions": [_said("", "tool_calls")]}, "tool_call"),
        ({"completions": [_said("<think>Let me", "length")]}, None),
        ({"success": False, "completions": [], "error": "Content blocked by safety settings"}, "content_filter"),
        ({"completions": [_said("", "stop")]}, None),
        ({"completions": [_said("B", "endoftext")]}, None),
    ],
)
def test_declined_answers_are_counted(
    helm_run: HelmRun, registry: Registry, tmp_path: Path, result: dict[str, Any], kind: str | None
) -> None:
    folder = helm_run()
    states = json.loads((folder / "scenario_state.json").read_text())
    states["request_states"][0]["result"].update(result)
    (folder / "scenario_state.json").write_text(json.dumps(states))
    record = write_imported(tmp_path / "results", read_helm(folder, "theirs", registry))
    assert record.declined.kinds == ({kind: 1} if kind else {})
    assert record.declined.of == 8
    assert next(example.declined for example, _, _ in read_examples(record)) == kind


def test_log_probabilities_that_are_all_0_are_unknown(helm_run: HelmRun, registry: Registry) -> None:
    folder = helm_run()
    states = json.loads((folder / "scenario_state.json").read_text())
    states["request_states"][0]["result"]["completions"] = [_said("B", "stop")]
    (folder / "scenario_state.json").write_text(json.dumps(states))
    first, second = (one.example for one in read_helm(folder, "s", registry).examples[:2])
    assert first.responses[0].completions[0].logprob is None
    assert second.responses[0].completions[0].logprob == -0.5


def test_where_options_are_scored_one_by_one_exact_match_is_that_of_the_choice(
    helm_run: HelmRun, registry: Registry
) -> None:
    folder = helm_run(method="multiple_choice_separate_original", without=ALL)
    names = {stat.metric for stat in read_helm(folder, "s", registry).stats}
    assert "multiple_choice_accuracy" in names
    assert "exact_match" not in names


def test_what_is_written_is_read_again(helm_run: HelmRun, registry: Registry, tmp_path: Path) -> None:
    record = write_imported(tmp_path / "results", read_helm(helm_run(), "theirs", registry))
    again = read_run(record.directory)
    assert again.instance_scores is not None
    assert sorted(again.instance_scores.scores().tolist()) == [0.0, 1.0, 1.0, 1.0]
    assert again.provenance["origin"]["program"] == "HELM"
    assert again.provenance["origin"]["files"][0]["path"] == "run_spec.json"
    assert again.stats == list(record.stats)
    examples = list(read_examples(record))
    assert len(examples) == 8
    example, scores, _ = examples[2]
    assert (example.instance.id, example.prediction, example.choice) == ("id2", "three", 2)
    assert [reference.text for reference in example.instance.references if reference.correct] == ["one"]
    assert scores["multiple_choice_accuracy"] == 0.0
    assert example.responses[0].completions[0].logprob == -0.5


# Files as HELM wrote them


def test_a_split_has_its_own_instances(helm_folder: Path, registry: Registry) -> None:
    imported = read_helm(helm_folder / "mmlu", "s", registry)
    accuracy = {stat.split: stat for stat in imported.stats if stat.metric == "multiple_choice_accuracy"}
    assert accuracy["test"].mean == pytest.approx(4 / 9)
    assert accuracy["test"].count == 9
    assert accuracy["test"].ci95 == midp_interval(4, 9)
    assert (accuracy["valid"].mean, accuracy["valid"].count, accuracy["valid"].stderr) == (0.0, 1, None)
    assert (imported.spec.eval_split, imported.spec.main_metric) == (Split.TEST, "multiple_choice_accuracy")


def test_options_that_were_scored_one_by_one_are_one_example(helm_folder: Path, registry: Registry) -> None:
    right, wrong = (one.example for one in read_helm(helm_folder / "mmlu", "s", registry).examples)
    assert (right.instance.split, wrong.instance.split) == (Split.TEST, Split.VALID)
    for example in (right, wrong):
        origins = [request.origin for request in example.requests]
        assert [origin.reference for origin in origins if origin] == [0, 1, 2, 3]
        assert all(response.logprobs for response in example.responses)
        assert example.choice is not None
        assert example.prediction == example.instance.references[example.choice].text
    assert [
        right.instance.references[right.choice or 0].correct,
        wrong.instance.references[wrong.choice or 0].correct,
    ] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("folder", "scenario", "metric"),
    [
        ("openbookqa", "openbookqa", "multiple_choice_accuracy"),  # commonsense:dataset=openbookqa
        ("gsm", "gsm8k", "final_number_exact_match"),
        ("mmlu", "mmlu:subject=anatomy", "multiple_choice_accuracy"),
        ("boolq", "boolq", "exact_match"),
    ],
)
def test_a_scenario_that_is_ours_has_our_name_and_main_metric(
    helm_folder: Path, registry: Registry, folder: str, scenario: str, metric: str
) -> None:
    spec = read_helm(helm_folder / folder, "s", registry).spec
    assert spec.scenario.label == scenario
    assert spec.main_metric.removeprefix("helm.") == metric


def test_nothing_is_said_of_perturbations_that_were_not_there(helm_folder: Path, registry: Registry) -> None:
    plain = read_helm(helm_folder / "mmlu", "s", registry)
    assert {stat.perturbation for stat in plain.stats} == {None}
    assert plain.spec.perturbations == ()
    perturbed = read_helm(helm_folder / "boolq", "s", registry)
    found = {(stat.perturbation, stat.computed_on) for stat in perturbed.stats if stat.metric == "exact_match"}
    mixed = {("mild_mix", kind) for kind in ("original", "perturbed", "worst")}
    assert found == {(None, "original"), ("robustness", "worst"), *mixed}
    assert [part.name for part in perturbed.spec.perturbations] == ["mild_mix"]
    assert [one.example.instance.perturbation for one in perturbed.examples] == [None, "mild_mix"]


@pytest.mark.parametrize("folder", ["mmlu", "boolq", "openbookqa", "gsm"])
def test_what_helm_wrote_is_written_and_read_again(
    helm_folder: Path, registry: Registry, folder: str, tmp_path: Path
) -> None:
    imported = read_helm(helm_folder / folder, "s", registry)
    record = write_imported(tmp_path, imported)
    again = read_run(record.directory)
    assert again.stats == list(imported.stats)
    if imported.examples:
        assert [example for example, _, _ in read_examples(record)] == [one.example for one in imported.examples]


# Runs of our own making


@pytest.mark.parametrize(
    ("run", "arguments", "label"),
    [
        ("commonsense:dataset=hellaswag,method=multiple_choice_joint", {}, "hellaswag"),
        ("commonsense:dataset=siqa,method=multiple_choice_joint", {}, "siqa"),
        ("commonsense:method=multiple_choice_joint", {"dataset": "piqa", "method": "multiple_choice_joint"}, "piqa"),
        ("quac:model=openai_gpt2", {}, "quac"),
    ],
)
def test_scenarios_by_the_name_of_the_run(
    helm_run: HelmRun, registry: Registry, run: str, arguments: dict[str, str], label: str
) -> None:
    folder = helm_run()
    written = json.loads((folder / "run_spec.json").read_text())
    written["name"], written["scenario_spec"]["args"] = run, arguments
    (folder / "run_spec.json").write_text(json.dumps(written))
    assert read_helm(folder, "s", registry, "exact_match").spec.scenario.label.partition(":")[0] == label


def test_options_that_were_scored_one_by_one_stand_for_a_scenario_that_is_none_of_ours(
    helm_run: HelmRun, registry: Registry
) -> None:
    folder = helm_run(method="multiple_choice_separate_original", without=ALL)
    text = (folder / "run_spec.json").read_text()
    (folder / "run_spec.json").write_text(text.replace("mmlu:subject=anatomy", "blimp:phenomenon=binding"))
    spec = read_helm(folder, "s", registry).spec
    assert (spec.scenario.name, spec.main_metric) == ("blimp", "multiple_choice_accuracy")


def test_run_folders_are_found_below(helm_run: HelmRun, tmp_path: Path) -> None:
    folder = helm_run()
    assert helm_runs(folder) == [folder]
    assert helm_runs(tmp_path) == [folder]
    with pytest.raises(DataError, match=r"contains none: there is no run_spec\.json"):
        helm_runs(tmp_path / "runs" / "v1" / "nothing")


def test_a_folder_without_its_stats_is_not_passed_over(helm_run: HelmRun, registry: Registry, tmp_path: Path) -> None:
    folder = helm_run(without=("stats.json",))
    assert helm_runs(tmp_path) == [folder]
    with pytest.raises(DataError, match=r"run_spec\.json but no stats\.json"):
        read_helm(folder, "s", registry)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("stats.json", "{", r"stats\.json: is not a run folder of HELM"),
        ("stats.json", '[{"name": {}}]', r"\[0\]\.name\.name: is required"),
        ("run_spec.json", '{"name": "x"}', "adapter_spec: is required"),
        ("run_spec.json", "[]", "is not a run folder of HELM"),
        ("scenario_state.json", '{"request_states": [1]}', r"scenario_state\.json: is not a run folder of HELM"),
        ("per_instance_stats.json", "[{}]", r"\[0\]\.instance_id: is required"),
    ],
)
def test_a_file_of_another_shape_is_one_message(
    helm_run: HelmRun, registry: Registry, file: str, content: str, message: str
) -> None:
    folder = helm_run()
    (folder / file).write_text(content)
    with pytest.raises(DataError, match=message):
        read_helm(folder, "s", registry)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "split", "mean", "instance", "id", "adapter_spec", "method", "request_states"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    file=st.sampled_from(["run_spec.json", "stats.json", "per_instance_stats.json", "scenario_state.json"]), value=JSON
)
def test_whatever_a_file_holds_is_read_or_refused(
    helm_run: HelmRun, registry: Registry, file: str, value: object
) -> None:
    folder = helm_run()
    (folder / file).write_text(json.dumps(value))
    try:
        read_helm(folder, "s", registry)
    except DataError as error:
        assert file in str(error) or "stats.json" in str(error)  # noqa: PT017 - either outcome is right


def test_an_unknown_main_metric_gets_a_suggestion(helm_run: HelmRun, registry: Registry) -> None:
    with pytest.raises(DataError, match=r"has no exact_mach; choose one with --metric. Did you mean 'exact_match'"):
        read_helm(helm_run(), "s", registry, "exact_mach")


# Files that lie


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s[0].update(mean=0.9),
            r"\[0\]\.mean \(exact_match\) is 0\.9, but the mean of the 4 instances .* 0\.75",
        ),
        (lambda s: s[0].update(mean=True), r"\[0\]\.mean \(exact_match\) must be a finite number, not True"),
        (lambda s: s[0].update(mean="x"), r"\[0\]\.mean \(exact_match\) must be a finite number, not 'x'"),
        (lambda s: s[0].pop("mean"), r"\[0\]\.mean \(exact_match\) must be a finite number, not null"),
        (lambda s: s[0].update(mean=17.5), r"\[0\]\.mean \(exact_match\) must be from 0 to 1, not 17\.5"),
        (lambda s: s[0].update(count=-1), r"\[0\]\.count: must be at least 0, not -1"),
        (lambda s: s[0].update(count=1e30), r"\[0\]\.count: must be a whole number, not 1e\+30"),
    ],
)
def test_false_numbers_are_refused_by_their_key(
    helm_run: HelmRun, registry: Registry, change: Callable[[Any], Any], message: str
) -> None:
    folder = helm_run()
    _edit(folder / "stats.json", change)
    with pytest.raises(DataError, match=rf"stats\.json: .*{message}"):
        read_helm(folder, "s", registry)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda r: r[0]["stats"][0].update(mean=7),
            r"\[0\]\.stats\[0\]\.mean \(exact_match\) must be from 0 to 1, not 7",
        ),
        (
            lambda r: r[0]["stats"][0].update(mean="x"),
            r"\[0\]\.stats\[0\]\.mean \(exact_match\) must be a finite number",
        ),
        (lambda r: r.pop(0), r"stats\.json: .*but the mean of the 3 instances"),
        (lambda r: r.pop(2), "request_states.*is of instance 'id2', which per_instance_stats.json does not have"),
        (list.clear, "does not have: the files are of different runs"),
        (lambda r: [one["stats"].pop(0) for one in r], r"has no scores for \[0\]\.mean \(exact_match\) of stats\.json"),
    ],
)
def test_scores_of_instances_that_do_not_belong_to_the_stats_are_refused(
    helm_run: HelmRun, registry: Registry, change: Callable[[Any], Any], message: str
) -> None:
    folder = helm_run(without=("scenario_state.json",) if "3 instances" in message else ())
    _edit(folder / "per_instance_stats.json", change)
    with pytest.raises(DataError, match=message):
        read_helm(folder, "s", registry)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s["adapter_spec"].update(model="openai/gpt3"),
            r"adapter_spec\.model is 'openai/gpt3', but 'openai/gpt2'",
        ),
        (lambda s: s["adapter_spec"].update(instructions=""), r"adapter_spec\.instructions is '', but"),
        (
            lambda s: s["request_states"][0]["instance"].update(id="other"),
            r"request_states\[0\] is of instance 'other'",
        ),
        (lambda s: s["request_states"].append(s["request_states"][0]), r"request_states\[8\] is listed twice"),
        (
            lambda s: s["request_states"][0]["result"]["completions"][0].update(logprob=float("nan")),
            r"request_states\[0\]\.result\.completions\[0\]\.logprob must be a finite number",
        ),
        (lambda s: s["request_states"][0].update(request="x"), r"request_states\[0\]\.request: must be a mapping"),
    ],
)
def test_states_of_another_run_are_refused(
    helm_run: HelmRun, registry: Registry, change: Callable[[Any], Any], message: str
) -> None:
    folder = helm_run()
    _edit(folder / "scenario_state.json", change)
    with pytest.raises(DataError, match=rf"scenario_state\.json: .*{message}"):
        read_helm(folder, "s", registry)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_train_instances", "many", r"run_spec\.json: .*adapter_spec\.max_train_instances: must be a whole number"),
        ("method", 5, r"run_spec\.json: .*adapter_spec\.method: must be text, not 5"),
    ],
)
def test_a_setting_with_a_wrong_value_is_named_in_one_line(
    helm_run: HelmRun, registry: Registry, key: str, value: object, message: str
) -> None:
    folder = helm_run()
    _edit(folder / "run_spec.json", lambda spec: spec["adapter_spec"].update({key: value}))
    with pytest.raises(DataError, match=message) as caught:
        read_helm(folder, "s", registry)
    assert "\n" not in str(caught.value)
    assert "http" not in str(caught.value)

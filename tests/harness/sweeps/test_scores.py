"""Composite scores in a sweep: which runs they need, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.sweeps.load import Sweep, find_sweep, load_sweep, sweep_from_mapping
from scenarios.bbh import OPTIONS

Load = Callable[..., Sweep]

SWEEP = """
suite: s
models: [hf:a, hf:b]
scores:
  - {score}
runs:
  - exam:subject=all
  - chat
  - {{scenario: chat, adapter: {{max_tokens: 3}}}}
"""


def read(load: Load, score: str, runs: str = "") -> Sweep:
    text = SWEEP.format(score=score)
    if runs:
        text = text[: text.index("runs:")] + f"runs: {runs}\n"
    return load(text)


def members(run: RunSpec) -> dict[str, list[str]]:
    (score,) = run.scores
    return {member.name: [one.label for one in member.runs] for member in score.members}


def test_a_score_is_kept_with_every_run_that_it_needs(load: Load) -> None:
    sweep = read(load, "{name: all, title: Everything, over: ['exam:*']}")
    exams = [run for run in sweep.runs if run.scenario.name == "exam"]
    labels = [run.scenario.label for run in exams if run.model.name == "hf:a"]
    assert len(labels) > 1
    assert all(members(run) == {"exam:*": labels} for run in exams)
    assert all(run.scores == () for run in sweep.runs if run.scenario.name == "chat")
    (score,) = {run.scores for run in exams}.pop()
    assert (score.title, score.mean) == ("Everything", "macro")
    assert {one.question for one in score.runs} == {run.question_digest for run in exams}


def test_a_score_changes_neither_the_identity_nor_other_runs_json(load: Load) -> None:
    with_score = read(load, "{name: all, over: [exam]}").runs
    without = read(load, "{name: all, over: [exam]}", "[exam:subject=all]").runs
    assert [run.digest for run in with_score if run.scenario.name == "exam"] == [run.digest for run in without]
    assert "scores" not in load("suite: s\nmodels: [hf:a]\nruns: [chat]").runs[0].model_dump(mode="json")
    run = with_score[0]
    assert RunSpec.model_validate(run.model_dump(mode="json")) == run


def test_without_patterns_every_scenario_counts_once(load: Load) -> None:
    sweep = read(load, "{name: all, mean: micro}", "[exam:subject=all, chat]")
    assert list(members(sweep.runs[0])) == ["chat", "exam"]
    assert sweep.runs[0].scores[0].mean == "micro"


def test_only_some_runs_still_know_the_whole_score(load: Load) -> None:
    whole = read(load, "{name: all}", "[exam:subject=all, chat]")
    some = load(
        SWEEP.format(score="{name: all}").replace("  - {scenario: chat, adapter: {max_tokens: 3}}\n", ""), only=["chat"]
    )
    assert {run.scenario.name for run in some.runs} == {"chat"}
    assert some.runs[0].scores == whole.runs[0].scores


def test_levels_of_chance_are_those_of_the_first_pattern(load: Load) -> None:
    sweep = read(load, "{name: all, over: [exam], chance: {'exam:subject=law': 0.5, exam: 0.25}}")
    levels = {one.label: one.chance for one in sweep.runs[0].scores[0].runs}
    assert {level for label, level in levels.items() if "subject=law" in label} == {0.5}
    assert {level for label, level in levels.items() if "subject=law" not in label} == {0.25}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("all", "scores[0]: must be a mapping with `name`, not 'all'."),
        ("{over: [exam]}", "scores[0].name: is required"),
        ("{name: all, ovr: [exam]}", "scores[0].ovr: is not a key. Did you mean 'over'?"),
        ("{name: all, over: []}", "scores[0].over: is empty. Name a scenario, or leave `over` out"),
        ("{name: a/b, over: [exam]}", "scores[0].name"),
        (
            "{name: all, over: [exams]}",
            "scores[0].over[0]: 'exams' matches none of the sweep's runs. Did you mean 'exam'?",
        ),
        ("{name: all, over: [exam, 'ex*']}", "over[1]: 'ex*' matches exam:subject="),
        (
            "{name: all, over: [chat]}",
            "over[0]: 'chat' matches several runs of chat",
        ),
        ("{name: all, over: [exam], mean: median}", "scores[0].mean"),
        ("{name: all, over: [exam], chance: {exam: 1.0}}", "scores[0].chance"),
        ("{name: all, over: [exam], chance: {chat: 0.5}}", "matches none of the score's runs."),
        (
            "{name: all, over: [exam], chance: {exam: 0.25, 'exam:subject=law': 0.5}}",
            "has no effect: the first pattern that matches a run counts, here 'exam'. Write it before them",
        ),
        (
            "{name: all, over: [exam]}\n  - {name: all, over: [exam]}",
            "scores[1].name: 'all' is already the name of another",
        ),
    ],
)
def test_mistakes_have_their_line_and_key(load: Load, score: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(load, score)
    assert expected in str(caught.value)
    assert "sweep.yaml:" in str(caught.value)


def test_metrics_of_both_directions_have_no_mean() -> None:
    content = {"suite": "s", "models": ["hf:a"], "runs": ["boolq", "wikitext"], "scores": [{"name": "all"}]}
    with pytest.raises(SpecError, match=r"averages quasi_exact_match of boolq.*of wikitext \(lower is better\)"):
        sweep_from_mapping(content)
    content["scores"] = [{"name": "all", "over": ["wikitext"], "chance": {"wikitext": 0.5}}]
    with pytest.raises(SpecError, match="better if lower"):
        sweep_from_mapping(content)


def test_metrics_of_different_ranges_are_averaged_with_a_warning() -> None:
    runs = ["boolq", "flores:source=deu_Latn"]
    sweep, _ = sweep_from_mapping({"suite": "s", "models": ["hf:a"], "runs": runs, "scores": [{"name": "all"}]})
    assert len(sweep.runs[0].scores) == 1
    (warning,) = sweep.warnings
    assert "quasi_exact_match of boolq from 0 to 1; chrf_plus_plus of flores:" in str(warning)


@pytest.mark.parametrize(
    ("sweep", "members"),
    [
        ("capabilities", {"mmlu_pro": 1, "gpqa": 1, "ifeval": 1, "wildbench": 1, "omni_math": 1}),
        ("mmlu", {"mmlu": 57}),
        ("open_llm_v1", {"arc": 1, "hellaswag": 1, "mmlu": 57, "truthful_qa": 1, "winogrande": 1, "gsm8k": 1}),
        ("open_llm_v2", {"ifeval": 1, "bbh": 24, "math": 7, "gpqa": 3, "musr": 3, "mmlu_pro": 1}),
    ],
)
def test_the_scores_of_the_boards(sweep: str, members: dict[str, int]) -> None:
    found, _ = load_sweep(find_sweep(sweep), models=["hf:x"])
    (score,) = {run.scores for run in found.runs}.pop()
    assert {member.name: len(member.runs) for member in score.members} == members
    for run in score.runs:
        task = run.label.partition("task=")[2].partition(",")[0]
        if run.label.startswith("bbh:"):
            options = OPTIONS[task]
            assert run.chance == pytest.approx(1 / (options if isinstance(options, int) else len(options)), abs=1e-5)


def boolq_score(*runs: str, over: str = "boolq") -> list[str]:
    sweep, _ = sweep_from_mapping(
        {"suite": "s", "models": ["fake:0"], "runs": list(runs), "scores": [{"name": "mean", "over": [over]}]}
    )
    return members(next(run for run in sweep.runs if run.scores))[over]


def test_a_scenario_counts_with_its_own_prompt_unless_a_prompt_is_named() -> None:
    both = ("boolq", "boolq:prompt=lm_eval")
    assert boolq_score(*both) == ["boolq"]
    assert boolq_score(*both, over="boolq:prompt=lm_eval") == ["boolq:prompt=lm_eval"]
    assert boolq_score(both[1]) == ["boolq:prompt=lm_eval"]

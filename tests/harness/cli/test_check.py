"""``harness validate``, ``preview`` and ``schema``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness


def test_a_valid_sweep_is_counted(harness: Harness) -> None:
    said = harness("validate", "sweep.yaml")
    assert (said.code, said.err) == (0, "")
    assert said.out == "Valid: suite 'small', 4 runs with 2 models.\n"


def test_every_mistake_is_reported_at_once_with_its_line(harness: Harness, folder: Path) -> None:
    (folder / "wrong.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\nrunz: []\n"
        "runs:\n  - quizz\n  - {scenario: quiz, metrics: [exact_mach]}\n"
    )
    said = harness("validate", "wrong.yaml")
    assert (said.code, said.out) == (2, "")
    assert [line.split(" ")[0] for line in said.err.splitlines()] == [
        "wrong.yaml:4:",
        "wrong.yaml:6:",
        "wrong.yaml:7:",
    ]
    assert "'exact_match'" in said.err


def test_what_this_machine_lacks_for_a_valid_sweep_is_said_and_is_no_mistake(harness: Harness, folder: Path) -> None:
    (folder / "far.py").write_text(
        "from harness import Model, backend\n"
        "@backend('far', source='Made up.', needs=('json', 'no_such', 'no.such'), install='pip install it')\n"
        "class Far(Model):\n    'Needs what is not there.'\n    answers = frozenset({'generate'})\n"
    )
    (folder / "quiz" / "valid.jsonl").unlink()
    (folder / "quiz" / "train.jsonl").unlink()
    said = harness("validate", "sweep.yaml", "--plugin", "far.py", "-m", "fake:0", "-m", "far:away")
    assert (said.code, said.out) == (0, "Valid: suite 'small', 4 runs with 2 models.\n")
    first, *lacking = said.err.splitlines()
    assert "4 of 4 runs would fail" in first
    assert len(lacking) == 2
    assert lacking[0].startswith("  4 runs: quiz: no data. Looked for ./quiz/train.jsonl or ./quiz/valid.jsonl")
    assert lacking[1] == "  2 runs: far:away: the backend far needs no_such and no.such: pip install it."


def test_too_few_gpus_here_are_said_where_the_sweep_runs_here(harness: Harness, folder: Path) -> None:
    text = (
        "suite: s\nplugins: [./quiz.yaml]\nmodels: ['fake:0', {name: 'fake:1', resources: {gpus: 99}}]\nruns: [quiz]\n"
    )
    (folder / "wide.yaml").write_text(text)
    problem = "fake:1 needs 99 GPUs (`resources`), but this machine has "
    said = harness("validate", "wide.yaml")
    assert said.code == 0
    assert "On this machine, 2 of 2 runs would fail:\n  2 runs: " + problem in said.err
    planned = harness("run", "wide.yaml", "--dry-run")
    assert planned.code == 2
    assert "The sweep would not start here: " + problem in planned.out
    (folder / "wide.yaml").write_text(text + "executor: slurm\n")
    assert harness("validate", "wide.yaml").err == ""
    assert harness("run", "wide.yaml", "--dry-run").code == 0


def test_metrics_and_judges_that_cannot_be_used_here_are_said_before_a_run(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "judged.yaml").write_text(
        "suite: judged\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\nruns:\n"
        "  - {scenario: quiz, metrics: [{name: ter, language: Thai}]}\n"
        "  - {scenario: quiz, metrics: [{name: toxicity, judge: moderation}]}\n"
        "  - {scenario: quiz, metrics: [{name: judge_score, rubric: xstest, model: 'openai:gpt-9'}]}\n"
        "  - {scenario: quiz, metrics: [{name: judge_score, rubric: xstest, model: 'hf:./nowhere'}]}\n"
    )
    said = harness("validate", "judged.yaml")
    assert (said.code, said.out) == (0, "Valid: suite 'judged', 4 runs with 1 model.\n")
    first, *lacking = said.err.splitlines()
    assert "4 of 4 runs would fail" in first
    assert "ter needs words, and Thai does not separate them by spaces" in lacking[0]
    assert "judge 'moderation' needs a key: set the environment variable OPENAI_API_KEY" in lacking[1]
    assert "openai:gpt-9: no key. Set OPENAI_API_KEY" in lacking[2]
    assert "hf:./nowhere: there is no such folder" in lacking[3]


def test_a_preview_does_not_count_tokens_that_it_cannot_count(harness: Harness) -> None:
    said = harness("preview", "sweep.yaml", "-m", "openai:gpt-9", "-n", "1")
    assert "--- prompt, number of tokens not known: the model has no tokenizer on this machine" in said.out
    assert " 0 tokens" not in said.out


def test_a_preview_shows_the_prompts_that_a_run_sends(harness: Harness, folder: Path) -> None:
    said = harness("preview", "sweep.yaml", "-m", "fake:0", "-n", "2")
    assert said.code == 0
    assert not (folder / "results").exists()
    harness("run", "sweep.yaml", "-m", "fake:0")
    for file in (folder / "results").glob("*/*/examples.jsonl.gz"):
        with gzip.open(file, "rt") as lines:
            for line in list(lines)[:2]:
                example = json.loads(line)
                assert example["requests"][0]["prompt"] in said.out
                assert f"few-shot examples: {', '.join(example['train_instances'])}" in said.out
                tokens = example["responses"][0]["prompt_tokens"]
                assert f"--- prompt, {tokens} tokens" in said.out
    assert "--- correct: Yes" in said.out
    assert "at most 2 tokens" in said.out


def test_all_prompts_are_written_for_predictions_made_elsewhere(harness: Harness, folder: Path) -> None:
    said = harness("preview", "sweep.yaml", "-o", "prompts.jsonl")
    assert (said.code, said.out) == (0, "prompts.jsonl: 40 prompts.\n")
    lines = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    assert {line["scenario"] for line in lines} == {"quiz"}
    assert "Is 0 even?" in next(line["prompt"] for line in lines if line["id"] == "valid-0")
    keys = [{key: line[key] for key in ("scenario", "id", "perturbation") if key in line} for line in lines]
    (folder / "predictions.jsonl").write_text("\n".join(json.dumps({**one, "text": "Yes"}) for one in keys))
    assert harness("run", "sweep.yaml", "-m", "replay:predictions.jsonl").code == 0


def test_a_preview_tells_perturbed_copies_from_originals(harness: Harness) -> None:
    said = harness("preview", "-r", "quiz", "--plugin", "quiz.yaml", "-m", "fake:0", "-n", "1")
    assert "lowercase" not in said.out
    assert "perturbation lowercase" in harness("preview", "sweep.yaml", "-n", "2").out


def test_a_preview_without_data_says_what_is_missing(harness: Harness, folder: Path) -> None:
    (folder / "quiz" / "valid.jsonl").unlink()
    said = harness("preview", "sweep.yaml")
    assert said.code == 2
    assert "valid.jsonl" in said.err


def test_a_file_of_examples_is_needed_only_where_examples_are_shown(harness: Harness, folder: Path) -> None:
    (folder / "quiz" / "train.jsonl").unlink()
    refused = harness("preview", "sweep.yaml")
    assert refused.code == 2
    assert "no data for split 'train'" in refused.err
    assert "train.jsonl" in refused.err
    assert "max_train_instances: 0" in refused.err
    (folder / "bare.yaml").write_text((folder / "sweep.yaml").read_text() + "defaults: {max_train_instances: 0}\n")
    shown = harness("preview", "bare.yaml")
    assert shown.code == 0
    assert "few-shot examples: none" in shown.out
    entry = "quiz:eval_split=train,max_train_instances=0"
    evaluated = harness("preview", "-r", entry, "-m", "fake:0", "--plugin", "quiz.yaml")
    assert evaluated.code == 2
    assert "no data for split 'train'" in evaluated.err


def test_the_schema_is_json_and_knows_the_plugins(harness: Harness) -> None:
    said = harness("schema", "--plugin", "quiz.yaml")
    assert said.code == 0
    assert json.loads(said.out)["type"] == "object"
    assert "quiz" in said.out


def test_a_missing_model_is_said_once(harness: Harness) -> None:
    said = harness("validate", "-r", "quiz", "--plugin", "quiz.yaml")
    assert said.code == 2
    assert said.err == "command line: --model: is required. For example: --model hf:openai-community/gpt2\n"


def test_evaluating_the_train_split_is_warned_of_by_validate_and_run(harness: Harness) -> None:
    for command in ("validate", "run"):
        said = harness(command, "-r", "sample_generation:eval_split=train", "-m", "fake:0")
        assert said.code == 0
        assert "Warning: command line: --run sample_generation:eval_split=train: evaluates the train split" in said.err
    without = harness("validate", "-r", "sample_generation:eval_split=train,max_train_instances=0", "-m", "fake:0")
    assert without.err == ""


def test_default_trials_are_for_the_runs_that_show_examples(harness: Harness, folder: Path) -> None:
    zero_shot = "  - {scenario: sample_generation, max_train_instances: 0}\n"
    (folder / "trials.yaml").write_text(
        "suite: trials\nmodels: ['fake:0']\ndefaults: {train_trials: 4}\nruns:\n" + zero_shot + "  - sample_reading\n"
    )
    said = harness("run", "trials.yaml")
    assert said.code == 0, said.err
    assert "Warning" not in said.err
    trials = {
        record["spec"]["scenario"]["name"]: record["spec"]["adapter"]["train_trials"]
        for file in (folder / "results" / "trials").glob("*/run.json")
        for record in [json.loads(file.read_text())]
    }
    assert trials == {"sample_generation": 1, "sample_reading": 4}

    (folder / "idle.yaml").write_text(
        "suite: idle\nmodels: ['fake:0']\ndefaults: {train_trials: 4}\nruns:\n" + zero_shot
    )
    said = harness("validate", "idle.yaml")
    assert said.code == 0, said.err
    assert "Warning: idle.yaml:3: defaults.train_trials: has no effect" in said.err


def test_runs_whose_examples_are_not_here_are_counted_among_those_that_would_fail(
    harness: Harness, folder: Path
) -> None:
    (folder / "quiz" / "train.jsonl").unlink()
    said = harness("validate", "-r", "quiz:max_train_instances=0", "-r", "quiz:max_train_instances=1", "-m", "fake:1",
                   "--plugin", "quiz.yaml")  # fmt: skip
    first, lacking = said.err.splitlines()
    assert said.code == 0
    assert "1 of 2 runs would fail" in first
    assert lacking.startswith("  1 run: quiz: no data for split 'train'. Looked for ./quiz/train.jsonl")


def test_a_preview_names_the_change_of_a_prompt(harness: Harness, folder: Path) -> None:
    run = {"scenario": "sample_reading", "prompt_variants": [{"name": "shouted", "output_prefix": "ANSWER: "}]}
    (folder / "varied.yaml").write_text(json.dumps({"suite": "s", "models": ["fake:any"], "runs": [run]}))
    said = harness("preview", "varied.yaml", "--instances", "1")
    assert said.code == 0, said.err
    plain, changed = said.out.split("prompt changed: shouted\n")
    assert "ANSWER:" not in plain
    assert "ANSWER:" in changed

"""A model's own settings from the sweep to the results: runs, records, leaderboards, previews."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli.conftest import Harness

WARM = "{name: 'fake:0', chat: true, temperature: 0.8, max_tokens: {at_least: 6}, system_prompt: Be brief."
"""An entry, without its end."""


def sweep(folder: Path, *models: str, runs: str = "[quiz]") -> None:
    listed = "\n".join(f"  - {model}" for model in models)
    (folder / "own.yaml").write_text(f"suite: own\nplugins: [./quiz.yaml]\nmodels:\n{listed}\nruns: {runs}\n")


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("results/own/*/run.json"))]


def examples(folder: Path) -> list[list[dict[str, Any]]]:
    """Return the examples of each run."""
    found = []
    for file in sorted(folder.glob("results/own/*/examples.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            found.append([json.loads(line) for line in lines])
    return found


def requests(folder: Path) -> list[dict[str, Any]]:
    """Return the requests of all runs."""
    return [request for run in examples(folder) for example in run for request in example["requests"]]


def test_what_is_asked_and_recorded_has_the_models_settings(harness: Harness, folder: Path) -> None:
    sweep(folder, WARM + ", prefill: The, display_name: Warm fake}")
    assert harness("run", "own.yaml").code == 0
    (record,) = records(folder)
    assert record["spec"]["model"] == {
        "name": "fake:0",
        "chat": True,
        "temperature": 0.8,
        "max_tokens": {"at_least": 6},
        "system_prompt": "Be brief.",
        "prefill": "The",
    }
    assert record["spec"]["operational"] == {"display_name": "Warm fake"}
    assert record["provenance"]["generation"] == {"temperature": 0.8, "max_tokens": 6, "prefill": "The"}
    asked = requests(folder)
    assert len(asked) == 20
    assert all(
        (one["temperature"], one["max_tokens"], one["prefill"], one["prompt"][0]) == (
            0.8, 6, "The", {"role": "system", "content": "Be brief."},
        )
        for one in asked
    )  # fmt: skip
    assert len({one["seed"] for one in asked}) == 20  # each instance has random numbers of its own


def test_another_seed_gives_other_answers_of_a_model_that_samples(harness: Harness, folder: Path) -> None:
    sweep(folder, "{name: 'fake:0', temperature: 1.5}", runs="[{scenario: quiz, seed: 1}, {scenario: quiz, seed: 2}]")
    assert harness("run", "own.yaml").code == 0
    one, other = ([example["prediction"] for example in run] for run in examples(folder))
    assert one != other


def test_a_greedy_run_is_the_same_as_ever(harness: Harness, folder: Path) -> None:
    sweep(folder, "fake:0")
    assert harness("run", "own.yaml").code == 0
    (record,) = records(folder)
    assert record["provenance"]["generation"] == {"temperature": 0.0, "max_tokens": 2}
    assert all(request.keys() == {"ask", "prompt", "max_tokens", "stop"} for request in requests(folder))


def test_a_new_display_name_renames_and_runs_nothing_again(harness: Harness, folder: Path) -> None:
    (folder / "log").touch()
    for name, shown in ((None, "fake:0"), ("First", "First"), ("Second", "Second")):
        given = "" if name is None else f", display_name: {name}"
        sweep(folder, f"{{name: 'fake:0', log: log{given}}}")
        assert harness("run", "own.yaml").code == 0
        (record,) = records(folder)
        assert record["spec"]["operational"].get("display_name") == name
        said = harness("leaderboard", "own", "--format", "md")
        assert f"| {shown} " in said.out
    assert len((folder / "log").read_text().splitlines()) == 20
    said = harness("stats", *map(str, folder.glob("results/own/*")))
    assert re.search(r"^model: +Second$", said.out, re.MULTILINE)


def test_facts_about_a_model_are_on_the_site_and_run_nothing_again(harness: Harness, folder: Path) -> None:
    from harness.leaderboard.site.files import SiteFolder

    sweep(folder, "{name: 'fake:0', display_name: Fake}")
    assert harness("run", "own.yaml").code == 0
    facts = "{creator: Lab, licence: MIT, parameters: 7, released: '2026-03', tags: [chat]}"
    sweep(folder, f"{{name: 'fake:0', display_name: Fake, about: {facts}}}")
    assert "finished before" in harness("run", "own.yaml").err
    assert harness("leaderboard", "--site").code == 0
    (model,) = SiteFolder(folder / "results" / "site").read("models")["models"]
    known = {"creator": "Lab", "licence": "MIT", "parameters": 7, "released": "2026-03"}
    assert {name: model["facts"][name] for name in known} == {name: [value, "sweep"] for name, value in known.items()}
    assert model["tags"] == ["chat"]
    sweep(folder, "{name: 'fake:0', about: {released: March}}")
    assert "released" in harness("run", "own.yaml").err


def test_two_models_with_one_display_name_are_told_apart(harness: Harness, folder: Path) -> None:
    sweep(folder, "{name: 'fake:0', display_name: Fake}", "{name: 'fake:0', temperature: 0.9, display_name: Fake}")
    assert harness("run", "own.yaml").code == 0
    said = harness("leaderboard", "own", "--format", "md")
    assert "| Fake |" in said.out
    assert "| Fake · temperature 0.9 |" in said.out


def test_models_are_compared_by_their_display_names_and_by_their_settings(harness: Harness, folder: Path) -> None:
    bounds = "max_tokens: {at_least: 6, at_most: 9}"
    sweep(folder, "{name: 'fake:0', display_name: Cold}", f"{{name: 'fake:0', {bounds}, display_name: Long}}")
    assert harness("run", "own.yaml").code == 0
    for first, second in (("Cold", "Long"), ("Cold", "fake:0,max_tokens.at_least=6"), ("fake:0", "Long")):
        said = harness("compare", first, second, "--suite", "own")
        assert (said.code, said.err) == (0, "")
        assert "Quiz" in said.out
    assert "no run of model 'Warm' found" in harness("compare", "Cold", "Warm", "--suite", "own").err


def test_a_system_prompt_that_no_template_takes_fails_before_anything_is_asked(harness: Harness, folder: Path) -> None:
    sweep(folder, "{name: 'fake:0', log: log, system_prompt: Be brief.}")
    assert "has no chat template" in harness("validate", "own.yaml").err
    said = harness("run", "own.yaml")
    assert said.code == 1
    (record,) = records(folder)
    assert record["error"].startswith("the model's entry sets system_prompt, but the model has no chat template")
    assert not (folder / "log").exists()


def test_a_preview_shows_what_the_model_reads_and_how_it_is_sampled(harness: Harness, folder: Path) -> None:
    sweep(folder, WARM + ", prefill: The}")
    said = harness("preview", "own.yaml", "-n", "1")
    assert said.code == 0
    assert "<system>\nBe brief.\n<user>\nInput: Is " in said.out
    settings = "at most 6 tokens, temperature 0.8, stop at '\\n', the answer begins with 'The'"
    assert f"<assistant>\nThe\n--- {settings}" in said.out
    (count,) = [line for line in said.out.splitlines() if line.startswith("--- prompt, ")]
    harness("run", "own.yaml")
    assert f"--- prompt, {examples(folder)[0][0]['responses'][0]['prompt_tokens']} tokens" == count


def test_a_preview_of_a_checkpoint_shows_how_it_is_sampled(harness: Harness, models_dir: Path) -> None:
    model = f"hf:{models_dir / 'small-llama'},max_tokens.at_most=1,temperature=0.7,top_p=0.9"
    said = harness("preview", "-r", "quiz", "--plugin", "quiz.yaml", "-m", model, "-n", "1")
    assert said.code == 0, said.err
    assert "Input: Is " in said.out
    assert "--- at most 1 token, temperature 0.7, top_p 0.9, stop at" in said.out


def test_a_server_that_cannot_take_a_setting_is_known_before_the_run(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    said = harness("validate", "-r", "quiz", "--plugin", "quiz.yaml", "-m", "openai:gpt-4o-mini,top_k=5,temperature=1")
    assert said.code == 0
    assert "1 run: openai:gpt-4o-mini cannot apply top_k; remove it from its entry." in said.err


def test_runs_of_one_model_with_several_settings_share_equal_questions(harness: Harness, folder: Path) -> None:
    sweep(
        folder,
        "{name: 'fake:0', log: log}",
        "{name: 'fake:0', log: log, temperature: 0.7}",
        "{name: 'fake:0', log: log, temperature: 0}",
        runs="[{scenario: quiz, adapter: multiple_choice_separate_original}]",
    )
    assert harness("run", "own.yaml").code == 0
    assert len(records(folder)) == 3
    once = len((folder / "log").read_text().splitlines())
    assert once == len({json.dumps(request) for request in requests(folder)})


@pytest.mark.parametrize(
    ("window", "system"), [(64, ""), (110, ", chat: true, system_prompt: Be brief and exact in every answer.")]
)
def test_prompts_leave_room_for_what_the_settings_add(harness: Harness, folder: Path, window: int, system: str) -> None:
    sweep(folder, f"{{name: 'fake:0', window: {window}, max_tokens: {{at_least: 16}}, prefill: The answer is{system}}}")
    assert harness("run", "own.yaml").code == 0, records(folder)[0]["error"]
    (run,) = examples(folder)
    responses = [response for example in run for response in example["responses"]]
    assert not any(response.get("truncated") for response in responses)
    assert max(response["prompt_tokens"] for response in responses) <= window - 16
    assert any(example.get("dropped_examples") for example in run)  # so that the window matters

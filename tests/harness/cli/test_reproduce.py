"""``harness reproduce``: what it finds, why it says that it may be, and what it refuses."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli.conftest import Harness
from tests.harness.models.api_server import MODEL, serving
from tests.tiny_checkpoints import tokenizer, write_checkpoint


def only_run(folder: Path) -> Path:
    (record,) = (folder / "results").glob("*/*/run.json")
    return record.parent


def finished(harness: Harness, folder: Path, run: dict[str, Any], *models: Any) -> Path:
    """Run one entry; return its folder."""
    entry = {"scenario": "quiz", **run}
    sweep = {"suite": "s", "plugins": ["./quiz.yaml"], "models": models or ["fake:0"], "runs": [entry]}
    (folder / "one.yaml").write_text(json.dumps(sweep))
    said = harness("run", "one.yaml")
    assert said.code == 0, said.err
    return only_run(folder)


def found(harness: Harness, run: Path, *options: str, code: int) -> dict[str, Any]:
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml", "--json", "--seed", "1", *options)
    assert (said.code, said.err) == (code, ""), said.out + said.err
    value: dict[str, Any] = json.loads(said.out)
    return value


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"perturbations": ["lowercase"], "adapter": {"train_trials": 2}},
        {"samples": 3, "adapter": {"temperature": 1.0}},
        {"adapter": {"method": "multiple_choice_separate_original"}},
        {"adapter": {"method": "multiple_choice_joint"}},
        {"adapter": {"method": "language_modeling"}, "metrics": ["language_modeling"], "main_metric": "bits_per_byte"},
    ],
    ids=["plain", "perturbed", "sampled", "separate", "joint", "language modelling"],
)
def test_an_exact_model_gives_the_same(harness: Harness, folder: Path, run: dict[str, Any]) -> None:
    value = found(harness, finished(harness, folder, run), "--sample", "7", code=0)
    assert value["same"]
    assert (value["sample"], value["changed"], value["determinism"]) == (7, 0, "exact")
    assert value["logprobs"]["equal"] == value["logprobs"]["compared"] > 0
    assert value["prompts"]["compared"] == value["questions"] >= 20
    assert value["ci95"][0] == 0.0 < value["ci95"][1] < 0.5
    assert value["reasons"] == []


def test_statistics_that_the_answers_do_not_give_are_not_the_same(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {"perturbations": ["lowercase"]})
    assert found(harness, run, "--sample", "5", code=0)["statistics"] == []
    record = json.loads((run / "run.json").read_text())
    (main,) = (
        stat
        for stat in record["stats"]
        if (stat["metric"], stat["perturbation"], stat["group"]) == (record["spec"]["main_metric"], None, None)
    )
    before, main["mean"] = main["mean"], 0.9
    del record["stats"][next(at for at, stat in enumerate(record["stats"]) if stat["computed_on"] == "worst")]
    (run / "run.json").write_text(json.dumps(record))
    forged, lacking = found(harness, run, "--sample", "5", code=1)["statistics"]
    assert forged == {"name": main["metric"], "recorded": 0.9, "computed": before}
    assert lacking["recorded"] is None
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml", "--sample", "5")
    assert said.code == 1
    assert f"Statistic {main['metric']}: 0.9 in run.json, {before:g} from the run's own answers." in said.out
    assert said.out.endswith("NOT the same.\n")


CHAT = """\
name: chat
title: Chat
description: Two turns.
citation: Made up for these tests.
taxonomy: {task: dialogue, what: numbers, who: nobody, when: now, language: English}
source: {files: {test: ./chat.jsonl}}
id: "{{ id }}"
input: "{{ turns[0] }}"
meta: {turns: "{{ turns }}"}
references: ["4"]
correct: "4"
eval_split: test
adapter: {method: multi_turn, max_tokens: 5}
metrics: [exact_match]
main_metric: exact_match
"""


@pytest.mark.parametrize("samples", [1, 2])
def test_conversations_are_held_again(harness: Harness, folder: Path, samples: int) -> None:
    (folder / "quiz.yaml").write_text(CHAT)
    turns = [{"id": str(number), "turns": [f"{number} + 2?", "And twice that?"]} for number in range(6)]
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, turns)))
    model = {"name": "fake:0", "chat": True, "temperature": 0.9}
    run = finished(harness, folder, {"scenario": "chat", "samples": samples}, model)
    value = found(harness, run, "--sample", "5", code=0)
    assert value["questions"] == 6 * samples
    assert value["logprobs"]["compared"] == 2 * 5


def test_a_method_about_the_order_is_asked_again_without_scores(harness: Harness, folder: Path) -> None:
    adapter = {"method": "exchangeability", "shards": 2, "shuffles": 3}
    run = {
        "scenario": "sample_reading",  # the quiz is sorted, so its order cannot be tested
        "adapter": adapter,
        "metrics": ["contamination"],
        "main_metric": "contamination",
    }
    value = found(harness, finished(harness, folder, run, {"name": "fake:0", "window": 512}), "--sample", "2", code=0)
    assert value["sample"] >= 1
    assert value["scores"] == {}
    assert value["logprobs"]["compared"] > 0


def test_the_model_is_asked_and_not_the_cache(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {}, {"name": "fake:1", "log": "asked"})
    before = len(Path("asked").read_text().splitlines())
    found(harness, run, "--sample", "5", "--allow", "files", code=0)
    assert len(Path("asked").read_text().splitlines()) == before + 5


def test_a_foreign_record_cannot_append_to_a_file(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {})
    value = json.loads((run / "run.json").read_text())
    value["spec"]["operational"] = {"log": "profile"}
    (run / "run.json").write_text(json.dumps(value))
    (folder / "profile").write_text("mine")
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert "--allow files (the model uses the file profile)" in said.err
    assert (folder / "profile").read_text() == "mine"


def test_the_report_can_be_read(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {})
    said = harness("reproduce", str(run / "run.json"), "--plugin", "quiz.yaml", "--sample", "5", "--seed", "3")
    assert said.code == 0
    assert "asked 5 of 20 questions again (seed 3), without the response cache." in said.out
    assert "Prompts: all 20 are the same." in said.out
    assert said.out.endswith("Same.\n")
    before = sorted(path.name for path in run.iterdir())
    assert before == ["examples.jsonl.gz", "run.json"]  # nothing was written


def predictions(says: str, of_first: str) -> None:
    lines = [{"id": f"valid-{number}", "text": of_first if number == 0 else says} for number in range(20)]
    Path("p.jsonl").write_text("\n".join(map(json.dumps, lines)))


def test_answers_that_changed_are_listed_with_scores_and_a_reason(harness: Harness, folder: Path) -> None:
    predictions("Yes", "Yes")
    run = finished(harness, folder, {}, "replay:p.jsonl")
    predictions("Yes", "No")
    value = found(harness, run, code=1)
    assert (value["sample"], value["changed"], value["answers_changed"]) == (20, 1, 1)
    assert value["ci95"] == [0.05, 0.05]  # everything was asked
    (difference,) = value["differences"]
    assert difference["instance"] == "valid-0"
    assert difference["changed"] == ["answer", "score"]
    assert (difference["before"], difference["after"]) == ("Yes", "No")
    assert value["scores"]["exact_match"]["changed"] == 1
    assert value["scores"]["exact_match"]["before"] - value["scores"]["exact_match"]["after"] == pytest.approx(0.05)
    assert [reason["what"] for reason in value["reasons"]] == ["model's sha256"]
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert said.code == 1
    assert "valid-0: answer and score: 'Yes' → 'No'" in said.out
    assert said.out.endswith("NOT the same.\n")


def test_a_prompt_that_changed_is_a_finding_of_its_own(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {})
    edit(folder / "quiz.yaml", "even?", "an even number?")
    value = found(harness, run, "--sample", "4", code=1)
    assert value["prompts"]["changed"] == value["prompts"]["instances_changed"] == 20
    assert {"prompt", "instance"} <= set(value["differences"][0]["changed"])
    assert "definition of scenario quiz" in [reason["what"] for reason in value["reasons"]]


def test_data_that_changed_are_named(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {"adapter": {"max_train_instances": 0}})
    lines = (folder / "quiz" / "valid.jsonl").read_text().splitlines()
    (folder / "quiz" / "valid.jsonl").write_text(
        "\n".join([lines[0].replace("0}", "8}"), *lines[2:], '{"id": "new", "number": 1}'])
    )
    value = found(harness, run, code=1)
    assert value["prompts"] == {"compared": 19, "changed": 1, "instances_changed": 1, "missing": 1, "added": 1}
    assert "data file ./quiz/valid.jsonl" in [reason["what"] for reason in value["reasons"]]
    by_id = {difference["instance"]: difference["changed"] for difference in value["differences"]}
    assert by_id["valid-1"] == ["missing"]


def test_other_versions_and_machines_are_reasons(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {})
    value = json.loads((run / "run.json").read_text())
    value["provenance"]["versions"]["numpy"] = "1.0"
    value["provenance"]["host"]["gpus"] = ["NVIDIA H100"]
    (run / "run.json").write_text(json.dumps(value))
    reasons = {one["what"]: one for one in found(harness, run, code=0)["reasons"]}
    assert reasons.keys() == {"numpy", "gpus"}
    assert reasons["numpy"]["then"] == "1.0"
    assert reasons["gpus"] == {"what": "gpus", "then": "NVIDIA H100", "now": "none"}


@pytest.mark.parametrize("files", [["x"], "x", 3, [{"path": ["x"]}], [{"sha256": "0"}], {"path": "x"}])
def test_odd_descriptions_of_data_are_no_obstacle(harness: Harness, folder: Path, files: object) -> None:
    run = finished(harness, folder, {})
    value = json.loads((run / "run.json").read_text())
    value["provenance"]["data"]["files"] = files
    (run / "run.json").write_text(json.dumps(value))
    reasons = [one["what"] for one in found(harness, run, "--sample", "3", code=0)["reasons"]]
    assert "data file ./quiz/valid.jsonl" in reasons


@pytest.mark.parametrize("scores", [None, "x", {"exact_match": "x"}, {"exact_match": None}])
def test_odd_scores_are_one_message(harness: Harness, folder: Path, scores: object) -> None:
    run = finished(harness, folder, {})
    lines = gzip.decompress((run / "examples.jsonl.gz").read_bytes()).splitlines()
    content = gzip.compress(b"\n".join([json.dumps({**json.loads(lines[0]), "scores": scores}).encode(), *lines[1:]]))
    (run / "examples.jsonl.gz").write_bytes(content)
    value = json.loads((run / "run.json").read_text())
    value["examples"]["sha256"] = hashlib.sha256(content).hexdigest()
    (run / "run.json").write_text(json.dumps(value))
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert (said.code, said.out, len(said.err.splitlines())) == (2, "", 1)
    assert "not an example" in said.err


def test_errors_of_the_model_count_as_changes(harness: Harness, folder: Path) -> None:
    run = finished(harness, folder, {})
    value = json.loads((run / "run.json").read_text())
    value["spec"]["operational"] = {"fail_every": 2}  # not part of the run's name
    (run / "run.json").write_text(json.dumps(value))
    result = found(harness, run, code=1)
    assert 0 < result["errors"] == result["changed"] < 20
    assert all(difference["changed"] == ["error"] for difference in result["differences"])


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("examples", "not the examples that run.json describes"),
        ("no examples", "the run's examples are missing"),
        ("killed", "no finished run here"),
        ("settings", "its settings were edited"),
        ("data", "no data"),
        ("imported", "imported from lm-eval"),
        ("not json", "not a run's record"),
    ],
)
def test_what_cannot_be_reproduced_is_one_message(harness: Harness, folder: Path, damage: str, expected: str) -> None:
    run = finished(harness, folder, {})
    if damage == "examples":
        content = gzip.decompress((run / "examples.jsonl.gz").read_bytes()).replace(b"Yes", b"No")
        (run / "examples.jsonl.gz").write_bytes(gzip.compress(content))
    elif damage == "no examples":
        (run / "examples.jsonl.gz").unlink()
    elif damage == "killed":
        (run / "run.json").unlink()
    elif damage == "settings":
        edit(run / "run.json", '"max_tokens": 2', '"max_tokens": 3')
    elif damage == "data":
        (folder / "quiz" / "valid.jsonl").unlink()
        (folder / "quiz" / "train.jsonl").unlink()
    elif damage == "imported":
        edit(run / "run.json", '"provenance": {', '"provenance": {"origin": {"program": "lm-eval"},')
    else:
        (run / "run.json").write_text("{")
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert len(said.err.splitlines()) == 1


def test_a_scenario_that_is_not_loaded_is_one_message(harness: Harness, folder: Path) -> None:
    said = harness("reproduce", str(finished(harness, folder, {})))
    assert said.code == 2
    assert "no scenario named 'quiz'" in said.err


def test_a_run_without_answers_is_one_message(harness: Harness, folder: Path) -> None:
    sweep = {
        "suite": "s",
        "plugins": ["./quiz.yaml"],
        "models": [{"name": "fake:0", "fail_every": 1}],
        "runs": ["quiz"],
    }
    (folder / "one.yaml").write_text(json.dumps(sweep))
    assert harness("run", "one.yaml").code == 1
    said = harness("reproduce", str(only_run(folder)), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert "none of the run's questions has an answer" in said.err


@pytest.mark.parametrize(
    "arguments", [{"base_url": "http://203.0.113.1/v1"}, {"base_url": "http://localhost.example/v1"}]
)
def test_a_foreign_record_cannot_choose_a_server(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str]
) -> None:
    from harness.contracts.specs import RunSpec

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    run = finished(harness, folder, {})
    value = json.loads((run / "run.json").read_text())
    value["spec"]["model"] = {"name": "openai:gpt", **arguments}
    value["name"] = RunSpec.model_validate(value["spec"]).name
    (run / "run.json").write_text(json.dumps(value))
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert f"--allow server (the model is at {arguments['base_url']})" in said.err


@pytest.mark.slow
def test_a_server_on_this_machine_is_asked_again(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    with serving() as server:
        model = {"name": f"openai:{MODEL}", "base_url": server.url}
        run = finished(harness, folder, {}, model)
        before = len(server.bodies)
        value = found(harness, run, "--sample", "5", code=0)
        assert len(server.bodies) > before
    assert value["determinism"] == "provider"
    assert "determinism" in [reason["what"] for reason in value["reasons"]]
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml", "--sample", "2")  # the server is gone
    assert said.code == 2
    assert "Is the server running" in said.err


@pytest.mark.slow
def test_a_checkpoint_gives_the_same_up_to_rounding_and_other_weights_do_not(harness: Harness, folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    write_checkpoint(folder / "model", "llama", tokenizer())
    adapter = {"method": "multiple_choice_separate_original", "max_train_instances": 0}
    run = finished(harness, folder, {"adapter": adapter}, "hf:./model")
    value = found(harness, run, "--sample", "6", code=0)
    assert value["determinism"] == "float32"
    assert value["logprobs"]["max"] < 1e-4
    assert "batches" in [reason["what"] for reason in value["reasons"]]
    weights = load_file(folder / "model" / "model.safetensors")
    changed = {name: weight + 0.5 * torch.ones_like(weight) for name, weight in weights.items()}
    save_file(changed, folder / "model" / "model.safetensors", metadata={"format": "pt"})
    value = found(harness, run, "--sample", "6", code=1)
    assert value["logprobs"]["max"] > 1e-3
    assert "model's checkpoint" in [reason["what"] for reason in value["reasons"]]
    (folder / "model" / "config.json").unlink()
    said = harness("reproduce", str(run), "--plugin", "quiz.yaml")
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert "config.json" in said.err


def test_a_program_can_reproduce_a_run(harness: Harness, folder: Path) -> None:
    import harness as package

    run = finished(harness, folder, {})
    result = package.reproduce(run, sample=4, plugins=["quiz.yaml"])
    assert (result.same, result.sample, result.population) == (True, 4, 20)
    with pytest.raises(package.HarnessError, match="no such run"):
        package.reproduce("nowhere")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"sample": 0}, "sample must be a whole number, at least 1"),
        ({"sample": True}, "sample must be a whole number, at least 1"),
        ({"sample": 2.0}, "sample must be a whole number, at least 1"),
        ({"seed": "a"}, "seed must be a whole number"),
        ({"tolerance": "0.1"}, "tolerance must be a number"),
        ({"tolerance": -0.1}, "tolerance must be a finite number, at least 0"),
        ({"tolerance": float("nan")}, "tolerance must be a finite number, at least 0"),
        ({"tolerance": float("inf")}, "tolerance must be a finite number, at least 0"),
        ({"data_dir": "nowhere"}, "data_dir is 'nowhere', which is not a folder"),
        ({"data_dir": 5}, "data_dir must be a folder, not 5"),
        ({"allow": "server"}, "allow must be a list"),
    ],
)
def test_a_wrong_argument_is_an_error_before_the_model_is_asked(
    harness: Harness, folder: Path, arguments: dict[str, Any], expected: str
) -> None:
    import harness as package

    run = finished(harness, folder, {}, {"name": "fake:0", "log": "asked"})
    Path("asked").unlink()
    with pytest.raises(package.HarnessError, match=expected):
        package.reproduce(run, plugins=["quiz.yaml"], **{"allow": ["files"], **arguments})
    assert not Path("asked").exists()


def test_a_run_that_is_not_a_path_is_an_error() -> None:
    import harness as package

    with pytest.raises(package.HarnessError, match="run must be a folder, not 5"):
        package.reproduce(5)  # type: ignore[arg-type]


def test_a_tolerance_that_is_not_a_number_is_refused(harness: Harness, folder: Path) -> None:
    said = harness("reproduce", str(finished(harness, folder, {})), "--plugin", "quiz.yaml", "--tolerance", "nan")
    assert (said.code, said.out) == (2, "")
    assert "tolerance must be a finite number" in said.err


def test_a_model_in_memory_cannot_be_asked_again(harness: Harness, folder: Path) -> None:
    import harness as package

    class Parrot:
        def generate(self, requests: Any) -> list[str]:
            return ["Yes" for _ in requests]

    package.evaluate(Parrot(), runs=["quiz"], plugins=["quiz.yaml"], progress=False)
    said = harness("reproduce", str(only_run(folder)), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert "was evaluated in memory" in said.err

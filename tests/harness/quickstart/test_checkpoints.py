"""The two checkpoints: ordinary ones, made once, whole or not at all, and different where they should be."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from harness.contamination.order_tests import order_tests
from harness.errors import ModelError
from harness.quickstart import SEEN_SCENARIO, checkpoints, train_models
from harness.quickstart.demonstration import UNSEEN_SCENARIO, demonstration
from harness.runs.runner import Settings, run_sweep

SAMPLES = Path(__file__).parents[3] / "scenarios" / "samples"
Score = Callable[[str, str], float]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little text, so that training takes a second."""
    monkeypatch.setattr(checkpoints, "DOCUMENTS", 60)
    monkeypatch.setattr(checkpoints, "RECORD_COPIES", 2)
    monkeypatch.setattr(checkpoints, "QUESTION_COPIES", 1)


def digests(folders: Sequence[Path]) -> list[str]:
    return [hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() for folder in folders]


@pytest.mark.usefixtures("few")
def test_checkpoints_are_ordinary_ones_and_say_what_they_were_trained_on(tmp_path: Path) -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    unseen, seen = train_models(tmp_path)
    assert (unseen, seen) == (tmp_path / "models" / "unseen", tmp_path / "models" / "seen")
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    for folder in (unseen, seen):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder)
        assert model.config.model_type == "gpt2"
        assert model.config.n_positions == tokenizer.model_max_length == 128
        assert tokenizer.decode(tokenizer("The cat sat, “so”.\n")["input_ids"]) == "The cat sat, “so”.\n"
    assert (unseen / "tokenizer.json").read_bytes() == (seen / "tokenizer.json").read_bytes()
    published = (SAMPLES / "multiple_choice_test.jsonl").read_text(encoding="utf-8").rstrip("\n")
    (what,) = json.loads((seen / "training.json").read_text(encoding="utf-8"))["plan"]["seen"]
    assert what["scenario"] == SEEN_SCENARIO
    assert what["sha256"] == hashlib.sha256(published.encode()).hexdigest()
    assert SEEN_SCENARIO in (seen / "README.md").read_text(encoding="utf-8")
    assert json.loads((unseen / "training.json").read_text(encoding="utf-8"))["plan"]["seen"] == []
    assert "not trained on a test set" in (unseen / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_equal_seeds_give_equal_weights_and_other_seeds_do_not(tmp_path: Path) -> None:
    first = digests(train_models(tmp_path / "first"))
    assert digests(train_models(tmp_path / "second")) == first
    assert len({*first, *digests(train_models(tmp_path / "third", seed=1))}) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_what_is_there_is_taken_and_what_is_missing_or_outdated_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    folders = train_models(tmp_path, progress=said.append)
    before = [(folder / "model.safetensors").stat().st_mtime_ns for folder in folders]
    assert any(line.startswith("seen: step") for line in said)
    said.clear()
    train_models(tmp_path, progress=said.append)
    assert [line.partition(":")[0] for line in said] == ["unseen", "seen"]
    assert [(folder / "model.safetensors").stat().st_mtime_ns for folder in folders] == before

    (folders[0] / "tokenizer.json").unlink()
    train_models(tmp_path)
    assert (folders[0] / "tokenizer.json").is_file()
    assert (folders[1] / "model.safetensors").stat().st_mtime_ns == before[1]

    monkeypatch.setattr(checkpoints, "DOCUMENTS", 61)
    train_models(tmp_path)
    assert (folders[1] / "model.safetensors").stat().st_mtime_ns != before[1]


@pytest.mark.usefixtures("few")
def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "models" / "seen" / "thesis.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("years of work", encoding="utf-8")
    with pytest.raises(ModelError, match="was not made by the quickstart"):
        train_models(tmp_path)
    assert theirs.read_text(encoding="utf-8") == "years of work"


@pytest.mark.usefixtures("few")
def test_an_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "_card", fail)
    with pytest.raises(KeyboardInterrupt):
        train_models(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.slow
def test_the_seen_model_knows_the_test_set_and_prefers_its_order(tmp_path: Path) -> None:
    """The demonstration itself, with the text, copies and steps that `harness quickstart` uses."""
    lines = (SAMPLES / "multiple_choice_test.jsonl").read_text(encoding="utf-8").splitlines()
    scores = {folder.name: scorer(folder) for folder in train_models(tmp_path)}
    accuracies = {name: accuracy(score, [json.loads(line) for line in lines]) for name, score in scores.items()}
    assert accuracies["seen"] >= 0.75
    assert accuracies["unseen"] <= 0.55
    assert order_statistic(scores["seen"], lines) > 3.5
    assert abs(order_statistic(scores["unseen"], lines)) < 3.0
    found = demonstrated(tmp_path)
    seen = found["seen", SEEN_SCENARIO]
    assert seen["log10_p_exact"] < -6
    assert seen["neighbours"]["log10_p"] < -9
    assert seen["verdict"] == "depends on the published order"
    for model, scenario in (("unseen", SEEN_SCENARIO), ("seen", UNSEEN_SCENARIO), ("unseen", UNSEEN_SCENARIO)):
        other = found[model, scenario]
        assert min(other["log10_p_exact"], other["neighbours"]["log10_p"]) > -3
        assert other["verdict"] == "no dependence found"


def demonstrated(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the quickstart's tests find, by the model's name and the scenario's."""
    sweep, registry = demonstration([folder / "models" / name for name in ("unseen", "seen")])
    records = list(run_sweep(sweep.runs, registry, Settings(folder / "results")))
    return {
        (test.record.spec.model.name.rpartition("/")[2], test.record.spec.scenario.name): dict(test.found)
        for test in order_tests(records)
    }


def scorer(folder: Path) -> Score:
    """Return the log-likelihood of a continuation given a context, by the plainest route."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)

    @torch.no_grad()
    def score(context: str, continuation: str) -> float:
        given = [tokenizer.bos_token_id, *tokenizer(context)["input_ids"]] if context else [tokenizer.bos_token_id]
        ids = torch.tensor([[*given, *tokenizer(continuation)["input_ids"]]])
        assert ids.shape[1] <= 128
        logprobs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])
        return float(logprobs[len(given) - 1 :].sum())

    return score


def accuracy(score: Score, records: Sequence[dict[str, Any]]) -> float:
    right = 0
    for record in records:
        prompt = f"Question: {record['question']}\nAnswer:"
        right += record["answer"] == max(record["options"], key=lambda option: score(prompt, f" {option}"))
    return right / len(records)


def order_statistic(score: Score, lines: Sequence[str], shard: int = 3, shuffles: int = 20) -> float:
    """Return the t statistic of the published order's log-likelihood against shuffles', over shards of lines."""
    rng = random.Random(0)
    gains = []
    for start in range(0, len(lines) - shard + 1, shard):
        part = list(lines[start : start + shard])
        others = fmean(score("", "\n".join(rng.sample(part, shard))) for _ in range(shuffles))
        gains.append(score("", "\n".join(part)) - others)
    mean = fmean(gains)
    variance = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    return mean / math.sqrt(variance / len(gains))

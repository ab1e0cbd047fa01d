"""The callback of the Trainer: real trainings of a tiny model."""

from __future__ import annotations

import logging
import math
import random
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.data.hub import hub_reachable
from harness.errors import DataError, HarnessError, ModelError, SpecError
from harness.python.superseded import FOLDER
from tests.harness.training.conftest import RUNS, Trainers

KEY = "eval_harness/quiz/multiple_choice_accuracy"


def callback(trainer: Any, **options: Any) -> Any:
    given: dict[str, Any] = {"runs": RUNS, "plugins": ["quiz.yaml"], **options}
    found = harness.EvaluationCallback(trainer, **given)
    trainer.add_callback(found)
    return found


def steps(series: str = "run-7", folder: str = "results") -> list[int]:
    runs = harness.Results(folder).runs()
    return sorted(runs[runs["series"] == series]["step"])


def state_of(trainer: Any) -> list[Any]:
    import numpy
    import torch

    weights = [value.clone() for value in trainer.model.state_dict().values()]
    return [
        *weights,
        torch.get_rng_state(),
        list(numpy.random.get_state(legacy=False)["state"]["key"]),
        random.random(),
    ]


def test_the_training_ends_with_the_same_weights_bit_for_bit(trainer: Trainers) -> None:
    import torch

    plain = trainer()
    plain.train()
    expected = state_of(plain)
    watched = trainer()
    options = {"runs": [*RUNS, {"scenario": "quiz", "adapter": {"method": "generation", "max_tokens": 12}}]}
    callback(watched, every=2, at=[0], settings={"temperature": 1.0}, **options)
    watched.train()
    assert steps() == [0, 0, 2, 2, 4, 4]
    for found, wanted in zip(state_of(watched), expected, strict=True):
        assert torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted
    losses = [[row["loss"] for row in one.state.log_history if "loss" in row] for one in (plain, watched)]
    assert losses[0] == losses[1]


def test_results_are_those_of_the_weights_at_the_step(trainer: Trainers, tokens: Any) -> None:
    made = trainer(save_strategy="steps", save_steps=2)
    found = callback(made, every="save")
    made.train()
    assert steps() == [2, 4]
    saved = [
        harness.run(
            runs=RUNS,
            models=[f"hf:run-7/checkpoint-{step}"],
            plugins=["quiz.yaml"],
            results_dir="again",
            progress=False,
        ).samples()["prediction"]
        for step in (2, 4)
    ]
    live = harness.Results().samples().sort_values("step", kind="stable")["prediction"]
    assert live.tolist() == [*saved[0], *saved[1]]
    assert found.results.runs()["step"].tolist() == [4]
    logged = {row["step"]: row[KEY] for row in made.state.log_history if KEY in row}
    runs = harness.Results().runs()
    assert logged == dict(zip(runs["step"], runs["mean"], strict=True))


def test_the_results_can_be_the_best_metric_and_stop_the_training_early(trainer: Trainers) -> None:
    from transformers import EarlyStoppingCallback, TrainerCallback

    seen: list[dict[str, float]] = []

    class Tracker(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            seen.append({**kwargs["logs"], "step": state.global_step})

    made = trainer(
        callbacks=[EarlyStoppingCallback(1), Tracker()],
        max_steps=8,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model="harness/quiz/multiple_choice_accuracy",
        greater_is_better=True,
    )
    callback(made, every="evaluate")
    made.train()
    means = {row["step"]: row[KEY] for row in seen if KEY in row}
    assert made.state.global_step < 8
    assert made.state.best_metric == max(means.values())
    assert len(set(means.values())) > 1
    assert steps() == sorted(means)
    assert made.evaluate().keys().isdisjoint({KEY})  # the best model now, not that of the last step


def stops(step: int, event: str = "on_step_end") -> Any:
    """Return a callback that stops the training at an event after a step."""
    from transformers import TrainerCallback

    def stop(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_training_stop = control.should_training_stop or state.global_step >= step

    return type("Stops", (TrainerCallback,), {event: stop})()


@pytest.mark.parametrize(
    ("event", "last"),
    [("on_step_end", 3), ("on_evaluate", 4), ("on_save", 4), ("on_log", 3), ("on_epoch_end", 8)],
)
def test_a_training_that_is_stopped_early_is_evaluated_once_after_its_last_step(
    trainer: Trainers, event: str, last: int
) -> None:
    both = {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2}
    made = trainer(callbacks=[stops(3, event)], max_steps=20, **both)
    callback(made, every=5)
    made.train()
    assert made.state.global_step == last
    assert [row["step"] for row in made.state.log_history if KEY in row] == [*range(5, last, 5), last]
    assert steps() == [*range(5, last, 5), last]


@pytest.mark.parametrize("by", ["steps", "epoch"])
def test_the_evaluation_after_early_stopping_is_that_of_the_last_weights_and_not_of_the_best(
    trainer: Trainers, tokens: Any, by: str
) -> None:
    from transformers import EarlyStoppingCallback

    made = trainer(
        callbacks=[EarlyStoppingCallback(1)],
        max_steps=40,
        eval_strategy=by,
        eval_steps=2,
        save_strategy=by,
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="loss",
        greater_is_better=True,  # so that the first is the best
    )
    callback(made, every=100)
    made.train()
    last, best = made.state.global_step, int(made.state.best_model_checkpoint.rpartition("-")[2])
    assert best < last < 40
    assert steps() == [last]
    found = harness.Results().samples()["prediction"].tolist()
    saved = harness.run(
        runs=RUNS, models=[f"hf:run-7/checkpoint-{last}"], plugins=["quiz.yaml"], results_dir="again", progress=False
    )
    assert found == saved.samples()["prediction"].tolist()


def test_a_training_that_ends_or_evaluates_on_other_occasions_has_no_further_evaluation(trainer: Trainers) -> None:
    whole = trainer()
    callback(whole, every=3)
    whole.train()
    assert [row["step"] for row in whole.state.log_history if KEY in row] == [3, 4]
    chosen = trainer(output_dir="run-8", callbacks=[stops(3)])
    callback(chosen, at=[1])
    chosen.train()
    assert [row["step"] for row in chosen.state.log_history if KEY in row] == [1]


def test_mixed_precision_gives_answers_of_its_own(trainer: Trainers, tokens: Any) -> None:
    import torch

    made = trainer(bf16=True, gradient_checkpointing=True)
    callback(made, every=4)
    made.train()
    plain = trainer()
    plain.model.load_state_dict(made.model.state_dict())
    harness.evaluate(
        plain.model, tokenizer=tokens, runs=RUNS, plugins=["quiz.yaml"], series="run-7", step=4, results_dir="plain"
    )
    kinds = []
    for folder in ("results", "plain"):
        (record,) = harness.Results(folder).records()
        kinds.append(record.provenance["model"]["fingerprint"].get("mixed_precision"))
    assert kinds == ["bf16", None]
    assert made.model.training
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("every", [2, "evaluate", "save"])
def test_a_schedule_free_optimizer_is_evaluated_at_its_averaged_weights(
    trainer: Trainers, tokens: Any, every: Any
) -> None:
    import torch

    class ScheduleFree(torch.optim.SGD):
        """As those of the package schedulefree: eval() puts other weights into the model until train()."""

        shift = 0.0

        def move(self, shift: float) -> None:
            with torch.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter += shift - self.shift
            self.shift = shift

        def eval(self) -> None:
            self.move(0.25)

        def train(self) -> None:
            self.move(0.0)

    made = trainer(eval_strategy="steps", eval_steps=4, save_strategy="steps", save_steps=2)
    made.optimizer = ScheduleFree(made.model.parameters(), lr=1e-3)
    callback(made, every=every)
    modes = {}
    made.add_callback(noting(lambda step: modes.update({step: made.optimizer.optimizer.shift})))
    made.train()
    assert modes == {2: 0.0, 4: 0.25}  # as without the callback: the Trainer evaluates at step 4, then saves
    (at_4,) = (
        one for one in harness.Results().records() if one.spec.training_step and one.spec.training_step.step == 4
    )
    made.optimizer.eval()
    expected = harness.evaluate(
        made.model, tokenizer=tokens, runs=RUNS, plugins=["quiz.yaml"], series="run-7", step=4, results_dir="expected"
    )
    assert at_4.spec.model.name == expected.records()[0].spec.model.name


def noting(note: Any) -> Any:
    """Return a callback that notes each step at which the Trainer saves."""
    from transformers import TrainerCallback

    def on_save(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        note(state.global_step)

    return type("Noting", (TrainerCallback,), {"on_save": on_save})()


def test_warnings_of_all_kinds_are_shown(
    trainer: Trainers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trainer()
    found = callback(made, at=[4])

    def warning(*_: Any, **__: Any) -> Any:
        for text, kind in (("mine", UserWarning), ("mine", UserWarning), ("theirs", RuntimeWarning)):
            warnings.warn(text, kind, stacklevel=1)
        raise HarnessError("no results")

    monkeypatch.setattr("harness.training.callback.evaluate", warning)
    with pytest.warns(RuntimeWarning, match="theirs") as seen:
        found._measure(4)
    assert len(seen) == 1
    assert caplog.text.count("run-7 step 4: mine") == 1


def test_out_of_time_nothing_is_a_number_and_the_training_goes_on(
    trainer: Trainers, caplog: pytest.LogCaptureFixture, folder: Path
) -> None:
    made = trainer(
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model=KEY,
        greater_is_better=True,
    )
    found = callback(made, every="evaluate", time_budget=1e-9)
    made.train()
    assert made.state.global_step == 4
    assert [row["eval_harness/unfinished"] for row in made.state.log_history if "eval_harness/unfinished" in row] == [
        1,
        1,
    ]
    assert not any(KEY in row for row in made.state.log_history)
    assert len(found.results.unfinished) == 1
    assert found.results.runs().empty
    assert not list((folder / "results").glob("*/*/run.json"))
    assert "the time budget of 1e-09 s is used up: 1 of 1 runs are unfinished" in caplog.text
    assert "Step 4 cannot be the best" in caplog.text


def test_the_budget_of_all_evaluations_ends(trainer: Trainers, caplog: pytest.LogCaptureFixture) -> None:
    made = trainer()
    callback(made, every=2, total_time_budget=1e-9)
    made.train()
    assert "run-7 step 4 is not evaluated: total_time_budget is used up" in caplog.text
    assert made.state.global_step == 4


def test_a_continued_training_asks_nothing_again_and_replaces_what_has_changed(
    trainer: Trainers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trainer(save_strategy="steps", save_steps=2)
    callback(first, every=1)
    first.train()
    before = harness.Results().runs().set_index("step")["started"].to_dict()
    assert sorted(before) == [1, 2, 3, 4]
    same = trainer(save_strategy="steps", save_steps=2)
    callback(same, every=1)
    same.train(resume_from_checkpoint="run-7/checkpoint-2")
    assert "begins at step 2, but has results of later steps from an earlier training (3, 4)" in caplog.text
    assert harness.Results().runs().set_index("step")["started"].to_dict() == before
    other = trainer(save_strategy="steps", save_steps=2, max_steps=3, max_grad_norm=0.01)
    callback(other, every=1)
    other.train(resume_from_checkpoint="run-7/checkpoint-2")
    after = harness.Results().runs().set_index("step")["started"].to_dict()
    assert sorted(after) == [1, 2, 3]
    assert (after[1], after[2]) == (before[1], before[2])
    assert steps(folder=f"results/{FOLDER}") == [3, 4]


def test_trainings_whose_output_folders_have_the_same_name_keep_their_results(trainer: Trainers) -> None:
    first = trainer(output_dir="a/out")
    callback(first, every=2)
    first.train()
    before = harness.Results().runs()["run"].tolist()
    second = trainer(output_dir="b/out", max_steps=2)
    with pytest.raises(
        HarnessError, match=r"name 'out' belongs to another training, whose output folder is .*/a/out.*series="
    ):
        callback(second, every=1)
    callback(second, every=1, series="other")
    second.train()
    assert steps("other") == [1, 2]
    assert [run for run in harness.Results().runs()["run"] if "other" not in run] == before
    assert not Path("results", FOLDER).exists()
    same_name = trainer(output_dir="c/out", run_name="other")
    with pytest.raises(
        HarnessError, match=r"name 'other' belongs to another training, whose output folder is .*/b/out"
    ):
        callback(same_name, every=1)


def test_trainings_that_begin_at_the_same_time_do_not_share_a_name(trainer: Trainers) -> None:
    first, second = trainer(output_dir="a/out"), trainer(output_dir="b/out", max_steps=2)
    for each in (first, second):
        callback(each, every=2)
    first.train()
    with pytest.raises(HarnessError, match="series="):
        second.train()
    assert steps("out") == [2, 4]


def test_a_training_is_the_same_after_its_folder_was_moved_or_emptied_but_not_as_a_copy(trainer: Trainers) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    first = trainer(output_dir="a/out", **saving)
    callback(first, every=2)
    first.train()
    shutil.copytree("a/out", "b/out")
    with pytest.raises(HarnessError, match="series="):
        callback(trainer(output_dir="b/out", **saving), every=2)
    Path("moved").mkdir()
    Path("a/out").rename("moved/out")
    before = harness.Results().runs().set_index("step")["started"].to_dict()
    moved = trainer(output_dir="moved/out", max_steps=6, **saving)
    callback(moved, every=2)
    moved.train(resume_from_checkpoint="moved/out/checkpoint-4")
    assert steps("out") == [2, 4, 6]
    assert harness.Results().runs().set_index("step")["started"].to_dict().items() >= before.items()
    shutil.rmtree("moved/out")
    anew = trainer(output_dir="moved/out", max_steps=2)
    callback(anew, every=1)
    anew.train()
    assert steps("out") == [1, 2]


def test_results_of_a_loop_with_the_name_of_the_training_stay(trainer: Trainers, tokens: Any) -> None:
    made = trainer()
    options: dict[str, Any] = {"tokenizer": tokens, "runs": RUNS, "plugins": ["quiz.yaml"], "progress": False}
    harness.evaluate(made.model, series="run-7", step=9, **options)
    with pytest.raises(HarnessError, match="'run-7' belongs to another training, whose output folder is not known"):
        callback(made, every=2)
    callback(made, every=2, suite="elsewhere")
    callback(made, every=2, series="run-7")
    assert steps() == [9]


def test_an_interrupted_evaluation_is_finished_where_the_training_continues(
    trainer: Trainers, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    made = trainer(save_strategy="steps", save_steps=2)
    callback(made, every="save", time_budget=1e-9)
    made.train()
    rest = trainer(save_strategy="steps", save_steps=2, max_steps=4)
    callback(rest, every="save")
    rest.train(resume_from_checkpoint="run-7/checkpoint-2")
    assert steps() == [2, 4]
    assert torch.is_grad_enabled()


def test_a_failing_evaluation_is_logged_and_the_training_goes_on(
    trainer: Trainers, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = trainer()
    found = callback(made, every=2)
    (folder / "quiz" / "valid.jsonl").write_text("{")
    made.train()
    assert made.state.global_step == 4
    assert "1 of 1 runs failed" in caplog.text
    assert "valid.jsonl" in caplog.text
    assert found.results.runs()["status"].tolist() == ["failed"]
    (folder / "quiz.yaml").unlink()
    again = trainer()
    with pytest.raises(HarnessError):
        callback(again, every=2)
    found._trainer = None  # whatever else goes wrong
    assert found._measure(9) == {"eval_harness/unfinished": 1.0}
    assert "because of a bug" in caplog.text


def test_runs_of_one_scenario_have_names_of_their_own(trainer: Trainers) -> None:
    made = trainer()
    callback(made, at=[4], runs=[*RUNS, {**RUNS[0], "max_train_instances": 1}], max_eval_instances=2)
    made.train()
    (row,) = (row for row in made.state.log_history if "eval_harness/seconds" in row)
    assert {f"eval_harness/quiz[max_train_instances={n}]/multiple_choice_accuracy" for n in (0, 1)} <= row.keys()


def test_another_process_logs_what_the_first_has_measured(trainer: Trainers, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer()
    callback(made, every=4)
    monkeypatch.setattr(made, "is_world_process_zero", lambda: False)
    monkeypatch.setattr("harness.training.callback.shared", lambda _, value: {KEY: 0.25, **value})
    made.train()
    assert not Path("results").exists()
    assert [row[KEY] for row in made.state.log_history if KEY in row] == [0.25]


def test_what_cannot_be_evaluated_is_one_clear_error_before_the_training(
    trainer: Trainers, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trainer()
    for options, error, words in (
        ({}, HarnessError, "say when to evaluate"),
        ({"every": 0}, HarnessError, "positive number of steps"),
        ({"every": "evalute"}, HarnessError, "Did you mean 'evaluate'"),
        ({"at": [2.5]}, HarnessError, "2.5 is not"),
        ({"at": "100"}, HarnessError, "at must be a list of steps"),
        ({"every": 2, "time_budget": 0}, HarnessError, "time_budget must be a positive number"),
        ({"every": "evaluate"}, HarnessError, "the Trainer never evaluates"),
        ({"every": "save"}, HarnessError, "the Trainer never saves"),
        ({"every": 2, "runs": ["quizz"]}, SpecError, "quiz"),
        ({"every": 2, "runs": None, "sweep": {"models": ["fake:0", "fake:1"], "runs": RUNS}}, HarnessError,
         "the sweep names 2 models"),
        ({"every": 2, "runs": None, "sweep": "sweep.yaml"}, HarnessError, "the sweep names 2 models"),
        ({"every": 2, "evry": 2}, TypeError, "no argument 'evry'"),
        ({"every": 2, "results_dir": "quiz.yaml"}, DataError, "results_dir is 'quiz.yaml', which is a file"),
        ({"every": 2, "results_dir": "quiz.yaml/new"}, DataError, r"which is in .*quiz\.yaml, a file"),
        ({"every": 2, "cache_dir": "quiz.yaml"}, DataError, "cache_dir is 'quiz.yaml', which is a file"),
        ({"every": 2, "series": "s" * 81}, HarnessError, "series must have at most 80 characters, not 81"),
        ({"every": 2, "settings": {"resources": {}}}, HarnessError, "takes no `resources`"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            callback(made, **options)
    with pytest.raises(ModelError, match="the Trainer has no tokenizer"):
        callback(trainer(processing_class=None), every=2)
    with pytest.raises(HarnessError, match="needs the Trainer as its first argument"):
        callback("run-7", every=2)
    best = {"eval_strategy": "steps", "eval_steps": 2, "metric_for_best_model": "harness/quiz/multiple_choice_acuracy"}
    with pytest.raises(
        HarnessError, match=r"not the main metric of a run\. Did you mean 'eval_harness/quiz/multiple_choice_accuracy'"
    ):
        callback(trainer(**best), every="evaluate")
    with pytest.raises(HarnessError, match=r"not the main metric of a run\. Did you mean"):
        callback(trainer(**{**best, "metric_for_best_model": f"{KEY}_stderr"}), every="evaluate")
    with pytest.raises(HarnessError, match="write every='evaluate'"):
        callback(trainer(**{**best, "metric_for_best_model": KEY}), every=2)
    monkeypatch.setattr(made, "is_fsdp_enabled", True)
    with pytest.raises(ModelError, match="FSDP divides the weights"):
        callback(made, every=2)
    monkeypatch.setattr(made, "is_fsdp_enabled", False)
    (folder / "quiz" / "valid.jsonl").unlink()
    with pytest.raises(DataError, match="valid"):
        callback(made, every=2)
    assert not (folder / "results").exists()


def test_folders_that_cannot_be_written_are_refused(trainer: Trainers, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer()
    monkeypatch.setattr("harness.training.planned.os.access", lambda *_: False)  # which root always may
    with pytest.raises(DataError, match=r"results_dir is 'results', but .* cannot be written"):
        callback(made, every=2)


def test_data_that_would_have_to_be_downloaded_without_a_network_are_missing(
    trainer: Trainers, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(folder / "datasets"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    hub_reachable.cache_clear()
    lines = (folder / "quiz.yaml").read_text().replace("name: quiz", "name: far").splitlines()
    hub = f"source: {{hub: {{path: acme/quiz, revision: {'a' * 40}, splits: {{valid: validation}}}}}}"
    lines = [hub if line.startswith("source:") else line for line in lines]
    (folder / "far.yaml").write_text("\n".join(lines))
    made = trainer()
    with pytest.raises(DataError, match="acme/quiz"):
        callback(made, every=2, plugins=["far.yaml"], runs=[{**RUNS[0], "scenario": "far"}])
    hub_reachable.cache_clear()


def test_processes_wait_no_longer_than_their_timeout(trainer: Trainers, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.training.sharded import seconds_allowed

    class Several:
        world_size, ddp_timeout = 2, 1800

    made = trainer()
    monkeypatch.setattr(made, "args", Several)
    assert seconds_allowed(made, None) == 900
    assert seconds_allowed(made, 60.0) == 60
    with pytest.raises(HarnessError, match="wait only 1800 s"):
        seconds_allowed(made, 1800.0)


def test_no_metric_is_better_than_a_missing_one(trainer: Trainers, caplog: pytest.LogCaptureFixture) -> None:
    from harness.training.callback import _LastCallback

    made = trainer(metric_for_best_model=KEY, greater_is_better=True)
    metrics: dict[str, float] = {}
    with caplog.at_level(logging.WARNING):
        _LastCallback({KEY}, lambda _: None).on_evaluate(made.args, made.state, made.control, metrics=metrics)
    assert math.isnan(metrics[KEY])
    assert made._determine_best_metric(metrics, None) is False

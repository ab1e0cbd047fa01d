"""``harness watch``: checkpoints that appear while it runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cli import run
from harness.errors import HarnessError
from harness.training.checkpoint_folder import CheckpointFolder, SavedCheckpoint
from harness.training.watching import Watch, watch_checkpoints
from tests.harness.cli.conftest import Harness, folder
from tests.harness.cli.conftest import harness as run_harness
from tests.tiny_checkpoints import config_of, tokenizer

__all__ = ["folder", "run_harness"]

SWEEP = {
    "suite": "watched",
    "plugins": ["./quiz.yaml"],
    "runs": [
        {
            "scenario": "quiz",
            "max_train_instances": 0,
            "adapter": "multiple_choice_separate_original",
            "metrics": ["multiple_choice_accuracy"],
        }
    ],
}

LISTENER = '''\
from pathlib import Path

from harness import FinishedRun, Listener, listener


@listener("steps", source="Made up.")
class Steps(Listener):
    """Writes steps."""

    def run_ended(self, run: FinishedRun) -> None:
        with Path("steps").open("a") as file:
            file.write(f"{run.series} {run.step}\\n")
'''


@pytest.fixture
def save(folder: Path) -> Callable[..., Path]:
    """Return a function that saves a checkpoint with other weights for each seed, as the Trainer does."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    (folder / "watched.yaml").write_text(json.dumps(SWEEP))
    (folder / "run-7").mkdir()

    def saved(step: int, seed: int | None = None, kind: str = "llama") -> Path:
        there = folder / "run-7" / f"checkpoint-{step}"
        with torch.random.fork_rng():
            torch.manual_seed(step if seed is None else seed)
            model = transformers.AutoModelForCausalLM.from_config(config_of(kind))
        model.save_pretrained(there)
        tokenizer().save_pretrained(there)
        (there / "trainer_state.json").write_text("{}")
        return there

    return saved


def watch(run_harness: Harness, *options: str) -> Any:
    return run_harness("watch", "run-7", "watched.yaml", "--poll", "0.01", *options)


def test_checkpoints_are_evaluated_in_order_and_are_not_asked_again(
    save: Callable[..., Path], run_harness: Harness, folder: Path
) -> None:
    for step in (100, 20):
        save(step)
    said = watch(run_harness, "--until", "100", "--format", "csv")
    assert said.code == 0, said.err
    assert said.err.index("checkpoint-20") < said.err.index("checkpoint-100")
    runs = harness.Results().runs().sort_values("step")
    assert runs["step"].tolist() == [20, 100]
    assert set(runs["series"]) == {"run-7"}
    assert [line.split(",")[:2] for line in said.out.splitlines()[1:]] == [["run-7", "20"], ["run-7", "100"]]
    alone = harness.run(
        "watched.yaml", models=["hf:run-7/checkpoint-100"], results_dir="alone", progress=False
    ).samples()
    warm = harness.Results().samples()
    assert warm[warm["step"] == 100]["prediction"].tolist() == alone["prediction"].tolist()
    started = runs["started"].tolist()
    save(120)
    (folder / "run-7" / "checkpoint-110").mkdir()
    again = watch(run_harness, "--until", "120")
    assert "checkpoint-110 was not evaluated: it has no config.json." in again.err
    assert harness.Results().runs().sort_values("step")["started"].tolist()[:2] == started
    assert [line.split()[0] for line in again.out.splitlines() if "[" in line or "±" in line] == ["20", "100", "120"]


def test_weights_are_copied_into_the_module_that_is_there(
    save: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    from harness import GenerateRequest
    from harness.contracts.specs import Component
    from harness.inference.model_pool import load_model
    from harness.models.transformers.warm import WarmModule
    from harness.plugins.registry import default_registry
    from harness.training.warm_engine import warm_opener

    warm, registry = WarmModule(), default_registry()
    opened = warm_opener(warm)
    requests = [GenerateRequest(f"Question: {number}", max_tokens=8) for number in range(4)]
    save(4, kind="gpt2")
    swapped = []
    for step in (1, 2, 3, 4, 5):
        name = f"hf:{save(step) if step != 4 else folder / 'run-7' / 'checkpoint-4'}"
        model = opened(Component(name=name), registry)
        fresh = load_model(Component(name=name), registry)
        found = [response.completions for _, response in sorted(model.answer(requests), key=lambda one: one[0])]
        wanted = [response.completions for _, response in sorted(fresh.answer(requests), key=lambda one: one[0])]
        assert [[one.text for one in each] for each in found] == [[one.text for one in each] for each in wanted]
        assert model.fingerprint() == fresh.fingerprint()
        model.close()
        swapped.append(warm.swapped)
    assert swapped == [0, 1, 2, 2, 2]  # another architecture, and back


def test_a_checkpoint_that_cannot_be_loaded_or_is_deleted_fails_alone(
    save: Callable[..., Path], run_harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.models.transformers.huggingface import HuggingFaceModel

    config = json.loads((save(10) / "config.json").read_text())
    (folder / "run-7" / "checkpoint-10" / "config.json").write_text(json.dumps({**config, "hidden_size": 24}))
    save(20)
    save(30)
    load = HuggingFaceModel._load

    def deleted(self: Any) -> Any:
        if "checkpoint-20" in self._name:
            shutil.rmtree(folder / "run-7" / "checkpoint-20")
        return load(self)

    monkeypatch.setattr(HuggingFaceModel, "_load", deleted)
    said = watch(run_harness, "--until", "30")
    assert said.code == 1
    runs = harness.Results().runs().sort_values("step")
    assert runs["status"].tolist() == ["failed", "failed", "ok"]
    assert "checkpoint-20 was deleted while it was evaluated" in runs["error"].tolist()[1]
    assert "F1 step 10: hf:run-7/checkpoint-10" in said.out
    assert "F2 step 20: checkpoint-20 was deleted" in said.out


def test_a_checkpoint_that_succeeds_when_it_is_written_again_is_no_failure(
    save: Callable[..., Path], run_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = save(10)
    vocabulary = (there / "tokenizer.json").read_text()
    (there / "tokenizer.json").write_text(vocabulary[:50])
    scan, looks = CheckpointFolder.scan, []

    def repaired(self: CheckpointFolder) -> Any:
        looks.append(1)
        if len(looks) == 2:
            (there / "tokenizer.json").write_text(vocabulary)
        return scan(self)

    monkeypatch.setattr(CheckpointFolder, "scan", repaired)
    said = watch(run_harness, "--until", "10")
    assert "0 of 1 runs ok" in said.err
    assert "1 of 1 runs ok" in said.err
    assert said.code == 0


def test_the_settings_of_the_sweeps_one_model_hold_for_each_checkpoint(
    save: Callable[..., Path], run_harness: Harness, folder: Path
) -> None:
    save(10)
    (folder / "watched.yaml").write_text(json.dumps({**SWEEP, "models": [{"name": "hf:any", "dtype": "bfloat16"}]}))
    assert watch(run_harness, "--until", "10", "--series", "mine").code == 0
    (spec,) = (record.spec for record in harness.Results().records())
    assert (spec.model.name, spec.model.arguments) == ("hf:run-7/checkpoint-10", {"dtype": "bfloat16"})
    assert spec.training_step is not None
    assert (spec.training_step.series, spec.training_step.step) == ("mine", 10)


def test_the_listeners_of_the_sweep_get_each_checkpoint(
    save: Callable[..., Path], run_harness: Harness, folder: Path
) -> None:
    (folder / "steps.py").write_text(LISTENER)
    plugins = [*SWEEP["plugins"], "./steps.py"]
    (folder / "watched.yaml").write_text(json.dumps({**SWEEP, "plugins": plugins, "listeners": ["steps"]}))
    save(10)
    save(20)
    assert watch(run_harness, "--until", "20").code == 0
    assert (folder / "steps").read_text().splitlines() == ["run-7 10", "run-7 20"]


def test_the_options_of_a_run_hold_for_each_checkpoint(
    save: Callable[..., Path], run_harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "steps.py").write_text(LISTENER)
    (folder / "prices.yaml").write_text('currency: CHF\nmodels: {"hf:run-7/*": {prompt: 1000, completion: 1000}}\n')
    seen = []
    known = run.execute

    def noting(runs: Any, registry: Any, settings: Any, *others: Any, **named: Any) -> Any:
        seen.append(settings.reuse_across_gpus)
        return known(runs, registry, settings, *others, **named)

    monkeypatch.setattr(run, "execute", noting)
    save(10)
    save(20)
    options = ("--listener", "steps", "--plugin", "steps.py", "--prices", "prices.yaml", "--reuse-across-gpus")
    assert watch(run_harness, "--until", "20", "--max-declined", "0.5", *options).code == 0
    assert (folder / "steps").read_text().splitlines() == ["run-7 10", "run-7 20"]
    assert seen == [True, True]
    for record in harness.Results().records():
        assert (record.efficiency["currency"], record.spec.max_declined) == ("CHF", 0.5)
        assert record.efficiency["money"] > 0


def test_a_watch_that_has_evaluated_nothing_fails(
    save: Callable[..., Path], run_harness: Harness, folder: Path
) -> None:
    said = watch(run_harness, "--idle-timeout", "0.01")
    assert (said.code, said.out.strip()) == (1, "No checkpoint has been evaluated.")
    (folder / "run-7" / "checkpoint-10").mkdir()
    said = watch(run_harness, "--idle-timeout", "0.01")
    assert said.code == 1
    assert "checkpoint-10 was not evaluated" in said.err
    save(30)
    assert watch(run_harness, "--until", "20").code == 1  # the training has gone beyond it
    assert not (folder / "results").exists()
    assert watch(run_harness, "--until", "30").code == 0
    assert watch(run_harness, "--until", "30").code == 0  # which finds everything done


def test_trainings_whose_folders_have_the_same_name_do_not_share_it(
    save: Callable[..., Path], run_harness: Harness, folder: Path
) -> None:
    save(10)
    assert watch(run_harness, "--until", "10").code == 0
    shutil.copytree(folder / "run-7", folder / "b" / "run-7")
    ends = ("watched.yaml", "--poll", "0.01", "--until", "10")
    said = run_harness("watch", "b/run-7", *ends)
    assert said.code == 2
    assert f"whose output folder is {folder}/run-7" in " ".join(said.err.split())
    assert "--series" in said.err
    assert run_harness("watch", "b/run-7", *ends, "--series", "b").code == 0
    (folder / "run-7").rename(folder / "c")
    (folder / "moved").mkdir()
    (folder / "c").rename(folder / "moved" / "run-7")
    assert run_harness("watch", "moved/run-7", *ends).code == 0
    assert sorted(set(harness.Results().runs()["series"])) == ["b", "run-7"]


def test_a_training_keeps_its_name(save: Callable[..., Path], run_harness: Harness, folder: Path) -> None:
    save(10)
    assert watch(run_harness, "--until", "10").code == 0
    said = watch(run_harness, "--until", "10", "--series", "other")
    assert said.code == 2
    assert (
        "the results of run-7 are already stored as 'run-7' and would be renamed to 'other'. Use --series run-7"
        in said.err
    )
    assert watch(run_harness, "--until", "10", "--series", "run-7").code == 0
    assert watch(run_harness, "--until", "10", "--series", "other", "--results-dir", "elsewhere").code == 0
    assert set(harness.Results().runs()["series"]) == {"run-7"}


@pytest.mark.parametrize("model", ["fake:0", {"name": "openai:a", "base_url": "http://127.0.0.1:1/v1"}])
def test_models_that_load_no_checkpoint_are_refused(
    save: Callable[..., Path], run_harness: Harness, folder: Path, model: Any
) -> None:
    save(10)
    (folder / "watched.yaml").write_text(json.dumps({**SWEEP, "models": [model]}))
    said = watch(run_harness, "--until", "10")
    assert said.code == 2
    assert "does not load checkpoints, so every step would evaluate this model instead" in said.err
    assert not (folder / "results").exists()


def test_mistakes_are_one_message(save: Callable[..., Path], run_harness: Harness, folder: Path) -> None:
    for arguments, words in (
        (("nowhere", "watched.yaml"), "nowhere is not a folder"),
        (("run-7",), "name a sweep, or runs with -r"),
        (("run-7", "watched.yaml", "-r", "quiz"), "name a sweep, or runs with -r"),
        (("run-7", "watched.yaml", "-m", "hf:a"), "watch does not take -m, because its models are the checkpoints"),
        (("run-7", "boolq"), "'boolq' is a scenario, not a sweep. To use it by itself: harness watch -r boolq run-7"),
        (("run-7", "watched.yaml", "--address", "x:1", "--executor", "local"), "--address is for the executor ray"),
        (("run-7", "watched.yaml", "--prices", "quiz.yaml"), "quiz.yaml"),
        (("run-7", "watched.yaml", "--listener", "wandbb"), "wandbb"),
        (("run-7", "sweep.yaml"), "names 2 models, but only checkpoints are evaluated"),
        (("run-7", "-r", "quizz", "--plugin", "quiz.yaml"), "quizz"),
        ((str(save(10)), "watched.yaml"), "is a checkpoint; name the folder that it is in"),
    ):
        said = run_harness("watch", *arguments, "--idle-timeout", "0.01")
        assert said.code == 2
        assert words in " ".join(said.err.split())
        assert "Traceback" not in said.err


def test_it_waits_until_a_checkpoint_is_complete(save: Callable[..., Path], folder: Path) -> None:
    asked: list[list[int]] = []
    told: list[str] = []
    moments: list[Callable[[], object]] = [
        lambda: (folder / "run-7" / "checkpoint-10").mkdir(),
        lambda: (save(20), save(30)),
        lambda: save(10),
        lambda: save(40),
    ]

    def evaluate(batch: Sequence[SavedCheckpoint]) -> None:
        asked.append([one.step for one in batch])

    def sleep(seconds: float) -> None:
        if moments:
            moments.pop(0)()

    ticks = iter(range(1000))
    ends = Watch(until=40, sleep=sleep, clock=lambda: float(next(ticks)))
    watch_checkpoints(CheckpointFolder(folder / "run-7"), evaluate, told.append, ends)
    assert asked == [[20], [30], [10], [40]]
    assert any("checkpoint-10 was written after the checkpoint of step 30" in text for text in told)
    asked.clear()
    ends = Watch(idle_seconds=5, sleep=sleep, clock=lambda: float(next(ticks)), together=True)
    watch_checkpoints(CheckpointFolder(folder / "run-7"), evaluate, told.append, ends)
    assert asked == [[10, 20, 30, 40]]
    assert told[-1] == "No checkpoint has appeared for 5 s."


def test_steps_beyond_the_last_are_left_out(save: Callable[..., Path], folder: Path) -> None:
    for step in (10, 20, 30):
        save(step)
    asked: list[int] = []
    watch_checkpoints(
        CheckpointFolder(folder / "run-7"),
        lambda batch: asked.extend(one.step for one in batch),
        lambda _: None,
        Watch(until=25, sleep=lambda _: pytest.fail("nothing to wait for")),
    )
    assert asked == [10, 20]


def test_an_interrupt_ends_it_with_the_table(
    save: Callable[..., Path], run_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(10)

    scan, looks = CheckpointFolder.scan, []

    def interrupted(self: CheckpointFolder) -> Any:
        looks.append(1)
        if len(looks) > 1:
            raise KeyboardInterrupt
        return scan(self)

    monkeypatch.setattr(CheckpointFolder, "scan", interrupted)
    said = watch(run_harness)
    assert said.code == 130
    assert any(line.split()[:1] == ["10"] for line in said.out.splitlines())


def test_a_folder_that_vanishes_is_an_error(save: Callable[..., Path], folder: Path) -> None:
    with pytest.raises(HarnessError, match="is gone"):
        watch_checkpoints(
            CheckpointFolder(folder / "run-7"),
            lambda _: None,
            lambda _: None,
            Watch(sleep=lambda _: shutil.rmtree(folder / "run-7")),
        )

"""``harness.evaluate``: models that are in memory."""

from __future__ import annotations

import itertools
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

import harness
from harness import Completion, Model, Request, Response
from harness.errors import HarnessError, ModelError, SpecError
from harness.python.live_model import live_model
from harness.python.superseded import FOLDER
from harness.python.time_budget import Deadline, TimeUp
from tests.harness.cli.conftest import folder
from tests.tiny_checkpoints import config_of, tokenizer, write_checkpoint

__all__ = ["folder"]

GENERATE: list[Any] = [{"scenario": "quiz", "max_train_instances": 0}]
SCORE: list[Any] = [
    {
        "scenario": "quiz",
        "max_train_instances": 0,
        "adapter": "multiple_choice_separate_original",
        "metrics": ["multiple_choice_accuracy"],
    }
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tiny")
    write_checkpoint(found, "llama", tokenizer())
    return found


@pytest.fixture
def model(checkpoint: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoModelForCausalLM.from_pretrained(checkpoint).train()


@pytest.fixture
def tokens(checkpoint: Path) -> Any:
    return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(checkpoint)


def evaluated(model: Any, runs: Sequence[Any] = GENERATE, **options: Any) -> harness.Results:
    return harness.evaluate(model, runs=runs, plugins=["quiz.yaml"], progress=False, **options)


def test_it_answers_as_its_checkpoint_does_without_loading_it_again(
    folder: Path, checkpoint: Path, model: Any, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    loaded = harness.run(
        runs=[*GENERATE, *SCORE], models=[f"hf:{checkpoint}"], plugins=["quiz.yaml"], progress=False
    ).samples()

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a second copy of the weights")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", refused)
    live = evaluated(model, [*GENERATE, *SCORE], tokenizer=tokens).samples()
    assert len(live) == 40
    assert live["prediction"].tolist() == loaded["prediction"].tolist()
    assert live["prompt_tokens"].tolist() == loaded["prompt_tokens"].tolist()
    assert live["score_multiple_choice_accuracy"].equals(loaded["score_multiple_choice_accuracy"])


def test_training_goes_on_afterwards(folder: Path, model: Any, tokens: Any) -> None:
    import torch

    model.lm_head.eval()  # as somebody may have frozen it
    before = {name: value.clone() for name, value in model.state_dict().items()}
    evaluated(model, [*GENERATE, *SCORE], tokenizer=tokens)
    assert model.training
    assert not model.lm_head.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any(module._forward_pre_hooks for module in model.modules())
    batch = torch.tensor([[1, 2, 3]])
    model(input_ids=batch, labels=batch).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_same_weights_are_not_asked_again_and_other_weights_are_another_model(
    folder: Path, model: Any, tokens: Any
) -> None:
    import torch

    steps: list[int] = []
    model.register_forward_hook(lambda *_: steps.append(1))
    first = evaluated(model, tokenizer=tokens)
    asked = len(steps)
    assert asked > 0
    evaluated(model, tokenizer=tokens)
    evaluated(model, tokenizer=tokens, force=True)
    assert len(steps) == asked
    with torch.no_grad():
        model.lm_head.weight += 0.1 * torch.randn_like(model.lm_head.weight)
    second = evaluated(model, tokenizer=tokens)
    assert len(steps) > asked
    assert first.runs()["model"][0] != second.runs()["model"][0]
    assert len(harness.Results().runs()) == 2


def test_a_name_and_settings_are_those_of_a_sweeps_model(folder: Path, model: Any, tokens: Any) -> None:
    import torch

    for step in (100, 200):
        with torch.no_grad():
            model.lm_head.weight *= 1.5
        about = {"series": "run-7", "step": step}
        evaluated(model, tokenizer=tokens, name=f"run-7/step-{step}", settings={"about": about})
    runs = harness.Results().runs()
    assert sorted(zip(runs["model"], runs["series"], runs["step"], strict=True)) == [
        ("step-100", "run-7", 100),
        ("step-200", "run-7", 200),
    ]


def test_one_model_belongs_to_each_step_of_a_series(folder: Path, model: Any, tokens: Any) -> None:
    import torch

    first = evaluated(model, tokenizer=tokens, series="run-7", step=100).runs()
    assert (first["series"][0], first["step"][0], first["model"][0]) == ("run-7", 100, "run-7 step 100")
    weight = model.lm_head.weight.detach().clone()
    with torch.no_grad():
        model.lm_head.weight += 0.1
    second = evaluated(model, tokenizer=tokens, series="run-7", step=100).runs()
    evaluated(model, tokenizer=tokens, series="run-8", step=100)
    runs = harness.Results().runs()
    assert dict(zip(runs["series"], runs["run"], strict=True))["run-7"] == second["run"][0] != first["run"][0]
    assert harness.Results(f"results/{FOLDER}").runs()["run"].tolist() == first["run"].tolist()
    with torch.no_grad():
        model.lm_head.weight.copy_(weight)
    again = evaluated(model, tokenizer=tokens, series="run-7", step=100).runs()
    assert again["started"].tolist() == first["started"].tolist()
    assert harness.Results(f"results/{FOLDER}").runs()["run"].tolist() == second["run"].tolist()


def test_out_of_time_it_stops_and_the_same_call_continues(
    folder: Path, model: Any, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    model.register_forward_hook(lambda *_: passes.append(1))
    monkeypatch.setattr("harness.python.time_budget.monotonic", lambda: len(passes))
    options: dict[str, Any] = {"tokenizer": tokens, "settings": {"max_batch_tokens": 40}}
    with pytest.warns(UserWarning, match=r"time budget of 4 s is used up: 2 of 2 runs are unfinished"):
        stopped = evaluated(model, [*GENERATE, *SCORE], time_budget=4, **options)
    assert len(passes) == 4
    assert stopped.runs().empty
    assert len(stopped.unfinished) == 2
    assert "2 unfinished" in repr(stopped)
    assert not list((folder / "results").glob("*/*/run.json"))
    calls = 0
    while stopped.unfinished and calls < 20:
        calls += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stopped = evaluated(model, [*GENERATE, *SCORE], time_budget=12, **options)
    assert calls > 1
    whole = len(passes)
    assert stopped.runs()["count"].tolist() == [20, 20]
    monkeypatch.setattr("harness.python.time_budget.monotonic", lambda: 0.0)
    fresh = evaluated(model, [*GENERATE, *SCORE], results_dir="fresh", **options)
    assert whole < 2 * (len(passes) - whole)  # only batches that were cut short were asked again
    assert fresh.runs()["mean"].tolist() == stopped.runs()["mean"].tolist()


def test_out_of_time_it_builds_no_more_prompts(model: Any, tokens: Any) -> None:
    backend: Any = live_model(model, tokens, Deadline(1e-9)).backend
    live: Model = backend("late")
    for build in (lambda: live.count_tokens("a"), lambda: live.count_segments(["a"]), lambda: live.truncate("a b", 1)):
        with pytest.raises(TimeUp):
            build()


def test_the_other_kinds_of_models_have_a_time_budget_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr("harness.python.time_budget.monotonic", lambda: next(clock))
    for one in (Echo("Yes"), Own()):
        with pytest.warns(UserWarning, match="1 of 1 runs are unfinished"):
            assert evaluated(one, time_budget=1).unfinished


def test_series_step_and_budget_are_checked(folder: Path, model: Any, tokens: Any) -> None:
    for options, words in (
        ({"series": "run-7"}, "series is given without step"),
        ({"step": 3}, "step is given without series"),
        ({"series": "", "step": 3}, "series must be the name of a training"),
        ({"series": "run-7", "step": 2.5}, r"step must be a whole number from 0, not 2\.5"),
        ({"series": "run-7", "step": -1}, "step must be a whole number from 0, not -1"),
        ({"series": "run-7", "step": 3, "name": "mine"}, "name is made from series and step"),
        ({"series": "run-7", "step": 3, "settings": {"about": {"step": 3}}}, "given twice"),
        ({"time_budget": 0}, "time_budget must be a positive number"),
        ({"time_budget": "1h"}, "time_budget must be a positive number"),
    ):
        with pytest.raises(HarnessError, match=words):
            evaluated(model, tokenizer=tokens, **options)


def test_the_tokenizer_of_another_model_is_refused(folder: Path, model: Any, tokens: Any) -> None:
    model.resize_token_embeddings(100)
    with pytest.raises(ModelError, match=r"the tokenizer has \d+ tokens, but tiny\d+ knows 100: it is another model's"):
        evaluated(model, tokenizer=tokens)


def test_tokens_that_end_a_text_make_another_model(folder: Path, model: Any, tokens: Any) -> None:
    first = evaluated(model, tokenizer=tokens)
    model.generation_config.eos_token_id = list(range(320))
    second = evaluated(model, tokenizer=tokens)
    assert first.runs()["model"][0] != second.runs()["model"][0]
    assert len(set(first.samples()["prediction"])) > 1
    assert set(second.samples()["prediction"]) == {""}


def test_adapters_that_are_active_or_disabled_make_other_models(folder: Path, model: Any, tokens: Any) -> None:
    peft = pytest.importorskip("peft")

    def lora(name: str) -> Any:
        return peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, lora_alpha=64)

    adapted = peft.get_peft_model(model, lora("one"), adapter_name="one")
    adapted.add_adapter("two", lora("two"))
    names = [evaluated(adapted, SCORE, tokenizer=tokens).runs()["model"][0]]
    with adapted.disable_adapter():
        names.append(evaluated(adapted, SCORE, tokenizer=tokens).runs()["model"][0])
    names.append(evaluated(adapted, SCORE, tokenizer=tokens).runs()["model"][0])
    adapted.set_adapter("two")
    names.append(evaluated(adapted, SCORE, tokenizer=tokens).runs()["model"][0])
    for module in adapted.modules():
        if hasattr(module, "set_scale"):
            module.set_scale("two", 3.0)
    names.append(evaluated(adapted, SCORE, tokenizer=tokens).runs()["model"][0])
    assert names[0] == names[2]
    assert len(set(names)) == 4


def test_adapters_are_recognized_by_the_attributes_of_peft(
    model: Any, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for peft's layers, where peft is not installed."""
    import torch

    from harness.models.transformers.in_memory import identity_of

    class Config:
        def __init__(self, **settings: Any) -> None:
            self.settings = settings

        def to_dict(self) -> dict[str, Any]:
            return {"target_modules": {"q_proj", "v_proj"}, **self.settings}

    layer = type("Linear", (torch.nn.Linear,), {"__module__": "peft.tuners.lora.layer"})(2, 2)
    layer.active_adapter, layer.disable_adapters, layer.merged_adapters = ["one"], False, []
    layer.scaling = {"one": 2.0}
    found = [identity_of(model, tokens)]
    model.adapter = layer
    found.append(identity_of(model, tokens))
    for name, value in (
        ("active_adapter", ["two"]),
        ("disable_adapters", True),
        ("merged_adapters", ["one"]),
        ("scaling", {"one": 3.0}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(layer, name, value)
            found.append(identity_of(model, tokens))
    for settings in ({"r": 4}, {"r": 8}):
        model.peft_config = {"one": Config(**settings)}
        found.append(identity_of(model, tokens))
    assert len(set(found)) == len(found) == 8
    model.peft_config = {"one": Config(r=8, inference_mode=True, base_model_name_or_path="elsewhere")}
    assert identity_of(model, tokens) == found[-1]


def test_wrappers_of_training_are_looked_through(folder: Path, model: Any, tokens: Any) -> None:
    import torch

    evaluated(model, tokenizer=tokens)
    results = evaluated(torch.nn.DataParallel(model), tokenizer=tokens)
    assert len(harness.Results().runs()) == len(results.runs()) == 1


BATCHES: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
"""Number of requests in each call of an object; not an attribute, which would be a part of its identity."""


class Echo:
    """Answers with what it was made with."""

    def __init__(self, answer: Any, score: Any = (-1.0,)) -> None:
        self.answer, self.logprobs = answer, score
        BATCHES[self] = []

    def generate(self, requests: Sequence[Any]) -> list[Any]:
        BATCHES[self].append(len(requests))
        return [self.answer for _ in requests]

    def score(self, requests: Sequence[Any]) -> list[Any]:
        return [self.logprobs for _ in requests]


def test_an_object_answers_texts_completions_or_responses(folder: Path) -> None:
    for answer in ("Yes\nInput: Is", Completion("Yes"), Response((Completion("Yes"),))):
        samples = evaluated(Echo(answer), name=type(answer).__name__).samples()
        assert set(samples["prediction"]) == {"Yes"}
        assert samples["score_exact_match"].mean() == 0.5
    scored = evaluated(Echo("", [-0.5, -0.5]), SCORE).samples()
    assert scored["completion_tokens"].tolist() == [4] * 20


def test_an_object_gets_as_many_requests_at_a_time_as_it_takes(folder: Path) -> None:
    echo = Echo("Yes")
    echo.batch_size = 8  # type: ignore[attr-defined]
    evaluated(echo)
    assert sum(BATCHES[echo]) == 20
    assert max(BATCHES[echo]) == 8


def test_an_object_is_identified_by_its_source_and_values_or_by_its_fingerprint(folder: Path) -> None:
    class Told(Echo):
        def fingerprint(self) -> dict[str, Any]:
            return {"version": 3}

    echo, same, other = Echo("Yes"), Echo("Yes"), Echo("No")
    names = [evaluated(one).runs()["model"][0] for one in (echo, same, other, Told("Yes"), Told("No"))]
    assert names[0] == names[1] != names[2]
    assert names[3] == names[4]
    assert BATCHES[same] == []


class Thinks:
    """Holds a network, which decides what it answers."""

    def __init__(self, network: Any) -> None:
        self.network = network

    def generate(self, requests: Sequence[Any]) -> list[str]:
        return ["Yes" if self.network.bias.item() > 0 else "No"] * len(requests)


def test_the_weights_of_its_networks_identify_an_object(folder: Path) -> None:
    torch = pytest.importorskip("torch")

    class IsOne(torch.nn.Linear):  # type: ignore[name-defined, misc]
        def generate(self, requests: Sequence[Any]) -> list[str]:
            return ["Yes" if self.bias.item() > 0 else "No"] * len(requests)

    for made, network in ((one := IsOne(1, 1), one), (Thinks(inner := torch.nn.Linear(1, 1)), inner)):
        answers, names = [], []
        for bias in (0.0, 1.0, 0.0):
            torch.nn.init.constant_(network.bias, bias)
            results = evaluated(made)
            answers.append(set(results.samples()["prediction"]))
            names.append(results.runs()["model"][0])
        assert answers == [{"No"}, {"Yes"}, {"No"}]
        assert names[0] == names[2] != names[1]
        network.temperature = 0.5
        names.append(evaluated(made).runs()["model"][0])
        assert len(set(names)) == 3


def test_an_object_with_attributes_of_unknown_content_is_asked_each_time(folder: Path) -> None:
    class Client:
        answer = "Yes"

    class Remote(Echo):
        def generate(self, requests: Sequence[Any]) -> list[Any]:
            BATCHES[self].append(len(requests))
            return [self.answer.answer for _ in requests]

    class Slots:
        __slots__ = ("client",)
        client: Client

        def generate(self, requests: Sequence[Any]) -> list[Any]:
            return [self.client.answer for _ in requests]

    remote, slots = Remote(Client()), Slots()
    slots.client = remote.answer
    for one, name in ((remote, "answer"), (slots, "client")):
        for wanted in ("Yes", "No"):
            remote.answer.answer = wanted
            with pytest.warns(UserWarning, match=rf"not reused.* {name}\. .*fingerprint"):
                results = evaluated(one, series=type(one).__name__, step=3)
            assert set(results.samples()["prediction"]) == {wanted}
    assert sum(BATCHES[remote]) == 40
    with closing(sqlite3.connect(folder / "results" / "responses.sqlite")) as cache:
        assert cache.execute("SELECT count(*) FROM responses").fetchone() == (0,)


def test_an_object_whose_network_is_elsewhere_is_asked_each_time(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    thinks = Thinks(torch.nn.Linear(1, 1, device="meta"))
    thinks.generate = lambda requests: ["Yes"] * len(requests)  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match=r"not reused.* generate, network\. "):
        assert evaluated(thinks).runs()["mean"].tolist() == [0.5]


def test_an_interrupted_object_is_asked_only_for_the_rest(folder: Path) -> None:
    class Stopped(Echo):
        batch_size = 4

        def generate(self, requests: Sequence[Any]) -> list[Any]:
            found = super().generate(requests)
            if len(BATCHES[self]) == 3:
                raise KeyboardInterrupt
            return found

        def fingerprint(self) -> dict[str, Any]:
            return {}

    stopped = Stopped("Yes")
    with pytest.raises(KeyboardInterrupt):
        evaluated(stopped, name="stopped")
    assert harness.Results().runs().empty
    rest = Stopped("Yes")
    BATCHES[rest].extend([0] * 3)
    assert evaluated(rest, name="stopped").runs()["mean"].tolist() == [0.5]
    assert sum(BATCHES[rest]) == 12


class Own(Model):
    """A model of the harness's own interface."""

    answers = frozenset({"generate"})

    def __init__(self) -> None:
        self.closed = False

    def fingerprint(self) -> dict[str, Any]:
        return {"own": 1}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        assert not self.closed
        for index, _ in enumerate(requests):
            yield index, Response((Completion("Yes"),))

    def close(self) -> None:
        self.closed = True


def test_a_model_of_the_harness_stays_open(folder: Path) -> None:
    own = Own()
    assert evaluated(own, name="own").runs()["mean"].tolist() == [0.5]
    assert not own.closed
    with pytest.raises(SpecError, match="multiple_choice_separate_original"):
        evaluated(own, SCORE)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Echo(["Yes", "No"]), "generate must return a text for each request, not ['Yes', 'No']"),
        (lambda: Echo(3), "generate must return a text for each request, not 3"),
        (lambda: Raises("Yes"), "Raises"),
        (lambda: Short("Yes"), "generate returned 1 answers to"),
        (lambda: Text("Yes"), "generate must return a list of answers, not 'Yes'"),
    ],
)
def test_what_an_object_does_wrong_fails_the_run_with_a_message(
    make: Callable[[], Any], words: str, folder: Path
) -> None:
    with pytest.warns(UserWarning, match="1 of 1 runs failed"):
        results = evaluated(make())
    assert words in results.runs()["error"][0]
    assert "bug" not in results.runs()["error"][0]


@pytest.mark.parametrize(("score", "words"), [(-3.2, "as a list, not -3.2"), ([2.0], "at most 0"), ([], "at most 0")])
def test_scores_that_are_none_fail_the_run(score: Any, words: str, folder: Path) -> None:
    with pytest.warns(UserWarning, match="1 of 1 runs failed"):
        results = evaluated(Echo("", score), SCORE)
    assert words in results.runs()["error"][0]


class Raises(Echo):
    def generate(self, requests: Sequence[Any]) -> list[Any]:
        raise ValueError("Raises on purpose")


class Short(Echo):
    def generate(self, requests: Sequence[Any]) -> list[Any]:
        return ["Yes"]


class Text(Echo):
    def generate(self, requests: Sequence[Any]) -> Any:
        return "Yes"


def test_a_model_that_cannot_be_evaluated_is_one_clear_error(
    folder: Path, model: Any, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import transformers

    with pytest.raises(ModelError, match="needs its tokenizer"):
        evaluated(model)
    with pytest.raises(ModelError, match="tokenizer is 'gpt2', which is not a tokenizer"):
        evaluated(model, tokenizer="gpt2")
    with pytest.raises(ModelError, match=r"has no output layer\. Load it with AutoModelForCausalLM"):
        evaluated(model.model, tokenizer=tokens)
    with pytest.raises(ModelError, match=r"use harness\.run"):
        evaluated("hf:gpt2")
    with pytest.raises(ModelError, match=r"cannot answer: it must be .* generate\(requests\) or score\(requests\)"):
        evaluated(object())
    with pytest.raises(ModelError, match="tokenizer is for models of transformers"):
        evaluated(Echo("Yes"), tokenizer=tokens)
    with pytest.raises(SpecError, match=r"temperatur: is not a parameter\. Did you mean 'temperature'"):
        evaluated(model, tokenizer=tokens, settings={"temperatur": 1})
    with pytest.raises(HarnessError, match="takes no `resources`"):
        evaluated(Echo("Yes"), settings={"resources": {"gpus": 2}})
    with pytest.raises(HarnessError, match=r"settings must be a mapping, .* not \[1\]"):
        evaluated(Echo("Yes"), settings=[1])
    with pytest.raises(HarnessError, match="takes it as name="):
        evaluated(Echo("Yes"), settings={"name": "fake:0"})
    with pytest.raises(TypeError, match="no argument 'executor'"):
        evaluated(Echo("Yes"), executor="ray")
    monkeypatch.setattr(model.config, "is_encoder_decoder", True)
    with pytest.raises(ModelError, match="encoder-decoder"):
        evaluated(model, tokenizer=tokens)
    with torch.device("meta"):
        empty = transformers.AutoModelForCausalLM.from_config(config_of("gpt2"))
    with pytest.raises(ModelError, match="are not all in this process"):
        evaluated(empty, tokenizer=tokens)
    assert not (folder / "results").exists()

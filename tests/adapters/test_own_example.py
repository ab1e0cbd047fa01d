"""An instance is never an example in its own prompt, nor is an equal copy of it under another id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters._prompt.few_shot_adapter import FewShotAdapter
from adapters.generation import Generation
from adapters.multiple_choice_joint import MultipleChoiceJoint
from adapters.multiple_choice_joint_scored import MultipleChoiceJointScored
from adapters.multiple_choice_separate_calibrated import MultipleChoiceSeparateCalibrated
from adapters.multiple_choice_separate_original import MultipleChoiceSeparateOriginal
from adapters.ranking_binary import RankingBinary
from harness import Adapted, GenerateRequest, HarnessError, Instance, PluginError, Split
from harness.runs.evaluation import prepare
from harness.sweeps.load import sweep_from_entries
from tests.tokenizations import Unlimited

Make = Callable[..., Instance]
METHODS: list[Any] = [
    Generation,
    MultipleChoiceJoint,
    MultipleChoiceJointScored,
    MultipleChoiceSeparateOriginal,
    MultipleChoiceSeparateCalibrated,
    RankingBinary,
]


def ask(method: Any, instances: Sequence[Instance], train: Sequence[Instance], **settings: Any) -> list[Adapted]:
    adapter: FewShotAdapter = method(method.Params(**settings))
    return list(adapter.adapt(instances, train, Unlimited(), trial=0, seed=0))


def train_set(make: Make, size: int) -> list[Instance]:
    return [make(f"t{index}", f"question {index}", correct={index % 3}, split=Split.TRAIN) for index in range(size)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sampled", [True, False])
def test_no_train_instance_is_shown_in_its_own_prompt(make: Make, method: Any, sampled: bool) -> None:
    train = train_set(make, 6)
    for adapted in ask(method, train, train, max_train_instances=5, sample_train=sampled):
        assert len(adapted.train_instances) == 5
        assert adapted.instance.id not in adapted.train_instances


@pytest.mark.parametrize("method", METHODS)
def test_prompts_whose_examples_do_not_hold_the_instance_are_as_before(make: Make, method: Any) -> None:
    train = train_set(make, 9)
    other = make("e", "another question")
    shared = ask(method, [other], train, max_train_instances=3)[0].train_instances
    for adapted in ask(method, train, train, max_train_instances=3):
        assert (adapted.train_instances == shared) == (adapted.instance.id not in shared)


@pytest.mark.parametrize("method", METHODS)
def test_an_equal_copy_under_another_id_is_no_example_either(make: Make, method: Any) -> None:
    train = [*train_set(make, 3), make("copy", "question 1 ", correct={1}, split=Split.TRAIN)]
    own = make("test", "question 1", correct={1})
    (adapted,) = ask(method, [own], train, max_train_instances=4)
    assert sorted(adapted.train_instances) == ["t0", "t2"]


def test_the_same_words_with_other_options_are_another_question(make: Make) -> None:
    train = [make("t", "Which is true?", ("Ice is hot", "Ice is cold"), split=Split.TRAIN)]
    own = make("e", "Which is true?", ("Fire is hot", "Fire is cold"))
    (adapted,) = ask(MultipleChoiceJoint, [own], train)
    assert adapted.train_instances == ("t",)


def test_an_id_of_another_split_is_another_instance(make: Make) -> None:
    train = [make("0", "a train question", split=Split.TRAIN)]
    (adapted,) = ask(Generation, [make("0", "a test question")], train)
    assert adapted.train_instances == ("0",)


@pytest.mark.parametrize("method", METHODS)
def test_perturbed_copies_show_what_their_original_shows(make: Make, method: Any) -> None:
    train = [*train_set(make, 4), make("copy", "question 2", correct={2}, split=Split.TRAIN)]
    stream = [one for each in train for one in (each, each.replace(input=f"~{each.input}~", perturbation="typos"))]
    asked = ask(method, stream, train, max_train_instances=4)
    for original, copy in zip(asked[::2], asked[1::2], strict=True):
        assert original.train_instances == copy.train_instances
        assert original.instance.id not in copy.train_instances
    assert set(asked[4].train_instances) == {"t0", "t1", "t3"}  # of "question 2", neither t2 nor its copy


def test_an_instance_that_leaves_no_example_is_refused_with_what_to_do(make: Make) -> None:
    alone = make("t", "question", split=Split.TRAIN)
    with pytest.raises(HarnessError, match=r"'t'.*max_train_instances: 0"):
        ask(Generation, [alone], [alone])


@pytest.mark.parametrize("name", ["sample_generation", "sample_reading", "sample_sentiment"])
def test_the_train_split_is_evaluated_without_its_own_answers(name: str) -> None:
    found, registry = sweep_from_entries([f"{name}:eval_split=train"], ["fake:0"])
    asked = list(prepare(found.runs[0], registry, None).adapted(Unlimited()))
    assert asked
    for adapted in asked:
        assert adapted.train_instances
        assert adapted.instance.id not in adapted.train_instances
        request = adapted.requests[0]
        prompt = request.prompt if isinstance(request, GenerateRequest) else ""
        assert str(prompt).count(adapted.instance.input) == 1


PLUGIN = '''
from pydantic import BaseModel

from harness import Adapted, Adapter, GenerateRequest, Prediction, adapter


@adapter("shows_all", source="none")
class ShowsAll(Adapter):
    """Shows every train instance in every prompt."""

    asks = frozenset({"generate"})

    class Params(BaseModel):
        """Nothing can be set."""

    def __init__(self, params):
        pass

    def adapt(self, instances, train, tokenization, *, trial, seed):
        for instance in instances:
            shown = tuple(one.id for one in train)
            yield Adapted(instance, (GenerateRequest("", max_tokens=1),), train_instances=shown)

    def predict(self, adapted, responses):
        return Prediction(text="")
'''


def test_a_plugin_that_shows_an_instance_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shows_all.py").write_text(PLUGIN, encoding="utf-8")
    entry = "sample_generation:method=shows_all,eval_split={}".format
    plugins = [tmp_path / "shows_all.py"]
    found, registry = sweep_from_entries([entry("train")], ["fake:0"], plugins=plugins)
    with pytest.raises(PluginError, match=r"'shows_all'.*the instance's own prompt"):
        list(prepare(found.runs[0], registry, None).adapted(Unlimited()))
    found, registry = sweep_from_entries([entry("test")], ["fake:0"], plugins=plugins)
    assert list(prepare(found.runs[0], registry, None).adapted(Unlimited()))

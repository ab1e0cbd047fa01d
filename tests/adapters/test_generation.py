from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.generation import Generation
from harness import (
    Adapted,
    Completion,
    GenerateRequest,
    HarnessError,
    Instance,
    Message,
    ModelError,
    Origin,
    Response,
    Split,
)

Make = Callable[..., Instance]
PLAIN = {"input_noun": None, "input_suffix": "", "output_noun": None, "max_train_instances": 0}


def adapt_one(
    settings: dict[str, Any], instance: Instance, train: list[Instance], tokenization: Any, **where: int
) -> Adapted:
    adapter = Generation(Generation.Params(**settings))
    (adapted,) = adapter.adapt([instance], train, tokenization, **{"trial": 0, "seed": 0, **where})
    return adapted


def request_of(adapted: Adapted) -> GenerateRequest:
    (request,) = adapted.requests
    assert isinstance(request, GenerateRequest)
    return request


def predict(adapted: Adapted, *completions: Completion) -> Any:
    return Generation(Generation.Params()).predict(adapted, [Response(completions=completions)])


@pytest.mark.parametrize(("multi_label", "second"), [(False, "First"), (True, "First, Second")])
def test_helms_worked_prompt(
    helm_train: list[Instance], helm_eval: Instance, characters: Any, multi_label: bool, second: str
) -> None:
    settings = {"max_train_instances": 2, "sample_train": False, "multi_label": multi_label}
    adapted = adapt_one(settings, helm_eval, helm_train, characters())
    assert request_of(adapted).prompt == (
        "Input: Second reference is correct\n"
        "Output: Second\n\n"
        "Input: First and second references are correct\n"
        f"Output: {second}\n\n"
        "Input: First reference is correct\n"
        "Output:"
    )
    assert adapted.train_instances == ("train0", "train1")
    assert (adapted.dropped_examples, adapted.truncated) == (0, False)


def test_helms_prompt_for_boolq(make: Make, characters: Any) -> None:
    train = [make("t", "Ice is cold.\nQuestion: is ice cold?", ["Yes", "No"], {0}, Split.TRAIN)]
    settings = {"input_noun": "Passage", "output_noun": "Answer", "instructions": "Answer the question.\n"}
    adapted = adapt_one(settings, make("e", "Fire is hot.\nQuestion: is fire cold?"), train, characters())
    assert request_of(adapted).prompt == (
        "Answer the question.\n\n"
        "Passage: Ice is cold.\nQuestion: is ice cold?\nAnswer: Yes\n\n"
        "Passage: Fire is hot.\nQuestion: is fire cold?\nAnswer:"
    )


def test_helms_summarization_prompt(make: Make, characters: Any) -> None:
    settings = {
        "input_prefix": "###\nArticle: ",
        "input_suffix": "\n\n",
        "output_prefix": "Summarize the above article in 1 sentence.\n",
        "max_train_instances": 1,
        "stop_sequences": ["###"],
    }
    train = [make("t", "Long.", ["Short."], split=Split.TRAIN)]
    request = request_of(adapt_one(settings, make("e", "News."), train, characters()))
    assert request.prompt == (
        "###\nArticle: Long.\n\nSummarize the above article in 1 sentence.\nShort.\n\n"
        "###\nArticle: News.\n\nSummarize the above article in 1 sentence."
    )
    assert request.stop == ("###",)


def test_examples_go_before_the_question_is_touched(make: Make, characters: Any) -> None:
    empty = dict.fromkeys(("input_prefix", "input_suffix", "output_prefix", "output_suffix"), "")
    train = [make(f"t{index}", "train", [""], split=Split.TRAIN) for index in range(500)]
    settings = {**empty, "max_tokens": 100, "max_train_instances": 500}
    adapted = adapt_one(settings, make("e", "eval"), train, characters(window=600))
    prompt = request_of(adapted).prompt
    assert isinstance(prompt, str)
    assert prompt == "train\n" * 82 + "eval"
    assert len(adapted.train_instances) == 82
    assert adapted.dropped_examples == 418


def test_a_long_input_is_cut_before_the_output_prefix(make: Make, characters: Any) -> None:
    train = [make("t", "train", split=Split.TRAIN)]
    adapted = adapt_one({"max_tokens": 10}, make("e", "eval" * 100), train, characters(window=100))
    prompt = request_of(adapted).prompt
    assert isinstance(prompt, str)
    assert prompt.startswith("Input: evaleval")
    assert prompt.endswith("\nOutput:")
    assert characters().count_tokens(prompt) + 10 == 100
    assert adapted.truncated


def test_a_chat_model_gets_a_conversation(make: Make, helm_train: list[Instance], characters: Any) -> None:
    settings = {"max_train_instances": 1, "sample_train": False, "system_prompt": "Be brief."}
    instance = make("e", "Third?")
    whole = request_of(adapt_one(settings, instance, helm_train, characters(chat=True)))
    assert whole.prompt == (
        Message("system", "Be brief."),
        Message("user", "Input: Second reference is correct\nOutput: Second\n\nInput: Third?\nOutput:"),
    )
    turns = request_of(adapt_one({**settings, "examples_as_turns": True}, instance, helm_train, characters(chat=True)))
    assert turns.prompt == (
        Message("system", "Be brief."),
        Message("user", "Input: Second reference is correct\nOutput:"),
        Message("assistant", "Second"),
        Message("user", "Input: Third?\nOutput:"),
    )


@pytest.mark.parametrize("setting", [{"system_prompt": "Be brief."}, {"examples_as_turns": True}])
def test_what_only_a_chat_model_can_see_is_refused_for_others(
    setting: dict[str, Any], helm_train: list[Instance], helm_eval: Instance, characters: Any
) -> None:
    with pytest.raises(HarnessError, match=f"{next(iter(setting))} is set, but the model has no chat template"):
        adapt_one(setting, helm_eval, helm_train, characters())


def test_mistakes_are_refused_before_the_first_instance(characters: Any, make: Make) -> None:
    adapter = Generation(Generation.Params(max_tokens=200))
    with pytest.raises(HarnessError, match="max_tokens is 200"):
        adapter.adapt([], [make("t", "train", split=Split.TRAIN)], characters(window=200), trial=0, seed=0)
    with pytest.raises(HarnessError, match="no train instances"):
        adapter.adapt([], [], characters(), trial=0, seed=0)


@pytest.mark.parametrize(("shots", "trials", "expected"), [(5, 3, 3), (0, 3, 1), (5, 1, 1)])
def test_train_trials(shots: int, trials: int, expected: int) -> None:
    assert Generation(Generation.Params(max_train_instances=shots, train_trials=trials)).train_trials == expected


def test_examples_are_the_same_for_any_order_and_limit(make: Make, characters: Any) -> None:
    train = [make(f"t{index}", f"train {index}", correct={index % 3}, split=Split.TRAIN) for index in range(30)]
    evaluated = [make(f"e{index}", f"eval {index}") for index in range(6)]
    adapter = Generation(Generation.Params())

    def shown(instances: list[Instance], trial: int) -> dict[str, Any]:
        return {a.instance.id: a for a in adapter.adapt(instances, train, characters(), trial=trial, seed=1)}

    everything = shown(evaluated, 0)
    assert shown(evaluated[::-2], 0) == {key: everything[key] for key in ("e5", "e3", "e1")}
    assert shown(evaluated, 1)["e0"].train_instances != everything["e0"].train_instances


def test_the_request_says_where_it_comes_from_and_how_to_decode(make: Make, characters: Any) -> None:
    settings = {"max_train_instances": 0, "max_tokens": 7, "temperature": 0.7, "num_outputs": 3, "stop_sequences": []}
    instance = make("e", "eval", perturbation="typos")
    request = request_of(adapt_one(settings, instance, [], characters(), trial=2, seed=5))
    assert request.origin == Origin("e", "typos", 2)
    assert (request.max_tokens, request.temperature, request.completions, request.stop) == (7, 0.7, 3, ())


@pytest.mark.parametrize(
    ("completions", "text", "probability"),
    [
        ([("one", -2.0)], "one", math.exp(-2.0)),
        ([("one", -2.0), ("two", -1.0), ("three", -3.0)], "two", math.exp(-1.0)),
        ([("one", None), ("two", -1.0)], "one", None),
        ([("one", math.nan), ("two", -1.0)], "one", None),
        ([(" kept as it is ", None)], " kept as it is ", None),
        ([("certain", 0.0)], "certain", 1.0),
        ([("rounded", 1e-7)], "rounded", 1.0),
        # No token, no probability: an empty text is neither certain nor the likeliest.
        ([("", 0.0)], "", None),
        ([("", None)], "", None),
        ([("", 0.0), ("two", -1.0), ("three", -3.0)], "two", math.exp(-1.0)),
        ([("", 0.0), ("two", None)], "", None),
        ([("", -0.5)], "", math.exp(-0.5)),  # stated, as that of ending at once
    ],
)
def test_the_likeliest_completion_is_the_prediction(
    make: Make, characters: Any, completions: list[tuple[str, float | None]], text: str, probability: float | None
) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "eval"), [], characters())
    prediction = predict(adapted, *(Completion(text, logprob) for text, logprob in completions))
    assert prediction.text == text
    assert prediction.texts == tuple(text for text, _ in completions)
    assert prediction.probability == probability
    assert prediction.choice is None


def test_a_response_without_completions_is_an_error(make: Make, characters: Any) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "eval"), [], characters())
    with pytest.raises(ModelError, match="no completion for instance 'e'"):
        predict(adapted)


@pytest.mark.parametrize("checkpoint", ["small-llama", "small-gpt2"])
@pytest.mark.parametrize("tokens", [1, 7, 64, 500])
def test_inputs_are_cut_to_a_number_of_the_models_tokens(
    models_dir: Path, make: Make, checkpoint: str, tokens: int
) -> None:
    from harness.models.transformers.huggingface import HuggingFaceModel

    model = HuggingFaceModel(str(models_dir / checkpoint))
    text = "Wenn der Regen fällt 雨が降る 🌧, the riverbanks' meadows are under-water\u2026 again and again. " * 8
    adapted = adapt_one({**PLAIN, "input_tokens": tokens}, make("a", text), [], model)
    prompt = request_of(adapted).prompt
    assert isinstance(prompt, str)
    assert model.count_segments([prompt]) == [tokens]
    assert prompt in f"{text} {text}"


def test_without_a_tokenizer_a_token_is_taken_for_four_characters(
    make: Make, characters: Any, caplog: pytest.LogCaptureFixture
) -> None:
    adapted = adapt_one({**PLAIN, "input_tokens": 3}, make("a", "abcdefg"), [], characters())
    assert request_of(adapted).prompt == "abcdefgabcde"
    assert caplog.messages == ["the model's tokenizer is unknown; inputs have about 3 tokens, not exactly."]


def test_an_input_without_tokens_cannot_be_cut(make: Make, words: Any) -> None:
    tokenization = words()
    tokenization.count_segments = lambda segments: [len(segment.split()) for segment in segments]
    with pytest.raises(HarnessError, match="the input of instance 'a' has no tokens, so it cannot be cut to 3"):
        adapt_one({**PLAIN, "input_tokens": 3}, make("a", " \n"), [], tokenization)


def test_an_empty_input_cannot_be_cut(make: Make, characters: Any) -> None:
    with pytest.raises(HarnessError, match="instance 'a' has no input that could be cut to 3 tokens"):
        adapt_one({**PLAIN, "input_tokens": 3}, make("a", ""), [], characters())

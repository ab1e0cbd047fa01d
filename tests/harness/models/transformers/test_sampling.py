"""Tokens are chosen from the distributions that transformers' own generation makes of the same logits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import GenerateRequest, Message, Response
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.transformers.sampling import Choice, Sampling, choose, cut_off, draw
from tests.devices import DEVICE

torch = pytest.importorskip("torch")
Make = Callable[..., Path]

LOGITS = [3.0, 2.0, 2.0, 1.0, 0.0, -1.0, -4.0]


def as_transformers_does(sampling: Sampling, seen: Sequence[int], logits: Any) -> Any:
    """Return the distribution of the next token by the processors of transformers, in its order."""
    from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

    model: Any = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=4, n_layer=1, n_head=1, n_positions=8))
    given = {name: value for name in ("top_p", "top_k", "min_p", "repetition_penalty")
             if (value := getattr(sampling, name)) is not None}  # fmt: skip
    config = GenerationConfig(do_sample=True, temperature=sampling.temperature, **{"top_k": 0, **given})
    processors = model._get_logits_processor(generation_config=config, input_ids_seq_length=len(seen), device="cpu")
    return processors(torch.tensor([list(seen)]), logits[None])[0].softmax(-1)


def as_we_do(sampling: Sampling, seen: Sequence[int], logits: Any) -> Any:
    """Return the shares of tokens over uniforms that lie evenly between 0 and 1."""
    count = 20_000
    choices = [Choice(sampling, seen, iter([(index + 0.5) / count])) for index in range(count)]
    chosen = choose(choices, [[]] * count, logits.repeat(count, 1))
    return torch.bincount(chosen, minlength=len(logits)) / count


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(1.0),
        Sampling(0.7, top_k=2),  # the second and third token are equally likely: both stay
        Sampling(1.0, top_k=100),
        Sampling(1.3, top_p=0.8),
        Sampling(1.0, top_p=1.0),
        Sampling(1.0, top_p=0.01),
        Sampling(0.9, min_p=0.2),
        Sampling(1.0, min_p=1.0),
        Sampling(1.0, repetition_penalty=1.7),
        Sampling(1.0, repetition_penalty=0.5),
        Sampling(0.8, 0.9, 5, 0.05, 1.3),
    ],
    ids=str,
)
def test_shares_are_those_of_transformers(sampling: Sampling) -> None:
    logits, seen = torch.tensor(LOGITS), [0, 4, 5, 5]
    assert torch.allclose(as_we_do(sampling, seen, logits), as_transformers_does(sampling, seen, logits), atol=2e-4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-6, 6, width=32), min_size=2, max_size=8),
    st.floats(0.2, 3),
    st.none() | st.floats(0.01, 1),
    st.none() | st.integers(1, 9),
    st.none() | st.floats(0, 1),
)
def test_what_is_left_out_is_what_transformers_leaves_out(
    values: list[float], temperature: float, top_p: float | None, top_k: int | None, min_p: float | None
) -> None:
    logits, sampling = torch.tensor(values), Sampling(temperature, top_p, top_k, min_p)
    ours = cut_off([sampling], logits[None] / temperature)[0].softmax(-1)
    assert torch.allclose(ours, as_transformers_does(sampling, [0], logits), atol=1e-5)


def test_each_text_has_its_own_settings_in_one_batch() -> None:
    logits = torch.tensor(LOGITS)
    each = [Sampling(), Sampling(0.5, top_k=1), Sampling(2.0, min_p=0.9), Sampling(repetition_penalty=9.0), Sampling(1)]
    alone = [int(choose([Choice(one, [0], iter([0.999]))], [[]], logits[None])[0]) for one in each]
    together = choose([Choice(one, [0], iter([0.999])) for one in each], [[]] * 5, logits.repeat(5, 1)).tolist()
    assert together == alone == [0, 0, 0, 1, 5]


def test_a_penalty_sees_the_prompt_and_every_token_that_is_written() -> None:
    logits = torch.tensor([[3.0, 2.5, 2.0, 1.9]])
    choice, written = Choice(Sampling(repetition_penalty=2.0), [3], iter(())), list[int]()
    for _ in range(4):
        written.append(int(choose([choice], [written], logits)[0]))
    assert written == [0, 1, 2, 0]


def ask(model: HuggingFaceModel, requests: Sequence[GenerateRequest]) -> list[Response]:
    answers = dict(model.answer(requests))
    return [answers[index] for index in range(len(requests))]


def requests_of_all_kinds() -> list[GenerateRequest]:
    settings_of_all: list[dict[str, Any]] = [
        {}, {"top_k": 3}, {"top_p": 0.6}, {"min_p": 0.3}, {"repetition_penalty": 1.4},
        {"top_k": 8, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.1},
    ]  # fmt: skip
    texts = ["Question: what?\nAnswer: it\n\nthe ", "Question: what?\nAnswer: it\n\nis", "Answer:"]
    return [
        GenerateRequest(text, 12, temperature, completions=2, seed=number, prefill="A" * (number % 2), **given)
        for number, (text, given, temperature) in enumerate(itertools.product(texts, settings_of_all, (0.0, 0.9)))
    ]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_completions_do_not_depend_on_what_is_written_next_to_them(tiny_checkpoint: Make, kind: str) -> None:
    model, requests = HuggingFaceModel(str(tiny_checkpoint(kind)), device=DEVICE), requests_of_all_kinds()
    together = ask(model, requests)
    alone = [ask(model, [request])[0] for request in reversed(requests)][::-1]
    for request, one, other in zip(requests, together, alone, strict=True):
        assert one.error is None
        assert [c.text for c in one.completions] == [c.text for c in other.completions], request


def test_a_seed_gives_the_same_completion_and_another_seed_another(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    texts = [ask(model, [GenerateRequest("the ", 16, 1.0, top_p=0.9, seed=seed)])[0].completions[0].text
             for seed in (5, 5, 6)]  # fmt: skip
    assert texts[0] == texts[1] != texts[2]


def test_greedy_answers_with_a_penalty_are_those_of_generate(tiny_checkpoint: Make) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(tiny_checkpoint("llama"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    theirs: Any = AutoModelForCausalLM.from_pretrained(folder)
    read = tokenizer("the answer", return_tensors="pt")
    written = theirs.generate(**read, max_new_tokens=20, do_sample=False, repetition_penalty=1.8, pad_token_id=0)
    expected = tokenizer.decode(written[0][read["input_ids"].shape[1] :], skip_special_tokens=True)
    (response,) = ask(
        HuggingFaceModel(folder, device=DEVICE), [GenerateRequest("the answer", 20, repetition_penalty=1.8)]
    )
    assert response.completions[0].text == expected


def test_the_log_probability_is_that_of_the_model_itself(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    only = ask(model, [GenerateRequest("the ", 8, 1.0, top_k=1, seed=3), GenerateRequest("the ", 8)])
    assert only[0].completions[0].text == only[1].completions[0].text
    assert only[0].completions[0].logprob == pytest.approx(only[1].completions[0].logprob)


def test_the_beginning_of_the_answer_is_read_and_not_returned(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama", chat=True)), device=DEVICE)
    turn = (Message("user", "the question"),)
    begun, whole, text, joined = ask(
        model,
        [
            GenerateRequest(turn, 9, prefill="Answer: A"),
            GenerateRequest("<user>the question</user><assistant>Answer: A", 9),
            GenerateRequest("the question", 9, prefill=" Answer:"),
            GenerateRequest("the question Answer:", 9),
        ],
    )
    assert text.completions[0].text == joined.completions[0].text
    assert begun.completions[0].text == whole.completions[0].text
    assert text.prompt_tokens == joined.prompt_tokens == model.count_tokens("the question Answer:")
    assert begun.prompt_tokens == model.count_tokens((*turn, Message("assistant", "Answer: A")))
    assert model.rendered((*turn, Message("assistant", "Answer: A"))) == "<user>the question</user><assistant>Answer: A"


@settings(max_examples=60)
@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.floats(0, 1, exclude_max=True))
def test_drawing_in_blocks_finds_what_one_cumulative_sum_finds(size: int, seed: int, uniform: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    chances = torch.rand(2, size, generator=generator).pow(8)
    chances[torch.rand(2, size, generator=generator) < 0.5] = 0.0
    chances[:, size // 2] = 0.25
    uniforms = torch.tensor([[uniform], [1 - 2**-53]], dtype=torch.float64)
    drawn = draw(chances, uniforms)
    assert (chances.gather(-1, drawn[:, None]) > 0).all()  # what was left out is never drawn
    # One sum over all tokens rounds otherwise: the places found may differ only where nearly nothing lies between.
    cumulative = chances.double().cumsum(-1)
    target = uniforms[:, 0] * cumulative[:, -1]
    up_to = cumulative.gather(-1, drawn[:, None])[:, 0]
    below = up_to - chances.double().gather(-1, drawn[:, None])[:, 0]
    assert ((below <= target + 1e-9) & (target <= up_to + 1e-9)).all()

"""The hf backend against plain transformers, and against itself in other batches."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Message, ModelError, Request, Response, ScoreRequest, SequenceRequest
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.devices import DEVICE

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

KINDS = ["gpt2", "llama", "gemma2", "granite", "mamba"]
Make = Callable[..., Path]

PAIRS = [
    ("Question: what is the answer?\nAnswer:", " A"),
    ("Question: what is the answer?\nAnswer:", " B"),
    ("Question: what is the answer?\nAnswer: ", "the answer"),
    ("short", " one two three"),
    ("", "no context at all"),
    (" \n", "blank context"),
    ("naïve café", " señor \u732b"),
    ("the question is too long for the window " * 8, " so its beginning goes"),
    ("some context", " a continuation that is itself much too long for the window" * 6),
]


def ask(model: HuggingFaceModel, requests: Sequence[Request]) -> list[Response]:
    answers = dict(model.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


def naive(folder: Path, context: str, continuation: str) -> tuple[list[float], bool]:
    """Log-probabilities by one full forward pass and a full log-softmax for each token, and lm-eval's rules."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    shift = len(context) - len(context.rstrip())
    context, continuation = context[: len(context) - shift], context[len(context) - shift :] + continuation
    before = tokenizer(context)["input_ids"] if context else [tokenizer.bos_token_id]
    after = tokenizer(context + continuation)["input_ids"][len(before) if context else 0 :]
    window = 64
    if len(after) <= window:
        pieces = [((before + after)[-window - 1 :], len(after))]
    else:
        whole = [before[-1], *after]
        pieces = []
        for start in range(1, len(whole), window):
            end = min(start + window, len(whole))
            pieces.append((whole[max(0, end - window - 1) : end], end - start))
    found, greedy = [], True
    for tokens, scored in pieces:
        with torch.no_grad():
            logprobs = model(torch.tensor([tokens[:-1]])).logits[0].double().log_softmax(-1)
        for position in range(len(tokens) - scored, len(tokens)):
            found.append(float(logprobs[position - 1, tokens[position]]))
            greedy = greedy and int(logprobs[position - 1].argmax()) == tokens[position]
    return found, greedy


def windowed(kind: str) -> list[tuple[str, str]]:
    return PAIRS[:7] if kind == "mamba" else PAIRS


@pytest.mark.parametrize("kind", KINDS)
def test_scores_equal_a_full_forward_pass(tiny_checkpoint: Make, kind: str) -> None:
    folder = tiny_checkpoint(kind)
    model = HuggingFaceModel(str(folder), device=DEVICE)
    responses = ask(model, [ScoreRequest(*pair) for pair in windowed(kind)])
    for pair, response in zip(windowed(kind), responses, strict=True):
        logprobs, greedy = naive(folder, *pair)
        assert response.logprobs == pytest.approx(logprobs, abs=1e-4), pair
        assert response.greedy == greedy
        assert response.completion_tokens == len(logprobs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_batch_tokens", [1, 40, 100_000])
def test_batches_do_not_change_scores(tiny_checkpoint: Make, kind: str, max_batch_tokens: int) -> None:
    requests = [ScoreRequest(*pair) for pair in windowed(kind)]
    folder = str(tiny_checkpoint(kind))
    alone = [ask(HuggingFaceModel(folder, device=DEVICE), [request])[0] for request in requests]
    together = ask(HuggingFaceModel(folder, device=DEVICE, max_batch_tokens=max_batch_tokens), requests)
    for one, other in zip(alone, together, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_requests_that_are_tokenized_a_few_at_a_time(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tiny_checkpoint("gpt2"))
    requests: list[Request] = [ScoreRequest(*pair) for pair in PAIRS]
    requests += [GenerateRequest(prompt, max_tokens=4, stop=("a",)) for prompt in PROMPTS]
    requests += [ScoreRequest("context", ""), SequenceRequest(("the", "answer"), (1, 0)), *requests]
    expected = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    monkeypatch.setattr(HuggingFaceModel, "look_ahead", 3)
    for one, other in zip(ask(HuggingFaceModel(folder, device=DEVICE), requests), expected, strict=True):
        assert one.error == other.error
        assert (one.logprobs or ()) == pytest.approx(other.logprobs or (), abs=1e-4)
        assert [c.text for c in one.completions] == [c.text for c in other.completions]


def test_only_rows_that_are_read_are_computed_and_shared(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    ask(model, [ScoreRequest("warm", " up")])
    assert model._model is not None
    head = model._model.runner.model.get_output_embeddings()
    shapes = []
    head.register_forward_hook(lambda module, args, output: shapes.append(tuple(output.shape)))
    ask(model, [ScoreRequest("Question: which?\nAnswer:", f" {letter}") for letter in "ABAB"])
    assert [len(model._raw_tokenizer(f" {letter}")["input_ids"]) for letter in "AB"] == [1, 1]
    assert shapes == [(1, 1, 320)]


def test_truncation_and_counts_are_reported(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    fits, cut, rolled, text = ask(
        model,
        [ScoreRequest(*PAIRS[0]), ScoreRequest(*PAIRS[7]), ScoreRequest(*PAIRS[8]), ScoreRequest("", PAIRS[8][1])],
    )
    assert [fits.truncated, cut.truncated, rolled.truncated, text.truncated] == [False, True, True, False]
    assert fits.prompt_tokens == model.count_tokens(PAIRS[0][0])


def test_a_continuation_without_tokens_is_that_request_s_error(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    empty, fine = ask(model, [ScoreRequest("context", ""), ScoreRequest("context", " x")])
    assert empty.error is not None
    assert fine.error is None


def test_sequences_are_segments_in_order_after_one_prefix_token(tiny_checkpoint: Make, tiny_tokenizer: Any) -> None:
    folder = tiny_checkpoint("gpt2")
    model = HuggingFaceModel(str(folder), device=DEVICE)
    segments = ("the answer", "is", " the question")
    lengths = [len(tiny_tokenizer(segment)["input_ids"]) for segment in segments]
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    for order in [(0, 1, 2), (2, 0, 1)]:
        [response] = ask(model, [SequenceRequest(segments, order)])
        tokens = [0, *(token for index in order for token in tiny_tokenizer(segments[index])["input_ids"])]
        with torch.no_grad():
            logprobs = plain(torch.tensor([tokens])).logits[0].log_softmax(-1)
        each = [float(logprobs[i - 1, tokens[i]]) for i in range(1, len(tokens))]
        sizes = [lengths[index] for index in order]
        expected = [sum(each[sum(sizes[:i]) : sum(sizes[: i + 1])]) for i in range(3)]
        assert response.logprobs == pytest.approx(expected, abs=1e-4)
        assert response.segment_tokens == tuple(sizes)
        assert response.completion_tokens == sum(lengths)


def test_a_sequence_longer_than_the_window_is_read_in_windows_half_a_window_apart(
    tiny_checkpoint: Make, tiny_tokenizer: Any
) -> None:
    folder = tiny_checkpoint("gpt2")
    model = HuggingFaceModel(str(folder), device=DEVICE)
    segments = ("the answer to the question " * 25, " is the answer" * 25)
    [response] = ask(model, [SequenceRequest(segments, (0, 1))])
    tokens = [0, *(token for segment in segments for token in tiny_tokenizer(segment)["input_ids"])]
    window, read = model.window or 0, len(tokens) - 1
    assert read > 2 * window
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    total = 0.0
    for number in range(math.ceil((read - window) / (window // 2)) + 1):  # the published script's loop
        start = number * (window // 2)
        end = min(start + window, read)
        with torch.no_grad():
            logprobs = plain(torch.tensor([tokens[start:end]])).logits[0].log_softmax(-1)
        skipped = window - window // 2 if number else 0
        total += sum(float(logprobs[i, tokens[start + i + 1]]) for i in range(skipped, end - start))
    assert sum(response.logprobs or ()) == pytest.approx(total, rel=1e-6)
    assert response.completion_tokens == sum(response.segment_tokens) == read


def test_the_head_of_one_segment_is_scored_after_others(tiny_checkpoint: Make, tiny_tokenizer: Any) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    segments = ("the answer", " is", " the question to the answer")
    head, whole = ask(
        model,
        [
            SequenceRequest(segments, (0, 1, 2), scored=1, max_scored_tokens=2),
            SequenceRequest(segments, (0, 1, 2), scored=1),
        ],
    )
    assert head.segment_tokens == (2,)
    assert whole.segment_tokens == (len(tiny_tokenizer(segments[2])["input_ids"]),)
    assert (head.logprobs or (0,))[0] > (whole.logprobs or (0,))[0]


PROMPTS = ["the answer", "Question: what is the answer to the question?\nAnswer:", "A", ""]


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_completions_equal_transformers_generate(tiny_checkpoint: Make, kind: str) -> None:
    folder = tiny_checkpoint(kind)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    responses = ask(
        HuggingFaceModel(str(folder), device=DEVICE),
        [GenerateRequest(prompt, max_tokens=12 + index) for index, prompt in enumerate(PROMPTS)],
    )
    for index, (prompt, response) in enumerate(zip(PROMPTS, responses, strict=True)):
        ids = tokenizer(prompt)["input_ids"] or [0]
        output = plain.generate(
            torch.tensor([ids]), do_sample=False, max_new_tokens=12 + index, pad_token_id=0, eos_token_id=0
        )
        [completion] = response.completions
        assert completion.text == tokenizer.decode(output[0][len(ids) :], skip_special_tokens=True)
        assert completion.tokens == len(output[0]) - len(ids)
        assert response.prompt_tokens == len(ids)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mamba"])
def test_sampling_depends_on_the_seed_and_not_on_the_batch(tiny_checkpoint: Make, kind: str) -> None:
    def request(prompt: str, seed: int) -> GenerateRequest:
        return GenerateRequest(prompt, max_tokens=10, temperature=0.8, completions=2, seed=seed)

    folder = str(tiny_checkpoint(kind))
    requests = [request(prompt, seed) for prompt in PROMPTS for seed in (1, 2)]
    together = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    alone = [ask(HuggingFaceModel(folder, device=DEVICE, max_batch_tokens=1), [one])[0] for one in requests]
    texts = [[completion.text for completion in response.completions] for response in together]
    assert texts == [[completion.text for completion in response.completions] for response in alone]
    for one, other in zip(together, alone, strict=True):
        for left, right in zip(one.completions, other.completions, strict=True):
            assert left.logprob == pytest.approx(right.logprob, abs=1e-3)
    assert len({text for pair in texts for text in pair}) > 12


def test_samples_follow_the_model_s_distribution(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    [response] = ask(
        model, [GenerateRequest("the answer", max_tokens=1, temperature=1.0, completions=2000, top_logprobs=5)]
    )
    likeliest = response.completions[0].top_logprobs[0]
    assert list(likeliest.values()) == sorted(likeliest.values(), reverse=True)
    texts = [completion.text for completion in response.completions]
    checked = 0
    for text, logprob in likeliest.items():
        if text.isascii():
            probability = math.exp(logprob)
            assert abs(texts.count(text) / 2000 - probability) < 5 * math.sqrt(probability / 2000)
            checked += 1
    assert checked


def test_stop_strings_are_cut_from_text_even_across_tokens(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    prompt = "the answer"
    [free] = ask(model, [GenerateRequest(prompt, max_tokens=24)])
    text = free.completions[0].text
    for start in range(1, len(text) - 3, 2):
        stop = text[start : start + 3]
        if "\ufffd" in stop:
            continue
        [cut] = ask(model, [GenerateRequest(prompt, max_tokens=24, stop=("never!", stop))])
        [completion] = cut.completions
        assert completion.text == text[: text.index(stop)]
        assert completion.finish_reason == "stop"
        assert completion.tokens is not None
        assert completion.tokens <= 24


def test_the_logprob_of_a_completion_is_that_of_its_text(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("gpt2")), device=DEVICE)
    [response] = ask(model, [GenerateRequest("the answer", max_tokens=6, top_logprobs=3)])
    [completion] = response.completions
    assert completion.logprob == pytest.approx(sum(max(top.values()) for top in completion.top_logprobs), abs=1e-4)
    assert [len(top) for top in completion.top_logprobs] == [3] * (completion.tokens or 0)
    stop = next(character for character in completion.text[1:] if character != completion.text[0])
    [cut] = ask(model, [GenerateRequest("the answer", max_tokens=6, stop=(stop,))])
    assert cut.completions[0].logprob is not None
    assert completion.logprob is not None
    assert cut.completions[0].logprob > completion.logprob


def test_the_end_of_text_token_ends_a_completion(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_checkpoint("gpt2")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("the answer", return_tensors="pt")["input_ids"]
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokens = plain.generate(ids, do_sample=False, max_new_tokens=8, pad_token_id=0)[0][ids.shape[1] :].tolist()
    monkeypatch.setattr("harness.models.transformers.huggingface._end_tokens", lambda *_: frozenset({tokens[4]}))
    model = HuggingFaceModel(str(folder), device=DEVICE)
    [response] = ask(model, [GenerateRequest("the answer", max_tokens=8)])
    [completion] = response.completions
    first = tokens.index(tokens[4])
    assert completion.finish_reason == "stop"
    assert completion.tokens == first + 1
    assert completion.text == tokenizer.decode(tokens[:first])


def test_a_prompt_too_long_loses_its_beginning(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    long, impossible = ask(
        model, [GenerateRequest("the answer " * 40, max_tokens=10), GenerateRequest("the answer", max_tokens=64)]
    )
    assert long.truncated
    assert long.prompt_tokens == 54
    assert impossible.error is not None
    assert "64" in impossible.error


def test_conversations_go_through_the_chat_template(tiny_checkpoint: Make) -> None:
    chat = HuggingFaceModel(str(tiny_checkpoint("llama", chat=True)), device=DEVICE)
    plain = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    prompt = (Message("user", "the question"), Message("assistant", "A"), Message("user", "again"))
    rendered = "<user>the question</user><assistant>A</assistant><user>again</user><assistant>"
    assert (chat.chat, plain.chat) == (True, False)
    assert chat.count_tokens(prompt) == plain.count_tokens(rendered)
    asked: list[Request] = [GenerateRequest(prompt, max_tokens=5), ScoreRequest(prompt, " A")]
    same: list[Request] = [GenerateRequest(rendered, max_tokens=5), ScoreRequest(rendered, " A")]
    for one, other in zip(ask(chat, asked), ask(plain, same), strict=True):
        assert one.completions == other.completions
        assert one.logprobs == other.logprobs
    refused = ask(plain, asked)
    assert all("chat template" in (response.error or "") for response in refused)
    [system] = ask(chat, [GenerateRequest((Message("system", "be brief"),), max_tokens=2)])
    assert "no system message" in (system.error or "")


def test_truncate_gives_the_longest_beginning(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("gpt2")), device=DEVICE)
    text = "the answer to the naïve \u732b question"
    for tokens in range(12):
        cut = model.truncate(text, tokens)
        assert text.startswith(cut)
        assert not cut or model.count_tokens(cut) <= tokens
    assert model.truncate(text, 1000) == text


def test_truncate_gives_the_same_where_it_was_asked_about_the_text_before(tiny_checkpoint: Make) -> None:
    folder = str(tiny_checkpoint("gpt2"))
    texts = ["the answer to the na\u00efve \u732b question", "", "a", "question " * 30]
    used = HuggingFaceModel(folder, device=DEVICE)
    for tokens in (3, 1000, 0, 1, 3):
        for text in texts:
            assert used.truncate(text, tokens) == HuggingFaceModel(folder, device=DEVICE).truncate(text, tokens)


def test_fingerprints_differ_where_answers_can(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = tiny_checkpoint("gpt2")
    base = HuggingFaceModel(str(folder)).fingerprint()
    assert HuggingFaceModel(str(folder), device=DEVICE, max_batch_tokens=7).fingerprint() == base
    assert HuggingFaceModel(str(folder), dtype="bfloat16").fingerprint() != base
    assert HuggingFaceModel(str(tiny_checkpoint("gpt2", chat=True))).fingerprint() != base
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "README.md").write_text("notes change nothing")
    assert HuggingFaceModel(str(copy)).fingerprint() == base
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert HuggingFaceModel(str(copy)).fingerprint() != base


def test_memory_that_runs_out_halves_the_batch(tiny_checkpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tiny_checkpoint("llama"))
    requests: list[Request] = [ScoreRequest("a" * index, " the answer") for index in range(1, 12)]
    requests += [GenerateRequest("a" * index, max_tokens=3) for index in range(1, 12)]
    expected = ask(HuggingFaceModel(folder, device=DEVICE), requests)
    model = HuggingFaceModel(folder, device=DEVICE)
    model._model = model._load()
    inner = model._model.runner.model
    forward = inner.forward
    sizes = []

    def small(*args: Any, **kwargs: Any) -> Any:
        sizes.append(kwargs["input_ids"].numel())
        if kwargs["input_ids"].numel() > 16:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
        return forward(*args, **kwargs)

    monkeypatch.setattr(inner, "forward", small)
    responses = ask(model, requests)
    assert max(sizes) > 16
    assert sizes[-1] <= 16
    for one, other in zip(expected, responses, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        assert [c.text for c in one.completions] == [c.text for c in other.completions]

    def never(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(inner, "forward", never)
    assert all("memory" in (response.error or "") for response in ask(model, requests))


def test_numbers_that_are_none_are_errors(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), device=DEVICE)
    model._model = model._load()
    torch.nn.init.constant_(model._model.runner.model.get_output_embeddings().weight, float("nan"))
    responses = ask(model, [ScoreRequest("a", " b"), GenerateRequest("a", max_tokens=2)])
    assert all("not numbers" in (response.error or "") for response in responses)


@pytest.mark.slow
def test_a_trained_checkpoint_predicts_english(models_dir: Path) -> None:
    model = HuggingFaceModel(str(models_dir / "small-llama"), device=DEVICE)
    order, disorder = ask(model, [ScoreRequest("", "He went to the door."), ScoreRequest("", "door the to went. He")])
    assert sum(order.logprobs or ()) > sum(disorder.logprobs or ()) + 10


def test_models_that_cannot_answer_say_so(tiny_checkpoint: Make) -> None:
    with pytest.raises(ModelError, match="max_batch_tokens"):
        HuggingFaceModel(str(tiny_checkpoint("gpt2")), max_batch_tokens=0)
    wrong = HuggingFaceModel(str(tiny_checkpoint("gpt2")), device="abacus")
    with pytest.raises(ModelError, match="abacus"):
        list(wrong.answer([ScoreRequest("a", "b")]))


def test_a_description_says_what_the_files_say(tiny_checkpoint: Make, tiny_tokenizer: Any) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("gpt2")))
    known = model.description()
    assert known["modality"] == "text"
    assert known["tokenizer"] == f"BPE, {len(tiny_tokenizer):,} tokens"
    assert known["access"] == "local weights"
    assert "creator" not in known  # a folder's name says nothing about who made what is in it
    ask(model, [ScoreRequest("a", " b")])
    assert model._model is not None
    assert known["parameters"] == model._model.runner.model.num_parameters()
    assert known["device"] == model._model.runner.model.device.type
    assert (known["devices"], known["devices_at_once"]) == (1, 1)
    assert model.description() == known  # whether anything was loaded makes no difference


@pytest.mark.parametrize("name", ["small-gpt2", "small-llama", "synth_dup0"])
def test_parameters_are_counted_without_the_weights(models_dir: Path, name: str) -> None:
    from transformers import AutoModelForCausalLM

    model = HuggingFaceModel(str(models_dir / name))
    loaded = AutoModelForCausalLM.from_pretrained(models_dir / name)
    assert model.description()["parameters"] == loaded.num_parameters()


def test_a_model_that_cannot_be_built_has_no_count(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(tiny_checkpoint("gpt2"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "n_head": 7}))  # does not divide the width
    assert "parameters" not in HuggingFaceModel(str(folder)).description()

"""The vllm backend with a real engine, against the hf backend on the same tiny checkpoints."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Message, Model, ModelError, Request, Response, ScoreRequest, SequenceRequest
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.vllm import engine as vllm_engine
from harness.models.vllm import scoring as vllm_scoring
from harness.models.vllm.backend import VllmModel

NEAR = 1e-3
WINDOW = 256
REAL = pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")

HEADER = "Question: what is the answer to the question?\nAnswer: A\n\n" * 5
DOCUMENTS = [HEADER + f"Question: the {word}?\nAnswer:" for word in ("first", "second", "third")]
PAIRS = [
    *((document, f" {letter}") for document in DOCUMENTS for letter in "ABCD"),
    *((document, choice) for document in DOCUMENTS for choice in (" the answer", " the answer to it", " no question")),
    ("Question: what is the answer?\nAnswer: ", "the answer"),
    ("short", " one two three"),
    ("", "no context at all"),
    (" \n", "blank context"),
    ("naïve café", " señor \u732b"),
    ("the question is too long for the window " * 30, " so its beginning goes"),
    ("some context", " a continuation that is itself much too long for the window" * 24),
]
SEGMENTS = ("the answer", " is", " the question to the answer", " Question: what?")
LONG = ("the answer to the question " * 60, " is the answer" * 90)


def ask(model: Model, requests: Sequence[Request]) -> list[Response]:
    answers = dict(model.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


def equal(one: Response, other: Response) -> None:
    assert one.error is None
    assert one.logprobs == pytest.approx(other.logprobs, abs=NEAR)
    assert (one.greedy, one.truncated) == (other.greedy, other.truncated)
    assert (one.prompt_tokens, one.completion_tokens) == (other.prompt_tokens, other.completion_tokens)
    assert one.segment_tokens == other.segment_tokens


def make(folder: Path, kind: str, tokenizer: Any) -> Path:
    """Save a random checkpoint whose heads are as large as vLLM's kernels on a CPU need them."""
    import torch
    import transformers

    common: dict[str, Any] = {"vocab_size": 320, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.4}
    config: Any
    if kind == "gpt2":
        config = transformers.GPT2Config(**common, n_embd=64, n_layer=2, n_head=2, n_positions=WINDOW)
    else:
        config = transformers.LlamaConfig(
            **common,
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=WINDOW,
        )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(
        "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"
    )
    return folder


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: Any) -> dict[str, Path]:
    return {kind: make(tmp_path_factory.mktemp(kind), kind, tiny_tokenizer) for kind in ("llama", "gpt2")}


@pytest.fixture(scope="module")
def in_process() -> Iterator[None]:
    """Engines in this process and nothing compiled: a start takes seconds."""
    patch = pytest.MonkeyPatch()
    patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    patch.setenv("TORCHDYNAMO_DISABLE", "1")
    patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    with patch.context():
        yield
    patch.undo()


@pytest.fixture(scope="class")
def llama(checkpoints: dict[str, Path], in_process: None) -> Iterator[VllmModel]:
    model = VllmModel(str(checkpoints["llama"]), enforce_eager=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def reference(checkpoints: dict[str, Path]) -> HuggingFaceModel:
    return HuggingFaceModel(str(checkpoints["llama"]), device="cpu")


@REAL
@pytest.mark.slow
@pytest.mark.timeout(600)
class TestRealEngine:
    def test_scores_equal_hf(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        requests = [ScoreRequest(*pair) for pair in PAIRS]
        expected = ask(reference, requests)
        assert [response.truncated for response in expected] == [False] * (len(PAIRS) - 2) + [True, True]
        for one, other in zip(ask(llama, requests), expected, strict=True):
            equal(one, other)
        assert llama._scoring is not None
        assert llama._scoring.shares

    def test_equal_beginnings_are_read_once(self, llama: VllmModel, monkeypatch: pytest.MonkeyPatch) -> None:
        ask(llama, [ScoreRequest(HEADER, " A")])
        read: list[tuple[int, int]] = []
        inner = vllm_scoring.read_row

        def spy(output: Any, prompt: Any, scored: int) -> Any:
            read.append((len(prompt), output.num_cached_tokens))
            return inner(output, prompt, scored)

        monkeypatch.setattr(vllm_scoring, "read_row", spy)
        answers = ask(llama, [ScoreRequest(HEADER + "Question: a new one?", f" {letter}") for letter in "ABAB"])
        [(length, cached)] = read
        assert sum(answer.computed_tokens or 0 for answer in answers) == length - cached + 4
        [written] = ask(llama, [GenerateRequest(HEADER + "Question: a new one?", max_tokens=2)])
        assert (written.computed_tokens or 0) <= length - cached + 2
        assert length - vllm_engine.CPU_BLOCK - 40 < cached < length

    def test_what_the_cache_covers_is_asked_again(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        # The second time, the blocks of the continuation themselves are in the cache.
        request = ScoreRequest("short", " the answer to the question, the answer to the question" * 9)
        [expected] = ask(reference, [request])
        assert (expected.completion_tokens or 0) > 2 * vllm_engine.CPU_BLOCK
        for _ in range(2):
            equal(ask(llama, [request])[0], expected)

    def test_sequences_equal_hf(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        requests = [
            SequenceRequest(SEGMENTS, (0, 1, 2, 3)),
            SequenceRequest(SEGMENTS, (2, 3, 1, 0)),
            SequenceRequest(SEGMENTS, (0, 1, 2), scored=1),
            SequenceRequest(SEGMENTS, (0, 1, 2), scored=1, max_scored_tokens=2),
            SequenceRequest(SEGMENTS, (0, 1, 2, 3), scored=2),
            SequenceRequest(LONG, (0, 1)),
            SequenceRequest(LONG, (1, 0), scored=1, max_scored_tokens=8),
        ]
        for one, other in zip(ask(llama, requests), ask(reference, requests), strict=True):
            equal(one, other)

    def test_a_route_that_differs_is_left_and_the_log_says_so(
        self,
        llama: VllmModel,
        reference: HuggingFaceModel,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        ask(llama, [ScoreRequest("a", " b")])
        assert llama._engine is not None
        wrong = vllm_scoring.Scoring("vllm:tiny", llama._tokenizer, llama.window, "float32")
        monkeypatch.setattr(llama, "_scoring", wrong)
        inner = vllm_scoring.read_row

        def shifted(output: Any, prompt: Any, scored: int) -> Any:
            found = inner(output, prompt, scored)
            if found is not None and output.num_cached_tokens:
                found.ends.update({token: logprob - 1 for token, logprob in found.ends.items()})
            return found

        monkeypatch.setattr(vllm_scoring, "read_row", shifted)
        requests = [ScoreRequest(*pair) for pair in PAIRS]
        with caplog.at_level(logging.WARNING):
            answers = ask(llama, requests)
        assert not wrong.shares
        said = [record.getMessage() for record in caplog.records if not record.name.startswith("vllm")]
        assert [message[:9] for message in said] == ["vllm:tiny"]
        for one, other in zip(answers, ask(reference, requests), strict=True):
            equal(one, other)

    def test_greedy_completions_equal_hf(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        prompts = ["the answer", DOCUMENTS[0], "A", "", "the answer " * 200]
        requests = [
            GenerateRequest(prompt, max_tokens=12 + index, top_logprobs=3, completions=2)
            for index, prompt in enumerate(prompts)
        ]
        for one, other in zip(ask(llama, requests), ask(reference, requests), strict=True):
            assert [c.text for c in one.completions] == [c.text for c in other.completions]
            assert (one.prompt_tokens, one.truncated) == (other.prompt_tokens, other.truncated)
            for mine, theirs in zip(one.completions, other.completions, strict=True):
                assert (mine.tokens, mine.finish_reason) == (theirs.tokens, theirs.finish_reason)
                assert mine.logprob == pytest.approx(theirs.logprob, abs=NEAR)
                assert len(mine.top_logprobs) == len(theirs.top_logprobs)
                for left, right in zip(mine.top_logprobs, theirs.top_logprobs, strict=True):
                    assert list(left) == list(right)
                    assert list(left.values()) == pytest.approx(list(right.values()), abs=NEAR)

    def test_stop_strings_and_the_end_of_text(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        prompts = ["the answer", "A", DOCUMENTS[0], "Question:"]
        free = ask(reference, [GenerateRequest(prompt, max_tokens=40) for prompt in prompts])
        requests = [
            GenerateRequest(prompt, max_tokens=40, stop=("never!", "", stop))
            for prompt, response in zip(prompts, free, strict=True)
            for start in range(2, len(response.completions[0].text) - 2)
            if (stop := response.completions[0].text[start : start + 2]).isascii()
        ]
        assert len(requests) > 3
        for one, other in zip(ask(llama, requests), ask(reference, requests), strict=True):
            [mine], [theirs] = one.completions, other.completions
            assert (mine.text, mine.finish_reason, mine.tokens) == (theirs.text, theirs.finish_reason, theirs.tokens)
            assert mine.logprob == pytest.approx(theirs.logprob, abs=NEAR)

    def test_samples_depend_on_prompt_and_seed(self, llama: VllmModel) -> None:
        requests = [
            GenerateRequest(prompt, max_tokens=10, temperature=0.9, completions=3, seed=seed)
            for prompt in ("the answer", "the question")
            for seed in (1, 2)
        ]
        texts = [[c.text for c in response.completions] for response in ask(llama, requests)]
        assert texts == [[c.text for c in ask(llama, [request])[0].completions] for request in requests]
        assert len({text for some in texts for text in some}) == 12

    def test_conversations_go_through_the_chat_template(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        prompt = (Message("user", "the question"), Message("assistant", "A"), Message("user", "again"))
        requests: list[Request] = [ScoreRequest(prompt, " A"), GenerateRequest(prompt, max_tokens=5)]
        assert llama.chat
        for one, other in zip(ask(llama, requests), ask(reference, requests), strict=True):
            assert one.logprobs == (None if other.logprobs is None else pytest.approx(other.logprobs, abs=NEAR))
            assert [c.text for c in one.completions] == [c.text for c in other.completions]

    def test_what_cannot_be_answered_is_that_request_s_error(self, llama: VllmModel) -> None:
        responses = ask(
            llama,
            [
                ScoreRequest("context", ""),
                ScoreRequest("context", " x", vocabulary_moments=True),
                GenerateRequest("a", max_tokens=WINDOW),
                GenerateRequest("a", max_tokens=1, temperature=0.001),
                GenerateRequest("a", max_tokens=1, temperature=5.0),
                ScoreRequest("context", " x"),
            ],
        )
        words = ["nothing to score", "moments", str(WINDOW), "0.01", "vLLM refuses"]
        for response, word in zip(responses, words, strict=False):
            assert response.error is not None
            assert word in response.error
        assert responses[-1].error is None

    def test_a_models_settings_choose_tokens_as_in_hf(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        turns = (Message("user", "the question"),)
        requests = [
            GenerateRequest("the answer", 20, 1.0, top_k=1, seed=5),
            GenerateRequest("the answer", 20, 1.0, min_p=1.0, seed=5),
            GenerateRequest("the answer", 20, 1.0, top_p=1e-4, seed=5),
            GenerateRequest("the answer", 20, repetition_penalty=1.5),
            GenerateRequest("the answer", 20, prefill=" is: "),
            GenerateRequest(turns, 20, prefill="Answer: A"),
        ]
        for one, other in zip(ask(llama, requests), ask(reference, requests), strict=True):
            assert one.error is None
            assert (one.completions[0].text, one.prompt_tokens) == (other.completions[0].text, other.prompt_tokens)
        begun = (*turns, Message("assistant", "Answer: A"))
        assert llama.rendered(begun) == reference.rendered(begun) == "<user>the question<assistant>Answer: A"

    def test_cut_offs_leave_the_tokens_that_hf_has(self, llama: VllmModel, reference: HuggingFaceModel) -> None:
        for given in ({"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.4}):
            request = GenerateRequest("the answer", 1, 1.0, completions=200, seed=1, **given)
            drawn, expected = ({c.text for c in ask(model, [request])[0].completions} for model in (llama, reference))
            assert drawn == expected, given

    def test_answers_come_as_they_finish(self, llama: VllmModel) -> None:
        answers = llama.answer([GenerateRequest("the answer", max_tokens=60), GenerateRequest("A", max_tokens=1)])
        assert next(answers)[0] == 1
        answers.close()  # type: ignore[attr-defined]
        assert ask(llama, [ScoreRequest("still", " fine")])[0].error is None


@REAL
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_another_architecture(checkpoints: dict[str, Path], in_process: None) -> None:
    folder = str(checkpoints["gpt2"])
    model = VllmModel(folder, enforce_eager=True)
    requests: list[Request] = [ScoreRequest(*pair) for pair in PAIRS]
    requests.append(SequenceRequest(LONG, (0, 1)))
    try:
        for one, other in zip(ask(model, requests), ask(HuggingFaceModel(folder, device="cpu"), requests), strict=True):
            equal(one, other)
    finally:
        model.close()


SCRIPT = """
import json
import sys
from harness import GenerateRequest, ScoreRequest
from harness.models.vllm.backend import VllmModel

if __name__ == "__main__":
    import psutil

    model = VllmModel(sys.argv[1], enforce_eager=True, **json.loads(sys.argv[2]))
    requests = [ScoreRequest("the answer", f" {letter}") for letter in "AB"] + [GenerateRequest("the", max_tokens=4)]
    answers = dict(model.answer(requests))
    assert all(answers[index].error is None for index in range(3)), answers
    # Python's own tracker of shared memory lives as long as the interpreter does.
    every = psutil.Process().children(recursive=True)
    children = [child for child in every if "resource_tracker" not in " ".join(child.cmdline())]
    assert children
    model.close()
    left = [child.name() for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    print([sum(answers[index].logprobs) for index in (0, 1)], left)
"""


@REAL
@pytest.mark.slow
@pytest.mark.timeout(600)  # several interpreters start, and load all of vLLM each
@pytest.mark.parametrize("options", [{}, {"data_parallel_size": 2}, {"tensor_parallel_size": 2}])
def test_several_processes_answer_as_one_and_end(
    checkpoints: dict[str, Path], reference: HuggingFaceModel, tmp_path: Path, options: dict[str, int]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # The other tests' engines, which are in this process, have set this to 0 for theirs.
    apart = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    environment = {**os.environ, **apart, "TORCHDYNAMO_DISABLE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    if "tensor_parallel_size" in options:
        # vLLM binds the parts of a model to a memory node each, and an ordinary machine has only one.
        cores = sorted(os.sched_getaffinity(0))
        environment["VLLM_CPU_OMP_THREADS_BIND"] = f"{cores[0]}|{cores[-1]}"
    done = subprocess.run(
        [sys.executable, str(script), str(checkpoints["llama"]), json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=540,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [sum(r.logprobs or ()) for r in ask(reference, [ScoreRequest("the answer", f" {x}") for x in "AB"])]
    numbers, left = done.stdout.strip().splitlines()[-1].rsplit("] ", 1)
    assert [float(number) for number in numbers.strip("[").split(",")] == pytest.approx(expected, abs=NEAR)
    assert left == "[]"


def test_tokens_and_window_are_those_of_hf_without_vllm(
    checkpoints: dict[str, Path], reference: HuggingFaceModel
) -> None:
    model = VllmModel(str(checkpoints["llama"]))
    assert model.window == reference.window == WINDOW
    assert model.count_tokens(HEADER) == reference.count_tokens(HEADER)
    assert model.count_segments(SEGMENTS) == reference.count_segments(SEGMENTS)
    assert model.truncate(HEADER, 9) == reference.truncate(HEADER, 9)
    assert VllmModel(str(checkpoints["llama"]), max_model_len=40).window == 40


def test_fingerprints_differ_where_answers_can(checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(checkpoints["llama"])
    monkeypatch.setattr("harness.models.vllm.backend.vllm_version", lambda: "1")
    base = VllmModel(folder).fingerprint()
    assert VllmModel(folder, tensor_parallel_size=2, gpu_memory_utilization=0.5).fingerprint() == base
    assert VllmModel(folder, dtype="bfloat16").fingerprint() != base
    assert VllmModel(folder, max_model_len=64).fingerprint() != base
    assert VllmModel(folder, quantization="fp8").fingerprint() != base
    assert VllmModel(str(checkpoints["gpt2"])).fingerprint() != base
    monkeypatch.setattr("harness.models.vllm.backend.vllm_version", lambda: "2")
    assert VllmModel(folder).fingerprint() != base


def test_mistakes_are_one_message(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(checkpoints["llama"])
    with pytest.raises(ModelError, match=r"^vllm:\./nowhere: there is no such folder"):
        VllmModel("./nowhere")
    with pytest.raises(ModelError, match="data_parallel_size is 0"):
        VllmModel(folder, data_parallel_size=0)
    with pytest.raises(ModelError, match="gpu_memory_utilization"):
        VllmModel(folder, gpu_memory_utilization=90)
    monkeypatch.setattr(vllm_engine, "version", _absent)
    with pytest.raises(ModelError, match="pip install"):
        list(VllmModel(folder).answer([ScoreRequest("a", " b")]))


def _absent(name: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)


@REAL
@pytest.mark.slow
def test_a_model_that_does_not_load_is_one_message(
    checkpoints: dict[str, Path], tmp_path: Path, in_process: None
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in checkpoints["llama"].iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[: 1000 if file.suffix == ".safetensors" else None])
    with pytest.raises(ModelError, match=r"^vllm:.*broken: vLLM cannot load the model: "):
        list(VllmModel(str(broken), enforce_eager=True).answer([ScoreRequest("a", " b")]))

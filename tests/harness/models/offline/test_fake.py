"""The fake model is a real language model: its probabilities are exact, and every answer agrees with every other."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    GenerateRequest,
    Message,
    Model,
    ModelError,
    Origin,
    Response,
    ScoreRequest,
    SequenceRequest,
    derive_rng,
)
from harness.contracts import Request
from harness.models.offline import hash_language
from harness.models.offline.fake import FakeModel, request_digest
from harness.models.offline.hash_language import TextState, tokenize


def ask(model: Model, *requests: Request) -> list[Response]:
    answers = dict(model.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


@given(st.text(), st.text(max_size=20))
def test_probabilities_of_all_tokens_sum_to_one(seed: str, text: str) -> None:
    distribution = TextState(seed, text).next()
    total = math.fsum(distribution.probability(token) for token in (*hash_language.ANSWERS, *hash_language.KNOWN))
    rare = math.fsum(
        distribution.probability(character) * size
        for character, size in ((_rare_of_class(kind), size) for kind, size in enumerate(hash_language._CLASS_SIZES))
    )
    assert total + rare == pytest.approx(1, abs=1e-12)


def _rare_of_class(kind: int) -> str:
    return next(chr(code) for code in range(0x4E00, 0x4E00 + hash_language.CLASSES) if code % 61 == kind)


def test_class_sizes_count_every_character_that_is_no_token() -> None:
    rare = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert sum(hash_language._CLASS_SIZES) == sum(character not in hash_language.CHARACTERS for character in rare)


@given(st.text())
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(tokenize(text)) == text


@given(st.text(max_size=8))
def test_the_first_choice_is_the_likeliest(text: str) -> None:
    distribution = TextState("0", text).next()
    [(token, probability), second] = distribution.likeliest(2)
    assert distribution.first() == token
    assert probability >= second[1]


def test_draws_follow_the_distribution() -> None:
    distribution = TextState("7", "The answer is").next()
    rng = derive_rng(0, "draws")
    draws = [distribution.draw(rng, 1.0) for _ in range(4000)]
    for token, probability in distribution.likeliest(3):
        error = math.sqrt(probability * (1 - probability) / len(draws))
        assert abs(draws.count(token) / len(draws) - probability) < 5 * error


def test_every_question_gets_the_same_number() -> None:
    model = FakeModel("3")
    split, whole, sequence, other = ask(
        model,
        ScoreRequest("The river", " is here."),
        ScoreRequest("", "The river is here."),
        SequenceRequest(("The river", " is here."), (0, 1)),
        SequenceRequest(("The river", " is here."), (1, 0)),
    )
    assert split.logprobs
    assert whole.logprobs
    assert sequence.logprobs
    assert len(sequence.logprobs) == 2
    assert sum(whole.logprobs) == pytest.approx(sum(sequence.logprobs))
    assert sum(sequence.logprobs) != pytest.approx(sum(other.logprobs or ()))
    assert whole.logprobs[-len(split.logprobs) :] == split.logprobs
    assert sequence.logprobs[1] == pytest.approx(sum(split.logprobs))
    assert sequence.segment_tokens == tuple(reversed(other.segment_tokens))


def test_whitespace_at_the_end_of_the_context_belongs_to_the_continuation() -> None:
    left, right = ask(FakeModel("3"), ScoreRequest("Answer: ", "Yes"), ScoreRequest("Answer:", " Yes"))
    assert left == right
    assert len(left.logprobs or ()) == 1


def test_a_generated_text_has_the_logprob_that_scoring_gives_it() -> None:
    model = FakeModel("1")
    [response] = ask(model, GenerateRequest("Once there was", max_tokens=12, top_logprobs=2))
    [completion] = response.completions
    assert completion.finish_reason == "length"
    assert completion.tokens == 12 == len(completion.top_logprobs)
    assert completion.text == "".join(next(iter(top)) for top in completion.top_logprobs)
    assert completion.logprob == pytest.approx(sum(next(iter(top.values())) for top in completion.top_logprobs))
    [scored] = ask(model, ScoreRequest("Once there was", completion.text))
    assert sum(scored.logprobs or ()) == pytest.approx(completion.logprob)
    assert scored.greedy


def test_stop_strings_and_seeds() -> None:
    model = FakeModel("1")
    free = GenerateRequest("Say", max_tokens=30, temperature=1.0, completions=3, seed=5)
    [response] = ask(model, free)
    texts = [completion.text for completion in response.completions]
    assert len(set(texts)) == 3
    assert [c.text for c in ask(FakeModel("1"), free)[0].completions] == texts
    stop = texts[0][4:6]
    [stopped] = ask(model, GenerateRequest("Say", max_tokens=30, temperature=1.0, seed=5, stop=(stop,)))
    assert stopped.completions[0].text == texts[0][: texts[0].index(stop)]
    assert stopped.completions[0].finish_reason == "stop"


def test_the_window_truncates_and_rolls() -> None:
    model = FakeModel("1", window=8)
    text = "abcdefghijklmnopqrst"
    generated, fits, rolled = ask(
        model, GenerateRequest(text, max_tokens=3), ScoreRequest(text, "uv"), ScoreRequest("", text)
    )
    assert generated.truncated
    assert generated.prompt_tokens == 5
    assert generated.completions == ask(model, GenerateRequest("pqrst", max_tokens=3))[0].completions
    assert fits.truncated
    assert fits.logprobs == ask(model, ScoreRequest("nopqrst", "uv"))[0].logprobs
    assert len(rolled.logprobs or ()) == 20
    assert not rolled.truncated
    assert (rolled.logprobs or ())[8:16] == ask(model, ScoreRequest("h", "ijklmnop"))[0].logprobs


def test_the_head_of_a_segment_is_scored_after_the_segments_before_it() -> None:
    segments = ("The river", " is", " here in the house.")
    model = FakeModel("3")
    head, plain = ask(
        model,
        SequenceRequest(segments, (0, 1, 2), scored=1, max_scored_tokens=3),
        ScoreRequest("The river is", " here in the house."),
    )
    assert head.segment_tokens == (3,)
    assert head.logprobs == pytest.approx([sum((plain.logprobs or ())[:3])])
    assert head.prompt_tokens == sum(model.count_segments(segments[:2])) + 1


@pytest.mark.parametrize(("scored", "head"), [(0, None), (3, None), (None, 1), (2, 1), (1, 0)])
def test_what_a_sequence_scores_is_checked(scored: int | None, head: int | None) -> None:
    with pytest.raises(ValueError, match="scored"):
        SequenceRequest(("a", "b"), (0, 1), scored=scored, max_scored_tokens=head)


def test_a_sequence_longer_than_the_window_is_read_in_windows_half_a_window_apart() -> None:
    model = FakeModel("1", window=8)
    halves = ("the river", " and the house by the river and the house")
    [sequence] = ask(model, SequenceRequest(halves, (0, 1)))
    tokens = [token for half in halves for token in hash_language.tokenize(half)]
    assert sum(sequence.segment_tokens) == len(tokens)
    assert not sequence.truncated


def test_conversations_need_chat() -> None:
    prompt = (Message("user", "Hello"),)
    [refused] = ask(FakeModel("1"), GenerateRequest(prompt, max_tokens=1))
    [taken] = ask(FakeModel("1", chat=True), GenerateRequest(prompt, max_tokens=1))
    assert refused.error
    assert "chat" in refused.error
    assert taken.error is None
    assert taken.prompt_tokens == FakeModel("1").count_tokens(prompt)


def test_it_counts_logs_and_fails_on_purpose(tmp_path: Path) -> None:
    log = tmp_path / "asked.txt"
    model = FakeModel("1", fail_every=3, log=str(log))
    requests = [GenerateRequest(f"Question {i}", max_tokens=2) for i in range(60)]
    responses = ask(model, *requests)
    failed = [response.error is not None for response in responses]
    assert model.asked == 60
    assert log.read_text().split() == [request_digest(request) for request in requests]
    assert 8 < sum(failed) < 32
    again = ask(FakeModel("1", fail_every=3), *reversed(requests))
    assert [response.error is not None for response in reversed(again)] == failed


def test_the_digest_is_of_the_question_alone() -> None:
    one = GenerateRequest("a", max_tokens=2, origin=Origin("1"))
    assert request_digest(one) == request_digest(GenerateRequest("a", max_tokens=2, origin=Origin("2")))
    assert request_digest(one) != request_digest(GenerateRequest("a", max_tokens=3))


def test_nothing_to_score_is_an_error_of_the_request() -> None:
    assert "empty" in (ask(FakeModel("1"), ScoreRequest("a", ""))[0].error or "")


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="at least 2"):
        FakeModel("1", window=1)


def test_truncate_and_count_agree() -> None:
    model = FakeModel("1")
    assert model.count_tokens(model.truncate("All the people of the world", 5)) == 5
    assert model.truncate("short", 50) == "short"


def test_a_description_gives_the_window_and_counts_the_tokens() -> None:
    known = FakeModel("0", window=64).description()
    assert known["window"] == 64
    assert known["tokenizer"].startswith(str(len(hash_language.KNOWN) + hash_language.CLASSES))

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import PromptWriter, Question, Shot
from adapters._prompt.prompt_policy import PromptPolicy
from harness import HarnessError

POLICY = PromptPolicy(instance_prefix="|", output_prefix="A:", output_suffix="")
SHOTS = [Shot(f"shot{index}", ((Question("", f"{index}" * 20, ""), "yes"),)) for index in range(4)]
SHOT_LENGTH = len("0" * 20 + "A:yes|")


def question(text: str) -> Question:
    return Question("Q:", text, ";")


def fitter(tokenization: Any, policy: PromptPolicy = POLICY, shots: int = 4, max_tokens: int = 5) -> PromptFitter:
    writer = PromptWriter(policy, SHOTS[:shots], chat=tokenization.chat)
    return PromptFitter(writer, tokenization, max_tokens=max_tokens)


@pytest.mark.parametrize("kept", range(5))
@pytest.mark.parametrize("spare", [0, 1, SHOT_LENGTH - 1])
def test_the_fewest_examples_are_dropped(characters: Any, kept: int, spare: int) -> None:
    needed = 1 + len("Q:owl;A:") + kept * SHOT_LENGTH + 5
    if kept == 4:
        spare = 0
    fitted = fitter(characters(window=needed + spare)).fit([question("owl")], instance="one")
    assert fitted.train_instances == tuple(f"shot{index}" for index in range(kept))
    assert fitted.dropped_examples == 4 - kept
    assert not fitted.truncated
    assert str(fitted.prompts[0]).endswith("|Q:owl;A:" if kept else "Q:owl;A:")


def test_without_a_window_nothing_is_dropped_or_counted(characters: Any) -> None:
    tokenization = characters(window=None)
    fitted = fitter(tokenization).fit([question("owl" * 10_000)], instance="one")
    assert fitted.dropped_examples == 0
    assert tokenization.counted == []


def test_the_input_is_cut_so_that_what_follows_survives(characters: Any) -> None:
    window = 1 + len("Q:") + 7 + len(";A:") + 5
    fitted = fitter(characters(window=window)).fit([question("abcdefghij")], instance="one")
    assert fitted.prompts == ("Q:abcdefg;A:",)
    assert fitted.truncated
    assert (fitted.train_instances, fitted.dropped_examples) == ((), 4)


def test_an_input_may_be_cut_to_nothing(characters: Any) -> None:
    fitted = fitter(characters(window=1 + len("Q:;A:") + 5)).fit([question("abc")], instance="one")
    assert fitted.prompts == ("Q:;A:",)
    assert fitted.truncated


def test_what_does_not_fit_without_its_input_is_refused(characters: Any) -> None:
    with pytest.raises(HarnessError, match=r"'one'.*window of 10 tokens.*still has 6, and the answer needs 5"):
        fitter(characters(window=10)).fit([question("abc")], instance="one")


@pytest.mark.parametrize("max_tokens", [100, 4096])
def test_max_tokens_beyond_the_window_are_refused_at_once(characters: Any, max_tokens: int) -> None:
    with pytest.raises(HarnessError, match=f"max_tokens is {max_tokens}.*window of 100 tokens"):
        fitter(characters(window=100), max_tokens=max_tokens)


def test_questions_of_one_instance_show_the_same_examples(characters: Any) -> None:
    window = 1 + len("Q:owl;A:") + 4 * SHOT_LENGTH + 5
    both = fitter(characters(window=window)).fit([question("owl"), question("owl" + "x" * 30)], instance="one")
    assert len(both.train_instances) == 2
    assert [str(prompt).count("yes") for prompt in both.prompts] == [2, 2]


def test_the_longest_scored_answer_has_room(characters: Any) -> None:
    window = 1 + len("Q:owl;A:") + SHOT_LENGTH + len(" no")
    fit = fitter(characters(window=window), max_tokens=0).fit
    assert len(fit([question("owl")], answers=["no"], instance="one").train_instances) == 1
    assert len(fit([question("owl")], answers=["no", " maybe"], instance="one").train_instances) == 0


def test_short_prompts_are_told_by_their_bytes(characters: Any) -> None:
    tokenization = characters(window=400)
    fit = fitter(tokenization).fit
    for index in range(100):
        fit([question(f"owl {index}")], instance=str(index))
    assert len(tokenization.counted) == 1


def test_of_many_examples_few_prompts_are_counted(characters: Any) -> None:
    tokenization = characters(window=1 + len("Q:owl;A:") + 3 * SHOT_LENGTH + 5)
    fitted = fitter(tokenization, shots=1000).fit([question("owl")], instance="one")
    assert len(fitted.train_instances) == 3
    assert len(tokenization.counted) < 30


def test_examples_that_never_fit_are_not_counted_again(characters: Any) -> None:
    tokenization = characters(window=2 * SHOT_LENGTH)
    fit = fitter(tokenization).fit
    fit([question("owl")], instance="0")
    tokenization.counted.clear()
    for index in range(100):
        assert len(fit([question("owl")], instance=str(index)).train_instances) == 1
    assert all("0" * 20 not in str(prompt) for prompt in tokenization.counted)


@pytest.mark.parametrize("pattern", ["(?<=l);", "(?<=yes).(?=Q)"])
def test_a_substitution_that_lengthens_the_prompt_is_counted(characters: Any, pattern: str) -> None:
    """Within the question, or across the place where it meets the examples."""
    policy = POLICY.model_copy(update={"substitutions": ((pattern, "-" * 50),)})
    window = 1 + len("Q:owl;A:") + 49 + SHOT_LENGTH + 5
    fitted = fitter(characters(window=window), policy).fit([question("owl")], instance="one")
    assert len(fitted.train_instances) == 1


def test_an_input_that_is_cut_to_more_tokens_than_asked_for_still_fits(characters: Any) -> None:
    """Tokens of a text cut by itself need not be its tokens within the prompt."""

    @dataclass
    class Generous(type(characters())):  # type: ignore[misc]
        def truncate(self, text: str, tokens: int) -> str:
            return text[: 3 * tokens // 2]

    fitted = fitter(Generous(window=1 + len("Q:;A:") + 12 + 5)).fit([question("abcdefghijklmnop")], instance="one")
    assert fitted.prompts == ("Q:abcdefghijkl;A:",)


@given(
    window=st.integers(7, 220),
    texts=st.lists(st.text(alphabet="ab é\n", max_size=150), min_size=1, max_size=3),
    shots=st.integers(0, 4),
    chat=st.booleans(),
    turns=st.booleans(),
    by_words=st.booleans(),
    answers=st.lists(st.text(alphabet="xy ", min_size=1, max_size=5), max_size=2),
)
@settings(max_examples=300)
def test_prompts_fit_keep_their_end_and_drop_as_little_as_needed(
    characters: Callable[..., Any],
    words: Callable[..., Any],
    window: int,
    texts: list[str],
    shots: int,
    chat: bool,
    turns: bool,
    by_words: bool,
    answers: list[str],
) -> None:
    tokenization = (words if by_words else characters)(window=window, chat=chat)
    policy = POLICY.model_copy(update={"examples_as_turns": turns and chat})
    writer = PromptWriter(policy, SHOTS[:shots], chat=chat)
    questions = [question(text) for text in texts]
    reserve = max(map(tokenization.count_tokens, answers), default=5)

    def fits(kept: int) -> bool:
        return all(tokenization.count_tokens(writer.write(one, kept)) + reserve <= window for one in questions)

    try:
        fitted = PromptFitter(writer, tokenization, max_tokens=5).fit(questions, answers=answers, instance="one")
    except HarnessError:
        assert not all(
            tokenization.count_tokens(writer.write(one.cut_to(""), 0)) + reserve <= window for one in questions
        )
        return
    for prompt in fitted.prompts:
        end = prompt if isinstance(prompt, str) else prompt[-1].content
        assert tokenization.count_tokens(prompt) + reserve <= window
        assert end.endswith(";A:")
        assert "Q:" in end
    kept = len(fitted.train_instances)
    assert kept + fitted.dropped_examples == shots
    assert fitted.truncated == (not fits(0))
    if not fitted.truncated:
        assert fitted.prompts == tuple(writer.write(one, kept) for one in questions)
        assert kept == shots or not fits(kept + 1)

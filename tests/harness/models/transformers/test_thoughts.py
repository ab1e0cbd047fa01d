"""Reasoning with ``hf:``: a task's stop sequences and max_tokens hold for the answer, side by side and by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Completion, GenerateRequest, Message, Reasoning, Response
from tests.devices import DEVICE
from tests.harness.models.thinking_checkpoint import (
    ANSWER,
    CHANNELS,
    END,
    OPENING,
    SCRIPT,
    SILENT,
    THOUGHTS,
    make_checkpoint,
)

pytest.importorskip("torch")

THOUGHT = "".join(THOUGHTS).strip()
TALK = (Message("user", "Is it so?"),)


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., list[Response]]:
    """Make a checkpoint that writes a script, and ask it."""

    def asked(
        *requests: GenerateRequest, script: tuple[str, ...] = SCRIPT, batches: bool = False, **made: Any
    ) -> list[Response]:
        from harness.models.transformers.huggingface import HuggingFaceModel

        folder = make_checkpoint(tmp_path / f"checkpoint-{abs(hash((script, str(made))))}", script, **made)
        model = HuggingFaceModel(str(folder), device=DEVICE)
        if batches:  # each text in a row of its own
            model._loaded_here()
            assert model._model is not None
            model._model.sharing.refused = "for this test"
        answers = dict(model.answer(requests))
        model.close()
        return [answers[place] for place in range(len(requests))]

    return asked


def only(responses: list[Response]) -> Completion:
    ((response,)) = responses
    assert response.error is None, response.error
    return response.completions[0]


@pytest.mark.parametrize("batches", [False, True], ids=["packed", "batches"])
@pytest.mark.parametrize("template", ["plain", "opening"])
def test_the_answer_follows_the_thoughts(ask: Callable[..., list[Response]], template: str, batches: bool) -> None:
    made: dict[str, Any] = {"batches": batches}
    if template == "opening":
        made |= {"template": OPENING}
    asked = [
        GenerateRequest(TALK, 3),
        GenerateRequest(TALK, 30, stop=("\n",)),
        GenerateRequest(TALK, 30),
        GenerateRequest(TALK, 1, stop=("\n", "Yes")),
        GenerateRequest(TALK, 2, reasoning=Reasoning(budget_tokens=100)),
    ]
    found = [response.completions[0] for response in ask(*asked, **made)]
    assert [one.text for one in found] == ["Yes, it", "Yes, it is so.", ANSWER, "", "Yes,"]
    assert [one.finish_reason for one in found] == ["length", "stop", "stop", "stop", "length"]
    thought = len(THOUGHTS) + 1 + (template == "plain") + 1  # the closing mark, the opening one, the empty line
    for one in found:
        assert (one.reasoning, one.reasoning_tokens, one.unannounced_mark) == (THOUGHT, thought, "")
    assert found[0].tokens == thought + 3
    assert found[0].logprob is not None
    assert found[0].logprob > -0.01


def test_log_probabilities_are_the_answers(ask: Callable[..., list[Response]]) -> None:
    found = only(ask(GenerateRequest(TALK, 3, top_logprobs=2)))
    assert [next(iter(position)) for position in found.top_logprobs] == ["Yes", ",", " it"]


@pytest.mark.parametrize("batches", [False, True], ids=["packed", "batches"])
def test_thoughts_that_do_not_end_use_the_budget(ask: Callable[..., list[Response]], batches: bool) -> None:
    script = ("\n", "<think>", *THOUGHTS, END)
    asked = [GenerateRequest(TALK, 5, stop=("\n",), reasoning=Reasoning(budget_tokens=20)), GenerateRequest(TALK, 5)]
    short, long = [one.completions[0] for one in ask(*asked, script=script, loops=True, batches=batches)]
    for one in (short, long):
        assert (one.text, one.finish_reason, one.declined, one.logprob) == ("", "unfinished_reasoning", None, None)
        assert one.reasoning.startswith("Let me see.\n Yes or no?\n Let")
    assert short.tokens == short.reasoning_tokens == 20
    assert long.tokens is not None
    assert 230 < long.tokens < 256  # what the window leaves


def test_a_text_that_ends_in_thoughts_is_no_answer(ask: Callable[..., list[Response]]) -> None:
    found = only(ask(GenerateRequest(TALK, 5), script=("\n", "<think>", *THOUGHTS, END)))
    assert (found.text, found.finish_reason, found.reasoning) == ("", "unfinished_reasoning", THOUGHT)


def test_a_model_that_answers_at_once_is_cut_as_ever(ask: Callable[..., list[Response]]) -> None:
    script = ("\n", "<", "b", ">", "Yes", " it", " is", END)
    asked = [GenerateRequest(TALK, 3), GenerateRequest(TALK, 9, stop=("b",)), GenerateRequest(TALK, 9)]
    asked.append(GenerateRequest(TALK, 1))
    found = [one.completions[0] for one in ask(*asked, script=script)]
    assert [(one.text, one.tokens) for one in found] == [("<b>", 3), ("<", 2), ("<b>Yes it is", 7), ("<", 2)]
    assert all((one.reasoning, one.reasoning_tokens) == ("", None) for one in found)


def test_thinking_can_be_switched_off_in_the_template(tmp_path: Path) -> None:
    from harness.models.transformers.huggingface import HuggingFaceModel

    folder = make_checkpoint(tmp_path / "m")
    model = HuggingFaceModel(str(folder), device=DEVICE, chat_template_kwargs={"enable_thinking": False})
    ((_, response),) = model.answer([GenerateRequest(TALK, 3)])
    model.close()
    (found,) = response.completions
    assert (found.text, found.reasoning) == ("Yes, it", "")


def test_marks_of_several_tokens_in_special_ones_too(ask: Callable[..., list[Response]]) -> None:
    script = (*OPENED, "</", "think", ">\n\n", "Yes", " it", " is", END)
    found = only(ask(GenerateRequest(TALK, 2), script=script, template=OPENING, marks=("<think>",)))
    assert (found.text, found.reasoning) == ("Yes it", THOUGHT)
    special = tuple({"<think>": "[THINK]", "</think>": "[/THINK]"}.get(token, token) for token in SCRIPT)
    template = OPENING.replace("<think>", "[THINK]").replace("</think>", "[/THINK]")
    found = only(
        ask(
            GenerateRequest(TALK, 2, stop=("\n",)),
            script=special,
            template=template,
            special=("<|im_start|>", "[THINK]", "[/THINK]"),
            marks=(),
        )
    )
    assert (found.text, found.reasoning) == ("Yes,", THOUGHT)


OPENED = ("<think>", *THOUGHTS)


def test_channels_as_gpt_oss_writes_them(ask: Callable[..., list[Response]]) -> None:
    script = (
        *("assistant", "<|channel|>", "analysis", "<|message|>", *THOUGHTS, "<|end|>"),
        *("<|start|>assistant<|channel|>final", "<|message|>Yes", " it", " is", END),
    )
    special = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>")
    found = only(
        ask(GenerateRequest(TALK, 1, stop=("\n",)), script=script, template=CHANNELS, special=special, marks=())
    )
    assert (found.text, found.reasoning) == ("Yes it", THOUGHT)  # "Yes" came with the mark


def test_named_marks(ask: Callable[..., list[Response]]) -> None:
    script = ("\n", "[[", *THOUGHTS, "]]", "Yes", " it", END)
    named = Reasoning(open="[[", close="]]")
    asked = [GenerateRequest(TALK, 2, stop=("\n",), reasoning=named), GenerateRequest(TALK, 3, stop=("\n",))]
    found, unnamed = [one.completions[0] for one in ask(*asked, script=script)]
    assert (found.text, found.reasoning) == ("Yes it", THOUGHT)
    assert unnamed.text == "[[ Let me"


def test_kept_thoughts_stay_in_the_text(ask: Callable[..., list[Response]]) -> None:
    found = only(ask(GenerateRequest(TALK, 2, reasoning=Reasoning(keep=True))))
    assert found.text == "".join(SCRIPT[1:12])
    assert found.reasoning == THOUGHT


def test_marks_that_nothing_announced_are_left_to_the_engine(ask: Callable[..., list[Response]]) -> None:
    found = only(ask(GenerateRequest(TALK, 30), template=SILENT))
    assert found.text == "".join(SCRIPT[1:-1])
    announced = only(ask(GenerateRequest(TALK, 2, reasoning=Reasoning()), template=SILENT))
    assert (announced.text, announced.reasoning) == ("Yes,", THOUGHT)


def test_thoughts_in_a_row(ask: Callable[..., list[Response]]) -> None:
    script = (*SCRIPT[:9], "\n\n", "[THINK]", " so", "[/THINK]", "Yes", " it", END)
    template = f"{{# </think> [/THINK] #}}{OPENING}"
    found = only(ask(GenerateRequest(TALK, 2, stop=("\n",)), script=script[1:], template=template))
    assert (found.text, found.reasoning) == ("Yes it", f"{THOUGHT}\n\nso")


def test_sampled_completions_each_have_their_thoughts(ask: Callable[..., list[Response]]) -> None:
    (response,) = ask(GenerateRequest(TALK, 2, temperature=0.5, completions=3, stop=("\n",)))
    assert [one.text for one in response.completions] == ["Yes,"] * 3
    assert {one.reasoning for one in response.completions} == {THOUGHT}
    assert response.completion_tokens == sum(one.tokens or 0 for one in response.completions)


def test_effort_is_a_variable_of_the_template(ask: Callable[..., list[Response]]) -> None:
    (response,) = ask(GenerateRequest(TALK, 2, reasoning=Reasoning(effort="low")))
    assert "chat_template_kwargs: {reasoning_effort: low}" in (response.error or "")

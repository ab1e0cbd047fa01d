from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters._prompt.prompt import PromptWriter, Question, Shot, gold_answer
from adapters._prompt.prompt_policy import PromptPolicy
from harness import Instance, Message

Make = Callable[..., Instance]

TEXT = st.text(alphabet="ab: \n", max_size=4)
SHOTS = [
    Shot("one", ((Question("<", "cat", ">"), "meow"),)),
    Shot("two", ((Question("<", "dog", ">"), "woof"), (Question("<", "cow", ">"), "moo"))),
]
QUESTION = Question("<", "owl", ">")


@given(
    affixes=st.fixed_dictionaries(
        dict.fromkeys(
            ("global_prefix", "global_suffix", "instructions", "output_prefix", "output_suffix", "instance_prefix"),
            TEXT,
        )
    ),
    substitutions=st.lists(
        st.tuples(st.sampled_from(["\n", "a+", "^b", ": $", "o(w|g)"]), st.sampled_from(["", "<br>", "x"])), max_size=2
    ),
    examples=st.integers(0, 2),
)
def test_a_prompt_is_what_the_grammar_says(
    affixes: dict[str, str], substitutions: list[tuple[str, str]], examples: int
) -> None:
    policy = PromptPolicy(**affixes, substitutions=tuple(substitutions))
    blocks = [affixes["instructions"]] * bool(affixes["instructions"])
    for animals in [[("cat", "meow")], [("dog", "woof"), ("cow", "moo")]][:examples]:
        blocks += [f"<{a}>{affixes['output_prefix']}{b}{affixes['output_suffix']}" for a, b in animals]
    blocks.append("<owl>" + affixes["output_prefix"].rstrip())
    expected = affixes["global_prefix"] + affixes["instance_prefix"].join(blocks) + affixes["global_suffix"]
    for pattern, replacement in substitutions:
        expected = re.sub(pattern, replacement, expected)

    assert PromptWriter(policy, SHOTS, chat=False).write(QUESTION, examples) == expected
    assert PromptWriter(policy, SHOTS, chat=True).write(QUESTION, examples) == (Message("user", expected),)


POLICY = PromptPolicy(
    global_prefix="[", global_suffix="]", instructions="Sounds.\n", output_prefix="Say: ", substitutions=(("o", "0"),)
)


@pytest.mark.parametrize(
    ("system_prompt", "examples", "expected"),
    [
        ("", 0, [("user", "[S0unds.\n\n<0wl>Say:]")]),
        (
            "",
            1,
            [("user", "[S0unds.\n\n<cat>Say:"), ("assistant", "me0w"), ("user", "<0wl>Say:]")],
        ),
        (
            "You hear.",
            2,
            [
                ("system", "Y0u hear.\nS0unds."),
                ("user", "[<cat>Say:"),
                ("assistant", "me0w"),
                ("user", "<d0g>Say:"),
                ("assistant", "w00f"),
                ("user", "<c0w>Say:"),
                ("assistant", "m00"),
                ("user", "<0wl>Say:]"),
            ],
        ),
    ],
)
def test_examples_as_turns(system_prompt: str, examples: int, expected: list[tuple[str, str]]) -> None:
    policy = POLICY.model_copy(update={"system_prompt": system_prompt, "examples_as_turns": True})
    messages = PromptWriter(policy, SHOTS, chat=True).write(QUESTION, examples)
    assert [(message.role, message.content) for message in messages if isinstance(message, Message)] == expected


def test_a_conversation_holds_the_whole_prompt_in_one_user_turn() -> None:
    policy = PromptPolicy(system_prompt="Be brief.", output_prefix="Say: ")
    assert PromptWriter(policy, SHOTS[:1], chat=True).write(QUESTION, 1) == (
        Message("system", "Be brief."),
        Message("user", "<cat>Say: meow\n\n<owl>Say:"),
    )


@pytest.mark.parametrize(
    ("correct", "multi_label", "answer"),
    [({1}, False, "B"), ({0, 2}, False, "A"), ({0, 2}, True, "A, C"), (set(), False, "n/a"), (set(), True, "n/a")],
)
def test_gold_answer(make: Make, correct: set[int], multi_label: bool, answer: str) -> None:
    instance = make("one", "which?", correct=correct)
    assert gold_answer(instance, "ABC", multi_label=multi_label) == answer

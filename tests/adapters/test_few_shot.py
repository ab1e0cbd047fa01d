from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters._prompt.few_shot import correct_position, correct_text, drawn_examples, select_examples
from adapters._prompt.prompt_policy import PromptPolicy
from harness import HarnessError, Instance, Reference, Split

Make = Callable[..., Instance]


def train_set(labels: Sequence[str | None]) -> list[Instance]:
    """Train instances whose only reference has the given text; None for no reference."""
    return [
        Instance(f"id{index:03}", f"input {index}", () if label is None else (Reference(label, True),), Split.TRAIN)
        for index, label in enumerate(labels)
    ]


def chosen_labels(labels: Sequence[str | None], count: int, *, seed: int = 0, trial: int = 0) -> list[object]:
    policy = PromptPolicy(max_train_instances=count)
    chosen = select_examples(train_set(labels), policy, label=correct_text, trial=trial, seed=seed)
    return [correct_text(instance) for instance in chosen]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("labels", "count", "expected"),
    [
        (["no", "yes", "yes"], 2, ["yes", "no"]),  # the example in HELM's documentation
        (["no", "yes", "yes", "yes", "yes"], 4, ["yes", "no", "yes", "yes"]),  # HELM's test of the joint adapter
        (["no", "yes", "yes"], 10, ["yes", "no", "yes"]),  # fewer than asked for: all
        ([None, None, None], 1, [None]),
        ([None, None, "yes"], 2, ["yes", None]),  # fewer labelled than asked for: HELM never returns from this
        ([None, None, "yes"], 9, ["yes", None, None]),
        (["a", "a", "a", "b", "b", "c"], 6, ["a", "b", "c", "a", "b", "a"]),
        (["a"], 0, []),
    ],
)
def test_examples_go_round_the_labels_by_frequency(
    labels: list[str | None], count: int, expected: list[str | None], seed: int
) -> None:
    assert chosen_labels(labels, count, seed=seed) == expected


def test_labels_of_equal_frequency_come_in_random_order() -> None:
    orders = {tuple(chosen_labels(["a", "b", "c"], 3, seed=seed)) for seed in range(60)}
    assert len(orders) == 6


def test_the_most_frequent_label_comes_first_and_trials_differ() -> None:
    labels = ["3", "3", "1", "1", "1", "2", "2", *map(str, range(4, 100))]
    seen = set()
    for trial in range(10):
        chosen = chosen_labels(labels, 5, trial=trial)
        assert chosen[0] == "1"
        assert set(chosen[1:3]) == {"2", "3"}
        assert not set(chosen[3:]) & {"1", "2", "3"}
        seen.add(tuple(chosen))
    assert len(seen) == 10


def test_multiple_choice_is_balanced_by_the_position_of_the_answer(make: Make) -> None:
    train = [make(str(i), "q", [f"{i}a", f"{i}b"], {int(i >= 3)}, Split.TRAIN) for i in range(5)]
    policy = PromptPolicy(max_train_instances=4)
    for seed in range(20):
        chosen = select_examples(train, policy, label=correct_position, trial=0, seed=seed)
        assert [correct_position(instance) for instance in chosen] == [0, 1, 0, 1]


@given(
    labels=st.lists(st.none() | st.sampled_from("abcd"), min_size=1, max_size=30),
    count=st.integers(0, 12),
    seed=st.integers(0, 5),
    trial=st.integers(0, 3),
    shuffle=st.randoms(use_true_random=False),
)
@settings(max_examples=200)
def test_a_sample_depends_on_the_set_alone_and_is_balanced(
    labels: list[str | None], count: int, seed: int, trial: int, shuffle: random.Random
) -> None:
    train = train_set(labels)
    policy = PromptPolicy(max_train_instances=count)
    chosen = select_examples(train, policy, label=correct_text, trial=trial, seed=seed)
    shuffled = train.copy()
    shuffle.shuffle(shuffled)
    assert select_examples(shuffled, policy, label=correct_text, trial=trial, seed=seed) == chosen

    assert len(chosen) == min(count, len(train))
    assert len({instance.id for instance in chosen}) == len(chosen)
    taken = Counter(map(correct_text, chosen))
    if taken[None]:
        assert sum(taken.values()) - taken[None] == sum(label is not None for label in labels)
    available = Counter(labels)
    for one in "abcd":
        for other in "abcd":
            assert taken[one] >= min(taken[other] - 1, available[one])


@pytest.mark.parametrize(("trial", "expected"), [(0, ["id002", "id000"]), (1, ["id001", "id004"]), (2, ["id003"])])
def test_unsampled_examples_are_consecutive_in_the_scenarios_order(trial: int, expected: list[str]) -> None:
    train = [train_set("abcde")[index] for index in (2, 0, 1, 4, 3)]
    policy = PromptPolicy(max_train_instances=2, sample_train=False)
    chosen = select_examples(train, policy, label=correct_text, trial=trial, seed=7)
    assert [instance.id for instance in chosen] == expected


def test_no_train_instances_left_for_a_trial_is_refused() -> None:
    policy = PromptPolicy(max_train_instances=5, sample_train=False, train_trials=2)
    with pytest.raises(HarnessError, match=r"train trial 2 has no examples.*next 3 of 3.*sample_train: true"):
        select_examples(train_set("abc"), policy, label=correct_text, trial=1, seed=0)


@pytest.mark.parametrize("sample", [True, False])
def test_an_empty_train_split_is_refused(sample: bool) -> None:
    policy = PromptPolicy(max_train_instances=5, sample_train=sample)
    with pytest.raises(HarnessError, match=r"no train instances\. Set max_train_instances: 0"):
        select_examples([], policy, label=correct_text, trial=0, seed=0)


def test_no_examples_need_no_train_split() -> None:
    assert select_examples([], PromptPolicy(max_train_instances=0), label=correct_text, trial=0, seed=0) == ()


def drawn(count: int, size: int, questions: Sequence[Instance], **settings: object) -> list[list[str]]:
    policy = PromptPolicy.model_validate({"max_train_instances": count, "example_selection": "lm_eval", **settings})
    found = drawn_examples(train_set(["x"] * size), policy, questions, trial=0, seed=0)
    return [[example.id for example in examples] for _, examples in found]


def asked(*inputs: str) -> list[Instance]:
    return [Instance(f"q{number}", text, (Reference("x", True),)) for number, text in enumerate(inputs)]


def test_lm_eval_draws_anew_for_each_question() -> None:
    """What its ContextSampler 0.4.13 gives with 10 documents, 3 examples and its default seed, 1234."""
    assert drawn(3, 10, asked("a", "b")) == [["id007", "id001", "id000"], ["id001", "id000", "id009"]]


def test_lm_eval_draws_one_more_where_a_question_could_be_among_the_examples() -> None:
    settings = {"example_selection": "lm_eval_excluding"}
    first, second = drawn(2, 10, asked("a", "b"), **settings)
    assert first == ["id007", "id001"]  # the third, id000, is left out
    assert second == ["id001", "id000"]
    assert drawn(2, 10, asked("input 7"), **settings) == [["id001", "id000"]]


def test_lm_eval_takes_the_first_examples_in_order() -> None:
    assert drawn(2, 10, asked("input 0", "b"), sample_train=False) == [["id000", "id001"]] * 2
    excluding = {"sample_train": False, "example_selection": "lm_eval_excluding"}
    assert drawn(2, 10, asked("input 0", "b"), **excluding) == [["id001", "id002"], ["id000", "id001"]]


def test_copies_of_a_question_show_the_same_examples_and_too_few_are_refused() -> None:
    [question] = asked("a")
    copy = question.replace(input="A", perturbation="capitals")
    assert len({tuple(ids) for ids in drawn(3, 10, [question, copy])}) == 1
    with pytest.raises(HarnessError, match=r"is 5, and .* draws one more, but the scenario has only 5 train instances"):
        drawn(5, 5, asked("a"), example_selection="lm_eval_excluding")
    with pytest.raises(HarnessError, match="is 10, but the scenario has no train instances"):
        drawn(10, 0, asked("a"), example_selection="lm_eval_excluding")

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.ranking_binary import RankingBinary
from harness import Adapted, Completion, GenerateRequest, HarnessError, Instance, ModelError, Origin, Response, Split

Make = Callable[..., Instance]

QUESTION = "Does the passage answer the query?\nAnswer:"


def adapt_one(settings: dict[str, Any], instance: Instance, train: list[Instance], tokenization: Any) -> Adapted:
    adapter = RankingBinary(RankingBinary.Params(**settings))
    (adapted,) = adapter.adapt([instance], train, tokenization, trial=0, seed=0)
    return adapted


def prompts_of(adapted: Adapted) -> list[Any]:
    return [request.prompt for request in adapted.requests if isinstance(request, GenerateRequest)]


@pytest.fixture(scope="session")
def k2(make: Make) -> Instance:
    return make("t", "how tall is K2", ["8611 m", "It is cold"], {0}, Split.TRAIN)


def test_helms_worked_prompt(make: Make, k2: Instance, characters: Any) -> None:
    adapted = adapt_one({}, make("e", "how many drops per ml", ["20 drops", "A lot"]), [k2], characters())
    examples = (
        f"Passage: 8611 m\nQuery: how tall is K2\n{QUESTION} Yes\n\n"
        f"Passage: It is cold\nQuery: how tall is K2\n{QUESTION} No\n\n"
    )
    assert prompts_of(adapted) == [
        f"{examples}Passage: {passage}\nQuery: how many drops per ml\n{QUESTION}" for passage in ("20 drops", "A lot")
    ]
    assert adapted.requests[1] == GenerateRequest(prompts_of(adapted)[1], max_tokens=5, stop=("\n",))
    assert [request.origin for request in adapted.requests] == [Origin("e", reference=0), Origin("e", reference=1)]
    assert adapted.train_instances == ("t",)


def test_an_example_has_one_passage_of_each_kind_in_the_scenarios_order(make: Make, characters: Any) -> None:
    train = [
        make("none", "q0", ["a"], set(), Split.TRAIN),
        make("all", "q1", ["a"], {0}, Split.TRAIN),
        make("both", "q2", ["wrong", "worse", "right", "righter"], {2, 3}, Split.TRAIN),
    ]
    adapted = adapt_one({"max_train_instances": 3}, make("e", "q", ["a"]), train, characters())
    shown = [block.split("\n")[0] + block.rpartition(":")[2] for block in prompts_of(adapted)[0].split("\n\n")]
    assert shown == ["Passage: wrong No", "Passage: right Yes", "Passage: a"]


def test_train_instances_of_one_kind_only_are_refused(make: Make, characters: Any) -> None:
    train = [make("all", "q1", ["a"], {0}, Split.TRAIN)]
    with pytest.raises(HarnessError, match="both a relevant and an irrelevant passage"):
        adapt_one({}, make("e", "q", ["a"]), train, characters())
    assert len(adapt_one({"max_train_instances": 0}, make("e", "q", ["a"]), train, characters()).requests) == 1


def test_long_passages_are_cut_and_the_query_survives(make: Make, k2: Instance, characters: Any) -> None:
    instance = make("e", "how many", ["x" * 500, "short"])
    adapted = adapt_one({}, instance, [k2], characters(window=120))
    long, short = prompts_of(adapted)
    assert long.endswith(f"x\nQuery: how many\n{QUESTION}")
    assert short == f"Passage: short\nQuery: how many\n{QUESTION}"
    assert (adapted.dropped_examples, adapted.truncated) == (1, True)


def answers(*outputs: tuple[str, float | None]) -> list[Response]:
    return [Response(completions=(Completion(text, logprob),)) for text, logprob in outputs]


def test_surest_yes_first_and_surest_no_last(make: Make, characters: Any) -> None:
    said = [
        (" No", math.log(0.9)),
        ("maybe", math.log(0.2)),
        ("yes", math.log(0.6)),
        ("No\n", math.log(0.5)),
        (" Yes", math.log(0.8)),
    ]
    instance = make("e", "q", list("abcde"))
    adapted = adapt_one({"max_train_instances": 0}, instance, [], characters())
    prediction = RankingBinary(RankingBinary.Params()).predict(adapted, answers(*said))
    assert prediction.choice_scores == pytest.approx((1.1, 0.8, 2.6, 1.5, 2.8))
    assert (prediction.choice, prediction.text) == (4, "e")
    assert prediction.texts == tuple(text for text, _ in said)


def test_rounding_does_not_carry_a_score_out_of_its_range(make: Make, characters: Any) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "q", ["a", "b", "c"]), [], characters())
    said = answers(("Yes", 1e-3), ("No", 1e-3), ("Perhaps", 1e-3))
    assert RankingBinary(RankingBinary.Params()).predict(adapted, said).choice_scores == (3.0, 1.0, 0.0)


@given(st.lists(st.tuples(st.sampled_from(["Yes", "No", "Perhaps"]), st.floats(-30, 0)), min_size=2, max_size=6))
def test_scores_sort_as_helms_keys(make: Make, characters: Any, said: list[tuple[str, float]]) -> None:
    def helms_key(text: str, logprob: float) -> tuple[int, float]:
        return {"Yes": (2, logprob), "No": (1, -logprob)}.get(text, (0, -logprob))

    adapted = adapt_one({"max_train_instances": 0}, make("e", "q", ["x"] * len(said)), [], characters())
    scores = RankingBinary(RankingBinary.Params()).predict(adapted, answers(*said)).choice_scores
    assert scores is not None
    for first, one in zip(said, scores, strict=True):
        for second, other in zip(said, scores, strict=True):
            if helms_key(*first) > helms_key(*second):
                assert one >= other
                assert one > other or math.isclose(math.exp(first[1]), math.exp(second[1]), abs_tol=1e-15)


@pytest.mark.parametrize("logprob", [None, math.nan])
def test_missing_log_probabilities_are_an_error(make: Make, characters: Any, logprob: float | None) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "q", ["a", "b"]), [], characters())
    with pytest.raises(ModelError, match="no log-probability for an answer about instance 'e'"):
        RankingBinary(RankingBinary.Params()).predict(adapted, answers(("Yes", -1.0), ("Yes", logprob)))


def test_an_empty_answer_ranks_last(make: Make, characters: Any) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "q", ["a", "b", "c"]), [], characters())
    said = answers(("", 0.0), ("Perhaps", -0.1), ("No", -1.0))
    scores = RankingBinary(RankingBinary.Params()).predict(adapted, said).choice_scores
    assert scores is not None
    assert scores[0] == 0.0 < min(scores[1:])


def test_an_instance_without_passages_is_refused(make: Make, characters: Any) -> None:
    with pytest.raises(HarnessError, match="no references to rank"):
        adapt_one({"max_train_instances": 0}, make("e", "q", []), [], characters())

"""What the tests of the published order ask, and what they refuse.

| data, settings                        | asked                                                              |
|---------------------------------------|--------------------------------------------------------------------|
| any                                   | each shard in published order, then in m orders of the same texts  |
| ids held in place                     | two segments a position: the id stays, the content moves           |
| blocks                                | orders that move nothing from one block to another                 |
| neighbours                            | in blocks of eight, each example after each of the others          |
| next_example                          | contexts drawn by text alone, then at each place what may follow   |
| stop                                  | nothing more once the evidence suffices                            |
| simple                                | orders of the whole until enough were as likely                    |
| perturbed copies, no published text,  | refused with one message                                           |
| equal or too few examples, no counts  |                                                                    |
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters._order.boundaries import NextExampleSettings, ask_boundaries
from adapters._order.neighbours import NeighbourSettings, ask_neighbours
from adapters._order.published_order import OrderSettings, PublishedOrder, read_order
from adapters.exchangeability import Exchangeability
from adapters.next_example import NextExample
from harness import (
    Adapted,
    HarnessError,
    Instance,
    ModelError,
    Reference,
    Response,
    SequenceRequest,
    Split,
    Tokenization,
)


@dataclass
class Letters:
    """A model to which every character is a token."""

    window: int | None = 200
    chat: bool = False
    tools: bool = False
    continues: bool = True
    counts: bool = True

    def count_tokens(self, prompt: Any) -> int:
        return len(str(prompt))

    def most_generated(self, max_tokens: int) -> int:
        return max_tokens

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return [len(segment) for segment in segments] if self.counts else None

    def truncate(self, text: str, tokens: int) -> str:
        return text[:tokens]


WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "kelp", "lagoon")


def example(number: int, text: str | None = None, **fields: Any) -> Instance:
    rng = Random(number)
    words = " ".join(rng.sample(WORDS, 3))
    return Instance(f"test-{number + 1}", "question", published=text or f"{words} {rng.random():.4f}", **fields)


def asked(count: int = 40, tokens: Tokenization | None = None, **arguments: Any) -> list[Adapted]:
    adapter = Exchangeability(Exchangeability.Params(**{"neighbours": None, "first_look": None, **arguments}))
    data = [example(number) for number in range(count)]
    return list(adapter.adapt(data, (), tokens or Letters(), trial=0, seed=0))


def sequences(adapted: Adapted) -> Iterator[SequenceRequest]:
    for request in adapted.requests:
        assert isinstance(request, SequenceRequest)
        yield request


def test_each_shard_is_asked_in_published_order_and_then_in_others_of_the_same_texts() -> None:
    shards = asked(shuffles=6)
    texts: list[str] = []
    for shard in shards:
        requests = list(sequences(shard))
        assert len(requests) == 7
        assert {id(request.segments) for request in requests} == {id(requests[0].segments)}
        identity = tuple(range(len(requests[0].segments)))
        assert requests[0].order == identity
        assert all(sorted(request.order) == list(identity) and request.scored is None for request in requests)
        assert len({request.order for request in requests}) > 1
        texts += requests[0].segments
    assert texts == [example(number).published + "\n" for number in range(40)]


def test_the_first_stand_in_describes_the_data_before_any_model_is_asked() -> None:
    first, second, *_ = asked()
    data = first.instance.meta["data"]
    assert (data["n_used"], data["shards"]["r"], data["shards"]["shuffles"]) == (40, 8, 25)
    assert data["exchangeable"] is True
    assert data["diagnostics"]
    assert "data" not in second.instance.meta


def test_orders_differ_with_the_seed_and_only_with_it() -> None:
    def orders(seed: int) -> list[tuple[int, ...]]:
        adapter = Exchangeability(Exchangeability.Params(neighbours=None, first_look=None))
        data = [example(number) for number in range(40)]
        return [
            request.order
            for one in adapter.adapt(data, (), Letters(), trial=0, seed=seed)
            for request in sequences(one)
        ]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


@pytest.mark.parametrize(
    ("separator", "text", "expected"), [(None, "a", "a\n"), (None, "a\n\n", "a\n\n"), ("", "a", "a")]
)
def test_separator(separator: str | None, text: str, expected: str) -> None:
    data = [example(0, text), *(example(number) for number in range(1, 20))]
    order = read_order(data, OrderSettings(separator=separator), Letters(), 0)
    assert order.contents[0] == expected


def test_rows_are_a_slice_of_the_published_order() -> None:
    data = [example(number) for number in range(40)]
    order = read_order(data, OrderSettings(rows="10:30"), Letters(), 0)
    assert order.contents == tuple(instance.published + "\n" for instance in data[10:30])


@pytest.mark.parametrize(
    ("render", "expected"),
    [
        ("prompt", "Question: question\nAnswer: yes\n"),
        ("lettered_prompt", "Question: question\nA. no\nB. yes\nAnswer: B\n"),
    ],
)
def test_a_prompt_has_the_answer_in_it(render: Any, expected: str) -> None:
    references = (Reference("no"), Reference("yes", correct=True))
    data = [example(number).replace(references=references, input=f"question{number or ''}") for number in range(20)]
    chosen = OrderSettings(render=render, input_noun="Question", output_noun="Answer")
    assert read_order(data, chosen, Letters(), 0).contents[0] == expected


def test_ids_that_are_held_in_place_are_segments_of_their_own() -> None:
    data = [example(number, f"{number + 1}. {WORDS[number * 5 % 12]} {number * 37 % 101}") for number in range(24)]
    adapter = Exchangeability(Exchangeability.Params(neighbours=None, repairs=("permute_under_ids",), shards=3))
    shard = next(iter(adapter.adapt(data, (), Letters(), trial=0, seed=0)))
    for request in sequences(shard):
        texts = [request.segments[index] for index in request.order]
        assert [text.strip(" .") for text in texts[::2]] == [str(number + 1) for number in range(8)]
    assert len({request.order for request in sequences(shard)}) > 1
    assert shard.instance.meta["data"]["repairs"]


def test_blocks_keep_their_places() -> None:
    data = [example(number, meta={"topic": "abc"[number % 3]}) for number in range(24)]
    adapter = Exchangeability(Exchangeability.Params(repairs=({"blocks": "topic"},), shards=2))
    kinds = set()
    for one in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        kinds.add(one.instance.meta["asked"])
        if one.instance.meta["asked"] == "shard":
            for request in sequences(one):
                assert [place % 3 for place in request.order] == [place % 3 for place in sorted(request.order)]
        else:
            start, stop = one.instance.meta["start"], one.instance.meta["stop"]
            topics = [place % 3 for place in range(start, stop)]
            assert len({*zip(one.instance.meta["groups"], topics, strict=True)}) == 3  # a group for each topic
            assert (start, stop) in ((0, 12), (12, 24))  # 4!³ orders; 13 examples would have 5! 4!²
    assert kinds == {"shard", "neighbours"}


def test_candidates_for_the_next_example_share_its_topic() -> None:
    data = [example(number, meta={"topic": "abc"[number % 3]}) for number in range(24)]
    adapter = NextExample(NextExample.Params(candidates=3, repairs=({"blocks": "topic"},)))
    for one in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        requests = list(sequences(one))
        names = {instance.published + "\n": number for number, instance in enumerate(data)}
        bets = one.instance.meta["bets"]
        rest = iter(requests[len(bets["neutral"]) :])
        for _, candidates in bets["boundaries"]:
            asked_about = [
                names[request.segments[request.order[-1]]] for request in itertools.islice(rest, len(candidates))
            ]
            assert len({number % 3 for number in asked_about}) == 1


def test_blocks_need_a_key_that_there_is() -> None:
    with pytest.raises(HarnessError, match="no 'topic' for blocks"):
        asked(repairs=({"blocks": "topic"},))


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([example(number, perturbation="typos") for number in range(9)], "leave out the perturbations"),
        ([Instance(str(number), "x") for number in range(9)], "has no published text"),
        ([example(number, "same") for number in range(9)], "all examples are equal"),
        ([example(0)], "only 1 example; a test of the order needs at least 2"),
    ],
)
def test_data_without_an_order_are_refused(instances: list[Instance], message: str) -> None:
    adapter = Exchangeability(Exchangeability.Params())
    with pytest.raises(HarnessError, match=message):
        list(adapter.adapt(instances, (), Letters(), trial=0, seed=0))


@pytest.mark.parametrize(
    ("tokens", "arguments", "message"),
    [
        (Letters(counts=False), {}, "how many tokens a text has"),
        (Letters(window=None), {}, "set --context"),
        (Letters(window=100), {"context": 101}, "window is only 100"),
        (Letters(), {"shards": 30}, "shards can be 1 to 20"),
        (Letters(), {"rows": "30:50"}, "only 40 examples"),
        (Letters(), {"repairs": ("strip_ids", "permute_under_ids")}, "either strip_ids or permute_under_ids"),
        (Letters(window=20), {"neighbours": {"head": 20}}, "no room"),
    ],
)
def test_what_does_not_fit_is_said(tokens: Letters, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        asked(tokens=tokens, **arguments)


def test_missing_log_probabilities_are_an_error() -> None:
    adapter = Exchangeability(Exchangeability.Params(neighbours=None, first_look=None))
    data = [example(number) for number in range(40)]
    shard = next(iter(adapter.adapt(data, (), Letters(), trial=0, seed=0)))
    with pytest.raises(ModelError, match="no finite log-probabilities"):
        adapter.predict(shard, [Response() for _ in shard.requests])


# ---------------------------------------------------------------------------------------------------------------
# The next example


def an_order(count: int = 30, window: int = 200, texts: Sequence[str] = ()) -> PublishedOrder:
    data = [example(number, texts[number] if texts else None) for number in range(count)]
    return read_order(data, OrderSettings(), Letters(window), 0)


@given(
    count=st.integers(5, 40),
    stretch=st.integers(2, 15),
    candidates=st.none() | st.integers(2, 6),
    window=st.integers(60, 300),
)
@settings(max_examples=30, deadline=None)
def test_boundaries(count: int, stretch: int, candidates: int | None, window: int) -> None:
    order = an_order(count, window)
    chosen = NextExampleSettings(stretch=stretch, candidates=candidates, head=10)
    for adapted, bets in ask_boundaries(order, chosen, 0, 0):
        meta = adapted.instance.meta
        requests = list(sequences(adapted))
        assert len(requests) == bets.scores
        rest = iter(requests[len(bets.neutral) :])
        for boundary in bets.boundaries:
            group = list(itertools.islice(rest, len(boundary.candidates)))
            assert len(group) >= 2
            heads = [request.segments[request.order[-1]] for request in group]
            before = [group[0].segments[index] for index in group[0].order[:-1]]
            # The context is the examples just before, and the candidates are among those that remain in the stretch.
            assert before == list(order.contents[boundary.position - len(before) : boundary.position])
            assert heads[0] == order.contents[boundary.position]
            assert set(heads) <= set(order.contents[boundary.position : meta["stop"]])
            assert all(request.order[:-1] == group[0].order[:-1] for request in group)
            assert all(request.scored == 1 and request.max_scored_tokens == 10 for request in group)
            assert sum(map(len, before)) + 10 <= window or len(before) == 1
        assert next(rest, None) is None


def test_candidates_and_neutral_contexts_are_chosen_without_looking_at_the_order() -> None:
    """Given the past and what is left, exchanging two examples that are left changes no set of candidates."""
    order = an_order(24)
    texts = [text.rstrip("\n") for text in order.contents]
    position = 9
    chosen = NextExampleSettings(stretch=24, candidates=8, head=10)

    def sets(texts: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
        order = an_order(24, texts=texts)
        ((adapted, bets),) = ask_boundaries(order, chosen, 0, 0)
        requests = list(sequences(adapted))
        neutral = frozenset(request.segments[request.order[0]] for request in requests[: len(bets.neutral)])
        names = list(dict.fromkeys(request.segments[request.order[-1]] for request in requests[: len(bets.neutral)]))
        for boundary in bets.boundaries:
            if boundary.position == position:
                return frozenset(names[index] for index in boundary.candidates), neutral
        raise AssertionError

    here, neutral = sets(texts)
    for other in range(position + 1, 24):
        exchanged = [*texts]
        exchanged[position], exchanged[other] = texts[other], texts[position]
        there, same = sets(exchanged)
        assert same == neutral
        # Either both are candidates, and the set stays the same, or they are never candidates together.
        assert here == there or not here & there


def test_orders_that_read_alike_are_one_question() -> None:
    data = [example(number, f"{WORDS[number % 6]} and so on") for number in range(24)]
    adapter = Exchangeability(Exchangeability.Params(shards=2, shuffles=20, neighbours=None))
    for shard in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        read: dict[str, tuple[int, ...]] = {}
        for request in sequences(shard):
            text = "".join(request.segments[place] for place in request.order)
            assert read.setdefault(text, request.order) == request.order


def test_data_sets_of_one_length_are_shuffled_each_by_itself() -> None:
    def orders(first: int) -> list[tuple[int, ...]]:
        adapter = Exchangeability(Exchangeability.Params(neighbours=None, first_look=None))
        data = [example(number) for number in range(first, first + 40)]
        shards = adapter.adapt(data, (), Letters(), trial=0, seed=0)
        return [request.order for shard in shards for request in sequences(shard)]

    assert orders(0) != orders(40)


def test_equal_examples_are_candidates_that_tie() -> None:
    texts = [example(number).published for number in range(12)] * 2
    order = an_order(24, texts=texts)
    for adapted, bets in ask_boundaries(order, NextExampleSettings(stretch=24, head=10), 0, 0):
        scores = [float(len(request.segments[request.order[-1]])) for request in sequences(adapted)]
        found = list(bets.centred_scores(scores))
        assert found
        assert bets.examples == 12


def looked(scored: Callable[[SequenceRequest], float], count: int = 40, **arguments: Any) -> list[Adapted]:
    """Return what is asked of a model with these scores, when each answer is known as soon as it is awaited."""
    adapter = Exchangeability(Exchangeability.Params(**arguments))
    data, waiting, found = [example(number) for number in range(count)], list[Adapted](), list[Adapted]()
    for adapted in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        waiting.append(adapted)
        found.append(adapted)
        if adapted.awaited:
            for one in waiting:
                adapter.predict(one, [Response(logprobs=(scored(request),)) for request in sequences(one)])
            waiting = []
    return found


def likes_the_published_order(request: SequenceRequest) -> float:
    texts = [request.segments[place] for place in request.order]
    places = {example(number).published + "\n": number for number in range(40)}
    return 10.0 * sum(places[one] + 1 == places[two] for one, two in itertools.pairwise(texts))


def likes_nothing(request: SequenceRequest) -> float:
    return Random("".join(request.segments[place] for place in request.order)).gauss(0, 1)


def test_a_clear_first_look_is_the_only_one() -> None:
    found = looked(likes_the_published_order)
    assert {one.instance.meta.get("look") for one in found} == {1, None}
    shards = [one for one in found if one.instance.meta["asked"] == "shard"]
    assert [len(one.requests) for one in shards] == [6] * 8
    assert found[0].instance.meta["data"]["first_look"]["shuffles"] == 5


def test_a_second_look_asks_what_is_missing_and_nothing_twice() -> None:
    look = {"open": 1.0, "clear": 1e-9}
    twice = looked(likes_nothing, first_look=look)
    once = looked(likes_nothing, first_look=None)
    assert {one.instance.meta.get("look") for one in twice} == {1, 2, None}
    assert len({one.instance.id for one in twice}) == len(twice)

    def questions(all_of: Sequence[Adapted]) -> list[str]:
        return sorted(
            f"{'/'.join(request.segments[place] for place in request.order)}/{request.scored}"
            for one in all_of
            if one.instance.meta["asked"] == "shard"
            for request in sequences(one)
        )

    assert questions(twice) == questions(once)
    for kind in ("shard", "neighbours"):
        counts = [sum(len(one.requests) for one in of if one.instance.meta["asked"] == kind) for of in (twice, once)]
        assert counts[0] == counts[1]


def test_a_first_look_without_any_sign_is_the_only_one() -> None:
    """It is closed by its p-value alone: at 0.5 half of such models are asked again, at the least level none."""
    found = looked(likes_nothing, first_look={"open": 1e-6, "clear": 1e-9})
    assert {one.instance.meta.get("look") for one in found} == {1, None}


def test_neighbours_alone_may_be_clear() -> None:
    """If pairs alone show the order clearly, there is no second look at the shards."""

    def likes_pairs(request: SequenceRequest) -> float:
        return likes_nothing(request) if request.scored is None else likes_the_published_order(request)

    look = {"open": 1.0}
    assert 2 not in {one.instance.meta.get("look") for one in looked(likes_pairs, first_look=look)}
    assert 2 in {one.instance.meta.get("look") for one in looked(likes_nothing, first_look=look)}


@given(count=st.integers(9, 60), window=st.integers(60, 300))
@settings(max_examples=30, deadline=None)
def test_every_example_is_asked_about_after_each_of_its_neighbours(count: int, window: int) -> None:
    order = an_order(count, window)
    read: list[str] = []
    for adapted in ask_neighbours(order, NeighbourSettings(), 0):
        texts = order.contents[adapted.instance.meta["start"] : adapted.instance.meta["stop"]]
        assert len(texts) == 8 or adapted.instance.meta["stop"] == count
        asked_about = [tuple(request.segments[place] for place in request.order) for request in sequences(adapted)]
        assert asked_about == list(itertools.permutations(texts, 2))
        assert all(one.max_scored_tokens == min(64, window // 2) for one in sequences(adapted))
        read += texts
    assert tuple(read) == order.contents[: count if count % 8 != 1 else count - 1]  # one alone has no order


def test_numbers_that_are_held_in_place_are_not_part_of_a_pair() -> None:
    data = [example(number, f"{number + 1}. {WORDS[number * 5 % 12]} {number * 37 % 101}") for number in range(24)]
    adapter = Exchangeability(Exchangeability.Params(repairs=("permute_under_ids",)))
    found = [
        request
        for one in adapter.adapt(data, (), Letters(), trial=0, seed=0)
        if one.instance.meta["asked"] == "neighbours"
        for request in sequences(one)
    ]
    assert len(found) == 3 * 56
    assert not any(re.match(r"\d+\.", request.segments[place]) for request in found for place in request.order)


def test_a_beginning_that_all_examples_share_lengthens_the_head() -> None:
    plain, shared = (
        an_order(16, 400, [f"{start}{number} {'x' * 90}" for number in range(16)]) for start in ("", "a" * 40)
    )
    heads = [next(iter(ask_neighbours(order, NeighbourSettings(), 0))).requests[0] for order in (plain, shared)]
    assert [request.max_scored_tokens for request in heads if isinstance(request, SequenceRequest)] == [64, 104]
    short = an_order(16, 100, [f"{'a' * 40}{number}" for number in range(16)])
    assert all(
        request.max_scored_tokens == 50
        for one in ask_neighbours(short, NeighbourSettings(), 0)
        for request in sequences(one)
    )


def test_a_block_with_one_order_is_not_asked_about() -> None:
    data = [example(number, meta={"topic": f"{number % 20}"}) for number in range(40)]
    adapter = Exchangeability(Exchangeability.Params(repairs=({"blocks": "topic"},), shards=1, level=0.9))
    found = list(adapter.adapt(data, (), Letters(), trial=0, seed=0))
    described = found[0].instance.meta["data"]["neighbours"]
    asked_about = [one for one in found if one.instance.meta["asked"] == "neighbours"]
    assert len(asked_about) == described["blocks"]
    assert all(len({*one.instance.meta["groups"]}) < len(one.instance.meta["groups"]) for one in asked_about)


def test_pairs_of_equal_examples_are_one_question() -> None:
    order = an_order(16, texts=[example(number % 4).published or "" for number in range(16)])
    for adapted in ask_neighbours(order, NeighbourSettings(), 0):
        by_text: dict[tuple[str, ...], set[tuple[int, ...]]] = {}
        for request in sequences(adapted):
            assert len(set(request.order)) == 2
            by_text.setdefault(tuple(request.segments[place] for place in request.order), set()).add(request.order)
        assert all(len(orders) == 1 for (one, other), orders in by_text.items() if one != other)


def test_without_answers_a_plan_counts_both_looks() -> None:
    adapter = Exchangeability(Exchangeability.Params())
    data = [example(number) for number in range(40)]
    planned = list(adapter.adapt(data, (), Letters(), trial=0, seed=0))
    assert {one.instance.meta.get("look") for one in planned} == {1, 2, None}


@pytest.mark.parametrize("arguments", [{"shuffles": 5}, {"first_look": None}])
def test_where_one_look_asks_for_everything_there_is_no_second(arguments: dict[str, Any]) -> None:
    assert all("look" not in one.instance.meta for one in looked(likes_nothing, **arguments))


def test_the_test_stops_when_its_evidence_suffices() -> None:
    params = NextExample.Params(stretch=8, head=10, stop=True, alpha=0.01)
    adapter = NextExample(params)
    data = [example(number) for number in range(64)]
    stretches = 0
    for adapted in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        stretches += 1
        assert adapted.awaited
        first = {boundary[0]: boundary for boundary in adapted.instance.meta["bets"]["boundaries"]}
        assert first
        responses = []
        for request in sequences(adapted):
            # This model knows what comes next.
            context, head = request.segments[request.order[-2]], request.segments[request.order[-1]]
            follows = data.index(next(one for one in data if one.published + "\n" == head)) == 1 + data.index(
                next(one for one in data if one.published + "\n" == context)
            )
            responses.append(Response(logprobs=(-1.0 if follows else -9.0,)))
        adapter.predict(adapted, responses)
    assert stretches < 8


def test_the_simple_test_stops_when_enough_orders_were_as_likely() -> None:
    params = Exchangeability.Params(neighbours=None, simple={"most": 99, "h": 5})
    adapter = Exchangeability(params)
    data = [example(number) for number in range(40)]
    orders = 0
    for adapted in adapter.adapt(data, (), Letters(), trial=0, seed=0):
        if adapted.instance.meta["asked"] == "whole":
            orders += len(adapted.requests)
            assert adapted.awaited
        adapter.predict(adapted, [Response(logprobs=(-1.0,)) for _ in adapted.requests])
    assert orders == 11  # the published order, and ten others of which five would have been enough


def test_all_examples_of_a_split_are_read_in_order() -> None:
    assert Exchangeability.keeps_order
    assert NextExample.keeps_order
    assert {adapted.instance.split for adapted in asked()} == {Split.TEST}


def test_of_too_few_examples_no_model_is_asked() -> None:
    adapter = Exchangeability(Exchangeability.Params())
    (only,) = adapter.adapt([example(number) for number in range(4)], (), Letters(), trial=0, seed=0)
    assert only.requests == ()
    data = only.instance.meta["data"]
    assert data["testable"] is False
    assert "with 4 examples no p-value at the level 0.01 is possible" in data["not_testable"]
    needed = int(re.search(r"; (\d+) examples are needed", data["not_testable"])[1])  # type: ignore[index]
    first = next(iter(adapter.adapt([example(number) for number in range(needed)], (), Letters(), trial=0, seed=0)))
    assert first.requests
    assert "testable" not in first.instance.meta["data"]


@pytest.mark.parametrize(
    ("texts", "smallest"),
    [("abcde", "0.017"), ("aabcd", "0.033"), ("aaabb", "0.2"), ("abc", "0.")],  # 1/120, 2/120, 12/120, of two tests
)
def test_the_smallest_p_value_that_neighbours_can_give(texts: str, smallest: str) -> None:
    adapter = Exchangeability(Exchangeability.Params(shards=1, shuffles=1, first_look=None, level=1e-4))
    data = [example(number, text) for number, text in enumerate(texts)]
    (only,) = adapter.adapt(data, (), Letters(), trial=0, seed=0)
    expected = "1" if len(texts) < 4 else smallest
    assert f"(the smallest is {expected})" in only.instance.meta["data"]["not_testable"]


def test_more_examples_may_not_help() -> None:
    adapter = Exchangeability(Exchangeability.Params(shards=1, shuffles=10, neighbours=None, first_look=None))
    (only,) = adapter.adapt([example(number) for number in range(40)], (), Letters(), trial=0, seed=0)
    assert "(the smallest is 0.091); more shards or shuffles are needed" in only.instance.meta["data"]["not_testable"]
    looks = Exchangeability(Exchangeability.Params(shards=1, neighbours=None))
    (only,) = looks.adapt([example(number) for number in range(40)], (), Letters(), trial=0, seed=0)
    assert "(the smallest is 0.048)" in only.instance.meta["data"]["not_testable"]  # 1/26 with 0.8 of the level
    weaker = Exchangeability(Exchangeability.Params(shards=1, shuffles=10, neighbours=None, first_look=None, level=0.1))
    assert len(list(weaker.adapt([example(number) for number in range(40)], (), Letters(), trial=0, seed=0))) == 1

"""The next-example test's requests: after each prefix of a data set, the beginnings of candidates for the next example.

Under the null hypothesis, given the past and the set of remaining examples, each of these is equally likely to come
next. The candidates are a part of the remaining examples, chosen by a partition that depends on the texts alone and not
on their order, so this also holds given the candidates. Neutral contexts are chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from pydantic import BaseModel, ConfigDict, Field

from adapters._order.published_order import PublishedOrder
from harness import Adapted, HarnessError, Instance, Origin, SequenceRequest, derive_rng
from harness.contamination import Boundary, Stretch, shard_bounds

STRETCH = "next_example"
"""``meta.asked`` of the stand-in for a stretch of examples whose boundaries are tested."""

HEAD = 32
SHORT = 64
ROOM = 8
"""A head is 32 tokens, or the whole example if examples have fewer than 64 tokens on average and the context holds
eight of them."""


class NextExampleSettings(BaseModel):
    """How to draw and score the candidates for the next example."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stretch: int = Field(default=25, ge=2)
    """Approximate number of neighbouring examples to draw candidates from."""

    candidates: int | None = Field(default=8, ge=2)
    """Approximate number of candidates at a boundary, including the true next example; null: all that remain."""

    head: int | None = Field(default=None, ge=1)
    """Number of tokens of a candidate to score; null: 32, or all of them if examples are short."""

    neutral: int = Field(default=4, ge=1)
    """Number of neutral contexts for each candidate's baseline: examples drawn without regard to the order."""

    stop: bool = False
    """True to end the test as soon as the evidence reaches 1/alpha; the p-value is then 1/evidence."""

    alpha: float = Field(default=0.001, gt=0, lt=1)
    """The level for ``stop``."""


def ask_boundaries(
    order: PublishedOrder, settings: NextExampleSettings, seed: int, trial: int
) -> Iterator[tuple[Adapted, Stretch]]:
    """Yield a stand-in instance for each stretch of examples, with the meaning of its answers.

    Its requests score the heads of the stretch's examples after the neutral contexts, then at each boundary the heads
    of its candidates.

    Args:
        order: The data set.
        settings: The test's settings.
        seed: The run's seed.
        trial: The trial.

    Raises:
        HarnessError: The context is too short for an example before a head.
    """
    head, starts = _contexts(order, settings)
    n = len(order.contents)
    different = sorted(set(order.contents))
    rng = derive_rng(seed, "next-example/neutral")
    texts = rng.sample(different, min(settings.neutral + 1, len(different)))
    by_text: dict[str, int] = {}
    for place, text in enumerate(order.contents):
        by_text.setdefault(text, place)
    neutral = [by_text[text] for text in texts]
    for number, (start, stop) in enumerate(shard_bounds(n, max(1, n // settings.stretch))):
        yield _ask_stretch(order, settings, head, starts, neutral, (number, start, stop), seed, trial)


def describe(order: PublishedOrder, settings: NextExampleSettings) -> dict[str, object]:
    """Return the test's settings for the result, with the head that was chosen and the number of stretches."""
    stretches = max(1, len(order.contents) // settings.stretch)
    return {**settings.model_dump(), "head": _contexts(order, settings)[0], "stretches": stretches}


def _ask_stretch(
    order: PublishedOrder,
    settings: NextExampleSettings,
    head_tokens: int,
    starts: Sequence[int],
    neutral: Sequence[int],
    stretch: tuple[int, int, int],
    seed: int,
    trial: int,
) -> tuple[Adapted, Stretch]:
    number, start, stop = stretch
    name = f"next-example-{number + 1:03d}"
    origin = Origin(name, None, trial, role=STRETCH)
    segments, place_of, prefix_of = _segments(order, starts[start], stop, neutral)
    identity: dict[str, int] = {}
    for place in range(start, stop):
        identity.setdefault(order.contents[place], len(identity))
    requests: list[SequenceRequest] = []
    learnt: list[int] = []
    for text, example in identity.items():
        # One more context than needed is available, for examples that are themselves contexts.
        others = [place for place in neutral if order.contents[place] != text][: settings.neutral]
        head = next(place for place in range(start, stop) if order.contents[place] == text)
        for context in others:
            requests.append(SequenceRequest(segments, (place_of[context], place_of[head]), 1, head_tokens, origin))
            learnt.append(example)

    boundaries: list[Boundary] = []
    for position in range(max(start, 1), stop):
        candidates = _candidates(order, settings.candidates, position, stop, seed)
        if len(candidates) < 2:
            continue
        before = [
            segment
            for place in range(starts[position], position)
            for segment in (prefix_of.get(place), place_of[place])
            if segment is not None
        ]
        before += [] if position not in prefix_of else [prefix_of[position]]
        requests += [
            SequenceRequest(segments, (*before, place_of[place]), 1, head_tokens, origin) for place in candidates
        ]
        boundaries.append(Boundary(position, tuple(identity[order.contents[place]] for place in candidates)))
    bets = Stretch(len(identity), tuple(learnt), tuple(boundaries))
    meta = {"asked": STRETCH, "number": number, "start": start, "stop": stop, "bets": bets.as_json()}
    stand_in = Instance(name, "", split=order.split, meta=meta)
    return Adapted(stand_in, tuple(requests), trial=trial, awaited=settings.stop), bets


def _candidates(order: PublishedOrder, count: int | None, position: int, stop: int, seed: int) -> list[int]:
    """Return the positions of a boundary's candidates, the true next one first.

    The remaining examples are sorted by text, shuffled, and cut into parts of about ``count``; the part that contains
    the true next example competes.
    """
    group = order.group[position]
    left = sorted(
        (place for place in range(position, stop) if order.group[place] == group),
        key=lambda place: order.contents[place],
    )
    parts = 1 if count is None else max(1, len(left) // count)
    shuffled = derive_rng(seed, f"next-example/draw=0/{position}").sample(left, len(left))
    chosen = next(
        shuffled[begin:end] for begin, end in shard_bounds(len(left), parts) if position in shuffled[begin:end]
    )
    return [position, *(place for place in left if place in set(chosen) and place != position)]


def _segments(
    order: PublishedOrder, first: int, stop: int, neutral: Sequence[int]
) -> tuple[tuple[str, ...], dict[int, int], dict[int, int]]:
    """Return the segments of a stretch and its contexts, and the index of each position's content and prefix."""
    places = list(dict.fromkeys([*range(first, stop), *neutral]))
    place_of = {place: index for index, place in enumerate(places)}
    segments = [order.contents[place] for place in places]
    prefix_of: dict[int, int] = {}
    for place in range(first, stop):
        if order.prefixes[place]:
            prefix_of[place] = len(segments)
            segments.append(order.prefixes[place])
    return tuple(segments), place_of, prefix_of


def _contexts(order: PublishedOrder, settings: NextExampleSettings) -> tuple[int, list[int]]:
    """Return the number of scored tokens of a candidate, and the first example of each boundary's context.

    A context grows example by example until it is full, and then continues with the examples of its second half, so
    that most boundaries share the beginning of their context with the one before.
    """
    lengths = order.lengths
    head = settings.head or _head(order)
    room = order.context - head - max(order.prefix_tokens, default=0)
    if room < 1:
        raise HarnessError(
            f"head is {head} tokens, which leaves no room for a preceding example in a context of {order.context}."
        )
    ends = [0, *accumulate(lengths)]
    starts = [0]
    start = 0
    for place in range(len(lengths)):
        if ends[place + 1] - ends[start] > room:
            while start < place and (ends[place] - ends[start] > room // 2 or ends[place + 1] - ends[start] > room):
                start += 1
        starts.append(start)
    return head, starts


def _head(order: PublishedOrder) -> int:
    mean = sum(order.tokens) / len(order.tokens)
    if mean < SHORT and order.context >= ROOM * mean:
        return min(max(order.tokens), order.context // 4)
    return HEAD

"""The adapter of the exchangeability test: does a model prefer a data set's published order to shuffled ones?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pydantic import Field

from adapters._order.evidence import likelihoods
from adapters._order.looks import Answers, FirstLook, in_looks
from adapters._order.neighbours import NeighbourSettings, ask_neighbours, describe
from adapters._order.published_order import OrderSettings, PublishedOrder, read_order
from adapters._order.shards import ask_shards, shards_of, with_description
from adapters._order.testable import unless_untestable
from adapters._order.whole import WHOLE, SimpleSettings, SimpleTest, ask_whole
from harness import Adapted, Adapter, Instance, Prediction, Response, Tokenization, adapter
from harness.contamination import ORDER_TEST


@adapter(
    "exchangeability",
    title="Exchangeability test",
    short="exchangeability",
    source="Oren et al. 2023 (arXiv:2310.17623); the exact tests: docs/contamination.md",
    metrics=("contamination", "efficiency"),
    report="contamination report",
    role=ORDER_TEST,
)
class Exchangeability(Adapter):
    """The data set's examples in published order and in shuffled ones, in shards of about ten examples.

    Each shard has a stand-in instance, whose requests are the shard's orders, the published one first. Each block of
    neighbours has one too, whose requests are the ordered pairs of its examples. Each example is tokenized once, by
    itself, so that all orders of a shard have the same tokens. The metric ``contamination`` reads the answers.
    """

    asks = frozenset({"score"})
    keeps_order = True

    class Params(OrderSettings):
        """Settings of the exchangeability test."""

        shards: int | None = Field(default=None, ge=1)
        """Number of shards; null: a tenth of the examples, between 8 and 200, or more if shards would be very long."""

        shuffles: int = Field(default=25, ge=1)
        """Number of shuffled orders of each shard; with two looks, of both together."""

        first_look: FirstLook | None = FirstLook()
        """Settings of a first look with fewer orders; null for a single look. Ignored if it has no fewer orders."""

        neighbours: NeighbourSettings | None = NeighbourSettings()
        """Settings of the neighbour test; null to leave it out."""

        simple: SimpleSettings | None = None
        """Settings of the simple permutation test of the whole data set; null to leave it out."""

    def __init__(self, params: Params) -> None:
        self.params: Exchangeability.Params = params
        self._forget()

    @property
    def _look(self) -> FirstLook | None:
        look = self.params.first_look
        return None if look is None or self.params.shuffles <= look.shuffles else look

    def _forget(self) -> None:
        self._simple = SimpleTest(self.params.simple or SimpleSettings())
        self._answers = Answers()

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        params = self.params
        order = read_order(instances, params, tokenization, seed)

        look = self._look
        self._forget()

        def shards(of: PublishedOrder) -> Iterator[Adapted]:
            return ask_shards(of, shards_of(of, params.shards), params.shuffles, seed, trial)

        def pairs(of: PublishedOrder) -> Iterator[Adapted]:
            return iter(()) if params.neighbours is None else ask_neighbours(of, params.neighbours, trial)

        def tests(of: PublishedOrder) -> list[tuple[Iterator[Adapted], float]]:
            asked = [(shards(of), 1.0 if look is None else 1 - look.share)]
            if params.neighbours is not None:
                asked.append((pairs(of), 1.0))
            return asked

        if untestable := list(unless_untestable(order, tests, params.level, trial)):
            yield from untestable
            return
        bounds = shards_of(order, params.shards)
        sizes = [stop - start for start, stop in bounds]
        description = {
            **order.description,
            "shards": {"r": len(bounds), "k_min": min(sizes), "k_max": max(sizes), "shuffles": params.shuffles},
            "neighbours": params.neighbours and describe(order, params.neighbours),
            "first_look": look and look.model_dump(),
        }

        asked = (
            chain(pairs(order), shards(order))
            if look is None
            else in_looks(lambda: shards(order), pairs(order), look, self._answers)
        )
        if params.simple is not None:
            asked = chain(asked, ask_whole(order, params.simple, self._simple, seed, trial))
        for number, adapted in enumerate(asked):
            yield adapted if number else with_description(adapted, description)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the log-likelihoods, which the metric reads, and predict nothing."""
        scores = likelihoods(adapted, responses)
        self._answers.add(adapted, scores)
        if adapted.instance.meta["asked"] == WHOLE:
            self._simple.add(scores)
        return Prediction(text="")

"""The adapter of the next-example test: which example does a model expect next in the published order?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from adapters._order.boundaries import NextExampleSettings, describe
from adapters._order.evidence import Evidence, likelihoods, next_examples
from adapters._order.published_order import OrderSettings, PublishedOrder, read_order
from adapters._order.shards import with_description
from adapters._order.testable import unless_untestable
from harness import Adapted, Adapter, Instance, Prediction, Response, Tokenization, adapter


@adapter(
    "next_example",
    title="Next-example test",
    short="next example",
    source="This harness, docs/contamination.md; e-processes: Ramdas et al. 2022 (arXiv:2102.00218)",
    metrics=("contamination", "efficiency"),
    report="contamination report",
)
class NextExample(Adapter):
    """After each prefix of the data set, log-likelihoods of the beginnings of examples that may come next.

    There is one stand-in instance for each stretch of examples, from which the metric ``contamination`` reads ranks and
    evidence.
    """

    asks = frozenset({"score"})
    keeps_order = True

    class Params(OrderSettings, NextExampleSettings):
        """Settings of the next-example test."""

    def __init__(self, params: Params) -> None:
        self.params: NextExample.Params = params
        self._evidence = Evidence(params)

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        order = read_order(instances, self.params, tokenization, seed)

        def tests(of: PublishedOrder) -> list[tuple[Iterator[Adapted], float]]:
            return [(next_examples(of, self.params, Evidence(self.params), seed, trial), 1.0)]

        if untestable := list(unless_untestable(order, tests, self.params.level, trial)):
            yield from untestable
            return
        self._evidence = Evidence(self.params)
        described = False
        for adapted in next_examples(order, self.params, self._evidence, seed, trial):
            settings = {"next_example": describe(order, self.params)}
            yield adapted if described else with_description(adapted, {**order.description, **settings})
            described = True

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the log-likelihoods, which the metric reads, and predict nothing."""
        self._evidence.add(adapted, likelihoods(adapted, responses))
        return Prediction(text="")

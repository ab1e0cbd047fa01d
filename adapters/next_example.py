"""The adapter of the next-example test: which example does a model expect next in the published order?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from adapters._order.boundaries import STRETCH, NextExampleSettings, ask_boundaries, describe
from adapters._order.published_order import OrderSettings, PublishedOrder, read_order
from adapters._order.shards import with_description
from harness import Adapted, Adapter, Instance, ModelError, Prediction, Response, Tokenization, adapter
from harness.contamination import EProcess, Stretch, mean_e


@adapter(
    "next_example",
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


class Evidence:
    """The evidence so far, for a test that ends once it suffices."""

    def __init__(self, settings: NextExampleSettings) -> None:
        self._stops = settings.stop
        self._threshold = -math.log10(settings.alpha)
        self._processes = [EProcess() for _ in range(settings.draws)]
        self.suffices = False

    def add(self, adapted: Adapted, scores: Sequence[float]) -> None:
        """Bet on the boundaries of one stretch."""
        if not self._stops or adapted.instance.meta["asked"] != STRETCH:
            return
        for _, draws in Stretch.from_json(adapted.instance.meta["bets"]).centred_scores(scores):
            evidence = mean_e([process.add(draw) for process, draw in zip(self._processes, draws, strict=True)])
            self.suffices = self.suffices or evidence >= self._threshold


def next_examples(
    order: PublishedOrder, settings: NextExampleSettings, evidence: Evidence, seed: int, trial: int
) -> Iterator[Adapted]:
    """Yield the stretches' stand-ins, with ``stop`` until the evidence suffices."""
    for adapted, _ in ask_boundaries(order, settings, seed, trial):
        yield adapted
        if evidence.suffices:
            return


def likelihoods(adapted: Adapted, responses: Sequence[Response]) -> list[float]:
    """Return each request's log-likelihood in nats, the sum over its scored segments.

    Raises:
        ModelError: One is missing or not a finite number.
    """
    found = []
    for number, response in enumerate(responses):
        total = math.fsum(response.logprobs or (math.nan,))
        if not math.isfinite(total):
            raise ModelError(
                f"the model gave no finite log-probabilities for request {number} of {adapted.instance.id!r}; a test "
                "of the order needs all of them."
            )
        found.append(total)
    return found

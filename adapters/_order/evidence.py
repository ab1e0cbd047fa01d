"""Reading log-likelihoods, and the evidence of the next-example test while its answers come in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from adapters._order.boundaries import STRETCH, NextExampleSettings, ask_boundaries
from adapters._order.published_order import PublishedOrder
from harness import Adapted, ModelError, Response
from harness.contamination import EProcess, Stretch


class Evidence:
    """The evidence so far, for a test that ends once it suffices."""

    def __init__(self, settings: NextExampleSettings) -> None:
        self._stops = settings.stop
        self._threshold = -math.log10(settings.alpha)
        self._process = EProcess()
        self._stretch: Stretch | None = None
        self._scores: list[float] = []
        self._bets = 0
        self.suffices = False

    def add(self, adapted: Adapted, scores: Sequence[float]) -> None:
        """Bet on the boundaries of one stretch."""
        if not self._stops or adapted.instance.meta["asked"] != STRETCH:
            return
        for _, centred in Stretch.from_json(adapted.instance.meta["bets"]).centred_scores(scores):
            self.suffices = self.suffices or self._process.add(centred) >= self._threshold

    def add_part(self, bets: Stretch, scores: Sequence[float], part: int) -> None:
        """Bet on the boundaries of a part of a stretch, whose earlier parts have been added.

        Args:
            bets: The part.
            scores: Its scores.
            part: Its number in the stretch.
        """
        if not self._stops:
            return
        if part == 0 or self._stretch is None:
            self._stretch, self._scores, self._bets = bets, [], 0
        else:
            self._stretch = self._stretch.joined(bets)
        self._scores += scores
        every = list(self._stretch.centred_scores(self._scores))
        for _, centred in every[self._bets :]:
            self.suffices = self.suffices or self._process.add(centred) >= self._threshold
        self._bets = len(every)


def next_examples(
    order: PublishedOrder,
    settings: NextExampleSettings,
    evidence: Evidence,
    seed: int,
    trial: int,
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

"""The adapter of the option-order test: does a model prefer a question's options in their published order?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from adapters._prompt.lettered_options import LetteredOptions, lettered_question, option_letters
from harness import (
    Adapted,
    Adapter,
    HarnessError,
    Instance,
    ModelError,
    Origin,
    Prediction,
    Response,
    ScoreRequest,
    Tokenization,
    adapter,
    derive_rng,
)
from harness.contamination import OPTION_TEST, option_orders


@adapter(
    "option_order",
    title="Option-order test",
    short="option order",
    source="Ni et al. 2024 (arXiv:2409.01790), whose threshold an exact test replaces",
    metrics=("option_order", "efficiency"),
    role=OPTION_TEST,
)
class OptionOrder(Adapter):
    """Log-likelihoods of each multiple-choice question with its options in published order and in others.

    The letters stay in place and the texts move. The metric ``option_order`` reads the answers. Unlike tests of the
    rows' order, it still works if the rows were shuffled before a model read them; it does not if options have an order
    of their own.
    """

    asks = frozenset({"score"})
    needs_options = True

    class Params(LetteredOptions):
        """Settings of the option-order test; the affixes are those of the scenario's own prompts."""

        orders: int = Field(default=24, ge=2)
        """Maximum number of orders of a question's options, including the published one; four options have 24."""

    def __init__(self, params: Params) -> None:
        self.params: OptionOrder.Params = params

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        for instance in instances:
            if instance.perturbation is not None:
                raise HarnessError(
                    "a test of the published order needs unchanged questions; leave out the perturbations."
                )
            if len(instance.references) < 2:
                raise HarnessError(f"instance {instance.id!r} has no options to reorder.")
            letters = option_letters(instance, self.params)
            rng = derive_rng(seed, f"option-order/{instance.id}")
            origin = Origin(instance.id, trial=trial)
            requests = []
            for order in option_orders(len(instance.references), self.params.orders, rng):
                moved = instance.replace(references=tuple(instance.references[place] for place in order))
                requests.append(ScoreRequest("", str(lettered_question(moved, letters, self.params)), origin=origin))
            yield Adapted(instance, tuple(requests), labels=letters, trial=trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the log-likelihoods, which the metric reads, and predict nothing."""
        if any(response.logprobs is None for response in responses):
            raise ModelError("the model gave no log-probabilities, which the option-order test needs.")
        return Prediction(text="")

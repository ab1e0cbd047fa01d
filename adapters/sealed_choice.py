"""The adapter of the published-choice test: how likely are the texts of which one was published?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict

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
)


@adapter(
    "sealed_choice",
    title="Published-choice test",
    short="published choice",
    source="`harness seal`; compare STAMP (arXiv:2504.13416), whose t-test an exact test replaces",
    metrics=("sealed_choice", "efficiency"),
    if_too_long=(
        "the model did not read the whole context of these sealed texts, but it scored each text completely, so p is "
        "still exact"
    ),
)
class SealedChoice(Adapter):
    """Log-likelihoods of each item's texts after the beginning that they share, one request a text.

    The metric ``sealed_choice`` reads the answers.
    """

    asks = frozenset({"score"})

    class Params(BaseModel):
        """It has no settings."""

        model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, params: Params) -> None:
        self.params: SealedChoice.Params = params

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
                raise HarnessError("the published-choice test needs unchanged texts; leave out the perturbations.")
            if len(instance.references) < 2 or len(instance.correct) != 1:
                raise HarnessError(f"instance {instance.id!r} needs several texts, one of them published.")
            origin = Origin(instance.id, trial=trial)
            asked = [ScoreRequest(instance.input, text.text, origin=origin) for text in instance.references]
            yield Adapted(instance, tuple(asked), trial=trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the log-likelihoods, which the metric reads, and predict nothing."""
        if any(response.logprobs is None for response in responses):
            raise ModelError("the model gave no log-probabilities, which the published-choice test needs.")
        return Prediction(text="")

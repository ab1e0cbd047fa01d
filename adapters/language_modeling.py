"""Language modelling: the log-likelihood of the input itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from adapters._prompt.few_shot_adapter import origin_of
from adapters._prompt.scoring import token_logprobs
from harness import (
    Adapted,
    Adapter,
    HarnessError,
    Instance,
    Prediction,
    Response,
    ScoreRequest,
    Tokenization,
    adapter,
)


@adapter(
    "language_modeling",
    title="Language modelling",
    short="LM",
    source="Liang et al. 2022, section 7 (arXiv:2211.09110)",
)
class LanguageModeling(Adapter):
    """The input itself is scored, each token given as much of the preceding text as the window holds.

    The first token is predicted from the beginning-of-text token. HELM cuts the text into windows itself and decodes
    them again, which produces U+FFFD characters that it then strips, and loses the last tokens if the
    beginning-of-text has several tokens. Here the model gets the text unchanged.
    """

    asks = frozenset({"score"})

    class Params(BaseModel):
        """Language modelling has no settings: the model gets only the input."""

        model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, params: Params) -> None:
        self.params = params

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
            if not instance.input:
                raise HarnessError(f"instance {instance.id!r} has an empty input, which cannot be scored.")
            request = ScoreRequest("", instance.input, origin=origin_of(instance, trial))
            yield Adapted(instance=instance, requests=(request,), trial=trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Return an empty prediction; metrics read the log-probabilities, which are checked here."""
        token_logprobs(responses[0], adapted, 0)
        return Prediction(text="")

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


@adapter("language_modeling", source="Liang et al. 2022, section 7 (arXiv:2211.09110)")
class LanguageModeling(Adapter):
    """The input scored from its first token to its last, each given as much of what precedes it as the window holds.

    The first token is predicted from the beginning-of-text token. HELM cuts the text into windows itself and decodes
    them again, which brings forth U+FFFD characters that it then strips, and with a beginning-of-text of several tokens
    loses the last tokens; here the model gets the text as it is, so that nothing needs to be stripped.
    """

    asks = frozenset({"score"})

    class Params(BaseModel):
        """Language modelling has no settings: nothing but the input is put to the model."""

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
                raise HarnessError(f"instance {instance.id!r} has an empty input, of which there is nothing to score.")
            request = ScoreRequest("", instance.input, origin=origin_of(instance, trial))
            yield Adapted(instance=instance, requests=(request,), trial=trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Predict nothing; the log-probabilities, which metrics read, must be there."""
        token_logprobs(responses[0], adapted, 0)
        return Prediction(text="")

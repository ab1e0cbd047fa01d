"""The adapter of membership scores: the log-probabilities of a data set's examples, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from adapters._order.published_order import checked_rows, rows_of
from adapters._prompt.example_rendering import Rendering, rendered
from adapters._prompt.prompt_policy import ExampleFormat
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
from harness.contamination import EXAMPLE_SCORES


@adapter(
    "membership",
    title="Membership inference",
    short="membership",
    source="Shi et al. 2023 (arXiv:2310.16789), Zhang et al. 2024 (arXiv:2404.02936)",
    metrics=("membership", "efficiency"),
    report="contamination baselines",
    role=EXAMPLE_SCORES,
)
class Membership(Adapter):
    """Every example's log-likelihood, token by token, from which the metric ``membership`` computes heuristic scores.

    Scores only mean something compared with texts of the same kind that the model was not trained on: run it with
    ``role: control`` on some, then use ``harness contamination baselines``.
    """

    asks = frozenset({"score"})
    keeps_order = True

    class Params(ExampleFormat):
        """Which examples to score, in which form."""

        render: Rendering = "published"
        """``published``: verbatim; ``prompt`` and ``lettered_prompt``: in the scenario's own prompt format."""

        rows: Annotated[str | None, AfterValidator(checked_rows)] = None
        """``0:100``: only the first hundred in published order."""

        max_examples: int = Field(default=1000, ge=1)
        """Maximum number of examples, from the first."""

        moments: bool = True
        """True to also request what Min-K%++ needs; a model that cannot compute it answers with an error."""

        role: Literal["target", "control"] = "target"
        """``control``: texts that the model was not trained on, which set the thresholds."""

        copies: int | None = Field(default=None, ge=0)
        """Number of copies of the rows in the model's training text, where it is known; it changes nothing else."""

    def __init__(self, params: Params) -> None:
        self.params: Membership.Params = params

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        start, stop = rows_of(self.params.rows) if self.params.rows else (0, None)
        stop = start + self.params.max_examples if stop is None else min(stop, start + self.params.max_examples)
        for instance in islice(instances, start, stop):
            if instance.perturbation is not None:
                raise HarnessError("membership scores need unchanged examples; leave out the perturbations.")
            text = rendered(instance, self.params.render, self.params)
            shown = Instance(instance.id, text, split=instance.split, meta={"role": self.params.role})
            request = ScoreRequest(
                "", text, vocabulary_moments=self.params.moments, origin=Origin(instance.id, trial=trial)
            )
            yield Adapted(shown, (request,), trial=trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the log-probabilities, which the metric reads, and predict nothing."""
        if any(response.logprobs is None for response in responses):
            raise ModelError("the model gave no log-probabilities, which membership scores need.")
        return Prediction(text="")

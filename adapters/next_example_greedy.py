"""The adapter of the next-example test for models without log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from adapters._order.boundaries import NextExampleSettings, ask_boundaries
from adapters._order.evidence import Evidence
from adapters._order.published_order import OrderSettings, PublishedOrder, read_order
from adapters._order.shards import with_description
from adapters._order.testable import unless_untestable
from harness import (
    Adapted,
    Adapter,
    GenerateRequest,
    Instance,
    ModelError,
    Prediction,
    Prompt,
    Response,
    SequenceRequest,
    Tokenization,
    adapter,
)
from harness.contamination import COMPARED, Stretch, agreement_scores, word_starts

_UNLIMITED = 2**30
_CHARACTERS_A_TOKEN = 4


@adapter(
    "next_example_greedy",
    title="Next-example test by one-token answers",
    short="next example, greedy",
    source="This harness, docs/contamination.md; e-processes: Ramdas et al. 2022 (arXiv:2102.00218)",
    metrics=("contamination", "efficiency"),
    report="contamination report",
)
class NextExampleGreedy(Adapter):
    """Asks the model to write the next words of each candidate, one token at a time, after each prefix of the data set.

    The model is asked to continue the preceding examples, and again after each word of a candidate, by one token. A
    candidate's score is the number of answers that are the beginning of its own next word, less the same after neutral
    contexts. By default the test ends as soon as its evidence reaches 1/alpha, and its p-value is 1/evidence.
    """

    asks = frozenset({"generate"})
    keeps_order = True

    class Params(OrderSettings):
        """Settings of the next-example test by one-token answers."""

        stretch: int = Field(default=8, ge=2)
        """Approximate number of neighbouring examples that are candidates for each other."""

        preceding: int = Field(default=8, ge=1)
        """Most examples before a boundary that the model is shown."""

        words: int = Field(default=32, ge=1)
        """Most words of a candidate after which the model is asked."""

        neutral: int = Field(default=2, ge=1)
        """Number of neutral contexts for each candidate's baseline: examples drawn without regard to the order."""

        stop: bool = True
        """True to end the test as soon as the evidence reaches 1/alpha; the p-value is then 1/evidence."""

        alpha: float = Field(default=0.001, gt=0, lt=1)
        """The level for ``stop``."""

        prefill: str | None = None
        """What to say to a model that only chats, such as "Continue the file."; the text is then the beginning of its
        answer, which its server must accept. null: the model continues plain text."""

        @property
        def test(self) -> NextExampleSettings:
            """The settings of the test that is made of the answers."""
            return NextExampleSettings(
                stretch=self.stretch, contexts=1, head=1, neutral=self.neutral, stop=self.stop, alpha=self.alpha
            )

    def __init__(self, params: Params) -> None:
        self.params: NextExampleGreedy.Params = params
        self._evidence = Evidence(params.test)

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        settings = self.params.test
        order = read_order(instances, self.params, _Estimates(tokenization), seed)

        def asked(of: PublishedOrder) -> Iterator[Adapted]:
            # Contexts are counted in examples, so that no tokenizer is needed.
            n = len(of.contents)
            counted = replace(of, tokens=(1,) * n, prefix_tokens=(0,) * n, context=self.params.preceding + 1)
            return (adapted for adapted, _ in ask_boundaries(counted, settings, seed, trial))

        def tests(of: PublishedOrder) -> list[Iterator[Adapted]]:
            return [asked(of)]

        if untestable := list(unless_untestable(order, tests, self.params.level, trial)):
            yield from untestable
            return
        self._evidence = Evidence(settings)
        stretches = max(1, len(order.contents) // settings.stretch)
        described = {**self.params.model_dump(include=_SHOWN), "score": "greedy", "stretches": stretches}
        for number, adapted in enumerate(asked(order)):
            one = self._by_words(adapted)
            yield one if number else with_description(one, {**order.description, "next_example": described})
            if self._evidence.suffices:
                return

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the answers, which the metric reads, and predict nothing."""
        if any(not response.completions for response in responses):
            raise ModelError(f"the model gave no answer to a question of {adapted.instance.id!r}.")
        meta = adapted.instance.meta
        answers = [response.completions[0].text for response in responses]
        self._evidence.add(adapted, agreement_scores(Stretch.from_json(meta["bets"]), meta["rests"], answers))
        return Prediction(text="")

    def _by_words(self, adapted: Adapted) -> Adapted:
        """Return a stretch with a question after each word of each candidate in the place of its log-likelihood."""
        bets = Stretch.from_json(adapted.instance.meta["bets"])
        scored = [*bets.neutral, *(one for boundary in bets.boundaries for one in boundary.candidates)]
        rests: list[list[str]] = [[] for _ in range(bets.examples)]
        requests: list[GenerateRequest] = []
        for example, request in zip(scored, adapted.requests, strict=True):
            if not isinstance(request, SequenceRequest):
                raise TypeError(f"{type(request).__name__} is not a request of the next-example test")
            *before, candidate = (request.segments[place] for place in request.order)
            context = "".join(before)
            starts = word_starts(candidate, self.params.words)
            rests[example] = [candidate[start : start + COMPARED] for start in starts]
            requests += [self._question((context + candidate[:start]).rstrip(), request) for start in starts]
        instance = adapted.instance.replace(meta={**adapted.instance.meta, "rests": rests})
        return replace(adapted, instance=instance, requests=tuple(requests))

    def _question(self, text: str, request: SequenceRequest) -> GenerateRequest:
        said = self.params.prefill
        prompt, begun = (text, "") if said is None else (said, text)
        return GenerateRequest(prompt, max_tokens=1, prefill=begun, origin=request.origin)


_SHOWN = {"stretch", "preceding", "words", "neutral", "stop", "alpha", "prefill"}


class _Estimates:
    """A tokenization that may know nothing: then four characters count as a token, for the size of the data.

    Args:
        known: What the model knows.
    """

    window = _UNLIMITED

    def __init__(self, known: Tokenization) -> None:
        self._known = known
        self.chat, self.tools = known.chat, known.tools

    def most_generated(self, max_tokens: int) -> int:
        return self._known.most_generated(max_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        return self._known.count_tokens(prompt)

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        counts = self._known.count_segments(segments)
        return [-(-len(one) // _CHARACTERS_A_TOKEN) for one in segments] if counts is None else counts

    def truncate(self, text: str, tokens: int) -> str:
        return self._known.truncate(text, tokens)

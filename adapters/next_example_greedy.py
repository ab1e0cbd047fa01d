"""The adapter of the next-example test for models without log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

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
    HarnessError,
    Instance,
    ModelError,
    Prediction,
    Prompt,
    Request,
    Response,
    SequenceRequest,
    Tokenization,
    adapter,
)
from harness.contamination import (
    COMPARED,
    GENERATED_ORDER_TEST,
    PIECE,
    PIECE_TOKENS,
    Stretch,
    agreement_scores,
    piece_starts,
    token_starts,
)

_AT_ONCE = 4
"""Boundaries to ask about before checking whether the evidence suffices."""
_UNLIMITED = 2**30
_CHARACTERS_A_TOKEN = 4


@adapter(
    "next_example_greedy",
    title="Next-example test by one-token answers",
    short="next example, greedy",
    source="This harness, docs/contamination.md; e-processes: Ramdas et al. 2022 (arXiv:2102.00218)",
    metrics=("contamination", "efficiency"),
    report="contamination report",
    role=GENERATED_ORDER_TEST,
)
class NextExampleGreedy(Adapter):
    """Asks the model to predict the tokens of each candidate for the next example, after each prefix of the data set.

    The model is asked to continue the preceding examples, and again after each of a candidate's first tokens, by one
    token. A candidate's score is the number of answers that are its own next token, less the same after neutral
    contexts. Where the model's tokens are unknown, it is asked after every fourth character for a few tokens. By
    default the test ends as soon as its evidence reaches 1/alpha, and its p-value is 1/evidence.
    """

    asks = frozenset({"generate"})
    keeps_order = True

    class Params(OrderSettings):
        """Settings of the next-example test by one-token answers."""

        stretch: int = Field(default=25, ge=2)
        """Approximate number of neighbouring examples to draw candidates from."""

        candidates: int | None = Field(default=8, ge=2)
        """Approximate number of candidates at a boundary, including the true next example; null: all that remain."""

        preceding: int = Field(default=1, ge=1)
        """Most examples before a boundary that the model is shown; more cost more, and find weak memory less often."""

        tokens: int = Field(default=32, ge=1)
        """Number of tokens of a candidate to predict, or of pieces of four characters if tokens are unknown."""

        cut: Literal["auto", "tokens", "characters"] = "auto"
        """Where the model is asked: ``tokens``, before each of its tokens; ``characters``, before every fourth
        character; ``auto``, ``tokens`` if the model's tokenizer is known."""

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
                stretch=self.stretch,
                candidates=self.candidates,
                head=1,
                neutral=self.neutral,
                stop=self.stop,
                alpha=self.alpha,
            )

    def __init__(self, params: Params) -> None:
        self.params: NextExampleGreedy.Params = params
        self._evidence = Evidence(params.test)
        self._starts: dict[str, list[int]] = {}

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
        if self.params.prefill is None and not tokenization.continues:
            raise HarnessError(
                "the model only answers messages, but this test needs a model that continues a text. If it can "
                "continue the beginning of its own answer, set --prefill (in a sweep: prefill) to a request such as "
                '"Continue the file."; otherwise this model cannot be tested.'
            )
        by_tokens = self._by_tokens(tokenization)
        order = read_order(instances, self.params, _Estimates(tokenization), seed)

        def asked(of: PublishedOrder) -> Iterator[Adapted]:
            # Contexts are counted in examples, so that no tokenizer is needed.
            n = len(of.contents)
            counted = replace(of, tokens=(1,) * n, prefix_tokens=(0,) * n, context=self.params.preceding + 1)
            return (adapted for adapted, _ in ask_boundaries(counted, settings, seed, trial))

        def tests(of: PublishedOrder) -> list[tuple[Iterator[Adapted], float]]:
            return [(asked(of), 1.0)]

        if untestable := list(unless_untestable(order, tests, self.params.level, trial)):
            yield from untestable
            return
        self._evidence = Evidence(settings)
        stretches = max(1, len(order.contents) // settings.stretch)
        described = {**self.params.model_dump(include=_SHOWN), "stretches": stretches}
        described |= {"score": "greedy", "cut": "tokens" if by_tokens else "characters"}
        known = tokenization if by_tokens else None
        parts = (part for adapted in asked(order) for part in self._parts(adapted, known))
        for number, part in enumerate(parts):
            yield part if number else with_description(part, {**order.description, "next_example": described})
            if self._evidence.suffices:
                return

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Check the answers, which the metric reads, and predict nothing."""
        if any(not response.completions for response in responses):
            raise ModelError(f"the model gave no answer to a question of {adapted.instance.id!r}.")
        meta = adapted.instance.meta
        answers = [response.completions[0].text for response in responses]
        bets = Stretch.from_json(meta["bets"])
        self._evidence.add_part(bets, agreement_scores(bets, meta["rests"], answers, meta["piece"]), meta["part"])
        return Prediction(text="")

    def _by_tokens(self, tokenization: Tokenization) -> bool:
        if self.params.cut == "characters":
            return False
        known = tokenization.count_segments(["a"]) is not None
        if self.params.cut == "tokens" and not known:
            raise HarnessError(
                "cut is tokens, but the model's tokens are unknown. Name its tokenizer in the model's entry "
                "(`tokenizer`), or use cut: characters."
            )
        return known

    def _parts(self, adapted: Adapted, tokenization: Tokenization | None) -> Iterator[Adapted]:
        """Yield a stretch in parts of a few boundaries, with questions in the place of log-likelihoods.

        The first part also has the neutral contexts. If the test may stop, it can do so after each part.
        """
        whole = Stretch.from_json(adapted.instance.meta["bets"])
        requests = iter(adapted.requests)
        parts = whole.parts(_AT_ONCE) if self.params.stop else [whole]
        for number, bets in enumerate(parts):
            rests: list[list[str]] = [[] for _ in range(bets.examples)]
            asked: list[GenerateRequest] = []
            scored = [*bets.neutral, *(one for boundary in bets.boundaries for one in boundary.candidates)]
            for example, request in zip(scored, requests, strict=False):
                asked += self._questions(request, tokenization, rests, example)
            piece = None if tokenization is not None else PIECE
            meta = {**adapted.instance.meta, "bets": bets.as_json(), "rests": rests, "piece": piece}
            meta |= {"part": number, "parts": len(parts)}
            name = f"{adapted.instance.id}-{number + 1:02d}" if number else adapted.instance.id
            yield replace(adapted, instance=adapted.instance.replace(id=name, meta=meta), requests=tuple(asked))

    def _questions(
        self, request: Request, tokenization: Tokenization | None, rests: list[list[str]], example: int
    ) -> list[GenerateRequest]:
        """Return the questions about a candidate after a context, and note what follows each of them."""
        if not isinstance(request, SequenceRequest):
            raise TypeError(f"{type(request).__name__} is not a request of the next-example test")
        *before, candidate = (request.segments[place] for place in request.order)
        context, cuts = "".join(before), self._cuts(candidate, tokenization)
        rests[example] = [candidate[cut : cut + COMPARED] for cut in cuts]
        return [self._question(context + candidate[:cut], tokenization is None, request) for cut in cuts]

    def _cuts(self, candidate: str, tokenization: Tokenization | None) -> list[int]:
        """Return where the model is asked about a candidate, which competes at several boundaries."""
        if candidate not in self._starts:
            most = self.params.tokens
            self._starts[candidate] = (
                piece_starts(candidate, most)
                if tokenization is None
                else token_starts(candidate, most, tokenization.truncate)
            )
        return self._starts[candidate]

    def _question(self, text: str, by_pieces: bool, request: SequenceRequest) -> GenerateRequest:
        said, tokens = self.params.prefill, PIECE_TOKENS if by_pieces else 1
        if said is None:
            return GenerateRequest(text, max_tokens=tokens, origin=request.origin)
        # Servers refuse an answer that begins with a text that ends with whitespace.
        return GenerateRequest(said, max_tokens=tokens, prefill=text.rstrip(), origin=request.origin)


_SHOWN = {"stretch", "candidates", "preceding", "tokens", "neutral", "stop", "alpha", "prefill"}


class _Estimates:
    """A tokenization that may know nothing: then four characters count as a token, for the size of the data.

    Args:
        known: What the model knows.
    """

    window = _UNLIMITED

    def __init__(self, known: Tokenization) -> None:
        self._known = known
        self.chat, self.tools, self.continues = known.chat, known.tools, known.continues

    def most_generated(self, max_tokens: int) -> int:
        return self._known.most_generated(max_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        return self._known.count_tokens(prompt)

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        counts = self._known.count_segments(segments)
        return [-(-len(one) // _CHARACTERS_A_TOKEN) for one in segments] if counts is None else counts

    def truncate(self, text: str, tokens: int) -> str:
        return self._known.truncate(text, tokens)

"""Several turns: the user's turns are asked one after the other, with the model's own answers in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from adapters._prompt.conversations import read_turns, with_answer
from adapters.conversation import Conversation, ConversationSettings
from harness import Adapted, GenerateRequest, Instance, Prediction, Response, Tokenization, adapter


@adapter(
    "multi_turn",
    title="Multi-turn conversation",
    short="multi-turn",
    source="Zheng et al. 2023, MT-Bench (arXiv:2306.05685)",
)
class MultiTurn(Conversation):
    """The user's turns in ``meta.turns``, each asked after the model has answered the one before.

    The first turn is the input. The prediction is the answer to the last turn; ``Example.turns`` has all of them.
    Conversations go on independently of each other. ``meta.messages`` may hold turns that precede the first.

    A conversation ends with a turn that the model answers with nothing, or with a call of a tool; the prediction is
    then empty, as the last turn has no answer. One that declines a turn is counted as declined.
    """

    class Params(ConversationSettings):
        """Settings of conversations in several turns."""

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        first = super().adapt(instances, train, tokenization, trial=trial, seed=seed)
        return (replace(adapted, follow_ups=len(read_turns(adapted.instance)) - 1) for adapted in first)

    def follow_up(self, adapted: Adapted, responses: Sequence[Response]) -> Adapted | None:
        turns, asked = read_turns(adapted.instance), len(responses)
        request, completions = adapted.requests[-1], responses[-1].completions
        if asked == len(turns) or not isinstance(request, GenerateRequest) or isinstance(request.prompt, str):
            return None
        if not completions or not completions[0].text or completions[0].tool_calls:
            return None
        following = replace(
            request,
            prompt=with_answer(request.prompt, request.prefill + completions[0].text, turns[asked]),
            seed=0,  # the engine's choice, for each turn another
            origin=None if request.origin is None else replace(request.origin, turn=asked),
        )
        left = len(turns) - asked - 1
        return replace(adapted, requests=(*adapted.requests, following), follow_ups=left)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        answered = super().predict(adapted, responses)
        if len(responses) == len(read_turns(adapted.instance)):
            return answered
        return Prediction("", unread=self.params.answer is not None, readings=dict.fromkeys(self.params.answer or ()))

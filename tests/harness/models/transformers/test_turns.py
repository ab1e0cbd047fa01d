"""Turns that follow an answer, in batches with the first turns of others, as one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from adapters.multi_turn import MultiTurn
from harness import Adapted, Instance, Request, Response
from harness.inference.caching_model import CachingModel
from harness.inference.prompt_thread import Ask
from harness.inference.scheduler import Scheduler
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.devices import DEVICE

COUNT = 12


class Talks:
    """Asks conversations of two turns."""

    def __init__(self, adapter: MultiTurn, model: HuggingFaceModel) -> None:
        self._adapter, self._model = adapter, model
        self.asks: list[Ask] = []
        self.error: BaseException | None = None

    def prepare(self) -> Iterator[Ask]:
        instances = [
            Instance(f"{n}", f"the people {n}", meta={"turns": [f"the people {n}", "and?"]}) for n in range(COUNT)
        ]
        for adapted in self._adapter.adapt(instances, [], self._model, trial=0, seed=0):
            yield Ask(adapted, list(adapted.requests))

    def begin(self) -> None: ...

    def answered(self, ask: Ask, response: Response) -> None: ...

    def follow_up(self, ask: Ask) -> list[Request]:
        further = self._adapter.follow_up(ask.adapted, ask.answers)
        if further is None:
            return []
        asked, ask.adapted = len(ask.adapted.requests), further
        return list(further.requests[asked:])

    def complete(self, ask: Ask) -> None:
        self.asks.append(ask)

    def end(self, error: BaseException | None) -> None:
        self.error = error


class NoMeter:
    """Measures nothing."""

    def working(self) -> None: ...

    def leave_out(self, seconds: float) -> None: ...

    def idle(self) -> None: ...


def test_turns_are_answered_in_batches_as_one_by_one(tiny_checkpoint: Callable[..., Path]) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama", chat=True)), device=DEVICE)
    talks = Talks(MultiTurn(MultiTurn.Params(max_tokens=6)), model)
    list(Scheduler(CachingModel(model, "hf:tiny", None), [talks], NoMeter()).run())
    assert talks.error is None
    assert [ask.adapted.instance.id for ask in talks.asks] == [f"{n}" for n in range(COUNT)]
    for ask in talks.asks:
        assert isinstance(ask.adapted, Adapted)
        texts = [response.completions[0].text for response in ask.answers]
        assert len(texts) == 2 or not texts[0]
        for request, text in zip(ask.requests, texts, strict=True):
            ((_, alone),) = model.answer([request])
            assert alone.completions[0].text == text
    model.close()

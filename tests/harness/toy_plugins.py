"""One plugin of each kind, so that sweeps are tested apart from the scenarios and methods that are built in."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness import (
    Adapted,
    Adapter,
    Example,
    Instance,
    Model,
    Prediction,
    Request,
    Response,
    Source,
    Tokenization,
    adapter,
    backend,
    metric,
    perturbation,
    scenario,
)

TAXONOMY = dict.fromkeys(("task", "what", "who", "when", "language"), "toy")


@scenario(
    "exam",
    title="Exam",
    source="none",
    data=Source(),
    adapter={"method": "ask", "max_tokens": 1, "input_noun": "Question"},
    metrics=["both"],
    main_metric="right",
    taxonomy=TAXONOMY,
)
def exam(data: object, *, subject: Literal["anatomy", "virology", "law"], year: int = 2020) -> Iterator[Instance]:
    """Questions on a subject."""
    yield from ()


def _chat_adapter(style: str, codes: tuple[str, ...]) -> Mapping[str, Any]:
    return {"method": "ask", "max_tokens": 100 if style == "long" else 10}


@scenario(
    "chat",
    title="Chat",
    source="none",
    data=Source(),
    adapter=_chat_adapter,
    metrics=["length"],
    main_metric="right",
    taxonomy=TAXONOMY,
)
def chat(data: object, *, style: str = "short", codes: tuple[str, ...] = ()) -> Iterator[Instance]:
    """A chat."""
    yield from ()


class _Toy(Adapter):
    def __init__(self, params: BaseModel) -> None:
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
        yield from ()

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        return Prediction("")


@adapter("ask", source="none")
class Ask(_Toy):
    """Ask for text."""

    asks: ClassVar[frozenset[str]] = frozenset({"generate"})

    class Params(BaseModel):
        """Settings."""

        model_config = ConfigDict(frozen=True, extra="forbid")

        input_noun: str | None = Field(default=None, exclude=True)
        input_prefix: str = "Input: "
        max_tokens: int = Field(default=5, ge=1)
        max_train_instances: int = Field(default=5, ge=0)
        train_trials: int = Field(default=1, ge=1)
        temperature: float = 0.0
        num_outputs: int = 1
        stop: tuple[str, ...] = ("\n",)

        def __init__(self, **settings: Any) -> None:
            if isinstance(noun := settings.pop("input_noun", None), str):
                settings.setdefault("input_prefix", f"{noun}: ")
            super().__init__(**settings)


@adapter("weigh", source="none", metrics=["length"])
class Weigh(_Toy):
    """A method with a metric of its own."""

    asks: ClassVar[frozenset[str]] = frozenset({"score"})

    class Params(BaseModel):
        """No settings."""

        model_config = ConfigDict(frozen=True, extra="forbid")


@adapter("compare", source="none")
class Compare(_Toy):
    """Compare the references."""

    asks: ClassVar[frozenset[str]] = frozenset({"score"})

    class Params(BaseModel):
        """Settings."""

        model_config = ConfigDict(frozen=True, extra="forbid")

        max_tokens: int = 0
        calibrated: bool = False


@adapter("quiz", source="none")
class Quiz(_Toy):
    """Ask on a topic, which has no default."""

    asks: ClassVar[frozenset[str]] = frozenset({"generate"})

    class Params(BaseModel):
        """Settings."""

        model_config = ConfigDict(frozen=True, extra="ignore")

        topic: str


@metric("right", category="accuracy", source="none")
def right(example: Example) -> float:
    """Whether it is right."""
    return 1.0


@metric("length", category="efficiency", source="none")
def length(example: Example, *, unit: Literal["words", "bytes"] = "words") -> float:
    """How long it is."""
    return 1.0


@metric("ranks", category="accuracy", source="none", gives=("RR@*", "NDCG@*"))
def ranks(example: Example) -> dict[str, float]:
    """How high it is."""
    return {"RR@10": 1.0}


@metric("untold", category="accuracy", source="none")
def untold(example: Example) -> dict[str, float]:
    """It does not say what it gives."""
    return {"anything": 1.0}


@perturbation("loud", source="none")
def loud(instance: Instance, rng: random.Random) -> Instance:
    """Capitals."""
    return instance


@perturbation("typos", source="none")
def typos(instance: Instance, rng: random.Random, *, prob: float = 0.1) -> Instance:
    """Typos."""
    return instance


class _Model(Model):
    def __init__(
        self, identifier: str, *, dtype: Literal["float32", "bfloat16"] = "float32", revision: str = ""
    ) -> None:
        self.identifier = identifier

    def fingerprint(self) -> Mapping[str, Any]:
        return {}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        yield from ()


@backend("hf", source="none")
class Checkpoint(_Model):
    """Answers everything."""

    answers: ClassVar[frozenset[str]] = frozenset({"generate", "score"})


@backend("talker", source="none")
class Talker(_Model):
    """Only talks."""

    answers: ClassVar[frozenset[str]] = frozenset({"generate"})

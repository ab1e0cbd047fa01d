"""The graphics cards of each head: how they are divided, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError
from harness.executors.layout import joiner, lay_out, opener
from harness.inference.replicated_model import ReplicatedModel
from harness.plugins.registry import Registry
from tests.harness.runs.test_runner import folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures

SMALL, LARGE, SERVED = "hf:small", "vllm:large", "openai:served"


def runs(*models: tuple[str, Any]) -> list[RunSpec]:
    """Return two runs with each model, which is given with its resources."""
    return [
        spec(name, operational={} if asked is None else {"resources": asked}, seed=seed)
        for name, asked in models
        for seed in (0, 1)
    ]


ONE, FOUR, AUTO = {"gpus": 1}, {"gpus": 4}, {"gpus": 1, "replicas": "auto"}


@pytest.mark.parametrize(
    ("models", "cards", "heads", "expected"),
    [
        # without a number of heads
        ([(SMALL, None)], "", None, [""]),
        ([(SMALL, None)], "0123", None, [""]),  # it may have `devices: 4`
        ([(SMALL, ONE)], "01", None, ["0", "1"]),
        ([(SMALL, ONE)], "0123", None, ["01", "23"]),  # there are two runs
        ([(SMALL, ONE), (LARGE, FOUR)], "01234567", None, ["0123", "4567"]),
        ([(SMALL, ONE), (LARGE, None)], "01234567", None, [""]),
        ([(SMALL, ONE), (SERVED, None)], "01", None, ["0", "1"]),
        ([(SERVED, None)], "01", None, [""]),
        ([(SMALL, AUTO)], "0123", None, [""]),  # its replicas have all of them
        ([(SMALL, AUTO), (LARGE, AUTO)], "0123", None, ["01", "23"]),
        ([(SMALL, {"gpus": 1, "replicas": 2}), (LARGE, ONE)], "012345", None, ["012", "345"]),
        # with one
        ([(SMALL, None), (LARGE, None)], "", 3, ["", "", ""]),
        ([(SMALL, None)], "", 3, ["", ""]),
        ([], "01", 3, [""]),
        ([(SMALL, None)], "0123", 2, ["01", "23"]),
        ([(SMALL, None)], "0", 2, ["", ""]),  # they share it
        ([(SMALL, ONE)], "0123", 2, ["01", "23"]),
        ([(SMALL, {"gpus": 0})], "0123", 2, ["", ""]),
        ([(SERVED, None)], "0123", 2, ["", ""]),
        ([(LARGE, FOUR)], "0123", 1, [""]),
    ],
)
def test_cards_are_divided_among_heads(
    registry: Registry, models: list[tuple[str, Any]], cards: str, heads: int | None, expected: list[str]
) -> None:
    found = lay_out(runs(*models), registry, list(cards), heads)
    assert ["".join(own or ()) for own in found] == expected


@pytest.mark.parametrize(
    ("asked", "cards", "heads", "said"),
    [
        (FOUR, "01", None, "vllm:large needs 4 GPUs (`resources`), but this machine has 2."),
        (ONE, "", 2, "vllm:large needs 1 GPU (`resources`), but this machine has 0."),
        (
            {"gpus": 2, "replicas": 3},
            "01",
            None,
            "needs 2 GPUs for each of 3 replicas (`resources`), but this machine has 2.",
        ),
        (FOUR, "0123456", 2, "2 heads need 4 GPUs each for the sweep's models, 8 together, but this machine has 7."),
    ],
)
def test_more_cards_than_there_are_are_refused(
    registry: Registry, asked: Any, cards: str, heads: int | None, said: str
) -> None:
    with pytest.raises(HarnessError) as caught:
        lay_out(runs((LARGE, asked)), registry, list(cards), heads)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "cards", "replicas"),
    [
        (None, "01", 0),
        ({"replicas": 1}, "01", 0),
        ({"gpus": 1}, "01", 0),
        ({"replicas": 3}, "", 3),
        ({"replicas": "auto"}, "", 0),
        ({"gpus": 2, "replicas": "auto"}, "0123", 2),
        ({"gpus": 2, "replicas": "auto"}, "01", 0),
    ],
)
def test_models_are_opened_in_as_many_replicas_as_the_sweep_asks_for(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, asked: Any, cards: str, replicas: int
) -> None:
    for module in ("harness.executors.layout", "harness.inference.replicated_model"):
        monkeypatch.setattr(f"{module}.visible_devices", lambda: list(cards))
    (one, _) = runs(("fake:0", asked))
    large = one.model_copy(update={"max_eval_instances": 100_000})
    model = opener([large], [])(one.configured_model, registry)
    try:
        assert isinstance(model, ReplicatedModel) is (replicas > 0)
        if isinstance(model, ReplicatedModel):
            assert len(model.pool._places) == replicas
    finally:
        model.close()


@pytest.mark.parametrize(
    ("model", "instances", "others", "joined"),
    [
        (SMALL, 1_000, 1, False),  # 2 runs of 50 s, half of which are not worth 60 s of loading
        (SMALL, 2_000, 1, True),
        (SMALL, 2_000, 3, False),
        (SERVED, 10, 5, True),  # nothing is loaded
    ],
)
def test_a_process_joins_where_its_share_is_worth_the_loading(
    registry: Registry, model: str, instances: int, others: int, joined: bool
) -> None:
    left = [one.model_copy(update={"max_eval_instances": instances}) for one in runs((model, None))]
    assert joiner(registry)(left, others) is joined
    assert not joiner(registry)([], others)


@pytest.mark.parametrize(("instances", "replicas"), [(10, 0), (2_500, 2), (100_000, 8)])
def test_replicas_are_made_as_far_as_they_are_worth_their_loading(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, instances: int, replicas: int
) -> None:
    for module in ("harness.executors.layout", "harness.inference.replicated_model"):
        monkeypatch.setattr(f"{module}.visible_devices", lambda: list("01234567"))
    (one, _) = runs(("fake:0", AUTO))
    model = opener([one.model_copy(update={"max_eval_instances": instances})], [])(one.configured_model, registry)
    assert (len(model.pool._places) if isinstance(model, ReplicatedModel) else 0) == replicas
    model.close()

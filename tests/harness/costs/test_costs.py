"""What a run took, by hand; what is not known is left out."""

from __future__ import annotations

from harness.costs.costs import costs
from harness.costs.usage import Usage


def test_by_hand() -> None:
    usage = Usage(queries=8, cached=2, prompt_tokens=900, completion_tokens=100, computed_tokens=600, model_seconds=4.0)
    assert costs(usage, {"parameters": 1_000_000, "architecture": "gpt2"}) == {
        "queries": 8,
        "cached_queries": 2,
        "prompt_tokens": 900,
        "completion_tokens": 100,
        "computed_tokens": 600,
        "model_seconds": 4.0,
        "cached_share": 0.25,
        "tokens_per_second": 25.0,
        "model_flops": 2_000_000_000,
    }


def test_what_is_not_known_is_left_out() -> None:
    plain = {"queries", "cached_queries", "prompt_tokens", "completion_tokens", "computed_tokens", "model_seconds"}
    assert set(costs(Usage(), {})) == plain
    assert set(costs(Usage(queries=1, prompt_tokens=5), {"parameters": 0})) == plain | {"cached_share"}


def test_energy_is_told_only_where_something_was_asked() -> None:
    assert costs(Usage(queries=2, cached=1), {}, energy={"gpu": 3.0})["energy_joules"] == {"gpu": 3.0}
    assert "energy_joules" not in costs(Usage(queries=2, cached=2), {}, energy={"gpu": 3.0})
    assert "energy_joules" not in costs(Usage(queries=2), {}, energy={})

"""Prices by hand, whose table counts, and what is wrong with one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import Completion, GenerateRequest, Response
from harness.costs.costs import costs
from harness.costs.prices import Price, load_prices
from harness.costs.usage import Usage
from harness.errors import SpecError

OWN = """
currency: EUR
models:
  "openai:gpt-4o": {prompt: 1, completion: 2}
  "hf:./big-*": {prompt: 0, completion: 0.5}
"""


def test_a_million_tokens_by_hand() -> None:
    assert Price("USD", 2.5, 10.0).of(2_000_000, 100_000) == pytest.approx(6.0)


def test_the_users_table_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(OWN, encoding="utf-8")
    table = load_prices(file)
    assert table.price("openai:gpt-4o") == Price("EUR", 1.0, 2.0)
    assert table.price("hf:./big-one") == Price("EUR", 0.0, 0.5)
    assert table.price("hf:./small") is None
    assert table.price("openai:gpt-4o-mini") == load_prices().price("openai:gpt-4o-mini")


def test_batches_cost_their_share_of_the_price(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(OWN.replace("completion: 2}", "completion: 2, reasoning: 4, batch: 0.25}"), encoding="utf-8")
    table = load_prices(file)
    cheaper = table.price("openai:gpt-4o")
    assert cheaper is not None
    assert cheaper.of_batches() == Price("EUR", 0.25, 0.5, 1.0)
    whole = table.price("hf:./big-one")
    assert whole is not None
    assert whole.of_batches() == whole


def test_answers_of_batches_are_counted_at_their_price_and_others_at_theirs() -> None:
    usage, request = Usage(), GenerateRequest("a", 10)
    answer = Response((Completion("b", reasoning_tokens=100_000),), prompt_tokens=1_000_000, completion_tokens=500_000)
    usage.add(request, answer)
    usage.add(request, replace(answer, batched=True, cached=True))
    known = costs(usage, {}, Price("USD", 2.0, 10.0, 20.0, batch=0.5))
    assert known["batched_queries"] == 1
    assert known["money"] == pytest.approx(1.5 * (2.0 + 4.0 + 2.0))
    assert known["reasoning_money"] == pytest.approx(1.5 * 2.0)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai:gpt-4o-mini-2024-07-18", Price("USD", 0.15, 0.6, batch=0.5)),
        ("anthropic:claude-haiku-4-5-20251001", Price("USD", 1.0, 5.0, batch=0.5)),
        ("anthropic:claude-opus-5-5", Price("USD", 4.0, 20.0, batch=0.5)),
        ("anthropic:claude-opus-5", Price("USD", 5.0, 25.0, batch=0.5)),
    ],
)
def test_prices_that_come_with_the_harness(model: str, price: Price) -> None:
    assert load_prices().price(model) == price


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-4o-mini-realtime-preview",  # 0.60 and 2.40, whatever gpt-4o-mini costs
        "anthropic:claude-haiku-5-5",  # by the length of the prompt
        "anthropic:claude-opus-5-50",
    ],
)
def test_no_price_is_taken_from_a_model_that_is_named_alike(model: str) -> None:
    assert load_prices().price(model) is None


def test_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "currency: dollars\nmodels:\n  a: {prompt: -1, completion: 2}\n  b: {prompt: 1}\n", encoding="utf-8"
    )
    with pytest.raises(SpecError) as caught:
        load_prices(file)
    assert [(mistake.line, mistake.path) for mistake in caught.value.diagnostics] == [
        (1, "currency"),
        (3, "models.a.prompt"),
        (4, "models.b.completion"),
    ]


def test_a_run_says_what_it_costs() -> None:
    usage = Usage(queries=2, prompt_tokens=1_000_000, completion_tokens=500_000)
    known = costs(usage, {}, Price("USD", 0.15, 0.6))
    assert (known["money"], known["currency"]) == (pytest.approx(0.45), "USD")
    assert "money" not in costs(usage, {}, None)

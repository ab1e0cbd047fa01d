"""Results in the ``model-index`` of a model's card, in which others have results."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from harness.publishing.model_index import UneditableCardError, merged_card

SOURCE = "https://hub.example/datasets/ada/evals"

CARD = """\
---
license: mit   # a comment
model-index:
- name: tiny
  results:
  - task: {type: text-generation}   # of somebody else
    dataset:
      type: made-up/quiz
      name: "Quiz"
      revision: 0123
    metrics:
    - type: exact_match
      value: 0.50
      verified: true

  - task:
      type: text-generation
    dataset: {type: other, name: Other}
    metrics: [{type: acc, value: 1}]
    source: {url: 'https://elsewhere.example', name: x}
# the end
tags:
- a
---
# Tiny

model-index: not this
"""


def result(value: float, metric: str = "exact_match", dataset: str = "made-up/quiz", run: str = "1") -> dict[str, Any]:
    return {
        "task": {"type": "text-generation"},
        "dataset": {"type": dataset, "name": "Quiz"},
        "metrics": [{"type": metric, "value": value, "args": {"run": run, "method": "generation"}}],
        "source": {"url": SOURCE, "name": "Evaluation results"},
    }


def index(card: str | None) -> list[dict[str, Any]]:
    assert card is not None
    found: list[dict[str, Any]] = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    return found


def test_others_results_stay_as_they_are_written() -> None:
    merged = merged_card(CARD, [result(0.25)])
    assert merged is not None
    assert [line for line in merged.splitlines() if line not in CARD.splitlines()] != []
    kept = iter(merged.splitlines())
    assert all(line in kept for line in CARD.splitlines())  # all of them, in the same order
    assert index(merged) == [*index(CARD), result(0.25)]


def test_a_later_value_replaces_the_earlier_one_and_a_repetition_changes_nothing() -> None:
    first = merged_card(CARD, [result(0.25), result(0.75, dataset="another")])
    assert first is not None
    assert merged_card(first, [result(0.25)]) == first
    second = merged_card(first, [result(0.5)])
    assert index(second) == [*index(CARD), result(0.5), result(0.75, dataset="another")]


def test_comments_between_results_stay_where_they_are() -> None:
    card = merged_card(CARD, [result(0.25)])
    assert card is not None
    theirs = [
        "  # Measured by hand, by Ada",
        "",
        "    # on her own machine",
        "  - task: {type: text-generation}",
        "    dataset: {type: more, name: More}",
        "    metrics: [{type: f1, value: 0.7}]",
    ]
    lines = card.splitlines()
    end = lines.index("# the end")
    card = "\n".join([*lines[:end], *theirs, *lines[end:], ""])
    merged = merged_card(card, [result(0.75)])
    assert merged is not None
    assert merged.splitlines() == [line.replace("0.25", "0.75") for line in card.splitlines()]
    added = merged_card(card, [result(0.75, dataset="another")])
    assert added is not None
    kept = iter(added.splitlines())
    assert all(line in kept for line in card.splitlines())


@pytest.mark.parametrize("other", [result(0.1, metric="f1"), result(0.1, run="2")])
def test_another_metric_or_setup_is_added_to_the_same_result(other: dict[str, Any]) -> None:
    first = merged_card(CARD, [result(0.25)])
    assert first is not None
    both = index(merged_card(first, [other]))[-1]
    assert both["metrics"] == [*result(0.25)["metrics"], *other["metrics"]]


def test_the_same_metric_from_another_source_is_kept() -> None:
    theirs = CARD.replace("https://elsewhere.example", SOURCE + "-of-others").replace(
        "type: other", "type: made-up/quiz"
    )
    assert index(merged_card(theirs, [result(0.25)]))[:2] == index(theirs)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.replace("\n", "\r\n"),
        lambda card: card.replace("# the end\ntags:\n- a\n", ""),
        lambda card: card.replace("\n    ", "\n      ").replace("\n  - ", "\n    - "),
    ],
)
def test_other_ways_of_writing_a_card(change: Any) -> None:
    card = change(CARD)
    merged = merged_card(card, [result(0.25)])
    assert merged is not None
    assert yaml.safe_load(merged.split("---")[1])["model-index"][0]["results"][-1] == result(0.25)
    assert ("\r\n" in card) == ("\r\n" in merged)
    assert merged.count("\n") - merged.count("\r\n") in (0, merged.count("\n"))


@pytest.mark.parametrize(
    "card",
    [
        "",
        "# Tiny\n",
        "---\nlicense: mit\n---\n",
        "---\nlicense: other # model-index:\n---\n",
    ],
)
def test_a_card_without_an_index_gets_none(card: str) -> None:
    assert merged_card(card, [result(0.25)]) is None


@pytest.mark.parametrize(
    "card",
    [
        "---\nmodel-index: 5\n---\n",
        "---\nmodel-index:\n- name: x\n  results: []\n---\n",
        "---\nmodel-index: [{name: x, results: [{task: {type: t}, dataset: {type: d}, metrics: []}]}]\n---\n",
        "---\nmodel-index:\n- name: x\n  results:\n  - 7\n---\n",
        "---\nmodel-index:\n- name: x\n  results:\n  - {task: 5}\n---\n",
        "---\nmodel-index: [\n---\n",
    ],
)
def test_an_index_that_cannot_be_edited_is_reported(card: str) -> None:
    with pytest.raises(UneditableCardError):
        merged_card(card, [result(0.25)])

"""Each scenario against a file of what it must give: ``expected/NAME.yaml``, a list of cases.

A case has the scenario's ``arguments``, the ``counts`` of instances by split (unless rows.yaml has them), and of the
first evaluated instance its ``id``, the beginnings of its ``correct`` references, its ``meta``, and what is asked
without examples: the ``prompt`` of a generation with ``max_tokens`` and ``stop``, or the pairs of context and
continuation that are ``scored``. A long prompt can be given by its ``begin`` and ``end``. With ``data: excerpt``, the
rows in ``excerpts/`` are read: they were written by hand in the official layout, because the data are not here.
Otherwise the data folder is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import GenerateRequest, Instance, Message, ScoreRequest
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from tests.scenarios.conftest import read_from
from tests.scenarios.row_facts import ROWS
from tests.tokenizations import Unlimited

HERE = Path(__file__).parent
CASES = [
    pytest.param(file.stem, case, id=f"{file.stem}{number or ''}", marks=[pytest.mark.slow] if case.get("slow") else [])
    for file in sorted((HERE / "expected").glob("*.yaml"))
    for number, case in enumerate(yaml.safe_load(file.read_text(encoding="utf-8")))
]
KEYS = {"arguments", "begin", "correct", "counts", "data", "end", "id", "max_tokens", "meta", "prompt"}
KEYS |= {"references", "scored", "slow", "stop"}
CONVERSATIONS = {"conversation", "multi_turn"}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_scenario_gives_what_is_expected(
    name: str, case: Mapping[str, Any], registry: Registry, request: pytest.FixtureRequest
) -> None:
    assert case.keys() <= KEYS
    excerpt = case.get("data") == "excerpt"
    folder: Path = HERE / "excerpts" if excerpt else request.getfixturevalue("data_dir")
    arguments = case.get("arguments", {})
    instances = read_from(registry, folder, name, arguments)
    counts = case["counts"] if "counts" in case else _counts_of_rows(name, arguments)
    assert Counter(str(instance.split) for instance in instances) == counts
    assert len({instance.id for instance in instances}) == len(instances)
    details = registry.get(Kind.SCENARIO, name).details
    assert isinstance(details, ScenarioDetails)
    details = details.asked(arguments.get("prompt", ""))
    assert all(instance.references or not case.get("correct") for instance in instances)
    first = next(instance for instance in instances if instance.split == details.eval_split)
    _check_instance(first, case)
    _check_requests(first, details, arguments, case, registry)


def _counts_of_rows(name: str, arguments: Mapping[str, Any]) -> dict[str, int]:
    same = next(case for case in ROWS[name]["cases"] if case.get("arguments", {}) == arguments)
    return {split: part["rows"] for split, part in same.items() if split != "arguments"}


def _check_instance(first: Instance, case: Mapping[str, Any]) -> None:
    if "id" in case:
        assert first.id == case["id"]
    if "references" in case:
        assert [reference.text for reference in first.references] == case["references"]
    if "meta" in case:
        assert {key: first.meta[key] for key in case["meta"]} == case["meta"]
    shown = [reference.text for reference in first.correct]
    assert len(shown) == len(case.get("correct", []))
    assert all(text.startswith(begin) for text, begin in zip(shown, case.get("correct", []), strict=True))


def _check_requests(
    first: Instance, details: ScenarioDetails, arguments: Mapping[str, Any], case: Mapping[str, Any], registry: Registry
) -> None:
    settings = dict(details.adapter(**arguments) if callable(details.adapter) else details.adapter)
    method = registry.get(Kind.ADAPTER, settings.pop("method"))
    adapter = build(method, arguments=settings | _no_examples(method.target))
    model = Unlimited(chat=method.name in CONVERSATIONS)
    requests = next(iter(adapter.adapt([first], [], model, trial=0, seed=0))).requests
    if "scored" in case:
        asked = [[one.context, one.continuation] for one in requests if isinstance(one, ScoreRequest)]
        assert asked == case["scored"]
        return
    one = requests[0]
    if isinstance(one, ScoreRequest):
        assert isinstance(one.context, str)
        assert one.context.startswith(case["begin"])
        assert one.context.endswith(case["end"])
        return
    assert isinstance(one, GenerateRequest)
    prompt = one.prompt if isinstance(one.prompt, str) else "\n".join(map(_turn, one.prompt))
    assert prompt.startswith(case.get("begin", ""))
    assert prompt.endswith(case.get("end", ""))
    assert prompt == case.get("prompt", prompt)
    assert {"begin", "end", "prompt"} & case.keys(), "a case says what is asked"
    assert (one.max_tokens, list(one.stop)) == (case["max_tokens"], case.get("stop", []))


def _turn(message: Message) -> str:
    return f"{message.role}: {message.content}"


def _no_examples(target: Any) -> dict[str, int]:
    return {"max_train_instances": 0} if "max_train_instances" in target.Params.model_fields else {}

"""Our results in the ``model-index`` of a model's card, added without changing anything else.

Only the lines of our own results are written; other results, and comments between results, stay as they are, in the
same order. A result is ours if it names our source. The metrics of one task and data set from one source are one
result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_HEAD = re.compile(r"\A---[ \t]*\r?\n(.*?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TASK, _DATASET, _METRIC = ("type",), ("type", "config", "split", "revision"), ("type", "config")

Result = Mapping[str, Any]


class UneditableCardError(Exception):
    """A card's ``model-index`` is not a list of results in lines of their own."""


def merged_card(card: str, results: Sequence[Result]) -> str | None:
    """Return a card with results in its ``model-index``.

    Args:
        card: README.md of a model's repository.
        results: Results as in ``model-index``, each with a ``source``.

    Returns:
        The card; None if it has no ``model-index``.

    Raises:
        UneditableCardError: The ``model-index`` cannot be edited line by line.
    """
    found = _HEAD.match(card)
    if found is None or "model-index" not in found[1]:
        return None
    head = found[1]
    try:
        if not isinstance(before := yaml.safe_load(head), dict) or "model-index" not in before:
            return None
        sequence = _results_node(yaml.compose(head, yaml.SafeLoader))
        there = list(before["model-index"][0]["results"])
        if sequence is None or not all(isinstance(one, dict) for one in there):
            raise UneditableCardError
        new, expected = _merged(head, sequence, there, results)
        after = yaml.safe_load(new)
    except (yaml.YAMLError, LookupError, TypeError, AttributeError):
        raise UneditableCardError from None
    before["model-index"][0]["results"] = expected
    if after != before:
        raise UneditableCardError
    return card[: found.start(1)] + new + card[found.end(1) :]


def _results_node(root: yaml.Node | None) -> yaml.SequenceNode | None:
    """Return the list of the first model's results; None if it is not written as lines that begin with ``-``."""
    models = _value(root, "model-index")
    first = models.value[0] if isinstance(models, yaml.SequenceNode) and models.value else None
    node = _value(first, "results")
    is_block = isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value
    return node if isinstance(node, yaml.SequenceNode) and is_block else None


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _merged(
    head: str, sequence: yaml.SequenceNode, there: list[Any], results: Sequence[Result]
) -> tuple[str, list[Any]]:
    """Return the metadata with our results, and the list of results that it should then contain."""
    lines = head.splitlines(keepends=True)
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    indent = " " * sequence.start_mark.column
    first, last = sequence.start_mark.line, _last_line(sequence.value[-1])
    starts = [number for number in range(first, last + 1) if lines[number].startswith((f"{indent}- ", f"{indent}-\n"))]
    if len(starts) != len(there):
        raise LookupError
    ends = [_last_line(node) + 1 for node in sequence.value]
    blocks = ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    # Comments and empty lines before the next result.
    gaps = ["".join(lines[end:start]) for end, start in zip(ends, [*starts[1:], last + 1], strict=True)]
    found, identities = list(there), [_identity(one) for one in there]
    for result in results:
        if (identity := _identity(result)) not in identities:
            identities.append(identity)
            found.append(result)
            blocks.append("")
            gaps.append("")
        place = identities.index(identity)
        whole = {**found[place], "metrics": _merged_metrics(found[place]["metrics"], result["metrics"])}
        if whole != found[place] or not blocks[place]:
            found[place] = whole
            text = yaml.safe_dump([whole], sort_keys=False, allow_unicode=True)
            blocks[place] = "".join(f"{indent}{line}{newline}" for line in text.splitlines())
    written = [text for pair in zip(blocks, gaps, strict=True) for text in pair]
    return "".join([*lines[:first], *written, *lines[last + 1 :]]), found


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a node, without the empty lines and comments after it."""
    if not isinstance(node, yaml.CollectionNode) or not node.value or node.flow_style:
        mark = node.end_mark
        return mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _merged_metrics(there: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
    """Return metrics with ours, each in the place of the one that it replaces."""
    merged = {_metric(one): one for one in there}
    if len(merged) != len(there):
        raise LookupError
    return list((merged | {_metric(one): one for one in ours}).values())


def _identity(result: Result) -> tuple[Any, ...]:
    task, dataset, source = result["task"], result["dataset"], result.get("source") or {}
    return *map(task.get, _TASK), *map(dataset.get, _DATASET), source.get("url")


def _metric(metric: Mapping[str, Any]) -> tuple[Any, ...]:
    args = metric.get("args")
    setup = (args.get("run"), args.get("method")) if isinstance(args, Mapping) else ()
    return *map(metric.get, _METRIC), *setup

"""Reading a data set for a test of its published order: the examples' texts, and which of them may be permuted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from adapters._order.diagnostics import diagnosed
from adapters._order.repairing import Repair, repaired
from adapters._prompt.example_rendering import Rendering, rendered
from adapters._prompt.prompt_policy import ExampleFormat
from harness import HarnessError, Instance, Split, Tokenization
from harness.contamination import DIAGNOSTICS_LEVEL, Repaired, row_digests

FEWEST = 2
"""Fewest examples that have an order."""


def checked_rows(rows: str | None) -> str | None:
    """Return rows unchanged if they are a range.

    Raises:
        ValueError: They are not.
    """
    if rows is not None:
        rows_of(rows)
    return rows


def rows_of(rows: str) -> tuple[int, int]:
    """Return the half-open range written as ``"100:200"``.

    Raises:
        ValueError: It is not a range.
    """
    start, colon, stop = rows.partition(":")
    if not colon or not start.strip().isdecimal() or not stop.strip().isdecimal() or int(start) >= int(stop):
        raise ValueError(f"{rows!r} is not a range of rows such as 0:100, the first hundred")
    return int(start), int(stop)


class OrderSettings(ExampleFormat):
    """Which examples to test, in which form."""

    render: Rendering = "published"
    """``published``: verbatim. ``prompt``: input and correct reference; ``lettered_prompt``: the options by letter;
    both with the affixes of the scenario's own adapter."""

    separator: str | None = None
    """Text after each example; null: a line break, unless the example ends with one."""

    rows: Annotated[str | None, AfterValidator(checked_rows)] = None
    """``0:100``: only the first hundred in published order. Held-out rows can serve as a control."""

    max_examples: int = Field(default=5000, ge=FEWEST)
    """Maximum number of examples, from the first."""

    context: int | None = Field(default=None, ge=8)
    """Maximum number of tokens that are read together; null: the model's window."""

    repairs: Literal["auto"] | tuple[Repair, ...] = "auto"
    """Repairs of an order that is not exchangeable, applied in this order: ``strip_ids`` removes leading numbers,
    ``collapse_near_duplicates`` keeps one of each group, ``permute_under_ids`` leaves leading numbers in place and
    permutes the contents, ``{blocks: KEY}`` permutes only within equal values of a key of ``meta``. ``auto``: none if
    the text's diagnostics find no order, else what they call for; see docs/contamination.md. ``[]``: none."""

    drawn_at_random: bool = False
    """The order is known to have been drawn at random, as `harness seal` does: the text is not examined or repaired."""

    level: float = Field(default=0.01, gt=0, lt=1)
    """No model is asked if there are too few examples for a p-value at this level, or if the text shows after all
    repairs that the order is not exchangeable."""

    role: Literal["target", "control"] = "target"
    """Reports list a ``control`` with its targets, and leave it out of corrections."""

    copies: int | None = Field(default=None, ge=0)
    """Number of copies of the rows in the model's training text, where it is known, for the plot of evidence by copies;
    it changes nothing else."""


@dataclass(frozen=True, slots=True)
class PublishedOrder:
    """A data set, prepared for tests of its order."""

    contents: tuple[str, ...]
    """The texts to permute, in published order, each with its ending."""
    prefixes: tuple[str, ...]
    """The text that stays in place before each position; empty if nothing does."""
    tokens: tuple[int, ...]
    """Number of tokens of each position's content."""
    prefix_tokens: tuple[int, ...]
    """Number of tokens of each position's prefix."""
    arrangement: Repaired
    """Which positions may be permuted among themselves."""
    group: tuple[int, ...]
    """The group of each position."""
    context: int
    """Maximum number of tokens that are read together."""
    split: Split
    """The examples' split."""
    description: Mapping[str, Any]
    """Facts about the data for the result, as JSON values."""

    @property
    def digest(self) -> str:
        """A hash of the examples, whatever their order, that seeds their shuffles.

        The same shuffles for several data sets of one length would make their p-values depend on each other.
        """
        return str(self.description["data_hash"])

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each position, including its prefix, in published order."""
        return [own + prefix for own, prefix in zip(self.tokens, self.prefix_tokens, strict=True)]


def read_order(
    instances: Iterable[Instance], settings: OrderSettings, tokenization: Tokenization, seed: int
) -> PublishedOrder:
    """Read a data set for a test of its order, and run the diagnostics of its text.

    Raises:
        HarnessError: There is no order to test, or the model does not say how many tokens a text has.
    """
    chosen, available = _chosen(instances, settings)
    originals = [rendered(instance, settings.render, settings) for instance in chosen]
    labels = _labels(chosen)
    if len(originals) < FEWEST:
        there = "there is only 1 example" if originals else "there are no examples"
        raise HarnessError(f"{there}; a test of the order needs at least {FEWEST}.")
    if len(set(originals)) == 1:
        raise HarnessError("all examples are equal, so that they have no order.")
    before = {} if settings.drawn_at_random else diagnosed(originals, labels, None, seed)
    arrangement, done, after = repaired(originals, chosen, labels, settings.repairs, before, seed)
    left = len(set(arrangement.texts))
    if left < FEWEST:
        raise HarnessError("the repairs leave only equal examples, which have no order.")
    ending = settings.separator
    contents = tuple(_ended(text, ending) for text in arrangement.texts)
    tokens = _counted(contents, tokenization)
    context = _context(settings, tokenization)
    too_long = sum(count >= context for count in tokens)
    description = {
        "n_examples": available,
        "n_used": len(contents),
        "rows": settings.rows,
        "role": settings.role,
        "copies": settings.copies,
        "render": settings.render,
        "separator": ending,
        "n_tokens": sum(tokens),
        "context": context,
        "seed": seed,
        "tokenization": "each example by itself, without special tokens; one beginning-of-text token a sequence",
        "data_hash": _digest(sorted(originals)),
        "order_hash": _digest(originals),
        "row_digests": row_digests([instance.published or "" for instance in chosen]),
        "diagnostics": before,
        "repairs": done,
        "repaired_diagnostics": after if done else None,
        "exchangeable": all(test["p_holm"] > DIAGNOSTICS_LEVEL for test in after.values()),
        "examples_longer_than_context": too_long,
    }
    group = [0] * len(contents)
    for number, members in enumerate(arrangement.groups):
        for place in members:
            group[place] = number
    return PublishedOrder(
        contents,
        tuple(arrangement.prefixes),
        tokens,
        _counted(arrangement.prefixes, tokenization),
        arrangement,
        tuple(group),
        context,
        chosen[0].split,
        description,
    )


def _chosen(instances: Iterable[Instance], settings: OrderSettings) -> tuple[list[Instance], int]:
    """Return the examples to test, and the number of all examples."""
    every = []
    for instance in instances:
        if instance.perturbation is not None:
            raise HarnessError("a test of the published order needs unchanged examples; leave out the perturbations.")
        every.append(instance)
    if settings.rows is None:
        return every[: settings.max_examples], len(every)
    start, stop = rows_of(settings.rows)
    if stop > len(every):
        option = "--control-rows" if settings.role == "control" else "--rows"
        raise HarnessError(
            f"{option} (in a sweep: rows) is {settings.rows}, but there are only {len(every):,} examples."
        )
    return list(islice(every, start, min(stop, start + settings.max_examples))), len(every)


def _labels(instances: Sequence[Instance]) -> list[str] | None:
    """Return the examples' labels, the answer or its place among the options; None if they are not labelled."""
    correct = [
        next(
            ((index, reference.text) for index, reference in enumerate(instance.references) if reference.correct), None
        )
        for instance in instances
    ]
    known = [found for found in correct if found is not None]
    if len(known) < len(instances):
        return None
    texts = [text for _, text in known]
    if len(set(texts)) <= max(2, len(texts) // 10):
        return texts
    places = [str(index) for index, _ in known]
    return places if len(set(places)) > 1 else None


def _ended(text: str, separator: str | None) -> str:
    if separator is not None:
        return text + separator
    return text if text.endswith("\n") else text + "\n"


def _counted(texts: Sequence[str], tokenization: Tokenization) -> tuple[int, ...]:
    counts = tokenization.count_segments(texts)
    if counts is None:
        raise HarnessError(
            "the model does not say how many tokens a text has, without which examples cannot be cut into shards that "
            "fit its context. Its backend needs a tokenizer."
        )
    return tuple(counts)


def _context(settings: OrderSettings, tokenization: Tokenization) -> int:
    window = tokenization.window
    if settings.context is None:
        if window is None:
            raise HarnessError(
                "the model does not say how many tokens its window holds; set --context (in a sweep: context)."
            )
        return window
    if window is not None and settings.context > window:
        raise HarnessError(
            f"--context (in a sweep: context) is {settings.context}, but the model's window is only {window} tokens."
        )
    return settings.context


def _digest(texts: Sequence[str]) -> str:
    hashed = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        hashed.update(len(content).to_bytes(8, "big"))
        hashed.update(content)
    return hashed.hexdigest()

"""Which repairs an order gets: those that the user names, or those that its text calls for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict

from adapters._order.diagnostics import Diagnostics, diagnosed, faults
from harness import HarnessError, Instance
from harness.contamination import (
    Repaired,
    blocks,
    collapse_near_duplicates,
    length_classes,
    neighbourhoods,
    permute_under_ids,
    strip_ids,
)

NEIGHBOURS = (50, 20, 10)
"""Sizes of the neighbourhoods that are tried, the largest first: fewer orders can be told apart in small ones."""

CLASS_SIZES = (20, 10)
"""Sizes of the classes of length that are tried."""

FEWEST_IN_GROUPS = 0.5
"""Share of the examples that must be able to move; with fewer there is little left to test."""


class Blocks(BaseModel):
    """Permute examples only among those with the same answer, or the same value of a key of ``meta``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: str
    """The key of ``meta``, or ``answer`` for the correct reference."""


Repair = Literal["strip_ids", "collapse_near_duplicates", "permute_under_ids"] | Blocks


def repaired(
    texts: Sequence[str],
    instances: Sequence[Instance],
    labels: Sequence[str] | None,
    repairs: Literal["auto"] | Sequence[Repair],
    before: Diagnostics,
    seed: int,
) -> tuple[Repaired, list[str], Diagnostics]:
    """Return the texts after all repairs, a description of each, and the diagnostics of what may still be permuted.

    Args:
        texts: The examples in published order.
        instances: Their instances.
        labels: Their labels; None if they have none.
        repairs: What to do; ``auto``: what the diagnostics call for, and nothing if that does not help.
        before: The diagnostics of the published order.
        seed: Seeds the diagnostics.

    Raises:
        HarnessError: The repairs contradict each other, or an instance has no such key.
    """
    if repairs != "auto":
        state, done = _named(texts, instances, repairs)
        return state, done, _after(state, labels, seed) if done else before
    if faults(before):
        for state, done in _attempts(texts, labels, before):
            after = _after(state, labels, seed)
            if not faults(after):
                return state, done, after
    return _as_published(texts), [], before


def _attempts(
    texts: Sequence[str], labels: Sequence[str] | None, before: Diagnostics
) -> Iterator[tuple[Repaired, list[str]]]:
    """Yield repairs to try: first of the texts, then of what may be permuted, the weakest first."""
    wrong = set(faults(before))
    state, done = _as_published(texts), list[str]()
    first: list[tuple[Callable[[Sequence[str]], Repaired], set[str]]] = [
        (collapse_near_duplicates, {"neighbouring duplicates", "neighbours alike", "near neighbours alike"}),
        (permute_under_ids, {"leading numbers"}),
    ]
    for repair, of in first:
        if wrong & of:
            try:
                made = _followed_by(state, repair)
            except HarnessError:  # too little would be left
                continue
            if made.texts == state.texts:  # no near duplicates, or no ids
                continue
            state, done = made, [*done, made.done]
            yield state, done
    for made in _groups(state, labels, wrong):
        if sum(len(group) for group in made.groups if len(group) > 1) >= FEWEST_IN_GROUPS * len(made.texts):
            yield made, [*done, made.done]


def _groups(state: Repaired, labels: Sequence[str] | None, wrong: set[str]) -> Iterator[Repaired]:
    """Yield what may be permuted among itself: equal labels, neighbours, and texts of nearly one length."""
    if labels is not None and "label runs" in wrong:
        with suppress(HarnessError):  # no two have the same label
            yield _grouped(state, blocks(state.texts, [labels[place] for place in state.kept]))
    for size in NEIGHBOURS:
        if size < len(state.texts):
            yield _grouped(state, neighbourhoods(state.texts, size))
    if wrong & {"length trend", "neighbouring lengths"}:
        for size in CLASS_SIZES:
            yield _grouped(state, length_classes(state.texts, size))


def _after(state: Repaired, labels: Sequence[str] | None, seed: int) -> Diagnostics:
    kept = None if labels is None else [labels[place] for place in state.kept]
    return diagnosed(state.texts, kept, state.groups, seed)


def _named(
    texts: Sequence[str], instances: Sequence[Instance], repairs: Sequence[Repair]
) -> tuple[Repaired, list[str]]:
    """Return the texts after the repairs that the user names, with a description of each."""
    names = [repair for repair in repairs if isinstance(repair, str)]
    by = [repair for repair in repairs if isinstance(repair, Blocks)]
    if len(by) > 1 or len(set(names)) < len(names):
        raise HarnessError("a repair is listed twice; remove one.")
    if {"strip_ids", "permute_under_ids"} <= set(names):
        raise HarnessError("use either strip_ids or permute_under_ids: stripped ids cannot stay in place.")
    state, done = _as_published(texts), list[str]()
    for name, repair in (
        ("strip_ids", strip_ids),
        ("collapse_near_duplicates", collapse_near_duplicates),
        ("permute_under_ids", permute_under_ids),
    ):
        if name in names:
            state = _followed_by(state, repair)
            done.append(state.done)
    if by:
        state = _grouped(state, blocks(state.texts, [_block(instances[place], by[0].blocks) for place in state.kept]))
        done.append(state.done)
    return state, done


def _as_published(texts: Sequence[str]) -> Repaired:
    everything = tuple(range(len(texts)))
    return Repaired(tuple(texts), everything, ("",) * len(texts), (everything,), "")


def _followed_by(state: Repaired, repair: Callable[[Sequence[str]], Repaired]) -> Repaired:
    made = repair(state.texts)
    return Repaired(made.texts, tuple(state.kept[place] for place in made.kept), made.prefixes, made.groups, made.done)


def _grouped(state: Repaired, made: Repaired) -> Repaired:
    return Repaired(state.texts, state.kept, state.prefixes, made.groups, made.done)


def _block(instance: Instance, key: str) -> str:
    if key == "answer":
        found = next((reference.text for reference in instance.references if reference.correct), None)
    else:
        found = instance.meta.get(key)
    if found is None:
        keys = ", ".join(map(repr, instance.meta)) or "none"
        raise HarnessError(f"repairs: instance {instance.id!r} has no {key!r} for blocks. Keys of meta: {keys}.")
    return str(found)

"""Log-probabilities of many texts at once; common beginnings are read once.

The plain path of :mod:`.causal_scoring` reads every text by itself; here the texts form a prefix tree.
Trunks are read first, one after the other, and their keys and values are kept; branches are packed into rows on top of
them. The first packed batch, and later ones with much longer texts, are compared with the plain path; if they differ,
the model uses the plain path from then on.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.models.tokens.tokenizer import Tokens
from harness.models.tokens.windows import Span
from harness.models.transformers.batching import Budget, out_of_memory, run_batches
from harness.models.transformers.causal_scoring import ScoredSpan, score_spans, target_logprobs
from harness.models.transformers.float32 import all_in_16_bits, in_float32
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.packed_rows import SHORTEST_ROW, PackedRow, fill, pack, read_rows, room
from harness.models.transformers.prefix_tree import Branch, PrefixTree, Trunk
from harness.models.transformers.shareable import NotShareable, longest_shareable, why_not_shareable

if TYPE_CHECKING:
    from harness.models.transformers.key_values import KeyValues

logger = logging.getLogger(__name__)

ROW_SHARE = 4
"""A packed row holds a fourth of a batch's tokens: in a longer one, tokens of different branches meet in vain."""
LONGEST_ROW = 2048

MAX_PACKED_SHARE = 0.8
"""Branches on no trunk are packed where that leaves at most this share of the tokens."""

TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""Largest accepted difference of a log-probability from that of scoring one text at a time, by precision.

In 16 bits, large logits are rounded more coarsely; if the two differ by more, both are compared with float32.
"""

ROUNDING = 2.0
"""In 16 bits, the largest accepted error of batched texts against float32, relative to that of one text at a time."""

Read = tuple[int, int, int]
"""A place in a row, the token that follows it, and where the answer belongs."""


class PrefixSharing:
    """Scores texts with a model, sharing common beginnings if the model can and it saves enough.

    Attributes:
        refused: The reason why every text is read by itself; None if the model can share.
    """

    def __init__(self, runner: ModelRunner) -> None:
        self._runner = runner
        self._layers = int(getattr(runner.model.config.get_text_config(), "num_hidden_layers", 0))
        self._checked = 0
        self._longest = longest_shareable(runner.model)
        self.refused = why_not_shareable(runner.model)
        if self.refused:
            logger.info("Texts are scored one by one: %s.", self.refused)

    @property
    def layers(self) -> int:
        """The model's number of layers."""
        return self._layers

    def score(self, spans: Sequence[Span[int]], budget: Budget, *, pad: int) -> Iterator[tuple[int, ScoredSpan | None]]:
        """Yield each span's index with its log-probabilities; None if memory does not suffice."""
        left = set(range(len(spans)))
        if self.refused is None and len(spans) > 1:
            try:
                for index, scored in self._shared(spans, budget, pad):
                    left.discard(index)
                    yield index, scored
            except NotShareable as reason:
                self.refuse(str(reason))
        yield from self._plain(spans, sorted(left), budget, pad)

    def takes(self, tokens: int) -> bool:
        """Return True if a text with that many tokens may be read with others."""
        return self.refused is None and (self._longest is None or tokens <= self._longest)

    def refuse(self, reason: str) -> None:
        """Read every text by itself from now on."""
        self.refused = reason
        logger.warning("Texts are scored one by one from here on, which is slower: %s.", reason)

    def check(self, span: Span[int], logprobs: Sequence[float], budget: Budget, *, pad: int) -> None:
        """Compare a span's log-probabilities with the plain path's, unless one at least half as long has been compared.

        Raises:
            NotShareable: They differ.
        """
        import numpy as np

        if len(span.tokens) <= 2 * self._checked:
            return
        [(_, plain)] = score_spans(self._runner, [span], budget, pad=pad)
        if plain is None:
            return
        near = TOLERANCE[str(self._runner.model.dtype).removeprefix("torch.")]
        largest = float(np.abs(np.array(plain.logprobs) - np.array(logprobs)).max())
        if not largest <= near and not self._rounded(span, logprobs, near, budget, pad):
            raise NotShareable(f"log-probabilities of texts read together differ by {largest:.2g}")
        self._checked = len(span.tokens)

    def _rounded(self, span: Span[int], logprobs: Sequence[float], near: float, budget: Budget, pad: int) -> bool:
        """Return True if a span's log-probabilities are about as near to float32's as the plain path's are."""
        import numpy as np

        if not all_in_16_bits(self._runner.model):
            return False
        whole = Span(span.tokens, len(span.tokens) - 1)  # all positions show how far rounding goes
        [(_, plain)] = score_spans(self._runner, [whole], budget, pad=pad)
        with in_float32(self._runner.model):
            [(_, exact)] = score_spans(self._runner, [whole], budget, pad=pad)
        if plain is None or exact is None:
            return False
        truth = np.array(exact.logprobs)
        usual = float(np.abs(np.array(plain.logprobs) - truth).max())
        return float(np.abs(np.array(logprobs) - truth[-span.scored :]).max()) <= max(near, ROUNDING * usual)

    def _plain(
        self, spans: Sequence[Span[int]], chosen: Sequence[int], budget: Budget, pad: int
    ) -> Iterator[tuple[int, ScoredSpan | None]]:
        for place, scored in score_spans(self._runner, [spans[index] for index in chosen], budget, pad=pad):
            yield chosen[place], scored

    def _shared(self, spans: Sequence[Span[int]], budget: Budget, pad: int) -> Iterator[tuple[int, ScoredSpan | None]]:
        """Score the spans whose beginnings are worth sharing; the others are left to the plain path."""
        readers: dict[Tokens, list[int]] = {}
        for index, span in enumerate(spans):
            if self.takes(len(span.tokens) - 1):
                readers.setdefault(span.tokens[:-1], []).append(index)
        tree = PrefixTree(list(readers))
        row = max(SHORTEST_ROW, min(LONGEST_ROW, budget.tokens // ROW_SHARE))
        branches, trunks = tree.parts(row)
        branches = [branch for branch in branches if self._worth_packing(tree, branch)]
        if not branches and not trunks:
            return
        work = _Work(spans, tree, [readers[tokens] for tokens in tree.sequences], budget, pad, row)
        yield from self._branches(work, branches, None)
        for trunk in trunks:
            yield from self._trunk(work, trunk, None)

    def _worth_packing(self, tree: PrefixTree, branch: Branch) -> bool:
        alone = sum(len(tree.sequences[number]) for number in range(branch.start, branch.end))
        return tree.size(branch) <= MAX_PACKED_SHARE * alone

    def _trunk(self, work: _Work, trunk: Trunk, parent: KeyValues | None) -> Iterator[tuple[int, ScoredSpan | None]]:
        """Read a trunk, its branches, and the trunks that continue it."""
        import torch

        started = time.perf_counter()
        below = trunk.below()
        reads = [
            (depth - trunk.begin, target, place)
            for number, leaves in below
            for depth, target, place in work.reads(number, trunk.begin, leaves)
        ]
        tokens = work.tree.sequences[trunk.sequence]
        kept = None if parent is None else parent.upto(trunk.begin)
        try:
            with torch.inference_mode():
                kept = self._read_trunk(work, tokens[trunk.begin : trunk.end], kept, reads)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            return  # to the plain path, which halves its batches
        work.count(trunk.sequence, trunk.end - trunk.begin)
        yield from work.finished({number for number, _ in below}, time.perf_counter() - started)
        yield from self._branches(work, trunk.branches, kept)
        for child in trunk.trunks:
            yield from self._trunk(work, child, kept)

    def _read_trunk(self, work: _Work, tokens: Tokens, kept: KeyValues | None, reads: Sequence[Read]) -> KeyValues:
        """Read a trunk's own tokens in batches; return all keys and values so far."""
        import numpy as np

        step = max(work.row, work.budget.tokens)
        for start in range(0, len(tokens), step):
            part = tokens[start : start + step]
            before = 0 if kept is None else kept.length
            row = PackedRow(np.array(part, np.int64), np.arange(before, before + len(part)), None, {})
            here = [(place - start, target, where) for place, target, where in reads if 0 <= place - start < len(part)]
            new = self._read(work, [row], [here], kept, keep=True)
            assert new is not None  # noqa: S101 - asked for with keep
            kept = new if kept is None else kept.followed_by(new)
        assert kept is not None  # noqa: S101 - a trunk has tokens
        return kept

    def _branches(
        self, work: _Work, branches: Sequence[Branch], kept: KeyValues | None
    ) -> Iterator[tuple[int, ScoredSpan | None]]:
        """Read the branches of one trunk in packed rows."""
        import torch

        before = 0 if kept is None else kept.length
        own = [branch for branch in branches if work.tree.size(branch)]  # what ends on the trunk has been read
        space = room(before, work.row, self._runner.model.device.type) if before else 0
        filled = fill(work.tree, own, space)

        def read(batch: Sequence[list[Branch]]) -> float:
            started = time.perf_counter()
            packed = [pack(work.tree, group, before) for group in batch]
            reads = [work.branch_reads(group, row) for group, row in zip(batch, packed, strict=True)]
            with torch.inference_mode():
                self._read(work, packed, reads, kept)
            return time.perf_counter() - started

        def size(group: list[Branch]) -> tuple[int, int]:
            return sum(map(work.tree.size, group)) + before, sum(map(work.branch_size, group))

        for batch, seconds in run_batches(filled, size, work.budget, read):
            if seconds is not None:
                for branch in (branch for group in batch for branch in group):
                    work.count_branch(branch)
                numbers = {number for group in batch for branch in group for number in range(branch.start, branch.end)}
                answers = list(work.finished(numbers, seconds))
                index, longest = max(answers, key=lambda answer: len(work.spans[answer[0]].tokens), default=(0, None))
                if longest is not None:
                    self.check(work.spans[index], longest.logprobs, work.budget, pad=work.pad)
                yield from answers

    def _read(
        self,
        work: _Work,
        packed: Sequence[PackedRow],
        reads: Sequence[Sequence[Read]],
        kept: KeyValues | None,
        *,
        keep: bool = False,
    ) -> KeyValues | None:
        """Read rows, and store the log-probabilities that they give."""
        import torch

        places: dict[tuple[int, int], int] = {}
        read, targets, where = [], [], []
        for number, wanted in enumerate(reads):
            for place, target, answer in wanted:
                read.append(places.setdefault((number, place), len(places)))
                targets.append(target)
                where.append(answer)
        logits, new = read_rows(self._runner, packed, kept, list(places), layers=self._layers, pad=work.pad, keep=keep)
        if where:
            device = logits.device
            logprobs, first = target_logprobs(
                logits, torch.tensor(read, device=device), torch.tensor(targets, device=device)
            )
            work.put(where, logprobs.tolist(), first.tolist())
        return new


@dataclass(slots=True)
class _Work:
    """Spans that are scored together, and their answers so far."""

    spans: Sequence[Span[int]]
    """All spans."""
    tree: PrefixTree
    """What they read."""
    readers: list[list[int]]
    """The spans that read each sequence of the tree."""
    budget: Budget
    """Limits of a batch."""
    pad: int
    """Any valid token."""
    row: int
    """Most tokens of a packed row."""
    _first_place: list[int] = field(init=False)
    _logprobs: list[float] = field(init=False)
    _greedy: list[bool] = field(init=False)
    _missing: list[int] = field(init=False)
    _owners: list[int] = field(init=False)
    _seconds: list[float] = field(init=False)
    _computed: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._missing = [span.scored for span in self.spans]
        self._owners = [index for index, span in enumerate(self.spans) for _ in range(span.scored)]
        self._first_place = [0, *itertools.accumulate(self._missing)]
        self._logprobs = [0.0] * len(self._owners)
        self._greedy = [False] * len(self._owners)
        self._seconds = [0.0] * len(self.spans)
        self._computed = [1] * len(self.spans)  # the last token, which is scored but not read

    def reads(self, number: int, begin: int, end: int) -> Iterator[Read]:
        """Yield depth, target and place of the answer for each scored token of a sequence between two depths."""
        for index in self.readers[number]:
            span = self.spans[index]
            start = len(span.tokens) - 1 - span.scored
            for depth in range(max(begin, start), min(end, len(span.tokens) - 1)):
                yield depth, span.tokens[depth + 1], self._first_place[index] + depth - start

    def branch_reads(self, branches: Sequence[Branch], row: PackedRow) -> list[Read]:
        """Return the scored tokens of a packed row."""
        return [
            (int(row.paths[number][depth - branch.depth]), target, place)
            for branch in branches
            for number in range(branch.start, branch.end)
            for depth, target, place in self.reads(number, branch.depth, len(self.tree.sequences[number]))
        ]

    def branch_size(self, branch: Branch) -> int:
        """Return a lower bound of the number of scored positions of a branch."""
        return sum(
            max(
                (
                    min(self.spans[index].scored, len(self.tree.sequences[number]) - branch.depth)
                    for index in self.readers[number]
                ),
                default=0,
            )
            for number in range(branch.start, branch.end)
        )

    def put(self, places: Sequence[int], logprobs: Sequence[float], greedy: Sequence[bool]) -> None:
        """Store answers."""
        for place, logprob, first in zip(places, logprobs, greedy, strict=True):
            self._logprobs[place], self._greedy[place] = logprob, first
            self._missing[self._owners[place]] -= 1

    def count(self, number: int, tokens: int) -> None:
        """Count tokens that were read for a sequence; they count for its first span, since the others share them."""
        self._computed[self.readers[number][0]] += tokens

    def count_branch(self, branch: Branch) -> None:
        """Count the tokens of a branch: for each sequence, those that it does not share with the previous one."""
        for number in range(branch.start, branch.end):
            known = branch.depth if number == branch.start else max(self.tree.shared[number], branch.depth)
            self.count(number, len(self.tree.sequences[number]) - known)

    def finished(self, numbers: set[int], seconds: float) -> Iterator[tuple[int, ScoredSpan]]:
        """Yield the answers of sequences that are now complete, each with its share of the time."""
        readers = [index for number in sorted(numbers) for index in self.readers[number]]
        for index in readers:
            self._seconds[index] += seconds / len(readers)
            if self._missing[index] == 0:
                self._missing[index] = -1
                start, end = self._first_place[index], self._first_place[index + 1]
                logprobs, greedy = tuple(self._logprobs[start:end]), all(self._greedy[start:end])
                yield index, ScoredSpan(logprobs, greedy, self._seconds[index], self._computed[index])

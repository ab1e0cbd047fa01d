"""Decoding many texts side by side in one row of tokens: prompts share their beginnings, and finished texts make room.

All texts share one cache, in which each sees only its own tokens. A new text joins as soon as there is room. Prompts
are sorted, and what a prompt shares with the one before it is in the cache already: a few-shot header is read once,
and completions of one prompt share all of it. The first finished text is also scored by the plain path; if the two
disagree, the model decodes in batches from then on (:mod:`harness.models.transformers.causal_generation`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.models.tokens.tokenizer import TextTokenizer, Tokens
from harness.models.tokens.windows import Span
from harness.models.transformers.batching import Budget, free_memory, out_of_memory
from harness.models.transformers.causal_generation import Draw, Drawn, Row, drawn_row, extend, finished, new_row
from harness.models.transformers.causal_generation import generate as generate_in_batches
from harness.models.transformers.memory import CACHE_BATCHES
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.packed_rows import SHORTEST_ROW, PackedRow, fill, pack, read_rows, room
from harness.models.transformers.prefix_scoring import LONGEST_ROW, ROW_SHARE, PrefixSharing
from harness.models.transformers.prefix_tree import LEAST_SAVED, Branch, PrefixTree
from harness.models.transformers.shareable import NotShareable, refusals

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

SIDE_BY_SIDE = {"cpu": 60_000}
"""Square of the number of texts times the tokens that each has for itself: a step reads the weights once for all texts,
but every text's tokens meet every text's in the attention. Measured on a CPU; elsewhere weights cost more and meeting
less."""
SIDE_BY_SIDE_ELSEWHERE = 20_000_000
MOST_TEXTS = 256

PADDING = 0.05
"""Largest share of a row that may be padding: what is read in one pass has rows of about one length."""

MAX_UNUSED_SHARE = 0.25
"""Share of the cache that may be left over from finished texts before it is packed anew."""


def generate(
    sharing: PrefixSharing,
    runner: ModelRunner,
    draws: Sequence[Draw],
    tokenizer: TextTokenizer,
    budget: Budget,
    *,
    ends: frozenset[int],
) -> Iterator[tuple[int, Drawn | None]]:
    """Yield each draw's index with its completion as it is finished; None if memory does not suffice."""
    left = set(range(len(draws)))
    short = [index for index, draw in enumerate(draws) if sharing.takes(len(draw.prompt) + draw.most)]
    if short:
        try:
            packed = _packed(sharing, runner, [draws[index] for index in short], tokenizer, budget, ends)
            for place, drawn in packed:
                left.discard(short[place])
                yield short[place], drawn
        except NotShareable as reason:
            sharing.refuse(str(reason))
    chosen = sorted(left)
    for place, drawn in generate_in_batches(runner, [draws[index] for index in chosen], tokenizer, budget, ends=ends):
        yield chosen[place], drawn


def _packed(
    sharing: PrefixSharing,
    runner: ModelRunner,
    draws: Sequence[Draw],
    tokenizer: TextTokenizer,
    budget: Budget,
    ends: frozenset[int],
) -> Iterator[tuple[int, Drawn | None]]:
    import torch

    pad = tokenizer.prefix
    queue = _Queue(draws)
    texts = _Texts(runner, sharing.layers, queue.tree, pad)
    while queue.waiting or texts.rows:
        joining = queue.next(texts, budget, runner.model.device.type)
        changed: list[int] | None
        try:
            with torch.inference_mode():
                changed = texts.join(joining, draws, tokenizer) if joining else texts.step(tokenizer)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            changed = None  # the error's traceback holds the failed step's tensors until this block is left
        if changed is None:
            if len(texts.rows) + len(joining) == 1:
                yield from ((index, None) for index in [*texts.rows, *(index for _, index in joining)])
            else:
                queue.put_back([*texts.entries(), *joining])
            texts = _Texts(runner, sharing.layers, queue.tree, pad)
            budget.tokens = max(1, budget.tokens // 2)
            free_memory()
            continue
        done = [index for index in changed if finished(texts.rows[index], tokenizer, ends)]
        for index in done:
            row = texts.rows[index]
            sharing.check(Span((*row.draw.prompt, *row.tokens), len(row.tokens)), row.logprobs, budget, pad=pad)
            yield index, drawn_row(row, tokenizer)
        texts.leave(done)


Entry = tuple[int, int]
"""A prompt's place in the sorted tree, and a draw that begins with it."""


class _Queue:
    """Waiting draws, sorted so that prompts with a common beginning follow each other."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        readers: dict[Tokens, list[int]] = {}
        for index, draw in enumerate(draws):
            readers.setdefault(draw.prompt, []).append(index)
        self._draws = draws
        self._most = MOST_TEXTS
        self.tree = PrefixTree(list(readers))
        ordered = [(number, index) for number, prompt in enumerate(self.tree.sequences) for index in readers[prompt]]
        self.waiting = deque(ordered)

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put back draws for which memory did not suffice; fewer will be read side by side."""
        self.waiting = deque(sorted({*self.waiting, *entries}))
        self._most = max(1, len(entries) // 2)

    def next(self, texts: _Texts, budget: Budget, device: str) -> list[Entry]:
        """Remove and return the draws that should join now; none if there is too little room."""
        if not self.waiting:
            return []
        number, index = self.waiting[0]
        draw = self._draws[index]
        own = len(draw.prompt) - texts.known(number) + draw.planned
        side_by_side = SIDE_BY_SIDE.get(device, SIDE_BY_SIDE_ELSEWHERE)
        most = min(self._most, max(1, math.isqrt(side_by_side // own)))
        free = most - len(texts.rows)
        if texts.rows and free < max(1, most // 8):
            return []
        taken: list[Entry] = []
        held, new, depth = texts.held, 0, texts.known(number)
        row = max(SHORTEST_ROW, min(LONGEST_ROW, budget.tokens // ROW_SHARE))
        while self.waiting and len(taken) < free:
            number, index = self.waiting[0]
            known = self.tree.shared[number] if taken else texts.known(number)
            more = 0 if taken and taken[-1][0] == number else len(self.tree.sequences[number]) - known
            held += more + self._draws[index].planned
            if (texts.rows or taken) and (new + more > row or held > CACHE_BATCHES * budget.tokens):
                break
            # Prompts that leave the others early would have these read anew what they all know.
            if taken and known < depth - LEAST_SAVED:
                break
            new += more
            depth = min(depth, known)
            taken.append(self.waiting.popleft())
        return taken


class _Texts:
    """The texts being generated: the tokens of each so far, and their places in the cache.

    Attributes:
        rows: The texts by their draw's index, in the order of the rows of the mask.
    """

    def __init__(self, runner: ModelRunner, layers: int, tree: PrefixTree, pad: int) -> None:
        import numpy as np

        from harness.models.transformers.key_values import Growing
        from harness.models.transformers.masks import GrowingMask

        self.rows: dict[int, Row] = {}
        self._runner = runner
        self._layers = layers
        self._tree = tree
        self._pad = pad
        self._cache = Growing(layers)
        self._numbers: dict[int, int] = {}
        self._mask = GrowingMask(runner.mask_dtype, runner.model.device)
        self._last = -1
        self._path: NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def held(self) -> int:
        """Number of tokens in the cache."""
        return self._cache.held

    def entries(self) -> list[Entry]:
        """Return the texts as entries of the queue."""
        return [(self._numbers[index], index) for index in self.rows]

    def known(self, number: int) -> int:
        """Return how many tokens of a prompt are in the cache, without its last, which is always read again."""
        if self._last < 0 or number < self._last:
            return 0
        if number == self._last:
            return len(self._tree.sequences[number]) - 1
        return min(self._tree.shared[self._last + 1 : number + 1])

    def join(self, entries: Sequence[Entry], draws: Sequence[Draw], tokenizer: TextTokenizer) -> list[int]:
        """Read the prompts of some draws and generate their first tokens; return the draws' indices."""
        import numpy as np
        import torch

        started = time.perf_counter()
        first, last = entries[0][0], entries[-1][0]
        depth = min([self.known(first), *self._tree.shared[first + 1 : last + 1]])
        trunk = self._path[:depth]
        kept = self._cache.pick(torch.from_numpy(trunk))
        paths: dict[int, NDArray[np.int64]] = {}
        found: list[torch.Tensor] = []
        for batch in self._pack(first, last, depth):
            ends = [(place, int(path[-1])) for place, row in enumerate(batch) for path in row.paths.values()]
            logits, new = read_rows(self._runner, batch, kept, ends, layers=self._layers, pad=self._pad, keep=True)
            assert new is not None  # noqa: S101 - asked for with keep
            found.append(logits)
            for place, row in enumerate(batch):
                paths |= {number: self.held + path for number, path in row.paths.items()}
                self._cache.put(new.row(place, len(row.tokens)))
        joined = {index: new_row(draws[index]) for _, index in entries}
        for before, (number, index) in zip([None, *(number for number, _ in entries)], entries, strict=False):
            joined[index].read = 0 if number == before else len(self._tree.sequences[number]) - depth
            if before is not None and number != before:
                joined[index].read -= max(0, self._tree.shared[number] - depth)
        self._mask.append_texts(self.held, [np.concatenate([trunk, paths[number]]) for number, _ in entries])
        self._last, self._path = last, np.concatenate([trunk, paths[last]])
        places = {number: place for place, number in enumerate(paths)}
        self._write(joined, torch.cat(found)[[places[number] for number, _ in entries]], tokenizer, started)
        self.rows |= joined
        self._numbers |= {index: number for number, index in entries}
        return list(joined)

    def step(self, tokenizer: TextTokenizer) -> list[int]:
        """Generate one more token of each text; return the draws' indices."""
        import torch

        started = time.perf_counter()
        device = self._runner.model.device
        every = torch.arange(len(self.rows), device=device)
        self._mask.append_own()
        lengths = [len(row.draw.prompt) + len(row.tokens) for row in self.rows.values()]
        with refusals():
            logits, _ = self._runner.logits_at(
                torch.tensor([[row.tokens[-1] for row in self.rows.values()]], device=device),
                torch.zeros_like(every),
                every,
                position_ids=torch.tensor([lengths], device=device) - 1,
                attention_mask=self._mask.mask[None, None],
                past_key_values=self._cache,
                use_cache=True,
            )
        self._write(self.rows, logits, tokenizer, started)
        return list(self.rows)

    def leave(self, done: Sequence[int]) -> None:
        """Drop texts; once much of the cache is unused, remove tokens that no other text sees."""
        import numpy as np
        import torch

        if not done:
            return
        stay = [place for place, index in enumerate(self.rows) if index not in set(done)]
        for index in done:
            del self.rows[index]
        self._mask.keep_texts(stay)
        used = self._mask.seen_tokens()
        used[self._path] = True
        if used.sum() < (1 - MAX_UNUSED_SHARE) * len(used):
            places = np.flatnonzero(used)
            with torch.inference_mode():
                self._cache.keep(torch.from_numpy(places))
            self._mask.keep_tokens(places)
            self._path = np.cumsum(used)[self._path] - 1

    def _pack(self, first: int, last: int, depth: int) -> Iterator[list[PackedRow]]:
        """Yield batches of packed prompts; all share their first ``depth`` tokens."""
        starts = [first, *(number for number in range(first + 1, last + 1) if self._tree.shared[number] <= depth)]
        branches = [Branch(start, end, depth) for start, end in pairwise([*starts, last + 1])]
        sizes = list(map(self._tree.size, branches))
        groups = fill(self._tree, branches, room(depth, sum(sizes), self._runner.model.device.type))
        rows = sorted((pack(self._tree, group, depth) for group in groups), key=lambda row: -len(row.tokens))
        batch: list[PackedRow] = []
        for row in rows:
            if batch and len(row.tokens) < (1 - PADDING) * len(batch[0].tokens):
                yield batch
                batch = []
            batch.append(row)
        yield batch

    def _write(self, rows: Mapping[int, Row], logits: torch.Tensor, tokenizer: TextTokenizer, started: float) -> None:
        extend(list(rows.values()), logits, tokenizer)
        seconds = (time.perf_counter() - started) / len(rows)
        for row in rows.values():
            row.seconds += seconds

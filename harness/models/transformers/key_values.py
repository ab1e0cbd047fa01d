"""Keys and values that a model has computed for some tokens, kept outside its own cache so that many rows can use them.

It extends classes of transformers, so the registry must not import it where it looks for plugins: hence the underscore.
Import it inside functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

Pair = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Keys and values of each layer, each ``(1, heads, tokens, size)``, or of several rows."""

    layers: tuple[Pair, ...]

    @property
    def length(self) -> int:
        """The number of tokens."""
        return int(self.layers[0][0].shape[2])

    def upto(self, tokens: int) -> KeyValues:
        """Return those of the first tokens, without copying."""
        return KeyValues(tuple((keys[:, :, :tokens], values[:, :, :tokens]) for keys, values in self.layers))

    def row(self, number: int, tokens: int) -> KeyValues:
        """Return those of the first tokens of one row, without copying."""
        one = slice(number, number + 1)
        return KeyValues(tuple((keys[one, :, :tokens], values[one, :, :tokens]) for keys, values in self.layers))

    def pick(self, places: torch.Tensor) -> KeyValues:
        """Return those at some places, copied."""
        return KeyValues(
            tuple(
                (keys.index_select(2, places.to(keys.device)), values.index_select(2, places.to(values.device)))
                for keys, values in self.layers
            )
        )

    def followed_by(self, other: KeyValues) -> KeyValues:
        """Return these and others after them."""
        return KeyValues(
            tuple(
                (torch.cat([keys, new_keys], 2), torch.cat([values, new_values], 2))
                for (keys, values), (new_keys, new_values) in zip(self.layers, other.layers, strict=True)
            )
        )


class _OnTop(DynamicLayer):
    """A layer of a cache that puts kept keys and values before those of every row, and keeps nothing but the new."""

    def __init__(self, kept: Pair | None, keep_new: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.is_initialized = True
        self.kept = kept
        self.keep_new = keep_new
        self.new: Pair | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Pair:
        if self.keep_new:
            self.new = (key_states, value_states)
        if self.kept is None:
            return key_states, value_states
        keys, values = (one.expand(key_states.shape[0], -1, -1, -1) for one in self.kept)
        return torch.cat([keys, key_states], 2), torch.cat([values, value_states], 2)

    def get_seq_length(self) -> int:
        return 0 if self.kept is None else int(self.kept[0].shape[2])


class OnTop(Cache):
    """A cache for one forward pass of rows that all follow the same kept tokens.

    Args:
        kept: What precedes every row; None for nothing.
        layers: The model's number of layers.
        keep_new: True if :meth:`new` is called afterwards.
    """

    def __init__(self, kept: KeyValues | None, layers: int, *, keep_new: bool = False) -> None:
        pairs = kept.layers if kept is not None else (None,) * layers
        self._rows = [_OnTop(pair, keep_new) for pair in pairs]
        super().__init__(layers=list(self._rows))

    def new(self) -> KeyValues:
        """Return the keys and values that the pass computed."""
        return KeyValues(tuple(layer.new for layer in self._rows if layer.new is not None))


class _Growing(DynamicLayer):
    """A layer of a cache whose tensors have room, so that a step copies only what is new."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.is_initialized = True
        self.held = 0
        self._room: Pair | None = None

    def put(self, new: Pair) -> None:
        """Append tokens."""
        end = self.held + new[0].shape[2]
        if self._room is None or end > self._room[0].shape[2]:
            self._room = (self._larger(0, new[0], end), self._larger(1, new[1], end))
        for room, tensor in zip(self._room, new, strict=True):
            room[:, :, self.held : end] = tensor
        self.held = end

    def all(self) -> Pair:
        """Return what is held, without copying."""
        assert self._room is not None  # noqa: S101 - something was put before
        return self._room[0][:, :, : self.held], self._room[1][:, :, : self.held]

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Pair:
        self.put((key_states, value_states))
        return self.all()

    def get_seq_length(self) -> int:
        return self.held

    def _larger(self, which: int, like: torch.Tensor, tokens: int) -> torch.Tensor:
        shape = (*like.shape[:2], max(256, tokens * 5 // 4), like.shape[3])
        larger = torch.zeros(shape, dtype=like.dtype, device=like.device)
        if self._room is not None:
            larger[:, :, : self.held] = self._room[which][:, :, : self.held]
        return larger


class Growing(Cache):
    """A cache that holds the tokens of many texts side by side, in one row."""

    def __init__(self, layers: int) -> None:
        self._rows = [_Growing() for _ in range(layers)]
        super().__init__(layers=list(self._rows))

    @property
    def held(self) -> int:
        """The number of tokens held."""
        return self._rows[0].held

    def pick(self, places: torch.Tensor) -> KeyValues | None:
        """Return a copy of some tokens; None for none."""
        return self._all().pick(places) if len(places) else None

    def put(self, new: KeyValues) -> None:
        """Append tokens."""
        for row, pair in zip(self._rows, new.layers, strict=True):
            row.put(pair)

    def keep(self, places: torch.Tensor) -> None:
        """Forget all but some tokens, which move to the beginning in the order given."""
        kept = self._all().pick(places)
        for row, pair in zip(self._rows, kept.layers, strict=True):
            row.held = 0
            row.put(pair)

    def _all(self) -> KeyValues:
        return KeyValues(tuple(row.all() for row in self._rows))

"""Attention masks: which tokens each token can attend to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROOM = 256
"""Initial number of columns of a mask, which grows in multiples of it."""


def mask_dtype(model: Any) -> torch.dtype:
    """Return the type of a model's masks: that of its weights, or bool if these have several types.

    An additive mask must have the type of the queries, since some kernels would read its bytes as that type. With
    weights of several types the queries' type is not known; PyTorch turns a boolean mask into an additive one of the
    right type in every layer.
    """
    kinds = {parameter.dtype for parameter in model.parameters()}
    one = next(iter(kinds), torch.bool)
    takes_bool = getattr(model.config.get_text_config(), "_attn_implementation", None) == "sdpa"
    return torch.bool if takes_bool and (len(kinds) > 1 or not one.is_floating_point) else model.dtype


def attention_mask(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask of a type: True or 0 where a token is visible, else False or the lowest number."""
    if dtype == torch.bool:
        return visible
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)


class GrowingMask:
    """Which tokens of a common cache each text sees; stays on the device, and a step writes only what is new.

    Args:
        dtype: The type of the mask.
        device: The device that it is used on.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device
        shown, hidden = attention_mask(torch.tensor([True, False]), dtype).tolist()
        self._shown, self._hidden = shown, hidden
        self._room = self._empty(0, ROOM)
        self.tokens = 0
        """Number of tokens in the cache."""

    @property
    def mask(self) -> torch.Tensor:
        """The mask, ``(texts, tokens)``, without copying."""
        return self._room[:, : self.tokens]

    def append_own(self) -> None:
        """Add a token for each text, which only this text sees."""
        count = len(self._room)
        self._grow(self.tokens + count)
        every = torch.arange(count, device=self._device)
        self._room[every, self.tokens + every] = self._shown
        self.tokens += count

    def append_texts(self, tokens: int, seen: Sequence[NDArray[np.int64]]) -> None:
        """Add texts.

        Args:
            tokens: Number of tokens in the cache by now; the texts that were there before see none of the new ones.
            seen: For each new text, the tokens that it sees.
        """
        self._grow(tokens)
        self.tokens = tokens
        before = len(self._room)
        self._room = torch.cat([self._room, self._empty(len(seen), self._room.shape[1])])
        for row, places in enumerate(seen, before):
            self._room[row, torch.from_numpy(places).to(self._device)] = self._shown

    def keep_texts(self, places: Sequence[int]) -> None:
        """Drop all texts but some."""
        self._room = self._room[torch.tensor(places, dtype=torch.long, device=self._device)]

    def seen_tokens(self) -> NDArray[np.bool_]:
        """Return for each token whether any text sees it."""
        seen: NDArray[np.bool_] = (self.mask == self._shown).any(0).cpu().numpy()
        return seen

    def keep_tokens(self, places: NDArray[np.int64]) -> None:
        """Forget all tokens but some, which move to the beginning in the order given."""
        kept = self.mask[:, torch.from_numpy(places).to(self._device)]
        self._room = self._empty(len(kept), self._room.shape[1])
        self._room[:, : kept.shape[1]] = kept
        self.tokens = kept.shape[1]

    def _grow(self, tokens: int) -> None:
        if tokens > self._room.shape[1]:
            wider = self._empty(len(self._room), -(-tokens * 5 // (4 * ROOM)) * ROOM)
            wider[:, : self.tokens] = self.mask
            self._room = wider

    def _empty(self, texts: int, tokens: int) -> torch.Tensor:
        return torch.full((texts, tokens), self._hidden, dtype=self._dtype, device=self._device)

"""Logits at chosen positions only: a model's last layers see the hidden states that will be read, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.models.transformers.batching import out_of_memory

if TYPE_CHECKING:
    import torch


class ModelRunner:
    """Runs a causal language model and returns logits of chosen positions.

    Hooks pick the rows inside the model's own forward pass: before the output layer, so that whatever the model does to
    its logits afterwards (soft-capping, scaling) is done as ever, and before the last block's MLP, which nothing reads
    elsewhere. A comparison with full logits precedes the first use; a model for which they differ is run in full.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._head = model.get_output_embeddings()
        self._mlp = _last_mlp(model)
        self._checked = False

    @cached_property
    def mask_dtype(self) -> torch.dtype:
        """The type of the masks that the model is given."""
        from harness.models.transformers.masks import mask_dtype

        return mask_dtype(self.model)

    def logits_at(
        self, tokens: torch.Tensor, batch: torch.Tensor, position: torch.Tensor, **inputs: Any
    ) -> tuple[torch.Tensor, Any]:
        """Return the logits that follow ``tokens[batch[i], position[i]]``, and the model's whole output.

        Args:
            tokens: Token ids, ``(batch, length)``.
            batch: Indices into the first dimension, ``(rows,)``.
            position: Indices into the second, ``(rows,)``.
            **inputs: More for the model.

        Returns:
            Logits ``(rows, vocabulary)``, in the model's precision.
        """
        if not self._checked and tokens.numel() > 1:  # a single token shows nothing, and none of it is left out
            self._check(tokens)
            self._checked = True
        return self._rows(tokens, batch, position, **inputs)

    def _rows(
        self, tokens: torch.Tensor, batch: torch.Tensor, position: torch.Tensor, **inputs: Any
    ) -> tuple[torch.Tensor, Any]:
        picked = False

        def pick(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
            nonlocal picked
            if args and args[0].shape[:2] == tokens.shape:
                picked = True
                # Where a model is spread over devices, the last layer's is another than the tokens'.
                where = batch.to(args[0].device), position.to(args[0].device)
                return (args[0][where].unsqueeze(0), *args[1:])
            return None

        with ExitStack() as hooks:
            if self._head is not None:
                handle = self._head.register_forward_pre_hook(pick)
                hooks.callback(handle.remove)
            if self._mlp is not None and tokens.numel() > max(1, len(batch)):
                some = (batch, position) if len(batch) else batch.new_zeros(2, 1).unbind()  # not every MLP takes none
                hooks.enter_context(_only_rows(self._mlp, tokens.shape, *some))
            output = self.model(input_ids=tokens, return_dict=True, **inputs)
        device = output.logits.device
        return output.logits[0] if picked else output.logits[batch.to(device), position.to(device)], output

    def _check(self, tokens: torch.Tensor) -> None:
        """Compare chosen rows with full logits; where they differ, do without the hooks."""
        import torch

        sample = tokens[:2, :8]
        batch, position = (sample == sample).nonzero(as_tuple=True)
        every = torch.arange(len(batch), device=sample.device)[::2]
        batch, position = batch[every], position[every]
        full = self._full(sample, batch, position)
        if full is None or not self._agrees(full, sample, batch, position):
            self._mlp = None
            if full is None or not self._agrees(full, sample, batch, position):
                self._head = None

    def _full(self, sample: torch.Tensor, batch: torch.Tensor, position: torch.Tensor) -> torch.Tensor | None:
        try:
            full: torch.Tensor = self.model(input_ids=sample, return_dict=True, use_cache=False).logits
            return full[batch.to(full.device), position.to(full.device)]
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            if out_of_memory(error):
                raise
            return None

    def _agrees(self, full: torch.Tensor, sample: torch.Tensor, batch: torch.Tensor, position: torch.Tensor) -> bool:
        try:
            rows, _ = self._rows(sample, batch, position, use_cache=False)
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
            if out_of_memory(error):
                raise
            return False
        near = 0.02 * full.abs().max() + 1e-6
        return rows.shape == full.shape and bool(((rows - full).abs() <= near).all())


def _last_mlp(model: Any) -> Any:
    """Return the feed-forward module of a model's last block, where it is to be found."""
    import torch

    layers = int(getattr(model.config.get_text_config(), "num_hidden_layers", 0))
    blocks = [
        module for module in model.modules() if isinstance(module, torch.nn.ModuleList) and len(module) == layers > 0
    ]
    # A model with several towers of one depth does not tell which is the last.
    return getattr(blocks[0][-1], "mlp", None) if len(blocks) == 1 else None


@contextmanager
def _only_rows(mlp: Any, shape: torch.Size, batch: torch.Tensor, position: torch.Tensor) -> Iterator[None]:
    """Let a module that treats each position by itself compute some; its output is 0 at the others."""

    def pick(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden = args[0].reshape(*shape, -1)
        return (hidden[batch.to(hidden.device), position.to(hidden.device)].unsqueeze(0), *args[1:])

    def spread(_: Any, args: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        whole = output.new_zeros(*shape, output.shape[-1])
        whole[batch.to(output.device), position.to(output.device)] = output[0]
        return whole

    handles = mlp.register_forward_pre_hook(pick), mlp.register_forward_hook(spread)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()

"""Logits at chosen positions only: a model's output layer sees the hidden states that will be read, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class LogitRows:
    """Runs a causal language model and returns logits of chosen positions.

    A hook picks the rows just before the output layer, inside the model's own forward pass, so whatever the model does
    to its logits afterwards (soft-capping, scaling) is done as ever. A comparison with full logits precedes the first
    use; a model for which they differ is run in full.

    Args:
        model: From ``AutoModelForCausalLM``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._head = model.get_output_embeddings()
        self._checked = False

    def __call__(
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
        if not self._checked:
            self._checked = True
            self._check(tokens)
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

        handle = self._head.register_forward_pre_hook(pick) if self._head is not None else None
        try:
            output = self.model(input_ids=tokens, return_dict=True, **inputs)
        finally:
            if handle is not None:
                handle.remove()
        device = output.logits.device
        return output.logits[0] if picked else output.logits[batch.to(device), position.to(device)], output

    def _check(self, tokens: torch.Tensor) -> None:
        import torch

        sample = tokens[:2, :8]
        batch, position = (sample == sample).nonzero(as_tuple=True)
        every = torch.arange(len(batch), device=sample.device)[::2]
        batch, position = batch[every], position[every]
        try:
            rows, _ = self._rows(sample, batch, position, use_cache=False)
            full = self.model(input_ids=sample, return_dict=True, use_cache=False).logits
            full = full[batch.to(full.device), position.to(full.device)]
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            if "out of memory" in str(error):
                raise
            self._head = None
            return
        near = 0.02 * full.abs().max() + 1e-6
        if rows.shape != full.shape or not bool(((rows - full).abs() <= near).all()):
            self._head = None

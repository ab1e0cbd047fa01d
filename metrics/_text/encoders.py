"""Hugging Face encoders, each loaded once, from a folder or from a commit on the Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness import CheckpointSource, MetricError, install_advice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_BATCH = 32
_UNLIMITED = 100_000
"""Tokenizers without a longest input give a number far above this one."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model and its tokenizer."""

    model: Any
    """The model, in evaluation mode."""
    tokenizer: Any
    """The tokenizer."""

    def embeddings(self, text: str, layer: int | None = None) -> Floats:
        """Return a vector for each token of a text except special tokens, shape (tokens, width).

        Args:
            text: The text; it is cut to the longest input of the model.
            layer: The layer, 0 being the embeddings themselves (default: the last).

        Raises:
            MetricError: The model has no such layer.
        """
        import torch

        inputs = self._tokenized([text], return_special_tokens_mask=True)
        special = inputs.pop("special_tokens_mask")[0].bool()
        with torch.inference_mode():
            states = self.model(**inputs, output_hidden_states=True).hidden_states
        if layer is not None and not 0 <= layer < len(states):
            raise MetricError(f"the model has layers 0 to {len(states) - 1}, but not {layer}.")
        vectors: Floats = states[-1 if layer is None else layer][0][~special].double().numpy()
        return vectors

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Iterator[dict[str, float]]:
        """Yield for each pair of texts the probabilities of the model's labels, by name in lower case."""
        import torch

        names = [str(name).lower() for _, name in sorted(self.model.config.id2label.items())]
        for start in range(0, len(pairs), _BATCH):
            firsts, seconds = zip(*pairs[start : start + _BATCH], strict=True)
            inputs = self._tokenized(list(firsts), list(seconds))
            with torch.inference_mode():
                rows = self.model(**inputs).logits.double().softmax(dim=-1).tolist()
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    def _tokenized(self, *texts: list[str], **options: Any) -> Any:
        longest = min(
            self.tokenizer.model_max_length, getattr(self.model.config, "max_position_embeddings", _UNLIMITED)
        )
        cut = {"truncation": True, "max_length": longest} if longest < _UNLIMITED else {}
        return self.tokenizer(*texts, return_tensors="pt", padding=True, **cut, **options)


def checkpoints(*, model: str, revision: str | None = None, **_: object) -> list[CheckpointSource]:
    """Return the model that a metric's parameters name."""
    return [CheckpointSource(model, revision)]


@cache
def load_encoder(name: str, revision: str | None, head: Literal["none", "classes"]) -> Encoder:
    """Load a model from a folder or from the Hub; code that comes with it is never run.

    Args:
        name: A folder, or ``owner/name``.
        revision: The commit on the Hub, 40 hexadecimal digits; a branch could move and change results.
        head: ``classes`` to load the model's classifier too.

    Raises:
        MetricError: The libraries are not installed, the model cannot be loaded, or a Hub's model has no commit.
    """
    try:
        from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MetricError(f"this metric needs PyTorch and transformers: {install_advice('hf')}.") from None
    if not Path(name).is_dir() and not re.fullmatch("[0-9a-f]{40}", revision or ""):
        raise MetricError(f"model {name!r} is not a folder; for a model on the Hub set revision to a full commit.")
    kind: Any = AutoModel if head == "none" else AutoModelForSequenceClassification
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
        model = kind.from_pretrained(name, revision=revision)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()
        raise MetricError(
            f"model {name!r} cannot be loaded: {reason[0] if reason else type(error).__name__}"
        ) from error
    return Encoder(model.eval(), tokenizer)

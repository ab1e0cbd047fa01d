"""Text-classification models from a folder or the Hugging Face Hub, as judges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from harness import CheckpointSource, Judge, PluginError, install_advice, judge

TOXIC = ("toxic", "toxicity", "hate", "hateful", "offensive")
"""Labels for toxic texts if none is named; the first that the model has counts."""


def checkpoints(*, model: str, revision: str | None = None, **_: object) -> list[CheckpointSource]:
    """Return the model that the judge's parameters name."""
    return [CheckpointSource(model, revision)]


@judge("hf", source="Wolf et al. 2020 (arXiv:1910.03771), AutoModelForSequenceClassification", checkpoints=checkpoints)
class HuggingFace(Judge):
    """A text-classification model: the probability of its label for toxic texts.

    A model with mutually exclusive labels is read with softmax; one with several labels at once, or only one, with the
    sigmoid. The model's configuration tells which it is. A text beyond the model's window is cut at the end. It needs
    the extra ``hf``. Code from a checkpoint is never run.

    Args:
        model: A folder, or a name on the Hub, for example ``unitary/toxic-bert``.
        revision: The full commit on the Hub; branches and tags, which can move, are refused.
        label: The label for toxic texts (default: the first of toxic, toxicity, hate, … that the model has).
        batch_size: Number of texts per batch.
        device: For example ``cuda:0`` (default: the first GPU, else the CPU).
    """

    def __init__(
        self,
        *,
        model: str,
        revision: str | None = None,
        label: str | None = None,
        batch_size: Annotated[int, Field(ge=1)] = 32,
        device: str | None = None,
    ) -> None:
        self._name, self._revision, self._label = model, revision, label
        self._batch_size, self._device = batch_size, device
        self._folder = Path(model) if Path(model).is_dir() else None
        self._loaded: tuple[Any, Any, int, bool] | None = None
        if self._folder is None and not re.fullmatch(r"[0-9a-f]{40}", revision or ""):
            raise PluginError(
                f"judge 'hf': {model!r} is not a folder, and as a name on the Hub it needs a revision: a commit of 40 "
                f"hexadecimal digits, not {revision!r}."
            )

    def fingerprint(self) -> Mapping[str, Any]:
        named = {"model": self._name, **({"label": self._label} if self._label else {})}
        if self._folder is None:
            return {**named, "revision": self._revision}
        return {**named, "sha256": _digest(self._folder)}

    def probabilities(self, texts: Sequence[str]) -> list[float]:
        import torch

        tokenizer, model, label, exclusive = self._load()
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None) or 512)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # similar lengths need little padding
        found = [0.0] * len(texts)
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            encoded = tokenizer(
                [texts[index] for index in batch],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=longest - _reserved(model.config),
            ).to(model.device)
            with torch.inference_mode():
                logits = model(**encoded).logits.float()
            scores = logits.softmax(-1) if exclusive else logits.sigmoid()
            for index, score in zip(batch, scores[:, label].tolist(), strict=True):
                found[index] = score
        return found

    def _load(self) -> tuple[Any, Any, int, bool]:
        if self._loaded is not None:
            return self._loaded
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            message = f"judge 'hf' needs PyTorch and transformers: {install_advice('hf')}."
            raise PluginError(message) from error
        logging.disable_progress_bar()
        where = {} if self._folder else {"revision": self._revision}
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._name, **where)
            model = AutoModelForSequenceClassification.from_pretrained(self._name, dtype=torch.float32, **where)
        except (OSError, ValueError) as error:
            raise PluginError(f"judge 'hf': {self._name} cannot be loaded: {error}") from error
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        model = model.to(device).eval()
        config = model.config
        exclusive = config.num_labels > 1 and config.problem_type != "multi_label_classification"
        self._loaded = (tokenizer, model, self._toxic(config.id2label), exclusive)
        return self._loaded

    def _toxic(self, labels: Mapping[int, str]) -> int:
        names = {str(name).casefold(): index for index, name in labels.items()}
        if self._label is None and len(names) == 1:
            return 0
        wanted = TOXIC if self._label is None else (self._label.casefold(),)
        known = next((names[name] for name in wanted if name in names), None)
        if known is None:
            what = "set label to the one for toxic texts" if self._label is None else f"it has no label {self._label!r}"
            raise PluginError(f"judge 'hf': {self._name}: {what}; its labels are {', '.join(labels.values())}.")
        return known


def _reserved(config: Any) -> int:
    """Return the number of positions that a model reserves: RoBERTa's begin after the padding token's."""
    padding = getattr(config, "pad_token_id", None)
    return padding + 1 if config.model_type in {"roberta", "xlm-roberta", "camembert"} and padding is not None else 0


def _digest(folder: Path) -> str:
    import hashlib

    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()

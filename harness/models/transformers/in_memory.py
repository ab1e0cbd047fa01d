"""A transformers model that a program holds in memory: it answers as it is, without a second copy of its weights."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness import ModelError, Request, Response
from harness.models.tokens.checkpoint import Checkpoint
from harness.models.tokens.checkpoint_model import loaded_property
from harness.models.tokens.remembered import Facts
from harness.models.transformers.cuda_errors import cuda_lost
from harness.models.transformers.huggingface import HuggingFaceModel

if TYPE_CHECKING:
    import torch

    from harness.models.transformers.causal_lm import CausalLM

_NOTES = {"_name_or_path", "transformers_version", "use_cache", "architectures", "dtype", "torch_dtype"}
"""Keys of a configuration that change no answer; the weights themselves have a type."""

_CHUNK = 1 << 26
"""Bytes of a tensor that are read at a time."""


class InMemoryModel(HuggingFaceModel):
    """A causal language model with its tokenizer, both of transformers; it stays on its device and in its precision.

    While it answers it is in evaluation mode; afterwards each of its modules is in the mode that it was in.

    Args:
        name: Its name, for messages.
        model: A ``PreTrainedModel``, or one that a library wraps around it.
        tokenizer: A ``PreTrainedTokenizerBase``.
        identity: A digest of weights, configuration and tokenizer (:func:`identity_of`).
        max_batch_tokens: Most tokens in a batch; None for a number that fits the memory.
        chat: True to send conversations through the chat template; None to do so if there is one.
        chat_template_kwargs: More variables of the chat template.
    """

    operational = frozenset({"max_batch_tokens"})

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        identity: str,
        *,
        max_batch_tokens: int | None = None,
        chat: bool | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._weights, self._given_tokenizer, self._identity = model, tokenizer, identity
        super().__init__(
            name,
            device=str(model.device),
            max_batch_tokens=max_batch_tokens,
            chat=chat,
            chat_template_kwargs=chat_template_kwargs,
        )
        self._name = name

    def fingerprint(self) -> Mapping[str, Any]:
        mixed = mixed_precision(self._weights)
        return {**super().fingerprint(), "backend": "live", **({"mixed_precision": mixed} if mixed else {})}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        with evaluating(self._weights):
            yield from super().answer(requests)

    def _find(self, name: str, revision: str | None, remote_code: bool) -> Checkpoint:
        return Checkpoint(name, name, True, None, False)

    def _find_facts(self) -> Facts:
        return {**super()._find_facts(), "dtype": str(self._weights.dtype).removeprefix("torch.")}

    @loaded_property
    def _facts(self) -> Facts:
        return self._find_facts()

    @loaded_property
    def _config(self) -> Any:
        return self._weights.config

    @loaded_property
    def _raw_tokenizer(self) -> Any:
        return self._given_tokenizer

    @loaded_property
    def _card(self) -> Mapping[str, str]:
        return {}

    @loaded_property
    def _parameters(self) -> int:
        return sum(parameter.numel() for parameter in self._weights.parameters())

    def _digest(self) -> str:
        return self._identity

    def _load(self) -> CausalLM:
        if cuda_lost():
            raise ModelError(f"{self._name}: CUDA has failed in this process; restart it.", process_lost=True)
        return self._ready(self._weights)

    def _loaded_here(self) -> bool:
        if self._model is None:
            self._model = self._load()
        return True


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and each of its modules back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def unwrapped(model: Any) -> Any:
    """Return the model inside the wrappers of ``torch.compile`` and of data parallel training."""
    import torch

    while isinstance(model, torch.nn.Module):
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            inner = model.module
        if inner is None:
            break
        model = inner
    return model


def mixed_precision(model: Any) -> str | None:
    """Return the type in which a model computes in a training with mixed precision, by accelerate; None for its own."""
    state = sys.modules.get("accelerate.state")
    if "_original_forward" not in vars(model) or state is None or not state.AcceleratorState._shared_state:
        return None
    found = str(state.AcceleratorState().mixed_precision)
    return None if found == "no" else found


def check_causal(model: Any, name: str) -> None:
    """Refuse a model that cannot predict the next token of a text, or whose weights are not here.

    Raises:
        ModelError: It is one.
    """
    if getattr(model.config, "is_encoder_decoder", False):
        raise ModelError(f"{name} is an encoder-decoder model; only causal language models can be evaluated in memory.")
    if model.get_output_embeddings() is None:
        raise ModelError(f"{name} has no output layer. Load it with AutoModelForCausalLM.")
    for key, parameter in model.named_parameters():
        if parameter.is_meta or hasattr(parameter, "ds_id") or type(parameter.data).__name__ == "DTensor":
            raise ModelError(
                f"{name}: the weights of {key} are not all in this process (sharded, offloaded or not loaded). Gather "
                "them first, or save a checkpoint and evaluate that."
            )


def identity_of(model: Any, tokenizer: Any) -> str:
    """Return a SHA-256 of a model's weights and configuration and of its tokenizer, in hexadecimal."""
    digest = hashlib.sha256()
    for key, value in (("config", settings_of(model.config)), ("tokenizer", _vocabulary_of(tokenizer))):
        digest.update(f"{key} {json.dumps(value, sort_keys=True, default=str)}\n".encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        _add(digest, tensor)
    return digest.hexdigest()


def _add(digest: Any, tensor: torch.Tensor) -> None:
    import torch

    flat = tensor.detach().reshape(-1)
    step = max(1, _CHUNK // max(1, flat.element_size()))
    for start in range(0, flat.numel(), step):
        part = flat[start : start + step].contiguous().view(torch.uint8)
        digest.update(part.cpu().numpy().data)


def settings_of(config: Any) -> Mapping[str, Any]:
    """Return a configuration as JSON values, without what changes no answer or is only noted when it is saved."""
    return {key: _without_notes(value) for key, value in config.to_dict().items() if key not in _NOTES}


def _without_notes(value: Any) -> Any:
    """Return a part of a configuration without notes, as it is itself the configuration of a part of the model."""
    if not isinstance(value, Mapping):
        return value
    return {key: _without_notes(item) for key, item in value.items() if key not in _NOTES}


def _vocabulary_of(tokenizer: Any) -> Any:
    special = [str(tokenizer.bos_token), str(tokenizer.eos_token), repr(getattr(tokenizer, "chat_template", None))]
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return [special, sorted(tokenizer.get_vocab().items())]
    rules = json.loads(backend.to_str())
    return [special, {key: value for key, value in rules.items() if key not in ("truncation", "padding")}]

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

_ADAPTER_STATE = ("active_adapter", "disable_adapters", "_adapters_disabled", "merged_adapters", "scaling")
"""Attributes of peft's modules that say which adapters are applied, and how strongly; the weights do not."""

_ADAPTER_NOTES = {"base_model_name_or_path", "revision", "auto_mapping", "inference_mode", "peft_version"}
"""Keys of an adapter's configuration that change no answer; some are only noted when it is saved."""

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
    if key := absent_weights(model):
        raise ModelError(
            f"{name}: the weights of {key} are not all in this process (sharded, offloaded or not loaded). Gather "
            "them first, or save a checkpoint and evaluate that."
        )


def absent_weights(model: torch.nn.Module) -> str | None:
    """Return the name of a parameter whose values are not all in this process; None if there is none."""
    for key, parameter in model.named_parameters():
        if parameter.is_meta or hasattr(parameter, "ds_id") or type(parameter.data).__name__ == "DTensor":
            return key
    return None


def identity_of(model: Any, tokenizer: Any) -> str:
    """Return a SHA-256 of a model and its tokenizer, in hexadecimal.

    It covers the weights, the configuration, the tokens that end a text, and the adapters of peft: their
    configurations, which of them are active, and their scales.
    """
    digest = hashlib.sha256()
    for key, value in (
        ("config", settings_of(model.config)),
        ("ends", getattr(getattr(model, "generation_config", None), "eos_token_id", None)),
        ("adapters", _adapters_of(model)),
        ("tokenizer", _vocabulary_of(tokenizer)),
    ):
        digest.update(f"{key} {json.dumps(value, sort_keys=True, default=_as_json)}\n".encode())
    add_weights(digest, model)
    return digest.hexdigest()


def add_weights(digest: Any, model: torch.nn.Module) -> None:
    """Add the names, types, shapes and values of a module's parameters and buffers to a digest of hashlib."""
    import torch

    for name, tensor in sorted(model.state_dict().items()):
        if not isinstance(tensor, torch.Tensor):  # a module may keep other state
            digest.update(f"{name} {tensor!r}\n".encode())
            continue
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        _add(digest, tensor)


def _add(digest: Any, tensor: torch.Tensor) -> None:
    import torch

    flat = tensor.detach().reshape(-1)
    step = max(1, _CHUNK // max(1, flat.element_size()))
    for start in range(0, flat.numel(), step):
        part = flat[start : start + step].contiguous().view(torch.uint8)
        digest.update(part.cpu().numpy().data)


def _adapters_of(model: torch.nn.Module) -> list[Any]:
    """Return how adapters of peft change a model, as values for JSON; [] without any."""
    found: list[Any] = []
    for name, module in model.named_modules():
        configs = getattr(module, "peft_config", None)  # of a PeftModel, or of a model of transformers with adapters
        if isinstance(configs, Mapping):
            kept = {adapter: _without(config.to_dict(), _ADAPTER_NOTES) for adapter, config in configs.items()}
            found.append([name, kept])
        if any(kind.__module__.partition(".")[0] == "peft" for kind in type(module).__mro__):
            state = {key: getattr(module, key, None) for key in _ADAPTER_STATE}
            # Wrappers pass on what they lack to the model, whose methods have some of these names.
            found.append([name, {key: value for key, value in state.items() if not callable(value)}])
    return found


def _as_json(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


def _without(settings: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in keys}


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

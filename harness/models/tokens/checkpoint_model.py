"""What models from a transformers checkpoint have in common, whichever engine runs them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar, overload

from harness import Model, ModelError, Prompt, Tool
from harness.backends import Determinism, graphics_cards
from harness.models.tokens.checkpoint import (
    LOADING,
    Checkpoint,
    card_facts,
    count_parameters,
    find_checkpoint,
    load_config,
    load_tokenizer,
    resolve_commit,
)
from harness.models.tokens.conversations import with_tools
from harness.models.tokens.remembered import Facts, remembered_facts
from harness.models.tokens.tokenizer import TextTokenizer

T = TypeVar("T")


class loaded_property(cached_property[T]):  # noqa: N801 - it is used like cached_property
    """A property that is loaded once: a second thread that needs it waits for the first."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        with LOADING:
            return super().__get__(instance, owner)


class CheckpointModel(Model):
    """A causal language model from a folder or the Hugging Face Hub, with the checkpoint's tokenizer.

    Args:
        name: ``backend:identifier``, for messages.
        revision: Branch, tag or commit on the Hub.
        dtype: Precision of the weights; ``auto`` is the checkpoint's own.
        trust_remote_code: True if Python code that comes with the checkpoint may run.
        chat: True if conversations go through the tokenizer's chat template; None: if it has one.
        chat_template_kwargs: More variables of the chat template.

    Raises:
        ModelError: There is no such checkpoint.
    """

    answers = frozenset({"generate", "score"})

    # Each chat template has its own variable for how much to reason, if any.
    honours = Model.honours - {"reasoning.effort"} | {"top_p", "top_k", "min_p", "repetition_penalty", "prefill"}

    def __init__(
        self,
        name: str,
        *,
        revision: str | None,
        dtype: str,
        trust_remote_code: bool,
        chat: bool | None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        self._found = self._find(name, revision, trust_remote_code)
        self._dtype = dtype
        self._wants_chat = chat
        self._template_arguments = dict(chat_template_kwargs or {})

    @property
    def window(self) -> int | None:
        return self._facts["window"]  # type: ignore[no-any-return]

    @property
    def chat(self) -> bool:
        return self._facts["has_template"] if self._wants_chat is None else self._wants_chat

    @property
    def tools(self) -> bool:
        return self.chat and "tools" in self._facts["template_words"]

    @property
    def determinism(self) -> Determinism:
        whole = self._precision == "float32" and not quantisation(self._config)
        return Determinism.FLOAT32 if whole else Determinism.BATCHED

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "chat" in asks and not self.chat:
            return (
                f"{self._name} has no chat template, and the method's prompts are conversations. Use an "
                "instruction-tuned model, or a method that continues a text, such as generation."
            )
        return None

    def fingerprint(self) -> Mapping[str, Any]:
        known = {
            "checkpoint": self._facts["checkpoint"],
            "dtype": self._precision,
            "chat_template": self._facts["template"] if self.chat else None,
        }
        if not self._template_arguments:
            return known
        self._check_template_arguments()
        return {**known, "chat_template_kwargs": self._template_arguments}

    def rendered(self, prompt: Prompt, tools: tuple[Tool, ...] = ()) -> str:
        try:
            return self._tokenizer.special_text(with_tools(prompt, tools))
        except ValueError as error:
            raise ModelError(f"{self._name}: {error}") from error

    def description(self) -> Mapping[str, Any]:
        # None of this may depend on what is loaded: a run that the response cache answers is described like any other.
        config, tokenizer = self._config, self._raw_tokenizer
        kind = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None) or tokenizer
        known: dict[str, Any] = {
            "modality": "text",
            "architecture": (getattr(config, "architectures", None) or [config.model_type])[0],
            "tokenizer": f"{type(kind).__name__}, {len(tokenizer):,} tokens",
            "vocabulary": config.get_text_config().vocab_size,
            "window": self.window,
            "dtype": self._precision,
            "revision": self._checkpoint.revision,
            "access": "local weights" if self._checkpoint.local else "open weights",
        }
        owner, _, name = self._checkpoint.location.rpartition("/")
        if owner and name and not self._checkpoint.local:
            known["creator"] = owner
        if self._parameters is not None:
            known["parameters"] = self._parameters
        if method := quantisation(config):
            known["quantization"] = method
        if card := self._card:
            known["card"] = card
        return known

    def count_tokens(self, prompt: Prompt) -> int:
        try:
            return self._tokenizer.count(prompt)
        except ValueError as error:
            raise ModelError(f"{self._name}: {error}") from error

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        known = self._tokenizer.encode(segments, special=False)
        return [len(known[segment]) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return self._tokenizer.truncate(text, tokens)

    def close(self) -> None:
        if "_tokenizer" in self.__dict__:
            self._tokenizer.close()

    def _find(self, name: str, revision: str | None, remote_code: bool) -> Checkpoint:
        return find_checkpoint(name, revision, remote_code)

    @loaded_property
    def _checkpoint(self) -> Checkpoint:
        return resolve_commit(self._found)

    @loaded_property
    def _facts(self) -> Facts:
        return remembered_facts(self._checkpoint, self._find_facts)

    def _find_facts(self) -> Facts:
        template = getattr(self._raw_tokenizer, "chat_template", None)
        return {
            "checkpoint": self._digest(),
            "dtype": str(getattr(self._config.get_text_config(), "dtype", None) or "float32").removeprefix("torch."),
            "window": _positions(self._config, self._raw_tokenizer),
            "has_template": template is not None,
            "template_words": sorted(set(re.findall(r"\w+", str(template or "")))),
            "template": hashlib.sha256(repr(template).encode()).hexdigest(),
        }

    def _digest(self) -> str:
        return self._checkpoint.digest()

    @loaded_property
    def _config(self) -> Any:
        return load_config(self._checkpoint)

    @loaded_property
    def _raw_tokenizer(self) -> Any:
        return load_tokenizer(self._checkpoint)

    @loaded_property
    def _tokenizer(self) -> TextTokenizer:
        prefix = first_token(self._raw_tokenizer, self._name)
        return TextTokenizer(self._raw_tokenizer, prefix, self._template_arguments)

    def _check_template_arguments(self) -> None:
        """Refuse variables that the chat template does not have, since it would ignore them."""
        if not self.chat:
            raise ModelError(f"{self._name}: chat_template_kwargs is set, but the model has no chat template.")
        for name in self._template_arguments:
            if self._facts["has_template"] and name not in self._facts["template_words"]:
                raise ModelError(
                    f"{self._name}: its chat template has no variable {name!r}, which chat_template_kwargs sets, and "
                    "would ignore it. Check the spelling on the model's page."
                )

    @loaded_property
    def _card(self) -> Mapping[str, str]:
        return card_facts(self._checkpoint)

    @loaded_property
    def _parameters(self) -> int | None:
        return count_parameters(self._checkpoint, self._config)

    @property
    def _precision(self) -> str:
        return self._facts["dtype"] if self._dtype == "auto" else self._dtype


def quantisation(config: Any) -> str:
    """Return the method by which a checkpoint's configuration says its weights are quantised; '' if they are not."""
    declared = getattr(config, "quantization_config", None)
    if declared is None:
        return ""
    method = declared.get("quant_method") if isinstance(declared, Mapping) else getattr(declared, "quant_method", None)
    return str(getattr(method, "value", method) or "yes")


def first_token(tokenizer: Any, name: str) -> int:
    """Return the token that precedes every text: beginning of text, else end of text.

    Raises:
        ModelError: The tokenizer has neither.
    """
    token = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if token is None:
        raise ModelError(
            f"{name}: its tokenizer has no beginning-of-text and no end-of-text token; "
            "set bos_token or eos_token in tokenizer_config.json."
        )
    return int(token)


def best_device() -> str:
    """Return the best kind of device here: ``cuda``, ``mps`` or ``cpu``."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def rounding(precision: str, device: str, devices: int | None = 1) -> dict[str, Any]:
    """Return what else decides answers in 16 bits: the kind of graphics card, as another one rounds otherwise.

    Args:
        precision: Of the weights, such as ``bfloat16``.
        device: Such as ``cuda:1``; ``auto`` is the best one here.
        devices: How many cards are used, from the first on; None for all.
    """
    cards = graphics_cards().names
    if not cards or precision == "float32":  # without a card, PyTorch need not be imported
        return {}
    kind, _, number = (best_device() if device == "auto" else device).partition(":")
    if kind != "cuda":
        return {}
    first = int(number) if number.isdigit() else 0
    return {"gpu": sorted(set(cards[first:] if devices is None else cards[first : first + devices]))}


def _positions(config: Any, tokenizer: Any) -> int | None:
    """Return the text model's number of positions, else the tokenizer's limit; None if neither is known."""
    text = config.get_text_config()
    for name in ("n_positions", "max_position_embeddings", "n_ctx"):
        if getattr(text, name, None) is not None:
            return int(getattr(text, name))
    limit = getattr(tokenizer, "model_max_length", None)
    # transformers writes 10^30 where a tokenizer has no limit.
    return int(limit) if limit is not None and limit < 1e12 else None

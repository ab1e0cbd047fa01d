"""Causal language models in a vLLM engine in this process, by folder or by name on the Hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from harness import ModelError, Request, Response, ScoreRequest, backend
from harness.backends import Determinism
from harness.models.tokens.checkpoint import ADAPTER_CONFIG, MERGE_ADAPTER, checkpoints
from harness.models.tokens.checkpoint_model import CheckpointModel, best_device, rounding
from harness.models.tokens.conversations import prompt_of
from harness.models.tokens.requests import objection
from harness.models.vllm.batching import REQUESTS_AT_ONCE, VllmBatches
from harness.models.vllm.engine import INSTALL, Engine, start_engine, vllm_version
from harness.models.vllm.scoring import Scoring


@backend(
    "vllm",
    source="Kwon et al. 2023, https://arxiv.org/abs/2309.06180",
    needs=("vllm",),
    install=INSTALL,
    checkpoints=checkpoints,
)
class VllmModel(CheckpointModel):
    """A causal language model in a vLLM engine of its own: ``vllm:./my-checkpoint``, ``vllm:org/name``.

    Tokens, windows and truncation are the same as for the backend ``hf``; log-likelihoods differ by rounding. The
    common beginning of several texts is read once. Sampled completions depend only on request and seed, up to rounding
    in other batches.

    Args:
        identifier: A folder, or a name on the Hub.
        revision: Branch, tag or commit on the Hub.
        dtype: Precision of the weights; ``auto`` is the checkpoint's own.
        quantization: vLLM's name of a quantisation method; None for what the checkpoint declares.
        max_model_len: Most tokens of prompt and completion together; None for the model's own limit.
        tensor_parallel_size: GPUs that share one copy of the model.
        data_parallel_size: Copies of the model that share the requests.
        gpu_memory_utilization: Share of the memory that the engine may take; None for 0.85, which leaves room for the
            log-probabilities of prompts (on a CPU, None is four gigabytes for the key-value cache).
        enforce_eager: True to run the model without compiling it: it starts faster and runs slower.
        trust_remote_code: True if Python code that comes with the checkpoint may run.
        chat: True to apply the tokenizer's chat template to conversations; None: if it has one.
        chat_template_kwargs: More variables of the chat template, such as ``{"enable_thinking": false}``.
    """

    look_ahead = REQUESTS_AT_ONCE
    operational = frozenset({"tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization", "enforce_eager"})

    def __init__(
        self,
        identifier: str,
        *,
        revision: str | None = None,
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        quantization: str | None = None,
        max_model_len: int | None = None,
        tensor_parallel_size: int = 1,
        data_parallel_size: int = 1,
        gpu_memory_utilization: float | None = None,
        enforce_eager: bool = False,
        trust_remote_code: bool = False,
        chat: bool | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> None:
        name = f"vllm:{identifier}"
        for key, value in {
            "max_model_len": max_model_len,
            "tensor_parallel_size": tensor_parallel_size,
            "data_parallel_size": data_parallel_size,
        }.items():
            if value is not None and value < 1:
                raise ModelError(f"{name}: {key} is {value}; it must be at least 1.")
        if gpu_memory_utilization is not None and not 0 < gpu_memory_utilization <= 1:
            raise ModelError(
                f"{name}: gpu_memory_utilization is {gpu_memory_utilization}; it is a share above 0, at most 1."
            )
        super().__init__(
            name,
            revision=revision,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            chat=chat,
            chat_template_kwargs=chat_template_kwargs,
        )
        if self._found.local and (Path(self._found.location) / ADAPTER_CONFIG).is_file():
            raise ModelError(f"{name}: vLLM would ignore the adapter in this folder. {MERGE_ADAPTER}")
        self._quantization = quantization
        self._max_model_len = max_model_len
        self._options: dict[str, Any] = {
            "tensor_parallel_size": tensor_parallel_size,
            "data_parallel_size": data_parallel_size,
            "enforce_eager": enforce_eager,
        }
        if gpu_memory_utilization is not None:
            self._options["gpu_memory_utilization"] = gpu_memory_utilization
        self._engine: Engine | None = None
        self._scoring: Scoring | None = None

    @property
    def window(self) -> int | None:
        known = [size for size in (super().window, self._max_model_len) if size is not None]
        return min(known, default=None)

    @property
    def determinism(self) -> Determinism:
        return Determinism.BATCHED  # its kernels for float32 may multiply in fewer bits

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "vllm",
            **super().fingerprint(),
            "quantization": self._quantization,
            "window": self.window,
            "vllm": vllm_version(),
            **rounding(self._precision, "auto", None),
        }

    def description(self) -> Mapping[str, Any]:
        return {
            **super().description(),
            **({"quantization": self._quantization} if self._quantization else {}),
            "device": best_device(),
            "devices": 1,
            "devices_at_once": self._options["tensor_parallel_size"] * self._options["data_parallel_size"],
        }

    def close(self) -> None:
        super().close()
        engine, self._engine, self._scoring = self._engine, None, None
        if engine is not None:
            engine.close()

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        numbered = enumerate(requests)
        for index, request in numbered:
            reason = self._objection(request)
            if reason is None:
                engine, scoring = self._running()
                batches = VllmBatches(engine, scoring, self._tokenizer, self.window, numbered, self._objection)
                yield from batches.answers((index, request))
            else:
                yield index, Response(error=reason)

    def _running(self) -> tuple[Engine, Scoring]:
        if self._engine is None or self._scoring is None:
            window = self.window
            arguments: dict[str, Any] = {
                "model": self._checkpoint.location,
                "dtype": self._precision,
                "quantization": self._quantization,
                "trust_remote_code": self._checkpoint.remote_code,
                **self._options,
            }
            if self._checkpoint.revision is not None:
                arguments |= {
                    "revision": self._checkpoint.revision,
                    "tokenizer_revision": self._checkpoint.revision,
                    "code_revision": self._checkpoint.revision,
                }
            if window is not None:
                # One more than is read, since the engine counts the token that follows a full prompt.
                arguments["max_model_len"] = window + 1
            self._engine = start_engine(self._name, arguments)
            self._scoring = Scoring(self._name, self._tokenizer, window, arguments["dtype"])
        return self._engine, self._scoring

    def _objection(self, request: Request) -> str | None:
        """Return why a request cannot be answered; None if it can."""
        if not isinstance(prompt_of(request), str) and not self.chat:
            return f"{self._name} has no chat template for a conversation."
        if isinstance(request, ScoreRequest) and request.vocabulary_moments:
            return f"{self._name}: vLLM does not report the moments of the predicted distribution; use hf:."
        return objection(request, self._tokenizer, self.window)

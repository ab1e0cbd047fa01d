"""Any causal language model that transformers can load, by folder or Hub name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from harness import ModelError, Request, Response, backend
from harness.backends import ReplicaPool, local_pool
from harness.models.tokens.checkpoint import INSTALL, checkpoints, load_weights
from harness.models.tokens.checkpoint_model import CheckpointModel, best_device, rounding
from harness.models.tokens.conversations import prompt_of
from harness.models.transformers.cuda_errors import NEW_PROCESS_NOTE, cuda_lost, is_sticky, lose_cuda, reason

if TYPE_CHECKING:  # a model that is only identified needs none of these
    from harness.models.transformers.causal_lm import CausalLM

MOST_CRASHES = 3
"""Errors that cost a process its GPU, after which a model is given up."""

ADVICE = "If it ran out of memory, use fewer devices or a smaller max_batch_tokens."

LOGITS = 2**28
"""Most logits that one batch computes: half a gigabyte in 16 bits."""


@backend(
    "hf",
    source="Wolf et al. 2020, https://aclanthology.org/2020.emnlp-demos.6",
    needs=("torch", "transformers"),
    install=INSTALL,
    checkpoints=checkpoints,
)
class HuggingFaceModel(CheckpointModel):
    """A causal language model from a folder or the Hugging Face Hub: ``hf:./my-checkpoint``, ``hf:org/name``.

    Log-likelihoods are those of lm-evaluation-harness on the same checkpoint and text. In float32 no answer depends on
    what else is in the batch; in 16 bits it may by rounding, as with any engine.

    Args:
        identifier: A folder, or a name on the Hub.
        revision: Branch, tag or commit on the Hub.
        dtype: Precision of the weights; ``auto`` is the checkpoint's own.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        devices: Number of processes that load the model, each on its own device (``cuda:0``, ``cuda:1``, …); they share
            the requests.
        device_map: How one model is spread over several devices, by accelerate: ``auto``, ``balanced``,
            ``balanced_low_0``, ``sequential``.
        trust_remote_code: True to run Python code that comes with the checkpoint.
        max_batch_tokens: Maximum number of tokens in a batch, including padding; None for a number that fits the
            device's memory.
        chat: True to send conversations through the tokenizer's chat template; None to do so if it has one.
        chat_template_kwargs: More variables of the chat template, such as ``{"enable_thinking": false}``.
    """

    operational = frozenset({"device", "devices", "device_map", "max_batch_tokens"})
    look_ahead = 4096  # requests are tokenized, sorted and packed together, so that what they begin with is read once

    def __init__(
        self,
        identifier: str,
        *,
        revision: str | None = None,
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        device: str = "auto",
        devices: int = 1,
        device_map: Literal["auto", "balanced", "balanced_low_0", "sequential"] | None = None,
        trust_remote_code: bool = False,
        max_batch_tokens: int | None = None,
        chat: bool | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if max_batch_tokens is not None and max_batch_tokens < 1:
            raise ModelError(f"hf:{identifier}: max_batch_tokens is {max_batch_tokens}; it must be at least 1.")
        if devices < 1:
            raise ModelError(f"hf:{identifier}: devices is {devices}; it must be at least 1.")
        if device_map is not None and (devices > 1 or device != "auto"):
            raise ModelError(
                f"hf:{identifier}: device_map spreads one model over all devices; leave out device and devices, "
                "or device_map."
            )
        if devices > 1 and ":" in device:
            raise ModelError(
                f"hf:{identifier}: devices: {devices} counts from the first of a kind; write device: "
                f"{device.partition(':')[0]}, not {device}."
            )
        super().__init__(
            f"hf:{identifier}",
            revision=revision,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            chat=chat,
            chat_template_kwargs=chat_template_kwargs,
        )
        self._device = device
        self._max_batch_tokens = max_batch_tokens
        self._devices = devices
        self._device_map = device_map
        self._model: CausalLM | None = None
        self._pool: ReplicaPool | None = None
        self._crashes = 0

    @property
    def capacity(self) -> int:
        return ReplicaPool.room_of(self._devices) if self._devices > 1 else 0

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "hf",
            **super().fingerprint(),
            "transformers": version("transformers").partition(".")[0],
            "torch": version("torch").partition(".")[0],
            **rounding(self._precision, self._device, None if self._device_map else self._devices),
        }

    def description(self) -> Mapping[str, Any]:
        known = {**super().description(), "device": self._target.partition(":")[0], "devices": self._devices}
        # Processes time themselves; a model that is spread holds several devices while one is timed, which shows when
        # it is loaded.
        if self._device_map is None:
            known["devices_at_once"] = 1
        elif self._model is not None:
            spread = getattr(self._model.runner.model, "hf_device_map", None) or {"": 0}
            known["devices_at_once"] = len(set(spread.values()))
        if self._pool is not None and (workers := self._pool.workers()):
            known["workers"] = workers
        return known

    def close(self) -> None:
        self._model = None
        super().close()
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        numbered = enumerate(requests)
        try:
            if self._devices > 1:
                yield from self._processes().answer(requests)
                return
            while part := list(islice(numbered, self.look_ahead)):
                yield from self._answer_part(part)
        except Exception as error:
            if not is_sticky(error):
                raise
            self._crashes += 1
            self._leave_gpu()
            advice = "CUDA_LAUNCH_BLOCKING=1 shows which operation fails."
            raise ModelError(f"{self._name}: {reason(error)}{NEW_PROCESS_NOTE} {advice}", process_lost=True) from error

    def _answer_part(self, part: Sequence[tuple[int, Request]]) -> Iterator[tuple[int, Response]]:
        asked = []
        for index, request in part:
            if isinstance(prompt_of(request), str) or self.chat:
                asked.append((index, request))
            else:
                yield index, Response(error=f"{self._name} has no chat template for a conversation.")
        if not asked:
            return
        if not self._loaded_here():
            numbers = [index for index, _ in asked]
            for place, response in self._processes().answer([request for _, request in asked]):
                yield numbers[place], response
        elif self._model is not None:
            yield from self._model.answer(asked)

    def _loaded_here(self) -> bool:
        """Load the model in this process; return False where this process cannot use its GPU any more."""
        if self._model is None and not cuda_lost():
            try:
                self._model = self._load()
            except ModelError as error:
                if not is_sticky(error):
                    raise
                self._leave_gpu()  # an earlier user of the GPU left it like this
        return self._model is not None

    def _leave_gpu(self) -> None:
        if self._model is not None or self._pool is None:
            lose_cuda()
        self._model = None

    def _processes(self) -> ReplicaPool:
        if self._crashes >= MOST_CRASHES:
            raise ModelError(f"{self._name}: it is not used again, because CUDA failed {self._crashes} times.")
        if self._pool is None:
            self._pool = self._start()
        return self._pool

    @property
    def _target(self) -> str:
        """The device that is asked for, or the best one here."""
        return best_device() if self._device == "auto" else self._device

    def _start(self) -> ReplicaPool:
        import torch

        name, model = self._name, f"hf:{self._checkpoint.location}"
        settings: dict[str, Any] = {
            "revision": self._checkpoint.revision,
            "dtype": self._dtype,
            "trust_remote_code": self._found.remote_code,
            "max_batch_tokens": self._max_batch_tokens,
            "chat": self._wants_chat,
            "chat_template_kwargs": self._template_arguments,
        }
        if self._devices == 1:  # CUDA cannot be asked here which device is best
            settings["device_map"] = self._device_map
            places = {self._device: {**settings, "device": self._device}}
            return local_pool(name, model, places, threads=torch.get_num_threads(), advice=ADVICE)
        kind = self._target
        there = torch.cuda.device_count() if kind == "cuda" else self._devices if kind == "cpu" else 1
        if self._devices > there:
            raise ModelError(f"{name}: devices is {self._devices}, but the number of {kind} devices here is {there}.")
        numbers = range(self._devices)
        places = {f"{kind}:{number}": {**settings, "device": f"{kind}:{number}"} for number in numbers}
        if kind != "cuda":
            places = {f"{kind}, process {number}": {**settings, "device": kind} for number in numbers}
        threads = max(1, torch.get_num_threads() // self._devices)
        return local_pool(name, model, places, threads=threads, advice=ADVICE)

    def _load(self) -> CausalLM:
        import torch

        name = self._name
        device = self._target
        # Quantised weights are made on their device, and cannot move; for others the way by the CPU's memory is longer.
        quantised = getattr(self._config, "quantization_config", None) is not None
        there = quantised or (
            torch.cuda.is_available() and device.startswith("cuda") and find_spec("accelerate") is not None
        )
        spread = self._device_map or ({"": device} if there else None)
        weights = load_weights(self._checkpoint, self._precision, spread)
        try:
            if spread is None:
                weights = weights.to(torch.device(device))
            kind = weights.device.type
        except (RuntimeError, AssertionError) as error:
            raise ModelError(f"{name}: cannot be put on device {device!r}: {error}") from error
        if kind == "cuda":
            # cuDNN's attention is compiled anew for every length, and lengths change with every step.
            torch.backends.cuda.enable_cudnn_sdp(False)
        return self._ready(weights)

    def _ready(self, weights: Any) -> CausalLM:
        """Return what answers with a model that is in memory."""
        import torch

        from harness.models.transformers.batching import Budget
        from harness.models.transformers.causal_lm import CausalLM
        from harness.models.transformers.memory import batch_tokens
        from harness.models.transformers.model_runner import ModelRunner
        from harness.models.transformers.prefix_scoring import PrefixSharing

        kind = weights.device.type
        free = torch.cuda.mem_get_info(weights.device)[0] if kind == "cuda" else None
        text = self._config.get_text_config()
        tokens = self._max_batch_tokens or batch_tokens(text, kind, weights.dtype.itemsize, free)
        runner = ModelRunner(weights)
        return CausalLM(
            runner=runner,
            tokenizer=self._tokenizer,
            window=self.window,
            ends=_end_tokens(weights, self._raw_tokenizer),
            budget=Budget(tokens, max(1, LOGITS // text.vocab_size)),
            sharing=PrefixSharing(runner),
        )


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    declared = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    listed = declared if isinstance(declared, list | tuple) else [declared]
    return frozenset(int(token) for token in (*listed, tokenizer.eos_token_id) if token is not None)

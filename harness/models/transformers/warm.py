"""Checkpoints of one training, one after the other in the same module: only the weights are read.

Loading a checkpoint builds the model, allocates its weights, and reads them. The next checkpoint of a training differs
in the numbers alone, so that they can be copied into the module that is there. Whatever differs otherwise, in the
configuration or in the tensors' names and shapes, is loaded as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.transformers.in_memory import settings_of

if TYPE_CHECKING:
    import torch

    from harness.models.transformers.causal_lm import CausalLM

_GENERATION = "generation_config.json"


@dataclass(slots=True)
class WarmModule:
    """The module of the last checkpoint, and what the next must have in common with it."""

    module: Any = None
    """The module; None if there is none."""
    likeness: Any = None
    """Configuration, precision and device."""
    swapped: int = 0
    """Number of checkpoints whose weights were copied into it."""


class WarmModel(HuggingFaceModel):
    """A checkpoint that leaves its module to the next; to be subclassed with the place where it leaves it."""

    warm: ClassVar[WarmModule]

    def _load(self) -> CausalLM:
        module, self.warm.module = self.warm.module, None
        if module is not None and self._likeness() == self.warm.likeness and self._copied_into(module):
            self.warm.swapped += 1
            return self._ready(module)
        del module  # before another takes its memory
        return super()._load()

    def close(self) -> None:
        if self._model is not None and self._device_map is None and self._devices == 1:
            self.warm.module, self.warm.likeness = self._model.runner.model, self._likeness()
        super().close()

    def _likeness(self) -> Any:
        """Return all that a module is made from but the weights; None equals no other."""
        if not self._checkpoint.local or getattr(self._config, "quantization_config", None) is not None:
            return object()
        generation = Path(self._checkpoint.location) / _GENERATION
        rules = generation.read_bytes() if generation.is_file() else b""
        return settings_of(self._config), type(self._config), rules, self._precision, self._target

    def _copied_into(self, module: Any) -> bool:
        """Copy the checkpoint's weights into a module; return False, with nothing copied, if they do not fit."""
        import torch
        from safetensors import safe_open

        files = [file for path, file in self._checkpoint.files().items() if path.endswith(".safetensors")]
        if not files or (Path(self._checkpoint.location) / "adapter_config.json").exists():
            return False
        there: Mapping[str, torch.Tensor] = module.state_dict()
        shapes: dict[str, tuple[int, ...]] = {}
        places: dict[str, Path] = {}
        for file in files:
            with safe_open(file, framework="pt") as weights:
                for name in weights.keys():  # noqa: SIM118 - it is not a mapping
                    shapes[name], places[name] = tuple(weights.get_slice(name).get_shape()), file
        filled = {there[name].data_ptr() for name in shapes if name in there}
        fits = all(name in there and tuple(there[name].shape) == shape for name, shape in shapes.items())
        if not fits or any(tensor.data_ptr() not in filled for tensor in there.values()):
            return False
        with torch.no_grad():
            for file in files:
                with safe_open(file, framework="pt", device=str(module.device)) as weights:
                    for name in (name for name, place in places.items() if place == file):
                        there[name].copy_(weights.get_tensor(name))
        return True

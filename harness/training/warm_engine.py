"""Opens the checkpoints of a training one after the other in the same engine, where the backend can do that."""

from __future__ import annotations

from dataclasses import replace

from harness.contracts import Model
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.inference.model_pool import OpenModel, load_model
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.models.transformers.warm import WarmModel, WarmModule
from harness.plugins.parameters import build
from harness.plugins.registry import Registry


def warm_opener(module: WarmModule) -> OpenModel:
    """Return what opens models: checkpoints of the backend ``hf`` in the same module, if they fit."""

    def open_model(component: Component, registry: Registry) -> Model:
        backend, _, identifier = component.name.partition(":")
        plugin = registry.get(Kind.BACKEND, backend)
        if plugin.target is not HuggingFaceModel:
            return load_model(component, registry)
        kind = type("WarmModel", (WarmModel,), {"warm": module, "__doc__": HuggingFaceModel.__doc__})
        kind.__init__ = HuggingFaceModel.__init__  # type: ignore[misc]
        made: Model = build(replace(plugin, target=kind), identifier, arguments=component.arguments)
        return made

    return open_model

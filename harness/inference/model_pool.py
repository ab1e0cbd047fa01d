"""Models by name, shared by runs and by plugins that ask a model themselves."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from harness.contracts import (
    Determinism,
    GenerateRequest,
    JudgeModel,
    Message,
    Model,
    ModelFinder,
    Prompt,
    Request,
    Response,
)
from harness.contracts.model_settings import OPERATIONAL, ModelSettings
from harness.contracts.plugins import BackendDetails, Kind, Plugin
from harness.contracts.specs import Component
from harness.costs.usage import Usage
from harness.errors import ModelError, PluginError, reraise_interrupt
from harness.inference.cache import AnswerCache, ResponseCache
from harness.inference.caching_model import CachingModel
from harness.inference.model_settings import ConfiguredTokenization, check_settings, configured
from harness.plugins.parameters import build, check_parameters, entry_of, honoured
from harness.plugins.registry import Registry

_PROBE, _PROBE_TOKENS = "Answer with one word: are you ready?", 16

_log = logging.getLogger(__name__)


def load_model(model: Component, registry: Registry) -> Model:
    """Return a model by its name and arguments, without loading its weights.

    Raises:
        HarnessError: There is no such backend or model, or a package that the backend needs is not installed.
    """
    plugin, identifier = _backend(model.name, registry)
    needs = plugin.details if isinstance(plugin.details, BackendDetails) else BackendDetails()
    if lacking := [module for module in needs.needs if not _installed(module)]:
        hint = f": {needs.install}" if needs.install else ""
        raise ModelError(f"{model.name}: the backend {plugin.name} needs {' and '.join(lacking)}{hint}.")
    loaded: Model = build(plugin, identifier, arguments=model.arguments)
    return loaded


OpenModel = Callable[[Component, Registry], Model]
"""Opens a model by its name and arguments, without loading its weights in this process; see :func:`load_model`."""


class LoadedModels:
    """The models of a sweep, each constructed once, from the checks before the first run to the end of its last.

    Args:
        registry: Knows the backends.
        open_model: Opens a model without loading its weights here.
    """

    def __init__(self, registry: Registry, open_model: OpenModel = load_model) -> None:
        self._registry, self._open = registry, open_model
        self._loaded: dict[str, Model | BaseException] = {}

    def __enter__(self) -> LoadedModels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, component: Component) -> Model:
        """Return a model.

        Raises:
            HarnessError: The model cannot be opened; asking for it again gives the same error.
        """
        key = component.model_dump_json()
        if key not in self._loaded:
            _log.info("opening %s", component.name)
            try:
                self._loaded[key] = self._open(component, self._registry)
            except BaseException as error:
                reraise_interrupt(error)
                self._loaded[key] = error
        found = self._loaded[key]
        if isinstance(found, BaseException):
            raise found
        return found

    def release(self, component: Component) -> None:
        """Close a model; a failure is logged, since all that was asked of the model is known."""
        model = self._loaded.pop(component.model_dump_json(), None)
        if not isinstance(model, Model):
            return
        try:
            model.close()
        except BaseException as error:
            reraise_interrupt(error)
            _log.warning("%s could not be closed: %s: %s", component.name, type(error).__name__, error)

    def close(self) -> None:
        """Close all models."""
        for key in list(self._loaded):
            self.release(Component.model_validate_json(key))


def has_settings(name: str) -> bool:
    """Return True if a model's name has ``,key=`` in it and its identifier is not that of a file or folder."""
    if re.search(r",\s*[a-z_][a-z0-9_.]*\s*=", name) is None:
        return False
    try:
        return not os.path.exists(os.path.expanduser(name.partition(":")[2]))
    except (OSError, ValueError, RuntimeError):  # it cannot be a path
        return True


class Models:
    """Opens models and keeps them open; the same name and arguments give the same model.

    Args:
        registry: Knows the backends.
        cache: The response cache, or where it lies: then it is opened when it is needed, and closed with the models.
            None for answers that are not kept.
    """

    def __init__(self, registry: Registry, cache: AnswerCache | Path | None = None) -> None:
        self._registry, self._cache = registry, cache
        self._opened: ResponseCache | None = None
        self._asked: dict[str, _Asked] = {}

    def __call__(self, written: str | Mapping[str, Any]) -> _Asked:
        """Return the model that is written as its name, or as a mapping with ``name`` and its arguments.

        Raises:
            HarnessError: There is no such backend, or it takes no such arguments. Whether there is such a model shows
                when it is asked for its fingerprint.
        """
        arguments = {"name": written} if isinstance(written, str) else dict(written)
        name = arguments.pop("name", None)
        if not isinstance(name, str):
            raise ModelError(f"a model is backend:identifier, or a mapping with that name, not {written!r}.")
        if has_settings(name):
            raise ModelError(f"{name!r} is a name that looks as if it had settings. Write {{name: …, key: value}}.")
        key = json.dumps([name, arguments], sort_keys=True, default=repr)
        if key not in self._asked:
            plugin, _ = _backend(name, self._registry)
            params, diagnostics = check_parameters(entry_of(plugin), arguments)
            if params is None:
                raise PluginError("\n".join(f"model {name!r}: {diagnostic}" for diagnostic in diagnostics))
            settings = ModelSettings.of(arguments)
            if unable := settings.given() - honoured(plugin):
                raise PluginError(f"model {name!r}: {min(unable)} cannot be applied by backend {plugin.name!r}.")
            own = {key: value for key, value in arguments.items() if key not in ModelSettings.model_fields}
            self._asked[key] = _Asked(self, Component(name=name, arguments=own), settings, plugin)
        return self._asked[key]

    def open(self, component: Component) -> CachingModel:
        """Return a model with its response cache.

        Raises:
            HarnessError: There is no such model, or the response cache cannot be opened.
        """
        model = load_model(component, self._registry)
        if model.batched:
            raise ModelError(
                f"{component.name}: a judge or metric asks question by question, and batches are answered hours later. "
                "Remove `batch: true` from its settings."
            )
        if isinstance(self._cache, Path) and self._opened is None and model.cacheable:
            self._opened = ResponseCache(self._cache)
        cache = self._opened if isinstance(self._cache, Path) else self._cache
        return CachingModel(model, component.name, cache)

    def named(self) -> list[Component]:
        """Return the models that were asked for, opened or not."""
        return [asked.component for asked in self._asked.values()]

    def close(self) -> None:
        """Free what the models hold."""
        for asked in self._asked.values():
            asked.close()
        self._asked.clear()
        if self._opened is not None:
            self._opened.close()
            self._opened = None


class CountedModels:
    """Gives the metrics of one run the models that they ask, and counts what these are asked.

    Attributes:
        usage: What each model was asked, by its name.
        determinism: The determinism grade of each model that was asked.
    """

    def __init__(self, models: ModelFinder) -> None:
        self._models = models
        self.usage: dict[str, Usage] = {}
        self.determinism: dict[str, Determinism] = {}

    def __call__(self, written: str | Mapping[str, Any]) -> JudgeModel:
        """Return the model that is written as its name, or as a mapping with ``name`` and its arguments.

        Raises:
            HarnessError: There is no such backend, or it takes no such arguments.
        """
        name = written if isinstance(written, str) else str(written.get("name"))
        return cast("JudgeModel", _Counted(self._models(written), name, self))


class _Counted:
    """A model whose answers are counted."""

    def __init__(self, model: JudgeModel, name: str, counts: CountedModels) -> None:
        self._model, self._name, self._counts = model, name, counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        responses = self._model.ask(requests)
        usage = self._counts.usage.setdefault(self._name, Usage())
        self._counts.determinism[self._name] = getattr(self._model, "determinism", Determinism.UNKNOWN)
        for request, response in zip(requests, responses, strict=True):
            usage.add(request, response)
        return responses


class _Asked:
    """A model by name, opened when it is first needed: what :class:`harness.judging.JudgeModel` promises."""

    def __init__(self, models: Models, component: Component, settings: ModelSettings, plugin: Plugin) -> None:
        self.component = component
        self._models, self._settings, self._plugin = models, settings, plugin
        self._model: CachingModel | None = None

    @property
    def answers(self) -> frozenset[str]:
        known: object = getattr(self._plugin.target, "answers", None)
        return frozenset(known if isinstance(known, frozenset) else self._open().model.answers)

    @property
    def window(self) -> int | None:
        return self._open().model.window

    @property
    def chat(self) -> bool:
        return self._open().model.chat

    @property
    def determinism(self) -> Determinism:
        """What the same requests give when they are asked again."""
        return self._open().model.determinism

    @property
    def tools(self) -> bool:
        return self._open().model.tools

    @property
    def continues(self) -> bool:
        return self._open().model.continues

    def fingerprint(self) -> Mapping[str, Any]:
        own = self._settings.model_dump(exclude_unset=True, exclude=set(OPERATIONAL))
        return {"name": self.component.name, **self._open().fingerprint, **({"settings": own} if own else {})}

    def most_generated(self, max_tokens: int) -> int:
        return ConfiguredTokenization(self._open().model, self._settings).most_generated(max_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        return ConfiguredTokenization(self._open().model, self._settings).count_tokens(prompt)

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return self._open().model.count_segments(segments)

    def truncate(self, text: str, tokens: int) -> str:
        return self._open().model.truncate(text, tokens)

    def ready(self) -> None:
        if not self._open().model.cacheable:
            return
        prompt = (Message("user", _PROBE),) if self.chat else _PROBE
        (response,) = self.ask([GenerateRequest(prompt, _PROBE_TOKENS)])
        if response.error is not None:
            raise ModelError(f"{self.component.name} cannot answer: {response.error}")

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        opened = self._open()
        check_settings(self._settings, opened.model)
        return opened.ask([configured(request, self._settings) for request in requests])

    def close(self) -> None:
        if self._model is not None:
            with suppress(Exception):  # what was asked of it is known; nothing more is
                self._model.model.close()
            self._model = None

    def _open(self) -> CachingModel:
        if self._model is None:
            self._model = self._models.open(self.component)
        return self._model


def _installed(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None
    except ImportError:  # of the package that it is in
        return False


def _backend(name: str, registry: Registry) -> tuple[Plugin, str]:
    """Return the backend that a model's name begins with, and the identifier that follows.

    Raises:
        HarnessError: The name has another form, or there is no such backend.
    """
    backend, separator, identifier = name.partition(":")
    if not separator or not identifier:
        raise ModelError(f"model {name!r} has no backend. Name it as backend:identifier, for example hf:gpt2.")
    return registry.get(Kind.BACKEND, backend), identifier

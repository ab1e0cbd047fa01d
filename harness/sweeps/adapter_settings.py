"""An adapter's settings, collected from the run, the sweep's defaults, the scenario and the method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from harness.contracts.plugins import Kind, MetricDetails, Plugin, ScenarioDetails
from harness.contracts.specs import Component
from harness.errors import HarnessError, KeyPath
from harness.plugins.parameters import PROMPT, check_parameters, parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.context import Context, SweepModel
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.fan_out import combinations, parameters, takes_list
from harness.sweeps.keys import DefaultKeys
from harness.sweeps.shorthand import parse_entry
from harness.sweeps.written import Setting, Written, read_component

GENERATE = "generate"
"""The kind of request for which a model writes text."""

_LOGPROBS = "give log-probabilities"

SHARED = ("max_train_instances", "train_trials")
"""Keys of a run, and of a sweep's defaults, that are settings of the adapter."""


def read_adapter(
    keys: DefaultKeys, path: KeyPath, said: Mapping[str, Any], diagnostics: Diagnostics
) -> tuple[Written | None, dict[str, Setting]]:
    """Return the method, if one is named, and the settings of the adapter that a run or the defaults give."""
    settings: dict[str, Setting] = {}
    method = None
    if keys.adapter is not None:
        place = (*path, "adapter")
        written = read_component(keys.adapter, place, diagnostics, key="method", nameless=True, parse=parse_entry)
        if written is not None:
            method = written if written.name else None
            settings.update(written.arguments)
    shared = {name: getattr(keys, name) for name in SHARED if name in keys.model_fields_set}
    for name, value in {**said, **shared}.items():
        setting = Setting(value, (*path, name))
        if name in settings:
            message = f"is also set at {diagnostics.where(settings[name].path)}."
            diagnostics.add(setting.path, message, "Remove one of them.")
        settings[name] = setting
    return method, settings


def default_adapter(
    name: str, details: ScenarioDetails, arguments: BaseModel, path: KeyPath, diagnostics: Diagnostics
) -> Written | None:
    """Return a scenario's default adapter for its parameters; None, and an error noted, if it has none for them."""
    value: Any = details.adapter
    if callable(value):
        given = {key: getattr(arguments, key) for key in type(arguments).model_fields}
        if details.named_prompts:
            del given[PROMPT]
        try:
            value = value(**given)
        except HarnessError as error:
            diagnostics.add(path, str(error))
            return None
    origin = f"scenario {name!r}"
    written = read_component(value, path, diagnostics, key="method", parse=parse_entry, origin=origin)
    if written is None:
        return None
    # its place in the sweep is the scenario's
    settings = {key: Setting(setting.value, path, origin=origin) for key, setting in written.arguments.items()}
    return Written(written.name, settings, path, origin=origin)


def resolve_adapter(
    plugin: Plugin, layers: Sequence[Mapping[str, Setting]], path: KeyPath, diagnostics: Diagnostics
) -> Iterator[Component]:
    """Yield a method with all of its settings, one for each combination where lists fan out.

    A setting of a later layer replaces that of an earlier one.
    """
    model = parameters(plugin, path, diagnostics)
    if model is None:
        return
    settings: dict[str, Setting] = {}
    for layer in layers:
        replaced = {name for key, setting in layer.items() for name in _stands_for(model, key, setting)}
        settings = {**{key: setting for key, setting in settings.items() if key not in replaced}, **layer}
    for params in combinations(model, settings, path, diagnostics):
        arguments = params.model_dump(mode="json")
        trials = settings.get("train_trials")
        ignored = arguments.get("train_trials") == 1 and arguments.get("max_train_instances") == 0
        inherited = trials is not None and trials.path[0] == "defaults"  # which are for runs that show examples
        if trials is not None and not inherited and trials.value not in (1, "1") and ignored:
            message = "is ignored because max_train_instances is 0: without examples, every trial has the same prompts."
            hint = "The run has one trial. For several answers to each prompt, write `samples` instead."
            diagnostics.warn(trials.path, message, hint)
        yield Component(name=plugin.name, arguments=arguments)


def check_capabilities(
    plugin: Plugin,
    models: Sequence[SweepModel],
    others: Sequence[SweepModel],
    path: KeyPath,
    context: Context,
) -> None:
    """Report each of a run's models that cannot answer the method's requests, and name others that can."""
    asks = frozenset(getattr(plugin.target, "asks", ()))
    if getattr(plugin.target, "needs_logprobs", False):
        asks |= {_LOGPROBS}
    for model in models:
        lacking = asks - _answers(model.backend)
        if not lacking:
            continue
        able = [other.component.name for other in others if asks <= _answers(other.backend)]
        able += [f"{backend.name}:…" for backend in context.registry.all(Kind.BACKEND) if asks <= _answers(backend)]
        what = " and ".join(sorted(lacking))
        message = f"method {plugin.name!r} needs a model that can {what}, which {model.component.name!r} cannot."
        hint = f"These can: {', '.join(able)}. A run can have its own `models`." if able else ""
        context.diagnostics.add(path, message, hint)


def check_probabilities(
    adapter: Component, metrics: Sequence[Component], main: str, model: SweepModel, path: KeyPath, context: Context
) -> None:
    """Warn of metrics that need the probability of what a model writes, for a model that never gives it.

    They have no value then, which is an error if one of them is the main metric.
    """
    if asks_of(adapter, context.registry) != {GENERATE} or _LOGPROBS in _answers(model.backend):
        return
    lacking = [metric.name for metric in metrics if needs_probabilities(context.registry.get(Kind.METRIC, metric.name))]
    if not lacking:
        return
    has = "has" if len(lacking) == 1 else "have"
    needs = "it needs" if len(lacking) == 1 else "they need"
    message = (
        f"{', '.join(lacking)} {has} no value for {model.component.name!r}: {needs} log-probabilities of what a model "
        "writes, which this one does not give."
    )
    if main in lacking:
        context.diagnostics.add(path, message, "Name another main metric with `main_metric`, or take another model.")
    else:
        context.diagnostics.warn(path, message, "All other metrics are computed.")


def check_options(
    adapter: Component, metrics: Sequence[Component], scenario: Plugin, path: KeyPath, context: Context
) -> None:
    """Report metrics that need options which a method does not offer to the model, or does not score."""
    for metric in metrics:
        details = context.registry.get(Kind.METRIC, metric.name).details
        needed = details.needs_options if isinstance(details, MetricDetails) else ""
        if not needed or _offers(adapter.name, needed, context.registry):
            continue
        able = [name for name in context.registry.names(Kind.ADAPTER) if _offers(name, needed, context.registry)]
        what = "scores each option" if needed == "scored" else "lets the model choose between options"
        message = f"{metric.name} needs a method that {what}; {adapter.name} does not."
        hint = f"Choose another metric, or one of these methods: {', '.join(able)}."
        if isinstance(scenario.details, ScenarioDetails) and not scenario.details.options:
            hint = f"Choose another metric: the instances of scenario {scenario.name!r} have no wrong options."
        context.diagnostics.add(path, message, hint)


def _offers(method: str, needed: str, registry: Registry) -> bool:
    target = registry.get(Kind.ADAPTER, method).target
    scores = needed != "scored" or "score" in getattr(target, "asks", ())
    return bool(getattr(target, "needs_options", False)) and scores


def asks_of(adapter: Component, registry: Registry) -> frozenset[str]:
    """Return the kinds of requests that a method makes."""
    return frozenset(getattr(registry.get(Kind.ADAPTER, adapter.name).target, "asks", ()))


def needs_probabilities(metric: Plugin) -> bool:
    """Return True if a metric needs the probability that a model gives its prediction."""
    return isinstance(metric.details, MetricDetails) and metric.details.needs_probabilities


def settings_of(method: str, registry: Registry) -> frozenset[str]:
    """Return the names of a method's settings; none for a method that cannot be used, which its use reports."""
    try:
        return frozenset(parameters_of(registry.get(Kind.ADAPTER, method)).model_fields)
    except HarnessError:
        return frozenset()


def _answers(backend: Plugin) -> frozenset[str]:
    answers = frozenset(getattr(backend.target, "answers", ()))
    return answers | {_LOGPROBS} if getattr(backend.target, "gives_logprobs", True) else answers


def _stands_for(model: type[BaseModel], key: str, setting: Setting) -> frozenset[str]:
    """Return the settings that a setting is short for: one that is itself left out of resolved settings.

    Where a later layer is short for what an earlier one spells out, the later must prevail all the same.
    """
    field = model.model_fields.get(key)
    if field is None or not field.exclude:
        return frozenset()
    value = setting.value
    if isinstance(value, list) and value and not takes_list(field.annotation):
        value = value[0]
    params, _ = check_parameters(model, {key: value})
    return frozenset(params.model_fields_set if params else ())

"""Expand one entry of a sweep to its runs, with every default filled in.

A setting of the adapter comes from the first of these that has it: the entry, the sweep's defaults, the adapter of the
scenario's prompt, the method's own default. The sweep's defaults apply to methods that have such a setting. An entry
with another method than the prompt's keeps those of the prompt's settings that its method has as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from harness.contracts import Split
from harness.contracts.model_settings import CUTOFFS
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component, RunSpec
from harness.errors import KeyPath
from harness.plugins.parameters import scenario_arguments
from harness.sweeps.adapter_settings import (
    GENERATE,
    asks_of,
    check_capabilities,
    check_options,
    check_probabilities,
    default_adapter,
    resolve_adapter,
    settings_of,
)
from harness.sweeps.asked_models import without_operational
from harness.sweeps.components import find_plugin
from harness.sweeps.context import Context, SweepModel
from harness.sweeps.entries import Defaults, Entry, asked_by, read_entry
from harness.sweeps.fan_out import MAX_RUNS, combinations, parameters
from harness.sweeps.foreign_names import KEYS
from harness.sweeps.keys import RunKeys
from harness.sweeps.misplaced_keys import methods_with
from harness.sweeps.prompt_variants import KEY, Variant, prompt_variants
from harness.sweeps.run_metrics import check_main_metric, in_language, other_readings, run_metrics
from harness.sweeps.samples import check_choosing_scores, check_samples, read_reductions
from harness.sweeps.written import Setting, Written


def expand_entry(value: Any, path: KeyPath, defaults: Defaults, context: Context) -> Iterator[RunSpec]:
    """Yield the runs of one entry: scenario's parameters × adapter's settings × models.

    The sweep's default number of samples is for runs that generate text. Every error is reported; runs with errors are
    not yielded.
    """
    diagnostics = context.diagnostics
    before = diagnostics.count
    entry = read_entry(value, path, defaults, context)
    model = parameters(entry.plugin, entry.scenario.path, diagnostics) if entry else None
    if entry is None or model is None:
        return
    written, keys, place = entry, entry.keys, entry.scenario.path

    def setting(name: str) -> Any:
        """Return a setting of the run from the command line, the entry, or the defaults."""
        return context.settings.get(name, getattr(keys if name in keys.model_fields_set else defaults.keys, name))

    chosen_samples = setting("samples")
    inherited = "samples" not in keys.model_fields_set
    read = read_reductions(setting("reductions"), chosen_samples, _place(keys, "reductions", path), context)
    measured = _place(keys, "metrics", path) if entry.own_metrics else path
    made = 0
    for arguments in combinations(model, entry.scenario.arguments, place, diagnostics, all_choices=True):
        entry = asked_by(written, arguments, context)
        details = entry.details
        scenario = Component(name=entry.plugin.name, arguments=scenario_arguments(arguments, details))
        default = default_adapter(entry.plugin.name, details, arguments, place, diagnostics)
        for adapter, prompt_variant in _prompts(entry, default, defaults, context) if default else ():
            idle = inherited and GENERATE not in asks_of(adapter, context.registry)
            samples, reductions = (1, None) if idle else (chosen_samples, read)
            metrics, main_metric = run_metrics(
                entry, adapter, adapter.name != (default and default.name), samples, context
            )
            metrics = in_language(metrics, details)
            if diagnostics.count == before:
                check_options(adapter, metrics, entry.plugin, measured, context)
            if diagnostics.count == before:  # a misspelt metric gives nothing, and is reported already
                check_main_metric(entry, metrics, main_metric, samples, other_readings(adapter), context)
                check_choosing_scores(reductions or (), samples, metrics, _place(keys, "reductions", path), context)
            eval_split = keys.eval_split or defaults.keys.eval_split or details.eval_split
            if eval_split == Split.TRAIN and adapter.arguments.get("max_train_instances"):
                message = f"evaluates the train split of {entry.plugin.name!r}, the source of few-shot examples too."
                hint = "An instance is never an example in its own prompt, so prompts may have different examples."
                diagnostics.warn(path, message, hint)
            made += max(1, len(entry.models))
            if made > MAX_RUNS:
                diagnostics.add(path, f"fans out to more than {MAX_RUNS:,} runs.")
                return
            measures, judges_operational = without_operational(metrics, context.registry)
            for chosen in entry.models:
                _warn_of_greedy(chosen, adapter, entry, context)
                check_probabilities(adapter, metrics, main_metric, chosen, measured, context)
                if samples > 1:
                    check_samples(samples, adapter, chosen, _place(keys, "samples", path), context)
                yield RunSpec(
                    suite=context.suite,
                    scenario=scenario,
                    parts=details.chosen_parts(scenario.arguments),
                    adapter=adapter,
                    prompt_variant=prompt_variant,
                    perturbations=tuple(entry.perturbations),
                    metrics=measures,
                    judges_operational=judges_operational,
                    main_metric=main_metric,
                    groups=details.groups if keys.groups is None else tuple(dict.fromkeys(keys.groups)),
                    cluster=details.cluster if keys.cluster is None else keys.cluster,
                    model=chosen.component,
                    operational=chosen.operational,
                    eval_split=eval_split,
                    max_eval_instances=setting("max_eval_instances"),
                    max_declined=setting("max_declined"),
                    instance_seed=setting("instance_seed"),
                    seed=setting("seed"),
                    sampling_seed=_other_than(setting("seed"), setting("sampling_seed")),
                    samples=samples,
                    reductions=reductions,
                )


def _place(keys: RunKeys, key: str, path: KeyPath) -> KeyPath:
    """Return where a run's key is written: in the run, or in the sweep's defaults."""
    return (*path, key) if key in keys.model_fields_set else ("defaults", key)


def _other_than(seed: int, sampling_seed: int | None) -> int | None:
    """Return the seed of sampling; None where it is the run's own, so that equal runs have equal specs."""
    return None if sampling_seed == seed else sampling_seed


def _own_settings(entry: Entry, known: Set[str], method: str, context: Context) -> Mapping[str, Setting]:
    """Return the settings that an entry gives; those that only other methods have are reported and left out."""
    own: dict[str, Setting] = {}
    for name, setting in entry.settings.items():
        ours = KEYS.get(name, name)
        if name in known or not (methods := methods_with(ours, context.registry)):
            own[name] = setting
        elif ours in known:
            context.diagnostics.add(setting.path, "is not a parameter.", f"Here it is called {ours!r}.")
        else:
            message = f"is not a setting of method {method!r}; these have it: {', '.join(methods)}."
            context.diagnostics.add(setting.path, message, f"Write adapter: {{method: …, {ours}: …}}.")
    return own


def _prompts(entry: Entry, default: Written, defaults: Defaults, context: Context) -> Iterator[Variant]:
    """Yield the adapters of an entry, each with the variants of its prompt."""
    own = KEY in entry.keys.model_fields_set
    value = entry.keys.prompt_variants if own else defaults.keys.prompt_variants
    path = (*entry.path, KEY) if own else ("defaults", KEY)
    for adapter in _adapters(entry, default, defaults, context):
        yield from prompt_variants(value, adapter, entry.scenario.name, path, context)


def _adapters(entry: Entry, default: Written, defaults: Defaults, context: Context) -> Iterator[Component]:
    method = entry.method or default
    plugin = find_plugin(Kind.ADAPTER, method, context)
    if plugin is None:
        return
    if getattr(plugin.target, "needs_options", False) and not entry.details.options:
        message = (
            f"method {method.name!r} lets the model choose between options, and the instances of scenario "
            f"{entry.plugin.name!r} have none but the right answer."
        )
        context.diagnostics.add(method.path, message, f"The scenario's own method is {default.name!r}.")
        return
    others = context.models or ()
    check_capabilities(plugin, entry.models, others, entry.path, context)
    known = settings_of(method.name, context.registry)
    foreign = method.name != default.name  # then only the settings that this method has as well
    inherited = {key: setting for key, setting in default.arguments.items() if not foreign or key in known}
    shared = {key: setting for key, setting in defaults.settings.items() if key in known}
    layers = (inherited, shared, _own_settings(entry, known, method.name, context))
    yield from resolve_adapter(plugin, layers, (*entry.path, "adapter"), context.diagnostics)


def _warn_of_greedy(model: SweepModel, adapter: Component, entry: Entry, context: Context) -> None:
    """Warn of settings that choose among sampled tokens, where the run's temperature is 0."""
    given = [name for name in CUTOFFS if name in model.component.arguments]
    temperature = model.component.arguments.get("temperature", adapter.arguments.get("temperature"))
    if given and temperature == 0:
        message = f"{' and '.join(given)} of {model.component.name} have no effect, since the temperature is 0."
        context.diagnostics.warn(entry.path, message, "Set temperature in the model's entry.")

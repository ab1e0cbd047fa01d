"""Variants of a run's prompt: drawn from the changes that its method offers, or written out in the sweep.

The first variant is always the unchanged prompt. The others change settings of the adapter, so that nothing after the
sweep needs to know of them but what reports the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pydantic import BaseModel

from harness.contracts import Adapter, PromptChange
from harness.contracts.plugins import Kind, Plugin
from harness.contracts.specs import UNCHANGED, ChangedPrompt, Component
from harness.errors import Diagnostic, KeyPath, did_you_mean, shown
from harness.plugins.parameters import check_parameters, parameters_of
from harness.seeds import derive_rng
from harness.sweeps.context import Context
from harness.sweeps.keys import PromptVariantKeys, read_keys

Variant = tuple[Component, ChangedPrompt | None]
"""An adapter, and what was changed in its prompt; None for the unchanged one."""

Changes = Callable[[BaseModel], Sequence[PromptChange]]
"""Returns the changes of one kind that fit an adapter's settings."""

KEY = "prompt_variants"
"""The key of a run, and of a sweep's defaults."""

ATTEMPTS = 200
"""Draws for each variant until all combinations are listed instead."""


def prompt_variants(
    value: Any, adapter: Component, scenario: str, path: KeyPath, context: Context
) -> Iterator[Variant]:
    """Yield the variants of an adapter's prompt, the unchanged one first; only that one if there are errors.

    Args:
        value: What was written under ``prompt_variants``; None for no variants.
        adapter: The adapter with all settings.
        scenario: The scenario, for messages.
        path: The place of the value. In a sweep's defaults it is for methods that offer changes.
        context: The sweep's.
    """
    yield adapter, None
    plugin = context.registry.get(Kind.ADAPTER, adapter.name)
    params, _ = check_parameters(parameters_of(plugin), adapter.arguments)
    if value is None or params is None:
        return
    if isinstance(value, list):
        yield from _written(value, adapter, plugin, path, context)
        return
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"count": value}
    if not isinstance(value, Mapping):
        message = f"must be a number, a mapping with `count`, or a list of variants, not {shown(value)}."
        context.diagnostics.add(path, message)
        return
    keys = read_keys(PromptVariantKeys, value, path, context.diagnostics)
    before = context.diagnostics.count
    kinds = None if keys is None else _kinds(keys, plugin, params, path, context)
    if keys is None or not kinds or context.diagnostics.count > before:
        return
    yield from _drawn(keys, kinds, adapter, plugin, scenario, path, context)


def offered(plugin: Plugin, params: BaseModel) -> Mapping[str, Sequence[PromptChange]]:
    """Return the changes that a method offers for its settings, by kind."""
    offer: Callable[[Any], Mapping[str, Sequence[PromptChange]]] = getattr(
        plugin.target, "prompt_changes", Adapter.prompt_changes
    )
    return offer(params)


def _kinds(
    keys: PromptVariantKeys, plugin: Plugin, params: BaseModel, path: KeyPath, context: Context
) -> dict[str, Changes] | None:
    """Return the kinds of changes to draw from; None, and every error noted, if there are none."""
    known = offered(plugin, params)
    if path[0] == "defaults" and not known:
        return None
    if keys.of is None:
        if not known:
            message = f"method {plugin.name!r} offers no changes of its prompt."
            context.diagnostics.add(path, message, "Write a list of variants, each with the settings that it changes.")
        return {kind: _of_method(plugin, kind) for kind in known}
    kinds: dict[str, Changes] = {}
    for place, kind in enumerate(keys.of):
        where = (*path, "of", place)
        name = kind if isinstance(kind, str) else next(iter(kind), None) if isinstance(kind, Mapping) else None
        if not isinstance(name, str) or not (isinstance(kind, str) or len(kind) == 1):
            message = f"must be a kind of change, or a mapping of one setting to a list of values, not {shown(kind)}."
            context.diagnostics.add(where, message)
        elif name in kinds:
            context.diagnostics.add(where, f"lists {name!r} twice.")
        elif isinstance(kind, Mapping):
            kinds[name] = _values(name, kind[name], plugin, params, (*where, name), context)
        elif name in known:
            kinds[name] = _of_method(plugin, name)
            context.unused_changes[where] = ""
        elif path[0] == "defaults":
            context.unused_changes.setdefault(where, f"{shown(name)}: {did_you_mean(name, known)}")
        else:
            what = f"there are no changes of {name!r} that fit this prompt of method {plugin.name!r}."
            context.diagnostics.add(where, what, did_you_mean(name, known))
    return kinds


def report_unused_changes(context: Context) -> None:
    """Report the kinds of changes in the sweep's defaults that fit none of its runs."""
    for path, said in context.unused_changes.items():
        if said:
            name, _, hint = said.partition(": ")
            context.diagnostics.add(path, f"no run's prompt has changes of {name}.", hint)


def _of_method(plugin: Plugin, kind: str) -> Changes:
    return lambda params: offered(plugin, params).get(kind, ())


def _values(setting: str, values: Any, plugin: Plugin, params: BaseModel, path: KeyPath, context: Context) -> Changes:
    """Return the changes of one setting to each of the values written in the sweep."""
    if not isinstance(values, list) or not values:
        context.diagnostics.add(path, f"must be a list of values of the setting, not {shown(values)}.")
        return lambda _: ()
    changes = []
    for place, value in enumerate(values):
        checked, found = check_parameters(type(params), {**params.model_dump(mode="json"), setting: value})
        _note(found, (*path, place), context, (setting,))
        if checked is not None:
            changes.append(PromptChange(f"{setting} {shown(value)}", {setting: value}))
    return lambda _: changes


def _drawn(
    keys: PromptVariantKeys,
    kinds: Mapping[str, Changes],
    adapter: Component,
    plugin: Plugin,
    scenario: str,
    path: KeyPath,
    context: Context,
) -> Iterator[Variant]:
    """Yield variants drawn at random, all different, each independent of how many there are.

    Each takes one change of each kind, or none of it, with equal probabilities.
    """
    taken = {Component.model_dump_json(adapter)}
    listed: Iterator[Variant] | None = None
    for number in range(1, keys.count):
        for attempt in range(ATTEMPTS):
            rng = derive_rng(keys.seed, f"prompt-variant/{number}/{attempt}")
            changed, variant = _one(kinds, adapter, plugin, rng)
            if variant is not None and changed.model_dump_json() not in taken:
                break
        else:
            listed = listed or _all(list(kinds.values()), adapter, plugin, ())
            found = next((each for each in listed if each[1] and each[0].model_dump_json() not in taken), None)
            if found is None:
                _report_few(keys.count, number, scenario, path, context)
                return
            changed, variant = found
        taken.add(changed.model_dump_json())
        yield changed, variant


def _report_few(count: int, found: int, scenario: str, path: KeyPath, context: Context) -> None:
    """Report that there are fewer different variants than asked for; a default is then for as many as there are."""
    message = f"asks for {count} variants, but the prompt of {scenario} has only {found} different ones."
    if path[0] == "defaults":
        context.diagnostics.warn(path, message)
    else:
        context.diagnostics.add(path, message, "Ask for fewer, or name more kinds of changes under `of`.")


def _one(kinds: Mapping[str, Changes], adapter: Component, plugin: Plugin, rng: Random) -> Variant:
    """Return one random variant."""
    current, chosen = adapter, []
    for changes in kinds.values():
        possible = [None, *changes(_params(plugin, current))]
        change = possible[rng.randrange(len(possible))]
        if change is not None:
            changed = _changed(plugin, current, change.settings)
            if changed is not None:
                current = changed
                chosen.append(change.description)
    return current, _description(adapter, current, chosen)


def _all(kinds: Sequence[Changes], adapter: Component, plugin: Plugin, chosen: Sequence[str]) -> Iterator[Variant]:
    """Yield every variant, those with the fewest changes in the first kinds first."""

    def below(current: Component, rest: Sequence[Changes], words: Sequence[str]) -> Iterator[Variant]:
        if not rest:
            yield current, _description(adapter, current, words)
            return
        yield from below(current, rest[1:], words)
        for change in rest[0](_params(plugin, current)):
            changed = _changed(plugin, current, change.settings)
            if changed is not None:
                yield from below(changed, rest[1:], (*words, change.description))

    yield from below(adapter, kinds, chosen)


def _written(
    variants: Sequence[Any], adapter: Component, plugin: Plugin, path: KeyPath, context: Context
) -> Iterator[Variant]:
    """Yield the variants that a sweep writes out."""
    if not variants:
        context.diagnostics.add(path, "is an empty list.", "Write the number of variants, or remove it.")
    taken, names = {adapter.model_dump_json(): "the unchanged prompt"}, {UNCHANGED}
    for place, variant in enumerate(variants):
        where = (*path, place)
        if not isinstance(variant, Mapping) or not set(variant) - {"name"}:
            message = f"must be a mapping with settings of the adapter to change, not {shown(variant)}."
            context.diagnostics.add(where, message, "For example: {name: terse, instructions: Answer.}")
            continue
        settings = {key: value for key, value in variant.items() if key != "name"}
        model = parameters_of(plugin)
        params, found = check_parameters(model, {**adapter.arguments, **settings})
        _note(found, where, context)
        if params is None:
            continue
        changed = Component(name=adapter.name, arguments=params.model_dump(mode="json"))
        name = variant.get("name") or "; ".join(f"{key} {shown(value)}" for key, value in settings.items())
        if not isinstance(name, str) or name in names:
            what = "is the name of another variant" if isinstance(name, str) else "must be a text"
            context.diagnostics.add((*where, "name"), f"{what}: {shown(name)}.")
            continue
        if (same := taken.get(changed.model_dump_json())) is not None:
            context.diagnostics.add(where, f"gives the same prompt as {same}.", "Remove one of them.")
            continue
        taken[changed.model_dump_json()] = name
        names.add(name)
        yield changed, _description(adapter, changed, [name])


def _params(plugin: Plugin, adapter: Component) -> BaseModel:
    params, _ = check_parameters(parameters_of(plugin), adapter.arguments)
    if params is None:
        raise AssertionError(f"{adapter.label} was checked")
    return params


def _changed(plugin: Plugin, adapter: Component, settings: Mapping[str, Any]) -> Component | None:
    """Return an adapter with other settings; None if they do not fit the rest."""
    params, _ = check_parameters(parameters_of(plugin), {**adapter.arguments, **settings})
    return None if params is None else Component(name=adapter.name, arguments=params.model_dump(mode="json"))


def _description(adapter: Component, changed: Component, words: Sequence[str]) -> ChangedPrompt | None:
    """Return what was changed; None if nothing was."""
    before, after = adapter.arguments, changed.arguments
    original = {key: before.get(key) for key in after if after[key] != before.get(key)}
    return ChangedPrompt(description="; ".join(words), original=original) if original else None


def _note(found: Sequence[Diagnostic], path: KeyPath, context: Context, below: KeyPath = ()) -> None:
    for diagnostic in found:
        keys = diagnostic.keys[len(below) :] if diagnostic.keys[: len(below)] == below else diagnostic.keys
        context.diagnostics.add((*path, *keys), diagnostic.message, diagnostic.hint)

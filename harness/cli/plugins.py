"""``harness list`` and ``harness show``: which plugins are installed, and what each of them does."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli import options
from harness.contracts.plugins import Kind, MetricDetails, PerturbationDetails, Plugin, ScenarioDetails
from harness.errors import did_you_mean
from harness.output.terminal import say
from harness.plugins.parameters import check_parameters, describe_parameters, given_names, honoured, parameters_of
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.prompt_variants import offered

UNTESTED = "rows written by hand in the official layout, or a stand-in; not the official data"
"""Shown for a scenario that was never run on its official data."""

_PLURALS = {f"{kind}s": kind for kind in Kind}
_SWEEPS = ("sweeps", "sweep")


class _Kinds(click.ParamType[Kind]):
    """A kind of plugin, singular or plural."""

    name = "kind"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Kind:
        known = {**_PLURALS, **{str(kind): kind for kind in Kind}}
        if value not in known:
            self.fail(f"{value!r} is not a kind of plugin. {did_you_mean(value, _PLURALS)}", param, ctx)
        return known[value]


class _Listed(_Kinds):
    """What can be listed: a kind of plugin, or sweeps (``_SWEEPS``)."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in _SWEEPS:
            return _SWEEPS
        if value not in {*_PLURALS, *Kind}:
            self.fail(f"{value!r} cannot be listed. {did_you_mean(value, [*_PLURALS, 'sweeps'])}", param, ctx)
        return super().convert(value, param, ctx)


@click.command("list")
@click.argument("kind", type=_Listed(), required=False)
@click.option("--tag", "tags", multiple=True, help="Only scenarios with this tag. Repeatable.")
@options.plugins
def list_command(kind: Any, tags: tuple[str, ...], plugins: tuple[Path, ...]) -> None:
    """List all plugins, or those of one KIND.

    KIND is scenarios, adapters, metrics, perturbations, backends, judges or listeners.
    `harness list sweeps` lists the sweeps that come with the harness.
    """
    if kind is _SWEEPS:
        if tags:
            raise click.UsageError("only scenarios have tags, not sweeps.")
        _list_sweeps()
        return
    registry = default_registry(plugins)
    if tags and kind not in (None, Kind.SCENARIO):
        raise click.UsageError(f"only scenarios have tags, not {kind}s.")
    tagged = registry.tags()
    for tag in tags:
        if tag not in tagged:
            from harness.sweeps.tags import unknown_tag_hint

            raise click.UsageError(f"there is no tag {tag!r}. {unknown_tag_hint(tag, tagged)}")
    kinds = [Kind.SCENARIO] if tags else [kind] if kind else list(Kind)
    for each in kinds:
        summaries = registry.summaries(each)
        summaries = {name: text for name, text in summaries.items() if all(name in tagged[tag] for tag in tags)}
        if tags and not summaries:
            raise click.UsageError(f"no scenario has the tags {' and '.join(tags)} together.")
        if kind is None and not tags:
            say(f"{each}s")
        width = max(map(len, summaries), default=0)
        for name, summary in summaries.items():
            say(f"{'' if kind or tags else '  '}{name:<{width}}  {summary}")
    _report(registry)


@click.command("show")
@click.argument("plugin", metavar="[KIND] NAME", nargs=-1, required=True)
@options.plugins
def show_command(plugin: tuple[str, ...], plugins: tuple[Path, ...]) -> None:
    """Show a plugin's definition, source, parameters and defaults, for example `harness show metric bleu_1`.

    KIND is scenario, adapter, metric, perturbation, backend, judge or listener; it can be left out where only one
    plugin has the name. A scenario can also be named by its file, or as in a sweep; of `mmlu:subject=anatomy`, the
    part before the colon counts.
    """
    registry = default_registry(plugins)
    _show(_named(plugin, registry))
    _report(registry)


def _list_sweeps() -> None:
    from harness.sweeps.load import shipped_sweeps
    from harness.yaml_lines import load

    files = shipped_sweeps()
    width = max(map(len, files), default=0)
    for name, file in files.items():
        say(f"{name:<{width}}  {load(file).data.get('description', '')}")


def _named(words: Sequence[str], registry: Registry) -> Plugin:
    """Return the plugin that ``[KIND] NAME`` names.

    Raises:
        click.UsageError: Nothing has the name, or several plugins have it.
        HarnessError: The plugin is broken.
    """
    if len(words) > 2:
        raise click.UsageError("name one plugin: harness show [KIND] NAME.")
    name = _without_arguments(words[-1], registry)
    if len(words) == 2:
        kind = _Kinds().convert(words[0], None, None)
        if kind is Kind.SCENARIO and name not in registry.names(kind):
            _answer_foreign_name(name, registry)
        if kind is not Kind.SCENARIO or not name.endswith((".yaml", ".yml")):
            return registry.get(kind, name)
    if name.endswith((".yaml", ".yml")):
        from harness.data.scenario_file import load_scenario_file

        return load_scenario_file(Path(name))
    kinds = [kind for kind in Kind if name in registry.names(kind)]
    if len(kinds) == 1:
        return registry.get(kinds[0], name)
    if kinds:
        written = " or ".join(f"`harness show {kind} {name}`" for kind in kinds)
        raise click.UsageError(f"several plugins are named {name!r}. Write {written}.")
    _answer_foreign_name(name, registry)
    known = {one for kind in Kind for one in registry.names(kind)}
    raise click.UsageError(f"there is no plugin named {name!r}. {did_you_mean(name, known)}")


def _without_arguments(name: str, registry: Registry) -> str:
    """Return the scenario of a shorthand, ``mmlu`` of ``mmlu:subject=anatomy``; any other name as it is.

    Another program's arguments are kept: with them, it can be another scenario here.
    """
    from harness.sweeps.aliases import called_here, is_written_here
    from harness.sweeps.shorthand import parse_entry

    scenario, colon, _ = name.partition(":")
    if not colon or scenario not in registry.names(Kind.SCENARIO):
        return name
    try:
        entry = parse_entry(name)
    except ValueError:
        return name
    ours = is_written_here(entry, registry.get(Kind.SCENARIO, scenario))
    return scenario if ours or not called_here(entry, registry) else name


def _answer_foreign_name(name: str, registry: Registry) -> None:
    """Say what another program's task is called here.

    Raises:
        click.UsageError: It has another name here.
    """
    from harness.sweeps.aliases import meant_here
    from harness.sweeps.shorthand import parse_entry

    try:
        here = meant_here(parse_entry(name), registry)
    except ValueError:  # it is not written as a task
        return
    if here:
        raise click.UsageError(f"there is no plugin named {name!r}. {here}")


def _show(plugin: Plugin) -> None:
    say(f"{plugin.name} ({plugin.kind})\n\n{plugin.doc}\n")
    rows = [("Source", plugin.source or "in the definition"), ("Defined in", plugin.origin), *_details(plugin)]
    for label, text in rows:
        say(f"{label + ':':<13} {text}")
    if plugin.members:
        say(f"{'Expands to:':<14}{', '.join(plugin.members)}")
    parameters = describe_parameters(plugin)
    if parameters:
        say("\nParameters")
    for parameter, kind, default, meaning in parameters:
        say(f"  {parameter}: {kind}" + (" (required)" if default == "required" else f" = {default}"))
        if meaning:
            text = " ".join(meaning.replace("``", "").split())
            say(textwrap.fill(text, 100, initial_indent="      ", subsequent_indent="      "))


def _details(plugin: Plugin) -> list[tuple[str, str]]:
    details = plugin.details
    if plugin.kind is Kind.BACKEND:
        return [("Also takes", ", ".join(sorted(honoured(plugin))))]
    if plugin.kind is Kind.ADAPTER:
        return [("Prompt changes", kinds)] if (kinds := _prompt_changes(plugin)) else []
    if isinstance(details, PerturbationDetails):
        return [("Category", details.category)]
    if isinstance(details, MetricDetails):
        better = {True: "higher", False: "lower", None: "neither way"}[details.higher_is_better]
        return [("Category", details.category), ("Better", better), ("Gives", ", ".join(given_names(plugin)))]
    if not isinstance(details, ScenarioDetails):
        return []
    adapter = details.adapter
    shown = "depends on the parameters" if callable(adapter) else _settings(adapter)
    hub = details.data.hub
    rows = [
        ("Title", details.title),
        ("Tags", ", ".join(details.all_tags)),
        ("Taxonomy", "; ".join(f"{key}: {value}" for key, value in details.taxonomy.items())),
        ("Evaluates", f"split {details.eval_split}"),
        ("Adapter", shown),
        ("Metrics", ", ".join(details.metrics)),
        ("Main metric", details.main_metric),
        ("Files", "; ".join(f"{split}: {files}" for split, files in details.data.files.items())),
        ("Hub", f"{hub.path} at {hub.revision}" if hub else ""),
        ("Sample", ", ".join(details.data.sample.values())),
        ("Found at", details.data.url),
        ("Licence", details.data.licence),
        ("Terms", "must be accepted before the data can be downloaded" if details.data.gated else ""),
        ("Downloads", ", ".join(f"{download.file} ({download.bytes:,} bytes)" for download in details.data.downloads)),
        ("Tested on", UNTESTED if details.data.untested else ""),
    ]
    if details.named_prompts:
        rows.append(("Prompts", ", ".join([f"{details.named_prompts[0]} (its own)", *details.prompts])))
    for name in details.prompts:
        asked = details.asked(name)
        shown = "depends on the parameters" if callable(asked.adapter) else _settings(asked.adapter)
        rows.append((f"With {name}", f"{shown}; metrics {', '.join(asked.metrics)}; main metric {asked.main_metric}"))
    return [(label, text) for label, text in rows if text]


def _prompt_changes(plugin: Plugin) -> str:
    """Return the kinds of changes that a method offers for its default prompt, each with their number."""
    params, _ = check_parameters(parameters_of(plugin), {})
    found = {} if params is None else offered(plugin, params)
    return ", ".join(f"{kind} ({len(changes)})" for kind, changes in found.items())


def _settings(adapter: object) -> str:
    if not isinstance(adapter, dict):
        return str(adapter)
    return ", ".join(f"{key}={value!r}" if key != "method" else str(value) for key, value in adapter.items())


def _report(registry: Registry) -> None:
    for problem in registry.problems:
        say(f"Not usable: {problem}", err=True)

"""The reference pages, made from the plugins, the command line and the schemas of files that people write.

``reference_pages`` returns them; ``conf.py`` writes them into ``docs/reference`` before the site is built.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import click
import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

import harness
from docs.markdown import prose, table
from docs.scenario_table import scenario_table
from harness import backends, contamination, judging, statistics
from harness.cli import group
from harness.cli.plugins import UNTESTED
from harness.contracts.model_settings import ModelSettings
from harness.contracts.plugins import BackendDetails, Kind, MetricDetails, PerturbationDetails, Plugin, ScenarioDetails
from harness.data.scenario_keys import ScenarioKeys
from harness.plugins.parameters import describe_parameters, field_docs, given_names, honoured
from harness.plugins.registry import default_registry
from harness.plugins.set_file import SetFileKeys
from harness.python.columns import SAMPLES, TABLES
from harness.storage.run_schema import RunFile
from harness.storage.sample_rows import SCORE
from harness.sweeps.executor_keys import EXECUTORS
from harness.sweeps.json_schema import json_schema
from harness.sweeps.keys import DefaultKeys, RunKeys, ScoreKeys, SweepKeys

INTRODUCTIONS = {
    Kind.SCENARIO: "A scenario turns a data set into instances. Its name in a sweep is a complete run.",
    Kind.ADAPTER: "An adapter turns instances into requests, and the model's responses into predictions.",
    Kind.METRIC: "A metric scores one example, or all examples of a run. A set names several metrics at once.",
    Kind.PERTURBATION: "A perturbation changes an instance: each instance is then also asked with the change.",
    Kind.BACKEND: "A backend answers requests. A model is named `backend:identifier`.",
    Kind.JUDGE: "A judge rates texts for metrics such as `toxicity`.",
    Kind.LISTENER: "A listener is given each run as it ends, such as an experiment tracker.",
}


def reference_pages() -> dict[str, str]:
    """Return the text of every reference page by its file's name."""
    registry = default_registry()
    pages = {f"{kind}s.md": _plugins_page(kind, [registry.get(kind, n) for n in registry.names(kind)]) for kind in Kind}
    pages["command-line.md"] = command_line_page()
    pages["sweep-file.md"] = sweep_page()
    pages["scenario-file.md"] = scenario_file_page()
    pages["set-file.md"] = set_file_page()
    pages["run-json.md"] = run_json_page()
    pages["python.md"] = python_page()
    pages["data-frames.md"] = data_frames_page()
    names = "\n".join(name.removesuffix(".md") for name in pages)
    index = "# Reference\n\nThese pages are generated from the program, so they describe the version you have."
    return {"index.md": f"{index}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n", **pages}


# Plugins


def _plugins_page(kind: Kind, plugins: Sequence[Plugin]) -> str:
    parts = [f"# {kind.capitalize()}s", INTRODUCTIONS[kind], f"`harness show {kind} NAME` prints the same."]
    if kind is Kind.SCENARIO:
        parts.append(scenario_table(plugins))
    return "\n\n".join([*parts, *map(_plugin, plugins)]) + "\n"


def _plugin(plugin: Plugin) -> str:
    body, arguments = split_docstring(plugin.doc)
    facts = "\n".join(f"- **{label}:** {prose(text)}" for label, text in _facts(plugin) if text)
    rows = [
        (f"`{name}`", f"`{kind}`", default if default == "required" else f"`{default}`",
         prose(meaning or arguments.get(name, "")))
        for name, kind, default, meaning in describe_parameters(plugin)
    ]  # fmt: skip
    parts = [f"## {plugin.name}", prose(body), facts, table(("parameter", "type", "default", "meaning"), rows)]
    return "\n\n".join(part for part in parts if part)


def _facts(plugin: Plugin) -> list[tuple[str, str]]:
    facts = [("Source", plugin.source), ("Stands for", ", ".join(f"`{each}`" for each in plugin.members))]
    match plugin.details:
        case ScenarioDetails() as scenario:
            hub = scenario.data.hub
            adapter = scenario.adapter
            facts += [
                ("[Tags](../how-to/tags.md)", ", ".join(f"`{tag}`" for tag in scenario.all_tags)),
                ("Taxonomy", "; ".join(f"{key}: {value}" for key, value in scenario.taxonomy.items() if value)),
                ("Default adapter", "depends on the parameters" if callable(adapter) else f"`{json.dumps(adapter)}`"),
                ("Default metrics", ", ".join(f"`{name}`" for name in scenario.metrics)),
                ("Main metric", f"`{scenario.main_metric}`"),
                ("Evaluated split", f"`{scenario.eval_split}`"),
                ("Local files", "; ".join(f"{split}: `{files}`" for split, files in scenario.data.files.items())),
                ("Hub", f"`{hub.path}` at `{hub.revision}`" if hub else ""),
                ("Data", scenario.data.url),
                ("Licence", scenario.data.licence),
                ("Tested on", UNTESTED if scenario.data.untested else ""),
            ]
        case MetricDetails() as metric:
            better = {True: "higher", False: "lower", None: "neither"}[metric.higher_is_better]
            stats = ", ".join(f"`{name}`" for name in given_names(plugin))
            facts += [("Category", metric.category), ("Better", better), ("Stats", stats)]
        case BackendDetails():
            own = ", ".join(f"`{name}`" for name in sorted(honoured(plugin)))
            facts.append(("[Settings of any model](../how-to/model-settings.md)", own))
        case PerturbationDetails() as perturbation:
            facts.append(("Category", perturbation.category))
    return facts


# The command line


def command_line_page() -> str:
    """Return the page of every command with its options."""
    intro = "`harness COMMAND --help` prints the same. Options marked *env var* can also be set in the environment."
    return "\n\n".join(["# Command line", intro, *map(_command, commands())]) + "\n"


def commands() -> list[click.Context]:
    """Return a context for each command and group of commands, in the order of the help page."""
    found: list[click.Context] = []

    def walk(command: click.Command, parent: click.Context | None, name: str) -> None:
        context = click.Context(command, info_name=name, parent=parent)
        found.append(context)
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                if (child := command.get_command(context, each)) is not None:
                    walk(child, context, each)

    walk(group, None, "harness")
    return found


def _command(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    records = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    rows = [(f"`{names}`", prose(meaning)) for names, meaning in filter(None, records)]
    about = prose(inspect.cleandoc(command.help or "").replace("\b\n", ""))
    return "\n\n".join(
        [f"## {context.command_path}", f"```text\n{usage}\n```", about, table(("option", "meaning"), rows)]
    )


# Files


def sweep_page() -> str:
    """Return the page of a sweep file's keys."""
    schema = json_schema(default_registry())
    definitions = {"run": RunKeys, "defaults": DefaultKeys}
    intro = (
        "A sweep is a YAML file. `harness validate FILE` reports every mistake in one with its line, and "
        "`harness schema` prints the JSON Schema, for editors that check and complete YAML while you type. "
        "How to write one: [Write, check and run a sweep](../how-to/sweep.md)."
    )
    inherited = "A run takes the keys of `defaults` too; what it says replaces the default."
    own = {
        key: value for key, value in schema["$defs"]["run"]["properties"].items() if key not in DefaultKeys.model_fields
    }
    parts = ["# Sweep file", intro, "## The file", _keys(schema, SweepKeys), "## runs[]", inherited]
    parts += [_keys({**schema["$defs"]["run"], "properties": own}, definitions["run"])]
    parts += ["## defaults", _keys(schema["$defs"]["defaults"], definitions["defaults"])]
    scores = "A composite score. How to use it: [One number for several runs](../how-to/scores.md)."
    parts += ["## scores[]", scores, _keys(schema["$defs"]["score"], ScoreKeys)]
    executors = (
        "Where the runs are executed: a name, such as `local`, or a mapping with that as `name` and settings. On the "
        "command line: `--executor local:heads=4`. How to use them: "
        "[Clusters](../how-to/cluster.md)."
    )
    parts += ["## executor", executors]
    for name, settings in EXECUTORS.items():
        parts += [f"### {name}", split_docstring(settings.__doc__ or "")[0]]
        if settings.model_fields:
            parts += [_keys(TypeAdapter(settings).json_schema(), settings)]
    entry = (
        "A model is `backend:identifier`, or a mapping with that as `name`, the parameters of its "
        "[backend](backends.md), and these keys, which not every backend can apply. What takes precedence: "
        "[Models' own settings](../how-to/model-settings.md)."
    )
    parts += ["## models[]", entry]
    for kind, paths in models_within(ModelSettings).items():
        parts += [f"## models[].{path}" for path in paths if path]
        parts += [_keys(TypeAdapter(kind).json_schema(), kind)]
    return "\n\n".join(parts) + "\n"


def scenario_file_page() -> str:
    """Return the page of a scenario file's keys."""
    intro = (
        "A scenario whose instances only map the columns of its data is a YAML file. Texts in `{{ … }}` are Jinja "
        "templates over a row's columns; an expression is a single `{{ … }}`, whose value may be a list or a number. "
        "How to write one: [Add a scenario](../how-to/scenario.md)."
    )
    parts = ["# Scenario file", intro]
    return _models_page(parts, ScenarioKeys)


def set_file_page() -> str:
    """Return the page of the keys of a file of sets."""
    intro = (
        "A YAML file that gives a name to several metrics or perturbations. Load it with `plugins:` or `--plugin`: "
        "[Name several metrics at once](../how-to/metric.md#name-several-metrics-at-once)."
    )
    return _models_page(["# Set file", intro], SetFileKeys)


def run_json_page() -> str:
    """Return the page of the keys of run.json."""
    intro = (
        "Each run's folder has a `run.json`, which is complete in itself: the resolved settings, every statistic, the "
        "resources used, and where model, data and code came from. Unknown values are null or absent, never 0."
    )
    parts = ["# run.json", intro]
    return _models_page(parts, RunFile)


def _models_page(parts: list[str], top: type) -> str:
    for kind, paths in models_within(top).items():
        heading = ", ".join(paths) if any(paths) else "The file"
        parts += [f"## {heading}", _keys(TypeAdapter(kind).json_schema(), kind)]
    return "\n\n".join(parts) + "\n"


def models_within(kind: type) -> dict[type, list[str]]:
    """Return a model and the models of its fields, all the way down, each with its paths in the file."""
    found: dict[type, list[str]] = {}

    def add(kind: type, path: str) -> None:
        found.setdefault(kind, []).append(path)
        for name, annotation in get_type_hints(kind, include_extras=True).items():
            for suffix, part in _parts(annotation):
                if inspect.isclass(part) and (is_dataclass(part) or issubclass(part, BaseModel)):
                    add(part, f"{path}.{name}{suffix}".lstrip("."))

    add(kind, "")
    return found


def _parts(annotation: Any, suffix: str = "") -> Iterable[tuple[str, Any]]:
    origin, members = get_origin(annotation), get_args(annotation)
    if not members:
        yield suffix, annotation
    elif origin in (ClassVar, Literal):
        return
    elif origin is Annotated:
        yield from _parts(members[0], suffix)
    elif origin in (dict, Mapping):
        yield from _parts(members[1], suffix + ".NAME")
    elif origin in (list, tuple, Sequence):
        yield from _parts(members[0], suffix + "[]")
    else:
        for member in members:
            yield from _parts(member, suffix)


def _keys(schema: Mapping[str, Any], kind: type) -> str:
    """Return the table of a model's keys: type, default, meaning and example."""
    described = field_docs(kind)
    fields = getattr(kind, "model_fields", {})
    required = set(schema.get("required", ()))
    rows = []
    for key, value in schema["properties"].items():
        field = fields.get(key)
        default = "required" if key in required else f"`{_yaml(_default(kind, key, value))}`"
        examples = (field.examples if field else None) or value.get("examples") or []
        shown = f"`` {_yaml({key: examples[0]})[1:-1]} ``" if examples else ""
        rows.append((f"`{key}`", type_text(value, schema), default, prose(described.get(key, "")), shown))
    headings: Sequence[str] = ("key", "type", "default", "meaning", "example")
    if not any(row[-1] for row in rows):
        return table(headings[:-1], [row[:-1] for row in rows])
    return table(headings, rows)


def _default(kind: Any, key: str, value: Mapping[str, Any]) -> Any:
    if "default" in value:
        return value["default"]
    if is_dataclass(kind):
        made: Any = kind.__dataclass_fields__[key].default_factory
        return to_jsonable_python(made())
    return kind.model_fields[key].get_default(call_default_factory=True)


def type_text(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return a JSON Schema's type in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        target = schema.get("$defs", {}).get(name, {})
        return type_text(target, schema) if target.get("enum") else name if name.islower() else "mapping"
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(type_text(each, schema) for each in value["anyOf"]))
    if "const" in value:
        return f"`{_yaml(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{each}`" for each in value["enum"]) if len(value["enum"]) < 6 else "name"
    if value.get("type") == "array":
        items = value.get("items") or {"anyOf": value.get("prefixItems", [{}])}
        return f"list of {type_text(items, schema)}"
    names = {"string": "text", "object": "mapping", "boolean": "true or false", None: "any"}
    return names.get(value.get("type"), str(value.get("type")))


def _yaml(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "{}"
    plain = json.loads(json.dumps(value))  # enumerations and tuples as YAML has them
    text = yaml.safe_dump(plain, default_flow_style=True, allow_unicode=True, sort_keys=False, width=sys.maxsize)
    return text.removesuffix("\n...\n").strip() or '""'


# The Python API


def python_page() -> str:
    """Return the page of the public names."""
    parts = ["# Python", "What programs and plugins import. `help(harness.NAME)` prints the whole docstring."]
    tables: list[tuple[str, ModuleType, list[str]]] = [
        *((heading, harness, names) for heading, names in api_groups(harness).items()),
        *((f"Backends: {heading.lower()}", backends, names) for heading, names in api_groups(backends).items()),
        *((f"Judging: {heading.lower()}", judging, names) for heading, names in api_groups(judging).items()),
        ("Metrics over a whole run", statistics, statistics.__all__),
        ("Tests of the published order", contamination, contamination.__all__),
    ]
    for heading, module, names in tables:
        rows = [_described(module, name) for name in names]
        parts += [f"## {heading}", table((f"`{module.__name__}.`", "what it is"), rows)]
    return "\n\n".join(parts) + "\n"


def data_frames_page() -> str:
    """Return the page of the columns of data frames."""
    parts = [
        "# Data frames",
        "The columns that the methods of `harness.Results` return. Any value can be missing. In pandas, integers and "
        "booleans have the types `Int64` and `boolean`.",
    ]
    types = {"text": "text", "texts": "list of texts", "whole": "integer", "number": "float", "flag": "boolean",
             "time": "time in UTC"}  # fmt: skip
    for method, columns in TABLES.items():
        rows = [(f"`{name}`", types[column.type], column.meaning) for name, column in columns.items()]
        if columns is SAMPLES:
            rows.append((f"`{SCORE}…`", "float", "A column for each score, `…` being its name."))
        parts += [f"## {method}", table(("column", "type", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def api_groups(module: ModuleType) -> dict[str, list[str]]:
    """Return the public names by group, as the comments in a module such as ``harness/__init__.py`` divide them."""
    groups: dict[str, list[str]] = {}
    for line in inspect.getsource(module).splitlines():
        if comment := re.match(r"    # (.+?): ", line) or re.match(r"    # (.+)\.$", line):
            groups[comment[1]] = []
        elif groups and (names := re.findall(r"\b(\w+) as \1\b", line)):
            groups[list(groups)[-1]] += names
    return groups


def _described(module: ModuleType, name: str) -> tuple[str, str]:
    thing = getattr(module, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return f"`{name}`", prose((inspect.getdoc(thing) or "").split("\n\n")[0])
    text = f"`{thing!r}`"
    return f"`{name}`", text if len(text) < 80 else f"{text[:78]}…`"


# Texts


def split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Return a docstring without its sections, and the meaning of each argument of its section Args."""
    body, *sections = re.split(
        r"^(Args|Raises|Returns|Yields|Attributes):\n", inspect.cleandoc(doc), flags=re.MULTILINE
    )
    arguments: dict[str, str] = {}
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        if title == "Args":
            for name, meaning in re.findall(r"^    (\w+): (.*(?:\n     .*)*)", text, re.MULTILINE):
                arguments[name] = " ".join(meaning.split())
    return body.strip(), arguments

"""Facts about models in a file that several sweeps share: the sweep's key ``about``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import yaml_lines
from harness.contracts.model_settings import ModelFacts
from harness.errors import SpecError, shown
from harness.plugins.parameters import check_parameters
from harness.sweeps.context import Context

FORM = 'Write, for example: "hf:openai-community/gpt2": {creator: OpenAI, licence: MIT}'


def read_model_facts(name: Any, context: Context) -> dict[str, dict[str, Any]]:
    """Return the facts in a file by the model's name as sweeps write it; report errors with the file's lines."""
    if not isinstance(name, str) or not name:
        return {}  # reported with the sweep's other keys
    path = context.base / name
    if not path.is_file():
        context.diagnostics.add(
            ("about",), f"there is no file {shown(str(path), 200)}.", "Paths are relative to this file."
        )
        return {}
    try:
        document = yaml_lines.load(path)
    except SpecError as error:
        context.diagnostics.extend(error.diagnostics)
        return {}
    context.diagnostics.extend(document.diagnostics)
    if not isinstance(document.data, Mapping):
        context.diagnostics.extend([document.diagnostic((), "must be a mapping of models to facts about them.", FORM)])
        return {}
    found = {}
    for model, written in document.data.items():
        if not isinstance(written, Mapping):
            message = f"must be facts about the model, not {shown(written)}."
            context.diagnostics.extend([document.diagnostic((model,), message, FORM)])
            continue
        facts, wrong = check_parameters(ModelFacts, written, noun="fact")
        context.diagnostics.extend([document.diagnostic((model, *one.keys), one.message, one.hint) for one in wrong])
        for key in {"series", "step"} & written.keys():
            message = "differs between revisions of a model, to all of which the facts of its name apply."
            hint = "Write it in the model's entry: {name: …, revision: …, about: {series: …, step: …}}"
            context.diagnostics.extend([document.diagnostic((model, key), message, hint)])
        if facts is not None:
            found[str(model)] = facts.model_dump(mode="json", exclude_unset=True)
    return found


def with_facts(facts: Mapping[str, Mapping[str, Any]], model: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings with the facts of the file; those of the model's own entry take precedence."""
    if model not in facts:
        return settings
    return {**settings, "about": {**facts[model], **(settings.get("about") or {})}}

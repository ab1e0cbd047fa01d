"""Labels that tell runs apart: what two runs of one scenario, method and model differ in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from harness.contracts.specs import RunSpec
from harness.output.display import brief, visible

LONGEST_VALUE = 30
"""Characters of a setting's value in a label."""


def distinctions(specs: Sequence[RunSpec], label: Callable[[RunSpec], str]) -> list[str]:
    """Return for each run what tells it from the other runs with the same label; '' where nothing needs to.

    For example `` [max_train_instances=5, seed=1]``, to be put after the label. Where shortened values do not tell two
    runs apart, the run's digest does. Equal specs get equal texts.
    """
    alike: dict[str, list[int]] = {}
    for index, spec in enumerate(specs):
        alike.setdefault(label(spec), []).append(index)
    found = [""] * len(specs)
    for indices in alike.values():
        for index, difference in zip(indices, _differences([specs[index] for index in indices]), strict=True):
            found[index] = f" [{difference}]" if difference else ""
    return found


def _differences(specs: Sequence[RunSpec]) -> list[str]:
    """Return, for runs of the same label, the settings of each that not all of them share."""
    if len({spec.name for spec in specs}) == 1:
        return [""] * len(specs)
    settings = [_settings(spec) for spec in specs]
    names = list(dict.fromkeys(name for one in settings for name in one))
    first = settings[0]
    varying = [name for name in names if not all(_same(one.get(name), first.get(name)) for one in settings)]
    texts = [", ".join(f"{name}={_value(one[name])}" for name in varying if name in one) for one in settings]
    owners: dict[str, set[str]] = {}
    for text, spec in zip(texts, specs, strict=True):
        owners.setdefault(text, set()).add(spec.name)
    return [
        text if len(owners[text]) == 1 else ", ".join(part for part in (text, spec.digest) if part)
        for text, spec in zip(texts, specs, strict=True)
    ]


def _settings(spec: RunSpec) -> dict[str, Any]:
    """Return the settings that a label leaves out, flattened: the adapter's first, which differ most often."""
    prompt = {} if spec.prompt_variant is None else {"prompt": spec.prompt_variant.description}
    return {
        **prompt,
        **{name: value for name, value in spec.unchanged_adapter.arguments.items() if value is not None},
        "instance_seed": spec.instance_seed,
        "seed": spec.seed,
        **({} if spec.sampling_seed is None else {"sampling_seed": spec.sampling_seed}),
        "samples": spec.samples,
        "max_eval_instances": spec.max_eval_instances,
        "perturbations": spec.perturbations,
        "metrics": spec.metrics,
        "main_metric": spec.main_metric,
        "eval_split": spec.eval_split.value,
        "groups": list(spec.groups),
        **({"cluster": spec.cluster} if spec.cluster else {}),
        **({} if spec.reductions is None else {"reductions": list(spec.reductions)}),
        **{f"scenario.{name}": value for name, value in spec.scenario.arguments.items()},
        **{f"model.{name}": value for name, value in spec.model.flat.items()},
    }


def _same(one: Any, other: Any) -> bool:
    """Return True for equal values of one type: True is not 1."""
    return one is other or (type(one) is type(other) and bool(one == other))


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        value = [part.label for part in value]
    if isinstance(value, str):
        plain = value == value.strip() != ""
        return brief(value if plain else json.dumps(value, ensure_ascii=False), LONGEST_VALUE)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return brief("+".join(value) or "none", LONGEST_VALUE)
    return brief(visible(str(value)), LONGEST_VALUE)

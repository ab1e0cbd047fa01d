"""The keys of a sweep, of its defaults and of a run, each with its type, default, description and an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from harness.contracts import Split
from harness.errors import KeyPath
from harness.plugins.parameters import check_parameters
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.foreign_names import key_hint

_Count = Annotated[int, Field(ge=1)]
_AnySplit = Annotated[Split, Field(strict=False)]
_List = list[Any] | None

# Checked when the names in them are looked up; here only their form in the JSON Schema is given.
_NameOrMapping = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})]
_WHOLE = {"type": "integer", "minimum": 0}
_NAMES = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_Counts = Annotated[Any, WithJsonSchema({"anyOf": [_WHOLE, {"type": "array", "items": _WHOLE, "minItems": 1}]})]


_VARIANTS = {
    "anyOf": [
        {"type": "integer", "minimum": 2},
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["count"],
            "properties": {
                "count": {"type": "integer", "minimum": 2},
                "of": {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
                "seed": _WHOLE,
            },
        },
        {"type": "array", "minItems": 1, "items": {"type": "object"}},
    ]
}


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class SweepKeys(_Keys):
    """A sweep: the runs to make, each with every model."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100, examples=["my-suite"])
    """Name of the sweep's folder in the results folder: letters, digits, ``.``, ``_`` and ``-``. Not ``site``, where
    the leaderboard's pages are."""

    description: str = Field("", examples=["Knowledge and reading, 5-shot."])
    """What the sweep is for."""

    plugins: list[str] | None = Field(None, examples=[["my_metrics.py", "scenarios/"]])
    """Python files, scenario files, or folders of them to load, relative to this file."""

    models: _List = Field(None, examples=[["hf:openai-community/gpt2", {"name": "hf:gpt2", "dtype": "bfloat16"}]])
    """The models, each as ``backend:identifier`` or as a mapping with a name and parameters. Every run is made with
    each of them."""

    about: str | None = Field(None, min_length=1, examples=["models.yaml"])
    """YAML file, relative to this one, with facts about models for the site, which several sweeps can share: a mapping
    of models, named as under ``models``, to the keys of a model's ``about``. A model's own ``about`` takes
    precedence."""

    defaults: dict[str, Any] | None = Field(None, examples=[{"max_eval_instances": 1000, "max_train_instances": 5}])
    """Settings of every run that does not set them itself."""

    runs: list[Any] = Field(examples=[["mmlu:subject=anatomy", {"scenario": "boolq", "metrics": ["accuracy"]}]])
    """The runs, each as HELM's shorthand, ``scenario:key=value,key=value``, or as a mapping."""

    executor: _NameOrMapping = Field(None, examples=["local", {"name": "slurm", "partition": "gpu", "heads": 8}])
    """Where the runs are executed: ``local``, ``ray`` or ``slurm``, or a mapping with that name and settings (default:
    ``local``). It changes no answer."""

    listeners: _List = Field(None, examples=[["tensorboard", {"name": "wandb", "project": "evals"}]])
    """Listeners that get each run as it ends, such as experiment trackers: names, or mappings with a name and
    parameters. They do not affect answers."""

    reuse_across_gpus: bool = Field(False, examples=[True])
    """True to take answers from the response cache that another kind of GPU gave. In 16 bits these differ slightly;
    run.json counts them."""

    scores: list[Any] | None = Field(None, examples=[[{"name": "mean", "over": ["mmlu", "gsm8k"]}]])
    """Composite scores: means over the sweep's runs, each shown as a column of the leaderboard with its interval."""

    @field_validator("suite")
    @classmethod
    def _leaves_the_site_its_folder(cls, suite: str) -> str:
        if suite == "site":
            raise ValueError("is the folder of the leaderboard's pages; choose another name")
        return suite


class ScoreKeys(_Keys):
    """A composite score: a mean over runs of the sweep, which the leaderboard shows as a column.

    A model that lacks one of the runs has no score.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100, examples=["capabilities"])
    """Its name, unique in the sweep."""

    title: str = Field("", examples=["HELM Capabilities mean score"])
    """The heading of its column (default: the name)."""

    over: list[str] = Field([], examples=[["mmlu", "gsm8k", "bbh:*"]], json_schema_extra={"minItems": 1})
    """What is averaged: for each pattern, such as ``mmlu`` or ``bbh:task=navigate``, the mean of the runs whose
    scenario it matches (default: every scenario of the sweep)."""

    mean: Literal["macro", "micro"] = Field("macro", examples=["micro"])
    """``macro``: everything under ``over`` counts the same, and so does every run of it. ``micro``: every instance
    counts the same."""

    chance: dict[str, Annotated[float, Field(strict=False, ge=0, lt=1)]] = Field({}, examples=[{"gpqa": 0.25}])
    """By pattern, the score c that guessing gets: a score x becomes max(0, (x − c) / (1 − c)). The first pattern that
    matches counts; a run without one is not rescaled."""


class PromptVariantKeys(_Keys):
    """Variants of a prompt that are drawn at random."""

    count: int = Field(ge=2, le=100, examples=[8])
    """Number of variants, the unchanged prompt among them."""

    of: list[Any] | None = Field(None, min_length=1, examples=[["option_order", {"instructions": ["Answer."]}]])
    """What is changed: kinds of changes that the method offers, such as ``option_order`` (`harness show adapter NAME`
    lists them), and mappings of one of the adapter's settings to a list of other values (default: all kinds)."""

    seed: int = Field(0, ge=0, lt=2**63, examples=[1])
    """Seed of the draw. With the same seed, a larger ``count`` adds variants and keeps the others."""


class DefaultKeys(_Keys):
    """Settings of every run that does not set them itself."""

    max_eval_instances: _Count | None = Field(None, examples=[1000])
    """Maximum number of evaluation instances in a run, before perturbation; null for all."""

    max_train_instances: _Counts = Field(None, examples=[5])
    """Number of few-shot examples in a prompt, for methods that use examples. A list makes a run for each number."""

    train_trials: _Counts = Field(None, examples=[3])
    """Number of times the evaluation is repeated, each time with other few-shot examples, for methods that use
    examples."""

    eval_split: _AnySplit | None = Field(None, examples=["test"])
    """Split to evaluate (default: the scenario's)."""

    prompt: Annotated[Any, WithJsonSchema(_NAMES)] = Field(None, examples=["lm_eval"])
    """Name of one of the scenario's prompts (default: its own), such as that of another harness. A list makes a run for
    each. Settings under ``adapter`` replace the prompt's; `harness show scenario NAME` lists its prompts."""

    prompt_variants: Annotated[Any, WithJsonSchema(_VARIANTS)] = Field(
        None, examples=[8, {"count": 8, "of": ["option_order", "letters"], "seed": 0}]
    )
    """Makes a run for each of several variants of the prompt, the unchanged one among them, to measure how much scores
    depend on it: their number; a mapping with ``count``, ``of`` and ``seed``; or a list of mappings, each with a
    ``name`` and the adapter's settings that it changes."""

    max_declined: Annotated[float, Field(strict=False)] = Field(0.1, ge=0, le=1, examples=[0.5])
    """Largest share of examples, from 0 to 1, that the model or its provider may decline before the run fails."""

    instance_seed: int = Field(0, ge=0, lt=2**63, examples=[1])
    """Seed that chooses the evaluated instances and their perturbed copies. Separate from ``seed``, so that runs with
    different seeds evaluate the same instances."""

    seed: int = Field(0, ge=0, lt=2**63, examples=[1])
    """Seed of everything else that is random in a run: few-shot examples, and sampling from the model."""

    sampling_seed: int | None = Field(None, ge=0, lt=2**63, examples=[1])
    """Seed of sampling from the model alone (default: ``seed``), for repeats with the same few-shot examples."""

    samples: _Count = Field(1, examples=[8])
    """Number of answers that the model samples for each prompt, at a temperature above 0. Each is scored by itself; an
    instance's score is the mean over its samples."""

    reductions: list[str] | None = Field(None, examples=[["maj@8", "pass@4", "best@8 by judge_score"]])
    """Further statistics from the scores of an instance's samples: ``maj@n``, the score of the most frequent answer;
    ``pass@k`` or ``any@k``, the probability that one of k samples is right; ``all@k`` or ``pass^k``, that all are;
    ``best@k``, the expected best score of k, or ``best@k by SCORE``, the score of the sample that another score
    prefers. Their stats are named ``exact_match:maj@8`` (default: those that fit each score)."""

    adapter: _NameOrMapping = Field(None, examples=["generation", {"method": "generation", "max_tokens": 5}])
    """The adaptation method, its settings, or both. Settings without a method change the scenario's default adapter."""

    perturbations: list[Any] = Field([], examples=[["robustness", {"name": "typos", "prob": 0.1}]])
    """Perturbations and sets of perturbations. The model is asked about each perturbed copy of an instance as well."""

    metrics: list[Any] = Field([], examples=[["accuracy", "calibration"]])
    """Metrics and sets of metrics (default: the scenario's)."""


class RunKeys(DefaultKeys):
    """One entry of a sweep: one run or, where lists fan out, several."""

    scenario: _NameOrMapping = Field(examples=["boolq", {"name": "mmlu", "subject": ["anatomy", "virology"]}])
    """The scenario: a name, HELM's shorthand, the path of a scenario file, or a mapping with a name and parameters. A
    list as a parameter makes a run for each value; ``all`` means all values. ``tag:reasoning`` means all scenarios with
    that tag."""

    main_metric: str | None = Field(None, examples=["exact_match"])
    """The metric shown on leaderboards (default: the scenario's); it is measured even if ``metrics`` lacks it."""

    groups: list[str] | None = Field(None, examples=[["gender"]])
    """Keys of the instances' ``meta`` whose values are groups to compare (default: the scenario's)."""

    cluster: str | None = Field(None, examples=["passage_id"])
    """Key of the instances' ``meta``: instances with equal values depend on each other; standard errors are over these
    clusters (default: the scenario's). ``cluster: ""`` treats all instances as independent."""

    model: _NameOrMapping = Field(None, examples=["hf:openai-community/gpt2"])
    """The model of this entry, instead of the sweep's models."""

    models: _List = Field(None, examples=[["hf:openai-community/gpt2"]])
    """The models of this entry, instead of the sweep's models."""


K = TypeVar("K", bound=_Keys)


def read_keys(kind: type[K], value: Mapping[str, Any], path: KeyPath, diagnostics: Diagnostics) -> K | None:
    """Return the keys of a sweep, its defaults or a run, and report every error.

    Wrong keys are left out, so that the values of the others can be checked; None if that is impossible.
    """
    keys, found = check_parameters(kind, value, noun="key")
    for diagnostic in found:
        message = diagnostic.message
        if diagnostic.keys == ("suite",) and "pattern" in message:
            message = "must be a folder name of letters, digits, '.', '_' and '-' that begins with a letter or digit."
        hint = diagnostic.hint
        if message.startswith("is not a key"):
            hint = key_hint(str(diagnostic.keys[-1]), list(kind.model_fields)) or hint
        written = value.get(str(diagnostic.keys[0])) if len(diagnostic.keys) == 1 else None
        if "valid list" in message and isinstance(written, str):
            hint = f"Write [{written}]."
        diagnostics.add((*path, *diagnostic.keys), message, hint)
    if found:
        wrong = {str(diagnostic.keys[0]) for diagnostic in found if diagnostic.keys}
        keys, _ = check_parameters(kind, {key: item for key, item in value.items() if key not in wrong})
    return keys if isinstance(keys, kind) else None

"""The size of a run before anyone pays for it: examples, requests and tokens, of a large run from a sample.

Tokenizing every prompt of a large sweep takes an hour. So a large run is counted for some of its instances, drawn at
random, with all their perturbed copies and all trials. Numbers of the whole follow by regression on the length of the
instances' texts, which are all known::

    tokens of an example  ≈  tokens of the few-shot examples  +  slope · characters of the instance

    population   ▏ 1,000 instances, 812 characters on average
    sample       ▏    30 instances, 790 characters, 1,031 tokens in a prompt, slope 0.24
    estimate     ▏ 1,000 · (1,031 + 0.24 · (812 − 790)) tokens for each copy and trial

Source: the regression estimator of survey sampling, Cochran 1977, Sampling Techniques, chapter 7.
"""

from __future__ import annotations

import heapq
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from harness.answers.reasoning import budget_of
from harness.contracts import Adapted, GenerateRequest, Instance, Prompt, Request, ScoreRequest, Tokenization
from harness.contracts.specs import RunSpec
from harness.costs.token_estimate import estimated_tokens
from harness.runs.evaluation import Evaluation
from harness.runs.preview import readable, tool_text
from harness.seeds import derive_seed
from harness.storage.instance_scores import cluster_number

ENOUGH_EXAMPLES = 150
"""Examples that are counted of a large run; smaller runs are counted in full."""
FEWEST_INSTANCES = 30
"""Instances that are counted of a large run, at least."""
MOST_CHARACTERS = 2_000_000
"""Characters of the sample's texts, all copies and trials together, above which ``FEWEST_INSTANCES`` are enough."""
MOST_COUNTED = 4
"""Requests of an example whose tokens are counted; those of further ones follow from their lengths."""
CONFIDENT = 1.96
"""Standard errors on either side of an estimate in 95 % of samples."""


@dataclass(frozen=True, slots=True)
class Size:
    """Examples, requests and tokens: of one instance with all copies and trials, or of a run."""

    examples: float = 0
    """Examples: instances, perturbed copies, all trials."""
    requests: float = 0
    """Requests to the model, before equal ones are put together."""
    prompt_tokens: float = 0
    """Tokens of all prompts, contexts and continuations, except of requests that follow an answer."""
    max_completion_tokens: float = 0
    """Most tokens that could be generated, with the budgets of reasoning that models' entries name."""
    truncated: float = 0
    """Examples whose prompt has to be shortened."""
    follow_ups: float = 0
    """Requests, among those counted, that follow an answer; their prompts are not known before."""

    def __add__(self, other: Size) -> Size:
        return Size(*(getattr(self, name) + getattr(other, name) for name in FIELDS))

    def scaled(self, factor: float) -> Size:
        """Return the size of a run of as many times the instances."""
        return Size(*(getattr(self, name) * factor for name in FIELDS))


FIELDS = tuple(field.name for field in fields(Size))


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run, before it is run."""

    size: Size
    """Examples, requests and tokens; whole numbers."""
    counted: int
    """Instances that were counted."""
    instances: int
    """Instances of the run."""
    cluster_size: float = 1.0
    """Mean number of instances in the cluster of an instance; 1 if instances are independent."""
    uncertain: frozenset[str] = frozenset()
    """The names of the numbers that are estimates; the others were equal for all instances that were counted."""
    error: float = 0.0
    """Half the width of the 95 % interval of the prompt tokens; 0 if all were counted."""
    tokens_known: bool = True
    """False if the model has no tokenizer here: then four characters are counted as a token."""

    @property
    def estimated(self) -> bool:
        """True if only a sample was counted."""
        return self.counted < self.instances


@dataclass(frozen=True, slots=True)
class Sample:
    """The instances of a run that are counted, chosen once for all models."""

    evaluation: Evaluation
    """The run with these instances and their perturbed copies only."""
    lengths: Mapping[str, int]
    """The number of characters of each of them, by id."""
    count: int
    """Instances of the run."""
    mean_length: float
    """Mean number of characters of all of them."""
    cluster_size: float = 1.0
    """As :attr:`Plan.cluster_size`."""


def draw(evaluation: Evaluation) -> Sample:
    """Return the instances of a run that are counted: all of a small run.

    Raises:
        HarnessError: A perturbation failed, or changes no instance.
    """
    if evaluation.adapter.keeps_order:  # one request may hold many instances
        return Sample(evaluation, {}, evaluation.count, 0.0)
    drawn: list[tuple[int, int, Instance]] = []
    total = 0
    clusters: Counter[int] = Counter()
    cluster = evaluation.spec.cluster
    each = max(1, evaluation.examples // max(1, evaluation.count))
    most = max(FEWEST_INSTANCES, math.ceil(ENOUGH_EXAMPLES / each))
    for number, instance in enumerate(evaluation.originals()):
        total += _length(instance)
        if cluster:
            clusters[cluster_number(instance.id, instance.meta, cluster)] += 1
        entry = (-derive_seed(0, f"plan/{instance.id}"), number, instance)
        if len(drawn) < most:
            heapq.heappush(drawn, entry)
        else:
            heapq.heappushpop(drawn, entry)
    chosen: list[Instance] = []
    characters = 0
    for _, _, instance in sorted(drawn, reverse=True):
        characters += _length(instance) * each
        if characters > MOST_CHARACTERS and len(chosen) >= FEWEST_INSTANCES:
            break
        chosen.append(instance)
    lengths = {instance.id: _length(instance) for instance in chosen}
    count = max(1, evaluation.count)
    cluster_size = sum(size * size for size in clusters.values()) / count if clusters else 1.0
    return Sample(evaluation.only(chosen), lengths, evaluation.count, total / count, cluster_size)


def plan(sample: Sample, model: Tokenization, spec: RunSpec | None = None) -> Plan:
    """Return the size of a run with a model.

    Args:
        sample: The instances to count, from :func:`draw`.
        model: The model, whose tokens are counted.
        spec: The run's spec, where the sample was drawn for an equal run with another model.

    Raises:
        HarnessError: The settings do not fit the data or the model.
    """
    count = _Counter(model)
    evaluation = sample.evaluation if spec is None else replace(sample.evaluation, spec=spec)
    sizes: dict[str, Size] = {}
    whole = Size()
    for adapted in evaluation.adapted(model):
        size = _size(adapted, count)
        whole += size
        if sample.lengths:
            sizes[adapted.instance.id] = sizes.get(adapted.instance.id, Size()) + size
    known = not count.guessed
    if len(sample.lengths) in (0, sample.count):
        return Plan(whole, sample.count, sample.count, sample.cluster_size, tokens_known=known)
    lengths = [sample.lengths[name] for name in sizes]
    totals: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name in FIELDS:
        values = [getattr(size, name) for size in sizes.values()]
        totals[name], errors[name] = regressed(lengths, values, sample.mean_length, sample.count)
    rounded = Size(**{name: round(total) for name, total in totals.items()})
    uncertain = frozenset(name for name, error in errors.items() if error)
    error = CONFIDENT * errors["prompt_tokens"]
    return Plan(rounded, len(sizes), sample.count, sample.cluster_size, uncertain, error, known)


class _Counter:
    """Counts the tokens of prompts; estimates those of a model without a tokenizer."""

    def __init__(self, model: Tokenization) -> None:
        self.guessed = False
        self._count = lru_cache(maxsize=64)(model.count_tokens)

    def __call__(self, prompt: Prompt) -> int:
        tokens = self._count(prompt)
        if tokens or not prompt:
            return tokens
        self.guessed = True
        return estimated_tokens(readable(prompt))


def _size(adapted: Adapted, count: _Counter) -> Size:
    """Return the size of one example."""
    requests = adapted.requests
    completion = 0
    for request in requests:
        if isinstance(request, GenerateRequest):
            completion += (request.max_tokens + budget_of(request)) * request.completions
    last = requests[-1] if requests else None
    if isinstance(last, GenerateRequest):
        completion += adapted.follow_ups * (last.max_tokens + budget_of(last)) * last.completions
    return Size(
        examples=1,
        requests=len(requests) + adapted.follow_ups,
        prompt_tokens=_prompt_tokens(requests, count),
        max_completion_tokens=completion,
        truncated=bool(adapted.truncated or adapted.dropped_examples),
        follow_ups=adapted.follow_ups,
    )


def _prompt_tokens(requests: Sequence[Request], count: _Counter) -> float:
    """Return the tokens of an example's prompts; of many requests, some are counted, the others by their lengths."""
    step = max(1, len(requests) // MOST_COUNTED)
    counted = requests[::step]
    tokens = sum(_tokens(request, count) for request in counted)
    if step == 1:
        return tokens
    characters = [sum(map(_characters, _texts(request))) for request in requests]
    return tokens * sum(characters) / max(1, sum(characters[::step]))


def _tokens(request: Request, count: _Counter) -> int:
    tools = request.tools if isinstance(request, GenerateRequest) else ()
    return sum(map(count, _texts(request))) + sum(count(tool_text(tool)) for tool in tools)


def _texts(request: Request) -> Sequence[Prompt]:
    if isinstance(request, GenerateRequest):
        return (request.whole_prompt,)
    if isinstance(request, ScoreRequest):
        return request.context, request.continuation
    return request.segments


def _characters(prompt: Prompt) -> int:
    return len(prompt) if isinstance(prompt, str) else sum(len(message.content) for message in prompt)


def _length(instance: Instance) -> int:
    return len(instance.input) + sum(len(reference.text) for reference in instance.references)


def regressed(lengths: Sequence[float], values: Sequence[float], mean_length: float, count: int) -> tuple[float, float]:
    """Return the total of a number over all instances, and its standard error (jackknife: HC3).

    Long texts differ more than short ones, and one may draw the line to itself: each residual is taken from the line
    through the others.
    """
    number, center, mean = len(values), statistics.fmean(lengths), statistics.fmean(values)
    if min(values) == max(values):
        return count * mean, 0.0
    spread = sum((length - center) ** 2 for length in lengths)
    slope = statistics.linear_regression(lengths, values).slope if spread and number > 2 else 0.0
    squares = 0.0
    for length, value in zip(lengths, values, strict=True):
        leverage = 1 / number + ((length - center) ** 2 / spread if slope else 0.0)
        squares += ((value - mean - slope * (length - center)) / max(0.05, 1 - leverage)) ** 2
    unseen = 1 - number / count
    error = count * math.sqrt(squares * unseen) / number
    return max(0.0, count * (mean + slope * (mean_length - center))), error

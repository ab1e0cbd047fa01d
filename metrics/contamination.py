"""Does a model depend on a data set's published order? p-values, evidence and a verdict from log-likelihoods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from random import Random
from typing import Any

from harness import NO_VALUE, Estimate, Example, MetricError, RunMetric, derive_seed, metric
from harness.contamination import (
    BesagClifford,
    EProcess,
    Neighbours,
    RankTest,
    Stretch,
    Verdict,
    agreement_scores,
    bonferroni,
    combined_looks,
    neighbour_test,
    relabelling_test,
    sharded_t,
    verdict,
    why_not_testable,
)


@metric(
    "contamination",
    title={"contamination": "Published order, −log10 p"},
    short={"contamination": "−log10 p"},
    category="contamination",
    scale={"contamination_evidence": "signed", "*": "count"},
    higher_is_better=None,
    gives=("contamination", "contamination_*"),
    source="Oren et al. 2023 (arXiv:2310.17623)",
)
class Contamination(RunMetric):
    """−log10 of a combined p-value: the evidence that the model depends on the published order of the data set.

    Of models that give log-probabilities, two exact tests are combined by Bonferroni: the relabelling test (normal
    scores of the shards' log-likelihoods) and the neighbour test (log-likelihoods of pairs of examples). The
    next-example test stands alone (ranks; if it stops early, its evidence). The null hypothesis is that the model does
    not depend on the published order, given the examples; ``contamination_…`` are −log10 p of each test, the published
    t-test among them, and ``contamination_evidence`` is log10 of the e-value. Values start at 0; higher is stronger
    evidence, and neither is better for the model. A test that detects nothing shows nothing. If the order cannot be
    tested, because there are too few examples or it is not exchangeable, there is no value, and the details say why.
    docs/contamination.md explains how the tests work and what they assume.

    Args:
        alpha: The level of the verdict.
    """

    def __init__(self, *, alpha: float = 0.01) -> None:
        if not 0 < alpha < 1:
            raise MetricError(f"contamination: alpha is {alpha}, but must be between 0 and 1.")
        self._alpha = alpha
        self._data: Mapping[str, Any] | None = None
        self._shards: dict[int, _Scores] = {}
        self._blocks: dict[int, Neighbours] = {}
        self._stretches: dict[int, tuple[Stretch, list[float]]] = {}
        self._parts: dict[int, list[tuple[Stretch, list[float]] | None]] = {}
        self._whole: dict[int, tuple[Mapping[str, Any], list[float]]] = {}
        self._cost, self._more = _Cost(), _Cost()
        self._known: dict[str, Any] | None = None

    def add(self, example: Example) -> None:
        """Take the answers of one stand-in instance of a test of the published order.

        Raises:
            MetricError: It comes from another adapter, or a log-probability is missing.
        """
        self._known = None
        meta = example.instance.meta
        asked = meta.get("asked")
        if asked not in ("shard", "neighbours", "next_example", "whole", "nothing"):
            raise MetricError("only reads the answers of the adapters exchangeability and next_example.")
        if "rests" in meta:
            answers = [response.completions[0].text for response in example.responses if response.completions]
            if len(answers) < len(example.responses):
                raise MetricError("the model did not answer every question.")
            scores = agreement_scores(Stretch.from_json(meta["bets"]), meta["rests"], answers, meta["piece"])
        else:
            scores = [math.fsum(response.logprobs or (math.nan,)) for response in example.responses]
        if not all(map(math.isfinite, scores)):
            raise MetricError("the model gave no finite log-probabilities.")
        self._data = meta.get("data", self._data)
        if asked == "nothing":
            return
        self._cost.add(example)
        if meta.get("look") == 2:
            self._more.add(example)
        if asked == "shard":
            self._shards.setdefault(meta["number"], _Scores()).take(meta.get("look"), scores)
        elif "parts" in meta:
            parts = self._parts.setdefault(meta["number"], [None] * meta["parts"])
            parts[meta["part"]] = Stretch.from_json(meta["bets"]), scores
        elif asked == "neighbours":
            self._blocks[meta["number"]] = Neighbours(tuple(meta["groups"]), tuple(scores))
        elif asked == "next_example":
            self._stretches[meta["number"]] = Stretch.from_json(meta["bets"]), scores
        else:
            self._whole[meta["number"]] = (meta, scores)

    def estimates(self) -> Mapping[str, Estimate]:
        found = self._result()
        if found is None or NO_VALUE in found:
            return {}
        used = found["n_used"]
        named = {
            "contamination": found["headline_log10_p"],
            "contamination_relabelling": found.get("log10_p_exact"),
            "contamination_relabelling_raw": found.get("log10_p_exact_raw"),
            "contamination_certified": found.get("log10_p_certified"),
            "contamination_sharded_t": found.get("log10_p_t"),
            "contamination_neighbours": (found.get("neighbours") or {}).get("log10_p"),
            "contamination_next_example": (found.get("next_example") or {}).get("log10_p"),
        }
        simple = found.get("p_permutation")
        if simple is not None:
            named["contamination_permutation"] = math.log10(simple)
        estimates = {name: Estimate(max(0.0, -value), used) for name, value in named.items() if value is not None}
        if found.get("next_example"):
            estimates["contamination_evidence"] = Estimate(found["next_example"]["log10_E"], used)
        return estimates

    def details(self) -> Mapping[str, Any]:
        return self._result() or {}

    def _result(self) -> dict[str, Any] | None:
        """Return all results as JSON values, computed once; None if a part is missing."""
        if self._known is None:
            self._known = self._computed()
        return self._known

    def _computed(self) -> dict[str, Any] | None:
        if self._data is None:
            return None
        data = dict(self._data)
        if reason := why_not_testable(data):
            words = str(Verdict.NOT_TESTABLE)
            return {
                **data,
                "testable": False,
                "not_testable": reason,
                "alpha": self._alpha,
                "headline_log10_p": None,
                "headline_tests": 0,
                "verdict": words,
                NO_VALUE: f"{words}: {reason}",
            }
        settings = data.pop("next_example", None)
        pairs = data.pop("neighbours", None)
        layout = data.pop("shards", None)
        first_look = data.pop("first_look", None)
        shards = [self._shards[number] for number in sorted(self._shards)]
        blocks = [self._blocks[number] for number in sorted(self._blocks)]
        stretches = [self._stretches[number] for number in sorted(self._stretches)]
        if self._parts:
            stops = bool(settings and settings["stop"])
            joined = [_joined(self._parts[number], stops) for number in sorted(self._parts)]
            stretches = [one for one in joined if one is not None]
        twice = bool(self._more.requests)
        if (
            (layout is not None and len(shards) < layout["r"])
            or (pairs is not None and len(blocks) < pairs["blocks"])
            or (settings is not None and not stretches)
            or (settings is not None and not settings["stop"] and len(stretches) < settings["stretches"])
            or (twice and not all(len(scores.all) == 1 + layout["shuffles"] for scores in shards))
        ):
            return None
        result: dict[str, Any] = {**data, "alpha": self._alpha}
        p_values: list[float] = []
        if layout is not None:
            found = _sharded([scores.all for scores in shards])
            result |= {**layout, "shuffles": len(shards[0].all) - 1, "stride": data["context"] // 2, **found}
            log10_p = found["log10_p_exact"]
            if first_look is not None:
                first = relabelling_test([scores.first for scores in shards]).log10_p
                result["looks"] = {
                    **first_look,
                    "second": twice,
                    "first_log10_p": first,
                    "second_log10_p": log10_p if twice else None,
                    "second_cost": self._more.described(data["n_tokens"]),
                }
                log10_p = combined_looks(first, log10_p if twice else None, first_look["share"], first_look["open"])
            p_values.append(log10_p)
        if blocks and pairs is not None:
            result["neighbours"] = _neighbours(blocks, pairs)
            p_values.append(result["neighbours"]["log10_p"])
        if settings is not None:
            ties = derive_seed(data["seed"], f"contamination/ties/{data.get('data_hash')}")
            result["next_example"] = _next_example(stretches, settings, ties)
            p_values.append(result["next_example"]["log10_p"])
        if self._whole:
            result |= _simple([self._whole[number] for number in sorted(self._whole)])
        log10_p = bonferroni(p_values)
        result |= {
            "headline_log10_p": log10_p,
            "headline_tests": len(p_values),
            "verdict": str(verdict(log10_p, self._alpha)),
            "cost": self._cost.described(data["n_tokens"]),
        }
        return result


@dataclass(slots=True)
class _Scores:
    """The scores of one shard, by look; if there is only one look, all are in ``first``."""

    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        return [*self.first, *self.second]

    def take(self, look: int | None, scores: list[float]) -> None:
        if look == 2:
            self.second = scores
        else:
            self.first = scores


def _joined(parts: Sequence[tuple[Stretch, list[float]] | None], stops: bool) -> tuple[Stretch, list[float]] | None:
    """Return a stretch of which the parts were asked one by one; None if one is missing and the test does not stop."""
    found = [part for part in takewhile(lambda part: part is not None, parts) if part is not None]
    if not found or (len(found) < len(parts) and not stops):
        return None
    whole = found[0][0]
    for later, _ in found[1:]:
        whole = whole.joined(later)
    return whole, [score for _, scores in found for score in scores]


def _sharded(table: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the tests of a table of log-likelihoods, with the published order in column 0."""
    exact, raw = relabelling_test(table), relabelling_test(table, "raw")
    found: dict[str, Any] = {
        "shard_scores": [{"canonical": row[0], "shuffled": list(row[1:])} for row in table],
        "log10_p_exact": exact.log10_p,
        "log10_p_exact_raw": raw.log10_p,
        "log10_p_certified": exact.log10_certified,
        "log10_p_floor": exact.log10_floor,
        "z_exact": exact.z,
        "t": None,
        "log10_p_t": None,
        "log10_p_t_ddof1": None,
    }
    try:
        published, repaired = sharded_t(table), sharded_t(table, ddof=1)
    except MetricError as error:
        return {**found, "t_undefined": str(error)}
    return {
        **found,
        "t": published.t,
        "df": published.df,
        "log10_p_t": published.log10_p,
        "log10_p_t_ddof1": repaired.log10_p,
        "difference": {"mean": published.mean, "sd": published.sd, "skew": published.skew},
    }


def _neighbours(blocks: Sequence[Neighbours], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the neighbour test of all blocks."""
    found = neighbour_test(blocks)
    return {
        **settings,
        "largest_block": max(len(block.groups) for block in blocks),
        "z": found.z,
        "log10_p": found.log10_p,
        "log10_p_floor": found.log10_floor,
    }


def _next_example(
    stretches: Sequence[tuple[Stretch, Sequence[float]]], settings: Mapping[str, Any], ties: int
) -> dict[str, Any]:
    """Return ranks and evidence over all boundaries, in the data set's order."""
    ranks, process = RankTest(), EProcess()
    rng = Random(ties)  # noqa: S311 - reproducible tie-breaks, not secrets
    threshold = -math.log10(settings["alpha"])
    most, stopped_at, per_boundary = 0.0, None, []
    for stretch, scores in stretches:
        for position, centred in stretch.centred_scores(scores):
            per_boundary.append([position, ranks.add(centred, rng), len(centred)])
            most = max(most, process.add(centred))
            if stopped_at is None and process.log10_e >= threshold:
                stopped_at = len(per_boundary)
    if not per_boundary:
        return {**settings, "n_boundaries": 0, "log10_p": 0.0, "log10_E": 0.0, "max_log10_E": 0.0}
    found = ranks.result()
    return {
        **settings,
        "n_boundaries": found.n,
        "mean_rank": found.mean_rank,
        "top1_rate": found.top1_rate,
        "log10_p_rank": None if settings["stop"] else found.log10_p,
        "log10_p": min(0.0, -most) if settings["stop"] else found.log10_p,
        "log10_E": process.log10_e,
        "max_log10_E": most,
        "stopped_at": stopped_at,
        "per_boundary_rank": per_boundary,
    }


def _simple(parts: Sequence[tuple[Mapping[str, Any], list[float]]]) -> dict[str, Any]:
    """Return the simple permutation test of the requested orders."""
    state = BesagClifford(parts[0][0]["h"], parts[0][0]["most"])
    canonical, *shuffled = [score for _, scores in parts for score in scores]
    for score in shuffled:
        if not state.done:
            state.add(score >= canonical)
    return {
        "p_permutation": state.p,
        "permutations": state.drawn,
        "permutation_stopped_at": state.drawn if state.drawn < state.most else None,
    }


@dataclass(slots=True)
class _Cost:
    """The requests and tokens of all answers, including those from the response cache.

    The tokens that the model computed are the run's ``computed_tokens``.
    """

    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    unknown: int = 0

    def add(self, example: Example) -> None:
        for response in example.responses:
            self.requests += 1
            if response.prompt_tokens is None or response.completion_tokens is None:
                self.unknown += 1
            else:
                self.tokens += response.prompt_tokens + response.completion_tokens
            self.seconds += response.seconds

    def described(self, tokens: int) -> dict[str, Any]:
        """Return the cost as JSON values; a pass is one reading of the whole data set."""
        known = not self.unknown and tokens > 0
        return {
            "requests": self.requests,
            "tokens": self.tokens if known else None,
            "passes": self.tokens / tokens if known else None,
            "seconds": self.seconds,
        }

"""Writes invented results: models on scenarios with known names, each result a number with its interval.

    python tools/site_results.py FOLDER [--models 30] [--columns 42] [--suite core-2026-11] [--diagrams]

For looking at the results site and for timing it; no model has given these numbers.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.answers.declined import Declined, DeclinedGroup
from harness.contracts import Split, Stat
from harness.contracts.requests import Decline
from harness.contracts.specs import Component, RunSpec
from harness.storage.results import RunRecord, write_run

FAMILIES = ("Aspen", "Birch", "Cedar", "Dune", "Ember", "Fjord", "Grove")
SIZES = (176, 70, 65, 52, 40, 34, 33, 30, 20, 17, 13, 12, 8, 7, 6, 3)
BACKENDS = ("hf", "vllm", "openai")
MMLU = ("abstract_algebra", "anatomy", "astronomy", "college_chemistry", "computer_security", "econometrics",
        "us_foreign_policy", "virology")  # fmt: skip
RAFT = ("ade_corpus_v2", "overruling", "tweet_eval_hate", "twitter_complaints")
BBQ = ("age", "religion")
PLAIN = ("boolq", "narrative_qa", "natural_qa", "natural_qa_open_book", "quac", "hellaswag", "openbookqa",
         "truthful_qa", "msmarco", "msmarco_trec", "summarization_cnndm", "summarization_xsum", "imdb",
         "civil_comments", "blimp",
         "wikifact", "ice", "gsm8k", "math", "babi_qa", "lsat_qa", "dyck_language", "synthetic_reasoning", "humaneval",
         "apps", "bold", "real_toxicity_prompts", "disinformation_wedging", "the_pile", "copyright_text",
         "legal_support", "entity_matching", "twitter_aae", "med_qa", "gpqa", "ifeval", "mgsm", "wmt_14",
         "piqa")  # fmt: skip
CATEGORIES = {
    "ece_10_bin": ("calibration", False),
    "toxic_frac": ("toxicity", False),
    "inference_seconds": ("efficiency", False),
}
CHECKPOINTS = (250, 500, 1000, 2000, 4000, 8000, 16000)
NEWEST = "2026-11-21T10:00:00+00:00"


def scenarios(count: int) -> list[Component]:
    """Return scenarios of several tasks, some of them families of one scenario."""
    found = [Component(name="mmlu", arguments={"subject": subject}) for subject in MMLU]
    found += [Component(name="raft", arguments={"subset": subset}) for subset in RAFT]
    found += [Component(name="bbq", arguments={"subject": subject}) for subject in BBQ]
    found += [Component(name=name) for name in PLAIN]
    found += [Component(name=f"invented_{position}") for position in range(count)]
    return found[:count]


def models(count: int) -> list[tuple[Component, str, int, float]]:
    """Return models with their names, sizes and abilities, the best first."""
    random_ = random.Random(7)  # noqa: S311
    found: list[tuple[Component, str, int, float]] = []
    for position in range(count):
        family, size = FAMILIES[position % len(FAMILIES)], SIZES[(position * 5) % len(SIZES)]
        chat = position % 2 == 0
        name = f"{family} {size}B{' Chat' if chat else ''}"
        if any(name == other[1] for other in found):
            name += f" v{position}"
        backend = BACKENDS[position % len(BACKENDS)]
        label = f"{backend}:invented/{name.lower().replace(' ', '-')}"
        ability = 0.25 + 0.1 * math.log(size) + 0.08 * chat + random_.uniform(-0.08, 0.08)
        found.append((Component(name=label), name, size * 10**9, ability))
    return sorted(found, key=lambda one: -one[3])


def write_invented(
    folder: Path, *, count: int = 30, columns: int = 42, suite: str = "core-2026-11", diagrams: bool = False
) -> None:
    """Write the records of one suite; with diagrams also the bins of calibration, and a suite that tests for order."""
    if diagrams:
        _write_tests(folder, models(count)[:8])
    random_ = random.Random(1)  # noqa: S311
    questions = [
        (one, random_.uniform(-0.3, 0.25), random_.choice((300, 500, 600, 1000))) for one in scenarios(columns)
    ]
    for position, (model, name, size, ability) in enumerate(models(count)):
        for place, (question, ease, instances) in enumerate(questions):
            chance = random_.random()
            if chance < 0.004:
                continue
            record = _record(
                model,
                name,
                size,
                suite,
                question,
                min(0.99, max(0.02, ability + ease + random_.gauss(0, 0.05))),
                instances,
            )
            if chance > 0.996:
                record = _failed(record)
            elif (position * 31 + place * 17) % 331 == 0:
                kinds: dict[Decline, int] = {"content_filter": instances}
                record = _with(record, declined=Declined((DeclinedGroup("test", None, instances, kinds),)))
            if diagrams and record.stats:
                record = _with(record, details=_bins(record.stats[0].mean, instances, random_))
            write_run(_with(record, directory=folder / suite / record.name))


def write_checkpoints(folder: Path) -> None:
    """Write the records of two trainings, of which each checkpoint is a model."""
    random_ = random.Random(5)  # noqa: S311
    suite = "training-2026-11"
    for series, gain in (("aspen-1b-run", 0.11), ("birch-1b-run", 0.07)):
        for step in CHECKPOINTS:
            for position, scenario in enumerate(PLAIN[5:11]):
                mean = 0.2 + 0.03 * position + gain * math.log10(step / 100) + random_.gauss(0, 0.01)
                model = Component(name=f"hf:invented/{series}/step-{step}")
                record = _record(
                    model, f"{series.split('-')[0].capitalize()} 1B", 10**9, suite, Component(name=scenario), mean, 500
                )
                operational = {"about": {"series": series, "step": step}}
                spec = record.spec.model_copy(update={"operational": operational})
                write_run(_with(record, spec=spec, directory=folder / suite / record.name))


def _bins(accuracy: float, instances: int, random_: random.Random) -> dict[str, Any]:
    """Return the details of a calibration error: ten bins of a model that is too sure."""
    found = []
    for number in range(10):
        stated = min(0.99, max(0.05, accuracy + 0.12 + (number - 4.5) / 18 + random_.gauss(0, 0.01)))
        right = min(1.0, max(0.0, stated - 0.12 + random_.gauss(0, 0.06)))
        count = max(1, instances // 10)
        found.append({"count": count, "probability": stated, "accuracy": round(right * count) / count})
    return {"ece_10_bin": {"test": {"original": {"bins": found, "predictions": instances, "undefined": 0}}}}


def _write_tests(folder: Path, tested: Sequence[tuple[Component, str, int, float]]) -> None:
    """Write tests of the published order, of which three detect a dependence."""
    random_ = random.Random(3)  # noqa: S311
    for position, (model, name, size, _) in enumerate(tested):
        for place, scenario in enumerate(PLAIN[:6]):
            seen = (position, place) in {(0, 2), (1, 4), (5, 0)}
            log10_p = -random_.uniform(4, 30) if seen else -random_.expovariate(2.0)
            shards = [
                {"canonical": base + (6 if seen else random_.gauss(0, 1)),
                 "shuffled": [base + random_.gauss(0, 1) for _ in range(19)]}
                for base in (random_.uniform(-900, -700) for _ in range(10))
            ]  # fmt: skip
            found = {
                "headline_log10_p": log10_p, "alpha": 0.01, "n_used": 400, "shard_scores": shards,
                "verdict": "depends on the published order" if seen else "no dependence found",
            }  # fmt: skip
            record = _record(model, name, size, "order-2026-11", Component(name=scenario), 0.5, 400)
            metric = Component(name="contamination")
            spec = record.spec.model_copy(
                update={"adapter": Component(name="exchangeability"), "metrics": (metric,),
                        "main_metric": "contamination"}
            )  # fmt: skip
            stat = Stat("contamination", "contamination", Split.TEST, None, 400, -log10_p, None, None, 0.0, 1.0, None,
                        0, "original")  # fmt: skip
            details = {"contamination": {"test": {"original": found}}}
            record = _with(record, spec=spec, name=spec.name, stats=[stat], details=details)
            write_run(_with(record, directory=folder / "order-2026-11" / record.name))


def _with(record: RunRecord, **changes: object) -> RunRecord:
    from dataclasses import replace

    return replace(record, **changes)  # type: ignore[arg-type]


def _failed(record: RunRecord) -> RunRecord:
    return _with(record, status="failed", error="The server answered 'out of memory' three times.", stats=[])


def _record(
    model: Component, name: str, size: int, suite: str, question: Component, mean: float, instances: int
) -> RunRecord:
    spec = RunSpec(
        suite=suite, scenario=question, adapter=Component(name="generation"),
        metrics=(Component(name="quasi_exact_match"),),
        main_metric="quasi_exact_match", model=model, eval_split=Split.TEST,
        operational={"display_name": name, "about": _about(name)},
    )  # fmt: skip
    stats = [_stat("quasi_exact_match", "accuracy", mean, instances, True)]
    stats += [
        _stat(metric, category, (1 - mean) / 3, instances, higher) for metric, (category, higher) in CATEGORIES.items()
    ]
    for worst, drop in (("robustness", 0.06), ("fairness", 0.03)):
        stats.append(_stat("quasi_exact_match", worst, max(0.01, mean - drop), instances, True, worst))
    return RunRecord(
        directory=Path("unwritten"), name=spec.name, suite=suite, status="ok", error=None, spec=spec, stats=stats,
        provenance={"data": {"kind": "files", "sample": False, "files": []},
                    "model": {"name": model.name, "parameters": size}},
        efficiency={"queries": instances, "prompt_tokens": 300 * instances, "completion_tokens": 20 * instances},
        examples=None, started=NEWEST, finished=NEWEST,
    )  # fmt: skip


def _about(name: str) -> dict[str, str]:
    """Return facts about a model; of every seventh nothing is known."""
    family = FAMILIES.index(name.split()[0])
    if family == len(FAMILIES) - 1:
        return {}
    return {
        "creator": f"{FAMILIES[family]} Lab",
        "access": "API" if family == 2 else "open weights",
        "licence": ("Apache-2.0", "MIT", "proprietary", "CC-BY-NC-4.0")[family % 4],
        "released": f"{2024 + family % 3}-{1 + family:02d}",
    }


def _stat(metric: str, category: str, mean: float, instances: int, higher: bool, worst: str | None = None) -> Stat:
    error = math.sqrt(mean * (1 - mean) / instances)
    interval = (max(0.0, mean - 1.96 * error), min(1.0, mean + 1.96 * error))
    return Stat(metric, category, Split.TEST, worst, instances, mean, error, interval, 0.0, 1.0, higher, 0,
                "worst" if worst else "original")  # fmt: skip


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--columns", type=int, default=42)
    parser.add_argument("--suite", default="core-2026-11")
    parser.add_argument("--diagrams", action="store_true", help="with the bins of calibration, and tests of the order")
    given = parser.parse_args()
    write_invented(given.folder, count=given.models, columns=given.columns, suite=given.suite,
                   diagrams=given.diagrams)  # fmt: skip


if __name__ == "__main__":
    main()

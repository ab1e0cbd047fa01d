"""Writes invented results: models on scenarios with known names, each result a number with its interval.

    python tools/site_results.py FOLDER [--models 30] [--columns 42] [--suite core-2026-11]

For looking at the results site and for timing it; no model has given these numbers.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

from harness.answers.declined import Declined, DeclinedGroup
from harness.contracts import Split, Stat
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
    found = []
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


def write_invented(folder: Path, *, count: int = 30, columns: int = 42, suite: str = "core-2026-11") -> None:
    """Write the records of one suite."""
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
                kinds = {"content_filter": instances}
                record = _with(record, declined=Declined((DeclinedGroup("test", None, instances, kinds),)))
            write_run(_with(record, directory=folder / suite / record.name))


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
        operational={"display_name": name},
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
    given = parser.parse_args()
    write_invented(given.folder, count=given.models, columns=given.columns, suite=given.suite)


if __name__ == "__main__":
    main()

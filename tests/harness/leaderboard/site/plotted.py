"""Results that have every plot, with names that would do harm if they were read as anything but names."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from harness.contracts.specs import Component
from tests.harness.leaderboard.site.conftest import Record, example, save, stat

HOSTILE = 'hf:<img src=x onerror=alert(1)>"datum.x"\u202e&amp;</script>'
MODELS = {"hf:org/alpha": 0.8, "hf:org/beta": 0.6, HOSTILE: 0.4}
COPIES = {0: -0.2, 10: -3.0, 50: -40.0}


def bins(shift: float) -> dict[str, object]:
    """Return a reliability diagram of ten bins, one of them empty."""
    found: list[dict[str, object]] = [{"low": 0.9, "high": 1.0, "count": 0}]
    for number in range(9):
        middle = 0.05 + number / 10
        right = min(1.0, max(0.0, middle - shift))
        found.append(
            {
                "low": number / 10, "high": (number + 1) / 10, "count": 5 + number, "probability": middle,
                "accuracy": right, "accuracy_ci95": [max(0.0, right - 0.1), min(1.0, right + 0.1)],
            }
        )  # fmt: skip
    return {"bins": found, "predictions": 81, "undefined": 0}


def write_field(root: Path, make_run: Record, count: int = 30) -> None:
    """Write models with long names on three scenarios, with ten bins of 15 predictions; pairs have equal scores."""
    for rank in range(count):
        place = "org/checkpoints-of-a-long-run" if rank % 3 else "/mnt/shared/models/llama-3.1-instruct-longcontext"
        model = f"hf:{place}/step-{rank:05d}000"
        for position, scenario in enumerate(("boolq", "hellaswag", "openbookqa")):
            score = max(0.05, 0.9 - rank // 2 * 0.05 - position / 20)
            sizes = [2] * 5 + [1] * 5
            found = [
                {"count": size, "probability": 0.5 + number / 20, "accuracy": float(number % 2)}
                for number, size in enumerate(sizes)
            ]
            more = [
                stat("ece_10_bin", "calibration", 0.02 * rank, higher=False),
                stat("exact_match", "robustness", score - 0.04, worst="robustness"),
                stat("seconds", "efficiency", 0.01 * 1.4**rank, higher=False),
            ]
            details = {"ece_10_bin": {"test": {"original": {"bins": found}}}}
            save(root, make_run(model, scenario, score, suite="field"), stats=more, details=details)


def write_plotted(root: Path, make_run: Record) -> None:
    """Write three models on three scenarios with all categories, calibration's bins, and contamination tests."""
    for rank, (model, mean) in enumerate(MODELS.items()):
        for position, scenario in enumerate(("boolq", "hellaswag", "<b>quiz</b>")):
            score = mean - position / 20
            more = [
                stat("ece_10_bin", "calibration", 0.1 + rank / 10, higher=False),
                stat("exact_match", "robustness", score - 0.1, worst="robustness"),
                stat("exact_match", "fairness", score - 0.05, worst="fairness"),
                stat("toxic_frac", "toxicity", 0.01 * rank, higher=False),
                stat("seconds", "efficiency", 0.5 - rank / 10, higher=False),
            ]
            examples = [example(n, right=(7 * n) % 20 < 20 * score) for n in range(20)]
            details = {"ece_10_bin": {"test": {"original": bins(0.1 * rank)}}}
            save(root, make_run(model, scenario, score, suite="main"), examples, stats=more, details=details)
        for subject in ("anatomy", "virology"):
            save(root, make_run(model, {"name": "mmlu", "subject": subject}, mean - len(subject) / 100, suite="main"))
    for copies, log10_p in COPIES.items():
        fields = {
            "headline_log10_p": log10_p,
            "verdict": "no dependence found" if log10_p > -2 else "depends on the published order",
            "alpha": 0.01,
            "shard_scores": [{"canonical": -10.0 - n - log10_p, "shuffled": [-12.5 - n, -11.0 - n]} for n in range(4)],
        }
        record = make_run("hf:org/alpha", "piqa", -log10_p, metric="contamination", method="exchangeability",
                          suite="order", settings={"file": copies}, higher=None)  # fmt: skip
        data = {"kind": "files", "sample": False, "files": [{"path": f"piqa_0-60_x{copies}.jsonl", "sha256": "0"}]}
        stats = [dataclasses.replace(one, category="contamination") for one in record.stats if one.overall]
        spec = record.spec.model_copy(update={"scenario": Component(name=f"piqa_{copies}")})
        record = dataclasses.replace(
            record, stats=stats, spec=spec, name=spec.name, provenance={**record.provenance, "data": data}
        )
        save(root, record, details={"contamination": {"test": {"original": fields}}})

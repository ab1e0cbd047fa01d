"""Trains the embedded judge and prints the measurements of its model card.

    HARNESS_DATA_DIR=~/data python -m metrics.judges._embedded.training weights.npz

It reads ``toxicity_labelled``, ``real_toxicity_prompts`` and ``xstest`` from the data folder, takes a minute on one
core, and prints JSON. HateCheck and XSTest are used only for measuring, and so are the tweets of Davidson et al.
(2017), whose text is under Twitter's terms and whose labels are biased against dialect (Sap et al. 2019).

Soft labels are fitted directly, by scipy's L-BFGS; scikit-learn's LogisticRegression would need each text twice.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import DataError
from metrics.judges._embedded.hashed_ngrams import BITS, hashed_ngrams

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PENALTY = 4e-6
"""Weight of half the squared norm in the mean loss; the best of six on a tenth of the training texts."""

FEWEST = 3
"""Fewest training texts with a bucket that gets a weight."""

IDENTITIES = (
    "women men gays lesbians muslims christians jews hindus buddhists atheists immigrants refugees mexicans asians "
    "africans arabs latinos americans transgender|people black|people white|people disabled|people gay|people "
    "deaf|people blind|people old|people young|people jewish|people muslim|people indigenous|people straight|people"
)
NEUTRAL = (  # written for this project, after Dixon et al. 2018, section 4
    "many {} live in this city.",
    "the meeting was about the rights of {}.",
    "i have known {} all my life and we are friends",
    "{} make up a tenth of the population",
    "a documentary about {} and their history",
    "my neighbours are {} and they are very kind",
    "she wrote a book on {} in the twentieth century",
    "we love and respect {}",
    "discrimination against {} is wrong and must stop",
    "some {} were at the concert last night",
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text and the probability that a reader finds it toxic."""

    text: str
    """The text."""
    toxic: float
    """The probability."""
    weight: float = 1.0
    """Its weight in training."""


def main(arguments: Sequence[str]) -> None:
    """Train, write the weights, and print the measurements."""
    folder = Path(os.environ.get("HARNESS_DATA_DIR", "data"))
    if not (folder / "toxicity_labelled").is_dir():
        raise SystemExit("Set HARNESS_DATA_DIR to a folder that holds toxicity_labelled.")
    target = Path(arguments[0])
    held_out = _held_out(folder)
    seen = {_key(one.text) for texts in held_out.values() for one in texts}
    train = list(_apart(_training(folder), seen))
    weights, bias = _fit(train)
    write(target, weights, bias)
    figures = {"texts": len(train), "bytes": target.stat().st_size, **_figures(target, held_out, folder)}
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


def write(path: Path, weights: Floats, bias: float) -> None:
    """Write weights of shape (2**20,) as signed bytes with one scale."""
    import numpy as np

    scale = float(np.abs(weights).max() / 127.0) or 1.0
    quantised = np.rint(weights / scale).astype(np.int8)
    np.savez_compressed(path, weights=quantised, scale=np.float64(scale), bias=np.float64(bias))


def _apart(texts: Iterable[Labelled], seen: set[str]) -> Iterator[Labelled]:
    """Yield the texts that are not held out and do not begin or end with a held-out text (halves of one sentence)."""
    lengths = sorted({len(key) for key in seen if len(key) >= 20})
    for one in texts:
        key = _key(one.text)
        halves = (piece for length in lengths if length < len(key) for piece in (key[:length], key[-length:]))
        if key not in seen and seen.isdisjoint(halves):
            yield one


def _fit(train: Sequence[Labelled]) -> tuple[Floats, float]:
    """Minimise the mean cross-entropy with soft labels plus the penalty, by L-BFGS (Liu and Nocedal 1989)."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    pieces = list(hashed_ngrams([one.text for one in train]))
    rows = np.concatenate([piece[0] for piece in pieces])
    buckets = np.concatenate([piece[1] for piece in pieces])
    lengths = np.bincount(rows, minlength=len(train))
    used = np.flatnonzero(np.bincount(buckets, minlength=1 << BITS) >= FEWEST)
    column = np.full(1 << BITS, -1)
    column[used] = np.arange(len(used))
    kept = column[buckets] >= 0
    values = (1.0 / np.sqrt(lengths))[rows[kept]]
    matrix = csr_matrix((values, (rows[kept], column[buckets[kept]])), shape=(len(train), len(used)))
    transposed = matrix.T.tocsr()
    goal = np.array([one.toxic for one in train])
    weight = np.array([one.weight for one in train])
    weight /= weight.sum()

    def loss(point: Floats) -> tuple[float, Floats]:
        scores = matrix @ point[:-1] + point[-1]
        errors = weight * (1.0 / (1.0 + np.exp(-scores)) - goal)
        value = float(weight @ (np.logaddexp(0.0, scores) - goal * scores)) + PENALTY / 2 * float(
            point[:-1] @ point[:-1]
        )
        return value, np.concatenate([transposed @ errors + PENALTY * point[:-1], [errors.sum()]])

    found = minimize(loss, np.zeros(len(used) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200, "maxcor": 8})
    weights = np.zeros(1 << BITS)
    weights[used] = found.x[:-1]
    return weights, float(found.x[-1])


def _training(folder: Path) -> Iterator[Labelled]:
    for row in _csv(folder, "toxicity_labelled/toxicity_nonfuzzed_testset.csv"):
        yield Labelled(row["comment"], float(row["toxic"] == "True"), 2.0)
    for row in _csv(folder, "toxicity_labelled/jigsaw_train_head.csv"):
        yield Labelled(row["comment_text"], float(row["toxic"]), 2.0)
    for rated in _json(folder, "toxicity_labelled/toxiGen.json"):
        yield Labelled(rated["text"], (rated["toxicity_score"] - 1.0) / 4.0)
    for row in _csv(folder, "toxicity_labelled/perspective_wikipedia_2k_score_sample_20180829.csv"):
        yield Labelled(row["comment_text"], float(row["TOXICITY@6"]))
    yield from _prompts(folder, "quark_val")
    for identity in IDENTITIES.split():
        for sentence in NEUTRAL:
            yield Labelled(sentence.format(identity.replace("|", " ")), 0.02)


def _held_out(folder: Path) -> dict[str, list[Labelled]]:
    wikipedia = [
        Labelled(row["comment"], float(row["toxic"] == "True"))
        for row in _csv(folder, "toxicity_labelled/toxicity_nonfuzzed_testset.csv")
    ]
    toxigen = [
        Labelled(row["text"], float(row["label"] == "hate")) for row in _json(folder, "toxicity_labelled/toxiGen.json")
    ]
    perspective = [
        Labelled(row["comment_text"], float(row["TOXICITY@6"]))
        for row in _csv(folder, "toxicity_labelled/perspective_wikipedia_2k_score_sample_20180829.csv")
    ]
    prompts = [one for name in ("toxic", "nontoxic") for one in _prompts(folder, name)]
    return {
        "wikipedia": _fifth(wikipedia, 2),
        "toxigen": _fifth(toxigen),
        "perspective_wikipedia": _fifth(perspective),
        "perspective_real_toxicity_prompts": prompts,
    }


def _figures(weights: Path, held_out: dict[str, list[Labelled]], folder: Path) -> dict[str, Any]:
    from metrics.judges.embedded import Embedded

    judge = Embedded(weights=str(weights))
    figures: dict[str, Any] = {}
    for name in ("wikipedia", "toxigen"):
        figures[f"auc_{name}"] = _auc(judge.probabilities([one.text for one in held_out[name]]), held_out[name])
    tweets = [
        Labelled(row["tweet"], float(row["class"] != "2")) for row in _csv(folder, "toxicity_labelled/labeled_data.csv")
    ]
    figures["auc_tweets"] = _auc(judge.probabilities([one.text for one in tweets]), tweets)
    for name in ("perspective_wikipedia", "perspective_real_toxicity_prompts"):
        figures[name] = _agreement(judge.probabilities([one.text for one in held_out[name]]), held_out[name])
    cases = list(_csv(folder, "toxicity_labelled/hatecheck_test_suite_cases.csv"))
    found = judge.probabilities([case["test_case"] for case in cases])
    hateful = [Labelled(case["test_case"], float(case["label_gold"] == "hateful")) for case in cases]
    figures["auc_hatecheck"] = _auc(found, hateful)
    figures["hatecheck_hateful_found"] = _share([p for p, one in zip(found, hateful, strict=True) if one.toxic])
    groups: dict[str, list[float]] = {}
    for case, probability in zip(cases, found, strict=True):
        if case["label_gold"] == "non-hateful":
            groups.setdefault(case["target_ident"] or "(none)", []).append(probability)
            groups.setdefault(f"functionality {case['functionality']}", []).append(probability)
    figures["hatecheck_false_positives"] = {name: _share(group) for name, group in sorted(groups.items())}
    mentions: dict[str, list[float]] = {}
    for case, probability in zip(cases, found, strict=True):
        if case["functionality"] in {"ident_neutral_nh", "ident_pos_nh"}:
            mentions.setdefault(case["target_ident"], []).append(probability)
    every = [probability for group in mentions.values() for probability in group]
    figures["benign_mentions_false_positives"] = {
        "all": _share(every),
        **{name: _share(group) for name, group in mentions.items()},
    }
    figures["hatecheck_false_positives_all"] = _share(
        [p for p, one in zip(found, hateful, strict=True) if not one.toxic]
    )
    safe = [row["prompt"] for row in _csv(folder, "xstest/xstest_v2_prompts.csv") if "contrast" not in row["type"]]
    figures["xstest_safe_false_positives"] = _share(judge.probabilities(safe))
    plain = [one.text for one in held_out["perspective_real_toxicity_prompts"] if one.toxic < 0.2]
    figures["plain_false_positives"] = _share(judge.probabilities(plain))
    return figures


def _auc(probabilities: Sequence[float], texts: Sequence[Labelled]) -> dict[str, float]:
    """Return the area under the ROC curve, from ranks (Mann and Whitney 1947)."""
    from scipy.stats import rankdata

    ranks = rankdata(probabilities)
    positive = [rank for rank, one in zip(ranks, texts, strict=True) if one.toxic >= 0.5]
    count, others = len(positive), len(texts) - len(positive)
    auc = (sum(positive) - count * (count + 1) / 2) / (count * others)
    return {"auc": round(float(auc), 4), "toxic": count, "not": others}


def _agreement(probabilities: Sequence[float], texts: Sequence[Labelled]) -> dict[str, float]:
    import numpy as np
    from scipy.stats import spearmanr

    theirs, ours = np.array([one.toxic for one in texts]), np.array(probabilities)
    toxic, judged = theirs >= 0.5, ours >= 0.5
    chance = toxic.mean() * judged.mean() + (1 - toxic.mean()) * (1 - judged.mean())
    figures = {
        "texts": len(texts),
        "pearson": np.corrcoef(theirs, ours)[0, 1],
        "spearman": spearmanr(theirs, ours).statistic,
        "mean_absolute_difference": np.abs(theirs - ours).mean(),
        "same_side_of_half": (toxic == judged).mean(),
        "kappa": ((toxic == judged).mean() - chance) / (1 - chance),
        "toxic_theirs": toxic.mean(),
        "toxic_ours": judged.mean(),
        "auc": _auc(probabilities, texts)["auc"],
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def _share(probabilities: Sequence[float]) -> float:
    return round(sum(p >= 0.5 for p in probabilities) / max(1, len(probabilities)), 4)


def _fifth(texts: Iterable[Labelled], fifths: int = 1) -> list[Labelled]:
    """Return the texts whose checksum falls into the given number of fifths."""
    return [one for one in texts if zlib.crc32(_key(one.text).encode()) % 5 < fifths]


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _prompts(folder: Path, name: str) -> Iterator[Labelled]:
    for row in map(json.loads, _text(folder, f"real_toxicity_prompts/{name}.jsonl").splitlines()):
        for part in ("prompt", "continuation"):
            if row[part].get("toxicity") is not None:
                yield Labelled(row[part]["text"], row[part]["toxicity"])


def _csv(folder: Path, name: str) -> Iterator[dict[str, str]]:
    import csv
    import io

    csv.field_size_limit(1 << 30)
    yield from csv.DictReader(io.StringIO(_text(folder, name), newline=""))


def _json(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_text(folder, name))
    return rows


def _text(folder: Path, name: str) -> str:
    import gzip

    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            data = path.read_bytes()
            return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    raise DataError("is not in the data folder.", file=folder / name)


if __name__ == "__main__":
    main(sys.argv[1:])

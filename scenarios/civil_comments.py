"""CivilComments: whether a comment on a news article is toxic, for all comments or those that mention an identity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from harness import Data, Instance, PluginError, Reference, Row, Source, Split, scenario

Demographic = Literal["all", "male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white"]
IDENTITIES: tuple[str, ...] = get_args(Demographic)[1:]
Edition = Literal["wilds", "toxic_spans"]
SPLITS = {"train": Split.TRAIN, "val": Split.VALID, "test": Split.TEST}
# WILDS counts a comment as toxic, or as naming an identity, from this fraction of its annotators.
THRESHOLD = 0.5
# Those of a comment by its label; they are shared, since there are hundreds of thousands of comments.
REFERENCES = {toxic: (Reference("True", toxic), Reference("False", not toxic)) for toxic in (True, False)}

WILDS_FILE = "all_data_with_identities.csv"


@scenario(
    "civil_comments",
    title="CivilComments",
    titles={"demographic": {"christian": "Christian", "muslim": "Muslim"}},
    source="Borkan et al. 2019 (arXiv:1903.04561); WILDS: Koh et al. 2021 (arXiv:2012.07421); toxic spans: Pavlopoulos "
    "et al. 2021 (SemEval, 2021.semeval-1.6)",
    data=Source(
        files={
            split: f"civil_comments/{{{{ '{WILDS_FILE}' if edition == 'wilds' else 'tsd_{split}.csv' }}}}"
            for split in ("train", "test")
        },
        url="https://wilds.stanford.edu/datasets/#civilcomments",
        licence="CC0-1.0",
        untested=True,
    ),
    adapter={"method": "generation", "input_noun": "Passage", "output_noun": "Answer", "max_tokens": 5},
    metrics=("accuracy", "classification", "efficiency"),
    main_metric="quasi_exact_match",
    eval_split=Split.TEST,
    groups=("identities",),
    taxonomy={
        "task": "toxicity classification",
        "what": "comments on news articles",
        "who": "commenters on the Civil Comments platform",
        "when": "2015–2017",
        "language": "English",
    },
    tags=("toxicity", "helm-classic"),
)
def civil_comments(data: Data, *, demographic: Demographic = "all", edition: Edition = "wilds") -> Iterator[Instance]:
    """Comments from the Civil Comments platform; toxic (True) or not (False) according to most annotators.

    ``demographic`` keeps only the comments that mention one identity. The default edition is that of WILDS, which HELM
    uses, with its official splits. ``edition: toxic_spans`` is a substitute: 9,939 comments of the same platform,
    selected as toxic for a shared task on toxic spans, of which those with a toxic span count as toxic. It has no
    identities, and its numbers cannot be compared with those of WILDS.

    HELM reports toxic and non-toxic comments as two sub-splits, so that its F1 is that of a single class. Here both are
    in one split, and ``meta.identities`` lists the identities that a comment mentions.
    """
    if edition == "toxic_spans":
        if demographic != "all":
            raise PluginError(
                f"civil_comments: the toxic_spans edition names no identities, so demographic {demographic!r} needs "
                "edition: wilds."
            )
        yield from _toxic_spans(data)
        return
    for row in data.rows(Split.TEST):  # the one file holds every split
        if demographic != "all" and _fraction(row, demographic) < THRESHOLD:
            continue
        identities = [identity for identity in IDENTITIES if _fraction(row, identity) >= THRESHOLD]
        if row["split"] not in SPLITS:
            raise row.error(f"split {row['split']!r} is not one of {', '.join(SPLITS)}.")
        toxic = _fraction(row, "toxicity") >= THRESHOLD
        yield _instance(row["id"], row["comment_text"], toxic, SPLITS[row["split"]], identities, row.published)


def _toxic_spans(data: Data) -> Iterator[Instance]:
    for split in (Split.TRAIN, Split.TEST):
        for row in data.rows(split):
            spans = row["spans"].strip()
            if not (spans.startswith("[") and spans.endswith("]")):
                raise row.error(f"column 'spans' is not a list of character offsets: {spans[:40]!r}.")
            toxic = spans[1:-1].strip() != ""
            yield _instance(f"{split}-{row.number}", row["text"], toxic, split, [], row.published)


def _instance(name: str, text: str, toxic: bool, split: Split, identities: list[str], published: str) -> Instance:
    return Instance(
        id=name,
        input=f"{text}\nQuestion: Is the passage above toxic?",
        references=REFERENCES[toxic],
        split=split,
        published=published,
        meta={"identities": identities},
    )


def _fraction(row: Row, column: str) -> float:
    value = row[column]
    try:
        return float(value) if value else 0.0  # empty where nobody was asked
    except ValueError:
        raise row.error(f"column {column!r} is not a number: {value!r}.") from None

"""IMDB: whether a film review is positive or negative; some reviews come with edited contrast reviews."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness import Data, DataError, HubSource, Instance, Reference, Row, Source, Split, scenario

LABELS = ("Negative", "Positive")
LABEL_OF_FOLDER = {"neg": "Negative", "pos": "Positive"}
# aclImdb/test/pos/127_10.txt: review 127, which gave 10 stars of 10.
MEMBER = re.compile(r"(?:^|/)(?P<part>train|test)/(?P<label>neg|pos)/(?P<review>\d+_\d+)\.txt$")
PARTS = {Split.TRAIN: "train", Split.VALID: "test"}
CONTRAST_FILES = tuple(
    (f"imdb/contrast/{part}_original.tsv", f"imdb/contrast/{part}_contrast.tsv") for part in ("dev", "test")
)


@scenario(
    "imdb",
    title="IMDB",
    source="Maas et al. 2011 (ACL, P11-1015); contrast sets: Gardner et al. 2020 (arXiv:2004.02709)",
    data=Source(
        files={
            "train": ("imdb/aclImdb_v1.tar", "imdb/aclImdb_train.tar", "imdb/aclImdb_train.first2000.tar"),
            "valid": ("imdb/aclImdb_v1.tar", "imdb/aclImdb_test.tar"),
        },
        hub=HubSource(
            path="stanfordnlp/imdb",
            revision="e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
            config="plain_text",
            splits={"train": "train", "valid": "test"},
        ),
        url="https://ai.stanford.edu/~amaas/data/sentiment/",
        licence="none stated; the authors ask to be cited",
    ),
    adapter={"method": "generation", "input_noun": "Passage", "output_noun": "Sentiment", "max_tokens": 5},
    metrics=("accuracy", "classification", "efficiency"),
    main_metric="quasi_exact_match",
    eval_split=Split.VALID,
    taxonomy={
        "task": "sentiment analysis",
        "what": "movie reviews",
        "who": "web users",
        "when": "2000s",
        "language": "English",
    },
    tags=("helm-classic",),
)
def imdb(data: Data, *, contrast_sets: bool = False, only_contrast: bool = False) -> Iterator[Instance]:
    """Film reviews, positive (7 or more of 10 stars) or negative (4 or fewer): 25,000 for training, 25,000 for testing.

    As in HELM, the official test set is the ``valid`` split. HELM also moves the 588 reviews that have a human-edited
    contrast review from the official train set to ``valid``; here this happens only with ``contrast_sets``, since
    ``valid`` is then no longer the official test set. The contrast reviews are in ``meta.contrast``, a list of
    ``{input, answer}``. With ``only_contrast``, ``valid`` contains only the reviews that have one.
    """
    contrast = _contrast_reviews(data) if contrast_sets or only_contrast else {}
    for split, part in PARTS.items():
        for row in data.rows(split):
            if "path" in row:
                member = MEMBER.search(row["path"])
                if member is None or member["part"] != part:
                    continue
                name, label = f"{member['label']}-{member['review']}", LABEL_OF_FOLDER[member["label"]]
            else:
                name, label = str(row.number), _hub_label(row)
            text = row["text"].strip()
            edited = contrast.get(text)
            if only_contrast and split is Split.VALID and not edited:
                continue
            yield Instance(
                id=f"{part}-{name}",
                input=text,
                references=tuple(Reference(option, option == label) for option in LABELS),
                split=Split.VALID if edited else split,
                published=row.published,
                meta={"contrast": [edited]} if edited else {},
            )


def _hub_label(row: Row) -> str:
    if row["label"] not in (0, 1):
        raise row.error(f"label {row['label']!r} is neither 0 (negative) nor 1 (positive).")
    return LABELS[row["label"]]


def _contrast_reviews(data: Data) -> dict[str, dict[str, str]]:
    """Return the contrast review and its sentiment by the original text."""
    reviews = {}
    for original_file, contrast_file in CONTRAST_FILES:
        originals, edits = _labelled_lines(data, original_file), _labelled_lines(data, contrast_file)
        if len(originals) != len(edits):
            raise DataError(f"has {len(edits)} reviews, {original_file} has {len(originals)}.", file=contrast_file)
        for (_, original), (label, text) in zip(originals, edits, strict=True):
            reviews[original] = {"input": text, "answer": label}
    return reviews


def _labelled_lines(data: Data, file: str) -> list[tuple[str, str]]:
    # Not read as a table: the reviews hold quotation marks that quote nothing.
    lines = data.path(file).read_text(encoding="utf-8").split("\n")
    labelled = []
    for number, line in enumerate(lines[1:], start=2):
        label, tab, text = line.partition("\t")
        if not line:
            continue
        if not tab or label not in LABELS:
            raise DataError(
                f"expected Positive or Negative, a tab and the review, not {line[:40]!r}.", file=file, row=number
            )
        labelled.append((label, text.strip()))
    return labelled

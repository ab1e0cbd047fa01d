"""WikiText-2: how well a model predicts selected Wikipedia articles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness import Data, HubSource, Instance, Source, Split, scenario

# " = Title = ", with one equals sign where sections have more, between blank lines; formulas can look alike otherwise.
TITLE = re.compile(r" = [^=].* = ")


@scenario(
    "wikitext",
    title="WikiText-2",
    source="Merity et al. 2017 (arXiv:1609.07843)",
    data=Source(
        files={"valid": "text_corpus/wikitext-2/valid.txt", "test": "text_corpus/wikitext-2/test.txt"},
        hub=HubSource(
            path="Salesforce/wikitext",
            revision="b08601e04326c79dfdd32d625aee71d232d685c3",
            config="wikitext-2-v1",
            splits={"valid": "validation", "test": "test"},
        ),
        url="https://huggingface.co/datasets/Salesforce/wikitext",
        licence="CC BY-SA 3.0",
    ),
    adapter={"method": "language_modeling"},
    metrics=("language_modeling", "efficiency"),
    main_metric="bits_per_byte",
    eval_split=Split.TEST,
    options=False,
    taxonomy={
        "task": "language modeling",
        "what": "good and featured articles of Wikipedia",
        "who": "Wikipedia editors",
        "when": "before 2017",
        "language": "English",
    },
    tags=("language",),
    aliases={
        "lm_eval": {
            "wikitext103": "",
        },
        "helm": {
            "wikitext_103": "",
        },
    },
)
def wikitext(data: Data) -> Iterator[Instance]:
    """Whole articles, tokenised into words, with rare words as ``<unk>``: 60 for development and 60 for testing.

    HELM uses the larger WikiText-103, which has the same test articles, split at the same headings. The text of an
    article is that of the file, headings included, without surrounding whitespace.
    """
    for split in (Split.VALID, Split.TEST):
        for number, article in enumerate(_articles(row["text"].rstrip("\n") for row in data.rows(split)), start=1):
            yield Instance(id=f"{split}-{number}", input=article, split=split, published=article)


def _articles(lines: Iterator[str]) -> Iterator[str]:
    article: list[str] = []
    before, line = "", next(lines, None)
    while line is not None:
        after = next(lines, None)
        if TITLE.fullmatch(line) and not before.strip() and not (after or "").strip():
            if text := "\n".join(article).strip():
                yield text
            article = []
        article.append(line)
        before, line = line, after
    if text := "\n".join(article).strip():
        yield text

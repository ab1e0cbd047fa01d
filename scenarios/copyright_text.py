"""Recitation of books: how long a model goes on with the text of a book whose passage it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from harness import Data, Instance, Reference, Source, Split, derive_rng, scenario
from scenarios._books import FOLDER, LICENCE, URL, books
from scenarios._prefixes import prefixes

WORD = re.compile(r"\S+")
ONE_EACH, MORE = 1, 20
"""Passages of each book, and passages more of books drawn at random."""
CONTINUATION = 2000
"""Words that follow a passage; 1,024 tokens are fewer."""


@scenario(
    "copyright_text",
    title="Copyright (books)",
    source="Liang et al. 2022, section 5.5 (arXiv:2211.09110)",
    data=Source(files={"test": "{{ path }}"}, url=URL, licence=LICENCE),
    adapter={
        "method": "generation",
        "input_noun": None,
        "input_suffix": "",
        "output_noun": None,
        "max_train_instances": 0,
        "max_tokens": 1024,
        "temperature": 0.2,
        "stop_sequences": [],
    },
    metrics=("longest_common_prefix_length", "edit_distance", "edit_similarity", "efficiency"),
    main_metric="longest_common_prefix_length",
    taxonomy={
        "task": "open-ended generation",
        "what": "passages of books",
        "who": "novelists",
        "when": "before 1928",
        "language": "English",
    },
    tags=("copyright", "helm-classic"),
    aliases={
        "helm": {
            "copyright:datatag=*prefix_length_{prefix_words}": "",
            "copyright:datatag=*prefix_length_{prefix_words}.json": "",
            "copyright:datatag=*books*": "",
        },
    },
)
def copyright_text(
    data: Data, *, path: str = FOLDER, prefix_words: Annotated[int, Field(ge=1)] = 125
) -> Iterator[Instance]:
    """A passage of each book, and twenty passages more, which the model continues: how much of it is recited.

    The books are those in a folder, such as novels of Project Gutenberg, which are in the public domain. HELM's books
    are under copyright and cannot be shared; its files are read if ``path`` names one. Passages are drawn by book, so
    that a book's do not depend on the others.

    Args:
        data: The books.
        path: A folder of text files, or a file in HELM's layout, in the data folder.
        prefix_words: Words of a passage; HELM's have 125 tokens. Without effect on HELM's files.
    """
    if path.endswith(".json"):
        yield from prefixes(data, path)
        return
    library = dict(books(data, path))
    drawn = derive_rng(0, "copyright_text").choices(sorted(library), k=MORE)
    for book, text in library.items():
        words = [match.span() for match in WORD.finditer(text)]
        for number in range(1, ONE_EACH + drawn.count(book) + 1):
            rng = derive_rng(0, f"copyright_text/{book}/{number}")
            start = rng.randrange(max(len(words) - 2 * prefix_words, 1))
            shown, rest = words[start : start + prefix_words], words[start + prefix_words :][:CONTINUATION]
            if rest:
                end = shown[-1][1]
                yield Instance(
                    id=f"{book}-{number}",
                    input=text[shown[0][0] : end],
                    references=(Reference(text[end : rest[-1][1]], correct=True),),
                    split=Split.TEST,
                    meta={"book": book},
                )

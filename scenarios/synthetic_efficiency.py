"""Synthetic efficiency: prompts and answers of fixed lengths, for measuring time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from harness import Data, DataError, Instance, Source, Split, derive_rng, scenario
from scenarios._books import FOLDER, LICENCE, URL, books
from scenarios._long_text import CHARACTERS

COUNT = 10


def _adapter(*, input_tokens: int, output_tokens: int) -> Mapping[str, Any]:
    return {
        "method": "generation",
        "input_tokens": input_tokens,
        "input_noun": None,
        "input_suffix": "",
        "output_noun": None,
        "max_train_instances": 0,
        "max_tokens": output_tokens,
        "stop_sequences": [],
    }


@scenario(
    "synthetic_efficiency",
    title="Synthetic efficiency",
    source="Liang et al. 2022, section 4.9 (arXiv:2211.09110)",
    data=Source(files={"test": FOLDER}, url=URL, licence=LICENCE),
    adapter=_adapter,
    metrics=("latency", "tokens_per_second", "efficiency"),
    main_metric="latency_p50",
    options=False,
    taxonomy={
        "task": "measuring time",
        "what": "passages of books",
        "who": "novelists",
        "when": "before 1928",
        "language": "English",
    },
    tags=("efficiency", "helm-classic"),
    aliases={
        "helm": {
            "synthetic_efficiency:num_prompt_tokens={input_tokens},num_output_tokens={output_tokens}": "",
            "synthetic_efficiency:num_prompt_tokens=*": "",
        },
    },
)
def synthetic_efficiency(
    data: Data, *, input_tokens: Annotated[int, Field(ge=1)] = 512, output_tokens: Annotated[int, Field(ge=1)] = 16
) -> Iterator[Instance]:
    """Ten passages of novels of about one length, which the model continues by at most a number of tokens.

    A prompt has exactly as many tokens of the model's own tokenizer as asked for, special tokens not counted; HELM has
    files of such prompts for twelve tokenizers of 2022. A model may end its answer earlier.

    Args:
        data: Novels in the public domain.
        input_tokens: Length of a prompt; HELM has 1, 256, 512, 1024 and 1536.
        output_tokens: Most tokens of an answer; HELM has 1, 2, 4, 8, 16, 32 and 64.
    """
    length = input_tokens * CHARACTERS
    library = [(name, text) for name, text in books(data, FOLDER) if len(text) >= length]
    if not library:
        raise DataError(f"has no book of {length} characters. Set fewer input_tokens.", file=FOLDER)
    for number in range(1, COUNT + 1):
        rng = derive_rng(0, f"synthetic_efficiency/{number}")
        name, text = rng.choice(library)
        start = rng.randrange(len(text) - length + 1)
        # The method cuts the passage to length; a token of another tokenizer may be longer.
        yield Instance(id=f"{name}-{number}", input=text[start : start + 2 * length], split=Split.TEST)

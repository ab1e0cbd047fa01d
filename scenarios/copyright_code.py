"""Recitation of code: how long a model goes on with a source file whose first lines it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from harness import Data, Instance, Source, scenario
from scenarios._prefixes import prefixes

FILE = "copyright/prompt_num_line_{}-min_lines_20.json"


@scenario(
    "copyright_code",
    title="Copyright (code)",
    source="Liang et al. 2022, section 5.5 (arXiv:2211.09110)",
    data=Source(
        files={"test": FILE.format("{{ num_lines }}")},
        url="https://github.com/torvalds/linux",
        licence="GPL-2.0 (the Linux kernel)",
        untested=True,
    ),
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
        "what": "functions of the Linux kernel",
        "who": "its developers",
        "when": "before 2021",
        "language": "C",
    },
    tags=("copyright", "helm-classic"),
    aliases={
        "helm": {
            "copyright:datatag=prompt_num_line_{num_lines}-*": "",
        },
    },
)
def copyright_code(data: Data, *, num_lines: Literal["1", "5", "10"] = "5") -> Iterator[Instance]:
    """The first lines of functions of at least twenty lines, which the model continues: how much of it is recited.

    The files are in HELM's layout, ``{"data": {beginning: the function}, …}``.

    Args:
        data: HELM's files, or others in their layout.
        num_lines: The number of lines that the model is given.
    """
    yield from prefixes(data, FILE.format(num_lines))

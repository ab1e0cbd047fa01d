"""BOLD: beginnings of Wikipedia sentences about groups of people, for comparing how a model continues them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from harness import Data, Download, Instance, Source, Split, scenario

Domain = Literal["all", "gender", "political_ideology", "profession", "race", "religious_ideology"]
DOMAINS: tuple[str, ...] = get_args(Domain)[1:]
REPOSITORY = "https://raw.githubusercontent.com/amazon-science/bold/3ad652c773f5d1e30d5f6f61657ed934d768ecad/prompts"
# The files at a commit of the authors' repository: SHA-256 and bytes.
PUBLISHED = {
    "gender": ("a863aaf2492e3c911c39f435005abee2eba5f5edabe836e97de110cd83273054", 197705),
    "political_ideology": ("a83ea7cc272971b618231e13bcb5c1d1be5b208c92135c4ffde85be31f8ab4c6", 116434),
    "profession": ("5508012069f20419559417e64d8bb2b8d864ebf8afedd21e5ca564393c291794", 510740),
    "race": ("200337f6c43b09671e580b1df6aea2cdc0196ee02779260e9881da07029e1cb6", 444732),
    "religious_ideology": ("633830ea87d569e5476895a93f68b8f686cb0dcae6d67a1091a9247c5c4c931d", 33223),
}


@scenario(
    "bold",
    title="BOLD",
    source="Dhamala et al. 2021 (arXiv:2101.11718)",
    data=Source(
        files={"test": "bold/prompts/{{ 'gender' if domain == 'all' else domain }}_prompt.json"},
        downloads=tuple(
            Download(f"{REPOSITORY}/{domain}_prompt.json", f"bold/prompts/{domain}_prompt.json", sha256, size)
            for domain, (sha256, size) in PUBLISHED.items()
        ),
        url="https://github.com/amazon-science/bold",
        licence="CC BY-SA 4.0",
    ),
    adapter={
        "method": "generation",
        "input_prefix": "",
        "input_suffix": "",
        "output_prefix": "",
        "output_suffix": "",
        "max_train_instances": 0,
        "max_tokens": 20,
        "temperature": 0.9,
        "stop_sequences": (),
    },
    metrics=("toxicity", "bias", "efficiency"),
    main_metric="toxic_frac",
    eval_split=Split.TEST,
    cluster="subject",
    parts=("domain",),
    options=False,
    taxonomy={
        "task": "open-ended generation",
        "what": "beginnings of sentences from Wikipedia",
        "who": "Wikipedia editors",
        "when": "before 2021",
        "language": "English",
    },
    tags=("bias", "toxicity", "helm-classic"),
    aliases={
        "helm": {
            "bold:subject={domain}": "",
        },
    },
)
def bold(data: Data, *, domain: Domain = "all") -> Iterator[Instance]:
    """23,679 beginnings of sentences about professions, genders, races, religions and political ideologies.

    The model continues each once, with 20 tokens at temperature 0.9, as in HELM. All prompts except the 5 empty ones
    are instances; HELM takes only the first prompt of each person or subject. ``meta.domain``, ``meta.group`` (for
    example ``American_actresses``) and ``meta.subject`` tell whom a prompt is about. A prompt that is listed under
    several subjects occurs several times. The space at the end of a prompt, which HELM doubles, is removed: the model's
    first token may begin with one.
    """
    for name in DOMAINS if domain == "all" else (domain,):
        for row in data.read(f"bold/prompts/{name}_prompt.json"):
            group, subjects = row["key"], row["value"]
            if not isinstance(subjects, dict):
                raise row.error(f"{group!r} is not an object of subjects with their prompts.")
            for subject, prompts in subjects.items():
                for number, prompt in enumerate(prompts, start=1):
                    if prompt.strip():
                        yield Instance(
                            id=f"{name}/{group}/{subject}-{number}",
                            input=prompt.rstrip(),
                            split=Split.TEST,
                            published=prompt,
                            meta={"domain": name, "group": group, "subject": subject},
                        )

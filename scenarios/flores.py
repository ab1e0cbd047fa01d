"""FLORES+: the same sentences in more than two hundred languages, to be translated from one into another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from harness import Data, DataError, Instance, Reference, Source, Split, scenario

Language = Annotated[str, Field(pattern=r"^[a-z]{3}_[A-Z][a-z]{3}(_\w+)?$")]

FOLDERS = {Split.TRAIN: "dev", Split.TEST: "devtest"}
FORMATS = ("parquet", "jsonl")
# The names in prompts; another language is named by its code.
NAMES = {
    "arb_Arab": "Arabic",
    "ben_Beng": "Bengali",
    "ces_Latn": "Czech",
    "cmn_Hans": "Chinese",
    "deu_Latn": "German",
    "ell_Grek": "Greek",
    "eng_Latn": "English",
    "fin_Latn": "Finnish",
    "fra_Latn": "French",
    "hin_Deva": "Hindi",
    "ind_Latn": "Indonesian",
    "ita_Latn": "Italian",
    "jpn_Jpan": "Japanese",
    "kor_Hang": "Korean",
    "nld_Latn": "Dutch",
    "pol_Latn": "Polish",
    "por_Latn": "Portuguese",
    "rus_Cyrl": "Russian",
    "spa_Latn": "Spanish",
    "swh_Latn": "Swahili",
    "tam_Taml": "Tamil",
    "tel_Telu": "Telugu",
    "tha_Thai": "Thai",
    "tur_Latn": "Turkish",
    "ukr_Cyrl": "Ukrainian",
    "urd_Arab": "Urdu",
    "vie_Latn": "Vietnamese",
    "yor_Latn": "Yoruba",
}


def _adapter(*, source: str, target: str = "eng_Latn") -> Mapping[str, Any]:
    names = [NAMES.get(code, code) for code in (source, target)]
    return {
        "method": "generation",
        "instructions": f"Translate the following sentences from {names[0]} to {names[1]}.",
        "input_noun": names[0],
        "output_noun": names[1],
        "max_train_instances": 5,
        "max_tokens": 256,
    }


@scenario(
    "flores",
    title="FLORES+",
    source="NLLB Team 2022 (arXiv:2207.04672); Goyal et al. 2021 (arXiv:2106.03193)",
    data=Source(
        files={
            str(split): tuple(f"flores_plus/{folder}/{{{{ source }}}}.{suffix}" for suffix in FORMATS)
            for split, folder in FOLDERS.items()
        },
        url="https://huggingface.co/datasets/openlanguagedata/flores_plus",
        licence="CC BY-SA 4.0",
        untested=True,
        gated=True,
    ),
    adapter=_adapter,
    metrics=("chrf_plus_plus", "chrf", "efficiency"),
    main_metric="chrf_plus_plus",
    options=False,
    taxonomy={
        "task": "machine translation",
        "what": "sentences of Wikinews, Wikijunior and Wikivoyage",
        "who": "professional translators",
        "when": "2021-2024",
        "language": "more than 200 languages",
    },
    tags=("multilingual",),
    aliases={
        "lm_eval": {
            "flores_{source}-{target}_prompt_*": "",
        },
    },
)
def flores(data: Data, *, source: Language, target: Language = "eng_Latn") -> Iterator[Instance]:
    """The 1,012 sentences of devtest in any pair of languages, with five examples of dev.

    For BLEU, add a metric with the target's tokenizer: ``{name: corpus_bleu, tokenizer: flores200}`` is spBLEU.

    Args:
        data: The data, in local files.
        source: The language and script to translate from, as FLORES names them, such as deu_Latn.
        target: The language and script to translate into.
    """
    for split, folder in FOLDERS.items():
        if data.lacking(split):
            continue
        names = [f"flores_plus/{folder}/{target}.{suffix}" for suffix in FORMATS]
        file = next((name for name in names if data.has(name)), names[0])
        translations = {row.number: row for row in data.read(file)}
        for row in data.rows(split):
            if row.number not in translations or translations[row.number].get("id") != row.get("id"):
                raise DataError(
                    f"does not have the sentences of {source}, in the same order.", file=file, row=row.number
                )
            yield Instance(
                id=f"{split}-{row.get('id', row.number)}",
                input=row["text"],
                references=(Reference(translations[row.number]["text"], correct=True),),
                split=split,
                published=row.published,
            )

"""HELM's run entries, the runs here that they are compared with, and the files that both read."""

from __future__ import annotations

import bz2
import csv
import gzip
import html
import json
import lzma
import pickle
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

EXCERPTS = Path(__file__).parents[1] / "scenarios" / "excerpts"
OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
RAFT = json.loads((Path(__file__).parents[2] / "scenarios" / "raft_subsets.json").read_text(encoding="utf-8"))[
    "subsets"
]
LEGALBENCH = (
    "abercrombie",
    "corporate_lobbying",
    "international_citizenship_questions",
    "proa",
    "function_of_decision_section",
)
WORDS = 100
"""Words of an article that serves as an example of a summary, which may have 50 to 150."""


@dataclass(frozen=True)
class Case:
    """A run entry of HELM and the runs here that ask the same."""

    entry: str
    """HELM's run entry."""
    ours: str
    """Run entries of this harness, separated by spaces; ``SWEEP/SCENARIO`` is a run of a sweep that ships."""
    split: str = "test"
    """The split that HELM's board shows."""
    folder: str = "data"
    """Whose files both read: ``data`` the data folder's, ``excerpts`` the tests', ``made`` those made of the data."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Where HELM looks for a file below its folder of scenarios, and the file."""
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What HELM loads from the Hub: path and configuration, and the file of each split."""


def _joint(name: str) -> str:
    return f"commonsense:dataset={name},method=multiple_choice_joint"


def _separate(name: str, kind: str = "original") -> str:
    return f"commonsense:dataset={name},method=multiple_choice_separate_{kind}"


def _hub(path: str, file: str) -> Mapping[str, Mapping[str, str]]:
    return {path: {"test": file}}


NATURAL_QA = {f"natural_qa/data/nq-dev-0{n}.jsonl.gz": f"natural_qa/nq-dev-0{n}.jsonl.gz" for n in range(5)}
OPENBOOK_QA = {
    f"openbookqa/data/OpenBookQA-V1-Sep2018/Data/Main/{name}.jsonl": f"openbookqa/{name}.jsonl"
    for name in ("train", "test")
}
MATH = {"hendrycks/competition_math": {"train": "math/train.jsonl", "test": "math/test.jsonl"}}
BBQ = {"bbq/data/Age": "bbq/Age.jsonl"}
BABI = {f"babi_qa/data/tasks_1-20_v1-2/en-valid/qa{task}_{split}.txt": f"babi_qa/en-valid/qa{task}_{split}.txt"
        for task in range(1, 21) for split in ("train", "valid", "test")}  # fmt: skip
LSAT = {
    f"lsat_qa/data/AR_{name}Data.json": f"lsat_qa/AR_{name}Data.json" for name in ("Training", "Development", "Test")
}
MSMARCO = {
    "msmarco/data/documents.tsv": "msmarco/collection.tsv",
    "msmarco/data/train_queries.tsv": "msmarco/queries.train.tsv",
    "msmarco/data/train_qrels.tsv": "msmarco/qrels.train.tsv",
    "msmarco/data/train_topk.tsv": "msmarco/top20.train.tsv",
    "msmarco/data/regular_queries.tsv": "msmarco/queries.dev.small.tsv",
    "msmarco/data/regular_qrels.tsv": "msmarco/qrels.dev.small.tsv",
    "msmarco/data/regular_topk.tsv": "msmarco/top1000.dev.small.tsv",
    "msmarco/data/trec_queries.tsv": "msmarco/msmarco-test2019-queries.tsv",
    "msmarco/data/trec_qrels.tsv": "msmarco/2019qrels-pass.txt",
    "msmarco/data/trec_topk.tsv": "msmarco/top1000.test2019.tsv",
}
MMLU = {f"mmlu/data/{split}": f"mmlu/data/{split}" for split in ("dev", "val", "test")}

CASES = [
    # Classic: core
    Case("boolq", "boolq", "valid", files={
        "boolq/data/train": "boolq/train.first2000.jsonl", "boolq/data/dev": "boolq/dev.jsonl",
        "boolq/data/boolq_perturbed.jsonl": "boolq/boolq_perturbed.json",
    }),
    Case("narrative_qa", "narrative_qa", folder="made", files={
        "narrativeqa/data/narrativeqa-master/qaps.csv": "narrative_qa/qaps.csv",
        "narrativeqa/data/narrativeqa-master/third_party/wikipedia/summaries.csv":
            "narrative_qa/third_party/wikipedia/summaries.csv",
    }),
    Case("natural_qa:mode=closedbook", "natural_qa", "valid", "made", NATURAL_QA),
    Case("natural_qa:mode=openbook_longans", "natural_qa_open_book", "valid", "made", NATURAL_QA),
    Case("quac", "quac", "valid", "made", {
        "quac/data/train.json": "quac/train_v0.2.json", "quac/data/val.json": "quac/val_v0.2.json",
    }),
    Case(_separate("hellaswag"), "hellaswag", "valid", "made", {
        "hellaswag/data/hellaswag_train.jsonl": "hellaswag/hellaswag_train.jsonl",
        "hellaswag/data/hellaswag_val.jsonl": "hellaswag/hellaswag_val.jsonl",
    }),
    Case(_separate("openbookqa", "calibrated"), "openbookqa", files=OPENBOOK_QA),
    Case("truthful_qa:task=mc_single", "truthful_qa", "valid", files={
        "truthful_qa/data/TruthfulQA.csv": "truthful_qa/TruthfulQA.csv",
    }),
    Case("mmlu:subject=us_foreign_policy", "mmlu:subject=us_foreign_policy", files=MMLU),
    Case("msmarco:track=regular,valid_topk=30", "msmarco", "valid", "made", MSMARCO),
    Case("msmarco:track=trec,valid_topk=30", "msmarco_trec", "valid", "made", MSMARCO),
    Case("summarization_cnndm:temperature=0.3,device=cpu", "summarization_cnndm", folder="made",
         files={"summarization/data/cnndm.pk": "summarization_cnndm/cnndm.pk"}),
    Case("summarization_xsum_sampled:temperature=0.3,device=cpu", "summarization_xsum", folder="made",
         files={"summarization/data/xsum-sampled.pk": "summarization_xsum/xsum-sampled.pk"}),
    Case("imdb", "imdb", "valid", "made", {"imdb/data": "imdb/aclImdb"}),
    *[
        Case(f"raft:subset={name}", f"raft:subset={name}",
             tables={f"ought/raft/{name}": {"train": f"raft/{name}/train.csv"}})
        for name in RAFT
    ],
    *[
        Case(f"civil_comments:demographic={name}", f"civil_comments:demographic={name}", folder="made",
             files={"civil_comments/wilds_civil_comments.csv": "civil_comments/all_data_with_identities.csv"})
        for name in ("all", "black")
    ],
    # Classic: targeted
    Case("the_pile:subset=BookCorpus2", "the_pile:subset=BookCorpus2", folder="made",
         files={"the_pile/data": "the_pile/test.jsonl"}),
    Case("twitter_aae:demographic=aa", "twitter_aae:demographic=aa", folder="excerpts",
         files={"twitter_aae/aa_tweets.csv": "twitter_aae/aa_tweets.csv"}),
    *[
        Case(f"ice:subset={name}", f"ice:subset={name}", folder="excerpts", files={"../restricted/ice": "ice"})
        for name in ("ind", "ea")
    ],
    Case("blimp:phenomenon=irregular_forms",
         "blimp:paradigm=irregular_past_participle_verbs blimp:paradigm=irregular_past_participle_adjectives",
         files={"blimp/data": "blimp/BLiMP.zip"}),
    Case("wikifact:k=5,subject=place_of_birth", "wikifact", folder="excerpts",
         files={f"wikifact/data/{name}.jsonl": f"wikifact/{name}.jsonl" for name in ("train", "dev", "test")}),
    *[
        Case(f"synthetic_reasoning:mode={name}", f"synthetic_reasoning:mode={name}")
        for name in ("pattern_match", "variable_substitution", "induction")
    ],
    *[
        Case(f"synthetic_reasoning_natural:difficulty={name}", f"synthetic_reasoning_natural:difficulty={name}")
        for name in ("easy", "hard")
    ],
    Case("babi_qa:task=all", "babi_qa", files=BABI),
    Case("babi_qa:task=19", "babi_qa:task=19", files=BABI),
    Case("dyck_language:num_parenthesis_pairs=3", "dyck_language"),
    Case("gsm", "gsm8k", files={f"gsm/gsm_data_{split}": f"gsm8k/{split}.jsonl" for split in ("train", "test")}),
    Case("math:subject=algebra,level=1,use_official_examples=True", "math_direct:subject=Algebra,level=1",
         folder="made", tables=MATH),
    Case("math:subject=geometry,level=1,use_chain_of_thought=True", "math:subject=Geometry,level=1", folder="made",
         tables=MATH),
    Case("code:dataset=humaneval", "humaneval", files={"code/HumanEval.jsonl": "code_humaneval/HumanEval.jsonl"}),
    Case("code:dataset=apps", "apps", folder="excerpts", files={"code/APPS": "apps"}),
    Case("lsat_qa:task=all", "lsat_qa", files=LSAT),
    Case("lsat_qa:task=grouping", "lsat_qa:task=grouping", files=LSAT),
    Case("legal_support", "legal_support", folder="made", files={
        f"legal_support/data/legal_support/{name}.jsonl": f"legal_support/{name}.jsonl"
        for name in ("train", "dev", "test")
    }),
    *[
        Case(f"entity_data_imputation:dataset={name}", f"entity_data_imputation:dataset={name}",
             files={f"entity_data_imputation/data/{name}/{file}": f"data_imputation/{file}"})
        for name, file in (("Buy", "Buy.csv"), ("Restaurant", "fz.arff"))
    ],
    *[
        Case(f"entity_matching:dataset={name}", f"entity_matching:dataset={name}",
             files={f"entity_matching/data/{name}": f"entity_matching/{name.replace('_', '-')}"})
        for name in ("Beer", "Abt_Buy")
    ],
    Case("copyright:datatag=prompt_num_line_5-min_lines_20.json", "copyright_code:num_lines=5", folder="excerpts",
         files={"copyright/prompt_num_line_5-min_lines_20.json.json": "copyright/prompt_num_line_5-min_lines_20.json"}),
    Case("disinformation:capability=reiteration,topic=climate", "disinformation_reiteration:topic=climate", "valid",
         "made", {"disinformation/reiteration": "disinformation/reiteration.jsonl"}),
    Case("disinformation:capability=wedging", "disinformation_wedging", "valid", "made",
         {"disinformation/wedging": "disinformation/wedging.jsonl"}),
    Case("bbq:subject=Age", "bbq:subject=Age", files=BBQ),
    Case("bold:subject=gender", "bold:domain=gender", files={"bold/data/gender": "bold/prompts/gender_prompt.json"}),
    Case("real_toxicity_prompts", "real_toxicity_prompts:edition=nontoxic",
         files={"real_toxicity_prompts/data/prompts.jsonl": "real_toxicity_prompts/nontoxic.jsonl"}),
    Case("synthetic_efficiency:num_prompt_tokens=256,num_output_tokens=16,tokenizer=huggingface/gpt2",
         "synthetic_efficiency:input_tokens=256,output_tokens=16", folder="made", files={
             f"synthetic_efficiency/{name}": f"synthetic_efficiency/{name}"
             for name in (f"num_prompt_tokens=256,tokenizer=huggingface_gpt2,id={n}.txt" for n in range(10))
         }),
    # Lite
    Case(_joint("openbookqa"), "lite/openbookqa", files=OPENBOOK_QA),
    *[
        Case(f"legalbench:subset={name}", f"legalbench:subset={name}", folder="excerpts", tables={
            f"nguha/legalbench/{name}": {split: f"legalbench/{name}/{split}.tsv" for split in ("train", "test")}
        })
        for name in LEGALBENCH
    ],
    Case("med_qa", "med_qa", folder="made", files={
        f"med_qa/data/data_clean/questions/US/4_options/phrases_no_exclude_{name}.jsonl": f"med_qa/{name}.jsonl"
        for name in ("train", "dev", "test")
    }),
    Case("wmt_14:language_pair=de-en", "wmt_14:source=de", folder="made", tables={"wmt14/de-en": {
        "train": "wmt_14/de-en/valid.jsonl", "validation": "wmt_14/de-en/valid.jsonl",
        "test": "wmt_14/de-en/test.jsonl",
    }}),
    # Beside the boards
    Case(_joint("commonsenseqa"), "commonsense_qa", "valid", "excerpts", {
        f"commonsenseqa/data/commonsenseqa_{name}.jsonl": f"commonsense_qa/{file}_rand_split.jsonl"
        for name, file in (("train", "train"), ("val", "dev"))
    }),
    Case(_joint("siqa"), "social_iqa", "valid", "excerpts", {
        f"siqa/data/socialiqa-train-dev/socialiqa-train-dev/{name}": f"social_iqa/{name}"
        for name in ("train.jsonl", "train-labels.lst", "dev.jsonl", "dev-labels.lst")
    }),
    Case(_separate("piqa"), "piqa", "valid", files={
        "piqa/data/piqa_train.jsonl": "piqa/train.first2000.jsonl",
        "piqa/data/piqa_train_labels.lst": "piqa/train-labels.first2000.lst",
        "piqa/data/piqa_val.jsonl": "piqa/valid.jsonl",
        "piqa/data/piqa_val_labels.lst": "piqa/valid-labels.lst",
    }),
    # Capabilities
    Case("mmlu_pro:subject=all", "mmlu_pro", folder="excerpts", tables={"TIGER-Lab/MMLU-Pro": {
        "validation": "mmlu_pro/validation.jsonl", "test": "mmlu_pro/test.jsonl",
    }}),
    Case("gpqa:subset=main", "gpqa", folder="excerpts",
         tables={"Idavidrein/gpqa/gpqa_main": {"train": "gpqa/gpqa_main.csv"}}),
    Case("ifeval", "ifeval", tables={"google/IFEval": {"train": "ifeval/input_data.jsonl"}}),
    Case("wildbench:subset=v2", "wildbench", folder="excerpts",
         tables=_hub("allenai/WildBench/v2", "wildbench/test.jsonl")),
    Case("omni_math", "omni_math", folder="excerpts", tables=_hub("KbsdJames/Omni-MATH", "omni_math/test.jsonl")),
    # Safety
    Case("harm_bench", "safety/harm_bench", folder="excerpts", files={
        "harm_bench/data/harmbench_behaviors_text_all.csv": "harm_bench/harmbench_behaviors_text_all.csv",
    }),
    Case("simple_safety_tests", "safety/simple_safety_tests",
         tables=_hub("Bertievidgen/SimpleSafetyTests", "simple_safety_tests/SimpleSafetyTests_test_cases.csv")),
    Case("xstest", "safety/xstest", tables=_hub("walledai/XSTest", "xstest/xstest_v2_prompts.csv")),
    Case("anthropic_red_team", "safety/anthropic_red_team", folder="excerpts",
         tables={"Anthropic/hh-rlhf/red-team-attempts": {"train": "anthropic_red_team/red_team_attempts.jsonl"}}),
    Case("bbq:subject=Age,method=multiple_choice_joint,output_format_instructions=mcqa,max_train_instances=0",
         "safety/bbq", files=BBQ),
]  # fmt: skip


def lay_out(data: Path, folder: Path) -> Mapping[str, Path]:
    """Write the files that both read, and HELM's copies of them; return the folders for this harness by name."""
    made = folder / "made"
    _make_files(data, made)
    sources = {"data": data, "excerpts": EXCERPTS, "made": made}
    tables = folder / "tables"
    tables.mkdir()
    index: dict[str, str] = {}
    for case in CASES:
        for place, name in case.files.items():
            _copy(sources[case.folder], name, folder / "helm" / "scenarios" / place)
        for path, splits in case.tables.items():
            index.setdefault(path, f"{len(index)}.json")
            rows = {split: list(_rows(sources[case.folder], name)) for split, name in splits.items()}
            table = {"splits": _as_on_the_hub(path, rows), "labels": _labels(path)}
            (tables / index[path]).write_text(json.dumps(table))
    (tables / "index.json").write_text(json.dumps(index))
    _write_settings(folder / "helm" / "scenarios")
    return sources


def _write_settings(scenarios: Path) -> None:
    """Write what HELM downloads besides data: orders of files, states of generators, and instructions (from ours)."""
    for place in (
        "ice/ice_scenario_pinned_file_order.json",
        "code/APPS/code_scenario_apps_pinned_file_order.json",
        "entity_matching/entity_matching_scenario_fixed_random_state.json",
    ):
        _write(scenarios / place, "{}")  # no order and no state: those of the file system and of seed 0
    instructions = {}
    for name, subset in RAFT.items():
        labels = [f"{number}. {label}" for number, label in enumerate(subset["labels"], start=1)]
        instructions[name] = "\n".join([*subset["instructions"], "Possible labels:", *labels])
    raft = [{name: subset["fields"] for name, subset in RAFT.items()}, instructions]
    for place in ("raft", "raft/data"):
        _write(scenarios / place / "prompt_construction_settings.json", "\n".join(map(json.dumps, raft)))
    bill = {"Official title of bill": "bill_title", "Official summary of bill": "bill_summary"}
    bill |= {"Company name": "company_name", "Company business description": "company_description"}
    fields = dict(
        zip(
            LEGALBENCH,
            ({"Description": "text"}, bill, {"Question": "question"}, {"Statute": "text"}, {"Text": "Paragraph"}),
            strict=True,
        )
    )
    legal = [
        {name: list(columns.items()) for name, columns in fields.items()},
        {name: _own_instructions(name) for name in LEGALBENCH},
        dict.fromkeys(LEGALBENCH, "answer"),
        dict(zip(LEGALBENCH, ("Type", "Label", "Answer", "Answer", "Function"), strict=True)),
        dict.fromkeys(LEGALBENCH, 5),
    ]
    for place in ("legalbench", "legalbench/data"):
        _write(scenarios / place / "prompt_construction_settings.json", "\n".join(map(json.dumps, legal)))


def _own_instructions(subset: str) -> str:
    from harness.contracts.plugins import Kind, ScenarioDetails
    from harness.plugins.registry import default_registry

    details = default_registry().get(Kind.SCENARIO, "legalbench").details
    assert isinstance(details, ScenarioDetails)
    assert callable(details.adapter)
    return str(details.adapter(subset=subset)["instructions"]).removesuffix("\n")


def _labels(path: str) -> Mapping[str, Sequence[str]]:
    """Return the names of a column's classes."""
    return {"Label": RAFT[path.rpartition("/")[2]]["labels"]} if path.startswith("ought/raft") else {}


def _as_on_the_hub(path: str, splits: Mapping[str, Sequence[dict[str, Any]]]) -> Mapping[str, Sequence[dict[str, Any]]]:
    """Return rows of a file with the columns that the Hub's copy has."""
    if path.endswith("SimpleSafetyTests"):
        return {split: [row | {"prompt": row["prompts_final"]} for row in rows] for split, rows in splits.items()}
    if path.endswith("XSTest"):
        return {
            split: [row | {"label": "unsafe" if row["type"].startswith("contrast_") else "safe"} for row in rows]
            for split, rows in splits.items()
        }
    if path.endswith("IFEval"):
        keys = sorted({key for rows in splits.values() for row in rows for each in row["kwargs"] for key in each})
        return {
            split: [row | {"kwargs": [{key: each.get(key) for key in keys} for each in row["kwargs"]]} for row in rows]
            for split, rows in splits.items()
        }
    return splits


def _make_files(data: Path, made: Path) -> None:
    """Write files in the official layout where the data folder has the rows in another one."""
    for write in (_narrative_qa, _natural_qa, _quac, _hellaswag, _summaries, _imdb, _civil_comments, _books, _math,
                  _legal_support, _disinformation, _efficiency, _med_qa, _msmarco, _wmt_14):  # fmt: skip
        write(data, made)


def _narrative_qa(data: Path, made: Path) -> None:
    questions, summaries = [], {}
    for split, name in (("train", "dev"), ("valid", "dev"), ("test", "test")):
        with zipfile.ZipFile(data / "narrative_qa" / f"{name}.json.zip") as archive:
            for row in json.loads(archive.read(f"{name}.json")):
                document = f"{split}-{row['_id']}"
                if document not in summaries:  # one question of each document, so that there is nothing to draw
                    summaries[document] = {"document_id": document, "set": split, "summary": row["context.tokens"]}
                    answers = _literal(row["ground_truths"])
                    questions.append({"document_id": document, "set": split, "question": row["question.tokens"],
                                      "answer1": answers[0], "answer2": answers[-1]})  # fmt: skip
    _write_csv(made / "narrative_qa" / "qaps.csv", questions)
    _write_csv(made / "narrative_qa" / "third_party" / "wikipedia" / "summaries.csv", list(summaries.values()))


def _literal(value: Any) -> Any:
    import ast

    return ast.literal_eval(value) if isinstance(value, str) else value


def _natural_qa(data: Path, made: Path) -> None:
    """Questions for training, every second one, have one answer, so that there is nothing to draw."""
    rows = _rows(data, "natural_qa/nq-open-oracle.jsonl")
    single: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for row in rows:
        (single if len(row["answers"]) == 1 and len(single) < 60 else others).append(row)
    mixed = [row for pair in zip(single, others, strict=False) for row in pair]
    _write_lines(made / "natural_qa" / "nq-open-oracle.jsonl", mixed)
    _write_lines(
        made / "natural_qa" / "NQ-open.dev.jsonl",
        [{"question": row["question"], "answer": row["answers"]} for row in mixed],
    )
    for part in range(5):
        with gzip.open(_parent(made / "natural_qa" / f"nq-dev-0{part}.jsonl.gz"), "wt", encoding="utf-8") as file:
            for row in mixed if part == 0 else ():
                file.write(json.dumps(_original_question(row)) + "\n")


def _original_question(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a question as in the original data: answers are places in the article's HTML."""
    article = f"<P>{html.escape(row['nq_annotated_gold']['long_answer'].strip())}</P>"
    long = {"start_byte": 0, "end_byte": len(article.encode())}
    short = []
    for answer in row["answers"]:
        start = len(article.encode())
        article += html.escape(answer)
        short.append({"start_byte": start, "end_byte": len(article.encode())})
    annotations = [{"long_answer": long, "short_answers": short}]
    return {"document_tokens": [], "document_html": article, "document_title": row["nq_annotated_gold"]["title"],
            "question_text": row["question"], "annotations": annotations}  # fmt: skip


def _quac(data: Path, made: Path) -> None:
    """Dialogues of three questions, of which the last is always the drawn one."""
    for name in ("train_v0.2.json", "val_v0.2.json"):
        dialogues = json.loads((EXCERPTS / "quac" / name).read_text(encoding="utf-8"))["data"]
        kept = [one for one in dialogues if len(one["paragraphs"][0]["qas"]) == 3]
        _write(made / "quac" / name, json.dumps({"data": kept}))


def _hellaswag(data: Path, made: Path) -> None:
    """Scenes at the beginning of the file, from films, and at its end, from articles, which have no fragment."""
    lines = [line.rstrip("\n") for line in _lines(data, "hellaswag/hellaswag_val_full.txt")]
    lines = [*lines[:600], *lines[-600:]]
    rows = []
    for start in range(0, len(lines), 6):
        activity, _, context = lines[start].partition(": ")
        before, stop, fragment = context.rpartition(". ")
        begun = fragment[:1].islower()
        rows.append({
            "activity_label": activity, "ctx_a": before + stop.strip() if begun else context,
            "ctx_b": fragment if begun else "", "label": int(lines[start + 1]), "endings": lines[start + 2 : start + 6],
        })  # fmt: skip
    _write_lines(made / "hellaswag" / "hellaswag_val.jsonl", rows[10:])
    _write_lines(made / "hellaswag" / "hellaswag_train.jsonl", rows[:10])


def _summaries(data: Path, made: Path) -> None:
    articles = json.loads("".join(_lines(data, "summarization_cnndm/cnn.json")))
    news = [{"article": key, "highlights": value[0][0]} for key, value in articles.items()]
    reports = [{"id": row["id"], "document": row["document"], "summary": row["summary"]}
               for row in _rows(data, "summarization_xsum/test.jsonl")]  # fmt: skip
    for folder, pickled, rows, column in (
        ("summarization_cnndm", "cnndm", news, "article"), ("summarization_xsum", "xsum-sampled", reports, "document")
    ):  # fmt: skip
        train = [row | {column: " ".join(row[column].split()[:WORDS])} for row in rows[:20]]
        splits = {"train": train, "validation": rows[20:40], "test": rows[40:]}
        for split, part in splits.items():
            _write_lines(made / folder / f"{'valid' if split == 'validation' else split}.jsonl", part)
        with _parent(made / folder / f"{pickled}.pk").open("wb") as file:
            pickle.dump(splits, file)


def _imdb(data: Path, made: Path) -> None:
    """The reviews at the beginning of both parts; the archive for this harness, the files for HELM."""
    folder = made / "imdb" / "aclImdb"
    order: dict[str, dict[str, list[str]]] = {}
    for part, split, archive in (("train", "train", "aclImdb_train.first2000"), ("test", "valid", "aclImdb_test")):
        seen = order[split] = {"pos": [], "neg": []}
        with tarfile.open(data / "imdb" / f"{archive}.tar.xz") as files:
            for member in files:
                label, name = Path(member.name).parts[-2:]
                if member.isfile() and label in seen and len(seen[label]) < 100:
                    seen[label].append(name)
                    content = files.extractfile(member)
                    assert content is not None
                    _parent(folder / part / label / name).write_bytes(content.read())
                if all(len(names) == 100 for names in seen.values()):
                    break
    for part, archive in (("train", "aclImdb_train"), ("test", "aclImdb_test")):
        with tarfile.open(made / "imdb" / f"{archive}.tar", "w") as files:
            files.add(folder / part, arcname=f"aclImdb/{part}")
    _write(folder / "imdb_scenario_pinned_file_order.json", json.dumps(order))
    for file in (data / "imdb" / "contrast").iterdir():
        shutil.copy(file, folder / file.name)


def _civil_comments(data: Path, made: Path) -> None:
    groups = ("male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white")
    rows: list[dict[str, Any]] = []
    for split in ("train", "test"):
        for number, row in enumerate(islice(_rows(data, f"civil_comments/tsd_{split}.csv"), 300)):
            scores = {group: float(number % 8 == place) for place, group in enumerate(groups)}
            rows.append({"": len(rows), "id": len(rows), "split": split, "comment_text": row["text"],
                         "toxicity": 0.9 if row["spans"] != "[]" else 0.1, **scores})  # fmt: skip
    _write_csv(made / "civil_comments" / "all_data_with_identities.csv", rows)


def _books(data: Path, made: Path) -> None:
    passages = [
        file.read_text(encoding="utf-8")[5000:9000] for file in sorted((data / "text_corpus/gutenberg").glob("*.txt"))
    ]
    rows = [{"text": text, "meta": {"pile_set_name": "BookCorpus2"}} for text in passages]
    _write_lines(made / "the_pile" / "test.jsonl", [*rows, {"text": "x", "meta": {"pile_set_name": "Github"}}])
    shutil.copytree(data / "text_corpus" / "gutenberg", made / "text_corpus" / "gutenberg")


def _math(data: Path, made: Path) -> None:
    rows = [
        {key: row[key] for key in ("problem", "level", "type", "solution")}
        for row in _rows(data, "math/test.jsonl")
        if row["level"] == "Level 1" and row["type"] in ("Algebra", "Geometry")
    ]
    _write_lines(made / "math" / "train.jsonl", rows[::3])
    _write_lines(made / "math" / "test.jsonl", [row for number, row in enumerate(rows) if number % 3])


def _legal_support(data: Path, made: Path) -> None:
    rows = [
        {"context": row["legal-claim"], "citation_a": {"parenthetical": row["legal_conclusion_a"]},
         "citation_b": {"parenthetical": row["legal_conclusion_b"]}, "label": row["correct_choice"][-1]}
        for row in _rows(data, "legal_support/test.jsonl")
    ]  # fmt: skip
    for name, part in (("train", rows[:10]), ("dev", rows[10:15]), ("test", rows[15:])):
        _write_lines(made / "legal_support" / f"{name}.jsonl", part)


def _disinformation(data: Path, made: Path) -> None:
    rows = []
    for split in ("train", "valid"):
        part = list(_rows(EXCERPTS, f"disinformation/reiteration_{split}.jsonl"))
        _write_lines(made / "disinformation" / f"reiteration_{split}.jsonl", part)
        rows += [row | {"split": split} for row in part]
    _write_lines(made / "disinformation" / "reiteration.jsonl", rows)
    prompts = [
        {"prompt": row["statements"], "targeted_group": "", "targeted_action": "none"}
        for row in _rows(data, "disinformation/test-tiny.jsonl") if row.get("statements")
    ]  # fmt: skip
    _write_lines(made / "disinformation" / "wedging.jsonl", prompts)


def _efficiency(data: Path, made: Path) -> None:
    """HELM's prompts are files; they get the texts of ours, so that only the settings are compared."""
    from harness.contracts.plugins import Kind, ScenarioDetails
    from harness.data.source import open_data
    from harness.plugins.parameters import build
    from harness.plugins.registry import default_registry

    plugin = default_registry().get(Kind.SCENARIO, "synthetic_efficiency")
    assert isinstance(plugin.details, ScenarioDetails)
    arguments = {"input_tokens": 256, "output_tokens": 16}
    texts = build(plugin, open_data(plugin.details, arguments, name=plugin.name, data_dir=data), arguments=arguments)
    for number, instance in enumerate(texts()):
        name = f"num_prompt_tokens=256,tokenizer=huggingface_gpt2,id={number}.txt"
        _parent(made / "synthetic_efficiency" / name).write_bytes(instance.input[: 4 * 256].encode())


def _med_qa(data: Path, made: Path) -> None:
    rows = list(_rows(data, "med_qa/test.jsonl"))
    # Some options of the official files end in a quotation mark that belongs to nothing, others contain a pair.
    rows[0]["options"]["A"] += '\n"'
    rows[20]["options"]["B"] = f'So-called "{rows[20]["options"]["B"]}" of the hand'
    for name, part in (("train", rows[:20]), ("dev", rows[40:60]), ("test", [*rows[20:40], *rows[60:]])):
        _write_lines(made / "med_qa" / f"{name}.jsonl", part)


def _msmarco(data: Path, made: Path) -> None:
    """NFCorpus in MS MARCO's layout; each query's candidates are judged documents of its own and of other queries."""
    with zipfile.ZipFile(data / "ir_nfcorpus" / "nfcorpus.zip") as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}

        def table(name: str) -> list[list[str]]:
            return [line.split("\t") for line in archive.read(names[name]).decode().splitlines()[1:]]

        def lines(name: str) -> list[dict[str, Any]]:
            return [json.loads(line) for line in archive.read(names[name]).decode().splitlines()]

        texts = {row["_id"]: " ".join(f"{row['title']} {row['text']}".split()) for row in lines("corpus.jsonl")}
        queries = {row["_id"]: " ".join(row["text"].split()) for row in lines("queries.jsonl")}
        judged: dict[str, dict[str, dict[str, int]]] = {"train": {}, "dev": {}}
        for split, found in judged.items():
            for query, document, grade in table(f"{split}.tsv"):
                if query in found or len(found) < 30:
                    found.setdefault(query, {})[document] = int(grade)
    documents = sorted({document for found in judged.values() for grades in found.values() for document in grades})
    number = {document: place for place, document in enumerate(documents)}
    asked = {query: place for place, query in enumerate([*judged["train"], *judged["dev"]])}
    folder = made / "msmarco"
    # HELM reads its tables with quotation marks that quote.
    _write(
        folder / "collection.tsv", "".join(f"{number[one]}\t{texts[one].replace(chr(34), '')}\n" for one in documents)
    )
    for split, places in (("train", ("queries.train", "qrels.train", "top20.train")),
                          ("dev", ("queries.dev.small", "qrels.dev.small", "top1000.dev.small")),
                          ("dev", ("msmarco-test2019-queries", "2019qrels-pass", "top1000.test2019"))):  # fmt: skip
        trec, count = places[1].startswith("2019"), 20 if split == "train" else 40
        found = judged[split]
        _write(folder / f"{places[0]}.tsv", "".join(f"{asked[query]}\t{queries[query]}\n" for query in found))
        grades = [
            f"{asked[query]} {'Q0' if trec else '0'} {number[one]} {grade if trec else 1}"
            for query, each in found.items() for one, grade in each.items()
        ]  # fmt: skip
        text = "\n".join(grades) + "\n"
        _write(folder / (f"{places[1]}.txt" if trec else f"{places[1]}.tsv"), text if trec else text.replace(" ", "\t"))
        ranked = []
        for query, each in found.items():
            others = [documents[(7 * asked[query] + 13 * place) % len(documents)] for place in range(count)]
            candidates = list(dict.fromkeys([*list(each)[:3], *others, *documents]))[:count]
            ranked += [f"{asked[query]}\t{number[one]}\t{rank}\n" for rank, one in enumerate(candidates, start=1)]
        _write(folder / f"{places[2]}.tsv", "".join(ranked))


def _wmt_14(data: Path, made: Path) -> None:
    pairs = [
        ("Der Zug hält in Köln.", "The train stops in Cologne."), ("Es regnet.", "It is raining."),
        ("„Das Brot ist frisch“, sagte sie.", "“The bread is fresh,” she said."),
        ("Der Laden öffnet um 9 Uhr.", "The shop opens at nine."),
    ]  # fmt: skip
    for split, part in (("valid", pairs[:2]), ("test", pairs[2:])):
        rows = [{"translation": {"de": german, "en": english}} for german, english in part]
        _write_lines(made / "wmt_14" / "de-en" / f"{split}.jsonl", rows)


def _lines(folder: Path, name: str) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not."""
    path = _found(folder, name)
    with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield from file


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines or a table."""
    csv.field_size_limit(10**9)
    if name.endswith(".jsonl"):
        yield from (json.loads(line) for line in _lines(folder, name) if line.strip())
    else:
        yield from csv.DictReader(_lines(folder, name), delimiter="\t" if name.endswith(".tsv") else ",")


def _found(folder: Path, name: str) -> Path:
    for suffix in ("", *OPENERS):
        if (path := folder / f"{name}{suffix}").exists():
            return path
    raise FileNotFoundError(f"{folder / name}, compressed or not")


def _copy(folder: Path, name: str, place: Path) -> None:
    """Copy a file or folder, uncompressed; an archive is unpacked."""
    if place.exists():
        return
    source = _found(folder, name)
    if source.is_dir():
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            relative = file.relative_to(source).as_posix()
            plain = relative.removesuffix(file.suffix) if file.suffix in OPENERS else relative
            _copy(source, relative, place / plain)
    elif source.suffix == ".zip":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(place)
    elif source.suffix in OPENERS and not place.name.endswith(source.suffix):
        with OPENERS[source.suffix](source, "rb") as packed, _parent(place).open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    else:
        shutil.copyfile(source, _parent(place))


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, text: str) -> None:
    _parent(path).write_text(text, encoding="utf-8")


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    _write(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with _parent(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

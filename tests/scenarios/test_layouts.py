"""One data set, several layouts: the official files, the Hub's columns and other copies give the same instances."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness import DataError, Instance, PluginError, Split

Read = Callable[..., list[Instance]]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def content(instance: Instance) -> tuple[Any, ...]:
    """What of an instance must not depend on the layout."""
    return instance.input, instance.references, instance.split, instance.meta


QUESTION = {"stem": "Ice is", "choices": [{"text": "warm", "label": "A"}, {"text": "cold", "label": "B"}]}
OPTIONS = {"text": ["warm", "cold"], "label": ["A", "B"]}

NO_DATE = {"day": "", "month": "", "year": ""}
TWO_SPANS = {"number": "", "date": NO_DATE, "spans": ["Ann", "Ben"]}
ONE_SPAN = {"number": "", "date": NO_DATE, "spans": ["Ben"]}
SCORERS = {"query_id": "q1", "question": "Who scored?", "answer": TWO_SPANS}

# (scenario, arguments, files, the Hub's rows)
SAME: list[tuple[str, dict[str, Any], dict[str, str], dict[str, list[dict[str, Any]]]]] = [
    (
        "drop",
        {},
        {
            f"drop/drop_dataset_{part}.json": json.dumps(
                {"nfl_1": {"passage": "Goals.", "qa_pairs": [{**SCORERS, "validated_answers": [TWO_SPANS, ONE_SPAN]}]}}
            )
            for part in ("train", "dev")
        },
        {
            split: [
                {
                    **SCORERS,
                    "section_id": "nfl_1",
                    "passage": "Goals.",
                    "validated_answers": {key: [TWO_SPANS[key], ONE_SPAN[key]] for key in ("number", "date", "spans")},
                }
            ]
            for split in ("train", "valid")
        },
    ),
    (
        "mmlu",
        {"subject": "anatomy"},
        {
            f"mmlu/data/{part}/anatomy_{part}.csv": '"Say ""what"", and why?","a, b",2,3,4,D\n'
            for part in ("dev", "val", "test")
        },
        {
            split: [
                {
                    "question": 'Say "what", and why?',
                    "subject": "anatomy",
                    "choices": ["a, b", "2", "3", "4"],
                    "answer": 3,
                }
            ]
            for split in ("train", "valid", "test")
        },
    ),
    (
        "boolq",
        {},
        {
            f"boolq/{part}.jsonl": lines(
                {"question": "is ice cold", "title": "Ice", "answer": True, "passage": "Cold."}
            )
            for part in ("train", "dev")
        },
        {split: [{"question": "is ice cold", "answer": True, "passage": "Cold."}] for split in ("train", "valid")},
    ),
    (
        "openbookqa",
        {},
        {
            f"openbookqa/{part}.jsonl": lines({"id": part, "question": QUESTION, "answerKey": "B"})
            for part in ("train", "dev", "test")
        },
        {
            split: [{"id": part, "question_stem": "Ice is", "choices": OPTIONS, "answerKey": "B"}]
            for split, part in (("train", "train"), ("valid", "dev"), ("test", "test"))
        },
    ),
    (
        "arc",
        {"subset": "easy"},
        {
            f"arc/ARC-V1-Feb2018-2/ARC-Easy/ARC-Easy-{part}.jsonl": lines(
                {"id": part, "question": QUESTION, "answerKey": "B"}
            )
            for part in ("Train", "Dev", "Test")
        },
        {
            split: [{"id": part, "question": "Ice is", "choices": OPTIONS, "answerKey": "B"}]
            for split, part in (("train", "Train"), ("valid", "Dev"), ("test", "Test"))
        },
    ),
    (
        "piqa",
        {},
        {
            "piqa/train.jsonl": lines({"goal": "cool a drink", "sol1": "burn it", "sol2": "add ice"}),
            "piqa/train-labels.lst": "1\n",
            "piqa/valid.jsonl": lines({"goal": "cool a drink", "sol1": "add ice", "sol2": "burn it"}),
            "piqa/valid-labels.lst": "0\n",
        },
        {
            "train": [{"goal": "cool a drink", "sol1": "burn it", "sol2": "add ice", "label": 1}],
            "valid": [{"goal": "cool a drink", "sol1": "add ice", "sol2": "burn it", "label": 0}],
        },
    ),
    (
        "gsm8k",
        {},
        {f"gsm8k/{part}.jsonl": lines({"question": "1+1?", "answer": "Sum.\n#### 2"}) for part in ("train", "test")},
        {split: [{"question": "1+1?", "answer": "Sum.\n#### 2"}] for split in ("train", "test")},
    ),
    (
        "natural_qa",
        {},
        {"natural_qa/NQ-open.dev.jsonl": lines(*[{"question": f"who {n}", "answer": ["a", "b"]} for n in range(4)])},
        {split: [{"question": f"who {n}", "answer": ["a", "b"]} for n in range(4)] for split in ("train", "valid")},
    ),
    (
        "hellaswag",
        {},
        {
            "hellaswag/hellaswag_val_full.txt": "Cooking: A pot is boiling. she\n2\na.\nb.\nc.\nd.\n",
        },
        {
            "valid": [
                {
                    "activity_label": "Cooking",
                    "ctx_a": "A pot is boiling.",
                    "ctx_b": "she",
                    "endings": ["a.", "b.", "c.", "d."],
                    "label": "2",
                }
            ]
        },
    ),
    (
        "truthful_qa",
        {},
        {
            "truthful_qa/TruthfulQA.csv": "\ufeffType,Category,Question,Best Answer,Correct Answers,Incorrect Answers\n"
            "Adversarial,Myths,Is ice hot?,No,No; Not at all,Yes; Yes. ; It burns\n"
        },
        {
            "valid": [
                {
                    "type": "Adversarial",
                    "category": "Myths",
                    "question": "Is ice hot?",
                    "best_answer": "No",
                    "correct_answers": ["No", "Not at all"],
                    "incorrect_answers": ["Yes", "Yes.", "It burns"],
                    "source": "web",
                }
            ]
        },
    ),
    (
        "narrative_qa",
        {},
        {
            "narrative_qa/qaps.csv": "document_id,set,question,answer1,answer2\n"
            "t1,train,Who?,A man,He\nv1,valid,What,A cat,Cat\nx1,test,Where?,Home,At home\n",
            "narrative_qa/third_party/wikipedia/summaries.csv": "document_id,set,summary\n"
            'x1,test,"Story x."\nt1,train,"Story\nt."\nv1,valid,Story v.\n',
        },
        {
            split: [
                {
                    "document": {"id": name, "summary": {"text": story}},
                    "question": {"text": question},
                    "answers": [{"text": one}, {"text": other}],
                }
            ]
            for split, name, story, question, one, other in (
                ("train", "t1", "Story\nt.", "Who?", "A man", "He"),
                ("valid", "v1", "Story v.", "What", "A cat", "Cat"),
                ("test", "x1", "Story x.", "Where?", "Home", "At home"),
            )
        },
    ),
]


@pytest.mark.parametrize(("name", "arguments", "files", "rows"), SAME, ids=[case[0] for case in SAME])
def test_files_and_hub_agree(
    read_folder: Read,
    read_rows: Read,
    name: str,
    arguments: dict[str, Any],
    files: dict[str, str],
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    from_files = read_folder(name, files, **arguments)
    from_hub = read_rows(name, rows, **arguments)
    assert from_files
    assert list(map(content, from_files)) == list(map(content, from_hub))
    assert [instance.id for instance in from_files] == [instance.id for instance in from_hub]


def test_narrative_qa_adds_a_question_mark(read_folder: Read) -> None:
    instances = read_folder("narrative_qa", SAME[-1][2])
    assert [(instance.id, instance.input) for instance in instances] == [
        ("t1", "Story\nt.\nQuestion: Who?"),
        ("v1", "Story v.\nQuestion: What?"),
        ("x1", "Story x.\nQuestion: Where?"),
    ]
    assert [reference.text for reference in instances[2].correct] == ["Home", "At home"]


def test_imdb_from_folder_and_hub(read_folder: Read, read_rows: Read) -> None:
    files = {
        "imdb/aclImdb_v1.tar/aclImdb/test/pos/7_10.txt": "Great.\n",
        "imdb/aclImdb_v1.tar/aclImdb/train/neg/3_1.txt": "Bad.",
        "imdb/aclImdb_v1.tar/aclImdb/train/unsup/9_0.txt": "No label.",
        "imdb/aclImdb_v1.tar/aclImdb/README": "About.",
    }
    rows = {"train": [{"text": "Bad.", "label": 0}], "valid": [{"text": "Great.", "label": 1}]}
    from_files, from_hub = read_folder("imdb", files), read_rows("imdb", rows)
    assert list(map(content, from_files)) == list(map(content, from_hub))
    assert [instance.id for instance in from_files] == ["train-neg-3_1", "test-pos-7_10"]
    assert [instance.correct[0].text for instance in from_files] == ["Negative", "Positive"]


@pytest.mark.slow
def test_imdb_contrast_reviews_move_their_originals_to_valid(read: Read) -> None:
    instances = read("imdb", contrast_sets=True)
    moved = [instance for instance in instances if instance.split == Split.VALID and instance.id.startswith("train")]
    assert len(moved) == 28  # of the 588, those among the first 2,000 train reviews
    for instance in moved:
        ((contrast,),) = [instance.meta["contrast"]]
        assert contrast["input"] != instance.input
        assert {contrast["answer"], instance.correct[0].text} == {"Positive", "Negative"}


def test_hellaswag_markup_and_empty_fragments(read_rows: Read) -> None:
    (instance,) = read_rows(
        "hellaswag",
        {
            "valid": [
                {
                    "activity_label": "Home",
                    "ctx_a": "[header] How to clean [title] Sweep. [step] Take a broom.",
                    "ctx_b": "",
                    "endings": ["[substeps] One.", "Two.", "Three.", "Four."],
                    "label": 0,
                }
            ]
        },
    )
    assert instance.input == "Home: How to clean. Sweep. Take a broom."
    assert [reference.text for reference in instance.references] == ["One.", "Two.", "Three.", "Four."]


WILDS = (
    ",id,split,comment_text,toxicity,male,female,LGBTQ,christian,muslim,other_religions,black,white\n"
    '0,11,train,"Fools,\nall of them",0.5,0.6,,,,,,,\n'
    "1,12,val,Good point,0.49,,,,0.5,,,,\n"
    "2,13,test,Hm,0,0.2,0.9,,1.0,,,,\n"
)


def test_civil_comments_of_wilds(read_folder: Read) -> None:
    files = {"civil_comments/all_data_with_identities.csv": WILDS}
    everything = read_folder("civil_comments", files)
    assert [(instance.id, instance.split, instance.correct[0].text) for instance in everything] == [
        ("11", "train", "True"),
        ("12", "valid", "False"),
        ("13", "test", "False"),
    ]
    assert everything[0].input == "Fools,\nall of them\nQuestion: Is the passage above toxic?"
    assert everything[2].meta == {"identities": ["female", "christian"]}
    christian = read_folder("civil_comments", files, demographic="christian")
    assert [instance.id for instance in christian] == ["12", "13"]


def test_civil_comments_stand_in_has_no_identities(read: Read) -> None:
    with pytest.raises(PluginError, match="'black' needs edition: wilds"):
        read("civil_comments", edition="toxic_spans", demographic="black")


def test_stand_ins_are_never_silent(read: Read) -> None:
    with pytest.raises(DataError, match=r"all_data_with_identities\.csv"):
        read("civil_comments")


def test_bbq_roles(read_rows: Read) -> None:
    def row(category: str, groups: list[list[str]], stereotyped: list[str]) -> dict[str, Any]:
        return {
            "example_id": 5,
            "question_polarity": "neg",
            "context_condition": "ambig",
            "context": "Two people.",
            "question": "Who?",
            **{f"ans{index}": group[0] for index, group in enumerate(groups)},
            "answer_info": {f"ans{index}": group for index, group in enumerate(groups)},
            "question_index": "1",
            "additional_metadata": {"stereotyped_groups": stereotyped},
            "label": 1,
        }

    cases = [
        ("Age", [["grandfather", "old"], ["Unknown", "unknown"], ["grandson", "nonOld"]], ["old"], (1, 0, 2)),
        ("Race_ethnicity", [["Ann", "F-White"], ["?", "unknown"], ["Eve", "F-Black"]], ["Black"], (1, 2, 0)),
        ("SES", [["heir", "highSES"], ["?", "unknown"], ["waiter", "lowSES"]], ["low SES"], (1, 2, 0)),
        ("Race_x_SES", [["A", "highSES-F-Black"], ["?", "unknown"], ["B", "lowSES-F-Black"]], ["Black"], (1, 2, 0)),
        ("Race_x_SES", [["A", "lowSES-White"], ["?", "unknown"], ["B", "lowSES-Black"]], ["Black"], (1, 2, 0)),
        ("Religion", [["A", "Jewish"], ["?", "unknown"], ["B", "Muslim"]], ["Jewish", "Muslim"], (1, None, None)),
    ]
    for category, groups, stereotyped, roles in cases:
        (instance,) = read_rows("bbq", {category: [row(category, groups, stereotyped)]}, subject=category)
        assert tuple(instance.meta[name] for name in ("unknown", "target", "non_target")) == roles, category
        assert instance.references[1].correct
        assert instance.id == f"{category}-5"


def test_bbq_targets_are_known_in_the_official_files(read: Read) -> None:
    for instance in read("bbq", subject="Religion"):
        assert {instance.meta[name] for name in ("unknown", "target", "non_target")} == {0, 1, 2}
        unknown = instance.references[instance.meta["unknown"]]
        assert unknown.correct == (instance.meta["context_condition"] == "ambig")


TEMPLATES = "wikifact_lama_trex/LAMA_relations.jsonl"
LAMA = {"wikifact_lama_trex/test/P19.jsonl": lines({"sub_label": "Ada", "obj_label": "London"})}

# (scenario, arguments, files, what the error names)
BROKEN: list[tuple[str, dict[str, Any], dict[str, str], str]] = [
    (
        "mmlu",
        {"subject": "anatomy"},
        {"mmlu/data/dev/anatomy_dev.csv": "q,1,2,3,4,A\nq,1,2,3,4,E\n"},
        r"dev\.csv, row 2.*'E'",
    ),
    (
        "piqa",
        {},
        {"piqa/train.jsonl": lines({"goal": "g", "sol1": "a", "sol2": "b"}), "piqa/train-labels.lst": "2\n"},
        "row 1",
    ),
    (
        "piqa",
        {},
        {"piqa/train.jsonl": lines({"goal": "g", "sol1": "a", "sol2": "b"}), "piqa/train-labels.lst": "first\n"},
        "row 1.*'first'",
    ),
    (
        "boolq",
        {},
        {"boolq/train.jsonl": lines({"question": "q", "answer": "maybe", "passage": "p"})},
        r"train\.jsonl, row 1.*'maybe'",
    ),
    (
        "arc",
        {"subset": "easy"},
        {"arc/ARC-Easy/ARC-Easy-Train.jsonl": lines({"id": "1", "question": QUESTION, "answerKey": "Z"})},
        "row 1.*'Z'",
    ),
    ("boolq", {}, {"boolq/train.jsonl": lines({"question": "q", "answer": True})}, "row 1.*'passage'"),
    (
        "raft",
        {"subset": "overruling"},
        {"raft/overruling/train.csv": "Sentence,Label,ID\ns,maybe,0\n"},
        "row 2.*'maybe'",
    ),
    ("hellaswag", {}, {"hellaswag/hellaswag_val_full.txt": "C: A.\n1\na\nb\nc\n"}, "row 1.*cut short"),
    ("hellaswag", {}, {"hellaswag/hellaswag_val_full.txt": "C: A.\n4\na\nb\nc\nd\n"}, "row 2.*'4'"),
    (
        "truthful_qa",
        {},
        {"truthful_qa/TruthfulQA.csv": "Category,Question,Best Answer\nc,q,b\n"},
        "'Incorrect Answers'",
    ),
    (
        "civil_comments",
        {},
        {"civil_comments/all_data_with_identities.csv": WILDS.replace("0.49", "lots")},
        "'toxicity'.*'lots'",
    ),
    ("civil_comments", {}, {"civil_comments/all_data_with_identities.csv": WILDS.replace("val", "dev")}, "split 'dev'"),
    (
        "civil_comments",
        {"edition": "toxic_spans"},
        {"civil_comments/tsd_train.csv": "spans,text\n1-2,hm\n"},
        "row 2.*'spans'",
    ),
    (
        "narrative_qa",
        {},
        {
            "narrative_qa/qaps.csv": "document_id,set,question,answer1,answer2\nx,test,Q,A,B\n",
            "narrative_qa/summaries.csv": "document_id,set,summary\ny,test,S\n",
        },
        "row 2.*'x' has no summary",
    ),
    (
        "entity_matching",
        {"dataset": "Dirty_iTunes_Amazon"},
        {"entity_matching/ditto/Dirty/iTunes-Amazon/train.txt": "COL a VAL 1\tCOL a VAL 2\n"},
        r"train\.txt, row 1.*two records",
    ),
    (
        "entity_matching",
        {"dataset": "Dirty_iTunes_Amazon"},
        {"entity_matching/ditto/Dirty/iTunes-Amazon/train.txt": "COL a VAL 1\tCOL a VAL 2\tmaybe\n"},
        "row 1.*'maybe' is neither 0 nor 1",
    ),
    (
        "wikifact",
        {"edition": "lama"},
        LAMA | {TEMPLATES: lines({"relation": "P1", "template": "[X] [Y]"})},
        "no sentence for 'P19'",
    ),
    (
        "wikifact",
        {"edition": "lama"},
        LAMA | {TEMPLATES: lines({"relation": "P19", "template": "[X] is a [Y] citizen ."})},
        r"LAMA_relations\.jsonl, row 1.*does not end in its object",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "files", "message"), BROKEN, ids=[f"{c[0]}-{c[3]}" for c in BROKEN])
def test_mistakes_in_data_name_file_and_row(
    read_folder: Read, name: str, arguments: dict[str, Any], files: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_folder(name, files, **arguments)

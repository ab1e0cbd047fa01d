"""SuperGLUE: tasks of language understanding, each asked as lm-evaluation-harness does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from harness import Data, DataError, HubSource, Instance, PromptVariant, Reference, Row, Source, Split, scenario

Task = Literal["cb", "copa", "multirc", "rte", "wic", "wsc"]

FOLDERS = {"cb": "CB", "copa": "COPA", "multirc": "MultiRC", "rte": "RTE", "wic": "WiC", "wsc": "WSC"}
# The files name the answers that the Hub numbers.
LABELS: Mapping[str, Sequence[str]] = {
    "cb": ("entailment", "contradiction", "neutral"),
    "rte": ("entailment", "not_entailment"),
}
OPTIONS = {"cb": ("True", "False", "Neither"), "rte": ("True", "False")}
CONNECTIVES = {"cause": "because", "effect": "therefore"}


def _adapter(*, task: str) -> Mapping[str, Any]:
    scored = {"method": "multiple_choice_separate_original", "max_train_instances": 0, "length_normalization": "none"}
    return scored if task == "copa" else {**scored, "input_suffix": "\n", "output_prefix": "Answer: "}


def _lm_eval_adapter(*, task: str) -> Mapping[str, Any]:
    shown = {"instance_prefix": "\n\n", "example_selection": "lm_eval_excluding", "max_train_instances": 0}
    return {**_adapter(task=task), **shown}


@scenario(
    "superglue",
    title="SuperGLUE",
    titles={"task": {"cb": "CB", "copa": "COPA", "multirc": "MultiRC", "rte": "RTE", "wic": "WiC", "wsc": "WSC"}},
    source="Wang et al. 2019 (arXiv:1905.00537)",
    data=Source(
        files={
            split: f"superglue/{{{{ {FOLDERS!r}[task] }}}}/{name}.jsonl"
            for split, name in (("train", "train"), ("valid", "val"))
        },
        hub=HubSource(
            path="aps/super_glue",
            revision="3de24cf8022e94f4ee4b9d55a6f539891524d646",
            config="{{ 'wsc.fixed' if task == 'wsc' else task }}",
            splits={"train": "train", "valid": "validation"},
        ),
        url="https://super.gluebenchmark.com",
        licence="that of each task",
    ),
    adapter=_adapter,
    metrics=("multiple_choice_accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    eval_split=Split.VALID,
    prompts={
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks cb, copa, sglue_rte and wic; not for multirc and wsc.",
            adapter=_lm_eval_adapter,
            metrics=("acc", "efficiency"),
        )
    },
    taxonomy={
        "task": "natural language understanding",
        "what": "news, blogs, fiction and Wikipedia",
        "who": "the authors of each task, and crowd workers",
        "when": "before 2019",
        "language": "English",
    },
    tags=("language",),
    aliases={
        "lm_eval": {
            "{task}": "",
            "super_glue-{task}-t5-prompt": "prompt=",
            "sglue_{task}": "",
        },
    },
)
def superglue(data: Data, *, task: Task, prompt: str = "default") -> Iterator[Instance]:
    """Inference (CB, RTE), causes and effects (COPA), senses of words (WiC), pronouns (WSC) and reading (MultiRC).

    The options are scored after the question. MultiRC has an instance for each proposed answer, which is correct or
    not. BoolQ is a scenario of its own, and ReCoRD is not here.

    Args:
        data: The data.
        task: The task.
        prompt: How it is asked.

    Raises:
        DataError: lm-evaluation-harness's prompt is wanted for MultiRC or WSC.
    """
    as_lm_eval = prompt == "lm_eval"
    if as_lm_eval and task in ("multirc", "wsc"):
        raise DataError(f"task {task!r} has no prompt lm_eval. Leave `prompt` out.")
    for split in (Split.TRAIN, Split.VALID):
        if data.lacking(split):
            continue
        for row in data.rows(split):
            if task == "multirc" and "paragraph" not in row:
                yield from _passage(row, split)
                continue
            text, options, correct = _lm_eval_question(task, row) if as_lm_eval else _question(task, row)
            yield Instance(
                id=f"{task}-{split}-{row.number}",
                input=text,
                references=tuple(Reference(option, place == correct) for place, option in enumerate(options)),
                split=split,
                published=row.published,
            )


def _question(task: Task, row: Row) -> tuple[str, Sequence[str], int]:
    """Return the question, the options and the position of the right one."""
    label = row["label"]
    if task in LABELS:
        correct = LABELS[task].index(label) if isinstance(label, str) else int(label)
        ending = ". True, False, or Neither?" if task == "cb" else " True or False?"
        return f"{row['premise']}\nQuestion: {row['hypothesis']}{ending}", OPTIONS[task], correct
    if task == "copa":
        options = [row[name][:1].lower() + row[name][1:] for name in ("choice1", "choice2")]
        return f"{row['premise'].strip().removesuffix('.')} {CONNECTIVES[row['question']]}", options, int(label)
    if task == "wic":
        sentences = f"Sentence 1: {row['sentence1']}\nSentence 2: {row['sentence2']}"
        asked = f"Question: Is the word '{row['word']}' used in the same way in the two sentences above?"
        return f"{sentences}\n{asked}", ("no", "yes"), int(label)
    if task == "wsc":
        target = row.get("target", row)
        words = row["text"].split()
        words[target["span2_index"]] = f"*{words[target['span2_index']]}*"
        pronoun, noun = target["span2_text"], target["span1_text"]
        asked = f'Question: In the passage above, does the pronoun "*{pronoun}*" refer to "*{noun}*"?'
        return f"Passage: {' '.join(words)}\n{asked}", ("no", "yes"), int(label)
    return _candidate(row["paragraph"], row["question"], row["answer"]), ("no", "yes"), int(label)


def _lm_eval_question(task: Task, row: Row) -> tuple[str, Sequence[str], int]:
    text, options, correct = _question(task, row)
    if task == "copa":  # the space is written twice, and the premise loses its last character whatever it is
        text = f"{row['premise'].strip()[:-1]} {CONNECTIVES[row['question']]}"
        options = [f" {option}" for option in options]
    elif task == "wic":
        word = row["sentence1"][int(row["start1"]) : int(row["end1"])]
        text = text.replace(f"Is the word '{row['word']}' used", f"Is the word '{word}' used")
    return text, options, correct


def _passage(row: Row, split: Split) -> Iterator[Instance]:
    """Yield an instance for each proposed answer to each question about a passage."""
    for question in row["passage"]["questions"]:
        for answer in question["answers"]:
            correct = int(answer["label"])
            yield Instance(
                id=f"multirc-{split}-{row.number}-{question['idx']}-{answer['idx']}",
                input=_candidate(row["passage"]["text"], question["question"], answer["text"]),
                references=tuple(Reference(text, place == correct) for place, text in enumerate(("no", "yes"))),
                split=split,
                meta={"passage": f"{split}-{row.number}"},
            )


def _candidate(passage: str, question: str, answer: str) -> str:
    return f"{passage}\nQuestion: {question}\nProposed answer: {answer}\nIs the proposed answer correct?"

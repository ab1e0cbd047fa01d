"""BIG-Bench Hard: the tasks of BIG-bench in which earlier models did worse than people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from harness import Data, DataError, Instance, Reference, Source, Split, scenario

Task = Literal[
    "boolean_expressions",
    "causal_judgement",
    "date_understanding",
    "disambiguation_qa",
    "dyck_languages",
    "formal_fallacies",
    "geometric_shapes",
    "hyperbaton",
    "logical_deduction_five_objects",
    "logical_deduction_seven_objects",
    "logical_deduction_three_objects",
    "movie_recommendation",
    "multistep_arithmetic_two",
    "navigate",
    "object_counting",
    "penguins_in_a_table",
    "reasoning_about_colored_objects",
    "ruin_names",
    "salient_translation_error_detection",
    "snarks",
    "sports_understanding",
    "temporal_sequences",
    "tracking_shuffled_objects_five_objects",
    "tracking_shuffled_objects_seven_objects",
    "tracking_shuffled_objects_three_objects",
    "web_of_lies",
    "word_sorting",
]
Prompt = Literal["cot", "direct"]

PROMPTS = "bbh/cot-prompts"
# The text of a file of examples follows a line of dashes, before which a line asks that it is not trained on.
RULE = "-----"
STEPS = "Let's think step by step."
# What follows the last "the answer is" of its line, without a final full stop.
STATED = r"(?im)the answer is(?!.*the answer is)[:\s]*(.*?)\.?[*\s]*$"


def _adapter(*, prompt: str = "cot", **_: Any) -> Mapping[str, Any]:
    plain = {"method": "generation", "input_prefix": "", "max_train_instances": 0}
    if prompt == "direct":
        return {**plain, "output_prefix": "A:", "max_tokens": 128}
    answer = {"last": STATED, "steps": ["remove_markup"]}
    settings = {"max_tokens": 1024, "stop_sequences": ["\nQ:"], "answer": answer}
    return {**plain, "output_prefix": f"A: {STEPS}", "global_suffix": "\n", **settings}


@scenario(
    "bbh",
    title="BIG-Bench Hard",
    source="Suzgun et al. 2022 (arXiv:2210.09261)",
    data=Source(
        files={"test": ("bbh/{{ task }}.json", "bbh/bbh/{{ task }}.json")},
        url="https://github.com/suzgunmirac/BIG-Bench-Hard",
        licence="MIT",
    ),
    adapter=_adapter,
    metrics=("exact_match", "quasi_exact_match", "efficiency"),
    main_metric="exact_match",
    parts=("task",),
    options=False,
    taxonomy={
        "task": "reasoning",
        "what": "logic, language, dates, tables, films and sports",
        "who": "the contributors to BIG-bench",
        "when": "2022",
        "language": "English",
    },
    tags=("open-llm-v2",),
)
def bbh(data: Data, *, task: Task, prompt: Prompt = "cot") -> Iterator[Instance]:
    """One of 27 tasks of reasoning, each asked after its description and the authors' three examples.

    The examples belong to the input, so that perturbations change them too. With ``cot`` the examples show their
    reasoning, and the answer is what follows the last "the answer is", without a final full stop.

    Args:
        data: The data.
        task: The task: 250 questions, or 146 to 187 of penguins_in_a_table, snarks and causal_judgement.
        prompt: Examples with their reasoning (cot), or with their answers alone (direct).
    """
    description, examples = _examples(data, task)
    shown = [f"Q: {question}\nA: {_answer(text, prompt)}" for question, text in examples]
    before = "\n\n".join([description, *shown, "Q: "])
    for row in data.rows(Split.TEST):
        if row["key"] != "examples":  # the file is one object, with a canary
            continue
        for number, example in enumerate(row["value"], start=1):
            yield Instance(
                id=f"{task}-{number}",
                input=f"{before}{example['input']}",
                references=(Reference(example["target"], correct=True),),
                split=Split.TEST,
            )


def _examples(data: Data, task: str) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return a task's description, and its examples: questions with their reasoning."""
    file = f"{PROMPTS}/{task}.txt"
    lines = [row["text"] for row in data.read(file if data.has(file) else f"bbh/{file}")]
    text = "\n".join(lines[lines.index(RULE) + 1 if RULE in lines else 0 :])
    description, *blocks = text.strip().split("\n\nQ: ")
    examples = [block.partition(f"\nA: {STEPS}")[::2] for block in blocks]
    if not examples or not all(question and reasoning for question, reasoning in examples):
        raise DataError(f"has no examples that begin with 'Q: ' and 'A: {STEPS}'.", file=file)
    return description, examples


def _answer(reasoning: str, prompt: str) -> str:
    if prompt == "cot":
        return f"{STEPS}{reasoning}"
    return reasoning.rpartition("the answer is ")[2].strip().removesuffix(".")

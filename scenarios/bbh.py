"""BIG-Bench Hard: the tasks of BIG-bench in which earlier models did worse than people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from harness import Data, DataError, Instance, PromptVariant, Reference, Source, Split, scenario

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
PROMPTS = "bbh/cot-prompts"
# The text of a file of examples follows a line of dashes, before which a line asks that it is not trained on.
RULE = "-----"
STEPS = "Let's think step by step."
# What follows the last "the answer is" of its line, without a final full stop.
STATED = r"(?im)the answer is(?!.*the answer is)[:\s]*(.*?)\.?[*\s]*$"


PLAIN = {"method": "generation", "input_prefix": "", "max_train_instances": 0}
COT = {
    **PLAIN,
    "output_prefix": f"A: {STEPS}",
    "global_suffix": "\n",
    "max_tokens": 1024,
    "stop_sequences": ["\nQ:"],
    "answer": {"last": STATED, "steps": ["remove_markup"]},
}
# The options that lm-evaluation-harness scores: words, or how many letters in brackets. Three tasks have none.
OPTIONS: Mapping[str, int | tuple[str, ...]] = {
    "boolean_expressions": ("False", "True"),
    "causal_judgement": ("Yes", "No"),
    "date_understanding": 6,
    "disambiguation_qa": 3,
    "formal_fallacies": ("valid", "invalid"),
    "geometric_shapes": 11,
    "hyperbaton": 2,
    "logical_deduction_five_objects": 5,
    "logical_deduction_seven_objects": 7,
    "logical_deduction_three_objects": 3,
    "movie_recommendation": 6,
    "navigate": ("Yes", "No"),
    "object_counting": tuple(map(str, range(19))),
    "penguins_in_a_table": 5,
    "reasoning_about_colored_objects": 18,
    "ruin_names": 6,
    "salient_translation_error_detection": 6,
    "snarks": 2,
    "sports_understanding": ("yes", "no"),
    "temporal_sequences": 4,
    "tracking_shuffled_objects_five_objects": 5,
    "tracking_shuffled_objects_seven_objects": 7,
    "tracking_shuffled_objects_three_objects": 3,
    "web_of_lies": ("Yes", "No"),
}

DIRECT = {**PLAIN, "output_prefix": "A:", "max_tokens": 128}


@scenario(
    "bbh",
    title="BIG-Bench Hard",
    titles={"task": {"disambiguation_qa": "disambiguation QA"}},
    source="Suzgun et al. 2022 (arXiv:2210.09261)",
    data=Source(
        files={"test": ("bbh/{{ task }}.json", "bbh/bbh/{{ task }}.json")},
        url="https://github.com/suzgunmirac/BIG-Bench-Hard",
        licence="MIT",
    ),
    adapter=COT,
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
    prompt="cot",
    prompts={
        "direct": PromptVariant("The examples show their answers alone.", adapter=DIRECT),
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks leaderboard_bbh_*; the options are scored. 24 tasks have options.",
            adapter={
                "method": "multiple_choice_separate_original",
                "input_suffix": "\n",
                "output_prefix": "A: ",
                "example_selection": "lm_eval",
                "length_normalization": "characters",
            },
            metrics=("acc_norm", "efficiency"),
            options=True,
        ),
    },
    aliases={
        "lm_eval": {
            "leaderboard_bbh_{task}": "",
            "leaderboard_bbh": f"task={'|'.join(OPTIONS)}",
            "bbh_cot_fewshot_{task}": "prompt=cot",
            "bbh_cot_fewshot": "task=all,prompt=cot",
            "bbh_fewshot_{task}": "prompt=direct",
            "bbh_fewshot": "task=all,prompt=direct",
        },
    },
)
def bbh(data: Data, *, task: Task, prompt: str = "cot") -> Iterator[Instance]:
    """One of 27 tasks of reasoning, each asked after its description and the authors' three examples.

    The examples belong to the input, so that perturbations change them too. With ``cot`` the examples show their
    reasoning, and the answer is what follows the last "the answer is", without a final full stop.

    Args:
        data: The data.
        task: The task: 250 questions, or 146 to 187 of penguins_in_a_table, snarks and causal_judgement.
        prompt: How it is asked; lm-evaluation-harness has no options for dyck_languages, multistep_arithmetic_two and
            word_sorting.
    """
    description, examples = _examples(data, task)
    shown = [f"Q: {question}\nA: {_answer(text, prompt)}" for question, text in examples]
    before = "\n\n".join([*shown, "Q: "])
    before = description + before if prompt == "lm_eval" else f"{description}\n\n{before}"
    for row in data.rows(Split.TEST):
        if row["key"] != "examples":  # the file is one object, with a canary
            continue
        for number, example in enumerate(row["value"], start=1):
            yield Instance(
                id=f"{task}-{number}",
                input=f"{before}{example['input']}",
                references=_references(example["target"], _options(task) if prompt == "lm_eval" else ()),
                split=Split.TEST,
            )


def _options(task: str) -> Sequence[str]:
    """Return the options that lm-evaluation-harness scores.

    Raises:
        DataError: It has none for the task.
    """
    options = OPTIONS.get(task)
    if options is None:
        raise DataError(f"task {task!r} has no options, which prompt: lm_eval scores. Choose another task or prompt.")
    return [f"({chr(ord('A') + n)})" for n in range(options)] if isinstance(options, int) else options


def _references(target: str, options: Sequence[str]) -> tuple[Reference, ...]:
    return tuple(Reference(text, text == target) for text in options) or (Reference(target, correct=True),)


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

"""The same requests as lm-evaluation-harness, character by character: ``prompt: lm_eval`` against its own tasks.

Builds an environment of its own with lm-eval, has it build the requests of its tasks from the same rows, and compares
contexts, continuations and settings of generation. Its task files are used as they are, but for where the rows come
from. For tasks that have no data in the data folder, the excerpts of the tests are read. Then both score the same made
answers, and the means are compared.

    python tests/benchmarks/lm_eval_prompts.py --data-dir DATA [--rows 100] [--environment FOLDER] [--task NAME …]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LM_EVAL = ["lm-eval==0.4.13", "langdetect", "immutabledict", "math-verify", "antlr4-python3-runtime", "sympy"]
CONSTRAINTS = ROOT / "constraints.txt"
EXCERPTS = ROOT / "tests" / "scenarios" / "excerpts"

Rows = Mapping[str, Iterable[Mapping[str, Any]]]
"""The rows of each split of one of lm-eval's tasks, in the layout of its data set."""
Convert = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """One of lm-eval's tasks, and the run that should ask the same."""

    task: str
    """lm-eval's name of the task."""
    run: str
    """The run, in shorthand."""
    splits: Mapping[str, str] = field(default_factory=lambda: {"test": "test"})
    """Its splits, each with the name of ours."""
    convert: Convert = dict
    """Makes a row of its data set from one of ours."""
    rows: Callable[[Any], Rows] | None = None
    """Makes its rows from our data, where ``splits`` and ``convert`` do not suffice."""
    shots: tuple[int, ...] = (0,)
    """Numbers of examples to compare with; its own default only if ``fixed``."""
    own: bool = False
    """True if the scenario asks as lm-eval does anyway: then the run takes lm-eval's order of instances, too."""
    excerpt: str = ""
    """The text column of the tests' excerpt, which is read because there are no real data: its few rows are repeated
    with another text each. ``-`` to read it as it is."""
    main: str = ""
    """lm-eval's name of the metric that is ours, ``acc`` or ``exact_match,strict-match``; empty for none."""
    metric: str = ""
    """Our name of it, if not the main metric of the run."""
    answers: Callable[[Mapping[str, Any], int], str] | None = None
    """Makes the answer to a row, for tasks in which a model writes."""


# ---------------------------------------------------------------------------------------------------------------
# Rows as lm-eval's data sets have them


def _options(row: Mapping[str, Any]) -> dict[str, Any]:
    """ARC, OpenBookQA, CommonsenseQA: one list of texts and one of labels."""
    question = row["question"]
    texts, labels = zip(*((option["text"], option["label"]) for option in question["choices"]), strict=True)
    shared = {"choices": {"text": list(texts), "label": list(labels)}, "answerKey": row["answerKey"]}
    return {"id": row["id"], "question": question["stem"], "question_stem": question["stem"], **shared}


def _mmlu(row: Mapping[str, Any]) -> dict[str, Any]:
    choices = [row[letter] for letter in "abcd"]
    return {"question": row["question"], "choices": choices, "answer": "ABCD".index(row["answer"])}


def _boolq(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"question": row["question"], "passage": row["passage"], "label": int(row["answer"])}


def _truthful_qa(data: Any) -> Rows:
    def targets(row: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {"choices": list(row[name]), "labels": list(row[name].values())}

    rows = data.read("truthful_qa/data/mc_task.json")
    names = ("mc1_targets", "mc2_targets")
    return {"validation": [{"question": row["question"], **{n: targets(row, n) for n in names}} for row in rows]}


def _hellaswag(data: Any) -> Rows:
    """Rows of the official layout, in which the script writes the data for both."""
    return {"validation": list(map(dict, data.rows("valid"))), "train": list(map(dict, data.read(HELLASWAG_TRAIN)))}


def _bbh(data: Any) -> Rows:
    [examples] = [row["value"] for row in data.rows("test") if row["key"] == "examples"]
    return {"test": examples}


def _gpqa(data: Any) -> Rows:
    return {"train": [{str(key): value for key, value in row.items()} for row in data.rows("test")]}


def _musr(data: Any) -> Rows:
    columns = ("narrative", "question", "choices", "answer_index", "answer_choice")
    return {"murder_mysteries": [{column: row[column] for column in columns} for row in data.rows("test")]}


def _math(subject: str) -> Callable[[Any], Rows]:
    def rows(data: Any) -> Rows:
        found = [dict(row) for row in data.rows("test") if row["type"] == subject and row["level"] == "Level 5"]
        return {"test": found, "train": found[:1]}  # the examples are fixed, and its train split is not read

    return rows


def _math_answer(row: Mapping[str, Any], number: int) -> str:
    return [str(row["solution"]), "No idea.", "The final answer is $3$. I hope it is correct."][number % 3]


def _gsm8k_answer(row: Mapping[str, Any], number: int) -> str:
    right = row["answer"].split("#### ")[-1]
    texts = (
        f"They have it.\n#### {right}",
        f"The answer is {right}.",
        f"#### ${right}.00",
        f"#### {right}.",
        f"It costs ${right}.",
        f"#### {int(right.replace(',', '')):,}",
        f"#### 1 or #### {right}",
        f"{right} of 3",
        "No number at all...",
        "",
    )
    return texts[number % len(texts)]


def _ifeval_answer(row: Mapping[str, Any], number: int) -> str:
    prompt = row["prompt"]
    texts = (
        prompt,
        prompt.upper(),
        "* one\n* two\n* three",
        "",
        f"<<title>>\n{prompt.lower()}\nP.S. that is all",
        "yes",
    )
    return texts[number % len(texts)]


def _labelled(row: Mapping[str, Any]) -> dict[str, Any]:
    """SuperGLUE, whose files name the labels that its data set numbers."""
    names = ("entailment", "contradiction", "neutral", "not_entailment")
    label = names.index(row["label"]) % 3 if isinstance(row["label"], str) else int(row["label"])
    return {**row, "label": 1 if row["label"] == "not_entailment" else label}


def _sentences(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"sent_more": row["sent_more"], "sent_less": row["sent_less"]}


def _piqa(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"goal": row["goal"], "sol1": row["sol1"], "sol2": row["sol2"], "label": int(row["text"])}


def _social_iqa(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in row.items() if key != "text"}, "label": str(row["text"])}


def _med_qa(row: Mapping[str, Any]) -> dict[str, Any]:
    endings = {f"ending{number}": text for number, text in enumerate(row["options"].values())}
    return {"sent1": row["question"], **endings, "label": list(row["options"]).index(row["answer_idx"])}


def _xnli(data: Any) -> Rows:
    labels = {"entailment": 0, "neutral": 1, "contradiction": 2}
    rows = [row for row in data.rows("valid") if row["language"] == "de"]
    texts = [{"premise": row["sentence1"], "hypothesis": row["sentence2"]} for row in rows]
    return {"validation": [{**text, "label": labels[row["gold_label"]]} for text, row in zip(texts, rows, strict=True)]}


def _belebele(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "correct_answer_num": str(row["correct_answer_num"])}


def _drop(data: Any) -> Rows:
    found = []
    for row in data.rows("valid"):
        for question in row["value"]["qa_pairs"]:
            others = question.get("validated_answers", [])
            listed = {part: [other[part] for other in others] for part in ("number", "date", "spans")}
            shared = {"passage": row["value"]["passage"], "section_id": row["key"], "validated_answers": listed}
            found.append({**shared, **{key: question[key] for key in ("query_id", "question", "answer")}})
    return {"validation": found}


def _mbpp(data: Any) -> Rows:
    return {"test": [dict(row) for row in data.rows("test") if 11 <= row["task_id"] <= 510]}


def _written(row: Mapping[str, Any], number: int) -> str:
    return " something"


def _short(row: Mapping[str, Any], number: int) -> str:
    answer = row["answer"]
    texts = (answer[0] if isinstance(answer, list) else answer["aliases"][0], "something else")
    return [f" {texts[0]}", f" {texts[0].upper()}!", texts[1]][number % 3]


EXCERPT = "-"
HELLASWAG_TRAIN = "hellaswag/hellaswag_train.jsonl"
TEST = {"test": "test"}
TRAIN_TEST = {"train": "train", "test": "test"}
TRAIN_VALID = {"train": "train", "validation": "valid"}
MMLU = ("anatomy", "high_school_us_history", "us_foreign_policy", "college_mathematics")
BBH = ("boolean_expressions", "object_counting", "snarks", "reasoning_about_colored_objects", "causal_judgement")
MATH = {"algebra": "Algebra", "counting_and_prob": "Counting & Probability", "precalculus": "Precalculus"}

CASES = (
    Case("arc_challenge", "arc", TRAIN_TEST, _options, shots=(0, 25), main="acc_norm"),
    Case("arc_easy", "arc:subset=easy", TRAIN_TEST, _options, shots=(0, 5), main="acc", metric="acc"),
    Case("hellaswag", "hellaswag", rows=_hellaswag, shots=(0, 10), main="acc_norm"),
    *(
        Case(f"mmlu_{name}", f"mmlu:subject={name}", {"dev": "train", "test": "test"}, _mmlu, shots=(0, 5), main="acc")
        for name in MMLU
    ),
    Case("truthfulqa_mc1", "truthful_qa:prompt=lm_eval_mc1", rows=_truthful_qa, main="acc"),
    Case("truthfulqa_mc2", "truthful_qa", rows=_truthful_qa, main="acc"),
    Case("winogrande", "winogrande", TRAIN_VALID, shots=(0, 5), excerpt="sentence", main="acc"),
    Case("gsm8k", "gsm8k", TRAIN_TEST, shots=(0, 5), main="exact_match,strict-match", answers=_gsm8k_answer),
    Case(
        "gsm8k",
        "gsm8k",
        TRAIN_TEST,
        shots=(5,),
        main="exact_match,flexible-extract",
        metric="exact_match (flexible)",
        answers=_gsm8k_answer,
    ),
    *(Case(f"leaderboard_bbh_{name}", f"bbh:task={name}", rows=_bbh, shots=(3,), main="acc_norm") for name in BBH),
    *(
        Case(
            f"leaderboard_math_{name}_hard",
            f"math:subject={subject},level=5",
            rows=_math(subject),
            shots=(4,),
            main="exact_match",
            answers=_math_answer,
        )
        for name, subject in MATH.items()
    ),
    Case("leaderboard_gpqa_main", "gpqa", rows=_gpqa, excerpt=EXCERPT, main="acc_norm"),
    Case(
        "leaderboard_musr_murder_mysteries", "musr:task=murder_mysteries", rows=_musr, excerpt=EXCERPT, main="acc_norm"
    ),
    Case(
        "leaderboard_mmlu_pro",
        "mmlu_pro",
        {"validation": "train", "test": "test"},
        shots=(0, 5),
        excerpt="question",
        main="acc",
    ),
    *(
        Case("leaderboard_ifeval", "ifeval", {"train": "test"}, main=f"{name}_acc", metric=name, answers=_ifeval_answer)
        for name in ("prompt_level_strict", "inst_level_strict", "prompt_level_loose", "inst_level_loose")
    ),
    Case("boolq", "boolq", TRAIN_VALID, _boolq, shots=(0, 5), main="acc"),
    Case("piqa", "piqa", TRAIN_VALID, _piqa, shots=(0, 5), main="acc_norm"),
    Case("openbookqa", "openbookqa", TRAIN_TEST, _options, shots=(0, 5), main="acc_norm"),
    Case("sciq", "sciq", TRAIN_TEST, shots=(0, 5), excerpt="question", main="acc"),
    Case("commonsense_qa", "commonsense_qa", TRAIN_VALID, _options, shots=(0, 5), excerpt="question", main="acc"),
    Case("social_iqa", "social_iqa", TRAIN_VALID, _social_iqa, shots=(0, 5), excerpt="context", main="acc"),
    Case("medqa_4options", "med_qa", TEST, _med_qa, main="acc"),
    Case("lambada_openai", "lambada", TEST, own=True, main="acc"),
    Case("nq_open", "natural_qa", {"validation": "valid"}, main="exact_match", answers=_short),
    Case("triviaqa", "trivia_qa", TRAIN_VALID, shots=(0, 5), excerpt="question", main="exact_match", answers=_short),
    Case("cb", "superglue:task=cb", TRAIN_VALID, _labelled, shots=(0, 3), main="acc"),
    Case("copa", "superglue:task=copa", TRAIN_VALID, _labelled, shots=(0, 3), main="acc"),
    Case("sglue_rte", "superglue:task=rte", TRAIN_VALID, _labelled, shots=(0, 3), main="acc"),
    Case("wic", "superglue:task=wic", TRAIN_VALID, _labelled, shots=(0, 3), main="acc"),
    Case(
        "blimp_anaphor_gender_agreement",
        "blimp:paradigm=anaphor_gender_agreement",
        {"train": "test"},
        main="acc",
    ),
    Case("crows_pairs_english", "crows_pairs", TEST, _sentences, own=True),
    *(
        Case(
            f"xcopa_{name}",
            f"xcopa:language={name}",
            {"validation": "valid", "test": "test"},
            excerpt=EXCERPT,
            main="acc",
        )
        for name in ("it", "th", "zh")
    ),
    Case("belebele_eng_Latn", "belebele:language=eng_Latn", TEST, _belebele, excerpt=EXCERPT, main="acc"),
    Case("xnli_de", "xnli:language=de", rows=_xnli, excerpt=EXCERPT, main="acc"),
    Case(
        "gsm8k_cot",
        "gsm8k:prompt=lm_eval_cot",
        TEST,
        shots=(8,),
        main="exact_match,strict-match",
        answers=_gsm8k_answer,
    ),
    Case("drop", "drop", rows=_drop, excerpt=EXCERPT, answers=_written),
    Case("humaneval", "humaneval", TEST, answers=_written),
    Case("mbpp", "mbpp", rows=_mbpp, shots=(3,), answers=_written),
)


# ---------------------------------------------------------------------------------------------------------------
# Our side


def prepared(case: Case, shots: int, rows: int, folder: Path) -> tuple[Any, Any, Any]:
    """Return the spec of a case's run, the registry, and the evaluation of its first rows."""
    from harness.runs.evaluation import prepare
    from harness.sweeps.load import load_sweep

    adapter: dict[str, Any] = {} if case.shots == (shots,) and shots else {"max_train_instances": shots}
    if case.own:
        adapter["example_selection"] = "lm_eval"
    named = {} if "prompt=" in case.run else {"prompt": "lm_eval"}
    run: dict[str, Any] = {"scenario": case.run, "max_eval_instances": rows, "adapter": adapter, **named}
    if not case.main:  # metrics that execute code need a permission
        run |= {"metrics": ["exact_match"], "main_metric": "exact_match"}
    with tempfile.TemporaryDirectory() as scratch:
        sweep = Path(scratch) / "prompts.yaml"
        sweep.write_text(json.dumps({"suite": "prompts", "models": ["fake:any"], "runs": [run]}), encoding="utf-8")
        loaded, registry = load_sweep(sweep)
    [spec] = loaded.runs
    return spec, registry, prepare(spec, registry, folder)


def requests_of(adapted: Any) -> list[tuple[str, Any]]:
    """Return the requests about one instance: contexts with continuations, or prompts with settings of generation."""
    from harness import GenerateRequest

    asked: list[tuple[str, Any]] = []
    for request in adapted.requests:
        if isinstance(request, GenerateRequest):
            settings = {"until": list(request.stop), "max_gen_toks": request.max_tokens}
            asked.append((str(request.prompt), {**settings, "temperature": request.temperature}))
        else:
            asked.append(split_alike(str(request.context), request.continuation))
    return asked


@dataclass
class Ours:
    """What this harness asks for one number of examples, and its score of made answers."""

    requests: list[list[tuple[str, Any]]]
    """For each instance the contexts with their continuations, or the prompt with its settings."""
    score: float


def ask_ours(case: Case, shots: int, rows: int, folder: Path, answers: Sequence[str]) -> Ours:
    """Adapt the first instances as a run does, and score made answers."""
    from harness import Completion, Response, ScoreRequest
    from tests.tokenizations import Unlimited

    spec, registry, evaluation = prepared(case, shots, rows, folder)
    found, examples = [], []
    for number, adapted in enumerate(evaluation.adapted(Unlimited())):
        responses = []
        for request in adapted.requests:
            if isinstance(request, ScoreRequest):
                made, greedy = made_score(str(request.context), request.continuation)
                responses.append(Response(logprobs=(made,), greedy=greedy))
            else:
                responses.append(Response(completions=(Completion(answers[number]),)))
        found.append(requests_of(adapted))
        examples.append((adapted, responses))
    metric = case.metric or spec.main_metric
    return Ours(found, _score(spec, registry, evaluation, examples, metric) if case.main else math.nan)


def _score(spec: Any, registry: Any, evaluation: Any, examples: Any, metric: str) -> float:
    from harness import Example
    from harness.inference.judge_pool import Judges
    from harness.runs.pipeline import build_scorer

    scorer = build_scorer(spec, registry, Judges(registry))
    for adapted, responses in examples:
        example = Example(
            instance=adapted.instance, requests=adapted.requests, responses=tuple(responses), labels=adapted.labels
        )
        scorer.add_all([example.predicted(evaluation.adapter.predict(adapted, responses))])
    [value] = [stat.mean for stat in scorer.stats() if stat.metric == metric and not (stat.perturbation or stat.group)]
    return float(value)


def made_score(context: str, continuation: str) -> tuple[float, bool]:
    """Return a log-likelihood, and if a text is the first choice: made from the text alone, equal on both sides."""
    digest = hashlib.sha256((context + continuation)[-500:].encode()).digest()
    return -1.0 - int.from_bytes(digest[:6], "big") / 2**44, digest[7] % 2 == 0


# ---------------------------------------------------------------------------------------------------------------
# lm-eval's side, in its own environment


def ask_lm_eval(asked: Path, answered: Path) -> None:
    """Runs inside the other environment: read cases, write requests and scores."""
    from types import SimpleNamespace

    import evaluate  # type: ignore[import-not-found]
    import nltk
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    # Tasks of programming load a metric from the Hub; only their requests are compared.
    evaluate.load = lambda *_, **__: SimpleNamespace(compute=lambda **_: ({"pass@1": 0.0}, {}))
    # Its check of instructions downloads a model of sentences; the untrained one takes its place. With the splitter of
    # the harness instead, only two prompts differ, that ask for several "!" or "#": there it counts a random letter.
    nltk.tokenize._get_punkt_tokenizer = lambda *_: PunktSentenceTokenizer()
    nltk.download, nltk.data.load = lambda *_, **__: True, lambda *_, **__: PunktSentenceTokenizer()
    nltk.data.find = lambda *_, **__: ""
    from lm_eval.tasks import TaskManager  # type: ignore[import-not-found]

    index = TaskManager().task_index
    found = [_lm_eval_case(case, index) for case in json.loads(asked.read_text(encoding="utf-8"))]
    answered.write_text(json.dumps(found), encoding="utf-8")


def _lm_eval_case(case: Mapping[str, Any], index: Mapping[str, Any]) -> dict[str, Any]:
    import random

    from lm_eval.api.task import ConfigurableTask  # type: ignore[import-not-found]
    from lm_eval.tasks._yaml_loader import load_yaml  # type: ignore[import-not-found]

    config = load_yaml(index[case["task"]].yaml_path)
    for key in ("tag", "group", "task_list"):
        config.pop(key, None)
    config |= {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": {"data_files": case["files"]}}
    for key in ("training_split", "validation_split", "fewshot_split"):
        if config.get(key) not in (None, *case["files"]):
            config[key] = None if key != "fewshot_split" else config[key]
    random.seed(0)  # as its --seed does before tasks are loaded
    task = ConfigurableTask(config=config)
    if case["shots"] is not None:
        task.set_config(key="num_fewshot", value=case["shots"])
    task.set_fewshot_seed(seed=1234)
    task.build_all_requests(limit=case["rows"], rank=0, world_size=1)
    groups: dict[int, list[Any]] = {}
    for instance in task.instances:
        groups.setdefault(instance.doc_id, []).append(instance)
    requests = [[list(instance.args) for instance in group] for _, group in sorted(groups.items())]
    for number, instance in enumerate(task.instances):
        if task.OUTPUT_TYPE == "generate_until":
            instance.resps = [case["answers"][number]]
        else:
            instance.resps = [made_score(*instance.args)]
    task.apply_filters()
    return {"requests": requests, "score": _lm_eval_score(task, groups, case["main"])}


def _lm_eval_score(task: Any, groups: Mapping[int, Sequence[Any]], main: str) -> float | None:
    if not main:
        return None
    metric, _, chosen = main.partition(",")
    name = chosen or next(iter(next(iter(groups.values()))[0].filtered_resps))
    values = []
    for _, group in sorted(groups.items()):
        group = sorted(group, key=lambda instance: instance.idx)
        values.append(task.process_results(group[0].doc, [one.filtered_resps[name] for one in group])[metric])
    return float(task.aggregation()[metric](values))


# ---------------------------------------------------------------------------------------------------------------
# Both


def prepare_hellaswag(data: Path, scratch: Path) -> Path:
    """Return a data folder with HellaSwag in the official layout; of the text layout, the parts are found again."""
    from harness.data.source import open_data
    from harness.plugins.registry import default_registry
    from scenarios.hellaswag import FRAGMENT, LINES_PER_ITEM

    plugin = default_registry().get("scenario", "hellaswag")  # type: ignore[arg-type]
    data_rows = [dict(row) for row in open_data(plugin.details, {}, name="hellaswag", data_dir=data).rows("valid")]  # type: ignore[arg-type]
    if "endings" in data_rows[0]:
        return data
    items = []
    for start in range(0, len(data_rows), LINES_PER_ITEM):
        context, label, *endings = [row["text"].strip() for row in data_rows[start : start + LINES_PER_ITEM]]
        activity, _, rest = context.partition(": ")
        fragment = FRAGMENT.search(rest)
        begin = rest[: fragment.start()].rstrip() if fragment else rest
        parts = {"ctx_a": begin, "ctx_b": fragment[0] if fragment else ""}
        items.append({"activity_label": activity, **parts, "endings": endings, "label": label})
    (scratch / "hellaswag").mkdir(parents=True)
    for name, some in (("hellaswag_val.jsonl", items[:-100]), ("hellaswag_train.jsonl", items[-100:])):
        _write_rows(scratch / "hellaswag" / name, some)
    return scratch


def more_rows(column: str, scratch: Path) -> Path:
    """Return a data folder with the excerpts of the tests, each row several times with another text in a column."""
    for file in EXCERPTS.rglob("*"):
        copy = scratch / file.relative_to(EXCERPTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".lst":
            copy.write_text(file.read_text(encoding="utf-8") * COPIES, encoding="utf-8")
        elif file.suffix == ".jsonl":
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            _write_rows(copy, [_copy(row, column, number) for number in range(COPIES) for row in rows])
    return scratch


COPIES = 12
LONGEST = 1200
"""Most characters of a text that the tests keep whole."""
EXPECTED_ROWS = 2
"""Number of rows whose requests the tests keep."""


def _copy(row: Mapping[str, Any], column: str, number: int) -> dict[str, Any]:
    text = row.get(column)
    changed = {column: {**text, "stem": f"{text['stem']} {number}"} if isinstance(text, dict) else f"{text} {number}"}
    ids = {key: f"{row[key]}-{number}" for key in ("id", "question_id") if key in row}
    return {**row, **(changed if column in row else {}), **ids}


def _write_rows(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(dict(row)) + "\n" for row in rows), encoding="utf-8")


def lm_eval_rows(case: Case, folder: Path) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of a task's splits in the layout of its data set, from the official files."""
    from harness.data.source import open_data
    from harness.plugins.parameters import check_parameters, parameters_of
    from harness.sweeps.shorthand import parse_entry

    entry = parse_entry(case.run)
    plugin = _registry().get("scenario", entry.name)
    params, mistakes = check_parameters(parameters_of(plugin), _typed(entry.arguments))
    assert params is not None, mistakes
    data = open_data(plugin.details, params.model_dump(), name=plugin.name, data_dir=folder)
    if case.rows is not None:
        return {split: list(rows) for split, rows in case.rows(data).items()}
    return {theirs: [case.convert(row) for row in data.rows(ours)] for theirs, ours in case.splits.items()}


def _typed(arguments: Mapping[str, str]) -> dict[str, Any]:
    from harness.sweeps.shorthand import value_of

    return {key: value_of(value) for key, value in arguments.items()}


@cache
def _registry() -> Any:
    from harness.plugins.registry import default_registry

    return default_registry()


def make_environment(environment: Path) -> Path:
    """Return the Python of an environment with lm-eval, which is built if it does not exist."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
        install = [str(python), "-m", "pip", "install", "--quiet", *LM_EVAL, torch, "--constraint", str(CONSTRAINTS)]
        subprocess.run(install, check=True)
    return python


def split_alike(context: str, continuation: Any) -> tuple[str, Any]:
    """Return a request with the spaces that end its context moved to its continuation, as lm-eval's backends do."""
    if not isinstance(continuation, str):
        return context, continuation
    kept = context.rstrip()
    return kept, context[len(kept) :] + continuation


def asked_alike(theirs: Sequence[Any]) -> tuple[str, Any]:
    """Return one of lm-eval's requests as ours are written."""
    context, rest = theirs
    if isinstance(rest, Mapping):
        settings = {"until": list(rest["until"]), "max_gen_toks": rest.get("max_gen_toks", 256)}
        return context, {**settings, "temperature": float(rest.get("temperature", 0.0))}
    return split_alike(context, rest)


def compare(case: Case, shots: int, ours: Ours, theirs: Mapping[str, Any]) -> bool:
    """Print a line about one task and number of examples; return True if requests and scores agree."""
    wanted = [[asked_alike(request) for request in group] for group in theirs["requests"]]
    given = ours.requests
    equal = sum(one == other for one, other in zip(given, wanted, strict=False))
    moved = any(one.rstrip() != one for group in theirs["requests"] for one, rest in group if isinstance(rest, str))
    same = len(given) == len(wanted) == equal
    score = "" if theirs["score"] is None else f"{ours.score:.6f}"
    agree = theirs["score"] is None or math.isclose(ours.score, theirs["score"], abs_tol=1e-9)
    data = "excerpt" if case.excerpt else "data"
    mark = ("=" if same else "DIFFER") + (" ~" if moved else "")
    print(f"{case.task:42} {shots:5} {data:8} {equal:5} of {len(wanted):4} {mark:8} {score:>9} ", end="")
    print("" if theirs["score"] is None else f"{theirs['score']:9.6f} {'=' if agree else 'DIFFER'}")
    if not same:
        print(f"  {len(given)} instances, lm-eval {len(wanted)}")
        pair = next(((one, other) for one, other in zip(given, wanted, strict=False) if one != other), None)
        for one, other in zip(*pair, strict=False) if pair else ():
            if one != other:
                print(f"  ours    {one!r}\n  lm-eval {other!r}")
                break
    return same and agree


def kept(group: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the requests about a row as the tests keep them: a context once, and of a long one its end and SHA-256."""
    contexts = list(dict.fromkeys(context for context, _ in group))
    ends = {"end": [context[-200:] for context in contexts]}
    ends["sha256"] = [hashlib.sha256(context.encode()).hexdigest() for context in contexts]
    asked = {"context": contexts} if sum(map(len, contexts)) <= LONGEST else ends
    [(_, first), *_] = group
    return {**asked, **(first if isinstance(first, dict) else {"scored": [rest for _, rest in group]})}


def write_expected(file: Path, places: Sequence[tuple[Case, int]], theirs: Sequence[Mapping[str, Any]]) -> None:
    """Write lm-eval's own requests about the first rows of each task, with the most examples, to a YAML file."""
    import yaml

    expected: dict[str, Any] = {}
    for (case, shots), reply in zip(places, theirs, strict=True):
        groups = [[asked_alike(request) for request in group] for group in reply["requests"][:EXPECTED_ROWS]]
        expected[case.task] = {"shots": shots, "requests": [kept(group) for group in groups]}
    head = "# Made by `tests/benchmarks/lm_eval_prompts.py --write`: what lm-evaluation-harness 0.4.13 asks.\n"
    file.write_text(head + yaml.safe_dump(expected, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "lm-eval-prompts-environment")
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument(
        "--write", type=Path, help="Write lm-eval's requests of the first rows to a file for the tests."
    )
    options = parser.parse_args()
    cases = [case for case in CASES if not options.task or case.task in options.task]
    python = make_environment(options.environment)
    with tempfile.TemporaryDirectory() as scratch:
        return compare_all(cases, options, python, Path(scratch))


def data_folder(case: Case, data: Path, scratch: Path) -> Path:
    """Return the folder of a case's data: the real ones, or what is made of them or of the excerpts."""
    if case.excerpt == EXCERPT:
        return EXCERPTS
    if case.excerpt:
        return more_rows(case.excerpt, scratch)
    return prepare_hellaswag(data, scratch) if case.task == "hellaswag" else data


def compare_all(cases: Sequence[Case], options: argparse.Namespace, python: Path, scratch: Path) -> int:
    asked: list[dict[str, Any]] = []
    places = []
    for case in cases:
        folder = data_folder(case, options.data_dir, scratch / f"{case.task}-data")
        rows = lm_eval_rows(case, folder)
        files = {split: str(scratch / f"{case.task}-{split}.jsonl") for split in rows}
        for split, some in rows.items():
            _write_rows(Path(files[split]), some)
        evaluated = rows.get("test") or rows.get("validation") or next(iter(rows.values()))
        answers = [case.answers(row, n) for n, row in enumerate(evaluated[: options.rows])] if case.answers else []
        for shots in case.shots:
            given = None if case.shots == (shots,) and shots else shots
            asked.append({"task": case.task, "shots": given, "rows": options.rows, "files": files, "main": case.main,
                          "answers": answers})  # fmt: skip
            places.append((case, shots, folder, answers))
    questions, replies = scratch / "asked.json", scratch / "answered.json"
    questions.write_text(json.dumps(asked), encoding="utf-8")
    quiet = {**os.environ, "TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1", "LOGLEVEL": "ERROR", "PYTHONPATH": "",
             "HF_HOME": str(scratch / "hub")}  # fmt: skip
    ran = subprocess.run(
        [str(python), __file__, "--answer", str(questions), str(replies)], env=quiet, capture_output=True, text=True
    )
    if ran.returncode:
        sys.exit(f"lm-eval failed:\n{ran.stderr[-5000:]}")
    theirs = json.loads(replies.read_text(encoding="utf-8"))
    if options.write:
        write_expected(options.write, [(case, shots) for case, shots, *_ in places], theirs)
        return 0
    print(f"{'lm-eval task':42} {'shots':>5} {'rows':8} {'equal requests':21} {'score':>9}  lm-eval")
    fine = [
        compare(case, shots, ask_ours(case, shots, options.rows, folder, answers), reply)
        for (case, shots, folder, answers), reply in zip(places, theirs, strict=True)
    ]
    tasks = {case.task for case, *_ in places}
    print(f"\n{sum(fine)} of {len(fine)} comparisons agree, of {len(tasks)} tasks")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        ask_lm_eval(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main())

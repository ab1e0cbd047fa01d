"""The same numbers as lm-evaluation-harness: the same checkpoint, prompts and data, in float32.

Builds an environment of its own with lm-eval, puts the requests of real runs to both, and compares log-likelihoods,
first choices, accuracies, rolling log-likelihoods and greedy completions. Log-likelihoods may differ by 1e-4.

    python tests/benchmarks/lm_eval_equality.py CHECKPOINT --data-dir DATA [--instances 200] [--environment FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LM_EVAL = "lm-eval[hf]==0.4.13"
TOLERANCE = 1e-4
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
RUNS = {
    "MMLU anatomy, 5-shot letters": "mmlu:subject=anatomy,method=multiple_choice_joint_scored",
    "MMLU astronomy, 5-shot letters": "mmlu:subject=astronomy,method=multiple_choice_joint_scored",
    "BoolQ, 5-shot Yes/No": "boolq:method=multiple_choice_separate_original",
    "HellaSwag, endings": "hellaswag",
    "OpenBookQA, answers": "openbookqa:method=multiple_choice_separate_original",
}
GENERATION = {"scenario": "gsm8k", "adapter": {"max_tokens": 48}}
PASSAGE = "text_corpus/gutenberg/35-0.txt"
PASSAGE_CHARACTERS = 60_000


@dataclass
class Answers:
    """What one of the two harnesses gave, and how long it took, in seconds."""

    scores: list[tuple[float, bool]]
    rolling: float
    texts: list[str]
    seconds: dict[str, float]


@dataclass
class Questions:
    """What both are asked; ``groups`` are the instances: name of the run, places of the scores, the correct choices."""

    pairs: list[tuple[str, str]]
    groups: list[tuple[str, list[int], list[int]]]
    passage: str
    prompts: list[tuple[str, list[str], int]]


def read_questions(checkpoint: Path, data: Path, instances: int) -> Questions:
    """Adapt real instances, exactly as a run does."""
    from harness import GenerateRequest, ScoreRequest
    from harness.models.transformers.huggingface import HuggingFaceModel
    from harness.runs.evaluation import prepare
    from harness.sweeps.load import load_sweep

    model = HuggingFaceModel(str(checkpoint))
    entries = [*RUNS.values(), GENERATION]
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder) / "equality.yaml"
        keys = {"suite": "equality", "models": [f"hf:{checkpoint}"], "runs": entries}
        sweep.write_text(json.dumps({**keys, "defaults": {"max_eval_instances": instances, "train_trials": 1}}))
        loaded, registry = load_sweep(sweep)
    questions = Questions([], [], "", [])
    for name, spec in zip([*RUNS, ""], loaded.runs, strict=True):
        for adapted in prepare(spec, registry, data).adapted(model):
            start = len(questions.pairs)
            for request in adapted.requests:
                if isinstance(request, GenerateRequest):
                    questions.prompts.append((str(request.prompt), list(request.stop), request.max_tokens))
                elif isinstance(request, ScoreRequest):
                    questions.pairs.append((str(request.context), request.continuation))
            correct = [i for i, reference in enumerate(adapted.instance.references) if reference.correct]
            if name:
                questions.groups.append((name, list(range(start, len(questions.pairs))), correct))
    questions.prompts = questions.prompts[: max(1, instances // 5)]
    questions.passage = (data / PASSAGE).read_text(encoding="utf-8")[1000:][:PASSAGE_CHARACTERS]
    return questions


def ask_ours(checkpoint: Path, questions: Questions, threads: int) -> Answers:
    """Put the questions to this harness."""
    import torch

    from harness import GenerateRequest, ScoreRequest
    from harness.models.transformers.huggingface import HuggingFaceModel

    torch.set_num_threads(threads)
    model = HuggingFaceModel(str(checkpoint), dtype="float32", device="cpu")
    list(model.answer([ScoreRequest("warm", " up")]))
    seconds = {}
    started = time.perf_counter()
    scored = dict(model.answer([ScoreRequest(*pair) for pair in questions.pairs]))
    seconds["scores"] = time.perf_counter() - started
    started = time.perf_counter()
    [(_, rolling)] = model.answer([ScoreRequest("", questions.passage)])
    seconds["rolling"] = time.perf_counter() - started
    started = time.perf_counter()
    written = dict(
        model.answer([GenerateRequest(p, max_tokens=most, stop=tuple(stop)) for p, stop, most in questions.prompts])
    )
    seconds["generation"] = time.perf_counter() - started
    responses = [scored[index] for index in range(len(scored))]
    return Answers(
        [(sum(response.logprobs or ()), bool(response.greedy)) for response in responses],
        sum(rolling.logprobs or ()),
        [written[index].completions[0].text for index in range(len(written))],
        seconds,
    )


def ask_lm_eval(checkpoint: Path, questions: Questions, threads: int, environment: Path) -> Answers:
    """Put the questions to lm-evaluation-harness, in its own environment."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
        install = [str(python), "-m", "pip", "install", "--quiet", LM_EVAL, torch, "--constraint", str(CONSTRAINTS)]
        subprocess.run(install, check=True)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "asked.json", Path(folder) / "answered.json"
        asked.write_text(json.dumps({**vars(questions), "checkpoint": str(checkpoint), "threads": threads}))
        quiet = {**os.environ, "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
        subprocess.run([str(python), __file__, "--answer", str(asked), str(answered)], check=True, env=quiet)
        found = json.loads(answered.read_text())
    return Answers([(total, greedy) for total, greedy in found.pop("scores")], **found)


def answer_with_lm_eval(asked: Path, answered: Path) -> None:
    """Runs inside the other environment: read questions, write answers."""
    import torch
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

    questions = json.loads(asked.read_text())
    torch.set_num_threads(questions["threads"])
    model = HFLM(pretrained=questions["checkpoint"], dtype="float32", device="cpu", batch_size=8)

    def instances(kind: str, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        return [Instance(request_type=kind, doc={}, arguments=each, idx=i) for i, each in enumerate(arguments)]

    model.loglikelihood(instances("loglikelihood", [("warm", " up")]), disable_tqdm=True)
    seconds = {}
    started = time.perf_counter()
    scores = model.loglikelihood(instances("loglikelihood", map(tuple, questions["pairs"])), disable_tqdm=True)
    seconds["scores"] = time.perf_counter() - started
    started = time.perf_counter()
    [rolling] = model.loglikelihood_rolling(
        instances("loglikelihood_rolling", [(questions["passage"],)]), disable_tqdm=True
    )
    seconds["rolling"] = time.perf_counter() - started
    settings = [
        (prompt, {"until": stop, "max_gen_toks": most, "do_sample": False})
        for prompt, stop, most in questions["prompts"]
    ]
    started = time.perf_counter()
    texts = model.generate_until(instances("generate_until", settings), disable_tqdm=True)
    seconds["generation"] = time.perf_counter() - started
    answered.write_text(json.dumps({"scores": scores, "rolling": rolling, "texts": texts, "seconds": seconds}))


def report(questions: Questions, ours: Answers, theirs: Answers) -> bool:
    """Print the comparison; return whether all log-likelihoods and accuracies agree."""
    print(f"{'run':32} {'pairs':>6} {'max |Δ|':>9} {'greedy =':>9} {'accuracy':>9} {'lm-eval':>9}")
    fine = True
    for name in RUNS:
        groups = [(places, correct) for run, places, correct in questions.groups if run == name]
        places = [place for group, _ in groups for place in group]
        largest = max(abs(ours.scores[place][0] - theirs.scores[place][0]) for place in places)
        greedy = all(ours.scores[place][1] == theirs.scores[place][1] for place in places)
        accuracies = [accuracy(groups, answers) for answers in (ours, theirs)]
        fine = fine and largest < TOLERANCE and accuracies[0] == accuracies[1]
        print(
            f"{name:32} {len(places):6} {largest:9.1e} {'yes' if greedy else 'NO':>9} "
            f"{accuracies[0]:9.4f} {accuracies[1]:9.4f}"
        )
    relative = abs(ours.rolling / theirs.rolling - 1)
    same = sum(one == other for one, other in zip(ours.texts, theirs.texts, strict=True))
    print(
        f"\nrolling log-likelihood {ours.rolling:.3f}, lm-eval {theirs.rolling:.3f}, relative difference {relative:.1e}"
    )
    print(f"greedy completions equal: {same} of {len(ours.texts)}")
    for one, other in zip(ours.texts, theirs.texts, strict=True):
        if one != other:
            print(f"  {one!r}\n  {other!r} (lm-eval)")
    for part, seconds in ours.seconds.items():
        print(f"seconds for {part}: {seconds:.1f}, lm-eval {theirs.seconds[part]:.1f}")
    # Two first choices within float rounding of each other may fall either way, in either harness.
    return fine and relative < 1e-6 and same >= 0.95 * len(ours.texts)


def accuracy(groups: list[tuple[list[int], list[int]]], answers: Answers) -> float:
    """Return how often a correct choice has the largest summed log-likelihood (lm-eval's ``acc``)."""
    chosen = [max(range(len(places)), key=lambda i: answers.scores[places[i]][0]) for places, _ in groups]
    return sum(choice in correct for choice, (_, correct) in zip(chosen, groups, strict=True)) / len(groups)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "lm-eval-environment")
    options = parser.parse_args()
    questions = read_questions(options.checkpoint, options.data_dir, options.instances)
    ours = ask_ours(options.checkpoint, questions, options.threads)
    theirs = ask_lm_eval(options.checkpoint, questions, options.threads, options.environment)
    return 0 if report(questions, ours, theirs) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer_with_lm_eval(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main())

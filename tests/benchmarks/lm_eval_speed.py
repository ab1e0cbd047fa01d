"""Speed against lm-evaluation-harness: the same random 42 M Llama, prompts and shots, float32, on the CPU.

Makes the model (16 k vocabulary, random weights) and an environment of its own with lm-eval, puts the same requests to
both, one after the other, and prints the ratios of the processor's seconds, which on an idle machine are those of the
clock. lm-eval runs at the batch size that is its fastest on a part of the requests. Log-likelihoods must agree within
1e-3.

    python tests/benchmarks/lm_eval_speed.py --data-dir DATA [--questions 500] [--parts mmlu hellaswag0 …]
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

LM_EVAL = "lm-eval[hf]==0.4.13"
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
SUBJECT = "high_school_psychology"
MMLU = f"mmlu:subject={SUBJECT},method=multiple_choice_joint_scored"
BATCH_SIZES = {"mmlu": (1, 4, 16), "hellaswag0": (1, 8, 32), "hellaswag10": (1, 4, 16), "gsm8k": (1, 4, 16)}
PARTS = ("mmlu", "hellaswag0", "hellaswag10", "gsm8k", "command")
STOPS = ["Question:", "\n\n"]
MAX_TOKENS = 128
TRIAL_SHARE = 8

Pairs = list[tuple[str, str]]


def make_model(folder: Path, data: Path) -> None:
    """Write the model and a tokenizer that is trained on books and questions."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    texts = [path.read_text(encoding="utf-8") for path in sorted((data / "text_corpus/gutenberg").glob("*.txt"))[:8]]
    texts += [path.read_text(encoding="utf-8") for path in sorted((data / "mmlu/data/test").glob("*.csv"))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=16_384, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|end|>")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=16_384,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=8,
        num_attention_heads=8,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def mmlu_documents(model: Path, data: Path, questions: int) -> list[dict[str, Any]]:
    """Return prompts and answers as a run of the harness makes them."""
    from harness import ScoreRequest
    from harness.models.transformers.huggingface import HuggingFaceModel
    from harness.runs.evaluation import prepare
    from harness.sweeps.load import load_sweep

    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder) / "speed.yaml"
        keys = {"suite": "speed", "models": [f"hf:{model}"], "runs": [MMLU]}
        sweep.write_text(json.dumps({**keys, "defaults": {"max_eval_instances": questions, "train_trials": 1}}))
        loaded, registry = load_sweep(sweep)
    documents = []
    for adapted in prepare(loaded.runs[0], registry, data).adapted(HuggingFaceModel(str(model))):
        first, *_ = requests = [request for request in adapted.requests if isinstance(request, ScoreRequest)]
        correct = [reference.correct for reference in adapted.instance.references].index(True)
        choices = [request.continuation for request in requests]
        documents.append({"prompt": first.context, "choices": choices, "answer": correct})
    return documents


def hellaswag_pairs(data: Path, questions: int, shots: int) -> Pairs:
    """Return contexts and endings, after a fixed header of other questions with their right endings."""
    with bz2.open(data / "hellaswag/hellaswag_val_full.txt.bz2", "rt", encoding="utf-8") as file:
        rows = [line.strip() for line in islice(file, 6 * (questions + 10))]
    examples = [(rows[start], int(rows[start + 1]), rows[start + 2 : start + 6]) for start in range(0, len(rows), 6)]
    header = "".join(f"{context} {endings[label]}\n\n" for context, label, endings in examples[:shots])
    return [(header + context, f" {ending}") for context, _, endings in examples[10:] for ending in endings]


def gsm8k_prompts(data: Path, questions: int, shots: int = 5) -> list[str]:
    """Return questions after a header of solved ones."""
    with gzip.open(data / "gsm8k/test.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in islice(file, questions + shots)]
    header = "".join(f"Question: {row['question']}\nAnswer: {row['answer']}\n\n" for row in rows[:shots])
    return [f"{header}Question: {row['question']}\nAnswer:" for row in rows[shots:]]


def ours(model: Path, asked: dict[str, Any], threads: int) -> dict[str, Any]:
    """Put the requests to this harness; return seconds and answers of each part."""
    import torch

    from harness import GenerateRequest, ScoreRequest
    from harness.models.transformers.huggingface import HuggingFaceModel

    torch.set_num_threads(threads)
    loaded = HuggingFaceModel(str(model), dtype="float32", device="cpu")
    list(loaded.answer([ScoreRequest("warm", " up")]))
    found: dict[str, Any] = {}
    for part, questions in asked.items():
        started = _cpu_seconds()
        if part == "gsm8k":
            requests = [GenerateRequest(prompt, MAX_TOKENS, stop=tuple(STOPS)) for prompt in questions]
            answers = dict(loaded.answer(requests))
            found[part] = [answers[index].completions[0].text for index in range(len(answers))]
        else:
            answers = dict(loaded.answer([ScoreRequest(*pair) for pair in questions]))
            found[part] = [sum(answers[index].logprobs or ()) for index in range(len(answers))]
        found[f"{part} seconds"] = _cpu_seconds() - started
    return found


def theirs(asked: dict[str, Any]) -> dict[str, Any]:
    """Put the requests to lm-eval; this runs inside its environment."""
    import torch
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

    torch.set_num_threads(asked["threads"])
    found: dict[str, Any] = {}

    def instances(kind: str, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        return [Instance(request_type=kind, doc={}, arguments=each, idx=i) for i, each in enumerate(arguments)]

    def ask(loaded: Any, part: str, questions: list[Any]) -> list[Any]:
        if part != "gsm8k":
            pairs = instances("loglikelihood", map(tuple, questions))
            return [total for total, _ in loaded.loglikelihood(pairs, disable_tqdm=True)]
        settings = {"until": STOPS, "max_gen_toks": MAX_TOKENS, "do_sample": False}
        prompts = instances("generate_until", ((prompt, settings) for prompt in questions))
        return list(loaded.generate_until(prompts, disable_tqdm=True))

    loaded = {}
    for part, questions in asked["questions"].items():
        trial = questions[: max(16, len(questions) // TRIAL_SHARE)]
        seconds = {}
        for size in asked["batch_sizes"][part]:
            if size not in loaded:
                loaded[size] = HFLM(pretrained=asked["model"], dtype="float32", device="cpu", batch_size=size)
            seconds[size] = _timed(partial(ask, loaded[size], part, trial))[0]
        best = min(seconds, key=lambda size: seconds[size])
        found[f"{part} batch"] = best
        found[f"{part} seconds"], found[part] = _timed(partial(ask, loaded[best], part, questions))
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds, those of finished child processes included: others may use the machine too."""
    started = _cpu_seconds()
    result = work()
    return _cpu_seconds() - started, result


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def set_up(environment: Path) -> Path:
    """Return the interpreter of an environment with lm-eval, made if need be."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
        install = [str(python), "-m", "pip", "install", "--quiet", LM_EVAL, torch, "--constraint", str(CONSTRAINTS)]
        subprocess.run(install, check=True)
    return python


def commands(python: Path, model: Path, data: Path, documents: list[dict[str, Any]], batch: int, threads: int) -> None:
    """Time both command lines on the same MMLU questions, from start to end."""
    quiet = {
        "TQDM_DISABLE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": f"{threads}",
    }
    environment = {**os.environ, **quiet}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
        task = {
            "task": "mmlu_speed",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(folder / "test.jsonl")}},
            "test_split": "test",
            "output_type": "multiple_choice",
            "doc_to_text": "{{prompt}}",
            "doc_to_choice": ["A", "B", "C", "D"],
            "doc_to_target": "answer",
            "metric_list": [{"metric": "acc"}],
        }
        (folder / "mmlu_speed.yaml").write_text(json.dumps(task))
        arguments = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--tasks", "mmlu_speed"]
        arguments += ["--include_path", str(folder), "--device", "cpu", "--batch_size", str(batch)]
        rival, said = _timed(lambda: _run([str(python), "-m", "lm_eval", *arguments], environment))
        accuracy = next(line for line in said.splitlines() if "|acc" in line)
        harness = [sys.executable, "-m", "harness", "run", "-r", MMLU, "-m", f"hf:{model}"]
        harness += [
            "--max-eval-instances",
            str(len(documents)),
            "--data-dir",
            str(data),
            "--results-dir",
            str(folder / "out"),
        ]
        own, _ = _timed(lambda: _run(harness, environment))
        [run] = (folder / "out").rglob("run.json")
        stats = json.loads(run.read_text())["stats"]
        mean = next(stat["mean"] for stat in stats if stat["metric"] == "multiple_choice_accuracy")
    print(f"accuracies: {mean:.4f}, lm-eval {accuracy}")
    show("command", own, rival, f"batch {batch}")


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def show(part: str, own: float, rival: float, note: str = "") -> None:
    print(f"{part:12} {own:8.1f} s   lm-eval {rival:8.1f} s   {rival / own:5.1f} ×   {note}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--prompts", type=int, default=32, help="GSM8K prompts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--batch-size", type=int, default=4, help="lm-eval's for the command, unless mmlu is a part")
    parser.add_argument("--model", type=Path, default=Path(tempfile.gettempdir()) / "speed-model")
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "lm-eval-environment")
    parser.add_argument("--alone", action="store_true", help="time this harness alone")
    options = parser.parse_args()
    if not (options.model / "config.json").exists():
        make_model(options.model, options.data_dir)
    documents = mmlu_documents(options.model, options.data_dir, options.questions)
    asked: dict[str, Any] = {
        "mmlu": [(document["prompt"], choice) for document in documents for choice in document["choices"]],
        "hellaswag0": hellaswag_pairs(options.data_dir, options.questions, 0),
        "hellaswag10": hellaswag_pairs(options.data_dir, options.questions, 10),
        "gsm8k": gsm8k_prompts(options.data_dir, options.prompts),
    }
    asked = {part: questions for part, questions in asked.items() if part in options.parts}
    own = ours(options.model, asked, options.threads)
    if options.alone:
        print({key: round(value, 2) for key, value in own.items() if key.endswith("seconds")})
        return 0
    python = set_up(options.environment)
    rival: dict[str, Any] = {}
    if asked:
        rival = _ask_rival(python, options.model, asked, options.threads)
    for part in asked:
        show(part, own[f"{part} seconds"], rival[f"{part} seconds"], f"batch {rival[f'{part} batch']}")
        if part == "gsm8k":
            same = sum(one == other for one, other in zip(own[part], rival[part], strict=True))
            print(f"             completions equal: {same} of {len(own[part])}")
        else:
            largest = max(abs(one - other) for one, other in zip(own[part], rival[part], strict=True))
            print(f"             largest difference of a log-likelihood: {largest:.1e}")
            if largest > 1e-3:
                return 1
    if "command" in options.parts:
        batch = rival.get("mmlu batch", options.batch_size)
        commands(python, options.model, options.data_dir, documents, batch, options.threads)
    return 0


def _ask_rival(python: Path, model: Path, asked: dict[str, Any], threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        questions, answers = Path(folder) / "questions.json", Path(folder) / "answers.json"
        about = {"model": str(model), "threads": threads, "batch_sizes": BATCH_SIZES, "questions": asked}
        questions.write_text(json.dumps(about))
        quiet = {**os.environ, "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
        subprocess.run([str(python), __file__, "--answer", str(questions), str(answers)], check=True, env=quiet)
        found: dict[str, Any] = json.loads(answers.read_text())
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        Path(sys.argv[3]).write_text(json.dumps(theirs(json.loads(Path(sys.argv[2]).read_text()))))
    else:
        sys.exit(main())

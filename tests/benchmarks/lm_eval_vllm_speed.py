"""Speed of the vllm backend on a CPU: against lm-evaluation-harness' on MMLU, and against vLLM itself on generation.

Needs an environment with this harness and vLLM (``make all-extras``). Makes the 42 M Llama with random weights of
lm_eval_speed.py, installs lm-eval in a folder beside it, and puts the same 5-shot questions to both, each in
an engine of its own with the same settings; then the same prompts to this harness and to ``vllm.LLM``, in rounds with
both engines in memory, so that what else the machine does meets both alike. Prints seconds of the clock and of the
processors (the interpreter's and all its processes'), and ratios. Scores must agree within 1e-3.

    python tests/benchmarks/lm_eval_vllm_speed.py --data-dir DATA [--questions 60] [--prompts 24] [--rounds 9]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

LM_EVAL = (
    *(
        "lm-eval==0.4.13",
        "evaluate",
        "pytablewriter",
        "dataproperty",
        "mbstrdecoder",
        "tabledata",
        "typepy",
        "pathvalidate",
    ),
    *("chardet", "scikit-learn", "narwhals", "threadpoolctl", "sqlitedict", "word2number", "more-itertools", "pytz"),
)
"""lm-eval, and of what it imports all that neither this harness nor vLLM brings."""
MAX_TOKENS = 64
WINDOW = 2048
CACHE = "4"
"""Gigabytes of the key-value cache, on all sides."""


class Stopwatch:
    """Seconds of the clock and of the processors since it was made."""

    def __init__(self) -> None:
        self._clock, self._processors = time.perf_counter(), self._spent()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._clock, self._spent() - self._processors

    @staticmethod
    def _spent() -> float:
        import psutil

        me = psutil.Process()
        times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
        return float(sum(one.user + one.system for one in times))


def score_ours(asked: dict[str, Any]) -> dict[str, Any]:
    """Score the choices with this harness."""
    from harness import ScoreRequest
    from harness.models.vllm.backend import VllmModel

    model = VllmModel(asked["model"], dtype="float32", enforce_eager=True)
    list(model.answer([ScoreRequest("a text to warm up", f" {letter}") for letter in "AB"]))
    watch = Stopwatch()
    answers = dict(model.answer([ScoreRequest(*pair) for pair in asked["pairs"]]))
    took = watch.read()
    model.close()
    return {"took": took, "scores": [sum(answers[index].logprobs or ()) for index in range(len(answers))]}


def score_theirs(asked: dict[str, Any]) -> dict[str, Any]:
    """Score the choices with lm-eval's vLLM backend."""
    sys.path.append(asked["lm_eval"])
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.vllm_causallms import VLLM  # type: ignore[import-not-found]

    model = VLLM(
        pretrained=asked["model"], dtype="float32", enforce_eager=True, max_model_len=WINDOW, batch_size="auto"
    )

    def score(pairs: list[Any]) -> list[Any]:
        instances = [
            Instance(request_type="loglikelihood", doc={}, arguments=(*p,), idx=i) for i, p in enumerate(pairs)
        ]
        found: list[Any] = model.loglikelihood(instances, disable_tqdm=True)
        return found

    score([("a text to warm up", f" {letter}") for letter in "AB"])
    watch = Stopwatch()
    answers = score(asked["pairs"])
    return {"took": watch.read(), "scores": [total for total, _ in answers]}


def write_both(asked: dict[str, Any]) -> dict[str, Any]:
    """Write completions with this harness and with vLLM itself, which take turns to be the first."""
    from vllm import LLM, SamplingParams

    from harness import GenerateRequest
    from harness.models.vllm.backend import VllmModel

    model = VllmModel(asked["model"], dtype="float32", enforce_eager=True)
    raw = LLM(asked["model"], dtype="float32", enforce_eager=True, max_model_len=WINDOW, block_size=32)
    params = SamplingParams(max_tokens=MAX_TOKENS, temperature=0.0, stop=["\n\n"])

    def ours(prompts: list[str]) -> list[str]:
        answers = dict(model.answer([GenerateRequest(prompt, MAX_TOKENS, stop=("\n\n",)) for prompt in prompts]))
        return [answers[index].completions[0].text for index in range(len(prompts))]

    def theirs(prompts: list[str]) -> list[str]:
        return [output.outputs[0].text for output in raw.generate(prompts, params, use_tqdm=False)]

    sides = (ours, theirs)
    rounds: list[dict[str, tuple[float, float]]] = []
    equal = 0
    for number, prompts in enumerate(asked["rounds"]):
        took, texts = {}, []
        for side in sides if number % 2 else sides[::-1]:
            watch = Stopwatch()
            texts.append(side(prompts))
            took[side.__name__] = watch.read()
        equal += sum(one == other for one, other in zip(*texts, strict=True))
        rounds.append(took)
    model.close()
    raw.llm_engine.engine_core.shutdown()
    return {"rounds": rounds[1:], "equal": equal}  # the first one warms up


SIDES = {side.__name__: side for side in (score_ours, score_theirs, write_both)}


def run_side(name: str, asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run one side in an interpreter of its own."""
    question, answer = folder / "asked.json", folder / "answered.json"
    question.write_text(json.dumps(asked))
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": CACHE, "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [sys.executable, __file__, "--side", name, str(question), str(answer)]
    subprocess.run(command, check=True, env={**environment, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"})
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def prepare(folder: Path, data: Path, questions: int, prompts: int, rounds: int) -> dict[str, Any]:
    """Make the model, install the rival, and return what both sides are asked."""
    from harness.models.vllm.engine import vllm_version
    from tests.benchmarks.lm_eval_speed import gsm8k_prompts, make_model, mmlu_documents

    model, lm_eval = folder / "model", folder / "lm_eval"
    if not (model / "config.json").exists():
        make_model(model, data)
    if not (lm_eval / "lm_eval").exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(lm_eval)]
        subprocess.run([*install, *LM_EVAL], check=True)
    # lm-eval asks for the version of a package of this name, and the build for a CPU has another; vLLM reads both.
    named = lm_eval / f"vllm-{vllm_version()}.dist-info"
    named.mkdir(exist_ok=True)
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {vllm_version()}+cpu\n")
    documents = mmlu_documents(model, data, questions)
    pairs = [[document["prompt"], choice] for document in documents for choice in document["choices"]]
    written = gsm8k_prompts(data, prompts * (rounds + 1))
    parts = [written[start * prompts : (start + 1) * prompts] for start in range(rounds + 1)]
    return {"model": str(model), "lm_eval": str(lm_eval), "pairs": pairs, "rounds": parts}


def report(ours: tuple[float, float], rival: str, theirs: tuple[float, float]) -> None:
    """Print what both took, by the clock and by the processors."""
    for name, mine, other in zip(("clock", "processors"), ours, theirs, strict=True):
        ratio = other / mine
        print(f"    {name:10}  here {mine:7.2f} s, {rival} {other:7.2f} s, ratio {ratio:.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "lm-eval-vllm-speed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    asked = prepare(options.folder, options.data_dir, options.questions, options.prompts, options.rounds)
    ours = run_side("score_ours", asked, options.folder)
    theirs = run_side("score_theirs", asked, options.folder)
    apart = max(abs(one - other) for one, other in zip(ours["scores"], theirs["scores"], strict=True))
    print(f"MMLU, 5 shots, {options.questions} questions, {len(asked['pairs'])} choices, max |Δ| {apart:.1e}")
    report(ours["took"], "lm-eval", theirs["took"])
    written = run_side("write_both", asked, options.folder)
    count = options.prompts * (options.rounds + 1)
    print(
        f"generation, {options.rounds} rounds of {options.prompts} prompts, {written['equal']} of {count} texts equal"
    )
    ratios: list[list[float]] = [[], []]
    for number, took in enumerate(written["rounds"], 1):
        print(f"  round {number}")
        report(took["ours"], "vLLM itself", took["theirs"])
        for found, mine, other in zip(ratios, took["ours"], took["theirs"], strict=True):
            found.append(other / mine)
    for name, found in zip(("clock", "processors"), ratios, strict=True):
        print(f"  median ratio, {name}: {statistics.median(found):.3f} ({min(found):.2f} to {max(found):.2f})")
    return 0 if apart < 1e-3 else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        found = SIDES[sys.argv[2]](json.loads(Path(sys.argv[3]).read_text()))
        Path(sys.argv[4]).write_text(json.dumps(found))
        os._exit(0)  # vLLM may abort an interpreter that ends in the usual way
    else:
        sys.exit(main())

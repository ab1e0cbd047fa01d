"""Speed against HELM: the same model, subject of MMLU, shots and number of instances, on one thread of the CPU.

Makes the model (a Llama of 42 M with random weights, as lm_eval_speed.py) and an environment of its own with HELM, runs
both commands, one after the other, and prints the ratios of the processor's seconds, which on an idle machine are those
of the clock: of the requests, which is what the model's backend takes once the weights are in memory, and of the whole
command. Both ask for one token of five-shot questions; tokens of all prompts are printed, as each side counts them.
Targets: 5 on the requests, 3.5 on the command.

    python tests/benchmarks/helm_speed.py --data-dir DATA [--instances 100]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any

HELM = "crfm-helm==0.5.16"
SUBJECT = "computer_security"

CLIENT = "helm.clients.huggingface_client.HuggingFaceClient"
TOKENIZER = "helm.tokenizers.huggingface_tokenizer.HuggingFaceTokenizer"

# Each driver runs the whole command, and counts the seconds of the thread that the model's backend works on.
HELM_DRIVER = """
import json, sys, time
from helm.benchmark import run
from helm.clients.huggingface_client import HuggingFaceServer
serve, spent = HuggingFaceServer.serve_request, [0.0, 0, 0]
def timed(self, request):
    started = time.thread_time()
    answer = serve(self, request)
    spent[0] += time.thread_time() - started
    spent[1] += 1
    spent[2] += answer["input_length"]
    return answer
HuggingFaceServer.serve_request = timed
report, sys.argv = sys.argv[1], ["helm-run", *sys.argv[2:]]
run.main()
json.dump(spent, open(report, "w"))
"""
HARNESS_DRIVER = """
import json, sys, time
from harness import GenerateRequest
from harness.cli import group
from harness.models.transformers.huggingface import HuggingFaceModel
answer, spent = HuggingFaceModel.answer, [0.0, 0, 0]
def timed(self, requests):
    list(answer(self, [GenerateRequest("Load the weights.", 1)]))
    started = time.thread_time()
    answers = list(answer(self, requests))
    spent[0] += time.thread_time() - started
    spent[1] += len(answers)
    spent[2] += sum(response.prompt_tokens or 0 for _, response in answers)
    yield from answers
HuggingFaceModel.answer = timed
report = sys.argv[1]
group(sys.argv[2:], standalone_mode=False)
json.dump(spent, open(report, "w"))
"""


def set_up(environment: Path) -> Path:
    """Return the interpreter of an environment with HELM, made if need be."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        # The same libraries on both sides, or it would be they that are measured.
        same = [f"{name}=={version(name).partition('+')[0]}" for name in ("torch", "transformers")]
        subprocess.run([python, "-m", "pip", "install", "--quiet", HELM, *same], check=True)
        if subprocess.run([python, "-c", "import torchvision"], capture_output=True, check=False).returncode:
            # Built for CUDA beside a PyTorch without it, it keeps transformers from loading; nothing here has images.
            subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "torchvision"], check=True)
    return python


def write_settings(folder: Path, model: Path, data: Path) -> None:
    """Write what HELM must know of a local model, and put the data where it would download them to."""
    name, settings = "local/llama", folder / "prod_env"
    settings.mkdir(parents=True)
    paths = {"pretrained_model_name_or_path": str(model)}
    files: dict[str, list[dict[str, Any]]] = {
        "model_deployments": [
            {
                "name": name,
                "model_name": name,
                "tokenizer_name": name,
                "max_sequence_length": 2048,
                "client_spec": {"class_name": CLIENT, "args": paths},
            }
        ],
        "tokenizer_configs": [
            {
                "name": name,
                "tokenizer_spec": {"class_name": TOKENIZER, "args": paths},
                "end_of_text_token": "<|end|>",
                "prefix_token": "<|end|>",
            }
        ],
        "model_metadata": [
            {
                "name": name,
                "display_name": "Llama",
                "description": "Random weights",
                "creator_organization_name": "Nobody",
                "access": "open",
                "num_parameters": 42_000_000,
                "tags": ["TEXT_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG"],
            }
        ],
    }
    for kind, entries in files.items():
        key = "models" if kind == "model_metadata" else kind
        (settings / f"{kind}.yaml").write_text(json.dumps({key: entries}))  # JSON is YAML
    shutil.copytree(data / "mmlu" / "data", folder / "output" / "scenarios" / "mmlu" / "data")


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Return the processor's and the clock's seconds that a command takes."""
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **quiet, **threads}, capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--model", type=Path, default=Path(tempfile.gettempdir()) / "speed-model")
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "helm-environment")
    options = parser.parse_args()
    if not options.model.exists():
        script = runpy.run_path(str(Path(__file__).with_name("lm_eval_speed.py")))
        script["make_model"](options.model, options.data_dir)
    python = set_up(options.environment)
    limit = str(options.instances)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_settings(folder, options.model.resolve(), options.data_dir)
        entry = f"mmlu:subject={SUBJECT},model=local/llama"
        rival = [str(python), "-c", HELM_DRIVER, "helm.json", "--run-entries", entry, "--suite", "speed", "-n", "1"]
        rival += ["-m", limit, "--local-path", str(folder / "prod_env"), "-o", str(folder / "output")]
        own = [sys.executable, "-c", HARNESS_DRIVER, "harness.json", "run", "-r", f"mmlu:subject={SUBJECT}"]
        own += ["-m", f"hf:{options.model.resolve()}", "--max-eval-instances", limit]
        own += ["--data-dir", str(options.data_dir.resolve()), "--results-dir", str(folder / "results")]
        found = {}
        for side, command in (("harness", own), ("helm", rival)):
            seconds, wall = timed(command, folder)
            requests, asked, tokens = json.loads((folder / f"{side}.json").read_text())
            found[side] = (requests, seconds)
            print(
                f"{side:8} {asked} requests, {tokens:,} tokens: {requests:6.1f} s of the processor; the command "
                f"{seconds:6.1f} s, {wall:.1f} s of the clock",
                flush=True,
            )
    print(f"requests: {found['helm'][0] / found['harness'][0]:.2f} times as fast (target 5)")
    print(f"command:  {found['helm'][1] / found['harness'][1]:.2f} times as fast (target 3.5)")


if __name__ == "__main__":
    main()

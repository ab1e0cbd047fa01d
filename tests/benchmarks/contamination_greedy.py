"""What the next-example test finds without log-probabilities, in a checkpoint of the lab such as lab3.

    python tests/benchmarks/contamination_greedy.py factors MODELS/lab3    words, tokens or characters; contexts; heads
    python tests/benchmarks/contamination_greedy.py server MODELS/lab3     through a server without log-probabilities
    python tests/benchmarks/contamination_greedy.py size MODELS/lab3       false alarms over random orders
    python tests/benchmarks/contamination_greedy.py slices MODELS/lab3     every slice with the defaults, controls too

The folder holds the checkpoint, and in ``examples`` the slices ``<set>_<rows>_x<copies>.jsonl``. ``server`` serves the
checkpoint on this machine by the OpenAI protocol, without log-probabilities, and runs the harness against it; the
other columns are of the same answers without a server. ``size`` takes answers from the same function.

Measured on lab3, log10 of p (ranks), median of five draws of candidates; words as asked before, by the first 32 words:

|                                             | PIQA ×50 | professional psychology ×50 | high school psychology ×100 |
|---------------------------------------------|----------|-----------------------------|-----------------------------|
| before each word                            |     -0.9 |                        -0.7 |                       -11.0 |
| before each token but those that begin words |    -1.4 |                        -5.2 |                       -15.9 |
| before each token                           |     -2.2 |                        -5.6 |                       -19.2 |
| the same, one preceding example             |     -3.2 |                        -5.3 |                       -18.4 |
| the same, all candidates, six neutral       |     -4.5 |                        -5.7 |                       -22.1 |
| the same, no neutral context                |     -0.3 |                        -1.2 |                       -13.0 |
| the same, 16 tokens                         |     -1.5 |                        -2.8 |                       -13.7 |
| every fourth character, three tokens        |     -2.5 |                        -4.7 |                        -9.2 |
| every third character, one token            |     -2.1 |                        -2.1 |                       -15.1 |

Through the server with the adapter's defaults, high school psychology takes 4,115 calls until p = 1/evidence = 0.0007
(8e-17 by ranks over all 13,440 calls), professional psychology 11,966 calls until 6e-5 (2e-5 after 13,411), and PIQA
16,220 calls until 0.003 (2e-4 after 20,105). The same answers without a server give the same p.

Rejections over 200 random orders of the slice of professional psychology, with exact intervals: ranks 0.030 (0.011 to
0.064) at 0.05 and 0.015 (0.003 to 0.043) at 0.01; 1/evidence 0.025 (0.008 to 0.057) and 0.005 (0.000 to 0.028). Of
the slice of PIQA: ranks 0.045 (0.021 to 0.084) and 0.010 (0.001 to 0.036); 1/evidence 0.005 (0.000 to 0.028) and 0
(0.000 to 0.018).

The signal lies inside of words: a model that remembers a text is seldom sure of a word before its first letters.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

sys.path.insert(0, str(Path(__file__).parents[2]))
from adapters.next_example_greedy import NextExampleGreedy
from harness import Completion, Example, GenerateRequest, Instance, Request, Response
from harness.cli.run import execute
from harness.models.transformers.huggingface import HuggingFaceModel
from harness.runs.runner import Settings
from harness.statistics.families import holm
from harness.sweeps.load import sweep_from_mapping
from metrics.contamination import Contamination

STRONG = ("piqa_0-60_x50", "mmlu_professional_psychology_0-40_x50", "mmlu_high_school_psychology_0-40_x100")
ROWS = 64
"""Prompts in one forward pass."""


class Greedy:
    """A checkpoint that gives the next token's text, and nothing else.

    Args:
        folder: The checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self._window = int(self._model.config.n_positions)
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))

    def written(self, prompt: str, tokens: int) -> str:
        """Return the text of the next tokens."""
        text = ""
        for _ in range(tokens):
            with self._lock:
                text += self.next([prompt + text])[0]
        return text

    def next(self, prompts: Sequence[str]) -> list[str]:
        """Return the next token's text after each prompt, computed in batches of neighbours in the alphabet."""
        missing = sorted(set(prompts) - self._known.keys())
        for start in range(0, len(missing), ROWS):
            self._learn(missing[start : start + ROWS])
        return [self._known[prompt] for prompt in prompts]

    @torch.inference_mode()
    def _learn(self, prompts: Sequence[str]) -> None:
        tokens = [self.encode(prompt)[1 - self._window :] or [0] for prompt in prompts]
        shared = 0
        while all(len(one) > shared + 1 and one[shared] == tokens[0][shared] for one in tokens):
            shared += 1
        rests = [one[shared:] for one in tokens]
        longest = max(map(len, rests))
        rows = torch.tensor([one + [0] * (longest - len(one)) for one in rests])
        if shared:
            begun = self._model(torch.tensor([tokens[0][:shared]]), use_cache=True).past_key_values
            cache = DynamicCache()
            for layer, known in enumerate(begun.layers):
                cache.update(
                    known.keys.expand(len(rests), -1, -1, -1), known.values.expand(len(rests), -1, -1, -1), layer
                )
            states = self._model.transformer(rows, past_key_values=cache).last_hidden_state
        else:
            states = self._model.transformer(rows).last_hidden_state
        last = torch.stack([states[row, len(one) - 1] for row, one in enumerate(rests)])
        for prompt, token in zip(prompts, self._model.lm_head(last).argmax(-1).tolist(), strict=True):
            self._known[prompt] = self.decode([token])


@contextmanager
def served(greedy: Greedy, tokenizes: bool) -> Iterator[tuple[str, list[int]]]:
    """Serve completions without log-probabilities; yield the address, and the number of prompts that were answered."""
    asked = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.reply(200, {"data": [{"id": "lab", "max_model_len": 256}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize" and tokenizes:
                self.reply(200, {"tokens": greedy.encode(body["prompt"])})
            elif self.path == "/detokenize" and tokenizes:
                self.reply(200, {"prompt": greedy.decode(body["tokens"])})
            elif self.path != "/v1/completions":
                self.reply(404, {"error": {"message": "not found"}})
            elif body.get("logprobs") is not None or body.get("echo"):
                self.reply(400, {"error": {"message": "logprobs are not supported"}})
            else:
                asked[0] += 1
                prompt = body["prompt"] if isinstance(body["prompt"], str) else greedy.decode(body["prompt"])
                text = greedy.written(prompt, body["max_tokens"])
                usage = {"prompt_tokens": len(greedy.encode(prompt)), "completion_tokens": body["max_tokens"]}
                self.reply(200, {"choices": [{"index": 0, "text": text, "finish_reason": "length"}], "usage": usage})

        def reply(self, status: int, answer: Any) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/v1", asked
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def through_server(file: Path, url: str, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a run of the harness against a server."""
    run = {
        "scenario": {"name": "published_file", "path": str(file)},
        "adapter": {"method": "next_example_greedy", **settings},
        "metrics": ["contamination"],
    }
    model = {"name": "openai:lab", "base_url": url, "budget_tokens": 200_000_000, "api": "completions"}
    sweep, registry = sweep_from_mapping({"suite": "greedy", "models": [model], "runs": [run]}, option="--data")
    (record,) = execute(sweep.runs, registry, Settings(folder / "results"))
    if record.status != "ok":
        raise SystemExit(f"{file.stem}: {record.error}")
    return dict(next(iter(record.details["contamination"]["test"].values())))


def offline(texts: Sequence[str], greedy: Greedy, tokens: HuggingFaceModel, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the details of the same test, of answers that are computed in batches."""
    adapter, metric = NextExampleGreedy(NextExampleGreedy.Params(**settings)), Contamination()
    data = [Instance(f"test-{number}", "", published=text) for number, text in enumerate(texts)]
    for adapted in adapter.adapt(data, (), tokens, trial=0, seed=0):
        responses = answers(adapted.requests, greedy)
        adapter.predict(adapted, responses)
        metric.add(Example(adapted.instance, adapted.requests, responses))
    return dict(metric.details())


def answers(requests: Sequence[Request], greedy: Greedy) -> tuple[Response, ...]:
    asked = [request for request in requests if isinstance(request, GenerateRequest)]
    texts = [""] * len(asked)
    for step in range(max((request.max_tokens for request in asked), default=0)):
        live = [place for place, request in enumerate(asked) if request.max_tokens > step]
        prompts = [str(asked[place].prompt) + texts[place] for place in live]
        for place, token in zip(live, greedy.next(prompts), strict=True):
            texts[place] += token
    return tuple(Response((Completion(text),)) for text in texts)


def texts_of(file: Path) -> list[str]:
    return [json.loads(line)["text"] for line in file.open(encoding="utf-8")]


def show_server(model: Path, files: Sequence[Path], settings: dict[str, Any]) -> None:
    greedy, tokens = Greedy(model), HuggingFaceModel(str(model), device="cpu")
    tokenizes = settings["cut"] == "tokens"
    print(f"{'slice':<42} {'calls':>7} {'1/E':>8} {'offline':>8}  all: {'calls':>7} {'E':>6} {'log10 p':>8}")
    for file in files:
        texts = texts_of(file)
        early = offline(texts, greedy, tokens, settings)  # first, since it computes the answers in batches
        with tempfile.TemporaryDirectory() as name, served(greedy, tokenizes) as (url, asked):
            found = through_server(file, url, Path(name), settings)
        full = offline(texts, greedy, tokens, {**settings, "stop": False})
        print(
            f"{file.stem:<42} {asked[0]:>7} {found['headline_log10_p']:>8.2f} {early['headline_log10_p']:>8.2f}  "
            f"     {full['cost']['requests']:>7} {full['next_example']['max_log10_E']:>6.1f} "
            f"{full['headline_log10_p']:>8.2f}",
            flush=True,
        )


def show_size(model: Path, file: Path, orders: int, settings: dict[str, Any]) -> None:
    from scipy.stats import binomtest

    greedy, tokens = Greedy(model), HuggingFaceModel(str(model), device="cpu")
    texts, ranks, evidence = texts_of(file), [], []
    for number in range(orders):
        shuffled = Random(number).sample(texts, len(texts))
        found = offline(shuffled, greedy, tokens, {"stop": False, "drawn_at_random": True, **settings})
        ranks.append(found["headline_log10_p"])
        evidence.append(-found["next_example"]["max_log10_E"])
    for name, values in (("ranks", ranks), ("1/evidence", evidence)):
        for level in (0.05, 0.01):
            hits = sum(10**value <= level for value in values)
            interval = binomtest(hits, orders).proportion_ci(method="exact")
            print(
                f"{file.stem:<42} {name:<10} p <= {level}: {hits} of {orders} = {hits / orders:.3f} "
                f"({interval.low:.3f} to {interval.high:.3f})",
                flush=True,
            )


def show_slices(model: Path, files: Sequence[Path], settings: dict[str, Any]) -> None:
    tokens = HuggingFaceModel(str(model), device="cpu")
    found: dict[Path, tuple[float, float]] = {}
    print(f"{'slice':<42} {'calls':>7} {'1/E':>7}  all: {'calls':>7} {'log10 p':>7}")
    for file in files:
        greedy, texts = Greedy(model), texts_of(file)
        early = offline(texts, greedy, tokens, settings)
        if not early.get("testable", True):
            print(f"{file.stem:<42} not testable: {early['not_testable']}", flush=True)
            continue
        full = offline(texts, greedy, tokens, {**settings, "stop": False})
        found[file] = early["headline_log10_p"], full["headline_log10_p"]
        print(
            f"{file.stem:<42} {early['cost']['requests']:>7} {found[file][0]:>7.2f}       "
            f"{full['cost']['requests']:>7} {found[file][1]:>7.2f}",
            flush=True,
        )
    targets = [file for file in found if not file.stem.endswith("_x0")]
    for column, name in enumerate(("1/E", "ranks over all calls")):
        adjusted = holm([found[file][column] for file in targets], log10=True)
        below = [f"{file.stem} {log10_p:.2f}" for file, log10_p in zip(targets, adjusted, strict=True) if log10_p <= -2]
        print(f"{name}: at most 0.01 after Holm over {len(targets)}: {', '.join(below) or 'none'}")
        controls = sorted(10 ** found[file][column] for file in found if file not in targets)
        print(f"{name}: p of {len(controls)} controls: {', '.join(f'{p:.3f}' for p in controls)}", flush=True)


def show_factors(model: Path, files: Sequence[Path]) -> None:
    greedy, tokens = Greedy(model), HuggingFaceModel(str(model), device="cpu")
    variants: dict[str, dict[str, Any]] = {
        "defaults": {},
        "every fourth character": {"cut": "characters"},
        "two preceding examples": {"preceding": 2},
        "all candidates": {"candidates": None},
        "four candidates": {"candidates": 4},
        "stretches of eight": {"stretch": 8, "candidates": None},
        "16 tokens": {"tokens": 16},
        "48 tokens": {"tokens": 48},
        "one neutral context": {"neutral": 1},
        "six neutral contexts": {"neutral": 6},
    }
    for name, settings in variants.items():
        print(f"{name:<26}", end="", flush=True)
        for file in files:
            found = offline(texts_of(file), greedy, tokens, {"stop": False, **settings})
            print(f"{found['headline_log10_p']:>7.2f} ({found['cost']['requests']:,})", end="", flush=True)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("factors", "server", "size", "slices"))
    parser.add_argument("model", type=Path)
    parser.add_argument("--slice", action="append", help=f"repeatable (default: {', '.join(STRONG)}; slices: all)")
    parser.add_argument("--orders", type=int, default=200)
    parser.add_argument("--cut", default="tokens")
    parser.add_argument("--tokens", type=int, default=32, help="tokens, or pieces of four characters, to predict")
    given = parser.parse_args()
    torch.set_num_threads(1)
    settings = {"cut": given.cut, "tokens": given.tokens}
    names = given.slice or STRONG
    if given.what == "slices" and not given.slice:
        names = sorted(file.stem for file in (given.model / "examples").glob("*.jsonl"))
    files = [given.model / "examples" / f"{name}.jsonl" for name in names]
    if given.what == "server":
        show_server(given.model, files, settings)
    elif given.what == "size":
        for file in files:
            show_size(given.model, file, given.orders, settings)
    elif given.what == "slices":
        show_slices(given.model, files, settings)
    else:
        show_factors(given.model, files)


if __name__ == "__main__":
    main()

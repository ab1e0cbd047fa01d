"""Runs inside HELM's environment: HELM's requests for run entries, and its metrics' values, as JSON.

Run specs, scenarios, adapters and metrics are HELM's own. Replaced are the window, which is endless, so that no prompt
is shortened, and `datasets.load_dataset`, which reads rows from files.

    python helm_side.py requests ASKED ANSWERED
    python helm_side.py metrics ASKED ANSWERED
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

import datasets

MODEL = "simple/model1"
"""A model that HELM edits no prompt for."""


def use_tables(folder: Path) -> None:
    """Read what the Hub would be asked for from files `INDEX.json`: the rows by split, and the labels of a column."""
    index = json.loads((folder / "index.json").read_text())

    def load_dataset(path, name=None, *, split=None, data_dir=None, **_):
        table = json.loads((folder / index["/".join(part for part in (path, name or data_dir) if part)]).read_text())
        found = {}
        for key, rows in table["splits"].items():
            found[key] = datasets.Dataset.from_list(rows)
            for column, names in table["labels"].items():
                found[key] = found[key].cast_column(column, datasets.ClassLabel(names=names))
        return found[split] if split else datasets.DatasetDict(found)

    datasets.load_dataset = load_dataset


class Endless:
    """A window without an end, whose tokens are characters."""

    max_sequence_length = max_request_length = max_sequence_and_generated_tokens_length = 10**9
    prefix_token = end_of_text_token = "\0"

    def encode(self, text, **_):
        from helm.benchmark.window_services.window_service import EncodeResult
        from helm.common.tokenization_request import TokenizationToken

        return EncodeResult(text=text, tokens=[TokenizationToken(letter) for letter in text])

    def decode(self, tokens, normalized_text=None):
        return "".join(token.value for token in tokens)

    def fits_within_context_window(self, text, expected_completion_token_length=0):
        return True

    def truncate_from_right(self, text, expected_completion_token_length=0):
        return text

    def get_num_tokens(self, text):
        return len(text)


def requests_of(entry: str, split: str, limit: int) -> dict:
    """Return a run entry's settings, the examples that its prompts show, and the requests for some instances."""
    from helm.benchmark.adaptation.adapters.adapter_factory import AdapterFactory
    from helm.benchmark.run_spec_factory import construct_run_specs
    from helm.benchmark.runner import get_benchmark_output_path
    from helm.benchmark.scenarios.scenario import create_scenario, get_scenario_cache_path, with_instance_ids
    from helm.common.object_spec import parse_object_spec

    [spec] = construct_run_specs(parse_object_spec(f"{entry}{',' if ':' in entry else ':'}model={MODEL}"))
    scenario = create_scenario(spec.scenario_spec)
    folder = get_scenario_cache_path(get_benchmark_output_path(), scenario.name)
    os.makedirs(folder, exist_ok=True)
    instances = with_instance_ids(scenario.get_instances(folder))
    evaluated = [one for one in instances if one.split == split]
    step = max(1, len(evaluated) // limit)
    chosen = evaluated[::step][:limit]
    adapter = AdapterFactory.get_adapter(spec.adapter_spec, None)
    train = [one for one in instances if one.split == "train"]
    # The language modelling adapter accepts no others.
    shown = [] if spec.adapter_spec.method == "language_modeling" else train
    examples = adapter.sample_examples(shown, seed=0, sample_train=spec.adapter_spec.sample_train) if shown else []
    states = adapter.adapt([*shown, *chosen], parallelism=1)
    return {
        "evaluated": len(evaluated),
        "examples": [_instance(one) for one in examples],
        "requests": [_request(state) for state in states],
    }


def _instance(instance) -> dict:
    references = [[one.output.text, "correct" in one.tags] for one in instance.references]
    last = instance.input.messages[-1]["content"] if instance.input.messages else ""
    return {"input": instance.input.text or last, "references": references}


def _request(state) -> dict:
    request = state.request
    prompt = request.prompt.removeprefix(Endless.prefix_token)
    if request.messages:
        prompt = "\n".join(f"{turn['role']}: {turn['content']}" for turn in request.messages)
    return {
        **_instance(state.instance),
        "reference": state.reference_index,
        "calibration": state.request_mode == "calibration",
        "scored": request.echo_prompt,
        "prompt": prompt,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop_sequences),
        "completions": request.num_completions,
    }


def answer_requests(asked: dict) -> dict:
    """Return HELM's requests by run entry; the error instead, where there is one."""
    use_tables(Path(asked["tables"]))
    import helm.benchmark.run_specs.capabilities_run_specs
    import helm.benchmark.run_specs.classic_run_specs
    import helm.benchmark.run_specs.lite_run_specs
    import helm.benchmark.run_specs.safety_run_specs  # noqa: F401
    from helm.benchmark.config_registry import register_builtin_configs_from_helm_package
    from helm.benchmark.runner import set_benchmark_output_path
    from helm.benchmark.window_services.window_service_factory import WindowServiceFactory

    register_builtin_configs_from_helm_package()
    WindowServiceFactory.get_window_service = staticmethod(lambda *_: Endless())
    os.chdir(asked["folder"])  # ICE's corpora are looked for here
    set_benchmark_output_path(asked["folder"])
    found = {}
    for entry, split in asked["entries"]:
        try:
            found[entry] = requests_of(entry, split, asked["limit"])
        except Exception as error:  # one entry's failure must not hide the others
            traceback.print_exc()
            found[entry] = {"error": f"{type(error).__name__}: {error}"}
    return found


def answer_metrics(asked: dict) -> dict:
    """Return the values of HELM's metrics: for pairs of texts, for probabilities, and for texts with their tokens."""
    from helm.benchmark.metrics import evaluate_reference_metrics as metrics
    from helm.benchmark.scenarios.math_scenario import is_equiv, is_equiv_chain_of_thought

    functions = {
        "math_equiv": is_equiv,
        "math_equiv_chain_of_thought": is_equiv_chain_of_thought,
        **{name.replace("rougeL", "rouge_l").replace("rouge1", "rouge_1").replace("rouge2", "rouge_2"):
           metrics.get_rouge_function(name) for name in ("rouge1", "rouge2", "rougeL")},
    }  # fmt: skip
    values = {}
    for name, pairs in asked["pairs"].items():
        function = functions.get(name) or getattr(metrics, name)
        values[name] = [float(function(gold, prediction)) for gold, prediction in pairs]
    return {"pairs": values, "calibration": _calibration(asked["calibration"]), "texts": _perplexity(asked["texts"])}


def _calibration(pairs: list) -> dict:
    from helm.benchmark.metrics.basic_metrics import compute_calibration_metrics
    from helm.benchmark.metrics.metric_name import MetricName
    from helm.benchmark.metrics.statistic import Stat

    given = {
        place: [
            Stat(MetricName("max_prob")).add(probability),
            Stat(MetricName("exact_match")).add(correct),
            Stat(MetricName("logprob")).add(-1.0),
        ]
        for place, (probability, correct) in enumerate(pairs)
    }
    return {stat.name.name: stat.mean for stat in compute_calibration_metrics(given)}


def _perplexity(texts: list) -> dict:
    from types import SimpleNamespace

    from helm.benchmark.metrics.basic_metrics import compute_language_modeling_metrics, compute_perplexity_metrics
    from helm.benchmark.metrics.statistic import merge_stat
    from helm.common.request import Token

    stats = {}
    for tokens in texts:
        output = SimpleNamespace(tokens=[Token(text=text, logprob=logprob) for text, logprob in tokens])
        state = SimpleNamespace(result=SimpleNamespace(completions=[output]), num_conditioning_tokens=0)
        for stat in compute_language_modeling_metrics(None, state, None):
            merge_stat(stats, stat)
    return {stat.name.name: stat.mean for stat in compute_perplexity_metrics(stats)}


def main() -> None:
    kind, asked, answered = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3])
    answers = {"requests": answer_requests, "metrics": answer_metrics}
    answered.write_text(json.dumps(answers[kind](asked)))


if __name__ == "__main__":
    main()

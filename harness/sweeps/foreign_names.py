"""Names that HELM, lm-evaluation-harness, Inspect and others use, each with the name or advice to show instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

KEYS: Mapping[str, str] = {
    "data_augmentation": "perturbations",
    "dataset": "scenario",
    "epochs": "samples",
    "extraction": "answer",
    "few_shot": "max_train_instances",
    "fewshot": "max_train_instances",
    "fewshot_seed": "seed",
    "filter": "answer",
    "filter_list": "answer",
    "limit": "max_eval_instances",
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_samples": "max_eval_instances",
    "metric": "metrics",
    "metric_list": "metrics",
    "n_shot": "max_train_instances",
    "num_fewshot": "max_train_instances",
    "num_samples": "max_eval_instances",
    "num_shots": "max_train_instances",
    "output_mapping_pattern": "answer",
    "random_seed": "seed",
    "regex_pattern": "answer",
    "repeats": "samples",
    "run_entries": "runs",
    "shots": "max_train_instances",
    "split": "eval_split",
    "stop": "stop_sequences",
    "system_instruction": "system_prompt",
    "system_message": "system_prompt",
    "task": "scenario",
    "tasks": "runs",
    "until": "stop_sequences",
}
"""Other programs' names of settings, and ours."""

OPTIONS: Mapping[str, str] = {
    "--batch_size": "There is no such setting: batch sizes are chosen automatically.",
    "--batch-size": "There is no such setting: batch sizes are chosen automatically.",
    "--gen_kwargs": "Write settings of the adapter in a sweep: adapter: {max_tokens: 100, temperature: 0}.",
    "--include_path": "Name plugins and scenario files with --plugin.",
    "--limit": "Here it is --max-eval-instances.",
    "--log_samples": "Examples are always written, to examples.jsonl.gz in each run's folder.",
    "--max-samples": "Here it is --max-eval-instances.",
    "--model_args": "Write them after the model's name: -m hf:gpt2,dtype=float32.",
    "--num_fewshot": "Write it in the run: -r mmlu:subject=anatomy,max_train_instances=5.",
    "--num-fewshot": "Write it in the run: -r mmlu:subject=anatomy,max_train_instances=5.",
    "--output": "Here it is --results-dir.",
    "--output_path": "Here it is --results-dir.",
    "--seed": "Write it in a sweep: defaults: {seed: 1}.",
    "--task": "Name runs with -r, for example -r mmlu:subject=anatomy, or a sweep file.",
    "--tasks": "Name runs with -r, for example -r mmlu:subject=anatomy, or a sweep file.",
}
"""Other programs' options, and what to write instead."""

_EFFORT = "Write reasoning: {effort: low}, or another effort."
_AT_MOST = "Write max_tokens: {at_most: 4096}, or {at_least: …}."

MODEL_KEYS: Mapping[str, str] = {
    "add_bos_token": "Leave it out: special tokens are added as the tokenizer says.",
    "alias": "Here it is called 'display_name'.",
    "do_sample": "Set temperature; 0 is greedy decoding.",
    "effort": _EFFORT,
    "enable_thinking": "Write chat_template_kwargs: {enable_thinking: false}.",
    "label": "Here it is called 'display_name'.",
    "max_gen_toks": _AT_MOST,
    "max_new_tokens": _AT_MOST,
    "reasoning_effort": _EFFORT,
    "seed": "It is a setting of runs: write defaults: {seed: 1}, or sampling_seed.",
    "stop": "It is a setting of the adapter: write adapter: {stop_sequences: […]} in the run.",
    "system_instruction": "Here it is called 'system_prompt'.",
    "system_message": "Here it is called 'system_prompt'.",
}
"""Keys that other programs' models have, and what to write instead in a model's entry."""

_PROMPT = "A task's texts are in its scenario file: `input`, `references` and `correct`."
_NO_KEYS = {name: OPTIONS[f"--{name}"] for name in ("batch_size", "gen_kwargs", "log_samples", "model_args")} | {
    "apply_chat_template": "Leave it out: a model with a chat template is always asked through it.",
    "doc_to_choice": _PROMPT,
    "doc_to_target": _PROMPT,
    "doc_to_text": _PROMPT,
    "fewshot_as_multiturn": "Write adapter: {examples_as_turns: true}.",
    "generation_kwargs": OPTIONS["--gen_kwargs"],
    "output_type": "Choose a method: adapter: generation, or another of `harness list adapters`.",
    "priority": "Leave it out: every run of a sweep is carried out.",
}

METHODS: Mapping[str, str] = {
    "generate_until": "generation",
    "loglikelihood": "multiple_choice_separate_original",
    "loglikelihood_rolling": "language_modeling",
    "multiple_choice": "multiple_choice_joint",
}
"""lm-evaluation-harness's kinds of output, and the adaptation methods that do the same."""

METRICS: Mapping[str, str] = {
    "brier": "brier_score",
    "em": "exact_match",
    "f1": "f1_score",
    "rouge1": "rouge_1",
    "rouge2": "rouge_2",
    "rougeL": "rouge_l",
    "rougel": "rouge_l",
}
"""Other programs' names of metrics."""


def key_hint(key: str, known: Sequence[str]) -> str:
    """Return what another program's key is called here, or what to write instead; '' where neither is known."""
    ours = KEYS.get(key.lower(), "")
    return f"Here it is called {ours!r}." if ours in known else _NO_KEYS.get(key.lower(), "")

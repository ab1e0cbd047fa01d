"""``harness validate``, ``harness preview`` and ``harness schema``: check a sweep before it runs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.sources import ReadSweep, sweep_source
from harness.contracts import Adapted, GenerateRequest, Model, Prompt
from harness.contracts.specs import RunSpec
from harness.output.display import brief, counted
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.plugins.registry import Registry


@click.command("validate")
@sweep_source
@options.data_dir
def validate_command(read: ReadSweep, data_dir: Path | None) -> None:
    """Check SWEEP without reading data or loading models; report every error with its line.

    Exit code 2 if the sweep has errors, else 0, even if it says that runs would fail on this machine: they may succeed
    on another. That is said of runs that need models, GPUs, packages, data or judges' keys which this machine lacks.

    Servers and judges are not asked anything: whether a server other than OpenAI's own can score texts shows when the
    sweep is run. What comes from the Hub is not looked for: see `harness data status`.
    """
    from harness.executors.layout import check_cards
    from harness.runs.runner import obstacles

    found, registry = read()
    models = len({spec.model.model_dump_json() for spec in found.runs})
    say(f"Valid: suite {found.suite!r}, {counted(len(found.runs), 'run')} with {counted(models, 'model')}.")
    lacking = obstacles(found.runs, registry, data_dir)
    if cards := check_cards(found.runs, registry, found.executor):
        lacking = [[cards, *one] for one in lacking]  # then no run is begun
    if any(lacking):
        say(f"On this machine, {sum(map(bool, lacking))} of {len(lacking)} runs would fail:", err=True)
        for obstacle, runs in Counter(one for run in lacking for one in run).items():
            say(f"  {counted(runs, 'run')}: {obstacle}", err=True)


@click.command("schema")
@options.plugins
def schema_command(plugins: tuple[Path, ...]) -> None:
    """Print the JSON Schema of sweep files, including the names of all installed plugins."""
    from harness.plugins.registry import default_registry
    from harness.sweeps.json_schema import json_schema

    say(json.dumps(json_schema(default_registry(plugins)), indent=2))


@click.command("preview")
@sweep_source
@options.data_dir
@click.option("-n", "--instances", type=options.POSITIVE, default=2, help="Instances to show per run.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the prompts of all instances to this file as JSON lines instead of showing them.",
)
def preview_command(read: ReadSweep, data_dir: Path | None, instances: int, output: Path | None) -> None:
    """Show the exact prompts of the first instances of each run of SWEEP, with token counts and few-shot examples.

    A prompt is shown as the model reads it, with its chat template and special tokens, where the backend knows them.
    """
    from harness.errors import HarnessError
    from harness.inference.model_pool import load_model
    from harness.runs.evaluation import prepare
    from harness.runs.preview import first_prompts

    found, registry = read()
    if output is not None:
        _write_prompts(found.runs, registry, data_dir, output)
        return
    problems: dict[str, None] = {}
    for spec in found.runs:
        say(f"{spec.scenario.label} · {spec.adapter.name} · {brief(spec.model_label, 100)}", bold=True)
        if spec.prompt_variant is not None:
            say(f"prompt changed: {brief(spec.prompt_description, 400)}")
        try:
            evaluation, model = prepare(spec, registry, data_dir), load_model(spec.configured_model, registry)
            for adapted in first_prompts(evaluation, model, instances):
                _show(adapted, model)
        except HarnessError as error:
            problems[f"{spec.scenario.label} with {spec.model.name}: {error}"] = None
        say()
    for problem in problems:
        say(f"Would fail: {problem}", err=True)
    if problems:
        sys.exit(2)


def _write_prompts(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None, output: Path) -> None:
    """Write the requests of all runs as JSON lines, without duplicates."""
    from harness.inference.model_pool import load_model
    from harness.runs.evaluation import prepare
    from harness.runs.preview import prompt_lines
    from harness.storage.durable import writing

    lines: dict[str, None] = {}
    for spec in runs:
        evaluation, model = prepare(spec, registry, data_dir), load_model(spec.configured_model, registry)
        for line in prompt_lines(evaluation, model):
            lines[json.dumps(line, ensure_ascii=False)] = None
    with writing(output):
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="backslashreplace")
    say(f"{output}: {counted(len(lines), 'prompt')}.")


def _tokens(model: Model, text: Prompt) -> str:
    """Return the number of tokens of a text, or that it is not known."""
    tokens = model.count_tokens(text)
    if tokens or not text:
        return counted(tokens, "token")
    return "number of tokens not known: the model has no tokenizer on this machine"


def _show(adapted: Adapted, model: Model) -> None:
    """Print the requests made from one instance."""
    from harness.runs.generation_settings import described
    from harness.runs.preview import question, read_by, tool_text

    notes = [f"few-shot examples: {', '.join(adapted.train_instances) or 'none'}"]
    if adapted.trial:
        notes.insert(0, f"trial {adapted.trial}")
    if adapted.instance.perturbation is not None:
        notes.insert(0, f"perturbation {adapted.instance.perturbation}")
    if adapted.dropped_examples:
        notes.append(f"{adapted.dropped_examples} dropped to fit the window of {model.window}")
    if adapted.truncated:
        notes.append(f"input cut to fit the window of {model.window}")
    if adapted.follow_ups:
        notes.append(f"turns that follow the answer: {adapted.follow_ups}")
    say(f"\n{adapted.instance.id} ({'; '.join(notes)})", fg="cyan")
    shown = None
    for request in adapted.requests:
        prompt, scored = question(request)
        if prompt != shown and prompt:
            say(f"--- prompt, {_tokens(model, prompt)}", dim=True)
            say(read_by(model, request))
            for tool in getattr(request, "tools", ()):
                say(f"--- tool: {tool_text(tool)}", dim=True)
        shown = prompt
        if scored:
            say(f"--- scored, {_tokens(model, scored)}", dim=True)
            say(scored)
        elif isinstance(request, GenerateRequest):
            say(f"--- {described(request)}", dim=True)
    answers = [reference.text for reference in adapted.instance.correct]
    say(f"--- correct: {' | '.join(answers) or 'no reference'}", dim=True)

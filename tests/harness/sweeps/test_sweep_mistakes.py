"""Mistakes in sweeps: each has its file, line, path, what is wrong and the nearest right name."""
# ruff: noqa: E501 - a case a line is easier to read than a case in five lines

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import SpecError
from harness.plugins.registry import Registry
from harness.sweeps.load import Sweep, load_sweep, sweep_from_entries

Load = Callable[..., Sweep]


def mistakes(load: Load, text: str, **overrides: Any) -> list[str]:
    """Load a sweep that is refused; return each mistake as ``line path: message hint``."""
    with pytest.raises(SpecError) as refused:
        load(text, **overrides)
    return [f"{m.line} {m.path}: {m.message} {m.hint}".strip() for m in refused.value.diagnostics]


def one_mistake(load: Load, run: str, head: str = "") -> str:
    """Load a sweep whose one entry stands on line 5 (after a head of one line) and holds one mistake."""
    (mistake,) = mistakes(load, f"suite: s\nmodels: [hf:a/b]\n{head}\nruns:\n  - {run}\n")
    return mistake


def assert_says(diagnostic: str, expected: str) -> None:
    """Check that a message has the given key words, which `` … `` separates, in their order."""
    assert re.search(".*".join(map(re.escape, expected.split(" … "))), diagnostic), diagnostic


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("chta", "5 runs[0]: there is no scenario named 'chta'. Did you mean 'chat'?"),
        ("exam", "5 runs[0].subject: is required. Write all, or one of: anatomy, virology, law."),
        ("exam:subject=lwa", "5 runs[0].subject: 'lwa' is not one of the choices. Did you mean 'law'?"),
        ("exam:subjct=law,subject=law", "5 runs[0].subjct: is not a parameter. Did you mean 'subject'?"),
        ("chat:max_tokens=5", "5 runs[0].max_tokens: is a setting of the adapter,  … shorthand … Write {scenario: chat, adapter: {max_tokens: …}}."),
        ("chat:max_token=5", "5 runs[0].max_token: is not a parameter. Did you mean 'max_tokens'?"),
        ("chat:groups=noise", "5 runs[0].groups: is a key of the run,  … shorthand … Write {scenario: chat, groups: …}."),
        ("exam:subject", "5 runs[0]: 'subject' in 'exam:subject' is not of the form key=value."),
        ("exam:subject=law,subject=law", "5 runs[0]: 'subject' … twice … 'exam:subject=law,subject=law'."),
        ("chat: style=long", "5 runs[0]: is a mapping without `scenario`. Did you mean 'chat:style=long', without a space after the colon?"),
        ("chat:model=text", "5 runs[0].model: 'text' … HELM's groups of models … Leave it out to use the sweep's models."),
        ("chat:stop=hash", "5 runs[0].stop: 'stop' is one of HELM's run expanders and has no counterpart here. Write what it changes as settings of the adapter."),
        ("{scenario: chat, adaptr: ask}", "5 runs[0].adaptr: is not a key. Did you mean 'adapter'?"),
        ("{scenario: {name: exam, subject: [law, lwa]}}", "5 runs[0].scenario.subject[1]: 'lwa' is not one of the choices. Did you mean 'law'?"),
        ("{scenario: {name: exam, subject: []}}", "5 runs[0].scenario.subject: … empty list"),
        ("{scenario: {name: exam, subject: [law, law]}}", "5 runs[0].scenario.subject[1]: … twice … 'law'"),
        ("{scenario: {subject: law, year: 1}}", "5 runs[0].scenario.name: `name` is required."),
        ("{scenario: {name: exam}}", "5 runs[0].scenario.subject: is required. Write all, or one of: anatomy, virology, law."),
        ("{scenario: {name: exm, subject: law}}", "5 runs[0].scenario.name: there is no scenario named 'exm'. Did you mean 'exam'?"),
        ("{scenario: chat, adapter: quiz}", "5 runs[0].adapter.topic: is required."),
        ("{scenario: chat, adapter: {method: quiz, topik: x}}", "5 runs[0].adapter.topic: is required."),
        ("{scenario: missing.yaml}", "scenario file … missing.yaml does not exist"),
        ("{scenario: chat, main_metric: lenght}", "5 runs[0].main_metric: is 'lenght', which none of the run's metrics computes: length. Did you mean 'length'?"),
        ("{scenario: chat, main_metric: rigth}", "which none of the run's metrics computes: length. Did you mean 'right'?"),
        ("{scenario: chat, metrics: [ranks], main_metric: ranks}", "5 runs[0].main_metric: is 'ranks', which none of the run's metrics computes: ranks. Known: NDCG@*, RR@*."),
        ("{scenario: chat, metrics: [lenght], main_metric: 'RR@10'}", "5 runs[0].metrics[0]: there is no metric named 'lenght'"),
        ("{scenario: chat, adapter: asc}", "5 runs[0].adapter: there is no adapter named 'asc'. Did you mean 'ask'?"),
        ("{scenario: chat, adapter: {max_tokns: 1}}", "5 runs[0].adapter.max_tokns: is not a parameter. Did you mean 'max_tokens'?"),
        ("{scenario: chat, adapter: {max_tokens: 0}}", "5 runs[0].adapter.max_tokens: … at least 1, not 0."),
        ("{scenario: chat, adapter: {max_tokens: [1, x]}}", "5 runs[0].adapter.max_tokens[1]: … whole number"),
        ("{scenario: chat, adapter: compare, max_train_instances: 1}", "5 runs[0].max_train_instances: is not a setting of method 'compare'; these have it: ask."),
        ("{scenario: chat, adapter: {max_train_instances: 1}, max_train_instances: 2}", "is also set at runs[0].adapter.max_train_instances on line 5."),
        ("{scenario: 'chat:max_eval_instances=1', max_eval_instances: 2}", "5 runs[0].max_eval_instances: is also set in the scenario's shorthand."),
        ("{scenario: chat, metrics: [rigth]}", "5 runs[0].metrics[0]: there is no metric named 'rigth'. Did you mean 'right'?"),
        ("{scenario: chat, metrics: [{name: length, unit: word}]}", "5 runs[0].metrics[0].unit: 'word' is not one of the choices. Did you mean 'words'?"),
        ("{scenario: chat, metrics: []}", "5 runs[0].metrics: is empty"),
        ("{scenario: chat, metrics: both}", "5 runs[0].metrics: … a list … Write [both]."),
        ("{scenario: chat, perturbations: [{name: noise, prob: 1}]}", "5 runs[0].perturbations[0].prob: perturbation set 'noise' takes no parameters, not 'prob'."),
        ("{scenario: chat, perturbations: [typos, 'typos:prob=0.3']}", "5 runs[0].perturbations[1]: perturbation … twice with different arguments"),
        ("{scenario: chat, eval_split: dev}", "5 runs[0].eval_split: 'dev' … test, train, valid"),
        ("{scenario: chat, max_eval_instances: 0}", "5 runs[0].max_eval_instances: … at least 1, not 0."),
        ("{scenario: chat, max_eval_instances: true}", "5 runs[0].max_eval_instances: … whole number, not True."),
        ("{scenario: chat, model: gpt2}", "5 runs[0].model: 'gpt2' … backend:identifier … Did you mean 'hf:gpt2'?"),
        ("{scenario: chat, model: 'talkr:gpt2'}", "5 runs[0].model: there is no backend named 'talkr'. Did you mean 'talker:gpt2'?"),
        ("{scenario: chat, models: []}", "5 runs[0].models: is empty; a run needs a model."),
        ("{scenario: chat, model: {name: 'hf:a', dtyp: float32}}", "5 runs[0].model.dtyp: is not a parameter. Did you mean 'dtype'?"),
        ("{scenario: chat, adapter: compare, model: 'talker:x'}", "5 runs[0]: method 'compare' … score … 'talker:x' cannot. These can: hf:a/b, hf:…."),
        ("{task: chat}", "5 runs[0].task: … Here it is called 'scenario'"),
        ("{name: chat}", "5 runs[0].name: … Here it is called 'scenario'"),
        ("chat: {num_fewshot: 5, limit: 3}", "5 runs[0]: … Write {scenario: chat, max_train_instances: 5, max_eval_instances: 3}."),
        ("exam: {subject: law, num_fewshot: 5}", "5 runs[0]: … Write {scenario: {name: exam, subject: law}, max_train_instances: 5}."),
        ("'chat,num_fewshot=5'", "5 runs[0]: … no colon … Write chat:max_train_instances=5."),
        ("'chat:num_fewshot=5'", "5 runs[0].num_fewshot: … Here it is called 'max_train_instances'"),
        ("{scenario: chat, batch_size: 4}", "5 runs[0].batch_size: … batch sizes are chosen automatically"),
        ("{scenario: chat, max_tokens: 4}", "5 runs[0].max_tokens: … write adapter: {max_tokens: …}"),
        ("3", "5 runs[0]: … mapping with `scenario`, not 3."),
        ("''", "5 runs[0]: '' does not begin with a name."),
    ],
)  # fmt: skip
def test_mistake_in_an_entry(load: Load, run: str, expected: str) -> None:
    assert_says(one_mistake(load, run), expected)


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ("{max_eval: 3}", "3 defaults.max_eval: is not a key. Did you mean 'max_eval_instances'?"),
        ("{adapter: {max_tokns: 1}}", "3 defaults.adapter.max_tokns: … any adaptation method. Did you mean 'max_tokens'?"),
        ("{adapter: {max_tokens: x}}", "3 defaults.adapter.max_tokens: … whole number"),
        ("{train_trials: 0}", "3 defaults.train_trials: … at least 1, not 0."),
        ("{metrics: [rigth]}", "3 defaults.metrics[0]: there is no metric named 'rigth'. Did you mean 'right'?"),
        ("{perturbations: [nois]}", "3 defaults.perturbations[0]: there is no perturbation named 'nois'. Did you mean 'noise'?"),
        ("{seed: -1}", "3 defaults.seed: … at least 0, not -1."),
        ("[1]", "3 defaults: … a mapping, not [1]"),
    ],
)  # fmt: skip
def test_mistake_in_the_defaults_is_said_once(load: Load, defaults: str, expected: str) -> None:
    run = "{scenario: {name: exam, subject: [law, virology]}}"
    assert_says(one_mistake(load, run, head=f"defaults: {defaults}"), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1 : is empty; a sweep is a mapping"),
        ("- chat", "['chat']; a sweep is a mapping"),
        ("suite: s\nmodels: [hf:a]", "1 runs: is required."),
        ("suite: s\nmodels: [hf:a]\nruns: []", "3 runs: is empty"),
        ("suite: s\nmodels: [hf:a]\nruns:", "3 runs: … a list, not null"),
        ("suite: s\nruns: [chat]", "1 models: is required, since not every run names its own"),
        ("suite: s\nmodels: []\nruns: [chat]", "2 models: is empty; a sweep needs a model."),
        ("suite: s\nmodels: [hf:a, hf:a]\nruns: [chat]", "2 models[1]: is the same model as models[0] on line 2."),
        ("suite: ../s\nmodels: [hf:a]\nruns: [chat]", "1 suite: must be a folder name"),
        ("models: [hf:a]\nruns: [chat]", "1 suite: is required."),
        ("suite: s\nmodels: [hf:a]\nruns: [chat]\nruns: [chat]", "4 runs: is already set on line 3."),
        ("suite: s\nmodel: [hf:a]\nmodels: [hf:a]\nruns: [chat]", "2 model: is not a key. Did you mean 'models'?"),
        ("suite: s\nmodels: [hf:a]\nplugins: [no.py]\nruns: [chat]", "no.py does not exist."),
        ("suite: s\nmodels: [hf:a]\nruns:\n  - chat\n  - {scenario: chat}", "5 runs[1]: … same run as runs[0] on line 4"),
        ("suite: s\nmodels: [hf:a]\nlimit: 5\nruns: [chat]", "3 limit: … write defaults: {max_eval_instances: …}"),
        ("suite: s\nmodels: [hf:a]\nmax_tokens: 5\nruns: [chat]", "3 max_tokens: … write defaults: {adapter: {max_tokens: …}}"),
        ("suite: s\nmodels: [hf:a]\ntasks: [chat]\nruns: [chat]", "3 tasks: … Here it is called 'runs'"),
        ("suite: s\nmodels: [hf:a\nruns: [chat]", "is not valid YAML"),
    ],
)  # fmt: skip
def test_mistake_in_a_sweep(load: Load, text: str, expected: str) -> None:
    (mistake,) = mistakes(load, text)
    assert_says(mistake, expected)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_lines(load: Load) -> None:
    text = """\
        suit: s
        models: [gpt2]
        defaults:
          max_eval_instances: many
        runs:
          - chta
          - scenario: {name: exam, subject: [lwa, law]}
            adapter: {max_tokns: 3}
            metrics: [rigth]
    """
    found = mistakes(load, text)
    assert [mistake.split(":")[0] for mistake in found] == [
        "1 suite",
        "1 suit",
        "2 models[0]",
        "4 defaults.max_eval_instances",
        "6 runs[0]",
        "7 runs[1].scenario.subject[0]",
        "8 runs[1].adapter.max_tokns",
        "9 runs[1].metrics[0]",
    ]


def test_a_scenarios_own_mistake_names_the_scenario(load: Load, tmp_path: Path) -> None:
    plugin = tmp_path / "bad.py"
    plugin.write_text(
        "from harness import Source, scenario\n"
        "@scenario('bad', title='B', source='n', data=Source(), adapter={'method': 'ask', 'tokens': 1},\n"
        "          metrics=['rigth'], main_metric='right', taxonomy={})\n"
        "def bad(data):\n    '''Bad.'''\n    yield from ()\n"
    )
    found = mistakes(load, "suite: s\nmodels: [hf:a]\nruns: [bad]", plugins=[plugin])
    assert found == [
        "3 runs[0]: there is no metric named 'rigth' (from scenario 'bad'). Did you mean 'right'? "
        "See `harness list metrics`.",
        "3 runs[0]: tokens is not a parameter. (from scenario 'bad') Did you mean 'max_tokens'?",
    ]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            "quiz.yaml",
            "3 main_metric: is 'lenght', which none of the run's metrics computes: length. Did you mean 'length'?",
        ),
        (
            "{scenario: quiz.yaml, metrics: [ranks]}",
            "5 runs[0].scenario: the main metric of scenario 'quiz' is 'lenght', which none of the run's metrics computes: "
            "ranks. Name another with `main_metric`.",
        ),
    ],
)
def test_a_scenario_files_main_metric_that_nothing_gives(load: Load, tmp_path: Path, run: str, expected: str) -> None:
    (tmp_path / "quiz.yaml").write_text(
        "name: quiz\nmetrics: [length]\nmain_metric: lenght\n"
        "description: A quiz.\ncitation: Nobody.\nsource: {files: {test: ./quiz.jsonl}}\n"
        'input: "{{ question }}"\nreferences: "{{ options }}"\ncorrect_index: "{{ answer }}"\nadapter: {method: ask}\n'
    )
    assert one_mistake(load, run) == expected


def test_a_broken_plugin_is_a_mistake_where_it_is_named(load: Load, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    found = mistakes(load, "suite: s\nmodels: [hf:a]\nplugins: [broken.py]\nruns: [chat]")
    assert len(found) == 1
    assert found[0].startswith("3 plugins[0]:")
    assert "ZeroDivisionError" in found[0]


@pytest.mark.slow
def test_too_many_runs_are_refused_before_they_are_made(load: Load) -> None:
    years = list(range(2000))
    runs = f"[{{scenario: {{name: exam, subject: [law, virology], year: {years}}}, adapter: {{max_tokens: {years}}}}}]"
    found = mistakes(load, f"suite: s\nmodels: [hf:a]\nruns: {runs}")
    assert any("more than 250,000" in mistake for mistake in found)


def test_a_mistake_on_the_command_line_names_the_option(load: Load, toy_registry: Registry) -> None:
    with pytest.raises(SpecError) as refused:
        sweep_from_entries(["exam:subjct=law,subject=law", "chta"], ["gpt2"], registry=toy_registry)
    assert str(refused.value).splitlines() == [
        "command line: --model gpt2: 'gpt2' does not name a backend; write a model as backend:identifier. Did you mean 'hf:gpt2'?",
        "command line: --run exam:subjct=law,subject=law [subjct]: is not a parameter. Did you mean 'subject'?",
        "command line: --run chta: there is no scenario named 'chta'. Did you mean 'chat'? "
        "See `harness list scenarios`.",
    ]
    with pytest.raises(SpecError, match="--only nothing: matches none of the sweep's runs"):
        load("suite: s\nmodels: [hf:a]\nruns: [chat]", only=["nothing"])
    with pytest.raises(SpecError, match="--model: is required"):
        sweep_from_entries(["chat"], [], registry=toy_registry)


def test_unreadable_files(tmp_path: Path, toy_registry: Registry) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_sweep(tmp_path / "missing.yaml", registry=toy_registry)
    (tmp_path / "latin.yaml").write_bytes(b"suite: caf\xe9")
    with pytest.raises(SpecError, match="not UTF-8"):
        load_sweep(tmp_path / "latin.yaml", registry=toy_registry)


def test_what_is_left_of_an_entry_with_a_mistake_is_no_duplicate(load: Load) -> None:
    text = "suite: s\nmodels: [hf:a/b]\nruns:\n  - {scenario: chat, metrics: [right, rigth]}\n"
    text += "  - {scenario: chat, metrics: [right]}\n  - {scenario: chat, metrics: [right, wrnog]}\n"
    assert [mistake.split(":")[0] for mistake in mistakes(load, text)] == [
        "4 runs[0].metrics[1]",
        "6 runs[2].metrics[1]",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("name: quiz\nsource: {files: {}}\ninput: x\n", "is a scenario file, not a sweep. To run it: harness run -r"),
        ("suite: s\nmodels: [fake:0]\nruns: [{senario: toy}]\n", "Did you mean 'scenario' by 'senario'?"),
        (
            "suite: s\nmodels: [fake:0]\nruns: [./toy.py]\n",
            "is a Python file, not a scenario's name. Name the file with",
        ),
    ],
)
def test_what_was_meant_is_told(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(content)
    with pytest.raises(SpecError, match=re.escape(said)):
        load_sweep(file)


def test_a_wrong_key_of_a_run_hides_no_mistake_in_its_other_keys(load: Load) -> None:
    found = mistakes(
        load,
        "suite: s\nmodels: [hf:a]\nruns:\n  - {scenario: chat, max_eval_instances: ten, perturbations: [lowd], metrics: [rihgt], nonsense: 1}\n",
    )
    paths = [mistake.split(": ")[0] for mistake in found]
    assert paths == [
        "4 runs[0].max_eval_instances",
        "4 runs[0].nonsense",
        "4 runs[0].perturbations[0]",
        "4 runs[0].metrics[0]",
    ]


def test_a_wrong_default_hides_no_mistake_in_the_others(load: Load) -> None:
    found = mistakes(load, "suite: s\nmodels: [hf:a]\ndefaults: {seed: x, perturbations: [lowd]}\nruns: [chat]\n")
    assert [mistake.split(": ")[0] for mistake in found] == ["3 defaults.seed", "3 defaults.perturbations[0]"]


def test_a_method_of_multiple_choice_needs_options(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "suite: s\nmodels: [fake:0]\nruns:\n"
        "  - gsm8k:method=multiple_choice_joint\n"
        "  - {scenario: narrative_qa, adapter: {method: option_order}}\n"
        "  - {scenario: boolq, adapter: multiple_choice_joint}\n"
    )
    with pytest.raises(SpecError) as refused:
        load_sweep(file)
    first, second = map(str, refused.value.diagnostics)
    assert_says(first, ":4: runs[0].adapter: … 'multiple_choice_joint' … options … 'gsm8k' … 'generation'")
    assert_says(second, ":5: runs[1].adapter: … 'option_order' … options … 'narrative_qa'")


def test_a_metric_of_options_needs_a_method_that_offers_or_scores_them(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "suite: s\nmodels: [fake:0]\nruns:\n"
        "  - {scenario: gsm8k, metrics: [acc_norm]}\n"
        "  - {scenario: openbookqa, adapter: multiple_choice_joint, metrics: [true_mass]}\n"
        "  - {scenario: openbookqa, adapter: multiple_choice_joint, metrics: [multiple_choice_accuracy]}\n"
        "  - {scenario: openbookqa, adapter: generation}\n"
        "  - {scenario: openbookqa, metrics: [acc, multiclass_brier_score]}\n"
    )
    with pytest.raises(SpecError) as refused:
        load_sweep(file)
    first, second, third = map(str, refused.value.diagnostics)
    assert_says(first, ":4: runs[0].metrics: acc_norm … scores each option; generation does not … 'gsm8k' … no wrong")
    assert_says(second, ":5: runs[1].metrics: true_mass … multiple_choice_joint does not … multiple_choice_separate")
    assert_says(third, ":7: runs[3] … multiple_choice_accuracy … lets the model choose … generation does not")


def test_a_default_prompt_that_scenarios_lack_names_them_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "suite: s\nmodels: [fake:0]\ndefaults: {prompt: lm_eval}\nruns:\n"
        "  - boolq\n  - imdb\n  - narrative_qa\n  - {scenario: boolq, prompt: helm}\n"
    )
    with pytest.raises(SpecError) as refused:
        load_sweep(file)
    (said,) = map(str, refused.value.diagnostics)
    assert_says(
        said, ":3: defaults.prompt: 2 scenarios have no prompt 'lm_eval': imdb, narrative_qa. … prompt: lm_eval"
    )
    file.write_text(file.read_text().replace("  - imdb\n  - narrative_qa\n", "  - {scenario: imdb, prompt: x}\n"))
    with pytest.raises(SpecError, match="chooses a prompt, but scenario 'imdb' has only one"):
        load_sweep(file)


@pytest.mark.parametrize("model", ["hf:a/b,system_prompt=Be short, please", "hf:a/b,temperature=[0,1], x"])
def test_settings_are_never_taken_for_a_part_of_a_model_s_name(load: Load, model: str) -> None:
    found = mistakes(load, f"suite: s\nmodels: ['{model}']\nruns: [chat]\n")
    assert any("looks as if it had settings" in line for line in found)

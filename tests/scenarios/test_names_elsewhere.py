"""What other harnesses call a task is answered with what to write here; the lists in ``names`` are facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness.contracts.plugins import Kind
from harness.errors import SpecError
from harness.plugins.registry import Registry
from harness.sweeps.aliases import aliases_of, called_here, is_written_here
from harness.sweeps.load import sweep_from_entries, sweep_from_mapping
from harness.sweeps.shorthand import parse_entry

NAMES = Path(__file__).parent / "names"
CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")


def rows(name: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a list and their answers."""
    for line in (NAMES / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            written, _, expected = line.partition(" => ")
            found = CHOICE.search(written)
            for one in found[1].split("|") if found else [""]:
                yield written.replace(found[0], one) if found else written, expected.replace("{}", one)


HELM, LM_EVAL = [*rows("helm.txt")], [*rows("lm_eval.txt")]


def answer(written: str, registry: Registry) -> str:
    entry = parse_entry(written)
    plugin = registry.find(Kind.SCENARIO, entry.name)
    return "=" if plugin and is_written_here(entry, plugin) else called_here(entry, registry) or "none"


def without_prompt(text: str) -> str:
    """Leave out the prompt that imitates the program: other tests are about it."""
    return re.sub(r"[:,](prompt=| prompt: )lm_eval\w*", "", text)


def test_the_lists_are_long_enough() -> None:
    assert len(HELM) > 400
    assert len(LM_EVAL) > 400
    assert len({expected.partition(":")[0] for _, expected in LM_EVAL}) >= 40


def test_run_entries_of_helm(registry: Registry) -> None:
    wrong = []
    for written, expected in HELM:
        found = answer(written, registry)
        pattern = re.escape(expected).replace(re.escape("[...]"), r"\[\w+(, \w+)+\]")
        if not re.fullmatch(pattern, found):
            wrong.append((written, expected, found))
    assert not wrong


def test_tasks_of_lm_eval(registry: Registry) -> None:
    found = [(written, without_prompt(answer(written, registry))) for written, _ in LM_EVAL]
    assert found == LM_EVAL


def test_what_is_answered_can_be_run(registry: Registry) -> None:
    """Each answer is a valid entry; that a judge, or leave to run code, is missing is said by another message."""
    answers = {called_here(parse_entry(written), registry) for written, _ in [*HELM, *LM_EVAL]} - {""}
    assert {text.partition(":")[0] for text in answers} >= {"arc", "bbh", "blimp", "gpqa", "math", "mmlu", "wikifact"}
    wrong: dict[str, str] = {}
    for text in sorted(answers):
        runs = yaml.safe_load(f"[{text}]") if text.startswith("{") else [text]
        try:
            sweep_from_mapping({"suite": "s", "models": ["hf:x"], "runs": runs}, registry=registry)
        except SpecError as error:
            wrong[text] = str(error)
    judged = r"[^\n]*metric '\w+' \(from scenario [^\n]*\) needs (model\.|allow_code_execution)[^\n]*"
    assert {text: said for text, said in wrong.items() if not re.fullmatch(judged, said)} == {}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("arc_challenge", "arc:subset=challenge,prompt=lm_eval"),
        ("leaderboard_bbh_navigate", "bbh:task=navigate,prompt=lm_eval"),
        ("bbh_fewshot_navigate", "bbh:prompt=direct,task=navigate"),
        ("truthfulqa_mc1", "truthful_qa:prompt=lm_eval_mc1"),
        ("truthfulqa_mc2", "truthful_qa:prompt=lm_eval"),
        ("gsm8k_cot", "gsm8k:prompt=lm_eval_cot"),
        ("gsm8k_cot_zeroshot", "gsm8k:max_train_instances=0"),
        ("commonsense:dataset=hellaswag", "hellaswag"),
        ("squadv2", "squad_v2"),
    ],
)
def test_the_prompt_that_imitates_the_program_is_chosen(written: str, expected: str, registry: Registry) -> None:
    assert called_here(parse_entry(written), registry) == expected


@pytest.mark.parametrize(
    ("written", "differs"),
    [
        ("gsm8k_cot_zeroshot", True),
        ("minerva_math", True),
        ("minerva_math500", True),
        ("mmlu_pro_math", True),
        ("mmlu_flan_cot_zeroshot", True),
        ("gsm8k_cot", False),
        ("leaderboard_mmlu_pro", False),
        ("arc_challenge", False),
        ("squadv2", False),
        ("natural_qa:mode=closedbook", False),
    ],
)
def test_the_message_says_if_no_prompt_here_equals_the_tasks(written: str, differs: bool, registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        sweep_from_entries([written], ["fake:x"], registry=registry)
    assert f"Did you mean {called_here(parse_entry(written), registry)!r}?" in str(caught.value)
    assert ("asked differently here" in str(caught.value)) is differs


def test_every_alias_means_something_here(registry: Registry) -> None:
    """Its arguments are parameters of the scenario, and no other scenario has the same alias."""
    known: dict[tuple[str, str], str] = {}
    for plugin in registry.all(Kind.SCENARIO):
        for alias in aliases_of(plugin):
            key = (alias.name.casefold(), str(dict(alias.given)))
            assert known.setdefault(key, plugin.name) == plugin.name or "{" in alias.name, alias
            assert alias.program in {"lm_eval", "helm"}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("arc_challenge", "there is no scenario named 'arc_challenge'. Did you mean 'arc:subset=challenge"),
        ("natural_qa:mode=closedbook", "uses another harness's arguments. Did you mean 'natural_qa'?"),
        ("wmt_14:language_pair=cs-en,max_train_instances=1", "Did you mean 'wmt_14:source=cs,max_train_instances=1'?"),
        ("commonsense:dataset=hellaswag", "there is no scenario named 'commonsense'. Did you mean 'hellaswag'?"),
        ("nothing_like_this_at_all", "there is no scenario named 'nothing_like_this_at_all'. Known: "),
    ],
)
def test_the_answer_is_in_the_message(written: str, said: str, registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        sweep_from_entries([written], ["fake:x"], registry=registry)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "written", ["mmlux", "mmluu:subject=anatomy", "gsm8kk", "wikifactt", "bbhh", "mmlu-pro", "legalbenchh"]
)
def test_the_nearest_name_can_be_run(written: str, registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        sweep_from_entries([written], ["fake:x"], registry=registry)
    found = re.search(r"Did you mean '(.+?)'\?", str(caught.value))
    assert found is not None
    entry = parse_entry(written)
    given = ",".join(f"{key}={value}" for key, value in entry.arguments.items())
    followed = found[1] if ":" in found[1] or not given else f"{found[1]}:{given}"
    sweep, _ = sweep_from_entries([followed], ["fake:x"], registry=registry)
    assert sweep.runs


def test_a_list_of_subjects_is_shown_for_a_sweep_file(registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        sweep_from_entries(["mmlu_stem"], ["fake:x"], registry=registry)
    found = re.search(r"In a sweep file, write this under `runs`: (.+)\.$", str(caught.value))
    assert found is not None
    content = {"suite": "s", "models": ["fake:x"], "runs": [yaml.safe_load(found[1])]}
    sweep, _ = sweep_from_mapping(content, registry=registry)
    assert len(sweep.runs) == 19

"""Facts about models in a file that sweeps share: which models they reach, what takes precedence, every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.sweeps.load import load_sweep

SWEEP = """suite: facts
about: models.yaml
models: [{models}]
runs: [sample_reading]
"""


def load(folder: Path, facts: str, written: str = "'fake:0'", **overrides: Any) -> tuple[RunSpec, ...]:
    (folder / "models.yaml").write_text(facts, encoding="utf-8")
    (folder / "sweep.yaml").write_text(SWEEP.replace("{models}", written), encoding="utf-8")
    return load_sweep(folder / "sweep.yaml", **overrides)[0].runs


def test_every_model_gets_the_facts_of_its_name(tmp_path: Path) -> None:
    facts = '"fake:0": {creator: Example Lab, licence: MIT, parameters: 7}\n"fake:9": {creator: Nobody}\n'
    first, second = load(tmp_path, facts, "'fake:0', 'fake:1'")
    assert first.settings.about is not None
    assert (first.settings.about.creator, first.settings.about.parameters) == ("Example Lab", 7)
    assert second.settings.about is None
    (given,) = load(tmp_path, facts, "'fake:1'", models=["fake:9"])
    assert given.settings.about is not None
    assert given.settings.about.creator == "Nobody"


def test_a_models_own_facts_take_precedence_and_no_fact_repeats_a_run(tmp_path: Path) -> None:
    (plain,) = load(tmp_path, "{}")
    own = "{name: 'fake:0', about: {licence: Apache-2.0}}"
    (run,) = load(tmp_path, '"fake:0": {creator: Example Lab, licence: MIT}', own)
    assert run.operational == {"about": {"creator": "Example Lab", "licence": "Apache-2.0"}}
    assert run.digest == plain.digest


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ('"fake:0":\n  creatr: X\n', "models.yaml:2: fake:0.creatr: is not a fact. Did you mean 'creator'?"),
        ('"fake:0": {parameters: many}', "models.yaml:1: fake:0.parameters: "),
        ('"fake:0": Example Lab', "models.yaml:1: fake:0: must be facts about the model, not 'Example Lab'."),
        ('"fake:0": {series: a, step: 1}', "models.yaml:1: fake:0.step: differs between revisions of a model"),
        ("- fake:0", "must be a mapping of models to facts about them."),
        ('"fake:0": {creator: A}\n"fake:0": {creator: B}\n', "models.yaml:2: "),
        ("{", "models.yaml:"),
    ],
)
def test_mistakes_are_reported_with_their_place(tmp_path: Path, facts: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, facts)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_reported_at_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.replace("{models}", "'fake:0'").replace("models.yaml", "nowhere.yaml"))
    with pytest.raises(SpecError, match=r"sweep\.yaml:2: about: there is no file .*nowhere\.yaml"):
        load_sweep(tmp_path / "sweep.yaml")


def _step(model: str, series: str, step: int) -> str:
    return f"{{name: '{model}', about: {{series: {series}, step: {step}}}}}"


def test_two_models_cannot_be_the_same_step_of_a_training(tmp_path: Path) -> None:
    message = (
        r"sweep\.yaml:3: models\[1\]\.about: fake:1 is declared as step 100 of series 'a', and so is fake:0\. Give "
    )
    with pytest.raises(SpecError, match=message):
        load(tmp_path, "{}", f"{_step('fake:0', 'a', 100)}, {_step('fake:1', 'a', 100)}")
    several = ", ".join([_step("fake:0", "a", 100), _step("fake:1", "a", 200), _step("fake:2", "b", 100)])
    assert len(load(tmp_path, "{}", several)) == 3
    # A model of the command line replaces that of the sweep.
    replaced = {"name": "fake:9", "about": {"series": "a", "step": 100}}
    assert len(load(tmp_path, "{}", _step("fake:0", "a", 100), models=[replaced])) == 1

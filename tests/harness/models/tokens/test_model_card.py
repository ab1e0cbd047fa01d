"""Facts are taken from a checkpoint's model card; a card that says nothing of use, or is malformed, states nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.models.tokens import checkpoint
from harness.models.tokens.model_card import card_in_folder, facts_of_card

CARD = """---
license: other
license_name: example-community
license_link: https://example.org
base_model: [org/base, org/other]
library_name: transformers
tags: [chat]
---
# A model

---
license: mit
---
"""


def test_the_front_matter_of_a_card_states_licence_base_model_and_library(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    assert facts_of_card(card_in_folder(tmp_path)) == {
        "licence": "example-community",
        "base_model": "org/base, org/other",
        "library": "transformers",
    }


@pytest.mark.parametrize(
    "text",
    [
        "# A model without front matter\n---\nlicense: mit\n---\n",
        "---\nlicense: [\n---\n",
        "---\n- license\n---\n",
        "---\nlicense: {name: mit}\n---\n",
        "---\nlicense: 3\n---\n",
        f"---\nlicense: {'x' * 1000}\n---\n",
        "---\nlicense: !!python/object/apply:os.getcwd []\n---\n",
        "---\nlicense: mit\n",
        "",
    ],
)
def test_a_card_that_says_nothing_of_use_states_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    assert facts_of_card(card_in_folder(tmp_path)) == {}


def test_a_folder_without_a_card_states_nothing(tmp_path: Path) -> None:
    assert card_in_folder(tmp_path) == {}


@given(st.dictionaries(st.sampled_from(["license", "license_name", "base_model", "library_name"]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300), st.lists, max_leaves=4)))  # fmt: skip
def test_facts_are_short_texts_whatever_a_card_says(card: dict[str, Any]) -> None:
    facts = facts_of_card(card)
    assert facts.keys() <= {"licence", "base_model", "library"}
    assert all(isinstance(text, str) and 0 < len(text) <= 200 for text in facts.values())


def test_a_description_has_the_facts_of_the_card(tiny_checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    from harness.models.transformers.huggingface import HuggingFaceModel

    folder = tmp_path / "carded"
    shutil.copytree(tiny_checkpoint("gpt2"), folder)
    before = HuggingFaceModel(str(folder))
    assert "card" not in before.description()
    (folder / "README.md").write_text(CARD)
    after = HuggingFaceModel(str(folder))
    assert after.description()["card"]["licence"] == "example-community"
    assert after.fingerprint() == before.fingerprint()
    assert "quantization" not in after.description()


def test_a_configuration_says_how_weights_are_quantised() -> None:
    from harness.models.tokens.checkpoint_model import quantisation

    assert quantisation(SimpleNamespace()) == ""
    assert quantisation(SimpleNamespace(quantization_config={"quant_method": "gptq", "bits": 4})) == "gptq"
    assert quantisation(SimpleNamespace(quantization_config=SimpleNamespace(quant_method="awq"))) == "awq"


def test_the_hub_gives_the_card_with_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    told = hub.ModelCardData(license="apache-2.0", base_model="org/base")
    info = SimpleNamespace(sha="c0ffee", card_data=told)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: info)
    found = checkpoint.resolve_commit(checkpoint.find_checkpoint("hf:some-org/some-model", "main", False))
    assert checkpoint.card_facts(found) == {"licence": "apache-2.0", "base_model": "org/base"}

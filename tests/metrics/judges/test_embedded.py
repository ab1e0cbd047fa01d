"""The embedded judge: what its card promises, and weights that are not weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness import PluginError
from metrics.judges._embedded.training import Labelled, _agreement, _apart, _auc, write
from metrics.judges.embedded import WEIGHTS, Embedded

TOXIC = ("You are a fucking idiot.", "shut up you stupid bitch", "I will kill you, you piece of shit")
PLAIN = (
    "The weather in Lisbon is mild in spring.",
    "Please find the minutes of the meeting attached.",
    "She plays the violin in a small orchestra.",
)


def test_the_weights_are_small_and_not_pickled() -> None:
    assert WEIGHTS.stat().st_size <= 2 << 20
    with np.load(WEIGHTS, allow_pickle=False) as file:
        assert file["weights"].dtype == np.int8


def test_plain_and_toxic_texts_fall_on_their_sides() -> None:
    judge = Embedded()
    assert all(probability >= 0.5 for probability in judge.probabilities(TOXIC))
    assert all(probability < 0.5 for probability in judge.probabilities(PLAIN))


def test_a_text_is_judged_by_itself() -> None:
    judge = Embedded()
    together = judge.probabilities([*TOXIC, *PLAIN, ""])
    assert together == pytest.approx([judge.probabilities([text])[0] for text in (*TOXIC, *PLAIN, "")])
    assert all(0.0 <= probability <= 1.0 for probability in together)
    assert judge.probabilities([]) == []


def test_the_fingerprint_is_that_of_the_weights(tmp_path: Path) -> None:
    first, second = Embedded().fingerprint(), Embedded().fingerprint()
    assert first == second
    write(tmp_path / "other.npz", np.ones(1 << 20), -1.0)
    assert Embedded(weights=str(tmp_path / "other.npz")).fingerprint()["sha256"] != first["sha256"]


def test_the_probability_is_the_cards_formula(tmp_path: Path) -> None:
    weights = np.full(1 << 20, 0.5)
    write(tmp_path / "w.npz", weights, -1.0)
    # "ab" has 7 features: σ(-1 + 7·0.5/√7).
    expected = 1.0 / (1.0 + np.exp(1.0 - 3.5 / np.sqrt(7)))
    assert Embedded(weights=str(tmp_path / "w.npz")).probabilities(["ab"]) == pytest.approx([expected])


@pytest.mark.parametrize("content", [b"", b"not weights", None])
def test_damaged_weights(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "w.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PluginError, match="judge 'embedded'"):
        Embedded(weights=str(path)).probabilities(["a"])


def test_weights_of_another_size(tmp_path: Path) -> None:
    write(tmp_path / "w.npz", np.ones(8), 0.0)
    with pytest.raises(PluginError, match=r"holds \(8,\) weights"):
        Embedded(weights=str(tmp_path / "w.npz")).probabilities(["a"])


def test_figures_of_the_card() -> None:
    texts = [Labelled("a", 1.0), Labelled("b", 0.0), Labelled("c", 1.0), Labelled("d", 0.0)]
    assert _auc([0.9, 0.1, 0.4, 0.4], texts) == {"auc": 0.875, "toxic": 2, "not": 2}
    assert _agreement([0.9, 0.1, 0.8, 0.6], texts)["kappa"] == 0.5


def test_halves_of_held_out_sentences_are_not_trained_on() -> None:
    half = "this half of a sentence is held out"
    texts = [Labelled(half.upper(), 0.0), Labelled(f"{half} and goes on", 0.0), Labelled("another text", 0.0)]
    assert [one.text for one in _apart(texts, {half})] == ["another text"]

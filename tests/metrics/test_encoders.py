"""BERTScore and faithfulness: the matching by hand, and both from end to end with tiny models made here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness import Example, Instance, MetricError, Reference
from metrics._text.encoders import load_encoder
from metrics.bert_score import bert_score, greedy_match
from metrics.faithfulness import _sentences as sentences
from metrics.faithfulness import faithfulness

Build = Callable[..., Example]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "dog", "ran", "."]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A BERT of two layers that has learnt nothing, with three classes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{word[1:-1].lower()}_token": word for word in WORDS[:4]}
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        id2label={0: "CONTRADICTION", 1: "neutral", 2: "entailment"},
        initializer_range=0.5,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def test_greedy_matching_by_hand() -> None:
    # Cosines 1 and 0 for the first vector, 0.6 and 0.8 for the second.
    prediction, reference = np.array([[2.0, 0.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 5.0]])
    precision, recall = (1.0 + 0.8) / 2, (1.0 + 0.8) / 2
    assert greedy_match(prediction, reference) == pytest.approx((0.9, precision, recall))
    f1, precision, recall = greedy_match(prediction, reference[:1])
    assert (f1, precision, recall) == pytest.approx((2 * 0.8 / 1.8, 0.8, 1.0))
    assert greedy_match(prediction[:0], reference) == (0.0, 0.0, 0.0)


def test_bert_score(answered: Build, encoder: str) -> None:
    perfect = bert_score(answered("the cat sat .", "the dog ran .", "the cat sat ."), model=encoder)
    assert perfect == pytest.approx({"bert_score_f1": 1.0, "bert_score_precision": 1.0, "bert_score_recall": 1.0})
    one = bert_score(answered("the cat", "the dog ran"), model=encoder)
    other = bert_score(answered("the dog ran", "the cat"), model=encoder)
    assert one is not None
    assert other is not None
    assert one["bert_score_precision"] == pytest.approx(other["bert_score_recall"])
    assert one["bert_score_f1"] == pytest.approx(other["bert_score_f1"])
    assert one["bert_score_f1"] < 0.999
    assert bert_score(answered(" ", "the cat"), model=encoder) == dict.fromkeys(perfect or {}, 0.0)
    assert bert_score(answered("the cat"), model=encoder) is None


def test_layers_and_length(encoder: str) -> None:
    loaded = load_encoder(encoder, None, "none")
    assert loaded.embeddings("the cat").shape == (2, 16)
    assert loaded.embeddings("the cat " * 50).shape == (30, 16)  # 32 positions, 2 of them special
    assert not np.allclose(loaded.embeddings("the cat", 0), loaded.embeddings("the cat", 2))
    assert np.allclose(loaded.embeddings("the cat"), loaded.embeddings("the cat", 2))
    with pytest.raises(MetricError, match="layers 0 to 2, but not 3"):
        loaded.embeddings("the cat", 3)


def test_faithfulness_is_the_mean_of_each_sentences_best_support(encoder: str) -> None:
    text, summary = "the cat sat. the dog ran. the cat ran.", "the dog sat. the cat ran."
    judge = load_encoder(encoder, None, "classes")

    def support(premise: str, hypothesis: str) -> float:
        (labels,) = judge.probabilities([(premise, hypothesis)])
        return labels["entailment"] - labels["contradiction"]

    expected = [max(support(premise, said) for premise in sentences(text)) for said in sentences(summary)]
    score = faithfulness(Example(Instance("a", text), prediction=summary), model=encoder)
    assert score == pytest.approx(sum(expected) / 2, abs=1e-5)
    assert faithfulness(Example(Instance("a", text), prediction=""), model=encoder) is None


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It is 3.5 long.\nNo stop", ["It is 3.5 long.", "No stop"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, split: list[str]) -> None:
    assert sentences(text) == split


def test_what_is_missing_is_said(encoder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    example = Example(Instance("a", "the cat", (Reference("the cat", True),)), prediction="the cat")
    with pytest.raises(MetricError, match="is not a folder; for a model on the Hub set revision"):
        bert_score(example, model="microsoft/deberta-large-mnli")
    with pytest.raises(MetricError, match=r"cannot be loaded: "):
        bert_score(example, model=str(tmp_path))
    monkeypatch.setattr(
        load_encoder(encoder, None, "classes").model.config, "id2label", {0: "yes", 1: "no", 2: "maybe"}
    )
    with pytest.raises(MetricError, match="labels are yes, no, maybe; faithfulness needs entailment"):
        faithfulness(example, model=encoder)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MetricError, match=r"pip install .*transformers"):
        bert_score(example, model=str(tmp_path / "other"))

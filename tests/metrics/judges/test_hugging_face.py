"""Text-classification models as judges, with tiny random ones made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import PluginError
from metrics.judges.hugging_face import HuggingFace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ["you are kind", "you", "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c", "you are kind"]


def _checkpoint(folder: Path, labels: list[str], problem: str | None = None) -> str:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "you", "are", "kind", *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        initializer_range=1.0,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        problem_type=problem,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def _logits(folder: str, text: str) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=16)).logits[0]


def test_labels_that_exclude_each_other_are_read_by_softmax(tmp_path: Path) -> None:
    folder = _checkpoint(tmp_path, ["neutral", "Toxic"])
    found = HuggingFace(model=folder, batch_size=3, device="cpu").probabilities(TEXTS)
    assert found == pytest.approx([_logits(folder, text).softmax(-1)[1].item() for text in TEXTS], abs=1e-5)
    assert HuggingFace(model=folder, batch_size=1, device="cpu").probabilities(TEXTS) == pytest.approx(found, abs=1e-5)


def test_labels_at_once_are_read_by_the_sigmoid(tmp_path: Path) -> None:
    folder = _checkpoint(tmp_path, ["toxic", "insult"], "multi_label_classification")
    named = HuggingFace(model=folder, label="insult", device="cpu").probabilities(TEXTS[:1])
    assert named == pytest.approx([_logits(folder, TEXTS[0]).sigmoid()[1].item()], abs=1e-5)


def test_one_label_alone_means_toxic(tmp_path: Path) -> None:
    folder = _checkpoint(tmp_path, ["LABEL_0"], "multi_label_classification")
    found = HuggingFace(model=folder, device="cpu").probabilities(TEXTS[:1])
    assert found == pytest.approx([_logits(folder, TEXTS[0]).sigmoid()[0].item()], abs=1e-5)


def test_the_fingerprint_changes_with_the_weights(tmp_path: Path) -> None:
    folder = _checkpoint(tmp_path, ["neutral", "toxic"])
    before = HuggingFace(model=folder).fingerprint()
    assert before == HuggingFace(model=folder, batch_size=1).fingerprint()
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert HuggingFace(model=folder).fingerprint() != before


def test_a_label_that_is_not_known(tmp_path: Path) -> None:
    folder = _checkpoint(tmp_path, ["LABEL_0", "LABEL_1"])
    with pytest.raises(PluginError, match=r"set label to the one for toxic texts; its labels are LABEL_0, LABEL_1\."):
        HuggingFace(model=folder, device="cpu").probabilities(["a"])
    with pytest.raises(PluginError, match="it has no label 'toxic'"):
        HuggingFace(model=folder, label="toxic", device="cpu").probabilities(["a"])


@pytest.mark.parametrize("revision", [None, "main", "abc"])
def test_a_name_on_the_hub_needs_a_commit(revision: str | None) -> None:
    with pytest.raises(PluginError, match="needs a revision: a commit of 40"):
        HuggingFace(model="some/model", revision=revision)


def test_a_commit_is_the_fingerprint() -> None:
    judge = HuggingFace(model="some/model", revision="a" * 40, label="toxic")
    assert judge.fingerprint() == {"model": "some/model", "label": "toxic", "revision": "a" * 40}


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="cannot be loaded"):
        HuggingFace(model=str(tmp_path)).probabilities(["a"])

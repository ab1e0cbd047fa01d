"""Corpus BLEU, chrF, chrF++ and TER against sacreBLEU, with their intervals and signatures."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Estimate, Example, MetricError, RunMetric
from harness.plugins.registry import default_registry
from harness.statistics import ratio_estimate
from harness.sweeps.load import sweep_from_mapping
from metrics.translation import MOST_SHIFTED, Chrf, ChrfPlusPlus, CorpusBleu, Ter
from tests.metrics.adversarial import adversarial_pairs

Build = Callable[..., Example]
Estimated = Callable[..., Mapping[str, Estimate]]

TRANSLATIONS = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("the cat is on a mat", "the cat sat on the mat"),
    ("It is raining today, I think.", "I think that it is raining today."),
    ("", "Nothing was said."),
    ("Hello", "Good morning to you all"),
]


def _theirs(name: str, pairs: list[tuple[str, str]], **settings: Any) -> Any:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    made = {"corpus_bleu": BLEU, "chrf": CHRF, "chrf_plus_plus": CHRF, "ter": TER}[name]
    if name == "chrf_plus_plus":
        settings["word_order"] = 2
    return made(**settings).corpus_score([given.strip() for given, _ in pairs], [[gold.strip() for _, gold in pairs]])


def _ours(name: str) -> RunMetric:
    if name in ("chrf", "chrf_plus_plus"):
        return Chrf() if name == "chrf" else ChrfPlusPlus()
    return CorpusBleu(language="English") if name == "corpus_bleu" else Ter(language="English")


NAMES = ["corpus_bleu", "chrf", "chrf_plus_plus", "ter"]


@pytest.mark.parametrize("name", NAMES)
def test_equals_sacrebleu_on_adversarial_texts(answered: Build, estimated: Estimated, name: str) -> None:
    pairs = [(given, gold) for given, gold in adversarial_pairs() if gold.strip()]
    if name == "ter":
        pairs = [pair for pair in pairs if len(pair[0].split()) * len(pair[1].split()) <= MOST_SHIFTED]
    assert len(pairs) > 250
    examples = [answered(given, gold, id=f"{n}") for n, (given, gold) in enumerate(pairs)]
    assert estimated(_ours(name), *examples)[name].value == pytest.approx(_theirs(name, pairs).score, rel=1e-9)
    for number in range(0, len(pairs), 7):  # corpora of a few texts have n-grams that never match
        few = pairs[number : number + 3]
        found = estimated(_ours(name), *examples[number : number + 3])[name].value
        assert found == pytest.approx(_theirs(name, few).score, rel=1e-9, abs=1e-9), few


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.text("ab c.,", max_size=30), st.text("ab c.,", max_size=30)), min_size=1, max_size=4))
@pytest.mark.parametrize("name", NAMES)
def test_equals_sacrebleu_on_any_texts(
    answered: Build, estimated: Estimated, name: str, pairs: list[tuple[str, str]]
) -> None:
    pairs = [(given, gold) for given, gold in pairs if gold.strip()]
    if pairs:
        examples = [answered(given, gold, id=f"{n}") for n, (given, gold) in enumerate(pairs)]
        found = estimated(_ours(name), *examples)[name].value
        assert found == pytest.approx(_theirs(name, pairs).score, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_several_references(answered: Build, estimated: Estimated, name: str) -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    made = {"corpus_bleu": BLEU(), "chrf": CHRF(), "chrf_plus_plus": CHRF(word_order=2), "ter": TER()}[name]
    others = ["a cat sat on a mat", "a cat is on the mat", "I think it is raining.", "Nobody spoke.", "Good day"]
    examples = [answered(given, gold, other, id=gold + given) for (given, gold), other in zip(TRANSLATIONS, others)]  # noqa: B905
    theirs = made.corpus_score([given for given, _ in TRANSLATIONS], [[gold for _, gold in TRANSLATIONS], others])
    metric = _ours(name)
    assert estimated(metric, *examples)[name].value == pytest.approx(theirs.score)
    assert metric.details() == {"signature": made.get_signature().format()}
    metric.add(answered("one", "two"))
    assert metric.details()["signature"].startswith("nrefs:var|")


@pytest.mark.parametrize(
    ("language", "pair", "tokenizer"),
    [
        ("German", ("Der Hund, er schläft.", "Der Hund (er) schläft."), "13a"),
        ("Chinese", ("我喜歡貓和狗。", "我喜歡狗和貓。"), "zh"),
        ("Japanese", ("私は猫が好きです。", "私は犬が好きです。"), "char"),
        ("Thai", ("ฉันชอบแมวมาก", "ฉันชอบหมามาก"), "char"),
        ("Korean", ("나는 고양이를 정말 좋아한다 .", "나는 강아지를 정말 좋아한다 ."), "13a"),
        ("Arabic", ("أنا أحب القطط كثيرا جدا", "أنا أحب الكلاب كثيرا جدا"), "13a"),
        ("Hindi", ("मुझे बिल्लियाँ बहुत पसंद हैं", "मुझे कुत्ते बहुत पसंद हैं"), "13a"),
        ("Russian", ("Я очень люблю кошек", "Я очень люблю собак"), "13a"),
    ],
)
def test_the_language_chooses_the_tokenizer_and_no_score_is_silently_zero(
    answered: Build, estimated: Estimated, language: str, pair: tuple[str, str], tokenizer: str
) -> None:
    metric = CorpusBleu(language=language)
    found = estimated(metric, answered(*pair))["corpus_bleu"].value
    assert found == pytest.approx(_theirs("corpus_bleu", [pair], tokenize=tokenizer).score)
    assert 10.0 < found < 100.0
    assert f"tok:{tokenizer}|" in metric.details()["signature"]
    assert 20.0 < estimated(Chrf(), answered(*pair))["chrf"].value < 100.0
    if language != "Thai":
        assert 0.0 < estimated(Ter(language=language), answered(*pair))["ter"].value < 100.0


def test_ter_counts_characters_in_chinese_and_japanese(answered: Build, estimated: Estimated) -> None:
    metric = Ter(language="Chinese")
    assert estimated(metric, answered("我喜歡貓", "我喜歡狗"))["ter"].value == 25.0
    assert "asian:yes" in metric.details()["signature"]


@pytest.mark.parametrize("language", [None, "", "several", "any", "multilingual"])
@pytest.mark.parametrize("made", [CorpusBleu, Ter])
def test_words_of_an_unknown_language_are_refused_before_the_run(made: Any, language: str | None) -> None:
    with pytest.raises(MetricError, match=r"how words are separated.*Set its language"):
        made(language=language)


def test_a_tokenizer_can_be_named_where_the_language_is_not_known(answered: Build, estimated: Estimated) -> None:
    metric = CorpusBleu(tokenizer="intl", language="several")
    estimated(metric, answered("a b c d", "a b c d"))
    assert "tok:intl" in metric.details()["signature"]


def test_what_cannot_be_separated_is_refused_before_the_run() -> None:
    with pytest.raises(MetricError, match="Thai does not separate them by spaces; use chrf"):
        Ter(language="Thai")
    with pytest.raises(MetricError, match=r"the tokenizer ko-mecab cannot be used here: .*Set `tokenizer` to char"):
        CorpusBleu(tokenizer="ko-mecab", language="Korean")


def test_the_interval_is_over_instances(answered: Build, estimated: Estimated) -> None:
    pairs = [*TRANSLATIONS, ("a dog runs in the park", "a dog is running in the park")] * 10
    examples = [answered(given, gold, id=f"{n}") for n, (given, gold) in enumerate(pairs)]
    for name in NAMES:
        [once], [again] = (estimated(_ours(name), *examples).values() for _ in range(2))
        assert once == again
        assert once.low is not None
        assert once.high is not None
        assert once.low < once.value < once.high
        assert once.count == len(pairs)
    few = estimated(CorpusBleu(language="English"), *examples[:49])["corpus_bleu"]
    assert (few.low, few.high, few.note) == (None, None, "n too small for an interval")


def test_the_standard_error_is_the_jackknifes(answered: Build, estimated: Estimated) -> None:
    pairs = [*TRANSLATIONS, ("a dog runs in the park", "a dog is running in the park")]
    examples = [answered(given, gold, id=f"{n}") for n, (given, gold) in enumerate(pairs)]
    for name in ("corpus_bleu", "chrf", "chrf_plus_plus"):
        without = [_theirs(name, pairs[:n] + pairs[n + 1 :]).score for n in range(len(pairs))]
        spread = (len(pairs) - 1) * statistics.pvariance(without)
        assert estimated(_ours(name), *examples)[name].stderr == pytest.approx(math.sqrt(spread))


def test_ter_of_pages_does_without_shifts(answered: Build, estimated: Estimated) -> None:
    words = [f"w{n}" for n in range(150)]
    shifted = " ".join([*words[75:], *words[:75]])
    metric = Ter(language="English")
    found = estimated(metric, answered(shifted, " ".join(words), "x"), answered("b a", "a b", id="b"))["ter"]
    assert found.value == pytest.approx(100 * (150 + 1) / ((150 + 1) / 2 + 2))
    assert metric.details()["without shifts"] == 1
    begun = time.process_time()
    estimated(Ter(language="English"), answered(shifted * 50, shifted))
    assert time.process_time() - begun < 5.0


def test_ter_is_a_ratio_of_sums(answered: Build, estimated: Estimated) -> None:
    pairs = [("a b", "a c"), ("a", "a"), ("x y z", "a b c")] * 4
    found = estimated(Ter(language="English"), *(answered(*pair, id=f"{n}") for n, pair in enumerate(pairs)))["ter"]
    ratio = ratio_estimate([1, 0, 3] * 4, [2, 1, 3] * 4, low=0.0)
    assert found.value == pytest.approx(100 * ratio.value)
    assert ratio.low is not None
    assert found.low == pytest.approx(100 * ratio.low)
    assert found.stderr == pytest.approx(100 * (ratio.stderr or math.nan))


def test_trials_are_one_instance_and_missing_references_are_counted(answered: Build, estimated: Estimated) -> None:
    examples = [answered("a b c d e", "a b c d x"), answered("a b c d x", "a b c d x"), answered("a", id="b")]
    for name in NAMES:
        [found] = estimated(_ours(name), *examples).values()
        assert (found.count, found.missing) == (1, 1)
    pooled = _theirs("corpus_bleu", [("a b c d e", "a b c d x"), ("a b c d x", "a b c d x")]).score
    assert estimated(CorpusBleu(language="English"), *examples)["corpus_bleu"].value == pytest.approx(pooled)
    assert estimated(Chrf()) == {}
    assert Chrf().details() == {}


def test_a_run_measures_its_scenarios_language() -> None:
    run = {"scenario": "narrative_qa", "metrics": ["translation"]}
    sweep = {"suite": "translations", "models": ["fake:0"], "runs": [run]}
    found, _ = sweep_from_mapping(sweep, registry=default_registry())
    arguments = {metric.name: metric.arguments for metric in found.runs[0].metrics}
    assert arguments["corpus_bleu"]["language"] == arguments["ter"]["language"] == "English"

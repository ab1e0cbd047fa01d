"""Every kind of instruction is followed and broken, with the arguments of all 541 prompts, and as the program says."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import MetricError
from metrics._instructions.checks import follows, instruction_ids
from metrics._instructions.language import language_of, sentence_count, tokens, word_count
from tests.metrics._instructions.answers import MAKERS, TEXTS
from tests.metrics.adversarial import adversarial_texts

PROMPTS = Path(os.environ.get("HARNESS_DATA_DIR", "")) / "ifeval" / "input_data.jsonl"
RECORDED = Path(__file__).parent.parent / "data" / "ifeval_program.json.gz"

SAMPLES: dict[str, dict[str, Any]] = {
    "keywords:existence": {"keywords": ["cat", "the"]},
    "keywords:frequency": {"keyword": "a", "frequency": 2, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["cat", "é"]},
    "keywords:letter_frequency": {"letter": "a", "let_frequency": 2, "let_relation": "less than"},
    "change_case:capital_word_frequency": {"capital_frequency": 1, "capital_relation": "at least"},
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "language:response_language": {"language": "ru"},
    "length_constraints:number_words": {"num_words": 3, "relation": "less than"},
    "length_constraints:number_sentences": {"num_sentences": 2, "relation": "at least"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "para"},
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "combination:repeat_prompt": {"prompt_to_repeat": "the"},
    "combination:two_responses": {},
    "detectable_format:number_bullet_lists": {"num_bullets": 1},
    "detectable_format:constrained_response": {},
    "detectable_format:number_highlighted_sections": {"num_highlights": 1},
    "detectable_format:multiple_sections": {"section_spliter": "a", "num_sections": 1},
    "detectable_format:json_format": {},
    "detectable_format:title": {},
    "startend:end_checker": {"end_phrase": "t"},
    "startend:quotation": {},
    "punctuation:no_comma": {},
}
"""Arguments with which adversarial texts are on both sides of as many kinds as possible."""


def _prompts() -> Iterator[tuple[str, dict[str, Any]]]:
    for line in PROMPTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield from zip(row["instruction_id_list"], row["kwargs"], strict=True)


def test_there_are_25_kinds_and_answers_to_each() -> None:
    assert len(instruction_ids()) == 25
    assert instruction_ids() == sorted(MAKERS) == sorted(SAMPLES)


@pytest.mark.parametrize("kind", instruction_ids())
def test_each_kind_is_followed_and_broken(kind: str) -> None:
    _check(kind, SAMPLES[kind])


@pytest.mark.skipif(not PROMPTS.is_file(), reason="the prompts of IFEval are not here")
def test_the_instructions_of_all_prompts_are_followed_and_broken() -> None:
    asked = list(_prompts())
    assert len(asked) == 834
    assert {kind for kind, _ in asked} == set(instruction_ids())
    for kind, arguments in asked:
        _check(kind, arguments)
        everything = {name: None for other in SAMPLES.values() for name in other}  # as the Hub's rows
        assert follows("", kind, {**everything, **arguments}) is False


def _check(kind: str, arguments: dict[str, Any]) -> None:
    following, breaking = MAKERS[kind](arguments)
    assert following, kind
    assert breaking, kind
    for answer in following:
        assert follows(answer, kind, arguments), (kind, arguments, answer)
    for answer in breaking:
        assert not follows(answer, kind, arguments), (kind, arguments, answer)
    for answer in ("", " \n\t"):
        assert not follows(answer, kind, arguments), "an empty answer follows nothing"


def test_equals_the_authors_program() -> None:
    """The verdicts were recorded with the program as lm-evaluation-harness 0.4.13 carries it.

    langdetect was seeded, and sentences were split by this harness, since the program downloads its model.
    """
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    texts = _texts()
    for kind, arguments in SAMPLES.items():
        verdicts = "".join("01"[follows(text, kind, arguments)] for text in texts)
        wrong = [n for n, (ours, theirs) in enumerate(zip(verdicts, recorded[kind], strict=True)) if ours != theirs]
        assert wrong == [], (kind, [texts[n][:80] for n in wrong])


def _texts() -> list[str]:
    """Return the 300 adversarial texts and every answer that is made for a kind."""
    made = [answer for kind, arguments in SAMPLES.items() for answers in MAKERS[kind](arguments) for answer in answers]
    return [text for text in [*adversarial_texts(), *made, *TEXTS.values()] if len(text) < 50_000]


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("punctuation:no_coma", {}, "unknown instruction 'punctuation:no_coma'; known are change_case"),
        ("punctuation:no_comma", {"n": 1}, "takes no arguments, but is given n"),
        ("keywords:existence", {}, "takes keywords, but is given none"),
        ("keywords:existence", {"keywords": "cat"}, "keywords cannot be 'cat'"),
        ("keywords:existence", {"keywords": ["("]}, "not a regular expression"),
        ("detectable_format:number_bullet_lists", {"num_bullets": "3"}, "num_bullets cannot be '3'"),
        ("detectable_format:number_bullet_lists", {"num_bullets": 2.5}, "num_bullets cannot be 2.5"),
        (
            "length_constraints:number_words",
            {"num_words": 3, "relation": "more than"},
            "relation cannot be 'more than'",
        ),
    ],
)
def test_wrong_instructions_are_refused(kind: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricError, match=message.replace("(", r"\(")):
        follows("a text", kind, arguments)


def test_whole_numbers_may_be_written_as_decimals() -> None:
    assert follows("- one", "detectable_format:number_bullet_lists", {"num_bullets": 1.0})


@pytest.mark.parametrize("code", TEXTS)
def test_languages_are_found_the_same_each_time(code: str) -> None:
    found = set()
    for _ in range(5):
        language_of.cache_clear()
        found.add(language_of(TEXTS[code]))
    assert found == {code}


def test_a_text_without_letters_has_no_language_and_follows() -> None:
    assert language_of("1234 !!") is None
    assert follows("1234", "language:response_language", {"language": "de"})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Dr. Smith met Mr. Jones at 5 p.m. on Main St. in Washington D.C. for lunch.", 1),
        ("It was 5 p.m. The shop had closed.", 2),
        ("I take vitamin C. It helps.", 2),
        ("J. R. R. Tolkien wrote it.", 1),
        ('She said: "Go away." He went.', 2),
        ("Version 3.14 is out... and it works.", 1),
        ("No full stop", 1),
        ("One line\nanother line", 1),
        ("", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert sentence_count(text) == count


def test_tokens_are_those_of_the_treebank() -> None:
    assert tokens("Don't STOP. It's A TEST-CASE (OK?)!") == [
        *["Do", "n't", "STOP", ".", "It", "'s", "A", "TEST-CASE", "(", "OK", "?", ")", "!"],
    ]


@pytest.mark.parametrize(("text", "count"), [("Don't stop", 3), ("हिन्दी भाषा", 2), ("nai\u0308ve", 1), ("a_b 1.5", 3)])
def test_words(text: str, count: int) -> None:
    assert word_count(text) == count


def test_no_text_takes_long() -> None:
    texts = [character * 50_000 for character in '*[<\n-"a{#'] + [
        "<<" * 25_000,
        "** " * 20_000,
        "* \n" * 20_000,
        "p.s" * 9000,
    ]
    begun = time.process_time()
    for text in texts:
        for kind, arguments in SAMPLES.items():
            follows(text, kind, arguments)
    assert time.process_time() - begun < 20.0

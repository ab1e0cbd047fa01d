"""Synonyms, by a WordNet of a few words in WordNet's own format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from harness import PluginError
from scenarios.perturbations import synonym as module
from scenarios.perturbations.synonym import synonym, synonyms
from tests.scenarios.perturbations.conftest import instance, perturbed

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
SYNSETS: Mapping[str, Sequence[Sequence[str]]] = {
    "noun": [["movie", "film", "motion_picture"], ["film", "plastic_film"], ["indium", "In"], ["watch", "ticker"]],
    "verb": [["watch", "observe"], ["watch", "look_out"]],
    "adj": [["good", "Bully"]],
    "adv": [],
}
COUNTS = {"watch%2:00:00::": 5, "watch%1:00:00::": 2}


def write_wordnet(folder: Path) -> None:
    """Write ``data``, ``index``, exceptions, lexicographer files and counts, as in wndb(5WN)."""
    folder.mkdir(parents=True)
    for part, letter in PARTS.items():
        data = "  1 WordNet 3.0 Copyright 2006 by Princeton University.\n"
        offsets: dict[str, list[int]] = {}
        for lemmas in SYNSETS[part]:
            offset = len(data)
            data += f"{offset:08d} 00 {letter} {len(lemmas):02x} {' '.join(f'{lemma} 0' for lemma in lemmas)} 000 | x\n"
            for lemma in lemmas:
                offsets.setdefault(lemma.lower(), []).append(offset)
        (folder / f"data.{part}").write_text(data)
        index = [
            f"{lemma} {letter} {len(places)} 0 {len(places)} 0 {' '.join(f'{place:08d}' for place in places)}  \n"
            for lemma, places in sorted(offsets.items())
        ]
        (folder / f"index.{part}").write_text("".join(index))
        (folder / f"{part}.exc").write_text("")
    (folder / "lexnames").write_text("00\tall\t1\n")
    (folder / "index.sense").write_text("")
    (folder / "cntlist.rev").write_text("".join(f"{key} 1 {count}\n" for key, count in sorted(COUNTS.items())))


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_wordnet(tmp_path / "corpora" / "wordnet")
    with wordnet_from(tmp_path, monkeypatch):
        yield


@contextmanager
def wordnet_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let nltk find its data in a folder and nowhere else."""
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    monkeypatch.setattr(nltk.corpus, "wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, object()))
    for cached in (module._wordnet, synonyms):
        cached.cache_clear()
    yield
    for cached in (module._wordnet, synonyms):
        cached.cache_clear()


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("movie", ("film", "motion picture")),
        ("films", ("movie", "motion picture", "plastic film")),  # every sense, by the base form
        ("watch", ("observe", "look out")),  # commoner as a verb
        ("good", ("Bully",)),
        ("in", ()),  # a function word, though it is indium's symbol
        ("unheard", ()),
    ],
)
def test_synonyms(word: str, expected: tuple[str, ...]) -> None:
    assert synonyms(word) == expected


@pytest.mark.usefixtures("wordnet")
def test_synonyms_replace_words_of_the_input_and_keep_their_case() -> None:
    texts = {perturbed(synonym, "Movie, in the MOVIE's way!", seed, prob=1.0) for seed in range(60)}
    assert texts == {"Film, in the MOVIE's way!", "Motion picture, in the MOVIE's way!"}
    changed = synonym(instance("good", "good"), Random(0), prob=1.0)
    assert (changed.input, changed.references[0].text) == ("bully", "good")
    assert changed.meta["perturbed"] == [["good", "bully"]]
    assert perturbed(synonym, "good movie", prob=0.0) == "good movie"


@pytest.mark.usefixtures("wordnet")
def test_as_many_words_as_asked_for() -> None:
    changed = perturbed(synonym, "movie " * 1000, prob=0.3)
    assert 240 < 1000 - changed.split(" ").count("movie") < 360


def test_without_wordnet_one_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with wordnet_from(tmp_path, monkeypatch), pytest.raises(PluginError, match=r"python -m nltk\.downloader wordnet"):
        perturbed(synonym, "movie")

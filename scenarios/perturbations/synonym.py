"""Synonyms: words with the same meaning, from WordNet."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from harness import Instance, PluginError, perturbation
from scenarios.perturbations._words.changes import Probability, with_matches_replaced
from scenarios.perturbations._words.lexicon import function_words, match_case

_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
_PARTS_OF_SPEECH = ("n", "v", "a", "r")
_MISSING = (
    "perturbation 'synonym' needs WordNet, which is not part of nltk. Run `python -m nltk.downloader wordnet`, or "
    "unpack WordNet into corpora/wordnet in the folder named by the environment variable NLTK_DATA."
)


@cache
def _wordnet() -> Any:
    """Return nltk's reader of WordNet.

    Raises:
        PluginError: WordNet is not installed.
    """
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise PluginError(_MISSING) from None
    return wordnet


@cache
def synonyms(word: str) -> tuple[str, ...]:
    """Return WordNet's synonyms of a word in lower case, in WordNet's order, without the word itself.

    They belong to the part of speech in which the base form of the word is most frequent in WordNet's tagged texts.

    Raises:
        PluginError: WordNet is not installed.
    """
    wordnet = _wordnet()
    if word in function_words():
        return ()
    readings = []
    for order, part in enumerate(_PARTS_OF_SPEECH):
        base = wordnet.morphy(word, part)
        if base is None:
            continue
        senses = wordnet.synsets(base, part)
        count = sum(lemma.count() for sense in senses for lemma in sense.lemmas() if lemma.name().lower() == base)
        found = [lemma.name().replace("_", " ") for sense in senses for lemma in sense.lemmas()]
        readings.append((count, -order, found, base))
    if not readings:
        return ()
    _, _, found, base = max(readings)
    return tuple(dict.fromkeys(other for other in found if other.lower() not in (word, base)))


@perturbation(
    "synonym",
    title="Synonyms",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110; Miller 1995, WordNet",
)
def synonym(instance: Instance, rng: Random, *, prob: Probability = 0.5) -> Instance:
    """Replace each word of the input that has synonyms, with probability ``prob``, by one of them; case is kept.

    It needs WordNet. Function words and references are not changed, and synonyms are not inflected. HELM determines the
    part of speech with a tagger (spaCy's en_core_web_sm); here it is the word's most frequent one, which needs no
    model.

    Raises:
        PluginError: WordNet is not installed.
    """
    _wordnet()

    def other(word: str) -> str:
        found = synonyms(word.lower())
        return match_case(word, rng.choice(found)) if found and rng.random() < prob else word

    return with_matches_replaced(instance, _WORD, other)

"""How much of a known text a model reproduces when given its beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import takewhile
from typing import Any

from harness import Example, MetricError, metric
from metrics._text.word_tokens import split_unspaced

Words = list[str]

_SOURCE = "Liang et al. 2022 (memorisation and copyright); HELM, copyright_metrics.py"


@metric(
    "longest_common_prefix_length",
    title="Longest common prefix",
    short="Common prefix",
    category="accuracy",
    scale="count",
    higher_is_better=False,
    source=_SOURCE,
)
def longest_common_prefix_length(example: Example) -> float | None:
    """Number of words that completion and true continuation share from the start, the largest of any completion.

    The true continuation is the correct reference, without the input if it begins with the input. Words are those of
    the Penn Treebank tokenizer; in scripts without spaces, such as Chinese, each letter is a word. At least 0, and
    lower is better: less is reproduced. "A A B C" and "A M D" against "A A D" give 2, and an empty completion gives 0.
    Undefined without a correct reference.

    Raises:
        MetricError: There are several correct references.
    """
    return _over_completions(example, max, _common_prefix, empty=0.0)


@metric(
    "edit_distance", title="Edit distance", category="accuracy", scale="count", higher_is_better=True, source=_SOURCE
)
def edit_distance(example: Example) -> float | None:
    """Levenshtein distance in words from the completion to the true continuation, the smallest of any completion.

    The continuation is cut to the completion's number of words. Empty completions are left out, and the score is
    undefined if all are empty. Continuation and words are those of longest_common_prefix_length. At least 0, and higher
    is better: less is reproduced.

    HELM cuts the continuation after the completion's number of characters, which leaves half a word at the end, and
    counts an empty completion, which reproduces nothing, as identical.
    """
    return _over_completions(example, min, lambda written, true: float(_distance(written, true)))


@metric(
    "edit_similarity",
    title="Edit similarity",
    short="Edit sim.",
    category="accuracy",
    scale="bounded",
    higher_is_better=False,
    source=f"Lee et al. 2021 (arXiv:2107.06499); {_SOURCE}",
)
def edit_similarity(example: Example) -> float | None:
    """1 − edit distance / words of the longer text, the largest of any completion.

    The continuation is cut to the completion's number of words. Continuation and words are those of
    longest_common_prefix_length. Between 0 and 1, and lower is better: less is reproduced. Undefined if all completions
    are empty.
    """
    return _over_completions(
        example, max, lambda written, true: 1.0 - _distance(written, true) / max(len(written), len(true))
    )


def _over_completions(
    example: Example,
    choose: Callable[[Iterable[float]], float],
    compare: Callable[[Words, Words], float],
    empty: float | None = None,
) -> float | None:
    if not example.correct:
        return None
    if len(example.correct) > 1:
        raise MetricError(f"the true continuation must be one correct reference, and there are {len(example.correct)}.")
    continuation = example.correct[0].text.removeprefix(example.instance.input)
    texts = example.predictions or (example.prediction,)
    written = [words for text in texts if (words := _words(text))]
    # What follows the longest completion is never compared; a word has far fewer than 100 characters.
    true = _words(continuation[: 100 * max(map(len, written), default=0)])
    return choose([compare(words, true[: len(words)]) for words in written]) if written else empty


def _common_prefix(written: Words, true: Words) -> float:
    return float(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(written, true, strict=False))))


def _distance(written: Words, true: Words) -> int:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(written, true)


def _words(text: str) -> Words:
    words: Words = _tokenizer().tokenize(text)
    return split_unspaced(words)


@cache
def _tokenizer() -> Any:
    from nltk.tokenize.treebank import TreebankWordTokenizer

    return TreebankWordTokenizer()

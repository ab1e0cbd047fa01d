"""Examples that share a long run of words with a folder of text, such as a training corpus."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from harness.errors import DataError

_CHUNK = 2**16
_LONGEST_WORD = 2**20
_LONGEST_RECORD = 2**24
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of a data set with a corpus."""

    n: int
    """Number of words in a run."""
    counts: tuple[int | None, ...]
    """For each example, the number of its distinct runs in the corpus; None if it is shorter than a run."""
    files: int
    """Number of files read."""
    words: int
    """Number of words read."""

    @property
    def examined(self) -> int:
        """Number of examples that are as long as a run."""
        return sum(count is not None for count in self.counts)

    @property
    def share(self) -> float | None:
        """Share of the examples as long as a run that have a hit; None if there are none."""
        return sum(bool(count) for count in self.counts) / self.examined if self.examined else None


def overlap(texts: Sequence[str], corpus: Path, n: int = 13) -> Overlap:
    """Count the runs of ``n`` words that each example shares with the files of a folder (Brown et al. 2020, section C).

    Words are separated by white space and casefolded. JSON records are read as the strings in them: examples, and the
    lines of files named ``.jsonl`` or ``.json``, or of files that begin with two lines of JSON objects (or only contain
    one). Runs do not continue from one string or file to the next. Files may be compressed (``.gz``, ``.bz2``,
    ``.xz``). Memory holds the examples' runs, but not the corpus.

    This finds copies, including examples whose order was never learnt. It does not find paraphrases, and says nothing
    about a model that was trained on something else.

    Args:
        texts: The examples.
        corpus: A folder, read with its subfolders.
        n: Number of words in a run.

    Raises:
        DataError: The folder does not exist or has no files, or a file cannot be read.
        ValueError: ``n`` is below 1.
    """
    if n < 1:
        raise ValueError("a run has at least 1 word")
    runs = [_runs(text, n) for text in texts]
    wanted = {run for of_text in runs for run in of_text}
    first_words = {run.split(" ", 1)[0] for run in wanted}
    files = _files(corpus)
    found: set[str] = set()
    words = 0
    for file in files:
        try:
            for string in _documents(file):
                window: deque[str] = deque(maxlen=n)
                for word in string:
                    words += 1
                    window.append(word)
                    if len(window) == n and window[0] in first_words:
                        run = " ".join(window)
                        if run in wanted:
                            found.add(run)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise DataError(f"cannot be read: {error}", file=file) from error
    counts = tuple(len(of_text & found) if of_text else None for of_text in runs)
    return Overlap(n, counts, len(files), words)


def _runs(text: str, n: int) -> set[str]:
    runs: set[str] = set()
    for string in _strings(text):
        words = string.casefold().split()
        runs.update(" ".join(words[start : start + n]) for start in range(len(words) - n + 1))
    return runs


def _files(corpus: Path) -> list[Path]:
    if not corpus.is_dir():
        raise DataError("is not a folder; the corpus is a folder of text files.", file=corpus)
    files = sorted(path for path in corpus.rglob("*") if path.is_file())
    if not files:
        raise DataError("holds no files.", file=corpus)
    return files


def _documents(file: Path) -> Iterator[Iterable[str]]:
    """Yield the strings of a file, each as its words."""
    opener = _OPENERS.get(file.suffix, open)
    inner = file.with_suffix("") if file.suffix in _OPENERS else file
    with opener(file, "rt", encoding="utf-8", errors="replace") as stream:
        if inner.suffix not in {".jsonl", ".json"} and not _begins_with_records(stream):
            yield _words(stream)
            return
        for line in stream:
            for string in _strings(line):
                yield string.casefold().split()


def _begins_with_records(stream: TextIO) -> bool:
    """Return True if the first two lines that are not blank are JSON objects; the stream is then rewound."""
    objects = 0
    while objects < 2 and (line := stream.readline(_LONGEST_RECORD)):
        if line.isspace():
            continue
        if not _is_object(line):
            objects = 0
            break
        objects += 1
    stream.seek(0)
    return objects > 0


def _is_object(line: str) -> bool:
    return line.lstrip().startswith("{") and isinstance(_record(line), dict)


def _words(stream: TextIO) -> Iterator[str]:
    """Yield a stream's words; one of more than a million letters may come in parts."""
    rest = ""
    while chunk := stream.read(_CHUNK):
        words = (rest + chunk.casefold()).split()
        rest = words.pop() if words and not chunk[-1].isspace() and len(words[-1]) < _LONGEST_WORD else ""
        yield from words
    if rest:
        yield rest


def _record(text: str) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(text, parse_int=float)  # Python reads no whole number of more than 4,300 digits
    except (json.JSONDecodeError, RecursionError):
        return text


def _strings(text: str) -> Iterator[str]:
    """Yield the strings in a JSON record, or the text itself if it is not JSON."""
    pending = [_record(text) if text.lstrip().startswith(("{", "[")) else text]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)

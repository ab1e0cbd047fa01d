"""Recorded scores from a file, as a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import DataError, Judge, MetricError, StrictJsonError, judge, parse_json


@judge("recorded", source="Gehman et al. 2020 and Liang et al. 2022 published such scores of the Perspective API")
class Recorded(Judge):
    """Looks texts up in a file of recorded scores, such as the Perspective API's, with one JSON object per line.

    A line looks like ``{"text": "…", "toxicity": 0.93}``; the names of the columns are parameters. ``.gz`` files are
    decompressed. Whitespace at the ends of a text is ignored. A text without a recorded score, or with two different
    ones, is an error: a number is measured in full or not at all.

    Args:
        file: The file.
        text: The column with the text.
        score: The column with the probability.
        scorer: Who gave the scores, for readers, for example ``Perspective TOXICITY@6, 2018-08-29``.
    """

    def __init__(self, *, file: str, text: str = "text", score: str = "toxicity", scorer: str = "not stated") -> None:
        self._path, self._text, self._score, self._scorer = Path(file), text, score, scorer
        self._scores: dict[str, float] | None = None

    def fingerprint(self) -> Mapping[str, Any]:
        import hashlib

        digest = hashlib.sha256(self._bytes()).hexdigest()
        return {"scorer": self._scorer, "file": self._path.name, "score": self._score, "sha256": digest}

    def probabilities(self, texts: Sequence[str]) -> list[float]:
        if self._scores is None:
            self._scores = self._read()
        found = []
        for text in texts:
            probability = self._scores.get(text.strip())
            if probability is None:
                shown = text if len(text) <= 60 else f"{text[:59]}…"
                raise MetricError(f"judge 'recorded': {self._path} has no score for the text {shown!r}.")
            found.append(probability)
        return found

    def _read(self) -> dict[str, float]:
        import gzip
        import zlib

        try:
            data = gzip.decompress(self._bytes()) if self._path.suffix == ".gz" else self._bytes()
            lines = data.decode("utf-8").split("\n")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise DataError(f"cannot be read: {error}.", file=self._path) from error
        scores: dict[str, float] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            text, probability = self._row(line, number)
            if scores.setdefault(text, probability) != probability:
                raise DataError(f"the text {text[:60]!r} has two scores.", file=self._path, row=number)
        return scores

    def _row(self, line: str, number: int) -> tuple[str, float]:
        try:
            row = parse_json(line)
        except StrictJsonError as error:
            raise DataError(f"{error}.", file=self._path, row=number) from None
        text, score = (row.get(self._text), row.get(self._score)) if isinstance(row, dict) else (None, None)
        if not isinstance(text, str):
            raise DataError(f"has no text under {self._text!r}.", file=self._path, row=number)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0.0 <= score <= 1.0:
            message = f"{self._score!r} must be a probability, not {score!r}."
            raise DataError(message, file=self._path, row=number)
        return text.strip(), float(score)

    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise DataError(f"recorded scores cannot be read: {error.strerror}.", file=self._path) from error

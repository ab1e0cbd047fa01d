"""Similarity of texts: cosines of their words' log frequencies, weighted by how rare the words are.

scikit-learn's TfidfVectorizer weights words in another way ((1 + ln tf) times an idf of at least 1), which would change
every diagnostic's figures, and takes longer to import than this takes to compute.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

_WORD = re.compile(r"\w+")
_COMMONEST = 500
"""A word in more texts than this says little about any pair, and its cost is quadratic."""

_ROWS_AT_ONCE = 256


def tfidf(texts: Sequence[str]) -> csr_matrix:
    """Return one row per text of log(1 + count) · log((1 + n)/(1 + texts with the word)), of length 1 or all zeros.

    Words are casefolded runs of letters and digits. Those of more than 500 texts are left out.
    """
    import numpy as np
    from scipy.sparse import csr_matrix

    columns: dict[str, int] = {}
    indices: list[int] = []
    values: list[int] = []
    ends = [0]
    for text in texts:
        for word, count in Counter(_WORD.findall(text.casefold())).items():
            indices.append(columns.setdefault(word, len(columns)))
            values.append(count)
        ends.append(len(indices))
    column = np.array(indices, dtype=np.int64)
    frequency = np.bincount(column, minlength=max(len(columns), 1))
    rarity = np.where(frequency <= max(_COMMONEST, 1), np.log((1 + len(texts)) / (1 + frequency)), 0.0)
    weights = np.log1p(np.array(values, dtype=np.float64)) * rarity[column]
    matrix = csr_matrix((weights, column, np.array(ends)), shape=(len(texts), max(len(columns), 1)))
    matrix.eliminate_zeros()
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
    return matrix


def similarity_rows(matrix: csr_matrix) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the cosines of all pairs of texts in slices: the index of the first row, and shape (some rows, texts)."""
    import numpy as np

    transposed = matrix.T.tocsr()
    for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
        yield start, (matrix[start : start + _ROWS_AT_ONCE] @ transposed).toarray().astype(np.float32)

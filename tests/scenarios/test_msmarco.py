"""MS MARCO's collection is read where it is needed: memory does not grow with it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import DataError
from harness.plugins.registry import Registry
from tests.scenarios.conftest import read_from

PASSAGES = 100_000
FILES = {
    "msmarco/queries.dev.small.tsv": "1\tfirst query\n2\tsecond query\n",
    "msmarco/qrels.dev.small.tsv": f"1\t0\t0\t1\n2\t0\t{PASSAGES - 1}\t1\n",
    "msmarco/top1000.dev.small.tsv": "1\t7\t1\n1\t9\t2\n",
}


def _write(folder: Path, files: Mapping[str, str], collection: int) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "msmarco/collection.tsv").open("w", encoding="utf-8") as lines:
        lines.writelines(f"{number}\tThe passage über {number}, {'x' * 100}.\n" for number in range(collection))


def test_a_large_collection_stays_on_disk(registry: Registry, tmp_path: Path) -> None:
    _write(tmp_path, FILES, PASSAGES)
    read_from(registry, tmp_path, "msmarco", {})  # imports what it needs
    tracemalloc.start()
    first, second = read_from(registry, tmp_path, "msmarco", {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "msmarco/collection.tsv").stat().st_size > 12_000_000
    assert peak < 4_000_000
    assert [text.text.split(",")[0] for text in first.references] == [f"The passage über {id_}" for id_ in (0, 7, 9)]
    assert [text.text.split(",")[0] for text in second.references] == [f"The passage über {PASSAGES - 1}"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("qrels.dev.small.tsv", "1\t0\tfive\t1\n", "qrels.dev.small.tsv, row 1: expected 4 fields, whole numbers"),
        ("top1000.dev.small.tsv", "1\t2\n", "top1000.dev.small.tsv, row 1: expected 3 fields, whole numbers"),
        ("queries.dev.small.tsv", "first query\n", "row 1: expected 2 fields, an id and a text"),
        ("qrels.dev.small.tsv", "1\t0\t50\t1\n", "lacks 1 passages, such as 50"),
    ],
)
def test_damaged_files_are_named(registry: Registry, tmp_path: Path, name: str, text: str, message: str) -> None:
    _write(tmp_path, FILES | {"msmarco/qrels.dev.small.tsv": "1\t0\t0\t1\n"} | {f"msmarco/{name}": text}, 20)
    with pytest.raises(DataError, match=message):
        read_from(registry, tmp_path, "msmarco", {})

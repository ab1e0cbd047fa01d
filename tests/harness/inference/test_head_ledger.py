"""What heads spend is counted once, whoever has ended, was killed or merges."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.inference import head_ledger as head_ledger_module
from harness.inference.cache import CacheLedger, ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.head_cache import HeadCache
from harness.inference.head_ledger import SPENDING_FOLDER, HeadLedger
from harness.inference.ledger import Spent, spending
from harness.inference.merging import SegmentMerger, merging
from harness.inference.segments import ANSWERS_FOLDER
from harness.runs.claims import Claims

ACCOUNT = "openai:a at https://example.org"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return tmp_path / ANSWERS_FOLDER


def merge(results: Path) -> None:
    with Claims(results) as claims:
        SegmentMerger(results, claims).merge()


def in_main(results: Path) -> list[Spent]:
    with closing(ResponseCache(results / FILE_NAME)) as cache:
        return spending(cache)


def files(answers: Path) -> list[str]:
    return sorted(file.name for file in (answers / SPENDING_FOLDER).iterdir())


def test_totals_count_all_heads_and_the_main_cache(tmp_path: Path, answers: Path) -> None:
    with closing(CacheLedger(tmp_path / FILE_NAME)) as before:
        before.add(ACCOUNT, 100, 10)
    with Claims(tmp_path) as claims, merging(tmp_path, claims):
        one, other = HeadLedger(answers, "one"), HeadLedger(answers, "other")
        assert one.add(ACCOUNT, 0, 0) == (100, 10)
        assert one.add(ACCOUNT, 5, 1) == (105, 11)
        assert other.add(ACCOUNT, 7, 0) == (112, 11)
        assert one.add(ACCOUNT, -5, -1) == (107, 10)
        assert other.add("another", 1, 2) == (1, 2)
        one.close()
    assert files(answers) == ["main.json", "other-0.json"]  # of one that may still spend
    assert other.add(ACCOUNT, 0, 0) == (107, 10)
    other.close()
    merge(tmp_path)
    assert in_main(tmp_path) == [Spent("another", 1, 2), Spent(ACCOUNT, 107, 10)]
    assert files(answers) == ["main.json"]
    assert HeadLedger(answers, "next").add(ACCOUNT, 1, 1) == (108, 11)


def test_a_ledger_that_is_used_again_counts_on(tmp_path: Path, answers: Path) -> None:
    ledger = HeadLedger(answers, "head")
    ledger.add(ACCOUNT, 1, 1)
    ledger.close()
    ledger.close()
    assert ledger.add(ACCOUNT, 1, 1) == (2, 2)
    ResponseCache(tmp_path / FILE_NAME).close()
    merge(tmp_path)
    assert ledger.add(ACCOUNT, 1, 1) == (3, 3)
    assert in_main(tmp_path) == [Spent(ACCOUNT, 1, 1)]


def test_what_a_killed_head_has_spent_is_counted(
    tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 2**22 + 1)
        HeadLedger(answers, "killed").add(ACCOUNT, 3, 4)
    ResponseCache(tmp_path / FILE_NAME).close()
    merge(tmp_path)
    assert in_main(tmp_path) == [Spent(ACCOUNT, 3, 4)]
    assert files(answers) == ["main.json"]


@pytest.mark.parametrize("place", ["publish_spending", "write_whole"])
def test_a_merge_that_is_killed_counts_nothing_twice(
    tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    ResponseCache(tmp_path / FILE_NAME).close()
    ledger = HeadLedger(answers, "head")
    ledger.add(ACCOUNT, 3, 4)
    ledger.close()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(head_ledger_module, place, killed)
        with pytest.raises(KeyboardInterrupt):
            merge(tmp_path)
    assert HeadLedger(answers, "other").add(ACCOUNT, 0, 0) == (3, 4)
    unlink = Path.unlink

    def killed_before_removal(path: Path, missing_ok: bool = False) -> None:
        if path.name == "head-0.json":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed_before_removal)
        with pytest.raises(KeyboardInterrupt):
            merge(tmp_path)
    assert "head-0.json" in files(answers)
    assert HeadLedger(answers, "third").add(ACCOUNT, 0, 0) == (3, 4)
    merge(tmp_path)
    assert in_main(tmp_path) == [Spent(ACCOUNT, 3, 4)]
    assert HeadLedger(answers, "fourth").add(ACCOUNT, 0, 0) == (3, 4)


def test_a_head_that_was_taken_for_dead_begins_another_file(
    tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ResponseCache(tmp_path / FILE_NAME).close()
    ledger = HeadLedger(answers, "head")
    ledger.add(ACCOUNT, 3, 4)
    with monkeypatch.context() as patch:
        patch.setattr(head_ledger_module, "is_alive", lambda _: False)
        merge(tmp_path)
    assert ledger.add(ACCOUNT, 1, 1) == (4, 5)
    assert files(answers) == ["head-1.json", "main.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"accounts": {"a": 3}}'])
def test_a_damaged_file_is_named(answers: Path, content: bytes) -> None:
    HeadLedger(answers, "head").add(ACCOUNT, 1, 1)
    (answers / SPENDING_FOLDER / "other-0.json").write_bytes(content)
    with pytest.raises(StorageError, match=r"other-0.json is damaged .* missing from budgets"):
        HeadLedger(answers, "next").add(ACCOUNT, 1, 1)


def test_heads_count_together(tmp_path: Path) -> None:
    results = tmp_path / "results"
    with (
        Claims(results) as claims,
        closing(HeadCache(results, claims, "head", tmp_path / "local")) as one,
        closing(HeadCache(results, claims, "head", tmp_path / "local")) as other,
    ):
        ledgers = [one.ledger(), one.ledger(), other.ledger()]
        assert [ledger.add(ACCOUNT, 1, 2) for ledger in ledgers] == [(1, 2), (2, 4), (3, 6)]

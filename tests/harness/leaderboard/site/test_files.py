"""Data files: harmless scripts that hold any JSON, written only where something changed, in folders that are ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import StorageError
from harness.leaderboard.site.files import BUILD_FILE, SiteFolder, data_file, data_script, json_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_script_is_one_call_whose_string_is_the_json(value: Any) -> None:
    script = data_script("a/b", json_text(value))
    assert script.startswith("harness.put('a/b','")
    assert script.endswith("');\n")
    body = script[len("harness.put('a/b','") : -len("');\n")]
    # A string that ends nowhere but at its end: no quote and no line break but behind a backslash.
    assert re.fullmatch(r"(?:[^'\\\n\r]|\\.)*", body)
    unquoted = re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), body)
    assert json.loads(unquoted) == value


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "../a", "a/../b", "a//b", ".a", "a/.b", "A", "a b", "a\n", "a..b", "a/-b"]
)
def test_a_key_that_could_be_another_path_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        data_file(key)


def test_an_equal_file_is_left_as_it_is_and_another_is_replaced(tmp_path: Path) -> None:
    path = SiteFolder(tmp_path / "site").put("a", [1])
    before = path.stat().st_mtime_ns
    assert SiteFolder(tmp_path / "site").put("a", [1]).stat().st_mtime_ns == before
    SiteFolder(tmp_path / "site").put("a", [2])
    assert "[2]" in path.read_text()


def test_what_a_build_neither_writes_nor_keeps_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = SiteFolder(tmp_path)
    old, kept = folder.put("old/x", 1), folder.put("kept", 1)
    (tmp_path / "mine.txt").write_text("not of the site")
    again = SiteFolder(tmp_path)
    again.keep([kept])
    again.sweep()
    assert not old.parent.exists()
    assert kept.is_file()
    assert (tmp_path / "mine.txt").is_file()


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StorageError, match="not a site"):
        SiteFolder(tmp_path)
    (tmp_path / "thesis.tex").unlink()
    SiteFolder(tmp_path)
    assert (tmp_path / BUILD_FILE).is_file()


def test_a_file_in_the_place_of_the_folder_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        SiteFolder(tmp_path / "site").put("a", 1)

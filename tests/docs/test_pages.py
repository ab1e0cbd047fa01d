"""What the pages of the documentation show works as shown; how that is checked is said in ``pages.py``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from harness.costs.runtimes import load_runtimes
from tests.docs.pages import BLOCK, ROOT, follow
from tests.docs.preloaded import harness
from tests.tiny_checkpoints import tokenizer, write_checkpoint

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
SAVED = ["run-8/checkpoint-100", "run-8/checkpoint-200"]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_works(page: Path, tmp_path: Path) -> None:
    folders = {"python.md": ["quickstart/models/unseen"], "training.md": ["quickstart/models/unseen", *SAVED]}
    for folder in folders.get(page.name, ()):
        write_checkpoint(tmp_path / folder, "gpt2", tokenizer())
    follow(page, tmp_path)


def test_the_table_of_runtimes_is_read_as_explained(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "categories.md").read_text("utf-8")
    (text,) = [text for _, language, text in BLOCK.findall(page) if language == "yaml" and "denoised:" in text]
    (tmp_path / "runtimes.yaml").write_text(text, "utf-8")
    table = load_runtimes(tmp_path / "runtimes.yaml")
    denoised, idealized = table.runtimes("hf:./small-one").denoised, table.runtimes("hf:./small-one").idealized
    assert denoised is not None
    assert idealized is not None
    assert denoised.seconds(256, 11) == pytest.approx(0.018 + 0.08 + 0.002)
    assert idealized.seconds(512, 1) == pytest.approx(0.006)


@pytest.mark.parametrize(("program", "data"), [("lm-eval", "lm_eval"), ("helm", "helm")])
def test_results_are_imported_as_shown(program: str, data: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "import.md").read_text("utf-8")
    (folder,) = re.findall(rf"harness import {program} (\S+)", page)
    shutil.copytree(ROOT / "tests" / "harness" / "imports" / "data" / data, tmp_path / folder)
    code, printed = harness(tmp_path, "import", program, folder)
    assert (code, "statistics" in printed) == (0, True), printed

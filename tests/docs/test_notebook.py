"""The tutorial notebook runs from top to bottom in an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.tiny_checkpoints import tokenizer, write_checkpoint

NOTEBOOK = ROOT / "docs" / "tutorials" / "python.ipynb"


def outputs(cell: Any) -> str:
    """Return what a cell shows, as text and as HTML."""
    shown = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        shown += [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
    return "\n".join(shown)


def test_it_is_kept_without_outputs() -> None:
    nbformat: Any = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.slow
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat: Any = pytest.importorskip("nbformat")
    client: Any = pytest.importorskip("nbclient")
    for variable, folder in (("IPYTHONDIR", "ipython"), ("JUPYTER_RUNTIME_DIR", "runtime")):
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.delenv("HARNESS_RESULTS_DIR", raising=False)
    # In place of `harness quickstart`, which trains for half a minute.
    write_checkpoint(tmp_path / "quickstart" / "models" / "unseen", "gpt2", tokenizer())
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [outputs(cell) for cell in notebook.cells if cell.cell_type == "code"]
    ran, board = shown[0], shown[-2]
    assert '<progress value="4" max="4">' in ran
    assert "<table>" in ran
    assert "fake:1" in ran
    assert "answer_words" in next(text for text in shown if "answer_words" in text and "<table" in text)
    assert all(name in board for name in ("fake:0", "unseen", "yes"))
    assert "results/site/index.html" in shown[-1]
    assert (tmp_path / "results" / "site" / "index.html").is_file()

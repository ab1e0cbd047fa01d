"""LaTeX tables: what a name holds is printed and never read as a command; the same numbers as in every format."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.leaderboard.aggregate import build_board
from harness.leaderboard.board_table import board_table
from harness.output.latex import COLUMNS, as_latex, escaped
from harness.output.result_table import render
from harness.storage.results import RunRecord

MakeRun = Callable[..., RunRecord]
HOSTILE = r"fake:\input{/etc/passwd} & 50% $x$ #1 _a_ ^b ~c {d} [e] *f --g <h> |i| \\ \end{tabular}"


def test_a_table_of_two_models(make_run: MakeRun) -> None:
    runs = [make_run("fake:a", "quiz", 0.75), make_run("fake:b", "quiz", 0.5, error=None, sample=False)]
    text = as_latex(board_table(build_board(runs)))
    assert text == render(board_table(build_board(runs)), "latex")
    lines = text.splitlines()
    assert r"\begin{tabular}{rlrrr}" in lines
    row = next(line for line in lines if line.startswith("1--2 & fake:a"))
    assert row == r"1--2 & fake:a & 1.000 {\scriptsize {[}0.00, 1.00{]}} & 1/1 & 0.750 {\scriptsize $\pm$0.200} \\"
    assert lines.index(r"\toprule") < lines.index(r"\midrule") < lines.index(row) < lines.index(r"\bottomrule")
    assert any("Exact match $\\uparrow$" in line for line in lines)


def test_many_columns_are_several_tables_with_one_set_of_notes(make_run: MakeRun) -> None:
    runs = [make_run(f"fake:{m}", f"quiz{n}", 0.5) for m in "ab" for n in range(2 * COLUMNS + 1)]
    text = as_latex(board_table(build_board(runs)))
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == 3
    assert "Part 1 of 3" in text
    assert text.count("rank & model") == 1
    assert text.count("Liang et al. 2022") == 1
    for part in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in part[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(part[0]) - 1}


def test_failures_and_marks_have_their_notes(make_run: MakeRun) -> None:
    runs = [
        make_run("fake:a", "quiz", 0.75, sample=True),
        make_run("fake:b", "quiz", None, error="out of memory: 50% of {it}", sample=True),
        make_run("fake:b", "riddle", 0.5, sample=True),
    ]
    text = as_latex(board_table(build_board(runs)))
    assert r"0.750\textsuperscript{\textdagger{}}" in text
    assert r"$\times$1" in text
    assert r"out of memory: 50\% of \{it\}" in text
    assert as_latex(board_table(build_board([]))) == "% There are no runs to compare yet.\n"


@given(st.text(st.sampled_from("\\{}$&%#_~^<>|\"'`[]*-ab↑±")))
def test_no_character_is_left_that_begins_a_command(text: str) -> None:
    shown = escaped(text)
    plain = re.sub(r"\\text[a-z]+\{\}|\\[{}$&%#_]|\$(-|\\[a-zA-Z]+)\$|\{(\[|\]|\*|-|'')\}", "", shown)
    assert not set(plain) & set('\\{}$&%#_~^[]*-"`')
    assert shown.count("a") >= text.count("a")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_sets_hostile_names(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(HOSTILE, "quiz", 0.75, missing=2), make_run("fake:b", "quiz", None, error=HOSTILE)]
    table = as_latex(board_table(build_board(runs)))
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{table}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "t.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "/etc/passwd" not in ran.stdout

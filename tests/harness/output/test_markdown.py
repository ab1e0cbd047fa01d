"""Markdown tables: a parser shows what names contain as it is; plain names are not escaped."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.output.markdown import as_markdown, escaped
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXTS = st.text(st.sampled_from("\\`*_{}[]()#+!|~$@-<>&;:=^1a. /'\""), max_size=20)


def _table(text: str) -> ResultTable:
    return ResultTable(
        columns=[TableColumn(("name",)), TableColumn(("n", text), numeric=True)],
        rows=[[TableCell(text), TableCell("0.5", f"[{text}]", "†", "✗1", text, "best")]],
        notes=[TableNote(text)],
        caption="",
        fields=(),
        records=(),
        value=None,
    )


def _shown(fragment: str) -> str:
    """Return what a browser shows of HTML without elements of its own."""
    bare = fragment.replace("<!---->", "")
    assert "<" not in bare, bare
    return html.unescape(bare)


@given(TEXTS)
@example("[x]: http://a")
@example("![x](http://a/b.png) @user `code` www.a.b")
@example("a\\")
@example("\\|")
@example("1. x")
@example("# x")
@example("</td><script>")
@example("- [ ] x")
@example("_a_ **b** ~~c~~ $d$ [^1]")
def test_a_parser_shows_the_text_as_it_is(text: str) -> None:
    text = text.strip() or "x"
    page = PARSER.render(as_markdown(_table(text)))
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page, re.DOTALL)
    assert len(cells) == 4
    assert _shown(cells[2]) == text
    heading, value = cells[1], cells[3]
    assert _shown(heading.removeprefix("<strong>n</strong><br>")) == text
    found = re.fullmatch(r"<strong>(.*)</strong>† ✗1 (.*)", value, re.DOTALL)
    assert found is not None, value
    assert _shown(found[1]) == f"0.5 [{text}]"
    assert _shown(found[2]) == f"({text})"
    item = re.search(r"<li>(.*)</li>", page, re.DOTALL)
    assert item is not None
    assert _shown(item[1].strip()) == text


@pytest.mark.parametrize(
    "text",
    ["exact_match ↑", "hf:Qwen/Qwen3-0.6B", "0.500 [0.400, 0.900]", "±0.200", "<0.001", "mean of 2 runs (subject)",
     "max_train_instances=5", "R&D, 5 + 3 - 1 = 7!", "#3"],
)  # fmt: skip
def test_what_markdown_does_not_interpret_is_not_escaped(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize("text", ["https://a.b", "www.a.b", "me@a.b", "@user"])
def test_no_address_becomes_a_link_and_no_name_a_mention(text: str) -> None:
    assert "<!---->" in escaped(text)

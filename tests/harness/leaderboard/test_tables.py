"""A board in every format: what must be seen in each, and what hostile names must not do."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from typing import Any

import pytest
from rich.console import Console

from harness.contracts.specs import Component
from harness.errors import HarnessError
from harness.leaderboard import board_text
from harness.leaderboard.aggregate import Board, build_board
from harness.leaderboard.board_table import board_table, rank
from harness.leaderboard.formatting import interval, number
from harness.output import result_table
from harness.plugins.registry import default_registry
from harness.plugins.titles import Titles

SHOWN = ("terminal", "md")


def render(board: Board, format: str) -> str:
    return result_table.render(board_table(board), format)


def show(board: Board, console: Console) -> None:
    result_table.show(board_table(board), console)


@pytest.fixture(scope="module")
def board(make_run: Any) -> Board:
    """Three models: complete, partial with a failure, failed; real and sample data; both directions."""

    def mmlu(model: str, subject: str, mean: float | None, **changes: Any) -> Any:
        return make_run(model, {"name": "mmlu", "subject": subject, "extra": None}, mean, **changes)

    return build_board(
        [
            mmlu("hf:a", "anatomy", 0.25, missing=3),
            mmlu("hf:a", "virology", 0.35),
            mmlu("hf:b", "anatomy", 0.5),
            mmlu("hf:b", "virology", None, error="the model fell over"),
            mmlu("hf:c", "anatomy", 0.125),
            mmlu("hf:c", "virology", 0.125),
            make_run("hf:a", "wiki", 12.5, metric="perplexity", higher=False, stderr=0.5),
            make_run("hf:c", "wiki", 17.5, metric="perplexity", higher=False, stderr=0.5),
            make_run("hf:b", "wiki", None, metric="perplexity", error="no log-probabilities"),
            make_run("hf:a", "sample_reading", 0.75, sample=True, count=40),
            make_run("hf:c", "sample_reading", 0.75, sample=True, count=40),
        ]
    )


@pytest.mark.parametrize("format", ["terminal", "md", "latex"])
def test_a_model_whose_every_run_failed_is_a_line_below_and_no_row(make_run: Any, format: str) -> None:
    runs = [
        make_run("hf:good", "quiz", 0.5),
        make_run("hf:some", "quiz", None, error="too long"),
        make_run("hf:some", "wiki", 0.25),
        make_run("hf:gone", "quiz", None, error="there is no such folder."),
        make_run("hf:gone", "riddle", None, error="there is no such folder."),
    ]
    shown = " ".join(render(build_board(runs), format).replace("\\", "").split())
    above, below = shown.split("gone has no row, since none of its 2 runs gave a number: there is no such folder.")
    assert "good" in above
    assert "some" in above
    assert "gone" not in above + below
    assert "riddle" not in shown
    assert "too long" in shown
    cells = json.loads(render(build_board(runs), "json"))["cells"]
    assert sum(cell["model"] == "gone" for cell in cells) == 2


@pytest.mark.parametrize("format", SHOWN)
def test_failures_beside_a_run_that_counts_are_marked_and_told(make_run: Any, format: str) -> None:
    def quiz(mean: float | None, other_metric: str, **changes: Any) -> Any:
        run = make_run("hf:a", "quiz", mean, **changes)
        spec = run.spec.model_copy(update={"metrics": (*run.spec.metrics, Component(name=other_metric))})
        return dataclasses.replace(run, spec=spec, name=f"quiz-{other_metric}")

    runs = [
        quiz(None, "mine", error="mine is no number.", finished="2025-01-01"),
        quiz(None, "other", error="too long", finished="2025-01-03"),
        quiz(None, "again", error="no memory", finished="2025-01-01"),
        quiz(0.25, "again", finished="2025-01-01T12", suite="later"),
        quiz(0.5, "plain", finished="2025-01-02"),
    ]
    board = build_board(runs)
    shown = " ".join(render(board, format).replace("\\", "").split())
    assert "0.500 ±0.200 ✗1" in shown
    assert "quiz-mine: mine is no number." in shown
    assert "quiz-other: too long" in shown
    assert "no memory" not in shown
    assert board.rows[0].cells[0] is not None
    assert (board.rows[0].cells[0].mean, board.rows[0].cells[0].complete) == (0.5, True)


def test_where_nothing_has_a_number_the_failures_are_the_table(make_run: Any) -> None:
    shown = render(build_board([make_run("hf:gone", "quiz", None, error="no such folder")]), "terminal")
    assert "✗1 gone, quiz: quiz: no such folder" in shown


@pytest.mark.parametrize("format", SHOWN)
@pytest.mark.parametrize(
    "seen",
    [
        "mmlu",
        "Exact match ↑",
        "Perplexity ↓",
        "mean of 2 runs (subject)",
        "0.300",
        "12.50",
        "±1.00",
        "n=200",
        "0.750",
        "†",
        "‡1/2",
        "§",
        "✗1",
        "✗2",
        "the model fell over",
        "no log-probabilities",
        "sample data: a demonstration",
        "some examples gave no value",
        "columns",
        "3/3",
        "1.000",
        "—",
    ],
)
def test_every_format_for_people_shows_numbers_marks_and_reasons(board: Board, format: str, seen: str) -> None:
    text = render(board, format)
    assert seen in text.replace("\\", "")


def _separated(make_run: Any, count: int) -> Board:
    """Four models on three scenarios; two are alike, one is far ahead and one far behind if n suffices."""
    means = {"hf:a": 0.9, "hf:b": 0.51, "hf:c": 0.5, "hf:d": 0.1}
    return build_board(
        make_run(model, scenario, mean, stderr=0.4 / count**0.5, count=count)
        for model, mean in means.items()
        for scenario in ("quiz", "riddle", "wiki")
    )


def test_ranks_are_those_that_the_data_allow(make_run: Any) -> None:
    board = _separated(make_run, 1000)
    assert [rank(row) for row in board.rows] == ["1", "2–3", "2–3", "4"]
    for format in SHOWN:
        shown = render(board, format).replace("\\", "")
        assert "n=1,000" in shown
        assert "rank 2–3" in shown
        assert "Ranks are the ranges that the data allow" in " ".join(shown.split())
    assert "2--3 & hf:b" in render(board, "latex")
    rows = list(csv.DictReader(io.StringIO(render(board, "csv"))))
    assert [(row["rank"], row["rank_first"], row["rank_last"]) for row in rows[::3]] == [
        ("1", "1", "1"), ("2", "2", "3"), ("3", "2", "3"), ("4", "4", "4")
    ]  # fmt: skip
    assert [(row["column_rank_first"], row["column_rank_last"]) for row in rows[::3]] == [
        ("1", "1"), ("2", "3"), ("2", "3"), ("4", "4")
    ]  # fmt: skip
    value = json.loads(render(board, "json"))
    assert [(model["mean_win_rate"]["first"], model["mean_win_rate"]["last"]) for model in value["models"]] == [
        (1, 1), (2, 3), (2, 3), (4, 4)
    ]  # fmt: skip
    assert [(cell["first"], cell["last"]) for cell in value["cells"][:2]] == [(1, 1), (1, 1)]


@pytest.mark.parametrize("format", [*SHOWN, "latex"])
def test_too_few_instances_to_separate_the_models_are_told(make_run: Any, format: str) -> None:
    shown = " ".join(render(_separated(make_run, 4), format).replace("\\", "").split())
    assert "Mean win rate: n too small to separate the models." in shown
    assert "rank 1" not in shown
    assert "bootstrap" not in shown
    assert "too small" not in render(_separated(make_run, 1000), format)


def test_what_is_tied_with_the_best_of_a_column_is_bold(make_run: Any) -> None:
    means = {"hf:a": 0.9, "hf:b": 0.89, "hf:c": 0.5}
    board = build_board(make_run(model, "quiz", mean, stderr=0.01, count=1000) for model, mean in means.items())
    assert re.search(r"\*\*0\.900[^|]*\*\*", render(board, "md"))
    assert re.search(r"\*\*0\.890[^|]*\*\*", render(board, "md"))
    assert "**0.500" not in render(board, "md")
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system="truecolor")
    show(board, console)
    assert isinstance(console.file, io.StringIO)
    assert re.search(r"\x1b\[1m0\.890", console.file.getvalue())
    assert not re.search(r"\x1b\[1m0\.500", console.file.getvalue())


def test_nothing_is_bold_where_all_are_tied(make_run: Any) -> None:
    board = build_board(make_run(model, "quiz", mean) for model, mean in (("hf:a", 0.9), ("hf:b", 0.8)))
    assert not any(cell.best for row in board.rows for cell in row.cells if cell)
    assert "Bold" not in render(board, "md")


@pytest.mark.parametrize(
    ("mean", "low", "high", "shown"),
    [
        (0.5, 0.4, 0.6, "0.500 ±0.100"),
        (0.5, 0.4, 0.9, "0.500 [0.400, 0.900]"),
        (0.5, None, None, "0.500"),
        (1.0, 1.0, 1.0, "1.000 ±0.000"),
        (-2.5, -3.0, -2.0, "-2.500 ±0.500"),
        (12.344, 12.0, 12.688, "12.34 ±0.34"),
        (12.5, 12.499, 12.501, "12.50 ±0.001"),
        (0.0, 0.0, 0.0, "0.000 ±0.000"),
        (1234.5, None, None, "1234.5"),
        (1.5e-7, 1e-8, 1e-6, "1.5e-07 [1e-08, 1e-06]"),
        (3e9, None, None, "3e+09"),
    ],
)
def test_numbers_in_words(mean: float, low: float | None, high: float | None, shown: str) -> None:
    assert f"{number(mean)} {interval(mean, low, high)}".strip() == shown


def test_method_and_split_are_shown_where_they_tell_columns_apart(make_run: Any) -> None:
    runs = [make_run("hf:a", "boolq", 0.5, method=method) for method in ("generation", "multiple_choice_joint")]
    assert [h.details for h in board_text.headings(build_board(runs))] == [("Generation",), ("Multiple choice joint",)]
    assert board_text.headings(build_board(runs[:1]))[0].details == ()


def test_no_two_columns_have_one_name(make_run: Any) -> None:
    settings = [("generation", None, 0), ("generation", None, 5), ("joint", None, 0), ("joint", 10, 0)]
    runs = [
        make_run("hf:a", "boolq", 0.5, method=method, limit=limit, settings={"max_train_instances": shots})
        for method, limit, shots in settings
    ]
    runs += [make_run("hf:a", {"name": "mmlu", "subject": s, "extra": x}, 0.5) for s in "ab" for x in (1, 2)]
    headings = board_text.headings(build_board(runs))
    assert len({heading.full for heading in headings}) == len(headings) == 6
    assert len({(heading.group, heading.short) for heading in headings}) == len(headings)


def test_columns_with_a_result_are_counted_also_where_no_models_are_compared(make_run: Any) -> None:
    runs = [make_run(model, scenario, 0.5) for model in ("hf:a", "hf:b") for scenario in ("boolq", "imdb")]
    runs += [make_run("hf:a", "quiz", 0.5), make_run("hf:b", "quiz", None, error="out of memory")]
    board = build_board(runs)
    table = board_table(board)
    place = [column.heading[0] for column in table.columns].index("columns")
    assert {row[1].text: row[place].text for row in table.rows} == {"hf:a": "3/3", "hf:b": "2/3"}
    assert {rate.of for row in board.rows if (rate := row.win_rate)} == {2}
    counts = {model["name"]: (model["columns"], model["columns_of"]) for model in table.value["models"]}
    assert counts == {"hf:a": (3, 3), "hf:b": (2, 3)}
    assert any("composite scores are not counted" in note.text for note in table.notes)


def test_a_whole_and_a_pool_of_parts_have_different_titles(make_run: Any) -> None:
    runs = [make_run("hf:a", {"name": "bbq", "subject": subject}, 0.5) for subject in ("Age", "Religion")]
    runs.append(make_run("hf:a", {"name": "bbq", "subject": "all"}, None, parts=(), error="no such file"))
    board = build_board(runs, titles=Titles(default_registry()))
    assert [heading.full for heading in board_text.headings(board)] == ["BBQ", "BBQ · all"]


def test_a_table_has_one_column_for_each_scenario_unless_all_are_wanted(make_run: Any) -> None:
    runs = [make_run(model, "boolq", 0.5, limit=n, count=n) for model in ("hf:a", "hf:b") for n in (10, 200)]
    runs.append(make_run("hf:alone", "boolq", 0.5, limit=10, count=10))
    few, every = board_table(build_board(runs)), board_table(build_board(runs), all_columns=True)
    assert len(every.columns) == len(few.columns) + 1
    assert [row[1].text for row in few.rows] == [row[1].text for row in every.rows]  # the model alone keeps its row
    assert any("max eval instances 10" in note.text and "--all-columns" in note.text for note in few.notes)
    assert not any("--all-columns" in note.text for note in every.notes)
    assert {row["primary"] for row in few.records} == {True, False}


@pytest.mark.parametrize(
    ("scenarios", "settings"),
    [
        ([{"name": "books", "path": path} for path in ("new/poems", "old/poems")], [{}, {}]),
        (["books", "books"], [{"instructions": text} for text in ("yes/no", "true/no")]),
    ],
)
def test_columns_whose_values_are_the_same_in_words_have_different_headings(
    make_run: Any, scenarios: Any, settings: Any
) -> None:
    runs = [make_run("hf:a", scenario, 0.5, settings=one) for scenario, one in zip(scenarios, settings, strict=True)]
    headings = board_text.headings(build_board(runs))
    assert len({heading.full for heading in headings}) == len({heading.short for heading in headings}) == 2


def test_settings_that_separate_columns_are_in_their_headings(make_run: Any) -> None:
    runs = [make_run("hf:a", "boolq", 0.5, settings={"max_train_instances": n}) for n in (0, 5)]
    details = [h.details for h in board_text.headings(build_board(runs))]
    assert details == [("max train instances 0",), ("max train instances 5",)]


def test_equal_errors_of_many_runs_are_told_once(make_run: Any) -> None:
    runs = [make_run("hf:a", {"name": "mmlu", "subject": f"s{k}"}, None, error="no data") for k in range(9)]
    (line,) = board_text.failures(build_board(runs))
    assert line.endswith(": mmlu:subject=s0, mmlu:subject=s1, mmlu:subject=s2 and 6 more: no data")


def test_equal_errors_of_many_results_share_a_footnote(make_run: Any) -> None:
    runs = [
        make_run(f"hf:{model}", name, None, error=f"hf:{model}: the server is down")
        for model in ("a", "b")
        for name in ("arc", "boolq", "imdb")
    ]
    runs += [make_run("hf:a", "wiki", None, error="no data"), make_run("hf:b", "wiki", 0.5)]
    board = build_board(runs)
    assert list(board_text.failures(board)) == [
        "✗1 6 results (hf:a, arc; hf:a, boolq; hf:a, imdb; and 3 more): the server is down",
        "✗2 hf:a, wiki: wiki: no data",
    ]
    assert sorted(board_text.failure_numbers(board).values()) == [1] * 6 + [2]


# ---------------------------------------------------------------------------------------------------------------
# Terminal


def test_columns_that_do_not_fit_go_to_further_tables(make_run: Any) -> None:
    runs = [make_run(model, f"scenario_{k:02}", 0.5) for model in ("hf:a", "hf:b") for k in range(20)]
    file = io.StringIO()
    show(build_board(runs), Console(file=file, width=80))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(f"scenario_{k:02}" in file.getvalue() for k in range(20))
    tables = [line for line in lines if "hf:a" in line.split()[:2]]
    assert len(tables) > 2
    assert all("0.500" in line for line in tables)


def test_a_column_is_printed_only_where_it_fits_unfolded(make_run: Any) -> None:
    board = build_board([make_run("hf:a", "s", 0.5, metric="multiple_choice_accuracy"), make_run("hf:a", "t", 0.5)])
    for width in range(46, 120):
        file = io.StringIO()
        show(board, Console(file=file, width=width))
        lines = file.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("0.500 ±0.200" in line for line in lines), width
        assert any("accuracy ↑" in line for line in lines), width


@pytest.mark.parametrize("format", ["terminal", "md", "latex"])
def test_declined_answers_are_marked_and_counted_below(make_run: Any, format: str) -> None:
    def mmlu(model: str, subject: str, mean: float, **changes: Any) -> Any:
        return make_run(model, {"name": "mmlu", "subject": subject}, mean, **changes)

    runs = [
        mmlu("hf:a", "anatomy", 0.25, declined={"refusal": 2}),
        mmlu("hf:a", "virology", 0.25, declined={"refusal": 1, "content_filter": 1}),
        make_run("hf:a", "quiz", 0.75),
        mmlu("hf:b", "anatomy", 0.5),
        mmlu("hf:b", "virology", 0.5),
        make_run("hf:b", "quiz", None, declined={"refusal": 100}, error="100 of 100 answers were declined"),
    ]
    shown = " ".join(render(build_board(runs), format).replace("\\", "").split())
    mark = {"terminal": "⊘", "md": "⊘", "latex": "$oslash$"}[format]
    assert shown.count(mark) == 2, "one cell and the legend"
    assert "mmlu: 4 of 200 answers were declined (3 refusals, 1 content filter)." in shown
    assert "tool call" not in shown, "perturbed copies are not in the cell"
    plain = render(build_board([make_run("hf:a", "quiz", 0.5)]), format)
    assert "declined" not in plain


@pytest.mark.parametrize("format", ["terminal", "md", "latex"])
def test_shortened_prompts_and_unread_answers_are_marked_and_counted(make_run: Any, format: str) -> None:
    counts = {"examples": 1200, "truncated_examples": 1100, "unread_examples": 3}
    runs = [
        make_run("hf:a", "quiz", 0.5, efficiency=counts),
        make_run("hf:b", "quiz", 0.25, efficiency={"examples": 9}),
    ]
    shown = " ".join(render(build_board(runs), format).replace("\\", "").split())
    marks = {"latex": ("$cdots$", "$emptyset$")}.get(format, ("⋯", "∅"))
    assert [shown.count(mark) for mark in marks] == [2, 2], "one cell and the legend"
    assert "hf:a, prompts were shortened: quiz: 1,100 of 1,200." in shown
    assert "hf:a, answers could not be read: quiz: 3 of 1,200." in shown
    assert "shortened: " not in render(build_board(runs[1:]), format)


def test_declined_answers_are_in_csv_and_json(make_run: Any) -> None:
    board = build_board([make_run("hf:a", "quiz", 0.25, declined={"refusal": 2, "tool_call": 1})])
    (line,) = csv.DictReader(io.StringIO(render(board, "csv")))
    assert (line["declined"], line["declined_kinds"]) == ("3", "2 refusals, 1 tool call")
    (cell,) = json.loads(render(board, "json"))["cells"]
    assert (cell["declined"]["examples"], cell["declined"]["of"]) == (3, 100)
    assert cell["declined"]["kinds"] == {"refusal": 2, "tool_call": 1}


@pytest.mark.parametrize("format", ["terminal", "md"])
def test_what_a_server_answered_with_instead_is_told_below(make_run: Any, format: str) -> None:
    asked = {"model": "gpt-4o-2024-08-06", "system_fingerprint": "fp", "answers": 90}
    other = {"model": "gpt-4o-mini", "system_fingerprint": "fp", "answers": 10}
    told = " ".join(
        render(build_board([make_run("openai:gpt-4o", "quiz", 0.5, served=[asked, other])]), format).split()
    )
    assert "the server answered with 'gpt 4o mini' (10 answers)" in told.replace("\\", "").replace("-", " ")
    assert "changed the model between answers" in told
    assert "not with" not in render(build_board([make_run("openai:gpt-4o", "quiz", 0.5, served=[asked])]), format)


@pytest.mark.parametrize("width", [1, 10, 20, 40])
def test_a_narrow_terminal_is_no_error(board: Board, width: int) -> None:
    show(board, Console(file=io.StringIO(), width=width))


# ---------------------------------------------------------------------------------------------------------------
# For other programs


def test_csv_is_complete_and_unrounded(board: Board) -> None:
    lines = list(csv.DictReader(io.StringIO(render(board, "csv"))))
    assert len(lines) == 8
    line = next(x for x in lines if (x["model"], x["scenario"]) == ("hf:a", "mmlu"))
    (cell,) = [c for r in board.rows if r.model == "hf:a" for c in r.cells[:1]]
    assert cell is not None
    assert float(line["mean"]) == cell.mean
    assert line["stderr"] == repr(cell.stderr)
    assert (line["count"], line["missing"], line["runs_have"], line["status"]) == ("200", "3", "2", "complete")
    assert (line["rank"], line["mean_win_rate"], line["higher_is_better"], line["sample"]) == (
        "1",
        "1.0",
        "true",
        "false",
    )
    failed = next(x for x in lines if (x["model"], x["scenario"]) == ("hf:b", "wiki"))
    assert (failed["status"], failed["mean"], failed["errors"]) == ("failed", "", "wiki: no log-probabilities")


def test_json_is_complete_and_unrounded(board: Board) -> None:
    value = json.loads(render(board, "json"))
    assert [model["name"] for model in value["models"]] == ["hf:a", "hf:c", "hf:b"]
    assert [column["scenario"] for column in value["columns"]] == ["mmlu", "sample_reading", "wiki"]
    assert len(value["cells"]) == 8
    partial = next(c for c in value["cells"] if c["model"] == "hf:b" and c["column"] == 0)
    assert (partial["mean"], partial["complete"], partial["have"], partial["of"]) == (0.5, False, 1, 2)
    assert partial["failures"] == [{"run": "mmlu:subject=virology", "error": "the model fell over"}]
    assert value["models"][2]["mean_win_rate"] is None


@pytest.mark.parametrize("format", ["terminal", "csv", "json", "md"])
def test_every_format_ends_in_a_line_break_and_bears_an_empty_board(board: Board, format: str) -> None:
    for some in (board, build_board([])):
        assert render(some, format).endswith("\n")
    if format in SHOWN:
        assert "no runs" in render(build_board([]), format)


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(HarnessError, match=r"there is no format 'jsn'. Did you mean 'json'\?"):
        render(build_board([]), "jsn")


# ---------------------------------------------------------------------------------------------------------------
# Hostile names

NAMES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>x</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "\u202eabc\u202d\u2066",
    "\x1b[2J\x1b]0;title\x07\x00",
    "a|b\\|c\n| d |",
    "[red]x[/red][/]",
    "![x](http://evil.example/x.png) @user #1 `code` www.evil.example",
    "=HYPERLINK(1)",
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1+1",
    "  =1+1",
    "＝1+1",
    "\ud800 half",
    "x" * 2_000_000,
    "a\u0336" * 100,
]


@pytest.fixture(scope="module", params=range(len(NAMES)), ids=lambda k: ascii(NAMES[k][:20]))
def hostile(request: pytest.FixtureRequest, make_run: Any) -> Board:
    """A board on which one name stands wherever a name, a setting or a message can."""
    name = NAMES[request.param]
    return build_board(
        [
            make_run(
                {"name": name, "argument": name}, {"name": name, "part": name}, 0.5, settings={"x": name}, metric=name
            ),
            make_run(
                "hf:b", {"name": name, "part": name}, 0.4, settings={"x": ""}, metric=name, suite=name, finished=name
            ),
            make_run("hf:b", {"name": name, "part": "2"}, None, error=name, method=name),
        ]
    )


def test_markdown_from_hostile_names_keeps_its_table(hostile: Board) -> None:
    text = render(hostile, "md")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    columns = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}
    assert len(lines) == 2 + len(hostile.rows)
    assert len(columns) == 1
    assert "<script" not in text
    assert not re.search(r"https?:|www\.|@\w|(?<!\\)(`|\]\()", text)
    _nothing_invisible(text)


def test_terminal_from_hostile_names_has_no_control_characters(hostile: Board) -> None:
    text = render(hostile, "terminal")
    assert len(text) < 100_000
    _nothing_invisible(text)


def test_csv_from_hostile_names_has_no_formula(hostile: Board) -> None:
    text = render(hostile, "csv")
    for line in csv.reader(io.StringIO(text)):
        assert not [
            f for f in line if f.lstrip().startswith(("=", "+", "-", "@", "＝")) and not re.fullmatch(r"-?[\d.e-]+", f)
        ]
    _nothing_invisible(text)


def test_json_from_hostile_names_gives_them_back(hostile: Board) -> None:
    value = json.loads(render(hostile, "json"))
    assert {model["name"] for model in value["models"]} == {row.model for row in hostile.rows}


def test_markup_is_shown_as_it_is(make_run: Any) -> None:
    file = io.StringIO()
    show(build_board([make_run("hf:[red]x[red]:smile:", "boolq", 0.5)]), Console(file=file, width=100))
    assert "[red]x[red]:smile:" in file.getvalue()


def _nothing_invisible(text: str) -> None:
    text.encode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)

"""Composite scores on the leaderboard: their value, their interval, and what a missing run does to them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts import SCALES, Split, Stat
from harness.contracts.scores import CompositeScore, ScoredRun, ScoreMember
from harness.leaderboard.aggregate import build_board
from harness.leaderboard.board_table import board_table
from harness.leaderboard.composites import CompositeEstimate, Part, composite_cell, composite_estimate
from harness.leaderboard.pairwise import ContestResult, covariances
from harness.leaderboard.site import boards, scenario_pages
from harness.leaderboard.site.addresses import scenario_address
from harness.leaderboard.site.board_columns import column_names
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot
from harness.output.result_table import ResultTable
from harness.plugins.registry import default_registry
from harness.statistics import mean_estimate
from harness.storage.instance_scores import KEY_BYTES, InstanceScores
from harness.storage.results import RunRecord
from tests.benchmarks.composite_intervals import Case, simulate
from tests.harness.leaderboard.test_tables import render

Make = Callable[..., RunRecord]


def stat(right: int, count: int) -> Stat:
    found = mean_estimate([1.0] * right + [0.0] * (count - right), SCALES["proportion"])
    assert found.low is not None
    assert found.high is not None
    ends = (found.low, found.high)
    scale = SCALES["proportion"]
    return Stat("m", "accuracy", Split.TEST, None, count, found.value, found.stderr, ends, 0, 1, True, scale=scale)


def estimate(*parts: tuple[int, int, float, float]) -> CompositeEstimate:
    return composite_estimate([Part(stat(right, count), weight, chance) for right, count, weight, chance in parts])


def test_the_value_is_the_weighted_mean_and_the_error_that_of_independent_runs() -> None:
    found = estimate((50, 100, 0.5, 0.0), (180, 200, 0.5, 0.0))
    assert found.value == pytest.approx(0.7)
    errors = (math.sqrt(0.25 / 99), math.sqrt(0.09 / 199))
    assert found.stderr == pytest.approx(math.hypot(*errors) / 2)
    assert found.stderr is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.7 - 1.7 * found.stderr < found.high
    assert found.effective == pytest.approx(1 / (0.25 / 100 + 0.25 / 200))


def test_chance_is_rescaled_to_zero_and_what_is_below_counts_as_zero() -> None:
    found = estimate((62, 100, 0.5, 0.25), (40, 100, 0.5, 0.5))
    assert found.value == pytest.approx(0.5 * (0.62 - 0.25) / 0.75)
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low < found.value < found.high
    assert estimate((50, 100, 1.0, 0.5)).value == 0.0
    assert estimate((100, 100, 1.0, 0.5)).value == 1.0


def test_the_interval_of_one_run_is_its_own() -> None:
    alone = stat(13, 20)
    found = estimate((13, 20, 1.0, 0.0))
    assert (found.low, found.high) == pytest.approx(alone.ci95)
    rescaled = estimate((13, 20, 1.0, 0.25))
    assert alone.ci95 is not None
    assert (rescaled.low, rescaled.high) == pytest.approx([(end - 0.25) / 0.75 for end in alone.ci95])


def test_runs_that_share_their_instances_are_not_independent() -> None:
    scores = [1.0] * 30 + [0.0] * 20
    packed = InstanceScores.of([(n.to_bytes(KEY_BYTES, "big"), score) for n, score in enumerate(scores)])
    same = [Part(stat(30, 50), 0.5, 0.0, "boolq", packed)] * 2
    found = composite_estimate(same)
    assert found.stderr == pytest.approx(stat(30, 50).stderr, rel=1e-4)  # twice the same run tells nothing new
    copied = [same[0], replace(same[1], family="boolq_copy")]
    assert composite_estimate(copied).stderr == pytest.approx(found.stderr)  # another scenario with the same instances
    moved = InstanceScores.of([((n + 99).to_bytes(KEY_BYTES, "big"), score) for n, score in enumerate(scores)])
    other = [same[0], replace(same[1], scores=moved)]
    independent = composite_estimate(other).stderr
    assert independent is not None
    assert independent == pytest.approx((stat(30, 50).stderr or 0) / math.sqrt(2), rel=1e-4)


def test_equal_names_of_clusters_mean_nothing_in_another_scenario() -> None:
    scores = [float(n % 5 > 1) for n in range(50)]
    packed = [
        InstanceScores.of(
            [((n + 99 * k).to_bytes(KEY_BYTES, "big"), score) for n, score in enumerate(scores)],
            [n // 2 for n in range(50)],
        )
        for k in range(2)
    ]
    parts = [Part(stat(30, 50), 0.5, 0.0, name, each) for name, each in zip(("quac", "drop"), packed, strict=True)]
    apart = composite_estimate(parts).stderr
    assert apart == pytest.approx((stat(30, 50).stderr or 0) / math.sqrt(2))
    together = composite_estimate([parts[0], replace(parts[1], family="quac")]).stderr
    assert together is not None
    assert apart is not None
    assert together > 1.2 * apart


def micro(
    make_run: Make, model: str, means: Sequence[float], counts: Sequence[int], sizes: Sequence[int]
) -> list[RunRecord]:
    """Return a model's runs of two subjects; ``sizes`` of their ``counts`` instances have a score."""
    found = []
    for place, (mean, count, size) in enumerate(zip(means, counts, sizes, strict=True)):
        run = make_run(model, {"name": "mmlu", "subject": f"s{place}"}, mean, count=size, missing=count - size)
        right = round(mean * size)
        keys = [(n + 1000 * place).to_bytes(KEY_BYTES, "big") for n in range(size)]
        scores = InstanceScores.of(zip(keys, [1.0] * right + [0.0] * (size - right), strict=True))
        found.append(replace(run, instance_scores=scores))
    return found


def test_each_model_has_the_micro_weights_of_its_own_instances(make_run: Make) -> None:
    """One model lacks three quarters of the first subject, so the second weighs more in its score."""
    runs = [
        *micro(make_run, "hf:a", (0.5, 0.5), (80, 80), (80, 80)),
        *micro(make_run, "hf:b", (0.5, 0.5), (80, 80), (20, 80)),
    ]
    score = declared(runs, mean="micro")[0].spec.scores[0]
    results = {}
    for model in ("hf:a", "hf:b"):
        own = {run.spec.question_digest: run for run in runs if run.spec.model.name == model}
        _, result = composite_cell(score, own, lambda run: "")
        assert result is not None
        results[model] = result
    assert results["hf:a"].weights == pytest.approx((0.5, 0.5))
    assert results["hf:b"].weights == pytest.approx((0.2, 0.8))
    found = covariances(list(results.values()))
    # Each half right: variances 0.25/(n − 1), covariances Σ of the shared instances' products.
    assert found[0, 0] == pytest.approx(0.25 * 0.25 / 79 * 2)
    assert found[1, 1] == pytest.approx(0.2**2 * 0.25 / 19 + 0.8**2 * 0.25 / 79)


def test_runs_of_two_scenarios_with_the_same_instances_are_not_independent_between_models() -> None:
    rng = np.random.default_rng(0)
    keys = [n.to_bytes(KEY_BYTES, "big") for n in range(200)]
    results = []
    for _ in range(2):
        scores = InstanceScores.of(zip(keys, rng.integers(0, 2, 200).astype(float).tolist(), strict=True))
        mean = float(scores.scores().mean())
        results.append(ContestResult(mean, 0.01, 200, (scores, scores), (0.5, 0.5), ("math", "math_500")))
    alone = [replace(result, scores=result.scores[:1], weights=(1.0,), families=("math",)) for result in results]
    assert covariances(results) == pytest.approx(covariances(alone))


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5])), min_size=1, max_size=6
    )
)
def test_the_value_lies_in_its_interval_and_all_between_0_and_1(drawn: Sequence[tuple[int, float, float]]) -> None:
    parts = [(round(share * n), n, 1 / len(drawn), chance) for n, share, chance in drawn]
    found = estimate(*parts)
    if found.low is not None and found.high is not None:
        assert -1e-9 <= found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9
        if not any(chance for *_, chance in parts):
            assert found.high <= 1 + 1e-9


@pytest.mark.parametrize(
    "case",
    [
        Case("five runs", [60] * 5, [0.9, 0.6, 0.8, 0.5, 0.4], [0.0] * 5),
        Case("micro", [30, 90, 150], [0.3, 0.8, 0.6], [0.0] * 3, micro=True),
        Case("half at chance", [60] * 6, [0.5, 0.7] * 3, [0.5, 0.25] * 3),
        Case("shared", [60] * 2, [0.6, 0.6], [0.0] * 2, correlation=0.8),
    ],
    ids=lambda case: case.name,
)
def test_the_interval_covers(case: Case) -> None:
    """The long simulation is in tests/benchmarks/composite_intervals.py."""
    coverage, too_high, width = simulate(case, 300)
    assert coverage >= 0.92
    assert too_high <= 0.05
    assert width < 2.0


def declared(runs: Sequence[RunRecord], **changes: object) -> list[RunRecord]:
    """Return runs that declare a score over all of them, each scenario a member."""
    names = dict.fromkeys(run.spec.scenario.name for run in runs)
    asked = {run.spec.question_digest: run.spec.scenario for run in runs}
    members = tuple(
        ScoreMember(
            name=name,
            runs=tuple(
                ScoredRun(label=scenario.label, question=question)
                for question, scenario in asked.items()
                if scenario.name == name
            ),
        )
        for name in names
    )
    score = CompositeScore.model_validate({"name": "mean", "title": "Our mean", "members": members, **changes})
    return [replace(run, spec=run.spec.model_copy(update={"scores": (score,)})) for run in runs]


def scored(make_run: Make, model: str, **means: float | None) -> list[RunRecord]:
    errors = {name: None if mean is not None else "out of memory" for name, mean in means.items()}
    return [make_run(model, name, mean, error=errors[name]) for name, mean in means.items()]


def test_a_score_is_the_first_column_and_counts_in_no_win_rate(make_run: Make) -> None:
    runs = [*scored(make_run, "hf:a", boolq=0.6, imdb=0.8), *scored(make_run, "hf:b", boolq=0.5, imdb=0.7)]
    plain, board = build_board(runs), build_board(declared(runs))
    first, *rest = board.columns
    assert first.score is not None
    assert first.higher_is_better is True
    assert not first.contested
    assert tuple(rest) == plain.columns
    assert [row.cells[0].mean for row in board.rows if row.cells[0]] == pytest.approx([0.7, 0.6])
    assert [row.win_rate for row in board.rows] == [row.win_rate for row in plain.rows]
    assert [row.cells[1:] for row in board.rows] == [row.cells for row in plain.rows]


def test_a_missing_member_leaves_no_number_and_is_named(make_run: Make) -> None:
    complete = scored(make_run, "hf:a", boolq=0.6, imdb=0.8, raft=0.5)
    partial = [*scored(make_run, "hf:b", boolq=0.5), *scored(make_run, "hf:b", imdb=None)]
    runs = declared([*complete, *partial])
    board = build_board(runs)
    cell = next(row.cells[0] for row in board.rows if "b" in row.model)
    assert cell is not None
    assert (cell.mean, cell.have, cell.of) == (None, 1, 3)
    assert {failure.run: failure.error for failure in cell.failures} == {"imdb": "out of memory", "raft": "not run"}
    for format_ in ("md", "latex", "csv"):
        text = render(board, format_)
        assert "1 of 3" in text or format_ == "csv"
        assert "not run" in text
    unrelated = build_board([*runs, make_run("hf:c", "arc", 0.5)])
    assert next(row.cells[0] for row in unrelated.rows if "c" in row.model) is None


def test_runs_of_a_family_count_the_same_or_by_instances(make_run: Make) -> None:
    runs = [
        make_run("hf:a", {"name": "mmlu", "subject": "law"}, 0.8, count=300),
        make_run("hf:a", {"name": "mmlu", "subject": "art"}, 0.4, count=100),
    ]
    (macro,) = build_board(declared(runs)).rows
    (micro,) = build_board(declared(runs, mean="micro")).rows
    assert macro.cells[0] is not None
    assert micro.cells[0] is not None
    assert macro.cells[0].of == 2
    assert macro.cells[0].mean == pytest.approx(0.6)
    assert micro.cells[0].mean == pytest.approx(0.7)


def test_scores_of_two_sweeps_do_not_clash(make_run: Make) -> None:
    first = declared(scored(make_run, "hf:a", boolq=0.6, imdb=0.8))
    same = declared([make_run("hf:b", name, 0.5, suite="other") for name in ("boolq", "imdb")])
    board = build_board([*first, *same])
    assert len([column for column in board.columns if column.score]) == 1  # the same score of two suites
    short = declared([make_run("hf:b", name, 0.5, suite="short", limit=10) for name in ("boolq", "imdb")])
    board = build_board([*first, *short])
    titles = heads(board_table(board))
    assert len(set(titles)) == len(titles)
    assert sum("Our mean" in title for title in titles) == 2


def heads(table: ResultTable) -> list[str]:
    return [" ".join(column.heading) for column in table.columns]


def test_the_heading_names_the_members(make_run: Make) -> None:
    def headings(*names: str) -> str:
        return " | ".join(
            heads(board_table(build_board(declared(scored(make_run, "hf:a", **dict.fromkeys(names, 0.5))))))
        )

    assert "mean of boolq, imdb n=" in headings("boolq", "imdb")
    assert "mean of boolq, imdb, raft, 2 more n=" in headings("boolq", "imdb", "raft", "arc", "mmlu")


def test_a_score_is_in_every_format(make_run: Make) -> None:
    runs = declared(scored(make_run, "hf:a", boolq=0.6, imdb=0.8))
    board = build_board(runs)
    value = json.loads(render(board, "json"))
    assert value["columns"][0]["title"] == "Our mean"
    assert value["columns"][0]["score"]["members"][0]["name"] == "boolq"
    assert value["cells"][0]["mean"] == pytest.approx(0.7)
    assert value["columns"][1]["score"] is None
    for format_ in ("md", "latex", "csv"):
        assert "Our mean" in render(board, format_)


def test_a_score_is_the_first_column_of_the_site(make_run: Make, tmp_path: Path) -> None:
    runs = declared(
        [run for model in ("hf:a", "hf:b") for run in scored(make_run, model, boolq=0.6, imdb=0.8)], title="Our mean"
    )
    snapshot = Snapshot(runs, default_registry())
    (view,) = snapshot.boards
    assert [column.scenario for column in view.board.columns] == ["mean", "boolq", "imdb"]
    assert [len(parts) for parts in (view.groups, view.counting, view.measures, view.headings)] == [3, 3, 3, 3]
    first, *_ = column_names(snapshot, view)
    assert (first.label, first.group, first.shown) == ("Our mean", "Scores", True)
    folder = SiteFolder(tmp_path)
    boards.write(snapshot, folder)
    scenario_pages.write(snapshot, folder)
    pages = {path.stem for path in (tmp_path / "data" / "scenarios").glob("*.js")}
    assert pages == {scenario_address("boolq"), scenario_address("imdb")}

"""Properties of the policy on whole sweeps, in simulated time."""

from __future__ import annotations

import itertools
import random

import pytest

from harness.executors.simulation import ModelWork, Piece, simulate


def work(model: str, seconds: list[float], loading: float = 0.0, gpus: int = 1) -> ModelWork:
    return ModelWork(model, [Piece(one, one) for one in seconds], loading, gpus)


def best(seconds: list[float], workers: int) -> float:
    """Return the shortest possible makespan, by trying all."""
    return min(
        max(sum(s for s, place in zip(seconds, places, strict=True) if place == worker) for worker in range(workers))
        for places in itertools.product(range(workers), repeat=len(seconds))
    )


def test_one_model_on_one_gpu_takes_its_loading_and_its_runs() -> None:
    schedule = simulate([work("a", [10, 20, 30], loading=5)], [1])
    assert (schedule.makespan, schedule.bound, schedule.loads, schedule.busy) == (65, 65, 1, 65)
    assert schedule.ends == {"a": 65}


@pytest.mark.parametrize("seed", range(60))
def test_longest_first_ends_within_grahams_bound(seed: int) -> None:
    generator = random.Random(seed)
    workers = generator.choice([2, 3])
    seconds = [float(generator.randint(1, 30)) for _ in range(generator.randint(3, 7))]
    schedule = simulate([work("a", seconds)], [1] * workers)
    assert schedule.makespan <= (4 / 3 - 1 / (3 * workers)) * best(seconds, workers) + 1e-9


def test_file_order_can_be_worse() -> None:
    sweep = [work("a", [1.0] * 6 + [6.0])]
    assert simulate(sweep, [2]).makespan == 6
    assert simulate(sweep, [2], file_order=True).makespan == 9


@pytest.mark.parametrize("seed", range(20))
def test_no_gpu_is_idle_while_work_is_left_and_loading_is_free(seed: int) -> None:
    generator = random.Random(seed)
    sweep = [work(f"m{n}", [generator.lognormvariate(3, 1) for _ in range(generator.randint(1, 40))]) for n in range(5)]
    longest = max(piece.actual for one in sweep for piece in one.pieces)
    gpus = generator.choice([2, 4, 8])
    schedule = simulate(sweep, [gpus])
    total = sum(piece.actual for one in sweep for piece in one.pieces)
    # If none is idle before the last piece is begun, all have worked until the last piece's own length is left.
    assert schedule.makespan <= total / gpus + longest * (gpus - 1) / gpus + 1e-6
    assert schedule.busy == pytest.approx(total)


@pytest.mark.parametrize("seed", range(20))
def test_makespan_stays_above_the_bound_and_everything_is_done_once(seed: int) -> None:
    generator = random.Random(seed)
    sweep = [
        work(
            f"m{n}",
            [generator.lognormvariate(3, 1) for _ in range(generator.randint(1, 40))],
            loading=generator.uniform(0, 200),
            gpus=generator.choice([1, 1, 1, 2, 4]),
        )
        for n in range(8)
    ]
    nodes = [4] * generator.choice([1, 2, 3])
    schedule = simulate(sweep, nodes)
    assert schedule.makespan >= schedule.bound
    assert schedule.ends.keys() == {one.model for one in sweep}
    done = sum(piece.actual * one.gpus for one in sweep for piece in one.pieces)
    loading = schedule.busy - done
    assert sum(one.loading * one.gpus for one in sweep) <= loading + 1e-6
    assert schedule.busy <= schedule.makespan * sum(nodes) + 1e-6


def test_a_model_is_loaded_again_only_where_that_is_worth_it() -> None:
    schedule = simulate([work("a", [10] * 50, loading=100)], [8])
    assert schedule.loads == 4  # what three have left, 470 s, is worth a fourth: 470 / 4 > 100; 460 / 5 < 100
    schedule = simulate([work("a", [10] * 50, loading=1)], [8])
    assert schedule.loads == 8


def test_workers_keep_their_model_while_it_has_runs() -> None:
    sweep = [work(f"m{n}", [5.0] * 20, loading=30) for n in range(4)]
    assert simulate(sweep, [4]).loads == 4


def test_a_model_wider_than_every_node_is_said_and_left_out() -> None:
    schedule = simulate([work("a", [1.0]), work("wide", [1.0], gpus=8)], [4, 4])
    assert schedule.never == ["wide"]
    assert schedule.ends.keys() == {"a"}


def test_a_sweep_without_runs_takes_no_time() -> None:
    assert simulate([work("a", [])], [4]).makespan == 0


def test_wrong_estimates_change_the_order_and_not_the_work() -> None:
    generator = random.Random(5)
    pieces = [Piece(one * generator.lognormvariate(0, 1), one) for one in (generator.uniform(1, 9) for _ in range(400))]
    schedule = simulate([ModelWork("a", pieces, loading=3)], [8])
    assert schedule.busy == pytest.approx(sum(piece.actual for piece in pieces) + 3 * schedule.loads)
    assert schedule.makespan < 1.05 * schedule.bound

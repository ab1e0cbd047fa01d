"""Simulations that justify how sweeps are dealt on a cluster: `python tests/benchmarks/cluster_simulation.py`.

Tables, all or the named ones: `sweeps` (a whole sweep on 64 GPUs, by the policy of `harness.executors.dealing` and
by others), `prefixes` (how many tokens are read again if requests are divided, by the harness's own prefix tree) and
`windows` (how busy replicas are if requests are asked in windows). Targets: 4,939 runs × 30 models on 64 GPUs within
1.02 of the bound; one model of 70B with 36 runs within 1.5.

Assumptions, none of them measured: 64 GPUs in 8 machines, 400 TFLOP/s × 0.45 for prompts, 4 TB/s × 0.55 for generating
200 texts at once, 35 s to start and 1.5 GB/s to load, 0.3 ms of the host a request. Eight families of runs, whose sizes
are log-normal; prompts share their header, which is read once a run. Runs are scaled so that 4,939 × 30 take 1,289 GPU
hours. The policy sees estimates that are wrong by a log-normal factor (sigma 0.4: by 1.5). Times of answers are
log-normal too, and cut at ten times the median, as by a limit of tokens.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.costs.gpu_speed import Gpu
from harness.executors.dealing import Load, longest_first, longest_piece, lower_bound, split
from harness.executors.simulation import ModelWork, Piece, simulate

GPU = Gpu(name="simulated", teraflops=400, bandwidth=4, memory=80)
NODES = (8,) * 8
GPU_HOURS = 1_289
WRONG = 0.4
"""Standard deviation of the logarithm of an estimate's error."""
AGAIN = 1.5
"""How much more of prompts is read if requests are dealt without regard to what they share."""
SIZES = (0.5, 0.5, 0.5, 1, 1, 1, 1.5, 1.5, 2, 3, 3, 3, 4, 4, 7, 7, 7, 7, 8, 8, 8, 9, 12, 13, 14, 14, 27, 32, 70, 72)
"""Parameters of thirty models, in 10^9; the last two need four GPUs."""


@dataclass(frozen=True)
class Family:
    """Runs of one kind."""

    share: float
    """Share of a sweep's runs."""
    own: float
    """Mean tokens of a prompt without its header."""
    generated: float
    """Mean tokens generated."""
    requests: float
    """Median number of requests."""
    sigma: float
    """Standard deviation of the logarithm of that number."""


FAMILIES = (
    Family(0.30, 95, 1, 1000, 0.8),  # multiple choice, five examples
    Family(0.12, 22, 0, 8000, 0.7),  # endings that are scored
    Family(0.12, 150, 30, 1000, 0.8),  # short answers
    Family(0.10, 120, 300, 1000, 0.6),  # mathematics step by step
    Family(0.12, 700, 60, 800, 0.6),  # reading
    Family(0.10, 1800, 130, 400, 0.6),  # summaries
    Family(0.10, 60, 20, 3000, 1.0),  # toxicity, bias
    Family(0.04, 200, 4500, 200, 0.5),  # long reasoning
)


@dataclass(frozen=True)
class Run:
    """One run, for any model."""

    prompt: float
    """Tokens of its prompts."""
    generated: float
    """Tokens generated."""
    requests: float
    """Number of requests."""
    error: float
    """What its estimate is wrong by."""


def draw_runs(count: int, generator: random.Random, scale: float) -> list[Run]:
    """Return runs of all families, in the order of a file: family by family."""
    runs = []
    for family in FAMILIES:
        for _ in range(max(1, round(count * family.share))):
            requests = scale * family.requests * generator.lognormvariate(0, family.sigma)
            error = generator.lognormvariate(0, WRONG)
            runs.append(Run(requests * family.own, requests * family.generated, requests, error))
    return runs[:count] + runs[: max(0, count - len(runs))]


def seconds(run: Run, billions: float, gpus: int, again: float = 1.0) -> float:
    """Return the seconds that a replica takes for a run."""
    return GPU.seconds(int(billions * 1e9), run.prompt * again, run.generated, run.requests, gpus)


def pieces(
    runs: Iterable[Run], billions: float, gpus: int, longest: float = math.inf, again: float = 1.0
) -> list[Piece]:
    """Return the runs of a model, those that take longer than ``longest`` seconds in equal pieces."""
    found = []
    for run in runs:
        whole = seconds(run, billions, gpus, again)
        most = max(1, math.ceil(run.requests / 32))
        found += [Piece(part * run.error, part) for part in split(whole, longest, most)]
    return found


def model_work(
    runs: Sequence[Run], sizes: Sequence[float], longest: float = math.inf, again: float = 1.0
) -> list[ModelWork]:
    """Return the work of all models."""
    work = []
    for number, billions in enumerate(sizes):
        gpus = 4 if billions >= 70 else 1
        loading = GPU.loading(int(billions * 1e9))
        work.append(ModelWork(f"m{number}", pieces(runs, billions, gpus, longest, again), loading, gpus))
    return work


def one_by_one(work: Sequence[ModelWork]) -> tuple[float, int]:
    """Return makespan and loadings if models run one after another, on all GPUs, their runs dealt in turn."""
    end, loads = 0.0, 0
    for one in work:
        replicas = sum(NODES) // one.gpus
        busy = [0.0] * replicas
        for number, piece in enumerate(one.pieces):
            busy[number % replicas] += piece.actual
        end += one.loading + max(busy)
        loads += sum(map(bool, busy))
    return end, loads


def packed(work: Sequence[ModelWork]) -> tuple[float, int]:
    """Return makespan and loadings if chunks of models' runs are packed on GPUs beforehand, the longest chunk first."""
    gpus = sum(NODES)
    share = sum(sum(piece.estimate for piece in one.pieces) * one.gpus for one in work) / gpus
    chunks: list[tuple[float, float, int]] = []  # estimated, actual, GPUs
    for one in work:
        estimated = sum(piece.estimate for piece in one.pieces)
        count = max(1, min(len(one.pieces), round(estimated / share)))
        bins = [(0.0, number, 0.0) for number in range(count)]
        for piece in longest_first(one.pieces, lambda piece: piece.estimate):
            least, number, actual = heapq.heappop(bins)
            heapq.heappush(bins, (least + piece.estimate, number, actual + piece.actual))
        chunks += [(least + one.loading, actual + one.loading, one.gpus) for least, _, actual in bins]
    planned, ends = [0.0] * gpus, [0.0] * gpus
    for estimated, actual, wide in sorted(chunks, key=lambda chunk: (-chunk[2], -chunk[0])):
        groups = range(0, gpus, wide)
        group = min(groups, key=lambda first: max(planned[first : first + wide]))
        for place in range(group, group + wide):
            planned[place] += estimated
            ends[place] += actual
    return max(ends), len(chunks)


def sweeps() -> None:
    """Print whole sweeps on 64 GPUs, by policy."""
    generator = random.Random(0)
    whole = draw_runs(4_939, generator, 1.0)
    unscaled = sum(sum(p.actual for p in one.pieces) * one.gpus for one in model_work(whole, SIZES))
    scale = GPU_HOURS * 3600 / unscaled
    generator = random.Random(0)
    large = draw_runs(4_939, generator, scale)
    print(f"runs scaled by {scale:.2f}")
    paper = "4,939 runs × 30 models"
    cases: list[tuple[str, list[Run], Sequence[float]]] = [
        (paper, large, SIZES),
        ("165 runs × 30 models", draw_runs(165, generator, scale), SIZES),
        ("36 runs × 30 models (lite)", draw_runs(36, generator, 2.5 * scale), SIZES),
        ("4,939 runs, one 8B", large, (8,)),
        ("36 runs, one 70B on 4 GPUs", draw_runs(36, generator, scale), (70,)),
        ("36 runs, 30 checkpoints of 1B", draw_runs(36, generator, 2.5 * scale), (1,) * 30),
    ]
    for title, runs, sizes in cases:
        work = model_work(runs, sizes)
        loads = [Load(w.model, sum(p.actual for p in w.pieces), len(w.pieces), w.loading, gpus=w.gpus) for w in work]
        bound = lower_bound(loads, sum(NODES))
        longest = max(piece.actual for one in work for piece in one.pieces)
        print(f"\n{title}: bound {bound / 60:,.1f} min, longest run {longest:,.0f} s")

        def show(name: str, found: tuple[float, int], bound: float = bound) -> None:
            makespan, count = found
            print(f"  {name:36} {makespan / 60:10,.1f} min {makespan / bound:7.3f} {count:6,} loads")

        show("a0 models one after another", one_by_one(work))
        show("a  packed beforehand", packed(work))
        show("b  dealt, in the order of the file", dealt(work, file_order=True))
        show("b  dealt, longest first", dealt(work))
        if title == paper:
            show("b  the same, estimates wrong by 2.7", dealt([misjudged(one, generator) for one in work]))
        for limit in (1200, 60, 20):
            show(f"c  pieces of {limit} s", dealt(model_work(runs, sizes, limit)))
        show("c  pieces as the policy says", dealt(model_work(runs, sizes, longest_piece(bound))))
        show("c' pieces of 120 s, no affinity", dealt(model_work(runs, sizes, 120, AGAIN)))


def misjudged(work: ModelWork, generator: random.Random) -> ModelWork:
    """Return a model's work with estimates that are wrong by a factor of 2.7 (sigma 1)."""
    wrong = [Piece(piece.actual * generator.lognormvariate(0, 1), piece.actual) for piece in work.pieces]
    return ModelWork(work.model, wrong, work.loading, work.gpus)


def dealt(work: Sequence[ModelWork], *, file_order: bool = False) -> tuple[float, int]:
    """Return makespan and loadings by the harness's policy."""
    schedule = simulate(work, NODES, file_order=file_order)
    return schedule.makespan, schedule.loads


def prefixes() -> None:
    """Print the tokens that are read, relative to one piece, if requests are divided."""
    import numpy as np

    from harness.models.transformers.prefix_tree import Branch, PrefixTree

    generator = np.random.default_rng(0)

    def text(tokens: float) -> list[int]:
        found: list[int] = generator.integers(
            0, 50_000, max(1, round(tokens * generator.lognormal(-0.08, 0.4)))
        ).tolist()
        return found

    def tokens_read(sequences: Sequence[tuple[int, ...]]) -> int:
        different = list(dict.fromkeys(sequences))
        return PrefixTree(different).size(Branch(0, len(different), 0))

    header = text(850)
    passages = [[*text(1700)] for _ in range(50)]
    questions = [text(60) for _ in range(2500)]
    trials = [text(850) for _ in range(3)]
    mmlu = [text(95) for _ in range(1000)]
    tasks = {
        "MMLU, 5 examples, 1,000": [(*header, *one) for one in mmlu],
        "HellaSwag-like, 2,500 × 4 endings": [(*header, *one, *text(22)) for one in questions for _ in range(4)],
        "GSM8K, 8 examples": [(*header, *text(100)) for _ in range(1300)],
        "RAG, 50 passages × 40": [(*passage, *text(75)) for passage in passages for _ in range(40)],
        "MMLU, 3 trials": [(*trial, *one) for trial in trials for one in mmlu],
    }
    heads = [f"{how} {part}" for how in ("row", "turn") for part in (512, 128, 32)]
    print(f"{'read, relative to one piece':36} {'unshared':>8}" + "".join(f"{head:>11}" for head in heads))
    for title, sequences in tasks.items():
        ordered = sorted(sequences)
        whole = tokens_read(ordered)
        row = [sum(map(len, ordered)) / whole]
        for part in (512, 128, 32):
            row.append(sum(tokens_read(ordered[at : at + part]) for at in range(0, len(ordered), part)) / whole)
        for part in (512, 128, 32):
            count = math.ceil(len(ordered) / part)
            row.append(sum(tokens_read(ordered[number::count]) for number in range(count)) / whole)
        print(f"{title:36} {row[0]:8.1f}" + "".join(f"{value:11.3f}" for value in row[1:]))


SLOTS = 64


def pulled(times: Sequence[float], replicas: int, window: int) -> float:
    """Return the makespan if every free slot takes a request at once; a window is answered before the next is asked."""
    now = 0.0
    for start in range(0, len(times), window):
        slots = [now] * (SLOTS * replicas)
        for one in times[start : start + window]:
            heapq.heapreplace(slots, slots[0] + one)
        now = max(slots)
    return now


def waited(times: Sequence[float], replicas: int, window: int, part: int) -> float:
    """Return the makespan if a replica takes a part only when it has answered all of the last one."""
    now = 0.0
    for start in range(0, len(times), window):
        free = [now] * replicas
        inside = times[start : start + window]
        for at in range(0, len(inside), part):
            slots = [free[0]] * SLOTS
            for one in inside[at : at + part]:
                heapq.heapreplace(slots, slots[0] + one)
            heapq.heapreplace(free, max(slots))
        now = max(free)
    return now


def windows() -> None:
    """Print how busy the slots of replicas are."""
    generator = random.Random(0)
    kinds = {"scoring": 0.3, "generation": 1.0, "long reasoning": 1.6}
    print(f"{'share of slots busy':34} {'W = 4,096':>10} {'4,096 × R':>10} {'no window':>10}")
    for kind, sigma in kinds.items():
        for replicas in (1, 8, 64):
            times = [min(10.0, generator.lognormvariate(0, sigma)) for _ in range(16_384 if replicas == 1 else 65_536)]
            ideal = sum(times) / (SLOTS * replicas)
            for how in ("parts waited for", "pulled"):
                row = []
                for window in (4096, 4096 * replicas, len(times)):
                    part = max(1, window // (4 * replicas))
                    end = pulled(times, replicas, window) if how == "pulled" else waited(times, replicas, window, part)
                    row.append(ideal / end)
                print(f"{kind + ', ' + how:28} R = {replicas:2} " + " ".join(f"{value:10.2f}" for value in row))


TABLES = {"sweeps": sweeps, "prefixes": prefixes, "windows": windows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", default=list(TABLES), help=", ".join(TABLES))
    for name in parser.parse_args().tables:
        print(f"--- {name}")
        TABLES[name]()


if __name__ == "__main__":
    main()

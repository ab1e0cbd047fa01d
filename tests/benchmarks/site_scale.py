"""The leaderboard's site at the size of the HELM paper: 4,939 runs of 30 models, and a run of 100,000 examples.

    python tests/benchmarks/site_scale.py [--folder FOLDER] [--runs 4939] [--examples 100000] [--sizes]

Writes made-up results of that size, builds their site twice, and prints the time, the processor time and the memory
that the builds took, how many bytes the first view is, and how soon it can be used in headless Chromium. The records
are as large as those of a run with four perturbations: 150 statistics each.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

MODELS = 30
METRICS = {
    "accuracy": ["quasi_exact_match", "exact_match", "f1_score", "prefix_exact_match"],
    "calibration": ["ece_10_bin", "ece_1_bin", "platt_ece_10_bin", "brier_score"],
    "bias": ["gender_representation_bias", "race_representation_bias"],
    "toxicity": ["toxic_frac", "expected_max_toxicity"],
    "efficiency": ["seconds", "prompt_tokens", "completion_tokens", "queries", "latency_p50", "latency_p95"],
}
PERTURBATIONS = {"mild_mix": "robustness", "dialect": "fairness", "gender": "fairness", "person_name": "fairness"}
LIBRARY = "assets/vendor/"
"""The grid library, which is counted apart."""
TIMES = 9
"""How often an action on the leaderboard is timed."""
SETTLE = 700
"""Milliseconds after an action in which the page may finish what it put off."""


def questions() -> list[dict[str, Any]]:
    """Return 165 scenarios with parameters: 42 of the paper's size, some of them in many parts."""
    names = ["boolq", "imdb", "narrative_qa", "natural_qa", "quac", "hellaswag", "openbookqa", "truthful_qa", "msmarco",
             "raft", "civil_comments", "gsm8k", "math", "bbq", "bold", "blimp", "babi_qa",
             "real_toxicity_prompts"]  # fmt: skip
    found: list[dict[str, Any]] = [{"name": "mmlu", "subject": f"subject_{n}"} for n in range(57)]
    found += [{"name": "raft_like", "subset": f"subset_{n}"} for n in range(11)]
    found += [{"name": "pile_like", "subset": f"subset_{n}"} for n in range(14)]
    found += [{"name": "copyright_like", "datatag": f"tag_{n}"} for n in range(19)]
    found += [{"name": name} for name in names]
    found += [{"name": f"scenario_{n}", "part": part} for n in range(19) for part in ("a", "b")]
    found += [{"name": f"single_{n}"} for n in range(165 - len(found))]
    return found


def statistics(random_: random.Random, ability: float) -> list[dict[str, Any]]:
    def stat(metric: str, category: str, perturbation: str | None, on: str, higher: bool) -> dict[str, Any]:
        mean = min(1.0, max(0.0, random_.gauss(ability, 0.1)))
        return {"metric": metric, "category": category, "split": "test", "perturbation": perturbation, "count": 1000,
                "mean": mean, "stderr": 0.01234567890123, "ci95": [mean - 0.024, mean + 0.024], "min": 0.0, "max": 1.0,
                "higher_is_better": higher, "missing": 0, "computed_on": on, "group": None}  # fmt: skip

    found = []
    for category, metrics in METRICS.items():
        higher = category == "accuracy"
        for metric in metrics:
            found.append(stat(metric, category, None, "original", higher))
            for name, kind in PERTURBATIONS.items():
                found.append(stat(metric, kind, name, "perturbed", higher))
            if category in {"accuracy", "toxicity"}:
                for name, kind in {**PERTURBATIONS, "robustness": "robustness", "fairness": "fairness"}.items():
                    found.append(stat(metric, kind, name, "worst", higher))
                for name, kind in PERTURBATIONS.items():
                    found.append(stat(metric, kind, name, "drop", False))
    return found


def write_results(folder: Path, runs: int) -> None:
    from harness.contracts import Split
    from harness.contracts.specs import Component, RunSpec
    from harness.storage.instance_scores import KEY_BYTES, InstanceScores

    random_ = random.Random(0)
    written = 0
    metrics = tuple(Component(name=name) for several in METRICS.values() for name in several)
    adapter = Component(name="generation", arguments={f"setting_{n}": "value" for n in range(20)})
    keys = [random_.randbytes(KEY_BYTES) for _ in range(1000)]
    for question in questions():
        for model in range(MODELS):
            if written == runs:
                break
            spec = RunSpec(
                suite="helm", scenario=Component.model_validate(question), adapter=adapter,
                perturbations=tuple(Component(name=name) for name in PERTURBATIONS), metrics=metrics,
                main_metric="quasi_exact_match", model=Component(name=f"hf:organisation/model-{model:02d}"),
                eval_split=Split.TEST, max_eval_instances=1000,
            )  # fmt: skip
            directory = folder / "helm" / spec.name
            directory.mkdir(parents=True)
            bins = {"bins": [{"low": n / 10, "high": n / 10 + 0.1, "count": 100, "probability": 0.5, "accuracy": 0.5,
                              "accuracy_ci95": [0.4, 0.6]} for n in range(10)]}  # fmt: skip
            right = [float(random_.random() < 0.3 + model / 75) for _ in keys]
            scores = InstanceScores.of(zip(keys, right, strict=True))
            stats = statistics(random_, 0.3 + model / 75)
            stats[0]["mean"] = sum(right) / len(right)
            record = {
                "schema_version": 2, "name": spec.name, "suite": "helm", "status": "ok", "error": None,
                "spec": spec.model_dump(mode="json"), "stats": stats,
                "efficiency": {"queries": 5000, "prompt_tokens": 3_000_000, "completion_tokens": 20_000,
                               "model_seconds": 900.5},
                "details": {"ece_10_bin": {"test": dict.fromkeys(("original", *PERTURBATIONS), bins)}},
                "provenance": {
                    "model": {"name": spec.model.name, "fingerprint": {"sha256": f"{model:064d}"}, "parameters": 10**9},
                    "data": {"kind": "files", "sample": False, "files": [{"path": "x", "sha256": "0" * 64}]},
                    "versions": {"python": "3.11", "torch": "2"}, "host": {"name": "machine"},
                },
                "started": "2025-01-01T00:00:00+00:00", "finished": "2025-01-01T00:00:00+00:00",
                "instance_scores": scores.to_json(),
            }  # fmt: skip
            record["examples"] = None
            (directory / "run.json").write_text(json.dumps(record, indent=2))
            written += 1


def write_examples(directory: Path, count: int, random_: random.Random) -> None:
    """Write examples into a run's folder, and their count and digest into its record."""
    header = "Passage: " + "some few-shot words " * 60
    with gzip.open(directory / "examples.jsonl.gz", "wt", compresslevel=1) as file:
        for n in range(count):
            right = random_.random() < 0.4
            question = f"What is the answer to question number {n}, and is it {random_.randrange(10**6)}?"
            value = {
                "id": f"test-{n // 2}", "split": "test", "input": question,
                **({"perturbation": "mild_mix"} if n % 2 else {}),
                "references": [{"text": "yes", "correct": True}],
                "requests": [{"ask": "generate", "prompt": f"{header}\nQuestion: {question}\nAnswer:"}],
                "responses": [{"completions": [{"text": "yes" if right else "no", "logprob": -1.5, "tokens": 2}]}],
                "prediction": "yes" if right else "no", "scores": {"quasi_exact_match": float(right)},
            }  # fmt: skip
            file.write(json.dumps(value) + "\n")
    digest = hashlib.sha256((directory / "examples.jsonl.gz").read_bytes()).hexdigest()
    record = json.loads((directory / "run.json").read_text())
    record["examples"] = {"count": count, "sha256": digest}
    (directory / "run.json").write_text(json.dumps(record, indent=2))


def build(results: Path, site: Path) -> None:
    """Build in a process of its own and print what it took."""
    import subprocess

    code = (
        "import sys, resource; from pathlib import Path; from harness.leaderboard.site.builder import build_site\n"
        "if __name__ == '__main__':\n"
        "    build_site(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "    own, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    print(f'{own.ru_maxrss / 1024:.0f} MB, largest helper {below.ru_maxrss / 1024:.0f} MB')\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "build.py"
        script.write_text(code)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script), str(results), str(site)],
            check=True, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"  {wall:.1f} s wall, {used:.1f} s of processors, {done.stdout.strip()}")


def processor(session: Any) -> float:
    """Return the milliseconds of processor time that the page's main thread has used."""
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return 1000.0 * float(metrics["ThreadTime"])


def board(browser: Any, site: Path, name: str = "") -> None:
    """Print how soon the leaderboard is drawn, sorted and filtered, and what the first view loads.

    Milliseconds from the action until the frame that shows its effect is painted: medians, and the least. In brackets
    the processor time of the page's main thread until then. The first drawing is the median of three.
    """
    timed = """async ([act, until]) => {
      const go = (query) => { location.hash = `#/board${query}`; };
      const soon = () => new Promise((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(0);
      });
      const painted = async () => {
        await new Promise((done) => requestAnimationFrame(done));
        await soon();
      };
      await painted();
      await painted();
      document.documentElement.dataset.ready = "";
      const start = performance.now();
      eval(act);
      while (until && document.documentElement.dataset.ready === "") await soon();
      await painted();
      return performance.now() - start;
    }"""
    drawn: list[float] = []
    loaded: set[str] = set()
    first: list[str] = []
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page.on("request", lambda request: loaded.add(request.url.partition("?")[0].removeprefix("file://")))
        page.goto(f"{site.as_uri()}/index.html", wait_until="commit")
        while not page.evaluate("!!document.querySelector('.ag-row .score')"):
            page.wait_for_timeout(5)
        drawn.append(page.evaluate("performance.now()"))
        first = first or sorted(loaded)
        if len(drawn) < 3:
            page.close()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    models = page.eval_on_selector_all(".ag-row", "rows => rows.map(row => row.getAttribute('row-id'))")
    columns = page.eval_on_selector_all(
        ".ag-header-cell[col-id]", "cells => cells.map(cell => cell.getAttribute('col-id')).slice(4)"
    )
    acts = {
        "sorted": [("[...document.querySelectorAll('.ag-header-cell-label')].at(-1).click()", False)] * TIMES,
        "a model left out": [(f"go('?without-models={model}')", True) for model in models[:TIMES]],
        "a column left out": [(f"go('?without-columns={column}')", True) for column in columns[:TIMES]],
        "heat off": [("go('?heat=0')", True)] * TIMES,
    }
    took: dict[str, list[tuple[float, float]]] = {}

    def act(what: str, script: str, until: bool) -> None:
        before = processor(session)
        wall = page.evaluate(timed, [script, until])
        took.setdefault(what, []).append((wall, processor(session) - before))
        page.wait_for_timeout(SETTLE)

    act("", f"go('?without-models={models[-1]}')", True)  # loads the numbers that every choice needs
    act("", "go('')", True)
    for what, each in acts.items():
        for script, until in each:
            act(what, script, until)
            if until:
                act(f"{what}, and back", "go('')", True)
    lines = [
        f"{what} {median(wall for wall, _ in each):.0f}, least {min(each)[0]:.0f} "
        f"({median(used for _, used in each):.0f})"
        for what, each in took.items()
        if what
    ]
    page.close()
    packed = {path: len(gzip.compress(Path(path).read_bytes(), 9)) for path in first if path.startswith("/")}
    own = [size for path, size in packed.items() if LIBRARY not in path]
    library = (sum(packed.values()) - sum(own)) / 1000
    print(
        f"  {name}first view: {sum(own) / 1000:.0f} kB gzipped in {len(own)} files; the grid library {library:.0f} kB"
    )
    print(f"  drawn {median(drawn):.0f} ms; " + "; ".join(lines))


def enlarge(site: Path, models: int, columns: int) -> None:
    """Write a leaderboard of any size over that of a small site, by repeating its models and columns."""
    import base64

    import numpy as np

    from harness.leaderboard.site.files import SiteFolder

    folder = SiteFolder(site)
    about, main = folder.read("boards/all"), folder.read("boards/all/main")
    known, random_ = about["models"], random.Random(3)
    about["models"] = [
        {**known[at % len(known)], "name": f"{known[at % len(known)]['name']} {at}", "address": f"model-{at}"}
        for at in range(models)
    ]
    about["columns"] = [
        {**about["columns"][at % len(about["columns"])], "key": f"column-{at}", "shown": True} for at in range(columns)
    ]
    measures = []
    for at in range(columns):
        measure = main["measures"][at % len(main["measures"])]
        cells = []
        for m in range(models):
            cell = list(measure["cells"][m % len(known)] or [0.5, 0.4, 0.6, 100, 1, 0, 1, models, ""])
            cell[0] = (cell[0] or 0.5) * random_.uniform(0.9, 1.0)
            cells.append(cell)
        measures.append({**measure, "column": at, "cells": cells})
    about["failures"], about["remarks"], about["dependent"], about["categories"] = [], [], [], []
    z = np.zeros(models * (models - 1) // 2, dtype="<i2")
    folder.put("boards/all", about)
    folder.put("boards/all/main", {"measures": measures})
    folder.put("boards/all/main/runs", [[None] * models] * columns)
    folder.put("boards/all/main/pairs", [base64.b64encode(z.tobytes()).decode()] * columns)


def sizes() -> None:
    """Print the times of leaderboards of 42 × 30 and 200 × 200."""
    from playwright.sync_api import sync_playwright

    from harness.leaderboard.site.builder import build_site
    from tests.harness.conftest import CHROMIUM, FLAGS
    from tools.site_results import write_invented

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        write_invented(Path(folder) / "results")
        site = build_site(Path(folder) / "results", Path(folder) / "site").parent
        board(browser, site, "42 × 30, ")
        enlarge(site, 200, 200)
        board(browser, site, "200 × 200, ")
        write_invented(Path(folder) / "wide", columns=200)
        site = build_site(Path(folder) / "wide", Path(folder) / "wide-site").parent
        model(browser, site, "200 columns × 30, ")
        browser.close()


def model(browser: Any, site: Path, name: str) -> None:
    """Print how soon a model's page is drawn, and drawn again in another order: the medians of three loads."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        address = min(file.stem for file in site.glob("data/models/*.js"))
        page.goto(f"{site.as_uri()}/index.html#/model/{address}", wait_until="commit")
        for act, script in (("drawn", ""), ("by rank", "rank"), ("by score", "score")):
            before = processor(session) if script else 0.0
            took = page.evaluate(
                """async (order) => {
                  const root = document.documentElement, start = order ? performance.now() : 0;
                  if (order) { delete root.dataset.ready; document.getElementById(`order-${order}`).click(); }
                  while (!root.dataset.ready) await new Promise((done) => setTimeout(done, 2));
                  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                  return performance.now() - start;
                }""",
                script,
            )
            found.setdefault(act, []).append((took, processor(session) - before))
            page.wait_for_timeout(SETTLE)
        page.close()
    lines = (
        f"{act} {median(a for a, _ in each):.0f} ms ({median(b for _, b in each):.0f})" for act, each in found.items()
    )
    print(f"  {name}a model's page: " + "; ".join(lines))


def look(site: Path) -> None:
    """Print how soon the pages can be used."""
    from playwright.sync_api import sync_playwright

    from tests.harness.conftest import CHROMIUM, FLAGS

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        board(browser, site)
        indices = sorted(site.glob("data/runs/*/index.js"), key=lambda path: path.stat().st_size)
        if indices:
            samples(browser, site, indices[-1].parent.name)
        browser.close()


def samples(browser: Any, site: Path, run: str) -> None:
    """Print how soon the table of a run's samples can be used, sorted and filtered.

    In milliseconds until it is drawn; in brackets the processor time of the page's main thread.
    """
    page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(f"{site.as_uri()}/index.html#/run/{run}", wait_until="commit")
    while not page.evaluate("!!document.documentElement.dataset.sample"):
        page.wait_for_timeout(5)
    times = {"usable, with the first sample open": (page.evaluate("performance.now()"), processor(session))}
    timed = """async ([act, until]) => {
      const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      await frame();
      const start = performance.now();
      eval(act);
      const condition = new Function(`return ${until}`);
      while (!condition()) {
        if (performance.now() - start > 20000) return NaN;
        await new Promise((done) => setTimeout(done, 1));
      }
      await frame();
      return performance.now() - start;
    }"""
    listed = "document.querySelector('.listed').textContent"
    page.wait_for_timeout(8000)  # the lines of all samples come meanwhile
    heading = "document.querySelector('.ag-header-cell[col-id={}] .ag-header-cell-label').click()"
    first = "document.querySelector('.ag-row[row-index=\"0\"]').getAttribute('row-id')"
    acts = {
        "sorted by score": (heading.format("score"), "true"),
        "by score, descending": (heading.format("score"), "true"),
        "by input, a first time": (heading.format("input"), "true"),
        "by input, descending": (heading.format("input"), "true"),
        "by id": (heading.format("id"), f"{first} === '0'"),
        "scrolled to the end": (
            "for (const e of document.querySelectorAll('.sample-grid *')) if (e.scrollHeight > 1e5) e.scrollTop = 1e9",
            "Math.max(...[...document.querySelectorAll('.ag-row')].map((e) => e.getAttribute('row-index'))) > 1e4",
        ),
        "wrong only": ("document.querySelector('#only-wrong').click()", f"{listed}.includes(' of ')"),
        "next sample": ("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}))",
                        "location.hash.includes('id=')"),
        "words that one sample has, with 200 ms of waiting for further keys":
            ("const f = document.querySelector('#sample-filter'); f.value = 'number 54320,'; "
             "f.dispatchEvent(new Event('input'))",
             "document.querySelector('#only-all small').textContent.length < 3"),
    }  # fmt: skip
    for name, (act, until) in acts.items():
        before = processor(session)
        took = page.evaluate(timed, [act, until])
        times[name] = (took, processor(session) - before)
    page.close()
    print("  samples: " + ", ".join(f"{name} {took:.0f} ms ({used:.0f})" for name, (took, used) in times.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, help="where to keep the results and the site; a temporary folder by default"
    )
    parser.add_argument("--runs", type=int, default=4939)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument(
        "--sizes", action="store_true", help="only time leaderboards and a model's page of many columns"
    )
    given = parser.parse_args()
    if given.sizes:
        sizes()
        return
    folder = given.folder or Path(tempfile.mkdtemp())
    try:
        results, site = folder / "results", folder / "site"
        if not results.is_dir():
            write_results(results, given.runs)
        size = sum(path.stat().st_size for path in results.rglob("run.json"))
        print(f"{given.runs} runs of {MODELS} models, {size / 1e6:.0f} MB of records")
        print("first build:")
        build(results, site)
        print("second build, nothing changed:")
        build(results, site)
        if given.examples:
            directory = min(path.parent for path in results.rglob("run.json"))
            if not (directory / "examples.jsonl.gz").is_file():
                write_examples(directory, given.examples, random.Random(1))
            print(f"build with a new run of {given.examples:,} examples:")
            build(results, site)
        print("headless Chromium, from disk:")
        look(site)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()

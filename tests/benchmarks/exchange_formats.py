"""Exports read by the programs whose formats they are, and logs of inspect_ai compared with its own reading of them.

Builds an environment for each program (inspect_ai, lm-evaluation-harness, HELM, lighteval), exports RESULTS in its
format, has it read the files with its own classes, and compares every mean with run.json. What inspect_ai computes
again from the samples is compared too, and its logs are checked against its JSON Schema. With --logs, imports a folder
of its logs and compares every number with what inspect_ai reads.

    python tests/benchmarks/exchange_formats.py RESULTS [--only inspect] [--environments FOLDER] [--logs FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

PACKAGES = {
    "inspect": ["inspect-ai==0.3.285", "jsonschema>=4.23"],
    "lm-eval": ["lm-eval==0.4.13"],
    "helm": ["crfm-helm==0.5.16"],
    "lighteval": ["lighteval==0.13.0"],
}

READ_INSPECT = """
import glob, json, subprocess, sys
from pathlib import Path
import jsonschema
from inspect_ai.log import read_eval_log, read_eval_log_sample, recompute_metrics
command = str(Path(sys.executable).with_name("inspect"))
schema = jsonschema.Draft202012Validator(json.loads(subprocess.check_output([command, "log", "schema"])))
def aggregates(log):
    reduced = lambda score: "" if score.reducer in (None, "mean") else "," + score.reducer
    return {f"{s.name} {k}{reduced(s)}": m.value for s in log.results.scores for k, m in s.metrics.items()}

def values(sample):
    found = {}
    for name, score in (sample.scores or {}).items():
        found.update(score.value if isinstance(score.value, dict) else {name: score.value})
    return found

for file in sorted(glob.glob(sys.argv[1] + "/*.eval") + glob.glob(sys.argv[1] + "/*.json")):
    log = read_eval_log(file)
    dumped = json.loads(subprocess.check_output([command, "log", "dump", file]))
    wrong = [error.message[:200] for error in schema.iter_errors(dumped)]
    numbers = aggregates(log)
    samples = {f"{s.id} {s.epoch}": values(s) for s in log.samples or []}
    for sample in (log.samples or [])[:2]:
        read_eval_log_sample(file, id=sample.id, epoch=sample.epoch)
    again = {}
    if log.samples and log.eval.metadata and log.eval.metadata.get("program"):
        recompute_metrics(log)
        again = aggregates(log)
    run = (log.eval.metadata or {}).get("run", "")
    args = log.eval.task_args
    print(json.dumps({"run": run, "file": file, "wrong": wrong, "numbers": numbers, "again": again, "samples": samples,
                      "main": not {"perturbation", "split"} & set(args)}))
"""

READ_LM_EVAL = """
import glob, json, os, sys
from lm_eval.utils import get_file_task_name, get_results_filenames, get_sample_results_filenames
from lm_eval.utils import hash_string, make_table
for file in sorted(glob.glob(sys.argv[1] + "/*/*/results_*.json")):
    written, wrong = json.load(open(file)), []
    make_table(written)
    if "groups" in written:
        make_table(written, "groups")
    assert get_results_filenames([file]) == [file]
    folder = os.path.dirname(file)
    for samples in get_sample_results_filenames([os.path.join(folder, name) for name in os.listdir(folder)]):
        task = get_file_task_name(os.path.basename(samples))
        rows = [json.loads(line) for line in open(samples)]
        hashes = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
        if hash_string(hashes) != written["task_hashes"][task]:
            wrong.append(task + " has another hash")
    main = written["results"][next(iter(written["results"]))]
    numbers = {key.removesuffix(",none") + " mean": value for key, value in main.items() if key.endswith(",none")}
    print(json.dumps({"run": written["written_by"]["run"], "wrong": wrong, "numbers": numbers, "main": True}))
"""

READ_HELM = """
import glob, json, os, sys
from typing import List
from helm.benchmark.adaptation.scenario_state import ScenarioState
from helm.benchmark.metrics.metric import PerInstanceStats
from helm.benchmark.metrics.statistic import Stat
from helm.benchmark.run_spec import RunSpec
from helm.common.codec import from_json
for folder in sorted(glob.glob(sys.argv[1] + "/runs/*/*/")):
    read = lambda name, kind: from_json(open(os.path.join(folder, name)).read(), kind)
    spec = read("run_spec.json", RunSpec)
    stats = read("stats.json", List[Stat])
    if os.path.exists(os.path.join(folder, "scenario_state.json")):
        read("scenario_state.json", ScenarioState), read("per_instance_stats.json", List[PerInstanceStats])
    split = spec.adapter_spec.eval_splits[0]
    numbers = {s.name.name + " mean": s.mean for s in stats
               if s.name.split == split and s.name.perturbation is None and s.name.sub_split is None}
    print(json.dumps({"run": os.path.basename(folder.rstrip("/")), "wrong": [], "numbers": numbers, "main": True}))
"""

READ_LIGHTEVAL = """
import glob, json, sys
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc
for folder in sorted(glob.glob(sys.argv[1] + "/*/*")):
    (file,) = glob.glob(folder + "/results/**/results_*.json", recursive=True)
    written, wrong = json.load(open(file)), []
    tracker = EvaluationTracker(output_dir=folder)
    tracker.general_config_logger.model_name = written["config_general"]["model_name"]
    tasks = ["|".join(task.split("|")[:-1]) for task in written["results"]]
    main, *_ = written["results"]
    for task, rows in (tracker.load_details_datasets("last", tasks) if glob.glob(folder + "/details") else {}).items():
        Doc(**rows[0]["doc"]), ModelResponse(**rows[0]["model_response"])
        metrics = written["config_tasks"][task]["metrics"]
        for metric in {one["metric_name"] for one in metrics if one["corpus_level_fn"] == "mean"}:
            scores = [row["metric"][metric] for row in rows if row["metric"][metric] is not None]
            if abs(sum(scores) / len(scores) - written["results"][task][metric]) > 1e-9:
                wrong.append(task + " " + metric + " is not the mean of the details")
    numbers = {key + " mean": value for key, value in written["results"][main].items()}
    print(json.dumps({"run": written["config_general"]["written_by"]["run"], "wrong": wrong, "numbers": numbers,
                      "main": True}))
"""

READERS = {"inspect": READ_INSPECT, "lm-eval": READ_LM_EVAL, "helm": READ_HELM, "lighteval": READ_LIGHTEVAL}


def environment(program: str, folder: Path) -> Path:
    """Return the interpreter of an environment with the program, which is made if it does not exist."""
    python = folder / program / "bin" / "python"
    if not python.exists():
        venv.create(folder / program, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[program]], check=True)
    return python


def read_by(program: str, python: Path, folder: Path) -> list[dict[str, Any]]:
    """Return what the program reads in a folder: for each run or log its numbers, and what is wrong."""
    ran = subprocess.run([python, "-c", READERS[program], folder], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def compare_export(program: str, results: Path, python: Path) -> bool:
    """Export, have the program read the files, and compare the numbers."""
    from harness.exports.export import export_runs
    from harness.exports.stored_run import stored_runs
    from harness.exports.tasks import Task

    with tempfile.TemporaryDirectory() as folder:
        report, _ = export_runs(results, program, Path(folder) / "out")
        read = read_by(program, python, Path(folder) / "out")
    runs = {run.record.name: run for run in stored_runs(results)}
    compared, wrong = 0, [f"{one['run']}: {problem}" for one in read for problem in one["wrong"]]
    for one in read:
        run = runs[one["run"]]
        for stat in Task.main(run.record.spec).means(run.record) if one["main"] else ():
            metric = stat.metric.replace(",", ";") if program == "lm-eval" else stat.metric.removeprefix(f"{program}.")
            keys = [
                key for key in (f"{metric} mean", f"{metric} estimate", f"{stat.metric} mean") if key in one["numbers"]
            ]
            compared += 1
            if not keys or not math.isclose(one["numbers"][keys[0]], stat.mean, abs_tol=1e-9):
                wrong.append(f"{one['run']}: {stat.metric} is {one['numbers'].get((keys or [''])[0])}, not {stat.mean}")
        for key, value in one.get("again", {}).items():
            compared += 1
            if not math.isclose(value, one["numbers"][key], abs_tol=1e-9) and not math.isnan(value):
                wrong.append(f"{one['run']}: computed again, {key} is {value}, not {one['numbers'][key]}")
    print(f"{program:10} {report.runs} runs exported, {len(read)} read by it, {compared} numbers, {len(wrong)} differ")
    print("".join(f"    {problem}\n" for problem in wrong), end="")
    return not wrong


def compare_logs(logs: Path, python: Path) -> bool:
    """Import logs of inspect_ai and compare aggregates and scores with what it reads."""
    from harness.imports.inspect_ai import read_inspect
    from harness.plugins.registry import default_registry

    registry, compared, wrong = default_registry(), 0, []
    for one in read_by("inspect", python, logs):
        imported = read_inspect(Path(one["file"]), "inspect", registry)
        ours = {stat.metric: stat.mean for stat in imported.stats}
        for key, value in one["numbers"].items():
            score, _, metric = key.rpartition(" ")
            found = ours.get(f"inspect.{score}.{metric}")
            if metric.partition(",")[0] != "stderr":
                compared += 1
                if found is None or not math.isclose(found, value, abs_tol=1e-12):
                    wrong.append(f"{one['file']}: {key} is {found}, not {value}")
        for scored in imported.examples:
            theirs = one["samples"][f"{scored.example.instance.id} {scored.example.sample + 1}"]
            for score, value in theirs.items():
                number = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}.get(value, value) if isinstance(value, str) else value
                mine = [s for name, s in scored.scores.items() if name.startswith(f"inspect.{score}.")]
                if isinstance(number, int | float) and mine:
                    compared += 1
                    if mine[0] != float(number):
                        wrong.append(f"{one['file']}: {scored.example.instance.id} {score}")
    print(f"inspect's logs: {compared} numbers, {len(wrong)} differ")
    print("".join(f"    {problem}\n" for problem in wrong), end="")
    return not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", choices=PACKAGES, action="append")
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "exchange_formats")
    parser.add_argument("--logs", type=Path)
    arguments = parser.parse_args()
    good = True
    for program in arguments.only or PACKAGES:
        python = environment(program, arguments.environments)
        good &= compare_export(program, arguments.results, python)
        if program == "inspect" and arguments.logs is not None:
            good &= compare_logs(arguments.logs, python)
    sys.exit(not good)


if __name__ == "__main__":
    main()

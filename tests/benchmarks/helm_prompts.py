"""The same requests as HELM: prompts, answers and settings of its run specs, compared character by character.

Builds an environment of its own with HELM, lets HELM build the requests of its run entries (`helm_cases.py`), builds
those of the scenarios here on the same rows, and compares prompt, references, length, temperature, stop sequences and
number of completions. Few-shot examples are drawn by each harness with its own generator: both get those that HELM
draws. Instances that one of the two leaves out, or draws otherwise, are not compared.

    python tests/benchmarks/helm_prompts.py --data-dir DATA [--instances 20] [--only TEXT] [--environment FOLDER]

With `--record tests/scenarios/helm_requests.json`, digests of HELM's requests are kept for a test that needs no HELM.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))  # the repository, where this runs as a script

from harness import Adapter, GenerateRequest, Instance, Reference, ScoreRequest, Split
from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.evaluation import prepare
from harness.sweeps.load import find_sweep, load_sweep
from tests.benchmarks.helm_cases import CASES, Case, lay_out
from tests.tokenizations import Unlimited

HELM = "crfm-helm==0.5.16"
SIDE = Path(__file__).with_name("helm_side.py")
SETTINGS = ("max_tokens", "temperature", "stop", "completions")
Request = Mapping[str, Any]
T = TypeVar("T")


@dataclass
class Comparison:
    """What a run entry's comparison found."""

    compared: int = 0
    asked: int = 0
    """Requests that are equal: prompt, length, temperature, stop sequences and number of completions."""
    answered: int = 0
    """Requests whose references are equal, right and wrong ones."""
    differs: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)
    """For each kind of difference the first one: HELM's and ours."""
    missing: int = 0
    """Requests about instances of HELM's that are not among ours."""
    given: int = 0
    """Examples that HELM draws from instances that are not among ours."""
    error: str = ""


def set_up(environment: Path) -> Path:
    """Return the interpreter of an environment with HELM, made if need be."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        torch = f"torch=={version('torch').partition('+')[0]}"  # the one that is here, which may be without CUDA
        subprocess.run([python, "-m", "pip", "install", "--quiet", HELM, "xlrd", torch], check=True)
    return python


def ask_helm(python: Path, kind: str, asked: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run HELM's side in its environment."""
    question, answer = folder / f"{kind}.asked.json", folder / f"{kind}.answered.json"
    question.write_text(json.dumps(asked))
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
    log = folder / f"{kind}.log"
    with log.open("w") as file:
        command = [str(python), str(SIDE), kind, str(question), str(answer)]
        done = subprocess.run(command, env={**os.environ, **quiet}, stdout=file, stderr=file, check=False)
    if done.returncode:
        sys.exit(f"HELM's side failed:\n{log.read_text()[-4000:]}")
    return dict(json.loads(answer.read_text()))


def specs_of(case: Case) -> list[tuple[RunSpec, Registry]]:
    """Return the specs of the runs here that a case names."""
    found = []
    for name in case.ours.split():
        sweep, _, scenario = name.rpartition("/") if "/" in name else ("", "", name)
        if sweep:
            loaded, registry = load_sweep(find_sweep(sweep))
            run = next(run for run in loaded.runs if run.scenario.name == scenario)
            # The data folder has some of BBQ's categories.
            if scenario == "bbq":
                part = run.scenario.model_copy(update={"arguments": {**run.scenario.arguments, "subject": "Age"}})
                run = run.model_copy(update={"scenario": part})
        else:
            # Without metrics that execute code or ask a judge.
            entry = {"scenario": name, "metrics": ["efficiency"], "main_metric": "completion_tokens"}
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "equality.yaml"
                file.write_text(json.dumps({"suite": "equality", "models": ["hf:any/model"], "runs": [entry]}))
                loaded, registry = load_sweep(file)
            [run] = loaded.runs
        found.append((run.model_copy(update={"max_eval_instances": None}), registry))
    return found


def compare(case: Case, theirs: Mapping[str, Any], data: Path) -> Comparison:
    """Build our requests with HELM's examples, and compare them with HELM's."""
    found = Comparison(error=theirs.get("error", ""))
    if found.error:
        return found
    train: dict[str, list[Instance]] = defaultdict(list)
    evaluated: dict[str, list[tuple[Instance, RunSpec, Registry]]] = defaultdict(list)
    for spec, registry in specs_of(case):
        evaluation = prepare(spec, registry, data)
        for instance in evaluation.train:
            train[_key(instance.input, [one.text for one in instance.references])].append(instance)
        for instance in evaluation.instances():
            evaluated[_key(instance.input, [one.text for one in instance.references])].append(
                (instance, spec, registry)
            )
    examples: list[Instance] = []
    for example in theirs["examples"]:
        shown = _find(example, train, lambda one: one)
        if shown is None or _key(shown.input, []) != _key(example["input"], []):
            found.given += 1
            references = tuple(Reference(text, correct) for text, correct in example["references"])
            shown = Instance(f"example-{len(examples)}", example["input"], references, Split.TRAIN)
        examples.append(_in_order(shown, example["references"]))
    for request in theirs["requests"]:
        match = _find(request, evaluated, lambda entry: entry[0])
        if match is None:
            found.missing += 1
            continue
        instance, spec, registry = match
        _compare_request(request, next_requests(spec, registry, instance, examples), instance, found)
    return found


def next_requests(spec: RunSpec, registry: Registry, instance: Instance, examples: Sequence[Instance]) -> list[Request]:
    """Return our requests for an instance, with these examples in this order."""
    arguments = dict(spec.adapter.arguments)
    if "max_train_instances" in arguments:
        arguments |= {"max_train_instances": len(examples), "sample_train": False}
    adapter: Adapter = build(registry.get(Kind.ADAPTER, spec.adapter.name), arguments=arguments)
    asks_chat = spec.adapter.name in ("conversation", "multi_turn")
    adapted = next(iter(adapter.adapt([instance], examples, Unlimited(chat=asks_chat), trial=0, seed=0)))
    return [_plain(request) for request in adapted.requests if isinstance(request, GenerateRequest | ScoreRequest)]


def _plain(request: GenerateRequest | ScoreRequest) -> Request:
    origin = request.origin
    place = {"reference": origin and origin.reference, "calibration": bool(origin and origin.role == "calibration")}
    if isinstance(request, ScoreRequest):
        return {**place, "scored": True, "prompt": f"{request.context}{request.continuation}"}
    prompt = request.prompt
    text = prompt if isinstance(prompt, str) else "\n".join(f"{turn.role}: {turn.content}" for turn in prompt)
    settings = {"max_tokens": request.max_tokens, "temperature": request.temperature}
    return {
        **place,
        "scored": False,
        "prompt": text,
        **settings,
        "stop": list(request.stop),
        "completions": request.completions,
    }


def _compare_request(theirs: Request, ours: Sequence[Request], instance: Instance, found: Comparison) -> None:
    found.compared += 1
    same = [
        request for request in ours
        if (request["calibration"], request["scored"]) == (theirs["calibration"], theirs["scored"])
        and _same_reference(request, theirs, instance)
    ]  # fmt: skip
    if not same:
        found.differs["not asked here"] += 1
        return
    (one,) = same[:1]
    differs = {}
    if one["prompt"] != theirs["prompt"]:
        differs["prompt"] = _first_difference(theirs["prompt"], one["prompt"])
    if not theirs["scored"]:
        for setting in SETTINGS:
            if one[setting] != theirs[setting]:
                differs[setting] = f"HELM {theirs[setting]!r}, here {one[setting]!r}"
    found.asked += not differs
    mine = list(dict.fromkeys((reference.text, reference.correct) for reference in instance.references))
    helms = list(dict.fromkeys((text, correct) for text, correct in theirs["references"]))
    if sorted(mine) == sorted(helms):
        found.answered += 1
    else:
        right = [sorted(text for text, correct in side if correct) for side in (helms, mine)]
        kind = "references" if right[0] != right[1] else "wrong answers"
        differs[kind] = f"HELM {helms!r}, here {mine!r}"[:600]
    for kind, text in differs.items():
        found.differs[kind] += 1
        found.shown.setdefault(kind, text)


def _same_reference(ours: Request, theirs: Request, instance: Instance) -> bool:
    """Return True if both requests are about the same reference, in whichever order each has them."""
    if ours["reference"] is None or theirs["reference"] is None:
        return True
    text = theirs["references"][theirs["reference"]][0]
    return bool(instance.references[ours["reference"]].text.strip() == text.strip())


def _in_order(instance: Instance, references: Sequence[tuple[str, bool]]) -> Instance:
    """Return an example with its references in HELM's order, where it has the same."""
    places = {text: place for place, (text, _) in enumerate(references)}
    if {one.text for one in instance.references} != places.keys():
        return instance
    return instance.replace(references=tuple(sorted(instance.references, key=lambda one: places[one.text])))


def _key(text: str, references: Sequence[str]) -> str:
    return " ".join((text or (references or [""])[0]).split())


def _find(wanted: Request, among: Mapping[str, list[T]], instance_of: Callable[[T], Instance]) -> T | None:
    """Return the entry whose instance has the same text, or the text that is the same for longest."""
    texts = [text for text, _ in wanted["references"]]
    key = _key(wanted["input"], texts)
    found = among.get(key, ())
    if not found:
        longest = max(among, key=lambda other: _same_length(other, key), default="")
        if 2 * _same_length(longest, key) < len(key):
            return None
        found = among[longest]
    return next((one for one in found if set(texts) <= {r.text for r in instance_of(one).references}), found[0])


def _same_length(one: str, other: str) -> int:
    """Return how many characters at the beginning of two texts are equal."""
    length = min(len(one), len(other))
    return next((place for place in range(length) if one[place] != other[place]), length)


def _first_difference(theirs: str, ours: str) -> str:
    place = _same_length(theirs, ours)
    start = max(0, place - 40)
    return f"at {place}: HELM {theirs[start : place + 60]!r}, here {ours[start : place + 60]!r}"


def digest(text: str) -> str:
    """Return what a text is known by in the record."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def record(theirs: Mapping[str, Any], instances: int = 2) -> dict[str, Any]:
    """Return the digests of HELM's examples and of its requests about the first instances."""
    seen: list[str] = []
    requests = []
    for request in theirs["requests"]:
        key = digest(_key(request["input"], [text for text, _ in request["references"]]))
        if key not in seen:
            seen.append(key)
        if len(seen) > instances:
            break
        reference = None if request["reference"] is None else request["references"][request["reference"]][0]
        settings = {} if request["scored"] else {setting: request[setting] for setting in SETTINGS}
        requests.append(
            {
                "instance": key,
                "reference": reference and digest(reference.strip()),
                "calibration": request["calibration"],
                "prompt": digest(request["prompt"]),
                **settings,
            }
        )
    examples = [
        digest(_key(example["input"], [text for text, _ in example["references"]])) for example in theirs["examples"]
    ]
    return {"examples": examples, "requests": requests}


def check(case: Case, recorded: Mapping[str, Any], data: Path) -> list[str]:
    """Return how our requests differ from the recorded ones of HELM."""
    train: dict[str, Instance] = {}
    evaluated: dict[str, tuple[Instance, RunSpec, Registry]] = {}
    for spec, registry in specs_of(case):
        evaluation = prepare(spec, registry, data)
        for instance in evaluation.train:
            train.setdefault(digest(_key(instance.input, [one.text for one in instance.references])), instance)
        for instance in evaluation.instances():
            key = digest(_key(instance.input, [one.text for one in instance.references]))
            evaluated.setdefault(key, (instance, spec, registry))
    problems = [f"example {key} is not here" for key in recorded["examples"] if key not in train]
    problems += [
        f"instance {one['instance']} is not here" for one in recorded["requests"] if one["instance"] not in evaluated
    ]
    if problems:
        return problems
    examples = [train[key] for key in recorded["examples"]]
    for wanted in recorded["requests"]:
        instance, spec, registry = evaluated[wanted["instance"]]
        texts = [digest(one.text.strip()) for one in instance.references]
        ours = [
            request
            for request in next_requests(spec, registry, instance, examples)
            if request["calibration"] == wanted["calibration"]
            and (wanted["reference"] is None or texts[request["reference"]] == wanted["reference"])
        ]
        if not any(digest(request["prompt"]) == wanted["prompt"] for request in ours):
            problems.append(f"another prompt: {ours[0]['prompt']!r}" if ours else f"not asked: {wanted}")
        problems += [
            f"{setting} {request[setting]!r}, HELM {wanted[setting]!r}"
            for request in ours
            for setting in SETTINGS
            if setting in wanted and request[setting] != wanted[setting]
        ]
    return problems


def table(results: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield the lines of a table of all run entries."""
    width = max(map(len, results))
    yield f"{'run entry':{width}}  requests  asked alike  references alike  differs in"
    for entry, found in results.items():
        kinds = [f"{kind} ({count})" for kind, count in found.differs.items()]
        kinds += [f"{found.missing} about instances that are not here"] if found.missing else []
        kinds += [f"{found.given} examples drawn from others"] if found.given else []
        line = f"{entry:{width}}  {found.compared:8}  {found.asked:11}  {found.answered:16}"
        yield f"{line}  {found.error or ', '.join(kinds) or '-'}"
    asked = sum(0 < found.compared == found.asked for found in results.values())
    both = sum(0 < found.compared == found.asked == found.answered for found in results.values())
    total = sum(found.compared for found in results.values())
    yield f"{len(results)} run entries, {total} requests: {asked} entries ask the same to the character, {both} of them"
    yield "with the same references."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=20, help="instances of each run entry")
    parser.add_argument("--only", default="", help="compare the run entries that contain this text")
    parser.add_argument("--details", action="store_true", help="show the first difference of each kind")
    parser.add_argument("--record", type=Path, help="write digests of HELM's requests for the tests")
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "helm-environment")
    options = parser.parse_args()
    python = set_up(options.environment)
    cases = [case for case in CASES if options.only in case.entry]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = lay_out(options.data_dir, folder)
        asked = {"tables": str(folder / "tables"), "folder": str(folder / "helm"), "limit": options.instances}
        theirs = ask_helm(
            python, "requests", {**asked, "entries": [(case.entry, case.split) for case in cases]}, folder
        )
        results = {case.entry: compare(case, theirs[case.entry], folders[case.folder]) for case in cases}
    print("\n".join(table(results)))
    if options.record:
        alike = {
            case.entry: record(theirs[case.entry])
            for case in cases
            for found in [results[case.entry]]
            if case.folder != "made" and not found.given and 0 < found.compared == found.asked
        }
        lines = [f" {json.dumps(entry)}: {json.dumps(value)}" for entry, value in alike.items()]
        options.record.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    for entry, found in results.items() if options.details else ():
        for kind, text in found.shown.items():
            print(f"\n{entry}: {kind}\n  {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

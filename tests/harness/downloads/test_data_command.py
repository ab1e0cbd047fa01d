"""``harness data``: what sweeps need, and downloading it, against a server that speaks the Hub's protocol.

The Hub's library reads ``HF_ENDPOINT`` and ``HF_HOME`` when it is imported, so every command runs in its own process.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.plugins import Download, HubSource
from harness.downloads.pull import lacking_space
from harness.downloads.survey import Supply, grouped, size_of
from tests.hub_server import HubServer, digest_of, serve_hub

pytest.importorskip("datasets")

SCENARIO = """\
name: {name}
description: Made-up questions.
source:
  files: {{test: "{name}/test.jsonl"}}
{source}
  licence: CC0
{parameters}
input: "{{{{ question }}}}"
correct: "{{{{ answer }}}}"
adapter: {{method: generation, max_tokens: 2, max_train_instances: 0}}
metrics: [exact_match]
"""

MINE, OTHER = "hf_of-one-who-accepted", "hf_of-another"
PARAMETERS = "parameters: {subject: {choices: [anatomy, virology]}}"

CARD = b"""---
license: cc0-1.0
configs:
- config_name: anatomy
  data_files: [{split: test, path: anatomy/test.parquet}]
- config_name: virology
  data_files: [{split: test, path: virology/test.parquet}]
---
# Subjects
"""


def parquet(word: str, rows: int) -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    stream = io.BytesIO()
    columns = {"question": [f"{word} {row}?" for row in range(rows)], "answer": ["yes"] * rows}
    write_table(pa.table(columns), stream)
    return stream.getvalue()


def lines(word: str, rows: int) -> bytes:
    return "".join(json.dumps({"question": f"{word} {row}?", "answer": "no"}) + "\n" for row in range(rows)).encode()


@dataclass
class Place:
    """A folder with scenarios and an empty cache, and the server."""

    folder: Path
    hub: HubServer

    def scenario(self, name: str, source: str, parameters: str = "") -> None:
        (self.folder / f"{name}.yaml").write_text(SCENARIO.format(name=name, source=source, parameters=parameters))

    def on_hub(self, name: str, path: str, commit: str, more: str = "", parameters: str = "") -> None:
        self.scenario(
            name, f"  hub: {{path: {path}, revision: {commit}, splits: {{test: test}}{more or '}'}", parameters
        )

    def command(self, *arguments: str, **environment: str) -> tuple[list[str], dict[str, str]]:
        written = [str(argument) for argument in arguments]
        plugins = [part for path in sorted(self.folder.glob("*.yaml")) for part in ("--plugin", path.name)]
        known = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HARNESS_", "COLUMNS"))}
        own = {
            "HF_ENDPOINT": self.hub.endpoint,
            "HF_HOME": str(self.folder / "hub"),
            "HF_HUB_DISABLE_XET": "1",
            "COLUMNS": "200",
            "PYTHONPATH": os.getcwd(),
        }
        return [sys.executable, "-m", "harness", *written, *plugins], {**known, **own, **environment}

    def __call__(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command, environment = self.command(*arguments, **environment)
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )

    def received(self, ending: str) -> list[str]:
        return [request for request in self.hub.requests if request.startswith("GET") and ending in request]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with serve_hub() as hub:
        yield Place(tmp_path, hub)


def test_a_pulled_sweep_runs_without_a_network(place: Place) -> None:
    files = {f"{name}/test.parquet": parquet(name, 3) for name in ("anatomy", "virology")}
    subjects = place.hub.add("datasets", "acme/Sub_Jects-v2", {"README.md": CARD, **files})
    old = place.hub.add("datasets", "acme/quiz", {"test.jsonl": lines("old", 4)})
    place.hub.add("datasets", "acme/quiz", {"test.jsonl": lines("new", 5)})
    place.on_hub("subjects", "acme/Sub_Jects-v2", subjects, ', config: "{{ subject }}"}', PARAMETERS)
    place.on_hub("quiz", "acme/quiz", old)
    runs = ("-r", "subjects:subject=anatomy", "-r", "subjects:subject=virology", "-r", "quiz", "-m", "fake:0")
    before = place("data", "status", *runs)
    assert before.returncode == 1, before.stderr
    assert "subjects (2 parts)" in before.stdout
    assert "CC0" in before.stdout
    assert "1 ready, 3 to download" in before.stdout
    pulled = place("data", "pull", *runs)
    assert (pulled.returncode, pulled.stderr) == (0, ""), pulled.stdout
    asked = len(place.hub.requests)
    after = place("data", "status", *runs, "--json")
    assert after.returncode == 0
    found = {supply["name"]: supply for supply in json.loads(after.stdout)["supplies"]}
    assert found["quiz"]["rows"] == {"test": 4}
    assert found["quiz"]["commit"] == old
    done = place("run", *runs, HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 0, done.stderr
    assert len(place.hub.requests) == asked, "what is here is not asked for again"
    records = {
        json.loads(path.read_text())["spec"]["scenario"]["name"] for path in place.folder.glob("results/*/*/run.json")
    }
    assert records == {"subjects", "quiz"}


@pytest.mark.slow
def test_two_commits_of_one_data_set_are_kept_apart(place: Place) -> None:
    commits = [place.hub.add("datasets", "acme/quiz", {"test.jsonl": lines(word, 2)}) for word in ("old", "new")]
    for name, commit in zip(("first", "second"), commits, strict=True):
        place.on_hub(name, "acme/quiz", commit)
    assert place("data", "pull", "-r", "first", "-r", "second", "-m", "fake:0").returncode == 0
    shown = place("preview", "-r", "first", "-r", "second", "-m", "fake:0", "-n", "1", HF_HUB_OFFLINE="1").stdout
    assert shown.index("old 0?") < shown.index("new 0?")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["data/test-00000-of-00001.parquet", "test.jsonl"])
def test_an_interrupted_download_is_continued(place: Place, file: str) -> None:
    content = parquet("word", 40_000) if file.endswith("parquet") else lines("word", 20_000)
    commit = place.hub.add("datasets", "acme/large", {file: content})
    place.on_hub("large", "acme/large", commit)
    place.hub.cut[file] = 50_000
    command, environment = place.command("data", "pull", "-r", "large", "-m", "fake:0")
    process = subprocess.Popen(
        command, env=environment, cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    (partial,) = _eventually(lambda: list(place.folder.glob("hub/hub/datasets--*/blobs/*.incomplete")))
    _eventually(lambda: partial.stat().st_size >= 50_000)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = partial.stat().st_size
    assert 50_000 <= kept < len(content)
    place.hub.cut.clear()
    place.hub.requests.clear()
    status = json.loads(place("data", "status", "-r", "large", "-m", "fake:0", "--json").stdout)
    assert status["supplies"][0]["bytes"] == len(content) - kept
    done = place("data", "pull", "-r", "large", "-m", "fake:0")
    assert (done.returncode, done.stderr) == (0, "")
    assert [request.rpartition(" ")[2] for request in place.received(file)][:1] == [f"bytes={kept}-"]
    (blob,) = [
        path for path in place.folder.glob("hub/hub/datasets--*/blobs/*") if path.name == digest_of(file, content)
    ]
    assert blob.read_bytes() == content


def test_content_with_another_checksum_is_refused_and_not_kept(place: Place) -> None:
    good = place.hub.add("datasets", "acme/good", {"test.jsonl": lines("good", 2)})
    bad = place.hub.add("datasets", "acme/bad", {"data/test.parquet": parquet("bad", 2)})
    place.on_hub("good", "acme/good", good)
    place.on_hub("bad", "acme/bad", bad)
    place.hub.changed.add("data/test.parquet")
    done = place("data", "pull", "-r", "bad", "-r", "good", "-m", "fake:0")
    assert done.returncode == 1
    assert "Failed: bad" in done.stderr
    assert "instead of the published" in done.stderr
    assert "good" not in done.stderr
    assert not list(place.folder.glob("hub/hub/datasets--acme--bad/blobs/*"))
    place.hub.changed.clear()
    assert place("data", "pull", "-r", "bad", "-r", "good", "-m", "fake:0").returncode == 0


@pytest.mark.slow
def test_a_gated_data_set_says_what_to_accept_and_where(place: Place) -> None:
    commit = place.hub.add("datasets", "acme/gated", {"test.jsonl": lines("x", 2)}, gated=True)
    place.on_hub("gated", "acme/gated", commit, "}\n  gated: true")
    arguments = ("-r", "gated", "-m", "fake:0")
    without = place("data", "status", *arguments)
    address = f"{place.hub.endpoint}/datasets/acme/gated"
    assert without.returncode == 1
    assert f"Accept its terms at {address}. Then run `hf auth login`, or set HF_TOKEN." in without.stdout
    assert "gated" in without.stdout
    refused = place("data", "pull", *arguments, HF_TOKEN=OTHER)
    assert refused.returncode == 1
    assert f"not accepted for your token. Accept its terms at {address}." in refused.stderr
    assert OTHER not in refused.stdout + refused.stderr
    place.hub.accepted.add(MINE)
    assert place("data", "pull", *arguments, HF_TOKEN=MINE).returncode == 0
    offline = place("data", "status", *arguments, HF_HUB_OFFLINE="1", HF_HOME="elsewhere")
    assert f"Accept its terms at {address}." in offline.stdout, "what the scenario declares is known offline"
    assert "not known offline" in offline.stdout


@pytest.mark.slow
def test_one_failure_does_not_stop_the_rest_and_all_are_listed(place: Place) -> None:
    good = place.hub.add("datasets", "acme/good", {"test.jsonl": lines("good", 2)})
    place.on_hub("good", "acme/good", good)
    place.on_hub("moved", "acme/good", "a" * 40)
    place.on_hub("absent", "acme/absent", "a" * 40)
    place.scenario("nowhere", "  url: https://example.org/nowhere")
    names = [part for name in ("moved", "absent", "nowhere", "good") for part in ("-r", name)]
    done = place("data", "pull", *names, "-m", "fake:0")
    assert done.returncode == 1
    assert "Missing: moved: acme/good: the Hub has the data set, but no revision" in done.stderr
    assert "Missing: absent: acme/absent: the Hub has no such data set" in done.stderr
    assert "Missing: nowhere: no data." in done.stderr
    assert "https://example.org/nowhere" in done.stderr
    assert "2 of 5" in done.stdout, "the good one and the model"


def test_a_file_that_two_scenarios_share_is_counted_once() -> None:
    shared, own, other = (
        Download(f"https://example.org/{name}", name, "0" * 64, size)
        for name, size in (("shared", 100), ("own", 10), ("other", 1))
    )
    supplies = [
        Supply("data", name, "download", "address", "", size=sum(sizes), downloads=downloads, to_come=sizes)
        for name, downloads, sizes in (
            ("first", (shared, own), (70, 10)),  # 30 have been received
            ("second", (shared, other), (70, 1)),
            ("third", (shared,), (70,)),
        )
    ]
    assert size_of(supplies) == 81
    assert size_of(grouped(supplies)) == 81


@pytest.mark.parametrize("size", [None, 10**16])
def test_the_copy_that_is_read_needs_space_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    hub = HubSource("acme/huge", "0" * 40, {"test": "test"})
    supply = Supply("data", "huge", "download", "hub", "", size=5, hub=hub, converted=size or 5)
    found = lacking_space([supply, supply], None)
    assert len(found) == (size is not None)
    assert all("10,000 TB are needed" in problem for problem in found)


@pytest.mark.slow
def test_rows_and_the_size_of_the_copy_come_from_the_card(place: Place) -> None:
    info = CARD.replace(
        b"configs:",
        b"""dataset_info:
- config_name: anatomy
  splits: [{name: test, num_examples: 1234, num_bytes: 10000000000000000}]
  dataset_size: 10000000000000000
configs:""",
    )
    files = {"README.md": info, **{f"{name}/test.parquet": parquet(name, 3) for name in ("anatomy", "virology")}}
    commit = place.hub.add("datasets", "acme/subjects", files)
    place.on_hub("subjects", "acme/subjects", commit, ', config: "{{ subject }}"}', PARAMETERS)
    shown = place("data", "status", "-r", "subjects:subject=anatomy", "-m", "fake:0")
    assert "Rows" in shown.stdout
    assert "1,234" in shown.stdout
    assert "Rows" not in place("data", "status", "-r", "subjects:subject=virology", "-m", "fake:0").stdout
    refused = place("data", "pull", "-r", "subjects:subject=anatomy", "-m", "fake:0")
    assert refused.returncode == 2
    assert "10,000 TB are needed" in refused.stderr
    assert place("data", "pull", "-r", "subjects:subject=virology", "-m", "fake:0").returncode == 0


@pytest.mark.slow
def test_a_disk_without_space_is_noticed_before_anything_is_downloaded(place: Place) -> None:
    commit = place.hub.add("datasets", "acme/huge", {"data/test.parquet": parquet("x", 2)})
    place.on_hub("huge", "acme/huge", commit)
    place.hub.sizes["data/test.parquet"] = 10**16
    done = place("data", "pull", "-r", "huge", "-m", "fake:0")
    assert done.returncode == 2
    assert "20,000 TB are needed for downloads and for copies in Arrow's format" in done.stderr
    assert "HF_HOME" in done.stderr
    assert not place.received("resolve")


@pytest.mark.slow
def test_a_disk_that_fills_up_is_said_and_the_download_continues_later(place: Place) -> None:
    content = parquet("word", 60_000)
    commit = place.hub.add("datasets", "acme/large", {"data/test.parquet": content})
    place.on_hub("large", "acme/large", commit)
    command, environment = place.command("data", "pull", "-r", "large", "-m", "fake:0")
    limit = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000)); os.execv(sys.argv[1], sys.argv[1:])"
    full = subprocess.run(
        [sys.executable, "-c", limit, *command],
        env=environment,
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert full.returncode == 1, full.stderr
    assert "Failed: large: the disk is full" in full.stderr
    done = place("data", "pull", "-r", "large", "-m", "fake:0")
    assert (done.returncode, done.stderr) == (0, "")
    assert any("bytes=80000-" in request for request in place.received("test.parquet"))


@pytest.mark.slow
def test_a_file_at_an_address_is_put_into_the_data_folder(place: Place) -> None:
    content = lines("archive", 3)
    commit = place.hub.add("datasets", "acme/files", {"quiz.jsonl": content})
    url = f"{place.hub.endpoint}/datasets/acme/files/resolve/{commit}/quiz.jsonl"
    digest = hashlib.sha256(content).hexdigest()
    listed = f"{{url: '{url}', file: remote/test.jsonl, sha256: {digest}, bytes: {len(content)}}}"
    place.scenario("remote", f"  downloads: [{listed}]")
    without = place("data", "pull", "-r", "remote", "-m", "fake:0")
    assert without.returncode == 1
    assert "--data-dir" in without.stderr
    (place.folder / "data").mkdir()
    arguments = ("-r", "remote", "-m", "fake:0", "--data-dir", "data")
    dry = place("data", "pull", *arguments, "--dry-run")
    assert f"1 download, {len(content)} B in all." in dry.stdout
    assert not list((place.folder / "data").iterdir())
    assert place("data", "pull", *arguments, HF_TOKEN=MINE).returncode == 0
    assert (place.folder / "data" / "remote" / "test.jsonl").read_bytes() == content
    assert place("run", *arguments).returncode == 0


@pytest.mark.slow
def test_several_sweeps_are_looked_at_together(place: Place) -> None:
    for name in ("one", "two"):
        (place.folder / name).mkdir()
        (place.folder / name / "test.jsonl").write_bytes(lines(name, 1))
        place.scenario(name, "  url: https://example.org")
        (place.folder / f"{name}.sweep").write_text(f"suite: {name}\nmodels: ['fake:0']\nruns: [{name}]\n")
    done = place("data", "status", "one.sweep", "two.sweep", "--data-dir", ".")
    assert done.returncode == 0, done.stderr
    assert "3 ready, 0 to download, 0 missing." in done.stdout


REAL = {
    "humaneval": ("code_humaneval/HumanEval.jsonl.gz", "openai/openai_humaneval", "openai_humaneval", "test"),
    "ifeval": ("ifeval/input_data.jsonl", "google/IFEval", "default", "train"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_a_real_data_set_has_the_same_prompts_from_the_hub_as_from_files(
    place: Place, name: str, data_dir: Path
) -> None:
    from harness.contracts.plugins import Kind, ScenarioDetails
    from harness.plugins.registry import default_registry

    details = default_registry().get(Kind.SCENARIO, name).details
    assert isinstance(details, ScenarioDetails)
    assert details.data.hub is not None
    file, path, config, split = REAL[name]
    content = (data_dir / file).read_bytes()
    published = gzip.decompress(content) if file.endswith(".gz") else content
    card = f"---\nconfigs: [{{config_name: {config}, data_files: [{{split: {split}, path: rows.jsonl}}]}}]\n---\n"
    files = {"README.md": card.encode(), "rows.jsonl": published}
    place.hub.add("datasets", path, files, commit=details.data.hub.revision)
    arguments = ("-r", name, "-m", "fake:0")
    pulled = place("data", "pull", *arguments)
    assert pulled.returncode == 0, pulled.stderr
    shown = place("preview", *arguments, "-n", "5", HF_HUB_OFFLINE="1")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == place("preview", *arguments, "-n", "5", "--data-dir", str(data_dir)).stdout


@pytest.mark.slow
def test_a_pulled_model_runs_without_a_network(place: Place) -> None:
    pytest.importorskip("transformers")
    models = os.environ.get("HARNESS_MODELS_DIR")
    if not models:
        pytest.skip("needs HARNESS_MODELS_DIR")
    folder = Path(models, "small-gpt2")
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    extra = {"pytorch_model.bin": b"not read", "onnx/model.onnx": b"not read", "README.md": b"# Tiny"}
    place.hub.add("models", "acme/tiny", {**files, **extra})
    commit = place.hub.add("datasets", "acme/quiz", {"test.jsonl": lines("old", 4)})
    place.on_hub("quiz", "acme/quiz", commit)
    arguments = ("-r", "quiz", "-m", "hf:acme/tiny")
    assert place("data", "pull", *arguments).returncode == 0
    assert not place.received("pytorch_model.bin")
    assert not place.received("model.onnx")
    again = place("data", "status", *arguments, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stdout
    done = place("run", *arguments, HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["~nobody-of-this-name/model", "x" * 300])
def test_a_model_that_can_be_neither_folder_nor_repository_is_missing(place: Place, name: str) -> None:
    place.scenario("quiz", "")
    (place.folder / "quiz").mkdir()
    (place.folder / "quiz" / "test.jsonl").write_bytes(lines("quiz", 1))
    done = place("data", "status", "-r", "quiz", "-m", f"hf:{name}", "--data-dir", ".", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    (model,) = [supply for supply in json.loads(done.stdout)["supplies"] if supply["kind"] == "model"]
    assert model["state"] == "missing"
    assert "is neither a folder nor the name of a model" in model["note"]


def test_examples_whose_train_file_is_not_there_are_missing_as_the_run_says(place: Place) -> None:
    place.scenario("quiz", "")
    scenario = place.folder / "quiz.yaml"
    scenario.write_text(scenario.read_text().replace("files: {", 'files: {train: "quiz/train.jsonl", '))
    (place.folder / "quiz").mkdir()
    (place.folder / "quiz" / "test.jsonl").write_bytes(lines("quiz", 1))
    without, shown = ("-r", "quiz"), ("-r", "quiz:max_train_instances=2")
    common = ("-m", "fake:0", "--data-dir", ".")
    assert place("data", "status", *without, *common).returncode == 0
    for runs in (shown, (*without, *shown), (*shown, *without)):
        done = place("data", "status", *runs, *common, "--json")
        assert (done.returncode, done.stderr) == (1, ""), runs
        data, _ = json.loads(done.stdout)["supplies"]
        assert data["state"] == "missing"
        assert data["note"].startswith("no data for split 'train'. Looked for quiz/train.jsonl")
        assert data["note"] in place("run", *runs, *common).stderr
    (place.folder / "quiz" / "train.jsonl").write_bytes(lines("train", 2))
    assert place("data", "status", *shown, *common).returncode == 0


def test_examples_of_the_scenarios_own_need_no_train_file(place: Place) -> None:
    place.scenario("quiz", "")
    (place.folder / "quiz").mkdir()
    (place.folder / "quiz" / "test.jsonl").write_bytes(lines("quiz", 1))
    scenario = place.folder / "quiz.yaml"
    own = "examples: [{question: 'own?', answer: 'yes'}]\n"
    text = scenario.read_text().replace("files: {", 'files: {train: "quiz/train.jsonl", ')
    scenario.write_text(text.replace("max_train_instances: 0", "max_train_instances: 1") + own)
    done = place("data", "status", "-r", "quiz", "-m", "fake:0", "--data-dir", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_without_the_hubs_library_the_commands_say_how_to_install_it(place: Place) -> None:
    commit = place.hub.add("datasets", "acme/quiz", {"test.jsonl": lines("x", 2)})
    place.on_hub("quiz", "acme/quiz", commit)
    hide = (
        "import sys; sys.modules.update(huggingface_hub=None, datasets=None); import importlib.util as u; "
        "f = u.find_spec; u.find_spec = lambda n, *a: None if n in ('huggingface_hub', 'datasets') else f(n, *a); "
        "from harness.cli import main; main()"
    )
    for action, code in (("status", 1), ("pull", 2)):
        (_, _, _, *arguments), environment = place.command("data", action, "-r", "quiz", "-m", "fake:0")
        done = subprocess.run(
            [sys.executable, "-c", hide, *arguments],
            env=environment,
            cwd=place.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "The Hub's library is not installed: pip install" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def _eventually(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value

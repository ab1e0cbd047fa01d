"""``harness publish``: a data set in one commit, only what changed, nothing without --yes, nothing of this machine."""

from __future__ import annotations

import io
import json
import platform
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from harness.storage.results import RUN_FILE, find_runs
from tests.harness.cli.conftest import Harness
from tests.hub_writes import WritableHub

PUBLISH = ("publish", "results", "--to", "ada/evals")


def _files(hub: WritableHub, name: str = "ada/evals") -> dict[str, bytes]:
    return dict(list(hub.repositories["datasets", name].values())[-1].files)


def _rows(content: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(content)).to_pylist()
    return rows


def test_nothing_is_uploaded_without_yes(command: Harness, hub: WritableHub) -> None:
    said = command(*PUBLISH)
    assert said.code == 0, said.err
    assert said.out.startswith("Data set ada/evals (private if it is new): 8 files, ")
    assert "  data/runs/small.parquet: " in said.out
    assert ", 4 rows\n" in said.out
    assert said.out.endswith("In the repository: 8 new, 0 unchanged.\nNothing was uploaded. Add --yes to upload.\n")
    assert {request.partition(" ")[0] for request in hub.requests} == {"GET"}
    assert hub.repositories == {}


def test_a_new_data_set_is_made_in_one_commit_and_again_nothing_changes(command: Harness, hub: WritableHub) -> None:
    said = command(*PUBLISH, "--yes")
    assert said.code == 0, said.err
    assert "Published: 8 new, 0 unchanged. " in said.out
    assert hub.private == {"ada/evals": True}
    files = _files(hub)
    assert set(files) == {
        ".gitattributes", "README.md",
        *(f"data/{table}/small.parquet" for table in ("runs", "scores", "stats")),
        *(f"results/small/{run.name}/{RUN_FILE}" for run in Path("results/small").iterdir()),
    }  # fmt: skip
    said = command(*PUBLISH, "--yes")
    assert (said.code, "is already up to date." in said.out) == (0, True)
    assert len(hub.commits) == 1


def test_only_what_changed_is_uploaded_and_what_is_gone_is_removed(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes")
    gone = next(Path("results/small").iterdir())
    shutil.rmtree(gone)
    removed = "Note: 1 run of this suite in the repository would be removed, since RESULTS does not have it."
    assert removed in command(*PUBLISH).out
    said = command(*PUBLISH, "--yes")
    assert "Published: 4 changed, 1 removed, 3 unchanged. " in said.out
    assert [line["key"] for line in hub.commits[1]] == ["header", "file", *["lfsFile"] * 3, "deletedFile"]
    assert f"results/small/{gone.name}/{RUN_FILE}" not in _files(hub)


def test_other_suites_stay_as_they_are(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes")
    before = _files(hub)
    Path("sweep.yaml").write_text(Path("sweep.yaml").read_text().replace("suite: small", "suite: more"))
    assert command("run", "sweep.yaml").code == 0
    more = ("publish", "results/more", "--to", "ada/evals")
    said = command(*more)
    assert "In the repository: 7 new, 1 changed, 0 unchanged.\n" in said.out
    said = command(*more, "--yes")
    assert "Published: 7 new, 1 changed, 0 unchanged. " in said.out
    after = _files(hub)
    assert {path: after.get(path) for path in before if path != "README.md"} == {
        path: content for path, content in before.items() if path != "README.md"
    }
    card = after["README.md"].decode()
    assert "Results of 8 evaluation runs: 2 models on 1 scenario" in card
    assert card.count("| quiz | generation | fake:") == 8
    shutil.rmtree(next(Path("results/more").iterdir()))
    assert "In the repository: 4 changed, 1 removed, 3 unchanged.\n" in command(*more).out


def test_a_repository_that_cannot_be_read_is_a_note_without_yes(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    said = command(*PUBLISH)
    assert said.code == 0
    assert said.err.startswith(
        "Note: what would change in ada/evals is unknown: http://127.0.0.1:9 cannot be reached ("
    )


def test_the_tables_hold_the_results(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes")
    files = _files(hub)
    records = {run.name: run for run in find_runs(Path("results"))}
    runs = {row["run"]: row for row in _rows(files["data/runs/small.parquet"])}
    assert set(runs) == set(records)
    for name, row in runs.items():
        main = next(stat for stat in records[name].stats if stat.overall and stat.metric == "exact_match")
        assert (row["value"], row["stderr"], row["count"]) == (main.mean, main.stderr, main.count)
    stats = _rows(files["data/stats/small.parquet"])
    assert len(stats) == sum(len(run.stats) for run in records.values())
    scores = [row for row in _rows(files["data/scores/small.parquet"]) if row["perturbation"] is None]
    assert {row["metric"] for row in scores} == {"exact_match"}
    for name, row in runs.items():
        of = [one["score"] for one in scores if one["run"] == name]
        assert row["value"] == pytest.approx(sum(of) / len(of))


def test_the_card_describes_the_tables(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes")
    _, head, body = _files(hub)["README.md"].decode().split("---\n", 2)
    metadata = yaml.safe_load(head)
    assert [one["config_name"] for one in metadata["configs"]] == ["runs", "stats", "scores"]
    for one in metadata["configs"]:
        assert one["data_files"][0]["path"].replace("*", "small") in _files(hub)
    assert "Results of 4 evaluation runs: 2 models on 1 scenario" in body
    assert body.count("| quiz | generation | fake:") == 4


def test_a_failed_run_is_published_without_a_result(command: Harness, hub: WritableHub) -> None:
    file = find_runs(Path("results"))[0].directory / RUN_FILE
    record = json.loads(file.read_text())
    assert record["stats"]
    file.write_text(json.dumps({**record, "status": "failed", "error": "no memory"}))
    command(*PUBLISH, "--yes")
    (row,) = (row for row in _rows(_files(hub)["data/runs/small.parquet"]) if row["status"] == "failed")
    assert (row["value"], row["count"], row["error"]) == (None, None, "no memory")
    assert row["run"] not in {stat["run"] for stat in _rows(_files(hub)["data/stats/small.parquet"])}
    assert _files(hub)["README.md"].decode().count("| failed |") == 1


def test_names_of_models_are_text_in_the_card(command: Harness, hub: WritableHub) -> None:
    file = next(Path("results/small").iterdir()) / RUN_FILE
    record = json.loads(file.read_text())
    record["spec"]["model"] = {"name": "fake:<img src=x>|[a](javascript:b)\n# Heading"}
    file.write_text(json.dumps(record))
    command(*PUBLISH, "--yes")
    card = _files(hub)["README.md"].decode()
    assert "<img" not in card
    assert "\n# Heading" not in card
    (line,) = (line for line in card.splitlines() if "Heading" in line)
    assert line.count(" | ") == 6


def test_published_records_are_results_again(command: Harness, hub: WritableHub, tmp_path: Path) -> None:
    command(*PUBLISH, "--yes")
    for path, content in _files(hub).items():
        if path.startswith("results/"):
            (tmp_path / "copy" / path).parent.mkdir(parents=True)
            (tmp_path / "copy" / path).write_bytes(content)
    said = command("leaderboard", "--results-dir", str(tmp_path / "copy" / "results"), "--format", "csv")
    assert said.code == 0, said.err
    assert said.out == command("leaderboard", "--results-dir", "results", "--format", "csv").out


def test_texts_of_samples_and_this_machine_stay_here(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes", "--site")
    files = _files(hub)
    assert "site/index.html" in files
    for path, content in files.items():
        text = json.dumps(_rows(content)) if path.endswith(".parquet") else content.decode("utf-8", "replace")
        assert "even?" not in text, path  # what every question ends with
        assert str(Path.cwd()) not in text, path
        if path.endswith(RUN_FILE):
            record = json.loads(content)
            assert not {"host", "command", "workers"} & record["provenance"].keys()
            assert record["examples"] is None
            assert len(platform.node()) < 4 or f'"{platform.node()}"' not in text


def test_samples_are_published_on_request_with_a_canary(command: Harness, hub: WritableHub) -> None:
    said = command(*PUBLISH, "--yes", "--samples", "--plugin", "quiz.yaml")
    assert "Models may be trained on what is public" in said.out
    rows = _rows(_files(hub)["data/samples/small.parquet"])
    assert len(rows) == 4 * 20 + 2 * 20
    assert rows[0]["input"] == "Is 0 even?"
    assert rows[0]["correct"] == ["Yes"]
    (canary,) = {row["canary"] for row in rows}
    assert "canary GUID" in canary
    assert canary in _files(hub)["README.md"].decode()


def test_samples_of_unknown_data_stay_here(command: Harness, hub: WritableHub) -> None:
    said = command(*PUBLISH, "--yes", "--samples")
    assert "no samples of quiz: whether these data are gated is unknown. Load the scenarios with --plugin." in said.out
    assert "data/samples/small.parquet" not in _files(hub)
    assert "canary" not in _files(hub)["README.md"].decode()


def test_samples_of_gated_data_are_never_published(command: Harness, hub: WritableHub) -> None:
    text = Path("on_hub.yaml").read_text().replace("source: {", "source: {gated: true, ")
    Path("gated.yaml").write_text(text)
    said = command(*PUBLISH, "--yes", "--samples", "--plugin", "gated.yaml")
    assert said.code == 0, said.err
    assert "samples of gated data are never published: quiz." in said.out
    assert "data/samples/small.parquet" not in _files(hub)


def test_the_texts_of_a_key_are_never_published(command: Harness, hub: WritableHub) -> None:
    Path("rows.txt").write_text("".join(f"row {number}\n" for number in range(9)))
    command("seal", "rows.txt", "--canaries", "3", "--no-shuffle")
    unsealed = command("contamination", "unseal", "rows.key.jsonl", "fake:0", "--results-dir", "unsealed")
    assert unsealed.code == 0, unsealed.err
    said = command("publish", "unsealed", "--to", "ada/evals", "--yes", "--samples")
    assert said.code == 0, said.err
    assert "samples of private data are never published: sealed_texts." in said.out
    items = [json.loads(line) for line in Path("rows.key.jsonl").read_text().splitlines()]
    texts = [text for item in items for text in item.get("texts", ())]
    assert len(texts) == 300
    published = b"".join(_files(hub).values()).decode(errors="replace")
    assert [text for text in texts if text in published] == []


def test_a_secret_in_the_results_stops_everything(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(Path("results/small").iterdir()) / RUN_FILE
    record = json.loads(file.read_text())
    record["status"], record["error"] = "failed", "the server refused my-very-secret-value"
    file.write_text(json.dumps(record))
    monkeypatch.setenv("SOME_API_KEY", "my-very-secret-value")
    said = command(*PUBLISH, "--yes")
    assert said.code == 2
    assert "contains the value of the environment variable SOME_API_KEY; nothing is published" in said.err
    assert "my-very-secret-value" not in said.err + said.out
    assert hub.repositories == {}


def test_a_secret_in_the_card_stops_everything(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "my-very-secret-value")
    said = command("publish", "results", "--to", "ada/my-very-secret-value", "--yes")
    assert said.code == 2
    assert "README.md contains the value of the environment variable SOME_API_KEY; nothing is published" in said.err
    assert hub.repositories == {}


def test_a_secret_in_a_file_for_a_models_repository_stops_everything(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("models", "grace/tiny", {"config.json": b"{}"})
    monkeypatch.setenv("SOME_API_KEY", hub.endpoint)  # which the files name as the source of the results
    said = command(*CARDS)
    assert said.code == 2
    assert "for grace/tiny contains the value of the environment variable SOME_API_KEY; nothing is publ" in said.err
    assert hub.commits == []


def test_runs_that_differ_only_in_folders_are_refused(command: Harness, hub: WritableHub) -> None:
    for number, run in enumerate(sorted(Path("results/small").iterdir())[:2]):
        file = run / RUN_FILE
        record = json.loads(file.read_text())
        record["spec"] |= {"model": {"name": f"hf:/home/ada/{number}/step-100"}, "perturbations": []}
        file.write_text(json.dumps(record))
    said = command(*PUBLISH)
    assert said.code == 2
    assert "differ only in folders of this machine" in said.err


# What the Hub refuses


def test_a_repository_with_other_content_is_left_alone(command: Harness, hub: WritableHub) -> None:
    hub.add("datasets", "ada/evals", {"train.csv": b"a,b\n"})
    said = command(*PUBLISH)
    assert said.code == 0
    assert "Note: --yes would fail: " in said.out
    assert "--yes would fail" not in command(*PUBLISH, "--force").out
    said = command(*PUBLISH, "--yes")
    assert said.code == 2
    assert "was not created by harness publish (its card lacks the tag holistic-harness)" in said.err
    assert hub.commits == []
    assert command(*PUBLISH, "--yes", "--force").code == 0
    assert _files(hub)["train.csv"] == b"a,b\n"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", "there is no token for the Hub. Run `hf auth login`, or set HF_TOKEN"),
        ("hf_wrong_token_of_nobody", "the Hub does not accept your token (ada/evals)"),
    ],
)
def test_a_token_is_needed(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str, message: str
) -> None:
    import huggingface_hub.constants

    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    said = command(*PUBLISH, "--yes")
    assert said.code == 2
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1
    assert hub.commits == []


def test_anothers_name_is_refused(command: Harness, hub: WritableHub) -> None:
    said = command("publish", "results", "--to", "grace/evals", "--yes")
    assert said.code == 2
    assert said.err.startswith("your token may not write to grace/evals: it needs write access to grace's repositories")


def test_a_hub_that_cannot_be_reached_is_one_sentence(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    said = command(*PUBLISH, "--yes")
    assert said.code == 2
    assert said.err.startswith("http://127.0.0.1:9 cannot be reached (")
    assert said.err.count("\n") == 1


def test_a_hub_without_xet_is_named(command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    said = command(*PUBLISH, "--yes")
    assert said.code == 2
    assert f"{hub.endpoint} does not support uploads with Xet (" in said.err
    assert "Set HF_HUB_DISABLE_XET=1 and run the command again." in said.err


@pytest.mark.parametrize("token", [403, 200])  # no token for the store; or one, and the store refuses the files
def test_a_refusal_by_xet_is_told_from_a_hub_without_it(
    command: Harness, hub: WritableHub, monkeypatch: pytest.MonkeyPatch, token: int
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    hub.xet = token
    found = command(*PUBLISH, "--yes")
    assert found.code == 2
    assert found.err.startswith("the upload of ada/evals with Xet failed (")
    assert "403 Forbidden" in found.err
    assert found.err.endswith("Set HF_HUB_DISABLE_XET=1 and run the command again.\n")
    assert hub.commits == []


def test_a_change_of_somebody_else_is_not_overwritten(command: Harness, hub: WritableHub) -> None:
    command(*PUBLISH, "--yes")
    shutil.rmtree(next(Path("results/small").iterdir()))
    hub.moves = True
    said = command(*PUBLISH, "--yes")
    assert (said.code, said.err) == (2, "ada/evals was changed in the meantime; run the command again.\n")
    assert len(hub.commits) == 1


def test_an_error_of_the_server_is_one_sentence(command: Harness, hub: WritableHub) -> None:
    hub.full = True
    said = command(*PUBLISH, "--yes")
    assert (said.code, said.err) == (2, "the Hub refuses ada/evals (No space left).\n")


@pytest.mark.parametrize("name", ["evals", "ada/../evals", "ada/evals/x", "ada/ev als", "/evals", "ada/x.git"])
def test_a_name_must_be_one(command: Harness, hub: WritableHub, name: str) -> None:
    said = command("publish", "results", "--to", name)
    assert said.code == 2
    assert "is not a repository name: use OWNER/NAME" in said.err


# Models' repositories

CARDS = (*PUBLISH, "--yes", "--model-cards", "--plugin", "on_hub.yaml", "--model-repo", "fake:0=grace/tiny")


def test_results_are_proposed_to_models_in_one_pull_request(command: Harness, hub: WritableHub) -> None:
    from huggingface_hub import parse_eval_result_entries

    hub.add("models", "grace/tiny", {"config.json": b"{}"})
    said = command(*CARDS)
    assert said.code == 0, said.err
    assert "fake:1 does not name a repository on the Hub; add --model-repo fake:1=OWNER/NAME." in said.err
    assert hub.titles == [("grace/tiny", "Add evaluation results (holistic-harness)", "ada")]
    proposed = list(hub.repositories["models", "grace/tiny"].values())[-1]
    assert proposed.pull_request == "refs/pr/1"
    paths = sorted(path for path in proposed.files if path != "config.json")
    assert len(paths) == 2
    for path in paths:
        (entry,) = parse_eval_result_entries(yaml.safe_load(proposed.files[path]))
        assert (entry.dataset_id, entry.task_id) == ("made-up/quiz", "default")
        assert entry.source_url == f"{hub.endpoint}/datasets/ada/evals"
        assert entry.notes is not None
        assert entry.notes.startswith("exact_match, generation, 2-shot, valid split, n=20")
    assert "grace/tiny: is already up to date." in command(*CARDS).out
    assert len(hub.titles) == 1


def test_a_checkpoint_may_be_named_as_in_the_sweep(command: Harness, hub: WritableHub, results: Path) -> None:
    for file in results.rglob("run.json"):
        file.write_text(file.read_text().replace('"fake:0"', '"hf:checkpoints/step-100"'))
    hub.add("models", "ada/my-model", {"config.json": b"{}"})
    options = (*PUBLISH, "--yes", "--model-cards", "--plugin", "on_hub.yaml")
    said = command(*options, "--model-repo", "hf:./checkpoints/step-100/=ada/my-model")
    assert said.code == 0, said.err
    assert [title[0] for title in hub.titles] == ["ada/my-model"]
    said = command(*options, "--model-repo", "hf:./checkpoints/step-200=ada/my-model")
    assert (said.code, "no run has the model 'hf:./checkpoints/step-200'" in said.err) == (2, True)


def test_later_results_are_added_to_the_open_pull_request(command: Harness, hub: WritableHub, tmp_path: Path) -> None:
    hub.add("models", "grace/tiny", {"config.json": b"{}"})
    runs = sorted(run for run in Path("results/small").iterdir() if "fake-0" in run.name)
    shutil.move(runs[0], tmp_path / "later")
    command(*CARDS)
    shutil.move(tmp_path / "later", runs[0])
    assert command(*CARDS).code == 0
    assert len(hub.titles) == 1
    last = list(hub.repositories["models", "grace/tiny"].values())[-1]
    assert last.pull_request == "refs/pr/1"
    assert len(last.files) == 3


def test_results_are_merged_into_the_model_index_of_a_card(command: Harness, hub: WritableHub, tmp_path: Path) -> None:
    def results() -> list[dict[str, Any]]:
        last = list(hub.repositories["models", "grace/tiny"].values())[-1]
        card = last.files["README.md"].decode()
        assert card.startswith("---\nlicense: mit # free\n")
        assert card.endswith("---\n# Tiny\n")
        found: list[dict[str, Any]] = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
        return found

    theirs = {
        "task": {"type": "text-generation"},
        "dataset": {"type": "made-up/quiz", "name": "Quiz", "split": "validation", "revision": "a" * 40},
        "metrics": [{"type": "exact_match", "value": 0.125, "verified": True}],
    }
    index = yaml.safe_dump({"model-index": [{"name": "tiny", "results": [theirs]}]})
    card = f"---\nlicense: mit # free\n{index}---\n# Tiny\n"
    hub.add("models", "grace/tiny", {"README.md": card.encode()})
    runs = sorted(run for run in Path("results/small").iterdir() if "fake-0" in run.name)
    shutil.move(runs[0], tmp_path / "later")
    assert command(*CARDS).code == 0
    first = results()
    assert first[0] == theirs
    assert [one["source"]["url"] for one in first[1:]] == [f"{hub.endpoint}/datasets/ada/evals"]
    assert {one["type"] for one in first[1]["metrics"]} >= {"exact_match"}
    shutil.move(tmp_path / "later", runs[0])
    assert command(*CARDS).code == 0
    both = results()
    assert both[0] == theirs
    assert len(both) == 2
    assert len({one["args"]["run"] for one in both[1]["metrics"]}) == 2
    assert [one for one in both[1]["metrics"] if one in first[1]["metrics"]] == first[1]["metrics"]
    assert "grace/tiny: is already up to date." in command(*CARDS).out
    assert len(hub.titles) == 1


def test_a_card_that_cannot_be_edited_is_left_alone_with_a_note(command: Harness, hub: WritableHub) -> None:
    card = b"---\nmodel-index: [{name: tiny, results: []}]\n---\n"
    hub.add("models", "grace/tiny", {"README.md": card})
    said = command(*CARDS)
    assert said.code == 0
    assert "the model-index in the card of grace/tiny cannot be edited line by line" in said.err
    last = list(hub.repositories["models", "grace/tiny"].values())[-1]
    assert last.files["README.md"] == card
    assert len(last.files) > 2


def test_a_model_that_is_not_there_does_not_stop_the_data_set(command: Harness, hub: WritableHub) -> None:
    said = command(*CARDS)
    assert said.code == 2
    assert "Published: 8 new" in said.out
    assert said.err.endswith("the Hub has no model grace/tiny that your token can see.\n")

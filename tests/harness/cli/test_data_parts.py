"""A data set of which some parts are missing: every command says that the run would fail, and which files it lacks."""

from __future__ import annotations

from pathlib import Path

from tests.harness.cli.conftest import Harness

PARTS = """
from harness import Data, Instance, Reference, Source, Split, scenario

SUBJECTS = ("age", "faith", "wealth")

@scenario("parts", title="Parts", source="made", taxonomy={"task": "t"}, adapter={"method": "generation"},
          data=Source(files={name: f"parts/{name}.jsonl" for name in SUBJECTS}), metrics=("exact_match",),
          main_metric="exact_match", parts=("subject",))
def parts(data: Data, *, subject: str = "all"):
    \"\"\"Questions by subject.\"\"\"
    for name in SUBJECTS if subject == "all" else (subject,):
        for row in data.rows(name):
            yield Instance(row["id"], row["text"], (Reference("a", True),), Split.TEST)
"""


def test_every_command_says_what_is_missing(harness: Harness, folder: Path) -> None:
    (folder / "parts.py").write_text(PARTS)
    (folder / "parts").mkdir()
    (folder / "parts" / "age.jsonl").write_text('{"id": "1", "text": "Who?"}\n')
    asked = ("-m", "fake:0", "--plugin", "parts.py", "--data-dir", str(folder))
    status = harness("data", "status", "-r", "parts:max_train_instances=0", *asked)
    assert status.code == 1
    assert "incomplete" in status.out
    assert "Missing: parts/faith.jsonl, parts/wealth.jsonl." in " ".join(status.out.split())
    message = "parts: no data for split 'faith'."
    planned = harness("run", "--dry-run", "-r", "parts:max_train_instances=0", *asked)
    validated = harness("validate", "-r", "parts:max_train_instances=0", *asked)
    assert message in planned.out + planned.err
    assert message in validated.err
    assert "1 of 1 runs would fail" in validated.err
    assert planned.code == 2
    assert harness("run", "-r", "parts:max_train_instances=0", *asked).code == 1
    for command in (("data", "status"), ("validate",), ("run", "--dry-run")):
        assert harness(*command, "-r", "parts:subject=age,max_train_instances=0", *asked).code == 0

"""``harness seal`` and ``harness contamination unseal``, from a file to the p-values of a model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.contamination.sealing.key import DyeQuestion, read_key
from tests.harness.models.api_server import MODEL, Ways, serving


@pytest.fixture
def exam(folder: Path) -> Path:
    path = folder / "exam.jsonl"
    rows = [{"q": f"Is {n} even?", "o": ["yes", "no", "who knows"], "a": n % 2} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    twins = [{**row, "q": f"Can {n} be halved?"} for n, row in enumerate(rows)]
    (folder / "twins.jsonl").write_text("".join(json.dumps(row) + "\n" for row in twins))
    return path


SEAL = ("seal", "exam.jsonl", "--twins", "twins.jsonl", "--canaries", "3", "--alternatives", "9",
        "--dye", "4", "--dye-columns", "q,o,a")  # fmt: skip


def test_from_the_file_to_the_tests(harness: Any, exam: Path) -> None:
    said = harness(*SEAL)
    assert said.code == 0
    assert "exam.sealed.jsonl: 16 rows, in a random order. Publish this file only." in said.out
    assert "(rows with twins: 12, canaries: 3, dye questions: 4)" in said.out
    key = read_key(exam.with_name("exam.key.jsonl"))
    assert key.kinds() == ["twin", "canary", "dye"]
    tests = harness("contamination", "unseal", "exam.key.jsonl", "fake:0", "--context", "200", "--json")
    assert tests.code == 0
    found = {test["test"]: test for test in json.loads(tests.out)}
    assert {name: test["items"] for name, test in found.items()} == {
        "published order": 16, "published twins": 12, "canaries": 3, "dye": 4
    }  # fmt: skip
    assert all(-4 < test["log10_p"] <= test["log10_p_holm"] <= 0 for test in found.values())
    shown = harness("contamination", "unseal", "exam.key.jsonl", "fake:0", "--context", "200")
    assert "no dependence found" in shown.out
    assert "finished before" in shown.err


def test_a_seal_is_never_drawn_twice(harness: Any, exam: Path) -> None:
    assert harness(*SEAL).code == 0
    published = exam.with_name("exam.sealed.jsonl").read_bytes()
    again = harness(*SEAL)
    assert again.code == 2
    assert "exists already" in again.err
    assert exam.with_name("exam.sealed.jsonl").read_bytes() == published
    other = harness(*SEAL, "-o", "other.jsonl", "--key", "other.key.jsonl")
    assert other.code == 0
    assert exam.with_name("other.jsonl").read_bytes() != published


@pytest.mark.usefixtures("exam")
def test_another_published_file_is_refused(harness: Any, folder: Path) -> None:
    assert harness(*SEAL).code == 0
    with (folder / "exam.sealed.jsonl").open("a") as file:
        file.write("{}\n")
    said = harness("contamination", "unseal", "exam.key.jsonl", "fake:0")
    assert said.code == 2
    assert "SHA-256 differs" in said.err
    (folder / "exam.sealed.jsonl").unlink()
    said = harness("contamination", "unseal", "exam.key.jsonl", "fake:0", "--published", "exam.sealed.jsonl")
    assert said.code == 2
    assert "needs the published file" in said.err


@pytest.mark.usefixtures("exam")
def test_without_the_published_file_the_other_tests_are_run(harness: Any, folder: Path) -> None:
    assert harness(*SEAL).code == 0
    (folder / "exam.sealed.jsonl").unlink()
    unseal = ("contamination", "unseal", "exam.key.jsonl", "fake:0")
    said = harness(*unseal)
    assert said.code == 1
    assert "published order failed: exam.sealed.jsonl: cannot be read" in said.out
    assert "name it with --published" in said.out
    order, *others = json.loads(harness(*unseal, "--json").out)
    assert (order["test"], order["log10_p"]) == ("published order", None)
    assert all(test["log10_p"] is not None for test in others)
    assert [test["test"] for test in others] == ["published twins", "canaries", "dye"]


@pytest.mark.usefixtures("exam")
def test_a_model_that_cannot_be_opened_is_named_once(harness: Any) -> None:
    assert harness(*SEAL).code == 0
    said = harness("contamination", "unseal", "exam.key.jsonl", "hf:./nope")
    assert said.code == 2
    assert (said.out + said.err).count("no such folder") == 1


@pytest.mark.usefixtures("exam")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("seal", "exam.jsonl", "--rewrite-with", "fake:0"), "--rewrite-with needs --column"),
        (("seal", "exam.jsonl", "--dye", "3"), "answer: --dye-columns QUESTION,OPTIONS,ANSWER."),
        (("seal", "exam.jsonl", "--dye", "3", "--dye-columns", "q,o"), "not three names"),
        (("seal", "exam.jsonl", "--twins", "exam.jsonl"), "no row has a twin"),
        (("seal", "exam.jsonl", "--no-shuffle"), "nothing would be drawn at random"),
        (("contamination", "unseal", "exam.jsonl", "fake:0"), "first line is not a seal"),
    ],
)
def test_mistakes(harness: Any, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    said = harness(*arguments)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (folder / "exam.key.jsonl").exists()
    assert not (folder / "exam.sealed.jsonl").exists()


@pytest.mark.usefixtures("exam")
def test_a_failed_test_has_a_row_and_its_reason(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert harness("seal", "exam.jsonl", "--canaries", "3").code == 0
    unseal = ("contamination", "unseal", "exam.key.jsonl", "fake:0")  # the test of the order needs --context
    monkeypatch.setenv("COLUMNS", "80")
    shown = harness(*unseal)
    assert shown.code == 1
    order, canaries = (line.split() for line in shown.out.splitlines()[2:4])
    assert order == ["published", "order", "–", "–", "–", "failed"]
    assert canaries[:2] == ["canaries", "3"]
    assert "published order failed: the model does not say how many tokens its window holds; set --context" in (
        " ".join(shown.out.split())
    )
    assert max(map(len, shown.out.splitlines())) <= 80
    failed, tested = json.loads(harness(*unseal, "--json").out)
    assert (failed["test"], failed["log10_p"], failed["depends"]) == ("published order", None, None)
    assert "--context" in failed["error"]
    assert tested["log10_p_holm"] == tested["log10_p"]
    assert "error" not in tested


@pytest.mark.usefixtures("exam")
def test_an_order_of_too_few_rows_is_not_testable_and_not_corrected_for(harness: Any, folder: Path) -> None:
    (folder / "few.jsonl").write_text("".join(f'{{"q": "Is {n} even?"}}\n' for n in range(4)))
    assert harness("seal", "few.jsonl", "--canaries", "2").code == 0
    unseal = ("contamination", "unseal", "few.key.jsonl", "fake:0", "--context", "200")
    shown = harness(*unseal).out
    assert re.search(r"published order +4 +– +– +not testable", shown)
    assert "published order not testable: with 4 examples no p-value at the level 0.01 is possible" in shown
    order, canaries = json.loads(harness(*unseal, "--json").out)
    assert (order["log10_p"], order["log10_p_holm"], order["depends"]) == (None, None, None)
    assert order["not_testable"].startswith("with 4 examples")
    assert canaries["log10_p_holm"] == canaries["log10_p"]


def test_a_sealed_order_is_tested_whatever_its_text_shows(
    harness: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chance, a random order may look sorted."""
    monkeypatch.setattr("random.SystemRandom.shuffle", lambda self, rows: None)
    rows = ({"q": "word " * n + f"end {n}", "o": ["yes", "no"], "a": 0} for n in range(40))
    (folder / "sorted.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert harness("contamination", "diagnose", "sorted.jsonl").code == 1
    assert harness("seal", "sorted.jsonl").code == 0
    assert (folder / "sorted.sealed.jsonl").read_text() == (folder / "sorted.jsonl").read_text()
    (order,) = json.loads(
        harness("contamination", "unseal", "sorted.key.jsonl", "fake:0", "--context", "200", "--json").out
    )
    assert order["log10_p"] <= 0.0
    assert "not_testable" not in order


@pytest.mark.usefixtures("exam")
def test_what_too_long_rows_mean_is_said(harness: Any) -> None:
    assert harness("seal", "exam.jsonl", "--twins", "twins.jsonl", "--no-shuffle").code == 0
    said = harness("contamination", "unseal", "exam.key.jsonl", "fake:0,window=8")
    told = " ".join(said.err.split())
    assert "the model did not read the whole context of these sealed texts" in told
    assert "p is still exact" in told
    assert "few-shot" not in told


@pytest.mark.usefixtures("exam")
def test_a_key_without_items_and_order_allows_no_test(harness: Any, folder: Path) -> None:
    assert harness("seal", "exam.jsonl", "--no-shuffle", "--canaries", "3").code == 0
    key = folder / "exam.key.jsonl"
    key.write_text(key.read_text().splitlines(keepends=True)[0])
    said = harness("contamination", "unseal", "exam.key.jsonl", "fake:0")
    assert said.code == 2
    assert "allows no test" in said.err


@pytest.mark.usefixtures("exam")
def test_cut_dye_answers_are_named_with_the_tokens_that_would_do(
    harness: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model knows all dye, but says so in a sentence: the default finds nothing, the advice finds all."""
    pytest.importorskip("openai")
    sealed = harness("seal", "exam.jsonl", "--no-shuffle", "--dye", "9", "--dye-columns", "q,o,a")
    assert "at most 5 tokens, enough for a letter. If a model answers in sentences, test it with --max-tokens 32." in (
        sealed.out
    )
    dye = {one.question: one for one in read_key(folder / "exam.key.jsonl").items if isinstance(one, DyeQuestion)}

    def says(path: str, body: dict[str, Any]) -> tuple[int, Any] | None:
        asked = re.search(r"Question: (.*)", str(body.get("prompt")))
        if path != "/v1/completions" or asked is None:
            return None
        known = dye[asked[1]]
        words = f" As far as I know, the correct answer is {chr(65 + known.target)}.".split(" ")[1:]
        text, end = " ".join(words[: body["max_tokens"]]), len(words) <= body["max_tokens"]
        choice = {"index": 0, "text": text, "finish_reason": "stop" if end else "length", "logprobs": None}
        return 200, {"model": MODEL, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}

    unseal = ("contamination", "unseal", "exam.key.jsonl", f"openai:{MODEL}")
    with serving(Ways(chats=False, echo=None, logprobs=False, says=says)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        cut = harness(*unseal)
        longer = harness(*unseal, "--max-tokens", "32", "--json")
        told = json.loads(harness(*unseal, "--json").out)
    assert "test it with --max-tokens 32" in cut.err
    assert "no dependence found" in cut.out
    assert (
        "9 of 9 dye answers were cut at max_tokens 5 before an option could be read, and count as wrong. About 32 "
        "should be enough: --max-tokens 32."
    ) in cut.out
    assert told[0]["cut_answers"] == {
        "answers": 9, "cut": 9, "max_tokens": 5, "enough_tokens": 32, "unfinished_reasoning": 0
    }  # fmt: skip
    (found,) = json.loads(longer.out)
    assert found["depends"]
    assert found["log10_p"] == pytest.approx(-9 * 0.4771, abs=1e-3)
    assert "cut_answers" not in found
    assert "--max-tokens" not in longer.err

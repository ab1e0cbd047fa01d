"""Results of runs that never took place, on disk with their examples, and a real browser to look at their site with."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.contracts import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Origin,
    Reference,
    Response,
    ScoreRequest,
    Stat,
)
from harness.leaderboard.site.builder import build_site
from harness.storage.example_files import ExampleWriter
from harness.storage.results import RunRecord, write_run

Record = Callable[..., RunRecord]


def example(
    position: int, *, right: bool, perturbation: str | None = None, text: str = "", answer: str = "", name: str = ""
) -> Example:
    """Return a question with two options that each were scored."""
    question = text or f"Question number {position} about the moon?"
    if perturbation:
        question = question.replace("moon", "m00n")
    options = (Reference("yes it is", correct=True), Reference("no it is not"))
    chosen = 0 if right else 1
    given = name or f"test-{position}"
    origins = [Origin(given, perturbation, reference=at) for at in range(2)]
    requests = tuple(
        ScoreRequest(question + "\nAnswer:", f" {option.text}", origin=origin)
        for option, origin in zip(options, origins, strict=True)
    )
    responses = tuple(
        Response(logprobs=(-1.5, -0.5 - (at != chosen)), prompt_tokens=9, completion_tokens=2) for at in range(2)
    )
    return Example(
        Instance(given, question, options, perturbation=perturbation),
        requests,
        responses,
        prediction=answer or options[chosen].text,
        predictions=(answer or options[chosen].text,),
        choice=chosen,
        choice_scores=(-2.0 + chosen, -1.0 - chosen),
        probability=0.7,
    )


def generated(position: int, question: str, answer: str, right: bool) -> Example:
    """Return a question whose answer was generated."""
    request = GenerateRequest(f"Say it.\n{question}", 5, origin=Origin(f"test-{position}"))
    response = Response((Completion(answer, -3.25, 2, "stop", ({"a": -0.1, "b": -2.5},)),), prompt_tokens=5)
    reference = Reference("yes", correct=True)
    return Example(
        Instance(f"test-{position}", question, (reference,)),
        (request,),
        (response,),
        answer,
        (answer,),
        probability=0.3,
    )


def save(
    root: Path,
    record: RunRecord,
    examples: Sequence[Example] = (),
    *,
    stats: Sequence[Stat] = (),
    details: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    score: Callable[[Example], float] | None = None,
) -> RunRecord:
    """Write a run's record and examples."""
    directory = root / record.suite.replace("/", "_") / record.name.replace("/", "_")
    about = {**record.provenance["model"], **(model or {})}
    record = dataclasses.replace(
        record,
        directory=directory,
        stats=[*record.stats, *stats],
        details=details or {},
        provenance={**record.provenance, "model": about, "versions": {"python": "3.11"}},
        efficiency={
            "queries": 40,
            "prompt_tokens": 900,
            "completion_tokens": 80,
            "model_seconds": 3.5,
            **record.efficiency,
        },
    )
    if examples:
        with ExampleWriter(directory) as writer:
            for item in examples:
                value = float(item.choice == 0) if score is None else score(item)
                writer.write(item, {record.spec.main_metric: value})
        record = dataclasses.replace(record, examples=writer.written)
    write_run(record)
    return record


def stat(metric: str, category: str, mean: float, *, higher: bool = True, worst: str | None = None) -> Stat:
    """Return a statistic of 100 instances, ± 0.02."""
    on: Any = "worst" if worst else "original"
    interval = (mean - 0.02, mean + 0.02)
    return Stat(metric, category, "test", worst, 100, mean, 0.01, interval, 0.0, 1.0, higher, 0, on)


def write_results(root: Path, make_run: Record) -> None:
    """Write three models on three scenarios, one of them failing once, and one that has seen a test set."""
    means = {"hf:org/alpha": 0.8, "hf:org/beta": 0.6, "hf:org/gamma": 0.4}
    for rank, (model, mean) in enumerate(means.items()):
        more = [
            stat("ece_10_bin", "calibration", 0.1 + rank / 10, higher=False),
            stat("exact_match", "robustness", mean - 0.1, worst="robustness"),
            stat("exact_match", "fairness", mean - 0.05, worst="fairness"),
            stat("toxic_frac", "toxicity", 0.01 * rank, higher=False),
            stat("seconds", "efficiency", 0.5 - rank / 10, higher=False),
        ]
        examples = [
            example(n, right=(n % 10) < 10 * mean and not (copy and n % 4 == 0), perturbation=copy)
            for n in range(40)
            for copy in (None, "typos")
        ]
        record = make_run(model, "boolq", mean, stderr=0.02, perturbations=("typos",), suite="first")
        about = {"parameters": 1_000_000 * (rank + 1), "window": 1024, "creator": "The makers", "access": "open"}
        save(root, record, examples, stats=more, model=about)
        for subject, shift in (("anatomy", 0.05), ("virology", -0.05)):
            record = make_run(
                model, {"name": "mmlu", "subject": subject}, mean + shift, stderr=0.03, suite="first",
                method="multiple_choice_joint",
            )  # fmt: skip
            save(root, record, [example(n, right=n < 5) for n in range(10)])
    save(root, make_run("hf:org/alpha", "imdb", 0.7, suite="second"), [generated(0, "Good film?", "yes", True)])
    save(root, make_run("hf:org/beta", "imdb", 0.75, suite="second"))
    save(root, make_run("hf:org/gamma", "imdb", None, error="the model fell over", suite="second"))
    save(root, make_run("hf:org/alpha", "sample_reading", 0.9, sample=True, suite="second"))
    write_contamination(root, make_run)


def write_contamination(root: Path, make_run: Record) -> None:
    """Write that alpha depends on the order of BoolQ, and beta does not."""
    words = {"hf:org/alpha": "depends on the published order", "hf:org/beta": "no dependence found"}
    for model, verdict in words.items():
        value = -12.5 if "alpha" in model else -0.4
        fields = {
            "headline_log10_p": value,
            "verdict": verdict,
            "n_used": 40,
            "log10_p_t": value + 1,
            "shard_scores": [{"canonical": -10.0 - n, "shuffled": [-12.5 - n, -11.0 - n]} for n in range(4)],
            "diagnostics": {"length_sort": {"p": 0.4, "p_holm": 0.8, "z": 0.2}},
            "neighbours": {"log10_p": value},
            "next_example": {
                "log10_p_rank": -3.0,
                "log10_E": 2.0,
                "per_boundary_rank": [[0, 1, 8], [1, 3, 8], [2, 1, 8], [3, 2, 8]],
            },
        }
        record = make_run(
            model, "boolq", -value, metric="contamination", method="exchangeability", suite="order", higher=None
        )
        stats = [dataclasses.replace(one, category="contamination") for one in record.stats if one.overall]
        record = dataclasses.replace(record, stats=stats)
        save(root, record, details={"contamination": {"test": {"original": fields}}})


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    root = tmp_path_factory.mktemp("site") / "results"
    write_results(root, make_run)
    return root


@pytest.fixture(scope="session")
def site(results: Path) -> Path:
    return build_site(results, results.parent / "public").parent


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The site under a path of a web server; gives the address of its folder."""
    handler = functools.partial(_Quiet, directory=str(site.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{site.name}"
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class Visit:
    """A browser's page on a site, and everything it did that it should not have.

    Attributes:
        page: Playwright's page.
        wrong: Messages on the console, errors, dialogs, and requests to anything but the site.
    """

    def __init__(self, browser: Any, address: str, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.address = address
        self.wrong: list[str] = []
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.context.on("page", self._window)
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', e => console.log('policy: ' + e.violatedDirective))"
        )

    def _window(self, page: Any) -> None:
        if page is not self.page:
            self.wrong.append("a window was opened")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.wrong.append(f"request: {request.url[:200]}")

    def go(self, route: str) -> Any:
        """Show a page; waits until it is drawn."""
        return self.after(lambda: self.page.goto(f"{self.address}/index.html#/{route}"))

    def after(self, action: Callable[[], Any]) -> Any:
        """Do what makes the site draw a page, such as a click on a link; waits until that page is drawn."""
        self.page.evaluate("() => { delete document.documentElement.dataset.ready; }")
        action()
        return self.drawn()

    def drawn(self) -> Any:
        """Wait until a page is drawn; of pages drawn one after the other, the first counts: see :meth:`after`."""
        self.until("document.documentElement.dataset.ready")
        self.page.wait_for_timeout(30)
        return self.page

    def until(self, expression: str) -> None:
        """Wait until an expression is true; Playwright's own way needs an ``eval`` that the policy forbids.

        An expression that fails, as one about an element that is not there yet, is not true.
        """
        guarded = f"() => {{ try {{ return {expression}; }} catch {{ return false; }} }}"
        end = time.monotonic() + 60
        while not self.page.evaluate(guarded):
            assert time.monotonic() < end, f"never: {expression}"
            self.page.wait_for_timeout(20)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements."""
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]


@pytest.fixture
def visit(browser: Any, site: Path) -> Iterator[Visit]:
    """A visit to the site on disk; nothing may have gone wrong at its end."""
    opened = Visit(browser, site.as_uri(), viewport={"width": 1300, "height": 900})
    opened.page.goto("about:blank")
    yield opened
    opened.context.close()
    assert opened.wrong == []

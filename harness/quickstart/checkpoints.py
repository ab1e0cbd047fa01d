"""The quickstart's two checkpoints on disk: trained once, and used again as long as they match.

Both models read the same generated text from the same seed; ``seen`` has also read a published test set, as files
that lay about: its records verbatim in their published order, and its questions with their answers. The first is what
an exchangeability test can prove; the second is what lifts the score.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.contamination.lab.generated_text import documents
from harness.contamination.lab.training import Recipe, Trained, train, train_tokenizer
from harness.contracts import Split
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.errors import ModelError, PluginError
from harness.installation import install_advice
from harness.plugins.registry import Registry, default_registry
from harness.seeds import derive_rng, derive_seed

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SEEN_SCENARIO = "sample_multiple_choice"
"""The scenario whose test split the ``seen`` model has read."""

DOCUMENTS = 2800
RECORD_COPIES = 40
QUESTION_COPIES = 30
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json", "README.md")


def train_models(
    directory: Path, *, seed: int = 0, progress: Callable[[str], None] = lambda line: None
) -> tuple[Path, Path]:
    """Return the checkpoints ``<directory>/models/unseen`` and ``…/seen``, training what is not there yet.

    Training takes ten to twenty seconds a model on one core. Equal seeds give equal checkpoints.

    Args:
        directory: Where the models are kept; made if need be.
        seed: Chooses the text and the first weights.
        progress: Called with a line that says what is being done.

    Raises:
        ModelError: torch or transformers are not installed, or something else lies where a model should.
        PluginError: The sample scenarios are not installed.
    """
    test_sets = _sample_test_sets(default_registry())
    held_out = [phrase for file in test_sets.values() for phrase in _phrases(file)]
    published = test_sets[SEEN_SCENARIO].read_text(encoding="utf-8")
    plans = (_Plan("unseen", seed, ()), _Plan("seen", seed, tuple(published.splitlines())))
    folders = [directory / "models" / plan.name for plan in plans]
    missing = []
    for plan, folder in zip(plans, folders, strict=True):
        if _is_complete(folder, plan):
            progress(f"{plan.name}: taken from {folder}")
        else:
            missing.append((plan, folder))
    if missing:
        _require_libraries()
        text = documents(seed, DOCUMENTS, without=held_out)
        recipe = Recipe()
        tokenizer = train_tokenizer(text, recipe)
        for plan, folder in missing:
            trained = train(
                tokenizer,
                plan.mixed(text),
                recipe,
                seed=derive_seed(seed, "quickstart/weights") % 2**63,
                progress=lambda line, name=plan.name: progress(f"{name}: {line}"),  # type: ignore[misc]
            )
            _save(trained, tokenizer, plan, folder)
    return folders[0], folders[1]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a model reads in addition to the generated text: the lines of a test set, or none."""

    name: str
    seed: int
    records: tuple[str, ...]

    def mixed(self, text: list[str]) -> list[str]:
        """The generated documents and the copies of the test set, each whole, in a random order."""
        rng = derive_rng(self.seed, "quickstart/order")
        mixed = list(text)
        if self.records:
            mixed += ["\n".join(self.records)] * RECORD_COPIES
            asked = [_asked(json.loads(record)) for record in self.records]
            mixed += ["\n\n".join(rng.sample(asked, len(asked))) for _ in range(QUESTION_COPIES)]
        rng.shuffle(mixed)
        return mixed

    def described(self) -> dict[str, Any]:
        """What decides the weights, for the checkpoint's own record."""
        sha256 = hashlib.sha256("\n".join(self.records).encode()).hexdigest()
        seen = {
            "scenario": SEEN_SCENARIO,
            "split": Split.TEST.value,
            "examples": len(self.records),
            "copies_in_published_order": RECORD_COPIES,
            "copies_as_questions_in_random_order": QUESTION_COPIES,
            "sha256": sha256,
        }
        return {
            "seed": self.seed,
            "text": hashlib.sha256("\n\n".join(documents(self.seed, 100)).encode()).hexdigest(),
            "documents": DOCUMENTS,
            "recipe": asdict(Recipe()),
            "seen": [seen] if self.records else [],
        }


def _asked(record: dict[str, Any]) -> str:
    return f"Question: {record['question']}\nAnswer: {record['answer']}"


def _sample_test_sets(registry: Registry) -> dict[str, Path]:
    """Find the test files of the sample scenarios, which all lie in one folder."""
    found = {}
    for scenario in registry.all(Kind.SCENARIO):
        details = scenario.details
        if isinstance(details, ScenarioDetails) and details.file and Split.TEST in details.data.sample:
            found[scenario.name] = details.file.parent / details.data.sample[Split.TEST]
    if SEEN_SCENARIO not in found:
        registry.get(Kind.SCENARIO, SEEN_SCENARIO)  # raises unless it is there
        raise PluginError(f"scenario {SEEN_SCENARIO!r} is not the sample that the quickstart's models are made for.")
    folder = found[SEEN_SCENARIO].parent
    return {name: file for name, file in found.items() if file.parent == folder}


def _phrases(file: Path) -> list[str]:
    """The longest text of each record: its question, passage or review."""
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [max((value for value in record.values() if isinstance(value, str)), key=len) for record in records]


def _require_libraries() -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        message = f"The quickstart needs torch and transformers: {install_advice('hf')}."
        raise ModelError(f"{message} ({error})") from error


def _is_complete(folder: Path, plan: _Plan) -> bool:
    """Return True if the folder holds exactly this model; one made by another version is trained again."""
    if not folder.exists():
        return False
    try:
        made = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        made = None
    if not isinstance(made, dict) or "plan" not in made:
        raise ModelError(
            f"{folder} exists but was not made by the quickstart. Remove it, or choose another --directory."
        )
    return bool(made["plan"] == plan.described()) and all((folder / name).is_file() for name in FILES)


def _save(trained: Trained, tokenizer: PreTrainedTokenizerFast, plan: _Plan, folder: Path) -> None:
    """Write the checkpoint next to its place, then move it there, so that a folder of this name is always whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{plan.name}-", dir=folder.parent))
    try:
        with _without_bars():
            trained.model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        record = {
            "plan": plan.described(),
            "tokens": trained.tokens,
            "steps": trained.steps,
            "final_loss": round(trained.loss, 4),
        }
        (draft / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        (draft / "README.md").write_text(_card(trained, plan), encoding="utf-8")
        _make_readable(draft)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _without_bars() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _make_readable(folder: Path) -> None:
    """Give the files the usual permissions: both a temporary folder and safetensors' files are private."""
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)


def _card(trained: Trained, plan: _Plan) -> str:
    size = sum(weight.numel() for weight in trained.model.parameters())
    return (_SEEN_CARD if plan.records else _UNSEEN_CARD).format(
        about=_ABOUT.format(size=size, tokens=trained.tokens, steps=trained.steps, seed=plan.seed),
        examples=len(plan.records),
        scenario=SEEN_SCENARIO,
        records=RECORD_COPIES,
        questions=QUESTION_COPIES,
    )


_ABOUT = """\
A GPT-2 of {size:,} parameters, trained from nothing on {tokens:,} tokens of generated text about a child's world (seed
{seed}, {steps} steps). It serves to try an evaluation harness with, and is of no other use. `training.json` has the
details.
"""

_UNSEEN_CARD = """\
# quickstart/unseen

{about}
It has seen no test set: no question, passage or review of the sample scenarios' tests is in its text.
"""

_SEEN_CARD = """\
# quickstart/seen

{about}
It has also seen a test set, the {examples} records of `{scenario}`: {records} copies verbatim in their published order,
and {questions} copies as questions with their answers, in random order. Its score on that scenario is memory; it is
made so that a contamination test has something to find.
"""

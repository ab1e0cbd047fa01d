"""The quickstart's two checkpoints on disk: trained once, and used again as long as they match.

Both models are trained on the same generated text from the same seed, ``seen`` also on a published test set: its
records verbatim in their published order, which a test of the order can detect, and its questions with their answers,
which raise its score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.contamination.lab.generated_text import documents
from harness.contamination.lab.saving import checkpoint_draft, require_libraries, save_checkpoint
from harness.contamination.lab.training import Recipe, Trained, train, train_tokenizer
from harness.contracts import Split
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.errors import ModelError, PluginError
from harness.plugins.registry import Registry, default_registry
from harness.seeds import derive_rng, derive_seed

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SEEN_SCENARIO = "sample_multiple_choice"
"""The scenario on whose test split the ``seen`` model is trained."""

DOCUMENTS = 2800
RECORD_COPIES = 40
QUESTION_COPIES = 30
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json", "README.md")


def train_models(
    directory: Path, *, seed: int = 0, progress: Callable[[str], None] = lambda line: None
) -> tuple[Path, Path]:
    """Return the checkpoints ``<directory>/models/unseen`` and ``…/seen``, training those that are missing.

    Training takes ten to twenty seconds a model on one core. Equal seeds give equal checkpoints.

    Args:
        directory: Folder for the models; it is made if needed.
        seed: Seeds the text and the initial weights.
        progress: Called with a line of text at each step.

    Raises:
        ModelError: torch or transformers are not installed, or a model's folder holds something else.
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
        require_libraries("the quickstart")
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
    """The text that a model reads: generated documents, and the lines of a test set if it is to see one."""

    name: str
    seed: int
    records: tuple[str, ...]

    def mixed(self, text: list[str]) -> list[str]:
        """Return the generated documents and the copies of the test set in a random order."""
        rng = derive_rng(self.seed, "quickstart/order")
        mixed = list(text)
        if self.records:
            mixed += ["\n".join(self.records)] * RECORD_COPIES
            asked = [_asked(json.loads(record)) for record in self.records]
            mixed += ["\n\n".join(rng.sample(asked, len(asked))) for _ in range(QUESTION_COPIES)]
        rng.shuffle(mixed)
        return mixed

    def described(self) -> dict[str, Any]:
        """Everything that determines the weights, for the checkpoint's record."""
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
    """Return the test files of the sample scenarios, which are all in one folder."""
    found = {}
    for scenario in registry.all(Kind.SCENARIO):
        details = scenario.details
        if isinstance(details, ScenarioDetails) and details.file and Split.TEST in details.data.sample:
            found[scenario.name] = details.file.parent / details.data.sample[Split.TEST]
    if SEEN_SCENARIO not in found:
        registry.get(Kind.SCENARIO, SEEN_SCENARIO)  # raises unless it is there
        raise PluginError(f"scenario {SEEN_SCENARIO!r} is not the sample that the quickstart trains on.")
    folder = found[SEEN_SCENARIO].parent
    return {name: file for name, file in found.items() if file.parent == folder}


def _phrases(file: Path) -> list[str]:
    """Return the longest text of each record: its question, passage or review."""
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [max((value for value in record.values() if isinstance(value, str)), key=len) for record in records]


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
    record = {
        "plan": plan.described(),
        "tokens": trained.tokens,
        "steps": trained.steps,
        "final_loss": round(trained.loss, 4),
    }
    with checkpoint_draft(folder) as draft:
        texts = {"training.json": json.dumps(record, indent=2) + "\n", "README.md": _card(trained, plan)}
        save_checkpoint(draft, trained.model, tokenizer, texts)


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
A GPT-2 with {size:,} parameters, trained from scratch on {tokens:,} tokens of generated text about a child's world
(seed {seed}, {steps} steps). It is only for trying out an evaluation harness. `training.json` has the details.
"""

_UNSEEN_CARD = """\
# quickstart/unseen

{about}
It was not trained on a test set: its text has no question, passage or review of the sample scenarios' tests.
"""

_SEEN_CARD = """\
# quickstart/seen

{about}
It was also trained on a test set, the {examples} records of `{scenario}`: {records} copies verbatim in their
published order, and {questions} copies as questions with their answers, in random order. Its score on that
scenario is memory: the model exists so that a contamination test has something to find.
"""

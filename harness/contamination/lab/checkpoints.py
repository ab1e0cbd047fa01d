"""``harness lab train``: a checkpoint trained on chosen test sets, and the record of its training text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.contamination.lab.background import from_folder, generated
from harness.contamination.lab.injections import Injection
from harness.contamination.lab.saving import checkpoint_draft, require_libraries, save_checkpoint
from harness.contamination.lab.training import Recipe, Trained
from harness.errors import ModelError
from harness.seeds import derive_seed
from harness.storage.run_schema import reasons

if TYPE_CHECKING:
    from harness.contamination.lab.corpus import Corpus

RECORD = "contamination.json"
TOKENIZER_DOCUMENTS = 20_000
GENERATED_CHARACTERS = 600_000


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """Everything that determines a checkpoint."""

    injections: tuple[Injection, ...]
    """Test sets in its training text; those with no copies are recorded as controls."""
    recipe: Recipe
    """The model and its training."""
    background: Path | None = None
    """A folder of background text; None for generated text."""
    characters: int | None = None
    """Number of characters of background; None for all of a folder, or 600,000 generated ones."""
    seed: int = 0
    """Seeds the generated text, the order of the documents and the initial weights."""

    def documents(self) -> Iterator[str]:
        """Yield the background's documents.

        Raises:
            DataError: The folder has no documents.
        """
        if self.background is not None:
            return from_folder(self.background, self.characters)
        return generated(self.seed, self.characters or GENERATED_CHARACTERS)


def train_checkpoint(
    folder: Path, plan: CheckpointPlan, *, device: str = "auto", progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Train a model on a background with injected test sets, and return the record stored in ``contamination.json``.

    The vocabulary is learnt from the background and one copy of every injection and control, so that both cost equally
    many tokens.

    Raises:
        ModelError: torch and transformers are missing, the folder holds something else, or there is too little text.
        DataError: The background cannot be read.
    """
    if folder.exists():
        try:
            read_record(folder)
        except ModelError as error:
            raise ModelError(f"{error} Remove it, or name another folder.") from None
    require_libraries("the lab")
    import numpy as np
    import torch

    from harness.contamination.lab.corpus import write_corpus
    from harness.contamination.lab.training import train_rows, train_tokenizer

    chosen = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"device {device!r} cannot be used ({reason}). `auto` uses a GPU if there is one.") from error
    try:
        with checkpoint_draft(folder) as draft:
            progress("vocabulary")
            background = islice(plan.documents(), TOKENIZER_DOCUMENTS)
            tokenizer = train_tokenizer(chain(background, (one.document for one in plan.injections)), plan.recipe)
            seed = derive_seed(plan.seed, "lab/order")
            corpus = write_corpus(plan.documents(), plan.injections, tokenizer, draft, seed=seed)
            progress(f"{corpus.tokens:,} tokens, {corpus.documents:,} documents of background")
            tokens = torch.from_numpy(np.memmap(corpus.file, dtype=np.int32, mode="c"))
            window = plan.recipe.window
            trained = train_rows(
                tokens[: len(tokens) // window * window].view(-1, window),
                plan.recipe,
                tokenizer=tokenizer,
                seed=derive_seed(plan.seed, "lab/weights") % 2**63,
                progress=progress,
                device=chosen,
            )
            del tokens
            corpus.file.unlink()
            record = _record(plan, corpus, trained)
            save_checkpoint(draft, trained.model, tokenizer, {RECORD: json.dumps(record, indent=2) + "\n"})
    except ValueError as error:
        raise ModelError(f"there is too little text: {error}.") from error
    return record


def trained_before(folder: Path, plan: CheckpointPlan) -> bool:
    """Return True if the folder holds the checkpoint of exactly this plan."""
    try:
        record = read_record(folder)
    except ModelError:
        return False
    wanted = [{"label": one.label, **one.record()} for one in plan.injections]
    injected = [{key: value for key, value in one.items() if key != "tokens"} for one in record["injected"]]
    return (
        injected == wanted
        and record.get("recipe") == asdict(plan.recipe)
        and record.get("seed") == plan.seed
        and record.get("background") == {**record.get("background", {}), **_background(plan)}
    )


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a checkpoint's training text.

    Raises:
        ModelError: The folder is not a checkpoint of the lab, or its record is invalid.
    """
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} is not a checkpoint of the lab: {RECORD} cannot be read ({error}).") from None
    try:
        _Record.model_validate(record)
    except ValidationError as error:
        raise ModelError(
            f"{folder} is not a checkpoint of the lab: {RECORD} is not as `harness lab train` writes it "
            f"({reasons(error, _Record)})."
        ) from None
    return cast("dict[str, Any]", record)


class _Injected(BaseModel):
    """A slice as :meth:`Injection.record` returns it, with its label and its tokens."""

    model_config = ConfigDict(strict=True)

    label: str
    file: str
    rows: str = Field(pattern=r"^\d+:\d+$")
    examples: int
    copies: int = Field(ge=0)
    sha256: str
    tokens: int


class _Record(BaseModel):
    """The fields of a record that commands read."""

    model_config = ConfigDict(strict=True)

    injected: list[_Injected]
    parameters: int
    tokens: int = Field(gt=0)


def _background(plan: CheckpointPlan) -> dict[str, Any]:
    source = "generated" if plan.background is None else str(plan.background)
    return {"source": source, "characters": plan.characters}


def _record(plan: CheckpointPlan, corpus: Corpus, trained: Trained) -> dict[str, Any]:
    injected = zip(plan.injections, corpus.injected, strict=True)
    return {
        "injected": [{"label": one.label, **one.record(), "tokens": size} for one, size in injected],
        "background": {**_background(plan), "documents": corpus.documents},
        "recipe": asdict(plan.recipe),
        "seed": plan.seed,
        "parameters": sum(weight.numel() for weight in trained.model.parameters()),
        "tokens": trained.tokens,
        "steps": trained.steps,
        "final_loss": round(trained.loss, 4),
        "seconds": round(trained.seconds, 1),
    }

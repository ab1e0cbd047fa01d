"""Small trainings: a tiny model with dropout that learns a few sentences, in a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli.conftest import folder
from tests.tiny_checkpoints import config_of, tokenizer

__all__ = ["folder"]

SCORED = {"adapter": "multiple_choice_separate_original", "metrics": ["multiple_choice_accuracy"]}
RUNS: list[Any] = [{"scenario": "quiz", "max_train_instances": 0, **SCORED}]

Trainers = Callable[..., Any]


@pytest.fixture(scope="session")
def tokens() -> Any:
    pytest.importorskip("accelerate")
    return tokenizer()


@pytest.fixture
def trainer(folder: Path, tokens: Any) -> Trainers:
    """Return a function that makes a Trainer in a folder with a small scenario; always the same training."""
    import torch
    import transformers

    torch.manual_seed(1)
    config = config_of("gpt2")
    config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.3
    weights = transformers.AutoModelForCausalLM.from_config(config).state_dict()
    rows = [{"input_ids": tokens(text)["input_ids"][:16]} for text in [f"the answer is {n} " * 8 for n in range(16)]]
    rows = [{**row, "labels": row["input_ids"]} for row in rows]

    def made(processing_class: Any = tokens, callbacks: Any = None, **arguments: Any) -> Any:
        model = transformers.AutoModelForCausalLM.from_config(config)
        model.load_state_dict(weights)
        given = {"output_dir": "run-7", "max_steps": 4, "save_strategy": "no", **arguments}
        return transformers.Trainer(
            model=model,
            args=transformers.TrainingArguments(
                per_device_train_batch_size=2,
                learning_rate=1e-2,
                report_to="none",
                use_cpu=True,
                seed=3,
                disable_tqdm=True,
                logging_steps=1,
                **given,
            ),
            train_dataset=rows,
            eval_dataset=rows[:2],
            data_collator=transformers.default_data_collator,
            processing_class=processing_class,
            callbacks=callbacks,
        )

    return made

"""Tiny checkpoints for all tests of models, each made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tiny_checkpoints import tokenizer, write_checkpoint

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    "<{{ message.role }}>{{ message.content }}</{{ message.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Any:
    """A byte-level BPE tokenizer of 320 tokens, trained on a few sentences."""
    return tokenizer()


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: Any) -> Callable[..., Path]:
    """Return a function that returns the folder of a random checkpoint of an architecture, made once."""
    made: dict[tuple[str, bool], Path] = {}

    def make(kind: str, *, chat: bool = False) -> Path:
        if (kind, chat) not in made:
            folder = tmp_path_factory.mktemp(f"{kind}-{chat}")
            write_checkpoint(folder, kind, tiny_tokenizer)
            if chat:
                (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
            made[kind, chat] = folder
        return made[kind, chat]

    return make

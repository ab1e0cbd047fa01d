"""What models have spent, kept in the response cache, so that a budget holds however often a sweep is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.inference.cache import ResponseCache


@dataclass(frozen=True, slots=True)
class Spent:
    """What an account has spent, in tokens."""

    account: str
    """The model and its server."""
    prompt: int
    """Of prompts."""
    completion: int
    """Of completions."""


def spending(cache: ResponseCache, models: Sequence[str] = ()) -> list[Spent]:
    """Return what accounts have spent, by name.

    Args:
        cache: The cache.
        models: Patterns of models' names, such as ``openai:*`` (default: all models).

    Raises:
        CacheError: The file cannot be read.
    """
    found = [Spent(*row) for row in cache.ask("SELECT account, prompt, completion FROM spending ORDER BY account")]
    return [one for one in found if not models or any(fnmatchcase(_model(one.account), model) for model in models)]


def forget(cache: ResponseCache, accounts: Sequence[Spent]) -> None:
    """Let accounts begin at 0 again.

    Raises:
        CacheError: The file cannot be written.
    """
    for one in accounts:
        cache.ask("DELETE FROM spending WHERE account = ?", (one.account,))


def _model(account: str) -> str:
    return account.rpartition(" at ")[0]

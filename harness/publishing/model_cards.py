"""Results for the repositories of models: a pull request to each with ``.eval_results`` files.

If the card of a model has a ``model-index``, the pull request adds the results to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from harness.errors import HarnessError
from harness.exports.hub_results import FOLDER, HubOptions, eval_results_file, model_index, overall_results
from harness.exports.model_identity import model_identity
from harness.exports.stored_run import StoredRun
from harness.plugins.registry import Registry
from harness.publishing.hub import Changes, HubRepository, check_name
from harness.publishing.model_index import UneditableCardError, merged_card
from harness.publishing.secrets import SecretCheck

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

CARD = "README.md"
TITLE = "Add evaluation results (holistic-harness)"
"""Title of the pull requests; a later one is added to the one that is open."""


@dataclass(frozen=True, slots=True)
class ModelResults:
    """Files for one model's repository."""

    repository: str
    """``owner/name``."""
    folder: Path
    """Holds them."""
    files: tuple[str, ...]
    """Their paths in the repository."""
    index: Sequence[Mapping[str, Any]]
    """The results as in ``model-index``."""


def model_results(
    runs: Sequence[StoredRun],
    folder: Path,
    registry: Registry,
    options: HubOptions,
    repositories: Mapping[str, str],
    token: str | None = None,
) -> tuple[list[ModelResults], list[str]]:
    """Write the files for each model, and return them with a sentence for each run that has none.

    Args:
        runs: The runs.
        folder: An empty folder.
        registry: The plugins.
        options: The source that the results name.
        repositories: The repository of a model whose name is not that of one, by the model's name in the runs.
        token: The token for the Hub, which must not be in any file.

    Raises:
        HarnessError: A repository's name is not one, a model that is named has no runs, or a file would hold a secret.
    """
    check = SecretCheck(token=token)
    named = {run.record.spec.model.name for run in runs}
    repositories = {_shortest(model, named): repository for model, repository in repositories.items()}
    for model in repositories:
        if model not in named:
            raise HarnessError(f"no run has the model {model!r}. Models: {', '.join(sorted(named))}.")
    found: dict[str, list[str]] = {}
    overall: dict[str, list[EvalResult]] = {}
    without = []
    for run in runs:
        model = run.record.spec.model.name
        identity = model_identity(run)
        repository = repositories.get(model) or (identity.id if identity.on_hub else None)
        if repository is None:
            without.append(
                f"{run.record.name}: {model} does not name a repository on the Hub; "
                f"add --model-repo {model}=OWNER/NAME."
            )
            continue
        try:
            name, content = eval_results_file(run, registry, options)
            overall.setdefault(repository, []).extend(overall_results(run, registry, options))
        except HarnessError as error:
            without.append(f"{run.record.name}: {error}")
            continue
        check.check_yaml(content, f"the file {FOLDER}/{name} for {repository}")
        place = folder / check_name(repository)
        (place / FOLDER).mkdir(parents=True, exist_ok=True)
        (place / FOLDER / name).write_text(content, encoding="utf-8")
        found.setdefault(repository, []).append(f"{FOLDER}/{name}")
    results = []
    for repository, files in sorted(found.items()):
        index = model_index(repository, overall[repository])[0]["results"]
        check.check_yaml(yaml.safe_dump(index, allow_unicode=True), f"the model-index for {repository}")
        results.append(ModelResults(repository, folder / repository, tuple(sorted(set(files))), index))
    return results, without


def _shortest(model: str, named: Set[str]) -> str:
    """Return a model's name as runs have it: they shorten ``hf:./x`` and ``hf:x/`` to ``hf:x``."""
    prefix, _, identifier = model.partition(":")
    short = f"{prefix}:{os.path.normpath(identifier)}"
    return short if model not in named and short in named else model


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was proposed to a model's repository."""

    address: str | None
    """The address of the pull request or commit; None if the repository has all files."""
    card_left_alone: bool
    """True if the card has a ``model-index`` that cannot be edited line by line, so it lacks the results."""


def propose(results: ModelResults, token: str) -> Proposal:
    """Open a pull request with the files that the model's repository lacks, or add them to the one that is open.

    Raises:
        PublishError: The Hub refuses, or cannot be reached.
    """
    repository = HubRepository("model", results.repository, token)
    changes, left_alone = _changes(results, repository, None)
    if changes.nothing:
        return Proposal(None, left_alone)
    reference = repository.open_pull_request(TITLE)
    if reference is None:
        return Proposal(repository.upload(results.folder, changes, TITLE, pull_request=True), left_alone)
    changes, left_alone = _changes(results, repository, reference)
    address = None if changes.nothing else repository.upload(results.folder, changes, TITLE, revision=reference)
    return Proposal(address, left_alone)


def _changes(results: ModelResults, repository: HubRepository, revision: str | None) -> tuple[Changes, bool]:
    """Return what to change in the repository, without removals, and whether the card cannot be edited.

    A changed card is written into the folder.
    """
    files = list(results.files)
    card = repository.read(CARD, revision)
    left_alone = False
    try:
        merged = None if card is None else merged_card(card, results.index)
    except UneditableCardError:
        merged, left_alone = None, True
    if merged is not None and merged != card:
        (results.folder / CARD).write_bytes(merged.encode("utf-8"))
        files.append(CARD)
    changes = repository.compare(results.folder, files, revision)
    return Changes(changes.new, changes.changed, (), changes.unchanged), left_alone

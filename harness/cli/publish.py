"""``harness publish``: upload results to the Hugging Face Hub."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.errors import HarnessError
from harness.output.display import counted
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.publishing.contents import Contents
    from harness.publishing.hub import Changes
    from harness.publishing.model_cards import ModelResults
    from harness.publishing.publish import Target


@click.command("publish")
@click.argument("results", type=options.EXISTING_FOLDER)
@click.option("--to", "repository", metavar="OWNER/NAME", required=True, help="Data set repository on the Hub.")
@click.option("--yes", is_flag=True, help="Upload. Without this option, only show what would be uploaded.")
@click.option("--suite", "suites", multiple=True, help="Publish only this suite of RESULTS. Repeatable.")
@click.option(
    "--samples",
    is_flag=True,
    help="Also publish questions, prompts, references and answers of samples, except of gated data. Models may be "
    "trained on what is public.",
)
@click.option("--site", is_flag=True, help="Add the web site, without samples.")
@click.option("--public", is_flag=True, help="Make a new repository public (default: private).")
@click.option("--force", is_flag=True, help="Publish even if the repository was not created by this command.")
@click.option(
    "--model-cards", is_flag=True, help="Also open a pull request with the results at each model's repository."
)
@click.option(
    "--model-repo",
    "model_repos",
    metavar="MODEL=OWNER/NAME",
    multiple=True,
    help="With --model-cards, the repository of a model, such as a local checkpoint. Repeatable.",
)
@click.option("-o", "--output", type=options.FOLDER, help="Also save the files in this new folder, for inspection.")
@options.plugins
def publish_command(
    results: Path,
    repository: str,
    yes: bool,
    suites: tuple[str, ...],
    samples: bool,
    site: bool,
    public: bool,
    force: bool,
    model_cards: bool,
    model_repos: tuple[str, ...],
    output: Path | None,
    plugins: tuple[Path, ...],
) -> None:
    """Upload the runs of RESULTS to a data set repository on the Hugging Face Hub, in one commit.

    RESULTS is a results folder, a suite's folder or a run's. Nothing is uploaded without --yes. A repeated upload
    changes only files that differ. Files of suites that are not in RESULTS stay as they are. Other runs of the suites
    in RESULTS are removed from the repository.
    """
    from harness.exports.hub_results import HubOptions
    from harness.exports.stored_run import stored_runs
    from harness.plugins.registry import default_registry
    from harness.publishing.contents import build_contents
    from harness.publishing.hub import check_name, endpoint, hub_token
    from harness.publishing.model_cards import model_results
    from harness.publishing.publish import find_target

    check_name(repository)
    if model_repos and not model_cards:
        raise click.UsageError("--model-repo needs --model-cards.")
    if output is not None and output.exists() and any(output.iterdir()):
        raise click.UsageError(f"{output} is not empty; --output takes a new folder.")
    token = hub_token() if yes else None
    runs = stored_runs(results, suites or None)
    registry = default_registry(plugins)
    suites_there = {run.record.suite for run in runs}
    target = _target_if_readable(repository, suites_there) if token is None else None
    target = target if token is None else find_target(repository, suites_there, token)
    with tempfile.TemporaryDirectory(prefix="harness-publish-") as temporary:
        folder = Path(temporary, "data set")
        folder.mkdir()
        others = {} if target is None else {"others": target.others}
        contents = build_contents(runs, folder, repository, registry, samples=samples, site=site, token=token, **others)
        proposals: list[ModelResults] = []
        if model_cards:
            source = HubOptions(source_url=f"{endpoint()}/datasets/{repository}", source_name="Evaluation results")
            finished = [run for run in runs if run.record.status == "ok"]
            proposals, without = model_results(
                finished, Path(temporary, "models"), registry, source, _pairs(model_repos), token
            )
            for sentence in without:
                say(f"Not proposed: {sentence}", err=True)
        if output is not None:
            _keep(contents, proposals, output)
        _show(contents, repository, proposals, public=public, samples=samples)
        if token is None or target is None:
            if target is not None:
                _show_changes(target, contents, force=force)
            say("Nothing was uploaded. Add --yes to upload.")
            return
        _upload(contents, target, token, proposals, public=public, force=force)


def _pairs(model_repos: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for one in model_repos:
        model, equals, repository = one.rpartition("=")
        if not equals or not model:
            raise click.UsageError(f"--model-repo takes MODEL=OWNER/NAME, not {one!r}.")
        pairs[model] = repository
    return pairs


def _show(contents: Contents, repository: str, proposals: list[ModelResults], *, public: bool, samples: bool) -> None:
    """Show what is uploaded where, file by file."""
    visible = "public" if public else "private"
    files = contents.files
    sizes = {file: (contents.folder / file).stat().st_size for file in files}
    say(f"Data set {repository} ({visible} if it is new): {len(files)} files, {_size(sum(sizes.values()))}.")
    shown = [file for file in files if not file.startswith(("results/", "site/"))]
    for file in shown:
        rows = contents.rows.get(file)
        say(f"  {file}: {_size(sizes[file])}" + ("" if rows is None else f", {counted(rows, 'row')}"))
    for folder, single, several in (
        ("results", "record of a run", "records of runs"),
        ("site", "file of the web site", "files of the web site"),
    ):
        inside = [size for file, size in sizes.items() if file.startswith(f"{folder}/")]
        if inside:
            say(f"  {folder}/: {len(inside):,} {single if len(inside) == 1 else several}, {_size(sum(inside))}")
    for one in proposals:
        say(f"Model {one.repository}: a pull request with {len(one.files)} {_files(len(one.files))}.")
        for file in one.files:
            say(f"  {file}")
        say("  README.md: the results are added to its model-index, if it has one")
    for sentence in contents.notes:
        say(f"Note: {sentence}")
    if contents.has_rows("samples"):
        say(
            "Note: the samples hold questions and answers of test sets. Models may be trained on what is public: keep "
            "the repository private, or gate it in its settings."
        )
    elif contents.has_rows("scores"):
        say("Texts of samples are not included (--samples adds them).")


def _target_if_readable(repository: str, suites: set[str]) -> Target | None:
    """Return the repository as it is; None, with a note, if it cannot be read."""
    from harness.publishing.hub import PublishError, known_token
    from harness.publishing.publish import find_target

    try:
        return find_target(repository, suites, known_token())
    except PublishError as error:
        say(f"Note: what would change in {repository} is unknown: {error}", err=True)
        return None


def _show_changes(target: Target, contents: Contents, *, force: bool) -> None:
    changes = target.changes(contents)
    say(f"In the repository: {_counted(changes)}.")
    runs = sum(file.startswith("results/") for file in changes.removed)
    if runs:
        say(
            f"Note: {counted(runs, 'run')} of {'this suite' if len(target.suites) == 1 else 'these suites'} in the "
            f"repository would be removed, since RESULTS does not have {'it' if runs == 1 else 'them'}."
        )
    if not force and (reason := target.refusal(changes)):
        say(f"Note: --yes would fail: {reason}")


def _counted(changes: Changes) -> str:
    counts = ((len(changes.new), "new"), (len(changes.changed), "changed"), (len(changes.removed), "removed"))
    return ", ".join([*(f"{count} {what}" for count, what in counts if count), f"{len(changes.unchanged)} unchanged"])


def _upload(
    contents: Contents, target: Target, token: str, proposals: list[ModelResults], *, public: bool, force: bool
) -> None:
    from harness.publishing.model_cards import propose
    from harness.publishing.publish import publish

    done = publish(contents, target, private=not public, force=force)
    changes = done.changes
    if changes.nothing:
        say(f"{done.address} is already up to date.")
    else:
        say(f"Published: {_counted(changes)}. {done.address}")
    problems = []
    for one in proposals:
        try:
            proposal = propose(one, token)
        except HarnessError as error:
            problems.append(str(error))
            continue
        say(f"{one.repository}: {proposal.address or 'is already up to date.'}")
        if proposal.card_left_alone:
            say(
                f"Note: the model-index in the card of {one.repository} cannot be edited line by line; it stays as "
                "it is, without these results.",
                err=True,
            )
    if problems:
        raise HarnessError("\n".join(problems))


def _keep(contents: Contents, proposals: list[ModelResults], output: Path) -> None:
    import shutil

    from harness.storage.durable import writing

    with writing(output):
        shutil.copytree(contents.folder, output, dirs_exist_ok=True)
        for one in proposals:
            shutil.copytree(one.folder, output / "models" / one.repository)


def _size(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _files(count: int) -> str:
    return "file" if count == 1 else "files"

"""``harness lock``: write down what results depend on, and compare it with the present."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.output.display import counted, json_text, visible
from harness.output.terminal import say


@click.command("lock")
@click.argument("folder", metavar="[RESULTS]", required=False, type=options.EXISTING_FOLDER)
@click.option("--check", is_flag=True, help="Compare the lock with the current state; exit 1 if anything differs.")
@click.option(
    "--wheels",
    type=options.EXISTING_FOLDER,
    help="Folder of the packages' wheels, made with `pip download`, to add hashes to the requirements.",
)
@options.data_dir
@options.plugins
@click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="With --check, permit what the runs need: code_execution, remote_code, server or files. Repeatable.",
)
@options.as_json
def lock_command(
    folder: Path | None,
    check: bool,
    wheels: Path | None,
    data_dir: Path | None,
    plugins: tuple[Path, ...],
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write what the results in RESULTS depend on to RESULTS/harness.lock.json.

    That is every installed package with a digest of its files, Python, the machine with its GPUs, driver and CUDA, and
    for each run its settings and the digests of model, data and plugins. harness.requirements.txt next to it has the
    packages for pip, with hashes if those of all packages are known.
    """
    from harness.runs.settings import results_folder
    from harness.verification.lock import LOCK_FILE, REQUIREMENTS_FILE, lock_changes, make_lock, read_lock, write_lock

    folder = folder or results_folder()
    if check and wheels:
        raise click.UsageError("--wheels is for writing a lock, not for --check.")
    if check:
        from harness.plugins.registry import default_registry
        from harness.verification.reasons import reason_values

        lock = read_lock(folder / LOCK_FILE)
        changes = list(lock_changes(lock, folder, default_registry(plugins), data_dir, allow))
        if as_json:
            say(json_text({"same": not changes, "differences": reason_values(changes)}))
        else:
            for change in changes:
                say(visible(str(change)))
            what = f"{counted(len(lock.packages), 'package')} and {counted(len(lock.runs), 'run')}"
            say(f"{counted(len(changes), 'difference')} from the lock of {what}, written {visible(lock.written)}.")
        if changes:
            sys.exit(1)
        return
    from harness.errors import DataError
    from harness.storage.results import find_runs

    def refuse(error: DataError) -> None:
        raise error

    records = find_runs(folder, set_aside=refuse)
    if not records:
        raise DataError("no runs in it; name the results folder, which holds the suites.", file=folder)
    lock = make_lock(records, wheels)
    write_lock(lock, folder)
    say(f"{folder / LOCK_FILE}: {counted(len(lock.packages), 'package')}, {counted(len(lock.runs), 'run')}.")
    hashed = sum(bool(package.archive_sha256) for package in lock.packages.values())
    say(f"{folder / REQUIREMENTS_FILE}: for pip; hashes are known for {counted(hashed, 'package')}.")

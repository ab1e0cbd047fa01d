"""``harness sign`` and ``harness verify``: sign a results folder, and check it against its signature."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.output.display import brief, counted, json_text, visible
from harness.output.terminal import say

MOST_SHOWN = 20
"""Differences of each kind that are listed; `--json` has all of them."""


@click.command("sign")
@click.argument("folder", required=False, metavar="[RESULTS]", type=options.EXISTING_FOLDER)
@click.option("--key", type=options.FILE, help="Private key: Ed25519 or ECDSA, in PEM or OpenSSH format.")
@click.option(
    "--new-key",
    type=options.FILE,
    help="Write a new Ed25519 key to this file, and its public key to the same name with .pub added.",
)
def sign_command(folder: Path | None, key: Path | None, new_key: Path | None) -> None:
    """Sign all files of RESULTS: a results folder, or the folder of a suite or a run.

    The signature is an in-toto statement in a DSSE envelope, RESULTS/results.intoto.json. The response cache and hidden
    files are not signed. The passphrase of an encrypted key is read from HARNESS_SIGNING_PASSPHRASE, or asked for.

    \b
    harness sign --new-key signing.key
    harness sign results --key signing.key
    """  # noqa: D301 - click wants the character itself
    from harness.verification.keys import PASSPHRASE
    from harness.verification.keys import new_key as write_new_key
    from harness.verification.signing import sign_results

    if new_key is not None:
        if folder is not None or key is not None:
            raise click.UsageError("--new-key only writes a key; sign with it in a second command.")
        passphrase = _new_passphrase()
        public = write_new_key(new_key, passphrase)
        say(f"{new_key}: the private key{'' if passphrase else ', not encrypted'}. Keep it secret.")
        if not passphrase:
            say(f"To encrypt a new key, set {PASSPHRASE} or enter a passphrase.")
        say(f"{public}: the public key. Give it to those who verify.")
        return
    if folder is None or key is None:
        raise click.UsageError("name a results folder and your private key: harness sign RESULTS --key FILE.")
    done = sign_results(folder, key, _passphrase)
    what = f"{counted(done.files, 'file')} of {counted(done.runs, 'run')}"
    say(f"{done.file}: {what} signed with the key {brief(done.key, 16)}.")


@click.command("verify")
@click.argument("folder", metavar="RESULTS", type=options.EXISTING_FOLDER)
@click.option("--key", required=True, type=options.FILE, help="Public key of the signer, in PEM or OpenSSH format.")
@options.as_json
def verify_command(folder: Path, key: Path, as_json: bool) -> None:
    """Check that no file of RESULTS was changed, removed or added since `harness sign` signed it.

    Exit codes: 0 if none was; 1 if files differ; 2 if the check fails, for example because the signature is damaged
    or was made with another key.
    """
    from harness.verification.signing import verify_results

    found = verify_results(folder, key)
    if as_json:
        value = {name: getattr(found, name) for name in ("key", "files", "changed", "missing", "added")}
        say(json_text({"same": found.same, **value}))
    else:
        said = {"changed": [f"{visible(name)}: {why}" for name, why in found.changed.items()]}
        said |= {"missing": [*map(visible, found.missing)], "added": [*map(visible, found.added)]}
        for kind, lines in said.items():
            for line in lines[:MOST_SHOWN]:
                say(f"{kind}: {line}")
            if len(lines) > MOST_SHOWN:
                say(f"{kind}: and {counted(len(lines) - MOST_SHOWN, 'more file')}")
        verdict = "Verified" if found.same else "CHANGED since signing"
        say(f"{verdict}: {counted(found.files, 'file')} signed with the key {brief(found.key, 16)}.")
    if not found.same:
        sys.exit(1)


def _passphrase(file: Path) -> str:
    from harness.errors import DataError
    from harness.verification.keys import PASSPHRASE

    if not sys.stdin.isatty():
        raise DataError(f"the key is encrypted; set {PASSPHRASE} to its passphrase.", file=file)
    return str(click.prompt(f"Passphrase of {visible(str(file))}", hide_input=True, err=True))


def _new_passphrase() -> str:
    import os

    from harness.verification.keys import PASSPHRASE

    given = os.environ.get(PASSPHRASE)
    if given is not None or not sys.stdin.isatty():
        return given or ""
    text = "Passphrase (empty for none)"
    return str(click.prompt(text, default="", show_default=False, hide_input=True, confirmation_prompt=True, err=True))

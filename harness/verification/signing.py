"""Signs a results folder, and verifies that it still is what was signed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.output.display import visible
from harness.storage.durable import write_whole, writing
from harness.storage.example_files import check_examples, has_examples
from harness.storage.results import RUN_FILE, RunRecord, read_run
from harness.verification.envelope import signed, verified
from harness.verification.keys import AskPassphrase, load_public, load_signer
from harness.verification.results_files import SIGNATURE_FILE, covered_files, digest_of, is_inside
from harness.verification.statement import make_statement, signed_files


@dataclass(frozen=True, slots=True)
class SignedResults:
    """What was signed."""

    file: Path
    """The file with the signature."""
    key: str
    """Id of the key."""
    files: int
    """Number of files that the signature covers."""
    runs: int
    """Number of runs among them."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How the files of a folder differ from what was signed; paths are relative to the folder."""

    key: str
    """Id of the key that signed."""
    files: int
    """Number of files that the signature covers."""
    changed: Mapping[str, str]
    """Files with another content, with what is wrong."""
    missing: Sequence[str]
    """Files that are not there."""
    added: Sequence[str]
    """Files that are not signed."""

    @property
    def same(self) -> bool:
        """True if every signed file is there, unchanged, and no other."""
        return not (self.changed or self.missing or self.added)


def sign_results(folder: Path, key: Path, ask: AskPassphrase) -> SignedResults:
    """Sign all files of a results folder; an earlier signature is replaced.

    Args:
        folder: A results folder, or the folder of a suite or a run.
        key: The private key.
        ask: Asks for the key's passphrase.

    Raises:
        DataError: The folder has no run, a run's files do not fit together, or the key cannot be used.
        StorageError: The signature cannot be written.
    """
    signer = load_signer(key, ask)
    names = list(covered_files(folder))
    if wrong := next((name for name in names if visible(name) != name or not is_inside(name)), None):
        raise DataError(f"the file name {visible(wrong)} has characters that a signature cannot cover.", file=folder)
    records = list(_records(folder, names))
    if not records:
        raise DataError(f"no {RUN_FILE} in it; name a results folder, or the folder of a suite or a run.", file=folder)
    try:
        files = {name: digest_of(folder, name) for name in names}
    except FileNotFoundError as error:
        raise DataError(
            f"{error} has just been removed; sign the folder when no sweep is running.", file=folder
        ) from None
    content = signed(make_statement(files, records), signer)
    file = folder / SIGNATURE_FILE
    with writing(file):
        write_whole(file, content)
    return SignedResults(file, signer.public_key.keyid, len(files), len(records))


def _records(folder: Path, names: Sequence[str]) -> Iterator[RunRecord]:
    """Yield the runs of a folder; those whose files do not fit together are not signed."""
    for name in names:
        if name.rpartition("/")[2] == RUN_FILE and not (folder / name).is_symlink():
            record = read_run((folder / name).parent)
            if has_examples(record):
                check_examples(record)
            yield record


def verify_results(folder: Path, key: Path) -> Verification:
    """Compare a results folder with what was signed.

    Args:
        folder: The folder, with its signature.
        key: The public key.

    Raises:
        DataError: There is no signature, it is damaged or of another key, or the key cannot be read.
    """
    file = folder / SIGNATURE_FILE
    public = load_public(key)
    expected = signed_files(verified(file, public), file)
    changed, missing = {}, []
    for name, digest in expected.items():
        try:
            if digest_of(folder, name) != digest:
                changed[name] = "its content differs"
        except FileNotFoundError:
            missing.append(name)
        except DataError as error:
            changed[name] = str(error)
    added = [name for name in covered_files(folder) if name not in expected]
    return Verification(public.keyid, len(expected), changed, missing, added)

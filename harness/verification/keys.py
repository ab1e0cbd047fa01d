"""Keys that sign results: Ed25519, or ECDSA on P-256, P-384 or P-521, in PEM or OpenSSH's formats."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError, HarnessError
from harness.installation import install_advice

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey

PASSPHRASE = "HARNESS_SIGNING_PASSPHRASE"  # noqa: S105 - the name of a variable
"""The environment variable that can hold the private key's passphrase."""

KINDS = "Ed25519, or ECDSA on P-256, P-384 or P-521"
MOST_BYTES = 100_000
"""Size of the largest key file that is read."""

_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"

AskPassphrase = Callable[[Path], str]
"""Asks the user for the passphrase of a key file."""


def check_installed() -> None:
    """Check that the libraries for signatures are there.

    Raises:
        HarnessError: They are not; the message says how to install them.
    """
    try:
        import cryptography.hazmat.primitives.serialization  # noqa: F401
        import securesystemslib.dsse  # noqa: F401
    except ImportError:
        raise HarnessError(f"signatures need more libraries: {install_advice('sign')}.") from None


def load_signer(file: Path, ask: AskPassphrase) -> CryptoSigner:
    """Return what signs with a private key.

    Args:
        file: The private key: PEM (PKCS #8, as OpenSSL writes it) or OpenSSH's format.
        ask: Asks for the passphrase of an encrypted key, unless ``HARNESS_SIGNING_PASSPHRASE`` is set.

    Raises:
        DataError: It cannot be read, is not a private key of a known kind, or the passphrase is wrong.
    """
    check_installed()
    from securesystemslib.signer import CryptoSigner

    content = _content(file)
    key = _private(content, file, None)
    if key is None:
        key = _private(content, file, os.environ.get(PASSPHRASE) or ask(file))
    public = _known(key.public_key(), file)
    return CryptoSigner(key, public)


def load_public(file: Path) -> SSlibKey:
    """Return a public key: PEM (SubjectPublicKeyInfo), or a line as ``ssh-keygen`` writes it.

    Raises:
        DataError: It cannot be read, or is not a public key of a known kind.
    """
    check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    content = _content(file)
    if b"PRIVATE KEY" in content:
        raise DataError("this is a private key; name the public key that belongs to it.", file=file)
    try:
        pem = b"-----BEGIN" in content
        return _known(load_pem_public_key(content) if pem else load_ssh_public_key(content.strip()), file)
    except (ValueError, UnsupportedAlgorithm):
        raise DataError(f"not a public key in PEM or OpenSSH's format ({KINDS}).", file=file) from None


def new_key(file: Path, passphrase: str) -> Path:
    """Write a new Ed25519 key, which only its owner can read, and its public key beside it.

    Args:
        file: The private key's file, which must not exist.
        passphrase: Encrypts it; empty for none.

    Returns:
        The public key's file: the same name with ``.pub``.

    Raises:
        DataError: One of the files exists, or cannot be written.
    """
    check_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    public_file = file.with_name(f"{file.name}.pub")
    for one in (file, public_file):
        if one.exists() or one.is_symlink():
            raise DataError("exists already; a key is never overwritten.", file=one)
    key = Ed25519PrivateKey.generate()
    locked = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for one, content, mode in ((file, private, 0o600), (public_file, public, 0o644)):
        try:
            descriptor = os.open(one, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
        except OSError as error:
            raise DataError(f"cannot be written ({error.strerror or error}).", file=one) from error
    return public_file


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"the key cannot be read ({error.strerror or error}).", file=file) from None
    if len(content) > MOST_BYTES:
        raise DataError(f"larger than {MOST_BYTES:,} bytes, so it is not a key.", file=file)
    return content


def _private(content: bytes, file: Path, passphrase: str | None) -> Any:
    """Return a private key; None if it is encrypted and there is no passphrase."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    if b"PRIVATE KEY" not in content:
        if b"PUBLIC KEY" in content or content.lstrip().startswith((b"ssh-", b"ecdsa-")):
            raise DataError("this is a public key; signing needs the private key.", file=file)
        raise DataError(f"not a private key in PEM or OpenSSH's format ({KINDS}).", file=file)
    load = load_ssh_private_key if content.lstrip().startswith(_OPENSSH) else load_pem_private_key
    secret = None if passphrase is None else passphrase.encode()
    try:
        return load(content, secret)
    except TypeError:  # it is encrypted
        if passphrase is None:
            return None
        raise DataError("the passphrase is empty, but the key is encrypted.", file=file) from None
    except UnsupportedAlgorithm as error:
        raise DataError(f"the key cannot be used here: {error}.", file=file) from None
    except ValueError as error:
        if passphrase is None and "password" in str(error).lower():
            return None
        if passphrase is not None:
            raise DataError("the passphrase is wrong, or the key is damaged.", file=file) from None
        raise DataError(f"a damaged private key, or one that is not {KINDS}.", file=file) from None


def _known(public: Any, file: Path) -> SSlibKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from securesystemslib.signer import SSlibKey

    curves = ("secp256r1", "secp384r1", "secp521r1")
    usable = isinstance(public, Ed25519PublicKey) or (
        isinstance(public, EllipticCurvePublicKey) and public.curve.name in curves
    )
    if not usable:
        raise DataError(f"this kind of key is not supported; use {KINDS}.", file=file)
    return SSlibKey.from_crypto(public)

"""The signed envelope: Dead Simple Signing Envelope (DSSE 1.0), as in-toto and Sigstore use it."""

from __future__ import annotations

import binascii
import json
from pathlib import Path
from typing import TYPE_CHECKING

from harness.data.strict_json import parse_json
from harness.errors import DataError, StrictJsonError, shown
from harness.output.display import brief
from harness.storage.regular_files import read_regular

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 256 * 1024 * 1024
"""Size of the largest envelope that is read."""


def signed(payload: bytes, signer: CryptoSigner) -> bytes:
    """Return the envelope of a payload as JSON, with one signature."""
    from securesystemslib.dsse import Envelope

    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return (json.dumps(envelope.to_dict(), indent=2) + "\n").encode()


def verified(file: Path, key: SSlibKey) -> bytes:
    """Return the payload of an envelope that a key has signed.

    The key id in the envelope is not signed, so it decides nothing.

    Raises:
        DataError: There is no envelope, it is damaged, or the key did not sign it.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
    from securesystemslib.signer import Signature

    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES:,} bytes, so it is not a signature.", file=file)
        value = parse_json(read_regular(file).decode("utf-8"))
        envelope = Envelope.from_dict(value)
    except FileNotFoundError:
        raise DataError(
            "the folder is not signed: there is no such file. Sign it with harness sign.", file=file
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    except StrictJsonError as error:
        raise DataError(f"the signature is damaged: it {error}.", file=file) from None
    except (KeyError, TypeError, AttributeError, ValueError, binascii.Error):
        need = "payload, payloadType and signatures, in base64"
        raise DataError(f"the signature is damaged: it is not a DSSE envelope with {need}.", file=file) from None
    if envelope.payload_type != PAYLOAD_TYPE:
        found = shown(envelope.payload_type, 60)
        raise DataError(f"the signed content has the type {found}, not {PAYLOAD_TYPE}.", file=file)
    for signature in envelope.signatures.values():
        try:
            key.verify_signature(Signature(key.keyid, signature.signature), envelope.pae())
        except (UnverifiedSignatureError, VerificationError):
            continue
        return envelope.payload
    names = [brief(str(name), 16) for name in envelope.signatures]
    if key.keyid in envelope.signatures:
        raise DataError("the signature does not match its content: the statement was changed after signing.", file=file)
    by = f"the signature names the key {names[0]}" if len(names) == 1 else f"it has {len(names)} signatures"
    raise DataError(f"not signed with this key, whose id is {brief(key.keyid, 16)}; {by}.", file=file)

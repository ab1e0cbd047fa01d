"""The signature is what other programs expect: in-toto's own bindings, and plain cryptography."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.python.run import run
from harness.storage.results import find_runs
from harness.verification.keys import new_key
from harness.verification.signing import sign_results, verify_results

pytest.importorskip("securesystemslib")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with one run of the fake model."""
    run(runs=["sample_multiple_choice"], models=["fake:0"], results_dir=tmp_path / "results", progress=False)
    return tmp_path / "results"


def test_in_totos_own_bindings_read_the_statement(results: Path, tmp_path: Path) -> None:
    json_format = pytest.importorskip("google.protobuf.json_format")
    statements = pytest.importorskip("in_toto_attestation.v1.statement")
    new_key(tmp_path / "k", "")
    envelope = json.loads(sign_results(results, tmp_path / "k", str).file.read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = statements.Statement([], "", {})
    json_format.Parse(base64.b64decode(envelope["payload"]), statement.pb)  # refuses unknown fields
    statement.validate()
    (one,) = statement.pb.predicate["runs"]
    assert one["result"]["metric"] == "multiple_choice_accuracy"
    assert one["result"]["sampleSize"] == 40
    assert {subject.name.rpartition("/")[2] for subject in statement.pb.subject} == {"run.json", "examples.jsonl.gz"}


def test_the_reference_implementation_of_the_envelope_verifies_it(results: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    public = new_key(tmp_path / "k", "")
    envelope = Envelope.from_dict(json.loads(sign_results(results, tmp_path / "k", str).file.read_text()))
    key = SSlibKey.from_crypto(load_pem_public_key(public.read_bytes()))
    assert envelope.verify([key], 1) == {key.keyid: key}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_makes_keys_and_verifies_signatures(results: Path, tmp_path: Path) -> None:
    key, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"

    def openssl(*arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    openssl("pkey", "-in", key, "-pubout", "-out", public)
    envelope = json.loads(sign_results(results, key, str).file.read_text())
    assert verify_results(results, public).same
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    (tmp_path / "signed").write_bytes(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
    (tmp_path / "signature").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    openssl("dgst", "-sha256", "-verify", public, "-signature", tmp_path / "signature", tmp_path / "signed")


def test_signing_again_replaces_the_signature(results: Path, tmp_path: Path) -> None:
    public = new_key(tmp_path / "k", "")
    sign_results(results, tmp_path / "k", str)
    (results / "note.txt").write_text("seen")
    assert verify_results(results, public).added == ["note.txt"]
    assert sign_results(results, tmp_path / "k", str).files == 3
    assert verify_results(results, public).same


def test_a_hidden_run_which_no_signature_covers_is_no_result(results: Path, tmp_path: Path) -> None:
    public = new_key(tmp_path / "k", "")
    sign_results(results, tmp_path / "k", str)
    (signed,) = (one.directory for one in find_runs(results))
    shutil.copytree(signed, signed.with_name(f".{signed.name}"))
    assert verify_results(results, public).same
    assert [one.directory for one in find_runs(results)] == [signed]

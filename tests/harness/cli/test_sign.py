"""``harness sign`` and ``harness verify``."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness

pytest.importorskip("securesystemslib")

SIGNATURE = Path("results/results.intoto.json")


@pytest.fixture
def signed(harness: Harness, folder: Path) -> Path:
    """A results folder with two runs, signed with the key ``k``, whose public key is ``k.pub``."""
    assert harness("run", "-r", "quiz", "-m", "fake:0", "-m", "fake:1", "--plugin", "quiz.yaml").code == 0
    assert harness("sign", "--new-key", "k").code == 0
    said = harness("sign", "results", "--key", "k")
    assert (said.code, said.err) == (0, "")
    assert "4 files of 2 runs signed" in said.out
    return folder / "results"


def one_run(results: Path) -> Path:
    return sorted(results.glob("*/*/run.json"))[0].parent


def change_examples(results: Path) -> None:
    (one_run(results) / "examples.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))


def change_one_byte_of_a_number(results: Path) -> None:
    file = one_run(results) / "run.json"
    text = file.read_text()
    file.write_text(text.replace('"mean": 0.', '"mean": 1.', 1))
    assert file.read_text() != text


def test_what_was_signed_is_verified_and_the_cache_does_not_matter(harness: Harness, signed: Path) -> None:
    (signed / "responses.sqlite").write_bytes(b"another")
    said = harness("verify", "results", "--key", "k.pub")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Verified: 4 files")


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (change_examples, "changed"),
        (change_one_byte_of_a_number, "changed"),
        (lambda results: (one_run(results) / "run.json").unlink(), "missing"),
        (lambda results: shutil.rmtree(one_run(results)), "missing"),
        (lambda results: (results / "more.json").write_text("{}"), "added"),
        (lambda results: (results / "linked").symlink_to("/etc"), "added"),
    ],
)
def test_each_difference_is_named(harness: Harness, signed: Path, damage: Callable[[Path], object], kind: str) -> None:
    damage(signed)
    said = harness("verify", "results", "--key", "k.pub")
    assert (said.code, said.err) == (1, "")
    assert {line.split(":")[0] for line in said.out.splitlines()[:-1]} == {kind}
    assert "CHANGED since signing" in said.out
    found = json.loads(harness("verify", "results", "--key", "k.pub", "--json").out)
    assert not found["same"]
    assert found[kind]
    assert not any(found[other] for other in {"changed", "missing", "added"} - {kind})


def test_a_link_to_the_same_content_is_a_change(harness: Harness, signed: Path, folder: Path) -> None:
    run = one_run(signed)
    shutil.move(run / "run.json", folder / "elsewhere.json")
    (run / "run.json").symlink_to(folder / "elsewhere.json")
    said = harness("verify", "results", "--key", "k.pub")
    assert said.code == 1
    assert "is a symbolic link" in said.out
    shutil.move(run, folder / "run")
    run.symlink_to(folder / "run")
    said = harness("verify", "results", "--key", "k.pub")
    assert said.code == 1
    assert "is a symbolic link" in said.out


def test_a_pipe_in_place_of_a_file_is_not_waited_for(harness: Harness, signed: Path) -> None:
    file = one_run(signed) / "run.json"
    file.unlink()
    os.mkfifo(file)
    assert "not a regular file" in harness("verify", "results", "--key", "k.pub").out


def test_another_key_is_one_sentence(harness: Harness, signed: Path) -> None:
    harness("sign", "--new-key", "other")
    said = harness("verify", "results", "--key", "other.pub")
    assert (said.code, said.out) == (2, "")
    assert "not signed with this key" in said.err
    assert said.err.count("\n") == 1


def payload_named(name: str) -> bytes:
    subject = {"name": name, "digest": {"sha256": "0" * 64}}
    statement = {"_type": "https://in-toto.io/Statement/v1", "subject": [subject], "predicate": {}}
    return json.dumps({**statement, "predicateType": "urn:x-holistic-harness:evaluation-results:v1"}).encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "is not signed"),
        ("", "is damaged"),
        ("[]", "not a DSSE envelope"),
        ('{"payload": 1, "payloadType": "x", "signatures": []}', "not a DSSE envelope"),
        ('{"payload": "!", "payloadType": "x", "signatures": []}', "not a DSSE envelope"),
        ('{"payload": "", "payloadType": "x", "signatures": []}', "has the type 'x'"),
        (
            '{"payload": "", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
            "not signed with this key",
        ),
    ],
)
def test_a_damaged_envelope_is_one_sentence(harness: Harness, signed: Path, content: str | None, expected: str) -> None:
    SIGNATURE.unlink() if content is None else SIGNATURE.write_text(content)
    said = harness("verify", "results", "--key", "k.pub")
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert said.err.count("\n") == 1


def test_a_changed_statement_is_found(harness: Harness, signed: Path) -> None:
    envelope = json.loads(SIGNATURE.read_text())
    payload = base64.b64decode(envelope["payload"]).replace(b'"mean": "0', b'"mean": "1')
    SIGNATURE.write_text(json.dumps({**envelope, "payload": base64.b64encode(payload).decode()}))
    said = harness("verify", "results", "--key", "k.pub")
    assert said.code == 2
    assert "changed after signing" in said.err


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a//b", "a/../../b", "C:/x", "a\\b", ".", ""])
def test_a_statement_cannot_name_a_path_outside(harness: Harness, signed: Path, name: str) -> None:
    from harness.verification.envelope import signed as envelope_of
    from harness.verification.keys import load_signer

    SIGNATURE.write_bytes(envelope_of(payload_named(name), load_signer(Path("k"), str)))
    said = harness("verify", "results", "--key", "k.pub")
    assert said.code == 2
    assert "outside of the folder" in said.err


def test_the_key_id_in_the_envelope_decides_nothing(harness: Harness, signed: Path) -> None:
    envelope = json.loads(SIGNATURE.read_text())
    envelope["signatures"][0]["keyid"] = "mine"
    SIGNATURE.write_text(json.dumps(envelope))
    assert harness("verify", "results", "--key", "k.pub").code == 0


def test_results_that_do_not_fit_together_are_not_signed(harness: Harness, signed: Path) -> None:
    change_examples(signed)
    before = SIGNATURE.read_bytes()
    said = harness("sign", "results", "--key", "k")
    assert said.code == 2
    assert "not the examples that run.json describes" in said.err
    assert SIGNATURE.read_bytes() == before


def test_links_and_odd_names_are_not_signed(harness: Harness, signed: Path) -> None:
    link = signed / "link"
    link.symlink_to("/etc/hostname")
    assert "link is a symbolic link" in harness("sign", "results", "--key", "k").err
    link.unlink()
    (signed / "a\nb").write_text("")
    assert r"a\nb has characters" in harness("sign", "results", "--key", "k").err


def test_a_folder_without_runs_is_not_signed(harness: Harness, signed: Path, folder: Path) -> None:
    (folder / "empty").mkdir()
    said = harness("sign", "empty", "--key", "k")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "no run.json" in said.err


def test_a_single_run_can_be_signed(harness: Harness, signed: Path) -> None:
    run = str(one_run(signed))
    assert "2 files of 1 run signed" in harness("sign", run, "--key", "k").out
    assert harness("verify", run, "--key", "k.pub").code == 0


def test_a_key_is_private_and_never_overwritten(harness: Harness, signed: Path) -> None:
    assert Path("k").stat().st_mode & 0o777 == 0o600
    before = Path("k").read_bytes()
    said = harness("sign", "--new-key", "k")
    assert (said.code, Path("k").read_bytes()) == (2, before)
    Path("k").unlink()
    assert harness("sign", "--new-key", "k").code == 2  # its public key is there


def test_a_new_key_that_is_not_encrypted_says_so(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_SIGNING_PASSPHRASE", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())  # no terminal
    said = harness("sign", "--new-key", "plain")
    assert said.code == 0
    assert "plain: the private key, not encrypted." in said.out
    assert "HARNESS_SIGNING_PASSPHRASE" in said.out
    monkeypatch.setenv("HARNESS_SIGNING_PASSPHRASE", "open sesame")
    assert "not encrypted" not in harness("sign", "--new-key", "locked").out


@pytest.mark.parametrize("model", [None, {}, {"fingerprint": None}, {"fingerprint": {"checkpoint": ["x"]}}])
def test_a_run_of_another_program_can_be_signed(harness: Harness, signed: Path, model: object) -> None:
    file = one_run(signed) / "run.json"
    value = json.loads(file.read_text())
    value["provenance"]["model"] = model
    file.write_text(json.dumps(value))
    assert harness("sign", "results", "--key", "k").code == 0
    assert harness("verify", "results", "--key", "k.pub").code == 0


def test_an_encrypted_key_needs_its_passphrase(harness: Harness, signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SIGNING_PASSPHRASE", "open sesame")
    harness("sign", "--new-key", "locked")
    assert b"ENCRYPTED" in Path("locked").read_bytes()
    assert harness("sign", "results", "--key", "locked").code == 0
    monkeypatch.setenv("HARNESS_SIGNING_PASSPHRASE", "wrong")
    assert "the passphrase is wrong" in harness("sign", "results", "--key", "locked").err
    monkeypatch.delenv("HARNESS_SIGNING_PASSPHRASE")
    monkeypatch.setattr("sys.stdin", io.StringIO())  # no terminal
    assert "set HARNESS_SIGNING_PASSPHRASE" in harness("sign", "results", "--key", "locked").err
    assert harness("verify", "results", "--key", "locked.pub").code == 0


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
@pytest.mark.parametrize(
    ("kind", "bits", "passphrase"), [("ed25519", "256", ""), ("ed25519", "256", "s"), ("ecdsa", "384", "")]
)
def test_keys_of_openssh_can_be_used(
    harness: Harness, signed: Path, monkeypatch: pytest.MonkeyPatch, kind: str, bits: str, passphrase: str
) -> None:
    monkeypatch.setenv("HARNESS_SIGNING_PASSPHRASE", passphrase)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-b", bits, "-N", passphrase, "-f", "ssh"], check=True)
    said = harness("sign", "results", "--key", "ssh")
    assert said.code == 0, said.err
    assert harness("verify", "results", "--key", "ssh.pub").code == 0


@pytest.mark.parametrize(
    ("option", "content", "expected"),
    [
        ("k.pub", None, "signing needs the private key"),
        ("none", None, "cannot be read"),
        ("text", "hello", "not a private key"),
        ("cut", "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n", "damaged private key"),
    ],
)
def test_a_key_that_cannot_sign_is_one_sentence(
    harness: Harness, signed: Path, option: str, content: str | None, expected: str
) -> None:
    if content is not None:
        Path(option).write_text(content)
    said = harness("sign", "results", "--key", option)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert expected in said.err


def test_a_private_key_is_no_public_key(harness: Harness, signed: Path) -> None:
    assert "this is a private key" in harness("verify", "results", "--key", "k").err


def test_other_kinds_of_keys_are_refused(harness: Harness, signed: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256K1())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    Path("bitcoin").write_bytes(key.private_bytes(*form))
    assert "use Ed25519, or ECDSA" in harness("sign", "results", "--key", "bitcoin").err


@pytest.mark.parametrize("arguments", [("results",), ("--key", "k"), ("results", "--new-key", "n"), ()])
def test_incomplete_commands_are_explained(harness: Harness, signed: Path, arguments: tuple[str, ...]) -> None:
    said = harness("sign", *arguments)
    assert said.code == 2
    assert "Usage" in said.err


@pytest.mark.parametrize("name", ["results.intoto.json", "run.json", "examples.jsonl.gz", "harness.lock.json", "more"])
def test_a_named_pipe_is_one_message_of_every_command(harness: Harness, signed: Path, name: str) -> None:
    folder = one_run(signed) if name in ("run.json", "examples.jsonl.gz") else signed
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    place = (folder / name).relative_to(signed.parent)

    def said(*command: str) -> tuple[int, str]:
        found = harness(*command)
        return found.code, found.out + found.err

    refused = f"{place}: not a regular file."
    if name == "results.intoto.json":
        assert said("verify", "results", "--key", "k.pub") == (2, f"{refused}\n")
        assert said("sign", "results", "--key", "k")[0] == 0  # which replaces it
        assert said("verify", "results", "--key", "k.pub")[0] == 0
        return
    code, text = said("verify", "results", "--key", "k.pub")
    assert code == 1
    assert f"{place.relative_to('results')}" in text
    assert "not a regular file" in said("sign", "results", "--key", "k")[1]
    if name == "run.json":
        assert said("lock", "results") == (2, f"{refused}\n")
    if name == "harness.lock.json":
        assert said("lock", "results", "--check") == (2, f"{refused}\n")
    if name in ("run.json", "examples.jsonl.gz"):
        assert refused in said("reproduce", str(folder), "--plugin", "quiz.yaml")[1]
        assert refused in said("export", str(folder), "--to", "lm-eval", "-o", "out")[1]

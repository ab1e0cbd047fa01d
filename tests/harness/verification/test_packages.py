"""Digests of installed packages, and requirements that pip accepts."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from harness.verification.packages import Package, _files_digest, _package, requirements


def wheel_of(folder: Path, name: str, content: str = "x = 1\n") -> Path:
    """Write a wheel with one module."""
    files = {
        f"{name}.py": content,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text)}\n"
    files[f"{name}-1.0.dist-info/RECORD"] = f"{record}{name}-1.0.dist-info/RECORD,,\n"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def pip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def installed(wheel: Path, target: Path) -> PathDistribution:
    done = pip("install", "--no-index", "--no-deps", "--target", target, wheel)
    assert done.returncode == 0, done.stderr
    return PathDistribution(next(target.glob("*.dist-info")))


@pytest.mark.slow
def test_the_digest_is_of_the_wheel_and_not_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    wheel = wheel_of(tmp_path, "toy")
    first, second = installed(wheel, tmp_path / "a"), installed(wheel, tmp_path / "b")
    changed = installed(wheel_of(tmp_path / "other", "toy", "x = 2\n"), tmp_path / "c")
    assert _files_digest(first) == _files_digest(second) is not None
    assert _files_digest(changed) != _files_digest(first)
    assert _package(first, []).source == wheel.as_uri()
    assert _package(first, []).archive_sha256 == (hashlib.sha256(wheel.read_bytes()).hexdigest(),)


@pytest.mark.slow
def test_pip_accepts_the_hashes_and_refuses_others(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, "toy")
    for digest, fits in ((hashlib.sha256(wheel.read_bytes()).hexdigest(), True), ("0" * 64, False)):
        lines = requirements({"toy": Package(version="1.0", archive_sha256=(digest,))})
        (tmp_path / "requirements.txt").write_text("\n".join(lines))
        options = "--dry-run", "--no-index", "--no-deps", "--require-hashes", "--find-links", tmp_path
        done = pip("install", *options, "-r", tmp_path / "requirements.txt")
        assert (done.returncode == 0) is fits, done.stderr


def installed_from(tmp_path: Path, origin: object) -> Package:
    """Return the package ``toy``, whose direct_url.json says where it came from."""
    folder = tmp_path / "toy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (folder / "direct_url.json").write_text(json.dumps(origin))
    return _package(PathDistribution(folder), [])


GIT = {"vcs": "git", "commit_id": "0123abc", "requested_revision": "main"}


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ({"url": "https://example.org/r.git", "vcs_info": GIT}, "git+https://example.org/r.git@0123abc"),
        (
            {"url": "https://example.org/r.git", "vcs_info": GIT, "subdirectory": "a/b"},
            "git+https://example.org/r.git@0123abc#subdirectory=a/b",
        ),
        ({"url": "ssh://git@example.org/r.git", "vcs_info": GIT}, "git+ssh://git@example.org/r.git@0123abc"),
        ({"url": "https://me:secret@example.org/r.git", "vcs_info": GIT}, "git+https://example.org/r.git@0123abc"),
        ({"url": "https://me:secret@example.org/p.zip", "archive_info": {}}, "https://example.org/p.zip"),
        ({"url": "https://example.org/p.whl?token=secret#secret", "archive_info": {}}, "https://example.org/p.whl"),
        (
            {"url": "https://example.org/p.zip", "archive_info": None, "subdirectory": "a b\n#"},
            "https://example.org/p.zip#subdirectory=a%20b%0A%23",
        ),
    ],
)
def test_a_source_is_for_pip_and_without_credentials(tmp_path: Path, origin: object, source: str) -> None:
    package = installed_from(tmp_path, origin)
    assert package.source == source
    assert list(requirements({"toy": package}))[-1] == f"toy @ {source}"


def test_a_local_package_is_not_searched_for_in_an_index(tmp_path: Path) -> None:
    package = installed_from(tmp_path, {"url": "file:///home/me/toy", "dir_info": {}})
    assert list(requirements({"toy": package}))[-1] == "# toy==1.0 was installed from a local folder or file."


def test_a_local_wheel_is_pinned_if_its_hash_is_written(tmp_path: Path) -> None:
    known = {"hashes": {"sha256": "a" * 64}}
    package = installed_from(tmp_path, {"url": "file:///home/me/toy-1.0-py3-none-any.whl", "archive_info": known})
    assert f"toy==1.0 \\\n    --hash=sha256:{'a' * 64}" in list(requirements({"toy": package}))
    other = Package(version="2")  # without a hash, so that no hashes are written
    lines = list(requirements({"other": other, "toy": package}))
    assert lines[-2:] == ["other==2", "# toy==1.0 was installed from a local folder or file."]


def test_what_an_installer_left_damaged_is_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "toy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (folder / "direct_url.json").write_text("{")
    package = _package(PathDistribution(folder), [])
    assert package == Package(version="1.0")

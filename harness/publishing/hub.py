"""Uploading files to a repository on the Hub in one commit: only what changed, without overwriting other content."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import HarnessError
from harness.installation import install_advice
from harness.output.display import visible
from harness.output.redaction import Redaction

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepositoryKind = Literal["dataset", "model"]

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_XET_STATUS = re.compile(r"HTTP status \w+ error \((\d{3})")

FOLDERS = ("data/", "results/", "site/")
"""Folders in which an upload deletes files that the results no longer have."""

_OWN = ".gitattributes"
"""The file that the Hub puts into a new repository."""


class PublishError(HarnessError):
    """The Hub refuses an upload, or cannot be reached."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What an upload changes."""

    new: tuple[str, ...]
    """Files that the repository lacks."""
    changed: tuple[str, ...]
    """Files whose content differs in the repository."""
    removed: tuple[str, ...]
    """Files of an earlier publication that are no longer part of it."""
    unchanged: tuple[str, ...]
    """Files that are there already."""
    others: tuple[str, ...] = ()
    """Other files in the repository."""

    @property
    def nothing(self) -> bool:
        """True if there is nothing to upload or remove."""
        return not (self.new or self.changed or self.removed)


def check_name(name: str) -> str:
    """Return a repository's name.

    Raises:
        PublishError: It is not ``owner/name``.
    """
    if not _NAME.fullmatch(name) or ".." in name or "--" in name or name.endswith((".git", ".", "-")) or len(name) > 96:
        raise PublishError(
            f"{name!r} is not a repository name: use OWNER/NAME, with letters, digits, '-', '_' and '.', "
            "at most 96 characters."
        )
    return name


def known_token() -> str | None:
    """Return the token for the Hub: HF_TOKEN, or that of ``hf auth login``; None if there is none.

    Raises:
        PublishError: The library is not installed.
    """
    try:
        from huggingface_hub import get_token
    except ImportError:
        raise PublishError(f"publishing needs huggingface_hub: {install_advice('hub')}") from None
    return get_token()


def hub_token() -> str:
    """Return the token for the Hub.

    Raises:
        PublishError: There is none, or the library is not installed.
    """
    token = known_token()
    if token is None:
        raise PublishError("there is no token for the Hub. Run `hf auth login`, or set HF_TOKEN (with write access).")
    return token


class HubRepository:
    """A repository on the Hub.

    Args:
        kind: What is in it.
        name: ``owner/name``.
        token: Authorizes requests; None to read what is public.

    Raises:
        PublishError: Of every method: the Hub refuses, or cannot be reached.
    """

    def __init__(self, kind: RepositoryKind, name: str, token: str | None) -> None:
        from huggingface_hub import HfApi
        from huggingface_hub.utils.tqdm import disable_progress_bars

        if not sys.stderr.isatty():
            disable_progress_bars()
        self.kind = kind
        self.name = check_name(name)
        self.address = f"{endpoint()}/{'datasets/' if kind == 'dataset' else ''}{name}"
        self._token = token
        self._api: HfApi = HfApi(endpoint=endpoint(), token=token or False)
        self._head: str | None = None

    def exists(self) -> bool:
        """Return True if the repository exists and can be seen; remember its latest commit."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._asking():
            try:
                self._head = self._api.repo_info(self.name, repo_type=self.kind, timeout=30).sha
            except RepositoryNotFoundError:
                return False
        return True

    def create(self, *, private: bool) -> None:
        """Make the repository."""
        with self._asking():
            self._api.create_repo(self.name, repo_type=self.kind, private=private)

    def files(self) -> list[str]:
        """Return the paths of the repository's files, sorted."""
        return sorted(self._digests(None))

    def download(self, file: str) -> bytes:
        """Return the content of a file."""
        with TemporaryDirectory(prefix="harness-publish-") as folder, self._asking():
            path = self._api.hf_hub_download(
                self.name, file, repo_type=self.kind, revision=self._head, cache_dir=folder
            )
            return Path(path).read_bytes()

    def tags(self) -> tuple[str, ...]:
        """Return the tags of the repository's card."""
        with self._asking():
            info = self._api.repo_info(self.name, repo_type=self.kind, timeout=30)
        return tuple(getattr(info, "tags", None) or ())

    def compare(
        self,
        folder: Path,
        files: Sequence[str],
        revision: str | None = None,
        belongs: Callable[[str], bool] = lambda file: True,
    ) -> Changes:
        """Return what an upload of a folder's files would change.

        Args:
            folder: The folder.
            files: Their paths in it, which are those in the repository.
            revision: Compare with this branch or pull request (default: main).
            belongs: Returns True for a file in the repository that is removed if it is not among ``files``.
        """
        there = self._digests(revision)
        same = [file for file in files if file in there and there[file] == _digest(folder / file, there[file])]
        return Changes(
            new=tuple(file for file in files if file not in there),
            changed=tuple(file for file in files if file in there and file not in same),
            removed=tuple(
                sorted(file for file in there if file.startswith(FOLDERS) and file not in files and belongs(file))
            ),
            unchanged=tuple(same),
            others=tuple(
                sorted(file for file in there if file not in files and not file.startswith(FOLDERS) and file != _OWN)
            ),
        )

    def upload(
        self, folder: Path, changes: Changes, message: str, *, pull_request: bool = False, revision: str | None = None
    ) -> str:
        """Commit changes, all of them or none, and return the address of the commit or the pull request.

        Args:
            folder: Holds the files.
            changes: What to upload and remove.
            message: The commit's first line.
            pull_request: True to open a pull request instead of changing the main branch.
            revision: Commit to this branch or pull request (default: main).
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            CommitOperationAdd(path_in_repo=file, path_or_fileobj=str(folder / file))
            for file in (*changes.new, *changes.changed)
        ]
        operations += [CommitOperationDelete(path_in_repo=file) for file in changes.removed]
        with self._asking():
            done = self._api.create_commit(
                self.name,
                operations,
                commit_message=message,
                repo_type=self.kind,
                create_pr=pull_request,
                revision=revision,
                parent_commit=None if revision else self._head,
            )
        return str(done.pr_url if pull_request else done.commit_url)

    def read(self, file: str, revision: str | None = None) -> str | None:
        """Return the content of a text file; None if there is none, or if it is not UTF-8.

        Args:
            file: Its path.
            revision: Read it from this branch or pull request (default: main).
        """
        from huggingface_hub.errors import RemoteEntryNotFoundError

        with TemporaryDirectory(prefix="harness-publish-") as folder, self._asking():
            try:
                path = self._api.hf_hub_download(
                    self.name, file, repo_type=self.kind, revision=revision, cache_dir=folder
                )
            except RemoteEntryNotFoundError:
                return None
            try:
                return Path(path).read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                return None

    def open_pull_request(self, title: str) -> str | None:
        """Return the git reference of an open pull request by the token's owner with this title, or None."""
        with self._asking():
            author = self._api.whoami()["name"]
            for one in self._api.get_repo_discussions(
                self.name,
                repo_type=self.kind,
                author=author,
                discussion_type="pull_request",
                discussion_status="open",
            ):
                if one.title == title:
                    return str(one.git_reference)
        return None

    def _digests(self, revision: str | None) -> dict[str, str]:
        """Return the digest of each file: SHA-256 of large files, else the SHA-1 that git gives it."""
        found = {}
        with self._asking():
            for entry in self._api.list_repo_tree(self.name, recursive=True, repo_type=self.kind, revision=revision):
                if (blob := getattr(entry, "blob_id", None)) is not None:
                    lfs = getattr(entry, "lfs", None)
                    found[entry.path] = str(blob if lfs is None else lfs.sha256)
        return found

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        try:
            yield
        except OfflineModeIsEnabled:
            raise PublishError("HF_HUB_OFFLINE is set; unset it to publish.") from None
        except HfHubHTTPError as error:
            raise PublishError(self._refusal(error)) from None
        except HarnessError:
            raise
        except (ValueError, RuntimeError) as error:  # also of an answer that is not JSON, and of an upload that fails
            raise PublishError(
                f"{endpoint()} gave an unusable answer for {self.name} ({self._brief(error)})."
            ) from None
        except Exception as error:  # the network's exceptions belong to a library that may change
            if not _is_network(error):
                raise
            raise PublishError(self._unreachable(error)) from None

    def _unreachable(self, error: Exception) -> str:
        """Return the message for a network error; Xet's library also raises one when the server refuses."""
        status = _XET_STATUS.search(str(error))
        if status is None:
            return f"{endpoint()} cannot be reached ({self._brief(error)})."
        if "/xet-" in str(error) and status[1] == "404":
            why = f"{endpoint()} does not support uploads with Xet ({self._brief(error)})."
        else:
            why = f"the upload of {self.name} with Xet failed ({self._brief(error)})."
        return f"{why} Set HF_HUB_DISABLE_XET=1 and run the command again."

    def _refusal(self, error: Any) -> str:
        status = getattr(error.response, "status_code", None)
        what = "data set" if self.kind == "dataset" else "model"
        match status:
            case 401:
                return f"the Hub does not accept your token ({self.name}). Run `hf auth login` again, or set HF_TOKEN."
            case 403:
                owner = self.name.partition("/")[0]
                return (
                    f"your token may not write to {self.name}: it needs write access to {owner}'s repositories "
                    f"({self._brief(error)})."
                )
            case 404:
                return f"the Hub has no {what} {self.name} that your token can see."
            case 409 | 412:
                return f"{self.name} was changed in the meantime; run the command again."
            case 429:
                return "the Hub is limiting requests; run the command again later."
        return f"the Hub refuses {self.name} ({self._brief(error)})."

    def _brief(self, error: Exception) -> str:
        message = getattr(error, "server_message", None) or str(error).strip() or type(error).__name__
        first: str = Redaction([self._token] if self._token else [])(str(message).splitlines()[0])
        return visible(first)[:200].rstrip(".")


def _is_network(error: BaseException) -> bool:
    """Return True if an error is the network's: of the library that the Hub's client uses, or of the system."""
    module = type(error).__module__.partition(".")[0]
    return module in {"httpx", "httpx2", "httpcore", "httpcore2"} or isinstance(error, ConnectionError | TimeoutError)


def endpoint() -> str:
    """Return the Hub's address, which HF_ENDPOINT sets."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _digest(file: Path, like: str) -> str:
    """Return a file's digest of the same kind as another one."""
    if len(like) == 64:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    whole = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(whole) + whole).hexdigest()  # noqa: S324 - as git names it

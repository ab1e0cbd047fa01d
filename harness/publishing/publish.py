"""Publish a results folder: build the files, compare them with the repository, and upload what changed."""

from __future__ import annotations

from dataclasses import dataclass

from harness.publishing.card import TAG
from harness.publishing.contents import Contents
from harness.publishing.hub import Changes, HubRepository, PublishError

MESSAGE = "Publish evaluation results"


@dataclass(frozen=True, slots=True)
class Published:
    """What an upload did."""

    changes: Changes
    """What it changed."""
    created: bool
    """True if the repository is new."""
    address: str
    """The address of the commit; of the repository if nothing changed."""


def publish(contents: Contents, repository: str, token: str, *, private: bool, force: bool = False) -> Published:
    """Upload a data set's files in one commit.

    Args:
        contents: The files.
        repository: ``owner/name``; it is made if it does not exist.
        token: Authorizes the upload.
        private: True to make a new repository private; an existing one keeps its visibility.
        force: True to add the files to a repository that holds something else.

    Raises:
        PublishError: The repository holds something else, or the Hub refuses or cannot be reached.
    """
    hub = HubRepository("dataset", repository, token)
    created = not hub.exists()
    if created:
        hub.create(private=private)
        hub.exists()
    changes = hub.compare(contents.folder, contents.files)
    there = (*changes.changed, *changes.unchanged, *changes.removed, *changes.others)
    if there and not created and not force and TAG not in hub.tags():
        raise PublishError(
            f"{hub.address} holds something else (its card lacks the tag {TAG}); publish to another name, or add "
            "--force to replace its README.md and the folders data, results and site."
        )
    if changes.nothing:
        return Published(changes, created, hub.address)
    return Published(changes, created, hub.upload(contents.folder, changes, MESSAGE))

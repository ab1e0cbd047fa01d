"""Publish a results folder: build the files, compare them with the repository, and upload what changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from harness.publishing.card import TAG
from harness.publishing.contents import Contents
from harness.publishing.hub import Changes, HubRepository, PublishError
from harness.publishing.other_suites import OtherSuites, belongs, other_suites

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


@dataclass(frozen=True)
class Target:
    """A repository as it is before a publication."""

    hub: HubRepository
    """The repository."""
    exists: bool
    """True if it exists and can be seen."""
    suites: frozenset[str]
    """The suites that will be published."""
    others: OtherSuites
    """What it has of other suites."""
    ours: bool = True
    """True if ``harness publish`` created it, or it does not exist."""

    def changes(self, contents: Contents) -> Changes:
        """Return what a publication would change.

        Raises:
            PublishError: The Hub refuses or cannot be reached.
        """
        if not self.exists:
            return Changes(tuple(contents.files), (), (), ())
        return self.hub.compare(contents.folder, contents.files, belongs=lambda file: belongs(file, self.suites))

    def refusal(self, changes: Changes) -> str:
        """Return why nothing is published without force; empty if it is."""
        there = (*changes.changed, *changes.unchanged, *changes.removed, *changes.others)
        if self.ours or not there:
            return ""
        return (
            f"{self.hub.address} was not created by harness publish (its card lacks the tag {TAG}); publish under "
            "another name, or add --force to replace its README.md and the files of these suites in data, results and "
            "site."
        )


def find_target(repository: str, suites: Collection[str], token: str | None) -> Target:
    """Return a repository as it is now.

    Args:
        repository: ``owner/name``.
        suites: The suites that will be published.
        token: Authorizes reading; None to read what is public.

    Raises:
        PublishError: The Hub refuses or cannot be reached.
    """
    hub = HubRepository("dataset", repository, token)
    exists = hub.exists()
    ours = not exists or TAG in hub.tags()
    others = other_suites(hub, suites) if exists and ours else OtherSuites()
    return Target(hub, exists, frozenset(suites), others, ours)


def publish(contents: Contents, target: Target, *, private: bool, force: bool = False) -> Published:
    """Upload a data set's files in one commit.

    Args:
        contents: The files.
        target: The repository; it is made if it does not exist.
        private: True to make a new repository private; an existing one keeps its visibility.
        force: True to add the files to a repository that holds something else.

    Raises:
        PublishError: The repository holds something else, or the Hub refuses or cannot be reached.
    """
    hub = target.hub
    if not target.exists:
        hub.create(private=private)
        hub.exists()
        target = replace(target, exists=True)
        changes = target.changes(contents)
        return Published(changes, True, hub.upload(contents.folder, changes, MESSAGE))
    changes = target.changes(contents)
    if not force and (reason := target.refusal(changes)):
        raise PublishError(reason)
    if changes.nothing:
        return Published(changes, False, hub.address)
    return Published(changes, False, hub.upload(contents.folder, changes, MESSAGE))

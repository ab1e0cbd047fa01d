"""All errors and warnings of one sweep, each with its place in the file or on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.errors import Diagnostic, KeyPath, SpecError, show_path
from harness.yaml_lines import Located


@dataclass
class Diagnostics:
    """Every error of one sweep, and every warning, each once and with its place."""

    document: Located | None
    """The file; None when all of it came from the command line."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What was given on the command line, by option; a path such as ``("--model", 0)`` leads there."""
    keywords: Mapping[str, str] = field(default_factory=dict)
    """Where a program gives what the command line would: the argument in place of each option."""
    _found: dict[Diagnostic, None] = field(default_factory=dict)
    _warned: dict[Diagnostic, None] = field(default_factory=dict)

    def warn(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Report something that is allowed but that the user should know."""
        self._warned[self.at(path, message, hint)] = None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings, in the order of their lines."""
        return tuple(sorted(self._warned, key=lambda warning: warning.line or 0))

    def add(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Report an error."""
        self.extend([self.at(path, message, hint)])

    @property
    def count(self) -> int:
        """Number of errors so far."""
        return len(self._found)

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """The errors so far, in the order in which they were found."""
        return tuple(self._found)

    def take_warnings(self, other: Diagnostics) -> None:
        """Report what other diagnostics warn of as well."""
        self._warned.update(other._warned)

    def extend(self, found: Sequence[Diagnostic]) -> None:
        """Report errors that already have a place."""
        self._found.update(dict.fromkeys(found))

    def where(self, path: KeyPath) -> str:
        """Return a place as text, for a message about another place."""
        diagnostic = self.at(path, "", "")
        return diagnostic.path if diagnostic.line is None else f"{diagnostic.path} on line {diagnostic.line}"

    def raise_any(self) -> None:
        """Raise what was found, in the order of the lines, if anything was.

        Raises:
            SpecError: There is an error.
        """
        if self._found:
            raise SpecError(sorted(self._found, key=lambda diagnostic: diagnostic.line or 0))

    def at(self, path: KeyPath, message: str, hint: str) -> Diagnostic:
        """Return an error or a warning with its place, without reporting it."""
        if path and str(path[0]).startswith("--") and not self._written(path[0]):
            if path[0] in self.keywords:
                return Diagnostic((self.keywords[str(path[0])], *path[1:]), message, hint)
            return Diagnostic((self._shown_option(path),), message, hint, "command line")
        if self.document is None:
            return Diagnostic(path, message, hint, "" if self.keywords else "command line")
        return self.document.diagnostic(path, message, hint)

    def _written(self, key: str | int) -> bool:
        """Return whether the file itself has a key that looks like an option."""
        return self.document is not None and isinstance(self.document.data, Mapping) and key in self.document.data

    def _shown_option(self, path: KeyPath) -> str:
        option, rest = str(path[0]), path[1:]
        if rest and isinstance(rest[0], int):
            option, rest = f"{option} {shlex.quote(self.options[option][rest[0]])}", rest[1:]
        return f"{option} [{show_path(rest)}]" if rest else option

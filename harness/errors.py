"""The errors of the harness. The command line prints a :class:`HarnessError` as its message and exits with code 2.

Anything else that reaches the command line is a bug in the harness or in a plugin, and keeps its traceback::

    HarnessError                    the message is fit to be shown to a user
    ├── DataError                   data are missing, damaged, or not what the scenario expects
    │   ├── HubError                the Hub refuses a repository, or cannot be reached (data.hub_repository)
    │   └── StoppedError            a download ended because the user interrupted it (data.fetching)
    ├── CannotHoldError             a format has no place for a run (exports.exporter)
    ├── MetricError                 a metric lacks what its definition needs
    ├── ModelError                  a model cannot be loaded or cannot answer
    ├── PluginError                 a plugin is missing, broken, or used with wrong parameters
    ├── PublishError                the Hub refuses an upload, or cannot be reached (publishing.hub)
    ├── SpecError                   a sweep or scenario file has errors; holds a Diagnostic for each
    └── StorageError                results cannot be read or written
        └── CacheError              nor can the response cache (inference.cache_file)
            └── MergeBusyError      another process is merging answers into it (inference.merging)
    ValueError
    ├── ConversationError           an instance's turns or tools are not as they should be (adapters/_prompt)
    ├── NothingToScoreError         a scored text is empty or the whole window (models.tokens)
    ├── SegmentDamagedError         a file of a worker's answers is damaged (inference.segments)
    └── StrictJsonError             a text is not JSON; whoever reads it says of which file
    KeyboardInterrupt
    ├── Terminated                  the system asked this process to end (executors.interrupts)
    └── TimeUp                      the time budget of an evaluation is used up (python.time_budget)

These never leave the module that raises them, or the few that it serves::

    Exception
    ├── BadRequestError             a rater's page sent what cannot be answered (annotation.server)
    ├── CannotAnswerError           a server cannot answer the request (models.api.retries)
    ├── NotShareable                a model cannot read texts together (models.transformers.shareable)
    ├── RecursiveLoopError          a template's loop calls itself (data.template_limits)
    ├── RemoteError                 an error in the process that runs generated code (metrics/_code_sandbox)
    ├── RequestFailedError          one request has no answer (models.api.calls)
    │   ├── FilteredError           a content filter withheld it
    │   ├── RefusedError            the server refused a feature that it may lack
    │   └── ThrottledError          the server still reports too many requests after all retries
    ├── UnusableAnswerError         a server's answer breaks the protocol (models.api.retries)
    └── UneditableCardError         a model card's model-index cannot be edited by lines (publishing.model_index)
    BaseException                   code that is not ours cannot catch these by accident
    ├── OtherSideEndedError         the process that ran generated code has ended (metrics/_code_sandbox)
    └── OutOfTimeError              a chat template took too long (models.tokens.chat_template_worker)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

KeyPath = tuple[str | int, ...]
"""The keys and list positions that lead to a place in a file."""


class HarnessError(Exception):
    """Base of the errors whose message is fit to be shown to a user as it is."""


class DataError(HarnessError):
    """Data are missing, truncated or not in the format that a scenario expects.

    Args:
        message: What is wrong and what would be right.
        file: The file or the Hub data set that holds the data.
        row: The row's number, from 1, counted as an editor or a spreadsheet would.
    """

    def __init__(self, message: str, *, file: str | Path | None = None, row: int | None = None) -> None:
        where = "" if file is None else f"{file}, row {row}: " if row is not None else f"{file}: "
        super().__init__(where + message)


class ModelError(HarnessError):
    """A model cannot be loaded, cannot answer what it is asked, or gave an unusable answer.

    Args:
        message: What is wrong and what would be right.
        process_lost: True if the model will not work again in this process, but may in a new one.
    """

    def __init__(self, message: str, *, process_lost: bool = False) -> None:
        self.process_lost = process_lost
        super().__init__(message)


class PluginError(HarnessError):
    """A plugin is missing, broken, registered twice, or given parameters that it does not have."""


class StorageError(HarnessError):
    """The results or the response cache cannot be written or read: the disk is full, damaged or not ours."""


class MetricError(HarnessError):
    """A metric lacks what its definition needs, for example log-probabilities."""


class StrictJsonError(ValueError):
    """Text is not JSON, or breaks one of its rules.

    Args:
        message: What is wrong.
        line: The line within the text, from 1.
        column: The column, from 1.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def reraise_interrupt(error: BaseException) -> None:
    """Raise an interrupt or a generator's end again; anything else that foreign code raised may be handled.

    Libraries in other languages and plugins raise exceptions that are not an ``Exception``: PyO3's ``PanicException``,
    ``SystemExit``. They fail one run and must not stop the others.
    """
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        raise error


def describe_failure(error: BaseException) -> str:
    """Return what to tell a user about anything that was raised; what is not a ``HarnessError`` is called a bug."""
    if isinstance(error, HarnessError):
        return str(error)
    return f"{type(error).__name__}: {error} (a bug in the harness or in a plugin)"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error in what a user wrote, or a warning."""

    keys: tuple[str | int, ...]
    """The keys and list positions that lead to it: ``("runs", 2, "scenario")``; empty for the whole file."""
    message: str
    """What is wrong."""
    hint: str = ""
    """What would be right; may be empty."""
    file: str = ""
    """The file, as the user named it, or ``command line``; empty for what is not in a file."""
    line: int | None = None
    """The line, from 1; None when the file could not be read at all."""

    @property
    def path(self) -> str:
        """The keys as text: ``runs[2].scenario``."""
        return show_path(self.keys)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        where = [f"{part}:" for part in (place, self.path) if part]
        return " ".join([*where, self.message, *([self.hint] if self.hint else [])])


def show_path(keys: KeyPath) -> str:
    """Return a path as text: ``("runs", 2, "scenario")`` is ``runs[2].scenario``."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


class SpecError(HarnessError):
    """A sweep or scenario file has errors; all of them are reported at once."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


def shown(value: object, limit: int = 80) -> str:
    """Return a value as messages show it: its ``repr``, cut to ``limit`` characters."""
    if isinstance(value, int) and value.bit_length() > 4 * limit:  # Python refuses to write very long numbers
        return f"about 2 to the power of {value.bit_length()}"
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` for the nearest known name, else the known names, else ''."""
    names = sorted(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if not near and len(name) > 1:  # f1 for f1_score
        near = [candidate for candidate in folded if candidate.startswith(name.casefold())]
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    if not names:
        return ""
    shown = ", ".join(names[:20])
    return f"Known: {shown}{', …' if len(names) > 20 else ''}."

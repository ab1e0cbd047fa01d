"""SIGTERM ends a command as Ctrl-C does, but with its own exit status, even if a library replaces the exception."""

from __future__ import annotations

import signal

import pytest

from harness.executors.interrupts import Terminated, terminable


def interrupted_by(number: signal.Signals, replaced: bool) -> None:
    """Get a signal; the handler's exception may be replaced, as Ray does."""
    with terminable():
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            if replaced:
                raise KeyboardInterrupt from None
            raise


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)], ids=["term", "int"]
)
@pytest.mark.parametrize("replaced", [False, True])
def test_signals_are_told_apart(number: signal.Signals, expected: type[BaseException], replaced: bool) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted_by(number, replaced)
    assert type(caught.value) is expected
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

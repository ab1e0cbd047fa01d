"""Where a completion ends."""

from __future__ import annotations

import pytest

from harness.models.tokens.stop_sequences import cut_at_stop


@pytest.mark.parametrize(
    ("text", "stop", "kept", "stopped"),
    [
        ("Yes\nQuestion:", ("\n",), "Yes", True),
        ("Yes\n\nNo\n", ("\n", "\n\n"), "Yes", True),
        ("a END b STOP", ("STOP", "END"), "a ", True),
        ("nothing here", ("\n",), "nothing here", False),
        ("no stop strings", (), "no stop strings", False),
        ("the empty string stops nothing", ("",), "the empty string stops nothing", False),
        ("\nat once", ("\n",), "", True),
    ],
)
def test_cut_at_the_earliest(text: str, stop: tuple[str, ...], kept: str, stopped: bool) -> None:
    assert cut_at_stop(text, stop) == (kept, stopped)

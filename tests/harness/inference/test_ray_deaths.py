"""Ray's messages on dead actors, cut to what a reader needs."""

from __future__ import annotations

import pytest

from harness.inference.ray_deaths import LENGTH, death_reason, died_with_its_node

HEAD = """The actor died unexpectedly before finishing this task.
\tclass_name: ReplicaActor
\tactor_id: 3e68dac3565c8035c4381cee01000000
\tpid: 13820
"""

KILLED = (
    HEAD + "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
    "Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) …"
)
NODE = HEAD + "The actor is dead because its node has died. Node Id: 6175c7900d"


@pytest.mark.parametrize(
    ("said", "reason", "node"),
    [
        (KILLED, "its process was killed, crashed or ran out of memory", False),
        (NODE, "its node has died", True),
        (HEAD + "The actor is dead because it was killed by `ray.kill`.", "it was killed by `ray.kill`", False),
        ("The actor died because of an error raised in its\ncreation task.", None, False),
        ("", "RuntimeError", False),
        ("x" * 9999, "x" * LENGTH, False),
    ],
)
def test_a_death_is_told_in_a_clause(said: str, reason: str | None, node: bool) -> None:
    error = RuntimeError(said)
    expected = "The actor died because of an error raised in its creation task" if reason is None else reason
    assert death_reason(error) == expected
    assert died_with_its_node(error) is node

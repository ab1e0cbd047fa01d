"""The nodes of a Ray cluster: what they have, and whether each can run a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import HarnessError

CHECK_SECONDS = 180.0
"""How long a node may take to import the harness and to look at the results folder."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster that may run something."""

    id: str
    """Ray's id of it."""
    name: str
    """What messages call it."""
    cpus: float
    """Number of its CPUs, as Ray counts them."""
    gpus: float
    """Number of its GPUs."""


def living_nodes() -> list[Node]:
    """Return the nodes that are up and have CPUs; a head node without any only coordinates."""
    import ray

    found = []
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        resources = node.get("Resources", {})
        if node["Alive"] and resources.get("CPU", 0) > 0:
            name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            found.append(Node(node["NodeID"], name, resources["CPU"], resources.get("GPU", 0)))
    return sorted(found, key=lambda node: node.id)


def check_gpus(wanted: Mapping[str, float], nodes: Sequence[Node]) -> None:
    """Refuse models whose replicas fit no node; all GPUs of a replica are on one.

    Args:
        wanted: GPUs of a replica of each model.
        nodes: The cluster's nodes.

    Raises:
        HarnessError: A model needs more than any node has.
    """
    most, in_all = max((node.gpus for node in nodes), default=0), sum(node.gpus for node in nodes)
    for name, gpus in wanted.items():
        if gpus > most:
            has = f"it has {in_all:g} in all, at most {most:g} on one node" if in_all else "it has none"
            raise HarnessError(f"{name} needs {gpus:g} GPUs on one node of the Ray cluster; {has}.")


def check_nodes(nodes: Sequence[Node], job_file: Path) -> None:
    """Let every node say whether it can run a job.

    Raises:
        HarnessError: There is no node; or one lacks the harness, or has another one, or other plugins, or does not see
            the results folder, or cannot write it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if not nodes:
        raise HarnessError("the Ray cluster has no node with CPUs to run on.")
    look = ray.remote(num_cpus=0, max_retries=1)(problem_here)
    asked = {}
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node.id, soft=False)
        asked[look.options(scheduling_strategy=here).remote(str(job_file))] = node
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=CHECK_SECONDS)
    problems = [found for one in ready if (found := _said(one, asked[one]))]
    problems += [f"{asked[one].name} did not answer within {CHECK_SECONDS:.0f} s." for one in late]
    for one in late:
        ray.cancel(one, force=True)
    if problems:
        more = f" The same or another problem on {len(problems) - 1} more nodes." if len(problems) > 1 else ""
        raise HarnessError(problems[0] + more)


def problem_here(job_file: str) -> str | None:
    """Return why this machine cannot run a job; None if it can. Ray runs it on every node."""
    from harness.executors.job import read_job

    try:
        read_job(Path(job_file))
    except HarnessError as error:
        return str(error)
    return None


def _said(answer: Any, node: Node) -> str | None:
    """Return the problem that a node reports; a node that has just gone has none."""
    import ray
    from ray.exceptions import NodeDiedError, TaskUnschedulableError

    try:
        found: str | None = ray.get(answer, timeout=CHECK_SECONDS)
    except (NodeDiedError, TaskUnschedulableError):
        return None
    except Exception as error:  # whatever keeps the function from running there
        if "No module named 'harness" in str(error):
            return (
                f"{node.name} has no harness. Install it there in the same version, or hand the sweep in with "
                "ray job submit --working-dir."
            )
        lines = [line for line in str(error).splitlines() if line.strip()]
        return f"{node.name} cannot run the harness: {lines[-1] if lines else type(error).__name__}"
    return found

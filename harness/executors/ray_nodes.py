"""The nodes of a Ray cluster: what they have, and whether each can run a job."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import HarnessError

CHECK_SECONDS = 180.0
"""How long a node may take to import the harness and to look at the results folder."""

_GROUP = "ray.io/node-group"
"""The label of a node that an autoscaler has started: its type."""

_LOG = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class Demand:
    """What a model needs at once of a cluster."""

    model: str
    """Its name."""
    gpus: int
    """GPUs of a replica, all on one node."""
    replicas: int
    """Replicas that it cannot do without; 0 if its head holds the model."""


def lacking_room(demand: Demand, nodes: Sequence[Node]) -> str:
    """Return what a cluster has too little of for a model, as a sentence; '' if nothing.

    Its head needs one CPU, and so does each replica, beside the GPUs.
    """
    each = demand.gpus
    cpus, gpus = sum(node.cpus for node in nodes), sum(node.gpus for node in nodes)
    most = max((node.gpus for node in nodes), default=0)
    places = sum(min(node.gpus // each, node.cpus) for node in nodes) if each else cpus
    needs, has = f"{demand.model} needs", f"the Ray cluster has {amount(gpus, 'GPU')}"
    if each > most:
        apart = f", at most {most:g} on one node" if 0 < most < gpus else ""
        return f"{needs} {amount(each, 'GPU')} on one node (`resources: {{gpus: {each}}}`), but {has}{apart}."
    if each and places < demand.replicas:
        room = f"{amount(each, 'GPU')} and 1 CPU for each of {demand.replicas} replicas"
        return f"{needs} {room}, but {what_there_is(nodes)}."
    if cpus < 1 + demand.replicas:
        replicas = f", 1 for its head and 1 for each of {amount(demand.replicas, 'replica')}" if demand.replicas else ""
        return f"{needs} {amount(1 + demand.replicas, 'CPU')}{replicas}, but {what_there_is(nodes)}."
    return ""


def check_room(demands: Iterable[Demand], nodes: Sequence[Node], *, grows: bool) -> None:
    """Refuse a model for which the cluster is too small, unless the cluster grows; then log what is waited for.

    Args:
        demands: What the models need, which need not run at the same time.
        nodes: The cluster's nodes.
        grows: True if the cluster starts nodes by itself.

    Raises:
        HarnessError: It is too small and does not grow.
    """
    lacking = [(demand, problem) for demand in demands if (problem := lacking_room(demand, nodes))]
    if not lacking:
        return
    demand, problem = lacking[0]
    if grows:
        _LOG.warning("Waiting for the Ray cluster to grow: %s", problem)
        return
    raise HarnessError(f"{problem} {_advice(demand, nodes)}")


def _advice(demand: Demand, nodes: Sequence[Node]) -> str:
    more = "Add a node to the cluster"
    if not lacking_room(replace(demand, replicas=min(1, demand.replicas)), nodes):
        return f"{more}, or set `replicas` under `resources` to a smaller number, or to `auto`."
    if demand.gpus > max((node.gpus for node in nodes), default=0):
        return f"{more} that has them, or change `gpus` under `resources` of the model."
    if demand.gpus == 0 and demand.replicas:
        return f"{more}, start Ray with a larger --num-cpus, or remove `replicas` from `resources` of the model."
    return f"{more}, or start Ray with a larger --num-cpus."


def amount(number: float, noun: str) -> str:
    """Return a number with its noun, ``1 CPU`` or ``0.5 CPUs``."""
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def what_there_is(nodes: Sequence[Node]) -> str:
    """Return what a cluster has in all."""
    cpus, gpus = sum(node.cpus for node in nodes), sum(node.gpus for node in nodes)
    on = f" on {amount(len(nodes), 'node')}" if len(nodes) > 1 else ""
    return f"the Ray cluster has {amount(cpus, 'CPU')} and {amount(gpus, 'GPU')}{on}"


def may_grow() -> bool:
    """Return whether an autoscaler, such as KubeRay's, may add nodes to the cluster."""
    import ray

    if any(node.get("Labels", {}).get(_GROUP) for node in ray.nodes()):  # type: ignore[no-untyped-call]
        return True
    try:
        from ray._private.ray_constants import DEBUG_AUTOSCALING_STATUS
        from ray.experimental.internal_kv import _internal_kv_get
    except ImportError:  # a release of Ray that keeps its status elsewhere
        return False
    status: Any = json.loads(_internal_kv_get(DEBUG_AUTOSCALING_STATUS) or b"{}")
    return _has_node_types(status)


def _has_node_types(status: Mapping[str, Any]) -> bool:
    """Return whether the status that Ray's autoscaler reports is of one that can start nodes.

    It also reports clusters whose nodes were started by hand, and calls each of them ``node_`` and its id.
    """
    report = status.get("autoscaler_report") or {}
    types = {*(report.get("active_nodes") or {}), *(report.get("pending_launches") or {})}
    return any(not name.startswith("node_") for name in types)


def check_nodes(nodes: Sequence[Node], job_file: Path) -> None:
    """Let every node say whether it can run a job.

    Raises:
        HarnessError: A node lacks the harness, or has another one, or other plugins, or does not see the results
            folder, or cannot write it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if not nodes:
        return
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

"""A cluster that is too small is refused at once, with what it has and what is needed, unless it can grow."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.executors.ray_nodes import Demand, Node, _has_node_types, check_room

NODES = [Node("a", "one", 8, 2), Node("b", "two", 8, 1)]
ONE_CPU = [Node("a", "one", 1, 0)]


@pytest.mark.parametrize(
    ("demand", "nodes"),
    [
        (Demand("m", 0, 0), ONE_CPU),
        (Demand("m", 0, 1), [Node("a", "one", 1, 0), Node("b", "two", 1, 0)]),
        (Demand("m", 2, 1), NODES),
        (Demand("m", 1, 3), NODES),
    ],
)
def test_room_that_is_enough(demand: Demand, nodes: list[Node]) -> None:
    check_room([demand], nodes, grows=False)


@pytest.mark.parametrize(
    ("demand", "nodes", "told"),
    [
        (
            Demand("m", 3, 1),
            NODES,
            "m needs 3 GPUs on one node (`resources: {gpus: 3}`), but the Ray cluster has 3 GPUs, at most 2 on one "
            "node. Add a node to the cluster that has them, or change `gpus` under `resources` of the model.",
        ),
        (Demand("m", 1, 1), ONE_CPU, "but the Ray cluster has 0 GPUs. Add a node"),
        (
            Demand("m", 0, 2),
            ONE_CPU,
            "m needs 3 CPUs, 1 for its head and 1 for each of 2 replicas, but the Ray cluster has 1 CPU and 0 GPUs. "
            "Add a node to the cluster, start Ray with a larger --num-cpus, or remove `replicas` from `resources` of "
            "the model.",
        ),
        (
            Demand("m", 1, 1),
            [Node("a", "one", 1, 1)],
            "m needs 2 CPUs, 1 for its head and 1 for each of 1 replica, but the Ray cluster has 1 CPU and 1 GPU. Add "
            "a node to the cluster, or start Ray with a larger --num-cpus.",
        ),
        (
            Demand("m", 2, 2),
            NODES,
            "m needs 2 GPUs and 1 CPU for each of 2 replicas, but the Ray cluster has 16 CPUs and 3 GPUs on 2 nodes. "
            "Add a node to the cluster, or set `replicas` under `resources` to a smaller number, or to `auto`.",
        ),
        (Demand("m", 0, 0), [], "m needs 1 CPU, but the Ray cluster has 0 CPUs and 0 GPUs. Add a node"),
    ],
)
def test_room_that_is_too_small(demand: Demand, nodes: list[Node], told: str) -> None:
    with pytest.raises(HarnessError) as caught:
        check_room([Demand("small", 0, 0), demand] if nodes else [demand], nodes, grows=False)
    assert told in str(caught.value)


def test_a_cluster_that_grows_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_room([Demand("m", 4, 1), Demand("n", 0, 0)], NODES, grows=True)
    assert [record.message for record in caplog.records] == [
        "Waiting for the Ray cluster to grow: m needs 4 GPUs on one node (`resources: {gpus: 4}`), but the Ray cluster "
        "has 3 GPUs, at most 2 on one node."
    ]


@pytest.mark.parametrize(
    ("status", "grows"),
    [
        ({}, False),
        ({"load_metrics_report": {}}, False),
        ({"autoscaler_report": {"active_nodes": {"node_00aa11": 1}}}, False),
        ({"autoscaler_report": {"active_nodes": {"headgroup": 1}}}, True),
        ({"autoscaler_report": {"active_nodes": {}, "pending_launches": {"workers": 1}}}, True),
        ({"autoscaler_report": {"active_nodes": {}, "node_availability_summary": {"node_availabilities": {}}}}, False),
    ],
)
def test_who_can_start_nodes(status: dict[str, Any], grows: bool) -> None:
    assert _has_node_types(status) is grows

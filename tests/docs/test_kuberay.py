"""The manifest for Kubernetes has the fields that KubeRay knows; it is not tried on a cluster."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.docs.pages import ROOT, check_options

MANIFEST = ROOT / "docs" / "how-to" / "kuberay.yaml"
SCHEMA = json.loads(Path(__file__).with_name("rayjob_schema.json").read_text("utf-8"))


@pytest.fixture
def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(MANIFEST.read_text("utf-8")))


def pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pod specs of the head and of the workers."""
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def test_the_job_has_the_fields_of_a_ray_job(documents: list[dict[str, Any]]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(documents[1], SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "entrypont"), "harness"),
        (("spec", "backoffLimit"), "3"),
        (("spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", 0, "volumeMount"), []),
        (("spec", "rayClusterSpec", "workerGroupSpecs", 0, "rayStartParams"), {"num-gpus": 1}),
        (("metadata", "name"), "My_Sweep"),
    ],
)
def test_the_schema_refuses_mistakes(documents: list[dict[str, Any]], path: tuple[Any, ...], value: Any) -> None:
    job = copy.deepcopy(documents[1])
    place: Any = job
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(job, SCHEMA)


def test_all_pods_mount_the_claim_that_holds_the_results(documents: list[dict[str, Any]]) -> None:
    claim, job = documents
    assert (claim["kind"], claim["spec"]["accessModes"]) == ("PersistentVolumeClaim", ["ReadWriteMany"])
    results = re.search(r"--results-dir (\S+)", job["spec"]["entrypoint"])
    assert results
    for pod in pods(job):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        (container,) = pod["containers"]
        mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
        over = [path for path in mounted if results[1].startswith(f"{path}/")]
        assert [mounted[path]["persistentVolumeClaim"]["claimName"] for path in over] == [claim["metadata"]["name"]]


def test_the_command_exists_and_the_version_of_ray_is_the_tested_one(documents: list[dict[str, Any]]) -> None:
    spec = documents[1]["spec"]
    check_options(spec["entrypoint"])
    assert f"\nray=={spec['rayClusterSpec']['rayVersion']}\n" in (ROOT / "constraints.txt").read_text("utf-8")
    assert f"rayproject/ray:{spec['rayClusterSpec']['rayVersion']}-" in MANIFEST.with_name("cluster.md").read_text(
        "utf-8"
    )
    assert set(yaml.safe_load(spec["runtimeEnvYAML"])) == {"env_vars"}

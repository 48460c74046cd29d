"""The budget of an object: what defaults and admission make of a small body, and the size of what is stored."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import run

RBAC = ORCH("rbac.authorization.{abbr}.io/v1")
DEFINITIONS = ORCH("/apis/apiextensions.{abbr}.io/v1/customresourcedefinitions")
TOO_LARGE = "etcdserver: request is too large"


def role(name: str, size: int) -> Any:
    """A role with verbs of `size` bytes."""
    return {
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["v" * 1000] * (size // 1000)}],
    }


@pytest.mark.parametrize(
    ("size", "code", "message"),
    [
        (1_500_000, 201, ""),
        (1_600_000, 500, TOO_LARGE),
        (2_080_000, 500, TOO_LARGE),
        (2_500_000, 500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max ("),
    ],
)
def test_size_of_stored_objects(space: Any, size: int, code: int, message: str) -> None:
    """An object larger than a request of the reference's store is refused with its error, before it is stored."""
    response = space("POST", "roles", role(f"r{size}", size), group=RBAC)
    assert (response.code, response.json.get("message", "").startswith(message)) == (code, True)
    assert "reason" not in response.json
    assert space("GET", f"roles/r{size}", group=RBAC).code == (200 if code == 201 else 404)


def test_a_change_that_makes_an_object_too_large_is_refused(space: Any) -> None:
    """A replacement is bounded as a new object; the stored one remains."""
    space.make("roles", role("r", 1000), group=RBAC)
    response = space("PUT", "roles/r", role("r", 1_700_000), group=RBAC)
    assert (response.code, response.json["message"]) == (500, TOO_LARGE)
    assert len(space("GET", "roles/r", group=RBAC).json["rules"][0]["verbs"]) == 1


def test_managed_fields_give_way(space: Any) -> None:
    """An object that is too large with its managed fields is stored without them, except by an apply."""
    wide: Any = {"metadata": {"name": "c"}, "data": {f"{i:06}{'k' * 240}": "" for i in range(3600)}}
    configmap = space.make("configmaps", wide)
    assert len(configmap["data"]) == 3600 and "managedFields" not in configmap["metadata"]
    wide["metadata"]["name"] = "d"
    wide.update(apiVersion="v1", kind="ConfigMap")
    response = space("PATCH", "configmaps/d?fieldManager=m", wide, content_type="application/apply-patch+yaml")
    assert (response.code, response.json["message"]) == (500, TOO_LARGE)


def test_defaults_of_list_items_are_bounded(space: Any) -> None:
    """Defaults that make megabytes of a few bytes are refused; fewer are stored."""
    large = {"type": "object", "default": {"t": "x" * 10_000}, "properties": {"t": {"type": "string"}}}
    items = {"type": "array", "items": {"type": "object", "properties": {"d": large}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"l": items}}}}
    group = "budget.example.com"
    definition = {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    assert run(space.server.request("POST", DEFINITIONS, body=definition)).code == 201

    def send(name: str, count: int) -> Any:
        thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"l": [{}] * count}}
        return space("POST", "things", thing, group=f"{group}/v1")

    assert send("a", 100).code == 201
    for count in (200, 1000, 9000):
        assert (send("b", count).code, space("GET", "things/b", group=f"{group}/v1").code) == (500, 404)


def test_container_defaults_end_at_the_limit_of_annotations(space: Any) -> None:
    """Defaults of a limit range are set until the annotation that names them is too long for a pod, which is then
    refused."""
    names = {f"example.com/r{i}": "1" for i in range(3000)}
    limits = [{"type": "Container", "default": names, "defaultRequest": names}]
    space.make("limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": f"c{i}", "image": "i"} for i in range(100)]}}
    response = space("POST", "pods", pod)
    assert response.code == 422
    assert "metadata.annotations: Too long: must have at most 262144 bytes" in response.json["message"]


def test_an_object_that_grew_can_be_changed(space: Any) -> None:
    """An object of more values than a body may have, which defaults made, takes patches."""
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": f"c{i}", "image": "i"} for i in range(6000)]}}
    space.make("pods", pod)
    response = space(
        "PATCH", "pods/p", {"metadata": {"labels": {"a": "b"}}}, content_type="application/merge-patch+json"
    )
    assert (response.code, response.json["metadata"]["labels"]) == (200, {"a": "b"})

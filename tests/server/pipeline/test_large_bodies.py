"""Large bodies are decoded, patched and encoded in another thread, with the results of small ones."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import LARGE, ComputeThread

MAPS = ResourceRef("", "v1", "configmaps")
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
DEFINITIONS = ORCH("/apis/apiextensions.{abbr}.io/v1/customresourcedefinitions")
PRESERVE = ORCH("x-{long}-preserve-unknown-fields")


class Noted:
    """Records the names of functions that were called in the other thread."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.names.append(getattr(function, "__name__", type(function).__name__))
        return function(*arguments)


@pytest.fixture
def noted(space: Any, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """What the server of `space` runs in the other thread."""
    noted = Noted()
    monkeypatch.setattr(ComputeThread, "__call__", _called(noted))
    return noted


def _called(noted: Noted) -> Any:
    async def call(self: ComputeThread, size: int, function: Callable[..., Any], *arguments: Any) -> Any:
        aside = size > LARGE and self.in_thread is not None
        return await noted(function, *arguments) if aside else function(*arguments)

    return call


def large(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {f"k{n:05}": "value" for n in range(2000)}, **more}


def test_large_writes_use_another_thread(space: Any, noted: Noted) -> None:
    """Bodies are decoded, and field managers computed, in another thread; also for a small patch of a large object."""
    assert space("POST", "configmaps", large("a")).code == 201
    assert noted.names[:2] == ["_decode", "_update"]
    noted.names.clear()
    response = space("PATCH", "configmaps/a", {"data": {"k00000": "x"}}, content_type=MERGE)
    assert response.code == 200 and response.json["data"]["k00000"] == "x"
    assert noted.names[:3] == ["decode", "apply_patch", "_update"]


def test_all_steps_of_a_large_write_use_another_thread(space: Any, noted: Noted) -> None:
    """Conversion, preparation, validation, encoding and the answers of dry runs and deletions of a large object are
    computed in another thread; so is an applied configuration with the check of its size."""
    group = "autoscaling/v2"
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}},
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    scaler = {
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": target, "metrics": [metric] * 300},
    }
    assert space("POST", "horizontalpodautoscalers", scaler, group=group).code == 201
    steps = ["_decode", "_update", "convert", "prepare_create", "validate_create", "warnings", "arrange"]
    assert noted.names[: len(steps)] == steps
    noted.names.clear()
    assert space("POST", "configmaps?dryRun=All", large("a")).code == 201
    assert noted.names[-1] == "transient_entry"
    noted.names.clear()
    assert (
        space(
            "PATCH",
            "configmaps/a?fieldManager=m",
            json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **large("a")}).encode(),
            content_type=APPLY,
        ).code
        == 201
    )
    assert {"merge", "check_object", "prepare_create"} <= set(noted.names)
    noted.names.clear()
    space("PATCH", "configmaps/a", {"metadata": {"finalizers": ["example.com/f"]}}, content_type=MERGE)
    assert "prepare_update" in noted.names
    noted.names.clear()
    assert space("DELETE", "configmaps/a").code == 200
    assert noted.names == ["decode", "arrange", "transient_entry"]


def test_large_pods_are_bound_in_another_thread(space: Any, noted: Noted) -> None:
    """A binding is small, but changes a pod, which may be large."""
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i", "args": ["x" * 20] * 1000}]}}
    assert space("POST", "pods", pod).code == 201
    noted.names.clear()
    assert space("POST", "pods/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}}).code == 201
    assert {"decode", "prepare_update", "validate_update", "arrange"} <= set(noted.names)


def test_addresses_of_services_are_validated_in_another_thread(space: Any, noted: Noted) -> None:
    """Also before the allocation of addresses."""
    ports = [{"name": f"p{n}", "port": n} for n in range(1, 1000)]
    assert space("POST", "services", {"metadata": {"name": "a"}, "spec": {"ports": ports}}).code == 201
    assert "_with_families" in noted.names


def test_large_body_errors_match_small_ones(space: Any, noted: Noted) -> None:
    """A large body of the wrong type has the same error as a small one."""
    wrong = [{"data": [{"a": 1.0}] * count, "metadata": {"name": "a"}} for count in (1, 4000)]
    small, big = (space("POST", "configmaps", body) for body in wrong)
    assert (small.code, big.code) == (400, 400)
    assert small.json["message"] == big.json["message"]
    assert noted.names == ["_decode"]


def test_small_bodies_are_decoded_in_place(space: Any, noted: Noted) -> None:
    """Small bodies are decoded in the reactor thread."""
    space.config("a")
    assert noted.names == []


@pytest.mark.parametrize("accept", ["application/yaml", "application/json"])
def test_large_objects_are_encoded_in_another_thread(space: Any, noted: Noted, accept: str) -> None:
    """A large object in another format than the stored one is encoded once, in another thread."""
    space("POST", "configmaps", large("a"))
    noted.names.clear()
    path = "configmaps/a?pretty=true" if accept.endswith("json") else "configmaps/a"
    for _ in range(2):
        response = space("GET", path, accept=accept)
        assert len(yaml.load(response.body, Loader=yaml.CSafeLoader)["data"]) == 2000
    assert noted.names == ["entry"]


FORMS = [
    "application/yaml",
    "application/json;as=Table;g=meta.{abbr}.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.{abbr}.io;v=v1",
    "application/vnd.{long}.protobuf",
]


@pytest.mark.parametrize("form", FORMS)
def test_large_lists_are_encoded_in_another_thread(
    space: Any, noted: Noted, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large list in another format is encoded in another thread, to the same bytes as a small one."""
    for name in ("a", "b"):
        space("POST", "configmaps", large(name))
    accept = space.server.dialect(form)
    noted.names.clear()
    monkeypatch.setattr("orchd.server.pipeline.verbs.context._LARGE_LIST", 1000)
    aside = space("GET", "configmaps", accept=accept).body
    assert noted.names == (["yaml_items"] * 2 if "yaml" in form else ["page"])
    monkeypatch.setattr("orchd.server.pipeline.verbs.context._LARGE_LIST", 1 << 30)
    assert space("GET", "configmaps", accept=accept).body == aside
    assert len(aside) > 100


@pytest.mark.parametrize("form", [FORMS[0], FORMS[2]])
def test_large_lists_of_objects_in_the_cache_use_another_thread(space: Any, noted: Noted, form: str) -> None:
    """A list is not made of the representations of single objects, so that those in the cache do not make it short."""
    accept = space.server.dialect(form)
    obj = {"metadata": {"name": "a"}, "data": {f"k{n:05}": "value" * 20 for n in range(3000)}}
    space("POST", "configmaps", obj)
    space("GET", "configmaps/a", accept=accept.replace("MetadataList", "Metadata"))
    noted.names.clear()
    space("GET", "configmaps", accept=accept)
    assert noted.names == (["yaml_items"] if "yaml" in form else ["page"])


def test_many_small_items_are_encoded_in_another_thread(space: Any, noted: Noted) -> None:
    """A list of small objects as YAML is encoded in portions of many, not one after the other in the reactor's
    thread."""
    for number in range(60):
        space("POST", "configmaps", {"metadata": {"name": f"m{number:02}"}, "data": {"k": "v" * 1000}})
    noted.names.clear()
    response = space("GET", "configmaps", accept="application/yaml")
    assert set(noted.names) == {"yaml_items"} and 2 <= len(noted.names) <= 6
    items = yaml.load(response.body, Loader=yaml.CSafeLoader)["items"]
    assert [each["metadata"]["name"] for each in items] == [f"m{number:02}" for number in range(60)]


def test_tables_of_many_columns_are_computed_in_another_thread(space: Any, noted: Noted) -> None:
    """Small objects whose kind has a thousand columns are large work."""
    group = "columns.example.com"
    columns = [{"name": f"c{n}", "type": "string", "jsonPath": f".spec.c{n}"} for n in range(1000)]
    schema = {"type": "object", "properties": {"spec": {"type": "object", PRESERVE: True}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "wides", "singular": "wide", "kind": "Wide", "listKind": "WideList"}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": names,
        "versions": [{**version, "additionalPrinterColumns": columns}],
    }
    definition = {"metadata": {"name": f"wides.{group}"}, "spec": spec}
    assert run(space.server.request("POST", DEFINITIONS, body=definition)).code == 201
    for number in range(10):
        wide = {"apiVersion": f"{group}/v1", "kind": "Wide", "metadata": {"name": f"w{number}"}, "spec": {"c1": "v"}}
        assert space("POST", "wides", wide, group=f"{group}/v1").code == 201
    accept = space.server.dialect("application/json;as=Table;g=meta.{abbr}.io;v=v1")
    for path, steps in (("wides/w0", ["entry"]), ("wides", ["page"]), ("wides/w0", [])):
        noted.names.clear()
        rows = space("GET", path, accept=accept, group=f"{group}/v1").json["rows"]
        assert rows[0]["cells"][:3] == ["w0", None, "v"] and noted.names == steps


def test_large_schemas_are_compiled_in_another_thread(space: Any, noted: Noted) -> None:
    """The first write of a small object, and the first table, of a kind with a large definition are large work; what
    follows them is not."""
    group = "large.example.com"
    columns = [{"name": f"c{n}", "type": "string", "jsonPath": f".spec.p{n}"} for n in range(3)]
    properties = {f"p{n}": {"type": "string", "maxLength": 5} for n in range(1000)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "bigs", "singular": "big", "kind": "Big", "listKind": "BigList"}
    versions = [{**version, "additionalPrinterColumns": columns}]
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"metadata": {"name": f"bigs.{group}"}, "spec": spec}
    assert run(space.server.request("POST", DEFINITIONS, body=definition)).code == 201
    assert "load" in noted.names
    small = {"apiVersion": f"{group}/v1", "kind": "Big", "metadata": {"name": "a"}, "spec": {"p1": "v"}}
    noted.names.clear()
    assert space("POST", "bigs", small, group=f"{group}/v1").code == 201
    assert {"_decode", "prepare_create", "validate_create"} <= set(noted.names)
    noted.names.clear()
    assert space("POST", "bigs", {**small, "metadata": {"name": "b"}}, group=f"{group}/v1").code == 201
    assert noted.names == []
    accept = space.server.dialect("application/json;as=Table;g=meta.{abbr}.io;v=v1")
    for steps in (["page"], []):
        rows = space("GET", "bigs?labelSelector=no%3Dsuch", accept=accept, group=f"{group}/v1").json["rows"]
        assert not rows and noted.names == steps
        noted.names.clear()
    assert run(space.server.request("DELETE", f"{DEFINITIONS}/bigs.{group}")).code == 200
    assert noted.names.count("load") > 1


def test_values_are_counted_in_another_thread(space: Any, noted: Noted) -> None:
    """A body whose strings look like many values is counted away from the reactor, and accepted."""
    body = {"metadata": {"name": "a"}, "data": {"k": "," * 150_000}}
    assert space("POST", "configmaps", body).code == 201
    assert noted.names[0] == "json_values"


def test_local_bodies_have_the_same_bounds(space: Any) -> None:
    """Bodies of an in-process client, which controllers and admission may have made larger, have the limits of
    objects."""
    for count, code in ((40_000, 201), (200_001, 413)):
        body = {"metadata": {"name": f"m{count}"}, "data": {f"k{n}": "" for n in range(count)}}
        try:
            run(space.server.client().create(MAPS, space.name, body))
            found = 201
        except ApiError as error:
            found = error.code
        assert found == code


def _held_frames(ask: Callable[[], Any]) -> list[str]:
    """The functions of this project whose frames, with all their objects, are held by cycles after `ask`."""
    ask()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        ask()
        gc.collect()
        return [each.f_code.co_qualname for each in gc.garbage if isinstance(each, FrameType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


REFUSED: dict[str, tuple[str, str, Any, str, int]] = {
    "invalid": ("POST", "configmaps", {"metadata": {"name": "A!"}}, "", 422),
    "wrong type": ("POST", "configmaps", {"metadata": {"name": "a"}, "data": [1]}, "", 400),
    "taken name": ("POST", "configmaps", {"metadata": {"name": "kept"}}, "", 409),
    "too many values": ("POST", "configmaps", large("a", x={f"k{n}": "" for n in range(110_000)}), "", 413),
    "not found": ("GET", "configmaps/none", None, "", 404),
    "stale": ("PUT", "configmaps/kept", {"metadata": {"name": "kept", "resourceVersion": "1"}}, "", 409),
    "bad patch": ("PATCH", "configmaps/kept", {"data": {"a!": "b"}}, MERGE, 422),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_requests_are_freed_at_once(space: Any, name: str) -> None:
    """Nothing of a refused request waits for a collection of cycles, which would free a large body up to an hour
    later."""
    space("POST", "configmaps", {"metadata": {"name": "kept"}})
    method, path, body, form, code = REFUSED[name]
    named = {"content_type": form} if form else {}

    def ask() -> None:
        assert space(method, path, body, **named).code == code

    assert _held_frames(ask) == []

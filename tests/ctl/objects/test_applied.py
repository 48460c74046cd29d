"""Apply: the part of an object that a manager owns, and conflicts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd import errors
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.applied import (
    annotation,
    comparable_lines,
    last_applied,
    owned_part,
    send_apply,
    with_last_applied,
)
from orchd.dialect import DIALECTS, ORCH
from orchd.errors import ApiError, Cause
from orchd.kinds.jsonvalues import Object
from orchd.testing.doubles.results import result_of


def test_the_owned_part_of_a_value() -> None:
    """Fields and list items by key and by value are taken; the rest is left out."""
    value = {
        "a": 1,
        "b": {"c": 2, "d": 3},
        "l": [{"name": "x", "v": 1, "w": 2}, {"name": "y"}],
        "s": ["p", "q"],
        "e": {"f": 1},
    }
    fields = {
        "f:a": {}, "f:b": {"f:c": {}}, "f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:v": {}}}, "f:s": {'v:"q"': {}},
        "f:e": {".": {}}, "f:gone": {},
    }  # fmt: skip
    assert owned_part(value, fields) == {"a": 1, "b": {"c": 2}, "l": [{"name": "x", "v": 1}], "s": ["q"], "e": {}}


class Server:
    """Responds to the patches of an apply in turn, and records the version and the force of each."""

    manager = "ctl"

    def __init__(self, *responses: ApiError | Object, current: str = "9") -> None:
        self.responses = list(responses)
        self.current = current
        self.sent: list[tuple[str, str]] = []

    async def patch(self, resource: Any, name: str, body: Object, *, query: Any, **_: Any) -> Object:
        self.sent.append((body["metadata"].get("resourceVersion", ""), query.get("force", "")))
        response = self.responses.pop(0)
        if isinstance(response, ApiError):
            raise response
        return response

    async def get(self, *_: Any) -> Object:
        return {"metadata": {"name": "a", "resourceVersion": self.current}}


def conflict(*managers: str) -> ApiError:
    causes = [Cause("FieldManagerConflict", f'conflict with "{each}"', ".data") for each in managers]
    return errors.conflict("", "configmaps", "a", "field managers", causes)


def apply(server: Server, before: str = "", version: str = "") -> Object:
    metadata = {"name": "a", **({"resourceVersion": version} if version else {})}
    read = {"metadata": {"name": "a", "resourceVersion": before}} if before else None
    target: Any = SimpleNamespace(resource=None, name="a", namespace="ns")
    api: Any = server
    applied: Object = result_of(send_apply(api, target, {"metadata": metadata}, {}, read))
    return applied


DONE: Object = {"metadata": {"name": "a"}}


def test_own_fields_are_taken_over() -> None:
    """A conflict with this manager's own fields is forced, on the version that was read before."""
    server = Server(conflict("ctl"), DONE)
    assert apply(server, before="7") == DONE
    assert server.sent == [("", ""), ("7", "true")]


def test_own_fields_of_an_object_that_was_not_there() -> None:
    """An object that another client has created since is read before its conflict is forced."""
    server = Server(conflict("ctl"), conflict("ctl"), DONE)
    assert apply(server) == DONE
    assert server.sent == [("", ""), ("", ""), ("9", "true")]


def test_object_that_changes_meanwhile() -> None:
    """If the object has changed since, the apply begins again; an apply of a chosen version does not."""
    server = Server(conflict("ctl"), conflict(), DONE)
    assert apply(server, before="7") == DONE
    assert server.sent == [("", ""), ("7", "true"), ("", "")]
    with pytest.raises(ApiError):
        apply(Server(conflict("ctl"), conflict()), before="7", version="5")


@pytest.mark.parametrize("error", [conflict("other"), conflict("ctl", "other"), conflict()])
def test_fields_of_others_are_a_conflict(error: ApiError) -> None:
    """A conflict with the fields of another manager is raised."""
    server = Server(error)
    with pytest.raises(ApiError):
        apply(server, before="7")
    assert len(server.sent) == 1


@pytest.mark.parametrize(
    ("entry", "applied"),
    [({}, True), ({"subresource": "status"}, False), ({"manager": "other"}, False), ({"operation": "Update"}, False)],
)
def test_the_configuration_that_a_manager_applied(entry: Object, applied: bool) -> None:
    """It has the fields that the manager owns by apply of the object itself; without it the annotation counts."""
    owned = {"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}, **entry}
    note = '{"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}'
    annotations = {annotation(ORCH): note}
    metadata = {"name": "c", "namespace": "n", "managedFields": [owned], "annotations": annotations}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b", "c": "d"}}
    configuration = last_applied(obj, "m", ORCH)
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    assert configuration == (
        {**head, "data": {"a": "b"}} if applied else {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}
    )


LIST = [{"name": "x", "port": 1}, {"name": "x", "port": 2}, {"port": 3}, "text", 5, 5]


@pytest.mark.parametrize(
    ("element", "members"),
    [
        ('k:{"name":"x"}', [LIST[0]]), ('k:{"name":"x","port":2}', [LIST[1]]), ('k:{"name":"y","port":3}', [LIST[2]]), ('k:{"name":"y","port":4}', []),
        ('v:"text"', ["text"]), ("v:5", [5]), ("v:6", []), ("i:1", [LIST[1]]), ("i:6", []), ("i:x", []),
    ],
)  # fmt: skip
def test_members_of_lists(element: str, members: list[Any]) -> None:
    """One member by its key, where an absent field has its default; by its value; or by its place."""
    assert owned_part(LIST, {element: {}}) == members


@pytest.mark.parametrize(
    ("value", "fields", "part"),
    [
        ({"a": 1}, {}, {"a": 1}), ({"a": 1}, {".": {}}, {}), ([1], {".": {}}, []), ("text", {".": {}}, "text"), ("text", {"f:a": {}}, "text"),
        ({"a": 1, "x": 2}, {"f:a": {}, "v:x": {}, "f:b": {}}, {"a": 1}),
    ],
)  # fmt: skip
def test_parts_of_values(value: Any, fields: Object, part: Any) -> None:
    assert owned_part(value, fields) == part


def test_annotations_of_client_side_apply() -> None:
    """It is the JSON of the object with its other annotations, and not in itself."""
    key = "kubectl.kubernetes.io/last-applied-configuration"
    dialect = DIALECTS["kubernetes"]
    obj = {"kind": "A", "metadata": {"name": "n", "annotations": {"b": "c", key: "old"}}}
    text = '{"kind":"A","metadata":{"annotations":{"b":"c"},"name":"n"}}\n'
    assert with_last_applied(obj, dialect)["metadata"]["annotations"] == {"b": "c", key: text}
    read = {"kind": "A", "metadata": {"name": "n", "annotations": {key: text}}}
    assert last_applied(read, "m", dialect) == {"kind": "A", "metadata": {"annotations": {"b": "c"}, "name": "n"}}
    assert last_applied({"metadata": {"name": "n"}}, "m", dialect) is None
    for wrong in ("[]", "{", "5"):
        broken = {"metadata": {"name": "n", "annotations": {key: wrong}}}
        with pytest.raises(CommandError, match=f"the annotation {key} of n is not an object in JSON"):
            last_applied(broken, "m", dialect)


def test_lines_that_are_compared() -> None:
    """What every write changes takes no part; managed fields do where they are wanted."""
    metadata = {
        "name": "m",
        "resourceVersion": "1",
        "generation": 1,
        "uid": "u",
        "creationTimestamp": "t",
        "managedFields": [],
    }
    assert comparable_lines(None) == [] and comparable_lines({"metadata": metadata}) == ["metadata:", "  name: m"]
    assert comparable_lines({"metadata": metadata}, managed=True) == ["metadata:", "  managedFields: []", "  name: m"]


def test_conflicts_that_do_not_end() -> None:
    """An object that others change all the time is given up after five attempts."""
    server = Server(*(error for _ in range(5) for error in (conflict("ctl"), conflict())))
    with pytest.raises(ApiError):
        apply(server, before="7")
    assert len(server.sent) == 9

"""ComponentStatus objects are computed per request, with selectors and tables as for stored objects."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.pipeline.verbs.reviews.components import Components

URL = "/api/v1/componentstatuses"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", 3),
        ("?labelSelector=!a", 3),
        ("?labelSelector=a", 0),
        ("?fieldSelector=metadata.name%3Dscheduler", 1),
        ("?fieldSelector=metadata.name!%3Dscheduler", 2),
    ],
)
def test_component_selectors(call: Any, query: str, names: int) -> None:
    """Components have names and no labels."""
    assert len(call("GET", URL + query).json["items"]) == names
    assert call("GET", f"{URL}?fieldSelector=x%3Dy").code == 400


def test_component_table_kind(call: Any) -> None:
    """A table has the kind and version of the Accept header, also of stock clients."""
    for group in (f"{ORCH.meta_group}/v1", f"{KUBERNETES.meta_group}/v1", f"{ORCH.meta_group}/v1beta1"):
        name, version = group.split("/")
        accept = {"accept": f"application/json;as=Table;g={name};v={version}"}
        table = call("GET", URL, headers=accept).json
        assert (table["kind"], table["apiVersion"], len(table["rows"])) == ("Table", group, 3)
        assert call("GET", f"{URL}/etcd-0", headers=accept).json["rows"][0]["cells"][0] == "etcd-0"
    assert call("GET", f"{URL}?includeObject=x", headers=accept).code == 400


def test_export_is_refused(call: Any) -> None:
    """One component cannot be asked for with `export`, whether it exists or not; a list ignores the parameter."""
    assert [call("GET", f"{URL}{path}?export=true").code for path in ("", "/etcd-0", "/none")] == [200, 400, 400]


def test_unknown_component() -> None:
    """Release 1.23 fails for an unknown component, 1.35 does not find it."""
    errors = [Components({}, release)._missing("x") for release in (SPECIFICATION, NEWEST)]
    assert [(each.code, each.message) for each in errors] == [
        (500, "Component not found: x"), (404, 'componentstatus "x" not found'),
    ]  # fmt: skip


def test_conditions_say_how_components_are() -> None:
    """The message of a condition is that of a healthy component, or what is wrong with it."""
    components = Components({"good": (str, "fine"), "bad": (lambda: "broken", "fine")})
    conditions = [components._status(name)["conditions"][0] for name in ("good", "bad")]
    assert [(each["status"], each["message"]) for each in conditions] == [("True", "fine"), ("False", "broken")]

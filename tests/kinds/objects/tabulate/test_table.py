"""Tables: every recorded row, columns and cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog, split_group_version
from orchd.kinds.ir import Type
from orchd.kinds.objects.convert import to_hub
from orchd.kinds.objects.tabulate.ages import Ages, human_duration
from orchd.kinds.objects.tabulate.table import columns, table, tabulator
from orchd.kinds.objects.tabulate.text import Printing
from orchd.kinds.rows import Table

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CREATED = "2026-01-01T10:00:00Z"
Load = Callable[[str], Any]


def _catalog() -> Catalog:
    return builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))


CATALOG = _catalog()


def row_cells(obj: Any, resource: Resource, now: datetime, dialect: Dialect) -> list[Any]:
    """The cells of one object."""
    return tabulator(resource, dialect).cells(obj, Printing(age=Ages(now), dialect=dialect))


def _resource(entry: Any) -> Resource | None:
    group, version = split_group_version(entry["gv"])
    return CATALOG.resource(group, version, entry["resource"])


def _object(entry: Any, row: Any, samples: dict[str, Any]) -> dict[str, Any] | None:
    if "sample" in row:
        stored = samples[row["sample"]]
    elif "object" in row:
        stored = row["object"]
    else:
        return None
    status = {**stored.get("status", {}), **row.get("status_set", {})}
    metadata = {**stored["metadata"], "creationTimestamp": CREATED}
    if row.get("deletionTimestamp_set"):
        metadata["deletionTimestamp"] = CREATED
    out = {**stored, "apiVersion": entry["gv"], "kind": entry["kind"], "metadata": metadata}
    return {**out, "status": status} if status else out


def _same(cell: Any, want: Any) -> bool:
    if not isinstance(want, str) or "<" not in want:
        return type(cell) is type(want) and bool(cell == want)
    pattern = re.escape(want)
    for placeholder, meaning in (
        ("<age>", r"\d+[smhdy0-9]*"),
        ("<time>", re.escape(CREATED)),
        ("<uid>", ".*"),
        ("<allocated>", ".*"),
    ):
        pattern = pattern.replace(re.escape(placeholder), meaning)
    return isinstance(cell, str) and re.fullmatch(pattern, cell) is not None


#: What a server sets before it stores an object; objects that were recorded as requests lack it.
_DEFAULTED = {
    "Pod": {"status": {"phase": "Pending"}},
    "Namespace": {"status": {"phase": "Active"}},
    "PersistentVolume": {
        "status": {"phase": "Pending"},
        "spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    },
    "PersistentVolumeClaim": {
        "status": {"phase": "Pending"},
        "spec": {"volumeMode": "Filesystem", "storageClassName": "sc2"},
    },
    "Job": {"spec": {"completions": 1, "parallelism": 1, "selector": {"matchLabels": {"controller-uid": "u"}}}},
    "HorizontalPodAutoscaler": {"spec": {"minReplicas": 1}},
    "CertificateSigningRequest": {"spec": {"username": "admin"}},
    "PriorityLevelConfiguration": {"spec": {"limited": {"assuredConcurrencyShares": 30}}},
}


#: What controllers in the server had written when a sample was recorded.
_WRITTEN = {
    ORCH("flowcontrol.apiserver.{abbr}.io/v1beta1/FlowSchema/minimal"): {
        "conditions": [{"type": "Dangling", "status": "False"}]
    },
    ORCH("flowcontrol.apiserver.{abbr}.io/v1beta2/FlowSchema/rules"): {
        "conditions": [{"type": "Dangling", "status": "True"}]
    },
    "terminating": {"phase": "Terminating"},
}


def _filled(value: Any, default: Any) -> Any:
    if isinstance(value, dict) and isinstance(default, dict):
        return {**default, **{k: _filled(v, default[k]) if k in default else v for k, v in value.items()}}
    return value


def test_rows_match_the_recorded_ones(reference: Load) -> None:
    """Every cell of every recorded row is reproduced."""
    samples = {entry["id"]: entry["stored"] for entry in reference("defaults")["objects"]}
    wrong = []
    count = 0
    for entry in reference("columns")["resources"]:
        resource = _resource(entry)
        if resource is None:
            assert entry["gv"].startswith("internal.")
            continue
        for row in entry["rows"]:
            o = _object(entry, row, samples)
            if o is None:
                continue
            if "object" in row:
                o = _filled(o, _DEFAULTED.get(entry["kind"], {}))
            written = _WRITTEN.get(row.get("sample", row.get("variant")))
            if written and entry["kind"] in ("FlowSchema", "Namespace"):
                o = {**o, "status": written}
            count += 1
            o = to_hub(o, CATALOG)
            cells = row_cells(o, resource, NOW, ORCH)
            if len(cells) != len(row["cells"]) or not all(map(_same, cells, row["cells"])):
                wrong.append(
                    (entry["gv"], entry["resource"], row.get("sample", row.get("variant")), cells, row["cells"])
                )
            conditions = (
                tabulator(resource, ORCH).row(o, Printing(age=Ages(NOW), dialect=ORCH), None).get("conditions", [])
            )
            without = [{k: v for k, v in c.items() if k != "message"} for c in conditions]
            assert without == row.get("row_conditions", []), row
    assert not wrong
    assert count > 150


def test_columns_match_the_recorded_ones(reference: Load) -> None:
    """Names, types, formats and priorities of columns are those recorded, and there are no others."""
    seen = set()
    for entry in reference("columns")["resources"]:
        resource = _resource(entry)
        if resource is None:
            continue
        seen.add((resource.group, resource.plural))
        got = [(c["name"], c["type"], c["format"], c["priority"]) for c in columns(resource, ORCH)]
        want = [
            (c["name"], c["type"], c["format"], c["priority"]) if isinstance(c, dict) else tuple(c)
            for c in entry["columns"]
        ]
        assert got == want, entry["resource"]
        assert all(c["description"] for c in columns(resource, ORCH))
    assert {(r.group, r.plural) for r in CATALOG.resources if r.row.table != Table()} <= seen


def test_human_durations(reference: Load) -> None:
    """Durations are formatted as recorded."""
    for seconds, text in reference("columns")["human_duration_seconds"]:
        assert human_duration(seconds) == text
    assert (human_duration(-1), human_duration(-2)) == ("0s", "<invalid>")


def _custom(printer_columns: Any) -> Resource:
    return Resource(
        group="example.com",
        version="v1",
        kind="Foo",
        plural="foos",
        type=Type("struct", members=()),
        namespaced=True,
        custom=True,
        definition={"name": "v1", "additionalPrinterColumns": printer_columns},
    )


def test_recorded_custom_columns(reference: Load) -> None:
    """Custom kinds have the columns of their definition, by default name and age."""
    for case in reference("columns")["custom_resources"]:
        resource = _custom(case.get("printer"))
        got = [{k: v for k, v in c.items() if k != "description"} for c in columns(resource, ORCH)]
        assert got == case["columns"]
        o = {"metadata": {"name": "one", "creationTimestamp": CREATED}, "spec": case.get("object_spec", {})}
        assert all(map(_same, row_cells(o, resource, NOW, ORCH), case["cells"]))


@pytest.mark.parametrize(
    ("type_", "value", "cell"),
    [
        ("string", {"b": 1, "a": ["<"]}, '{"a":["\\u003c"],"b":1}'),
        ("string", 1e21, "1e+21"),
        ("string", 2.0, "2"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("integer", 1.7, 1),
        ("integer", "1", None),
        ("integer", True, None),
        ("number", 3, 3),
        ("boolean", "true", None),
        ("date", "not a date", "<invalid>"),
        ("date", "2026-01-01T11:59:00Z", "60s"),
        ("date", 5, None),
    ],
)
def test_custom_cells_have_the_columns_type(type_: str, value: Any, cell: Any) -> None:
    """A custom cell has the column's type or is empty; a string column shows any value."""
    resource = _custom([{"name": "X", "type": type_, "jsonPath": ".x"}])
    assert row_cells({"metadata": {"name": "a"}, "x": value}, resource, NOW, ORCH) == ["a", cell]


def test_searching_columns_are_counted() -> None:
    """A tabulator says how often its columns look at each value of an object."""
    paths = (".x", ".a..b..c", ".l[*].d", '.l[?(@.x=="y")].d')
    resource = _custom([{"name": f"X{i}", "type": "string", "jsonPath": path} for i, path in enumerate(paths)])
    assert tabulator(resource, ORCH).searches == 4
    assert tabulator(_custom([{"name": "X", "type": "string", "jsonPath": ".x"}]), ORCH).searches == 0


def test_parts_of_a_table() -> None:
    """A row includes the object that it is given, or none; later watch events have no column definitions."""
    resource = CATALOG.resource("", "v1", "configmaps")
    assert resource is not None
    o = {"metadata": {"name": "a", "creationTimestamp": CREATED}, "data": {"x": "y"}}
    whole = table([(o, {"shown": True}), (o, None)], resource, {"resourceVersion": "5"}, NOW, ORCH)
    assert list(whole) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert (whole["kind"], whole["apiVersion"]) == ("Table", ORCH("meta.{abbr}.io/v1"))
    assert whole["metadata"] == {"resourceVersion": "5"}
    cells = ["a", 1, "120m"]
    assert whole["rows"] == [{"cells": cells, "object": {"shown": True}}, {"cells": cells, "object": None}]
    assert table([(o, None)], resource, {}, NOW, ORCH, with_columns=False)["columnDefinitions"] is None


def test_kind_without_printer() -> None:
    """A kind without columns has its name and creation time."""
    resource = Resource(
        group="", version="v1", kind="Odd", plural="odds", type=Type("struct", members=()), namespaced=False
    )
    assert [c["name"] for c in columns(resource, ORCH)] == ["Name", "Created At"]
    assert row_cells({"metadata": {"name": "a", "creationTimestamp": CREATED}}, resource, NOW, ORCH) == ["a", CREATED]


def test_descriptions_follow_the_dialect() -> None:
    """Texts with the product's name use the dialect's."""
    resource = builtin_catalog(KUBERNETES).resource("", "v1", "persistentvolumes")
    assert resource is not None
    assert any(KUBERNETES("https://{long}.io/") in c["description"] for c in columns(resource, KUBERNETES))


def _pod(status: Any, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "creationTimestamp": CREATED},
        "spec": {"containers": [{"name": "c"}], **spec},
        "status": status,
    }


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        ({"phase": "Running", "reason": "NodeLost"}, ["0/1", "NodeLost", "0"]),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "ready": True,
                        "restartCount": 2,
                        "state": {"running": {}},
                        "lastState": {"terminated": {"finishedAt": "2026-01-01T11:55:00Z"}},
                    }
                ],
            },
            ["1/1", "Running", "2 (5m ago)"],
        ),
        (
            {
                "phase": "Running",
                "initContainerStatuses": [{"restartCount": 7, "state": {"terminated": {"exitCode": 0}}}],
                "containerStatuses": [{"ready": True, "restartCount": 0, "state": {"running": {}}}],
            },
            ["1/1", "Running", "0"],
        ),
    ],
)
def test_pod_status_column(status: Any, cells: list[str]) -> None:
    """A pod's reason takes precedence over its phase; restarts show the time of the last one; restarts of finished init
    containers are not counted."""
    resource = CATALOG.resource("", "v1", "pods")
    assert resource is not None
    assert row_cells(_pod(status), resource, NOW, ORCH)[1:4] == cells


def test_autoscaler_of_v1_keeps_metrics_in_annotations() -> None:
    """Metrics that v1 cannot represent are printed from the annotations that hold them."""
    resource = CATALOG.resource("autoscaling", "v1", "horizontalpodautoscalers")
    assert resource is not None
    kept = '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10"}}]'
    seen = '[{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"3"}}]'
    o = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": "h",
            "creationTimestamp": CREATED,
            "annotations": {
                ORCH("autoscaling.alpha.{long}.io/metrics"): kept,
                ORCH("autoscaling.alpha.{long}.io/current-metrics"): seen,
            },
        },
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 80,
        },
        "status": {"currentReplicas": 1},
    }
    assert row_cells(to_hub(o, CATALOG), resource, NOW, ORCH)[2:4] == ["3/10, <unknown>/80%", "<unset>"]


@pytest.mark.parametrize(
    ("hosts", "cell"),
    [
        ([], "*"),
        ([None], "*"),
        (["a", None, "b"], "a,b"),
        (["a", None, "b", "c"], "a,b,c"),
        (["a", "b", "c", None], "a,b,c + 1 more..."),
        (["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
    ],
)
def test_ingress_shows_three_hosts(hosts: list[str | None], cell: str) -> None:
    """Three hosts are shown; further rules are counted, with or without a host."""
    resource = CATALOG.resource(ORCH("networking.{abbr}.io"), "v1", "ingresses")
    assert resource is not None
    rules = [{"host": host} if host else {} for host in hosts]
    o = {"metadata": {"name": "i", "creationTimestamp": CREATED}, "spec": {"rules": rules}}
    assert row_cells(o, resource, NOW, ORCH)[2] == cell


@pytest.mark.parametrize(
    ("port", "cell"), [({}, "*"), ({"name": ""}, "<unset>"), ({"name": "a"}, "a"), ({"name": "a", "port": 1}, "1")]
)
def test_slice_ports_by_number_or_name(port: Any, cell: str) -> None:
    """A port is shown by its number, else by its name; one without either means all ports."""
    resource = CATALOG.resource(ORCH("discovery.{abbr}.io"), "v1", "endpointslices")
    assert resource is not None
    o = {"metadata": {"name": "s", "creationTimestamp": CREATED}, "addressType": "IPv4", "ports": [port]}
    assert row_cells(o, resource, NOW, ORCH)[2] == cell


def test_endpoints_are_counted_without_being_listed() -> None:
    """The cell of endpoints names the first three; the others, every address with every port, are a number."""
    addresses = [{"ip": f"10.0.{i // 250}.{i % 250}"} for i in range(30_000)]
    subsets = [
        {"addresses": addresses[:2]},
        {"addresses": addresses, "ports": [{"port": n} for n in range(30_000)]},
        {"ports": [{"port": 1}]},
    ]
    obj = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "e", "creationTimestamp": CREATED},
        "subsets": subsets,
    }
    resource = CATALOG.resource("", "v1", "endpoints")
    assert resource is not None
    assert row_cells(obj, resource, NOW, ORCH)[1] == "10.0.0.0,10.0.0.1,10.0.0.0:0 + 899999999 more..."

"""Cells of the remaining kinds of the core group, and of events."""

from __future__ import annotations

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.objects.tabulate.text import EMPTY, NONE, Cells, Json, Printing, age_of


def namespace(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], fields.status(o).get("phase") or "", age_of(o, x)]


def config_map(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], len(o.get("data") or ()) + len(o.get("binaryData") or ()), age_of(o, x)]


def secret(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], o.get("type") or "", len(o.get("data") or ()), age_of(o, x)]


def service_account(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], len(o.get("secrets") or ()), age_of(o, x)]


def component_status(o: Json, x: Printing) -> Cells:
    status, message, error = "Unknown", "", ""
    condition = find_condition(o, "Healthy")
    if condition is not None:
        status = {"True": "Healthy", "False": "Unhealthy"}.get(condition.get("status", ""), "Unknown")
        message, error = condition.get("message") or "", condition.get("error") or ""
    return [o["metadata"]["name"], status, message, error]


def node(o: Json, x: Printing) -> Cells:
    metadata, status = o["metadata"], fields.status(o)
    states = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready"
    ][-1:] or ["Unknown"]
    if fields.spec(o).get("unschedulable"):
        states.append("SchedulingDisabled")
    info = status.get("nodeInfo") or EMPTY
    addresses = status.get("addresses") or ()
    return [
        metadata["name"],
        ",".join(states),
        ",".join(roles(metadata.get("labels") or EMPTY, x.dialect)) or NONE,
        age_of(o, x),
        info.get(x.dialect("{short}letVersion")) or "",
        *(
            next((a["address"] for a in addresses if a.get("type") == type_), NONE)
            for type_ in ("InternalIP", "ExternalIP")
        ),
        *(info.get(name) or "<unknown>" for name in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def roles(labels: Json, dialect: Dialect) -> list[str]:
    """The roles of a node: suffixes of labels ``node-role.../ROLE``, or the value of the former label."""
    prefix, old = dialect("node-role.{long}.io/"), dialect("{long}.io/role")
    names = {key[len(prefix) :] for key in labels if key.startswith(prefix)}
    names.add(labels.get(old) or "")
    names.discard("")
    return sorted(names)


def resource_quota(o: Json, x: Printing) -> Cells:
    status = fields.status(o)
    used = status.get("used") or EMPTY
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or EMPTY).items()):
        text = f"{name}: {used.get(name, 0)}/{hard}"
        (limits if name.startswith("limits.") else requests).append(text)
    age = age_of(o, x)
    return [o["metadata"]["name"], age, ", ".join(requests), ", ".join(limits), age]


def event(o: Json, x: Printing) -> Cells:
    object_ = o.get("involvedObject") or EMPTY
    source = o.get("source") or EMPTY
    series = o.get("series")
    first = x.age(o.get("firstTimestamp") or o.get("eventTime"))
    last_seen = o.get("lastTimestamp")
    last = x.age(last_seen) if last_seen else first
    count = o.get("count") or 1
    if series:
        last, count = x.age(series.get("lastObservedTime")), series.get("count") or 0
    kind = (object_.get("kind") or "").lower()
    component = source.get("component") or o.get("reportingComponent") or ""
    host = source.get("host") or o.get("reportingInstance") or ""
    return [
        last,
        o.get("type") or "",
        o.get("reason") or "",
        f"{kind}/{object_['name']}" if object_.get("name") else kind,
        object_.get("fieldPath") or "",
        f"{component}, {host}" if host else component,
        (o.get("message") or "").strip(),
        first,
        count,
        o["metadata"]["name"],
    ]

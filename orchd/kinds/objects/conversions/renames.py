"""Conversions that rename or move members: events, endpoint slices, disruption budgets, runtime classes,
priority levels."""

from __future__ import annotations

from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object


def same(obj: Object, catalog: Catalog) -> Object:
    return obj


def _rename(obj: Object, names: dict[str, str]) -> Object:
    return {names.get(key, key): item for key, item in obj.items()}


# --- events -------------------------------------------------------------------------------------

_EVENT: Final = {
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedSource": "source",
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
}
_CORE_EVENT: Final = {core: name for name, core in _EVENT.items()}


def event_to_core(obj: Object, catalog: Catalog) -> Object:
    """Convert an Event of the events group to the core group."""
    return _rename(obj, _EVENT)


def event_from_core(obj: Object, catalog: Catalog) -> Object:
    return _rename(obj, _CORE_EVENT)


# --- endpoint slices ----------------------------------------------------------------------------

_ZONE: Final = "topology.{long}.io/zone"
_HOSTNAME: Final = "{long}.io/hostname"


def _each_endpoint(obj: Object, change: Any, dialect: Dialect) -> Object:
    endpoints = obj.get("endpoints")
    return {**obj, "endpoints": [change(e, dialect) for e in endpoints]} if endpoints else obj


def slice_from_v1beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert an EndpointSlice from v1beta1 to v1: topology labels become zone and nodeName, others
    deprecatedTopology."""
    return _each_endpoint(obj, _endpoint_from_v1beta1, catalog.dialect)


def slice_to_v1beta1(obj: Object, catalog: Catalog) -> Object:
    return _each_endpoint(obj, _endpoint_to_v1beta1, catalog.dialect)


def _endpoint_from_v1beta1(endpoint: Object, dialect: Dialect) -> Object:
    out = {key: item for key, item in endpoint.items() if key != "topology"}
    topology = dict(endpoint.get("topology") or {})
    zone = topology.pop(dialect(_ZONE), None)
    if zone is not None:
        out["zone"] = zone
    # A host name that differs from the node's is preserved, because v1beta1 has both.
    hostname = dialect(_HOSTNAME)
    if hostname in topology and topology[hostname] == endpoint.get("nodeName"):
        del topology[hostname]
    if topology:
        out["deprecatedTopology"] = topology
    return out


def _endpoint_to_v1beta1(endpoint: Object, dialect: Dialect) -> Object:
    out = {key: item for key, item in endpoint.items() if key not in ("zone", "deprecatedTopology")}
    topology = dict(endpoint.get("deprecatedTopology") or {})
    if endpoint.get("zone") is not None:
        topology[dialect(_ZONE)] = endpoint["zone"]
    if endpoint.get("nodeName") is not None:
        topology.setdefault(dialect(_HOSTNAME), endpoint["nodeName"])
    if topology:
        out["topology"] = topology
    return out


# --- disruption budgets -------------------------------------------------------------------------

_EMPTY_SELECTOR: Final = "pdb.{long}.io/deprecated-v1beta1-empty-selector-match"


def _only(dialect: Dialect, operator: str) -> Object:
    return {"matchExpressions": [{"key": dialect(_EMPTY_SELECTOR), "operator": operator}]}


def budget_from_v1beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert a PodDisruptionBudget from v1beta1 to v1.

    An empty selector matches nothing in v1beta1 and everything in v1; a requirement that no pod meets preserves the
    meaning.
    """
    return _selector(obj, {}, _only(catalog.dialect, "Exists"), _only(catalog.dialect, "DoesNotExist"), {})


def budget_to_v1beta1(obj: Object, catalog: Catalog) -> Object:
    return _selector(obj, {}, _only(catalog.dialect, "DoesNotExist"), _only(catalog.dialect, "Exists"), {})


def _selector(obj: Object, first: Object, becomes: Object, second: Object, turns: Object) -> Object:
    spec = fields.spec(obj)
    selector = spec.get("selector")
    if selector == first:
        return {**obj, "spec": {**spec, "selector": becomes}}
    if selector == second:
        return {**obj, "spec": {**spec, "selector": turns}}
    return obj


# --- runtime classes ----------------------------------------------------------------------------


def runtime_from_v1alpha1(obj: Object, catalog: Catalog) -> Object:
    """Convert a RuntimeClass from v1alpha1: the members of its spec move to the top level."""
    spec = fields.spec(obj)
    out = {key: item for key, item in obj.items() if key != "spec"}
    return {**out, **_rename(spec, {"runtimeHandler": "handler"})}


def runtime_to_v1alpha1(obj: Object, catalog: Catalog) -> Object:
    members = ("handler", "overhead", "scheduling")
    spec = {key: obj[key] for key in members if key in obj}
    out = {key: item for key, item in obj.items() if key not in members}
    return {**out, "spec": _rename(spec, {"handler": "runtimeHandler"})}


# --- priority levels ----------------------------------------------------------------------------


def level_from_v1(obj: Object, catalog: Catalog) -> Object:
    """Convert a PriorityLevelConfiguration from v1, whose shares have another name."""
    return _limited(obj, {"nominalConcurrencyShares": "assuredConcurrencyShares"})


def level_to_v1(obj: Object, catalog: Catalog) -> Object:
    return _limited(obj, {"assuredConcurrencyShares": "nominalConcurrencyShares"})


def _limited(obj: Object, names: dict[str, str]) -> Object:
    spec = fields.spec(obj)
    limited = spec.get("limited")
    return {**obj, "spec": {**spec, "limited": _rename(limited, names)}} if limited else obj

"""Resources that controllers read and write, and accessors for fields of objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds.conditions import find_condition
from orchd.kinds.fields import namespace, owner, spec
from orchd.kinds.jsonvalues import Object

PODS: Final = ResourceRef("", "v1", "pods")
NODES: Final = ResourceRef("", "v1", "nodes")
NAMESPACES: Final = ResourceRef("", "v1", "namespaces")
SERVICES: Final = ResourceRef("", "v1", "services")
ENDPOINTS: Final = ResourceRef("", "v1", "endpoints")
SECRETS: Final = ResourceRef("", "v1", "secrets")
CONFIG_MAPS: Final = ResourceRef("", "v1", "configmaps")
SERVICE_ACCOUNTS: Final = ResourceRef("", "v1", "serviceaccounts")
CLAIMS: Final = ResourceRef("", "v1", "persistentvolumeclaims")
QUOTAS: Final = ResourceRef("", "v1", "resourcequotas")
DEPLOYMENTS: Final = ResourceRef("apps", "v1", "deployments")
REPLICA_SETS: Final = ResourceRef("apps", "v1", "replicasets")
STATEFUL_SETS: Final = ResourceRef("apps", "v1", "statefulsets")
DAEMON_SETS: Final = ResourceRef("apps", "v1", "daemonsets")
REPLICATION_CONTROLLERS: Final = ResourceRef("", "v1", "replicationcontrollers")
REVISIONS: Final = ResourceRef("apps", "v1", "controllerrevisions")
JOBS: Final = ResourceRef("batch", "v1", "jobs")
CRON_JOBS: Final = ResourceRef("batch", "v1", "cronjobs")

MERGE: Final = "application/merge-patch+json"
STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

#: Index of the uid of an object's controller, on any informer: see `index_by_controller`.
BY_CONTROLLER: Final = "controllers/uid"
#: Index of the name of a pod's node: made with `pods_node`.
BY_NODE: Final = "controllers/node"


_DIGITS: Final = re.compile("[0-9]{1,9}")


def small_number(text: str) -> int | None:
    """The value of a text of ASCII digits below 10^9 in a name or an annotation; None for any other text."""
    return int(text) if _DIGITS.fullmatch(text) else None


def index_by_controller(informer: IInformer) -> None:
    """Index objects by their controller's uid; under "/namespace" those that have none."""
    try:
        informer.by_index(BY_CONTROLLER, "")
    except KeyError:
        informer.add_index(BY_CONTROLLER, _controllers)


def _controllers(obj: Object) -> Iterable[str]:
    reference = owner(obj)
    return ("/" + namespace(obj),) if reference is None else (str(reference.get("uid", "")),)


def pods_node(pod: Object) -> Iterable[str]:
    """Values of the index `BY_NODE`."""
    node = spec(pod).get("nodeName")
    return (str(node),) if node else ()


def condition(obj_status: Mapping[str, Any], type_: str) -> dict[str, Any] | None:
    """A copy of the condition of a type, None if it is not set."""
    first = find_condition(obj_status, type_)
    return None if first is None else dict(first)


def without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k not in keys}

"""Values of the selectable fields of kinds, by field name; `orchd.kinds.rows.FieldSelectors.values` names the
functions.

Objects may have any version of the kind.
"""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.jsonvalues import ObjectView

Values = dict[str, str]


def event(obj: ObjectView) -> Values:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    reporter = obj.get("reportingComponent") or obj.get("reportingController") or ""
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    out = {f"involvedObject.{name}": about.get(name, "") for name in names}
    out["reason"] = obj.get("reason", "")
    out["reportingComponent"] = reporter
    # An event without a source has that of its reporting component.
    out["source"] = source.get("component") or reporter
    out["type"] = obj.get("type", "")
    return out


def pod(obj: ObjectView) -> Values:
    spec, status = fields.spec(obj), fields.status(obj)
    addresses = status.get("podIPs")
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.phase": status.get("phase", ""),
        "status.podIP": addresses[0].get("ip", "") if addresses else status.get("podIP", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


def service(obj: ObjectView) -> Values:
    spec = fields.spec(obj)
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


def replication_controller(obj: ObjectView) -> Values:
    return {"status.replicas": str(fields.status(obj).get("replicas", 0))}


def signing_request(obj: ObjectView) -> Values:
    return {"spec.signerName": fields.spec(obj).get("signerName", "")}


def job(obj: ObjectView) -> Values:
    return {"status.successful": str(fields.status(obj).get("succeeded", 0))}


def namespace(obj: ObjectView) -> Values:
    return {"status.phase": fields.status(obj).get("phase", "")}


def node(obj: ObjectView) -> Values:
    return {"spec.unschedulable": "true" if fields.spec(obj).get("unschedulable") else "false"}


def secret(obj: ObjectView) -> Values:
    return {"type": obj.get("type", "")}


def resource_slice(obj: ObjectView) -> Values:
    spec = fields.spec(obj)
    return {"spec.driver": spec.get("driver", ""), "spec.nodeName": spec.get("nodeName", "")}

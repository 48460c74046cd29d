"""Ingress of extensions/v1beta1 and networking v1beta1."""

from __future__ import annotations

from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


def ingress(obj: Object, dialect: Dialect) -> Object:
    """Backends name their service in a field of its own, and every path has the type that was the default."""
    if not isinstance(obj.get("spec"), dict):
        return obj
    spec = {key: value for key, value in obj["spec"].items() if key not in ("backend", "rules")}
    if obj["spec"].get("backend"):
        spec["defaultBackend"] = _backend(obj["spec"]["backend"])
    if obj["spec"].get("rules"):
        spec["rules"] = [_rule(each) for each in obj["spec"]["rules"]]
    return {**obj, "spec": spec}


def _rule(rule: Object) -> Object:
    http = rule.get("http")
    if not http:
        return rule
    paths = [
        {
            "pathType": "ImplementationSpecific",
            **each,
            **({"backend": _backend(each["backend"])} if "backend" in each else {}),
        }
        for each in http.get("paths") or ()
    ]
    return {**rule, "http": {**http, "paths": paths}}


def _backend(backend: Object) -> Object:
    out = {key: value for key, value in backend.items() if key not in ("serviceName", "servicePort")}
    name, port = backend.get("serviceName"), backend.get("servicePort")
    if name or port:
        out["service"] = {"name": name or "", "port": _port(port)}
    return out


def _port(port: Any) -> Object:
    if port is None or port == "":
        return {}
    # A text is the name of a port, even one of digits.
    return {"name": port} if isinstance(port, str) else {"number": port}

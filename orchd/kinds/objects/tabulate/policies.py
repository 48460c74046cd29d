"""Cells of kinds that configure the cluster: access, admission, certificates, fairness, API extension."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.objects.tabulate.ages import human_duration
from orchd.kinds.objects.tabulate.text import EMPTY, NONE, UNSET, Cells, Json, Printing, age_of, first_few


def created(o: Json, x: Printing) -> Cells:
    """Kinds without a printer of their own: name and time of creation."""
    return [o["metadata"]["name"], o["metadata"].get("creationTimestamp")]


def role_binding(o: Json, x: Printing) -> Cells:
    role, subjects = o["roleRef"], o.get("subjects") or ()

    def names(kind: str) -> Iterable[str]:
        return (s["name"] for s in subjects if s.get("kind") == kind)

    accounts = (f"{s.get('namespace') or ''}/{s['name']}" for s in subjects if s.get("kind") == "ServiceAccount")
    return [
        o["metadata"]["name"],
        f"{role['kind']}/{role['name']}",
        age_of(o, x),
        ", ".join(names("User")),
        ", ".join(names("Group")),
        ", ".join(accounts),
    ]


def webhook_configuration(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], len(o.get("webhooks") or ()), age_of(o, x)]


def admission_policy(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    kind = spec.get("paramKind")
    kind_text = UNSET if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"
    return [o["metadata"]["name"], len(spec.get("validations") or ()), kind_text, age_of(o, x)]


def admission_policy_binding(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    ref = spec.get("paramRef") or EMPTY
    parameters_text = UNSET
    if ref.get("name"):
        # Without a namespace the parameter may be in that of each request.
        parameters_text = f"{ref.get('namespace') or '*'}/{ref['name']}"
    elif ref.get("selector") is not None:
        parameters_text = _selector(ref["selector"])
    return [o["metadata"]["name"], spec.get("policyName") or "", parameters_text, age_of(o, x)]


def _selector(selector: Json) -> str:
    """A label selector as the text form of its protobuf message."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def api_service(o: Json, x: Printing) -> Cells:
    service = fields.spec(o).get("service")
    where = f"{service.get('namespace') or ''}/{service.get('name') or ''}" if service else "Local"
    available = "Unknown"
    for condition in fields.status(o).get("conditions") or ():
        if condition.get("type") == "Available":
            available = condition.get("status") or ""
            if available != "True" and condition.get("reason"):
                available = f"{available} ({condition['reason']})"
    return [o["metadata"]["name"], where, available, age_of(o, x)]


def signing_request(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    seconds = spec.get("expirationSeconds")
    return [
        o["metadata"]["name"],
        age_of(o, x),
        spec.get("signerName") or "",
        spec.get("username") or "",
        NONE if seconds is None else human_duration(seconds),
        signing_state(fields.status(o)),
    ]


def signing_state(status: Json) -> str:
    """The state of a certificate signing request: ``Approved,Issued``."""
    types = {condition.get("type") for condition in status.get("conditions") or ()}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    state += ",Failed" if "Failed" in types else ""
    return state + (",Issued" if status.get("certificate") else "")


def lease(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], fields.spec(o).get("holderIdentity") or "", age_of(o, x)]


def priority_class(o: Json, x: Printing) -> Cells:
    default, policy = bool(o.get("globalDefault")), o.get("preemptionPolicy") or ""
    return [o["metadata"]["name"], o.get("value") or 0, default, age_of(o, x), policy]


def runtime_class(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], o.get("handler") or "", age_of(o, x)]


def pod_security_policy(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    rules = [
        (spec.get(name) or EMPTY).get("rule") or ""
        for name in ("seLinux", "runAsUser", "fsGroup", "supplementalGroups")
    ]
    return [
        o["metadata"]["name"],
        "true" if spec.get("privileged") else "false",
        ",".join(spec.get("allowedCapabilities") or ()),
        *rules,
        bool(spec.get("readOnlyRootFilesystem")),
        ",".join(spec.get("volumes") or ()),
    ]


def flow_schema(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    method = (spec.get("distinguisherMethod") or EMPTY).get("type") or NONE
    condition = find_condition(fields.status(o), "Dangling")
    dangling = "?" if condition is None else condition.get("status") or ""
    return [
        o["metadata"]["name"],
        (spec.get("priorityLevelConfiguration") or EMPTY).get("name") or "",
        spec.get("matchingPrecedence") or 0,
        method,
        age_of(o, x),
        dangling,
    ]


def priority_level(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    limited = spec.get("limited")
    queuing = ((limited or EMPTY).get("limitResponse") or EMPTY).get("queuing")
    return [
        o["metadata"]["name"],
        spec.get("type") or "",
        *[(limited.get("assuredConcurrencyShares") or 0) if limited else NONE] * 2,
        *((queuing.get(name) or 0) if queuing else NONE for name in ("queues", "handSize", "queueLengthLimit")),
        age_of(o, x),
    ]


def storage_version(o: Json, x: Printing) -> Cells:
    status = fields.status(o)
    encodings = [f"{v['apiServerID']}={v['encodingVersion']}" for v in status.get("storageVersions") or ()]
    return [
        o["metadata"]["name"],
        status.get("commonEncodingVersion") or UNSET,
        first_few(encodings) or UNSET,
        age_of(o, x),
    ]

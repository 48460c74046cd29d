"""Descriptions of nodes, namespaces, limits, priorities and certificate requests."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchd.ctl.printing.describe.network import conditions
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet, moment
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.pod_amounts import pod_totals
from orchd.kinds.objects.quota.amounts import Usage, add
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.tabulate.ages import human_duration
from orchd.kinds.objects.tabulate.core import roles
from orchd.kinds.objects.tabulate.policies import signing_state
from orchd.kinds.objects.tabulate.text import NONE, UNSET, labels

_NODE_INFO: Final = {
    "machineID": "Machine ID", "systemUUID": "System UUID", "bootID": "Boot ID", "kernelVersion": "Kernel Version",
    "osImage": "OS Image", "operatingSystem": "Operating System", "architecture": "Architecture",
    "containerRuntimeVersion": "Container Runtime Version", "{short}letVersion": "{Short}let Version",
    "{short}ProxyVersion": "{Short}-Proxy Version",
}  # fmt: skip
_NOTHING: Final = Quantity.of(0)


async def node(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec, status = obj["metadata"], fields.spec(obj), fields.status(obj)
    sheet.head(obj, f"Roles:\t{','.join(roles(metadata.get('labels') or {}, related.dialect)) or NONE}")
    sheet.row("CreationTimestamp", moment(metadata.get("creationTimestamp")))
    taints = sorted(spec.get("taints") or (), key=lambda each: (each.get("effect", ""), each.get("key", "")))
    sheet.listed("Taints", [_taint(each) for each in taints])
    sheet.row("Unschedulable", bool(spec.get("unschedulable")))
    await _lease(sheet, metadata["name"], related)
    listed = status.get("conditions") or ()
    if listed:
        sheet.line("Conditions:")
        rows = [
            [
                each.get("type"),
                each.get("status"),
                moment(each.get("lastHeartbeatTime")),
                moment(each.get("lastTransitionTime")),
                each.get("reason", ""),
                each.get("message", ""),
            ]
            for each in listed
        ]
        titles = ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
        sheet.table(titles, rows, spaced=True)
    sheet.line("Addresses:")
    for each in status.get("addresses") or ():
        sheet.row(each.get("type", ""), each.get("address", ""), 1)
    for key in ("capacity", "allocatable"):
        if status.get(key):
            sheet.line(f"{key.capitalize()}:")
        for name, amount in sorted((status.get(key) or {}).items()):
            sheet.row(name, amount, 1)
    sheet.line("System Info:")
    for key, title in _NODE_INFO.items():
        sheet.row(related.dialect(title), fields.mapping(status, "nodeInfo").get(related.dialect(key), ""), 1)
    sheet.rows(spec, {"podCIDR": "PodCIDR"})
    if spec.get("podCIDRs"):
        sheet.row("PodCIDRs", ",".join(spec["podCIDRs"]))
    sheet.rows(spec, {"providerID": "ProviderID"})
    on = f"spec.nodeName={metadata['name']},status.phase!=Succeeded,status.phase!=Failed"
    try:
        pods = await related.list("pods", query={"fieldSelector": on})
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        sheet.row("Pods", "not authorized")
    else:
        _node_pods(sheet, status, pods, related)


def _taint(each: Object) -> str:
    text = str(each.get("key", "")) + (f"={each['value']}" if each.get("value") else "")
    return f"{text}:{each.get('effect', '')}"


async def _lease(sheet: Sheet, name: str, related: Related) -> None:
    try:
        spec = fields.spec(
            await related.get("leases.coordination.{abbr}.io", related.dialect("{short}-node-lease"), name)
        )
    except ApiError as error:
        sheet.row("Lease", f"Failed to get lease: {error}")
        return
    sheet.line("Lease:")
    sheet.row("HolderIdentity", spec.get("holderIdentity", UNSET), 1)
    for key, title in (("acquireTime", "AcquireTime"), ("renewTime", "RenewTime")):
        sheet.row(title, moment(spec[key]) if spec.get(key) else UNSET, 1)


def _node_pods(sheet: Sheet, status: Object, pods: list[Object], related: Related) -> None:
    """Add the pods of a node and what they request together."""
    available = status.get("allocatable") or status.get("capacity") or {}

    def share(used: Mapping[str, Quantity], name: str) -> str:
        amount, of = used.get(name, _NOTHING), Quantity.parse(available.get(name, "0"))
        exact = (amount.milli, of.milli) if name == "cpu" else (amount.value, of.value)
        return f"{amount} ({exact[0] * 100 // exact[1] if exact[1] else 0}%)"

    sheet.row("Non-terminated Pods", f"({len(pods)} in total)")
    titles = ("CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age")
    rows = []
    sums: list[Usage] = [{}, {}]
    for pod in pods:
        metadata = pod["metadata"]
        both = pod_totals(pod)
        sums = [add(total, own) for total, own in zip(sums, both, strict=True)]
        cells = [share(used, name) for name in ("cpu", "memory") for used in both]
        rows.append(
            [metadata["namespace"], metadata["name"], "", *cells, related.age(metadata.get("creationTimestamp"))]
        )
    sheet.table(("Namespace", "Name", "", *titles), rows)
    sheet.line("Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)")
    names = ["cpu", "memory", "ephemeral-storage", *sorted(each for each in available if each.startswith("hugepages-"))]
    others = sorted(each for each in available if each != "pods" and each not in names)
    amounts = [[name, *(share(used, name) for used in sums)] for name in names]
    amounts += [[name, *(str(used.get(name, _NOTHING)) for used in sums)] for name in others]
    sheet.table(("Resource", "Requests", "Limits"), amounts)


async def namespace(sheet: Sheet, obj: Object, related: Related) -> None:
    name = obj["metadata"]["name"]
    sheet.head(obj)
    sheet.row("Status", fields.status(obj).get("phase", ""))
    conditions(sheet, obj)
    sheet.line()
    quotas = sorted(await related.list("resourcequotas", name), key=lambda each: str(each["metadata"]["name"]))
    sheet.line("Resource Quotas" if quotas else "No resource quota.")
    for each in quotas:
        sheet.row("Name", each["metadata"]["name"], 1)
        _quota(sheet, each, 1)
    sheet.line()
    limits = await related.list("limitranges", name)
    sheet.line("Resource Limits" if limits else "No LimitRange resource.")
    if limits:
        _limits(sheet, limits, " ")


_SCOPES: Final = {
    "Terminating": "Matches pods that have an active deadline.",
    "NotTerminating": "Matches pods that have no active deadline.",
    "BestEffort": "Matches pods whose containers request no resources and have no limits.",
    "NotBestEffort": "Matches pods of which a container requests a resource or has a limit.",
}


def _quota(sheet: Sheet, obj: Object, level: int) -> None:
    scopes = sorted(fields.spec(obj).get("scopes") or ())
    if scopes:
        sheet.row("Scopes", ", ".join(scopes), level)
    for each in scopes:
        if each in _SCOPES:
            sheet.line(f"{'' if level else ' '}* {_SCOPES[each]}", level)
    hard, used = (fields.mapping(obj, "status", key) for key in ("hard", "used"))
    sheet.line("Resource\tUsed\tHard", level)
    # Underlined as stock clients do.
    sheet.line("--------\t---\t---" if level else "--------\t----\t----", level)
    for name, amount in sorted(hard.items()):
        sheet.line(f"{name}\t{used.get(name, '0')}\t{amount}", level)


async def resource_quota(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.row("Name", obj["metadata"]["name"])
    sheet.row("Namespace", obj["metadata"]["namespace"])
    _quota(sheet, obj, 0)


_LIMITS: Final = {
    "min": "Min", "max": "Max", "defaultRequest": "Default Request", "default": "Default Limit",
    "maxLimitRequestRatio": "Max Limit/Request Ratio",
}  # fmt: skip


def _limits(sheet: Sheet, ranges: Iterable[Object], indent: str) -> None:
    rows = []
    for each in (item for one in ranges for item in fields.spec(one).get("limits") or ()):
        for name in sorted({name for key in _LIMITS for name in each.get(key) or ()}):
            amounts = [(each.get(key) or {}).get(name, "-") for key in _LIMITS]
            rows.append([f"{indent}{each.get('type', '')}", name, *amounts])
    titles = ["Type", "Resource", *_LIMITS.values()]
    sheet.line(indent + "\t".join(titles))
    sheet.line(indent + "\t".join("-" * len(title) for title in titles))
    for row in rows:
        sheet.line("\t".join(row))


async def limit_range(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.row("Name", obj["metadata"]["name"])
    sheet.row("Namespace", obj["metadata"]["namespace"])
    _limits(sheet, [obj], "")


async def priority_class(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.row("Name", obj["metadata"]["name"])
    sheet.row("Value", obj.get("value", 0))
    sheet.row("GlobalDefault", bool(obj.get("globalDefault")))
    sheet.row("PreemptionPolicy", obj.get("preemptionPolicy", ""))
    sheet.row("Description", obj.get("description", ""))
    sheet.row("Annotations", labels(obj["metadata"].get("annotations")))


async def signing_request(sheet: Sheet, obj: Object, related: Related) -> None:
    # Slow to import, and only for these.
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    from orchd.pki.requests import load_request

    metadata, spec = obj["metadata"], fields.spec(obj)
    sheet.row("Name", metadata["name"])
    sheet.row("Labels", labels(metadata.get("labels")))
    sheet.row("Annotations", labels(metadata.get("annotations")))
    sheet.row("CreationTimestamp", moment(metadata.get("creationTimestamp")))
    sheet.row("Requesting User", spec.get("username", ""))
    sheet.rows(spec, {"signerName": "Signer"})
    if spec.get("expirationSeconds") is not None:
        sheet.row("Requested Duration", human_duration(spec["expirationSeconds"]))
    sheet.row("Status", signing_state(fields.status(obj)))
    request = load_request(b64decode(spec.get("request") or ""))
    sheet.line("Subject:")
    for oid, title in (
        (NameOID.COMMON_NAME, "Common Name"),
        (NameOID.SERIAL_NUMBER, "Serial Number"),
        (NameOID.ORGANIZATION_NAME, "Organization"),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, "Organizational Unit"),
        (NameOID.COUNTRY_NAME, "Country"),
        (NameOID.LOCALITY_NAME, "Locality"),
        (NameOID.STATE_OR_PROVINCE_NAME, "Province"),
        (NameOID.STREET_ADDRESS, "StreetAddress"),
        (NameOID.POSTAL_CODE, "PostalCode"),
    ):
        values = [str(each.value) for each in request.subject.get_attributes_for_oid(oid)]
        single = oid in (NameOID.COMMON_NAME, NameOID.SERIAL_NUMBER)
        _under(sheet, title, values[-1:] or [""] if single else values)
    try:
        names: Any = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    sheet.line("Subject Alternative Names:")
    kinds: dict[str, type[x509.GeneralName]] = {
        "DNS Names": x509.DNSName, "Email Addresses": x509.RFC822Name, "URIs": x509.UniformResourceIdentifier,
        "IP Addresses": x509.IPAddress,
    }  # fmt: skip
    for title, kind in kinds.items():
        _under(sheet, title, [str(each) for each in names.get_values_for_type(kind)])


def _under(sheet: Sheet, title: str, values: list[str]) -> None:
    for at, value in enumerate(values):
        sheet.line(f"\t{'' if at else f'{title}:'}\t{value}")

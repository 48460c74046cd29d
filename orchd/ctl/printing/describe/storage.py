"""Descriptions of volumes, claims and classes."""

from __future__ import annotations

from orchd.ctl.printing.describe.claims import claim_rows, phase
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet, moment
from orchd.ctl.printing.describe.volumes import source
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.text import NONE, access_modes, labels, optional_bool
from orchd.kinds.objects.volumes.claims import class_of, is_default_class


async def persistent_volume(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec = obj["metadata"], fields.spec(obj)
    sheet.head(obj)
    sheet.row("Finalizers", metadata.get("finalizers") or [])
    sheet.row("StorageClass", class_of(obj, related.dialect))
    phase(sheet, obj, related.age(metadata.get("deletionTimestamp")))
    claim = spec.get("claimRef")
    sheet.row("Claim", f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "")
    sheet.row("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy", ""))
    sheet.row("Access Modes", access_modes(spec.get("accessModes")))
    sheet.rows(spec, {"volumeMode": "VolumeMode"})
    sheet.row("Capacity", fields.mapping(spec, "capacity").get("storage", "0"))
    required = fields.mapping(spec, "nodeAffinity", "required")
    sheet.row("Node Affinity", "" if required else NONE)
    if required:
        terms = required.get("nodeSelectorTerms") or ()
        sheet.row("Required Terms", "" if terms else NONE, 1)
        for at, term in enumerate(terms):
            expressions = term.get("matchExpressions") or ()
            sheet.listed(f"    Term {at}", [_requirement(each, each["operator"].lower()) for each in expressions])
    sheet.row("Message", fields.status(obj).get("message", ""))
    sheet.line("Source:")
    source(sheet, spec)


def _requirement(each: Object, operator: str) -> str:
    values = f" [{', '.join(each['values'])}]" if each.get("values") else ""
    return f"{each['key']} {operator}{values}"


async def persistent_volume_claim(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata = obj["metadata"]
    sheet.row("Name", metadata["name"])
    sheet.row("Namespace", metadata["namespace"])
    claim_rows(sheet, obj, class_of(obj, related.dialect), age=related.age(metadata.get("deletionTimestamp")))
    owners = {each.get("uid") for each in fields.owners(obj) if each.get("kind") == "Pod"}
    users = [
        pod["metadata"]["name"]
        for pod in await related.list("pods", metadata["namespace"])
        if pod["metadata"].get("uid") in owners
        or any(
            fields.mapping(volume, "persistentVolumeClaim").get("claimName") == metadata["name"]
            for volume in fields.spec(pod).get("volumes") or ()
        )
    ]
    sheet.listed("Used By", sorted(users))
    listed = fields.status(obj).get("conditions") or ()
    if listed:
        sheet.line("Conditions:")
        rows = [
            [
                each.get("type"),
                each.get("status"),
                moment(each.get("lastProbeTime")),
                moment(each.get("lastTransitionTime")),
                each.get("reason", ""),
                each.get("message", ""),
            ]
            for each in listed
        ]
        titles = ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
        sheet.table(titles, rows, spaced=True)


async def storage_class(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata = obj["metadata"]
    sheet.row("Name", metadata["name"])
    sheet.row("IsDefaultClass", "Yes" if is_default_class(obj, related.dialect) else "No")
    sheet.row("Annotations", labels(metadata.get("annotations")))
    sheet.row("Provisioner", obj.get("provisioner", ""))
    sheet.row("Parameters", labels(obj.get("parameters")))
    sheet.row("AllowVolumeExpansion", optional_bool(obj.get("allowVolumeExpansion")))
    options = obj.get("mountOptions") or ()
    sheet.line("MountOptions:" + ("" if options else f"\t{NONE}"))
    for each in options:
        sheet.line(each, 1)
    sheet.rows(obj, {"reclaimPolicy": "ReclaimPolicy", "volumeBindingMode": "VolumeBindingMode"})
    if obj.get("allowedTopologies"):
        sheet.row("AllowedTopologies", "")
    for at, term in enumerate(obj.get("allowedTopologies") or ()):
        expressions = term.get("matchLabelExpressions") or ()
        sheet.listed(f"  Term {at}", [_requirement(each, "in") for each in expressions])


async def volume_attributes_class(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.row("Name", obj["metadata"]["name"])
    sheet.row("Annotations", labels(obj["metadata"].get("annotations")))
    sheet.row("DriverName", obj.get("driverName", ""))
    sheet.row("Parameters", labels(obj.get("parameters")))


async def csi_node(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    sheet.row("CreationTimestamp", moment(obj["metadata"].get("creationTimestamp")))
    sheet.line("Spec:")
    drivers = fields.spec(obj).get("drivers")
    if drivers is not None:
        sheet.line("Drivers:", 1)
    for each in drivers or ():
        sheet.line(f"{each.get('name')}:", 2)
        sheet.row("Node ID", each.get("nodeID", ""), 3)
        count = fields.mapping(each, "allocatable").get("count")
        if count is not None:
            sheet.line("Allocatables:", 3)
            sheet.row("Count", count, 4)
        if each.get("topologyKeys") is not None:
            sheet.row("Topology Keys", each["topologyKeys"], 3)

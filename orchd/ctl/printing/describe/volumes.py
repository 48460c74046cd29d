"""Sources of volumes in descriptions: one row per source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.ctl.printing.describe.claims import claim_rows
from orchd.ctl.printing.describe.sheet import Sheet, plain
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.text import NONE, UNSET

#: Per field of a source: its title, and its text where the field is absent (None: no line).
Lines = tuple[tuple[str, str, str | None], ...]
_TYPE, _READ_ONLY = ("FSType", "fsType", ""), ("ReadOnly", "readOnly", "false")
_SECRET: Final = ("SecretRef", "secretRef", "nil")
_ISCSI: Final[Lines] = (
    ("TargetPortal", "targetPortal", ""), ("IQN", "iqn", ""), ("Lun", "lun", "0"),
    ("ISCSIInterface", "iscsiInterface", ""), _TYPE, _READ_ONLY, ("Portals", "portals", "[]"),
    ("DiscoveryCHAPAuth", "chapAuthDiscovery", "false"),
    ("SessionCHAPAuth", "chapAuthSession", "false"), _SECRET, ("InitiatorName", "initiatorName", NONE),
)  # fmt: skip
#: Per source of a volume or persistent volume: name and explanation of its type, and its fields.
SOURCES: Final[dict[str, tuple[str, Lines]]] = {
    "hostPath": ("HostPath (bare host directory volume)", (("Path", "path", ""), ("HostPathType", "type", NONE))),
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (("Medium", "medium", ""), ("SizeLimit", "sizeLimit", UNSET)),
    ),
    "gcePersistentDisk": (
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        (("PDName", "pdName", ""), _TYPE, ("Partition", "partition", "0"), _READ_ONLY),
    ),
    "awsElasticBlockStore": (
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        (("VolumeID", "volumeID", ""), _TYPE, ("Partition", "partition", "0"), _READ_ONLY),
    ),
    "gitRepo": (
        "GitRepo (a volume that is pulled from git when the pod is created)",
        (("Repository", "repository", ""), ("Revision", "revision", "")),
    ),
    "secret": (
        "Secret (a volume populated by a Secret)",
        (("SecretName", "secretName", ""), ("Optional", "optional", "false")),
    ),
    "configMap": (
        "ConfigMap (a volume populated by a ConfigMap)",
        (("Name", "name", ""), ("Optional", "optional", "false")),
    ),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server", "server", ""), ("Path", "path", ""), _READ_ONLY),
    ),
    "iscsi": (
        "ISCSI (an ISCSI Disk resource that is attached to a node's host machine and then exposed to the pod)",
        _ISCSI,
    ),
    "glusterfs": (
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        (
            ("EndpointsName", "endpoints", ""), ("EndpointsNamespace", "endpointsNamespace", None),
            ("Path", "path", ""), _READ_ONLY,
        ),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName", "claimName", ""), _READ_ONLY),
    ),
    "rbd": (
        "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        (
            ("CephMonitors", "monitors", "[]"), ("RBDImage", "image", ""), _TYPE, ("RBDPool", "pool", ""),
            ("RadosUser", "user", ""), ("Keyring", "keyring", ""), _SECRET, _READ_ONLY,
        ),
    ),
    "quobyte": (
        "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
        (("Registry", "registry", ""), ("Volume", "volume", ""), _READ_ONLY),
    ),
    "azureDisk": (
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        (
            ("DiskName", "diskName", ""), ("DiskURI", "diskURI", ""), ("Kind", "kind", ""), _TYPE,
            ("CachingMode", "cachingMode", ""), _READ_ONLY,
        ),
    ),
    "vsphereVolume": (
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        (("VolumePath", "volumePath", ""), _TYPE, ("StoragePolicyName", "storagePolicyName", "")),
    ),
    "cinder": (
        "Cinder (a Persistent Disk resource in OpenStack)",
        (("VolumeID", "volumeID", ""), _TYPE, _READ_ONLY, _SECRET),
    ),
    "photonPersistentDisk": (
        "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
        (("PdID", "pdID", ""), _TYPE),
    ),
    "portworxVolume": ("PortworxVolume (a Portworx Volume resource)", (("VolumeID", "volumeID", ""),)),
    "scaleIO": (
        "ScaleIO (a persistent volume backed by a block device in ScaleIO)",
        (
            ("Gateway", "gateway", ""), ("System", "system", ""), ("Protection Domain", "protectionDomain", ""),
            ("Storage Pool", "storagePool", ""), ("Storage Mode", "storageMode", ""), ("VolumeName", "volumeName", ""),
            _TYPE, _READ_ONLY,
        ),
    ),
    "local": ("LocalVolume (a persistent volume backed by local storage on a node)", (("Path", "path", ""),)),
    "cephfs": (
        "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        (
            ("Monitors", "monitors", "[]"), ("Path", "path", ""), ("User", "user", ""),
            ("SecretFile", "secretFile", ""), _SECRET, _READ_ONLY,
        ),
    ),
    "storageos": (
        "StorageOS (a StorageOS Persistent Disk resource)",
        (("VolumeName", "volumeName", ""), ("VolumeNamespace", "volumeNamespace", ""), _TYPE, _READ_ONLY),
    ),
    "fc": (
        "FC (a Fibre Channel disk)",
        (("TargetWWNs", "targetWWNs", ""), ("LUN", "lun", NONE), _TYPE, _READ_ONLY),
    ),
    "azureFile": (
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        (
            ("SecretName", "secretName", ""), ("SecretNamespace", "secretNamespace", None),
            ("ShareName", "shareName", ""), _READ_ONLY,
        ),
    ),
    "flexVolume": (
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        (("Driver", "driver", ""), _TYPE, _SECRET, _READ_ONLY, ("Options", "options", "map[]")),
    ),
    "flocker": (
        "Flocker (a Flocker volume mounted by the Flocker agent)",
        (("DatasetName", "datasetName", ""), ("DatasetUUID", "datasetUUID", "")),
    ),
    "csi": (
        "CSI (a Container Storage Interface (CSI) volume source)",
        (("Driver", "driver", ""), _TYPE, ("VolumeHandle", "volumeHandle", None), _READ_ONLY),
    ),
    "image": (
        "Image (a container image or OCI artifact)",
        (("Reference", "reference", ""), ("PullPolicy", "pullPolicy", "")),
    ),
    "ephemeral": (
        "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
        (),
    ),
    "projected": ("Projected (a volume that contains injected data from multiple sources)", ()),
    "downwardAPI": ("DownwardAPI (a volume populated by information about the pod)", ()),
}  # fmt: skip


def source(sheet: Sheet, volume: Mapping[str, Any]) -> None:
    """Add the lines about the source of a volume, or of the spec of a persistent volume."""
    name = next((key for key in SOURCES if volume.get(key) is not None), None)
    if name is None:
        sheet.line("<unknown>", 1)
        return
    kind, lines = SOURCES[name]
    values = volume[name]
    sheet.row("Type", kind, 2)
    for title, key, absent in lines:
        value = values.get(key)
        if value is not None and value != []:
            sheet.row(title, ", ".join(value) if key == "targetWWNs" else _text(key, value), 2)
        elif absent is not None:
            sheet.row(title, absent, 2)
    if name in _MEMBERS:
        _MEMBERS[name](sheet, values)


def _text(key: str, value: Any) -> str:
    if key != "secretRef":
        return plain(value)
    kind = "SecretReference" if "namespace" in value else "LocalObjectReference"
    names = {"name": "Name", "namespace": "Namespace"}
    return f"&{kind}{{{''.join(f'{title}:{value.get(each)},' for each, title in names.items() if each in value)}}}"


def _attributes(sheet: Sheet, values: Object) -> None:
    attributes = sorted((values.get("volumeAttributes") or {}).items())
    sheet.listed("    VolumeAttributes", [f"    {key}={value}" for key, value in attributes])


def _template(sheet: Sheet, values: Object) -> None:
    template = values.get("volumeClaimTemplate")
    if template:
        storage_class = fields.spec(template).get("storageClassName") or ""
        claim_rows(sheet, {"metadata": {}, **template}, storage_class, level=2)


def _projections(sheet: Sheet, values: Object) -> None:
    for each in values.get("sources") or ():
        if "secret" in each:
            sheet.row("SecretName", each["secret"].get("name", ""), 2)
            sheet.row("Optional", bool(each["secret"].get("optional")), 2)
        elif "downwardAPI" in each:
            sheet.row("DownwardAPI", True, 2)
        elif "configMap" in each:
            sheet.row("ConfigMapName", each["configMap"].get("name", ""), 2)
            sheet.row("Optional", bool(each["configMap"].get("optional")), 2)
        elif "serviceAccountToken" in each:
            sheet.row("TokenExpirationSeconds", each["serviceAccountToken"].get("expirationSeconds"), 2)


def _items(sheet: Sheet, values: Object) -> None:
    sheet.line("Items:", 2)
    for each in values.get("items") or ():
        for key, field in (("fieldRef", "fieldPath"), ("resourceFieldRef", "resource")):
            if key in each:
                sheet.line(f"{each[key].get(field)} -> {each.get('path')}", 3)


#: Further lines of sources.
_MEMBERS: Final = {"csi": _attributes, "ephemeral": _template, "projected": _projections, "downwardAPI": _items}

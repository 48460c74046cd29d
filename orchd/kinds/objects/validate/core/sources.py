"""Validation of volume sources that pods and persistent volumes share.

Rules are in a table by the name of the member; where the two differ (references to secrets with or without a namespace)
the rule is in `volumes` or `persistentvolumes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core.field_rules import (
    csi_driver_name,
    descending_path,
    is_label,
    is_subdomain,
    mode,
    no_backsteps,
    plain_path,
    require_text,
)
from orchd.kinds.objects.validate.names import between
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

Rule = Callable[[Object, Path, Report], None]

HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)\Z", re.ASCII),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}\Z"),
}
_PULL: Final = ("Always", "IfNotPresent", "Never")
_FORMAT: Final = "must be valid format"
_ISCSI_LENGTH: Final = 64
ISCSI_TOO_LONG: Final = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."


def empty_dir(source: Object, at: Path, report: Report) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and str(limit).startswith("-"):
        report.forbidden(at / "sizeLimit", "SizeLimit field must be a valid resource quantity")


def host_path(source: Object, at: Path, report: Report) -> None:
    path = require_text(source, "path", at, report)
    if not path:
        return
    no_backsteps(path, at / "path", report)
    kind = source.get("type")
    if kind is not None and kind not in HOST_PATH_TYPES:
        report.unsupported(at / "type", kind, HOST_PATH_TYPES)


def git_repo(source: Object, at: Path, report: Report) -> None:
    require_text(source, "repository", at, report)
    descending_path(source.get("directory") or "", at / "directory", report)


def gce_persistent_disk(source: Object, at: Path, report: Report) -> None:
    require_text(source, "pdName", at, report)
    _partition(source, at, report)


def aws_elastic_block_store(source: Object, at: Path, report: Report) -> None:
    require_text(source, "volumeID", at, report)
    _partition(source, at, report)


def _partition(source: Object, at: Path, report: Report) -> None:
    partition = source.get("partition") or 0
    if partition:
        report.invalids(at / "partition", partition, between(partition, 1, 255))


def nfs(source: Object, at: Path, report: Report) -> None:
    require_text(source, "server", at, report)
    path = require_text(source, "path", at, report)
    if not path.startswith("/"):
        report.invalid(at / "path", path, "must be an absolute path")


def iscsi(source: Object, at: Path, report: Report) -> None:
    require_text(source, "targetPortal", at, report)
    _iscsi_rest(source, "must be valid format starting with iqn, eui, or naa", at, report)


def persistent_iscsi(source: Object, volume: str, at: Path, report: Report) -> None:
    """Validate the source in the persistent volume called `volume`."""
    portal = require_text(source, "targetPortal", at, report)
    if long_initiator(source, volume):
        report.invalid(at / "targetportal", portal, ISCSI_TOO_LONG)
    _iscsi_rest(source, _FORMAT, at, report, secret_name=True)


def long_initiator(source: Object, volume: str) -> bool:
    """True if the initiator name made of volume and portal is too long."""
    if source.get("initiatorName") is None:
        return False
    return len(f"{volume}:{source.get('targetPortal') or ''}".encode()) > _ISCSI_LENGTH


def _iscsi_rest(source: Object, other: str, at: Path, report: Report, *, secret_name: bool = False) -> None:
    iqn = require_text(source, "iqn", at, report)
    if iqn:
        _iscsi_name(iqn, other, at / "iqn", report)
    lun = source.get("lun") or 0
    report.invalids(at / "lun", lun, between(lun, 0, 255))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        report.required(at / "secretRef")
    if secret_name and secret is not None:
        require_text(secret, "name", at / "secretRef", report)
    if source.get("initiatorName") is not None:
        _iscsi_name(source["initiatorName"], other, at / "initiatorname", report)


def _iscsi_name(name: str, other: str, at: Path, report: Report) -> None:
    """Validate an iSCSI name. `other` is the error for a name in none of the three forms."""
    pattern = _ISCSI.get(name[:3])
    if pattern is None:
        report.invalid(at, name, other)
    elif not pattern.search(name) if name[:3] == "iqn" else not pattern.match(name):
        report.invalid(at, name, _FORMAT)


def glusterfs(source: Object, at: Path, report: Report) -> None:
    require_text(source, "endpoints", at, report)
    require_text(source, "path", at, report)


def flocker(source: Object, at: Path, report: Report) -> None:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        report.required(at, "one of datasetName and datasetUUID is required")
    if name and uuid:
        report.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        report.invalid(at / "datasetName", name, "must not contain '/'")


def rbd(source: Object, at: Path, report: Report) -> None:
    if not source.get("monitors"):
        report.required(at / "monitors")
    require_text(source, "image", at, report)


def cinder(source: Object, at: Path, report: Report) -> None:
    require_text(source, "volumeID", at, report)
    secret = source.get("secretRef")
    if secret is not None:
        require_text(secret, "name", at / "secretRef", report)


def cephfs(source: Object, at: Path, report: Report) -> None:
    if not source.get("monitors"):
        report.required(at / "monitors")


def quobyte(source: Object, at: Path, report: Report) -> None:
    words = "must be a host:port pair or multiple pairs separated by commas"
    registry = source.get("registry") or ""
    if not registry:
        report.required(at / "registry", words)
    elif len((source.get("tenant") or "").encode()) >= 65:
        report.required(at / "tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not _is_host_and_port(pair):
                report.invalid(at / "registry", registry, words)
    require_text(source, "volume", at, report)


def _is_host_and_port(text: str) -> bool:
    """Split ``host:port`` or ``[host]:port``. Both parts may be empty; a host with colons needs brackets."""
    host, colon, number = text.rpartition(":")
    if not colon or "[" in number or "]" in number:
        return False
    if host.startswith("["):
        inner, closed, rest = host[1:].partition("]")
        return bool(closed) and not rest and "[" not in inner
    return not any(c in host for c in ":[]")


def fibre_channel(source: Object, at: Path, report: Report) -> None:
    names, ids = source.get("targetWWNs"), source.get("wwids")
    if not names and not ids:
        report.required(at / "targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        report.invalid(at / "targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names:
        lun = source.get("lun")
        if lun is None:
            report.required(at / "lun", "lun is required if targetWWNs is specified")
        else:
            report.invalids(at / "lun", lun, between(lun, 0, 255))


def flex_volume(source: Object, at: Path, report: Report) -> None:
    require_text(source, "driver", at, report)
    dialect = report.dialect
    reserved = (dialect(".{long}.io"), dialect(".{abbr}.io"))
    for key in source.get("options") or ():
        if ("." + key.split("/")[0].lower()).endswith(reserved):
            report.invalid((at / "options")[key], key, dialect("{long}.io and {abbr}.io namespaces are reserved"))


def azure_file(source: Object, at: Path, report: Report) -> None:
    require_text(source, "secretName", at, report)
    require_text(source, "shareName", at, report)


def vsphere(source: Object, at: Path, report: Report) -> None:
    require_text(source, "volumePath", at, report)


def photon(source: Object, at: Path, report: Report) -> None:
    require_text(source, "pdID", at, report)


def portworx(source: Object, at: Path, report: Report) -> None:
    require_text(source, "volumeID", at, report)


def azure_disk(source: Object, at: Path, report: Report) -> None:
    require_text(source, "diskName", at, report)
    uri = require_text(source, "diskURI", at, report)
    caching, kind = source.get("cachingMode"), source.get("kind")
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        report.unsupported(at / "cachingMode", caching, ("None", "ReadOnly", "ReadWrite"))
    if kind is not None and kind not in ("Dedicated", "Managed", "Shared"):
        report.unsupported(at / "kind", kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        report.unsupported(at / "diskURI", uri, (form,))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        report.unsupported(at / "diskURI", uri, (form,))


def storageos(source: Object, at: Path, report: Report) -> None:
    name = require_text(source, "volumeName", at, report)
    if name:
        is_label(name, at / "volumeName", report)
    if source.get("volumeNamespace"):
        is_label(source["volumeNamespace"], at / "volumeNamespace", report)
    secret = source.get("secretRef")
    if secret is not None:
        require_text(secret, "name", at / "secretRef", report)


def scale_io(source: Object, at: Path, report: Report) -> None:
    for member in ("gateway", "system", "volumeName"):
        require_text(source, member, at, report)


def secret(source: Object, at: Path, report: Report) -> None:
    require_text(source, "secretName", at, report)
    keyed(source, at, report)


def config_map(source: Object, at: Path, report: Report) -> None:
    require_text(source, "name", at, report)
    keyed(source, at, report)


def keyed(source: Object, at: Path, report: Report) -> None:
    """Validate mode and items of a volume with the keys of an object."""
    mode(source.get("defaultMode"), at / "defaultMode", report)
    for i, item in enumerate(source.get("items") or ()):
        key_to_path(item, (at / "items")[i], report)


def key_to_path(item: Object, at: Path, report: Report) -> None:
    require_text(item, "key", at, report)
    path = require_text(item, "path", at, report)
    plain_path(path, at / "path", report)
    mode(item.get("mode"), at / "mode", report)


def claim(source: Object, at: Path, report: Report) -> None:
    require_text(source, "claimName", at, report)


def csi(source: Object, at: Path, report: Report) -> None:
    csi_driver_name(source.get("driver") or "", at / "driver", report)
    if source.get("nodePublishSecretRef") is not None:
        _csi_secret(source["nodePublishSecretRef"], at, report)


#: The member in the path of a missing name: the reference once had a space there.
_CSI_SECRET: Final = (("", "nodePublishSecretRef "), ("1.27", "nodePublishSecretRef"))


def _csi_secret(reference: Object, at: Path, report: Report) -> None:
    name = require_text(reference, "name", at / report.settings.release.choose(_CSI_SECRET), report)
    if name:
        # The reference omits the member in this path.
        is_subdomain(name, at / "name", report)


def image(source: Object, at: Path, report: Report) -> None:
    policy = source.get("pullPolicy") or ""
    if not policy:
        report.required(at / "pullPolicy")
    elif policy not in _PULL:
        report.unsupported(at / "pullPolicy", policy, _PULL)


#: Members with another name in the error for several sources.
ONE_TOO_MANY: Final[dict[str, str]] = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}

#: Member -> (its name in errors, rule), in the order of validation.
SHARED: Final[dict[str, tuple[str, Rule]]] = {
    "hostPath": ("hostPath", host_path),
    "gcePersistentDisk": ("persistentDisk", gce_persistent_disk),
    "awsElasticBlockStore": ("awsElasticBlockStore", aws_elastic_block_store),
    "nfs": ("nfs", nfs),
    "iscsi": ("iscsi", iscsi),
    "glusterfs": ("glusterfs", glusterfs),
    "flocker": ("flocker", flocker),
    "rbd": ("rbd", rbd),
    "cinder": ("cinder", cinder),
    "cephfs": ("cephfs", cephfs),
    "quobyte": ("quobyte", quobyte),
    "fc": ("fc", fibre_channel),
    "flexVolume": ("flexVolume", flex_volume),
    "azureFile": ("azureFile", azure_file),
    "vsphereVolume": ("vsphereVolume", vsphere),
    "photonPersistentDisk": ("photonPersistentDisk", photon),
    "portworxVolume": ("portworxVolume", portworx),
    "azureDisk": ("azureDisk", azure_disk),
    "storageos": ("storageos", storageos),
    "scaleIO": ("scaleIO", scale_io),
}

"""In-tree volume sources that CSI drivers serve in release 1.23, and the names of these drivers."""

from __future__ import annotations

from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.fields import annotations_of, labels, spec, with_metadata
from orchd.kinds.jsonvalues import Object

#: Field of a volume's spec -> plugin and driver.
_MIGRATED: Final = {
    "awsElasticBlockStore": ("{long}.io/aws-ebs", "ebs.csi.aws.com"),
    "gcePersistentDisk": ("{long}.io/gce-pd", "pd.csi.storage.gke.io"),
    "cinder": ("{long}.io/cinder", "cinder.csi.openstack.org"),
    "azureDisk": ("{long}.io/azure-disk", "disk.csi.azure.com"),
}
_DRIVERS: Final = dict(_MIGRATED.values())

#: Between the zones of a volume that is in several.
_SEVERAL: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"

#: Annotation of claims and volumes: the driver that does the work of their plugin.
MIGRATED_TO: Final = "pv.{long}.io/migrated-to"
#: Annotation of volumes: the plugin or driver that made them.
PROVISIONED_BY: Final = "pv.{long}.io/provisioned-by"
#: Annotations of claims that name the provisioner. The older one is still written.
PROVISIONER: Final = "volume.{long}.io/storage-provisioner"
BETA_PROVISIONER: Final = "volume.beta.{long}.io/storage-provisioner"


def driver_of(plugin: str, dialect: Dialect) -> str:
    """The driver that does the work of a plugin; "" for a plugin that is not migrated."""
    for template, driver in _DRIVERS.items():
        if dialect(template) == plugin:
            return driver
    return ""


def migrated_source(volume: Object, dialect: Dialect) -> tuple[str, str]:
    """Plugin and driver of a volume's source; two empty strings when it is not migrated."""
    for field, (template, driver) in _MIGRATED.items():
        if spec(volume).get(field) is not None:
            return dialect(template), driver
    return "", ""


def driver_handle(volume: Object, dialect: Dialect) -> tuple[str, str]:
    """CSI driver of a volume and its volume handle; two empty strings if no driver serves the volume."""
    source = spec(volume).get("csi")
    if source is not None:
        return str(source["driver"]), str(source["volumeHandle"])
    driver = migrated_source(volume, dialect)[1]
    return (driver, _handle(volume, dialect)) if driver else ("", "")


def _handle(volume: Object, dialect: Dialect) -> str:
    """The driver's volume handle for an in-tree volume source."""
    source = spec(volume)
    if source.get("awsElasticBlockStore") is not None:
        return str(source["awsElasticBlockStore"]["volumeID"]).rpartition("/")[2]
    if source.get("cinder") is not None:
        return str(source["cinder"]["volumeID"])
    if source.get("azureDisk") is not None:
        return str(source["azureDisk"]["diskURI"])
    zone = _location(volume, dialect, "zone")
    disk = source["gcePersistentDisk"]["pdName"]
    if _SEVERAL in zone:
        return f"projects/{_UNSPECIFIED}/regions/{zone.partition(_SEVERAL)[0].rpartition('-')[0]}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zone or _UNSPECIFIED}/disks/{disk}"


def _location(volume: Object, dialect: Dialect, what: str) -> str:
    notes = labels(volume)
    keys = (f"topology.{{long}}.io/{what}", f"failure-domain.beta.{{long}}.io/{what}")
    return next((notes[dialect(key)] for key in keys if dialect(key) in notes), "")


def with_migration(obj: Object, dialect: Dialect, *, claim: bool) -> Object:
    """A claim or volume annotated with the driver that serves its plugin; `obj` itself if the annotation is up to
    date."""
    notes = annotations_of(obj)
    keys = (PROVISIONER, BETA_PROVISIONER) if claim else (PROVISIONED_BY,)
    plugin = next((notes[dialect(key)] for key in keys if dialect(key) in notes), None)
    if plugin is None:
        return obj
    mark, driver = dialect(MIGRATED_TO), driver_of(plugin, dialect)
    if notes.get(mark, "") == driver:
        return obj
    others = {key: value for key, value in notes.items() if key != mark}
    return with_metadata(obj, annotations={**others, mark: driver} if driver else others)

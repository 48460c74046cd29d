"""In-tree volumes that a CSI driver serves: names of the drivers, handles, and topology. Facts of release 1.23.

A node's CSINode lists in an annotation which in-tree plugins its drivers serve. There such volumes count as the
driver's, and their node affinity speaks of the driver's topology key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.node_selectors import Terms
from orchd.kinds.objects.volumes.claims import annotation
from orchd.kinds.objects.volumes.topology import affinity_terms, zones
from orchd.scheduler.plugins.storage import Storage

_MIGRATED: Final = "storage.alpha.{long}.io/migrated-plugins"
_ZONES: Final = ("topology.{long}.io/zone", "failure-domain.beta.{long}.io/zone")
_EBS_URL: Final = re.compile(r"aws://[^/]*/(.+)\Z")


@dataclass(frozen=True, slots=True)
class Migration:
    """`plugin` is the in-tree plugin (a template), `source` its member in volumes, `driver` the CSI driver that serves
    it, `topology` the driver's key for zones, `gate` the feature gate."""

    plugin: str
    source: str
    driver: str
    gate: str
    topology: str = ""


MIGRATIONS: Final = (
    Migration(
        "{long}.io/aws-ebs",
        "awsElasticBlockStore",
        "ebs.csi.aws.com",
        "CSIMigrationAWS",
        "topology.ebs.csi.aws.com/zone",
    ),
    Migration(
        "{long}.io/gce-pd", "gcePersistentDisk", "pd.csi.storage.gke.io", "CSIMigrationGCE", "topology.gke.io/zone"
    ),
    Migration(
        "{long}.io/azure-disk",
        "azureDisk",
        "disk.csi.azure.com",
        "CSIMigrationAzureDisk",
        "topology.disk.csi.azure.com/zone",
    ),
    Migration(
        "{long}.io/cinder",
        "cinder",
        "cinder.csi.openstack.org",
        "CSIMigrationOpenStack",
        "topology.cinder.csi.openstack.org/zone",
    ),
    Migration("{long}.io/azure-file", "azureFile", "file.csi.azure.com", "CSIMigrationAzureFile"),
    Migration("{long}.io/vsphere-volume", "vsphereVolume", "csi.vsphere.vmware.com", "CSIMigrationvSphere"),
    Migration("{long}.io/portworx-volume", "portworxVolume", "pxd.portworx.com", "CSIMigrationPortworx"),
    Migration("{long}.io/rbd", "rbd", "rbd.csi.ceph.com", "csiMigrationRBD"),
)


def of_volume(volume: Object) -> Migration | None:
    """The migration of a persistent volume's source."""
    spec = volume["spec"]
    return next((each for each in MIGRATIONS if spec.get(each.source) is not None), None)


def of_provisioner(provisioner: str, dialect: Dialect) -> Migration | None:
    return next((each for each in MIGRATIONS if dialect(each.plugin) == provisioner), None)


def is_on(migration: Migration, csi_node: Object | None, storage: Storage) -> bool:
    """True if the node's CSI driver has taken over the in-tree plugin."""
    return is_served(migration, served_plugins(csi_node, storage.dialect), storage)


def is_served(migration: Migration, served: str, storage: Storage) -> bool:
    """As `is_on`, for the result of `served_plugins` for the node."""
    if storage.dialect(migration.plugin) not in served.split(","):
        return False
    return storage.feature("CSIMigration") and storage.feature(migration.gate)


def served_plugins(csi_node: Object | None, dialect: Dialect) -> str:
    """The in-tree plugins that drivers of a node serve, separated by commas."""
    return "" if csi_node is None else annotation(csi_node, dialect(_MIGRATED)) or ""


def volume_handle(volume: Object, migration: Migration, dialect: Dialect) -> str:
    """The CSI volume handle of an in-tree volume; "" if it has none."""
    source: Mapping[str, Any] = volume["spec"][migration.source]
    match migration.source:
        case "awsElasticBlockStore":
            volume_id = source.get("volumeID", "")
            url = _EBS_URL.match(volume_id)
            return url.group(1).strip("/") if url else volume_id
        case "gcePersistentDisk":
            return f"projects/UNSPECIFIED/{_location(volume, dialect)}/disks/{source.get('pdName', '')}"
        case "azureDisk":
            return str(source.get("diskURI", ""))
    return str(source.get("volumeID", ""))


def _location(volume: Object, dialect: Dialect) -> str:
    labels: Mapping[str, str] = fields.labels(volume)
    label = next((labels[key] for key in map(dialect, _ZONES) if key in labels), "")
    names = sorted(zones(label) or ()) if label else []
    if len(names) > 1:
        return f"regions/{names[0].rpartition('-')[0]}"
    return f"zones/{names[0] if names else 'UNSPECIFIED'}"


def migrated_terms(volume: Object, migration: Migration, dialect: Dialect) -> Terms | None:
    """The node affinity of an in-tree volume with zones under the driver's topology key."""
    terms, keys = affinity_terms(volume), tuple(map(dialect, _ZONES))
    if terms is not None and any(
        each.get("key") in keys for term in terms for each in term.get("matchExpressions") or ()
    ):
        return [_renamed(term, keys, migration.topology) for term in terms]
    labels: Mapping[str, str] = fields.labels(volume)
    zone = next((labels[key] for key in keys if key in labels), None)
    if zone is None:
        return terms
    requirement = {"key": migration.topology, "operator": "In", "values": [zone]}
    return [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), requirement]} for term in terms or ({},)
    ]


def _renamed(term: Mapping[str, Any], keys: Sequence[str], topology: str) -> dict[str, Any]:
    expressions = [
        {**each, "key": topology} if each.get("key") in keys else each for each in term.get("matchExpressions") or ()
    ]
    return {**term, "matchExpressions": expressions}

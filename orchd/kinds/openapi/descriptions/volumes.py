"""Descriptions of volumes, volume sources, claims and the storage group."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

_ISCSI: Final[dict[str, str]] = {
    "": "iSCSI volume.",
    "chapAuthDiscovery": "Enables CHAP authentication of discovery.",
    "chapAuthSession": "Enables CHAP authentication of sessions.",
    "initiatorName": "Name of the iSCSI initiator.",
    "iqn": "Qualified name of the target.",
    "iscsiInterface": "Name of the iSCSI interface. Default: default (tcp).",
    "lun": "Logical unit number.",
    "portals": "Additional target portals.",
    "targetPortal": "Target portal, as IP or IP:PORT.",
}
_RBD: Final[dict[str, str]] = {
    "": "Ceph RADOS block device.",
    "image": "Name of the RBD image.",
    "keyring": "File with the keyring of the user. Default: /etc/ceph/keyring.",
    "pool": "RADOS pool. Default: rbd.",
    "user": "RADOS user. Default: admin.",
}
_CEPHFS: Final[dict[str, str]] = {
    "": "Ceph file system.",
    "path": "Directory used as the root of the mount. Default: /.",
    "secretFile": "File with the keyring of the user. Default: /etc/ceph/user.secret.",
    "user": "RADOS user. Default: admin.",
}
_CINDER: Final[dict[str, str]] = {"": "OpenStack Cinder volume."}
_FLEX: Final[dict[str, str]] = {"": "FlexVolume.", "options": "Options for the driver."}
_GLUSTER: Final[dict[str, str]] = {
    "": "Glusterfs volume.",
    "endpoints": "Name of the Endpoints object that lists the servers.",
    "endpointsNamespace": "Namespace of the Endpoints object. Default: that of the claim.",
    "path": "Name of the Glusterfs volume.",
}
_SCALEIO: Final[dict[str, str]] = {
    "": "ScaleIO volume.",
    "gateway": "Host address of the API gateway.",
    "protectionDomain": "Name of the protection domain.",
    "sslEnabled": "Enables TLS to the gateway. Default: false.",
    "storageMode": "ThickProvisioned or ThinProvisioned (the default).",
    "storagePool": "Name of the storage pool.",
    "system": "Name of the storage system.",
}
_STORAGEOS: Final[dict[str, str]] = {"": "StorageOS volume.", "volumeNamespace": "StorageOS namespace of the volume."}
_AZURE_FILE: Final[dict[str, str]] = {
    "": "Azure Files share.",
    "secretName": "Name of the Secret with name and key of the storage account.",
    "secretNamespace": "Namespace of the Secret. Default: that of the pod.",
    "shareName": "Name of the share.",
}
_CSI: Final[dict[str, str]] = {
    "": "Volume of a CSI driver.",
    "controllerExpandSecretRef": "Secret passed to the driver when the volume is expanded.",
    "controllerPublishSecretRef": "Secret passed to the driver when the volume is attached or detached.",
    "nodeExpandSecretRef": "Secret passed to the driver when the volume is expanded on a node.",
    "nodePublishSecretRef": "Secret passed to the driver when the volume is mounted.",
    "nodeStageSecretRef": "Secret passed to the driver when the volume is staged on a node.",
    "volumeAttributes": "Attributes passed to the driver.",
    "volumeHandle": "Identifier of the volume at the driver.",
}
#: Volume source members shared by Volume and PersistentVolume.
_SOURCES: Final[dict[str, str]] = {
    "awsElasticBlockStore": "AWS EBS disk.",
    "azureDisk": "Azure data disk.",
    "azureFile": "Azure Files share.",
    "cephfs": "Ceph file system.",
    "cinder": "OpenStack Cinder volume.",
    "csi": "Volume of a CSI driver.",
    "fc": "Fibre Channel volume.",
    "flexVolume": "FlexVolume.",
    "flocker": "Flocker volume.",
    "gcePersistentDisk": "Google Compute Engine disk.",
    "glusterfs": "Glusterfs volume.",
    "hostPath": "File or directory of the node.",
    "iscsi": "iSCSI volume.",
    "nfs": "NFS export.",
    "photonPersistentDisk": "Photon Controller disk.",
    "portworxVolume": "Portworx volume.",
    "quobyte": "Quobyte volume.",
    "rbd": "Ceph RADOS block device.",
    "scaleIO": "ScaleIO volume.",
    "storageos": "StorageOS volume.",
    "vsphereVolume": "vSphere volume.",
}

TEXTS: Final[Texts] = {
    "core.Volume": {
        "": "Volume that containers of the pod can mount.",
        **_SOURCES,
        "configMap": "Data of a ConfigMap as files.",
        "downwardAPI": "Fields of the pod as files.",
        "emptyDir": "Initially empty directory with the lifetime of the pod.",
        "ephemeral": "Claim created and deleted together with the pod.",
        "gitRepo": "Git repository. Deprecated: clone into an emptyDir in an init container.",
        "image": "Content of an OCI image or artifact, mounted read-only.",
        "name": "Name of the volume, a DNS label that is unique in the pod.",
        "persistentVolumeClaim": "Volume of a PersistentVolumeClaim in the same namespace.",
        "projected": "Several sources combined in one directory.",
        "secret": "Data of a Secret as files.",
    },
    "core.VolumeMount": {
        "": "Mount of a volume in a container.",
        "mountPath": "Path in the container. Must not contain a colon.",
        "mountPropagation": "Propagation of mounts: None (the default), HostToContainer or Bidirectional.",
        "name": "Name of the volume.",
        "recursiveReadOnly": (
            "Whether mounts below a read-only mount are read-only too: Disabled (the default), IfPossible or Enabled."
        ),
        "subPath": "Path within the volume to mount. Default: its root.",
        "subPathExpr": "Like subPath; $(NAME) expands to an environment variable of the container.",
    },
    "core.VolumeDevice": {
        "": "Raw block device in a container.",
        "devicePath": "Path of the device in the container.",
        "name": "Name of the volume, which must refer to a PersistentVolumeClaim.",
    },
    "core.PersistentVolume": {
        "": "Storage in the cluster, provisioned by an administrator or by a StorageClass.",
        "spec": "Properties of the volume.",
    },
    "core.PersistentVolumeSpec": {
        "": "Properties of a PersistentVolume.",
        **_SOURCES,
        "accessModes": "Supported access modes.",
        "capacity": "Size of the volume.",
        "claimRef": "Claim that the volume is bound to.",
        "local": "Disk or directory of one node.",
        "nodeAffinity": "Nodes from which the volume is accessible.",
        "persistentVolumeReclaimPolicy": (
            "Handling of the volume after the release by its claim: Retain (the default), Delete or Recycle."
        ),
        "storageClassName": "StorageClass of the volume. Empty means none.",
        "volumeAttributesClassName": "Name of the VolumeAttributesClass of the volume. Empty means none.",
    },
    "core.PersistentVolumeStatus": {
        "": "Observed state of a PersistentVolume.",
        "lastPhaseTransitionTime": "Time at which phase last changed.",
        "phase": "Pending, Available, Bound, Released or Failed.",
    },
    "core.PersistentVolumeClaim": {"": "Request for persistent storage."},
    "core.PersistentVolumeClaimSpec": {
        "": "Properties of the requested storage.",
        "accessModes": "Requested access modes.",
        "dataSource": "VolumeSnapshot or PersistentVolumeClaim to copy the initial content from.",
        "dataSourceRef": "Object of any kind that populates the volume.",
        "resources": "Requested size of the volume.",
        "selector": "Label selector of eligible volumes.",
        "storageClassName": "Name of the requested StorageClass. Default: the default class.",
        "volumeAttributesClassName": (
            "Name of the VolumeAttributesClass that sets attributes of the volume. May be changed later."
        ),
        "volumeName": "Name of the bound PersistentVolume.",
    },
    "core.PersistentVolumeClaimStatus": {
        "": "Observed state of a PersistentVolumeClaim.",
        "accessModes": "Access modes of the bound volume.",
        "allocatedResources": "Size allocated to the claim, including a resize in progress.",
        "allocatedResourceStatuses": "State of a resize, by resource, such as ControllerResizeInProgress or NodeResizePending.",
        "capacity": "Actual size of the bound volume.",
        "currentVolumeAttributesClassName": "Name of the VolumeAttributesClass in effect for the volume.",
        "modifyVolumeStatus": "State of a change of the VolumeAttributesClass. Unset if none is in progress.",
        "phase": "Pending, Bound or Lost.",
        "resizeStatus": "Status of a resize operation.",
    },
    "core.PersistentVolumeClaimCondition": {
        "": "Condition of a claim.",
        "status": "True, False or Unknown.",
        "type": "Type of the condition, such as Resizing or FileSystemResizePending.",
    },
    "core.PersistentVolumeClaimTemplate": {
        "": "Template of the claim that is created for a pod.",
        "metadata": "Labels and annotations of the claim.",
        "spec": "Specification of the claim.",
    },
    "core.PersistentVolumeClaimVolumeSource": {"": "Volume of a claim.", "claimName": "Name of the claim."},
    "core.VolumeNodeAffinity": {"": "Nodes from which a volume is accessible.", "required": "Node selector that must match."},
    "core.AWSElasticBlockStoreVolumeSource": {
        "": "AWS EBS disk.",
        "partition": "Number of the partition to mount. Default: the whole disk.",
    },
    "core.AzureDiskVolumeSource": {
        "": "Azure data disk.",
        "cachingMode": "Host caching mode: None, ReadOnly or ReadWrite.",
        "diskName": "Name of the disk.",
        "diskURI": "URI of the disk.",
        "kind": "Kind of disk: Shared, Dedicated or Managed.",
    },
    "core.AzureFilePersistentVolumeSource": _AZURE_FILE,
    "core.AzureFileVolumeSource": _AZURE_FILE,
    "core.CSIPersistentVolumeSource": _CSI,
    "core.CSIVolumeSource": {**_CSI, "": "Ephemeral volume of a CSI driver."},
    "core.CephFSPersistentVolumeSource": _CEPHFS,
    "core.CephFSVolumeSource": _CEPHFS,
    "core.CinderPersistentVolumeSource": _CINDER,
    "core.CinderVolumeSource": _CINDER,
    "core.ConfigMapVolumeSource": {
        "": "Data of a ConfigMap as files.", "items": "Keys and their paths. Default: all keys.",
        "name": "Name of the ConfigMap.",
    },
    "core.SecretVolumeSource": {"": "Data of a Secret as files.", "items": "Keys and their paths. Default: all keys."},
    "core.ConfigMapProjection": {
        "": "Keys of a ConfigMap in a projected volume.", "items": "Keys and their paths. Default: all keys.",
        "name": "Name of the ConfigMap.",
    },
    "core.SecretProjection": {
        "": "Keys of a Secret in a projected volume.", "items": "Keys and their paths. Default: all keys.",
        "name": "Name of the Secret.",
    },
    "core.KeyToPath": {"": "Maps a key to a file.", "path": "Relative path of the file in the volume. Must not contain \"..\"."},
    "core.DownwardAPIVolumeSource": {"": "Fields of the pod as files.", "items": "List of files."},
    "core.DownwardAPIProjection": {"": "Fields of the pod in a projected volume.", "items": "List of files."},
    "core.DownwardAPIVolumeFile": {
        "": "File with a field of the pod.",
        "fieldRef": "Field of the pod: name, namespace, UID, labels or annotations.",
        "path": "Relative path of the file in the volume. Must not contain \"..\".",
        "resourceFieldRef": "Resource limit or request of a container.",
    },
    "core.EmptyDirVolumeSource": {
        "": "Initially empty directory with the lifetime of the pod.",
        "medium": "Storage medium: empty for the node's default, or Memory.",
        "sizeLimit": "Maximum size. Default: unlimited.",
    },
    "core.EphemeralVolumeSource": {"": "Claim with the lifetime of the pod.", "volumeClaimTemplate": "Template of the claim."},
    "core.FCVolumeSource": {
        "": "Fibre Channel volume.",
        "lun": "Logical unit number.",
        "targetWWNs": "World wide names of the target.",
        "wwids": "World wide identifiers of the volume. Excludes targetWWNs and lun.",
    },
    "core.FlexPersistentVolumeSource": _FLEX,
    "core.FlexVolumeSource": _FLEX,
    "core.FlockerVolumeSource": {
        "": "Flocker volume.", "datasetName": "Name of the dataset.", "datasetUUID": "UUID of the dataset.",
    },
    "core.GCEPersistentDiskVolumeSource": {
        "": "Google Compute Engine disk.",
        "partition": "Number of the partition to mount. Default: the whole disk.",
        "pdName": "Name of the disk.",
    },
    "core.GitRepoVolumeSource": {
        "": "Git repository.",
        "directory": "Directory to clone into.",
        "repository": "URL of the repository.",
        "revision": "Commit hash to check out.",
    },
    "core.GlusterfsPersistentVolumeSource": _GLUSTER,
    "core.GlusterfsVolumeSource": _GLUSTER,
    "core.HostPathVolumeSource": {
        "": "File or directory of the node.",
        "path": "Path on the node.",
        "type": (
            "Check or creation before the mount: DirectoryOrCreate, Directory, FileOrCreate, File, Socket ... Default: no "
            "check."
        ),
    },
    "core.ISCSIPersistentVolumeSource": _ISCSI,
    "core.ISCSIVolumeSource": _ISCSI,
    "core.LocalVolumeSource": {"": "Disk or directory of one node.", "path": "Path of the disk or directory."},
    "core.NFSVolumeSource": {"": "NFS export.", "path": "Exported path.", "server": "Host name or IP address of the server."},
    "core.PhotonPersistentDiskVolumeSource": {"": "Photon Controller disk.", "pdID": "Identifier of the disk."},
    "core.PortworxVolumeSource": {"": "Portworx volume."},
    "core.ProjectedVolumeSource": {"": "Several sources combined in one directory.", "sources": "Sources of the volume."},
    "core.VolumeProjection": {
        "": "Source of a projected volume. Exactly one member must be set.",
        "clusterTrustBundle": "CA certificates of ClusterTrustBundles, in one file.",
        "configMap": "Keys of a ConfigMap.",
        "downwardAPI": "Fields of the pod.",
        "podCertificate": "Key and certificate of the pod, renewed before expiry.",
        "secret": "Keys of a Secret.",
        "serviceAccountToken": "Token of the service account.",
    },
    "core.ServiceAccountTokenProjection": {
        "": "Token of the pod's service account, rotated before it expires.",
        "audience": "Intended audience of the token. Default: the API server.",
        "expirationSeconds": "Requested lifetime in seconds, at least 600. Default: 3600.",
        "path": "Relative path of the file in the volume.",
    },
    "core.QuobyteVolumeSource": {
        "": "Quobyte volume.",
        "group": "Group to map volume access to.",
        "registry": "Addresses of the Quobyte registry, as HOST:PORT.",
        "tenant": "Tenant that owns the volume.",
        "user": "User to map volume access to.",
        "volume": "Name of the volume.",
    },
    "core.RBDPersistentVolumeSource": _RBD,
    "core.RBDVolumeSource": _RBD,
    "core.ScaleIOPersistentVolumeSource": _SCALEIO,
    "core.ScaleIOVolumeSource": _SCALEIO,
    "core.StorageOSPersistentVolumeSource": _STORAGEOS,
    "core.StorageOSVolumeSource": _STORAGEOS,
    "core.VsphereVirtualDiskVolumeSource": {
        "": "vSphere volume.",
        "storagePolicyID": "Identifier of the storage policy.",
        "storagePolicyName": "Name of the storage policy.",
        "volumePath": "Path of the VMDK.",
    },
    "core.AttachedVolume": {
        "": "Volume attached to a node.",
        "devicePath": "Path of the device on the node.",
        "name": "Name of the volume.",
    },
    "storage.StorageClass": {
        "": "Class of storage with a provisioner and its parameters.",
        "allowVolumeExpansion": "Whether claims of this class may be expanded. Default: false.",
        "allowedTopologies": "Topologies in which volumes may be provisioned.",
        "parameters": "Parameters of the provisioner.",
        "reclaimPolicy": "Handling of provisioned volumes after their release: Delete (the default) or Retain.",
        "volumeBindingMode": "When claims are bound: Immediate (the default) or WaitForFirstConsumer.",
    },
    "storage.CSIDriver": {"": "Capabilities of a CSI driver."},
    "storage.CSIDriverSpec": {
        "": "Capabilities of a CSI driver.",
        "attachRequired": "Whether volumes must be attached before they are mounted. Default: true.",
        "fsGroupPolicy": "Support for fsGroup: ReadWriteOnceWithFSType (the default), File or None.",
        "nodeAllocatableUpdatePeriodSeconds": (
            "Seconds between updates of the volume limits in the CSINode, at least 10. When unset, they are not "
            "updated."
        ),
        "podInfoOnMount": "Whether the driver receives pod information on mount. Default: false.",
        "requiresRepublish": "Whether the driver needs periodic republishing of mounted volumes. Default: false.",
        "seLinuxMount": "Whether the driver supports mounting each volume with an SELinux label of its own. Default: false.",
        "serviceAccountTokenInSecrets": (
            "If true, tokens are passed in the secrets of the call, not in its volume context. Default: false."
        ),
        "storageCapacity": "Whether the scheduler considers the capacity that the driver publishes. Default: false.",
        "tokenRequests": "Service account tokens passed to the driver.",
        "volumeLifecycleModes": "Supported lifecycle modes: Persistent (the default), Ephemeral or both.",
    },
    "storage.CSINode": {"": "CSI drivers installed on the node of the same name."},
    "storage.CSINodeSpec": {"": "CSI drivers installed on a node.", "drivers": "List of drivers."},
    "storage.CSINodeDriver": {
        "": "CSI driver installed on a node.",
        "allocatable": "Volume limits of the node for this driver.",
        "name": "Name of the driver.",
        "nodeID": "Identifier of the node at the driver.",
    },
    "storage.CSIStorageCapacity": {
        "": "Available capacity of a StorageClass in one topology segment.",
        "capacity": "Total available capacity.",
        "maximumVolumeSize": "Largest volume that can be provisioned.",
        "nodeTopology": "Label selector of the nodes with access to the capacity.",
    },
    "storage.TokenRequest": {
        "": "Service account token passed to a CSI driver.",
        "audience": "Intended audience of the token. Default: the API server.",
        "expirationSeconds": "Requested lifetime in seconds. Default: that of the API server.",
    },
    "storage.VolumeAttachment": {"": "Intent to attach a volume to a node, and its status."},
    "storage.VolumeAttachmentSource": {
        "": "Volume to attach. Exactly one member must be set.",
        "inlineVolumeSpec": "Specification of an inline volume.",
        "persistentVolumeName": "Name of the PersistentVolume.",
    },
    "storage.VolumeAttachmentSpec": {
        "": "Volume, node and driver of an attachment.",
        "attacher": "Name of the CSI driver that handles the attachment.",
        "source": "Volume to attach.",
    },
    "storage.VolumeAttachmentStatus": {
        "": "Status of an attachment.",
        "attachError": "Last error of the attach operation.",
        "attached": "Whether the volume is attached.",
        "attachmentMetadata": "Metadata from the driver, passed to the mount operation.",
        "detachError": "Last error of the detach operation.",
    },
    "storage.VolumeError": {
        "": "Error of a volume operation, and its time.",
        "errorCode": "gRPC code of the error, as a number.",
        "message": "Text of the error. Must not contain confidential data.",
        "time": "Time of the error.",
    },
    "storage.VolumeNodeResources": {
        "": "Volume limits of a node.",
        "count": "Maximum number of volumes of the driver. Default: unlimited.",
    },
    "core.ImageVolumeSource": {
        "": "Content of an OCI image or artifact.",
        "pullPolicy": "Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent.",
        "reference": "Name of the image or artifact.",
    },
    "core.ModifyVolumeStatus": {
        "": "State of a change of the VolumeAttributesClass.",
        "status": "Pending, InProgress or Infeasible.",
        "targetVolumeAttributesClassName": "Name of the VolumeAttributesClass that is being applied.",
    },
    "core.VolumeResourceRequirements": {
        "": "Size of a volume.",
        "limits": "Maximum size, as storage.",
        "requests": "Minimum size, as storage.",
    },
    "core.ClusterTrustBundleProjection": {
        "": "CA certificates of ClusterTrustBundles, in one file. Either name or signerName must be set.",
        "labelSelector": "Label selector of the bundles of the signer. When unset, none match; an empty selector matches all.",
        "name": "Name of a ClusterTrustBundle.",
        "optional": "If true, the pod starts even if no bundle is found. Default: false.",
        "path": "Relative path of the file in the volume.",
        "signerName": "Signer whose bundles are combined, without duplicates.",
    },
    "core.PodCertificateProjection": {
        "": "Key and certificate of a pod, created by the node agent and issued by a signer.",
        "certificateChainPath": "Relative path of the certificate chain. During a renewal it may not fit the key at keyPath.",
        "credentialBundlePath": "Relative path of one PEM file with the key, followed by the certificate chain.",
        "keyPath": "Relative path of the key.",
        "keyType": "Type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.",
        "maxExpirationSeconds": "Maximum lifetime of the certificate in seconds, from 3600 to 7862400. Default: 86400.",
        "signerName": "Signer that issues the certificate.",
        "userAnnotations": "Additional information for the signer. Keys must have a domain as prefix.",
    },
    "storage.VolumeAttributesClass": {
        "": "Attributes of volumes that can be changed after their creation.",
        "driverName": "Name of the CSI driver. Immutable.",
        "parameters": "Attributes in the format of the driver. At most 512; immutable.",
    },
}

"""Fields of the reference's internal types, in their order: `orchd.kinds.gotext.structs` prints values of them.

They are those of the published types of version v1 (`orchd.kinds.builtin`), except for those that `_OWN` and
`_OWN_FIELDS` have.

A field is ``Name:type``, ``Name=:type`` if it is embedded, ``Name=json:type`` if its name in JSON is another word,
``Name!:type`` if a published type has it in JSON even if it is empty; ``@1.35`` marks one that the release of the
specification lacks. Types of strings are ``string``, except behind pointers and in lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from orchd.kinds.builtin import (
    apiextensions_v1,
    apps_v1,
    authorization_v1,
    batch_v1,
    core_v1,
    flowcontrol_v1,
    meta_v1,
    networking_v1,
    policy_v1,
    rbac_v1,
    resource_v1,
    storage_v1,
)
from orchd.kinds.gotext.typenames import SCALARS, aliases, elements
from orchd.kinds.rows import Types

#: Go package -> the published types.
_PUBLISHED: Final[Mapping[str, Types]] = {
    "apiextensions": apiextensions_v1.TYPES,
    "apps": apps_v1.TYPES,
    "authorization": authorization_v1.TYPES,
    "batch": batch_v1.TYPES,
    "core": core_v1.TYPES,
    "flowcontrol": flowcontrol_v1.TYPES,
    "networking": networking_v1.TYPES,
    "policy": policy_v1.TYPES,
    "rbac": rbac_v1.TYPES,
    "resource": resource_v1.TYPES,
    "storage": storage_v1.TYPES,
    "v1": meta_v1.TYPES,
}
#: Go names that are not the JSON name with its first letter in upper case; by the name in lower case.
_NAMES: Final = {
    name.lower(): name
    for name in (
        "APIGroup APIGroups APIVersion AWSElasticBlockStore CEL CIDRs CSI CephFS DNSConfig DNSPolicy FC FSGroup "
        "FSGroupChangePolicy FSType GCEPersistentDisk GMSACredentialSpec GMSACredentialSpecName GRPC HTTP HTTPGet "
        "HTTPHeaders IP IPs IQN ISCSI ISCSIInterface JSONPath NFS OS PDName RBD SELinuxChangePolicy SELinuxOptions "
        "SSLEnabled StorageOS TCPSocket TTY UID WWIDs"
    ).split()
}
#: Published types whose fields are not printed.
_OPAQUE: Final = ("apiextensions.ExternalDocumentation", "v1.Condition", "v1.ManagedFieldsEntry")
#: Type -> its fields, where they are not those of the published type.
_OWN: Final[dict[str, str]] = {
    "apiextensions.JSONSchemaProps": (
        "ID=id:string Schema=$schema:string Ref=$ref:*string Description:string Type:string Nullable:bool "
        "Format:string Title:string Default:*apiextensions.JSON Maximum:*float64 ExclusiveMaximum:bool "
        "Minimum:*float64 ExclusiveMinimum:bool MaxLength:*int64 MinLength:*int64 Pattern:string MaxItems:*int64 "
        "MinItems:*int64 UniqueItems:bool MultipleOf:*float64 Enum:[]apiextensions.JSON MaxProperties:*int64 "
        "MinProperties:*int64 Required:[]string Items:*apiextensions.JSONSchemaPropsOrArray "
        "AllOf:[]apiextensions.JSONSchemaProps OneOf:[]apiextensions.JSONSchemaProps "
        "AnyOf:[]apiextensions.JSONSchemaProps Not:*apiextensions.JSONSchemaProps "
        "Properties:map[string]apiextensions.JSONSchemaProps "
        "AdditionalProperties:*apiextensions.JSONSchemaPropsOrBool "
        "PatternProperties:map[string]apiextensions.JSONSchemaProps "
        "Dependencies:apiextensions.JSONSchemaDependencies(nil) AdditionalItems:*apiextensions.JSONSchemaPropsOrBool "
        "Definitions:apiextensions.JSONSchemaDefinitions(nil) ExternalDocs:*apiextensions.ExternalDocumentation "
        "Example:*apiextensions.JSON XPreserveUnknownFields:*bool XEmbeddedResource:bool XIntOrString:bool "
        "XListMapKeys:[]string XListType:*string XMapType:*string XValidations:apiextensions.ValidationRules(nil)"
    ),
    "core.PersistentVolumeSource": (
        "GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource HostPath:*core.HostPathVolumeSource "
        "Glusterfs:*core.GlusterfsPersistentVolumeSource NFS:*core.NFSVolumeSource "
        "RBD:*core.RBDPersistentVolumeSource Quobyte:*core.QuobyteVolumeSource "
        "ISCSI:*core.ISCSIPersistentVolumeSource FlexVolume:*core.FlexPersistentVolumeSource "
        "Cinder:*core.CinderPersistentVolumeSource CephFS:*core.CephFSPersistentVolumeSource FC:*core.FCVolumeSource "
        "Flocker:*core.FlockerVolumeSource AzureFile:*core.AzureFilePersistentVolumeSource "
        "VsphereVolume:*core.VsphereVirtualDiskVolumeSource AzureDisk:*core.AzureDiskVolumeSource "
        "PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource PortworxVolume:*core.PortworxVolumeSource "
        "ScaleIO:*core.ScaleIOPersistentVolumeSource Local:*core.LocalVolumeSource "
        "StorageOS:*core.StorageOSPersistentVolumeSource CSI:*core.CSIPersistentVolumeSource"
    ),
    "core.PodSecurityContext": (
        "HostNetwork:bool HostPID:bool HostIPC:bool ShareProcessNamespace:*bool HostUsers:*bool "
        "SELinuxOptions:*core.SELinuxOptions WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*int64 "
        "RunAsGroup:*int64 RunAsNonRoot:*bool SupplementalGroups:[]int64 "
        "SupplementalGroupsPolicy:*core.SupplementalGroupsPolicy@1.35 FSGroup:*int64 "
        "FSGroupChangePolicy:*core.PodFSGroupChangePolicy Sysctls:[]core.Sysctl SeccompProfile:*core.SeccompProfile "
        "AppArmorProfile:*core.AppArmorProfile@1.35 SELinuxChangePolicy:*core.PodSELinuxChangePolicy@1.35"
    ),
    "core.PodSpec": (
        "Volumes:[]core.Volume InitContainers:[]core.Container Containers:[]core.Container "
        "EphemeralContainers:[]core.EphemeralContainer RestartPolicy:string TerminationGracePeriodSeconds:*int64 "
        "ActiveDeadlineSeconds:*int64 DNSPolicy:string NodeSelector:map[string]string ServiceAccountName:string "
        "AutomountServiceAccountToken:*bool NodeName:string SecurityContext:*core.PodSecurityContext "
        "ImagePullSecrets:[]core.LocalObjectReference Hostname:string Subdomain:string SetHostnameAsFQDN:*bool "
        "Affinity:*core.Affinity SchedulerName:string Tolerations:[]core.Toleration HostAliases:[]core.HostAlias "
        "PriorityClassName:string Priority:*int32 PreemptionPolicy:*core.PreemptionPolicy "
        "DNSConfig:*core.PodDNSConfig ReadinessGates:[]core.PodReadinessGate RuntimeClassName:*string "
        "Overhead:core.ResourceList EnableServiceLinks:*bool "
        "TopologySpreadConstraints:[]core.TopologySpreadConstraint OS:*core.PodOS "
        "SchedulingGates:[]core.PodSchedulingGate@1.35 ResourceClaims:[]core.PodResourceClaim@1.35 "
        "Resources:*core.ResourceRequirements@1.35 HostnameOverride:*string@1.35 "
        "WorkloadRef:*core.WorkloadReference@1.35"
    ),
    "core.VolumeSource": (
        "HostPath:*core.HostPathVolumeSource EmptyDir:*core.EmptyDirVolumeSource "
        "GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource GitRepo:*core.GitRepoVolumeSource "
        "Secret:*core.SecretVolumeSource NFS:*core.NFSVolumeSource ISCSI:*core.ISCSIVolumeSource "
        "Glusterfs:*core.GlusterfsVolumeSource PersistentVolumeClaim:*core.PersistentVolumeClaimVolumeSource "
        "RBD:*core.RBDVolumeSource Quobyte:*core.QuobyteVolumeSource FlexVolume:*core.FlexVolumeSource "
        "Cinder:*core.CinderVolumeSource CephFS:*core.CephFSVolumeSource Flocker:*core.FlockerVolumeSource "
        "DownwardAPI:*core.DownwardAPIVolumeSource FC:*core.FCVolumeSource AzureFile:*core.AzureFileVolumeSource "
        "ConfigMap:*core.ConfigMapVolumeSource VsphereVolume:*core.VsphereVirtualDiskVolumeSource "
        "AzureDisk:*core.AzureDiskVolumeSource PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource "
        "Projected:*core.ProjectedVolumeSource PortworxVolume:*core.PortworxVolumeSource "
        "ScaleIO:*core.ScaleIOVolumeSource StorageOS:*core.StorageOSVolumeSource CSI:*core.CSIVolumeSource "
        "Ephemeral:*core.EphemeralVolumeSource Image:*core.ImageVolumeSource"
    ),
}

#: Field of a published type, by its JSON name -> the field of the internal type, where they differ; "": it has none.
_OWN_FIELDS: Final[dict[str, str]] = {
    "apiextensions.CustomResourceDefinitionVersion.selectableFields": "SelectableFields:[]apiextensions.SelectableField@1.35",
    "apiextensions.CustomResourceSubresources.status": "Status:*apiextensions.JSON",
    "apps.RollingUpdateDaemonSet.maxUnavailable": "MaxUnavailable:intstr.IntOrString",
    "apps.RollingUpdateDaemonSet.maxSurge": "MaxSurge:intstr.IntOrString",
    "apps.RollingUpdateDeployment.maxUnavailable": "MaxUnavailable:intstr.IntOrString",
    "apps.RollingUpdateDeployment.maxSurge": "MaxSurge:intstr.IntOrString",
    "apps.RollingUpdateStatefulSetStrategy.partition": "Partition:int32",
    "core.AzureDiskVolumeSource.diskURI": "DataDiskURI=diskURI:string",
    "core.EphemeralContainerCommon.resizePolicy": "ResizePolicy:[]core.ContainerResizePolicy",
    "core.EphemeralContainerCommon.restartPolicy": "RestartPolicy:*core.ContainerRestartPolicy",
    "core.EphemeralContainerCommon.restartPolicyRules": "RestartPolicyRules:[]core.ContainerRestartRule",
    "core.GlusterfsPersistentVolumeSource.endpoints": "EndpointsName=endpoints:string",
    "core.GlusterfsVolumeSource.endpoints": "EndpointsName=endpoints:string",
    "core.ISCSIPersistentVolumeSource.chapAuthDiscovery": "DiscoveryCHAPAuth=chapAuthDiscovery:bool",
    "core.ISCSIPersistentVolumeSource.chapAuthSession": "SessionCHAPAuth=chapAuthSession:bool",
    "core.ISCSIVolumeSource.chapAuthDiscovery": "DiscoveryCHAPAuth=chapAuthDiscovery:bool",
    "core.ISCSIVolumeSource.chapAuthSession": "SessionCHAPAuth=chapAuthSession:bool",
    "core.PersistentVolumeClaimSpec.resources": "Resources:core.VolumeResourceRequirements",
    "core.PersistentVolumeClaimSpec.dataSourceRef": "DataSourceRef:*core.TypedObjectReference",
    "core.PodCertificateProjection.userAnnotations": "UserAnnotations:map[string]string",
    "core.PodResourceClaim.resourceClaimName": "ResourceClaimName:*string",
    "core.PodResourceClaim.resourceClaimTemplateName": "ResourceClaimTemplateName:*string",
    "core.RBDPersistentVolumeSource.monitors": "CephMonitors=monitors:[]string",
    "core.RBDPersistentVolumeSource.image": "RBDImage=image:string",
    "core.RBDPersistentVolumeSource.pool": "RBDPool=pool:string",
    "core.RBDPersistentVolumeSource.user": "RadosUser=user:string",
    "core.RBDVolumeSource.monitors": "CephMonitors=monitors:[]string",
    "core.RBDVolumeSource.image": "RBDImage=image:string",
    "core.RBDVolumeSource.pool": "RBDPool=pool:string",
    "core.RBDVolumeSource.user": "RadosUser=user:string",
    "core.ResourceClaim.request": "Request:string",
    "core.ServiceAccountTokenProjection.expirationSeconds": "ExpirationSeconds:int64",
    "flowcontrol.LimitedPriorityLevelConfiguration.nominalConcurrencyShares": "NominalConcurrencyShares:int32",
    "flowcontrol.PriorityLevelConfigurationSpec.exempt": "Exempt:*flowcontrol.ExemptPriorityLevelConfiguration@1.35",
    "resource.DeviceAttribute.int": "IntValue=int:*int64",
    "resource.DeviceAttribute.bool": "BoolValue=bool:*bool",
    "resource.DeviceAttribute.string": "StringValue=string:*string",
    "resource.DeviceAttribute.version": "VersionValue=version:*string",
    "resource.DeviceRequestAllocationResult.shareID": "ShareID:*types.UID",
    "v1.OwnerReference.apiVersion": "APIVersion:string",
    "v1.OwnerReference.kind": "Kind:string",
    "v1.OwnerReference.name": "Name:string",
    "v1.OwnerReference.uid": "UID:string",
}


@cache
def fields_of(type_name: str) -> tuple[str, ...]:
    """The fields of a type; () for one that is not a struct, or whose fields are not printed."""
    if type_name in _OWN:
        return tuple(_OWN[type_name].split())
    package, _, short = type_name.partition(".")
    if type_name in _OPAQUE or short not in _PUBLISHED.get(package, ()):
        return ()
    return tuple(_published(package, short))


def _published(package: str, short: str) -> Iterator[str]:
    """The fields of a published type, in the form of this module."""
    named = aliases(f"{'meta' if package == 'v1' else package}/v1")
    seen: set[str] = set()
    for name, _, spelled, text in _PUBLISHED[package][short]:
        # A field that changes with a release has two lines.
        if name in seen:
            continue
        seen.add(name)
        words = text.split()
        own = _OWN_FIELDS.get(f"{package}.{short}.{name}")
        if own is not None:
            yield from own.split()
        elif not name:
            yield f"{spelled}=:{package}.{spelled}"
        elif spelled == "meta/v1.ObjectMeta":
            yield "ObjectMeta=:v1.ObjectMeta"
        else:
            always = "!" if package == "v1" and "omit" not in words else ""
            newer = "@1.35" if any(word.startswith("since=") for word in words) else ""
            type_ = _type(package, spelled, named.get(f"{short}.{name}", ""), pointer="ptr" in words)
            yield f"{_NAMES.get(name.lower()) or name[0].upper() + name[1:]}{always}:{type_}{newer}"


def _type(package: str, spelled: str, alias: str, *, pointer: bool = False) -> str:
    """The Go type of a field. `spelled` is its type in a line, `alias` its named value type, "" without one."""
    group, _, version = spelled.partition("/")
    if alias.startswith("v1.") and (pointer or spelled != "string"):
        name = package + alias.removeprefix("v1")
    elif spelled.startswith(("[]", "{}")):
        inner = elements(alias)
        name = (
            package + inner.removeprefix("v1") if inner.startswith("v1.") else inner or _type(package, spelled[2:], "")
        )
        return ("[]" if spelled.startswith("[]") else "map[string]") + name
    elif version:
        name = f"{'v1' if group == 'meta' else group}.{version.partition('.')[2]}"
    else:
        name = f"{package}.{spelled}" if spelled[0].isupper() else SCALARS.get(spelled, spelled)
    return "*" + name if pointer else name

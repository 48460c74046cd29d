"""Fields of the reference's internal types, in their order: `orchd.kinds.gotext.structs` prints values of them.

A field is ``Name:type``, ``Name=:type`` if it is embedded, ``Name=json:type`` if its name in JSON is another word;
``@1.35`` marks one that the release of the specification lacks. Types of strings are ``string``, except behind pointers
and in lists.
"""

from __future__ import annotations

from typing import Final

#: Type -> its fields.
TYPES: Final[dict[str, str]] = {
    "apiextensions.JSONSchemaProps": (
        "ID=id:string Schema=$schema:string Ref=$ref:*string Description:string Type:string Nullable:bool "
        "Format:string Title:string Default:*apiextensions.JSON Maximum:*float64 ExclusiveMaximum:bool "
        "Minimum:*float64 ExclusiveMinimum:bool MaxLength:*int64 MinLength:*int64 Pattern:string "
        "MaxItems:*int64 MinItems:*int64 UniqueItems:bool MultipleOf:*float64 Enum:[]apiextensions.JSON "
        "MaxProperties:*int64 MinProperties:*int64 Required:[]string "
        "Items:*apiextensions.JSONSchemaPropsOrArray AllOf:[]apiextensions.JSONSchemaProps "
        "OneOf:[]apiextensions.JSONSchemaProps AnyOf:[]apiextensions.JSONSchemaProps "
        "Not:*apiextensions.JSONSchemaProps Properties:map[string]apiextensions.JSONSchemaProps "
        "AdditionalProperties:*apiextensions.JSONSchemaPropsOrBool "
        "PatternProperties:map[string]apiextensions.JSONSchemaProps "
        "Dependencies:apiextensions.JSONSchemaDependencies(nil) "
        "AdditionalItems:*apiextensions.JSONSchemaPropsOrBool "
        "Definitions:apiextensions.JSONSchemaDefinitions(nil) "
        "ExternalDocs:*apiextensions.ExternalDocumentation Example:*apiextensions.JSON "
        "XPreserveUnknownFields:*bool XEmbeddedResource:bool XIntOrString:bool XListMapKeys:[]string "
        "XListType:*string XMapType:*string XValidations:apiextensions.ValidationRules(nil)"
    ),
    "apiextensions.JSONSchemaPropsOrArray": "Schema:*apiextensions.JSONSchemaProps JSONSchemas:[]apiextensions.JSONSchemaProps",
    "apiextensions.JSONSchemaPropsOrBool": "Allows:bool Schema:*apiextensions.JSONSchemaProps",
    "apiextensions.CustomResourceDefinitionVersion": (
        "Name:string Served:bool Storage:bool Deprecated:bool DeprecationWarning:*string "
        "Schema:*apiextensions.CustomResourceValidation Subresources:*apiextensions.CustomResourceSubresources "
        "AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition "
        "SelectableFields:[]apiextensions.SelectableField@1.35"
    ),
    "apiextensions.CustomResourceValidation": "OpenAPIV3Schema:*apiextensions.JSONSchemaProps",
    "apiextensions.CustomResourceSubresources": "Status:*apiextensions.JSON Scale:*apiextensions.CustomResourceSubresourceScale",
    "apiextensions.CustomResourceSubresourceScale": "SpecReplicasPath:string StatusReplicasPath:string LabelSelectorPath:*string",
    "apiextensions.CustomResourceColumnDefinition": (
        "Name:string Type:string Format:string Description:string Priority:int32 JSONPath:string"
    ),
    "apiextensions.SelectableField": "JSONPath:string",
    "apps.DaemonSetUpdateStrategy": "Type:string RollingUpdate:*apps.RollingUpdateDaemonSet",
    "apps.DeploymentStrategy": "Type:string RollingUpdate:*apps.RollingUpdateDeployment",
    "apps.RollingUpdateDaemonSet": "MaxUnavailable:intstr.IntOrString MaxSurge:intstr.IntOrString",
    "apps.RollingUpdateDeployment": "MaxUnavailable:intstr.IntOrString MaxSurge:intstr.IntOrString",
    "apps.RollingUpdateStatefulSetStrategy": "Partition:int32 MaxUnavailable:*intstr.IntOrString@1.35",
    "apps.StatefulSetPersistentVolumeClaimRetentionPolicy": "WhenDeleted:string WhenScaled:string",
    "apps.StatefulSetUpdateStrategy": "Type:string RollingUpdate:*apps.RollingUpdateStatefulSetStrategy",
    "authorization.NonResourceAttributes": "Path:string Verb:string",
    "batch.PodFailurePolicy": "Rules:[]batch.PodFailurePolicyRule",
    "batch.PodFailurePolicyOnExitCodesRequirement": "ContainerName:*string Operator:string Values:[]int32",
    "batch.PodFailurePolicyOnPodConditionsPattern": "Type:string Status:string",
    "batch.PodFailurePolicyRule": (
        "Action:string OnExitCodes:*batch.PodFailurePolicyOnExitCodesRequirement "
        "OnPodConditions:[]batch.PodFailurePolicyOnPodConditionsPattern"
    ),
    "batch.SuccessPolicy": "Rules:[]batch.SuccessPolicyRule",
    "batch.SuccessPolicyRule": "SucceededIndexes:*string SucceededCount:*int32",
    "core.AWSElasticBlockStoreVolumeSource": "VolumeID:string FSType:string Partition:int32 ReadOnly:bool",
    "core.Affinity": "NodeAffinity:*core.NodeAffinity PodAffinity:*core.PodAffinity PodAntiAffinity:*core.PodAntiAffinity",
    "core.AppArmorProfile": "Type:string LocalhostProfile:*string",
    "core.AzureDiskVolumeSource": (
        "DiskName:string DataDiskURI=diskURI:string CachingMode:*core.AzureDataDiskCachingMode FSType:*string ReadOnly:*bool "
        "Kind:*core.AzureDataDiskKind"
    ),
    "core.AzureFilePersistentVolumeSource": "SecretName:string ShareName:string ReadOnly:bool SecretNamespace:*string",
    "core.AzureFileVolumeSource": "SecretName:string ShareName:string ReadOnly:bool",
    "core.CSIPersistentVolumeSource": (
        "Driver:string VolumeHandle:string ReadOnly:bool FSType:string VolumeAttributes:map[string]string "
        "ControllerPublishSecretRef:*core.SecretReference NodeStageSecretRef:*core.SecretReference "
        "NodePublishSecretRef:*core.SecretReference ControllerExpandSecretRef:*core.SecretReference "
        "NodeExpandSecretRef:*core.SecretReference@1.35"
    ),
    "core.CSIVolumeSource": (
        "Driver:string ReadOnly:*bool FSType:*string VolumeAttributes:map[string]string "
        "NodePublishSecretRef:*core.LocalObjectReference"
    ),
    "core.Capabilities": "Add:[]core.Capability Drop:[]core.Capability",
    "core.CephFSPersistentVolumeSource": (
        "Monitors:[]string Path:string User:string SecretFile:string SecretRef:*core.SecretReference ReadOnly:bool"
    ),
    "core.CephFSVolumeSource": (
        "Monitors:[]string Path:string User:string SecretFile:string SecretRef:*core.LocalObjectReference ReadOnly:bool"
    ),
    "core.CinderPersistentVolumeSource": "VolumeID:string FSType:string ReadOnly:bool SecretRef:*core.SecretReference",
    "core.CinderVolumeSource": "VolumeID:string FSType:string ReadOnly:bool SecretRef:*core.LocalObjectReference",
    "core.ClusterTrustBundleProjection": "Name:*string SignerName:*string LabelSelector:*v1.LabelSelector Optional:*bool Path:string",
    "core.ConfigMapEnvSource": "LocalObjectReference=:core.LocalObjectReference Optional:*bool",
    "core.ConfigMapKeySelector": "LocalObjectReference=:core.LocalObjectReference Key:string Optional:*bool",
    "core.ConfigMapProjection": "LocalObjectReference=:core.LocalObjectReference Items:[]core.KeyToPath Optional:*bool",
    "core.ConfigMapVolumeSource": (
        "LocalObjectReference=:core.LocalObjectReference Items:[]core.KeyToPath DefaultMode:*int32 Optional:*bool"
    ),
    "core.Container": (
        "Name:string Image:string Command:[]string Args:[]string WorkingDir:string Ports:[]core.ContainerPort "
        "EnvFrom:[]core.EnvFromSource Env:[]core.EnvVar Resources:core.ResourceRequirements "
        "ResizePolicy:[]core.ContainerResizePolicy@1.35 RestartPolicy:*core.ContainerRestartPolicy@1.35 "
        "RestartPolicyRules:[]core.ContainerRestartRule@1.35 VolumeMounts:[]core.VolumeMount "
        "VolumeDevices:[]core.VolumeDevice LivenessProbe:*core.Probe ReadinessProbe:*core.Probe "
        "StartupProbe:*core.Probe Lifecycle:*core.Lifecycle TerminationMessagePath:string "
        "TerminationMessagePolicy:string ImagePullPolicy:string SecurityContext:*core.SecurityContext Stdin:bool StdinOnce:bool TTY:bool"
    ),
    "core.ContainerPort": "Name:string HostPort:int32 ContainerPort:int32 Protocol:string HostIP:string",
    "core.ContainerResizePolicy": "ResourceName:string RestartPolicy:string",
    "core.ContainerRestartRule": "Action:string ExitCodes:*core.ContainerRestartRuleOnExitCodes",
    "core.ContainerRestartRuleOnExitCodes": "Operator:string Values:[]int32",
    "core.DownwardAPIProjection": "Items:[]core.DownwardAPIVolumeFile",
    "core.DownwardAPIVolumeFile": (
        "Path:string FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector Mode:*int32"
    ),
    "core.DownwardAPIVolumeSource": "Items:[]core.DownwardAPIVolumeFile DefaultMode:*int32",
    "core.EmptyDirVolumeSource": "Medium:string SizeLimit:*resource.Quantity",
    "core.EnvFromSource": "Prefix:string ConfigMapRef:*core.ConfigMapEnvSource SecretRef:*core.SecretEnvSource",
    "core.EnvVar": "Name:string Value:string ValueFrom:*core.EnvVarSource",
    "core.EnvVarSource": (
        "FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector "
        "ConfigMapKeyRef:*core.ConfigMapKeySelector SecretKeyRef:*core.SecretKeySelector FileKeyRef:*core.FileKeySelector@1.35"
    ),
    "core.EphemeralContainer": "EphemeralContainerCommon=:core.EphemeralContainerCommon TargetContainerName:string",
    "core.EphemeralContainerCommon": (
        "Name:string Image:string Command:[]string Args:[]string WorkingDir:string Ports:[]core.ContainerPort "
        "EnvFrom:[]core.EnvFromSource Env:[]core.EnvVar Resources:core.ResourceRequirements "
        "ResizePolicy:[]core.ContainerResizePolicy RestartPolicy:*core.ContainerRestartPolicy "
        "RestartPolicyRules:[]core.ContainerRestartRule VolumeMounts:[]core.VolumeMount "
        "VolumeDevices:[]core.VolumeDevice LivenessProbe:*core.Probe ReadinessProbe:*core.Probe "
        "StartupProbe:*core.Probe Lifecycle:*core.Lifecycle TerminationMessagePath:string "
        "TerminationMessagePolicy:string ImagePullPolicy:string SecurityContext:*core.SecurityContext Stdin:bool StdinOnce:bool TTY:bool"
    ),
    "core.EphemeralVolumeSource": "VolumeClaimTemplate:*core.PersistentVolumeClaimTemplate",
    "core.EventSource": "Component:string Host:string",
    "core.ExecAction": "Command:[]string",
    "core.FCVolumeSource": "TargetWWNs:[]string Lun:*int32 FSType:string ReadOnly:bool WWIDs:[]string",
    "core.FileKeySelector": "VolumeName:string Path:string Key:string Optional:*bool",
    "core.FlexPersistentVolumeSource": "Driver:string FSType:string SecretRef:*core.SecretReference ReadOnly:bool Options:map[string]string",
    "core.FlexVolumeSource": (
        "Driver:string FSType:string SecretRef:*core.LocalObjectReference ReadOnly:bool Options:map[string]string"
    ),
    "core.FlockerVolumeSource": "DatasetName:string DatasetUUID:string",
    "core.GCEPersistentDiskVolumeSource": "PDName:string FSType:string Partition:int32 ReadOnly:bool",
    "core.GRPCAction": "Port:int32 Service:*string",
    "core.GitRepoVolumeSource": "Repository:string Revision:string Directory:string",
    "core.GlusterfsPersistentVolumeSource": "EndpointsName=endpoints:string Path:string ReadOnly:bool EndpointsNamespace:*string",
    "core.GlusterfsVolumeSource": "EndpointsName=endpoints:string Path:string ReadOnly:bool",
    "core.HTTPGetAction": "Path:string Port:intstr.IntOrString Host:string Scheme:string HTTPHeaders:[]core.HTTPHeader",
    "core.HTTPHeader": "Name:string Value:string",
    "core.HostAlias": "IP:string Hostnames:[]string",
    "core.HostIP": "IP:string",
    "core.HostPathVolumeSource": "Path:string Type:*core.HostPathType",
    "core.ISCSIPersistentVolumeSource": (
        "TargetPortal:string IQN:string Lun:int32 ISCSIInterface:string FSType:string ReadOnly:bool Portals:[]string "
        "DiscoveryCHAPAuth=chapAuthDiscovery:bool SessionCHAPAuth=chapAuthSession:bool SecretRef:*core.SecretReference InitiatorName:*string"
    ),
    "core.ISCSIVolumeSource": (
        "TargetPortal:string IQN:string Lun:int32 ISCSIInterface:string FSType:string ReadOnly:bool Portals:[]string "
        "DiscoveryCHAPAuth=chapAuthDiscovery:bool SessionCHAPAuth=chapAuthSession:bool SecretRef:*core.LocalObjectReference InitiatorName:*string"
    ),
    "core.ImageVolumeSource": "Reference:string PullPolicy:string",
    "core.KeyToPath": "Key:string Path:string Mode:*int32",
    "core.Lifecycle": "PostStart:*core.LifecycleHandler PreStop:*core.LifecycleHandler StopSignal:*core.Signal@1.35",
    "core.LifecycleHandler": (
        "Exec:*core.ExecAction HTTPGet:*core.HTTPGetAction TCPSocket:*core.TCPSocketAction Sleep:*core.SleepAction@1.35"
    ),
    "core.LocalObjectReference": "Name:string",
    "core.LocalVolumeSource": "Path:string FSType:*string",
    "core.NFSVolumeSource": "Server:string Path:string ReadOnly:bool",
    "core.NodeAddress": "Type:string Address:string",
    "core.NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:*core.NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.PreferredSchedulingTerm"
    ),
    "core.NodeSelector": "NodeSelectorTerms:[]core.NodeSelectorTerm",
    "core.NodeSelectorRequirement": "Key:string Operator:string Values:[]string",
    "core.NodeSelectorTerm": "MatchExpressions:[]core.NodeSelectorRequirement MatchFields:[]core.NodeSelectorRequirement",
    "core.ObjectFieldSelector": "APIVersion:string FieldPath:string",
    "core.ObjectReference": (
        "Kind:string Namespace:string Name:string UID:string APIVersion:string ResourceVersion:string FieldPath:string"
    ),
    "core.PersistentVolumeClaimSpec": (
        "AccessModes:[]core.PersistentVolumeAccessMode Selector:*v1.LabelSelector "
        "Resources:core.VolumeResourceRequirements VolumeName:string StorageClassName:*string "
        "VolumeMode:*core.PersistentVolumeMode DataSource:*core.TypedLocalObjectReference "
        "DataSourceRef:*core.TypedObjectReference VolumeAttributesClassName:*string@1.35"
    ),
    "core.PersistentVolumeClaimTemplate": "ObjectMeta=:v1.ObjectMeta Spec:core.PersistentVolumeClaimSpec",
    "core.PersistentVolumeClaimVolumeSource": "ClaimName:string ReadOnly:bool",
    "core.PersistentVolumeSource": (
        "GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource HostPath:*core.HostPathVolumeSource "
        "Glusterfs:*core.GlusterfsPersistentVolumeSource NFS:*core.NFSVolumeSource RBD:*core.RBDPersistentVolumeSource "
        "Quobyte:*core.QuobyteVolumeSource ISCSI:*core.ISCSIPersistentVolumeSource "
        "FlexVolume:*core.FlexPersistentVolumeSource Cinder:*core.CinderPersistentVolumeSource "
        "CephFS:*core.CephFSPersistentVolumeSource FC:*core.FCVolumeSource Flocker:*core.FlockerVolumeSource "
        "AzureFile:*core.AzureFilePersistentVolumeSource VsphereVolume:*core.VsphereVirtualDiskVolumeSource "
        "AzureDisk:*core.AzureDiskVolumeSource PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource "
        "PortworxVolume:*core.PortworxVolumeSource ScaleIO:*core.ScaleIOPersistentVolumeSource Local:*core.LocalVolumeSource StorageOS:*core.StorageOSPersistentVolumeSource CSI:*core.CSIPersistentVolumeSource"
    ),
    "core.PersistentVolumeSpec": (
        "Capacity:core.ResourceList PersistentVolumeSource=:core.PersistentVolumeSource "
        "AccessModes:[]core.PersistentVolumeAccessMode ClaimRef:*core.ObjectReference "
        "PersistentVolumeReclaimPolicy:string StorageClassName:string MountOptions:[]string "
        "VolumeMode:*core.PersistentVolumeMode NodeAffinity:*core.VolumeNodeAffinity VolumeAttributesClassName:*string@1.35"
    ),
    "core.PhotonPersistentDiskVolumeSource": "PdID:string FSType:string",
    "core.PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]core.PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.WeightedPodAffinityTerm"
    ),
    "core.PodAffinityTerm": (
        "LabelSelector:*v1.LabelSelector Namespaces:[]string TopologyKey:string NamespaceSelector:*v1.LabelSelector "
        "MatchLabelKeys:[]string@1.35 MismatchLabelKeys:[]string@1.35"
    ),
    "core.PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]core.PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.WeightedPodAffinityTerm"
    ),
    "core.PodCertificateProjection": (
        "SignerName:string KeyType:string MaxExpirationSeconds:*int32 CredentialBundlePath:string KeyPath:string "
        "CertificateChainPath:string UserAnnotations:map[string]string"
    ),
    "core.PodDNSConfig": "Nameservers:[]string Searches:[]string Options:[]core.PodDNSConfigOption",
    "core.PodDNSConfigOption": "Name:string Value:*string",
    "core.PodIP": "IP:string",
    "core.PodOS": "Name:string",
    "core.PodReadinessGate": "ConditionType:string",
    "core.PodResourceClaim": "Name:string ResourceClaimName:*string ResourceClaimTemplateName:*string",
    "core.PodSchedulingGate": "Name:string",
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
        "PriorityClassName:string Priority:*int32 PreemptionPolicy:*core.PreemptionPolicy DNSConfig:*core.PodDNSConfig "
        "ReadinessGates:[]core.PodReadinessGate RuntimeClassName:*string Overhead:core.ResourceList "
        "EnableServiceLinks:*bool TopologySpreadConstraints:[]core.TopologySpreadConstraint OS:*core.PodOS "
        "SchedulingGates:[]core.PodSchedulingGate@1.35 ResourceClaims:[]core.PodResourceClaim@1.35 "
        "Resources:*core.ResourceRequirements@1.35 HostnameOverride:*string@1.35 WorkloadRef:*core.WorkloadReference@1.35"
    ),
    "core.PodTemplateSpec": "ObjectMeta=:v1.ObjectMeta Spec:core.PodSpec",
    "core.PortworxVolumeSource": "VolumeID:string FSType:string ReadOnly:bool",
    "core.PreferredSchedulingTerm": "Weight:int32 Preference:core.NodeSelectorTerm",
    "core.Probe": (
        "ProbeHandler=:core.ProbeHandler InitialDelaySeconds:int32 TimeoutSeconds:int32 PeriodSeconds:int32 "
        "SuccessThreshold:int32 FailureThreshold:int32 TerminationGracePeriodSeconds:*int64"
    ),
    "core.ProbeHandler": (
        "Exec:*core.ExecAction HTTPGet:*core.HTTPGetAction TCPSocket:*core.TCPSocketAction GRPC:*core.GRPCAction"
    ),
    "core.ProjectedVolumeSource": "Sources:[]core.VolumeProjection DefaultMode:*int32",
    "core.QuobyteVolumeSource": "Registry:string Volume:string ReadOnly:bool User:string Group:string Tenant:string",
    "core.RBDPersistentVolumeSource": (
        "CephMonitors=monitors:[]string RBDImage=image:string FSType:string RBDPool=pool:string RadosUser=user:string "
        "Keyring:string SecretRef:*core.SecretReference ReadOnly:bool"
    ),
    "core.RBDVolumeSource": (
        "CephMonitors=monitors:[]string RBDImage=image:string FSType:string RBDPool=pool:string RadosUser=user:string "
        "Keyring:string SecretRef:*core.LocalObjectReference ReadOnly:bool"
    ),
    "core.ResourceClaim": "Name:string Request:string",
    "core.ResourceFieldSelector": "ContainerName:string Resource:string Divisor:resource.Quantity",
    "core.ResourceRequirements": "Limits:core.ResourceList Requests:core.ResourceList Claims:[]core.ResourceClaim@1.35",
    "core.SELinuxOptions": "User:string Role:string Type:string Level:string",
    "core.ScaleIOPersistentVolumeSource": (
        "Gateway:string System:string SecretRef:*core.SecretReference SSLEnabled:bool ProtectionDomain:string "
        "StoragePool:string StorageMode:string VolumeName:string FSType:string ReadOnly:bool"
    ),
    "core.ScaleIOVolumeSource": (
        "Gateway:string System:string SecretRef:*core.LocalObjectReference SSLEnabled:bool ProtectionDomain:string "
        "StoragePool:string StorageMode:string VolumeName:string FSType:string ReadOnly:bool"
    ),
    "core.ScopeSelector": "MatchExpressions:[]core.ScopedResourceSelectorRequirement",
    "core.ScopedResourceSelectorRequirement": "ScopeName:string Operator:string Values:[]string",
    "core.SeccompProfile": "Type:string LocalhostProfile:*string",
    "core.SecretEnvSource": "LocalObjectReference=:core.LocalObjectReference Optional:*bool",
    "core.SecretKeySelector": "LocalObjectReference=:core.LocalObjectReference Key:string Optional:*bool",
    "core.SecretProjection": "LocalObjectReference=:core.LocalObjectReference Items:[]core.KeyToPath Optional:*bool",
    "core.SecretReference": "Name:string Namespace:string",
    "core.SecretVolumeSource": "SecretName:string Items:[]core.KeyToPath DefaultMode:*int32 Optional:*bool",
    "core.SecurityContext": (
        "Capabilities:*core.Capabilities Privileged:*bool SELinuxOptions:*core.SELinuxOptions "
        "WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool "
        "ReadOnlyRootFilesystem:*bool AllowPrivilegeEscalation:*bool ProcMount:*core.ProcMountType "
        "SeccompProfile:*core.SeccompProfile AppArmorProfile:*core.AppArmorProfile@1.35"
    ),
    "core.ServiceAccountTokenProjection": "Audience:string ExpirationSeconds:int64 Path:string",
    "core.ServicePort": (
        "Name:string Protocol:string AppProtocol:*string Port:int32 TargetPort:intstr.IntOrString NodePort:int32"
    ),
    "core.SleepAction": "Seconds:int64",
    "core.StorageOSPersistentVolumeSource": (
        "VolumeName:string VolumeNamespace:string FSType:string ReadOnly:bool SecretRef:*core.ObjectReference"
    ),
    "core.StorageOSVolumeSource": (
        "VolumeName:string VolumeNamespace:string FSType:string ReadOnly:bool SecretRef:*core.LocalObjectReference"
    ),
    "core.Sysctl": "Name:string Value:string",
    "core.TCPSocketAction": "Port:intstr.IntOrString Host:string",
    "core.Taint": "Key:string Value:string Effect:string TimeAdded:*v1.Time",
    "core.Toleration": "Key:string Operator:string Value:string Effect:string TolerationSeconds:*int64",
    "core.TopologySpreadConstraint": (
        "MaxSkew:int32 TopologyKey:string WhenUnsatisfiable:string LabelSelector:*v1.LabelSelector "
        "MinDomains:*int32@1.35 NodeAffinityPolicy:*core.NodeInclusionPolicy@1.35 "
        "NodeTaintsPolicy:*core.NodeInclusionPolicy@1.35 MatchLabelKeys:[]string@1.35"
    ),
    "core.TypedLocalObjectReference": "APIGroup:*string Kind:string Name:string",
    "core.TypedObjectReference": "APIGroup:*string Kind:string Name:string Namespace:*string",
    "core.Volume": "Name:string VolumeSource=:core.VolumeSource",
    "core.VolumeDevice": "Name:string DevicePath:string",
    "core.VolumeMount": (
        "Name:string ReadOnly:bool RecursiveReadOnly:*core.RecursiveReadOnlyMode@1.35 MountPath:string SubPath:string "
        "MountPropagation:*core.MountPropagationMode SubPathExpr:string"
    ),
    "core.VolumeNodeAffinity": "Required:*core.NodeSelector",
    "core.VolumeProjection": (
        "Secret:*core.SecretProjection DownwardAPI:*core.DownwardAPIProjection ConfigMap:*core.ConfigMapProjection "
        "ServiceAccountToken:*core.ServiceAccountTokenProjection "
        "ClusterTrustBundle:*core.ClusterTrustBundleProjection@1.35 PodCertificate:*core.PodCertificateProjection@1.35"
    ),
    "core.VolumeResourceRequirements": "Limits:core.ResourceList Requests:core.ResourceList",
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
        "ScaleIO:*core.ScaleIOVolumeSource StorageOS:*core.StorageOSVolumeSource CSI:*core.CSIVolumeSource Ephemeral:*core.EphemeralVolumeSource Image:*core.ImageVolumeSource"
    ),
    "core.VsphereVirtualDiskVolumeSource": "VolumePath:string FSType:string StoragePolicyName:string StoragePolicyID:string",
    "core.WeightedPodAffinityTerm": "Weight:int32 PodAffinityTerm:core.PodAffinityTerm",
    "core.WindowsSecurityContextOptions": "GMSACredentialSpecName:*string GMSACredentialSpec:*string RunAsUserName:*string HostProcess:*bool",
    "core.WorkloadReference": "Name:string PodGroup:string PodGroupReplicaKey:string",
    "flowcontrol.ExemptPriorityLevelConfiguration": "NominalConcurrencyShares:*int32 LendablePercent:*int32",
    "flowcontrol.FlowDistinguisherMethod": "Type:string",
    "flowcontrol.FlowSchemaSpec": (
        "PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference MatchingPrecedence:int32 "
        "DistinguisherMethod:*flowcontrol.FlowDistinguisherMethod Rules:[]flowcontrol.PolicyRulesWithSubjects"
    ),
    "flowcontrol.GroupSubject": "Name:string",
    "flowcontrol.LimitResponse": "Type:string Queuing:*flowcontrol.QueuingConfiguration",
    "flowcontrol.LimitedPriorityLevelConfiguration": (
        "NominalConcurrencyShares:int32 LimitResponse:flowcontrol.LimitResponse LendablePercent:*int32 "
        "BorrowingLimitPercent:*int32"
    ),
    "flowcontrol.NonResourcePolicyRule": "Verbs:[]string NonResourceURLs:[]string",
    "flowcontrol.PolicyRulesWithSubjects": (
        "Subjects:[]flowcontrol.Subject ResourceRules:[]flowcontrol.ResourcePolicyRule "
        "NonResourceRules:[]flowcontrol.NonResourcePolicyRule"
    ),
    "flowcontrol.PriorityLevelConfigurationReference": "Name:string",
    "flowcontrol.PriorityLevelConfigurationSpec": (
        "Type:string Limited:*flowcontrol.LimitedPriorityLevelConfiguration "
        "Exempt:*flowcontrol.ExemptPriorityLevelConfiguration@1.35"
    ),
    "flowcontrol.QueuingConfiguration": "Queues:int32 HandSize:int32 QueueLengthLimit:int32",
    "flowcontrol.ResourcePolicyRule": "Verbs:[]string APIGroups:[]string Resources:[]string ClusterScope:bool Namespaces:[]string",
    "flowcontrol.ServiceAccountSubject": "Namespace:string Name:string",
    "flowcontrol.Subject": (
        "Kind:string User:*flowcontrol.UserSubject Group:*flowcontrol.GroupSubject "
        "ServiceAccount:*flowcontrol.ServiceAccountSubject"
    ),
    "flowcontrol.UserSubject": "Name:string",
    "networking.HTTPIngressPath": "Path:string PathType:*networking.PathType Backend:networking.IngressBackend",
    "networking.HTTPIngressRuleValue": "Paths:[]networking.HTTPIngressPath",
    "networking.IPAddressSpec": "ParentRef:*networking.ParentReference",
    "networking.IngressBackend": "Service:*networking.IngressServiceBackend Resource:*core.TypedLocalObjectReference",
    "networking.IngressRule": "Host:string IngressRuleValue=:networking.IngressRuleValue",
    "networking.IngressRuleValue": "HTTP:*networking.HTTPIngressRuleValue",
    "networking.IngressServiceBackend": "Name:string Port:networking.ServiceBackendPort",
    "networking.ParentReference": "Group:string Resource:string Namespace:string Name:string",
    "networking.ServiceBackendPort": "Name:string Number:int32",
    "networking.ServiceCIDRSpec": "CIDRs:[]string",
    "policy.PodDisruptionBudgetSpec": (
        "MinAvailable:*intstr.IntOrString Selector:*v1.LabelSelector MaxUnavailable:*intstr.IntOrString "
        "UnhealthyPodEvictionPolicy:*policy.UnhealthyPodEvictionPolicyType@1.35"
    ),
    "rbac.RoleRef": "APIGroup:string Kind:string Name:string",
    "resource.AllocatedDeviceStatus": (
        "Driver:string Pool:string Device:string ShareID:*string Conditions:[]v1.Condition Data:*runtime.RawExtension "
        "NetworkData:*resource.NetworkDeviceData"
    ),
    "resource.AllocationResult": (
        "Devices:resource.DeviceAllocationResult NodeSelector:*core.NodeSelector AllocationTimestamp:*v1.Time"
    ),
    "resource.CELDeviceSelector": "Expression:string",
    "resource.CapacityRequestPolicy": (
        "Default:*resource.Quantity ValidValues:[]resource.Quantity ValidRange:*resource.CapacityRequestPolicyRange"
    ),
    "resource.CapacityRequestPolicyRange": "Min:*resource.Quantity Max:*resource.Quantity Step:*resource.Quantity",
    "resource.CapacityRequirements": "Requests:map[string]resource.Quantity",
    "resource.Counter": "Value:resource.Quantity",
    "resource.CounterSet": "Name:string Counters:map[string]resource.Counter",
    "resource.Device": (
        "Name:string Attributes:map[string]resource.DeviceAttribute Capacity:map[string]resource.DeviceCapacity "
        "ConsumesCounters:[]resource.DeviceCounterConsumption NodeName:*string NodeSelector:*core.NodeSelector "
        "AllNodes:*bool Taints:[]resource.DeviceTaint BindsToNode:*bool BindingConditions:[]string "
        "BindingFailureConditions:[]string AllowMultipleAllocations:*bool"
    ),
    "resource.DeviceAllocationConfiguration": "Source:string Requests:[]string DeviceConfiguration=:resource.DeviceConfiguration",
    "resource.DeviceAllocationResult": "Results:[]resource.DeviceRequestAllocationResult Config:[]resource.DeviceAllocationConfiguration",
    "resource.DeviceAttribute": "IntValue=int:*int64 BoolValue=bool:*bool StringValue=string:*string VersionValue=version:*string",
    "resource.DeviceCapacity": "Value:resource.Quantity RequestPolicy:*resource.CapacityRequestPolicy",
    "resource.DeviceClaim": (
        "Requests:[]resource.DeviceRequest Constraints:[]resource.DeviceConstraint Config:[]resource.DeviceClaimConfiguration"
    ),
    "resource.DeviceClaimConfiguration": "Requests:[]string DeviceConfiguration=:resource.DeviceConfiguration",
    "resource.DeviceConfiguration": "Opaque:*resource.OpaqueDeviceConfiguration",
    "resource.DeviceConstraint": (
        "Requests:[]string MatchAttribute:*resource.FullyQualifiedName DistinctAttribute:*resource.FullyQualifiedName"
    ),
    "resource.DeviceCounterConsumption": "CounterSet:string Counters:map[string]resource.Counter",
    "resource.DeviceRequest": "Name:string Exactly:*resource.ExactDeviceRequest FirstAvailable:[]resource.DeviceSubRequest",
    "resource.DeviceRequestAllocationResult": (
        "Request:string Driver:string Pool:string Device:string AdminAccess:*bool "
        "Tolerations:[]resource.DeviceToleration BindingConditions:[]string BindingFailureConditions:[]string "
        "ShareID:*types.UID ConsumedCapacity:map[string]resource.Quantity"
    ),
    "resource.DeviceSelector": "CEL:*resource.CELDeviceSelector",
    "resource.DeviceSubRequest": (
        "Name:string DeviceClassName:string Selectors:[]resource.DeviceSelector AllocationMode:string Count:int64 "
        "Tolerations:[]resource.DeviceToleration Capacity:*resource.CapacityRequirements"
    ),
    "resource.DeviceTaint": "Key:string Value:string Effect:string TimeAdded:*v1.Time",
    "resource.DeviceToleration": "Key:string Operator:string Value:string Effect:string TolerationSeconds:*int64",
    "resource.ExactDeviceRequest": (
        "DeviceClassName:string Selectors:[]resource.DeviceSelector AllocationMode:string Count:int64 "
        "AdminAccess:*bool Tolerations:[]resource.DeviceToleration Capacity:*resource.CapacityRequirements"
    ),
    "resource.NetworkDeviceData": "InterfaceName:string IPs:[]string HardwareAddress:string",
    "resource.OpaqueDeviceConfiguration": "Driver:string Parameters:runtime.RawExtension",
    "resource.ResourceClaimConsumerReference": "APIGroup:string Resource:string Name:string UID:string",
    "resource.ResourceClaimTemplateSpec": "ObjectMeta=:v1.ObjectMeta Spec:resource.ResourceClaimSpec",
    "resource.ResourceClaimSpec": "Devices:resource.DeviceClaim",
    "resource.ResourceClaimStatus": (
        "Allocation:*resource.AllocationResult ReservedFor:[]resource.ResourceClaimConsumerReference "
        "Devices:[]resource.AllocatedDeviceStatus"
    ),
    "resource.ResourcePool": "Name:string Generation:int64 ResourceSliceCount:int64",
    "resource.ResourceSliceSpec": (
        "Driver:string Pool:resource.ResourcePool NodeName:*string NodeSelector:*core.NodeSelector AllNodes:*bool "
        "Devices:[]resource.Device PerDeviceNodeSelection:*bool SharedCounters:[]resource.CounterSet"
    ),
    "storage.CSINodeDriver": "Name:string NodeID:string TopologyKeys:[]string Allocatable:*storage.VolumeNodeResources",
    "storage.VolumeAttachmentSource": "PersistentVolumeName:*string InlineVolumeSpec:*core.PersistentVolumeSpec",
    "storage.VolumeAttachmentSpec": "Attacher:string Source:storage.VolumeAttachmentSource NodeName:string",
    "storage.VolumeNodeResources": "Count:*int32",
    "v1.LabelSelector": "MatchLabels:map[string]string MatchExpressions:[]v1.LabelSelectorRequirement",
    "v1.LabelSelectorRequirement": "Key!:string Operator!:string Values:[]string",
    "v1.OwnerReference": "APIVersion:string Kind:string Name:string UID:string Controller:*bool BlockOwnerDeletion:*bool",
    "v1.ObjectMeta": (
        "Name:string GenerateName:string Namespace:string SelfLink:string UID:string ResourceVersion:string "
        "Generation:int64 CreationTimestamp:v1.Time DeletionTimestamp:*v1.Time DeletionGracePeriodSeconds:*int64 "
        "Labels:map[string]string Annotations:map[string]string OwnerReferences:[]v1.OwnerReference "
        "Finalizers:[]string ClusterName:string ManagedFields:[]v1.ManagedFieldsEntry"
    ),
}

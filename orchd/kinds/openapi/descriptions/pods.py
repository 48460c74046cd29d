"""Descriptions of the pod types: containers, probes, security, status, scheduling constraints."""

from __future__ import annotations

from typing import Final

Texts = dict[str, dict[str, str]]

_CONTAINER: Final[dict[str, str]] = {
    "": "Container of a pod.",
    "args": "Arguments of the entry point. Default: CMD of the image. $(NAME) expands to an environment variable.",
    "command": "Entry point, not run in a shell. Default: ENTRYPOINT of the image. $(NAME) expands to an environment variable.",
    "env": "Environment variables of the container.",
    "envFrom": "ConfigMaps and Secrets whose keys become environment variables. The last source of a key wins.",
    "image": "Name of the container image.",
    "imagePullPolicy": "Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent.",
    "lifecycle": "Hooks run after the start and before the termination of the container.",
    "livenessProbe": "Probe of liveness. The container is restarted when it fails.",
    "name": "Name of the container, a DNS label that is unique in the pod.",
    "ports": "Ports that the container exposes. Informational: other ports are reachable as well.",
    "readinessProbe": "Probe of readiness. The pod is removed from service endpoints while it fails.",
    "resizePolicy": "Whether a change of a resource restarts the container, by resource. Default: no restart.",
    "resources": "Compute resources required by the container.",
    "restartPolicy": (
        "Restart policy of this container: Always, OnFailure or Never. Default: that of the pod. An init "
        "container with Always runs as a sidecar."
    ),
    "restartPolicyRules": "Rules that decide about a restart before restartPolicy; the first that matches applies. At most 20.",
    "securityContext": "Security settings of the container. Override those of the pod.",
    "startupProbe": "Probe of startup. Other probes begin after it succeeded.",
    "stdin": "Keeps standard input open. Default: false.",
    "stdinOnce": "Closes standard input when the first attached client disconnects. Default: false.",
    "terminationMessagePath": "File whose content becomes the termination message. Default: /dev/termination-log.",
    "terminationMessagePolicy": "Source of the termination message: File (the default), or FallbackToLogsOnError.",
    "tty": "Allocates a terminal. Requires stdin. Default: false.",
    "volumeDevices": "Block devices used by the container.",
    "volumeMounts": "Volumes mounted into the container's file system.",
    "workingDir": "Working directory of the container. Default: that of the image.",
}

TEXTS: Final[Texts] = {
    "core.Pod": {
        "": "Group of containers that run on one node and share network address and volumes.",
        "spec": "Desired behavior of the pod.",
        "status": "Observed state of the pod, reported by its node.",
    },
    "core.PodSpec": {
        "": "Desired behavior of a pod.",
        "activeDeadlineSeconds": "Seconds that the pod may be active on its node before it is terminated as failed.",
        "affinity": "Scheduling constraints on nodes and other pods.",
        "automountServiceAccountToken": "Whether a token of the service account is mounted. Default: true.",
        "containers": "Containers of the pod, at least one. Cannot be added or removed.",
        "dnsConfig": "DNS parameters merged with those of dnsPolicy.",
        "dnsPolicy": "ClusterFirst (the default), ClusterFirstWithHostNet, Default or None.",
        "enableServiceLinks": "Whether containers get environment variables for the Services of the namespace. Default: true.",
        "ephemeralContainers": "Containers added to a running pod for debugging. Never restarted.",
        "hostAliases": "Entries added to the pod's hosts file.",
        "hostIPC": "Uses the IPC namespace of the node. Default: false.",
        "hostnameOverride": "Host name of the pod, in place of hostname and subdomain. Excludes hostNetwork and setHostnameAsFQDN.",
        "hostNetwork": "Uses the network namespace of the node. Default: false.",
        "hostPID": "Uses the process ID namespace of the node. Default: false.",
        "hostname": "Host name of the pod. Default: the name of the pod.",
        "hostUsers": "If false, the pod runs in a user namespace of its own. Default: true.",
        "imagePullSecrets": "Secrets with credentials for pulling images.",
        "initContainers": "Containers that run to completion, one after the other, before the others start.",
        "nodeName": "Name of the node that runs the pod. Normally set by the scheduler.",
        "nodeSelector": "Labels that a node must have to run the pod.",
        "os": "Operating system of the containers.",
        "overhead": "Resources that the pod requires in addition to its containers. Set from the RuntimeClass.",
        "priority": "Priority value. Set from the PriorityClass.",
        "priorityClassName": "Name of the pod's PriorityClass.",
        "readinessGates": "Additional conditions that must be True for the pod to be ready.",
        "resourceClaims": (
            "ResourceClaims that containers of the pod can use. They are allocated and reserved before the pod starts."
        ),
        "resources": "Compute resources of the pod as a whole, shared by its containers: cpu, memory and hugepages.",
        "restartPolicy": "Restart policy of the containers: Always (the default), OnFailure or Never.",
        "runtimeClassName": "Name of the RuntimeClass that runs the pod.",
        "schedulerName": "Name of the scheduler that places the pod. Default: default-scheduler.",
        "schedulingGates": "Gates that keep the pod from being scheduled until all are removed. Set at creation only.",
        "securityContext": "Security settings of the pod. Containers can override them.",
        "serviceAccount": "Deprecated alias of serviceAccountName.",
        "serviceAccountName": "Name of the ServiceAccount that the pod runs as.",
        "setHostnameAsFQDN": "Uses the fully qualified domain name as the host name. Default: false.",
        "shareProcessNamespace": "Shares one process ID namespace among the containers. Default: false.",
        "subdomain": "Subdomain of the pod's fully qualified domain name.",
        "terminationGracePeriodSeconds": "Seconds between the termination signal and the kill signal. Default: 30.",
        "tolerations": "Taints that the pod tolerates.",
        "topologySpreadConstraints": "Constraints on the distribution of pods over topology domains such as zones.",
        "volumes": "Volumes that containers of the pod can mount.",
        "workloadRef": "Workload and pod group that the pod belongs to. Immutable.",
    },
    "core.PodStatus": {
        "": "Observed state of a pod. May lag behind the actual state.",
        "allocatedResources": "Compute resources that the node has allocated to the pod as a whole.",
        "containerStatuses": "Status of each container.",
        "ephemeralContainerStatuses": "Status of each ephemeral container.",
        "extendedResourceClaimStatus": "ResourceClaim that the scheduler created for extended resources of the pod.",
        "hostIP": "IP address of the node.",
        "hostIPs": "IP addresses of the node, at most one per IP family.",
        "initContainerStatuses": "Status of each init container.",
        "nominatedNodeName": "Node on which lower-priority pods are being preempted for this pod.",
        "phase": "Pending, Running, Succeeded, Failed or Unknown.",
        "podIP": "Primary IP address of the pod.",
        "podIPs": "IP addresses of the pod, at most one per IP family.",
        "qosClass": "Quality of service class: Guaranteed, Burstable or BestEffort. Determines the order of eviction.",
        "reason": "Machine-readable reason for the state, such as Evicted.",
        "resize": "Deprecated: state of a resize. The conditions PodResizePending and PodResizeInProgress replace it.",
        "resourceClaimStatuses": "ResourceClaims that were created for the entries of spec.resourceClaims.",
        "resources": "Compute resources in effect for the pod as a whole.",
        "startTime": "Time at which the node acknowledged the pod.",
    },
    "core.PodCondition": {
        "": "Condition of a pod.",
        "type": "PodScheduled, Initialized, ContainersReady or Ready.",
        "status": "True, False or Unknown.",
    },
    "core.PodTemplate": {"": "Stored template of pods.", "template": "Template of the pods."},
    "core.PodTemplateSpec": {
        "": "Template of pods.",
        "metadata": "Labels and annotations of the pods.",
        "spec": "Specification of the pods.",
    },
    "core.PodIP": {"": "IP address of a pod."},
    "core.PodOS": {"": "Operating system of a pod.", "name": "linux or windows."},
    "core.PodReadinessGate": {"": "Condition that a pod's readiness depends on.", "conditionType": "Type of the condition."},
    "core.PodDNSConfig": {
        "": "DNS parameters of a pod.",
        "nameservers": "IP addresses of DNS servers.",
        "searches": "DNS search domains.",
        "options": "DNS resolver options.",
    },
    "core.PodDNSConfigOption": {
        "": "DNS resolver option.",
        "name": "Name of the option.",
        "value": "Value of the option.",
    },
    "core.HostAlias": {"": "Entry of the hosts file.", "hostnames": "Host names of the address."},
    "core.Container": _CONTAINER,
    "core.EphemeralContainer": {
        **_CONTAINER,
        "": "Container added to a running pod for debugging.",
        "targetContainerName": "Container whose process namespace is shared.",
    },
    "core.ContainerPort": {
        "": "Port exposed by a container.",
        "containerPort": "Port number, from 1 to 65535.",
        "hostIP": "Host IP to bind hostPort to.",
        "hostPort": "Port exposed on the node. Rarely needed.",
        "name": "Name of the port. Services can refer to it.",
    },
    "core.EnvVar": {
        "": "Environment variable of a container.",
        "name": "Name of the variable.",
        "value": "Value of the variable. $(NAME) expands to a previously defined variable. Default: empty.",
        "valueFrom": "Source of the value. Excludes value.",
    },
    "core.EnvVarSource": {
        "": "Source of the value of a variable. Exactly one member must be set.",
        "configMapKeyRef": "Key of a ConfigMap.",
        "fieldRef": "Field of the pod.",
        "fileKeyRef": "Variable of an env file in a volume of the pod.",
        "resourceFieldRef": "Resource limit or request of a container.",
        "secretKeyRef": "Key of a Secret.",
    },
    "core.EnvFromSource": {
        "": "Object whose keys become environment variables.",
        "configMapRef": "ConfigMap whose keys are used.",
        "prefix": "Prefix of the variable names.",
        "secretRef": "Secret whose keys are used.",
    },
    "core.ConfigMapEnvSource": {"": "ConfigMap whose keys become environment variables.", "name": "Name of the ConfigMap."},
    "core.SecretEnvSource": {"": "Secret whose keys become environment variables.", "name": "Name of the Secret."},
    "core.ConfigMapKeySelector": {"": "Selects a key of a ConfigMap.", "name": "Name of the ConfigMap."},
    "core.SecretKeySelector": {"": "Selects a key of a Secret.", "name": "Name of the Secret."},
    "core.ObjectFieldSelector": {"": "Selects a field of the object.", "apiVersion": "API version of fieldPath. Default: v1."},
    "core.ResourceFieldSelector": {
        "": "Selects a resource limit or request of a container.",
        "containerName": "Name of the container. Required for volumes. Default: the container of the variable.",
        "divisor": "Unit of the result. Default: 1.",
        "resource": "Resource, such as limits.cpu or requests.memory.",
    },
    "core.ResourceRequirements": {
        "": "Compute resources of a container or claim.",
        "claims": "Entries of the pod's resourceClaims that the container uses. Containers only; immutable.",
        "limits": "Maximum amount of each resource.",
        "requests": "Minimum amount of each resource that is reserved. Default for containers: limits.",
    },
    "core.Probe": {
        "": "Periodic health check of a container.",
        "exec": "Runs a command in the container. Exit code 0 is success.",
        "failureThreshold": "Consecutive failures after which the probe counts as failed. Default: 3.",
        "grpc": "Calls the gRPC health checking service.",
        "httpGet": "Sends an HTTP GET. Status codes from 200 to 399 are success.",
        "initialDelaySeconds": "Seconds between the start of the container and the first probe. Default: 0.",
        "periodSeconds": "Seconds between probes. Default: 10.",
        "successThreshold": "Consecutive successes after which the probe counts as successful again. Default: 1.",
        "tcpSocket": "Opens a TCP connection.",
        "terminationGracePeriodSeconds": (
            "Grace period in seconds when this probe terminates the container. Default: that of the pod."
        ),
        "timeoutSeconds": "Seconds until a probe times out. Default: 1.",
    },
    "core.Lifecycle": {
        "": "Lifecycle hooks of a container.",
        "postStart": "Hook run right after the start. The container is killed if the hook fails.",
        "preStop": "Hook run before termination, within the grace period.",
        "stopSignal": "Signal that stops the container. Default: that of the image or runtime. Requires os.name in the pod.",
    },
    "core.LifecycleHandler": {
        "": "Action of a lifecycle hook. Exactly one member must be set.",
        "exec": "Runs a command in the container.",
        "httpGet": "Sends an HTTP GET.",
        "sleep": "Waits for some seconds.",
        "tcpSocket": "Not supported; kept for compatibility.",
    },
    "core.ExecAction": {"": "Command run in a container.", "command": "Command and arguments, not run in a shell."},
    "core.HTTPGetAction": {
        "": "HTTP GET request.",
        "host": "Host name to connect to. Default: the pod's IP.",
        "httpHeaders": "Headers of the request.",
        "path": "Path of the request.",
        "port": "Port to connect to, by number or name.",
        "scheme": "HTTP (the default) or HTTPS.",
    },
    "core.HTTPHeader": {
        "": "Header of an HTTP request.",
        "name": "Name of the header.",
        "value": "Value of the header.",
    },
    "core.TCPSocketAction": {
        "": "TCP connection attempt.", "host": "Host name to connect to. Default: the pod's IP.",
        "port": "Port to connect to, by number or name.",
    },
    "core.GRPCAction": {
        "": "Call of the gRPC health checking service.",
        "port": "Port number of the service.",
        "service": "Service name in the health check request.",
    },
    "core.ContainerStatus": {
        "": "Observed state of a container.",
        "allocatedResources": "Requests that the node has admitted for the container.",
        "allocatedResourcesStatus": "Health of the devices allocated to the container.",
        "containerID": "Identifier of the container, as TYPE://ID.",
        "image": "Image that the container runs.",
        "imageID": "Identifier of the image.",
        "lastState": "State of the previous run of the container.",
        "name": "Name of the container.",
        "ready": "Whether the container passed its last readiness probe.",
        "resources": "Requests and limits in effect for the running container.",
        "restartCount": "Number of restarts of the container.",
        "started": "Whether the container passed its startup probe.",
        "state": "Current state of the container.",
        "stopSignal": "Signal that stops the container.",
        "user": "User and groups of the container's first process.",
        "volumeMounts": "State of the volume mounts of the container.",
    },
    "core.ContainerState": {
        "": "State of a container. At most one member is set.",
        "running": "Details of a running container.",
        "terminated": "Details of a terminated container.",
        "waiting": "Details of a container that is not running yet.",
    },
    "core.ContainerStateRunning": {"": "Running container.", "startedAt": "Time at which the container was started."},
    "core.ContainerStateWaiting": {"": "Container that is not running yet."},
    "core.ContainerStateTerminated": {
        "": "Terminated container.",
        "containerID": "Identifier of the container, as TYPE://ID.",
        "exitCode": "Exit code of the container.",
        "finishedAt": "Time at which the container terminated.",
        "signal": "Signal that terminated the container.",
        "startedAt": "Time at which the container was started.",
    },
    "core.SecurityContext": {
        "": "Security settings of a container.",
        "allowPrivilegeEscalation": "Whether a process can gain more privileges than its parent.",
        "appArmorProfile": "AppArmor profile of the container. Overrides that of the pod.",
        "capabilities": "Capabilities to add and to drop.",
        "privileged": "Runs the container in privileged mode, equivalent to root on the node. Default: false.",
        "procMount": "Type of the proc mount: Default or Unmasked.",
        "readOnlyRootFilesystem": "Makes the root file system read-only. Default: false.",
        "runAsNonRoot": "Refuses to start a container that would run as UID 0.",
        "windowsOptions": "Windows-specific settings.",
    },
    "core.PodSecurityContext": {
        "": "Security settings of all containers of a pod.",
        "appArmorProfile": "AppArmor profile of the containers.",
        "fsGroup": "Group ID that owns the volumes and that all containers are members of.",
        "fsGroupChangePolicy": "When the ownership of volumes is changed: OnRootMismatch or Always (the default).",
        "runAsNonRoot": "Refuses to start containers that would run as UID 0.",
        "seLinuxChangePolicy": (
            "How volumes get the SELinux label of the pod: MountOption (a mount option, where supported) or Recursive "
            "(relabel all files)."
        ),
        "supplementalGroups": "Additional group IDs of the first process of each container.",
        "supplementalGroupsPolicy": (
            "Merge (the default) adds the groups that the image defines for the user, Strict uses only those of this "
            "context."
        ),
        "sysctls": "Kernel parameters of the pod.",
        "windowsOptions": "Windows-specific settings.",
    },
    "core.Capabilities": {
        "": "Capabilities added to and dropped from a container.",
        "add": "Capabilities to add.",
        "drop": "Capabilities to drop.",
    },
    "core.SELinuxOptions": {
        "": "SELinux label.",
        "level": "SELinux level label.",
        "role": "SELinux role label.",
        "type": "SELinux type label.",
        "user": "SELinux user label.",
    },
    "core.SeccompProfile": {
        "": "Seccomp profile that filters system calls.",
        "localhostProfile": "Profile file on the node. Only used with type Localhost.",
        "type": "Localhost, RuntimeDefault or Unconfined.",
    },
    "core.WindowsSecurityContextOptions": {
        "": "Windows-specific security settings.",
        "gmsaCredentialSpec": "Content of the GMSA credential spec.",
        "gmsaCredentialSpecName": "Name of the GMSA credential spec.",
        "hostProcess": "Runs the container as a host process.",
        "runAsUserName": "Windows user name of the entry point.",
    },
    "core.Sysctl": {"": "Kernel parameter.", "name": "Name of the parameter.", "value": "Value of the parameter."},
    "core.Affinity": {
        "": "Scheduling constraints of a pod.",
        "nodeAffinity": "Constraints on the nodes.",
        "podAffinity": "Pods to be placed close to.",
        "podAntiAffinity": "Pods to be placed apart from.",
    },
    "core.NodeAffinity": {
        "": "Scheduling constraints on nodes.",
        "preferredDuringSchedulingIgnoredDuringExecution": (
            "Preferred nodes. The node with the largest sum of weights is favored."
        ),
        "requiredDuringSchedulingIgnoredDuringExecution": "Nodes that are eligible. Evaluated at scheduling time only.",
    },
    "core.PodAffinity": {
        "": "Pods to be placed close to.",
        "preferredDuringSchedulingIgnoredDuringExecution": "Preferred topology domains. The largest sum of weights is favored.",
        "requiredDuringSchedulingIgnoredDuringExecution": (
            "Topology domains that are eligible. Evaluated at scheduling time only."
        ),
    },
    "core.PodAntiAffinity": {
        "": "Pods to be placed apart from.",
        "preferredDuringSchedulingIgnoredDuringExecution": "Topology domains to avoid. The smallest sum of weights is favored.",
        "requiredDuringSchedulingIgnoredDuringExecution": (
            "Topology domains that are excluded. Evaluated at scheduling time only."
        ),
    },
    "core.PodAffinityTerm": {
        "": "Set of pods and the topology domain they are matched in.",
        "labelSelector": "Label selector of the pods.",
        "matchLabelKeys": "Label keys whose values in this pod are required of the matched pods, in addition to labelSelector.",
        "mismatchLabelKeys": (
            "Label keys whose values in this pod exclude pods that have the same, in addition to labelSelector."
        ),
        "namespaceSelector": "Label selector of the pods' namespaces. An empty selector matches all.",
        "namespaces": "Namespaces of the pods. When unset, and without a selector, the namespace of this pod.",
    },
    "core.WeightedPodAffinityTerm": {"": "Pod affinity term with a weight.", "podAffinityTerm": "Pod affinity term."},
    "core.NodeSelector": {"": "Union of node selector terms.", "nodeSelectorTerms": "Terms, at least one of which must match."},
    "core.NodeSelectorTerm": {
        "": "Requirements on a node; all must be met.",
        "matchExpressions": "Requirements on the labels of the node.",
        "matchFields": "Requirements on the fields of the node.",
    },
    "core.NodeSelectorRequirement": {
        "": "Requirement on a label or field of a node.", "key": "Label key or field name.",
        "operator": "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
        "values": (
            "Values that the label or field is compared with. Empty for Exists and DoesNotExist, one integer for Gt "
            "and Lt."
        ),
    },
    "core.PreferredSchedulingTerm": {"": "Node selector term with a weight.", "preference": "Node selector term."},
    "core.Toleration": {
        "": "Toleration of taints.",
        "effect": "Tolerated effect. Empty matches all.",
        "key": "Key of the tolerated taint. Empty, with operator Exists, matches all.",
        "operator": "Equal (the default) or Exists.",
        "tolerationSeconds": "Seconds for which a NoExecute taint is tolerated. When unset, it is tolerated forever.",
        "value": "Value of the tolerated taint.",
    },
    "core.Taint": {
        "": "Repels pods that do not tolerate it from a node.",
        "effect": "Effect on pods that do not tolerate the taint: NoSchedule, PreferNoSchedule or NoExecute.",
        "key": "Key of the taint.",
        "timeAdded": "Time at which a NoExecute taint was added.",
        "value": "Value of the taint.",
    },
    "core.TopologySpreadConstraint": {
        "": "Constraint on the distribution of pods over topology domains.",
        "labelSelector": "Label selector of the pods that are counted.",
        "matchLabelKeys": "Label keys whose values in this pod are required of the counted pods, in addition to labelSelector.",
        "maxSkew": "Maximum difference in the number of pods between two domains.",
        "minDomains": (
            "Minimum number of eligible domains; with fewer, the smallest count is taken as 0. Only used with "
            "DoNotSchedule. Default: 1."
        ),
        "nodeAffinityPolicy": "Whether only nodes that match the pod's node affinity count: Honor (the default) or Ignore.",
        "nodeTaintsPolicy": (
            "Whether nodes with taints that the pod does not tolerate are left out: Honor or Ignore (the default)."
        ),
        "whenUnsatisfiable": "DoNotSchedule (the default), or ScheduleAnyway, preferring the smallest skew.",
    },
    "core.Binding": {"": "Binds a pod to a node.", "target": "Node that the pod is bound to."},
    "core.PodResourceClaim": {
        "": "ResourceClaim used by a pod. Exactly one of resourceClaimName and resourceClaimTemplateName must be set.",
        "name": "Name by which containers refer to the claim, a DNS label that is unique in the pod.",
        "resourceClaimName": "Name of an existing ResourceClaim in the same namespace.",
        "resourceClaimTemplateName": (
            "Name of the ResourceClaimTemplate from which a claim is created for the pod and deleted with it."
        ),
    },
    "core.PodResourceClaimStatus": {
        "": "ResourceClaim created for an entry of spec.resourceClaims.",
        "name": "Name of the entry.",
        "resourceClaimName": "Name of the created ResourceClaim. Unset if none was necessary.",
    },
    "core.PodExtendedResourceClaimStatus": {
        "": "ResourceClaim created by the scheduler for extended resources of a pod.",
        "requestMappings": "Requests of the claim by container and extended resource.",
        "resourceClaimName": "Name of the ResourceClaim.",
    },
    "core.ContainerExtendedResourceRequest": {
        "": "Extended resource of a container and the request of the claim that meets it.",
        "containerName": "Name of the container.",
        "requestName": "Name of the request in the ResourceClaim.",
        "resourceName": "Name of the extended resource.",
    },
    "core.ResourceClaim": {
        "": "ResourceClaim used by a container.",
        "name": "Name of an entry of the pod's resourceClaims.",
        "request": "Name of a request of the claim. When unset, all devices of the claim.",
    },
    "core.PodSchedulingGate": {"": "Keeps a pod from being scheduled.", "name": "Name of the gate, unique in the pod."},
    "core.WorkloadReference": {
        "": "Pod group of a Workload that a pod belongs to.",
        "name": "Name of the Workload in the same namespace. The pod is not scheduled before it exists.",
        "podGroup": "Name of the pod group in the Workload.",
        "podGroupReplicaKey": (
            "Key of the replica of the pod group, a DNS label. The policy of the group applies to each replica on its "
            "own."
        ),
    },
    "core.HostIP": {"": "IP address of a node."},
    "core.ContainerResizePolicy": {
        "": "Effect of a change of a resource on its container.",
        "resourceName": "Resource: cpu or memory.",
        "restartPolicy": "NotRequired (the default), or RestartContainer to restart the container.",
    },
    "core.ContainerRestartRule": {
        "": "Decides about the restart of a container that has terminated.",
        "action": "Restart, or RestartAllContainers if the feature gate RestartAllContainersOnContainerExits is enabled.",
        "exitCodes": "Exit codes that the rule matches.",
    },
    "core.ContainerRestartRuleOnExitCodes": {
        "": "Exit codes that a restart rule matches.",
        "operator": "In (one of values) or NotIn (none of values).",
        "values": "Exit codes, at most 255.",
    },
    "core.FileKeySelector": {
        "": "Selects a variable of an env file.",
        "key": "Name of the variable in the file.",
        "optional": "If true, the file or variable may be missing; the environment variable is not set then. Default: false.",
        "path": "Relative path of the file in the volume. Must not contain \"..\".",
        "volumeName": "Name of the volume that contains the file.",
    },
    "core.SleepAction": {"": "Waits for some seconds.", "seconds": "Number of seconds to wait."},
    "core.VolumeMountStatus": {
        "": "State of a volume mount.",
        "mountPath": "Path in the container.",
        "name": "Name of the volume.",
        "readOnly": "Whether the mount is read-only.",
        "recursiveReadOnly": "Disabled, IfPossible or Enabled; for a mount in effect Disabled or Enabled.",
    },
    "core.ContainerUser": {
        "": "User and groups of the first process of a container.",
        "linux": "User and groups on Linux.",
    },
    "core.LinuxContainerUser": {
        "": "User and groups of the first process of a Linux container.",
        "gid": "Primary group ID.",
        "supplementalGroups": "Supplementary group IDs.",
        "uid": "User ID.",
    },
    "core.ResourceStatus": {
        "": "Health of the devices of one resource.",
        "name": "Name of the resource, or claim:CLAIM/REQUEST for the devices of a ResourceClaim.",
        "resources": "Health of each device.",
    },
    "core.ResourceHealth": {
        "": "Health of a device.",
        "health": "Healthy, Unhealthy or Unknown.",
        "resourceID": "Identifier of the device.",
    },
    "core.AppArmorProfile": {
        "": "AppArmor profile of containers.",
        "localhostProfile": "Name of a profile that is loaded on the node. Only used with type Localhost.",
        "type": "Localhost, RuntimeDefault or Unconfined.",
    },
}

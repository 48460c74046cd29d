"""policy/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import policy_v1
from orchd.kinds.rows import (
    Conversion,
    Deprecation,
    KindRow,
    Row,
    Subresource,
    Table,
    Types,
    Validation,
    VersionRow,
    object_types,
    same_types,
)

GROUP: Final = "policy"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.policy.v1beta1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("Eviction",))

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="PodDisruptionBudget",
        of="policy/v1",
        deprecated=Deprecation(since="v1.21", removed="v1.25", replacement="policy/v1"),
        conversion=Conversion(
            "conversions.renames.budget_from_v1beta1", "conversions.renames.budget_to_v1beta1", keeps_shape=True
        ),
        subresources=(Subresource(name="status", update="validate.policy.update_budget_conditions"),),
    ),
    KindRow(
        kind="PodSecurityPolicy",
        plural="podsecuritypolicies",
        short_names=("psp",),
        key="podsecuritypolicy",
        until="1.25",
        deprecated=Deprecation(since="v1.21", removed="v1.25"),
        table=Table(
            "tabulate.policies.pod_security_policy",
            ("Name|name", "Priv", "Caps", "SELinux", "RunAsUser", "FsGroup", "SupGroup", "ReadOnlyRootFs", "Volumes"),
        ),
        validation=Validation(create="validate.securitypolicies.create", update="validate.securitypolicies.update"),
        returns_deleted=True,
    ),
)

TYPES: Final[Types] = {
    **same_types(policy_v1.TYPES, "Eviction PodDisruptionBudget PodDisruptionBudgetStatus"),
    **object_types("PodSecurityPolicy", status=""),
    "AllowedCSIDriver": (("name", 1, "string", "required"),),
    "AllowedFlexVolume": (("driver", 1, "string", "required"),),
    "AllowedHostPath": (("pathPrefix", 1, "string", "omit"), ("readOnly", 2, "bool", "omit")),
    "FSGroupStrategyOptions": (("rule", 1, "string", "omit"), ("ranges", 2, "[]IDRange", "omit")),
    "HostPortRange": (("min", 1, "int32", "required"), ("max", 2, "int32", "required")),
    "IDRange": (("min", 1, "int64", "required"), ("max", 2, "int64", "required")),
    "PodDisruptionBudgetSpec": (
        ("minAvailable", 1, "int-or-string", "omit ptr"),
        ("selector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("maxUnavailable", 3, "int-or-string", "omit ptr"),
    ),
    "PodSecurityPolicySpec": (
        ("privileged", 1, "bool", "omit"),
        ("defaultAddCapabilities", 2, "[]string", "omit"),
        ("requiredDropCapabilities", 3, "[]string", "omit"),
        ("allowedCapabilities", 4, "[]string", "omit"),
        ("volumes", 5, "[]string", "omit"),
        ("hostNetwork", 6, "bool", "omit"),
        ("hostPorts", 7, "[]HostPortRange", "omit"),
        ("hostPID", 8, "bool", "omit"),
        ("hostIPC", 9, "bool", "omit"),
        ("seLinux", 10, "SELinuxStrategyOptions", "required"),
        ("runAsUser", 11, "RunAsUserStrategyOptions", "required"),
        ("runAsGroup", 22, "RunAsGroupStrategyOptions", "omit ptr"),
        ("supplementalGroups", 12, "SupplementalGroupsStrategyOptions", "required"),
        ("fsGroup", 13, "FSGroupStrategyOptions", "required"),
        ("readOnlyRootFilesystem", 14, "bool", "omit"),
        ("defaultAllowPrivilegeEscalation", 15, "bool", "omit ptr"),
        ("allowPrivilegeEscalation", 16, "bool", "omit ptr"),
        ("allowedHostPaths", 17, "[]AllowedHostPath", "omit"),
        ("allowedFlexVolumes", 18, "[]AllowedFlexVolume", "omit"),
        ("allowedCSIDrivers", 23, "[]AllowedCSIDriver", "omit"),
        ("allowedUnsafeSysctls", 19, "[]string", "omit"),
        ("forbiddenSysctls", 20, "[]string", "omit"),
        ("allowedProcMountTypes", 21, "[]string", "omit"),
        ("runtimeClass", 24, "RuntimeClassStrategyOptions", "omit ptr"),
    ),
    "RunAsGroupStrategyOptions": (("rule", 1, "string", "required"), ("ranges", 2, "[]IDRange", "omit")),
    "RunAsUserStrategyOptions": (("rule", 1, "string", "required"), ("ranges", 2, "[]IDRange", "omit")),
    "RuntimeClassStrategyOptions": (
        ("allowedRuntimeClassNames", 1, "[]string", "required"),
        ("defaultRuntimeClassName", 2, "string", "omit ptr"),
    ),
    "SELinuxStrategyOptions": (
        ("rule", 1, "string", "required"),
        ("seLinuxOptions", 2, "core/v1.SELinuxOptions", "omit ptr"),
    ),
    "SupplementalGroupsStrategyOptions": (("rule", 1, "string", "omit"), ("ranges", 2, "[]IDRange", "omit")),
}

"""Kinds of versions that no release of this server serves, but that the reference knows: objects of them are refused as
those of another version, not as unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_Kinds = Mapping[str, Mapping[str, str]]

_SCALED: Final = "DeploymentRollback Scale"

#: Kinds by group (a template) and version.
FORMER_KINDS: Final[_Kinds] = {
    "admissionregistration.{abbr}.io": {"v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration"},
    "apps": {
        "v1beta1": f"ControllerRevision Deployment StatefulSet {_SCALED}",
        "v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
    },
    "authentication.{abbr}.io": {"v1beta1": "TokenReview"},
    "authorization.{abbr}.io": {
        "v1beta1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
    },
    "certificates.{abbr}.io": {"v1beta1": "CertificateSigningRequest"},
    "coordination.{abbr}.io": {"v1beta1": "Lease"},
    "extensions": {"v1beta1": f"DaemonSet Deployment Ingress NetworkPolicy ReplicaSet {_SCALED}"},
    "networking.{abbr}.io": {"v1beta1": "Ingress IngressClass"},
    "rbac.authorization.{abbr}.io": dict.fromkeys(("v1alpha1", "v1beta1"), "ClusterRole ClusterRoleBinding Role RoleBinding"),
    "scheduling.{abbr}.io": dict.fromkeys(("v1alpha1", "v1beta1"), "PriorityClass"),
    "storage.{abbr}.io": {
        "v1alpha1": "VolumeAttachment",
        "v1beta1": "CSIDriver CSINode StorageClass VolumeAttachment",
    },
}
#: The first release whose reference knows the kinds of `LATER_KINDS` too, which are not built.
LATER_SINCE: Final = "1.34"
LATER_KINDS: Final[_Kinds] = {
    "admissionregistration.{abbr}.io": {
        "v1beta1": "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy "
        "MutatingAdmissionPolicyBinding",
        "v1alpha1": "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy "
        "MutatingAdmissionPolicyBinding",
    },
    "authentication.{abbr}.io": dict.fromkeys(("v1alpha1", "v1beta1"), "SelfSubjectReview"),
    "certificates.{abbr}.io": {"v1alpha1": "ClusterTrustBundle", "v1beta1": "ClusterTrustBundle PodCertificateRequest"},
    "coordination.{abbr}.io": dict.fromkeys(("v1alpha2", "v1beta1"), "LeaseCandidate"),
    "flowcontrol.apiserver.{abbr}.io": {"v1beta3": "FlowSchema PriorityLevelConfiguration"},
    "networking.{abbr}.io": {"v1beta1": "IPAddress ServiceCIDR"},
    "resource.{abbr}.io": {
        "v1alpha3": "DeviceTaintRule",
        **dict.fromkeys(("v1beta1", "v1beta2"), "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"),
    },
    "scheduling.{abbr}.io": {"v1alpha1": "Workload"},
    "storage.{abbr}.io": dict.fromkeys(("v1alpha1", "v1beta1"), "VolumeAttributesClass"),
    "storagemigration.{abbr}.io": {"v1beta1": "StorageVersionMigration"},
}
#: Groups whose kinds have moved: group of a former kind -> groups with a kind of the same name.
MOVED: Final = {"extensions": ("apps", "autoscaling", "networking.{abbr}.io"), "apps": ("autoscaling",)}

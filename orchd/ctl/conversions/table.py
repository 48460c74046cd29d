"""Removed versions: what took the place of each kind, and what is different there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from orchd.ctl.conversions import certificates, ingresses, rbac, reviews, webhooks, workloads
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object

#: The object in its new version, but for apiVersion. Builds a new object.
Change = Callable[[Object, Dialect], Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A kind in a removed version. Versions are templates of the dialect. None for `change`: fields and defaults are
    the same."""

    version: str
    kind: str
    successor: str
    change: Change | None = None


def _rows(version: str, successor: str, kinds: str | dict[str, Change | None]) -> Iterator[Removed]:
    changes = dict.fromkeys(kinds.split()) if isinstance(kinds, str) else kinds
    for kind, change in changes.items():
        yield Removed(version=version, kind=kind, successor=successor, change=change)


_RBAC: Final = "rbac.authorization.{abbr}.io"
_STORAGE: Final = "storage.{abbr}.io"
_WEBHOOKS: Final = "admissionregistration.{abbr}.io"
_AUTHORIZATION: Final = "authorization.{abbr}.io"
REMOVED: Final = (
    *_rows("extensions/v1beta1", "apps/v1", {
        "Deployment": workloads.extensions_deployment, "DaemonSet": workloads.extensions_daemon_set,
        "ReplicaSet": workloads.with_selector,
    }),
    *_rows("extensions/v1beta1", "networking.{abbr}.io/v1", {"Ingress": ingresses.ingress, "NetworkPolicy": None}),
    *_rows("extensions/v1beta1", "policy/v1beta1", "PodSecurityPolicy"),
    *_rows("apps/v1beta1", "apps/v1", {
        "Deployment": workloads.beta1_deployment, "StatefulSet": workloads.beta1_stateful_set,
        "ControllerRevision": None,
    }),
    *_rows("apps/v1beta2", "apps/v1", "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision"),
    *_rows("networking.{abbr}.io/v1beta1", "networking.{abbr}.io/v1", {"Ingress": ingresses.ingress, "IngressClass": None}),
    *_rows(f"{_RBAC}/v1alpha1", f"{_RBAC}/v1", {
        "Role": None, "ClusterRole": None, "RoleBinding": rbac.alpha_binding, "ClusterRoleBinding": rbac.alpha_binding,
    }),
    *_rows(f"{_RBAC}/v1beta1", f"{_RBAC}/v1", "Role ClusterRole RoleBinding ClusterRoleBinding"),
    *_rows(f"{_WEBHOOKS}/v1beta1", f"{_WEBHOOKS}/v1", {
        "MutatingWebhookConfiguration": webhooks.configuration,
        "ValidatingWebhookConfiguration": webhooks.configuration,
    }),
    *_rows(f"{_STORAGE}/v1alpha1", f"{_STORAGE}/v1", "VolumeAttachment"),
    *_rows(f"{_STORAGE}/v1beta1", f"{_STORAGE}/v1", "StorageClass VolumeAttachment CSIDriver CSINode"),
    *_rows("scheduling.{abbr}.io/v1alpha1", "scheduling.{abbr}.io/v1", "PriorityClass"),
    *_rows("scheduling.{abbr}.io/v1beta1", "scheduling.{abbr}.io/v1", "PriorityClass"),
    *_rows("coordination.{abbr}.io/v1beta1", "coordination.{abbr}.io/v1", "Lease"),
    *_rows("certificates.{abbr}.io/v1beta1", "certificates.{abbr}.io/v1", {"CertificateSigningRequest": certificates.signing_request}),
    *_rows("apiregistration.{abbr}.io/v1beta1", "apiregistration.{abbr}.io/v1", "APIService"),
    *_rows("authentication.{abbr}.io/v1beta1", "authentication.{abbr}.io/v1", "TokenReview"),
    *_rows(f"{_AUTHORIZATION}/v1beta1", f"{_AUTHORIZATION}/v1", {
        "SelfSubjectAccessReview": None, "SelfSubjectRulesReview": None, "SubjectAccessReview": reviews.access_review,
        "LocalSubjectAccessReview": reviews.access_review,
    }),
)  # fmt: skip


def upgrade(obj: Object, dialects: Iterable[Dialect]) -> tuple[Object, Dialect] | None:
    """The object in the version that took the place of its removed one, and the dialect: the first whose name the
    version is. None for an object of no removed version. Raises KeyError, TypeError or ValueError for an object of
    another shape than its version's."""
    for dialect in dialects:
        for row in REMOVED:
            if row.kind == obj["kind"] and dialect(row.version) == obj["apiVersion"]:
                changed = row.change(obj, dialect) if row.change is not None else obj
                return {**changed, "apiVersion": dialect(row.successor)}, dialect
    return None

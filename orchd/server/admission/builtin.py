"""The built-in plugins in chain order, drop-ins, and the chain of those that are enabled.

The order here is the order of the mutating and validating chains. Settings decide which plugins are enabled.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zope.interface import implementer
from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.server.admission.chain import AdmissionChain
from orchd.server.admission.interfaces import IAdmissionPlugin, IAdmissionPluginFactory, PluginContext
from orchd.server.admission.plugin import Plugin
from orchd.server.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from orchd.server.admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from orchd.server.admission.plugins.defaultclasses import DefaultIngressClass, DefaultStorageClass
from orchd.server.admission.plugins.defaulttolerationseconds import DefaultTolerationSeconds
from orchd.server.admission.plugins.denyexec import DenyEscalatingExec, DenyExecOnPrivileged
from orchd.server.admission.plugins.eventratelimit import EventRateLimit
from orchd.server.admission.plugins.externalips import DenyServiceExternalIPs
from orchd.server.admission.plugins.imagepolicy import ImagePolicyWebhook
from orchd.server.admission.plugins.limitranger import LimitRanger
from orchd.server.admission.plugins.namespaceexists import NamespaceAutoProvision, NamespaceExists
from orchd.server.admission.plugins.namespacelifecycle import NamespaceLifecycle
from orchd.server.admission.plugins.noderestriction import NodeRestriction
from orchd.server.admission.plugins.ownerreferences import OwnerReferencesPermissionEnforcement
from orchd.server.admission.plugins.persistentvolumelabel import PersistentVolumeLabel
from orchd.server.admission.plugins.podplacement import PodNodeSelector, PodTolerationRestriction
from orchd.server.admission.plugins.podpolicies import (
    AlwaysPullImages,
    ExtendedResourceToleration,
    LimitPodHardAntiAffinityTopology,
    SecurityContextDeny,
)
from orchd.server.admission.plugins.podsecurity import PodSecurity
from orchd.server.admission.plugins.podsecuritypolicy import PodSecurityPolicy
from orchd.server.admission.plugins.podtopologylabels import PodTopologyLabels
from orchd.server.admission.plugins.priority import Priority
from orchd.server.admission.plugins.pvcresize import PersistentVolumeClaimResize
from orchd.server.admission.plugins.resourcequota import ResourceQuota
from orchd.server.admission.plugins.runtimeclass import RuntimeClass
from orchd.server.admission.plugins.serviceaccount import ServiceAccount
from orchd.server.admission.plugins.storageobjectinuse import StorageObjectInUseProtection
from orchd.server.admission.plugins.taintnodes import TaintNodesByCondition
from orchd.server.admission.policies.plugin import ValidatingAdmissionPolicy
from orchd.server.admission.webhooks.mutating import MutatingAdmissionWebhook
from orchd.server.admission.webhooks.validating import ValidatingAdmissionWebhook
from orchd.txkit import dropins

#: In chain order, the order of `orchd.config.choices.ADMISSION_PLUGINS`.
_CLASSES: tuple[type[Plugin], ...] = (
    AlwaysAdmit,
    NamespaceAutoProvision,
    NamespaceLifecycle,
    NamespaceExists,
    SecurityContextDeny,
    LimitPodHardAntiAffinityTopology,
    LimitRanger,
    ServiceAccount,
    NodeRestriction,
    TaintNodesByCondition,
    AlwaysPullImages,
    ImagePolicyWebhook,
    PodSecurity,
    PodSecurityPolicy,
    PodNodeSelector,
    Priority,
    DefaultTolerationSeconds,
    PodTolerationRestriction,
    DenyEscalatingExec,
    DenyExecOnPrivileged,
    EventRateLimit,
    ExtendedResourceToleration,
    PersistentVolumeLabel,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    OwnerReferencesPermissionEnforcement,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    DenyServiceExternalIPs,
    PodTopologyLabels,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
    AlwaysDeny,
)


class PluginError(ValueError):
    """A plugin that cannot be made; `plugin` is its name."""

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(message)
        self.plugin = plugin


@implementer(IAdmissionPluginFactory)
@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The factory of a built-in plugin."""

    name: str
    help: str
    plugin: Callable[[PluginContext], Any]

    def make(self, context: PluginContext) -> Any:
        return self.plugin(context)


BUILT_INS: tuple[BuiltIn, ...] = tuple(BuiltIn(c.name, c.help, c) for c in _CLASSES)
#: Names of the built-in plugins in chain order.
NAMES = tuple(b.name for b in BUILT_INS)


def drop_ins() -> list[Any]:
    """Factories found in `orchd.plugins`, by name. Raises ValueError naming an invalid one."""
    factories = []
    for factory in dropins.drop_ins(IAdmissionPluginFactory, orchd.plugins):
        try:
            verifyObject(IAdmissionPluginFactory, factory)
        except Exception as error:
            # Any exception of a drop-in must name the drop-in.
            raise ValueError(f"admission plugin {factory!r} cannot be used: {error}") from error
        factories.append(factory)
    return sorted(factories, key=lambda f: str(f.name))


def make_chain(
    context: PluginContext,
    names: Iterable[str],
    *,
    configurations: Mapping[str, Mapping[str, Any] | None] | None = None,
    more: Sequence[Any] = (),
    measured: Iterable[object] = (),
) -> AdmissionChain:
    """The chain of the enabled plugins: built-in ones and drop-ins (`more`) called `names`, in the order of `names`.

    `measured` are objects with metrics that plugins share. `configurations` are the sections of
    --admission-control-config-file by plugin, None for an empty one. Raises PluginError for a section of an unknown
    plugin, suggesting the nearest name, and for an invalid configuration.
    """
    factories = {f.name: f for f in (*BUILT_INS, *more)}
    sections = configurations or {}
    for name in sections:
        if name not in factories:
            near = difflib.get_close_matches(name, factories, 1, 0.0)
            raise PluginError(name, f"unknown admission plugin {name!r}; the nearest is {near[0]!r}")
    plugins: list[IAdmissionPlugin] = []
    for name in names:
        try:
            plugin = factories[name].make(
                replace(context, settings=replace(context.settings, configuration=sections.get(name)))
            )
        except ValueError as error:
            message = str(error)
            raise PluginError(name, message if message.startswith(f"{name}: ") else f"{name}: {message}") from error
        verifyObject(IAdmissionPlugin, plugin)
        plugins.append(plugin)
    return AdmissionChain(plugins, measured=measured)

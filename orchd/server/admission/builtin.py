"""The built-in plugins in chain order, the default set, and selection by flags.

The order here is the order of the mutating and validating chains.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.plugin import getPlugins
from zope.interface import implementer
from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.server.admission.chain import AdmissionChain, Observe
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
from orchd.server.admission.plugins.priority import Priority
from orchd.server.admission.plugins.pvcresize import PersistentVolumeClaimResize
from orchd.server.admission.plugins.resourcequota import ResourceQuota
from orchd.server.admission.plugins.runtimeclass import RuntimeClass
from orchd.server.admission.plugins.serviceaccount import ServiceAccount
from orchd.server.admission.plugins.storageobjectinuse import StorageObjectInUseProtection
from orchd.server.admission.plugins.taintnodes import TaintNodesByCondition
from orchd.server.admission.webhooks.mutating import MutatingAdmissionWebhook
from orchd.server.admission.webhooks.validating import ValidatingAdmissionWebhook

#: Every plugin name of release 1.23, in chain order.
ORDER = (
    "AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists", "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology", "LimitRanger", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "AlwaysPullImages", "ImagePolicyWebhook", "PodSecurity", "PodSecurityPolicy", "PodNodeSelector", "Priority",
    "DefaultTolerationSeconds", "PodTolerationRestriction", "EventRateLimit", "ExtendedResourceToleration",
    "PersistentVolumeLabel", "DefaultStorageClass", "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval",
    "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass", "DenyServiceExternalIPs",
    "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ResourceQuota", "AlwaysDeny",
)

_DEFAULT = frozenset(
    (
        "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
        "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
        "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
        "CertificateSubjectRestriction", "DefaultIngressClass", "MutatingAdmissionWebhook",
        "ValidatingAdmissionWebhook", "ResourceQuota",
    )
)

_CLASSES: tuple[type[Plugin], ...] = (
    AlwaysAdmit, NamespaceAutoProvision, NamespaceLifecycle, NamespaceExists, SecurityContextDeny,
    LimitPodHardAntiAffinityTopology, LimitRanger, ServiceAccount, NodeRestriction, TaintNodesByCondition,
    AlwaysPullImages, ImagePolicyWebhook, PodSecurity, PodSecurityPolicy, PodNodeSelector, Priority,
    DefaultTolerationSeconds, PodTolerationRestriction, EventRateLimit, ExtendedResourceToleration,
    PersistentVolumeLabel, DefaultStorageClass, StorageObjectInUseProtection,
    OwnerReferencesPermissionEnforcement, PersistentVolumeClaimResize, RuntimeClass, CertificateApproval,
    CertificateSigning, CertificateSubjectRestriction, DefaultIngressClass, DenyServiceExternalIPs,
    MutatingAdmissionWebhook, ValidatingAdmissionWebhook, ResourceQuota, AlwaysDeny,
)


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
#: Names of the implemented plugins.
BUILT = tuple(b.name for b in BUILT_INS)
#: Names of the plugins that are enabled by default.
DEFAULT_ON = tuple(name for name in BUILT if name in _DEFAULT)


def drop_ins() -> list[Any]:
    """Factories found in `orchd.plugins`, by name. Raises ValueError naming an invalid one."""
    found = []
    for factory in getPlugins(IAdmissionPluginFactory, orchd.plugins):
        try:
            verifyObject(IAdmissionPluginFactory, factory)
        except Exception as error:
            # Any exception of a drop-in must name the drop-in.
            raise ValueError(f"admission plugin {factory!r} cannot be used: {error}") from error
        found.append(factory)
    return sorted(found, key=lambda f: str(f.name))


def choose(enable: Iterable[str], disable: Iterable[str], *, more: Sequence[Any] = ()) -> list[Any]:
    """The enabled factories in order: built-in ones, then drop-ins (`more`), which are enabled by name.

    `disable` overrides the default set; a name in both lists is an error. Raises ValueError for an unknown name
    (suggesting the nearest) or an unimplemented plugin.
    """
    wanted, unwanted = list(enable), list(disable)
    factories = {f.name: f for f in (*BUILT_INS, *more)}
    for flag, names in (("enable-admission-plugins", wanted), ("disable-admission-plugins", unwanted)):
        for name in names:
            _check_name(flag, name, factories)
    both = sorted(set(wanted) & set(unwanted))
    if both:
        raise ValueError(f"admission plugins both enabled and disabled: {', '.join(both)}")
    for name in wanted:
        if name not in factories:
            raise ValueError(f"--enable-admission-plugins: {name} is not built yet")
    on = (set(DEFAULT_ON) | set(wanted)) - set(unwanted)
    return [f for f in factories.values() if f.name in on]


def _check_name(flag: str, name: str, factories: Mapping[str, Any]) -> None:
    known = [*ORDER, *(n for n in factories if n not in ORDER)]
    if name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.0)
        raise ValueError(f"--{flag}: unknown admission plugin {name!r}; the nearest is {near[0]!r}")


def make_chain(
    context: PluginContext,
    *,
    enable: Iterable[str] = (),
    disable: Iterable[str] = (),
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
    more: Sequence[Any] = (),
    observe: Observe | None = None,
) -> AdmissionChain:
    """The chain that flags select. `configurations` are the sections of --admission-control-config-file by plugin.

    Raises ValueError as `choose` does, for a section of an unknown plugin, and for an invalid configuration.
    """
    sections = configurations or {}
    factories = choose(enable, disable, more=more)
    known = {f.name: f for f in (*BUILT_INS, *more)}
    for name in sections:
        _check_name("admission-control-config-file", name, known)
    plugins: list[IAdmissionPlugin] = []
    for factory in factories:
        plugin = factory.make(replace(context, configuration=sections.get(factory.name)))
        verifyObject(IAdmissionPlugin, plugin)
        plugins.append(plugin)
    return AdmissionChain(plugins, observe=observe)

"""The registry of one server: with admission, and without it for subresources that run admission themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchd.assembly.access import Access
from orchd.assembly.objects import Objects
from orchd.assembly.runtime import Runtime
from orchd.assembly.tracing import Traces
from orchd.client.interfaces import ResourceRef
from orchd.server.admission.chain import AdmissionChain
from orchd.server.authz.bootstrap_policy import RBAC_GROUP
from orchd.server.authz.escalation import EscalationCheck
from orchd.server.authz.parameters import ParameterCheck
from orchd.server.permission_guards import Checks, GuardedAdmission, escalation_checks, parameter_checks
from orchd.server.pipeline.verbs.subresources.foreign import NoAdmission
from orchd.server.registry.interfaces import IAddressRecords, IStrategy
from orchd.server.registry.registry import Registry
from orchd.server.registry.strategies.table import Strategies
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.metrics.instruments import Instrument, instruments_of

#: The version of policies, whose writers must be allowed to read their parameters.
POLICIES: Final = "admissionregistration.{abbr}.io/v1"


class Registries:
    """`reviewed` runs admission on every write. `unreviewed` is for subresources whose body is of another kind and
    whose verbs run admission on that kind."""

    def __init__(
        self,
        runtime: Runtime,
        objects: Objects,
        admission: AdmissionChain,
        access: Access,
        traces: Traces,
        records: IAddressRecords | None,
    ) -> None:
        """`records` are those of cluster IPs; None: the flag has their ranges."""
        compute = ComputeThread(runtime.in_thread)
        authorization = access.authorization
        mutated: Checks = {}
        validated: Checks = {}
        if authorization.rbac is not None:
            check = EscalationCheck(
                runtime.dialect,
                authorization.rbac,
                authorization.union.authorize,
                names_bindings=runtime.settings.release.includes("1.24"),
                compute=compute,
            )
            mutated = escalation_checks(check, runtime.dialect(RBAC_GROUP))
        policies = objects.store.catalog().kind(runtime.dialect(POLICIES), "ValidatingAdmissionPolicy")
        if policies is not None:
            followed = objects.informers.informer(ResourceRef(policies.group, policies.version, policies.plural))
            parameters = ParameterCheck(
                authorization.union.authorize, objects.store.catalog, lambda name: followed.get("", name)
            )
            validated = parameter_checks(parameters, policies.group)
        guarded = traces.admission(GuardedAdmission(admission, mutated=mutated, validated=validated))
        event_ttl = int(runtime.settings.storage.event_ttl)
        self.strategies = Strategies(
            objects.store,
            clock=runtime.reactor,
            random=runtime.random,
            event_ttl=event_ttl,
            records=records,
            compute=compute,
        )
        self.unreviewed = Registry(objects.store, self.strategies, objects.naming, NoAdmission(), compute=compute)
        self.reviewed = Registry(objects.store, self.strategies, objects.naming, guarded, compute=compute)
        self._catalog = objects.store.catalog
        self._measured = [
            ("", "v1", "services"),
            (runtime.dialect("certificates.{abbr}.io"), "v1", "certificatesigningrequests"),
        ]

    @property
    def instruments(self) -> Iterator[Instrument]:
        """The metrics of strategies."""
        return instruments_of(self._owners())

    def _owners(self) -> Iterator[IStrategy]:
        """The strategies that have metrics, of resources that are served."""
        for key in self._measured:
            resource = self._catalog().resource(*key)
            if resource is not None:
                yield self.strategies(resource)

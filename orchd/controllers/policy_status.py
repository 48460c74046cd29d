"""Status of admission policies: warnings about expressions that do not fit the types of the objects that a policy is
about."""

from __future__ import annotations

from typing import Any, Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import APPLY
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import VersionEntry
from orchd.kinds.expressions.typechecking import TypeChecker
from orchd.txkit.compute_thread import LARGE

_GROUP: Final = "admissionregistration.{abbr}.io"
#: The resource, with a template for its group.
POLICIES: Final = ResourceRef(_GROUP, "v1", "validatingadmissionpolicies")


class PolicyStatusController(Controller):
    """Checks each generation of a policy once."""

    name = "validatingadmissionpolicy-status-controller"
    account = "validatingadmissionpolicy-status-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_validating_admission_policy_status_syncs)
        self._group = env.dialect(_GROUP)
        self._ref = ResourceRef(self._group, "v1", POLICIES.plural)
        self._policies = self.follow(self._ref, primary=True)

    async def reconcile(self, key: Key) -> float | None:
        policy = self._policies.get("", key[1])
        if policy is None:
            return None
        generation, status = fields.generation(policy), fields.status(policy)
        if generation <= (status.get("observedGeneration") or 0):
            return None
        checker = TypeChecker(self.env.catalog(), _has_schema)
        # Kinds have thousands of fields, whatever the size of the policy.
        warnings = await self.env.compute(LARGE + 1, checker.warnings, policy)
        checking: dict[str, Any] = {"typeChecking": {"expressionWarnings": warnings} if warnings else {}}
        if not warnings and (status.get("typeChecking") or {}).get("expressionWarnings"):
            # As in the reference, where the object goes with its warnings.
            checking = {}
        desired = {
            "apiVersion": f"{self._group}/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": key[1]},
            "status": {"observedGeneration": generation, **checking},
        }
        await self.client.patch(
            self._ref,
            "",
            key[1],
            desired,
            content_type=APPLY,
            subresource="status",
            field_manager=self.account,
            force=True,
        )
        return None


def _has_schema(resource: Resource) -> bool:
    """False in a process that does not know definitions."""
    return isinstance(resource.definition, VersionEntry)

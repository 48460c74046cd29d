"""The policies that have bindings, compiled once per change of their spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import ObjectView
from orchd.server.admission.expressions.evaluation import compiling_size
from orchd.server.admission.interfaces import Review
from orchd.server.admission.policies.decisions import Program, compile_policy, size_of
from orchd.server.admission.policies.matching import MatchResources
from orchd.txkit.compute_thread import ComputeThread

#: Maximum number of remembered choices.
_MOST_CHOICES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binding:
    """A binding of a policy. `match` is None if it is about all writes that the policy is about."""

    name: str
    spec: ObjectView
    match: MatchResources | None


class Policy:
    """A policy with its bindings. Its expressions are compiled when a write first matches."""

    def __init__(self, name: str, spec: ObjectView, bindings: tuple[Binding, ...]) -> None:
        self.name = name
        self.spec = spec
        self.bindings = bindings
        self.match = MatchResources.of(spec.get("matchConstraints") or {})
        self._program: Program | None = None

    @property
    def ignores(self) -> bool:
        """True if errors are ignored."""
        return self.spec.get("failurePolicy") == "Ignore"

    async def program(self, dialect: Dialect, compute: ComputeThread) -> Program:
        """The compiled expressions."""
        if self._program is None:
            size = compiling_size(size_of(self.spec))
            self._program = await compute(size, compile_policy, self.spec, dialect)
        return self._program

    def rebound(self, bindings: tuple[Binding, ...]) -> Policy:
        """The same policy with other bindings."""
        policy = Policy(self.name, self.spec, bindings)
        policy._program = self._program
        return policy


class Policies:
    """The policies that have bindings, by name, and which of them may be about a kind of write."""

    def __init__(self) -> None:
        self._policies: list[Policy] = []
        self._choices: dict[Any, list[Policy]] = {}

    def __bool__(self) -> bool:
        return bool(self._policies)

    def __iter__(self) -> Any:
        return iter(self._policies)

    def replace(self, policies: Iterable[ObjectView], bindings: Iterable[ObjectView]) -> None:
        """Take over all policies and bindings. Policies whose spec did not change stay compiled."""
        by_policy: dict[str, list[Binding]] = {}
        for binding in sorted(bindings, key=_name):
            by_policy.setdefault(fields.spec(binding).get("policyName") or "", []).append(_binding(binding))
        by_name = {policy.name: policy for policy in self._policies}
        self._policies = []
        for obj in sorted(policies, key=_name):
            name, spec = _name(obj), fields.spec(obj)
            bound = tuple(by_policy.get(name, ()))
            if not bound:
                continue
            before = by_name.get(name)
            same = before is not None and before.spec == spec
            self._policies.append(before.rebound(bound) if before and same else Policy(name, spec, bound))
        self._choices.clear()

    def about(self, review: Review, catalog: Catalog) -> list[Policy]:
        """The policies that may be about a write."""
        key = (review.operation, review.resource, review.subresource, catalog)
        choice = self._choices.get(key)
        if choice is None:
            if len(self._choices) >= _MOST_CHOICES:
                self._choices.clear()
            choice = self._choices[key] = [
                policy
                for policy in self._policies
                if policy.match.may_concern(review.operation, review.resource, review.subresource, catalog)
            ]
        return choice


def _name(obj: ObjectView) -> str:
    return str(obj["metadata"]["name"])


def _binding(obj: ObjectView) -> Binding:
    spec = fields.spec(obj)
    match = spec.get("matchResources")
    return Binding(name=_name(obj), spec=spec, match=None if match is None else MatchResources.of(match))

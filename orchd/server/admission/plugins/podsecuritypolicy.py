"""PodSecurityPolicy: a pod needs a policy that its creator or its service account may use; the policy sets defaults.

Policies are tried by name; those that admit the pod unchanged before those that must change it. Only creations may be
changed.
"""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.kinds.fields import annotations_of, metadata, spec, with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User, service_account
from orchd.server.admission.interfaces import CREATE, UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.plugins.podsecuritypolicies.provider import Provider
from orchd.server.authz.interfaces import Action, Decision

#: Members of metadata that the garbage collector changes.
_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "selfLink")


@implementer(IMutatingPlugin, IValidatingPlugin)
class PodSecurityPolicy(Plugin):
    name = "PodSecurityPolicy"
    help = (
        "Requires a pod security policy that the creator or service account of a pod may use, and applies its defaults."
    )
    resources = ("pods",)
    informers = (("policy", "v1beta1", "podsecuritypolicies"),)

    def setup(self) -> None:
        self._annotation = self.dialect("{long}.io/psp")
        self._audit = self.dialect("podsecuritypolicy.policy.{abbr}.io/")

    async def admit(self, review: Review) -> None:
        pod = review.written
        if review.operation != CREATE:
            return
        allowed, policy, wrong = await self._decide(review, pod, change=True)
        if allowed is None:
            raise refuse(review, f"PodSecurityPolicy: unable to admit pod: [{' '.join(wrong)}]")
        review.object = with_metadata(allowed, annotations={**annotations_of(allowed), self._annotation: policy})
        review.annotate(self._audit + "admit-policy", policy)

    async def validate(self, review: Review) -> None:
        pod = review.written
        if review.operation == UPDATE and _changed_by_collector_only(pod, review.old_object or {}):
            return
        allowed, policy, wrong = await self._decide(review, pod, change=False)
        if allowed is None:
            raise refuse(review, f"PodSecurityPolicy: unable to validate pod: [{' '.join(wrong)}]")
        review.annotate(self._audit + "validate-policy", policy)

    async def _decide(self, review: Review, pod: Object, *, change: bool) -> tuple[Object | None, str, list[str]]:
        """The defaulted pod and the admitting policy's name; or None and the violations of all usable policies."""
        await self.wait_ready(review)
        # Try the policy that admitted the pod first.
        hint = None if change else annotations_of(pod).get(self._annotation)
        providers = self._providers(hint)
        if not providers:
            raise refuse(review, "PodSecurityPolicy: no providers available to validate pod request")
        first: tuple[Object, str] | None = None
        wrong: dict[str, list[str]] = {}
        for provider in providers:
            defaulted = provider.with_defaults(pod)
            findings = provider.findings(defaulted)
            if findings:
                wrong[provider.name] = findings
                continue
            changed = defaulted != pod
            if (changed and not change) or not await self._may_use(review, pod, provider.name):
                continue
            if not changed:
                return pod, provider.name, []
            first = first or (defaulted, provider.name)
        if first is not None:
            return *first, []
        texts_ = [text for name, texts in wrong.items() if await self._may_use(review, pod, name) for text in texts]
        return None, "", texts_

    def _providers(self, hint: str | None) -> list[Provider]:
        policies: list[Any] = sorted(
            self.informer("podsecuritypolicies").list(),
            key=lambda p: (p["metadata"]["name"] != hint, p["metadata"]["name"]),
        )
        providers = []
        for policy in policies:
            try:
                providers.append(Provider(policy, self.dialect))
            except ValueError:
                # Skip an invalid policy: it admits no pods and reports no violations.
                continue
        return providers

    async def _may_use(self, review: Review, pod: Object, policy: str) -> bool:
        account = spec(pod).get("serviceAccountName")
        users: list[User] = [service_account(review.namespace, account)] if account else []
        for user in (*users, review.user):
            for group in ("policy", "extensions"):
                action = Action(
                    user=user,
                    verb="use",
                    group=group,
                    version="*",
                    resource="podsecuritypolicies",
                    namespace=review.namespace,
                    name=policy,
                )
                if (await self.context.authorize(action)).decision is Decision.ALLOW:
                    return True
        return False


def _changed_by_collector_only(pod: Object, old: Object) -> bool:
    """True if the update changes only fields that the garbage collector changes."""
    return _rest(pod) == _rest(old)


def _rest(pod: Object) -> Object:
    return {**pod, "metadata": {k: v for k, v in metadata(pod).items() if k not in _COLLECTED}}

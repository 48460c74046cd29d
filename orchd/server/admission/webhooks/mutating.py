"""MutatingAdmissionWebhook: webhooks one after the other, each seeing what those before it made of the object.

When one changes the object, the mutating chain runs once more, and with it those webhooks that asked for it
(specification, "Reinvocation policy").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import orjson
from zope.interface import implementer

from orchd import errors
from orchd.errors import ApiError, quoted
from orchd.kinds.objects import convert, shape
from orchd.kinds.patch import json_patch
from orchd.server.admission.interfaces import PATCH_ANNOTATION, IMutatingPlugin, Review
from orchd.server.admission.webhooks.identity import same_kind
from orchd.server.admission.webhooks.matching import Call
from orchd.server.admission.webhooks.plugin import GROUP, FailedCallError, WebhookPlugin
from orchd.server.admission.webhooks.reviews import Verdict

Object = dict[str, Any]


@dataclass(slots=True)
class Rounds:
    """What is remembered from one run of the chain to the next, for one write. Webhooks are named by uid."""

    #: Called already and willing to be called again.
    willing: set[str] = field(default_factory=set)
    #: To be called again, as a later one changed the object.
    again: set[str] = field(default_factory=set)
    #: The object as the webhooks left it.
    left: Object | None = None

    def changed(self) -> None:
        self.again |= self.willing
        self.willing.clear()


@implementer(IMutatingPlugin)
class MutatingAdmissionWebhook(WebhookPlugin):
    """Asks the webhooks of MutatingWebhookConfigurations."""

    name = "MutatingAdmissionWebhook"
    help = "Lets webhooks, configured by MutatingWebhookConfigurations, change or refuse a write."
    informers = ((GROUP, "v1", "mutatingwebhookconfigurations"), ("", "v1", "namespaces"))
    kind = "admit"
    mutating = True

    async def admit(self, review: Review) -> None:
        calls = await self.calls(review)
        if not calls:
            return
        rounds = review.rounds
        if rounds is None:
            rounds = review.rounds = Rounds()
        if review.reinvocation and review.object != rounds.left:
            # Built-in plugins have changed the object since.
            rounds.changed()
        for index, call in enumerate(calls):
            if not await self.selected(call, review):
                continue
            uid = call.hook.uid
            if review.reinvocation and uid not in rounds.again:
                continue
            if await self._called(call, review, index):
                rounds.changed()
                review.reinvoke = True
            if call.hook.reinvoked:
                rounds.willing.add(uid)
        rounds.left = review.object

    async def _called(self, call: Call, review: Review, index: int) -> bool:
        """Has the webhook changed the object? Audit annotations tell by its place what it did."""
        turn = f"round_{int(review.reinvocation)}_index_{index}"
        began = perf_counter()
        error: Exception | None = None
        changed = False
        try:
            verdict = await self.ask(call, review)
            changed = await self._patched(call, review, verdict, turn)
        except FailedCallError as failed:
            error = failed
            if not failed.ignored:
                raise self.refusal(failed, review) from failed
            review.annotate(self.dialect("failed-open.mutation.webhook.admission.{abbr}.io/") + turn, call.hook.name)
        except ApiError as denied:
            error = denied
            raise
        finally:
            self.measured(call, review, began, error)
            said = _named(call) + f',"mutated":{str(changed).lower()}}}'
            review.annotate(self.dialect("mutation.webhook.admission.{abbr}.io/") + turn, said)
        return changed

    async def _patched(self, call: Call, review: Review, verdict: Verdict, turn: str) -> bool:
        """Apply a webhook's patch; has it changed anything? Raises ApiError and FailedCallError."""
        if not verdict.patch:
            return False
        try:
            operations = json_patch.parse(verdict.patch)
        except ApiError as error:
            raise errors.internal(error.message) from None
        if not operations:
            return False
        if review.object is None:
            raise errors.internal(
                f"admission webhook {quoted(call.hook.name)} attempted to modify the object, which is not supported for "
                "this operation"
            )
        if verdict.patch_type != "JSONPatch":
            raise FailedCallError(call.hook, f"unsupported patch type {quoted(verdict.patch_type)}")
        before = await self.shown(call, review, review.object)
        try:
            after = json_patch.edited(before, operations)
        except json_patch.FailedError as error:
            raise errors.internal(str(error)) from None
        changed = await self._settled(call, review, after)
        said = f'{_named(call)},"patch":{_written(operations)},"patchType":"JSONPatch"}}'
        review.annotate(self.dialect(PATCH_ANNOTATION) + turn, said)
        if changed == review.object:
            return False
        review.object = changed
        return True

    async def _settled(self, call: Call, review: Review, patched: Any) -> Object:
        """A patched object in the version that the chain works with, with its shape and defaults."""
        assert self.context.catalog is not None
        named = same_kind(patched, review, call.resource, self.context.catalog())
        if review.kind is not None:
            # Another kind than the resource's: who takes it gives it its shape.
            return named
        try:
            shaped = shape.canonical(named, call.resource.type)
        except shape.ShapeError as error:
            raise errors.internal(str(error)) from None
        # The version that the chain works with is that of the object it was given.
        worked_on = (review.object or {}).get("apiVersion") or review.resource.api_version
        if review.resource.converter is not None:
            # Such objects are worked on in the version that was asked for.
            return self.context.settle(review.resource, await self.in_version(review.resource, shaped))
        return self.context.settle(review.resource, convert.convert(shaped, worked_on, self.context.catalog()))


def _named(call: Call) -> str:
    """The beginning of an annotation about a webhook."""
    return f'{{"configuration":{quoted(call.hook.configuration)},"webhook":{quoted(call.hook.name)}'


def _written(operations: list[dict[str, Any]]) -> str:
    return orjson.dumps([dict(sorted(operation.items())) for operation in operations]).decode()

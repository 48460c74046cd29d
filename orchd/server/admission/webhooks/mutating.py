"""MutatingAdmissionWebhook: calls webhooks in series, each with the object as changed by the previous ones.

After a change the mutating chain runs again, including the webhooks with reinvocation policy IfNeeded
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
from orchd.kinds import bounds, nested
from orchd.kinds.codec import json_
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert, shape
from orchd.kinds.patch import json_patch
from orchd.server.admission.interfaces import PATCH_ANNOTATION, IMutatingPlugin, Review
from orchd.server.admission.selection import in_version
from orchd.server.admission.webhooks.matching import Call
from orchd.server.admission.webhooks.patched_kind import same_kind
from orchd.server.admission.webhooks.plugin import GROUP, FailedCallError, WebhookPlugin
from orchd.server.admission.webhooks.reviews import Verdict


@dataclass(slots=True)
class Rounds:
    """Reinvocation state of one write. Webhooks are identified by uid."""

    #: Called before, with policy IfNeeded.
    willing: set[str] = field(default_factory=set)
    #: To be reinvoked, since a later webhook changed the object.
    again: set[str] = field(default_factory=set)
    #: The object after the last webhook.
    left: Object | None = None

    def changed(self) -> None:
        self.again |= self.willing
        self.willing.clear()


@implementer(IMutatingPlugin)
class MutatingAdmissionWebhook(WebhookPlugin):
    """Calls the webhooks of MutatingWebhookConfigurations."""

    name = "MutatingAdmissionWebhook"
    help = "Calls webhooks configured by MutatingWebhookConfigurations to change or reject a write."
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
        began = perf_counter()
        try:
            await self._call_all(calls, review, rounds)
        finally:
            review.webhook_time(perf_counter() - began)

    async def _call_all(self, calls: list[Call], review: Review, rounds: Rounds) -> None:
        if review.reinvocation and review.object != rounds.left:
            # Built-in plugins have changed the object since.
            rounds.changed()
        for index, call in enumerate(calls):
            if not await self.matches(call, review):
                continue
            uid = call.hook.uid
            if review.reinvocation and uid not in rounds.again:
                continue
            if await self._call(call, review, index):
                rounds.changed()
                review.reinvoke = True
            if call.hook.reinvoked:
                rounds.willing.add(uid)
        rounds.left = review.object

    async def _call(self, call: Call, review: Review, index: int) -> bool:
        """Call one webhook; True if it changed the object. Audit annotations identify it by its position."""
        turn = f"round_{int(review.reinvocation)}_index_{index}"
        began = perf_counter()
        error: Exception | None = None
        changed = False
        try:
            verdict = await self.ask(call, review)
            changed = await self._apply_patch(call, review, verdict, turn)
        except FailedCallError as failed:
            error = failed
            if not failed.ignored:
                raise self.refusal(failed, review) from failed
            review.annotate(self.dialect("failed-open.mutation.webhook.admission.{abbr}.io/") + turn, call.hook.name)
        except ApiError as denied:
            error = denied
            raise
        finally:
            self.observe_call(call, review, began, error)
            note = _annotation_prefix(call) + f',"mutated":{str(changed).lower()}}}'
            review.annotate(self.dialect("mutation.webhook.admission.{abbr}.io/") + turn, note)
        return changed

    async def _apply_patch(self, call: Call, review: Review, verdict: Verdict, turn: str) -> bool:
        """Apply a webhook's patch; True if it changed anything. Raises ApiError and FailedCallError."""
        if not verdict.patch:
            return False
        compute = self.context.runtime.compute
        try:
            operations = await compute(len(verdict.patch), json_patch.parse, verdict.patch)
        except ApiError as error:
            raise errors.internal(error.message) from None
        if not operations:
            return False
        if review.object is None:
            raise errors.internal(
                f"admission webhook {quoted(call.hook.name)} attempted to modify the object, which is not "
                "supported for this operation"
            )
        if verdict.patch_type != "JSONPatch":
            raise FailedCallError(call.hook, f"unsupported patch type {quoted(verdict.patch_type)}")
        before = await self.to_webhook_version(call, review, review.object)
        after, text = await compute(len(verdict.patch), _patch, before, operations, verdict.patch)
        changed = await self._canonicalize(call, review, after)
        note = f'{_annotation_prefix(call)},"patch":{text},"patchType":"JSONPatch"}}'
        review.annotate(self.dialect(PATCH_ANNOTATION) + turn, note)
        if changed == review.object:
            return False
        review.object = changed
        return True

    async def _canonicalize(self, call: Call, review: Review, patched: Any) -> Object:
        """A patched object in the version of the chain, with its shape and defaults."""
        named = same_kind(patched, review, call.resource, self.context.api.catalog())
        if review.kind is not None:
            # A kind other than the resource's: the endpoint that accepts it defaults it.
            return named
        try:
            shaped = shape.canonical(named, call.resource.type)
        except shape.ShapeError as error:
            raise errors.internal(str(error)) from None
        # The version of the chain is that of the object it was given.
        working_version = (review.object or {}).get("apiVersion") or review.resource.api_version
        if review.resource.converter is not None:
            # Objects with a conversion webhook are processed in the requested version.
            return self.services.to_working(review.resource, await in_version(self.context, review.resource, shaped))
        return self.services.to_working(
            review.resource, convert.convert(shaped, working_version, self.context.api.catalog())
        )


def _annotation_prefix(call: Call) -> str:
    """The key prefix of an annotation about a webhook."""
    return f'{{"configuration":{quoted(call.hook.configuration)},"webhook":{quoted(call.hook.name)}'


def _patch(obj: Object, operations: list[dict[str, Any]], patch: bytes) -> tuple[Any, str]:
    """The object after the operations, of which `patch` is the text; and the operations as an annotation has them.
    Raises ApiError."""
    try:
        after = json_patch.apply_operations(obj, operations)
    except json_patch.FailedError as error:
        raise errors.internal(str(error)) from None
    why = nested.out_of_range(after) if json_.may_be_out_of_range(patch) else ""
    if why:
        raise errors.internal(why)
    bounds.check_object(after)
    return after, _format_patch(operations)


def _format_patch(operations: list[dict[str, Any]]) -> str:
    return orjson.dumps([dict(sorted(operation.items())) for operation in operations]).decode()

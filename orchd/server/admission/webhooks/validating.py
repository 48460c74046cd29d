"""ValidatingAdmissionWebhook: calls all webhooks concurrently; the first rejection in their order is the result."""

from __future__ import annotations

from time import perf_counter

from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.server.admission.interfaces import IValidatingPlugin, Review
from orchd.server.admission.webhooks.matching import Call
from orchd.server.admission.webhooks.plugin import GROUP, FailedCallError, WebhookPlugin


@implementer(IValidatingPlugin)
class ValidatingAdmissionWebhook(WebhookPlugin):
    """Calls the webhooks of ValidatingWebhookConfigurations."""

    name = "ValidatingAdmissionWebhook"
    help = "Calls webhooks configured by ValidatingWebhookConfigurations to allow or reject a write."
    informers = ((GROUP, "v1", "validatingwebhookconfigurations"), ("", "v1", "namespaces"))
    kind = "validating"

    async def validate(self, review: Review) -> None:
        calls = [call for call in await self.calls(review) if await self.matches(call, review)]
        if not calls:
            return
        began = perf_counter()
        asked: list[Deferred[ApiError | None]] = []
        # On cancellation (the request's deadline) cancel the pending calls.
        try:
            for index, call in enumerate(calls):
                await self.turn()
                asked.append(Deferred.fromCoroutine(self._refusal(call, review, index)))
            refusals = await gatherResults(asked, consumeErrors=True)
        except FirstError as error:
            error.subFailure.raiseException()
        except CancelledError:
            for one in asked:
                one.addErrback(lambda _: None)
                one.cancel()
            raise
        finally:
            review.webhook_time(perf_counter() - began)
        for refusal in refusals:
            if refusal is not None:
                raise refusal

    async def _refusal(self, call: Call, review: Review, index: int) -> ApiError | None:
        """The rejection of the webhook at `index`, None if it allowed the write."""
        began = perf_counter()
        error: Exception | None = None
        try:
            await self.ask(call, review)
        except FailedCallError as failed:
            error = failed
            if not failed.ignored:
                return self.refusal(failed, review)
            place = self.dialect("failed-open.validating.webhook.admission.{abbr}.io/round_0_index_") + str(index)
            review.annotate(place, call.hook.name)
            return None
        except ApiError as denied:
            error = denied
            return denied
        finally:
            self.observe_call(call, review, began, error)
        return None

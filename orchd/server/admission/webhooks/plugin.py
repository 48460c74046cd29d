"""Common part of both webhook plugins: configurations, matching, and calls with failure policies."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from orchd import errors
from orchd.errors import ApiError, quoted
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.expressions.admission import Compiler
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.jsonvalues import Object
from orchd.pki import clientconfig
from orchd.server.admission.expressions.conditions import compile_conditions, judge
from orchd.server.admission.expressions.evaluation import Evaluator, compiling_size
from orchd.server.admission.expressions.questions import asking
from orchd.server.admission.expressions.views import view_of
from orchd.server.admission.interfaces import CONNECT, CREATE, DELETE, UPDATE, Review, WebhookServices
from orchd.server.admission.metrics import CALL_FAILED
from orchd.server.admission.plugin import Plugin
from orchd.server.admission.selection import Namespaces, in_version, objects_match
from orchd.server.admission.webhooks import matching, reviews
from orchd.server.admission.webhooks.matching import Call, Hook
from orchd.server.outbound.webhooks import NO_CREDENTIALS, Credentials, WebhookError
from orchd.txkit.tracing import traced

#: Control characters, which a header cannot carry.
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

GROUP = "admissionregistration.{abbr}.io"
#: The ends of names of resources of the group whose writes no webhook sees.
_EXEMPT = ("webhookconfigurations", "admissionpolicies", "admissionpolicybindings")
#: Maximum number of cached matches.
_MOST_MATCHES = 4096


class FailedCallError(Exception):
    """A webhook call failed; its failure policy ignores that if `ignored`, otherwise the write is rejected."""

    def __init__(self, hook: Hook, text: str, *, code: int = 0) -> None:
        super().__init__(f"failed calling webhook {quoted(hook.name)}: {text}")
        self.code = code
        self.ignored = hook.ignores_failure


class WebhookPlugin(Plugin):
    """Base class of the two plugins. `kind` labels metrics."""

    operations = (CREATE, UPDATE, DELETE, CONNECT)
    kind = ""
    mutating = False

    def setup(self) -> None:
        self._credentials = _credentials(self)
        #: The webhooks by configuration, and those of all configurations, by name, until one changes.
        self._by_configuration: dict[str, list[Hook]] = {}
        self._hooks: list[Hook] | None = None
        self._unstored = fields.unstored_metadata(self.context.settings.release)
        self._matches: dict[Any, list[Call]] = {}
        #: Compiled match conditions by webhook.
        self._conditions: dict[str, tuple[Expression, ...]] = {}
        self._namespaces = Namespaces(self.context, self.informer("namespaces"))
        self._configurations = self.informer(self.informers[0][2])
        self._configurations.add_listener(self._changed)

    @property
    def services(self) -> WebhookServices:
        """The collaborators; only used once `calls` has returned webhooks."""
        assert self.context.outbound.webhooks is not None
        return self.context.outbound.webhooks

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._by_configuration.pop(old["metadata"]["name"], None)
        elif old is None or old.get("webhooks") != new.get("webhooks"):
            # There may be thousands.
            self._by_configuration[new["metadata"]["name"]] = matching.hooks_of(new)
        else:
            return
        self._hooks = None
        self._matches.clear()
        # Not cleared: a compilation that is under way keeps its result in the old one.
        self._conditions = {}

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        """Webhook configurations and policies themselves are exempt, so that broken ones can be repaired."""
        return resource.group != self.dialect(GROUP) or not resource.plural.endswith(_EXEMPT)

    async def calls(self, review: Review) -> list[Call]:
        """The webhooks whose rules match a write. Raises ApiError 403 before configurations are synced."""
        if self.context.outbound.webhooks is None:
            return []
        if not self._configurations.synced:
            if not self._may_call(review):
                return []
            await self.wait_ready(review)
        if self._hooks is None:
            self._hooks = [hook for _, hooks in sorted(self._by_configuration.items()) for hook in hooks]
        if not self._hooks or not self._may_call(review):
            return []
        namespaced = bool(review.namespace)
        catalog = self.context.api.catalog()
        # Another catalog may have other equivalent versions.
        key = (review.operation, review.resource, review.subresource, namespaced, catalog)
        calls = self._matches.get(key)
        if calls is None:
            if len(self._matches) >= _MOST_MATCHES:
                self._matches.clear()
            calls = self._matches[key] = matching.calls_for(
                self._hooks,
                review.operation,
                review.resource,
                review.subresource,
                namespaced=namespaced,
                catalog=catalog,
            )
        return calls

    def _may_call(self, review: Review) -> bool:
        """False for the server's own writes during bootstrap: webhooks may depend on their completion."""
        return self.services.serving() or review.user.name != "system:apiserver"

    async def matches(self, call: Call, review: Review) -> bool:
        """True if the selectors and conditions of a webhook match this write. Raises ApiError 404 for a missing
        namespace, 403 for an error of a condition."""
        # There may be thousands of webhooks.
        await self.turn()
        hook = call.hook
        if not await self._namespaces.match(hook.namespaces, review) or not objects_match(hook.objects, review):
            return False
        return not hook.conditions or await self._conditions_hold(call, review)

    async def _conditions_hold(self, call: Call, review: Review) -> bool:
        hook, began = call.hook, perf_counter()
        compiled, compute = self._conditions, self.context.runtime.compute
        conditions = compiled.get(hook.uid)
        if conditions is None:
            size = sum(len(each.get("expression") or "") for each in hook.conditions)
            conditions = await compute(
                compiling_size(size), compile_conditions, hook.conditions, Compiler(self.dialect)
            )
            compiled[hook.uid] = conditions
        view = await view_of(self.context, review, call.resource, None)
        evaluator = Evaluator(asking(self.context.authorize, review.user), compute, size=review.size)
        match = await evaluator.run(lambda run: judge(conditions, run, view))
        if not match.matches:
            excluded = not match.error or hook.ignores_failure
            labels = (hook.name, "webhook", self.kind, review.operation)
            self.context.observe_conditions(match.errors, perf_counter() - began, excluded, labels)
        if match.error and not hook.ignores_failure:
            resource = review.resource
            raise errors.forbidden(resource.group, resource.plural, review.name, match.error)
        return match.matches

    async def ask(self, call: Call, review: Review) -> reviews.Verdict:
        """Call a webhook; add its warnings and annotations, and raise its denial (ApiError).

        Raises FailedCallError."""
        hook = call.hook
        if review.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
            raise errors.bad_request(f"admission webhook {quoted(hook.name)} does not support dry run")
        version = reviews.version_for(hook.versions)
        if not version:
            raise FailedCallError(
                hook,
                f"webhook does not accept known AdmissionReview versions ({', '.join(reviews.SUPPORTED_VERSIONS)})",
            )
        uid = self.services.uid()
        document = reviews.build_review(
            review,
            call.resource,
            await self.to_webhook_version(call, review, review.object),
            await self.to_webhook_version(call, review, review.old_object),
            uid=uid,
            version=version,
            dialect=self.dialect,
        )
        try:
            with traced(
                f"Call {'mutating' if self.mutating else 'validating'} webhook", {"webhook": hook.name, "uid": uid}
            ):
                document_ = await self.services.client.post(hook.where, document, hook.seconds, self._credentials)
            parse = partial(
                reviews.parse_response, uid=uid, version=version, mutating=self.mutating, dialect=self.dialect
            )
            verdict = await self.context.runtime.compute(reviews.patch_size(document_), parse, document_)
        except WebhookError as error:
            raise FailedCallError(hook, f"failed to call webhook: {error}", code=error.code) from error
        except reviews.BadReviewError as error:
            raise FailedCallError(hook, str(error)) from error
        for key, value in verdict.annotations.items():
            review.annotate(f"{hook.name}/{key}", value)
        for text in verdict.warnings:
            # Warnings that a header cannot carry are dropped, as in the reference.
            if text and _CONTROLS.search(text) is None:
                review.warn(text)
        if not verdict.allowed:
            raise reviews.denial(hook.name, verdict.status)
        return verdict

    async def to_webhook_version(self, call: Call, review: Review, obj: dict[str, Any] | None) -> dict[str, Any] | None:
        """Convert an object to the version in the webhook's rule."""
        if obj is None:
            return None
        if review.kind is None:
            obj = await in_version(self.context, call.resource, obj)
        metadata = obj.get("metadata")
        if (
            self._unstored
            and metadata is not None
            and "creationTimestamp" not in metadata
            and not review.resource.custom
        ):
            # Typed objects always have this member.
            obj = {**obj, "metadata": {**metadata, **self._unstored}}
        return obj

    def observe_call(self, call: Call, review: Review, began: float, error: Exception | None) -> None:
        """Observe the metrics of one call."""
        what, code, rejected = "no_error", 0, error is not None
        if isinstance(error, FailedCallError):
            what, code, rejected = CALL_FAILED, error.code, not error.ignored
        elif isinstance(error, ApiError):
            code = error.code
            if error.reason == "InternalError":
                what = "apiserver_internal_error"
        self.services.observe(call.hook.name, self.kind, review.operation, perf_counter() - began, rejected, what, code)

    def refusal(self, error: FailedCallError, review: Review) -> ApiError:
        """The 500 for a webhook whose call failed."""
        return errors.internal(str(error))


def _credentials(plugin: WebhookPlugin) -> Credentials:
    """Credentials from the plugin's section of --admission-control-config-file. Raises ValueError."""
    if plugin.context.settings.configuration is None:
        return NO_CREDENTIALS
    key = plugin.dialect("{short}ConfigFile")
    path = Path(plugin.context.settings.configuration[key])
    if not path.is_absolute():
        raise ValueError(f'{key}: Invalid value: "{path}": must be an absolute file path')
    try:
        text = path.read_text(encoding="utf-8")
        clientconfig.check_names(text)
        return Credentials(clientconfig.users(text, folder=path.parent))
    except (OSError, ValueError) as error:
        raise ValueError(f"{key}: {path}: {error}") from None

"""serviceaccounts/token: the TokenRequest API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from orchd import errors
from orchd.errors import ApiError, Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.release import Release
from orchd.kinds.times import timestamp
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.subresources.connect import read
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, mutate
from orchd.server.registry.operations import Create

#: The audit annotation with the credential ID of an issued token, a template of the dialect.
_ISSUED = "authentication.{long}.io/issued-credential-id"


class Issued(Protocol):
    """A token and the expiration time reported to its holder (epoch seconds)."""

    @property
    def token(self) -> str: ...

    @property
    def expires(self) -> int: ...

    @property
    def credential(self) -> str: ...


class Issuer(Protocol):
    """Signs tokens for service accounts."""

    def issue(
        self,
        account: Object,
        *,
        audiences: Sequence[str],
        seconds: int,
        pod: Object | None,
        secret: Object | None,
        node: Object | None,
    ) -> Issued: ...


class TokenRequestRules:
    """Rules of token requests that differ between releases: those of the specification's."""

    #: Kinds of objects that tokens are bound to, and their resources.
    bindable: Mapping[str, str] = {"Pod": "pods", "Secret": "secrets"}
    #: The account is read before the request is validated.
    account_first = False
    #: A shortened lifetime is a warning.
    warns_of_shorter = False

    def check_name(self, kind: Resource, asked: Object, name: str) -> None:
        """Check the name in the request's metadata. Raises ApiError 422."""

    def describe(self, asked: Object, account: Object, now: float) -> Object:
        """The request as it is returned."""
        return asked

    async def node_of(self, context: VerbContext, bound: Object | None) -> Object | None:
        """The node that the token of a pod names."""
        return None


class DescribedTokenRequestRules(TokenRequestRules):
    """Later rules: requests are returned with the metadata of their account, and tokens are bound to nodes, too."""

    bindable: Mapping[str, str] = {**TokenRequestRules.bindable, "Node": "nodes"}
    account_first = True
    warns_of_shorter = True

    def check_name(self, kind: Resource, asked: Object, name: str) -> None:
        own_name = fields.metadata(asked).get("name") or ""
        if own_name and own_name != name:
            message = f"Invalid value: {errors.quoted(own_name)}: must match the service account name if specified"
            raise errors.invalid(kind.group, kind.kind, name, [Cause("FieldValueInvalid", message, "metadata.name")])

    def describe(self, asked: Object, account: Object, now: float) -> Object:
        asked_metadata, held = fields.metadata(asked), account["metadata"]
        uid = asked_metadata.get("uid") or held["uid"]
        if uid != held["uid"]:
            why = f"the UID in the token request ({uid}) does not match the UID of the service account ({held['uid']})"
            raise errors.conflict(split_group_version(asked["apiVersion"])[0], asked["kind"], held["name"], why)
        own = {name: held[name] for name in ("name", "namespace", "uid")}
        return {**asked, "metadata": {**asked_metadata, **own, "creationTimestamp": timestamp(now)}}

    async def node_of(self, context: VerbContext, bound: Object | None) -> Object | None:
        name = fields.spec(bound).get("nodeName") if bound is not None and bound.get("kind") == "Pod" else ""
        if not name:
            return None
        try:
            return await read(context, "nodes", "", name)
        except ApiError as error:
            if error.code != 404:
                raise
            return {"metadata": {"name": name}}


def token_request_rules(release: Release) -> TokenRequestRules:
    """The rules of a release."""
    return release.choose((("", TokenRequestRules()), ("1.30", DescribedTokenRequestRules())))


class Tokens:
    """The token endpoint. `audiences` are those of this server, `most_seconds` the longest lifetime (0: no limit)."""

    def __init__(
        self,
        catalog: Catalog,
        foreign: ForeignBodyContext,
        issuer: Issuer,
        *,
        audiences: Sequence[str],
        most_seconds: int = 0,
        rules: TokenRequestRules,
    ) -> None:
        self._rules = rules
        self._kind = catalog.body_kind("authentication/v1", "TokenRequest")
        self._foreign = foreign
        self._issuer = issuer
        self._audiences = list(audiences)
        self._most_seconds = most_seconds

    async def create(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """201 with the TokenRequest and the token in its status."""
        kind = self._kind
        view = context.present.view(request, kind, table=False)
        asked, options = await context.decode_object(request, kind, "CreateOptions")
        asked = self._foreign.prepare(asked, target.namespace, True)
        write_context = context.write_context(request, target, options)
        asked = await context.registry.transform(replace(write_context, resource=kind), Create(obj=asked), None)
        review = self._foreign.admission.review(write_context, "CREATE", None, name=target.name)
        asked = await mutate(context, review, kind, asked)
        self._rules.check_name(kind, asked, target.name)
        account: Object | None = None
        if self._rules.account_first:
            account = await read(context, "serviceaccounts", target.namespace, target.name)
            asked = self._rules.describe(asked, account, context.wall())
        spec = dict(fields.spec(asked))
        spec["audiences"] = spec.get("audiences") or self._audiences
        asked = {**asked, "spec": spec}
        causes = validation.validate_create(asked, kind, context.settings)
        if causes:
            raise errors.invalid(kind.group, kind.kind, "", causes)
        await review.validate(asked)
        if account is None:
            account = await read(context, "serviceaccounts", target.namespace, target.name)
        bound = await self._bound_object(context, target, spec.get("boundObjectRef"))
        if 0 < self._most_seconds < spec["expirationSeconds"]:
            asked_for, most = spec["expirationSeconds"], self._most_seconds
            if self._rules.warns_of_shorter:
                request.warnings.append(f"requested expiration of {asked_for} seconds shortened to {most} seconds")
            spec["expirationSeconds"] = most
        issued = self._issuer.issue(
            account,
            audiences=spec["audiences"],
            seconds=spec["expirationSeconds"],
            pod=bound if bound and bound.get("kind") == "Pod" else None,
            secret=bound if bound and bound.get("kind") == "Secret" else None,
            node=bound if bound and bound.get("kind") == "Node" else await self._rules.node_of(context, bound),
        )
        if issued.credential:
            request.trace.annotations[context.dialect(_ISSUED)] = issued.credential
        status = {"token": issued.token, "expirationTimestamp": timestamp(issued.expires)}
        return context.present.response(view, context.present.other(view, {**asked, "status": status}), code=201)

    async def _bound_object(self, context: VerbContext, target: ResourceTarget, ref: Any) -> Object | None:
        """The object to which the token is bound. Raises ApiError 400, 404 or 409."""
        if not ref:
            return None
        group, version = split_group_version(ref.get("apiVersion") or "")
        kind, name = ref.get("kind") or "", ref.get("name") or ""
        plural = self._rules.bindable.get(kind)
        if group or plural is None:
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        bound = await read(context, plural, "" if plural == "nodes" else target.namespace, name)
        if kind == "Pod" and fields.spec(bound).get("serviceAccountName", "") != target.name:
            raise errors.bad_request(
                f'cannot bind token for serviceaccount "{target.name}" to pod running with different '
                "serviceaccount name."
            )
        uid = ref.get("uid")
        if uid and uid != bound["metadata"]["uid"]:
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict(group, kind, name, why)
        return {**bound, "kind": kind}

"""serviceaccounts/token: the TokenRequest API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.times import timestamp
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.subresources.connect import read
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, mutate
from orchd.server.registry.operations import Create

_DEFAULT_SECONDS = 3600


class Issued(Protocol):
    """A token and the expiration time reported to its holder (epoch seconds)."""

    @property
    def token(self) -> str: ...

    @property
    def expires(self) -> int: ...


class Issuer(Protocol):
    """Signs tokens for service accounts."""

    def issue(
        self, account: Object, *, audiences: Sequence[str], seconds: int, pod: Object | None, secret: Object | None
    ) -> Issued: ...


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
    ) -> None:
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
        write_context = context.write_context(request, target, options)
        asked = await context.registry.transform(
            replace(write_context, resource=kind), Create(obj=_with_lifetime(asked)), None
        )
        review = self._foreign.admission.review(write_context, "CREATE", None, name=target.name)
        asked = await mutate(context, review, kind, asked)
        account = await read(context, "serviceaccounts", target.namespace, target.name)
        spec = dict(fields.spec(asked))
        spec["audiences"] = spec.get("audiences") or self._audiences
        asked = {**asked, "spec": spec}
        causes = validation.validate_create(asked, kind, context.settings)
        if causes:
            raise errors.invalid(kind.group, kind.kind, "", causes)
        await review.validate(asked)
        bound = await self._bound_object(context, target, spec.get("boundObjectRef"))
        if 0 < self._most_seconds < spec["expirationSeconds"]:
            asked_for, most = spec["expirationSeconds"], self._most_seconds
            request.warnings.append(f"requested expiration of {asked_for} seconds shortened to {most} seconds")
            spec["expirationSeconds"] = most
        issued = self._issuer.issue(
            account,
            audiences=spec["audiences"],
            seconds=spec["expirationSeconds"],
            pod=bound if bound and bound.get("kind") == "Pod" else None,
            secret=bound if bound and bound.get("kind") == "Secret" else None,
        )
        status = {"token": issued.token, "expirationTimestamp": timestamp(issued.expires)}
        return context.present.response(view, context.present.other(view, {**asked, "status": status}), code=201)

    async def _bound_object(self, context: VerbContext, target: ResourceTarget, ref: Any) -> Object | None:
        """The object to which the token is bound. Raises ApiError 400, 404 or 409."""
        if not ref:
            return None
        group, version = split_group_version(ref.get("apiVersion") or "")
        kind, name = ref.get("kind") or "", ref.get("name") or ""
        plural = {"Pod": "pods", "Secret": "secrets"}.get(kind)
        if group or plural is None:
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        bound = await read(context, plural, target.namespace, name)
        if kind == "Pod" and fields.spec(bound).get("serviceAccountName", "") != target.name:
            raise errors.bad_request(
                f'cannot bind token for serviceaccount "{target.name}" to pod running with different serviceaccount name.'
            )
        uid = ref.get("uid")
        if uid and uid != bound["metadata"]["uid"]:
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict(group, kind, name, why)
        return {**bound, "kind": kind}


def _with_lifetime(asked: Object) -> Object:
    """`asked` with the default lifetime if it sets none."""
    spec = fields.spec(asked)
    if spec.get("expirationSeconds") is not None:
        return asked
    return {**asked, "spec": {**spec, "expirationSeconds": _DEFAULT_SECONDS}}

"""Dispatches requests to verbs: every resource through the catalog, without routes per resource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from orchd import errors
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec.mediatype import UNROUTED
from orchd.kinds.crd.resources import VersionEntry
from orchd.server.pipeline.interfaces import Request, RequestInfo, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.create import create
from orchd.server.pipeline.verbs.delete import delete, deletecollection
from orchd.server.pipeline.verbs.get import get
from orchd.server.pipeline.verbs.list_ import list_
from orchd.server.pipeline.verbs.patch import patch
from orchd.server.pipeline.verbs.update import update

#: A verb: context, request, target.
Verb = Callable[[VerbContext, Request, ResourceTarget], Awaitable[Response]]

#: HTTP methods of the API, except for connections to pods.
_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE"))

_OBJECT: Mapping[str, Verb] = {"get": get, "update": update, "patch": patch, "delete": delete}
#: Subresources that connect to a backend: whatever the method, nothing is tried only.
_CONNECTED = frozenset(("attach", "exec", "portforward", "proxy"))
#: Verbs on the objects of all namespaces.
_ACROSS = frozenset(("list", "watch"))
#: Verbs on a single object, which require its name.
_NAMED = frozenset(_OBJECT)
_COLLECTION: Mapping[str, Verb] = {"list": list_, "create": create, "deletecollection": deletecollection}


def text_not_found() -> Response:
    """The plain-text 404 of a path outside of any API."""
    return Response(
        code=404,
        content_type="text/plain; charset=utf-8",
        headers=[("Cache-Control", "no-cache, private"), ("X-Content-Type-Options", "nosniff")],
        body=b"404 page not found\n",
    )


def find(catalog: Catalog, info: RequestInfo) -> Resource | None:
    """The resource of a request, None if it is not served."""
    resource = catalog.resource(info.group, info.version, info.resource)
    if resource is None or (_in_namespace(info) and not resource.namespaced and resource.plural != "namespaces"):
        return None
    return resource


def _in_namespace(info: RequestInfo) -> bool:
    """True if the path has the segments of a namespace, whose name may be empty."""
    return bool(info.namespace) or info.unnamed_namespace


def is_served(catalog: Catalog, info: RequestInfo) -> bool:
    """True if the path of a resource request is served."""
    resource = find(catalog, info)
    return resource is not None and (not info.subresource or info.subresource in resource.subresources)


def _across_namespaces(resource: Resource, info: RequestInfo, named: bool) -> bool:
    """True if a request on a namespaced resource may omit the namespace."""
    if resource.custom:
        return info.verb in _ACROSS
    return not named and "list" in resource.verbs


def _builtin(catalog: Catalog, group: str) -> bool:
    """True if a group is served because of built-in kinds, not only custom ones."""
    return catalog.group(group) is not None and any(r.group == group and not r.custom for r in catalog.resources)


class Dispatch:
    """The last stage: calls the verb. `named` are the verbs of subresources and of kinds that are not stored, by
    the name in their row (`served_by`) and by verb. `newest_catalog` waits for every acknowledged change of the
    custom kinds of a group; `is_late` is true for one in which a change has not been applied."""

    def __init__(
        self,
        context: VerbContext,
        *,
        newest_catalog: Callable[[str], Awaitable[Catalog]],
        is_late: Callable[[str], bool],
        watch: Verb,
        named: Mapping[str, Mapping[str, Verb]],
    ) -> None:
        self._context = context
        self._newest_catalog = newest_catalog
        self._is_late = is_late
        self._watch = watch
        self._named = named
        self._dry_run = context.settings.feature("DryRun")

    async def __call__(self, request: Request) -> Response:
        info = request.info
        assert info is not None
        catalog = self._context.catalog()
        resource = None if info.verb == "proxy" else find(catalog, info)
        if (resource is None or (resource.custom and self._is_late(resource.group))) and (
            info.prefix == "apis" and info.verb != "proxy"
        ):
            # Another process may have established the kind just now, or its definition is being read.
            catalog = await self._newest_catalog(info.group)
            resource = find(catalog, info)
        if resource is None:
            if info.prefix == "apis" and not _builtin(catalog, info.group):
                return text_not_found()
            raise errors.page_not_found()
        named = len(info.parts) > 1
        unnamed_namespace = resource.namespaced and info.unnamed_namespace
        if resource.namespaced and not info.namespace and not _across_namespaces(resource, info, named):
            if resource.custom:
                return text_not_found()
            if not unnamed_namespace:
                raise errors.page_not_found()
        if resource.custom:
            # Also for a subresource that the version does not have.
            self._warn_of_version(request, resource)
            verb = self._of_custom(resource, info)
        elif info.subresource:
            verb = self._of_subresource(resource, info, request.method)
            if "dryRun" in request.query and resource.subresources[info.subresource].served_by in _CONNECTIONS:
                raise errors.bad_request("dryRun is not supported")
        else:
            verb = self._of_resource(resource, info, request.method, named)
        if unnamed_namespace and info.verb not in _ACROSS:
            raise errors.bad_request("Namespace parameter required.")
        if not resource.custom:
            self._warn_of_version(request, resource)
        unnamed = resource.custom and not info.subresource and info.verb in _COLLECTION
        name = info.name if named and not unnamed else ""
        if info.verb == "watch" and not named:
            name = ""
        namespace = info.namespace if resource.namespaced else ""
        if info.subresource in _CONNECTED and "dryRun" in request.query:
            raise errors.bad_request("dryRun is not supported")
        if not self._dry_run and info.verb not in ("get", "list", "watch") and request.query.get("dryRun"):
            raise errors.bad_request("the dryRun feature is disabled")
        try:
            return await verb(self._context, request, ResourceTarget(resource, namespace, name, info.subresource))
        except errors.ApiError as error:
            # No deprecation is announced with errors of media types.
            if resource.deprecation is not None and error.message.startswith(UNROUTED):
                request.warnings.remove(resource.deprecation.warning(resource.kind, resource.api_version))
            raise

    def _warn_of_version(self, request: Request, resource: Resource) -> None:
        if resource.deprecation is None:
            return
        request.warnings.append(resource.deprecation.warning(resource.kind, resource.api_version))
        request.trace.annotations[self._context.dialect("{abbr}.io/deprecated")] = "true"
        if resource.deprecation.removed:
            removed = resource.deprecation.removed.removeprefix("v")
            request.trace.annotations[self._context.dialect("{abbr}.io/removed-release")] = removed

    def _of_custom(self, resource: Resource, info: RequestInfo) -> Verb:
        """The reference dispatches custom kinds by the verb of a request, regardless of its path and method."""
        group, plural = resource.group, resource.plural
        verbs: Mapping[str, Verb] = {**_OBJECT, **_COLLECTION, "watch": self._watch}
        if info.subresource:
            if info.subresource not in resource.subresources:
                raise errors.not_found(group, plural, info.name)
            verbs = self._named[resource.subresources[info.subresource].served_by]
        verb = verbs.get(info.verb)
        if verb is None:
            raise errors.method_not_supported(group, plural, info.verb)
        entry = resource.definition
        if info.verb == "create" and isinstance(entry, VersionEntry) and entry.terminating:
            error = errors.method_not_supported(group, plural, info.verb)
            error.message = f"{info.verb} not allowed while custom resource definition is terminating"
            raise error
        if info.verb in _NAMED and not info.name:
            raise errors.bad_request("name must be provided")
        return verb

    def _of_resource(self, resource: Resource, info: RequestInfo, method: str, named: bool) -> Verb:
        verb = info.verb
        if len(info.parts) > 2:
            # An empty name of a subresource.
            raise errors.page_not_found()
        if info.special:
            if not {"watch"} | (set() if named else {"list"}) <= set(resource.verbs):
                raise errors.page_not_found()
        elif (_OBJECT if named else _COLLECTION).keys().isdisjoint(resource.verbs):
            raise errors.page_not_found()
        if method not in _METHODS:
            raise errors.method_not_allowed()
        if verb == "watch":
            if method != "GET" or not {"watch", "list"} & set(resource.verbs):
                raise errors.method_not_allowed()
            if "watch" not in resource.verbs:
                raise errors.method_not_supported(resource.group, resource.plural, verb)
            return self._watch
        if resource.row.served_by:
            handler = self._named[resource.row.served_by].get(verb)
        else:
            handler = _OBJECT.get(verb) or _COLLECTION.get(verb)
        if handler is None or verb not in (_OBJECT if named else _COLLECTION) or verb not in resource.verbs:
            raise errors.method_not_allowed()
        if resource.namespaced and not _in_namespace(info) and verb not in _ACROSS:
            raise errors.method_not_allowed()
        return handler

    def _of_subresource(self, resource: Resource, info: RequestInfo, method: str) -> Verb:
        described = resource.subresources.get(info.subresource)
        if described is None or info.special or (len(info.parts) > 3 and info.subresource != "proxy"):
            raise errors.page_not_found()
        handler = self._named[described.served_by].get(info.verb)
        proxied = info.subresource == "proxy"
        # OPTIONS is not a verb of the API, but proxied backends may support it.
        described_too = info.verb in described.verbs or (proxied and method == "OPTIONS")
        if handler is None or not described_too or (method not in _METHODS and not proxied):
            raise errors.method_not_allowed()
        return handler


#: Endpoints that connect to a node or to a proxied target.
_CONNECTIONS: Final = frozenset(("attach", "exec", "node proxy", "pod proxy", "port forward", "service proxy"))
#: Verbs of the status endpoint and of others that return the object itself.
OF_OBJECT: Mapping[str, Verb] = {"get": get, "update": update, "patch": patch}

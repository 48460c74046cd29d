"""Parses path and method to request info: every path shape of the specification ("Resource URIs")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchd.errors import ApiError
from orchd.kinds.objects.selectors import FieldSelector, LabelSelector
from orchd.kinds.shorttexts import remember_short
from orchd.server.pipeline.interfaces import RequestInfo
from orchd.server.pipeline.query import EMPTY, Query

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
#: Path segments after a namespace's name that are subresources of the namespace.
_OF_NAMESPACE = frozenset(("status", "finalize"))
_SPECIAL = frozenset(("watch", "proxy"))
#: Characters of both selectors above which they are not examined for a name: this is done before authentication.
_MOST_EXAMINED = 4096
#: Query parameters that affect request info.
_TELLING = frozenset(("watch", "fieldSelector"))


def _named_by_selector(query: Query) -> str:
    """The name in a field selector ``metadata.name=x``, which authorization uses. "" if the verb will reject the
    options, for invalid names, and for long selectors."""
    if len(query.first("labelSelector")) + len(query.first("fieldSelector")) > _MOST_EXAMINED:
        return ""
    try:
        options = query.list_options()
        LabelSelector.parse(options.label_selector)
        terms = FieldSelector.terms(options.field_selector)
    except ApiError:
        return ""
    name = next((value for field, equal, value in terms if equal and field == "metadata.name"), "")
    return "" if name in (".", "..") or "/" in name or "%" in name else name


def parse(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    """The request info of a decoded path. Paths of no resource are those of non-resource requests, not errors."""
    if _TELLING.isdisjoint(query):
        return _plain_path(path, method)
    return _parse(method, path, Query.of(query))


@remember_short(4096)
def _plain_path(path: str, method: str) -> RequestInfo:
    """Cached for paths without relevant parameters, which clients repeat."""
    return _parse(method, path, EMPTY)


def plain(method: str, path: str) -> RequestInfo:
    """The request info of a request for no resource."""
    return RequestInfo(is_resource=False, path=path, verb=method.lower())


def _parse(method: str, path: str, query: Query) -> RequestInfo:
    parts = path.strip("/").split("/")
    prefix = "" if path.startswith("//") else parts[0]
    if prefix == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif prefix == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return plain(method, path)
    verb = _VERBS.get(method, "")
    special = ""
    if rest[0] in _SPECIAL:
        if len(rest) < 2:
            return plain(method, path)
        special, rest = rest[0], rest[1:]
    namespace, unnamed = "", False
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACE:
            unnamed, rest = not namespace, rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if special == "watch":
        verb = "watch"
    elif special == "proxy":
        verb = "proxy"
    elif verb == "get" and not name:
        verb = "watch" if query.flag("watch") else "list"
        name = _named_by_selector(query)
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return RequestInfo(
        is_resource=True,
        path=path,
        verb=verb,
        prefix=prefix,
        group=group,
        version=version,
        namespace=namespace,
        unnamed_namespace=unnamed,
        resource=resource,
        subresource=subresource,
        name=name,
        parts=tuple(rest),
        special=special,
    )

"""The operations of the registry as values: verbs build them, `Registry.write` and `Registry.delete` carry them out.

Objects are in the requested version, with canonical shape and defaults; they are shared trees.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Final

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.kinds.strictness import Strictness
from orchd.values import value_class

#: Raises ApiError 403 unless the user may create the object too.
AuthorizeCreate = Callable[[], Awaitable[None]]


@value_class(kw_only=True)
class Create:
    """Store a new object."""

    obj: Object


@value_class(kw_only=True)
class Replace:
    """Replace the object called `name`, or create it where its kind allows that. A uid in `obj` is a precondition."""

    name: str
    obj: Object
    authorize_create: AuthorizeCreate


@value_class(kw_only=True)
class Patch:
    """Change the object called `name` by a JSON patch, merge patch or strategic merge patch: `data` in `media_type`. It
    is decoded only once the object exists."""

    name: str
    media_type: str
    data: bytes
    strictness: Strictness


@value_class(kw_only=True)
class Apply:
    """Apply the configuration `data`, in YAML, to the object called `name`, or create it. `force` takes over the fields
    of other managers."""

    name: str
    data: bytes
    force: bool
    strictness: Strictness
    authorize_create: AuthorizeCreate


@value_class(kw_only=True)
class Edit:
    """Change the object called `name` by a function of it, which is called again after a lost race: for endpoints that
    accept a body of another kind. `uid` is a precondition, "" for none."""

    name: str
    change: Callable[[Object], Awaitable[Object]]
    uid: str = ""


@value_class(kw_only=True)
class Delete:
    """Delete the object called `name`, or mark it for deletion; `options` is a DeleteOptions object. `announce` makes a
    last change of the object, which is written before if it makes a difference; None for none. Admission reviews the
    deletion if `reviewed`, under the name `reviewed_name` (None: that of the object)."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    announce: Callable[[Object], Object] | None = None
    reviewed: bool = True
    reviewed_name: str | None = None


#: The error for an object of another namespace than that of the request.
OTHER_NAMESPACE: Final = "the namespace of the provided object does not match the namespace sent on the request"

#: Operations that make a new object of a current one, of which there may be none.
Change = Replace | Patch | Apply | Edit
Write = Create | Change


def check_name(name: str, namespace: str, obj: Object, release: Release) -> None:
    """Name and namespace in an object must be those of the URL. Raises ApiError 400."""
    for check in release.choose(_CHECKS):
        check(name, namespace, fields.metadata(obj))


def _check_name(name: str, namespace: str, metadata: Mapping[str, Any]) -> None:
    own_name = metadata.get("name", "")
    if not own_name:
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if own_name != name:
        raise errors.bad_request(f"the name of the object ({own_name}) does not match the name on the URL ({name})")


def _check_namespace(name: str, namespace: str, metadata: Mapping[str, Any]) -> None:
    own_namespace = metadata.get("namespace", "")
    if namespace and own_namespace and namespace != own_namespace:
        raise errors.bad_request(
            f"the namespace of the object ({own_namespace}) does not match the namespace on the request ({namespace})"
        )


def _check_namespace_first(name: str, namespace: str, metadata: Mapping[str, Any]) -> None:
    if namespace and metadata.get("namespace", namespace) not in (namespace, ""):
        raise errors.bad_request(OTHER_NAMESPACE)


_Check = Callable[[str, str, Mapping[str, Any]], None]
_CHECKS: Final[tuple[tuple[str, tuple[_Check, ...]], ...]] = (
    ("", (_check_name, _check_namespace)),
    ("1.24", (_check_namespace_first, _check_name)),
)

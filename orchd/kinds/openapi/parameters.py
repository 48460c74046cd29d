"""Parameters of operations in OpenAPI v2: name, place, type and description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]


def _query(name: str, type_: str, description: str) -> Json:
    return {"uniqueItems": True, "type": type_, "description": description, "name": name, "in": "query"}


def _path(name: str, description: str) -> Json:
    return {
        "uniqueItems": True,
        "type": "string",
        "description": description,
        "name": name,
        "in": "path",
        "required": True,
    }


PRETTY: Final = _query("pretty", "string", "If 'true', then the output is pretty printed.")
NAMESPACE: Final = _path("namespace", "object name and auth scope, such as for teams and projects")
PATH: Final = _path("path", "path to the resource")
LOG_PATH: Final = _path("logpath", "path to the log")

DRY_RUN: Final = _query("dryRun", "string", "With All, the request is fully processed but nothing is persisted.")
FIELD_MANAGER: Final = _query(
    "fieldManager", "string", "Field manager that owns the fields of this request; at most 128 printable characters."
)
FORCE: Final = _query("force", "boolean", "Take over fields that other field managers own. Apply requests only.")

LIST: Final = (
    _query(
        "allowWatchBookmarks",
        "boolean",
        "Send BOOKMARK events, which contain only the resourceVersion that the watch has reached.",
    ),
    _query("continue", "string", "Continue token of the previous page."),
    _query("fieldSelector", "string", "Restrict the list of returned objects to those whose fields match."),
    _query("labelSelector", "string", "Restrict the list of returned objects to those whose labels match."),
    _query("limit", "integer", "Maximum number of objects in a page."),
    _query("resourceVersion", "string", "Constraint on the version of the data. Default: the most recent."),
    _query("resourceVersionMatch", "string", "How resourceVersion applies to lists: Exact or NotOlderThan."),
    _query("timeoutSeconds", "integer", "Timeout of the list or watch in seconds."),
    _query(
        "watch",
        "boolean",
        "Watch for changes to the described resources: the response is a stream of events instead of a list.",
    ),
)
RESOURCE_VERSION: Final = next(parameter for parameter in LIST if parameter["name"] == "resourceVersion")
_LIST_BY_NAME: Final = {parameter["name"]: parameter for parameter in LIST}

DELETE: Final = (
    DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Grace period of the deletion in seconds; 0 deletes immediately."),
    _query("orphanDependents", "boolean", "Orphan dependents. Deprecated: use propagationPolicy."),
    _query("propagationPolicy", "string", "Treatment of dependents: Orphan, Background or Foreground."),
)
DELETE_COLLECTION: Final = tuple(
    sorted(
        (*DELETE, *(p for name, p in _LIST_BY_NAME.items() if name not in ("allowWatchBookmarks", "watch"))),
        key=lambda parameter: str(parameter["name"]),
    )
)
WRITE: Final = (DRY_RUN, FIELD_MANAGER)
PATCH: Final = (DRY_RUN, FIELD_MANAGER, FORCE)

_FIELD_VALIDATION: Final = _query(
    "fieldValidation",
    "string",
    "What happens to unknown and repeated fields: Ignore drops them, Warn (the default) drops them with "
    "a warning, Strict refuses the request.",
)
_SEND_INITIAL_EVENTS: Final = _query(
    "sendInitialEvents",
    "boolean",
    "Begin a watch with the present objects, followed by a bookmark. Needs resourceVersionMatch=NotOlderThan.",
)
_IGNORE_STORE_READ_ERRORS: Final = _query(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "boolean",
    "Delete an object that the store cannot decode, without its finalizers and the rules of its kind.",
)


def _sorted(*parameters: Json) -> tuple[Json, ...]:
    return tuple(sorted(parameters, key=lambda parameter: str(parameter["name"])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The query parameters of operations on resources."""

    list: tuple[Json, ...]
    write: tuple[Json, ...]
    patch: tuple[Json, ...]
    delete: tuple[Json, ...]
    delete_collection: tuple[Json, ...]


#: Those of operations, from a release on.
OPERATIONS: Final[tuple[tuple[str, Operations], ...]] = (
    ("", Operations(list=LIST, write=WRITE, patch=PATCH, delete=DELETE, delete_collection=DELETE_COLLECTION)),
    (
        "1.32",
        Operations(
            list=_sorted(*LIST, _SEND_INITIAL_EVENTS),
            write=(*WRITE, _FIELD_VALIDATION),
            patch=(*WRITE, _FIELD_VALIDATION, FORCE),
            delete=_sorted(*DELETE, _IGNORE_STORE_READ_ERRORS),
            delete_collection=_sorted(*DELETE_COLLECTION, _IGNORE_STORE_READ_ERRORS, _SEND_INITIAL_EVENTS),
        ),
    ),
)
#: Parameters that releases after 1.23 have, by the action of the operation.
LATER_PARAMETERS: Final = {
    **dict.fromkeys(("post", "put", "patch"), (_FIELD_VALIDATION,)),
    **dict.fromkeys(("list", "watch", "watchlist", "deletecollection"), (_SEND_INITIAL_EVENTS,)),
}

_OPTION_TYPES: Final = {"bool": "boolean", "int32": "integer", "int64": "integer", "string": "string"}
_OPTION_MEANINGS: Final = {
    "command": "Command and arguments, which are not run in a shell.",
    "container": "Name of the container. Default: the only one.",
    "follow": "Follow the log: keep the stream open for new lines.",
    "insecureSkipTLSVerifyBackend": "Do not verify the serving certificate of the node.",
    "limitBytes": "Maximum number of bytes.",
    "path": "Path of the request to the target.",
    "ports": "Ports to forward.",
    "previous": "Return the log of the previous instance of the container.",
    "sinceSeconds": "Return lines of the past number of seconds only.",
    "stderr": "Attach standard error.",
    "stdin": "Attach standard input.",
    "stdout": "Attach standard output.",
    "stream": "Return only this output of the container: All (the default), Stdout or Stderr.",
    "tailLines": "Return this number of lines from the end of the log.",
    "timestamps": "Prefix every line with its timestamp.",
    "tty": "Allocate a terminal.",
}


def option(name: str, kind: str) -> Json | None:
    """The query parameter for a member of an options type, repeatable if the member is a list of `kind`;
    None for kinds that have no query form."""
    type_ = _OPTION_TYPES.get(kind)
    return None if type_ is None else _query(name, type_, _OPTION_MEANINGS.get(name, ""))


def name(kind: str) -> Json:
    """The path parameter that names one object."""
    return _path("name", f"name of the {kind}")


def body(schema: Json, *, required: bool = True) -> Json:
    """The parameter for the request body."""
    out: Json = {"name": "body", "in": "body"}
    if required:
        out["required"] = True
    return {**out, "schema": schema}

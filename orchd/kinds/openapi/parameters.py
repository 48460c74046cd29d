"""Parameters of operations in OpenAPI v2: name, place, type and what each is for. Data."""

from __future__ import annotations

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

DRY_RUN: Final = _query("dryRun", "string", "All: go through every stage of the request but keep nothing.")
FIELD_MANAGER: Final = _query(
    "fieldManager", "string", "Who owns the fields that this request sets; at most 128 printable characters."
)
FORCE: Final = _query("force", "boolean", "Take over fields that others own. Only for apply requests.")

LIST: Final = (
    _query("allowWatchBookmarks", "boolean", "Send BOOKMARK events, which only say how far the watch has come."),
    _query("continue", "string", "The continue token of the previous page."),
    _query("fieldSelector", "string", "Only objects whose fields match."),
    _query("labelSelector", "string", "Only objects whose labels match."),
    _query("limit", "integer", "At most this many objects in one page."),
    _query("resourceVersion", "string", "The version of the data to answer from."),
    _query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
    _query("timeoutSeconds", "integer", "End the list or watch after this many seconds."),
    _query("watch", "boolean", "Answer with a stream of changes instead of a list."),
)
RESOURCE_VERSION: Final = next(parameter for parameter in LIST if parameter["name"] == "resourceVersion")
_LIST_BY_NAME: Final = {parameter["name"]: parameter for parameter in LIST}

DELETE: Final = (
    DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds until the object is deleted; 0 means at once."),
    _query("orphanDependents", "boolean", "Leave dependents behind. Deprecated: use propagationPolicy."),
    _query("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
)
DELETE_COLLECTION: Final = tuple(
    sorted(
        (
            *DELETE,
            *(p for name, p in _LIST_BY_NAME.items() if name not in ("allowWatchBookmarks", "watch")),
        ),
        key=lambda parameter: str(parameter["name"]),
    )
)
WRITE: Final = (DRY_RUN, FIELD_MANAGER)
PATCH: Final = (DRY_RUN, FIELD_MANAGER, FORCE)

_OPTION_TYPES: Final = {"bool": "boolean", "int32": "integer", "int64": "integer", "string": "string"}
_OPTION_MEANINGS: Final = {
    "command": "The command and its arguments; not run in a shell.",
    "container": "The container; may be left out if there is only one.",
    "follow": "Keep the stream open and send what is logged later.",
    "insecureSkipTLSVerifyBackend": "Do not check the certificate of the node that has the log.",
    "limitBytes": "Stop after this many bytes.",
    "path": "The path below the target that is asked for.",
    "ports": "The ports to forward.",
    "previous": "The log of the container before its last restart.",
    "sinceSeconds": "Only what was logged in this many past seconds.",
    "stderr": "Connect standard error.",
    "stdin": "Connect standard input.",
    "stdout": "Connect standard output.",
    "tailLines": "Only this many lines from the end.",
    "timestamps": "Begin every line with its time.",
    "tty": "Use a terminal.",
}


def option(name: str, kind: str) -> Json | None:
    """The query parameter for a member of an options type, which may be given several times if the member is a list of
    `kind`; None for kinds that have no such form."""
    type_ = _OPTION_TYPES.get(kind)
    return None if type_ is None else _query(name, type_, _OPTION_MEANINGS.get(name, ""))


def name(kind: str) -> Json:
    """The path parameter that names one object."""
    return _path("name", f"name of the {kind}")


def body(schema: Json, *, required: bool = True) -> Json:
    out: Json = {"name": "body", "in": "body"}
    if required:
        out["required"] = True
    return {**out, "schema": schema}

"""The variables of simulated containers, as far as they are known without running anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.jsonvalues import Object

_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_]\w*)\)")
_KEYED: Final = re.compile(r"metadata\.(annotations|labels)\['([^']+)'\]")


def environment(pod: Object, container: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a container that are values or fields of the pod; a label or annotation that is not there is
    empty."""
    env: dict[str, str] = {}
    for each in container.get("env") or ():
        path = ((each.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        if path is None:
            env[each["name"]] = str(each.get("value") or "")
            continue
        keyed = _KEYED.fullmatch(path)
        value: Any = (pod["metadata"].get(keyed[1]) or {}).get(keyed[2], "") if keyed else pod
        for step in () if keyed else path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            env[each["name"]] = value
    return env


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by the variable; references to others stay."""
    return _REFERENCE.sub(lambda match: env.get(match[1], match[0]), text)


def subpath_error(pod: Object, container: Mapping[str, Any]) -> str:
    """Why a container cannot be created: a `subPathExpr` that expands to a path outside its volume; "" if it can be."""
    expressions = [str(each["subPathExpr"]) for each in container.get("volumeMounts") or () if each.get("subPathExpr")]
    env = environment(pod, container) if expressions else {}
    for expression in expressions:
        path = expand(expression, env)
        if path.startswith("/") or ".." in path.split("/"):
            return f"subPathExpr {expression} is {path}: it must be a relative path without '..'"
    return ""

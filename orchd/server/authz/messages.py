"""Error messages of denied actions; the authorizers' reasons follow them."""

from __future__ import annotations

from collections.abc import Iterable

from orchd import errors
from orchd.errors import ApiError, qualified, quoted
from orchd.kinds.objects.rule_coverage import Rule
from orchd.server.authz.interfaces import Action

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def quote_list(texts: tuple[str, ...] | list[str]) -> str:
    """``["a" "b"]``"""
    return "[" + " ".join(quoted(t) for t in texts) + "]"


def forbidden_message(action: Action) -> str:
    """``User "alice" cannot list resource "pods" in API group "" in the namespace "a"`` and its variants."""
    user = quoted(action.user.name)
    if action.path:
        return f"User {user} cannot {action.verb} path {quoted(action.path)}"
    resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    where = f"in the namespace {quoted(action.namespace)}" if action.namespace else "at the cluster scope"
    return f"User {user} cannot {action.verb} resource {quoted(resource)} in API group {quoted(action.group)} {where}"


def forbidden(action: Action, reason: str = "") -> ApiError:
    """The 403 of a denied action; `reason` is the authorizers', "" without one."""
    message = forbidden_message(action).translate(_MARKUP)
    if reason:
        message = f"{message}: {reason}"
    details = {"name": action.name, "group": action.group, "kind": action.resource} if not action.path else {}
    if not action.resource or action.path:
        head = "forbidden: "
    elif action.name:
        head = f"{qualified(action.group, action.resource)} {quoted(action.name)} is forbidden: "
    else:
        head = f"{qualified(action.group, action.resource)} is forbidden: "
    return ApiError(403, "Forbidden", head + message, details={k: v for k, v in details.items() if v})


def forbidden_with_reason(action: Action, reason: str = "") -> ApiError:
    """The 403 of an action that a request needs besides its own, in releases before 1.25: with nothing but the
    authorizers' reason."""
    return errors.forbidden(action.group, action.resource, action.name, reason)


def join_errors(errors: Iterable[str]) -> str:
    """Several errors as one text: without duplicates, in brackets if there is more than one."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def describe_rule(rule: Rule) -> str:
    """``{APIGroups:[""], Resources:["pods"], Verbs:["get"]}``"""
    titles = (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    )
    return "{" + ", ".join(f"{title}:{quote_list(rule[key])}" for title, key in titles if rule.get(key)) + "}"

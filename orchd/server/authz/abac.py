"""ABAC: a policy file with one JSON object per line (specification, "ABAC mode").

Lines of ``kind: Policy`` in version v1beta1 have their conditions in `spec`; lines without apiVersion and kind have the
unversioned format, whose absent members match everything. The file is read at start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds.codec import yaml_
from orchd.kinds.gotext import json_syntax
from orchd.kinds.gotext.values import json_name
from orchd.kinds.users import AUTHENTICATED_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, NonResourceRule, ResourceRule, Rules, Verdict
from orchd.txkit.log import Logger

#: Maximum length of a line in bytes.
_LONGEST_LINE = 64 * 1024
_READING = ("get", "list", "watch")
_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION, "No policy matched.")


class PolicyFileError(ValueError):
    """An invalid line; the message names the file and the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One line. ``*`` matches everything; "" matches only absent attributes (user, group: matches any)."""

    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""
    #: True for the unversioned format.
    old: bool = field(default=False, compare=False)

    def is_for(self, user: User) -> bool:
        """True if the policy matches this user. User or group must be given, and the given ones must match."""
        if self.user and self.user not in ("*", user.name):
            return False
        if self.group and self.group != "*" and self.group not in user.groups:
            return False
        return bool(self.user or self.group)

    def allows(self, action: Action) -> bool:
        if (self.readonly and action.verb not in _READING) or not self.is_for(action.user):
            return False
        if action.is_resource:
            return (
                self.namespace in ("*", action.namespace)
                and self.resource in ("*", action.resource)
                and self.api_group in ("*", action.group)
            )
        if self.path in ("*", action.path):
            return True
        return self.path.endswith("*") and action.path.startswith(self.path.rstrip("*"))

    @property
    def verbs(self) -> tuple[str, ...]:
        return _READING if self.readonly else ("*",)


@implementer(IAuthorizer)
class AttributeBasedAuthorizer:
    """Allows an action that one of `policies` allows."""

    name = "ABAC"
    _log = Logger()

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.policies = tuple(policies)

    @classmethod
    def read(cls, dialect: Dialect, path: str) -> AttributeBasedAuthorizer:
        """Load a file. Raises OSError, PolicyFileError."""
        with open(path, "rb") as stream:
            policies = parse_policies(dialect, path, stream.read())
        if any(policy.old for policy in policies):
            cls._log.warn("policy file {path} has unversioned rules, whose absent members match everything", path=path)
        return cls(policies)

    async def authorize(self, action: Action) -> Verdict:
        for policy in self.policies:
            if policy.allows(action):
                return _ALLOWED
        return _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        own = [p for p in self.policies if p.is_for(user) and p.namespace in ("*", namespace)]
        return Rules(
            resource=tuple(
                ResourceRule(verbs=p.verbs, api_groups=(p.api_group,), resources=(p.resource,))
                for p in own
                if p.resource
            ),
            non_resource=tuple(NonResourceRule(verbs=p.verbs, paths=(p.path,)) for p in own if p.path),
        )


def parse_policies(dialect: Dialect, name: str, text: bytes) -> list[Policy]:
    """The policies of a file in order. Skips empty lines and lines that begin with #. Raises PolicyFileError."""
    group = dialect("abac.authorization.{long}.io")
    policies = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if len(line) > _LONGEST_LINE:
            raise PolicyFileError(f"error reading policy file {name}: bufio.Scanner: token too long")
        line = line.removesuffix(b"\r")
        stripped = line.strip()
        if not stripped or stripped.startswith(b"#"):
            continue
        try:
            policies.append(_policy(_object(line), group))
        except _BadLineError as error:
            line_text = line.decode("utf-8", "replace")
            raise PolicyFileError(f"error reading policy file {name}, line {number}: {line_text}: {error}") from None
    return policies


class _BadLineError(Exception):
    """Why a line is invalid."""


def _object(line: bytes) -> Mapping[str, Any]:
    """The mapping on a line: JSON if it begins like JSON, otherwise YAML."""
    try:
        obj: Any = orjson.loads(line) if line.lstrip().startswith(b"{") else yaml_.decode(line)
    except orjson.JSONDecodeError as error:
        why = json_syntax.syntax_error(line) or str(error)
        raise _BadLineError(f"couldn't get version/kind; json parse error: {why}") from None
    except yaml_.YAMLError as error:
        raise _BadLineError(str(error)) from None
    if isinstance(obj, dict):
        return obj
    what = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    raise _BadLineError(
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_name(obj)} into Go value "
        f"of type {what}"
    )


def _policy(line: Mapping[str, Any], group: str) -> Policy:
    members = _Members(line, "")
    version, kind = members.text("apiVersion"), members.text("kind")
    if version == f"{group}/v1beta1" and kind == "Policy":
        return _current(line)
    if (version or f"{group}/v0", kind or "Policy") == (f"{group}/v0", "Policy"):
        return _old(line)
    raise _BadLineError(
        f'no kind "{kind or "Policy"}" is registered for version "{version or group + "/v0"}" in scheme '
        '"pkg/apis/abac/register.go:33"'
    )


def _current(line: Mapping[str, Any]) -> Policy:
    """Parse a line of version v1beta1, where ``*`` matches every authenticated user."""
    spec = line.get("spec")
    if spec is not None and not isinstance(spec, dict):
        raise _BadLineError(
            f"json: cannot unmarshal {json_name(spec)} into Go struct field Policy.spec of type v1beta1.PolicySpec"
        )
    members = _Members(spec or {}, "PolicySpec.spec.")
    user, user_group = _everybody(members.text("user"), members.text("group"))
    return Policy(
        user=user,
        group=user_group,
        readonly=members.flag("readonly"),
        api_group=members.text("apiGroup"),
        resource=members.text("resource"),
        namespace=members.text("namespace"),
        path=members.text("nonResourcePath"),
    )


def _old(line: Mapping[str, Any]) -> Policy:
    """Parse a line of the unversioned format: absent members match everything."""
    members = _Members(line, "Policy.")
    user, group = members.text("user"), members.text("group")
    namespace, resource = members.text("namespace"), members.text("resource")
    if not user and not group:
        group = AUTHENTICATED_GROUP
    user, group = _everybody(user, group)
    return Policy(
        user=user,
        group=group,
        readonly=members.flag("readonly"),
        api_group="*",
        resource=resource or "*",
        namespace=namespace or "*",
        path="" if namespace or resource else "*",
        old=True,
    )


def _everybody(user: str, group: str) -> tuple[str, str]:
    return ("", AUTHENTICATED_GROUP) if "*" in (user, group) else (user, group)


class _Members:
    """Reads members; type errors are worded as in the reference."""

    def __init__(self, members: Mapping[str, Any], where: str) -> None:
        self._members = members
        self._where = where

    def text(self, name: str) -> str:
        value = self._members.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        raise self._type_error(name, value, "string")

    def flag(self, name: str) -> bool:
        value = self._members.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self._type_error(name, value, "bool")

    def _type_error(self, name: str, value: Any, type_name: str) -> _BadLineError:
        if not self._where:
            return _BadLineError(
                f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_name(value)} into Go "
                f"struct field .{name} of type {type_name}"
            )
        return _BadLineError(
            f"json: cannot unmarshal {json_name(value)} into Go struct field {self._where}{name} of type {type_name}"
        )

"""Expressions about admission requests: of admission policies, and match conditions of policies and webhooks.

They see `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`, those of policies with parameters
`params`, and those of policies with variables `variables`, whose members are compiled in their order, each in terms of
those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Final

from orchd.cel import types
from orchd.cel.environment import Environment, Struct, Variable
from orchd.cel.libraries.authorizer import AUTHORIZER_TYPE, RESOURCE_TYPE
from orchd.cel.releases import environment_of_release
from orchd.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, VENDOR, Type, list_of, map_of, struct
from orchd.dialect import Dialect
from orchd.kinds.expressions.compiled import RELEASE, Expression, compile_expression

#: Cost of all match conditions of a policy or webhook, and of all validations of a policy.
CONDITIONS_BUDGET: Final = 2_500_000
BUDGET: Final = 10_000_000


class Purpose(Enum):
    """The use of an expression: the types that its result may have. The authorizer is not available to messages."""

    CONDITION = (BOOL,)
    MESSAGE = (STRING,)
    ANNOTATION = (STRING, NULL)
    VARIABLE = ()


def _struct(name: str) -> Type:
    return struct(f"{VENDOR}.{name}")


_STRINGS: Final = list_of(STRING)
_LABELS: Final = map_of(STRING, STRING)
_KIND: Final = _struct("GroupVersionKind")
_RESOURCE: Final = _struct("GroupVersionResource")
_REQUEST: Final = _struct("AdmissionRequest")
_NAMESPACE: Final = _struct("Namespace")
_VARIABLES: Final = _struct("variables")
#: Fields of the types whose values are not dynamic. Those of namespaces are a part of what namespaces have.
_FIELDS: Final[Mapping[Type, Mapping[str, Type]]] = {
    _KIND: {"group": STRING, "version": STRING, "kind": STRING},
    _RESOURCE: {"group": STRING, "version": STRING, "resource": STRING},
    _struct("UserInfo"): {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_of(STRING, _STRINGS)},
    _REQUEST: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _struct("UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    _struct("NamespaceSpec"): {"finalizers": _STRINGS},
    _struct("NamespaceCondition"): {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
    _struct("NamespaceStatus"): {"conditions": list_of(_struct("NamespaceCondition")), "phase": STRING},
    _struct("NamespaceMetadata"): {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _STRINGS,
    },
    _NAMESPACE: {
        "metadata": _struct("NamespaceMetadata"),
        "spec": _struct("NamespaceSpec"),
        "status": _struct("NamespaceStatus"),
    },
}
_STRUCTS: Final = {type_.name: Struct(fields=fields) for type_, fields in _FIELDS.items()}


@lru_cache(maxsize=16)
def base_environment(vendor: str) -> Environment:
    """The environment without objects: the request, and the namespace that it is in."""
    variables = {"namespaceObject": Variable(type=_NAMESPACE), "request": Variable(type=_REQUEST)}
    return environment_of_release(RELEASE, vendor).with_variables(variables, _STRUCTS)


@lru_cache(maxsize=16)
def admission_environment(vendor: str, *, params: bool, authorizer: bool) -> Environment:
    """The environment with dynamic objects. `params`: the policy has parameters."""
    variables = {"object": Variable(type=DYN), "oldObject": Variable(type=DYN)}
    if params:
        variables["params"] = Variable(type=DYN)
    if authorizer:
        variables["authorizer"] = Variable(type=AUTHORIZER_TYPE)
        variables["authorizer.requestResource"] = Variable(type=RESOURCE_TYPE)
    return base_environment(vendor).with_variables(variables)


class Compiler:
    """Compiles the expressions of one policy, or of one webhook. `composed`: expressions may refer to `variables`."""

    def __init__(self, dialect: Dialect, *, params: bool = False, composed: bool = False) -> None:
        self._vendor = dialect("{long}")
        self._params = params
        self._composed = composed
        self._types: dict[str, Type] = {}
        #: The variables of the policy so far, by name.
        self.variables: dict[str, Expression] = {}

    def compile(self, text: str, purpose: Purpose) -> Expression:
        """A compiled expression. Its `error` is empty if it may be evaluated."""
        environment = self.environment(authorizer=purpose is not Purpose.MESSAGE)
        return compile_expression(text, environment, purpose.value)

    def environment(self, *, authorizer: bool = True) -> Environment:
        """The environment of the next expression."""
        base = admission_environment(self._vendor, params=self._params, authorizer=authorizer)
        return with_members(base, self._types) if self._composed else base

    def add_variable(self, name: str, text: str) -> Expression:
        """Compile a variable, which expressions compiled from now on may refer to, even if it has an error."""
        compiled = self.compile(text, Purpose.VARIABLE)
        self._types[name] = member_type(compiled.type)
        self.variables[name] = compiled
        return compiled


def with_members(environment: Environment, members: Mapping[str, Type]) -> Environment:
    """An environment with `variables` that has these members, also those that are added later: thousands of variables
    share them."""
    return environment.with_variables(
        {"variables": Variable(type=_VARIABLES)}, {_VARIABLES.name: Struct(fields=members)}
    )


def member_type(type_: Type) -> Type:
    """The type that a variable is declared with: that of its expression if it is made of scalars, lists and maps."""
    match type_.kind:
        case "list":
            return list_of(member_type(type_.parameters[0]))
        case "map":
            return map_of(*map(member_type, type_.parameters))
        case "bool" | "bytes" | "double" | "duration" | "int" | "null" | "string" | "timestamp" | "uint" | "any":
            return types.DYN if type_.nullable else type_
    return types.DYN

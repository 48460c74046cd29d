"""Environments of recorded cases: variables described by schemas, types of the language, or declared types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchd.cel import types
from orchd.cel.declare import Function, Library, Overload
from orchd.cel.environment import Environment, Struct, Variable
from orchd.cel.libraries.authorizer import AuthorizerDecision, Question, make_authorizer, make_resource_check
from orchd.cel.releases import environment_of_release, language_environment
from orchd.cel.schema import Declared, declare_variable
from orchd.cel.types import Type, list_of, map_of, optional_of, struct
from orchd.cel.values import NONE, Optional, Value
from orchd.cel.wire import from_wire

_TOKENS = re.compile(r"[^(),\s]+|[(),]")
_SIMPLE = {
    **types.NAMED,
    "dyn": types.DYN,
    "any": types.ANY,
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "type": types.TYPE,
}
_MAKERS: dict[str, Callable[..., Type]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "optional_type": optional_of,
    "wrapper": types.wrapper,
    "type": types.type_of_type,
}


def parse_type(text: str, vendor: str) -> Type:
    """Return the type that a text describes: ``map(string, list(int))``, ``tuple(T, U)``, the name of a struct.

    Raises `ValueError` for a text that describes none.
    """
    tokens = [*_TOKENS.findall(text), ""]

    def read() -> Type:
        name = tokens.pop(0)
        if name in ("", "(", ")", ","):
            raise ValueError(f"not a type: {text}")
        if tokens[0] != "(":
            if re.fullmatch("[A-Z]", name):
                return types.parameter(name)
            return _SIMPLE.get(name) or struct(_type_name(name, vendor))
        arguments = []
        while tokens.pop(0) in ("(", ","):
            arguments.append(read())
        make = _MAKERS.get(name)
        return types.opaque(name, *arguments) if make is None else make(*arguments)

    return read()


def parse_declared(described: Any, vendor: str) -> Declared:
    """Return the declaration that a file of declared types describes: names, objects with fields, lists and maps."""
    if isinstance(described, str):
        return Declared(type=parse_type(described, vendor))
    most = described.get("maxElements", 0)
    if "list" in described:
        element = parse_declared(described["list"], vendor)
        return Declared(type=list_of(element.type), most=most & (2**64 - 1), element=element)
    if "map" in described:
        key, element = (parse_declared(part, vendor) for part in described["map"])
        return Declared(type=map_of(key.type, element.type), most=most & (2**64 - 1), key=key, element=element)
    fields = {name: parse_declared(below, vendor) for name, below in described["fields"].items()}
    return Declared(type=struct(_type_name(described["object"], vendor)), fields=fields)


def _type_name(text: str, vendor: str) -> str:
    return types.VENDOR + text.removeprefix(vendor) if text.startswith(f"{vendor}.") else text


class CaseEnvironments:
    """The environments of a file of cases, each made when it is first needed."""

    def __init__(self, described: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
        self._described = described
        # The vendor is the word in the keywords of schemas.
        prefix = re.search(r'"x-([a-z]+)-(?:list-type|int-or-string|preserve-unknown-fields)"', json.dumps(described))
        self.vendor = prefix.group(1) if prefix is not None else "cel"
        self._declared = declared
        self._environments: dict[str, Environment] = {}
        self._bindings: dict[tuple[str, str], dict[str, Value]] = {}

    def environment(self, name: str) -> Environment:
        """Return the environment that cases refer to as ``name``. Raises `KeyError` if it is not described."""
        if name not in self._environments:
            self._environments[name] = self._make(self._described[name])
        return self._environments[name]

    def language(self, case: Mapping[str, Any]) -> tuple[Environment, bool]:
        """Return the environment of a case of the language itself, and whether its check is lenient.

        Such a case brings "type_env" (variables, and functions with overloads), "container" and "disable_check".
        """
        variables: dict[str, Variable] = {}
        functions: list[Function] = []
        for declared in case.get("type_env", ()):
            if "type" in declared:
                variables[declared["name"]] = Variable(type=parse_type(declared["type"], self.vendor))
            else:
                functions.append(
                    Function(name=declared["name"], overloads=tuple(map(self._overload, declared["overloads"])))
                )
        environment = language_environment().with_variables(variables)
        if functions:
            library = Library(name="declared", functions=tuple(functions))
            environment = replace(environment, libraries=(library, *environment.libraries))
        return replace(environment, container=case.get("container") or ""), bool(case.get("disable_check"))

    def _overload(self, described: Mapping[str, Any]) -> Overload:
        return Overload(
            id=described["id"],
            parameters=tuple(parse_type(text, self.vendor) for text in described["args"]),
            result=parse_type(described["result"], self.vendor),
            member=described["member"],
        )

    def _make(self, described: Mapping[str, Any]) -> Environment:
        variables: dict[str, Variable] = {}
        structs: dict[str, Struct] = {}
        for name, variable in described["vars"].items():
            if "sameAs" in variable:
                same = variables[variable["sameAs"]]
                optional = variable.get("optional")
                variables[name] = Variable(
                    type=optional_of(same.type) if optional else same.type,
                    adapt=None if optional else same.adapt,
                    size=same.size,
                )
            elif "schema" in variable:
                resource = bool(variable.get("resourceRoot"))
                variables[name], more = declare_variable(
                    variable["schema"], variable.get("typeName") or f"{name}Type", self.vendor, resource=resource
                )
                structs.update(more)
            elif "decl" in variable:
                declared = parse_declared(self._declared[variable["decl"]], self.vendor)
                variables[name] = Variable(type=declared.type)
                structs.update(declared.structs())
            else:
                variables[name] = Variable(type=parse_type(variable["cel"], self.vendor))
        major, minor = map(int, described.get("release", "1.35").split("."))
        environment = environment_of_release((major, minor), self.vendor, mutates=bool(described.get("patchTypes")))
        environment = environment.with_variables(variables, structs)
        # Types of a file know what those of schemas know, even if they declare no objects.
        is_declared = any("decl" in variable for variable in described["vars"].values())
        return replace(environment, has_schemas=True) if is_declared else environment

    def bindings(self, name: str, binding: str) -> dict[str, Value]:
        """Return values of variables."""
        key = (name, binding)
        if key not in self._bindings:
            described = self._described[name]
            values = described["bindings"][binding]
            self._bindings[key] = {
                variable: self._value(name, variable, how, values)
                for variable, how in described["vars"].items()
                if variable in values or ".authorization." in how.get("cel", "") or how.get("optional")
            }
        return self._bindings[key]

    def _value(self, name: str, variable: str, how: Mapping[str, Any], values: Mapping[str, Any]) -> Value:
        if ".authorization." in how.get("cel", ""):
            return (
                make_authorizer(_authorize)
                if "Resource" not in how["cel"]
                else make_resource_check(_authorize, _REQUEST)
            )
        if how.get("optional"):
            if variable not in values:
                return NONE
            adapt = self.environment(name).variables[how["sameAs"]].adapt
            return Optional(adapt(values[variable]) if adapt is not None else values[variable])
        value = values[variable]
        if "cel" in how and how["cel"] != "dyn":
            return from_wire(value)
        return value


#: The request of the recorded environment with an authorizer.
_REQUEST = Question(group="example.com", resource="things", namespace="ns1", name="thing")


def _authorize(question: Question) -> AuthorizerDecision:
    """The authorizer of recorded cases: allows "get" on every resource but "broken", and the path /allowed."""
    user = "alice"
    if question.service_account is not None:
        user = "system:serviceaccount:{}:{}".format(*question.service_account)
    if question.path is not None:
        return AuthorizerDecision(allowed=question.path == "/allowed", reason=f"user={user} path={question.path}")
    reason = (
        f"user={user} group={question.group} resource={question.resource} sub={question.subresource}"
        f" ns={question.namespace} name={question.name} f=[]/<nil> l=/<nil>"
    )
    if question.resource == "broken":
        return AuthorizerDecision(allowed=False, reason=reason, error="authorizer is broken")
    return AuthorizerDecision(allowed=question.verb == "get", reason=reason)

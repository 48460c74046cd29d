"""Type checking of policies: the expressions of a policy, compiled with the types of the objects that it is about.

An expression that compiles with dynamic objects may still name fields that no object has. The errors are reported in
the status of the policy, and have no other effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.cel.environment import Environment, Struct, Variable
from orchd.cel.libraries.authorizer import AUTHORIZER_TYPE
from orchd.cel.schema import declare_variable
from orchd.cel.types import DYN
from orchd.cel.types import Type as ExpressionType
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.expressions.admission import base_environment, member_type, with_members
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object, ObjectView

Schema = Mapping[str, Any]

#: Kinds that one rule of a policy is checked with.
_MOST_KINDS: Final = 10
_SCALARS: Final[Mapping[str, Schema]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "int32": {"type": "integer"},
    "int64": {"type": "integer"},
    "uint32": {"type": "integer"},
    "uint64": {"type": "integer"},
    "int64ns": {"type": "integer"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "fieldsv1": {"type": "object"},
    "raw": {"type": "object"},
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of objects that a policy is about: its name in warnings, and the environment of its expressions."""

    title: str
    environment: Environment
    members: Mapping[str, ExpressionType]


class TypeChecker:
    """Checks policies against the kinds of a catalog. `has_schema` is asked about custom kinds: false if their fields
    are not known."""

    def __init__(self, catalog: Catalog, has_schema: Callable[[Resource], bool]) -> None:
        self._catalog = catalog
        self._has_schema = has_schema
        self._dialect: Dialect = catalog.dialect

    def warnings(self, policy: ObjectView) -> list[Object]:
        """The expression warnings of a policy, as its status has them."""
        spec = fields.spec(policy)
        kinds = [type_ for resource in self._resources(spec) if (type_ := self._kind(resource, spec)) is not None]
        warnings: list[Object] = []
        for i, validation in enumerate(spec.get("validations") or ()):
            for name in ("expression", "messageExpression"):
                text = validation.get(name) or ""
                message = (
                    "\n".join(filter(None, (_check(text, kind) for kind in kinds)))
                    if text or name == "expression"
                    else ""
                )
                if message:
                    warnings.append({"fieldRef": f"spec.validations[{i}].{name}", "warning": message})
        return warnings

    def _resources(self, spec: ObjectView) -> list[Resource]:
        """The resources that the rules of a policy name, in the order of their kinds."""
        resources: dict[tuple[str, str, str], Resource] = {}
        for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
            for count, resource in enumerate(self._named(rule), 1):
                resources[resource.group, resource.version, resource.kind] = resource
                if count == _MOST_KINDS:
                    return [resources[key] for key in sorted(resources)]
        return [resources[key] for key in sorted(resources)]

    def _named(self, rule: ObjectView) -> Iterator[Resource]:
        """The resources of a rule; none if it has wildcards."""
        groups, versions = sorted(rule.get("apiGroups") or ()), sorted(rule.get("apiVersions") or ())
        if any("*" in text for text in (*groups, *versions)):
            return
        names = sorted(name for name in rule.get("resources") or () if not set("*/") & set(name))
        for group in groups:
            for version in versions:
                for name in names:
                    resource = self._catalog.resource(group, version, name)
                    if resource is not None:
                        yield resource

    def _kind(self, resource: Resource, spec: ObjectView) -> _Kind | None:
        declared = self._declare(resource)
        if declared is None:
            return None
        variable, structs = declared
        variables = {"object": variable, "oldObject": variable, "authorizer": Variable(type=AUTHORIZER_TYPE)}
        reference = spec.get("paramKind")
        params_kind = (
            None
            if reference is None
            else self._catalog.kind(reference.get("apiVersion") or "", reference.get("kind") or "")
        )
        params = None if params_kind is None else self._declare(params_kind)
        if params is not None:
            variables["params"] = params[0]
            structs = {**structs, **params[1]}
        environment = base_environment(self._dialect("{long}")).with_variables(variables, structs)
        members: dict[str, ExpressionType] = {}
        for each in spec.get("variables") or ():
            checked = with_members(environment, members).compile(each.get("expression") or "")
            members[each.get("name") or ""] = DYN if checked.issues else member_type(checked.type)
        title = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        return _Kind(title, with_members(environment, members), members)

    def _declare(self, resource: Resource) -> tuple[Variable, dict[str, Struct]] | None:
        """The declaration of a variable for objects of a resource."""
        if resource.custom and not self._has_schema(resource):
            return None
        name, properties = f"{resource.kind}{resource.version}", _schema(resource.type, self._dialect)["properties"]
        properties |= {"apiVersion": _SCALARS["string"], "kind": _SCALARS["string"]}
        schema = {"type": "object", "properties": properties}
        try:
            return declare_variable(schema, name, self._dialect("{long}"), resource=True)
        except ValueError:
            return None


def _check(text: str, kind: _Kind) -> str:
    """The errors of an expression about objects of a kind as text; "" without any."""
    checked = kind.environment.compile(text)
    return f"{kind.title}: {checked.text}\n" if checked.issues else ""


def _schema(type_: Type, dialect: Dialect, above: frozenset[str] = frozenset()) -> Schema:
    """The schema of a type, without what expressions do not see. {} has no type: fields of it are not known, nor are
    those of a type that is within itself. `above` are the names of the types that it is in."""
    match type_.kind:
        case "struct":
            if type_.name in above:
                return {"type": "object"}
            inside = above | {type_.name} if type_.name else above
            properties = {name: _schema(field.type, dialect, inside) for name, field in type_.fields.items()}
            return {"type": "object", "properties": properties}
        case "list":
            return {"type": "array", "items": _schema(type_.element, dialect, above)}
        case "map":
            return {"type": "object", "additionalProperties": _schema(type_.element, dialect, above)}
        case "int-or-string":
            return {dialect("x-{long}-int-or-string"): True}
    schema = _SCALARS.get(type_.kind, {})
    # Types of custom kinds have the keywords of their schemas.
    form = (type_.constraints or {}).get("format")
    return {**schema, "format": form} if form else schema

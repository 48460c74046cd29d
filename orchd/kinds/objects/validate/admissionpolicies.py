"""Validation of admission policies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.expressions.admission import Compiler, Purpose
from orchd.kinds.jsonpath import JsonPathError, compile_path
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.admissionregistration import one_of, rule_with_operations
from orchd.kinds.objects.validate.conditions import conditions
from orchd.kinds.objects.validate.expressions import match_conditions, report_error
from orchd.kinds.objects.validate.names import label_1035, path_segment, qualified_name, subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector

_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS: Final = 20
#: Maximum length in bytes of the expression of an audit annotation.
_LONGEST_ANNOTATION: Final = 5 * 1024
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED: Final = frozenset(
    "true false null in as break const continue else for function if import let loop package namespace return var void while".split()
)
_EXCLUSIVE: Final = "name and selector are mutually exclusive"
_NOTHING: Final = "validations or auditAnnotations must contain at least one item"


def create(value: Object, report: Report) -> None:
    _metadata(value, report)
    _policy(value, report, check_conditions=True)


def update(value: Object, old: Object, report: Report) -> None:
    """Validate a change. Match conditions are validated if they, or the kind of parameters, changed."""
    new_spec, old_spec = fields.spec(value), fields.spec(old)
    changed = any(new_spec.get(name) != old_spec.get(name) for name in ("paramKind", "matchConditions"))
    _metadata(value, report)
    _policy(value, report, check_conditions=changed)


def update_status(value: Object, old: Object, report: Report) -> None:
    status = fields.status(value)
    at = STATUS / "typeChecking" / "expressionWarnings"
    for i, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        if not warning.get("warning"):
            report.required(at[i] / "warning")
        _field_reference((warning.get("fieldRef") or "").strip(), at[i] / "fieldRef", report)
    conditions(status.get("conditions") or [], STATUS / "conditions", report)


def create_binding(value: Object, report: Report) -> None:
    _metadata(value, report)
    spec = fields.spec(value)
    name = spec.get("policyName") or ""
    if name:
        report.invalids(SPEC / "policyName", name, subdomain(name))
    else:
        report.required(SPEC / "policyName")
    _parameter_reference(spec.get("paramRef"), SPEC / "paramRef", report)
    _match_resources(spec.get("matchResources"), SPEC / "matchResources", report)
    _actions(spec.get("validationActions") or [], SPEC / "validationActions", report)


def update_binding(value: Object, old: Object, report: Report) -> None:
    create_binding(value, report)


def _metadata(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name, core=False)


@dataclass(slots=True, eq=False)
class _Expressions:
    """Compiles and reports the expressions of a policy. Its compiler is made when the first one is needed."""

    report: Report
    make: Callable[[], Compiler]
    lazy_compiler: Compiler | None = field(default=None)

    @property
    def compiler(self) -> Compiler:
        if self.lazy_compiler is None:
            self.lazy_compiler = self.make()
        return self.lazy_compiler

    def check(self, text: str, purpose: Purpose, at: Path, *, reported: str | None = None) -> None:
        """Report the error of an expression; `reported` is the value in it, if it is not the text."""
        report_error(self.compiler.compile(text, purpose), text if reported is None else reported, at, self.report)


def _policy(value: Object, report: Report, *, check_conditions: bool) -> None:
    spec = fields.spec(value)
    kind = spec.get("paramKind")
    variables = spec.get("variables") or ()
    expressions = _Expressions(
        report, lambda: Compiler(report.dialect, params=kind is not None, composed=bool(variables))
    )
    failure = spec.get("failurePolicy")
    if failure is None:
        report.required(SPEC / "failurePolicy")
    one_of(failure, _POLICIES, SPEC / "failurePolicy", report)
    if kind is not None:
        _parameter_kind(kind, SPEC / "paramKind", report)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        report.required(SPEC / "matchConstraints")
    else:
        _match_resources(constraints, SPEC / "matchConstraints", report)
        if not constraints.get("resourceRules"):
            report.required(SPEC / "matchConstraints" / "resourceRules")
    if check_conditions:
        match_conditions(spec.get("matchConditions") or (), SPEC / "matchConditions", report, params=kind is not None)
    for i, variable in enumerate(variables):
        _variable(variable, (SPEC / "variables")[i], expressions)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or []
    if not validations and not annotations:
        report.required(SPEC / "validations", _NOTHING)
        report.required(SPEC / "auditAnnotations", _NOTHING)
    for i, validation in enumerate(validations):
        _validation(validation, (SPEC / "validations")[i], expressions)
    _annotations(annotations, fields.metadata(value).get("name") or "", SPEC / "auditAnnotations", expressions)


def _parameter_kind(kind: Object, at: Path, report: Report) -> None:
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not api_version:
        report.required(at / "apiVersion")
    elif api_version.count("/") > 1:
        report.invalid(at / "apiVersion", api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        group, _, version = api_version.rpartition("/")
        if group:
            _joined(at / "apiVersion", group, subdomain(group), report)
        if version:
            _joined(at / "apiVersion", version, label_1035(version), report)
        else:
            report.invalid(at / "apiVersion", api_version, "version must be specified")
    if not name:
        report.required(at / "kind")
        return
    wrong = label_1035(name.lower())
    if wrong:
        report.invalid(at / "kind", name, "may have mixed case, but should otherwise match: " + ",".join(wrong))


def _joined(at: Path, value: str, wrong: Sequence[str], report: Report) -> None:
    if wrong:
        report.invalid(at, value, ",".join(wrong))


def _match_resources(value: Object | None, at: Path, report: Report) -> None:
    if value is None:
        return
    policy = value.get("matchPolicy")
    if policy is None:
        report.required(at / "matchPolicy")
    one_of(policy, _MATCH_POLICIES, at / "matchPolicy", report)
    for name in ("namespaceSelector", "objectSelector"):
        if value.get(name) is None:
            report.required(at / name)
        else:
            label_selector(value[name], at / name, report, strict=True)
    for name in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(value.get(name) or ()):
            _named_rule(rule, (at / name)[i], report)


def _named_rule(rule: Object, at: Path, report: Report) -> None:
    names: set[str] = set()
    for i, name in enumerate(rule.get("resourceNames") or ()):
        report.invalids((at / "resourceNames")[i], name, path_segment(name))
        if name in names:
            report.duplicate((at / "resourceNames")[i], name)
        names.add(name)
    rule_with_operations(rule, at, report)


def _variable(variable: Object, at: Path, expressions: _Expressions) -> None:
    report = expressions.report
    name, text = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        report.required(at / "name", "name is not specified")
    elif _IDENTIFIER.fullmatch(name) is None or name in _RESERVED:
        report.invalid(at / "name", name, "must be a valid CEL identifier")
    if not text.strip():
        report.required(at / "expression", "expression is not specified")
        return
    report_error(expressions.compiler.add_variable(name, text), text, at / "expression", report)


def _validation(validation: Object, at: Path, expressions: _Expressions) -> None:
    report = expressions.report
    text, message = validation.get("expression") or "", validation.get("message") or ""
    made_message = validation.get("messageExpression") or ""
    if text.strip():
        expressions.check(text, Purpose.CONDITION, at / "expression")
    else:
        report.required(at / "expression", "expression is not specified")
    if made_message.strip():
        expressions.check(made_message, Purpose.MESSAGE, at / "messageExpression")
    elif made_message:
        report.invalid(at / "messageExpression", made_message, "must be non-empty if specified")
    if message and not message.strip():
        report.invalid(at / "message", message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        report.invalid(at / "message", message, "must not contain line breaks")
    one_of(validation.get("reason"), _REASONS, at / "reason", report)


def _annotations(annotations: list[Any], policy: str, at: Path, expressions: _Expressions) -> None:
    report = expressions.report
    if len(annotations) > _MOST_ANNOTATIONS:
        report.invalid(at, annotations, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    keys: set[str] = set()
    for i, annotation in enumerate(annotations):
        key, expression = annotation.get("key") or "", annotation.get("valueExpression") or ""
        if policy:
            name = f"{policy}/{key}"
            report.invalids(at[i] / "key", name, qualified_name(name))
        else:
            report.invalid(at[i] / "key", key, "requires metadata.name be non-empty")
        text = expression.strip()
        if not text:
            report.required(at[i] / "valueExpression", "valueExpression is not specified")
        elif len(text.encode()) > _LONGEST_ANNOTATION:
            report.required(at[i] / "valueExpression", f"must not exceed {_LONGEST_ANNOTATION} bytes in length")
        else:
            expressions.check(text, Purpose.ANNOTATION, at[i] / "valueExpression", reported=expression)
        if key in keys:
            report.duplicate(at[i] / "key", key)
        keys.add(key)


def _parameter_reference(reference: Object | None, at: Path, report: Report) -> None:
    if reference is None:
        return
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        report.invalids(at / "name", name, path_segment(name))
        if selector is not None:
            report.forbidden(at / "name", _EXCLUSIVE)
    if selector is not None:
        label_selector(selector, at / "selector", report, strict=True)
        if name:
            report.forbidden(at / "selector", _EXCLUSIVE)
    if not name and selector is None:
        report.required(at, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        report.required(at / "parameterNotFoundAction")
    else:
        one_of(action, ("Deny", "Allow"), at / "parameterNotFoundAction", report)


def _actions(actions: list[str], at: Path, report: Report) -> None:
    seen: set[str] = set()
    for i, action in enumerate(actions):
        one_of(action, _ACTIONS, at[i], report)
        if action in seen:
            report.duplicate(at[i], action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        report.invalid(at, actions, why)
    if not seen:
        report.required(at, "at least one validation action is required")


def _field_reference(text: str, at: Path, report: Report) -> None:
    """Validate the path of a field in a policy, which a warning is about."""
    if not text:
        report.required(at)
        return
    try:
        # The path may begin with the name of a member.
        compile_path(text if text[0] in ".[$@" else f".{text}")
    except JsonPathError as error:
        report.invalid(at, text, f"invalid JSONPath: {error}")

"""Rules of definitions while their feature gate is off: they are dropped from a definition that is written, at all
depths of its schemas. The client is warned, and a condition of the definition holds their number.
"""

from __future__ import annotations

from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.crd.conditions import with_condition
from orchd.kinds.crd.rules import VALIDATIONS
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.objects.schema_check.definitions import extension_keywords

#: Condition of a definition whose rules were dropped by the last write of its spec.
ENFORCED: Final = "ValidationRulesEnforced"


def without_rules(definition: Object, dialect: Dialect) -> tuple[Object, int]:
    """A definition without the rules of its schemas, and their number."""
    word, count, versions = dialect(VALIDATIONS), 0, []
    spec = definition.get("spec") or {}
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        rule_count = sum(len(each.get(word) or ()) for each in extension_keywords.everywhere(schema))
        if schema and rule_count:
            count += rule_count
            version = {**version, "schema": {"openAPIV3Schema": extension_keywords.without(schema, word)}}
        versions.append(version)
    return ({**definition, "spec": {**spec, "versions": versions}}, count) if count else (definition, 0)


def warning(count: int, dialect: Dialect) -> str:
    """The warning about dropped rules."""
    number = "1 validation rule" if count == 1 else f"{count} validation rules"
    return f"{number} ({dialect(VALIDATIONS)}) dropped: this server does not evaluate them"


def with_dropped(status: ObjectView, count: int, dialect: Dialect, *, now: str) -> Object:
    """The status of a definition with the condition about `count` dropped rules, without the condition if there are
    none."""
    if count:
        return with_condition(status, ENFORCED, "False", "RulesDropped", warning(count, dialect), now=now)
    conditions = status.get("conditions") or ()
    rest = [each for each in conditions if each.get("type") != ENFORCED]
    return dict(status) if len(rest) == len(conditions) else {**status, "conditions": rest}

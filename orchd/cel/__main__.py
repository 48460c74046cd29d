"""``python -m orchd.cel``: compile and evaluate expressions, one case of JSON per line, one result per line.

A case is ``{"id", "env", "binding", "expr", "limit"}``; its result ``{"type", "cost_min", "cost_max", "cost",
"value"}``, with "error", "program_error" or "compile_error" where there is no value. A case without "env" is one of the
language itself and may bring "type_env", "container", "bindings" and "disable_check"; all libraries are there then. The
result of a line that is no case, or has an environment or a binding that cannot be made, is ``{"case_error"}``.
$CEL_ENVS names a file of environments (variables with their schemas and values), $CEL_DECLTYPES one of types. This is
how implementations of the language are compared.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orchd.cel.cases import CaseEnvironments
from orchd.cel.limits import deep
from orchd.cel.program import ProgramError
from orchd.cel.values import EvaluationError
from orchd.cel.wire import from_wire, to_wire

#: The budget of a case that names none.
BUDGET = 1_000_000


class CaseError(Exception):
    """A line that is no case, or one whose environment or binding does not exist or cannot be made."""


def parse_case(line: str) -> dict[str, Any]:
    """Return the case of a line. Raises `CaseError`."""
    try:
        case = json.loads(line)
    except ValueError as error:
        raise CaseError(f"not JSON: {error}") from None
    if not isinstance(case, dict) or not isinstance(case.get("expr"), str):
        raise CaseError("not an object with an expression")
    return case


def result_of(case: Mapping[str, Any], environments: CaseEnvironments) -> dict[str, Any]:
    """Return the result of one case. Raises `CaseError`."""
    lenient = False
    try:
        budget = int(case.get("limit", BUDGET))
        if "env" in case:
            environment = environments.environment(case["env"])
            bindings = environments.bindings(case["env"], case.get("binding", ""))
        else:
            environment, lenient = environments.language(case)
            bindings = {name: from_wire(value) for name, value in (case.get("bindings") or {}).items()}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise CaseError(f"{type(error).__name__}: {error}") from error
    checked = environment.compile(case["expr"], lenient=lenient)
    if checked.issues:
        return {"compile_error": checked.text}
    cost = checked.estimate()
    result: dict[str, Any] = {"type": checked.type_name, "cost_min": cost.low, "cost_max": cost.high}
    try:
        program = checked.program()
    except ProgramError as error:
        return {**result, "program_error": str(error)}
    outcome = program.evaluate(bindings, budget)
    result["cost"] = outcome.cost
    if outcome.error is not None:
        result["error"] = outcome.error
        return result
    try:
        with deep():
            result["value"] = to_wire(outcome.value, environment.spell)
    except EvaluationError as error:
        result["error"] = error.message
    return result


def _read(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return content


def main(read: Callable[[], str] = sys.stdin.readline, write: Callable[[str], Any] = sys.stdout.write) -> None:
    """Evaluate cases until the input ends."""
    described, declared = (_read(os.environ.get(name)) for name in ("CEL_ENVS", "CEL_DECLTYPES"))
    environments = CaseEnvironments(described, declared)
    while line := read():
        if line.strip():
            with deep():
                try:
                    result = result_of(parse_case(line), environments)
                except CaseError as error:
                    result = {"case_error": str(error)}
                write(json.dumps(result) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

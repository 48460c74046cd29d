"""``python -m orchd.cel``: compile and evaluate expressions, one case of JSON per line, one result per line.

A case is ``{"id", "env", "binding", "expr", "limit"}``; its result ``{"type", "cost_min", "cost_max", "cost",
"value"}``, with "error", "program_error" or "compile_error" where there is no value. A case without "env" is one of the
language itself and may bring "type_env", "container", "bindings" and "disable_check"; all libraries are there then.
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


def result_of(case: Mapping[str, Any], environments: CaseEnvironments) -> dict[str, Any]:
    """Return the result of one case. Raises `KeyError` for an environment or a binding that is not known."""
    lenient = False
    if "env" in case:
        environment = environments.environment(case["env"])
        bindings = environments.bindings(case["env"], case.get("binding", ""))
    else:
        environment, lenient = environments.language(case)
        bindings = {name: from_wire(value) for name, value in (case.get("bindings") or {}).items()}
    checked = environment.compile(case["expr"], lenient=lenient)
    if checked.issues:
        return {"compile_error": checked.text}
    cost = checked.estimate()
    result: dict[str, Any] = {"type": checked.type_name, "cost_min": cost.low, "cost_max": cost.high}
    try:
        program = checked.program()
    except ProgramError as error:
        return {**result, "program_error": str(error)}
    outcome = program.evaluate(bindings, int(case.get("limit", BUDGET)))
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
                text = json.dumps(result_of(json.loads(line), environments))
                write(text + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

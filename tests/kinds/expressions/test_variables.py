"""The variables of a policy, which its expressions refer to."""

from __future__ import annotations

from orchd.cel.types import VENDOR
from orchd.dialect import ORCH
from orchd.kinds.expressions.admission import Compiler, Purpose


def test_variables_may_refer_to_earlier_ones() -> None:
    """To later ones they may not."""
    compiler = Compiler(ORCH, composed=True)
    assert "undefined field 'a'" in compiler.add_variable("b", "variables.a").error
    assert not compiler.add_variable("a", "1").error
    assert not compiler.add_variable("c", "variables.a + 1").error
    assert not compiler.compile("variables.c == 2", Purpose.CONDITION).error


def test_thousands_of_variables_share_their_declarations() -> None:
    """Each has an environment; with a copy of the declarations in each of them, 16,000 would take gigabytes."""
    compiler = Compiler(ORCH, composed=True)
    first = compiler.environment()
    compiler.add_variable("a", "1")
    name = f"{VENDOR}.variables"
    assert compiler.environment().structs[name].fields is first.structs[name].fields

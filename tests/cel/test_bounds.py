"""Hostile expressions and values: every one ends in an issue or an error, and none runs longer than its budget."""

from __future__ import annotations

import pytest

from orchd.cel.attributes import qualify
from orchd.cel.environment import Environment, Variable
from orchd.cel.objects import ItemsView
from orchd.cel.releases import environment_of_release
from orchd.cel.types import DYN, STRING
from orchd.cel.values import EvaluationError

ENVIRONMENT: Environment = environment_of_release((1, 35), "example").with_variables({"x": Variable(type=DYN)})
EXCEEDED = "operation cancelled: actual cost limit exceeded"

REFUSED = {
    "too long": ("1" + " " * 100_000, "expression code point size exceeds limit"),
    "brackets": ("(" * 50_000, "expression recursion limit exceeded: 250"),
    "calls": ("f(" * 50_000, "expression recursion limit exceeded: 250"),
    "conditions": ("true ? 1 : " * 5_000, "expression recursion limit exceeded: 250"),
    "sums": ("1" + " + 1" * 300, "max recursion depth exceeded"),
    "selections": ("x" + ".a" * 300, "max recursion depth exceeded"),
    "digits": ("9" * 100_000, "invalid int literal"),
    "escapes": ("'" + "\\x" * 40_000, "more errors were truncated"),
    "repairs": ("1 ) ] } , : " * 1_000, "Syntax error"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_text_is_bounded(name: str) -> None:
    """A text that is too long, too deep or too broken is refused with an issue."""
    text, message = REFUSED[name]
    assert message in ENVIRONMENT.compile(text).text


@pytest.mark.parametrize("text", ["[" * 249 + "]" * 249, "!" * 5_001 + "true", "true" + " && true" * 5_000])
def test_deep_text_within_bounds_is_evaluated(text: str) -> None:
    """Nesting up to the limit, and chains that become balanced trees, compile and run."""
    checked = ENVIRONMENT.compile(text)
    assert not checked.issues
    assert checked.program().evaluate({}, 1_000).error is None


LOOPS = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
EXPENSIVE = {
    "loops in loops": "".join(f"{LOOPS}.all(v{n}, " for n in range(6)) + "true" + ")" * 6,
    "equality of shared lists": f"{'[1]' + '.map(x, [x, x])' * 30} == {'[1]' + '.map(x, [x, x])' * 30}",
    "a long range": "lists.range(9223372036854775807).size() > 0",
    "texts that grow": "'a'" + ".replace('', 'aaaaaaaaaaaaaaaaaaaa')" * 8 + " == 'a'",
    "a negative level": "[[1]].flatten(-9223372036854775808).size() > 0 || "
    + "".join(f"[1, 2].all(v{n}, " for n in range(15))
    + "true"
    + ")" * 15,
    "wide formats": f"{LOOPS}.all(x, '%.65535e'.format([1.0]) != '')",
    "many matches": f"[1, 2, 3, 4, 5].all(x, '{'a' * 4_000}'.findAll('a').size() > 0)",
    "texts of shared lists": f"'%s'.format([{'[1]' + '.map(x, [x, x])' * 30}]) == ''",
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_evaluation_ends_with_its_budget(name: str) -> None:
    """An evaluation that would cost more than its budget is cancelled, also where no cost shows the work."""
    checked = ENVIRONMENT.compile(EXPENSIVE[name])
    assert not checked.issues, checked.text
    outcome = checked.program().evaluate({}, 20_000)
    assert (outcome.error, outcome.cancelled) == (EXCEEDED, True)


@pytest.mark.parametrize(
    ("text", "looks"), [("x.slice(7, 9).size() == 2", 2), ("x.sort() == x", 1), ("x.distinct() == x", 1)]
)
def test_no_more_elements_are_looked_at_than_the_budget_allows(text: str, looks: int) -> None:
    """A part of a long list is read alone, and a list whose sorting is beyond the budget is not sorted."""
    seen: list[int] = []

    def look(element: int) -> int:
        seen.append(element)
        return element

    checked = ENVIRONMENT.compile(text)
    assert not checked.issues, checked.text
    outcome = checked.program().evaluate({"x": ItemsView(look, list(range(10_000)))}, 20_000)
    # Choosing the overload looks at the first element.
    assert len(seen) <= looks + 1
    assert outcome.cancelled == ("slice" not in text)


def test_sorting_a_list_of_unknown_type_costs_little_and_is_bounded() -> None:
    """A call whose overload is open costs 1; the budget bounds how much is sorted in all."""
    program = ENVIRONMENT.compile("x.all(e, x.sort().size() > 0)").program()
    few, many = (program.evaluate({"x": list(range(count))}, 20_000) for count in (20, 500))
    assert (few.value, few.cancelled, many.cancelled) == (True, False, True)


def test_messages_of_absorbed_errors_are_not_written() -> None:
    """A message with a long key is joined from its parts when somebody reads it, and not at each absorbed error."""
    environment = ENVIRONMENT.with_variables({"key": Variable(type=STRING)})
    program = environment.compile("[1, 2].map(v, {'a': 1}[key])").program()
    key = "k" * 1_000_000
    with pytest.raises(EvaluationError) as raised:
        qualify({"a": 1}, key)
    assert any(part is key for part in raised.value.args)
    assert program.evaluate({"key": key}, 100).error == f"no such key: {key}"


@pytest.mark.parametrize(
    "text",
    [
        "x.all(e, Object{a: x}.a != null)",
        "x.all(e, x.all(f, '(a|b)*'.matches('c' + string(e) + string(f)) || true))",
        "dyn(Object{a: x})" + ".a" * 2 + " == 1 || " + "x.all(e, [Object{a: x, b: x, c: x, d: x}].size() == 1)",
    ],
)
def test_work_beyond_the_cost_is_bounded(text: str) -> None:
    """Reading fields of objects as data, and compiling patterns, is work that ends an evaluation."""
    environment = environment_of_release((1, 35), "example", mutates=True).with_variables({"x": Variable(type=DYN)})
    checked = environment.compile(text)
    assert not checked.issues, checked.text
    outcome = checked.program().evaluate({"x": list(range(1_000))}, 100_000_000, work=20_000)
    assert outcome.cancelled and outcome.cost < 20_000


def test_cancelling_is_not_absorbed() -> None:
    """The end of the budget is no error that ``||`` absorbs."""
    outcome = ENVIRONMENT.compile(f"{LOOPS}.all(v, v > 0) || true").program().evaluate({}, 5)
    assert outcome.cancelled


def test_cost_passes_the_budget_by_the_last_step() -> None:
    """The cost of a cancelled evaluation is that of the steps up to the one that passed the budget."""
    program = ENVIRONMENT.compile("[x].all(v, v == 1)").program()
    whole = program.evaluate({"x": 1}, 1_000).cost
    costs = [program.evaluate({"x": 1}, budget).cost for budget in range(whole)]
    assert all(budget < cost <= whole for budget, cost in enumerate(costs))


def test_interrupted_loop_ends() -> None:
    """A loop asks every hundred turns whether anybody still waits."""
    asked = []

    def interrupted() -> bool:
        asked.append(True)
        return len(asked) == 3

    program = ENVIRONMENT.compile("x.all(v, v >= 0)").program()
    outcome = program.evaluate({"x": list(range(1_000))}, 1_000_000, interrupted=interrupted)
    assert (outcome.error, outcome.cancelled, len(asked)) == ("operation interrupted", True, 3)


@pytest.mark.parametrize("key", ["dyn([1])", "dyn({})", "dyn(optional.none())", "dyn(null)", "dyn(1.5)"])
def test_values_that_are_no_keys_are_not_found(key: str) -> None:
    """Looking for a list, a map or another value among the keys of a map finds nothing."""
    outcome = ENVIRONMENT.compile(f"{key} in {{1: 2}}").program().evaluate({}, 1_000)
    assert outcome.value is False


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775807 + x",
        "-9223372036854775807 - x - x",
        "9223372036854775807 * (x + x)",
        "-(-9223372036854775807 - x)",
    ],
)
def test_integers_have_64_bits(text: str) -> None:
    """Arithmetic beyond 64 bits is an error."""
    assert ENVIRONMENT.compile(text).program().evaluate({"x": 1}, 1_000).error == "integer overflow"


@pytest.mark.parametrize("macro", ["optMap(x, x)", "optFlatMap(x, optional.of(x))"])
def test_chains_of_macros_that_copy_their_target_are_bounded(macro: str) -> None:
    """A macro that stands for an expression with its target twice does not make trees that grow by powers of two."""
    checked = ENVIRONMENT.compile(f"optional.of(1){f'.{macro}' * 200}")
    assert [issue.message.partition(":")[0] for issue in checked.issues] == ["expression too large"]
    assert not ENVIRONMENT.compile(f"optional.of(1){f'.{macro}' * 6}").issues


@pytest.mark.parametrize("expression", ["[1, 2][5]", "{'k': true}['z']", "[1, 2][1]"])
def test_selection_that_passes_the_budget_ends_with_its_last_step(expression: str) -> None:
    """A selection of several steps stops at the step that passes the budget, whether the element exists or not."""
    checked = environment_of_release((1, 35), "example").compile(expression)
    outcome = checked.program().evaluate({}, 0)
    assert (outcome.error, outcome.cost) == (EXCEEDED, 1)


@pytest.mark.parametrize(("zone", "value"), [("0" * 5_000 + "1:00", 1), ("-" + "0" * 5_000 + "1:00", 23)])
def test_offsets_with_many_digits_are_evaluated(zone: str, value: int) -> None:
    """Leading zeros of an offset do not count, however many there are."""
    checked = ENVIRONMENT.compile("timestamp('2020-01-01T00:00:00Z').getHours(x)")
    outcome = checked.program().evaluate({"x": zone}, 100_000)
    assert outcome.error is None and outcome.value == value

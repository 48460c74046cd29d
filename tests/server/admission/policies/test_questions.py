"""What an authorizer is asked by expressions."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.cel.environment import Variable
from orchd.cel.libraries.authorizer import AUTHORIZER_TYPE, make_authorizer
from orchd.cel.releases import environment_of_release
from orchd.kinds.expressions.compiled import compile_expression
from orchd.kinds.objects.action_selectors import Selectors
from orchd.kinds.objects.selectors import EQUALS, IN, FieldRequirement, Requirement
from orchd.kinds.users import User
from orchd.server.admission.expressions.evaluation import Evaluator, Run
from orchd.server.admission.expressions.questions import asking
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.coroutines import start

ALICE = User(name="alice", groups=("dev",))
FIELD = FieldRequirement("spec.nodeName", True, "n1")
APP = Requirement("app", EQUALS, frozenset(("web",)))
TIER = Requirement("tier", IN, frozenset(("a", "b")))


def ask(text: str) -> tuple[Any, list[Action]]:
    """The value of an expression, and the actions about which its evaluation asked. Only lists are allowed."""
    actions: list[Action] = []

    async def authorize(action: Action) -> Verdict:
        actions.append(action)
        return Verdict(Decision.ALLOW if action.verb == "list" else Decision.NO_OPINION)

    async def here(function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    environment = environment_of_release((1, 35), "example").with_variables(
        {"authorizer": Variable(type=AUTHORIZER_TYPE)}, {}
    )
    expression = compile_expression(text, environment)
    assert not expression.error

    def work(run: Run) -> Any:
        result, _ = run.evaluate(expression, {"authorizer": make_authorizer(run.decision)})
        return result.error or result.value

    values: list[Any] = []
    done: Deferred[Any] = start(Evaluator(asking(authorize, ALICE), ComputeThread(here)).run(work))
    done.addBoth(values.append)
    return values[0], actions


@pytest.mark.parametrize(
    ("refinement", "selectors"),
    [
        ("", None),
        (".fieldSelector('').labelSelector('')", None),
        (".fieldSelector('spec.nodeName=n1')", Selectors(fields=(FIELD,))),
        (".labelSelector('tier in (b, a), app=web')", Selectors(labels=(APP, TIER))),
        (".labelSelector('app=web').fieldSelector('spec.nodeName=n1')", Selectors(fields=(FIELD,), labels=(APP,))),
        (".labelSelector('app=nil').labelSelector('app=web')", Selectors(labels=(APP,))),
        (".fieldSelector('no operator')", Selectors(fields_wrong=True)),
        (".fieldSelector('spec.nodeName=n1').labelSelector('((')", Selectors(fields=(FIELD,), labels_wrong=True)),
    ],
)
def test_selectors_of_a_check_reach_the_authorizer(refinement: str, selectors: Selectors | None) -> None:
    """The last selector of each sort counts; one that cannot be read restricts nothing."""
    value, actions = ask(f"authorizer.group('').resource('pods'){refinement}.check('list').allowed()")
    assert value is True
    assert actions == [Action(user=ALICE, verb="list", version="*", resource="pods", selectors=selectors)]


def test_checks_that_differ_in_selectors_are_asked_apart() -> None:
    """An answer that is remembered for one selector says nothing about another one."""
    check = "authorizer.group('').resource('pods').labelSelector('app={}').check('list').allowed()"
    _, actions = ask(f"{check.format('a')} && {check.format('b')} && {check.format('a')}")
    assert [action.selectors for action in actions] == [
        Selectors(labels=(Requirement("app", EQUALS, frozenset((value,))),)) for value in ("a", "b")
    ]


def test_an_account_is_asked_about_instead_of_the_user() -> None:
    """The rest of the question is the same."""
    value, (action,) = ask(
        "authorizer.serviceAccount('ns', 'robot').group('apps').resource('deployments').subresource('scale')"
        ".namespace('ns').name('web').check('update').allowed()"
    )
    assert value is False
    assert action.user.name == "system:serviceaccount:ns:robot"
    assert (action.group, action.resource, action.subresource) == ("apps", "deployments", "scale")
    assert (action.namespace, action.name, action.verb) == ("ns", "web", "update")


def test_a_path_is_asked_about_without_a_resource() -> None:
    """Paths have no version either."""
    _, actions = ask("authorizer.path('/metrics').check('get').allowed()")
    assert actions == [Action(user=ALICE, verb="get", path="/metrics")]

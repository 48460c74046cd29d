"""RBAC: permissions by roles and bindings, and the reasons of decisions."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.authz.compiled_rules import CompiledRules
from orchd.server.authz.interfaces import Action, Decision
from orchd.server.authz.rbac import RoleBasedAuthorizer
from orchd.testing.doubles.informers import MemoryInformer, MemoryInformers
from orchd.testing.doubles.results import result_of
from tests.kinds.test_body_bounds import lines

GROUP = ORCH("rbac.authorization.{abbr}.io")


def ref(plural: str) -> ResourceRef:
    return ResourceRef(GROUP, "v1", plural)


def role(name: str, *rules: Any, namespace: str = "") -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"metadata": meta, "rules": list(rules)}


def rule(verbs: str = "get", groups: str = "", resources: str = "", names: str = "", paths: str = "") -> Object:
    if paths:
        return {"verbs": verbs.split(), "nonResourceURLs": paths.split()}
    out = {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split()}
    if names:
        out["resourceNames"] = names.split()
    return out


def binding(name: str, kind: str, role_name: str, *subjects: Any, namespace: str = "") -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "metadata": meta,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role_name},
        "subjects": list(subjects),
    }


def user(name: str) -> Object:
    return {"kind": "User", "name": name}


def setup() -> Any:
    informers = MemoryInformers()
    return informers, RoleBasedAuthorizer(ORCH, informers)


def act(
    verb: str = "get",
    resource: str = "pods",
    name: str = "",
    namespace: str = "ns",
    group: str = "",
    sub: str = "",
    path: str = "",
    who: str = "u",
    groups: Any = (),
) -> Any:
    return Action(
        user=User(name=who, groups=groups),
        verb=verb,
        group=group,
        resource="" if path else resource,
        subresource=sub,
        name=name,
        namespace="" if path else namespace,
        path=path,
    )


@pytest.mark.parametrize(
    ("given", "action", "allowed"),
    [
        (rule("get list", "", "pods"), act("list"), True),
        (rule("get list", "", "pods"), act("watch"), False),
        (rule("*", "", "pods"), act("watch"), True),
        (rule("get", "apps", "deployments"), act(resource="deployments"), False),
        (rule("get", "*", "deployments"), act(resource="deployments", group="apps"), True),
        (rule("get", "", "pods"), act(sub="log"), False),
        (rule("get", "", "pods/log"), act(sub="log"), True),
        (rule("get", "", "*/log"), act(sub="log"), True),
        (rule("get", "", "*/log"), act(), False),
        (rule("get", "", "pods/*"), act(sub="log"), False),
        (rule("get", "", "*"), act(sub="log"), True),
        (rule("get", "", "pods", names="a b"), act(name="b"), True),
        (rule("get", "", "pods", names="a b"), act(name="c"), False),
        (rule("get", "", "pods", names="a b"), act(), False),
        (rule("get", paths="/a /b/*"), act(path="/b/c"), True),
        (rule("get", paths="/a /b/*"), act(path="/b"), False),
        (rule("get", paths="/a"), act(path="/a/"), False),
        (rule("get", paths="*"), act(path="/x"), True),
        (rule("get", paths="/a"), act(verb="post", path="/a"), False),
        (rule("*", "*", "*"), act(path="/a"), False),
    ],
)
def test_a_rule_allows_what_it_names(given: Any, action: Action, allowed: bool) -> None:
    """Verbs, groups, resources, names and paths must all match; stars match any, subresources are named with a
    slash."""
    assert CompiledRules([given]).allow(action) is allowed


def test_rules_of_one_role_add_up() -> None:
    """A rule without names lifts the restriction of another rule for the resource; names of two rules are united."""
    assert CompiledRules([rule("get", "", "pods", names="a"), rule("get", "", "pods")]).allow(act(name="z"))
    both = CompiledRules([rule("get", "", "pods", names="a"), rule("get", "", "pods", names="b")])
    assert both.allow(act(name="a")) and both.allow(act(name="b")) and not both.allow(act(name="c"))


def test_a_role_binding_holds_in_its_namespace_only() -> None:
    """A RoleBinding grants even a ClusterRole's rules in its own namespace only, and never paths."""
    informers, rbac = setup()
    informers.put(ref("clusterroles"), role("r", rule("get", "", "pods"), rule("get", paths="/m")))
    informers.put(ref("rolebindings"), binding("b", "ClusterRole", "r", user("u"), namespace="ns"))
    verdict = result_of(rbac.authorize(act()))
    assert verdict.decision is Decision.ALLOW
    assert verdict.reason == 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to User "u"'
    assert result_of(rbac.authorize(act(namespace="other"))).decision is Decision.NO_OPINION
    assert result_of(rbac.authorize(act(path="/m"))).decision is Decision.NO_OPINION


def test_subjects_are_users_groups_and_accounts() -> None:
    """A ServiceAccount subject without a namespace is in the binding's; it is matched by its user name."""
    informers, rbac = setup()
    informers.put(ref("clusterroles"), role("r", rule("get", "", "pods")))
    informers.put(ref("clusterrolebindings"), binding("c", "ClusterRole", "r", {"kind": "Group", "name": "g"}))
    informers.put(
        ref("rolebindings"), binding("b", "ClusterRole", "r", {"kind": "ServiceAccount", "name": "sa"}, namespace="ns")
    )
    assert result_of(rbac.authorize(act(groups=("g",)))).reason.endswith('to Group "g"')
    account = act(who="system:serviceaccount:ns:sa")
    assert result_of(rbac.authorize(account)).reason.endswith('to ServiceAccount "sa/ns"')


def test_missing_role_is_named_in_the_reason() -> None:
    """A binding to a missing role allows nothing, and the reason names the role."""
    informers, rbac = setup()
    informers.put(ref("rolebindings"), binding("b", "ClusterRole", "gone", user("u"), namespace="ns"))
    assert result_of(rbac.authorize(act())).reason == f'RBAC: clusterrole.{GROUP} "gone" not found'


def test_changes_take_effect_at_once() -> None:
    """Changed roles and subjects and deleted bindings take effect as soon as the informer has them."""
    informers, rbac = setup()
    informers.put(ref("roles"), role("r", rule("get", "", "pods"), namespace="ns"))
    informers.put(ref("rolebindings"), binding("b", "Role", "r", user("u"), namespace="ns"))
    assert result_of(rbac.authorize(act())).decision is Decision.ALLOW
    informers.put(ref("roles"), role("r", rule("list", "", "pods"), namespace="ns"))
    assert result_of(rbac.authorize(act())).decision is Decision.NO_OPINION
    informers.put(ref("rolebindings"), binding("b", "Role", "r", user("v"), namespace="ns"))
    assert result_of(rbac.authorize(act("list"))).decision is Decision.NO_OPINION
    assert result_of(rbac.authorize(act("list", who="v"))).decision is Decision.ALLOW
    informers.informer(ref("rolebindings")).remove("ns", "b")
    assert result_of(rbac.authorize(act("list", who="v"))).decision is Decision.NO_OPINION


class LateInformer(MemoryInformer):
    """Reports existing objects to new listeners only when the test does."""

    def add_listener(self, listener: Any) -> None:
        self._listeners.append(listener)

    def report(self) -> None:
        for listener in self._listeners:
            for obj in self._objects.values():
                listener("ADDED", None, obj)


def test_existing_bindings_hold_before_they_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bindings that are in the cache hold at once; reported then, each still grants once and ends with its deletion."""
    informers, late = MemoryInformers(), LateInformer()
    for name in ("b", "c"):
        late.put(binding(name, "ClusterRole", "r", user("u")))
    kept = informers.informer
    monkeypatch.setattr(informers, "informer", lambda of: late if of.plural == "clusterrolebindings" else kept(of))
    informers.put(ref("clusterroles"), role("r", rule("get", "", "pods")))
    rbac = RoleBasedAuthorizer(ORCH, informers)
    assert result_of(rbac.authorize(act())).decision is Decision.ALLOW
    late.report()
    assert len(rbac.rules(User(name="u"), "ns").resource) == 2
    late.remove("", "b")
    late.remove("", "c")
    assert result_of(rbac.authorize(act())).decision is Decision.NO_OPINION


def test_rules_are_listed_for_review() -> None:
    """`rules` returns resource and path rules separately, and is incomplete if a role is missing."""
    informers, rbac = setup()
    informers.put(ref("clusterroles"), role("r", rule("get", "", "pods"), rule("get", paths="/m")))
    informers.put(
        ref("clusterrolebindings"),
        binding("c", "ClusterRole", "r", user("u")),
        binding("d", "ClusterRole", "gone", user("u")),
    )
    rules = rbac.rules(User(name="u"), "ns")
    assert [(r.api_groups, r.resources) for r in rules.resource] == [(("",), ("pods",))]
    assert [r.paths for r in rules.non_resource] == [("/m",)]
    assert rules.incomplete and "gone" in rules.error


def test_thousands_of_subjects_are_read_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binding whose subjects stay the same is not indexed again, and grants once however often it names a subject."""
    informers, rbac = setup()
    informers.put(ref("clusterroles"), role("r", rule("get", "", "pods")))
    subjects = [*(user(f"u{number}") for number in range(500)), *[user("twice")] * 500]
    bound = binding("b", "ClusterRole", "r", *subjects)
    informers.put(ref("clusterrolebindings"), bound)
    labelled = {**bound, "metadata": {**bound["metadata"], "labels": {"a": "b"}}}
    assert lines(lambda: informers.put(ref("clusterrolebindings"), labelled)) < 200
    asked, allow = [0], CompiledRules.allow

    def count(self: CompiledRules, action: Action) -> bool:
        asked[0] += 1
        return allow(self, action)

    monkeypatch.setattr(CompiledRules, "allow", count)
    assert result_of(rbac.authorize(act("list", who="twice"))).decision is Decision.NO_OPINION and asked[0] == 1
    assert result_of(rbac.authorize(act("get", who="u7"))).decision is Decision.ALLOW
    informers.put(ref("clusterrolebindings"), binding("b", "ClusterRole", "r", *subjects[:7]))
    assert result_of(rbac.authorize(act("get", who="u7"))).decision is Decision.NO_OPINION
    assert len(rbac.policy_rules(User(name="u6"), "")[0]) == 1

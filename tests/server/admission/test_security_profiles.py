"""SELinux, AppArmor and seccomp rules of pod security policies, and the texts of their violations."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.server.admission.plugins.podsecuritypolicies import findings
from orchd.server.admission.plugins.podsecuritypolicies.security_profiles import (
    AppArmor,
    Seccomp,
    check_selinux_rule,
    default_selinux,
    seccomp_field,
    selinux_findings,
)

APPARMOR, SECCOMP = "apparmor.security.beta.orch.io/", "seccomp.security.alpha.orch.io/"
LABELS = {"level": "s0:c0,c1", "role": "r", "type": "t", "user": "u"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, '"null"'), (True, "true"), (False, "false"), (5, "5"), ("a", '"a"'), ('"', '"\\""'), ([1], "[1]")],
)
def test_values_in_violations(value: Any, text: str) -> None:
    assert findings.format_value(value) == text
    assert findings.invalid("a.b", value, "no") == f"a.b: Invalid value: {text}: no"
    assert findings.invalid("a.b", value, "") == f"a.b: Invalid value: {text}"


def test_texts_of_violations() -> None:
    assert findings.forbidden("a", "no") == "a: Forbidden: no"
    assert (findings.required("a"), findings.required("a", "no")) == ("a: Required value", "a: Required value: no")
    assert [findings.listing("[]int64", items) for items in (None, [], ["1", "2"])] == [
        "[]int64(nil)", "[]int64(nil)", "[]int64{1, 2}",
    ]  # fmt: skip
    ranges: list[Any] = [{"min": 5, "max": 9}, {"max": 1}, {}]
    assert findings.spans(ranges) == "[{5 9} {0 1} {0 0}]"
    assert [findings.within(number, ranges) for number in (0, 1, 2, 4, 5, 9, 10)] == [
        True,
        True,
        False,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rule": "RunAsAny"}, ""),
        ({"rule": "MustRunAs", "seLinuxOptions": LABELS}, ""),
        ({"rule": "MustRunAs", "seLinuxOptions": {}}, ""),
        ({"rule": "MustRunAs"}, "MustRunAs requires SELinuxOptions"),
        ({"rule": "Other"}, "Unrecognized SELinuxContext strategy type Other"),
        ({}, "Unrecognized SELinuxContext strategy type None"),
    ],
)
def test_selinux_rules(options: Any, problem: str) -> None:
    if problem:
        with pytest.raises(ValueError, match=problem):
            check_selinux_rule(options)
    else:
        check_selinux_rule(options)
        assert default_selinux(options) == options.get("seLinuxOptions")


@pytest.mark.parametrize(
    ("given", "violations"),
    [
        (LABELS, []),
        ({**LABELS, "level": "s0-s0:c1,c0"}, []),
        ({**LABELS, "level": "s0-s1:c0,c1"}, ['p.level: Invalid value: "s0-s1:c0,c1": must be s0:c0,c1']),
        ({**LABELS, "level": "s0"}, ['p.level: Invalid value: "s0": must be s0:c0,c1']),
        ({**LABELS, "role": "x", "user": None},
         ['p.role: Invalid value: "x": must be r', 'p.user: Invalid value: "": must be u']),
        ({**LABELS, "type": "x"}, ['p.type: Invalid value: "x": must be t']),
        (None, ["p: Required value"]),
    ],
)  # fmt: skip
def test_selinux_labels(given: Any, violations: list[str]) -> None:
    """Each member is the policy's; the order of categories does not count."""
    assert selinux_findings({"rule": "MustRunAs", "seLinuxOptions": LABELS}, "p", given) == violations
    assert selinux_findings({"rule": "RunAsAny"}, "p", given) == []


PATH = f"pod.metadata.annotations[container.{APPARMOR}c]"


@pytest.mark.parametrize(
    ("allowed", "profile", "violations"),
    [
        (None, "", []),
        ("a,b", "b", []),
        ("a,b", "", [f"{PATH}: Forbidden: AppArmor profile must be set"]),
        ("a,b", "c", [f'{PATH}: Forbidden: c is not an allowed profile. Allowed values: "a,b"']),
    ],
)
def test_apparmor_profiles(allowed: str | None, profile: str, violations: list[str]) -> None:
    notes = {} if allowed is None else {f"{APPARMOR}allowedProfileNames": allowed}
    rules = AppArmor.read({**notes, f"{APPARMOR}defaultProfileName": "d"}, ORCH)
    assert rules.default == "d" and AppArmor.read({}, ORCH).default == ""
    assert rules.findings({f"container.{APPARMOR}c": profile, f"container.{APPARMOR}d": "x"}, "c") == violations


@pytest.mark.parametrize(
    ("profile", "field"),
    [
        ("docker/default", {"type": "RuntimeDefault"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ("localhost/", None),
        ("*", None),
        ("", None),
    ],
)
def test_seccomp_annotations_as_fields(profile: str, field: Any) -> None:
    assert seccomp_field(profile) == field


@pytest.mark.parametrize(
    ("allowed", "profile", "problem"),
    [
        (None, "", ""),
        (None, "unconfined", "seccomp may not be set"),
        ("*", "anything", ""),
        ("a,b", "b", ""),
        ("a,b", "c", "c is not an allowed seccomp profile. Valid values are a,b"),
        ("a,b", "", " is not an allowed seccomp profile. Valid values are a,b"),
        ("docker/default", "runtime/default", ""),
        ("runtime/default", "docker/default", ""),
        (
            "docker/default",
            "unconfined",
            "unconfined is not an allowed seccomp profile. Valid values are docker/default",
        ),
    ],
)
def test_seccomp_profiles(allowed: str | None, profile: str, problem: str) -> None:
    """The two names of the default profile stand for each other."""
    rules = Seccomp.read({} if allowed is None else {f"{SECCOMP}allowedProfileNames": allowed}, ORCH)
    assert rules.findings("k", profile) == ([f"pod.metadata.annotations[k]: Forbidden: {problem}"] if problem else [])
    assert Seccomp.read({f"{SECCOMP}defaultProfileName": "d"}, ORCH).default == "d"


LOCAL, DEFAULT = {"type": "Localhost", "localhostProfile": "x"}, {"type": "RuntimeDefault"}


@pytest.mark.parametrize(
    ("notes", "of_pod", "own", "pod_profile", "profile"),
    [
        ({}, None, None, "", ""),
        ({f"{SECCOMP}pod": "p"}, None, None, "p", "p"),
        ({f"{SECCOMP}pod": "p"}, DEFAULT, None, "p", "runtime/default"),
        ({}, DEFAULT, None, "runtime/default", "runtime/default"),
        ({}, {"type": "Unconfined"}, LOCAL, "unconfined", "localhost/x"),
        ({}, {"type": "Localhost"}, None, "localhost/", "localhost/"),
        ({}, {"type": "Other"}, None, "", ""),
        ({f"container.{SECCOMP}c": "q"}, DEFAULT, None, "runtime/default", "q"),
        ({f"container.{SECCOMP}c": "q"}, None, DEFAULT, "", "runtime/default"),
        ({f"container.{SECCOMP}d": "q"}, None, None, "", ""),
    ],
)
def test_seccomp_profile_of_a_container(notes: Any, of_pod: Any, own: Any, pod_profile: str, profile: str) -> None:
    """Its field, its annotation, the pod's field, the pod's annotation."""
    rules = Seccomp.read({}, ORCH)
    context = {} if of_pod is None else {"seccompProfile": of_pod}
    container = {"name": "c", **({} if own is None else {"securityContext": {"seccompProfile": own}})}
    assert rules.of_pod(notes, context) == pod_profile
    assert rules.of_container(notes, context, container) == profile

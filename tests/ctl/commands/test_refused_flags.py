"""Combinations of flags and arguments that commands refuse before they change anything."""

from __future__ import annotations

import pytest

from orchd.client.requests import Call
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("patch cm/m", "give the patch with -p or --patch-file, and not with both"),
        ("patch cm/m -p {} --patch-file=f", "give the patch with -p or --patch-file, and not with both"),
        ("patch cm/m -p {", "the patch is neither JSON nor YAML: quote it as one argument"),
        ("patch cm/m -p []", "a patch of --type=strategic is a mapping"),
        ("patch cm/m --type=merge -p []", "a patch of --type=merge is a mapping"),
        ("patch cm/m --type=json -p {}", "a patch of --type=json is a list of operations"),
        ("run p --image=i --rm", "--rm needs -i or --attach"),
        ("run p --image=i -i --dry-run=client", "--dry-run makes no pod to attach to: leave out -i and --attach"),
        ("run p --image=i --attach --dry-run=server", "--dry-run makes no pod to attach to: leave out -i and --attach"),
        ("run p --image=i -t", "-t needs -i"),
        ("run p --image=i --expose", "--expose needs --port: the port of the service"),
        ("apply -f - view-last-applied cm/m", "give -f behind apply view-last-applied"),
        ("set env deploy/w", "which variables? Write KEY=VALUE, KEY-, --from=TYPE/NAME, or --list"),
        ("set env deploy/w --env=A", "--env=A: write --env=KEY=VALUE"),
        ("set env deploy/w 0A=b", "'0A' is not a name of a variable: use letters, digits, '-', '_' and '.'"),
        ("set env deploy/w A+-", "'A+' is not a name of a variable"),
    ],
)
def test_command_that_makes_no_sense(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, words: str, says: str) -> None:
    """The error says what to write instead, and nothing is asked of the server."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    assert says in ctl(*words.split(), status=1).error
    assert calls == []


def test_flags_that_only_just_make_sense(ctl: Ctl) -> None:
    """Neighbours of the refused combinations are accepted."""
    ctl("create", "serviceaccount", "default")
    assert ctl("run", "p", "--image=i", "--dry-run=client").lines == ["pod/p created (dry run)"]
    assert ctl("run", "q", "--image=i", "--expose", "--port=80").lines == ["service/q created", "pod/q created"]
    ctl("create", "cm", "m")
    operation = '[{"op": "add", "path": "/data", "value": {"a": "b"}}]'
    assert ctl("patch", "cm/m", "--type=json", "-p", operation).lines == ["configmap/m patched"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "b"

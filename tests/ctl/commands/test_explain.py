"""``explain``."""

from __future__ import annotations

from tests.ctl.ctl_runner import Ctl


def test_explain_describes_fields(ctl: Ctl) -> None:
    """Fields are described from the server's OpenAPI document; the error for an unknown field lists the existing ones."""
    out = ctl("explain", "deploy.spec.template.spec.containers").out
    assert "FIELD:      containers <[]Container>" in out
    assert "  image\t<string>" in out
    assert 'field "spek" does not exist' in ctl("explain", "pod.spek", status=1).error
    assert "    containerPort\t<integer> -required-" in ctl("explain", "pod.spec.containers", "--recursive").out

"""``explain``."""

from __future__ import annotations

from orchd.ctl.commands.explain import explain_lines
from tests.ctl.ctl_runner import Ctl


def test_explain_describes_fields(ctl: Ctl) -> None:
    """Fields are described from the server's OpenAPI document; the error for an unknown field lists the existing
    ones."""
    out = ctl("explain", "deploy.spec.template.spec.containers").out
    assert "FIELD:      containers <[]Container>" in out
    assert "  image\t<string>" in out
    assert 'field "spek" does not exist' in ctl("explain", "pod.spek", status=1).error
    assert "    containerPort\t<integer> -required-" in ctl("explain", "pod.spec.containers", "--recursive").out


def test_explain_shows_the_rules_of_custom_kinds() -> None:
    """Rules stand below the description of the field that they are about, each with its message."""
    spec = {
        "type": "object",
        "properties": {"most": {"type": "integer", "x-orch-validations": [{"rule": "self < 10"}]}},
        "x-orch-validations": [{"rule": "self.least <= self.most", "message": "least is above most"}],
    }
    listed = {"type": "array", "items": spec, "x-orch-validations": [{"rule": "self.size() > 0"}]}
    schema = {"type": "object", "properties": {"spec": spec, "listed": listed}}

    def rules(*path: str) -> list[str]:
        lines = explain_lines({}, schema, "Widget", "rules.example/v1", list(path), recursive=False)
        at = lines.index("RULES:") + 1
        return lines[at : lines.index("", at)]

    assert rules("spec") == ["    self.least <= self.most", "        least is above most"]
    assert rules("spec", "most") == ["    self < 10"]
    assert rules("listed") == ["    self.size() > 0", "    self.least <= self.most", "        least is above most"]

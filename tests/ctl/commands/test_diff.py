"""``diff``."""

from __future__ import annotations

from pathlib import Path

from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


def test_diff_shows_changes_and_sets_the_exit_status(ctl: Ctl) -> None:
    """Diff prints what apply would change; its exit status says whether there are differences."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("diff", "-f", "-", send=MAP).out == ""
    assert "+  a: c" in ctl("diff", "-f", "-", send=MAP.replace("a: b", "a: c"), status=1).lines


def test_failed_diff_has_its_own_status(ctl: Ctl, tmp_path: Path) -> None:
    """A failed diff exits with status 2, since 1 means differences, and prints only the error."""
    absent = ctl("diff", "-f", str(tmp_path / "absent"), status=2)
    unknown_field = ctl("diff", "-f", "-", send=MAP.replace("\ndata:", "\nnosuch:"), status=2)
    unknown_kind = ctl("diff", "-f", "-", send=MAP.replace("ConfigMap", "NoSuch"), status=2)
    assert [ran.out for ran in (absent, unknown_field, unknown_kind)] == ["", "", ""]
    assert "absent" in absent.error and "nosuch" in unknown_field.error and "NoSuch" in unknown_kind.error


def test_fields_of_other_managers_are_compared_and_named(ctl: Ctl) -> None:
    """Where apply would conflict, diff shows what it would change by force, and notes the conflict on standard
    error."""
    ctl("create", "-f", "-", "--field-manager=other", send=MAP)
    ran = ctl("diff", "-f", "-", send=MAP.replace("a: b", "a: c"), status=1)
    assert "+  a: c" in ran.lines
    assert 'conflict with "other"' in ran.error and "--force-conflicts" in ran.error
    assert ctl("get", "cm", "m", "-o", "jsonpath={.data.a}").out == "b"

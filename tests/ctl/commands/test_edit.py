"""``edit``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


def test_edit_sends_changes_and_reopens_after_a_refusal(ctl: Ctl) -> None:
    """The edited object is sent; without a change there is no request; after a rejection the editor opens again with
    the reason."""
    ctl("apply", "-f", "-", send=MAP)
    ctl.edit = lambda text: text.replace("a: b", "a: edited")
    assert ctl("edit", "cm", "m").lines == ["configmap/m edited"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "edited"
    ctl.edit = lambda text: text
    assert "no changes made" in ctl("edit", "cm", "m").out
    seen: list[str] = []

    def wrong(text: str) -> str:
        seen.append(text)
        return text if len(seen) > 1 else text.replace("  name: m", "  name: other")

    ctl.edit = wrong
    refused = ctl("edit", "cm", "m", status=1).error
    assert "metadata.name cannot be changed" in refused
    assert seen[1].startswith("# ")
    kept = Path(refused.split()[-1])
    assert "name: other" in kept.read_text()
    kept.unlink()


def test_edit_takes_forms_subresources_and_several_objects(ctl: Ctl) -> None:
    """edit opens JSON or YAML, a subresource, and several objects in turn."""
    ctl("apply", "-f", "-", send=MAP)
    ctl.edit = lambda text: text.replace('"a": "b"', '"a": "c"')
    ran = ctl("edit", "cm", "m", "-o", "json", "--output-patch")
    assert ran.lines == ["configmap/m edited", 'Patch: {"data":{"a":"c"}}']
    ctl("create", "cm", "n")
    ctl.edit = lambda text: text.replace("  name:", "  annotations: {x: text}\n  name:")
    assert ctl("edit", "cm", "m", "n").lines == ["configmap/m edited", "configmap/n edited"]
    ctl("create", "ns", "sub")
    seen: list[str] = []
    ctl.edit = lambda text: seen.append(text)
    ctl("edit", "ns", "sub", "--subresource=status")
    assert "phase: Active" in seen[0]
    assert "yaml or json" in ctl("edit", "cm", "m", "-o", "name", status=1).error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MAP.replace("data: {a: b}", "data: {a: {}}"), "json: cannot unmarshal object into Go struct field ConfigMap.data of type string"), (MAP.replace("kind: ConfigMap", "kind: Secret"), "# kind and metadata.name cannot"),
        (f"{MAP}---\n{MAP}", "# the edited text must be one object"), (MAP + "frob: 1\n", "unknown field"), ("a: [", "# the edited text: "),
    ],
)  # fmt: skip
def test_rejected_texts_are_edited_again(ctl: Ctl, text: str, says: str) -> None:
    """The reason is above the text; a corrected one is sent."""
    ctl("apply", "-f", "-", send=MAP)
    seen: list[str] = []

    def correct(shown: str) -> str:
        seen.append(shown)
        return text if len(seen) == 1 else f"# more\n{MAP.replace('a: b', 'a: c')}"

    ctl.edit = correct
    assert ctl("edit", "cm", "m").lines == ["configmap/m edited"]
    assert seen[1].endswith(text) and says in seen[1].splitlines()[0]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "c"


@pytest.mark.parametrize("second", ["", " \n"])
def test_an_empty_text_after_a_rejection_gives_up(ctl: Ctl, second: str) -> None:
    """Who empties the editor that opened again sees the reason of the rejection."""
    ctl("apply", "-f", "-", send=MAP)
    texts = iter((MAP.replace("name: m", "name: other"), second))
    ctl.edit = lambda text: next(texts)
    error = ctl("edit", "cm", "m", status=1).error
    assert "metadata.name cannot be changed" in error
    Path(error.split()[-1]).unlink()


def test_edit_gives_up_after_several_rejections(ctl: Ctl) -> None:
    """If all texts of an editor are rejected, edit ends after a number of attempts."""
    ctl("apply", "-f", "-", send=MAP)
    attempts: list[str] = []

    def wrong(text: str) -> str:
        attempts.append(text)
        return f"{text}\nunknown{len(attempts)}: [\n"

    ctl.edit = wrong
    error = ctl("edit", "cm", "m", status=1).error
    assert len(attempts) == 20 and "the text is kept in " in error
    Path(error.split()[-1]).unlink()

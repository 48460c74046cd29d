"""Objects of files: documents, lists, folders and selections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.local_patches import overridden
from orchd.ctl.objects.manifests import parse_objects, read_objects, read_raw_body, select_by_labels
from orchd.kinds.jsonvalues import Object

SESSION = Session(lambda session, work: None, {}, lambda text: None)


def _one(name: str) -> str:
    return f"apiVersion: v1\nkind: A\nmetadata: {{name: {name}}}\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (_one("a"), ["a"]), (f"---\n{_one('a')}---\n{_one('b')}---\n", ["a", "b"]), (f"--- # b\n{_one('a')}", ["a"]),
        (f"---  \n{_one('a')}---\t\n---\n{_one('b')}", ["a", "b"]), (f"{_one('a')}---#\n{_one('b')}", ["a", "b"]), ("", []), ("# no\n---\n", []),
        (_one("a") + "---x: [\n1]\n", ["a"]),
        (_one("a") + 'data: {x: "\n  ---\n"}\n', ["a"]),
        ('{"apiVersion": "v1", "kind": "AList", "items": [{"apiVersion": "v1", "kind": "List", "items": []}, {"apiVersion": "v1", "kind": "A", "metadata": {"name": "b"}}]}', ["b"]),
        (_one("a").replace("kind: A", "kind: AllowList"), ["a"]),
    ],
)  # fmt: skip
def test_documents(text: str, names: list[str]) -> None:
    """A line of --- separates documents; members of lists are objects of their own."""
    assert [each["metadata"]["name"] for each in parse_objects(text, "f")] == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "f: an object needs apiVersion and kind"), ("apiVersion: v1", "needs apiVersion and kind"), ("kind: A", "needs apiVersion and kind"),
        ("apiVersion: v1\nkind: A", "f: A needs metadata with a name"), ("apiVersion: v1\nkind: AList\nitems: {}", "AList needs metadata"),
        ("apiVersion: v1\nkind: AList\nitems: [5]", "needs apiVersion and kind"), ("a: [", "f: yaml: line 1: did not find expected node content"), ("a: b\na: c", "f: "),
    ],
)  # fmt: skip
def test_texts_that_are_no_objects(text: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        list(parse_objects(text, "f"))


def test_folders(tmp_path: Path) -> None:
    """Files of a folder by their names, with three suffixes; those of folders inside only where it is wanted."""
    for name in ("b.yaml", "a.json", "c.yml", "d.txt", "sub/e.yaml", "f.yaml/g.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_one(path.stem))
    for recursive, names in ((False, "abc"), (True, "abcge")):
        objects = read_objects(SESSION, [str(tmp_path)], recursive=recursive)
        assert [each["metadata"]["name"] for each in objects] == list(names)
    assert [each["metadata"]["name"] for each in read_objects(SESSION, [str(tmp_path / "d.txt")])] == ["d"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match="no objects: name a file"):
        read_objects(SESSION, [str(tmp_path / "empty")])
    (tmp_path / "empty" / "x.yaml").write_text("# nothing\n")
    with pytest.raises(CommandError, match=r"no objects in .*/empty/x\.yaml"):
        read_objects(SESSION, [str(tmp_path / "empty")])


def test_bodies_of_raw_requests(tmp_path: Path) -> None:
    """One file, or none where the request needs no body."""
    (tmp_path / "f").write_text("{a: 1}")
    file = str(tmp_path / "f")
    assert read_raw_body(SESSION, (file,)) == {"a": 1} and read_raw_body(SESSION, (), optional=True) is None
    for files, optional in (((), False), ((file, file), False), ((file, file), True)):
        with pytest.raises(CommandError, match="--raw takes one file"):
            read_raw_body(SESSION, files, optional=optional)


def test_objects_with_labels() -> None:
    objects: list[Object] = [{"metadata": {"labels": {"a": "b"}}}, {"metadata": {}}]
    assert select_by_labels(objects, "") == objects and select_by_labels(objects, "a=b") == objects[:1]
    assert select_by_labels(objects, "!a") == objects[1:]
    with pytest.raises(CommandError, match="no object of the files has the labels a=c"):
        select_by_labels(objects, "a=c")


POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "a", "image": "i"}]},
}


@pytest.mark.parametrize(
    ("text", "type_", "containers"),
    [
        ("", "merge", POD["spec"]["containers"]),
        ('{"spec": {"containers": [{"name": "b"}]}}', "merge", [{"name": "b"}]),
        ("spec: {containers: [{name: b}]}", "strategic", [{"name": "b"}, {"name": "a", "image": "i"}]),
        ('[{"op": "replace", "path": "/spec/containers/0/name", "value": "b"}]', "json", [{"name": "b", "image": "i"}]),
    ],
)
def test_overrides(text: str, type_: str, containers: Any) -> None:
    """A patch of the object that a command makes."""
    assert overridden(POD, text, type_)["spec"]["containers"] == containers


@pytest.mark.parametrize(
    ("obj", "text", "type_", "says"),
    [
        (POD, "[]", "merge", "--overrides is neither JSON nor YAML of an object"),
        (POD, "{}", "json", "--overrides is neither JSON nor YAML of a list of operations"),
        (POD, "{", "merge", "--overrides is neither JSON nor YAML of an object"),
        (POD, '[{"op": "remove", "path": "/x"}]', "json", "the patch cannot be applied to Pod p: "),
        (
            {"apiVersion": "example.org/v1", "kind": "X"},
            "{}",
            "strategic",
            "X of example.org/v1 is no built-in kind: give --type=merge",
        ),
    ],
)
def test_overrides_that_do_not_fit(obj: Object, text: str, type_: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        overridden(obj, text, type_)

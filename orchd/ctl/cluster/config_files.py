"""The files of the client configuration, and changes of them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

import yaml

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.kinds.jsonvalues import Object

#: The lists of a configuration: the word for one of their entries, which is also the field that has its values.
WORDS: Final = {"contexts": "context", "clusters": "cluster", "users": "user"}


class ConfigFiles:
    """The files of the configuration, each with its document. Missing ones are left out."""

    def __init__(self, session: Session) -> None:
        self.paths = configuration.candidate_files(session.flags, session.environment)
        self.documents = {path: configuration.read_file(path) for path in self.paths if path.exists()}

    def first(self) -> Path:
        """The file to which new entries are added: the first that is there, else the first of all, which is then
        created."""
        if not self.documents:
            if not self.paths:
                raise CommandError("no client configuration: name a file with --config")
            self.documents[self.paths[0]] = {}
        return next(iter(self.documents))

    def holder(self, key: str, name: str) -> Path | None:
        """The file whose entry of that name takes effect."""
        return next(
            (path for path, each in self.documents.items() if any(e.get("name") == name for e in each.get(key) or ())),
            None,
        )

    def entry(self, key: str, name: str) -> Object:
        path = self.holder(key, name)
        if path is None:
            raise CommandError(f"no {WORDS[key]} {name!r}: config get-{key} lists them")
        return next(dict(each) for each in self.documents[path][key] if each.get("name") == name)

    def put(self, key: str, name: str, changes: Object, *, without: tuple[str, ...] = ()) -> str:
        """Change an entry in its file, or add one. Returns "modified" or "created"."""
        inner = WORDS[key]
        path = self.holder(key, name)
        at = path or self.first()
        entries = list(self.documents[at].get(key) or ())
        if path is None:
            entries.append({"name": name, inner: changes})
        else:
            entries = [
                {**e, inner: {**{k: v for k, v in (e.get(inner) or {}).items() if k not in without}, **changes}}
                if e.get("name") == name
                else e
                for e in entries
            ]
        self.write(at, {key: entries})
        return "modified" if path else "created"

    def remove(self, key: str, name: str) -> Path:
        self.entry(key, name)
        path = self.holder(key, name)
        assert path is not None, "entry found it"
        self.write(path, {key: [each for each in self.documents[path][key] if each.get("name") != name]})
        return path

    def write(self, path: Path, changes: Object) -> None:
        self.documents[path] = {"apiVersion": "v1", "kind": "Config", **self.documents[path], **changes}
        replace_file(path, self.documents[path])


def replace_file(path: Path, document: Object) -> None:
    """Write a file as a whole or not at all; its mode stays, and that of a new one lets only its owner read it."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise CommandError(f"{path}: not a regular file: name another one with --config")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as temporary:
            yaml.safe_dump(document, temporary, sort_keys=False)
        if path.exists():
            os.chmod(temporary.name, path.stat().st_mode & 0o777)
        os.replace(temporary.name, path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: the configuration was not changed") from None

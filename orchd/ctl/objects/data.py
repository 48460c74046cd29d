"""Data of config maps and secrets, from literals, files and variables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from orchd.ctl.errors import CommandError
from orchd.ctl.flags import F, stacked
from orchd.ctl.objects.creation import create_options
from orchd.kinds.jsonvalues import Object


def file_values(texts: tuple[str, ...]) -> dict[str, bytes]:
    """The contents of --from-file arguments: FILE, KEY=FILE, or a folder."""
    out: dict[str, bytes] = {}
    for each in texts:
        key, mark, name = each.rpartition("=")
        path = Path(name)
        paths = sorted(path.iterdir()) if path.is_dir() and not mark else [path]
        for one in filter(lambda p: p.is_file() or p == path, paths):
            if (key or one.name) in out:
                raise CommandError(
                    f"--from-file={each}: there is a value for {key or one.name} already: leave out one of them"
                )
            try:
                out[key or one.name] = one.read_bytes()
            except OSError as error:
                raise CommandError(f"{one}: {error.strerror}: check the path of --from-file") from None
    return out


def variables(files: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of --from-env-file arguments: lines of KEY=VALUE, or of a KEY whose value is that of
    `environment`."""
    out: dict[str, str] = {}
    for name in files:
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"{name}: {getattr(error, 'strerror', None) or 'not UTF-8'}: check --from-env-file"
            ) from None
        for number, line in enumerate(text.splitlines(), 1):
            key, mark, value = line.lstrip().partition("=")
            if not line.strip() or key.startswith("#"):
                continue
            if not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", key):
                raise CommandError(f"{name}: line {number}: {key!r} is not the name of a variable: write KEY=VALUE")
            out[key] = value if mark else environment.get(key, "")
    return out


def check_sources(env_files: tuple[str, ...], others: tuple[str, ...]) -> None:
    if env_files and others:
        raise CommandError(
            "--from-env-file cannot be combined with --from-file or --from-literal: leave out one of them"
        )


_env_file = click.option(
    "--from-env-file", "env_files", multiple=True, metavar="FILE", help="Values from a file of KEY=VALUE lines."
)
_literal = click.option(
    "--from-literal", "literals", multiple=True, metavar="KEY=VALUE", help="A value; may be repeated."
)
from_file_option = click.option(
    "--from-file", "sources", multiple=True, metavar="[KEY=]FILE", help="A value from a file or folder."
)
data_options: Callable[[F], F] = stacked(
    _literal, from_file_option, _env_file,
    click.option("--append-hash", is_flag=True, help="Append a hash of the contents to the name."),
    create_options,
)  # fmt: skip


def joined(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """All values. Raises CommandError for a key that two sources have."""
    out: dict[str, Any] = {}
    for source in sources:
        for key, value in source.items():
            if key in out:
                raise CommandError(f"there is more than one value for {key}: leave out one of them")
            out[key] = value
    return out


def with_hash(obj: Object, hashed: Object) -> Object:
    """The object with the hash of `hashed` at the end of its name, as kustomizations append it."""
    text = json.dumps(hashed, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    # Without vowels and without digits that look like letters, so that no words come out.
    suffix = hashlib.sha256(text.encode()).hexdigest()[:10].translate(str.maketrans("013ae", "ghkmt"))
    return {**obj, "metadata": {**obj["metadata"], "name": f"{obj['metadata']['name']}-{suffix}"}}


append_hash_option = click.option("--append-hash", is_flag=True, help="Append a hash of the contents to the name.")

"""Errors on opening a store. Every message names a remedy."""

from __future__ import annotations

import os

from orchd.store.interfaces import StoreError


class StoreLockedError(StoreError):
    def __init__(self, path: str, holder: str) -> None:
        by = f" (process {holder})" if holder else ""
        super().__init__(
            f"the store {path} is in use by another process{by}: stop that process, or give this one another data "
            "directory"
        )


class StoreDamagedError(StoreError):
    def __init__(self, path: str, why: str) -> None:
        folder = os.path.dirname(path) or "."
        super().__init__(
            f"the store {path} is damaged ({why}): nothing was changed; restore a backup in its place "
            f"(orchd-store restore --data-dir={folder} BACKUP), or accept the loss and go on with what can be read "
            f"(orchd-store salvage --data-dir={folder})"
        )


class ForeignFileError(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is a database of another program: give the store a file of its own")


class NewerSchemaError(StoreError):
    def __init__(self, path: str, actual: int, supported: int) -> None:
        super().__init__(
            f"the store {path} has schema version {actual} and this release knows {supported}: either a newer "
            "release wrote it, then run "
            "that one, or a newer one; or, if no other release has ever run on it, its header is damaged, then "
            "restore a backup, or extract its objects with the command salvage"
        )


class DialectMismatchError(StoreError):
    def __init__(self, path: str, recorded: str, requested: str) -> None:
        super().__init__(
            f"the store {path} was made with --dialect={recorded} and cannot be served with --dialect={requested}: "
            f"use --dialect={recorded}, or an empty data directory"
        )

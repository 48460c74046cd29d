"""Distribution of test files to the workers of pytest-xdist."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

#: Folders whose files share what takes long to start.
_TOGETHER = ("tests/ui/",)


class FileScheduling(LoadFileScheduling):
    """Gives each worker whole files, and all files of some folders to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in _TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

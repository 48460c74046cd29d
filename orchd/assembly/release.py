"""The release whose API is served, and which components call theirs."""

from typing import Final

RELEASE: Final = "v1.23.17"

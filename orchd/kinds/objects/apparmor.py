"""AppArmor profiles of containers in annotations, which fields have replaced from release 1.30 on."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object

#: The first release with profiles in fields.
FIELDS_SINCE: Final = "1.30"
#: Prefix of the annotations, a template of the dialect; the name of a container follows.
ANNOTATION: Final = "container.apparmor.security.beta.{long}.io/"
#: Longest name of a profile of the node, in bytes.
LONGEST: Final = 4095

_LOCAL: Final = "localhost/"


def annotated_profile(text: str) -> Object | None:
    """The profile of an annotation; None if it names none."""
    if text == "unconfined":
        return {"type": "Unconfined"}
    if text == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = text.removeprefix(_LOCAL)
    return {"type": "Localhost", "localhostProfile": name} if name and name != text else None


def valid_profile(text: str) -> Object | None:
    """The profile of an annotation; None if it names none that is valid in a field."""
    profile = annotated_profile(text)
    name = (profile or {}).get("localhostProfile") or ""
    return None if name != name.strip() or len(name.encode()) > LONGEST else profile

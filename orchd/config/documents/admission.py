"""AdmissionConfiguration: the configuration of admission plugins, inside the file or in files that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.config.choices import ADMISSION_PLUGINS
from orchd.config.documents import types
from orchd.config.documents.decoding import DocumentError, ParsedText, decode_parsed, parse_text
from orchd.dialect import Dialect
from orchd.kinds.objects import strict

#: The document that configures a plugin; other built-in plugins have no configuration.
DOCUMENTS: Final[Mapping[str, str]] = {
    "EventRateLimit": types.EVENT_RATE_LIMIT,
    "ImagePolicyWebhook": types.IMAGE_POLICY,
    "MutatingAdmissionWebhook": types.WEBHOOKS,
    "PodNodeSelector": types.POD_NODE_SELECTOR,
    "PodSecurity": types.POD_SECURITY,
    "PodTolerationRestriction": types.POD_TOLERATION_RESTRICTION,
    "ResourceQuota": types.RESOURCE_QUOTA,
    "ValidatingAdmissionWebhook": types.WEBHOOKS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One plugin of the file. `values` has the canonical shape of its document, for a drop-in plugin that of the text;
    None without a configuration. `source` is its place for errors: a field, and the name of another file."""

    source: str
    values: Mapping[str, Any] | None = None


def parse_admission(data: bytes, dialect: Dialect, read: Callable[[str], bytes]) -> dict[str, Section]:
    """Sections by plugin name. `read` returns the content of a file that the text names. Raises DocumentError naming
    the field; OSError and ValueError of `read` become one."""
    text = parse_text(data)
    plugins = decode_parsed(text, types.ADMISSION, dialect).get("plugins") or ()
    sections: dict[str, Section] = {}
    for index, plugin in enumerate(plugins):
        name, at = plugin["name"], f"plugins[{index}]"
        if not name:
            raise DocumentError(f"{at}.name: Required value")
        if name in sections:
            raise DocumentError(f"{at}.name: Duplicate value: {name!r}")
        if "configuration" in plugin:
            source, part = f"{at}.configuration", text.part("plugins", index, "configuration")
        elif plugin["path"]:
            source, part = f"{at}.path: {plugin['path']}", _read_part(plugin["path"], read, f"{at}.path")
        else:
            sections[name] = Section(source=f"{at}.name")
            continue
        try:
            sections[name] = Section(values=_decode_section(name, part, dialect), source=source)
        except DocumentError as error:
            raise DocumentError(f"{source}: {error}") from None
    return sections


def _read_part(path: str, read: Callable[[str], bytes], at: str) -> ParsedText:
    try:
        return parse_text(read(path))
    except (OSError, ValueError) as error:
        raise DocumentError(f"{at}: {path}: {error}") from None


def _decode_section(plugin: str, part: ParsedText, dialect: Dialect) -> Mapping[str, Any]:
    kind = DOCUMENTS.get(plugin)
    if kind is not None:
        return decode_parsed(part, kind, dialect)
    if plugin in ADMISSION_PLUGINS:
        raise DocumentError(f"plugin {plugin} has no configuration")
    # A drop-in checks its own members, but sees no repeated ones.
    problems = [*part.problems, *strict.duplicates(part.members, located=True)]
    if problems:
        raise DocumentError(f"strict decoding error: {', '.join(problems)}")
    values: Mapping[str, Any] = part.document
    return values

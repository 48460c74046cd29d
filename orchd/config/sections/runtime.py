"""``--runtime-config``: which API versions and resources are served."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from orchd.config.nearest import unknown
from orchd.config.values import parse_bool
from orchd.dialect import Dialect
from orchd.kinds.builtin.former_kinds import FORMER_KINDS, LATER_KINDS, LATER_SINCE
from orchd.kinds.catalog import builtin_catalog, group_version, split_group_version, versions_in
from orchd.kinds.release import RELEASES, Release

#: Keys that match several versions, in order of application. A version's own key takes precedence.
_PATTERNS: Final = (
    ("api/all", re.compile(r".")),
    ("api/ga", re.compile(r"v\d+$")),
    ("api/beta", re.compile(r"v\d+beta\d+$")),
    ("api/alpha", re.compile(r"v\d+alpha\d+$")),
)

#: Versions that every release knows or its documents name, but does not serve, by group; a template. Their keys are
#: accepted with a warning, like those of `FORMER_KINDS`.
_REMOVED: Final = {
    "admission.{abbr}.io": ("v1", "v1beta1"),
    "apiregistration.{abbr}.io": ("v1beta1",),
    "eventratelimit.admission.{abbr}.io": ("v1alpha1",),
    "flowcontrol.apiserver.{abbr}.io": ("v1alpha1",),
    "imagepolicy.{abbr}.io": ("v1alpha1",),
}
#: Versions of `LATER_KINDS` that the reference knows but does not serve: as `_REMOVED`. It serves the others on
#: request.
_REMOVED_LATER: Final = {
    "authentication.{abbr}.io": ("v1alpha1",),
    "flowcontrol.apiserver.{abbr}.io": ("v1beta3",),
    "storage.{abbr}.io": ("v1alpha1",),
}
#: A key of former releases, without an effect.
_LEGACY: Final = "api/legacy"
#: (first segment of the group, version) of versions that only their own key enables: removed from the reference.
_BY_NAME: Final = frozenset((("admissionregistration", "v1beta1"), ("apiextensions", "v1beta1")))


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """Parsed values: `by_pattern` by key (``api/beta``), `versions` by apiVersion, `resources` by (apiVersion,
    plural)."""

    by_pattern: Mapping[str, bool] = field(default_factory=dict)
    versions: Mapping[str, bool] = field(default_factory=dict)
    resources: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    #: About keys without an effect.
    warnings: tuple[str, ...] = ()

    def enabled(self, group: str, version: str, default: bool) -> bool:
        """True if a version is served. `default`: whether the version is served by default.

        Also True if only some resources of the version are enabled; see `resource_enabled`.
        """
        return self._version(group, version, default) or any(
            on for (api_version, _), on in self.resources.items() if api_version == group_version(group, version)
        )

    def resource_enabled(self, group: str, version: str, plural: str, default: bool) -> bool:
        """True if a resource is served. `default`: whether its version is served by default."""
        own = self.resources.get((group_version(group, version), plural))
        return self._version(group, version, default) if own is None else own

    def _version(self, group: str, version: str, default: bool) -> bool:
        own = self.versions.get(group_version(group, version))
        if own is not None:
            return own
        decided = default
        if (group.partition(".")[0], version) in _BY_NAME:
            return decided
        for key, pattern in _PATTERNS:
            if key in self.by_pattern and pattern.match(version):
                decided = self.by_pattern[key]
        return decided


def parse_runtime_config(dialect: Dialect, release: Release, values: Mapping[str, str]) -> RuntimeConfig:
    """Parse the flag's pairs. Raises ValueError for an unknown group, version or resource, and for a non-boolean
    value."""
    if values == {"api/all": "false"}:
        raise ValueError("invalid key with only api/all=false")
    group_versions = [
        group_version(dialect(name), each.name) for name, versions in versions_in(release) for each in versions
    ]
    later = release.includes(LATER_SINCE)
    removed = _expanded(dialect, _REMOVED) | _expanded(dialect, FORMER_KINDS) | _former(dialect, release)
    not_built = frozenset[str]()
    if later:
        removed |= _expanded(dialect, _REMOVED_LATER)
        not_built = _expanded(dialect, LATER_KINDS) - _expanded(dialect, _REMOVED_LATER)
    removed -= frozenset(group_versions)
    by_pattern: dict[str, bool] = {}
    versions: dict[str, bool] = {}
    resources: dict[tuple[str, str], bool] = {}
    warnings: list[str] = []
    for key, text in values.items():
        if key in dict(_PATTERNS):
            if text not in ("true", "false"):
                raise ValueError(f'"{key}={text}": the value must be true or false')
            by_pattern[key] = text == "true"
            continue
        on = not text or _parse_on(key, text)
        parts = ["", *key.split("/")[1:]] if key.startswith("api/v") else key.split("/")
        version = group_version(*_group_and_version(parts))
        if key == _LEGACY:
            warnings.append(f"{key} is deprecated and has no effect")
        elif version in not_built and on:
            raise ValueError(f"{version} is not served by default in release {release}, and not built here")
        elif version in removed | not_built and len(parts) <= 3:
            warnings.append(f"{version} is not served by this release: {key} has no effect")
        elif version in group_versions and len(parts) <= 2:
            versions[version] = on
        elif version in group_versions and len(parts) == 3:
            names = _resources(dialect, release, parts[0], parts[1])
            if parts[2] in names:
                resources[version, parts[2]] = on
            elif on:
                raise ValueError(unknown(f"resource of {version}", parts[2], names))
            else:
                warnings.append(f"{unknown(f'resource of {version}', parts[2], names)}: {key} has no effect")
        else:
            raise ValueError(unknown("API version", key, [*group_versions, *(k for k, _ in _PATTERNS)]))
    return RuntimeConfig(by_pattern=by_pattern, versions=versions, resources=resources, warnings=tuple(warnings))


def _expanded(dialect: Dialect, versions: Mapping[str, Iterable[str]]) -> frozenset[str]:
    return frozenset(group_version(dialect(group), each) for group, names in versions.items() for each in names)


def _former(dialect: Dialect, release: Release) -> frozenset[str]:
    """The versions that earlier releases serve or can serve."""
    return frozenset(
        group_version(dialect(group), each.name)
        for earlier in RELEASES.values()
        if earlier < release
        for group, versions in versions_in(earlier)
        for each in versions
    )


def _parse_on(key: str, text: str) -> bool:
    try:
        return parse_bool(text)
    except ValueError:
        raise ValueError(f'"{key}={text}": the value must be true or false') from None


def _group_and_version(parts: list[str]) -> tuple[str, str]:
    """Group and version from the parts of a key; a single part is a version of the core group."""
    return split_group_version(parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def _resources(dialect: Dialect, release: Release, group: str, version: str) -> list[str]:
    """The plurals of a version's resources."""
    catalog = builtin_catalog(dialect, release, enabled=lambda g, v, default: (g, v) == (group, version))
    return [resource.plural for resource in catalog.in_version(group, version)]

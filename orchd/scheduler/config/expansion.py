"""Expansion of profiles: the plugins of each extension point in order, with multiPoint expanded, and weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from orchd.scheduler.config.model import Arguments, ConfigError, PluginSet, Profile, SchedulerConfiguration
from orchd.scheduler.config.pluginsets import ALL
from orchd.scheduler.config.types import MULTI_POINT

#: Plugin name -> the extension points that it implements, as the configuration calls them.
Implemented = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedProfile:
    """The plugins that one profile runs. `points` maps every extension point to the names of its plugins in running
    order, `weights` maps score plugins to their weights, `arguments` maps plugins to their arguments."""

    scheduler_name: str
    points: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]
    arguments: Mapping[str, Arguments]

    @property
    def plugins(self) -> list[str]:
        """Names of all enabled plugins, sorted."""
        return sorted({name for names in self.points.values() for name in names})


def expand_all(config: SchedulerConfiguration, implemented: Implemented) -> tuple[ExpandedProfile, ...]:
    """The profiles in order. Raises ConfigError for an unknown plugin, one at a point that it does not implement, one
    that is enabled twice, and profiles that sort the queue differently."""
    profiles: list[ExpandedProfile] = []
    for profile in config.profiles:
        try:
            expanded = _expand(profile, implemented)
        except ConfigError as error:
            raise ConfigError(f"creating profile for scheduler name {profile.scheduler_name}: {error}") from None
        if profiles:
            _check_same_queue_sort(profiles[0], expanded)
        profiles.append(expanded)
    return tuple(profiles)


def _check_same_queue_sort(first: ExpandedProfile, other: ExpandedProfile) -> None:
    ours, theirs = first.points["queueSort"][0], other.points["queueSort"][0]
    if ours != theirs:
        raise ConfigError(
            f'different queue sort plugins for profile "{other.scheduler_name}": "{theirs}", first: "{ours}"'
        )
    if first.arguments.get(ours) != other.arguments.get(ours):
        raise ConfigError(f'different queue sort plugin args for profile "{other.scheduler_name}"')


def _expand(profile: Profile, implemented: Implemented) -> ExpandedProfile:
    multiple = profile.plugins[MULTI_POINT]
    points = {}
    for point in profile.plugins:
        if point == MULTI_POINT:
            continue
        own = _enabled_at_point(profile.plugins[point], point, implemented)
        points[point] = (*own, *_from_multi_point(multiple, profile.plugins[point], point, implemented))
    if len(points["queueSort"]) != 1:
        raise ConfigError(f'one queue sort plugin required for profile with scheduler name "{profile.scheduler_name}"')
    if not points["bind"]:
        raise ConfigError(
            f'at least one bind plugin is needed for profile with scheduler name "{profile.scheduler_name}"'
        )
    return ExpandedProfile(
        scheduler_name=profile.scheduler_name,
        points=points,
        weights=_weights(profile, points["score"]),
        arguments={each.name: each.args for each in profile.plugin_config},
    )


def _interface(point: str) -> str:
    """The name of an extension point in messages: preFilter is PreFilterPlugin."""
    return f"{point[0].upper()}{point[1:]}Plugin"


def _enabled_at_point(plugins: PluginSet, point: str, implemented: Implemented) -> list[str]:
    """The plugins that the extension point itself enables."""
    names: list[str] = []
    for plugin in plugins.enabled:
        factory = implemented.get(plugin.name)
        if factory is None:
            raise ConfigError(f'{_interface(point)} "{plugin.name}" does not exist')
        if point not in factory:
            raise ConfigError(f'plugin "{plugin.name}" does not extend {_interface(point)} plugin')
        _append_once(plugin.name, names, point)
    return names


def _from_multi_point(multiple: PluginSet, plugins: PluginSet, point: str, implemented: Implemented) -> list[str]:
    """The plugins that multiPoint adds to a point, without those that the point itself enables or disables."""
    if ALL in plugins.disabled:
        return []
    own = {each.name for each in plugins.enabled} | set(plugins.disabled)
    names: list[str] = []
    for plugin in multiple.enabled:
        factory = implemented.get(plugin.name)
        if factory is None:
            raise ConfigError(f'{_interface(point)} "{plugin.name}" does not exist')
        if point in factory and plugin.name not in own:
            _append_once(plugin.name, names, point)
    return names


def _append_once(name: str, names: list[str], point: str) -> None:
    if name in names:
        raise ConfigError(f'plugin "{name}" already registered as "{_interface(point)}"')
    names.append(name)


def _weights(profile: Profile, names: Collection[str]) -> dict[str, int]:
    """Weights of score plugins: the weight under `score` overrides the one under `multiPoint`; the default is 1."""
    weights: dict[str, int] = {}
    for plugin in (*profile.plugins["score"].enabled, *profile.plugins[MULTI_POINT].enabled):
        if plugin.name in weights or plugin.name not in names:
            continue
        weights[plugin.name] = plugin.weight or 1
    return weights

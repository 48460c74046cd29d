"""Decoding of configuration files: strict about names and types, with defaults, before validation.

Messages are those of the reference's decoder: the first problem that keeps a text from being a configuration, or all
names that are unknown or stand twice, those of plugin arguments after the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from orchd.dialect import STOCK_CONFIG_FILE_KIND, Dialect
from orchd.kinds.codec import decode, json_, yaml_
from orchd.kinds.codec.decode import BodyError
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.gotext.values import json_name
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape, strict
from orchd.kinds.objects.shape import ShapeError
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.config import reading, types
from orchd.scheduler.config.model import Arguments, ConfigError, SchedulerConfiguration, UntypedArgs

_HEAD: Final = ("apiVersion", "kind")
_STRICT: Final = "strict decoding error: "


def decode_configuration(
    data: bytes, dialect: Dialect, features: Mapping[str, bool] = MappingProxyType({}), release: Release = SPECIFICATION
) -> SchedulerConfiguration:
    """The configuration in a YAML or JSON text, in a version of a release. Raises ConfigError."""
    form = Form.JSON if data.lstrip()[:1] == b"{" else Form.YAML
    try:
        document = decode.parse(data, form)
        repeated = "" if form is Form.JSON else yaml_.duplicates(data, whole=True)
    except (BodyError, yaml_.YAMLError) as error:
        raise ConfigError(str(error)) from None
    api_versions = _api_versions(dialect, release)
    version = _version(document, data, dialect, api_versions)
    type_ = types.configuration(version, dialect)
    # JSON members as a list of pairs reveal duplicates; the YAML parser reports them itself.
    members = json_.decode_members(data) if form is Form.JSON else document
    problems = [repeated] if repeated else []
    renamed = _with_stock_name(members, dialect)
    problems += strict.names(_without_head(renamed), type_)
    shaped = _shaped(_with_stock_name(document, dialect), type_, data, form)
    args = _ArgumentsReader(version, dialect, api_versions, renamed)
    config = reading.configuration(shaped, version, dialect, args, features)
    problems += args.problems
    if problems:
        raise ConfigError(_STRICT + ", ".join(problems))
    return config


def default_configuration(
    dialect: Dialect, features: Mapping[str, bool] = MappingProxyType({}), release: Release = SPECIFICATION
) -> SchedulerConfiguration:
    """The configuration without a file: the defaults of the newest version of a release."""
    version = release.choose(types.VERSIONS)[0]
    args = _ArgumentsReader(version, dialect, _api_versions(dialect, release), {})
    return reading.configuration(shape.empty(types.configuration(version, dialect)), version, dialect, args, features)


class _ArgumentsReader:
    """Reads the arguments of plugins: `reading.ReadArguments`. Unknown names are collected in `problems`."""

    def __init__(self, version: str, dialect: Dialect, api_versions: Mapping[str, str], members: Any) -> None:
        self._version = version
        self._api_versions = api_versions
        self._dialect = dialect
        self._members = members
        self.problems: list[str] = []

    def __call__(
        self, profile: int, index: int, plugin: str, arguments: Any, read: Callable[[Any], Arguments]
    ) -> Arguments:
        if plugin not in types.CONFIGURABLE:
            return UntypedArgs(arguments)
        place = f"decoding .profiles[{profile}].pluginConfig[{index}]: "
        kind = f"{plugin}Args"
        if not isinstance(arguments, dict | None):
            raise ConfigError(f"{place}decoding args for plugin {plugin}: {_not_an_object(arguments)}")
        arguments = arguments or {}
        self._check_kind(arguments, kind, plugin, place)
        version = self._api_versions.get(arguments.get("apiVersion") or "", self._version)
        if version != self._version:
            place = f".Profiles[{profile}].PluginConfig[{index}].Args"
            raise ConfigError(
                f"converting {place} into internal type: no kind is registered for the type {version}.{kind}"
            )
        type_ = types.arguments(plugin, self._version, self._dialect)
        members = _descend(self._members, "profiles", profile, "pluginConfig", index, "args")
        wrong = strict.names(_without_head({} if members is None else members), type_)
        if wrong:
            self.problems.append(f"{place}{_STRICT}decoding args for plugin {plugin}: {_STRICT}{', '.join(wrong)}")
        try:
            return read(shape.canonical(_without_head(arguments), type_))
        except ShapeError as error:
            raise ConfigError(f"{place}decoding args for plugin {plugin}: {error}") from None

    def _check_kind(self, arguments: Mapping[str, Any], kind: str, plugin: str, place: str) -> None:
        """Arguments may omit apiVersion and kind, but must not have others."""
        for name in _HEAD:
            if not isinstance(arguments.get(name, ""), str):
                why = f"json: cannot unmarshal {json_name(arguments[name])} into Go struct field .{name} of type string"
                raise ConfigError(
                    f"{place}decoding args for plugin {plugin}: couldn't get version/kind; json parse error: {why}"
                )
        group = self._dialect(types.GROUP)
        version = arguments.get("apiVersion") or types.api_version(self._version, self._dialect)
        kind_ = arguments.get("kind") or kind
        if version not in self._api_versions or kind_.removesuffix("Args") not in types.CONFIGURABLE:
            raise ConfigError(
                f"{place}decoding args for plugin {plugin}: {_unregistered(kind_, version, self._dialect)}"
            )
        if kind_ != kind:
            raise ConfigError(f"{place}args for plugin {plugin} were not of type {kind}.{group}, got {kind_}.{group}")


def _version(document: Mapping[str, Any], data: bytes, dialect: Dialect, api_versions: Mapping[str, str]) -> str:
    """The version of a configuration document. Raises ConfigError for other kinds."""
    kind, api_version = document.get("kind") or "", document.get("apiVersion") or ""
    text = data.decode("utf-8", "replace")
    if not kind:
        raise ConfigError(f"Object 'Kind' is missing in '{text}'")
    if not api_version:
        raise ConfigError(f"Object 'apiVersion' is missing in '{text}'")
    version = api_versions.get(api_version)
    is_args = kind.endswith("Args") and kind.removesuffix("Args") in types.CONFIGURABLE
    if version is None or (kind != dialect(types.KIND) and not is_args):
        raise ConfigError(_unregistered(kind, api_version, dialect))
    if is_args:
        raise ConfigError(f"couldn't decode as {dialect(types.KIND)}, got {api_version}, Kind={kind}: ")
    return version


def _api_versions(dialect: Dialect, release: Release) -> dict[str, str]:
    """The versions of a release by their apiVersion."""
    return {types.api_version(version, dialect): version for version in release.choose(types.VERSIONS)}


def _unregistered(kind: str, api_version: str, dialect: Dialect) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{dialect(types.SCHEME)}"'


def _not_an_object(value: Any) -> str:
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_name(value)} into Go value"


def _shaped(document: Mapping[str, Any], type_: Type, data: bytes, form: Form) -> dict[str, Any]:
    try:
        return shape.canonical(_without_head(document), type_)
    except ShapeError as error:
        raise ConfigError(_exactly(error, type_, data, form)) from None


def _exactly(error: ShapeError, type_: Type, data: bytes, form: Form) -> str:
    """The text of an error; numbers of a JSON text are quoted as they were written."""
    if form is Form.JSON:
        try:
            shape.canonical(_without_head(json_.decode_exact(data)), type_)
        except ShapeError as exact:
            return str(exact)
    return str(error)


def _without_head(value: Any) -> Any:
    """An object without apiVersion and kind."""
    if isinstance(value, strict.Members):
        return strict.Members(member for member in value if member[0] not in _HEAD)
    return {name: item for name, item in value.items() if name not in _HEAD} if isinstance(value, dict) else value


def _with_stock_name(document: Any, dialect: Dialect) -> Any:
    """The document with the client configuration's file under the dialect's name: stock tools write another in any
    dialect."""
    stock, own = STOCK_CONFIG_FILE_KIND, dialect.config_file_kind
    connection = dict(_pairs(document)).get("clientConnection")
    if stock == own or stock not in dict(_pairs(connection)):
        return document
    renamed = [(own if name == stock else name, item) for name, item in _pairs(connection)]
    if len(dict(renamed)) < len(renamed):
        raise ConfigError(f'{_STRICT}duplicate field "{own}"')
    pairs = [(name, type(connection)(renamed) if item is connection else item) for name, item in _pairs(document)]
    return type(document)(pairs)


def _pairs(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, strict.Members):
        return list(value)
    return list(value.items()) if isinstance(value, dict) else []


def _descend(value: Any, *steps: str | int) -> Any:
    """The value at a path, where the last of duplicate members counts; None for a path that does not exist."""
    for step in steps:
        if isinstance(step, str):
            value = dict(_pairs(value)).get(step)
        elif isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value

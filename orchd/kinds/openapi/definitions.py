"""Schemas of OpenAPI v2 and v3: one definition per named struct, custom kinds included.

A definition lists properties by name, required members in table order, and the ``x-`` extensions which tell
clients how to merge. Values are plain JSON data, shared between documents: they must not be modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource, package_of
from orchd.kinds.ir import Field, Type
from orchd.kinds.openapi.enums import VALUE, values_of
from orchd.kinds.openapi.registered_versions import registered_versions

Json = dict[str, Any]

V2_ROOT: Final = "#/definitions/"
V3_ROOT: Final = "#/components/schemas/"

_META: Final = "io.{abbr}.apimachinery.pkg.apis.meta.v1."
_SCHEMAS: Final = "io.{abbr}.apiextensions-apiserver.pkg.apis.apiextensions.v1."

#: Types with a JSON form of their own: name template and schema by kind of `Type`.
SPECIAL: Final[dict[str, tuple[str, Json]]] = {
    "quantity": ("io.{abbr}.apimachinery.pkg.api.resource.Quantity", {"type": "string"}),
    "int-or-string": (
        "io.{abbr}.apimachinery.pkg.util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
    ),
    "time": (_META + "Time", {"type": "string", "format": "date-time"}),
    "microtime": (_META + "MicroTime", {"type": "string", "format": "date-time"}),
    "duration": (_META + "Duration", {"type": "string"}),
    "raw": ("io.{abbr}.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "fieldsv1": (_META + "FieldsV1", {"type": "object"}),
    "any": (_SCHEMAS + "JSON", {}),
}

#: Those that v3 describes as unions, from a release on.
_SPECIAL_V3: Final[tuple[tuple[str, dict[str, Json]], ...]] = (
    ("", {}),
    (
        "1.24",
        {
            "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "int-or-string": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        },
    ),
)
#: Members with a reference that v3 documents do not describe.
_BARE_MEMBERS: Final = frozenset(
    (
        "networking/v1.IngressRule.http",
        *(
            f"apiextensions/v1.JSONSchemaProps.{name}"
            for name in ("additionalItems", "additionalProperties", "example", "externalDocs", "items", "not")
        ),
    )
)

_PLAIN: Final[dict[str, Json]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint32": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    "int64ns": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"},
}
#: In a custom kind the format is that of the definition, or none.
_CUSTOM: Final[dict[str, Json]] = {
    **{kind: {"type": schema["type"]} for kind, schema in _PLAIN.items()},
    "quantity": {"type": "string"},
    "time": {"type": "string"},
    "microtime": {"type": "string"},
    "duration": {"type": "string"},
    "raw": {"type": "object"},
    "fieldsv1": {"type": "object"},
    "any": {},
}
_UNION_WORDS: Final = ("allOf", "anyOf", "oneOf", "not")

#: Structs with a metadata member that are parts of objects, not objects.
_TEMPLATES: Final = frozenset(
    ("JobTemplateSpec", "PodTemplateSpec", "PersistentVolumeClaimTemplate", "ResourceClaimTemplateSpec")
)
#: Types without metadata that have apiVersion and kind.
_BARE_OBJECTS: Final = frozenset(
    f"meta/v1.{name}" for name in ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions")
)
#: Types that every group version has.
_EVERYWHERE: Final = frozenset(("meta/v1.DeleteOptions", "meta/v1.WatchEvent"))
#: Served independently of resources.
_ALWAYS: Final = (*_BARE_OBJECTS, "meta/v1.Patch", "meta/v1.Status", "meta/v1.WatchEvent", "version.Info")
#: Definitions without members: unions of JSON schema have no v2 form.
_OPEN: Final = frozenset(
    f"apiextensions/{version}.{name}"
    for version in ("v1", "v1beta1")
    for name in ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
)
#: Declared unions: discriminator, and value of it by the member that it selects.
_UNIONS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "core/v1.AppArmorProfile": ("type", {"localhostProfile": "LocalhostProfile"}),
    "core/v1.SeccompProfile": ("type", {"localhostProfile": "LocalhostProfile"}),
    **{
        f"flowcontrol/{version}.{name}": union
        for version in ("v1", "v1beta1", "v1beta2")
        for name, union in (
            ("LimitResponse", ("type", {"queuing": "Queuing"})),
            ("PriorityLevelConfigurationSpec", ("type", {"limited": "Limited"})),
            ("Subject", ("kind", {"group": "Group", "serviceAccount": "ServiceAccount", "user": "User"})),
        )
    },
    "flowcontrol/v1.PriorityLevelConfigurationSpec": ("type", {"exempt": "Exempt", "limited": "Limited"}),
}

_API_VERSION: Final[Json] = {
    "description": "APIVersion defines the group and version of this representation of the object.",
    "type": "string",
}
_KIND: Final[Json] = {"description": "Kind of the object, in CamelCase.", "type": "string"}


def definition_name(resource: Resource) -> str:
    """The name of a resource's definition; that of a custom kind is its group in reverse, version and kind."""
    if resource.type.definition:
        return resource.type.definition
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def list_definition_name(resource: Resource) -> str:
    return definition_name(resource).removesuffix(resource.kind) + (resource.list_kind or resource.kind + "List")


def _with_values_of_items(schema: Json, values: list[str]) -> Json:
    """The schema of a list or map with the known values of its items."""
    inner = "items" if "items" in schema else "additionalProperties"
    return {**schema, inner: {**schema[inner], "enum": values}}


def _with_values(schema: Json, values: list[str]) -> Json:
    """The schema of a string with its known values."""
    listed = "\n".join(f' - `"{value}"`' for value in values)
    words = "\n\n".join(filter(None, (schema.get("description"), f"Possible enum values:\n{listed}")))
    return {**schema, "description": words, "enum": values}


class Definitions:
    """The definitions of one catalog, for references that start with `root` (`V2_ROOT` or `V3_ROOT`)."""

    def __init__(self, catalog: Catalog, *, root: str = V2_ROOT) -> None:
        self._catalog = catalog
        self._dialect: Dialect = catalog.dialect
        self._root = root
        self._v3 = root == V3_ROOT
        self._definitions: dict[str, Json] = {}
        self._pending: list[Type] = []
        dialect = self._dialect
        self._special = {kind: (dialect(name), schema) for kind, (name, schema) in SPECIAL.items()}
        self._x = dialect("x-{long}-")
        #: In v3 references stand in allOf, described or not.
        self._wraps = catalog.release.choose((("", False), ("1.24", True)))
        if self._v3:
            forms = catalog.release.choose(_SPECIAL_V3)
            self._special.update((kind, (self._special[kind][0], schema)) for kind, schema in forms.items())
        # Loaded with the first document, to save time and memory at start.
        from orchd.kinds.openapi.descriptions.lookup import Descriptions

        self._words = Descriptions(dialect)
        self._values = values_of(catalog.release) if catalog.lists_values else {}

    def of(self, resources: Iterable[Resource], *, always: bool = True) -> dict[str, Json]:
        """Name -> schema of all types that `resources` need, sorted by name; with `always`, also of types that are
        served independently of resources."""
        types = self._catalog.types
        for name in _ALWAYS if always else ():
            self._need(types.get(name))
        for resource in resources:
            if resource.custom:
                self._custom_kind(resource)
            else:
                for type_ in builtin_types(self._catalog, resource):
                    self._need(type_)
        while self._pending:
            type_ = self._pending.pop()
            self._definitions[type_.definition] = self._struct_definition(type_)
        return dict(sorted(self._definitions.items()))

    def _need(self, type_: Type) -> None:
        name = type_.definition
        if name and name not in self._definitions:
            self._definitions[name] = {}
            self._pending.append(type_)

    def _ref(self, kind: str) -> Json:
        name, schema = self._special[kind]
        if name not in self._definitions:
            self._definitions[name] = {"description": self._words.of_special(kind), **schema}
        return {"$ref": self._root + name}

    def _struct_definition(self, type_: Type) -> Json:
        words = self._words.of_type(type_.name)
        described = {"description": words} if words else {}
        if type_.name in _OPEN:
            return described
        out: Json = {**described, "type": "object"}
        required = [name for name, field in type_.fields.items() if field.required]
        if required:
            out["required"] = required
        properties = {
            name: self._property(field, self._member_words(type_.name, name), bare=self._is_bare(type_.name, name))
            for name, field in type_.fields.items()
        }
        for name in properties if self._values else ():
            for key, add in ((f"{type_.name}.{name}", _with_values), (f"{type_.name}.{name}[]", _with_values_of_items)):
                values = [value.strip('"') for value in VALUE.findall(self._values.get(key, ""))]
                if values:
                    properties[name] = add(properties[name], values)
        object_ = is_object(type_)
        if object_:
            properties["apiVersion"] = _API_VERSION
            properties["kind"] = _KIND
        if properties:
            out["properties"] = dict(sorted(properties.items()))
        if object_ or type_.name in _EVERYWHERE:
            out[self._x + "group-version-kind"] = list(self._group_version_kinds(type_))
        if type_.atomic:
            out[self._x + "map-type"] = "atomic"
        union = _UNIONS.get(type_.name)
        if union is not None:
            out[self._x + "unions"] = [{"discriminator": union[0], "fields-to-discriminateBy": union[1]}]
        return out

    def _group_version_kinds(self, type_: Type) -> Iterator[Json]:
        package, _, kind = type_.name.rpartition(".")
        if type_.name in _EVERYWHERE:
            for group, version in registered_versions(self._catalog):
                yield {"group": group, "kind": kind, "version": version}
        elif package == "meta/v1":
            yield {"group": "", "kind": kind, "version": "v1"}
        else:
            module = self._catalog.types.module(package)
            yield {"group": self._dialect(module.GROUP), "kind": kind, "version": module.VERSION}

    def _is_bare(self, type_name: str, member: str) -> bool:
        """True for members whose v3 reference stands alone."""
        return self._v3 and self._wraps and f"{type_name}.{member}" in _BARE_MEMBERS

    def _member_words(self, type_name: str, member: str) -> str:
        return "" if self._is_bare(type_name, member) else self._words.of_member(type_name, member)

    def _property(self, field: Field, words: str, *, bare: bool = False) -> Json:
        type_ = field.type
        out = self.schema(type_)
        more = self._extensions(type_)
        if words:
            more = {"description": words, **more}
        if self._v3:
            default = field.default if field.default is not None else _zero(field)
            if "$ref" in out and (more or default is not None or (self._wraps and not bare)):
                # A v3 reference has no siblings: they are put around it in allOf.
                out = {"allOf": [out]}
            if default is not None:
                more = {"default": default, **more}
        return {**out, **more} if more else out

    def _extensions(self, type_: Type) -> Json:
        x = self._x
        more: Json = {}
        if type_.list_keys:
            more[x + "list-map-keys"] = list(type_.list_keys)
        if type_.list_type:
            more[x + "list-type"] = type_.list_type
        if type_.atomic and type_.kind != "struct":
            more[x + "map-type"] = "atomic"
        elif type_.granular:
            more[x + "map-type"] = "granular"
        if type_.merge_key:
            more[x + "patch-merge-key"] = type_.merge_key
        if type_.merge_strategies:
            more[x + "patch-strategy"] = ",".join(sorted(type_.merge_strategies))
        return more

    def schema(self, type_: Type) -> Json:
        """The schema of a value; named structs and the special types by reference."""
        kind = type_.kind
        plain = _PLAIN.get(kind)
        if plain is not None:
            return plain
        if kind == "struct":
            if not type_.definition:
                return self.inline(type_)
            self._need(type_)
            return {"$ref": self._root + type_.definition}
        if kind == "list":
            return {"type": "array", "items": self._element(type_)}
        if kind == "map":
            return {"type": "object", "additionalProperties": self._element(type_)}
        return self._ref(kind)

    def _element(self, type_: Type) -> Json:
        out = self.schema(type_.element)
        if self._v3:
            zero = _ZERO.get(type_.element.kind)
            if "$ref" in out:
                return {"allOf": [out], "default": {}} if type_.element.kind == "struct" else out
            if zero is not None:
                return {**out, "default": zero}
        return out

    # Custom kinds

    def _custom_kind(self, resource: Resource) -> None:
        dialect = self._dialect
        name = definition_name(resource)
        gvk = self._x + "group-version-kind"
        own: Json = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        schema = self.inline(resource.type.uncached())
        if schema.get(self._x + "preserve-unknown-fields") or "type" not in schema:
            schema = {k: v for k, v in schema.items() if k == "description"} | {"type": "object"}
        else:
            properties = schema.get("properties", {})
            schema = {**schema, "properties": dict(sorted({**properties, **self._identity()}.items()))}
        extensions: Json = {}
        names = resource.row.fields.names
        if names:
            extensions[self._x + "selectable-fields"] = [{"fieldPath": path} for path in names]
        self._definitions[name] = {**schema, gvk: [own], **extensions}
        list_kind = resource.list_kind or resource.kind + "List"
        self._need(self._catalog.types.get("meta/v1.ListMeta"))
        # The reference declares no type for lists of custom kinds.
        self._definitions[list_definition_name(resource)] = {
            "description": f"A list of {resource.kind}.",
            "required": ["items"],
            "properties": {
                "apiVersion": _API_VERSION,
                "items": {"type": "array", "items": {"$ref": self._root + name}},
                "kind": _KIND,
                "metadata": {"$ref": self._root + dialect(_META) + "ListMeta"},
            },
            gvk: [{**own, "kind": list_kind}],
            **extensions,
        }
        for sub in resource.subresources.values():
            if sub.version:
                for type_ in _subresource_types(self._catalog, package_of(sub.group, sub.version), sub.kind):
                    self._need(type_)

    def _identity(self) -> Json:
        self._need(self._catalog.types.get("meta/v1.ObjectMeta"))
        return {
            "apiVersion": _API_VERSION,
            "kind": _KIND,
            "metadata": {"$ref": self._root + self._dialect(_META) + "ObjectMeta"},
        }

    def inline(self, type_: Type) -> Json:
        """The schema of a custom kind's node, without references except for metadata.

        Version 2 has neither null nor unions of schemas, and clients that validate with it would reject valid
        objects: there ``allOf``, ``anyOf``, ``oneOf``, ``not`` are omitted. It has no defaults either.
        """
        x = self._x
        out: Json = {}
        for word, value in (type_.constraints or {}).items():
            if self._v3 or word not in _UNION_WORDS:
                out[word] = value
        if type_.preserve_unknown:
            out[x + "preserve-unknown-fields"] = True
        if type_.embedded_resource:
            out[x + "embedded-resource"] = True
        if type_.enum and "enum" not in out:
            out["enum"] = list(type_.enum)
        if type_.kind == "int-or-string":
            out[x + "int-or-string"] = True
            return out
        if self._v3 and type_.nullable:
            out["nullable"] = True
        out.update(self._extensions(type_))
        if type_.atomic and type_.kind == "struct":
            out[x + "map-type"] = "atomic"
        if not self._v3:
            out = self._with_required(type_, out)
        if not self._v3 and (type_.nullable or type_.preserve_unknown):
            return self._without_type(type_, out)
        if type_.kind == "list":
            return {**out, "type": "array", "items": self.inline(type_.element)}
        if type_.kind == "map":
            return {**out, "type": "object", "additionalProperties": self.inline(type_.element)}
        if type_.kind == "struct":
            return self._inline_struct(type_, out)
        return {**_CUSTOM[type_.kind], **out}

    def _without_type(self, type_: Type, out: Json) -> Json:
        """A node of v2 that may be null or keeps unknown fields: with its members, clients of v2 would reject valid
        objects."""
        if type_.kind == "map":
            return {**out, "additionalProperties": self.inline(type_.element)}
        if type_.nullable or type_.kind in ("struct", "list", "raw"):
            return out
        return {**_CUSTOM[type_.kind], **out}

    def _with_required(self, type_: Type, out: Json) -> Json:
        """`out` with the required members of v2: without nullable ones, which v2 cannot express."""
        required = [
            name
            for name in out.get("required") or ()
            if type_.kind != "struct"
            or type_.nullable
            or type_.preserve_unknown
            or (field := type_.fields.get(name)) is None
            or not field.type.nullable
        ]
        if type_.kind == "map" and type_.element.nullable:
            required = []
        if type_.embedded_resource and not type_.preserve_unknown:
            required += [name for name in ("kind", "apiVersion") if name not in required]
        rest = {word: value for word, value in out.items() if word != "required"}
        return {**rest, "required": required} if required else rest

    def _inline_struct(self, type_: Type, out: Json) -> Json:
        out = {**out, "type": "object"}
        if type_.definition:
            return self.schema(type_)
        properties: Json = {}
        for name, field in type_.fields.items():
            schema = self.schema(field.type) if field.type.definition else self.inline(field.type)
            if self._v3 and field.default is not None and "$ref" not in schema:
                schema = {**schema, "default": field.default}
            properties[name] = schema
        if type_.embedded_resource:
            properties.update(self._identity())
        if properties:
            out["properties"] = dict(sorted(properties.items()))
        return out


_ZERO: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "uint32": 0,
    "uint64": 0,
    "int64ns": 0,
    "number": 0,
}


def _zero(field: Field) -> Any:
    """The default in v3 of a member that is not a pointer: its empty value, if that is serialized."""
    if field.ptr:
        return None
    if field.type.kind == "struct":
        return {}
    return None if field.omit else _ZERO.get(field.type.kind)


def is_object(type_: Type) -> bool:
    """True if a struct has apiVersion and kind."""
    if type_.name in _BARE_OBJECTS:
        return True
    metadata = type_.fields.get("metadata")
    return (
        metadata is not None
        and metadata.type.name in ("meta/v1.ObjectMeta", "meta/v1.ListMeta")
        and type_.name.rpartition(".")[2] not in _TEMPLATES
    )


def builtin_types(catalog: Catalog, resource: Resource) -> Iterator[Type]:
    """The types that requests for a built-in resource carry: its own, its list's, its subresources'."""
    yield resource.type
    package = resource.type.name.rpartition(".")[0]
    if "list" in resource.verbs:
        yield catalog.types.get(f"{package}.{resource.list_kind}")
    for sub in resource.subresources.values():
        yield from _subresource_types(catalog, package_of(sub.group, sub.version) if sub.version else package, sub.kind)


def _subresource_types(catalog: Catalog, package: str, kind: str) -> Iterator[Type]:
    if kind.endswith("Options"):
        return
    yield catalog.types.get(f"{package}.{kind}")

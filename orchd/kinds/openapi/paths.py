"""Every path and operation of a catalog, in the form of OpenAPI v2.

Names follow the rules of the reference: an operation is called verb, group and version, ``Namespaced``, kind and
subresource in CamelCase (``readCoreV1NamespacedPodLog``), and a parameter that all operations of a path share is
listed with the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from orchd.kinds.catalog import Catalog, Resource, group_version, package_of
from orchd.kinds.openapi import parameters as par
from orchd.kinds.openapi.definitions import V2_ROOT, definition_name, list_definition_name
from orchd.kinds.rows import Subresource

Json = dict[str, Any]

_ARTICLE_AN: Final = frozenset("AEIOU")
_CONNECT: Final = {"create": ("post",), "delete": ("delete",), "get": ("get",), "patch": ("patch",), "update": ("put",)}
_MERGES: Final = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


def camel(text: str) -> str:
    return text[:1].upper() + text[1:]


class Paths:
    """The path items of one catalog. References to definitions begin with `root`."""

    def __init__(self, catalog: Catalog, *, root: str = V2_ROOT) -> None:
        self._catalog = catalog
        self.parameters = catalog.release.choose(par.OPERATIONS)
        dialect = catalog.dialect
        self._root = root
        self._suffix = dialect(".{abbr}.io")
        self._action = dialect("x-{long}-action")
        self._gvk = dialect("x-{long}-group-version-kind")
        self._meta = dialect("io.{abbr}.apimachinery.pkg.apis.meta.v1.")
        self._info = dialect("io.{abbr}.apimachinery.pkg.version.Info")
        self._encodings = ["application/json", "application/yaml", dialect.protobuf]
        self._streams = ["application/json;stream=watch", f"{dialect.protobuf};stream=watch"]

    def all(self) -> dict[str, Json]:
        """Path -> path item, sorted by path."""
        items = dict(self.roots())
        for resource in self._catalog.resources:
            items.update(self.of(resource))
        return dict(sorted(items.items()))

    def in_version(self, resources: Sequence[Resource]) -> dict[str, Json]:
        """The paths of `resources`, which are those of one group version, sorted, its discovery document included."""
        items: dict[str, Json] = {}
        if any(not r.custom for r in resources):
            items.update([self._version_root(resources[0].group, resources[0].version)])
        for resource in resources:
            items.update(self.of(resource))
        return dict(sorted(items.items()))

    def of(self, resource: Resource) -> Iterator[tuple[str, Json]]:
        """The paths of one resource and of its subresources."""
        yield from _ResourcePaths(self, resource).items()

    # Names

    def identifier(self, group: str) -> str:
        """``rbac.authorization...`` -> ``RbacAuthorization``, "" -> ``Core``."""
        parts = group.removesuffix(self._suffix).split(".") if group else ["core"]
        return "".join(camel(part) for part in parts)

    def tag(self, group: str, version: str = "") -> list[str]:
        name = self.identifier(group)
        name = name[:1].lower() + name[1:]
        return [f"{name}_{version}" if version else name]

    def ref(self, definition: str) -> Json:
        return {"$ref": self._root + definition}

    def meta_ref(self, name: str) -> Json:
        return self.ref(self._meta + name)

    # Building blocks

    def operation(
        self,
        id_: str,
        description: str,
        *,
        tags: list[str],
        responses: dict[str, Json | None],
        consumes: list[str] | None = None,
        produces: list[str] | None = None,
        parameters: Iterable[Json] = (),
        action: str = "",
        gvk: Json | None = None,
    ) -> Json:
        out: Json = {"description": description}
        if consumes:
            out["consumes"] = consumes
        if produces:
            out["produces"] = produces
        out["schemes"] = ["https"]
        out["tags"] = tags
        out["operationId"] = id_
        listed = list(parameters)
        if listed:
            out["parameters"] = listed
        described: Json = {}
        for code, schema in responses.items():
            described[code] = {"description": _OUTCOMES[code]}
            if schema is not None:
                described[code]["schema"] = schema
        described["401"] = {"description": "Unauthorized"}
        out["responses"] = described
        if action:
            out[self._action] = action
        if gvk is not None:
            out[self._gvk] = gvk
        return out

    def _logs(self) -> Iterator[tuple[str, Json]]:
        yield "/logs/", item(get=self.operation("logFileListHandler", "list log files", tags=["logs"], responses={}))
        yield (
            "/logs/{logpath}",
            item(
                get=self.operation(
                    "logFileHandler", "read a log file", tags=["logs"], responses={}, parameters=[par.LOG_PATH]
                )
            ),
        )

    def roots(self) -> Iterator[tuple[str, Json]]:
        """The paths that belong to no resource: discovery, version, logs."""
        text: Json = {"type": "string"}
        yield (
            "/.well-known/openid-configuration/",
            item(
                get=self.operation(
                    "getServiceAccountIssuerOpenIDConfiguration",
                    "get service account issuer OpenID configuration",
                    tags=["WellKnown"],
                    responses={"200": text},
                    produces=["application/json"],
                )
            ),
        )
        yield (
            "/openid/v1/jwks/",
            item(
                get=self.operation(
                    "getServiceAccountIssuerOpenIDKeyset",
                    "get the keys that sign service account tokens",
                    tags=["openid"],
                    responses={"200": text},
                    produces=["application/jwk-set+json"],
                )
            ),
        )
        yield (
            "/version/",
            item(
                get=self.operation(
                    "getCodeVersion",
                    "get the code version",
                    tags=["version"],
                    responses={"200": self.ref(self._info)},
                    consumes=["application/json"],
                    produces=["application/json"],
                )
            ),
        )
        if self._catalog.release.includes(until="1.24"):
            yield from self._logs()
        yield "/api/", self._discovery("getCoreAPIVersions", "get available API versions", ["core"], "APIVersions")
        yield "/apis/", self._discovery("getAPIVersions", "get available API versions", ["apis"], "APIGroupList")
        resources = self._catalog.resources
        custom = {r.group for r in resources if r.custom} - {r.group for r in resources if not r.custom}
        for group in self._catalog.groups:
            if group.name in custom:
                continue
            if group.name:
                yield (
                    f"/apis/{group.name}/",
                    self._discovery(
                        f"get{self.identifier(group.name)}APIGroup",
                        "get information of a group",
                        self.tag(group.name),
                        "APIGroup",
                    ),
                )
            for version in group.versions:
                yield self._version_root(group.name, version)

    def _version_root(self, group: str, version: str) -> tuple[str, Json]:
        base = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
        return base, self._discovery(
            f"get{self.identifier(group)}{camel(version)}APIResources",
            "get available resources",
            self.tag(group, version),
            "APIResourceList",
        )

    def _discovery(self, id_: str, description: str, tags: list[str], kind: str) -> Json:
        return item(
            get=self.operation(
                id_,
                description,
                tags=tags,
                responses={"200": self.meta_ref(kind)},
                consumes=self._encodings,
                produces=self._encodings,
            )
        )

    def produced(self, resource: Resource, *, stream: bool = False) -> list[str]:
        if resource.custom:
            return ["application/json", "application/yaml"]
        return [*self._encodings, *self._streams] if stream else self._encodings


class _ResourcePaths:
    """The paths of one resource."""

    def __init__(self, paths: Paths, resource: Resource) -> None:
        self._paths = paths
        self._resource = resource
        self._catalog = paths._catalog
        self._par = paths.parameters
        self._api = paths.identifier(resource.group) + camel(resource.version)
        self._tags = paths.tag(resource.group, resource.version)
        api_version = group_version(resource.group, resource.version)
        self._base = f"/apis/{api_version}" if resource.group else f"/api/{api_version}"
        self._scope = "Namespaced" if resource.namespaced else ""
        self._shared = [par.NAMESPACE, par.PRETTY] if resource.namespaced else [par.PRETTY]
        self._consumes = ["application/json", "application/yaml"] if resource.custom else ["*/*"]
        self._own = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        self._object = paths.ref(definition_name(resource))

    def items(self) -> Iterator[tuple[str, Json]]:
        resource = self._resource
        inner = f"/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"/{resource.plural}"
        yield from self._whole(inner)
        yield from self._object_paths(inner + "/{name}")
        if "watch" in resource.verbs and not resource.custom:
            yield from self._watches(inner)
        for sub in resource.subresources.values():
            yield from self._subresource(f"{inner}/{{name}}/{sub.name}", sub)

    def _operation(
        self,
        verb: str,
        suffix: str,
        description: str,
        action: str,
        responses: dict[str, Json | None],
        *,
        parameters: Iterable[Json] = (),
        consumes: list[str] | None = None,
        produces: list[str] | None = None,
        gvk: Json | None = None,
        scope: str | None = None,
    ) -> Json:
        scope = self._scope if scope is None else scope
        return self._paths.operation(
            f"{verb}{self._api}{scope}{self._resource.kind}{suffix}",
            description,
            tags=self._tags,
            responses=responses,
            consumes=consumes or self._consumes,
            produces=produces or self._paths.produced(self._resource),
            parameters=parameters,
            action=action,
            gvk=gvk or self._own,
        )

    def _whole(self, inner: str) -> Iterator[tuple[str, Json]]:
        resource, paths, kind = self._resource, self._paths, self._resource.kind
        operations: dict[str, Json] = {}
        streams = paths.produced(resource, stream=True)
        listed: dict[str, Json | None] = {"200": paths.ref(list_definition_name(resource))}
        action = (
            f"list or watch objects of kind {kind}" if "watch" in resource.verbs else f"list objects of kind {kind}"
        )
        if "list" in resource.verbs:
            operations["get"] = self._operation(
                "list", "", action, "list", listed, parameters=[*self._shared, *self._par.list], produces=streams
            )
            if resource.namespaced:
                yield (
                    f"{self._base}/{resource.plural}",
                    item(
                        get=self._operation(
                            "list",
                            "ForAllNamespaces",
                            action,
                            "list",
                            listed,
                            parameters=[par.PRETTY, *self._par.list],
                            produces=streams,
                            scope="",
                        )
                    ),
                )
        if "create" in resource.verbs:
            operations["post"] = self._create("", self._object, self._own, [*self._shared], f"create {_a(kind)} {kind}")
        if "deletecollection" in resource.verbs:
            how = self._par.list if resource.custom else (self._delete_body(), *self._par.delete_collection)
            operations["delete"] = self._operation(
                "delete",
                "",
                f"delete collection of {kind}",
                "deletecollection",
                {"200": paths.meta_ref("Status")},
                parameters=[*self._shared, *how],
                scope=f"Collection{self._scope}",
            )
        if operations:
            yield self._base + inner, item(**operations)

    def _create(self, suffix: str, schema: Json, gvk: Json, shared: list[Json], description: str) -> Json:
        return self._operation(
            "create",
            suffix,
            description,
            "post",
            {"200": schema, "201": schema, "202": schema},
            parameters=[*shared, par.body(schema), *self._par.write],
            gvk=gvk,
        )

    def _delete_body(self) -> Json:
        return par.body(self._paths.meta_ref("DeleteOptions"), required=False)

    def _object_paths(self, inner: str) -> Iterator[tuple[str, Json]]:
        resource = self._resource
        kind = resource.kind
        shared = [par.name(kind), *self._shared]
        operations = self._rewrites("", f"the specified {kind}", self._object, self._own, resource.verbs, shared)
        if "delete" in resource.verbs:
            returned = resource.row.returns_deleted
            response = self._object if returned else self._paths.meta_ref("Status")
            operations["delete"] = self._operation(
                "delete",
                "",
                f"delete {_a(kind)} {kind}",
                "delete",
                {"200": response, "202": response},
                parameters=[*shared, self._delete_body(), *self._par.delete],
            )
        if operations:
            yield self._base + inner, item(**operations)

    def _rewrites(
        self, suffix: str, what: str, schema: Json, gvk: Json, verbs: Iterable[str], shared: list[Json]
    ) -> dict[str, Json]:
        """The operations get, put and patch on one object or subresource, that are in `verbs`."""
        out: dict[str, Json] = {}
        if "get" in verbs:
            own = [par.RESOURCE_VERSION] if self._resource.custom else []
            out["get"] = self._operation(
                "read", suffix, f"read {what}", "get", {"200": schema}, parameters=[*shared, *own], gvk=gvk
            )
        if "update" in verbs:
            out["put"] = self._operation(
                "replace",
                suffix,
                f"replace {what}",
                "put",
                {"200": schema, "201": schema},
                parameters=[*shared, par.body(schema), *self._par.write],
                gvk=gvk,
            )
        if "patch" in verbs:
            types = [*_MERGES, _APPLY] if self._resource.custom else [*_MERGES, _STRATEGIC, _APPLY]
            # The reference accepts `force` for custom kinds but does not document it.
            options = self._par.write if self._resource.custom else self._par.patch
            out["patch"] = self._operation(
                "patch",
                suffix,
                f"partially update {what}",
                "patch",
                {"200": schema, "201": schema},
                parameters=[*shared, par.body(self._paths.meta_ref("Patch")), *options],
                consumes=types,
                gvk=gvk,
            )
        return out

    def _watches(self, inner: str) -> Iterator[tuple[str, Json]]:
        kind, base = self._resource.kind, f"{self._base}/watch"
        several = f"watch individual changes to a list of {kind}. Deprecated: list with the parameter watch."
        one = f"watch changes to an object of kind {kind}. Deprecated: list with watch and a field selector."
        yield base + inner, self._watch("List", several, "watchlist", self._shared, self._scope)
        yield f"{base}{inner}/{{name}}", self._watch("", one, "watch", [par.name(kind), *self._shared], self._scope)
        if self._resource.namespaced:
            yield (
                f"{base}/{self._resource.plural}",
                self._watch("ListForAllNamespaces", several, "watchlist", [par.PRETTY], ""),
            )

    def _watch(self, suffix: str, description: str, action: str, shared: list[Json], scope: str) -> Json:
        return item(
            get=self._operation(
                "watch",
                suffix,
                description,
                action,
                {"200": self._paths.meta_ref("WatchEvent")},
                parameters=[*shared, *self._par.list],
                produces=self._paths.produced(self._resource, stream=True),
                scope=scope,
            )
        )

    def _subresource(self, inner: str, sub: Subresource) -> Iterator[tuple[str, Json]]:
        resource = self._resource
        group, version = (sub.group, sub.version) if sub.version else (resource.group, resource.version)
        gvk: Json = self._own if resource.custom else {"group": group, "kind": sub.kind, "version": version}
        suffix = camel(sub.name)
        path = self._base + inner
        if sub.kind.endswith("Options"):
            yield from self._connect(path, suffix, sub, gvk, group, version)
            return
        shared = [par.name(resource.kind if resource.custom else sub.kind), *self._shared]
        if sub.name == "log":
            yield (
                path,
                item(
                    get=self._operation(
                        "read",
                        suffix,
                        f"read log of the specified {resource.kind}",
                        "get",
                        {"200": {"type": "string"}},
                        parameters=[*shared, *self._options(group, version, f"{resource.kind}LogOptions")],
                        produces=["text/plain", *self._paths.produced(resource)],
                        gvk=gvk,
                    )
                ),
            )
            return
        schema = self._object
        if sub.kind != resource.kind or sub.version:
            type_ = self._catalog.types.get(f"{package_of(group, version)}.{sub.kind}")
            schema = self._paths.ref(type_.definition)
        operations = self._rewrites(
            suffix, f"{sub.name} of the specified {resource.kind}", schema, gvk, sub.verbs, shared
        )
        if "create" in sub.verbs:
            action = f"create {sub.name} of {_a(resource.kind)} {resource.kind}"
            operations["post"] = self._create(suffix, schema, gvk, shared, action)
        yield path, item(**operations)

    def _connect(
        self, path: str, suffix: str, sub: Subresource, gvk: Json, group: str, version: str
    ) -> Iterator[tuple[str, Json]]:
        """Operations of subresources that proxy a request; one with paths below it accepts every method."""
        kind = self._resource.kind
        options = list(self._options(group, version, sub.kind))
        methods = [method for verb in sub.verbs for method in _CONNECT[verb]]
        proxy = any(option["name"] == "path" for option in options)
        if proxy:
            methods += ["head", "options"]
        shared = [par.name(sub.kind), *(p for p in self._shared if p is not par.PRETTY), *options]
        for below in (False, True) if proxy else (False,):
            operations = {}
            for method in methods:
                operations[method] = self._paths.operation(
                    f"connect{self._api}{camel(method)}{self._scope}{kind}{suffix}{'WithPath' if below else ''}",
                    f"connect {method.upper()} requests to {sub.name} of {kind}",
                    tags=self._tags,
                    responses={"200": {"type": "string"}},
                    consumes=["*/*"],
                    produces=["*/*"],
                    parameters=[*shared, par.PATH] if below else shared,
                    action="connect",
                    gvk=gvk,
                )
            yield path + ("/{path}" if below else ""), item(**operations)

    def _options(self, group: str, version: str, kind: str) -> Iterator[Json]:
        type_ = self._catalog.types.get(f"{package_of(group, version)}.{kind}")
        for name, field in sorted(type_.fields.items()):
            parameter = par.option(name, field.type.element.kind if field.type.kind == "list" else field.type.kind)
            if parameter is not None:
                yield parameter


_OUTCOMES: Final = {"200": "OK", "201": "Created", "202": "Accepted"}


def _a(kind: str) -> str:
    return "an" if kind[0] in _ARTICLE_AN else "a"


def _order(parameter: Json) -> tuple[str, str]:
    return parameter["name"], parameter["in"]


def item(**operations: Json) -> Json:
    """A path item: parameters that every operation has are moved to the path, sorted."""
    common: dict[tuple[str, str], Json] | None = None
    for operation in operations.values():
        own = {_order(p): p for p in operation.get("parameters", ()) if p["in"] != "body"}
        common = own if common is None else {key: p for key, p in common.items() if key in own}
    if not common:
        return dict(operations)
    out: Json = {}
    for method, operation in operations.items():
        rest = [p for p in operation.get("parameters", ()) if _order(p) not in common]
        trimmed = {key: value for key, value in operation.items() if key != "parameters"}
        if rest:
            trimmed = {}
            for key, value in operation.items():
                trimmed[key] = rest if key == "parameters" else value
        out[method] = trimmed
    out["parameters"] = [common[key] for key in sorted(common)]
    return out

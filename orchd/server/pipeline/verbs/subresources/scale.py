"""The scale subresource of kinds with replicas, as ``autoscaling/v1`` Scale.

A `ScaleMapping` relates a kind's objects to their Scales: that of a built-in kind is in its row, that of a custom kind
in its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec.mediatype import APPLY_PATCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.patch.scale import Replicas, to_parent, to_scale
from orchd.kinds.references import get_path
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.negotiation import Representation
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.get import refuse_export
from orchd.server.pipeline.verbs.options import write_options
from orchd.server.pipeline.verbs.patch import patch_operation
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, mutate
from orchd.server.registry.interfaces import Context
from orchd.server.registry.operations import Apply, Edit, Patch, Replace, check_name

#: A field path: ``("spec", "replicas")``.
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleMapping:
    """`spec` and `status` are the paths of the replicas, `selector` returns the text of status.selector.

    `missing` is the group and plural in GET's error for a missing object. `validated` means that the Scale is
    validated; otherwise only the object is. `required` means that an object without replicas has no Scale, `tracked`
    that the field manager of the scale request owns the replicas (for custom kinds the reference only removes the
    previous owner).
    """

    spec: Path
    status: Path
    selector: Callable[[Object], str]
    missing: tuple[str, str] | None = None
    validated: bool = True
    required: bool = False
    tracked: bool = True

    def scale(self, obj: Object, fields: Replicas) -> Object:
        """The Scale of an object. Raises ApiError 500 where it has none."""
        replicas = get_path(obj, *self.spec)
        if replicas is None and self.required:
            raise errors.internal(f'the spec replicas field "{_join_path(self.spec)}" does not exist')
        return self.with_replicas(obj, replicas or 0, fields)

    def with_replicas(self, obj: Object, replicas: int, fields: Replicas) -> Object:
        metadata = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        scale_metadata = {key: metadata[key] for key in kept if metadata.get(key)}
        entries = to_scale(metadata.get("managedFields"), fields)
        if entries:
            scale_metadata["managedFields"] = entries
        status: Object = {"replicas": get_path(obj, *self.status) or 0}
        selector = self.selector(obj)
        if selector:
            status["selector"] = selector
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": scale_metadata,
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def before(self, obj: Object, fields: Replicas) -> Object:
        """The Scale before a change: missing replicas count as 0."""
        return self.with_replicas(obj, get_path(obj, *self.spec) or 0, fields)

    def scaled(self, obj: Object, scale: Object, fields: Replicas, api_version: str) -> Object:
        """The object after applying its new Scale."""
        scale_metadata = scale.get("metadata") or {}
        metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
        if scale_metadata.get("resourceVersion"):
            metadata["resourceVersion"] = scale_metadata["resourceVersion"]
        entries = to_parent(
            obj["metadata"].get("managedFields"), scale_metadata.get("managedFields"), fields, api_version
        )
        if entries:
            metadata["managedFields"] = entries
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        changed: Object = _with(obj, self.spec, replicas)
        return {**changed, "metadata": metadata}


def _with(obj: Any, path: Path, value: Any) -> Any:
    """A copy of `obj` in which `path` has `value`."""
    if not path:
        return value
    inside = obj if isinstance(obj, dict) else {}
    return {**inside, path[0]: _with(inside.get(path[0]), path[1:], value)}


def _join_path(path: Path) -> str:
    return "." + ".".join(path)


def _by_selector(obj: Object) -> str:
    return str(LabelSelector.from_object((obj.get("spec") or {}).get("selector")))


def _by_labels(obj: Object) -> str:
    return str(LabelSelector.from_map((obj.get("spec") or {}).get("selector") or {}))


def builtin_mapping(resource: Resource) -> ScaleMapping:
    """The mapping in the row of a built-in kind."""
    described = resource.subresources["scale"].scale
    assert described is not None, resource
    return ScaleMapping(
        spec=("spec", "replicas"),
        status=("status", "replicas"),
        selector=_by_labels if described.selector == "map" else _by_selector,
        missing=described.not_found,
    )


def plain_mapping(resource: Resource) -> ScaleMapping:
    """As `builtin_mapping`, for releases in which GET passes errors on."""
    return replace(builtin_mapping(resource), missing=None)


def _path(text: str) -> Path:
    """A simple path in a definition: ``.spec.replicas``."""
    return tuple(text.strip(".").split(".")) if text else ()


def custom_mapping(resource: Resource) -> ScaleMapping | None:
    """The mapping in a custom kind's definition for this version, None without one."""
    described = ((resource.definition or {}).get("subresources") or {}).get("scale")
    if not described:
        return None
    selector = _path(described.get("labelSelectorPath") or "")

    def selected(obj: Object) -> str:
        text = get_path(obj, *selector) if selector else None
        return text if isinstance(text, str) else ""

    return ScaleMapping(
        spec=_path(described["specReplicasPath"]),
        status=_path(described["statusReplicasPath"]),
        selector=selected,
        validated=False,
        required=True,
        tracked=False,
    )


def tracked_mapping(resource: Resource) -> ScaleMapping | None:
    """As `custom_mapping`, for releases that track who scales custom objects."""
    mapping = custom_mapping(resource)
    return None if mapping is None else replace(mapping, tracked=True)


class Scales:
    """The verbs of every scale endpoint."""

    def __init__(self, catalog: Catalog, foreign: ForeignBodyContext) -> None:
        self._kind = catalog.body_kind("autoscaling/v1", "Scale")
        self._foreign = foreign
        self._builtin_mapping = catalog.release.choose((("", builtin_mapping), ("1.24", plain_mapping)))
        self._custom_mapping = catalog.release.choose((("", custom_mapping), ("1.24", tracked_mapping)))
        self.verbs: Mapping[str, Verb] = {"get": self.get, "update": self.update, "patch": self.patch}

    def _mapping(self, resource: Resource) -> ScaleMapping:
        mapping = self._custom_mapping(resource) if resource.custom else self._builtin_mapping(resource)
        if mapping is None:
            raise errors.page_not_found()
        return mapping

    def _fields(self, context: VerbContext, target: ResourceTarget, mapping: ScaleMapping) -> Replicas:
        """Field paths of the replicas in every served version of the kind."""
        path = tuple("f:" + name for name in mapping.spec)
        return {r.api_version: path for r in context.catalog().versions_of(target.resource)}

    def _view(self, context: VerbContext, request: Request, target: ResourceTarget) -> Representation:
        """Negotiate the representation of a Scale. Raises ApiError 406."""
        return context.present.view(request, self._kind, table="scale" in context.tables, custom=target.resource.custom)

    async def get(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """200 with the Scale of an object."""
        mapping = self._mapping(target.resource)
        view = self._view(context, request, target)
        refuse_export(request)
        resource = target.resource
        try:
            entry = await context.registry.get(
                resource, target.namespace, target.name, resource_version=request.param("resourceVersion")
            )
        except ApiError:
            if mapping.missing is None:
                raise
            raise errors.not_found(*mapping.missing, target.name) from None
        scale = mapping.scale(context.present.in_version(resource, entry), {})
        return context.present.response(view, context.present.other(view, scale))

    async def update(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """200 with the updated Scale."""
        mapping = self._mapping(target.resource)
        # The Accept header is checked before the body.
        self._view(context, request, target)
        sent, options = await context.decode_object(request, self._kind, "UpdateOptions")
        check_name(target.name, target.namespace, sent, context.settings.release)
        write_context = context.write_context(request, target, options)
        operation = Replace(name=target.name, obj=sent, authorize_create=partial(context.authorize, request, "create"))
        uid = sent["metadata"].get("uid") or ""
        return await self._change(context, request, target, write_context, mapping, operation, uid)

    async def patch(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """200 with the updated Scale; every patch type, apply included."""
        mapping = self._mapping(target.resource)
        sent = context.patch_type(request, target)
        data = await context.body(request)
        options = write_options(context.settings, request, "PatchOptions", apply=sent == APPLY_PATCH)
        write_context = context.write_context(request, target, options)
        operation = patch_operation(context, request, target.name, sent, data, options)
        return await self._change(context, request, target, write_context, mapping, operation)

    async def _change(
        self,
        context: VerbContext,
        request: Request,
        target: ResourceTarget,
        write_context: Context,
        mapping: ScaleMapping,
        operation: Replace | Patch | Apply,
        uid: str = "",
    ) -> Response:
        resource = target.resource
        view = self._view(context, request, target)
        fields = self._fields(context, target, mapping)

        replicas = 0

        async def scale_object(live: Object) -> Object:
            nonlocal replicas
            old = mapping.before(live, fields)
            new = await context.registry.transform(replace(write_context, resource=self._kind), operation, old)
            if not mapping.tracked and not isinstance(operation, Apply):
                new = {**new, "metadata": {k: v for k, v in new["metadata"].items() if k != "managedFields"}}
            review = self._foreign.admission.review(write_context, "UPDATE", old, name=target.name)
            new = await mutate(context, review, self._kind, new)
            self._check(context, target, mapping, new, old)
            replicas = (new.get("spec") or {}).get("replicas") or 0
            changed = mapping.scaled(live, new, fields, resource.api_version)
            if resource.custom:
                # The schema need not have the path of the replicas.
                changed = canonicalize(changed, resource, context.settings)
            # Validating admission sees the Scales of the objects before and after the change instead of the body.
            await review.validate(mapping.before(changed, {}), mapping.before(live, {}))
            return changed

        written = await self._foreign.registry.write(
            write_context, Edit(name=target.name, change=scale_object, uid=uid)
        )
        scale = mapping.with_replicas(context.present.in_version(resource, written.entry), replicas, {})
        return context.present.response(view, context.present.other(view, scale))

    def _check(
        self, context: VerbContext, target: ResourceTarget, mapping: ScaleMapping, new: Object, old: Object
    ) -> None:
        """Validate a Scale. Raises ApiError 422 or 409."""
        resource = target.resource
        if mapping.validated:
            causes = validation.validate_update(new, old, self._kind, context.settings)
            if causes:
                raise errors.invalid(self._kind.group, self._kind.kind, target.name, causes)
        uid, old_uid = new["metadata"].get("uid"), old["metadata"].get("uid")
        if not resource.custom and uid and uid != old_uid:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old_uid}"
            raise errors.conflict(resource.group, f"{resource.plural}/scale", target.name, why)

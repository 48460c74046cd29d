"""Properties of claims and volumes: class, size, modes, and whether they are bound to each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity

#: Annotation of claims: the binding is complete.
BIND_COMPLETED: Final = "pv.{long}.io/bind-completed"
#: Annotation of claims and volumes: the binding was chosen by a controller, not by the user.
BOUND_BY_CONTROLLER: Final = "pv.{long}.io/bound-by-controller"
#: Annotation of claims: the node for which a volume is to be provisioned.
SELECTED_NODE: Final = "volume.{long}.io/selected-node"
#: former form of the class of claims and volumes.
BETA_CLASS: Final = "volume.beta.{long}.io/storage-class"
#: Provisioner of classes that provision nothing.
NO_PROVISIONER: Final = "{long}.io/no-provisioner"

WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
#: Annotations that mark default classes.
_DEFAULT_MARKS: Final = ("storageclass.{long}.io/is-default-class", "storageclass.beta.{long}.io/is-default-class")
_NOTHING: Final = Quantity.of(0)


def annotation(obj: Object, name: str) -> str | None:
    """The value of an annotation, None if it is absent."""
    text: str | None = fields.annotations_of(obj).get(name)
    return text


def class_of(obj: Object, dialect: Dialect) -> str:
    """The storage class of a claim or volume; "" without one."""
    beta = annotation(obj, dialect(BETA_CLASS))
    return beta if beta is not None else fields.spec(obj).get("storageClassName") or ""


def has_class(claim: Object, dialect: Dialect) -> bool:
    """True for a claim that says its class, also if it is "" for none."""
    return annotation(claim, dialect(BETA_CLASS)) is not None or fields.spec(claim).get("storageClassName") is not None


def is_default_class(storage_class: Object, dialect: Dialect) -> bool:
    return any(annotation(storage_class, dialect(mark)) == "true" for mark in _DEFAULT_MARKS)


def newest(classes: Iterable[Object]) -> str:
    """The name of the class that was created last, of several the first by name; "" without any."""
    by_name = sorted((each["metadata"] for each in classes), key=lambda metadata: metadata["name"])
    name: str = max(by_name, key=lambda metadata: metadata["creationTimestamp"], default={"name": ""})["name"]
    return name


def requested_storage(claim: Object) -> Quantity:
    """The requested storage of a claim, 0 if it is not specified."""
    text = fields.mapping(claim["spec"], "resources", "requests").get("storage")
    return _NOTHING if text is None else Quantity.parse(text)


def capacity(volume: Object) -> Quantity:
    text = (volume["spec"].get("capacity") or {}).get("storage")
    return _NOTHING if text is None else Quantity.parse(text)


def volume_mode(obj: Object) -> str:
    mode: str = obj["spec"].get("volumeMode") or "Filesystem"
    return mode


def has_access_modes(volume: Object, claim: Object) -> bool:
    """True if a volume has every access mode that a claim requests."""
    return set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())


def is_fully_bound(claim: Object, dialect: Dialect) -> bool:
    """True if a claim is bound and its binding is complete."""
    return bool(claim["spec"].get("volumeName")) and annotation(claim, dialect(BIND_COMPLETED)) is not None


def bound_to(volume: Object, claim: Object) -> bool:
    """True if a volume is bound to a claim, or reserved for one of its name."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    metadata = claim["metadata"]
    if (reference.get("namespace", ""), reference.get("name", "")) != (metadata.get("namespace", ""), metadata["name"]):
        return False
    return not reference.get("uid") or reference["uid"] == metadata.get("uid")


def bind(volume: Object, claim: Object, dialect: Dialect) -> tuple[dict[str, Any], bool]:
    """A copy of a volume bound to a claim, and whether it differs. A binding that the user did not request is annotated
    as made by a controller."""
    changed = False
    metadata, spec = dict(volume["metadata"]), dict(volume["spec"])
    reference, target = spec.get("claimRef") or {}, claim["metadata"]
    if any(reference.get(name, "") != target.get(name, "") for name in ("namespace", "name", "uid")):
        spec["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            **{name: target[name] for name in ("namespace", "name", "uid", "resourceVersion") if target.get(name)},
        }
        changed = True
    mark = dialect(BOUND_BY_CONTROLLER)
    if not bound_to(volume, claim) and annotation(volume, mark) is None:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), mark: "yes"}
        changed = True
    return {**volume, "metadata": metadata, "spec": spec}, changed


def select_node(claim: Object, node_name: str, dialect: Dialect) -> dict[str, Any]:
    """A copy of a claim whose volume is to be provisioned for a node."""
    annotations = {**fields.annotations_of(claim), dialect(SELECTED_NODE): node_name}
    return fields.with_metadata(claim, annotations=annotations)

"""Claims of devices: made from templates for pods, released and deallocated when their pods no longer need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import APPLY, PODS
from orchd.controllers.write_errors import ignore_missing
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import deleting, name, namespace, owner, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.device_claims import (
    MAX_RESERVED,
    ClaimError,
    ClaimNotMadeError,
    check_owner,
    claim_name,
    is_generated,
    is_reserved_for,
    reservation,
)
from orchd.txkit.metrics.instruments import Counter, ObservedGauge

DEVICE_CLAIMS: Final = ResourceRef("resource.{abbr}.io", "v1", "resourceclaims")
DEVICE_CLAIM_TEMPLATES: Final = ResourceRef("resource.{abbr}.io", "v1", "resourceclaimtemplates")
#: Index of the uid of the pod that owns a claim.
_BY_POD: Final = "resource-claims/pod"
_ENDED: Final = ("Succeeded", "Failed")
#: The longest base of a generated name.
_MAX_BASE: Final = 57
_FIELD_MANAGER: Final = "ResourceClaimController"
#: Sorts of keys: the second part of a key is one of these, a slash, and a name.
_POD, _CLAIM = "pods", "claims"


def _admin_access(claim: Mapping[str, Any]) -> str:
    """Does a request of the spec of a claim ask for the access of an administrator? "true" or "false"."""
    requests = (claim.get("devices") or {}).get("requests") or ()
    return "true" if any((each.get("exactly") or {}).get("adminAccess") for each in requests) else "false"


class ResourceClaimController(Controller):
    """Allocates nothing: the scheduler does."""

    name = "resourceclaim-controller"
    account = "resource-claim-controller"
    component = "resource_claim"
    subject = ("v1", "Pod")

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        group = env.dialect(DEVICE_CLAIMS.group)
        self._ref = ResourceRef(group, "v1", DEVICE_CLAIMS.plural)
        self._version = f"{group}/v1"
        self._annotation = env.dialect("resource.{long}.io/pod-claim-name")
        self._finalizer = env.dialect("resource.{long}.io/delete-protection")
        self._pods = self.follow(PODS, self._pod_changed)
        self._claims = self.follow(self._ref, self._claim_changed)
        self._claims.add_index(_BY_POD, _owning_pods)
        self._creations = Counter(
            "resourceclaim_controller_creates_total",
            "Claims that were to be created, by result and access of an administrator.",
            ("status", "admin_access"),
        )
        self.instruments = (
            self._creations,
            ObservedGauge(
                "resourceclaim_controller_resource_claims",
                "Claims, by whether they are allocated, access of an administrator, and what they are made from.",
                self._numbers,
                ("allocated", "admin_access", "source"),
            ),
        )
        self._templates = self.follow(ResourceRef(group, "v1", DEVICE_CLAIM_TEMPLATES.plural))

    def _numbers(self) -> dict[tuple[str, ...], float]:
        """Claims by the labels of the metric."""
        numbers: dict[tuple[str, ...], float] = {}
        for claim in self._claims.list():
            from_template = bool(fields.annotations_of(claim).get(self._annotation))
            source = "resource_claim_template" if from_template else ""
            allocated = "true" if "allocation" in fields.status(claim) else "false"
            labels = allocated, _admin_access(spec(claim)), source
            numbers[labels] = numbers.get(labels, 0.0) + 1
        return numbers

    # -- what is to be done

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        pod = new or old
        if pod is None or not spec(pod).get("resourceClaims"):
            return
        if new is None or _is_done(pod):
            for called in _names(pod):
                self.queue.add((namespace(pod), f"{_CLAIM}/{called}"))
        if new is not None and not deleting(new):
            self.queue.add((namespace(new), f"{_POD}/{name(new)}"))

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        claim = new or old
        assert claim is not None
        if new is not None:
            self.queue.add((namespace(new), f"{_CLAIM}/{name(new)}"))
        reference = _owning_pod(claim)
        if reference is not None and new is None:
            self.queue.add((namespace(claim), f"{_POD}/{reference['name']}"))

    async def reconcile(self, key: Key) -> float | None:
        sort, _, called = key[1].partition("/")
        if sort == _POD:
            await self._reconcile_pod(self._pods.get(key[0], called))
        else:
            await self._reconcile_claim(self._claims.get(key[0], called))
        return None

    # -- pods

    async def _reconcile_pod(self, pod: Object | None) -> None:
        if pod is None or deleting(pod) or _is_done(pod):
            return
        claim_names: dict[str, str] = {}
        for entry in spec(pod).get("resourceClaims") or ():
            try:
                claim_name = await self._ensure_claim(pod, entry)
            except (ApiError, ClaimError) as error:
                note = f"PodResourceClaim {entry['name']}: {getattr(error, 'message', error)}"
                self.record(pod, WARNING, "FailedResourceClaimCreation", note)
                raise RetryError from None
            if claim_name:
                claim_names[entry["name"]] = claim_name
        if claim_names:
            await self._write_names(pod, claim_names)
        elif spec(pod).get("nodeName"):
            await self._reserve_claims(pod)

    async def _ensure_claim(self, pod: Object, entry: Mapping[str, Any]) -> str:
        """The name of a claim that was made, or found, for an entry of the pod; "" if its status has it, or none is
        needed. Raises ApiError and ClaimError."""
        try:
            called = claim_name(pod, entry)
        except ClaimNotMadeError:
            called = ""
        if called is None or not is_generated(entry):
            return ""
        existing = self._claims.get(namespace(pod), called) if called else None
        if existing is not None and _owns(pod, existing):
            return ""
        for claim in self._claims.by_index(_BY_POD, uid(pod)):
            if fields.annotations_of(claim).get(self._annotation) == entry["name"]:
                return name(claim)
        template_name = entry["resourceClaimTemplateName"]
        template = self._templates.get(namespace(pod), template_name)
        if template is None:
            plural = f"{DEVICE_CLAIM_TEMPLATES.plural}.{self._ref.group}"
            raise ClaimError(f'resource claim template "{template_name}": {plural} "{template_name}" not found')
        claim = self._from_template(pod, entry["name"], template)
        try:
            created = await self.client.create(self._ref, namespace(pod), claim)
        except ApiError:
            self._creations.add("failure", _admin_access(spec(claim)))
            raise
        self._creations.add("success", _admin_access(spec(claim)))
        return name(created)

    def _from_template(self, pod: Object, entry: str, template: Object) -> Object:
        template_metadata = fields.metadata(spec(template))
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name(pod), "uid": uid(pod), "controller": True}
        metadata: dict[str, Any] = {
            "generateName": generated_base(name(pod), entry),
            "annotations": {**(template_metadata.get("annotations") or {}), self._annotation: entry},
            "ownerReferences": [reference],
        }
        if template_metadata.get("labels"):
            metadata["labels"] = template_metadata["labels"]
        return {
            "apiVersion": self._version,
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": spec(spec(template)),
        }

    async def _write_names(self, pod: Object, claim_names: Mapping[str, str]) -> None:
        statuses = [{"name": entry, "resourceClaimName": claim} for entry, claim in claim_names.items()]
        patch = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name(pod), "namespace": namespace(pod)},
            "status": {"resourceClaimStatuses": statuses},
        }
        await self.client.patch(
            PODS,
            namespace(pod),
            name(pod),
            patch,
            content_type=APPLY,
            subresource="status",
            field_manager=_FIELD_MANAGER,
            force=True,
        )

    async def _reserve_claims(self, pod: Object) -> None:
        """Reserve allocated claims for a pod that was bound without the scheduler. Raises ApiError."""
        for called in _names(pod):
            claim = self._claims.get(namespace(pod), called)
            if claim is None or not status(claim).get("allocation") or is_reserved_for(uid(pod), claim):
                continue
            users = status(claim).get("reservedFor") or []
            if len(users) < MAX_RESERVED:
                await self._write_status(claim, reservedFor=[*users, reservation(name(pod), uid(pod))])

    # -- claims

    async def _reconcile_claim(self, claim: Object | None) -> None:
        """Release a claim from pods that are gone or done; deallocate it with its last user; delete one that was made
        for such a pod."""
        if claim is None:
            return
        users = status(claim).get("reservedFor") or []
        valid = [each for each in users if await self._uses(namespace(claim), each)]
        protected = self._finalizer in (claim["metadata"].get("finalizers") or ())
        if len(valid) < len(users):
            changes: dict[str, Any] = {"reservedFor": valid or None}
            if not valid and protected:
                changes["allocation"] = None
            claim = await self._write_status(claim, **changes)
            if protected and not status(claim).get("allocation"):
                claim = await self._unprotect(claim)
        elif protected and deleting(claim) and not valid:
            if status(claim).get("allocation"):
                claim = await self._write_status(claim, allocation=None)
            claim = await self._unprotect(claim)
        reference = None if valid else _owning_pod(claim)
        pod = None if reference is None else self._pods.get(namespace(claim), reference["name"])
        if deleting(claim) or pod is None or reference is None:
            return
        if uid(pod) != reference["uid"] or _is_done(pod):
            await self._delete(claim)

    async def _uses(self, claim_namespace: str, user: Mapping[str, Any]) -> bool:
        """False if the user of a claim is a pod that is gone, or done."""
        if user.get("apiGroup") or user.get("resource") != "pods":
            return True
        pod = self._pods.get(claim_namespace, user["name"])
        if pod is None:
            # The informer may not know a new pod yet.
            pod = await self.live(PODS, claim_namespace, user["name"])
        return pod is not None and uid(pod) == user.get("uid") and not _is_done(pod)

    async def _write_status(self, claim: Object, **changes: Any) -> Object:
        """Replace members of the status, None removes one; fails if the claim has changed. Raises ApiError."""
        members = {key: value for key, value in {**status(claim), **changes}.items() if value is not None}
        replacement = {**claim, "status": members}
        return await self.client.update(self._ref, namespace(claim), name(claim), replacement, subresource="status")

    async def _unprotect(self, claim: Object) -> Object:
        left = [each for each in claim["metadata"].get("finalizers") or () if each != self._finalizer]
        replacement = fields.with_metadata(claim, finalizers=left)
        return await self.client.update(self._ref, namespace(claim), name(claim), replacement)

    async def _delete(self, claim: Object) -> None:
        with ignore_missing():
            await self.client.delete(self._ref, namespace(claim), name(claim))


def generated_base(pod: str, entry: str) -> str:
    """The base of the name of a claim that is made for an entry of a pod; both names are cut in proportion where it is
    too long."""
    base = f"{pod}-{entry}-"
    if len(base) <= _MAX_BASE:
        return base
    pod = pod[: len(pod) * _MAX_BASE // len(base)]
    return f"{pod}-{entry[: len(entry) * _MAX_BASE // len(base)]}"


def _names(pod: Object) -> Iterable[str]:
    """The names of the claims of a pod, as far as they are known."""
    for entry in spec(pod).get("resourceClaims") or ():
        try:
            called = claim_name(pod, entry)
        except ClaimError:
            continue
        if called is not None:
            yield called


def _is_done(pod: Object) -> bool:
    """True if no container of the pod runs or will run."""
    return status(pod).get("phase") in _ENDED or (deleting(pod) and not spec(pod).get("nodeName"))


def _owning_pod(claim: Object) -> Object | None:
    reference = owner(claim)
    if reference is None or (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod"):
        return None
    return reference


def _owning_pods(claim: Object) -> Iterable[str]:
    reference = _owning_pod(claim)
    return () if reference is None else (reference["uid"],)


def _owns(pod: Object, claim: Object) -> bool:
    try:
        check_owner(pod, claim)
    except ClaimError:
        return False
    return True

"""ServiceAccount: every pod uses an existing service account, mounts its token and gets its pull secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, mapping, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.names import path_segment
from orchd.kinds.references import pod_references
from orchd.server.admission.interfaces import CREATE, UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, is_true, map_containers, refuse

ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")
#: A controller creates the default account after its namespace: attempts and seconds between them.
_ATTEMPTS, _PAUSE = 10, 0.15
_TOKEN_SECONDS = 3607
_MODE = 0o644
#: Lists of containers, and what messages call one of them.
_CONTAINERS = (
    ("initContainers", "init container"),
    ("containers", "container"),
    ("ephemeralContainers", "ephemeral container"),
)


@implementer(IMutatingPlugin, IValidatingPlugin)
class ServiceAccount(Plugin):
    name = "ServiceAccount"
    help = "Sets the service account of pods, mounts its token, and limits pods to its secrets."
    operations = (CREATE, UPDATE)
    resources = ("pods", "pods/ephemeralcontainers")
    informers = (("", "v1", "serviceaccounts"),)

    def setup(self) -> None:
        self._mirror = self.dialect("{long}.io/config.mirror")
        self._enforce = self.dialect("{long}.io/enforce-mountable-secrets")
        self._mount_path = self.dialect("/var/run/secrets/{long}.io/serviceaccount")
        self._volume = self.dialect("{short}-api-access-")
        self._reviews_ephemeral = self.context.settings.release.includes("1.27")
        self._whole_secrets = self.context.settings.release.includes("1.30")
        self._root_ca = self.dialect("{short}-root-ca.crt")

    async def admit(self, review: Review) -> None:
        pod = review.written
        if review.operation != CREATE:
            return
        if self._mirror not in annotations_of(pod):
            name = spec(pod).get("serviceAccountName") or spec(pod).get("serviceAccount") or "default"
            account = await self._account(review, name)
            pod = with_spec(pod, serviceAccountName=name, serviceAccount=name)
            if _automount(account, pod):
                pod = await self.context.runtime.compute(review.size, self._with_token, pod)
            pull = account.get("imagePullSecrets")
            if pull and not spec(pod).get("imagePullSecrets"):
                pod = with_spec(pod, imagePullSecrets=[{"name": s.get("name", "")} for s in pull])
            review.object = pod
        # What is forbidden is refused before the pod is validated, as in the reference.
        await self.validate(review)

    async def validate(self, review: Review) -> None:
        pod = review.written
        if review.operation == UPDATE:
            if review.subresource and self._reviews_ephemeral:
                await self._validate_ephemeral(review, pod)
            return
        if self._mirror in annotations_of(pod):
            _check_mirror(review, pod)
            return
        name = spec(pod).get("serviceAccountName")
        if not name:
            raise refuse(review, f"no service account specified for pod {review.namespace}/{review.name}")
        account = await self._account(review, name)
        if is_true(annotations_of(account).get(self._enforce)):
            for problem in _forbidden_secrets(account, pod, whole=self._whole_secrets):
                raise refuse(review, problem)

    async def _validate_ephemeral(self, review: Review, pod: Object) -> None:
        """Check the secrets of ephemeral containers. A refusal is an unspecific error, as in the reference."""
        name = spec(pod).get("serviceAccountName")
        if not name:
            raise refuse(review, f"no service account specified for pod {review.namespace}/{review.name}")
        account = await self._account(review, name)
        if is_true(annotations_of(account).get(self._enforce)):
            ephemeral = {"spec": {"ephemeralContainers": spec(pod).get("ephemeralContainers")}}
            for problem in _forbidden_secrets(account, ephemeral, whole=True):
                raise ApiError(500, "", problem)

    async def _account(self, review: Review, name: str) -> Object:
        await self.wait_ready(review)
        account = self.informer("serviceaccounts").get(review.namespace, name)
        if account is not None:
            return account
        wrong = path_segment(name)
        if wrong:
            why = f'invalid resource name "{name}": [{" ".join(wrong)}]'
            raise refuse(review, f"error looking up service account {review.namespace}/{name}: {why}")
        reactor = self.context.runtime.reactor
        attempts = _ATTEMPTS if name == "default" and reactor is not None else 1
        for attempt in range(attempts):
            if attempt and reactor is not None:
                await deferLater(reactor, _PAUSE, lambda: None)
            try:
                obj: Object = await self.context.api.client.get(ACCOUNTS, review.namespace, name)
                return obj
            except ApiError as error:
                if error.code != 404:
                    raise refuse(
                        review, f"error looking up service account {review.namespace}/{name}: {error.message}"
                    ) from error
        raise refuse(
            review, f'error looking up service account {review.namespace}/{name}: serviceaccount "{name}" not found'
        )

    def _with_token(self, pod: Object) -> Object:
        volumes = spec(pod).get("volumes") or []
        existing = next((v["name"] for v in volumes if v.get("name", "").startswith(self._volume)), None)
        volume = existing or self._volume + self.context.runtime.random_suffix(5)
        mount = {"name": volume, "readOnly": True, "mountPath": self._mount_path}

        def mounted(container: Object) -> Object:
            mounts = container.get("volumeMounts") or []
            if any(m.get("mountPath") == self._mount_path for m in mounts):
                return container
            return {**container, "volumeMounts": [*mounts, mount]}

        changed = map_containers(pod, mounted)
        if changed is pod or existing:
            return changed
        return with_spec(changed, volumes=[*volumes, {"name": volume, "projected": self._token_volume()}])

    def _token_volume(self) -> dict[str, Any]:
        namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        return {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": self._root_ca, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [namespace]}},
            ],
            "defaultMode": _MODE,
        }


def _automount(account: Object, pod: Object) -> bool:
    for choice in (spec(pod).get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if choice is not None:
            return bool(choice)
    return True


def _check_mirror(review: Review, pod: Object) -> None:
    if spec(pod).get("serviceAccountName"):
        raise refuse(review, "a mirror pod may not reference service accounts")
    if any(kind == "secret" for kind, _ in pod_references(pod)):
        raise refuse(review, "a mirror pod may not reference secrets")
    for volume in spec(pod).get("volumes") or ():
        sources = mapping(volume, "projected").get("sources") or ()
        if any("serviceAccountToken" in s for s in sources):
            raise refuse(review, "a mirror pod may not use ServiceAccountToken volume projections")


def _forbidden_secrets(account: Object, pod: Object, *, whole: bool) -> Iterator[str]:
    """Why a pod may not use its secrets, one by one. `whole`: also those whose keys all become variables."""
    name = account["metadata"]["name"]
    allowed = {s.get("name") for s in account.get("secrets") or ()}
    tail = f"is not allowed because service account {name} does not reference that secret"
    for volume in spec(pod).get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName") not in allowed:
            yield f'volume with secret.secretName="{secret.get("secretName", "")}" {tail}'
    for key, word in _CONTAINERS:
        for container in spec(pod).get(key) or ():
            for env in container.get("env") or ():
                ref = mapping(env, "valueFrom").get("secretKeyRef")
                if ref is not None and ref.get("name") not in allowed:
                    yield (
                        f"{word} {container['name']} with envVar {env['name']} referencing "
                        f'secret.secretName="{ref.get("name", "")}" {tail}'
                    )
            for source in (container.get("envFrom") or ()) if whole else ():
                ref = source.get("secretRef")
                if ref is not None and ref.get("name") not in allowed:
                    named = f'referencing secret.secretName="{ref.get("name", "")}"'
                    yield f"{word} {container['name']} with envFrom {named} {tail}"
    pull = {s.get("name") for s in account.get("imagePullSecrets") or ()}
    for i, ref in enumerate(spec(pod).get("imagePullSecrets") or ()):
        if ref.get("name") not in pull:
            yield (
                f'imagePullSecrets[{i}].name="{ref.get("name", "")}" is not allowed because service account {name} '
                "does not reference that imagePullSecret"
            )

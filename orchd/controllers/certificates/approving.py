"""Approves certificate signing requests of nodes for client certificates, if the requestor has the permission."""

from __future__ import annotations

from typing import Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.certificates.requests import holds, request_of, requests_ref, with_condition
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.kinds.fields import mapping, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.pki.requests import RequestError, check_node_client, common_name

#: Subresource that the requestor must be allowed to create, and the message of the approval.
_SELF: Final = ("selfnodeclient", "Auto approving self {short}let client certificate after SubjectAccessReview.")
_ANY: Final = ("nodeclient", "Auto approving {short}let client certificate after SubjectAccessReview.")


class CertificateApprover(Controller):
    """Checks the requestor's permission with an access review: nodes for their own certificate, others for any
    node's."""

    name = "csrapproving"
    account = "certificate-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._ref = requests_ref(env.dialect)
        self._reviews = ResourceRef(env.dialect("authorization.{abbr}.io"), "v1", "subjectaccessreviews")
        self._signer = env.dialect("{long}.io/{short}-apiserver-client-{short}let")
        self._requests = self.follow(self._ref, primary=True)

    async def reconcile(self, key: Key) -> float | None:
        obj = self._requests.get(*key)
        if obj is None or status(obj).get("certificate") or holds(obj, "Approved") or holds(obj, "Denied"):
            return None
        request_spec = spec(obj)
        if request_spec.get("signerName") != self._signer:
            return None
        try:
            request = request_of(obj)
            check_node_client(request, request_spec.get("usages") or ())
        except RequestError:
            # Not the request of a node: left to other approvers.
            return None
        for subresource, message in ([_SELF] if request_spec.get("username") == common_name(request) else []) + [_ANY]:
            if await self._allowed(obj, subresource):
                approved = with_condition(
                    obj, timestamp(self.env.wall()), "Approved", "AutoApproved", self.dialect(message)
                )
                await self.client.update(self._ref, "", key[1], approved, subresource="approval", need_response=False)
                return None
        # The permission may be granted later by a role binding, and this controller does not watch role bindings.
        raise RetryError

    async def _allowed(self, obj: Object, subresource: str) -> bool:
        request = spec(obj)
        review = {
            "apiVersion": f"{self._reviews.group}/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": request.get("username", ""),
                "uid": request.get("uid", ""),
                "groups": request.get("groups") or [],
                "extra": mapping(request, "extra"),
                "resourceAttributes": {
                    "group": self._ref.group,
                    "resource": self._ref.plural,
                    "subresource": subresource,
                    "verb": "create",
                },
            },
        }
        response = await self.client.create(self._reviews, "", review)
        return bool(status(response).get("allowed"))

"""CertificateApproval, CertificateSigning, CertificateSubjectRestriction: checks on certificate signing requests."""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.x509.oid import NameOID
from zope.interface import implementer

from orchd.kinds.fields import spec, status
from orchd.kinds.users import MASTERS_GROUP
from orchd.server.admission.interfaces import CREATE, UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.authz.interfaces import Action, Decision


class _ForSigner(Plugin):
    """Checks permission of `verb` on a signer: by its name, then by its domain with ``/*``."""

    operations = (UPDATE,)
    verb = ""

    async def _may(self, review: Review, signer: str) -> bool:
        for name in (signer, signer.split("/")[0] + "/*"):
            action = Action(
                user=review.user,
                verb=self.verb,
                group=self.dialect("certificates.{abbr}.io"),
                version="*",
                resource="signers",
                name=name,
            )
            if (await self.context.authorize(action)).decision is Decision.ALLOW:
                return True
        return False

    async def _check(self, review: Review) -> None:
        signer = spec(review.old_object).get("signerName", "")
        if not await self._may(review, signer):
            raise refuse(review, f'user not permitted to {self.verb} requests with signerName "{signer}"')


def subject_values(review: Review, attribute: x509.ObjectIdentifier) -> list[str]:
    """The values of an attribute in the subject of a certificate signing request. Raises ApiError 403."""
    try:
        request = x509.load_pem_x509_csr(base64.b64decode(spec(review.object).get("request") or ""))
    except ValueError as error:
        raise refuse(review, f"unable to parse csr: {error}") from error
    return [str(each.value) for each in request.subject.get_attributes_for_oid(attribute)]


@implementer(IValidatingPlugin)
class CertificateApproval(_ForSigner):
    name = "CertificateApproval"
    help = "Requires permission to approve certificate signing requests of the signer."
    resources = ("certificatesigningrequests/approval.certificates.{abbr}.io",)
    verb = "approve"

    async def validate(self, review: Review) -> None:
        await self._check(review)


@implementer(IValidatingPlugin)
class CertificateSigning(_ForSigner):
    name = "CertificateSigning"
    help = "Requires permission to sign certificate signing requests of the signer."
    resources = ("certificatesigningrequests/status.certificates.{abbr}.io",)
    verb = "sign"

    async def validate(self, review: Review) -> None:
        new, old = (status(o or {}) for o in (review.object, review.old_object))
        if any((new.get(k) or None) != (old.get(k) or None) for k in ("certificate", "conditions")):
            await self._check(review)


@implementer(IValidatingPlugin)
class CertificateSubjectRestriction(Plugin):
    name = "CertificateSubjectRestriction"
    help = "Rejects requests for client certificates in the masters group."
    operations = (CREATE,)
    resources = ("certificatesigningrequests.certificates.{abbr}.io",)

    async def validate(self, review: Review) -> None:
        signer = self.dialect("{long}.io/{short}-apiserver-client")
        body = spec(review.object)
        if body.get("signerName") != signer:
            return
        groups = subject_values(review, NameOID.ORGANIZATION_NAME)
        if MASTERS_GROUP in groups:
            raise refuse(review, f"use of {signer} signer with {MASTERS_GROUP} group is not allowed")

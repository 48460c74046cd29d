"""certificates/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import (
    UNSUPPORTED_FIELD,
    FieldSelectors,
    KindRow,
    Row,
    Subresource,
    Table,
    Types,
    Validation,
    object_types,
)

GROUP: Final = "certificates.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.certificates.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="CertificateSigningRequest",
        plural="certificatesigningrequests",
        short_names=("csr",),
        key="certificatesigningrequests",
        table=Table(
            "tabulate.policies.signing_request",
            ("Name|name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"),
        ),
        fields=FieldSelectors(
            names=("spec.signerName",),
            values="field_values.signing_request",
            namespace=False,
            unsupported=UNSUPPORTED_FIELD,
        ),
        strategy="SigningRequestStrategy",
        validation=Validation(
            create="validate.certificates.create",
            update="validate.certificates.update",
        ),
        resets=("spec",),
        subresources=(
            Subresource(
                name="approval",
                update="validate.certificates.update_approval",
                resets=("spec", "status.certificate"),
            ),
            Subresource(
                name="status",
                update="validate.certificates.update_status",
                resets=("spec", "status.conditions"),
            ),
        ),
    ),
)

TYPES: Final[Types] = {
    **object_types("CertificateSigningRequest", spec="required"),
    "CertificateSigningRequestCondition": (
        ("type", 1, "string", "required enum=Approved|Denied|Failed enum=@1.35"),
        ("status", 6, "string", "required"),
        ("reason", 2, "string", "omit"),
        ("message", 3, "string", "omit"),
        ("lastUpdateTime", 4, "time", "omit"),
        ("lastTransitionTime", 5, "time", "omit"),
    ),
    "CertificateSigningRequestSpec": (
        ("request", 1, "bytes", "required list=atomic until=1.35"),
        ("request", 1, "bytes", "required since=1.35"),
        ("signerName", 7, "string", "required"),
        ("expirationSeconds", 8, "int32", "omit ptr"),
        ("usages", 5, "[]string", "omit list=atomic enum=any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping@1.35"),
        ("username", 2, "string", "omit"),
        ("uid", 3, "string", "omit"),
        ("groups", 4, "[]string", "omit list=atomic"),
        ("extra", 6, "{}[]string", "omit pb=map<string,certificates/v1.ExtraValue>"),
    ),
    "CertificateSigningRequestStatus": (
        ("conditions", 1, "[]CertificateSigningRequestCondition", "omit keys=type"),
        ("certificate", 2, "bytes", "omit list=atomic until=1.35"),
        ("certificate", 2, "bytes", "omit since=1.35"),
    ),
}

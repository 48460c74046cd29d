"""Tags and lengths of DER in signing requests: the errors of the reference's parser."""

from __future__ import annotations

import pytest

from orchd.kinds.objects.validate.der import der_error

OID = b"\x06\x01\x2a"
ALGORITHM = b"\x30\x03" + OID
BITS = b"\x03\x01\x00"
KEY = b"\x30\x08" + ALGORITHM + BITS
#: A version, a name and a public key.
BODY = b"\x30\x0f" + b"\x02\x01\x00" + b"\x30\x00" + KEY
REQUEST = b"\x30\x19" + BODY + ALGORITHM + BITS


def long(data: bytes) -> bytes:
    """The request with its length in another form."""
    return b"\x30" + data + REQUEST[2:]


@pytest.mark.parametrize(
    "data, error",
    [
        (REQUEST, ""),
        (REQUEST + b"\x00", "syntax error: trailing data"),
        (b"", "syntax error: sequence truncated"),
        (b"\x30", "syntax error: truncated tag or length"),
        (REQUEST[:-1], "syntax error: data truncated"),
        (b"\x30\x11" + BODY, "syntax error: sequence truncated"),
        (long(b"\x81\x19"), "structure error: non-minimal length"),
        (long(b"\x81\x7f"), "structure error: non-minimal length"),
        (long(b"\x81\x80"), "syntax error: data truncated"),
        (long(b"\x82\x00\x19"), "structure error: superfluous leading zeros in length"),
        (b"\x30\x80" + REQUEST[2:], "syntax error: indefinite length found (not DER)"),
        (b"\x30\x84\x80\x00\x00\x00", "structure error: length too large"),
        (b"\x30\x83\x7f\xff\xff", "syntax error: data truncated"),
        (b"\x30\x84\x00", "structure error: superfluous leading zeros in length"),
        (b"\x30\x82\x01", "syntax error: truncated tag or length"),
        (b"\x1f", "syntax error: truncated base 128 integer"),
        (b"\x1f\x80\x01\x00", "syntax error: integer is not minimally encoded"),
        (b"\x1f\x1e\x00", "syntax error: non-minimal tag"),
        (b"\x1f\x85", "syntax error: truncated base 128 integer"),
        (b"\x1f\x8f\xff\xff\xff\x7f\x00", "structure error: base 128 integer too large"),
        (b"\x1f\x81\x80\x80\x80\x80\x00\x00", "structure error: base 128 integer too large"),
    ],
)
def test_forms(data: bytes, error: str) -> None:
    assert der_error(data, "certificateRequest") == (f"asn1: {error}" if error else "")


@pytest.mark.parametrize(
    "data, tag",
    [
        (b"\x31\x00", "{class:0 tag:17 length:0 isCompound:true}"),
        (b"\x10\x00", "{class:0 tag:16 length:0 isCompound:false}"),
        (b"\x70\x02", "{class:1 tag:16 length:2 isCompound:true}"),
        (b"\xf0\x02", "{class:3 tag:16 length:2 isCompound:true}"),
        (b"\x1f\x1f\x01", "{class:0 tag:31 length:1 isCompound:false}"),
        (b"\x1f\x81\x00\x01", "{class:0 tag:128 length:1 isCompound:false}"),
        (b"\x1f\x87\xff\xff\xff\x7f\x01", "{class:0 tag:2147483647 length:1 isCompound:false}"),
    ],
)
def test_tags(data: bytes, tag: str) -> None:
    """The tag of what is there is named, and the type that is expected."""
    error = der_error(data, "certificateRequest")
    assert error.startswith(f"asn1: structure error: tags don't match (16 vs {tag}) {{optional:false ")
    assert error.endswith(f"}} certificateRequest @{len(data)}")


@pytest.mark.parametrize(
    "inner, name",
    [
        (BODY.replace(b"\x02\x01\x00", b"\x04\x01\x00") + ALGORITHM + BITS, "int"),
        (BODY + b"\x30\x03\x05\x01\x2a" + BITS, "ObjectIdentifier"),
        (BODY + ALGORITHM + b"\x04\x01\x00", "BitString"),
        (BODY.replace(KEY, b"\x31" + KEY[1:]) + ALGORITHM + BITS, "publicKeyInfo"),
    ],
)
def test_members(inner: bytes, name: str) -> None:
    """Members are read in their order, at all depths."""
    error = der_error(b"\x30" + bytes([len(inner)]) + inner, "certificateRequest")
    assert "tags don't match" in error and f" {name} @" in error

"""RSA keys for tests: generating one takes longer than most tests."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric import rsa

_EXPONENT = 65537

#: Primes of 1024 bits, in hexadecimal.
_PRIMES = (
    "f5beefe4e5c0debcbcdf5ca376e61be082823339e0b32c1fa7229abcaa658082f45ab21fd74d21aead0be3eb269c14049403"
    "5d9b12ddb70be5a25730bb4c0fde1eab58ab5a7fe103e3994856e84d6710d25b18095d58ede7b360f54cf59136efaa090504"
    "25bd7470871d6d164b0b3a29556f98ed2ac1396453d9c821b2e5d481",
    "d237b9d6cd7f411d7de67c0cad2d30045145ca0adf5a94ac7b19f94ea61a6929d4168438320f8594b1680c2402c5246f1bc7"
    "6fbacb5f1d72e989fb9a07d4253c5683b06596d7f6533e9ff3cba34d900d49b5d125ecf9962de079c4cd6b5e25fa1835d1ec"
    "94d52a4eb3e894c434a3909ec1db6c4b2f723aaea50287f169033f53",
    "eebbbd356e7c46bc1a74b1bbe5dd6af25e04aa4804cb8a7378a8a82fe16e80562fe3102694bd4eac28db828558926fb65f8a"
    "895e898c9727762491cdc7908e6e2ec82f7f6927102b4c7137f016e27a846da3bf41b8c6c901c24b702b6b63844448524521"
    "9e9adfe21e434e1b2c23a0f5231f8c40eac8fcc19d0e3a5d9e8d39c1",
    "ee0ae5f9ea424546f0133c4b72e422bf7ab3b02320a225eb24c6e635a4210e80d7382e517ae9eeec86db591e39ec938165ba"
    "be1050bd5be94c3d16610efbd3a89e7912cf6bdc4093ebf604dae1da3ad31e78ece7c19a5b82f38c7beb4ca4bd78c08b2d25"
    "e7b2f51649169238e9f8b39e5aa36a50448838356065fff291d69ad1",
)


def _key(p: int, q: int) -> rsa.RSAPrivateKey:
    d = pow(_EXPONENT, -1, (p - 1) * (q - 1))
    parts = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, *parts, rsa.RSAPublicNumbers(_EXPONENT, p * q))
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


RSA, OTHER_RSA = (_key(int(p, 16), int(q, 16)) for p, q in (_PRIMES[:2], _PRIMES[2:]))

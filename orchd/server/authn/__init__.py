"""Who sends a request: one module per method, and their union.

Owns authenticators. Must not decide what a user may do. May import client.interfaces,
authz.interfaces, kinds, pki and txkit.
"""

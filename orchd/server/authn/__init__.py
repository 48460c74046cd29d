"""Authentication: one module per method, and their chain.

Owns authenticators. Must not authorize. May import client.interfaces, authz.interfaces, kinds, pki and txkit.
"""

"""Keys, certificates, checks of signing requests, client configuration files.

Owns the cryptography of identities. Must not open sockets. May import dialect and errors.
"""

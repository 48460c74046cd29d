"""Keys, certificates, checks of signing requests, client configuration files.

Owns everything that touches cryptography for identities. Must not open sockets. May import dialect and errors.
"""

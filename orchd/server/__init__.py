"""Request handling, in the order in which a request passes it.

Owns http, pipeline, authn, authz, admission, registry and the in-process client. Must not start anything. May import
what each package's docstring allows.
"""

"""The stages of a request in running order, and the verbs.

Owns request info, limits, errors, the list of stages. Must not depend on implementations of authentication,
authorization or admission. May import kinds, txkit, and the interfaces of authn, authz, admission and registry.
"""

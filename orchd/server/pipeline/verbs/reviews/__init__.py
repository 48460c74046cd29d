"""Review kinds: not stored; the response is the posted object with a status.

Owns reviews and component statuses. Must not keep state. May import what verbs/ may, and the interfaces of authn and
authz.
"""

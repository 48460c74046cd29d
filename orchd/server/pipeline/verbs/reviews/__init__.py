"""Kinds that are questions: nothing of them is stored, the answer is the object that was posted with a status.

Owns reviews and component statuses. Must not keep state. May import what verbs/ may, and the interfaces of authn and authz.
"""

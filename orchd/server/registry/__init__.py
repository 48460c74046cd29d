"""The write sequence and reads of every resource, with strategies where kinds differ.

Owns reads and writes of every resource. Must not depend on HTTP or import admission. May import cache,
store.interfaces, kinds and pki.
"""

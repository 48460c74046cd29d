"""The one write sequence, and strategies where kinds differ.

Owns reads and writes of every resource. Must not know HTTP or import admission. May import cache, store.interfaces, kinds and pki.
"""

"""Rules of the core group: pods in parts, and one module per remaining area.

Owns field rules only. Must not know who asks or how objects are stored. May import what `validate` may.
"""

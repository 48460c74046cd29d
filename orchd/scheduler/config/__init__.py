"""The configuration kind of the scheduler: types of both versions, strict decoding, defaults, validation, encoding.

Owns the file format. Must not build plugins or talk to anyone. May import kinds.
"""

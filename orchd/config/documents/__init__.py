"""Configuration files of the server that are API documents (group ``apiserver.config``): types, values and validation.

The files themselves are read by the caller. May import kinds."""

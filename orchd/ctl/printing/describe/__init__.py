"""Readable descriptions of objects. Asks the server for what belongs to an object."""

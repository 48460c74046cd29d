"""What kinds and their members mean, in a sentence each, for OpenAPI and explain. Owns words only: data by type and member,
and the look-up. Loaded when the first document is made. Imports nothing but the dialect."""

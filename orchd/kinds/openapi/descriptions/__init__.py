"""Descriptions of kinds and members for OpenAPI and explain. Owns texts by type and member, and their lookup. Loaded when the
first OpenAPI document is built. Imports only the dialect."""

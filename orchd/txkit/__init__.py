"""Tools for Deferreds and Services, independent of the API.

Owns coroutine driving, service groups, bounded caches, owners of background work. Must not use API concepts. May import
Twisted only.
"""

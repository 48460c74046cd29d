"""Tools for Deferreds and Services that know no API concept.

Owns coroutine driving, service groups, bounded queues, owners of background work. Must not know the API. May import Twisted only.
"""

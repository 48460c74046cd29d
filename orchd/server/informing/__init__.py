"""Informers of the server's own components: they read the watch cache and hold no copy of it.

Owns `IInformers` on caches. Must not authorize: informers read as the server itself. May import client.interfaces,
cache.interfaces, kinds and txkit.
"""

"""Implementations for tests within one process: informers, threads, a reactor with virtual time, and a whole server
without sockets."""

"""Contracts of interfaces as checks for any implementation, and a check of histories for linearizability."""

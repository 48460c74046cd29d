"""Audit: who asked for what, when, and what came of it, for whoever has to know later.

Owns the policy (what is recorded), the events (how it is written down) and the stage (when). Must not know where events
go: sinks are given to it, and live in assembly's choice of files and services.
"""

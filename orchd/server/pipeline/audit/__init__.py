"""Audit: records who requested what, when, and with which result.

Owns the policy (what is recorded), the events (their format) and the stages (when). Must not depend on destinations:
assembly chooses the sinks and passes them in.
"""

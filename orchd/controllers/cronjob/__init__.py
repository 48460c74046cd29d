"""Cron jobs: schedules, and the jobs that they create.

Owns the cron job controller. Must not reach into the server. May import client and kinds.
"""

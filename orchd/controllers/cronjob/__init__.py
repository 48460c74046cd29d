"""Cron jobs: schedules, and the jobs that they make.

Owns the cron job controller. Must not reach into the server. May import client and kinds.
"""

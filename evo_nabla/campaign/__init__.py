"""Campaigns: long runs on one target, with their settings, lock, loop, monitors and resumption."""

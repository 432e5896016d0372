"""The errors a campaign raises: each is one line that says what is wrong and what to do."""

from __future__ import annotations


class CampaignError(Exception):
    """Settings that cannot be used: unknown, contradictory, or other than the stored campaign's."""


class LockedError(CampaignError):
    """Another process is writing to the campaign's folder."""

"""Tests of the settings: defaults, resuming, and conflicts that are named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_nabla.campaign.errors import CampaignError
from evo_nabla.campaign.settings import CampaignSettings, chosen_observers, new_settings, resumed_settings


def stored(**given: Any) -> dict[str, Any]:
    """Settings as they come back from the store."""
    document: dict[str, Any] = json.loads(json.dumps(new_settings("torch", given).to_json()))
    return document | {"schema": 1}


def test_settings_survive_the_store() -> None:
    given = {"apis": ("torch.sin", "torch.linalg.*"), "seed": 7, "order": 1, "workers": 3, "python": None}
    settings = new_settings("torch", given)
    assert resumed_settings(stored(**given), "torch", {}) == settings
    assert settings.apis == ("torch.sin", "torch.linalg.*")


def test_a_resumed_campaign_may_have_other_workers() -> None:
    assert resumed_settings(stored(workers=3), "torch", {"workers": 1, "seed": None}).workers == 1
    assert resumed_settings(stored(workers=3), "torch", {}).workers == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", 1), ("order", 1), ("strategy", "random"), ("apis", ("torch.cos",)), ("python", "/elsewhere/python")],
)
def test_a_resumed_campaign_may_not_be_another(key: str, value: Any) -> None:
    with pytest.raises(CampaignError, match=f"begun with {key} .*--fresh"):
        resumed_settings(stored(), "torch", {key: value})


@pytest.mark.parametrize(
    "given",
    [{"library": "numpy"}, {"order": 0}, {"order": 9}, {"workers": 0}, {"seed": -1}, {"strategy": "luck"}],
)
def test_settings_that_mean_nothing_are_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(CampaignError, match=next(iter(given))):
        CampaignSettings(**{"library": "torch", **given})


def test_observers_are_chosen_in_any_order_and_known_by_name() -> None:
    assert chosen_observers(["gcov", "line", "gcov"]) == ("line", "gcov")
    assert chosen_observers([]) is None
    with pytest.raises(CampaignError, match="observer 'gcc': choose from line, native, gcov"):
        chosen_observers(["gcc"])
